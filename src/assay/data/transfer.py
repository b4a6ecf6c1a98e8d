"""The transfer of one file over HTTP: it is resumed after a lost connection, and its size is limited."""

from __future__ import annotations

import http.client
import json
import os
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from assay.errors import AssayError
from assay.text import one_line

BLOCK = 2**18
TIMEOUT = 60.0
"""Time without an answer (s) after which a connection counts as lost."""

SLOWEST = 10_000
"""Bytes per second that a server must send; a slower one is given up after a minute, and the download can go on later.
With the largest size, this also limits the time of a download."""

ATTEMPTS = 4
LARGEST = 2**30
"""Largest download (bytes) where the size is not known in advance."""

DownloadProgress = Callable[[int, int | None], None]
"""A function that is called with the bytes received and, where known, the bytes expected."""


def quiet(done: int, total: int | None) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class Download:
    """A file to download: its name in the cache, its address, and what the publisher states about it."""

    file: str
    url: str
    sha256: str = ""
    bytes: int | None = None
    revision: str = ""


class Interrupted(Exception):
    """The server closed the connection before the whole file had arrived."""


class TooSlow(Exception):
    """The server sends so few bytes that the download would never end."""


def transfer(wanted: Download, part: Path, progress: DownloadProgress) -> None:
    """Download the file to `part`; a lost connection is opened again a few times and continues where it stopped."""
    for attempt in range(ATTEMPTS):
        before = _length(part)
        try:
            _receive(wanted, part, progress)
            return
        except TooSlow as error:
            raise AssayError(one_line(_explanation(wanted, part, error))) from error
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, Interrupted) as error:
            fatal = not isinstance(error, Interrupted | http.client.IncompleteRead) and _length(part) == before
            if fatal or attempt == ATTEMPTS - 1:
                raise AssayError(one_line(_explanation(wanted, part, error))) from error


def note_path(path: Path) -> Path:
    """The file next to `path` that describes where it was downloaded from."""
    return path.with_name(path.name + ".json")


def write_note(path: Path, document: object) -> None:
    """Write the note about `path`. An interruption leaves the old note or the new one, never a mixture."""
    note = note_path(path)
    fresh = note.with_name(note.name + ".new")
    fresh.write_text(json.dumps(document), encoding="utf-8")
    os.replace(fresh, note)


