"""Files of strangers: whatever is in a suite, a data folder or an archive, the answer is a result or one sentence."""

from __future__ import annotations

import io
import json
import random
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.data.archives import read_members
from assay.data.embedded import embedded
from assay.data.source import open_data
from assay.errors import AssayError
from assay.sabotage.data import write_sound_data
from assay.suites import load_suite
from assay.text import one_line
from mlipaudit_documents import DOCUMENTS

NASTY = (
    b"\x00", b"\xff\xfe", b"\x1b[2J", "‮".encode(), b"9" * 5000, b"-1", b"0", b"nan", b"inf", b"1e400", b"[" * 5000,
    b"{" * 5000, b'"', b"'", b"\\", b"=", b"\n", b"true", b"null", b"9" * 400, b"1" + b"0" * 20, b"Xx", b"a.b.c" * 500,
    "²".encode(), "٣".encode(), b"[[records]]\n", b"1979-05-27", b"0x7fffffffffffffffffff", b"\r", b"\t" * 99, b"",
)  # fmt: skip
"""Pieces that parsers trip over."""

SUITE = """name = "mine"
description = "short"
benchmarks = ["verification", "physicality.diatomics"]
[settings."verification.memory_stable"]
evaluations = 60
seconds = 1.0
[settings."physicality.extensivity"]
gaps = [100.0, 120.0]
[settings."physicality"]
points = 12
"""

quick = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def spoilt(content: bytes, seed: int) -> bytes:
    """The content with some bytes replaced, some pieces put in, and perhaps cut off."""
    chance = random.Random(seed)
    data = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        place, length = chance.randrange(len(data) + 1), chance.choice((0, 0, 1, 3, 17))
        data[place : place + length] = chance.choice(NASTY)
    return bytes(data[: chance.randrange(len(data) + 1)] if chance.random() < 0.1 else data)


def one_sentence(read: Callable[[], object]) -> None:
    """Read something; any exception but an `AssayError`, which is printed as one line, is a bug."""
    complaint = ""
    try:
        read()
    except AssayError as error:
        complaint = one_line(str(error))
    assert complaint.isprintable()


@quick
@given(st.integers(min_value=0))
def test_any_suite_is_built_or_refused_in_one_sentence(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(spoilt(SUITE.encode(), seed))
    one_sentence(lambda: load_suite(str(path)).build())


@pytest.mark.parametrize("content", NASTY)
@pytest.mark.parametrize("key", ["name", "description", "benchmarks", "settings", "settings.verification.rounds"])
def test_any_value_in_a_suite_is_refused_in_one_sentence(tmp_path: Path, key: str, content: bytes) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"benchmarks = ['verification']\n" * (key != "benchmarks") + f"{key} = ".encode() + content)
    one_sentence(lambda: load_suite(str(path)).build())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """Data folders that can be read: one of each kind of the sound potential's, and those of MLIPAudit's layout."""
    root = write_sound_data(tmp_path_factory.mktemp("data"))
    own = [{f.name: f.read_bytes() for f in path.parent.iterdir()} for path in sorted(root.glob("*/data.toml"))]
    return own + [{Path(name).name: json.dumps(document).encode()} for name, document in sorted(DOCUMENTS.items())]


@quick
@given(st.integers(min_value=0))
def test_any_data_folder_is_read_or_refused_in_one_sentence(
    tmp_path: Path, folders: list[dict[str, bytes]], seed: int
) -> None:
    chance = random.Random(seed)
    files = dict(chance.choice(folders))
    name = chance.choice(sorted(files))
    for old in tmp_path.iterdir():
        old.unlink()
    for each, content in files.items():
        (tmp_path / each).write_bytes(spoilt(content, seed) if each == name else content)
    one_sentence(lambda: open_data([str(tmp_path)]))


def zipped(method: int, content: bytes = b"x" * 200_000) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("a/first.json", content)
        archive.writestr("a/second.json", content[:100])
    return stream.getvalue()


def tarred(content: bytes = b"x" * 200_000) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        entry = tarfile.TarInfo("a/first.json")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


NOISE = random.Random(1).randbytes(20_000)
ARCHIVES = {
    "stored": zipped(zipfile.ZIP_STORED, NOISE),
    "deflated": zipped(zipfile.ZIP_DEFLATED, NOISE),
    "bzip2": zipped(zipfile.ZIP_BZIP2, NOISE),
    "lzma": zipped(zipfile.ZIP_LZMA, NOISE),
    "tar": tarred(NOISE),
}


@pytest.mark.parametrize("kind", ARCHIVES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(min_value=0))
def test_any_archive_is_read_or_refused_in_one_sentence(tmp_path: Path, kind: str, seed: int) -> None:
    path = tmp_path / "set.zip"
    path.write_bytes(spoilt(ARCHIVES[kind], seed))
    one_sentence(lambda: read_members(path, "'set'", lambda name: True))


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_a_damaged_member_of_any_method_is_one_sentence(tmp_path: Path, method: int) -> None:
    data = bytearray(zipped(method, NOISE))
    middle = data.index(b"a/first.json") + 200
    data[middle : middle + 400] = bytes(400)
    path = tmp_path / "set.zip"
    path.write_bytes(data)
    with pytest.raises(AssayError, match="the archive of 'set' cannot be read"):
        read_members(path, "'set'", lambda name: True)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_member_that_is_larger_than_it_states_does_not_fill_the_memory(tmp_path: Path, method: int) -> None:
    """200 MB of zeros that state to be 1000 bytes."""
    import tracemalloc

    path, true_size = tmp_path / "bomb.zip", 200_000_000
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("bomb.json", bytes(true_size))
    content = path.read_bytes().replace(true_size.to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with suppress(AssayError):  # its checksum is wrong, too
            read_members(path, "'bomb'", lambda name: True)
        assert tracemalloc.get_traced_memory()[1] < 120_000_000
    finally:
        tracemalloc.stop()


def test_the_pieces_are_nasty_enough() -> None:
    """Some of them make the parsers themselves fail with more than a `ValueError`."""
    with pytest.raises(RecursionError):
        tomllib.loads("a = " + NASTY[10].decode())
    with pytest.raises(ValueError, match="digits"):
        tomllib.loads("a = " + NASTY[4].decode())


def test_embedded_data_is_still_read() -> None:
    assert all(entry.read().records for entry in embedded().values())
