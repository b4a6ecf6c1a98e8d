"""NEP89 through calorine: its published physics, and the numbers of calorine's own calculator on the whole file."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator, PropertyNotImplementedError
from ase.filters import FrechetCellFilter
from ase.optimize import BFGS

from assay.errors import AssayError, ModelFailure
from assay.model import Model
from assay.models import nep
from assay.models.loading import load_model
from assay.models.weights import fetch_weights
from assay.structure import Structure, from_atoms

pytestmark = pytest.mark.family("nep")
pytest.importorskip("calorine")


@pytest.fixture(scope="module")
def path() -> Path:
    weights = nep.MODELS["nep89"].weights
    assert weights is not None
    return fetch_weights(weights)


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model("nep89")


@pytest.fixture(scope="module")
def calculator(model: Model) -> Calculator:
    return model.build()


@pytest.fixture(scope="module")
def plain(path: Path) -> Calculator:
    """calorine's own calculator, which always treats the cell as periodic."""
    from calorine.calculators import CPUNEP

    return CPUNEP(str(path))


def values(calculator: Calculator, atoms: Atoms) -> tuple[float, np.ndarray]:
    return calculator.get_potential_energy(atoms), calculator.get_forces(atoms)


def assert_same(found: tuple[float, np.ndarray], expected: tuple[float, np.ndarray]) -> None:
    """Equal to 1e-9, relative to the energy and to the largest force."""
    assert found[0] == pytest.approx(expected[0], rel=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=1e-9 * max(1.0, np.abs(expected[1]).max()))


def in_box(atoms: Atoms, side: float = 30.0) -> Atoms:
    boxed = atoms.copy()
    boxed.cell, boxed.pbc = [side] * 3, True
    return boxed


def test_the_card_names_the_elements_of_the_file(path: Path, model: Model) -> None:
    elements = Atoms("".join(nep.read_header(path).symbols)).numbers
    assert model.card.elements == tuple(elements)
    assert len(elements) == 89


def test_water_has_its_energy_and_geometry(calculator: Calculator) -> None:
    water = molecule("H2O")
    water.calc = calculator
    assert water.get_potential_energy() == pytest.approx(-14.556, abs=1e-3)
    BFGS(water, logfile=None).run(fmax=1e-3)
    assert water.get_distance(0, 1) == pytest.approx(0.9577, abs=1e-3)
    assert water.get_angle(1, 0, 2) == pytest.approx(105.2, abs=0.1)


@pytest.mark.parametrize(("symbol", "lattice"), [("Cu", 3.556), ("Si", 5.394)])
def test_crystals_have_their_lattice_constants(calculator: Calculator, symbol: str, lattice: float) -> None:
    crystal = bulk(symbol, cubic=True)
    crystal.calc = calculator
    BFGS(FrechetCellFilter(crystal), logfile=None).run(fmax=1e-3)
    assert crystal.cell.lengths() == pytest.approx([lattice] * 3, abs=2e-3)


@pytest.mark.parametrize(
    "atoms", [bulk("Cu"), bulk("NaCl", "rocksalt", a=5.6), bulk("Mg"), bulk("Si", cubic=True) * (3, 3, 3)], ids=str
)
def test_crystals_have_the_numbers_of_calorine(calculator: Calculator, plain: Calculator, atoms: Atoms) -> None:
    strained, strain = atoms.copy(), np.array([[1.01, 0.02, 0], [0, 0.98, 0.01], [0.03, 0, 1]])
    strained.set_cell(strained.cell @ strain, scale_atoms=True)
    strained.rattle(0.1, seed=1)
    assert_same(values(calculator, strained), values(plain, strained))
    expected = plain.get_stress(strained)
    np.testing.assert_allclose(calculator.get_stress(strained), expected, atol=1e-9 * np.abs(expected).max())


def test_molecules_need_no_box(calculator: Calculator, plain: Calculator) -> None:
    for name in ("H2O", "CH3CH2OH"):
        atoms = molecule(name)
        atoms.rattle(0.05, seed=2)
        atoms.positions += [1e4, -3e3, 0.5]
        expected = values(plain, in_box(atoms))
        assert_same(values(calculator, atoms), expected)
        atoms.cell = [1.0, 2.0, 3.0]  # no meaning where nothing is periodic
        assert_same(values(calculator, atoms), expected)


