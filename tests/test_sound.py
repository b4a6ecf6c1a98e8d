"""The sound potential is exact: forces, stress, periodicity, symmetry and smoothness hold to rounding."""

from collections.abc import Callable
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

from assay.sound import BOND, CUTOFF, EMBEDDING, ETA, REPULSION, SoundPotential

STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # central difference, error of order step^8
PATTERNS = [pbc for pbc in product((True, False), repeat=3) if any(pbc)]
TRICLINIC = np.array([[4.1, 0.0, 0.0], [1.3, 3.9, 0.0], [-0.9, 1.7, 3.7]])
seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=25, deadline=None)


def cluster(seed: int = 0, symbols: str = "Cu4Au4", spacing: float = 2.8) -> Atoms:
    """Eight atoms on the distorted corners of a cube (spacing in Å)."""
    corners = spacing * np.array(list(product((0, 1), repeat=3)))
    return Atoms(symbols, positions=corners + np.random.default_rng(seed).uniform(-0.4, 0.4, (8, 3)))


def crystal(seed: int = 0, scale: float = 1.0, pbc: object = True, symbols: str = "Cu2Au2") -> Atoms:
    """Four atoms of a distorted, skewed, face-centred cell; its edges are shorter than the cutoff."""
    sites = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    shifts = np.random.default_rng(seed).uniform(-0.07, 0.07, (4, 3))
    return Atoms(symbols, cell=scale * TRICLINIC, scaled_positions=sites + shifts, pbc=pbc)


def energy(atoms: Atoms) -> float:
    return SoundPotential().get_potential_energy(atoms)


def forces(atoms: Atoms) -> np.ndarray:
    return SoundPotential().get_forces(atoms)


def moved(atoms: Atoms, positions: np.ndarray) -> Atoms:
    copy = atoms.copy()
    copy.positions = positions
    return copy


def strained(atoms: Atoms, strain: np.ndarray) -> Atoms:
    copy = atoms.copy()
    copy.set_cell(atoms.cell.array @ (np.eye(3) + strain), scale_atoms=True)
    return copy


def along(atoms: Atoms, direction: np.ndarray) -> Callable[[float], float]:
    """Energy as a function of the distance (Å) that the atoms have moved along a direction."""
    return lambda distance: energy(moved(atoms, atoms.positions + distance * direction))


def slope(function: Callable[[float], float], step: float) -> float:
    """Derivative at zero, eighth order."""
    return sum(c * (function(k * step) - function(-k * step)) for k, c in STENCIL.items()) / step


@quick
@given(seed=seeds, pbc=st.sampled_from([(False,) * 3, *PATTERNS]))
def test_forces_are_minus_the_gradient_of_the_energy(seed: int, pbc: tuple[bool, ...]) -> None:
    atoms = crystal(seed, pbc=pbc)
    exact = forces(atoms)
    direction = np.random.default_rng(seed).standard_normal((3, *exact.shape))
    for d in direction / np.linalg.norm(direction, axis=(1, 2), keepdims=True):
        numerical = -slope(along(atoms, d), step=0.02)
        assert abs(numerical - (exact * d).sum()) < 1e-8 * np.abs(exact).max()


def test_every_force_component_of_a_cluster_is_minus_the_derivative() -> None:
    atoms = cluster()
    exact = forces(atoms)
    for index in np.ndindex(exact.shape):
        unit = np.zeros(exact.shape)
        unit[index] = 1.0
        numerical = -slope(along(atoms, unit), step=0.02)
        assert abs(numerical - exact[index]) < 1e-8 * np.abs(exact).max()


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("voigt", range(6))
def test_stress_is_the_strain_derivative_of_the_energy_per_volume(voigt: int, scale: float) -> None:
    atoms = crystal(scale=scale, symbols="Cu2Au2" if scale == 1.0 else "C2N2")
    a, b = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))[voigt]
    strain = np.zeros((3, 3))
    strain[a, b] += 0.5
    strain[b, a] += 0.5
    numerical = slope(lambda s: energy(strained(atoms, s * strain)), step=0.004) / atoms.cell.volume
    exact = SoundPotential().get_stress(atoms)
    assert abs(numerical - exact[voigt]) < 1e-8 * np.abs(exact).max()


