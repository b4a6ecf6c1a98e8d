"""Every kind of data has an embedded set, and what the cards say is true of the records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ase import units
from ase.data.s22 import create_s22_system, get_interaction_energy_s22

from assay.data.dataset import EMBEDDED, DataSet
from assay.data.digest import content_sha256
from assay.data.embedded import SETS, defaults, embedded
from assay.data.folder import CARD
from assay.data.kinds import KINDS, find_kind
from assay.data.s22x5 import GROUPS, read_s22x5

NAMES = sorted(embedded())


@pytest.fixture(scope="module")
def s22x5() -> DataSet:
    return read_s22x5()


@pytest.mark.parametrize("name", NAMES)
def test_the_card_is_true_of_the_records(name: str) -> None:
    entry = embedded()[name]
    data = entry.read()
    structures = sum(len(record.structures) for record in data.records)
    assert entry.card.size == data.card.size == f"{len(data.records)} records, {structures} structures"
    assert data.card.name == name
    assert len(data.card.sha256) == 64
    assert entry.card.sha256 == data.card.sha256
    assert data.card.lane == EMBEDDED
    assert data.card.kind in KINDS
    assert data.remarks == ()
    assert all((data.card.what, data.card.level, data.card.licence, data.card.citation, data.card.source))


@pytest.mark.parametrize("name", NAMES)
def test_records_follow_the_rules_of_their_kind(name: str) -> None:
    data = embedded()[name].read()
    assert [find_kind(data.card.kind).complaint(record) for record in data.records] == [""] * len(data.records)
    assert len({record.id for record in data.records}) == len(data.records)
    assert all(s.charge is not None and s.spin is not None for r in data.records for s in r.structures)


def test_a_set_is_read_once() -> None:
    assert embedded()["s22x5"].read() is embedded()["s22x5"].read()


def test_the_hash_of_records_sees_every_number() -> None:
    record = read_s22x5().records[0]
    assert record.energies is not None
    first = record.structures[0]
    changed = [
        replace(record, id="other"),
        replace(record, energies=(record.energies[0] + 1e-8, *record.energies[1:])),
        replace(record, structures=(first.moved(first.positions + 1e-5), *record.structures[1:])),
        replace(record, structures=(replace(first, charge=1), *record.structures[1:])),
    ]
    hashes = {content_sha256([one]) for one in (record, *changed)}
    assert len(hashes) == 5
    assert content_sha256([replace(record, info={})]) in hashes


def test_own_sets_are_found_by_their_folder() -> None:
    folders = {path.parent.name for path in SETS.glob(f"*/{CARD}")}
    assert folders
    assert folders <= set(embedded())


def test_g2_is_there_by_name_but_not_by_default() -> None:
    assert "g2-geometries" in embedded()
    assert "g2-geometries" not in {data.card.name for data in defaults("reference_geometry")}


def test_s22x5_has_the_minimum_energies_of_the_revised_s22(s22x5: DataSet) -> None:
    for record in s22x5.records:
        assert record.energies is not None
        assert record.coordinates == (0.9, 1.0, 1.2, 1.5, 2.0)
        assert record.energies[1] == pytest.approx(get_interaction_energy_s22(record.id))
        assert min(record.energies) == record.energies[1]
        assert -21.0 < record.energies[1] * units.mol / units.kcal < -0.5


def test_s22x5_structures_are_those_of_ase(s22x5: DataSet) -> None:
    for record in s22x5.records:
        for structure, distance in zip(record.structures, (0.9, 1.0, 1.2, 1.5, 2.0), strict=True):
            atoms = create_s22_system(record.id, dist=distance)
            assert (structure.numbers == atoms.numbers).all()
            np.testing.assert_array_equal(structure.positions, atoms.positions)


def test_the_two_molecules_of_a_complex_only_move_apart(s22x5: DataSet) -> None:
    for record in s22x5.records:
        parts = [np.array(record.info[name]) for name in ("atoms_a", "atoms_b")]
        gaps = []
        for structure in record.structures:
            first, second = (structure.positions[part] for part in parts)
            gaps.append(np.linalg.norm(first[:, None] - second[None], axis=-1).min())
        assert gaps == sorted(gaps)
        for part in parts:
            shapes = [np.linalg.norm(s.positions[part] - s.positions[part].mean(0), axis=1) for s in record.structures]
            assert all(shape == pytest.approx(shapes[1], abs=0.02) for shape in shapes)


def test_s22x5_classes_are_those_of_the_publication(s22x5: DataSet) -> None:
    groups = {record.id: record.info["group"] for record in s22x5.records}
    assert list(groups.values()) == list(GROUPS)
    assert groups["Water_dimer"] == "hydrogen bonded"
    assert groups["Methane_dimer"] == "dispersion"
    assert groups["Adenine-thymine_complex_stack"] == "dispersion"
    assert groups["Benzene-water_complex"] == "mixed"


def test_g2_molecules_are_closed_shell_minima_with_two_heavy_atoms() -> None:
    for record in embedded()["g2-geometries"].read().records:
        (molecule,) = record.structures
        assert sum(molecule.numbers > 1) >= 2
        assert sum(molecule.numbers) % 2 == 0
        assert record.roles == ("reference",)
