"""Pretrained weights in the archive of another package: one file of a fixed version is downloaded and kept.

pip downloads the archive and compares its hash with the expected one before it does anything else. One file is read
from the archive, its own hash is compared, and it is stored in the cache. Nothing is installed or imported.
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

LONGEST = 2.0 * 3600.0
"""Seconds after which a download is given up."""

LIMIT = 2**30
"""The largest file (bytes) that is read from an archive."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_INDEX = "pip's package index"


@dataclass(frozen=True)
class PackagedFile:
    """One file in a fixed release of a package.

    Attributes:
        package: The name of the package in the package index.
        version: The version of the release.
        member: The path of the file in the archive.
        sha256: The hash of the file.
        archive_sha256: The hash of the archive.
        source: True for the source archive of the release, false for its wheel.
        python: A Python version such as "3.9", if the wheel is made for another one than that in use.
        platform: A platform such as "manylinux2014_x86_64", if the wheel is made for another one than this computer.
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
            raise AssayError(f"both hashes of '{self.member}' in {self.release} must have 64 hexadecimal digits")
        if self.name in ("", ".."):
            raise AssayError(f"'{self.member}' names no file in {self.release}; give a path in the archive")

    @property
    def name(self) -> str:
        """The name of the file, without its folders."""
        return PurePosixPath(self.member).name

    @property
    def release(self) -> str:
        """The package and its version as pip writes them."""
        return f"{self.package}=={self.version}"


def cached_weights(file: PackagedFile) -> Path | None:
    """The path of the file in the cache, or None if it is not there or its content has changed."""
    path = _place(file)
    try:
        return path if file_sha256(path) == file.sha256 else None
    except OSError:
        return None


def fetch_weights(file: PackagedFile) -> Path:
    """The path of the file in the cache; it is downloaded if it is not there or its content has changed."""
    if (path := cached_weights(file)) is not None:
        return path
    with writing(cache_folder()):
        _store(file, _place(file))
    return _place(file)


def _place(file: PackagedFile) -> Path:
    return cache_folder() / "weights" / file.sha256[:16] / file.name


def _store(file: PackagedFile, place: Path) -> None:
    """Download and check the file, then move it into place in one step: no other process sees an incomplete file."""
    from tempfile import TemporaryDirectory

    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent, prefix=".fetch-", ignore_cleanup_errors=True) as scratch:
        archive = _download(file, Path(scratch))
        content = _member(file, archive)
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise AssayError(f"'{file.member}' in {file.release} has another sha256 than expected; check {_INDEX}")
        complete = Path(scratch) / "member"
        complete.write_bytes(content)
        os.replace(complete, place)


def _download(file: PackagedFile, scratch: Path) -> Path:
    """The archive that pip downloads; its hash is compared once more."""
    import subprocess

    if importlib.util.find_spec("pip") is None:
        raise AssayError(f"'{file.name}' is downloaded with pip, which is not installed here; run: python -m ensurepip")
    requirements, folder = scratch / "requirements.txt", scratch / "archive"
    requirements.write_text(f"{file.release} --hash=sha256:{file.archive_sha256}\n")
    sys.stderr.write(f"assay: downloading {file.release} (for {file.name})...\n")
    sys.stderr.flush()
    try:
        done = subprocess.run(
            [*_pip(file), "-r", str(requirements), "-d", str(folder)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired as error:
        hours = LONGEST / 3600.0
        raise AssayError(f"{file.release} (for '{file.name}') was not downloaded in {hours:g} h; try later") from error
    if done.returncode:
        raise AssayError(_reason(file, done.stderr))
    archives = list(folder.iterdir())
    if len(archives) != 1 or file_sha256(archives[0]) != file.archive_sha256:
        raise AssayError(f"pip downloaded another archive than the expected one of {file.release}")
    return archives[0]


def _pip(file: PackagedFile) -> list[str]:
    """The pip command.

    For a source archive, pip runs the build code of the package to read its metadata, after it has compared the hash.
    -P keeps Python from importing a module `pip` in the working folder.
    """
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--require-hashes"]
    command += ["--quiet", "--disable-pip-version-check", "--no-input", "--ignore-requires-python"]
    command += ["--no-binary", file.package] if file.source else ["--only-binary", ":all:"]
    command += ["--python-version", file.python] if file.python else []
    command += ["--platform", file.platform] if file.platform else []
    return command


def _reason(file: PackagedFile, stderr: str) -> str:
    """One sentence that says why pip failed, from what it printed."""
    if "DO NOT MATCH THE HASHES" in stderr:
        return f"the archive of {file.release} (for '{file.name}') has another sha256 than expected; check {_INDEX}"
    if "No space left on device" in stderr:
        return f"no disk space to download {file.release} (for '{file.name}'); set TMPDIR to a folder with more space"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines or ["pip printed no reason"]
    last = re.sub(r" \(from -r .*\)$", "", errors[-1].removeprefix("ERROR:").strip())
    return f"{file.release} (for '{file.name}') cannot be downloaded: {last}; check the network and {_INDEX}"


def _member(file: PackagedFile, archive: Path) -> bytes:
    """The content of the file in the archive; links, folders and very large files are refused."""
    with opened(archive, file.release) as members:
        for member in members:
            if member.name == file.member:
                _require_readable(file, member.regular, member.size)
                return member.read()
    raise AssayError(f"there is no file '{file.member}' in {file.release}; give the path of a file in the archive")


def _require_readable(file: PackagedFile, regular: bool, size: int) -> None:
    if not regular:
        raise AssayError(f"'{file.member}' in {file.release} is not a regular file")
    if size > LIMIT:
        raise AssayError(f"'{file.member}' in {file.release} has {size} bytes; at most {LIMIT} are read")
