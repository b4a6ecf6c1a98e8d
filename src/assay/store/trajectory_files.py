"""HDF5 files of trajectories: chunks of frames with the state of the simulation, and the file that joins them.

A file may come from anywhere. Its arrays must lie in the file itself, as numbers, not compressed, and no larger than
what the file has: HDF5 would follow links to other files, and believe any size that is written in the file.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.store import codec
from assay.store.reading import Refused, open_regular, require_folder
from assay.structure import Floats

if TYPE_CHECKING:
    import h5py

SERIES = ("step", "energy", "kinetic", "volume")
"""Numbers of every frame: time step, potential and kinetic energy (eV), volume (Å³, 0 if not periodic)."""

MOST_FRAMES, MOST_ATOMS = 5_000_000, 1_000_000
CHUNK_BYTES = 16_000_000
"""The largest piece of an array that HDF5 may have to read at once."""

JOINED_FACTOR, JOINED_BYTES = 1.25, 64_000
"""How much larger the joined file may be than its chunks together: pieces of arrays are rounded up."""

STATE_BYTES = 100_000_000
STATE_ARRAYS = 50
"""Bounds of the state of a simulation: bytes of each array, and number of arrays."""

_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, MemoryError, RecursionError, Refused)
"""What h5py raises for damaged files."""


@contextmanager
def opened(path: Path) -> Iterator[h5py.File]:
    """A trajectory file for reading; `AssayError` for one that is damaged or no regular file."""
    import h5py

    try:
        require_folder(path.parent)
        open_regular(path).close()
        with h5py.File(path, "r") as file:
            yield file
    except _ERRORS as error:
        text = " ".join(str(error).split())[:200]
        raise AssayError(f"the trajectory '{path}' cannot be read ({text}); delete it and run again") from error


def array_in(group: h5py.Group, name: str, dimensions: int | None = None, most: int | None = None) -> h5py.Dataset:
    """An array of numbers in a file; a `ValueError` unless it lies in the file itself, complete and not compressed."""
    import h5py

    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"'{name}' is a link")
    found = group[name]
    if not isinstance(found, h5py.Dataset) or found.shape is None:
        raise ValueError(f"'{name}' is not an array")
    if found.dtype.kind not in "fiub" or found.dtype.itemsize > 8:
        raise ValueError(f"'{name}' has no numbers")
    if found.is_virtual or found.external or found.id.get_create_plist().get_nfilters():
        raise ValueError(f"'{name}' is compressed or in another file")
    if dimensions is not None and found.ndim != dimensions:
        raise ValueError(f"'{name}' has {found.ndim} dimensions")
    _require_size(found, name, most)
    return found


def _require_size(found: h5py.Dataset, name: str, most: int | None) -> None:
    """Raise a `ValueError` if an array claims more than its file has, or would need too much memory."""
    size = int(np.prod([int(n) for n in found.shape], dtype=object)) * found.dtype.itemsize
    stored = int(found.id.get_storage_size())
    if size > stored or stored > os.stat(found.file.filename).st_size or (most is not None and size > most):
        raise ValueError(f"'{name}' claims {size} bytes")
    piece = int(np.prod([int(n) for n in found.chunks], dtype=object)) * found.dtype.itemsize if found.chunks else 0
    if piece > CHUNK_BYTES:
        raise ValueError(f"'{name}' is in pieces of {piece} bytes")


def frames_in(file: h5py.File) -> tuple[int, int]:
    """Number of frames and atoms of a file; a `ValueError` if its arrays do not fit each other."""
    frames, atoms, axes = array_in(file, "positions", 3).shape
    if axes != 3 or frames > MOST_FRAMES or not 0 < atoms <= MOST_ATOMS:
        raise ValueError(f"'positions' has the shape {(frames, atoms, axes)}")
    for name in SERIES:
        if len(array_in(file, name, 1)) != frames:
            raise ValueError(f"'{name}' has not one number for each frame")
    return frames, atoms


def follows(steps: Floats, last: float = -np.inf, spacing: float = 0.0) -> bool:
    """True if the steps of some frames rise evenly and leave no hole after those up to `last`.

    Args:
        steps: the time steps of successive frames.
        last: the step of the last frame before them; without one, they must start with 0.
        spacing: steps between two frames, if known.
    """
    if not len(steps) or not np.isfinite(steps).all():
        return False
    gaps = np.diff(steps)
    known = spacing or (float(gaps[0]) if len(gaps) else 0.0)
    if len(gaps) and not (known > 0 and (gaps == known).all()):
        return False
    return bool(steps[0] == 0.0) if last == -np.inf else bool(steps[0] <= last + (known or np.inf))


@contextmanager
def _complete_or_gone(path: Path) -> Iterator[None]:
    """A file that is on the disk at the end, or is removed if it could not be written: a full disk needs the space."""
    try:
        yield
        _flush_to_disk(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_chunk(path: Path, frames: NDArray[np.float32], rows: Floats, state: Mapping[str, Any]) -> None:
    """Write frames and the state after them into a file that appears only when it is complete."""
    import h5py

    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    # HDF5 crashes when it closes a file on a full disk, so it only sees memory.
    with h5py.File(temporary, "w", driver="core", backing_store=False) as file:
        file.create_dataset("positions", data=frames)
        for column, name in enumerate(SERIES):
            file.create_dataset(name, data=rows[:, column])
        _write_state(file.create_group("state"), state)
        file.flush()
        content = file.id.get_file_image()
    with _complete_or_gone(temporary):
        temporary.write_bytes(content)
    os.replace(temporary, path)


def _require_room(chunks: Sequence[Path]) -> None:
    """An `OSError` unless the disk has room for a file with all chunks, because HDF5 crashes on a full disk."""
    needed = JOINED_FACTOR * sum(chunk.stat().st_size for chunk in chunks) + JOINED_BYTES
    if shutil.disk_usage(chunks[0].parent).free < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def join_chunks(chunks: Sequence[Path], temporary: Path) -> None:
    """Join all chunks into one file, with one chunk in memory at a time; frames that were written twice count once."""
    import h5py

    _require_room(chunks)
    with _complete_or_gone(temporary), h5py.File(temporary, "w") as whole:
        last = -np.inf
        for chunk in chunks:
            with opened(chunk) as file:
                steps = file["step"][:]
                start = int(np.searchsorted(steps, last, side="right"))
                read = {name: file[name][start:] for name in ("positions", *SERIES)}
            for name, values in read.items():
                _append(whole, name, values)
            last = max(last, steps[-1])
        with opened(chunks[-1]) as file:
            state = read_state(file)
        _write_state(whole.create_group("state"), state)


def _append(file: h5py.File, name: str, values: Floats) -> None:
    if name not in file:
        shape = (None, *values.shape[1:])
        file.create_dataset(name, data=values, maxshape=shape, chunks=True)
        return
    dataset = file[name]
    start = len(dataset)
    dataset.resize(start + len(values), axis=0)
    dataset[start:] = values


def _flush_to_disk(path: Path) -> None:
    """Wait until the content of a file is on the disk, so that it is complete when it gets its name."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _write_state(group: h5py.Group, state: Mapping[str, Any]) -> None:
    plain = {}
    for name, value in state.items():
        if isinstance(value, np.ndarray):
            group.create_dataset(name, data=value)
        else:
            plain[name] = value
    group.create_dataset(_PLAIN, data=np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8))


_PLAIN = "plain"
"""The text of what is no array in a state; earlier versions kept it as an attribute."""


def read_state(file: h5py.File) -> dict[str, Any]:
    """The state of the simulation after the last frame of a file."""
    import h5py

    if not isinstance(file.get("state", getlink=True), h5py.HardLink) or not isinstance(file["state"], h5py.Group):
        raise ValueError("'state' is not a group")
    group = file["state"]
    if len(group) > STATE_ARRAYS:
        raise ValueError(f"'state' has {len(group)} arrays")
    arrays = {name: np.array(array_in(group, name, most=STATE_BYTES)) for name in group}
    text = bytes(arrays.pop(_PLAIN)) if _PLAIN in arrays else str(group.attrs[_PLAIN])
    plain = codec.loads(text)
    if not isinstance(plain, dict):
        raise ValueError("'state' has no table")
    return {**arrays, **plain}
