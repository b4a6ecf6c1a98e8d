"""HDF5 files of trajectories: chunks of frames with the state of the simulation, and the file that joins them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.structure import Floats

if TYPE_CHECKING:
    import h5py

SERIES = ("step", "energy", "kinetic", "volume")
"""Numbers of every frame: time step, potential and kinetic energy (eV), volume (Å³, 0 if not periodic)."""


def chunk_folder(path: Path) -> Path:
    """The folder with the chunks of an unfinished trajectory."""
    return path.with_suffix(".parts")


def chunk_files(path: Path) -> list[Path]:
    """The chunks of an unfinished trajectory, in order."""
    folder = chunk_folder(path)
    return sorted(folder.glob("[0-9]*.h5")) if folder.is_dir() else []


def remove_chunks(path: Path) -> None:
    """Delete all chunks of a trajectory at once, so that no process can read only some of them."""
    folder = chunk_folder(path)
    gone = folder.with_suffix(".gone")
    shutil.rmtree(gone, ignore_errors=True)
    if folder.is_dir():
        os.replace(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)


def open_file(path: Path) -> h5py.File:
    """A trajectory file for reading; `AssayError` if it is damaged."""
    import h5py

    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise AssayError(f"the trajectory '{path}' cannot be read ({error}); delete it and run again") from error


def write_chunk(path: Path, frames: NDArray[np.float32], rows: Floats, state: Mapping[str, Any]) -> None:
    """Write frames and the state after them into a file that appears only when it is complete."""
    import h5py

    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    with h5py.File(temporary, "w") as file:
        file.create_dataset("positions", data=frames)
        for column, name in enumerate(SERIES):
            file.create_dataset(name, data=rows[:, column])
        _write_state(file.create_group("state"), state)
    _rename_when_on_disk(temporary, path)


def join_chunks(chunks: Sequence[Path], path: Path) -> None:
    """Join all chunks into one file, with one chunk in memory at a time; frames that were written twice count once."""
    import h5py

    temporary = chunks[0].with_name(f"whole.{os.getpid()}.tmp")  # in the folder of the chunks, which is removed later
    with h5py.File(temporary, "w") as whole:
        last = -np.inf
        for chunk in chunks:
            with open_file(chunk) as file:
                steps = file["step"][:]
                start = int(np.searchsorted(steps, last, side="right"))
                for name in ("positions", *SERIES):
                    _append(whole, name, file[name][start:])
                last = max(last, steps[-1])
        with open_file(chunks[-1]) as file:
            file.copy("state", whole)
    _rename_when_on_disk(temporary, path)


def _append(file: h5py.File, name: str, values: Floats) -> None:
    if name not in file:
        shape = (None, *values.shape[1:])
        file.create_dataset(name, data=values, maxshape=shape, chunks=True)
        return
    dataset = file[name]
    start = len(dataset)
    dataset.resize(start + len(values), axis=0)
    dataset[start:] = values


def _rename_when_on_disk(temporary: Path, path: Path) -> None:
    """Give a file its name after its content is on the disk."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _write_state(group: h5py.Group, state: Mapping[str, Any]) -> None:
    plain = {}
    for name, value in state.items():
        if isinstance(value, np.ndarray):
            group.create_dataset(name, data=value)
        else:
            plain[name] = value
    group.attrs["plain"] = json.dumps(plain)


def read_state(file: h5py.File) -> dict[str, Any]:
    """The state of the simulation after the last frame of a file."""
    group = file["state"]
    return {**{name: np.array(group[name]) for name in group}, **json.loads(group.attrs["plain"])}
