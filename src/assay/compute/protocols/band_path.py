"""Paths between structures, as arrays of shape (images, atoms, 3) in Å: interpolation, and the forces of a band.

Cite: Smidstrup et al., J. Chem. Phys. 140, 214106 (2014), image-dependent pair potential; Henkelman and Jónsson, J.
Chem. Phys. 113, 9978 (2000), improved tangent; Henkelman, Uberuaga and Jónsson, ibid. 9901, climbing image.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.analysis.superposition import superposed
from assay.compute.protocols.minimisers import Fire, largest_norm
from assay.structure import Floats, Structure

IDPP_LIMIT = 0.02
IDPP_STEPS = 300
ANCHOR = 1e-4
"""Weight of the unrotated image in a superposition: small, but enough to define the rotation of a linear molecule."""

CLASH = 0.5
"""Two atoms collide on a straight path if they get closer than this fraction of their distance at both ends."""

JUMP = 3.0
"""A path jumps where a step is longer than this factor times the usual one."""

DISPLACEMENT = 0.2
"""Displacement (Å) of the middle of a path with a collision, so that the atoms can avoid each other."""


def superposed_path(path: Floats) -> Floats:
    """The path with each image superposed onto the previous one, so that molecules do not rotate or drift."""
    images = [path[0]]
    for image in path[1:]:
        images.append(_superposed_onto(image, images[-1]))
    return np.array(images)


def _superposed_onto(image: Floats, before: Floats) -> Floats:
    """The image superposed onto the one before, with a small preference for no rotation (see `ANCHOR`)."""
    own, other = image - image.mean(axis=0), before - before.mean(axis=0)
    anchor = ANCHOR * own
    rotated = superposed(np.concatenate([own, anchor]), np.concatenate([other, anchor]))
    return rotated[: len(image)] + before.mean(axis=0)


def image_vectors(path: Floats, frame: Structure) -> Floats:
    """Vectors (Å) from each image to the next, by the nearest periodic image if the structure is periodic."""
    return nearest(path[1:] - path[:-1], frame)


def nearest(vectors: Floats, frame: Structure) -> Floats:
    """The shortest vectors (Å) that are equivalent by periodicity."""
    if not any(frame.pbc):
        return vectors
    from ase.geometry import find_mic

    return np.asarray(find_mic(vectors.reshape(-1, 3), frame.cell, frame.pbc)[0]).reshape(vectors.shape)


def band_forces(
    between: Floats, energies: Floats, forces: Floats, spring: float, climbing: bool
) -> NDArray[np.float64]:
    """Forces (eV/Å) of a nudged elastic band on its inner images.

    `between` are the vectors between neighbouring images, `energies` (eV) are for all images, `forces` for the inner
    images. The force of the model acts perpendicular to the band, the force of the springs (`spring`, eV/Å²) along it.
    If `climbing`, the highest image climbs to the saddle point.
    """
    shape, count = forces.shape, len(forces)
    steps, model_forces = between.reshape(count + 1, -1), forces.reshape(count, -1)
    tangent = _tangents(steps, energies)
    along = np.einsum("ix,ix->i", model_forces, tangent)
    lengths = np.linalg.norm(steps, axis=1)
    tension = spring * (lengths[1:] - lengths[:-1])
    if climbing:
        top = int(np.argmax(energies[1:-1]))
        tension[top] = -along[top]
    return np.asarray((model_forces + (tension - along)[:, None] * tangent).reshape(shape))


def _tangents(steps: Floats, energies: Floats) -> Floats:
    """Unit vectors along the band: towards the higher neighbour, and a weighted mean at a maximum or minimum."""
    up, down = energies[2:] - energies[1:-1], energies[1:-1] - energies[:-2]
    large, small = np.maximum(abs(up), abs(down)), np.minimum(abs(up), abs(down))
    higher_ahead = energies[2:] > energies[:-2]
    ahead, behind = np.where(higher_ahead, large, small), np.where(higher_ahead, small, large)
    monotonic = ((up > 0) & (down > 0)) | ((up < 0) & (down < 0))
    ahead, behind = np.where(monotonic, up > 0, ahead), np.where(monotonic, up < 0, behind)
    tangent = ahead[:, None] * steps[1:] + behind[:, None] * steps[:-1]
    length = np.linalg.norm(tangent, axis=1, keepdims=True)
    return np.asarray(tangent / np.where(length > 0.0, length, 1.0))


def interpolated(start: Floats, end: Floats, images: int, frame: Structure, rotates: bool = False) -> Floats:
    """A path on which the distances of all pairs of atoms change as evenly as possible.

    If atoms collide on the straight path, it is bent aside. If the molecule `rotates` freely, its images are also made
    from the distances alone, in which no atoms collide, and the path counts that keeps the distances better: H goes
    around C and N from HCN to HNC, while on the straight path it would have to push them apart. The end is then turned.
    """
    fractions = np.linspace(0.0, 1.0, images)[:, None, None]
    path = start + fractions * nearest(end - start, frame)
    distances = _distances(_vectors(path[[0, -1]], frame))
    targets = distances[0] + fractions * (distances[1] - distances[0])
    if not _collides(_distances(_vectors(path, frame)), distances):
        return _evened(path, targets, frame)[0]
    direction = np.random.default_rng(0).normal(size=start.shape)
    aside = path + DISPLACEMENT * np.sin(np.pi * fractions) * direction / largest_norm(direction)
    detours = [_evened(aside, targets, frame)]
    if rotates and (embedded := path_from_distances(start, end, targets)) is not None:
        detours.append(_evened(embedded, targets, frame))
    return min(detours, key=lambda detour: detour[1])[0]


def path_from_distances(start: Floats, end: Floats, targets: Floats) -> Floats | None:
    """A path whose images have the target distances (images, atoms, atoms) as nearly as three dimensions allow.

    Each image is superposed onto the one before, mirrored if that fits better. None if the path then arrives at the
    mirror image of the end, or jumps.
    """
    images = [start]
    for distances in targets[1:-1]:
        image = embedded(distances)
        images.append(min((_superposed_onto(image * flip, images[-1]) for flip in (1.0, -1.0)), key=_far(images[-1])))
    images.append(_superposed_onto(end, images[-1]))
    steps = np.linalg.norm(np.diff(np.array(images), axis=0), axis=(1, 2))
    return np.array(images) if steps.max() <= JUMP * np.median(steps) else None


def embedded(distances: Floats) -> Floats:
    """Positions (Å) of atoms with these distances, by classical scaling: the three largest principal coordinates."""
    squares = (distances * (1.0 - np.eye(len(distances)))) ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    count = min(3, len(values))
    positions = np.zeros((len(distances), 3))
    positions[:, :count] = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :count]
    return positions


def _far(before: Floats) -> Callable[[Floats], float]:
    """A function that says how far (Å) an image is from the one before."""
    return lambda image: float(np.linalg.norm(image - before))


def _evened(path: Floats, targets: Floats, frame: Structure) -> tuple[Floats, float]:
    """The path relaxed in the image-dependent pair potential, and the misfit of its worst image."""
    path, minimiser = path.copy(), Fire()
    for _ in range(IDPP_STEPS):
        energies, pair_forces = pair_misfit(path, targets, frame)
        forces = band_forces(image_vectors(path, frame), energies, pair_forces[1:-1], 0.1, False)
        if largest_norm(forces) < IDPP_LIMIT:
            break
        path[1:-1] = minimiser.step(path[1:-1], forces)
    return path, float(pair_misfit(path, targets, frame)[0].max())


def pair_misfit(path: Floats, targets: Floats, frame: Structure) -> tuple[Floats, Floats]:
    """The image-dependent pair potential of each image, Σ (d − target)²/d⁴ over pairs, and its forces."""
    vectors = _vectors(path, frame)
    distances = _distances(vectors)
    misfit = distances - targets
    energies = 0.5 * (misfit**2 / distances**4).sum(axis=(1, 2))
    slopes = 2.0 * misfit * (1.0 - 2.0 * misfit / distances) / distances**5
    return energies, np.einsum("mij,mijx->mix", slopes, vectors)


def _vectors(path: Floats, frame: Structure) -> Floats:
    """Vectors (Å) from atom i to atom j of the same image, as [image, i, j]."""
    return nearest(path[:, None, :, :] - path[:, :, None, :], frame)


def _distances(vectors: Floats) -> Floats:
    """Distances (Å) of all pairs; 1 Å for an atom and itself, which avoids a division by zero."""
    return np.asarray(np.sqrt((vectors**2).sum(axis=-1)) + np.eye(vectors.shape[1]))


def _collides(distances: Floats, ends: Floats) -> bool:
    """True if two atoms get too close on the path, compared with their distances at both ends."""
    return bool((distances < CLASH * ends.min(axis=0)).any())
