"""The chunks of unfinished trajectories: each process has a folder of its own, from which another one can go on."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

import numpy as np

from assay.errors import AssayError
from assay.store.reading import list_regular
from assay.store.trajectory_files import follows, frames_in, opened, read_state


def chunk_folder(path: Path) -> Path:
    """The folder with the chunks of an unfinished trajectory, in one folder for each process that computes it.

    Earlier versions wrote the chunks of all processes into this folder itself.
    """
    return path.with_suffix(".parts")


def chunk_sets(path: Path) -> list[list[Path]]:
    """The chunks of each process that computes or computed this trajectory, in order."""
    folder = chunk_folder(path)
    if not folder.is_dir() or folder.is_symlink():
        return []
    try:
        writers = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except OSError:  # another process has just finished the trajectory
        return []
    found = [[c for c in list_regular(place, ".h5")[0] if c.stem.isdecimal()] for place in (folder, *writers)]
    return [chunks for chunks in found if chunks]


def furthest(path: Path) -> list[Path]:
    """The chunks of the process that has come furthest; none if there are no chunks."""
    return max(chunk_sets(path), key=lambda chunks: int(chunks[-1].stem), default=[])


def sound_chunks(chunks: list[Path], atoms: int) -> tuple[float, list[Path]]:
    """The last step before the first chunk that is damaged or missing, and the chunks up to there."""
    last, spacing = -np.inf, 0.0
    sound: list[Path] = []
    for chunk in chunks:
        try:
            with opened(chunk) as file:
                if frames_in(file)[1] != atoms:
                    break
                read_state(file)
                steps = np.asarray(file["step"][:], dtype=float)
        except AssayError:
            break
        if not follows(steps, last, spacing):
            break
        spacing = spacing or (float(steps[1] - steps[0]) if len(steps) > 1 else 0.0)
        last, sound = max(last, float(steps[-1])), [*sound, chunk]
    return last, sound


def adopt(chunks: list[Path], folder: Path) -> bool:
    """Give chunks of another process to this one, in its own folder; false if they vanish meanwhile."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for chunk in chunks:
            _link(chunk, folder / chunk.name)
    except FileNotFoundError:
        shutil.rmtree(folder, ignore_errors=True)
        return False
    return True


def _link(old: Path, new: Path) -> None:
    """The same file under another name, or a copy where the file system has no second names."""
    try:
        os.link(old, new)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(old, new)


def remove_chunks(path: Path) -> None:
    """Delete all chunks of a trajectory at once, so that no process can read only some of them."""
    folder = chunk_folder(path)
    try:
        os.replace(folder, folder.with_suffix(f".{uuid.uuid4().hex[:8]}.gone"))
    except OSError:  # there is none, or another process has just removed it
        pass
    for gone in path.parent.glob(f"{path.stem}.*gone"):  # also what a killed process left
        shutil.rmtree(gone, ignore_errors=True)


def publish(temporary: Path, path: Path) -> bool:
    """Give a complete file its name; false if another process was first, whose file then stays."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # the file system has no second names
        if os.path.lexists(path):
            return False
        os.replace(temporary, path)
    return True
