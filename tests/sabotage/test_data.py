"""The data of the sound potential is exact, complete, and the same every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.data import kinds
from assay.data.dataset import Record
from assay.data.source import DataSource, open_data
from assay.sabotage import CopperGold
from assay.sabotage.data import KINDS, LEVEL, write_sound_data
from assay.structure import Structure
from sabotage.structures import derivative, energy, moved, values


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sound_data(tmp_path_factory.mktemp("sound"))


@pytest.fixture(scope="module")
def source(folder: Path) -> DataSource:
    return open_data([str(folder)])


def records_of(source: DataSource, kind: str) -> tuple[Record, ...]:
    """The records of one kind."""
    (data,) = source.read(kind)
    return data.records


def forces(structure: Structure) -> np.ndarray:
    """Forces of the sound potential (eV/Å)."""
    return values(CopperGold(), structure.to_atoms())[1]


def force_constants(structure: Structure) -> np.ndarray:
    """Force constants (eV/Å²) of all vibrations, in ascending order, without translations and rotations."""
    atoms, rows = structure.to_atoms(), []
    for axis in np.eye(3 * len(atoms)).reshape(-1, len(atoms), 3):
        slope = derivative(lambda s, d=axis: values(CopperGold(), moved(atoms, atoms.positions + s * d))[1], 0.01)
        rows.append(-np.ravel(slope))
    stiffness = np.linalg.eigvalsh(0.5 * (np.array(rows) + np.array(rows).T))
    free = 5 if len(atoms) == 2 else 6
    return np.sort(stiffness[np.argsort(np.abs(stiffness))[free:]])


def test_the_data_sets_are_of_kinds_that_exist(source: DataSource) -> None:
    assert set(KINDS) <= set(kinds.KINDS)
    assert {data.card.kind for data in source.given} == set(KINDS)
    assert {data.card.level for data in source.given} == {LEVEL}


def test_the_data_is_the_same_every_time(folder: Path, tmp_path: Path) -> None:
    write_sound_data(tmp_path)
    files = sorted(path.relative_to(folder) for path in folder.glob("*/*"))
    assert len(files) == 2 * len(KINDS)
    assert [name for name in files if (folder / name).read_bytes() != (tmp_path / name).read_bytes()] == []


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"noncovalent_interactions"}))
def test_reference_energies_are_those_of_the_sound_potential(source: DataSource, kind: str) -> None:
    for record in records_of(source, kind):
        expected = [energy(CopperGold, structure.to_atoms()) for structure in record.structures]
        np.testing.assert_allclose(record.energies, expected, atol=1e-10)


def test_interaction_energies_are_those_of_the_complex_without_its_parts(source: DataSource) -> None:
    for record in records_of(source, "noncovalent_interactions"):
        for structure, reference in zip(record.structures, record.energies or (), strict=True):
            atoms, parts = structure.to_atoms(), (record.info["atoms_a"], record.info["atoms_b"])
            apart = sum(energy(CopperGold, atoms[list(part)]) for part in parts)
            assert reference == pytest.approx(energy(CopperGold, atoms) - apart, abs=1e-10)


@pytest.mark.parametrize("kind", ["reference_geometry", "bonds", "rings", "stability"])
def test_structures_at_rest_are_minima(source: DataSource, kind: str) -> None:
    for record in records_of(source, kind):
        rest = record.structures[0]
        assert np.abs(forces(rest)).max() < 1e-4
        assert force_constants(rest).min() > 0.0


def test_a_reaction_goes_over_a_saddle_point_between_two_minima(source: DataSource) -> None:
    for record in records_of(source, "reactions"):
        stops = dict(zip(record.roles, record.structures, strict=True))
        assert [np.abs(forces(structure)).max() < 1e-4 for structure in stops.values()] == [True] * 3
        constants = {role: force_constants(structure) for role, structure in stops.items()}
        assert {role: int((values < 0.0).sum()) for role, values in constants.items()} == {
            "reactant": 0,
            "transition_state": 1,
            "product": 0,
        }


def test_the_force_constant_of_a_bond_is_its_second_derivative(source: DataSource) -> None:
    for record in records_of(source, "bonds"):
        # Both atoms move by the same length in the vibration, so the bond changes by the root of 2 times its amplitude.
        assert record.info["bond_stiffness"] == pytest.approx(force_constants(record.structures[0])[-1] / 2.0, rel=1e-4)
