"""Paths between structures, as arrays of shape (images, atoms, 3) in Å: how to lay one, and the forces of a band on it.

Cite: Smidstrup et al., J. Chem. Phys. 140, 214106 (2014), image-dependent pair potential; Henkelman and Jónsson, J.
Chem. Phys. 113, 9978 (2000), improved tangent; Henkelman, Uberuaga and Jónsson, ibid. 9901, climbing image.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.analysis.superposition import superposed
from assay.compute.protocols.minimisers import Fire, largest_norm
from assay.structure import Floats, Structure

IDPP_LIMIT = 0.02
IDPP_STEPS = 300
ANCHOR = 1e-4
CLASH = 0.5
"""Two atoms of a straight path that come closer than this fraction of their distance at both ends collide."""

KICK = 0.2
"""How far (Å) the middle of a path with a collision is pushed aside, so that atoms can pass each other."""


def superposed_path(path: Floats) -> Floats:
    """The path with each image superposed onto the one before: molecules turn and drift no more than they must."""
    found = [path[0]]
    for image in path[1:]:
        found.append(_laid_onto(image, found[-1]))
    return np.array(found)


def _laid_onto(image: Floats, before: Floats) -> Floats:
    """The image superposed, with a light preference for not turning, which decides where a line of atoms does not."""
    own, other = image - image.mean(axis=0), before - before.mean(axis=0)
    anchor = ANCHOR * own
    turned = superposed(np.concatenate([own, anchor]), np.concatenate([other, anchor]))
    return turned[: len(image)] + before.mean(axis=0)


def gaps(path: Floats, frame: Structure) -> Floats:
    """From each image to the next, by the nearest periodic image where the structure has any."""
    return nearest(path[1:] - path[:-1], frame)


def nearest(vectors: Floats, frame: Structure) -> Floats:
    """The shortest vectors that are equivalent by periodicity."""
    if not any(frame.pbc):
        return vectors
    from ase.geometry import find_mic

    return np.asarray(find_mic(vectors.reshape(-1, 3), frame.cell, frame.pbc)[0]).reshape(vectors.shape)


def band_forces(
    between: Floats, energies: Floats, forces: Floats, spring: float, climbing: bool
) -> NDArray[np.float64]:
    """Forces (eV/Å) of a nudged elastic band on its inner images.

    `between` are the gaps of the path, `energies` (eV) those of all images, `forces` those of the inner ones. Across
    the band the force of the model acts, along it that of the springs (eV/Å²); the highest image climbs, if any does.
    """
    shape, count = forces.shape, len(forces)
    steps, pull = between.reshape(count + 1, -1), forces.reshape(count, -1)
    tangent = _tangents(steps, energies)
    along = np.einsum("ix,ix->i", pull, tangent)
    lengths = np.linalg.norm(steps, axis=1)
    tension = spring * (lengths[1:] - lengths[:-1])
    if climbing:
        top = int(np.argmax(energies[1:-1]))
        tension[top] = -along[top]
    return np.asarray((pull + (tension - along)[:, None] * tangent).reshape(shape))


def _tangents(steps: Floats, energies: Floats) -> Floats:
    """Unit vectors along the band: towards the higher neighbour, and a mixture at the top and at the bottom."""
    up, down = energies[2:] - energies[1:-1], energies[1:-1] - energies[:-2]
    large, small = np.maximum(abs(up), abs(down)), np.minimum(abs(up), abs(down))
    higher_ahead = energies[2:] > energies[:-2]
    ahead, behind = np.where(higher_ahead, large, small), np.where(higher_ahead, small, large)
    monotonic = ((up > 0) & (down > 0)) | ((up < 0) & (down < 0))
    ahead, behind = np.where(monotonic, up > 0, ahead), np.where(monotonic, up < 0, behind)
    tangent = ahead[:, None] * steps[1:] + behind[:, None] * steps[:-1]
    length = np.linalg.norm(tangent, axis=1, keepdims=True)
    return np.asarray(tangent / np.where(length > 0.0, length, 1.0))


def interpolated(start: Floats, end: Floats, images: int, frame: Structure) -> Floats:
    """A path on which the distances of all pairs of atoms change as evenly as they can."""
    places = np.linspace(0.0, 1.0, images)[:, None, None]
    path = start + places * nearest(end - start, frame)
    distances = _distances(_vectors(path[[0, -1]], frame))
    targets = distances[0] + places * (distances[1] - distances[0])
    if _collides(_distances(_vectors(path, frame)), distances):
        aside = np.random.default_rng(0).normal(size=start.shape)
        path = path + KICK * np.sin(np.pi * places) * aside / largest_norm(aside)
    minimiser = Fire()
    for _ in range(IDPP_STEPS):
        energies, forces = pair_misfit(path, targets, frame)
        pull = band_forces(gaps(path, frame), energies, forces[1:-1], 0.1, False)
        if largest_norm(pull) < IDPP_LIMIT:
            break
        path[1:-1] = minimiser.step(path[1:-1], pull)
    return path


def pair_misfit(path: Floats, targets: Floats, frame: Structure) -> tuple[Floats, Floats]:
    """The image-dependent pair potential of each image, Σ (d − target)²/d⁴ over pairs, and its forces."""
    arms = _vectors(path, frame)
    distances = _distances(arms)
    misfit = distances - targets
    energies = 0.5 * (misfit**2 / distances**4).sum(axis=(1, 2))
    slopes = 2.0 * misfit * (1.0 - 2.0 * misfit / distances) / distances**5
    return energies, np.einsum("mij,mijx->mix", slopes, arms)


def _vectors(path: Floats, frame: Structure) -> Floats:
    """From each atom i to each atom j of the same image, [image, i, j]."""
    return nearest(path[:, None, :, :] - path[:, :, None, :], frame)


def _distances(arms: Floats) -> Floats:
    """Distances of all pairs; an atom counts as 1 Å from itself, which never changes."""
    return np.asarray(np.sqrt((arms**2).sum(axis=-1)) + np.eye(arms.shape[1]))


def _collides(distances: Floats, ends: Floats) -> bool:
    return bool((distances < CLASH * ends.min(axis=0)).any())