@pytest.mark.parametrize("pbc", PATTERNS, ids=lambda pbc: "".join("FT"[p] for p in pbc))
@pytest.mark.parametrize("scale", [1.0, 0.35], ids=["cell", "tiny cell"])
def test_a_doubled_cell_has_the_doubled_energy_and_the_same_forces(pbc: tuple[bool, ...], scale: float) -> None:
    once = crystal(scale=scale, pbc=pbc) if scale == 1.0 else crystal(scale=scale, pbc=pbc)[:2]
    times = [1 + p for p in pbc]
    count, double = int(np.prod(times)), once.repeat(times)
    if scale < 1.0:
        assert once.cell.lengths().max() < CUTOFF * BOND * 2 * covalent_radii[29] / 3
    size = np.abs(forces(once)).max() + abs(energy(once))
    assert abs(energy(double) / count - energy(once)) < 1e-12 * size
    assert np.abs(forces(double) - np.tile(forces(once), (count, 1))).max() < 1e-12 * size


@quick
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


@pytest.mark.parametrize("pbc", PATTERNS, ids=lambda pbc: "".join("FT"[p] for p in pbc))
def test_periodic_forces_are_those_in_the_middle_of_a_large_cluster(pbc: tuple[bool, ...]) -> None:
    once = Atoms("CuAu", cell=1.2 * TRICLINIC, scaled_positions=[[0.1, 0.2, 0.3], [0.5, 0.6, 0.75]], pbc=pbc)
    copies = [range(-4, 5) if p else (0,) for p in pbc]  # twice the cutoff: an atom feels its neighbours' neighbours
    shifts = sorted(product(*copies), key=lambda shift: np.abs(shift).sum())
    positions = np.concatenate([once.positions + np.array(shift) @ once.cell.array for shift in shifts])
    many = Atoms("CuAu" * len(shifts), positions=positions)
    assert np.abs(forces(many)[:2] - forces(once)).max() < 1e-12


@quick
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


@quick
@given(seed=seeds, pbc=st.sampled_from(PATTERNS))
def test_lattice_translations_of_single_atoms_change_nothing(seed: int, pbc: tuple[bool, ...]) -> None:
    rng, atoms = np.random.default_rng(seed), crystal(seed, pbc=pbc)
    turns = rng.integers(-3, 4, (4, 3)) * np.array(pbc)
    image = moved(atoms, atoms.positions + turns @ atoms.cell.array + rng.uniform(-9, 9, 3))
    assert energy(image) == pytest.approx(energy(atoms), abs=1e-11)
    np.testing.assert_allclose(forces(image), forces(atoms), atol=1e-11)


def test_a_rotated_crystal_has_the_rotated_stress() -> None:
    atoms, turn = crystal(), Rotation.random(random_state=3).as_matrix()
    image = atoms.copy()
    image.set_cell(atoms.cell.array @ turn.T, scale_atoms=True)
    tensor, rotated = (SoundPotential().get_stress(a)[[[0, 5, 4], [5, 1, 3], [4, 3, 2]]] for a in (atoms, image))
    np.testing.assert_allclose(rotated, turn @ tensor @ turn.T, atol=1e-12)


def test_the_cell_does_not_matter_where_nothing_is_periodic() -> None:
    boxed = cluster()
    boxed.cell = TRICLINIC
    assert energy(boxed) == energy(cluster())


@pytest.mark.parametrize("pair", ["Cu2", "AuCu", "CsH"])
def test_a_dimer_vanishes_with_four_continuous_derivatives_at_its_cutoff(pair: str) -> None:
    cutoff = CUTOFF * BOND * covalent_radii[Atoms(pair).numbers].sum()
    near, far = (abs(energy(Atoms(pair, positions=[[0, 0, 0], [0, 0, cutoff - d]]))) for d in (0.01, 0.02))
    assert 2**4.8 < far / near < 2**5.2  # the energy grows with the fifth power, also through the embedding
    beyond = Atoms(pair, positions=[[0, 0, 0], [0, 0, cutoff + 1e-9]])
    assert energy(beyond) == 0.0
    assert not forces(beyond).any()


