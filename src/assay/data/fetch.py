"""Downloaded data in the cache: each file is compared with a sha256, and enters the cache only when it is complete.

Where the publisher states a sha256, it is part of this program. Where not, the first download is trusted: its sha256 is
written next to the file and compared before every later use.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.data.cache import cache_folder, file_sha256, writing
from assay.data.transfer import Download, DownloadProgress, note_path, quiet, transfer, write_note
from assay.errors import AssayError


@dataclass(frozen=True)
class Kept:
    """The note about a file in the cache: where it came from, and its sha256 and size (bytes) at that time."""

    url: str
    sha256: str
    bytes: int
    revision: str = ""


def place(file: str) -> Path:
    """The path of a file in the cache."""
    return cache_folder() / "data" / file


def kept(file: str) -> Kept | None:
    """The note about a file in the cache; None if the file has not been fetched."""
    path = place(file)
    return _noted(path) if path.is_file() else None


def _noted(path: Path) -> Kept | None:
    try:
        return Kept(**json.loads(note_path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def damage(file: str, sha256: str = "") -> str:
    """Why a file in the cache cannot be used, as words that follow its name; empty if it can."""
    note, path = kept(file), place(file)
    if not path.is_file():
        return "has not been fetched"
    expected = sha256 or (note.sha256 if note else "")
    if not expected:
        return "has no sha256 to compare with"
    return "" if file_sha256(path) == expected else "does not match its sha256"


def fetch(wanted: Download, progress: DownloadProgress = quiet, check: Callable[[Path], object] | None = None) -> Path:
    """The path of a file in the cache; it is downloaded unless it is there and intact.

    Args:
        wanted: the file to fetch.
        progress: a function that is called with the bytes received and the bytes expected.
        check: reads the complete file and raises an error if its contents are wrong; then the file is not kept.
    """
    path = place(wanted.file)
    note = kept(wanted.file)
    other = note is not None and wanted.revision not in ("", note.revision)
    if not other and not damage(wanted.file, wanted.sha256):
        return path
    with writing(cache_folder()):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        with _alone(part, wanted.file):
            transfer(wanted, part, progress)
            _accept(wanted, part, check, _first_sha256(wanted, path))
            fresh = Kept(wanted.url, file_sha256(part), part.stat().st_size, wanted.revision)
            write_note(path, asdict(fresh))
            os.replace(part, path)
            note_path(part).unlink(missing_ok=True)
    return path


class _alone:  # noqa: N801 - reads as a phrase where it is used
    """While one process downloads a file, a second process that wants the same file stops with an error."""

    def __init__(self, part: Path, name: str) -> None:
        self.path, self.name = part.with_name(part.name + ".lock"), name

    def __enter__(self) -> None:
        import fcntl

        self.lock = self.path.open("w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.lock.close()
            raise AssayError(f"another process is fetching '{self.name}'; wait until it has finished") from error

    def __exit__(self, *exception: object) -> None:
        self.path.unlink(missing_ok=True)
        self.lock.close()


def _first_sha256(wanted: Download, path: Path) -> str:
    """The sha256 of the first download of this revision from this address; empty if there was none."""
    note = _noted(path)
    return note.sha256 if note and (note.url, note.revision) == (wanted.url, wanted.revision) else ""


def _accept(wanted: Download, part: Path, check: Callable[[Path], object] | None, first_sha256: str) -> None:
    """Compare a complete download with its sha256 and read it; a wrong one is deleted, so that the next try is new."""
    try:
        if wanted.sha256 and file_sha256(part) != wanted.sha256:
            raise AssayError(
                f"'{wanted.url}' is not the file that was published: its sha256 differs; it was deleted, fetch it again"
            )
        if not wanted.sha256 and first_sha256 and file_sha256(part) != first_sha256:
            raise AssayError(
                f"'{wanted.url}' is not the file that was fetched before: its sha256 differs; "
                f"if the publisher changed it, delete '{note_path(place(wanted.file))}' and fetch it again"
            )
        if check is not None:
            check(part)
    except AssayError:
        part.unlink(missing_ok=True)
        note_path(part).unlink(missing_ok=True)
        raise
