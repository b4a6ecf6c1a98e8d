"""Test structures are always the same, have no overlapping atoms, and are chiral."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from ase.neighborlist import neighbor_list

from assay.configurations import (
    CLOSEST,
    CLUSTER_SIZE,
    DISTORTION,
    TOUCHING,
    VACUUM,
    boxed,
    cluster,
    crystal,
    dimer,
    generator,
    radius,
    symbol,
)
from assay.structure import Floats, Structure
from toys import distances

SPECIES = [(1,), (29,), (55,), (1, 79), (6, 8), (1, 6, 29, 79, 92, 118)]
each_species = pytest.mark.parametrize("species", SPECIES, ids=lambda numbers: "".join(map(symbol, numbers)))


def contact_ratios(structure: Structure) -> Floats:
    """Distances of all pairs in units of the distance at which the two atoms touch."""
    i, j = np.triu_indices(len(structure), 1)
    radii = np.array([radius(z) for z in structure.numbers])
    return distances(structure.positions) / (TOUCHING * (radii[i] + radii[j]))


def superposition_error(a: Structure, b: Structure) -> float:
    """Smallest root mean square distance (Å) after superposition, over all permutations of equal atoms."""
    order = np.array([p for p in permutations(range(len(a))) if np.array_equal(a.numbers[list(p)], b.numbers)])
    x, y = a.positions - a.positions.mean(axis=0), b.positions - b.positions.mean(axis=0)
    u, sizes, vt = np.linalg.svd(np.einsum("pni,nj->pij", x[order], y))
    sizes[:, 2] *= np.sign(np.linalg.det(u) * np.linalg.det(vt))  # proper rotations only
    square = (x**2).sum() + (y**2).sum() - 2.0 * sizes.sum(axis=1)
    return float(np.sqrt(np.maximum(square, 0.0) / len(a)).min())


def mirrored(structure: Structure) -> Structure:
    return structure.transformed(np.diag([1.0, 1.0, -1.0]))


def test_elements_without_a_measured_radius_get_a_usable_one() -> None:
    assert radius(29) == pytest.approx(1.32)
    assert [radius(z) for z in (0, 500)] == [1.5, 1.5]  # the table holds a placeholder for 0
    assert min(radius(z) for z in range(1, 119)) > 0.25


def test_random_numbers_depend_only_on_their_labels() -> None:
    assert generator(1, 2).random() == generator(1, 2).random()
    assert len({generator(*labels).random() for labels in [(1,), (2,), (1, 2), (2, 1)]}) == 4


def test_a_dimer_has_the_given_length_or_touches() -> None:
    assert distances(dimer(1, 8).positions)[0] == pytest.approx(1.12 * (0.31 + 0.66))
    assert distances(dimer(1, 8, 3.25).positions)[0] == pytest.approx(3.25, abs=1e-12)
    assert dimer(1, 8).numbers.tolist() == [1, 8]
    assert np.abs(dimer(1, 8).positions[1]).min() > 0.1  # not along an axis


@each_species
@pytest.mark.parametrize("build", [cluster, crystal])
def test_a_structure_is_always_the_same_and_each_variant_differs(build, species: tuple[int, ...]) -> None:  # type: ignore[no-untyped-def]
    first, again, other = build(species), build(species), build(species, variant=1)
    assert first.positions.tobytes() == again.positions.tobytes()
    assert first.cell.tobytes() == again.cell.tobytes()
    assert np.abs(first.positions - other.positions).max() > 0.01


@each_species
@pytest.mark.parametrize("variant", range(4))
@pytest.mark.parametrize("size", [2, 4, 6, 12])
def test_atoms_of_a_cluster_touch_and_never_overlap(species: tuple[int, ...], variant: int, size: int) -> None:
    atoms = cluster(species, size=size, variant=variant)
    ratios = contact_ratios(atoms)
    assert ratios.min() >= 0.92 - 1e-9
    i, j = np.triu_indices(len(atoms), 1)
    for atom in range(len(atoms)):
        assert ratios[(i == atom) | (j == atom)].min() <= 1.15 + 1e-9


@each_species
def test_species_alternate_and_none_is_left_out(species: tuple[int, ...]) -> None:
    assert cluster(species).numbers.tolist() == [species[i % len(species)] for i in range(CLUSTER_SIZE)]
    assert len(cluster(species, size=2)) == max(2, len(species))
    assert set(cluster(species, size=2).numbers) >= set(species)
    assert crystal(species).numbers.tolist() == [species[i % len(species)] for i in range(4)]


@each_species
def test_the_factor_scales_every_distance_of_a_cluster(species: tuple[int, ...]) -> None:
    small, large = cluster(species), cluster(species, 1.5)
    np.testing.assert_allclose(distances(large.positions), 1.5 * distances(small.positions))
    assert np.abs(large.positions.mean(axis=0)).max() < 1e-12
    assert (small.pattern, small.volume) == ("FFF", 0.0)


def test_the_superposition_error_is_zero_for_equal_structures_only() -> None:
    atoms = cluster((29,))
    turned = atoms.transformed(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    shuffled = turned.reordered([3, 0, 5, 1, 2, 4]).moved(turned.positions[[3, 0, 5, 1, 2, 4]] + 2.0)
    assert superposition_error(atoms, shuffled) < 1e-6
    square = Structure.build([1] * 4, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    assert superposition_error(square, mirrored(square)) < 1e-6
    chiral = Structure.build([6, 1, 9, 17, 35], [[0, 0, 0], [1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    assert superposition_error(chiral, mirrored(chiral)) > 0.5


@each_species
@pytest.mark.parametrize("variant", range(3))
def test_a_cluster_differs_from_its_mirror_image(species: tuple[int, ...], variant: int) -> None:
    atoms = cluster(species, variant=variant)
    assert superposition_error(atoms, mirrored(atoms)) > 0.02 * distances(atoms.positions).min()


@each_species
@pytest.mark.parametrize("pbc", ["TTT", "TFT", "FFT"])
def test_a_crystal_is_skewed_distorted_and_without_overlaps(species: tuple[int, ...], pbc: str) -> None:
    atoms = crystal(species, pbc=pbc)
    assert atoms.pattern == pbc
    lengths = np.linalg.norm(atoms.cell, axis=1)
    cosines = (atoms.cell @ atoms.cell.T / np.outer(lengths, lengths))[np.triu_indices(3, 1)]
    assert 1e-3 < np.abs(cosines).max() < 0.3
    distance = max(TOUCHING * 2.0 * np.mean([radius(z) for z in atoms.numbers]), CLOSEST)
    sites = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]) @ atoms.cell
    moves = np.abs(atoms.positions - sites) / distance
    assert moves.max() <= DISTORTION + 1e-12
    assert moves.max(axis=1).min() > 0.01
    closest = neighbor_list("d", atoms.to_atoms(), 1.5 * distance).min()
    assert closest > 0.6 * distance


def test_the_factor_scales_a_crystal() -> None:
    small, large = crystal((29,)), crystal((29,), 1.25)
    np.testing.assert_allclose(large.cell, 1.25 * small.cell)
    np.testing.assert_allclose(large.positions, 1.25 * small.positions)


@each_species
def test_a_box_leaves_vacuum_on_every_side(species: tuple[int, ...]) -> None:
    atoms = cluster(species)
    box = boxed(atoms)
    assert box.pattern == "TTT"
    low, high = box.positions.min(axis=0), box.positions.max(axis=0)
    edges = np.diag(box.cell)
    assert np.count_nonzero(box.cell) == 3
    np.testing.assert_allclose(low, 0.5 * VACUUM)
    np.testing.assert_allclose(edges - high, 0.5 * VACUUM)
    np.testing.assert_allclose(distances(box.positions), distances(atoms.positions), rtol=1e-12)
    assert np.array_equal(box.numbers, atoms.numbers)