@pytest.mark.parametrize("pattern", ["TTF", "TFT", "FTT", "TFF", "FTF", "FFT"])
def test_directions_that_are_not_periodic_see_no_images(
    calculator: Calculator, plain: Calculator, pattern: str
) -> None:
    periodic = np.array([letter == "T" for letter in pattern])
    cell = np.array([[4.0, 0.3, 0.2], [0.5, 4.5, -0.4], [0.1, 0.7, 5.0]])
    atoms = Atoms("CuOHSiC", np.random.default_rng(5).uniform(0, 5, (5, 3)), cell=cell, pbc=periodic)
    wide = atoms.copy()
    normals = np.linalg.svd(cell[periodic])[2][periodic.sum() :]
    wide.cell[~periodic] = 40.0 * normals
    wide.pbc = True
    found = values(calculator, atoms)
    assert_same(found, values(plain, wide))
    everywhere = atoms.copy()
    everywhere.pbc = True
    assert abs(found[0] - values(plain, everywhere)[0]) > 0.1


def test_many_compositions_in_any_order_have_the_numbers_of_calorine(
    model: Model, calculator: Calculator, plain: Calculator
) -> None:
    assert model.card.elements is not None
    assert model.build_batch is not None
    pairs = list(itertools.combinations_with_replacement(model.card.elements, 2))[::97]
    dimers = [
        Structure.build([a, b], [[0, 0, 0], [0, 0, distance]]) for a, b in pairs for distance in (0.18, 1.3, 2.9, 6.0)
    ]
    slab = fcc111("Pt", (2, 2, 2), vacuum=None)
    mixed = [*dimers, from_atoms(molecule("H2O")), from_atoms(bulk("NaCl", "rocksalt", a=5.6)), from_atoms(slab)]
    order = np.random.default_rng(1).permutation(len(mixed))
    shuffled = model.build_batch().evaluate([mixed[i] for i in order])
    answers = {int(i): answer for i, answer in zip(order, shuffled, strict=True)}
    for i, structure in enumerate(mixed):
        atoms = structure.to_atoms()
        assert_same(answers[i], values(calculator, atoms))
        if not atoms.pbc.any():
            assert_same(answers[i], values(plain, in_box(atoms)))


def test_a_batch_leaves_out_what_is_refused_and_keeps_the_rest(model: Model, calculator: Calculator) -> None:
    assert model.build_batch is not None
    astatine, water = Structure.build([85], [[0, 0, 0]]), from_atoms(molecule("H2O"))
    refused, answered = model.build_batch().evaluate([astatine, water])
    assert np.isnan(refused[0])
    assert np.isnan(refused[1]).all()
    assert_same(answered, values(calculator, water.to_atoms()))


