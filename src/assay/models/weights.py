"""Pretrained weights that lie inside another package's archive: fetched as one file of a pinned version, and kept.

The archive comes through pip, which compares it with the pinned hash before doing anything with it. One member is read
out of it, compared with a hash of its own and stored in the cache; nothing is installed or imported.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from assay.data.archives import opened
from assay.data.cache import cache_folder, file_sha256, writing
from assay.errors import AssayError

LIMIT = 2**30
"""Largest file (bytes) that is read out of an archive."""

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class PackagedFile:
    """One file inside a pinned release of a package: `member` is its path in the wheel, or in the sdist (`source`).

    `python` ("3.9") and `platform` ("manylinux2014_x86_64") choose a wheel made for another interpreter or machine.
    """

    package: str
    version: str
    member: str
    sha256: str
    archive_sha256: str
    source: bool = False
    python: str = ""
    platform: str = ""

    def __post_init__(self) -> None:
        if not (_SHA256.fullmatch(self.sha256) and _SHA256.fullmatch(self.archive_sha256)):
            raise AssayError(f"the hashes of '{self.member}' in {self.release} must be 64 hexadecimal digits each")
        if self.name in ("", ".."):
            raise AssayError(f"'{self.member}' names no file in {self.release}; give its path inside the archive")

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.member).name

    @property
    def release(self) -> str:
        """The package and its version as pip writes them."""
        return f"{self.package}=={self.version}"


def cached(file: PackagedFile) -> Path | None:
    """The file in the cache if it is there and undamaged."""
    path = _place(file)
    try:
        return path if file_sha256(path) == file.sha256 else None
    except OSError:
        return None


def fetch(file: PackagedFile) -> Path:
    """The file in the cache, downloaded first if it is not there or is damaged."""
    if (found := cached(file)) is not None:
        return found
    with writing(cache_folder()):
        _store(file, _place(file))
    return _place(file)


def _place(file: PackagedFile) -> Path:
    return cache_folder() / "weights" / file.sha256[:16] / file.name


def _store(file: PackagedFile, place: Path) -> None:
    """Download, check, and move into place in one step, so that no other process ever sees half a file."""
    from tempfile import TemporaryDirectory

    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent, prefix=".fetch-", ignore_cleanup_errors=True) as scratch:
        archive = _download(file, Path(scratch))
        content = _member(file, archive)
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise AssayError(f"'{file.member}' in {file.release} is not the file that was pinned: its sha256 differs")
        fresh = Path(scratch) / "member"
        fresh.write_bytes(content)
        os.replace(fresh, place)


def _download(file: PackagedFile, scratch: Path) -> Path:
    """The archive, as pip brought it, with its hash compared once more."""
    import subprocess

    if importlib.util.find_spec("pip") is None:
        raise AssayError(f"'{file.name}' is fetched with pip, which this environment lacks; run: python -m ensurepip")
    requirements, folder = scratch / "requirements.txt", scratch / "archive"
    requirements.write_text(f"{file.release} --hash=sha256:{file.archive_sha256}\n")
    print(f"assay: fetching {file.release} (for {file.name})...", file=sys.stderr, flush=True)
    done = subprocess.run(
        [*_pip(file), "-r", str(requirements), "-d", str(folder)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise AssayError(_complaint(file, done.stderr))
    archives = list(folder.iterdir())
    if len(archives) != 1 or file_sha256(archives[0]) != file.archive_sha256:
        raise AssayError(f"pip brought something else than the pinned archive of {file.release}")
    return archives[0]


def _pip(file: PackagedFile) -> list[str]:
    """The pip command. For an sdist pip runs its build backend to read the metadata, after it has checked the hash.

    -P keeps Python from importing a `pip` that happens to lie in the working folder.
    """
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--require-hashes"]
    command += ["--quiet", "--disable-pip-version-check", "--no-input", "--ignore-requires-python"]
    command += ["--no-binary", file.package] if file.source else ["--only-binary", ":all:"]
    command += ["--python-version", file.python] if file.python else []
    command += ["--platform", file.platform] if file.platform else []
    return command


def _complaint(file: PackagedFile, stderr: str) -> str:
    """One sentence from what pip wrote."""
    if "DO NOT MATCH THE HASHES" in stderr:
        return f"{file.release} (for '{file.name}') is not the archive that was pinned: its sha256 differs"
    if "No space left on device" in stderr:
        return f"there is no room to download {file.release} (for '{file.name}'); set TMPDIR to a larger folder"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines or ["pip gave no reason"]
    last = re.sub(r" \(from -r .*\)$", "", errors[-1].removeprefix("ERROR:").strip())
    return f"{file.release} (for '{file.name}') cannot be fetched: {last}; check the network and pip's package index"


def _member(file: PackagedFile, archive: Path) -> bytes:
    """The bytes of the one member; links, folders and very large members are refused."""
    with opened(archive, file.release) as members:
        for member in members:
            if member.name == file.member:
                _accept(file, member.regular, member.size)
                return member.read()
    raise AssayError(f"there is no file '{file.member}' in {file.release}")


def _accept(file: PackagedFile, regular: bool, size: int) -> None:
    if not regular:
        raise AssayError(f"'{file.member}' in {file.release} is not a regular file")
    if size > LIMIT:
        raise AssayError(f"'{file.member}' in {file.release} has {size} bytes; more than {LIMIT} are not read")
