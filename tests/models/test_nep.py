"""NEP89 through calorine: the numbers of calorine's own calculator, and what its compiled code cannot be given."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator, PropertyNotImplementedError

from assay.configurations import dimer, symbol
from assay.errors import AssayError, ModelFailure
from assay.models import nep
from assay.models.loading import load_model
from assay.structure import Structure, from_atoms
from assay.testing import (
    Tolerance,
    assert_batch_matches_single,
    assert_matches_upstream,
    assert_stress_matches_energy,
)
from assay.testing.answers import answer_of, batch_answers, batch_of
from assay.testing.physics import with_vacuum
from families import checkpoint, opened

pytestmark = pytest.mark.family("nep")

NAME = "nep89"
EXACT = Tolerance(0.0, 1e-9, 1e-9, 1e-9)


@pytest.fixture(scope="module")
def plain() -> Calculator:
    """calorine's own calculator, which always treats the cell as periodic."""
    from calorine.calculators import CPUNEP

    return CPUNEP(str(checkpoint(NAME)))


def potential_energy(atoms: Atoms) -> float:
    return float(opened(NAME).build().get_potential_energy(atoms))


@pytest.mark.parametrize(
    "atoms", [bulk("Cu"), bulk("NaCl", "rocksalt", a=5.6), bulk("Mg"), bulk("Si", cubic=True) * (3, 3, 3)], ids=str
)
def test_crystals_have_the_numbers_of_calorine(plain: Calculator, atoms: Atoms) -> None:
    strained, strain = atoms.copy(), np.array([[1.01, 0.02, 0], [0, 0.98, 0.01], [0.03, 0, 1]])
    strained.set_cell(strained.cell @ strain, scale_atoms=True)
    strained.rattle(0.1, seed=1)
    assert_matches_upstream(opened(NAME), plain, {"strained crystal": from_atoms(strained)}, EXACT)
    expected = plain.get_stress(strained)
    found = opened(NAME).build().get_stress(strained)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_many_compositions_have_the_numbers_of_calorine_alone_and_in_a_batch(plain: Calculator) -> None:
    """Of calorine in a box of 30 Å, of the adapter without a box and far from the origin."""
    pairs = list(itertools.combinations_with_replacement(opened(NAME).card.elements or (), 2))[::97]
    bodies = {
        f"{symbol(a)}-{symbol(b)} at {distance} Å": dimer(a, b, distance)
        for a, b in pairs
        for distance in (0.18, 1.3, 2.9, 6.0)
    }
    bodies |= {name: from_atoms(molecule(name)) for name in ("H2O", "CH3CH2OH")}
    assert_matches_upstream(opened(NAME), plain, {n: with_vacuum(s, 30.0) for n, s in bodies.items()}, EXACT)
    calculator = opened(NAME).build()
    for structure in bodies.values():
        far = structure.moved(structure.positions + np.array([1e4, -3e3, 0.5]))
        expected = answer_of(plain, with_vacuum(structure, 30.0))
        assert EXACT.excess(answer_of(calculator, structure), expected) < 1.0
        assert Tolerance(1e-6, 1e-9, 1e-6, 1e-9).excess(answer_of(calculator, far), expected) < 1.0
    crystals = {"NaCl": bulk("NaCl", "rocksalt", a=5.6), "Pt slab": fcc111("Pt", (2, 2, 2), vacuum=None)}
    mixed = bodies | {name: from_atoms(atoms) for name, atoms in crystals.items()}
    assert_batch_matches_single(opened(NAME), mixed, EXACT)


def test_a_batch_leaves_out_what_is_refused_and_keeps_the_rest() -> None:
    astatine, water = Structure.build([85], [[0, 0, 0]]), from_atoms(molecule("H2O"))
    refused, answered = batch_answers(batch_of(opened(NAME)), [astatine, water])
    assert np.isnan(refused[0])
    assert np.isnan(refused[1]).all()
    assert EXACT.excess(answered, answer_of(opened(NAME).build(), water)) < 1.0


def test_the_parameters_are_loaded_once_for_each_number_of_atoms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.models._nep_potential.KEPT", 2)
    potential, loads = nep.Potential(checkpoint(NAME)), []
    load = potential._load
    monkeypatch.setattr(potential, "_load", lambda symbols: loads.append(len(symbols)) or load(symbols))
    batch = nep.NepBatch(potential)
    for name in ("OH", "CO", "H2O", "CO2", "HCl", "CH3", "HF", "SO2", "OH"):
        atoms = molecule(name)
        assert batch.evaluate([from_atoms(atoms)])[0][0] == pytest.approx(potential_energy(atoms), rel=1e-9)
    assert loads == [2, 3, 4, 3]  # three sizes at a time would not fit; the one unused for longest is dropped


def test_the_stress_of_a_slab_is_the_slope_of_the_energy() -> None:
    atoms = bulk("Cu", cubic=True)
    atoms.pbc = (True, True, False)
    atoms.rattle(0.1, seed=4)
    assert_stress_matches_energy(opened(NAME), from_atoms(atoms), tolerance=1e-7)


def test_no_stress_without_a_volume() -> None:
    with pytest.raises(PropertyNotImplementedError):
        opened(NAME).build().get_stress(molecule("H2O"))


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
def test_what_cannot_be_evaluated_is_refused_with_the_reason(atoms: Atoms, reason: str) -> None:
    with pytest.raises(ModelFailure, match=reason):
        potential_energy(atoms)


def test_a_copy_of_the_potential_loads_its_own() -> None:
    potential, water = nep.Potential(checkpoint(NAME)), from_atoms(molecule("H2O"))
    (first,) = nep.NepBatch(potential).evaluate([water])
    copied = pickle.loads(pickle.dumps(potential))
    assert not copied._loaded
    (second,) = nep.NepBatch(copied).evaluate([water])
    assert first[0] == second[0]


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
