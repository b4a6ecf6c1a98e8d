"""Downloads of published data: resumed where they broke off, compared with a sha256, moved into place when whole.

Where the publisher's sha256 is known it is pinned. Where it is not, the first download is trusted: its sha256 is kept
beside the file, and everything that reads the file later compares it.
"""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.data.cache import cache_folder, file_sha256, writing
from assay.errors import AssayError

BLOCK = 2**18
TIMEOUT = 60.0
ATTEMPTS = 4
LARGEST = 2**30
"""Most bytes that are downloaded when the size is not known beforehand."""

DownloadProgress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Download:
    """A file to fetch: its name in the cache, where it is, and what is known of it (nothing is invented)."""

    file: str
    url: str
    sha256: str = ""
    bytes: int | None = None
    revision: str = ""


@dataclass(frozen=True)
class Kept:
    """What is remembered of a file in the cache."""

    url: str
    sha256: str
    bytes: int
    revision: str = ""


def place(file: str) -> Path:
    """Where a file of the given name lies in the cache."""
    return cache_folder() / "data" / file


def kept(file: str) -> Kept | None:
    """What was written down when the file was fetched; None if it is not here."""
    path = place(file)
    return _noted(path) if path.is_file() else None


def _noted(path: Path) -> Kept | None:
    try:
        return Kept(**json.loads(_note(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def damage(file: str, sha256: str = "") -> str:
    """Why the file in the cache cannot be trusted, in words; nothing if it is whole."""
    note, path = kept(file), place(file)
    if not path.is_file():
        return "is not here"
    expected = sha256 or (note.sha256 if note else "")
    if not expected:
        return "has no record of its sha256"
    return "" if file_sha256(path) == expected else "differs from its sha256"


def quiet(done: int, total: int | None) -> None:
    """No progress shown."""


def fetch(wanted: Download, progress: DownloadProgress = quiet, check: Callable[[Path], object] | None = None) -> Path:
    """The file in the cache, downloaded first unless it is there and whole.

    Args:
        wanted: what to fetch.
        progress: is told the bytes so far and the bytes expected.
        check: reads the finished file and raises if it is not what it should be; only then is it kept.
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
            _complete(wanted, part, progress)
            _accept(wanted, part, check, _remembered(wanted, path))
            fresh = Kept(wanted.url, file_sha256(part), part.stat().st_size, wanted.revision)
            _write(_note(path), asdict(fresh))
            os.replace(part, path)
            _note(part).unlink(missing_ok=True)
    return path


def _note(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _write(path: Path, document: object) -> None:
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(document), encoding="utf-8")
    os.replace(fresh, path)


class _alone:  # noqa: N801 - reads as a phrase where it is used
    """While one process downloads a file, another one that wants the same says so and stops."""

    def __init__(self, part: Path, name: str) -> None:
        self.path, self.name = part.with_name(part.name + ".lock"), name

    def __enter__(self) -> None:
        import fcntl

        self.lock = self.path.open("w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.lock.close()
            raise AssayError(f"another process is fetching '{self.name}'; wait for it to finish") from error

    def __exit__(self, *exception: object) -> None:
        self.path.unlink(missing_ok=True)
        self.lock.close()


def _complete(wanted: Download, part: Path, progress: DownloadProgress) -> None:
    """Download until the whole file is there; a connection that breaks off is taken up again a few times."""
    for attempt in range(ATTEMPTS):
        before = _length(part)
        try:
            _receive(wanted, part, progress)
            return
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, _Short) as error:
            fatal = not isinstance(error, _Short | http.client.IncompleteRead) and _length(part) == before
            if fatal or attempt == ATTEMPTS - 1:
                raise AssayError(_complaint(wanted, part, error)) from error


def _length(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


class _Short(Exception):
    """The server closed the connection before all bytes had come."""


def _receive(wanted: Download, part: Path, progress: DownloadProgress) -> None:
    """One request, which asks for the rest of a file that is partly here."""
    start, validator = _resume_from(wanted, part)
    request = urllib.request.Request(wanted.url, headers={"User-Agent": "assay", "Accept-Encoding": "identity"})
    if start:
        request.add_header("Range", f"bytes={start}-")
        if validator:
            request.add_header("If-Range", validator)
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        part.unlink(missing_ok=True)  # the part is as long as the file, or longer: it is not a part of this one
        raise _Short from error
    with answer:
        going_on = start > 0 and answer.status == 206 and _first(answer) == start
        if not going_on:
            start = 0
        _write(_note(part), {"url": wanted.url, "validator": _validator(answer)})
        expected = _expected(answer, start)
        _check_size(wanted, expected)
        _copy(wanted, answer, part, start, expected, progress)


def _resume_from(wanted: Download, part: Path) -> tuple[int, str]:
    """How many bytes are here already, and what proves that they belong to the same file: a validator or the hash."""
    try:
        note = json.loads(_note(part).read_text(encoding="utf-8"))
        validator = str(note["validator"]) if note["url"] == wanted.url else ""
        same = note["url"] == wanted.url
    except (OSError, ValueError, KeyError, TypeError):
        return 0, ""
    return (_length(part), validator) if same and (validator or wanted.sha256) else (0, "")


def _validator(answer: http.client.HTTPResponse) -> str:
    tag = answer.headers.get("ETag") or ""
    return answer.headers.get("Last-Modified") or "" if not tag or tag.startswith("W/") else tag


def _first(answer: http.client.HTTPResponse) -> int:
    """The first byte that a partial answer holds."""
    digits = (answer.headers.get("Content-Range") or "").removeprefix("bytes ").partition("-")[0]
    return int(digits) if digits.isdigit() else -1


def _expected(answer: http.client.HTTPResponse, start: int) -> int | None:
    length = answer.headers.get("Content-Length") or ""
    return start + int(length) if length.isdigit() else None


def _check_size(wanted: Download, size: int | None) -> None:
    limit = wanted.bytes or LARGEST
    if size is not None and wanted.bytes is not None and size != wanted.bytes:
        raise AssayError(
            f"'{wanted.url}' has {size} bytes instead of {wanted.bytes}; it is not the file that was published"
        )
    if size is not None and size > limit:
        raise AssayError(f"'{wanted.url}' has {size} bytes; more than {limit} are not downloaded")


def _copy(
    wanted: Download,
    answer: http.client.HTTPResponse,
    part: Path,
    start: int,
    expected: int | None,
    progress: DownloadProgress,
) -> None:
    done, limit = start, wanted.bytes or LARGEST
    with part.open("ab" if start else "wb") as out:
        while block := _block(answer):
            out.write(block)
            done += len(block)
            if done > limit:
                break
            progress(done, expected or wanted.bytes)
    if done > limit:
        part.unlink()
        raise AssayError(f"'{wanted.url}' sends more than {limit} bytes; the download is thrown away")
    if expected is not None and done < expected:
        raise _Short


def _block(answer: http.client.HTTPResponse) -> bytes:
    """The next bytes; trouble with the network is told apart from trouble with the disk."""
    try:
        return answer.read(BLOCK)
    except OSError as error:
        raise urllib.error.URLError(error) from error


def _remembered(wanted: Download, path: Path) -> str:
    """The sha256 that this revision had when it was first fetched from the same address; nothing if it never was."""
    note = _noted(path)
    return note.sha256 if note and (note.url, note.revision) == (wanted.url, wanted.revision) else ""


def _accept(wanted: Download, part: Path, check: Callable[[Path], object] | None, remembered: str) -> None:
    """Compare with the pinned hash and look inside; what is wrong is removed, so that the next fetch starts afresh."""
    try:
        if wanted.sha256 and file_sha256(part) != wanted.sha256:
            raise AssayError(
                f"'{wanted.url}' is not the file that was published: its sha256 differs; it is removed, fetch it again"
            )
        if not wanted.sha256 and remembered and file_sha256(part) != remembered:
            raise AssayError(
                f"'{wanted.url}' is not the file that was fetched before: its sha256 differs; "
                f"if the publisher changed it, remove '{_note(place(wanted.file))}' and fetch it again"
            )
        if check is not None:
            check(part)
    except AssayError:
        part.unlink(missing_ok=True)
        _note(part).unlink(missing_ok=True)
        raise


def _complaint(wanted: Download, part: Path, error: Exception) -> str:
    """One sentence that says what went wrong and what to do."""
    by_hand = f"or get the file elsewhere and set ASSAY_DATA_MIRROR to the folder or address that holds '{wanted.file}'"
    if isinstance(error, _Short | http.client.IncompleteRead):
        have = _length(part)
        return f"'{wanted.url}' broke off after {have} bytes {ATTEMPTS} times; run the same command to go on from there"
    if isinstance(error, urllib.error.HTTPError):
        if error.code in (404, 410):
            return f"'{wanted.url}' is no longer there (HTTP {error.code}); {by_hand.removeprefix('or ')}"
        if error.code == 407:
            return f"the proxy asks for a password (HTTP 407); put it into HTTPS_PROXY, {by_hand}"
        return f"'{wanted.url}' is refused (HTTP {error.code} {error.reason}); try later, {by_hand}"
    reason = getattr(error, "reason", error)
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return f"'{wanted.url}' cannot be reached ({text}); check the network and HTTPS_PROXY, {by_hand}"
