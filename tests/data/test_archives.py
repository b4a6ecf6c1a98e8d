"""Archives from the internet are read but never unpacked, and refused if any member is unsafe."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.data import archives
from assay.data.archives import read_members
from assay.errors import AssayError

Files = Sequence[tuple[str, bytes]]
GOOD: Files = (("set/a.json", b"{}"), ("set/b.txt", b"not wanted"))


def zipped(files: Files, attributes: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files:
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, attributes << 16
            packed.writestr(info, content)
    return buffer.getvalue()


def tarred(files: Files, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            packed.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def read(tmp_path: Path, content: bytes) -> dict[str, bytes]:
    (tmp_path / "archive").write_bytes(content)
    return read_members(tmp_path / "archive", "'set'", lambda name: name.endswith(".json"))


@pytest.mark.parametrize("content", [zipped(GOOD), tarred(GOOD)], ids=["zip", "tar"])
def test_the_wanted_files_are_read(content: bytes, tmp_path: Path) -> None:
    assert read(tmp_path, content) == {"set/a.json": b"{}"}


def test_folders_are_allowed(tmp_path: Path) -> None:
    assert read(tmp_path, zipped([("set/", b""), *GOOD])) == {"set/a.json": b"{}"}
    assert read(tmp_path, tarred([("set", b"")], tarfile.DIRTYPE)) == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (zipped([*GOOD, ("../../evil.json", b"")]), "with a path outside of it"),
        (zipped([*GOOD, ("..\\evil.txt", b"")]), "with a path outside of it"),
        (zipped([*GOOD, ("/etc/evil.json", b"")]), "with a path outside of it"),
        (zipped([("a.json", b"/etc/passwd")], stat.S_IFLNK | 0o777), "is not a regular file"),
        (tarred([*GOOD, ("set/../../evil.txt", b"")]), "with a path outside of it"),
        (tarred([("/evil.json", b"")]), "with a path outside of it"),
        (tarred([("a.json", b"")], tarfile.SYMTYPE, "/etc/passwd"), "is not a regular file"),
        (tarred([("a.txt", b"")], tarfile.LNKTYPE, "../b"), "is not a regular file"),
        (tarred([("a.txt", b"")], tarfile.CHRTYPE), "is not a regular file"),
        (tarred([("a.txt", b"")], tarfile.FIFOTYPE), "is not a regular file"),
        (zipped(GOOD)[:-30], "cannot be read"),
        (tarred([("a.json", bytes(range(256)) * 99)])[:-300], "cannot be read"),
        (gzip.compress(b"no archive"), "cannot be read"),
        (b"<html>please log in</html>", "cannot be read"),
        (b"", "cannot be read"),
    ],
    ids=["up", "windows", "root", "zip-link", "tar-up", "tar-root", "link", "hardlink", "device", "pipe", "cut-zip",
         "cut-tar", "gzip", "html", "empty"],
)  # fmt: skip
def test_hostile_and_broken_archives_are_refused_whole(content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=words):
        read(tmp_path, content)
    assert [path.name for path in tmp_path.rglob("*")] == ["archive"]


BOMB: Files = [("bomb.json", bytes(3_000_000))]


@pytest.mark.parametrize("content", [zipped(BOMB), tarred(BOMB)], ids=["zip", "tar"])
@pytest.mark.parametrize(("limit", "value"), [("LARGEST_MEMBER", 2_999_999), ("LARGEST_TOTAL", 2_999_999)])
def test_a_small_file_that_unpacks_to_a_huge_one_is_not_unpacked(
    content: bytes, limit: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(content) < 10_000
    monkeypatch.setattr(archives, limit, value)
    with pytest.raises(AssayError, match=r"is larger than allowed when unpacked \('bomb.json' has 3000000 bytes"):
        read(tmp_path, content)


def test_a_zip_that_lies_about_its_sizes_is_not_believed(tmp_path: Path) -> None:
    honest = zipped([("bomb.json", bytes(3_000_000))])
    lying = honest.replace((3_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lying != honest
    with pytest.raises(AssayError, match="cannot be read"):
        read(tmp_path, lying)


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 1)
    with pytest.raises(AssayError, match="is larger than allowed when unpacked"):
        read(tmp_path, zipped(GOOD))
