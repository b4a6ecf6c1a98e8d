"""Paths and forces of a band are those of ASE's nudged elastic band."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, minimize_rotation_and_translation, molecule
from ase.calculators.singlepoint import SinglePointCalculator
from ase.mep import NEB
from ase.mep.neb import IDPP
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.compute.protocols.band_path import (
    band_forces,
    embedded,
    image_vectors,
    interpolated,
    nearest,
    pair_misfit,
    path_from_distances,
    superposed_path,
)
from assay.structure import Floats, from_atoms
from toys import HCN, HNC


def displaced(atoms: Atoms, images: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return atoms.positions + rng.normal(scale=0.3, size=(images, len(atoms), 3))


def ase_band(path: Floats, atoms: Atoms, energies: Floats, forces: Floats, climb: bool) -> Floats:
    images = []
    for positions, energy, force in zip(path, energies, forces, strict=True):
        image = Atoms(atoms.numbers, positions, cell=atoms.cell, pbc=atoms.pbc)
        image.calc = SinglePointCalculator(image, energy=energy, forces=force)
        images.append(image)
    return np.asarray(NEB(images, k=0.3, climb=climb, method="improvedtangent").get_forces()).reshape(-1, len(atoms), 3)


@given(st.integers(0, 10_000), st.integers(3, 8), st.booleans())
def test_forces_of_a_band_are_those_of_ase(seed: int, images: int, climb: bool) -> None:
    atoms = molecule("CH3OH")
    rng = np.random.default_rng(seed)
    path, energies = displaced(atoms, images, seed), rng.normal(size=images)
    forces = rng.normal(size=path.shape)
    ours = band_forces(image_vectors(path, from_atoms(atoms)), energies, forces[1:-1], 0.3, climb)
    np.testing.assert_allclose(ours, ase_band(path, atoms, energies, forces, climb), rtol=0.0, atol=1e-10)


def test_in_a_crystal_the_nearest_periodic_image_counts() -> None:
    atoms = bulk("Cu", cubic=True)
    path, rng = displaced(atoms, 6, 5), np.random.default_rng(5)
    path[3:] += atoms.cell.array[0] - 2.0 * atoms.cell.array[1]
    energies, forces = rng.normal(size=6), rng.normal(size=path.shape)
    ours = band_forces(image_vectors(path, from_atoms(atoms)), energies, forces[1:-1], 0.3, True)
    np.testing.assert_allclose(ours, ase_band(path, atoms, energies, forces, True), rtol=0.0, atol=1e-10)


def test_on_a_flat_surface_the_forces_are_zero() -> None:
    path = displaced(molecule("H2O"), 5, 1)
    assert not band_forces(image_vectors(path, HCN), np.zeros(5), np.zeros((3, 3, 3)), 0.1, True).any()


def test_images_are_superposed_as_in_ase() -> None:
    atoms = molecule("CH3CHO")
    path = displaced(atoms, 5, 2)
    path[2] = path[2] @ np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) + 3.0
    images = [Atoms(atoms.numbers, positions) for positions in path]
    for before, image in pairwise(images):
        minimize_rotation_and_translation(before, image)
    np.testing.assert_allclose(superposed_path(path), [image.positions for image in images], atol=1e-7)


def test_the_image_after_a_linear_molecule_does_not_rotate_about_its_axis() -> None:
    bent = np.array([[1.0, 0.3, 0.5], [0.0, 0.0, 0.0], [0.0, 0.0, 1.17]])
    path = superposed_path(np.array([HCN.positions, bent]))
    assert abs(np.arctan2(*np.subtract(path[1][0], path[1][2])[[1, 0]]) - np.arctan2(0.3, 1.0)) < 1e-6
    np.testing.assert_allclose(superposed_path(path), path, atol=1e-5)


@pytest.mark.parametrize("crystal", [False, True])
def test_the_misfit_of_distances_is_that_of_ase(crystal: bool) -> None:
    atoms = bulk("Cu", cubic=True) if crystal else molecule("CH3OH")
    path = displaced(atoms, 3, 3)
    targets = np.abs(np.random.default_rng(4).normal(2.0, 0.3, size=(3, len(atoms), len(atoms))))
    targets = 0.5 * (targets + targets.transpose(0, 2, 1))
    for target in targets:
        np.fill_diagonal(target, 0.0)
    energies, forces = pair_misfit(path, targets + np.eye(len(atoms)), from_atoms(atoms))
    for positions, target, energy, force in zip(path, targets, energies, forces, strict=True):
        image = Atoms(atoms.numbers, positions, cell=atoms.cell, pbc=atoms.pbc)
        image.calc = IDPP(target, mic=crystal)
        assert energy == pytest.approx(image.get_potential_energy(), rel=1e-12)
        np.testing.assert_allclose(force, image.get_forces(), atol=1e-10)


def shortest(path: Floats) -> float:
    i, j = np.triu_indices(path.shape[1], 1)
    return float(np.linalg.norm(path[:, i] - path[:, j], axis=-1).min())


def test_atoms_that_would_collide_on_a_straight_path_avoid_each_other() -> None:
    straight = np.linspace(HCN.positions, HNC.positions, 9)
    path = interpolated(HCN.positions, HNC.positions, 9, HCN)
    assert shortest(straight) < 0.3
    assert shortest(path) > 0.9
    assert np.array_equal(path[0], HCN.positions)
    np.testing.assert_allclose(path[-1], HNC.positions, atol=1e-12)
    assert np.array_equal(path, interpolated(HCN.positions, HNC.positions, 9, HCN))  # the displacement is fixed


def test_distances_change_evenly_along_the_path() -> None:
    """Inversion of ammonia: the N-H bonds keep their length, while a straight path shortens them."""
    start = molecule("NH3").positions
    end = start * [1.0, 1.0, -1.0]
    path = interpolated(start, end, 9, from_atoms(molecule("NH3")))
    bonds = np.linalg.norm(path[:, 1:] - path[:, :1], axis=-1)
    straight = np.linalg.norm(np.linspace(start, end, 9)[:, 1:] - np.linspace(start, end, 9)[:, :1], axis=-1)
    assert np.ptp(bonds) < 0.5 * np.ptp(straight)


def test_a_flat_molecule_stays_flat_if_nothing_collides() -> None:
    start = np.array([[0.0, 0.0, 0.0], [1.2, 0.0, 0.0], [-0.5, 0.9, 0.0]])
    end = np.array([[0.0, 0.0, 0.0], [1.2, 0.0, 0.0], [1.6, 0.9, 0.0]])
    assert not interpolated(start, end, 7, HCN)[..., 2].any()


def test_vectors_in_the_open_stay_as_they_are() -> None:
    vectors = np.random.default_rng(0).normal(scale=10.0, size=(4, 3))
    assert nearest(vectors, HCN) is vectors


def _bonds(path: Floats) -> Floats:
    """Distances C-N, C-H and N-H of each image of HCN."""
    carbon, nitrogen, hydrogen = (HCN.numbers.tolist().index(z) for z in (6, 7, 1))
    pairs = ((carbon, nitrogen), (carbon, hydrogen), (nitrogen, hydrogen))
    return np.array([np.linalg.norm(path[:, i] - path[:, j], axis=1) for i, j in pairs])


@pytest.mark.parametrize("bend", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("images", [7, 9, 11])
def test_hydrogen_goes_around_carbon_and_nitrogen_and_does_not_push_them_apart(bend: float, images: int) -> None:
    start, end = HCN.positions.copy(), HNC.positions.copy()
    hydrogen = HCN.numbers.tolist().index(1)
    start[hydrogen, 0] += bend
    end[hydrogen, 0] += bend
    stops = superposed_path(np.array([start, end]))
    path = interpolated(stops[0], stops[1], images, HCN, rotates=True)
    carbon_nitrogen, carbon, nitrogen = _bonds(path)
    assert np.ptp(carbon_nitrogen) < 0.1
    assert carbon.min() > 0.9
    assert nitrogen.min() > 0.9
    np.testing.assert_allclose(_bonds(path[-1:]), _bonds(end[None]), atol=1e-9)


@given(arrays(np.float64, (6, 3), elements=st.floats(-3.0, 3.0, width=32)))
def test_positions_are_recovered_from_their_distances(positions: Floats) -> None:
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    found = embedded(distances)
    np.testing.assert_allclose(np.linalg.norm(found[:, None] - found[None], axis=2), distances, atol=1e-5)


def test_a_path_to_the_mirror_image_is_not_made_from_distances() -> None:
    """Left and right have the same distances, so a path made of them goes nowhere and would have to jump at its end."""
    left = np.array([[0.0, 0.0, 0.0], [1.1, 0.0, 0.0], [0.0, 1.3, 0.0], [0.0, 0.0, 1.5], [-0.9, -0.9, -0.9]])
    targets = np.tile(np.linalg.norm(left[:, None] - left[None], axis=2), (7, 1, 1)) + np.eye(5)
    assert path_from_distances(left, left * [1.0, 1.0, -1.0], targets) is None