@pytest.mark.parametrize("pair", ["H2", "Cu2", "CuAu", "CO", "CsF"])
def test_a_dimer_binds_by_about_one_electronvolt_at_its_bond_length(pair: str) -> None:
    length = BOND * covalent_radii[Atoms(pair).numbers].sum()
    dimer = Atoms(pair, positions=[[0, 0, 0], [0, 0, length]])
    assert np.abs(forces(dimer)).max() < 1e-12
    assert -1.2 < energy(dimer) < -0.8
    for factor in (0.5, 0.9, 1.1, 1.5):
        assert energy(moved(dimer, factor * dimer.positions)) > energy(dimer)


def test_neighbours_weaken_a_bond() -> None:
    side = BOND * 2 * covalent_radii[29]
    triangle = Atoms("Cu3", positions=[[0, 0, 0], [side, 0, 0], [side / 2, side * np.sqrt(3) / 2, 0]])
    assert energy(triangle) > 3 * energy(triangle[:2]) + 0.1


def test_elements_differ_in_size_and_in_strength() -> None:
    numbers = range(1, 95)
    energies = [energy(Atoms([z, z], positions=[[0, 0, 0], [0, 0, 2.0]])) for z in numbers]
    assert np.isfinite(energies).all()
    assert len(set(np.round(energies, 6))) > 80


def test_coincident_atoms_have_a_finite_energy_and_no_force() -> None:
    atoms = Atoms("Cu2", positions=np.zeros((2, 3)))
    assert 10 < energy(atoms) < 1000
    assert not forces(atoms).any()


def test_one_atom_alone_has_no_energy_and_one_in_a_crystal_has() -> None:
    assert energy(Atoms("Cu")) == 0.0
    assert forces(Atoms("Cu")).shape == (1, 3)
    assert energy(bulk("Cu", a=4.4)) < -1.0


def test_other_elements_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^Element 'Ag' is not supported: this potential covers Cu, Au\.$"):
        SoundPotential(elements=("Cu", "Au")).get_potential_energy(Atoms("CuAg", positions=[[0, 0, 0], [0, 0, 2]]))
    with pytest.raises(ValueError, match="'Am'"):
        energy(Atoms("Am"))
    assert SoundPotential().claims == tuple(chemical_symbols[1:95])


def test_dependent_cell_vectors_are_refused() -> None:
    with pytest.raises(ValueError, match="not independent"):
        energy(Atoms("Cu", pbc=True))


def test_stress_exists_only_where_all_three_directions_are_periodic() -> None:
    assert SoundPotential().get_stress(crystal()).shape == (6,)
    with pytest.raises(PropertyNotImplementedError):
        SoundPotential().get_stress(crystal(pbc=(True, True, False)))


def test_the_same_structure_gives_the_same_bits_whatever_came_before() -> None:
    used = SoundPotential()
    for other in (cluster(1), crystal(2), molecule("C6H6")):
        used.calculate(other)
    for atoms in (cluster(), crystal()):
        fresh = SoundPotential()
        for calculator in (used, fresh):
            calculator.calculate(atoms)
        assert used.results["energy"] == fresh.results["energy"] == used.results["free_energy"]
        assert np.array_equal(used.results["forces"], fresh.results["forces"])


@pytest.mark.parametrize("change", ["positions", "numbers", "cell", "pbc"])
def test_a_change_of_the_structure_is_noticed_and_a_repetition_is_not_computed_again(change: str) -> None:
    calculator, atoms = SoundPotential(), crystal()
    atoms.calc = calculator
    before = atoms.get_potential_energy()
    results = calculator.results
    atoms.get_forces()
    assert calculator.results is results
    if change == "positions":
        atoms.positions[0, 0] += 1e-12
    elif change == "numbers":
        atoms.numbers[0] = 79
    elif change == "cell":
        atoms.cell[2, 2] += 0.1
    else:
        atoms.pbc = (True, True, False)
    after = atoms.get_potential_energy()
    assert calculator.results is not results
    assert change == "positions" or after != before