def test_the_parameters_are_loaded_once_for_each_number_of_atoms(
    path: Path, calculator: Calculator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.models._nep_potential.KEPT", 2)
    potential, loads = nep.Potential(path), []
    load = potential._load
    monkeypatch.setattr(potential, "_load", lambda symbols: loads.append(len(symbols)) or load(symbols))
    batch = nep.NepBatch(potential)
    for name in ("OH", "CO", "H2O", "CO2", "HCl", "CH3", "HF", "SO2", "OH"):
        atoms = molecule(name)
        (answer,) = batch.evaluate([from_atoms(atoms)])
        assert_same(answer, values(calculator, atoms))
    assert loads == [2, 3, 4, 3]  # three sizes at a time would not fit; the one unused for longest is dropped


@pytest.mark.parametrize("atoms", [molecule("CH3OH"), bulk("GaAs", "zincblende", a=5.6)], ids=str)
def test_forces_are_minus_the_slope_of_the_energy(calculator: Calculator, atoms: Atoms) -> None:
    moved, step = atoms.copy(), 1e-5
    moved.rattle(0.1, seed=4)
    forces = calculator.get_forces(moved)
    for axis in range(3):
        energies = []
        for sign in (1, -1):
            shifted = moved.copy()
            shifted.positions[1, axis] += sign * step
            energies.append(calculator.get_potential_energy(shifted))
        assert forces[1, axis] == pytest.approx((energies[1] - energies[0]) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("pbc", [(True, True, True), (True, True, False)], ids=["crystal", "slab"])
def test_stress_is_the_slope_of_the_energy_under_strain(calculator: Calculator, pbc: tuple[bool, ...]) -> None:
    atoms, step = bulk("Cu", cubic=True), 1e-5
    atoms.pbc = pbc
    atoms.rattle(0.1, seed=4)
    for place, (i, j) in enumerate([(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]):
        energies = []
        for sign in (1, -1):
            strain = np.eye(3)
            strain[i, j] += sign * step / 2
            strain[j, i] += sign * step / 2
            strained = atoms.copy()
            strained.set_cell(atoms.cell @ strain, scale_atoms=True)
            energies.append(calculator.get_potential_energy(strained))
        slope = (energies[0] - energies[1]) / (2 * step) / atoms.get_volume()
        assert calculator.get_stress(atoms)[place] == pytest.approx(slope, abs=1e-7)


def test_no_stress_without_a_volume(calculator: Calculator) -> None:
    with pytest.raises(PropertyNotImplementedError):
        calculator.get_stress(molecule("H2O"))


@pytest.mark.parametrize(
    ("atoms", "reason"),
    [
        (Atoms("At"), r"does not support At \(Z = 85\)"),
        (Atoms("H2", [[0, 0, 0], [0, 0, np.nan]]), "NaN or infinite"),
        (Atoms("H2", [[0, 0, 0], [0, 0, np.inf]]), "NaN or infinite"),
        (Atoms("H", cell=[3, 3, 0], pbc=True), "thinner than"),
        (Atoms("H", cell=[3, 3, 1e-9], pbc=True), "thinner than"),
        (Atoms("H", cell=[[3, 0, 0], [3, 0, 0], [0, 0, 3]], pbc=(True, True, False)), "thinner than"),
    ],
    ids=["element", "nan", "infinite", "flat", "thin", "degenerate"],
)
def test_what_cannot_be_evaluated_is_refused_with_the_reason(calculator: Calculator, atoms: Atoms, reason: str) -> None:
    with pytest.raises(ModelFailure, match=reason):
        calculator.get_potential_energy(atoms)


def test_a_copy_of_the_potential_loads_its_own(path: Path, calculator: Calculator) -> None:
    potential = nep.Potential(path)
    water = from_atoms(molecule("H2O"))
    (first,) = nep.NepBatch(potential).evaluate([water])
    copied = pickle.loads(pickle.dumps(potential))
    assert not copied._loaded
    (second,) = nep.NepBatch(copied).evaluate([water])
    assert first[0] == second[0]


def test_the_users_own_file_is_the_same_model(path: Path, model: Model, calculator: Calculator) -> None:
    own = load_model(f"nep:{path}")
    assert own.name == f"nep:{path.name}"
    assert own.card.elements == model.card.elements
    assert own.fingerprint != model.fingerprint
    assert own.reference is not None
    assert load_model(own.reference).fingerprint == own.fingerprint
    assert_same(values(own.build(), molecule("CO2")), values(calculator, molecule("CO2")))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "'own.txt' is not a NEP file: it begins with ''"),
        ("\x00\x01PK", "is not a NEP file"),
        ("# a comment\n", "is not a NEP file: it begins with '#', expected nep4 or nep4_zbl"),
        ("nep4_dipole 1 Cu\ncutoff 6 5 10 10\n", "holds a NEP of kind 'nep4_dipole'"),
        ("nep4_zbl_charge1 1 Cu\ncutoff 6 5 10 10\n", "holds a NEP of kind 'nep4_zbl_charge1'"),
        ("nep3 1 Cu\ncutoff 6 5 10 10\n", "holds a NEP of kind 'nep3'"),
        ("nep4 2 Cu\ncutoff 6 5 10 10\n", "is a damaged NEP file"),
        ("nep4 1 Cu\nn_max 4 4\n", "is a damaged NEP file"),
        ("nep4 1 Xx\ncutoff 6 5 10 10\n", "names 'Xx', which is not a chemical element"),
        ("nep4 1 Cu\ncutoff 6 5 10 10\nn_max 4 4\n", "is a damaged NEP file"),
        (
            "nep4 1 Cu\ncutoff 6 5 10 10\nn_max 4 4\nbasis_size 8 8\nl_max 4 2 1\nANN 5 0\n 0.1\n",
            "is a damaged NEP file",
        ),
    ],
    ids=["empty", "binary", "comment", "dipole", "charge", "version", "count", "cutoff", "element", "header", "end"],
)
def test_a_file_that_is_no_potential_is_explained(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text(text)
    with pytest.raises(AssayError, match=reason):
        load_model(f"nep:{tmp_path / 'own.txt'}")


def test_a_missing_file_is_explained() -> None:
    with pytest.raises(AssayError, match=r"there is no file 'absent.txt'"):
        load_model("nep:absent.txt")
