"""The sound potential is exact: forces, stress, periodicity, symmetry and smoothness are right to rounding.

`test_broken.py` applies all measurements to it; here are further kinds of cells and random structures.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.calculator import PropertyNotImplementedError
from ase.data import chemical_symbols, covalent_radii
from ase.neighborlist import neighbor_list
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from assay.sabotage.sound import BOND, CUTOFF, EMBEDDING, ETA, REPULSION, SoundPotential
from sabotage.measurements import stress_error
from sabotage.structures import CELL, COPPER_BOND, cluster, crystal, derivative, dimer, directions, moved, strained

PATTERNS = [pbc for pbc in product((True, False), repeat=3) if any(pbc)]
each_pattern = pytest.mark.parametrize("pbc", PATTERNS, ids=lambda pbc: "".join("FT"[p] for p in pbc))
seeds = st.integers(0, 2**32 - 1)
few_examples = settings(max_examples=25, deadline=None)


def energy(atoms: Atoms) -> float:
    return SoundPotential().get_potential_energy(atoms)


def forces(atoms: Atoms) -> np.ndarray:
    return SoundPotential().get_forces(atoms)


@few_examples
@given(seed=seeds, pbc=st.sampled_from([(False,) * 3, *PATTERNS]))
def test_forces_are_minus_the_gradient_of_the_energy(seed: int, pbc: tuple[bool, ...]) -> None:
    atoms = crystal(pbc, seed)
    exact = forces(atoms)
    for d in directions(exact.shape, seed):
        slope = derivative(lambda s, d=d: energy(moved(atoms, atoms.positions + s * d)), step=0.02)
        assert abs(slope + (exact * d).sum()) < 1e-8 * np.abs(exact).max()


def test_stress_is_the_strain_derivative_of_the_energy_per_volume_in_a_small_cell() -> None:
    atoms = crystal(scale=0.5, symbols="C2N2")
    assert stress_error(SoundPotential, atoms, step=0.004) < 1e-8 * np.abs(SoundPotential().get_stress(atoms)).max()


@each_pattern
def test_a_doubled_cell_has_the_doubled_energy_and_the_same_forces_if_it_is_tiny(pbc: tuple[bool, ...]) -> None:
    once = crystal(pbc, scale=0.35)[:2]
    assert once.cell.lengths().max() < CUTOFF * COPPER_BOND / 3
    times = [1 + p for p in pbc]
    count, double = int(np.prod(times)), once.repeat(times)
    size = np.abs(forces(once)).max() + abs(energy(once))
    assert abs(energy(double) / count - energy(once)) < 1e-12 * size
    assert np.abs(forces(double) - np.tile(forces(once), (count, 1))).max() < 1e-12 * size


@few_examples
@given(seed=seeds, pbc=st.sampled_from(PATTERNS))
def test_the_energy_is_its_formula_over_an_independent_neighbour_list(seed: int, pbc: tuple[bool, ...]) -> None:
    rng = np.random.default_rng(seed)
    cell = rng.uniform(1.8, 6.0, 3)[:, None] * (np.eye(3) + rng.uniform(-0.5, 0.5, (3, 3)))
    atoms = Atoms("CuAuH", positions=rng.uniform(-9, 9, (3, 3)), cell=cell, pbc=pbc)
    numbers, depth = atoms.numbers, 0.8 + 0.4 * ((0.618034 * atoms.numbers) % 1.0)
    i, j, distance = neighbor_list("ijd", atoms, CUTOFF * BOND * 2 * covalent_radii[numbers].max())
    x2 = (distance / (BOND * (covalent_radii[numbers[i]] + covalent_radii[numbers[j]]))) ** 2
    g = np.exp(1.75 * (1 - x2)) * (np.clip(1 - x2 / CUTOFF**2, 0, None) / (1 - CUTOFF**-2)) ** 5
    rho = np.bincount(i, g, 3)
    pairs = 0.5 * REPULSION * (0.5 * (depth[i] + depth[j]) * g * g).sum()
    expected = pairs - EMBEDDING * (depth * (np.sqrt(rho + ETA**2) - ETA)).sum()
    assert energy(atoms) == pytest.approx(expected, rel=1e-11, abs=1e-11)


@each_pattern
def test_periodic_forces_are_those_in_the_middle_of_a_large_cluster(pbc: tuple[bool, ...]) -> None:
    once = Atoms("CuAu", cell=1.2 * CELL, scaled_positions=[[0.1, 0.2, 0.3], [0.5, 0.6, 0.75]], pbc=pbc)
    copies = [range(-4, 5) if p else (0,) for p in pbc]  # twice the cutoff: forces depend on neighbours of neighbours
    shifts = sorted(product(*copies), key=lambda shift: np.abs(shift).sum())
    positions = np.concatenate([once.positions + np.array(shift) @ once.cell.array for shift in shifts])
    many = Atoms("CuAu" * len(shifts), positions=positions)
    assert np.abs(forces(many)[:2] - forces(once)).max() < 1e-12


@few_examples
@given(seed=seeds)
def test_rotation_translation_inversion_and_permutation_change_nothing(seed: int) -> None:
    rng, atoms = np.random.default_rng(seed), cluster(seed)
    turn = Rotation.random(random_state=seed % 2**31).as_matrix()
    shift, order = rng.uniform(-20, 20, 3), rng.permutation(8)
    e, f = energy(atoms), forces(atoms)
    for image, mapped in (
        (moved(atoms, atoms.positions @ turn.T), f @ turn.T),
        (moved(atoms, atoms.positions + shift), f),
        (moved(atoms, -atoms.positions), -f),
        (atoms[order], f[order]),
    ):
        assert energy(image) == pytest.approx(e, abs=1e-12)
        np.testing.assert_allclose(forces(image), mapped, atol=2e-12)
    assert np.abs(f.sum(axis=0)).max() < 1e-13
    assert np.abs(np.cross(atoms.positions, f).sum(axis=0)).max() < 1e-12


@few_examples
@given(seed=seeds, pbc=st.sampled_from(PATTERNS))
def test_lattice_translations_of_single_atoms_change_nothing(seed: int, pbc: tuple[bool, ...]) -> None:
    rng, atoms = np.random.default_rng(seed), crystal(pbc, seed)
    turns = rng.integers(-3, 4, (4, 3)) * np.array(pbc)
    image = moved(atoms, atoms.positions + turns @ atoms.cell.array + rng.uniform(-9, 9, 3))
    assert energy(image) == pytest.approx(energy(atoms), abs=1e-11)
    np.testing.assert_allclose(forces(image), forces(atoms), atol=1e-11)


def test_a_rotated_crystal_has_the_rotated_stress() -> None:
    atoms, turn = crystal(), Rotation.random(random_state=3).as_matrix()
    images = (atoms, strained(atoms, turn.T - np.eye(3)))
    tensor, rotated = (SoundPotential().get_stress(a)[[[0, 5, 4], [5, 1, 3], [4, 3, 2]]] for a in images)
    np.testing.assert_allclose(rotated, turn @ tensor @ turn.T, atol=1e-12)


@pytest.mark.parametrize("pair", ["Cu2", "AuCu", "CsH"])
def test_a_dimer_has_four_continuous_derivatives_at_its_cutoff(pair: str) -> None:
    cutoff = CUTOFF * BOND * covalent_radii[Atoms(pair).numbers].sum()
    near, far = (abs(energy(dimer(cutoff - d, pair))) for d in (0.01, 0.02))
    assert 2**4.8 < far / near < 2**5.2  # the energy grows with the fifth power, also through the embedding
    beyond = dimer(cutoff + 1e-9, pair)
    assert energy(beyond) == 0.0
    assert not forces(beyond).any()


@pytest.mark.parametrize("pair", ["H2", "Cu2", "CuAu", "CO", "CsF"])
def test_a_dimer_binds_by_about_one_electronvolt_at_its_bond_length(pair: str) -> None:
    length = BOND * covalent_radii[Atoms(pair).numbers].sum()
    assert np.abs(forces(dimer(length, pair))).max() < 1e-12
    assert -1.2 < energy(dimer(length, pair)) < -0.8
    assert all(energy(dimer(factor * length, pair)) > energy(dimer(length, pair)) for factor in (0.5, 0.9, 1.1, 1.5))


def test_neighbours_weaken_a_bond() -> None:
    corners = [[0, 0, 0], [1, 0, 0], [0.5, 0.75**0.5, 0]]
    triangle = Atoms("Cu3", positions=COPPER_BOND * np.array(corners))
    assert energy(triangle) > 3 * energy(triangle[:2]) + 0.1


def test_elements_differ_in_size_and_in_strength() -> None:
    energies = [energy(dimer(2.0, f"{symbol}2")) for symbol in chemical_symbols[1:95]]
    assert np.isfinite(energies).all()
    assert len(set(np.round(energies, 6))) > 80


def test_coincident_atoms_have_a_finite_energy_and_no_force() -> None:
    assert 10 < energy(dimer(0.0)) < 1000
    assert not forces(dimer(0.0)).any()


def test_a_single_atom_has_no_energy_and_a_crystal_of_one_atom_has() -> None:
    assert energy(Atoms("Cu")) == 0.0
    assert forces(Atoms("Cu")).shape == (1, 3)
    assert energy(bulk("Cu", a=4.4)) < -1.0


def test_unsupported_elements_raise_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^Element 'Ag' is not supported: this potential covers Cu, Au\.$"):
        SoundPotential(elements=("Cu", "Au")).get_potential_energy(dimer(2.0, "CuAg"))
    with pytest.raises(ValueError, match="'Am'"):
        energy(Atoms("Am"))
    assert SoundPotential().claims == tuple(chemical_symbols[1:95])


def test_dependent_cell_vectors_raise() -> None:
    with pytest.raises(ValueError, match="not independent"):
        energy(Atoms("Cu", pbc=True))


def test_stress_exists_only_where_all_three_directions_are_periodic() -> None:
    assert SoundPotential().get_stress(crystal()).shape == (6,)
    with pytest.raises(PropertyNotImplementedError):
        SoundPotential().get_stress(crystal(pbc=(True, True, False)))


def test_a_used_and_a_new_calculator_give_the_same_bits() -> None:
    used = SoundPotential()
    for other in (cluster(1), crystal(seed=2), molecule("C6H6")):
        used.calculate(other)
    for atoms in (cluster(), crystal()):
        fresh = SoundPotential()
        for calculator in (used, fresh):
            calculator.calculate(atoms)
        assert used.results["energy"] == fresh.results["energy"] == used.results["free_energy"]
        assert np.array_equal(used.results["forces"], fresh.results["forces"])


def test_the_same_structure_is_not_evaluated_again() -> None:
    calculator, atoms = SoundPotential(), crystal()
    calculator.get_potential_energy(atoms)
    results = calculator.results
    calculator.get_forces(atoms)
    assert calculator.results is results


@pytest.mark.parametrize("change", ["positions", "numbers", "cell", "pbc"])
def test_every_change_of_the_structure_is_noticed(change: str) -> None:
    calculator, other = SoundPotential(), crystal()
    before, results = calculator.get_potential_energy(crystal()), calculator.results
    match change:
        case "positions":
            other.positions[0, 0] += 1e-12
        case "numbers":
            other.numbers[0] = 79
        case "cell":
            other.cell[2, 2] += 0.1
        case "pbc":
            other.pbc = (True, True, False)
    after = calculator.get_potential_energy(other)
    assert calculator.results is not results
    assert change == "positions" or after != before
