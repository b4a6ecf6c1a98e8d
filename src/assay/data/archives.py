"""Zip and tar archives from the internet. They are read member by member and never unpacked to the disk."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.text import one_line

if TYPE_CHECKING:
    import zipfile

MOST_MEMBERS = 200_000
LARGEST_MEMBER = 2**29
LARGEST_TOTAL = 2**32
"""Limits for archives of data: number of members, unpacked bytes of one member, unpacked bytes of all members."""

PIECE, SMALL_PIECE = 2**20, 2**12
"""Bytes of a member that are read at once; of methods that unpack all packed bytes they are given, only a few."""


@dataclass(frozen=True)
class Member:
    """An entry of an archive: its path, the size (bytes) that the archive states, and whether it is a regular file."""

    name: str
    size: int
    regular: bool
    folder: bool
    read: Callable[[], bytes]


@contextmanager
def opened(archive: Path, what: str) -> Iterator[Iterator[Member]]:
    """The members of a zip or a gzipped tar, one after the other; `what` names the archive in errors.

    Read a member before you take the next one.
    """
    import lzma
    import struct
    import tarfile
    import zipfile
    import zlib

    damaged = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error)
    try:
        yield _zip(archive) if zipfile.is_zipfile(archive) else _tar(archive)
    except (*damaged, EOFError, OSError, NotImplementedError, RuntimeError, ValueError, OverflowError) as error:
        raise AssayError(f"the archive of {what} cannot be read ({one_line(str(error))})") from error


def _zip(archive: Path) -> Iterator[Member]:
    import zipfile

    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            kind = stat.S_IFMT(entry.external_attr >> 16)
            plain = kind in (0, stat.S_IFREG) and not entry.is_dir() and not entry.flag_bits & 1
            folder = entry.is_dir() and kind in (0, stat.S_IFDIR)
            yield Member(entry.filename, entry.file_size, plain, folder, partial(_unpacked, packed, entry))


def _unpacked(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The contents of a member, read in small pieces: an archive may contain far more than the size that it states."""
    import zipfile

    if entry.compress_type == zipfile.ZIP_BZIP2:  # a few hundred bytes may unpack to gigabytes at once
        raise zipfile.BadZipFile(f"'{entry.filename}' is packed with bzip2, which is not read from zip archives")
    bounded = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    with packed.open(entry) as stream:
        return b"".join(iter(partial(stream.read, PIECE if bounded else SMALL_PIECE), b""))


def _tar(archive: Path) -> Iterator[Member]:
    import tarfile

    with tarfile.open(archive, "r:gz") as packed:
        for entry in packed:
            stream = packed.extractfile(entry) if entry.isreg() else None
            contents = stream.read if stream is not None else bytes
            yield Member(entry.name, entry.size, entry.isreg(), entry.isdir(), contents)


def read_members(archive: Path, what: str, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """The contents of the wanted files. An archive with any unsafe member is refused, even if it is not wanted."""
    found: dict[str, bytes] = {}
    count = total = 0
    with opened(archive, what) as members:
        for member in members:
            count, total = count + 1, total + member.size
            _refuse_unsafe(member, what)
            if count > MOST_MEMBERS or member.size > LARGEST_MEMBER or total > LARGEST_TOTAL:
                raise AssayError(
                    f"the archive of {what} is larger than allowed when unpacked ({member.name[:80]!r} has "
                    f"{member.size} bytes, {total} in the first {count} members); it is not read"
                )
            if member.regular and wanted(member.name):
                found[member.name] = member.read()
    return found


def _refuse_unsafe(member: Member, what: str) -> None:
    path, name = PurePosixPath(member.name.replace("\\", "/")), member.name[:80]
    if path.is_absolute() or ".." in path.parts:
        raise AssayError(f"the archive of {what} has a member {name!r} with a path outside of it; it is not read")
    if not (member.regular or member.folder):
        raise AssayError(f"the archive of {what} has a member {name!r} that is not a regular file; it is not read")
