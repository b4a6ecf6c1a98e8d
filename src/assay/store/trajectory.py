"""Trajectories on disk: frames are written and read in chunks, and an interrupted simulation can be resumed.

While a simulation runs, each chunk of frames is a small HDF5 file with the state of the simulation at its end. A chunk
is first written under another name and then renamed, so that a killed process never leaves a damaged chunk. When the
simulation ends, the chunks are joined into one file, `<key>.h5`, which also has the last state: a process that is
killed at that moment loses nothing.

Two processes may compute the same simulation. Each has chunks of its own, and the first complete file stays.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import AssayError
from assay.store.chunks import adopt, chunk_folder, chunk_sets, furthest, publish, remove_chunks, sound_chunks
from assay.store.reading import list_regular
from assay.store.trajectory_files import SERIES, follows, frames_in, join_chunks, opened, read_state, write_chunk
from assay.structure import Floats

CHUNK_BYTES = 1_000_000
CHUNK_SECONDS = 20.0
"""A chunk is written at this size or after this time: the most that is lost if the process is killed."""

FIRST_CAPACITY = 64
"""Frames for which memory is reserved at first; it is doubled when it is full."""

TRIES = 3
"""How often an unfinished simulation is looked for: another process may finish it at this moment."""

READ_NUMBERS = 3_000_000
"""Coordinates that are read at a time, at most."""


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
        return [self.path] if os.path.lexists(self.path) else furthest(self.path)

    def problem(self, frames: object = None, atoms: object = None) -> str:
        """Why this is not a finished trajectory of this number of frames and atoms; empty if it is."""
        if not os.path.lexists(self.path):
            return f"the trajectory '{self.path.name}' is missing"
        try:
            with opened(self.path) as file:
                found = frames_in(file)
        except AssayError:
            return f"the trajectory '{self.path.name}' is damaged"
        for number, wanted, what in zip(found, (frames, atoms), ("frames", "atoms"), strict=True):
            if isinstance(wanted, int) and number != wanted:
                return f"the trajectory '{self.path.name}' has {number} of {wanted} {what}"
        return ""

    def chunks(self, most: int = 1000) -> Iterator[Frames]:
        """All frames in order, at most this number at a time."""
        for path in self.files:
            with opened(path) as file:
                count, atoms = frames_in(file)
                size = max(min(most, READ_NUMBERS // (3 * atoms)), 1)
                for start in range(0, count, size):
                    part = slice(start, min(start + size, count))
                    yield Frames(
                        np.asarray(file["positions"][part], dtype=float),
                        {name: np.asarray(file[name][part], dtype=float) for name in SERIES},
                    )

    def series(self, name: str) -> Floats:
        """One number of every frame, for example `energy` (eV)."""
        parts = []
        for path in self.files:
            with opened(path) as file:
                frames_in(file)
                parts.append(np.asarray(file[name][:], dtype=float))
        return np.concatenate(parts) if parts else np.zeros(0)

    def __len__(self) -> int:
        count = 0
        for path in self.files:
            with opened(path) as file:
                count += frames_in(file)[0]
        return count


@dataclass
class Recorder:
    """Writes the frames of one simulation and finds the state in which an interrupted simulation stopped."""

    path: Path
    atoms: int
    unsaved: int = 0
    """Frames that are not on disk yet."""

    overtaken_by: Mapping[str, Any] | None = None
    """The state at the end of the trajectory, if another process finished it before this one."""

    _last_save: float = field(default_factory=time.monotonic)
    _last_step: float = -1.0
    _writer: str = field(default_factory=lambda: f"{os.getpid()}-{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        # The arrays are reused for every chunk: a list of small arrays takes four times as much memory.
        self._frames = np.empty((FIRST_CAPACITY, self.atoms, 3), dtype=np.float32)
        self._rows = np.empty((FIRST_CAPACITY, len(SERIES)))

    @property
    def folder(self) -> Path:
        """The folder of the chunks of this process."""
        return chunk_folder(self.path) / self._writer

    def resume(self) -> dict[str, Any] | None:
        """The state after the last frame on disk; None if there is none or if it cannot be read."""
        for _ in range(TRIES):
            if (state := self._finished()) is not None:
                return state
            found = [sound_chunks(chunks, self.atoms) for chunks in chunk_sets(self.path)]
            _, chunks = max(found, key=lambda each: each[0], default=(0.0, []))
            if not chunks:
                return None
            if adopt(chunks, self.folder):
                with opened(self.folder / chunks[-1].name) as file:
                    return read_state(file)
        return None

    def written(self) -> Iterator[Floats]:
        """The positions (Å) of all frames on disk, in chunks of the shape (frames, atoms, 3)."""
        last = -np.inf
        files = [self.path] if self._finished() is not None else self._own_chunks()
        for frames in (frames for path in files for frames in Trajectory(path).chunks()):
            new = frames.series["step"] > last  # a frame that was written twice counts once
            last = max(last, float(frames.series["step"][-1]))
            yield frames.positions[new]

    def _own_chunks(self) -> list[Path]:
        return [path for path in list_regular(self.folder, ".h5")[0] if path.stem.isdecimal()]

    def _finished(self) -> dict[str, Any] | None:
        """The state at the end of the finished trajectory; None unless it is complete."""
        try:
            with opened(self.path) as file:
                steps = np.asarray(file["step"][:], dtype=float) if frames_in(file)[1] == self.atoms else np.zeros(0)
                state = read_state(file)
        except AssayError:
            return None
        return state if follows(steps) and _reach(steps, state.get("step")) else None

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
        # The file is named after its first step, so that the names are in the order of the frames.
        path = self.folder / f"{int(self._rows[0, 0]):012d}.h5"
        try:
            self._write(path, state)
        except FileNotFoundError:  # another process has finished the same simulation and removed all chunks
            self._write(path, state)
        self._last_step = float(self._rows[self.unsaved - 1, 0])
        self.unsaved = 0

    def _write(self, path: Path, state: Mapping[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_chunk(path, self._frames[: self.unsaved], self._rows[: self.unsaved], state)

    def finish(self, state: Mapping[str, Any]) -> str:
        """Write the unsaved frames and join all chunks into one file; returns its name.

        If another process was first, its file stays, and `overtaken_by` is the state at its end.
        """
        self.save(state)
        self.overtaken_by = self._finished()
        if self.overtaken_by is None:
            try:
                self._join()
            except (AssayError, OSError):  # another process has finished meanwhile and removed all chunks
                self.overtaken_by = self._finished()
                if self.overtaken_by is None:
                    raise
        remove_chunks(self.path)
        return self.path.name

    def _join(self) -> None:
        """Join the chunks of this process into the file of the trajectory, unless another process is faster."""
        last, chunks = sound_chunks(self._own_chunks(), self.atoms)
        if last < self._last_step or not chunks:
            raise AssayError(f"frames of the trajectory '{self.path}' have vanished; run again")
        temporary = self.folder / "whole.tmp"
        join_chunks(chunks, temporary)
        if not publish(temporary, self.path):
            self.overtaken_by = self._finished()
            if self.overtaken_by is None:
                os.replace(temporary, self.path)  # what is there is damaged or incomplete

    def discard(self) -> None:
        """Delete everything that was written."""
        self.path.unlink(missing_ok=True)
        shutil.rmtree(chunk_folder(self.path), ignore_errors=True)


def _reach(steps: Floats, end: object) -> bool:
    """True if frames at these steps are all frames of a simulation that ended at step `end`."""
    spacing = steps[1] - steps[0] if len(steps) > 1 else np.inf
    return not isinstance(end, int) or bool(steps[-1] <= end < steps[-1] + spacing)


def trajectory_path(folder: Path, key: str) -> Path:
    """The path of a job's trajectory in a results folder; `AssayError` for a key that could lead elsewhere."""
    if not key.isalnum():
        raise AssayError(f"'{key}' is not the key of a job; the results in '{folder}' are damaged")
    return folder / "trajectories" / f"{key}.h5"


def steps_on_disk(path: Path) -> int:
    """Number of steps of an unfinished simulation before its last chunk; 0 if there is none."""
    chunks = furthest(path)
    return int(chunks[-1].stem) if chunks else 0
