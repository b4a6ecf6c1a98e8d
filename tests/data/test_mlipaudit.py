"""MLIPAudit's files are read as that program reads them; a bad entry is left out and the others are used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from ase import units

from assay.data.dataset import DataSet
from assay.data.mlipaudit import LAYOUTS, layout_files, read_files
from assay.errors import AssayError
from mlipaudit_documents import (
    BOND,
    CONFORMERS,
    DOCUMENTS,
    FRAGMENT,
    GEOMETRY,
    HYDROGENS,
    PAIR,
    REACTION,
    SQUARE,
    write,
)

KCAL = units.kcal / units.mol


def read(folder: Path) -> dict[str, DataSet]:
    return {data.card.name: data for data in read_files(layout_files(folder), str(folder))}


def one(folder: Path, name: str, document: object) -> DataSet:
    (data,) = read(write(folder, {name: document})).values()
    return data


def test_every_file_of_the_layout_is_found_in_sub_folders_or_without(tmp_path: Path) -> None:
    nested = read(write(tmp_path / "nested", DOCUMENTS))
    flat = read(write(tmp_path / "flat", {Path(name).name: document for name, document in DOCUMENTS.items()}))
    assert set(nested) == set(flat) == {Path(name).stem for name in LAYOUTS}
    assert {data.card.kind for data in nested.values()} == {layout.kind for layout in LAYOUTS.values()}
    assert not any(data.remarks for data in nested.values())


def test_a_curve_is_sorted_and_its_well_depth_is_theirs(tmp_path: Path) -> None:
    (record,) = one(tmp_path, "NCI_Atlas.json", {"1.01.01": HYDROGENS}).records
    assert record.coordinates == (0.8, 1.0, 2.0)
    assert record.energies is not None
    assert min(record.energies) - record.energies[-1] == pytest.approx((-0.09 + 0.004) * KCAL)
    assert record.structures[0].positions[2].tolist() == [0.0, 0.0, 2.4]
    assert (record.structures[0].charge, record.structures[0].spin) == (0, 1)
    assert record.info["repulsive"] is False
    assert (record.info["atoms_a"], record.info["atoms_b"]) == ([0, 1], [2, 3])


def test_the_repulsive_set_is_marked_and_ions_keep_their_charges(tmp_path: Path) -> None:
    ion = HYDROGENS | {"dataset_name": "NCIA_R739x5", "total_charge": 1.0, "charge_a": 1.0}
    (record,) = one(tmp_path, "NCI_Atlas.json", {"x": ion}).records
    assert record.info["repulsive"] is True
    assert (record.structures[0].charge, record.info["charge_a"], record.info["charge_b"]) == (1, 1, 0)


def test_tautomers_are_electronvolts_and_everything_else_is_kcal(tmp_path: Path) -> None:
    sets = read(write(tmp_path, DOCUMENTS))
    assert sets["tautobase_2792"].records[0].energies == (-10.0, -9.5)
    assert sets["TorsionNet500"].records[0].energies == pytest.approx((2.0 * KCAL, 0.0))
    assert sets["TorsionNet500"].records[0].coordinates == (-15.0, 0.0)
    assert sets["folmsbee_dataset"].records[0].energies == pytest.approx((-1000.0 * KCAL, -998.0 * KCAL))
    assert sets["folmsbee_dataset"].records[0].structures[0].charge == 1
    assert sets["openff_n20_charged"].records[0].structures[0].charge == -1


def test_reactions_have_three_roles_and_say_what_they_are_for(tmp_path: Path) -> None:
    sets = read(write(tmp_path, DOCUMENTS))
    record = sets["grambow_dataset"].records[0]
    assert record.roles == ("reactant", "transition_state", "product")
    assert record.energies == pytest.approx((-500.0 * KCAL, -460.0 * KCAL, -490.0 * KCAL))
    assert record.info["use"] == "tst"
    assert sets["grambow_dataset_neb"].records[0].info["use"] == "neb"


def test_conformers_of_one_name_are_told_apart(tmp_path: Path) -> None:
    data = one(tmp_path, "folmsbee_dataset.json", [CONFORMERS, CONFORMERS])
    assert [record.id for record in data.records] == ["ado-0", "ado-1"]


def without(entry: dict[str, object], key: str) -> dict[str, object]:
    return {name: value for name, value in entry.items() if name != key}


@pytest.mark.parametrize(
    ("name", "good", "bad", "words"),
    [
        ("NCI_Atlas.json", HYDROGENS, without(HYDROGENS, "coords"), "lacks the key 'coords'"),
        ("NCI_Atlas.json", HYDROGENS, HYDROGENS | {"distance_profile": [1.0]}, "3 structures, 1 distances and"),
        ("NCI_Atlas.json", HYDROGENS, HYDROGENS | {"total_charge": 0.5}, "'total_charge' 0.5, which is not a whole"),
        ("NCI_Atlas.json", HYDROGENS, HYDROGENS | {"total_charge": float("inf")}, "which is not a whole number"),
        ("NCI_Atlas.json", HYDROGENS, HYDROGENS | {"atom_symbols": ["H", "H"]}, "has 4 positions for 2 atoms"),
        ("NCI_Atlas.json", HYDROGENS, HYDROGENS | {"atom_symbols": ["H", "H", "H", "Q"]}, "has an element 'Q'"),
        ("NCI_Atlas.json", HYDROGENS, HYDROGENS | {"selection_indices_b": [2, 9]}, "needs atoms_a and atoms_b"),
        ("NCI_Atlas.json", HYDROGENS, HYDROGENS | {"interaction_energy_profile": [1, 2, float("nan")]}, "has NaN or"),
        ("TorsionNet500.json", FRAGMENT, FRAGMENT | {"dft_energy_profile": [[0, 1], [2]]}, "not a table of numbers"),
        ("TorsionNet500.json", FRAGMENT, FRAGMENT | {"dft_energy_profile": [1.0, 2.0]}, "of the wrong shape (2)"),
        ("TorsionNet500.json", FRAGMENT, FRAGMENT | {"dft_energy_profile": [[0, 1]]}, "has 1 energies for 2"),
        ("tautobase_2792.json", PAIR, PAIR | {"energies": [float("inf"), 0.0]}, "has NaN or infinite energies"),
        ("tautobase_2792.json", PAIR, PAIR | {"atom_symbols": [["H", "F"], ["H", "Cl"]]}, "of different atoms"),
        ("openff_n200_neutral.json", GEOMETRY, GEOMETRY | {"atom_symbols": "HF"}, "not a list of symbols"),
        ("grambow_dataset.json", REACTION, REACTION | {"products": None}, "has 'products' that is not an object"),
        ("grambow_dataset.json", REACTION, "no object", "lacks the key 'reactants'"),
    ],
)  # fmt: skip
def test_a_bad_entry_is_left_out_with_a_sentence(
    name: str, good: object, bad: object, words: str, tmp_path: Path
) -> None:
    data = one(tmp_path, name, {"good": good, "bad": bad})
    assert [record.id for record in data.records] == ["good"]
    (remark,) = data.remarks
    assert remark.startswith(f"record 'bad' of '{tmp_path}/{name}'")
    assert words in remark
    assert remark.endswith("and is left out")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{'single': quotes}", "is not valid JSON"),
        (json.dumps({"a": HYDROGENS})[:300], "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("7", "must contain an object or a list of entries"),
        ("{}", "is empty"),
        ({"bad": {}}, "there is no usable record"),
    ],
    ids=["quotes", "cut", "deep", "number", "empty", "useless"],
)
def test_a_file_without_use_is_an_error_that_names_it(document: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=words) as caught:
        one(tmp_path, "NCI_Atlas.json", document)
    assert "NCI_Atlas.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unreadable_file_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = layout_files(write(tmp_path, {"NCI_Atlas.json": "{}"}))
    monkeypatch.setattr("assay.data.mlipaudit.LARGEST", 1)
    with pytest.raises(AssayError, match="has more than 1 bytes"):
        read_files(files, "x")
    (tmp_path / "NCI_Atlas.json").unlink()
    with pytest.raises(AssayError, match="cannot be read"):
        read_files(files, "x")


def test_bonds_and_rings_name_their_atoms(tmp_path: Path) -> None:
    sets = read(write(tmp_path, DOCUMENTS))
    (bond,) = sets["bond_length_distribution"].records
    assert (bond.info["bond"], bond.info["bond_type"], bond.info["bond_length"]) == ([0, 1], "C-O", 1.4)
    (ring,) = sets["ring_planarity_data"].records
    assert ring.info["ring"] == [0, 1, 2, 3]


def test_a_bond_that_is_not_of_its_type_is_left_out(tmp_path: Path) -> None:
    """As published, the C=O of methyl acetate is the bond between its carbons."""
    wrong = BOND | {"reference_bond_distance": 1.51}
    data = one(
        tmp_path,
        "bond_length_distribution.json",
        {
            "carbon-oxygen (single)": BOND,
            "carbon-oxygen (double)": wrong,
            "odd": BOND | {"pattern_atom_indices": [0, 7]},
        },
    )
    assert [record.id for record in data.records] == ["carbon-oxygen (single)"]
    assert "C=O of 1.51 Å" in data.remarks[0]
    assert "two different atoms" in data.remarks[1]


def test_a_ring_needs_four_atoms_that_are_there(tmp_path: Path) -> None:
    wrong = SQUARE | {"pattern_atoms": [0, 1, 2]}
    data = one(tmp_path, "ring_planarity_data.json", {"square": SQUARE, "wrong": wrong})
    assert "four or more different atoms" in data.remarks[0]


WATER = "3\nwater\nO 0.0 0.0 0.0\nH 0.96 0.0 0.0\nH -0.24 0.93 0.0\n"


def test_systems_that_should_last_get_their_charges_and_boxes(tmp_path: Path) -> None:
    names = ("stability/small_molecule_S.xyz", "stability/peptide_HCNO.xyz", "stability/peptide_solv.xyz")
    (data,) = read(write(tmp_path, dict.fromkeys(names, WATER))).values()
    assert data.card.kind == "stability"
    assert [record.id for record in data.records] == ["small_molecule_S", "peptide_HCNO", "peptide_solv"]
    sulfur, peptide, solution = (record.structures[0] for record in data.records)
    assert (sulfur.charge, peptide.charge, solution.charge) == (0, 1, 0)
    assert (sulfur.pattern, solution.pattern) == ("FFF", "TTT")
    assert np.diag(solution.cell).tolist() == [23.43, 28.96, 20.90]


def test_of_two_files_with_one_name_that_of_the_stability_benchmark_counts(tmp_path: Path) -> None:
    other = WATER.replace("0.96", "0.97")
    names = {"nve_energy_conservation/small_molecule_HCNO.xyz": other, "stability/small_molecule_HCNO.xyz": WATER}
    (data,) = read(write(tmp_path, names)).values()
    assert data.records[0].structures[0].positions[1, 0] == 0.96


@pytest.mark.parametrize("text", [WATER + WATER, "", WATER[:30], "3\n\nO nan 0 0\nH 1 0 0\nH 0 1 0\n"])
def test_a_system_that_cannot_be_read_is_one_sentence(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"small_molecule_S.xyz": text})
    with pytest.raises(AssayError, match=r"small_molecule_S\.xyz") as error:
        read(tmp_path)
    assert "\n" not in str(error.value)
