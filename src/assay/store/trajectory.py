"""Trajectories on disk: frames are written and read in chunks, and an interrupted simulation can be resumed.

While a simulation runs, each chunk of frames is a small HDF5 file with the state of the simulation at its end. A chunk
is first written under another name and then renamed, so that a killed process never leaves a damaged chunk. When the
simulation ends, the chunks are joined into one file, `<key>.h5`, which also has the last state: a process that is
killed at that moment loses nothing.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import AssayError
from assay.store.trajectory_files import (
    SERIES,
    chunk_files,
    chunk_folder,
    join_chunks,
    open_file,
    read_state,
    remove_chunks,
    write_chunk,
)
from assay.structure import Floats

CHUNK_BYTES = 1_000_000
CHUNK_SECONDS = 20.0
"""A chunk is written at this size or after this time: the most that is lost if the process is killed."""

FIRST_CAPACITY = 64
"""Frames for which memory is reserved at first; it is doubled when it is full."""


@dataclass(frozen=True, eq=False)
class Frames:
    """Successive frames: positions (Å) of shape (frames, atoms, 3), and a series for each name in `SERIES`."""

    positions: Floats
    series: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True)
class Trajectory:
    """A finished or unfinished trajectory, which is read in chunks."""

    path: Path

    @property
    def files(self) -> list[Path]:
        """The file of a finished trajectory, or the chunks of an unfinished one."""
        return [self.path] if self.path.is_file() else chunk_files(self.path)

    def chunks(self, most: int = 1000) -> Iterator[Frames]:
        """All frames in order, at most this number at a time."""
        for path in self.files:
            with open_file(path) as file:
                count = len(file["positions"])
                for start in range(0, count, most):
                    part = slice(start, min(start + most, count))
                    yield Frames(
                        np.asarray(file["positions"][part], dtype=float),
                        {name: np.asarray(file[name][part], dtype=float) for name in SERIES},
                    )

    def series(self, name: str) -> Floats:
        """One number of every frame, for example `energy` (eV)."""
        parts = []
        for path in self.files:
            with open_file(path) as file:
                parts.append(np.asarray(file[name][:], dtype=float))
        return np.concatenate(parts) if parts else np.zeros(0)

    def __len__(self) -> int:
        count = 0
        for path in self.files:
            with open_file(path) as file:
                count += len(file["positions"])
        return count


@dataclass
class Recorder:
    """Writes the frames of one simulation and finds the state in which an interrupted simulation stopped."""

    path: Path
    atoms: int
    unsaved: int = 0
    """Frames that are not on disk yet."""

    _last_save: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        # The arrays are reused for every chunk: a list of small arrays takes four times as much memory.
        self._frames = np.empty((FIRST_CAPACITY, self.atoms, 3), dtype=np.float32)
        self._rows = np.empty((FIRST_CAPACITY, len(SERIES)))

    def resume(self) -> dict[str, Any] | None:
        """The state after the last frame on disk; None if there is none or if it cannot be read."""
        if self.path.is_file() and (state := self._state_in(self.path)) is not None:
            return state
        chunks = chunk_files(self.path)
        while chunks:
            if (state := self._state_in(chunks[-1])) is not None:
                return state
            chunks.pop().unlink(missing_ok=True)  # a disk fault may damage the last chunk; earlier ones are complete
        return None

    def written(self) -> Iterator[Floats]:
        """The positions (Å) of all frames on disk, in chunks of the shape (frames, atoms, 3)."""
        last = -np.inf
        for frames in Trajectory(self.path).chunks():
            new = frames.series["step"] > last  # a frame that was written twice counts once
            last = max(last, float(frames.series["step"][-1]))
            yield frames.positions[new]

    def _state_in(self, path: Path) -> dict[str, Any] | None:
        try:
            with open_file(path) as file:
                return read_state(file) if file["positions"].shape[1:] == (self.atoms, 3) else None
        except (AssayError, KeyError, ValueError, OSError):
            return None

    def add(self, positions: Floats, row: Sequence[float]) -> bool:
        """Add a frame; true if `save` should be called now, with the state of the simulation."""
        if self.unsaved == len(self._rows):
            self._frames = np.concatenate([self._frames, np.empty_like(self._frames)])
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._frames[self.unsaved], self._rows[self.unsaved] = positions, row
        self.unsaved += 1
        full = self.unsaved * self.atoms * 12 >= CHUNK_BYTES
        return full or time.monotonic() - self._last_save > CHUNK_SECONDS

    def save(self, state: Mapping[str, Any]) -> None:
        """Write all unsaved frames, and the state after them, as one chunk."""
        self._last_save = time.monotonic()
        if not self.unsaved:
            return
        folder = chunk_folder(self.path)
        folder.mkdir(parents=True, exist_ok=True)
        # The file is named after its first step, so that another process with the same job writes the same file.
        first = int(self._rows[0, 0])
        write_chunk(folder / f"{first:012d}.h5", self._frames[: self.unsaved], self._rows[: self.unsaved], state)
        self.unsaved = 0

    def finish(self, state: Mapping[str, Any]) -> str:
        """Write the unsaved frames and join all chunks into one file; returns its name."""
        self.save(state)
        chunks = chunk_files(self.path)
        if chunks:
            join_chunks(chunks, self.path)
        remove_chunks(self.path)
        return self.path.name

    def discard(self) -> None:
        """Delete everything that was written."""
        self.path.unlink(missing_ok=True)
        shutil.rmtree(chunk_folder(self.path), ignore_errors=True)


def trajectory_path(folder: Path, key: str) -> Path:
    """The path of a job's trajectory in a results folder; `AssayError` for a key that could lead elsewhere."""
    if not key.isalnum():
        raise AssayError(f"'{key}' is not the key of a job; the results in '{folder}' are damaged")
    return folder / "trajectories" / f"{key}.h5"


def steps_on_disk(path: Path) -> int:
    """Number of steps of an unfinished simulation before its last chunk; 0 if there is none."""
    chunks = chunk_files(path)
    return int(chunks[-1].stem) if chunks else 0
