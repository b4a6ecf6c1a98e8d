"""The folder of downloaded files, checksums of files, and one clear error when the disk is full or read-only."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import AssayError


def cache_folder() -> Path:
    """The folder of downloaded files: `$ASSAY_CACHE`, else `assay` in the user's cache folder."""
    if own := os.environ.get("ASSAY_CACHE"):
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "assay"


def file_sha256(path: Path) -> str:
    """The sha256 of a file, as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn errors of writing to the disk into one sentence for the user."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise AssayError(
            f"the cache '{folder}' cannot be written ({reason}); set ASSAY_CACHE to a folder with enough space"
        ) from error
