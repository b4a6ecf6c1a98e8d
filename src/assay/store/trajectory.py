"""Trajectories on disk: frames in chunks, never all in memory, and a checkpoint that survives being killed.

While a simulation runs, each chunk of frames is a small HDF5 file of its own, written whole and then renamed, with the
state of the simulation at its end. So there is no moment at which a kill can spoil what is there. When the simulation
is over, the chunks become one file, `<key>.h5`, with the last state, so that a kill right then costs nothing either.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError
from assay.structure import Floats

if TYPE_CHECKING:
    import h5py

CHUNK_BYTES = 1_000_000
CHUNK_SECONDS = 20.0
"""A chunk is written when it has grown to so many bytes or so many seconds old: what a kill can cost."""

FIRST_ROOM = 64
"""Frames for which there is room in memory at first; it doubles until a chunk fits."""

SERIES = ("step", "energy", "kinetic", "volume")
"""Numbers that every frame has: time step, potential and kinetic energy (eV), volume (Å³, 0 without a cell)."""


@dataclass(frozen=True, eq=False)
class Frames:
    """Successive frames: positions (Å) of shape (frames, atoms, 3), and a series for each of `SERIES`."""

    positions: Floats
    series: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True)
class Trajectory:
    """A finished or unfinished trajectory, read chunk by chunk."""

    path: Path

    @property
    def files(self) -> list[Path]:
        """The one file of a finished trajectory, or the chunks of one that is not."""
        if self.path.is_file():
            return [self.path]
        return _chunks(_folder(self.path))

    def chunks(self, most: int = 1000) -> Iterator[Frames]:
        """All frames in order, at most so many at a time."""
        for path in self.files:
            with _open(path) as file:
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
            with _open(path) as file:
                parts.append(np.asarray(file[name][:], dtype=float))
        return np.concatenate(parts) if parts else np.zeros(0)

    def __len__(self) -> int:
        count = 0
        for path in self.files:
            with _open(path) as file:
                count += len(file["positions"])
        return count


@dataclass
class Recorder:
    """Takes the frames of one simulation and writes them; knows where an earlier, interrupted one stopped."""

    path: Path
    atoms: int
    waiting: int = 0
    """Frames that are not on disk yet."""

    _since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        # Arrays that are filled again and again: a list of small ones takes four times the memory of its numbers.
        self._frames = np.empty((FIRST_ROOM, self.atoms, 3), dtype=np.float32)
        self._rows = np.empty((FIRST_ROOM, len(SERIES)))

    def resume(self) -> dict[str, Any] | None:
        """The state at the end of what is written; None if nothing is, or if it cannot be read."""
        if self.path.is_file() and (state := self._state_in(self.path)) is not None:
            return state
        found = _chunks(_folder(self.path))
        while found:
            if (state := self._state_in(found[-1])) is not None:
                return state
            found.pop().unlink(missing_ok=True)  # a disk may lie about what it has written; earlier chunks are whole
        return None

    def _state_in(self, path: Path) -> dict[str, Any] | None:
        try:
            with _open(path) as file:
                return _read_state(file["state"]) if file["positions"].shape[1:] == (self.atoms, 3) else None
        except (AssayError, KeyError, ValueError, OSError):
            return None

    def add(self, positions: Floats, row: Sequence[float]) -> bool:
        """Keep a frame; true when it is time to `save`, which needs the state of the simulation."""
        if self.waiting == len(self._rows):
            self._frames = np.concatenate([self._frames, np.empty_like(self._frames)])
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._frames[self.waiting], self._rows[self.waiting] = positions, row
        self.waiting += 1
        full = self.waiting * self.atoms * 12 >= CHUNK_BYTES
        return full or time.monotonic() - self._since > CHUNK_SECONDS

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the frames that are waiting, and the state after them, as one chunk."""
        self._since = time.monotonic()
        if not self.waiting:
            return
        folder = _folder(self.path)
        folder.mkdir(parents=True, exist_ok=True)
        first = int(self._rows[0, 0])  # its step is the name: what a forgotten process writes there is the same
        _write(folder / f"{first:012d}.h5", self._frames[: self.waiting], self._rows[: self.waiting], state)
        self.waiting = 0

    def finish(self, state: Mapping[str, Any]) -> str:
        """Write what is waiting and join all chunks into one file; returns its name."""
        self.save(state)
        folder = _folder(self.path)
        parts = _chunks(folder)
        if parts:
            _join(parts, self.path)
        _remove(folder)
        return self.path.name

    def discard(self) -> None:
        """Forget an earlier attempt."""
        self.path.unlink(missing_ok=True)
        shutil.rmtree(_folder(self.path), ignore_errors=True)


def trajectory_path(folder: Path, key: str) -> Path:
    """Where the trajectory of a job lies in a results folder; a key that is not one of ours leads nowhere else."""
    if not key.isalnum():
        raise AssayError(f"'{key}' is not the key of a job; the results in '{folder}' are damaged")
    return folder / "trajectories" / f"{key}.h5"


def steps_on_disk(path: Path) -> int:
    """How many steps an unfinished simulation has written, up to its last chunk; 0 if there is none."""
    found = _chunks(_folder(path))
    return int(found[-1].stem) if found else 0


def _folder(path: Path) -> Path:
    return path.with_suffix(".parts")


def _chunks(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.h5")) if folder.is_dir() else []


def _remove(folder: Path) -> None:
    """Make a folder disappear in one step: half of the chunks must never be taken for all of them."""
    gone = folder.with_suffix(".gone")
    shutil.rmtree(gone, ignore_errors=True)
    if folder.is_dir():
        os.replace(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)


def _open(path: Path) -> h5py.File:
    import h5py

    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise AssayError(f"the trajectory '{path}' cannot be read ({error}); delete it and run again") from error


def _write(path: Path, frames: NDArray[np.float32], rows: Floats, state: Mapping[str, Any]) -> None:
    import h5py

    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    with h5py.File(temporary, "w") as file:
        file.create_dataset("positions", data=frames)
        for column, name in enumerate(SERIES):
            file.create_dataset(name, data=rows[:, column])
        _write_state(file.create_group("state"), state)
    _settle(temporary, path)


def _join(parts: Sequence[Path], path: Path) -> None:
    """One file of all chunks, a chunk in memory at a time; frames that two processes have written are taken once."""
    import h5py

    temporary = parts[0].with_name(f"whole.{os.getpid()}.tmp")  # among the chunks, with which it goes if we are killed
    with h5py.File(temporary, "w") as whole:
        last = -np.inf
        for part in parts:
            with _open(part) as file:
                steps = file["step"][:]
                start = int(np.searchsorted(steps, last, side="right"))
                for name in ("positions", *SERIES):
                    _append(whole, name, file[name][start:])
                last = max(last, steps[-1])
        with _open(parts[-1]) as file:
            file.copy("state", whole)
    _settle(temporary, path)


def _append(file: h5py.File, name: str, values: Floats) -> None:
    if name not in file:
        shape = (None, *values.shape[1:])
        file.create_dataset(name, data=values, maxshape=shape, chunks=True)
        return
    held = file[name]
    start = len(held)
    held.resize(start + len(values), axis=0)
    held[start:] = values


def _settle(temporary: Path, path: Path) -> None:
    """Make sure that the file is on the disk before it gets its name."""
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


def _read_state(group: h5py.Group) -> dict[str, Any]:
    return {**{name: np.array(group[name]) for name in group}, **json.loads(group.attrs["plain"])}