def _length(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _receive(wanted: Download, part: Path, progress: DownloadProgress) -> None:
    """One request; it asks for the rest of the file if the first bytes are already in `part`."""
    start, validator = _resume_from(wanted, part)
    request = urllib.request.Request(wanted.url, headers={"User-Agent": "assay", "Accept-Encoding": "identity"})
    if start:
        request.add_header("Range", f"bytes={start}-")
        if validator:
            request.add_header("If-Range", validator)
    try:
        answer = opened(request)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        part.unlink(missing_ok=True)  # the part is as long as the file or longer, so it is from another file
        raise Interrupted from error
    with answer:
        resumed = start > 0 and answer.status == 206 and _first_byte(answer) == start
        if not resumed:
            start = 0
        write_note(part, {"url": wanted.url, "validator": _validator(answer)})
        expected = _expected(answer, start)
        _check_size(wanted, expected)
        _copy(wanted, answer, part, start, expected, progress)


@dataclass
class Pace:
    """The bytes of the last minute or so."""

    since: float = field(default_factory=time.monotonic)
    received: int = 0

    def add(self, count: int) -> None:
        """Count bytes; `TooSlow` if there were too few in a whole minute."""
        self.received += count
        elapsed = time.monotonic() - self.since
        if elapsed < TIMEOUT:
            return
        if self.received < SLOWEST * elapsed:
            raise TooSlow
        self.since, self.received = time.monotonic(), 0


def opened(request: urllib.request.Request | str) -> http.client.HTTPResponse:
    """The answer of a server, when its headers have arrived; `URLError` if that takes too long.

    The time without a byte is limited by the connection itself, but a server can send a header byte by byte. So the
    request is made in a thread that can be left behind.
    """
    answers: queue.SimpleQueue[http.client.HTTPResponse | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(urllib.request.urlopen(request, timeout=TIMEOUT))
        except ValueError as error:  # the server redirects to an address that is none
            answers.put(urllib.error.URLError(f"it leads to an address that cannot be used: {error}"))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=2.0 * TIMEOUT)
    except queue.Empty:
        raise urllib.error.URLError(TimeoutError("no answer in time")) from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _resume_from(wanted: Download, part: Path) -> tuple[int, str]:
    """The bytes that are in `part`, and the validator that proves that they belong to the same file.

    Without a validator, the sha256 of the publisher proves it in the end; without both, the download starts again.
    """
    try:
        note = json.loads(note_path(part).read_text(encoding="utf-8"))
        validator = str(note["validator"]) if note["url"] == wanted.url else ""
        same = note["url"] == wanted.url
    except (OSError, ValueError, KeyError, TypeError):
        return 0, ""
    return (_length(part), validator) if same and (validator or wanted.sha256) else (0, "")


def _validator(answer: http.client.HTTPResponse) -> str:
    """What identifies this version of the file on the server: a strong ETag, else the time of its last change."""
    tag = answer.headers.get("ETag") or ""
    return answer.headers.get("Last-Modified") or "" if not tag or tag.startswith("W/") else tag


def _first_byte(answer: http.client.HTTPResponse) -> int:
    """The position in the file of the first byte of a partial answer."""
    digits = (answer.headers.get("Content-Range") or "").removeprefix("bytes ").partition("-")[0]
    return int(digits) if _is_count(digits) else -1


def _expected(answer: http.client.HTTPResponse, start: int) -> int | None:
    """The size of the whole file (bytes), if the server states it."""
    length = answer.headers.get("Content-Length") or ""
    return start + int(length) if _is_count(length) else None


def _is_count(text: str) -> bool:
    """True for a number of bytes; a header may hold anything."""
    return text.isascii() and text.isdigit() and len(text) < 20


def _check_size(wanted: Download, size: int | None) -> None:
    limit = wanted.bytes or LARGEST
    if size is not None and wanted.bytes is not None and size != wanted.bytes:
        raise AssayError(
            f"'{wanted.url}' has {size} bytes instead of {wanted.bytes}; it is not the file that was published"
        )
    if size is not None and size > limit:
        raise AssayError(f"'{wanted.url}' has {size} bytes, and at most {limit} are downloaded")


def _copy(
    wanted: Download,
    answer: http.client.HTTPResponse,
    part: Path,
    start: int,
    expected: int | None,
    progress: DownloadProgress,
) -> None:
    done, limit, pace = start, wanted.bytes or LARGEST, Pace()
    with part.open("ab" if start else "wb") as out:
        while block := _block(answer):
            out.write(block)
            done += len(block)
            if done > limit:
                break
            pace.add(len(block))
            progress(done, expected or wanted.bytes)
    if done > limit:
        part.unlink()
        raise AssayError(f"'{wanted.url}' sends more than {limit} bytes; the download was deleted")
    if expected is not None and done < expected:
        raise Interrupted


def _block(answer: http.client.HTTPResponse) -> bytes:
    """The bytes that have arrived; errors of the network get another class than errors of the disk."""
    try:
        return answer.read1(BLOCK)
    except OSError as error:
        raise urllib.error.URLError(error) from error


def _explanation(wanted: Download, part: Path, error: Exception) -> str:
    """One sentence: what went wrong and what to do."""
    mirror = f"get the file elsewhere and set ASSAY_DATA_MIRROR to the folder or address that has '{wanted.file}'"
    if isinstance(error, Interrupted | http.client.IncompleteRead):
        return (
            f"the connection to '{wanted.url}' was lost {ATTEMPTS} times, the last time after {_length(part)} bytes; "
            "run the same command to continue from there"
        )
    if isinstance(error, TooSlow):
        return (
            f"'{wanted.url}' sends less than {SLOWEST} bytes per second, {_length(part)} bytes so far; "
            f"run the same command later to continue from there, or {mirror}"
        )
    if isinstance(error, urllib.error.HTTPError):
        if error.code in (404, 410):
            return f"'{wanted.url}' no longer exists (HTTP {error.code}); {mirror}"
        if error.code == 407:
            return f"the proxy asks for a password (HTTP 407); add it to HTTPS_PROXY, or {mirror}"
        return f"the server refuses '{wanted.url}' (HTTP {error.code} {error.reason}); try later, or {mirror}"
    reason = getattr(error, "reason", error)
    text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return f"'{wanted.url}' cannot be reached ({text}); check the network and HTTPS_PROXY, or {mirror}"
