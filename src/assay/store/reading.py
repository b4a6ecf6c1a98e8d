"""Reads files of a results folder that may come from anywhere: regular files of a bounded size, and no links."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

TEXT_BYTES = 64_000_000
"""Most bytes of one JSON text: a line of outcomes, the cases of a benchmark, the description of a model."""

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe must not wait for a writer
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class Refused(Exception):
    """A file or folder that is not read; the message says what is wrong with it, as in "is a link"."""


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; `Refused` for links, pipes, devices, folders and what cannot be opened."""
    if path.is_symlink():
        raise Refused("is a link")
    try:
        descriptor = os.open(path, _FLAGS)
    except (OSError, ValueError) as error:
        raise Refused(f"cannot be opened ({getattr(error, 'strerror', None) or error})") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Refused("is not a regular file")
    return os.fdopen(descriptor, "rb")


def read_bounded(path: Path, most: int = TEXT_BYTES) -> bytes:
    """The content of a regular file; `Refused` if it has more than this number of bytes."""
    with open_regular(path) as file:
        try:
            content = file.read(most + 1)
        except OSError as error:
            raise Refused(f"cannot be read ({error.strerror or error})") from error
    if len(content) > most:
        raise Refused(f"has more than {most // 1_000_000} MB")
    return content


def require_folder(folder: Path) -> None:
    """Raise `Refused` unless this is a folder and no link to one."""
    if folder.is_symlink():
        raise Refused("is a link")
    if not folder.is_dir():
        raise Refused("is not a folder")


def list_regular(folder: Path, suffix: str) -> tuple[list[Path], list[str]]:
    """The regular files of a folder whose names end with `suffix`, sorted, and a sentence for each other entry."""
    try:
        require_folder(folder)
        with os.scandir(folder) as entries:
            found = sorted((e for e in entries if e.name.endswith(suffix)), key=lambda entry: entry.name)
    except Refused as error:
        return [], [f"'{folder.name}' {error} and was passed over"] if os.path.lexists(folder) else []
    except OSError as error:
        return [], [f"'{folder.name}' cannot be listed ({error.strerror}) and was passed over"]
    regular = [folder / entry.name for entry in found if entry.is_file(follow_symlinks=False)]
    others = [entry for entry in found if not entry.is_file(follow_symlinks=False)]
    return regular, [_why_not(entry) for entry in others]


def _why_not(entry: os.DirEntry[str]) -> str:
    what = "a link" if entry.is_symlink() else "not a regular file"
    return f"{entry.name} is {what} and was passed over"
