"""Zip and tar archives of strangers, read member by member and never unpacked onto the disk."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from assay.errors import AssayError

MOST_MEMBERS = 200_000
LARGEST_MEMBER = 2**29
LARGEST_TOTAL = 2**32
"""Limits for archives of data: members, bytes of one, and bytes of all of them once unpacked."""


@dataclass(frozen=True)
class Member:
    """One entry of an archive: its path, its size (bytes) as the archive says, and whether it is a plain file."""

    name: str
    size: int
    regular: bool
    folder: bool
    read: Callable[[], bytes]


@contextmanager
def opened(archive: Path, what: str) -> Iterator[Iterator[Member]]:
    """The members of a zip or a gzipped tar one after the other; `what` names the archive when it cannot be read.

    A member must be read before the next one is taken.
    """
    import tarfile
    import zipfile
    import zlib

    try:
        yield _zip(archive) if zipfile.is_zipfile(archive) else _tar(archive)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, NotImplementedError) as error:
        raise AssayError(f"the archive of {what} cannot be read ({error})") from error


def _zip(archive: Path) -> Iterator[Member]:
    import zipfile

    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            kind = stat.S_IFMT(entry.external_attr >> 16)
            plain = kind in (0, stat.S_IFREG) and not entry.is_dir() and not entry.flag_bits & 1
            folder = entry.is_dir() and kind in (0, stat.S_IFDIR)
            yield Member(entry.filename, entry.file_size, plain, folder, lambda e=entry: packed.read(e))  # type: ignore[misc]


def _tar(archive: Path) -> Iterator[Member]:
    import tarfile

    with tarfile.open(archive, "r:gz") as packed:
        for entry in packed:
            stream = packed.extractfile(entry) if entry.isreg() else None
            contents = stream.read if stream is not None else bytes
            yield Member(entry.name, entry.size, entry.isreg(), entry.isdir(), contents)


def read_members(archive: Path, what: str, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """The contents of the wanted files. An archive with anything odd in it, wanted or not, is refused as a whole."""
    found: dict[str, bytes] = {}
    count = total = 0
    with opened(archive, what) as members:
        for member in members:
            count, total = count + 1, total + member.size
            _refuse_odd(member, what)
            if count > MOST_MEMBERS or member.size > LARGEST_MEMBER or total > LARGEST_TOTAL:
                raise AssayError(
                    f"the archive of {what} unpacks to more than is allowed ({member.name[:80]!r} has {member.size} "
                    f"bytes, {total} in {count} members so far); it is not read"
                )
            if member.regular and wanted(member.name):
                found[member.name] = member.read()
    return found


def _refuse_odd(member: Member, what: str) -> None:
    path, name = PurePosixPath(member.name.replace("\\", "/")), member.name[:80]
    if path.is_absolute() or ".." in path.parts:
        raise AssayError(f"the archive of {what} has a member {name!r} that lies outside of it; it is not read")
    if not (member.regular or member.folder):
        raise AssayError(f"the archive of {what} has a member {name!r} that is no plain file; it is not read")
