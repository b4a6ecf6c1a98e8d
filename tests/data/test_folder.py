"""A folder with `data.toml` and XYZ files is a data set; every mistake in it is reported in one sentence."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ase import units

from assay.data.folder import read_card, read_folder
from assay.data.kinds import KINDS
from assay.errors import AssayError

Writer = Callable[..., Path]
BUTANE = "2\nrecord={0} coordinate={1} reference_energy={2} charge=0 spin=1\nH 0 0 0\nF 0 0 {3}\n"
CARD = {"name": "mine", "kind": "dihedral_scan", "level": "exact", "energy_unit": "kcal/mol"}


def scan(name: str = "turn", shift: float = 0.0) -> str:
    points = [(-60.0, 0.0, 0.92), (0.0, 5.0, 0.95), (60.0, 1.0, 0.93)]
    return "".join(BUTANE.format(name, angle, energy + shift, z) for angle, energy, z in points)


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    def written(frames: str = "", records: str = "", **card: object) -> Path:
        shutil.rmtree(tmp_path / "mine", ignore_errors=True)
        folder = tmp_path / "mine"
        folder.mkdir()
        lines = [f'{key} = "{value}"' for key, value in (CARD | card).items() if value is not None]
        (folder / "data.toml").write_text("\n".join(lines) + "\n" + records)
        (folder / "structures.xyz").write_text(frames or scan())
        return folder

    return written


def complaint(folder: Path) -> str:
    with pytest.raises(AssayError) as caught:
        read_folder(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert str(folder) in message
    return message


def test_energies_become_electronvolts_and_frames_keep_their_order(write: Writer) -> None:
    data = read_folder(write())
    (record,) = data.records
    assert record.id == "turn"
    assert record.coordinates == (-60.0, 0.0, 60.0)
    assert record.energies == pytest.approx([0.0, 5.0 * units.kcal / units.mol, units.kcal / units.mol])
    assert (record.structures[0].charge, record.structures[0].spin) == (0, 1)
    assert data.card.lane == "yours"
    assert data.card.size == "1 records, 3 structures"
    assert len(data.card.sha256) == 64


def test_the_hash_follows_the_contents(write: Writer) -> None:
    first = read_folder(write()).card.sha256
    assert read_folder(write()).card.sha256 == first
    assert read_folder(write(level="better")).card.sha256 != first


def test_charge_and_spin_that_are_not_given_stay_open(write: Writer) -> None:
    (record,) = read_folder(write(scan().replace("charge=0 spin=1", ""))).records
    assert (record.structures[0].charge, record.structures[0].spin) == (None, None)


def test_what_is_said_of_a_record_is_kept(write: Writer) -> None:
    table = '[records.turn]\nsmiles = "F"\ngroup = "small"\nfrom_page = 7\n'
    (record,) = read_folder(write(records=table)).records
    assert record.info == {"smiles": "F", "group": "small", "from_page": 7}


def test_several_files_make_one_set(write: Writer) -> None:
    folder = write()
    (folder / "more.xyz").write_text(scan("other"))
    assert [record.id for record in read_folder(folder).records] == ["other", "turn"]


def test_geometries_need_no_energies_and_no_role(write: Writer) -> None:
    folder = write("2\nrecord=hf\nH 0 0 0\nF 0 0 0.92\n", kind="reference_geometry", energy_unit=None)
    (record,) = read_folder(folder).records
    assert (record.energies, record.roles) == (None, ("reference",))
    assert read_card(folder).units == "Å"


@pytest.mark.parametrize("missing", ["name", "kind", "level"])
def test_a_card_without_a_key_is_refused(write: Writer, missing: str) -> None:
    assert f"lacks the key '{missing}'" in complaint(write(**{missing: None}))


@pytest.mark.parametrize(
    ("card", "words"),
    [
        (
            {"kind": "dihedral_scans"},
            "there is no kind of data 'dihedral_scans' (did you mean 'dihedral_scan'?)",
        ),
        ({"energy_unit": "kcal"}, "'kcal' is not a unit of energy (did you mean 'kcal/mol'?)"),
        ({"energy_unit": None}, "lacks the key 'energy_unit' for its energies; choose from eV"),
        ({"energy_units": "eV"}, "has the unknown key 'energy_units' (did you mean 'energy_unit'?)"),
    ],
)
def test_a_wrong_card_is_refused_with_a_hint(write: Writer, card: dict[str, object], words: str) -> None:
    assert words in complaint(write(**card))


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        (scan().replace("record=turn ", "", 1), "the frame on line 1 of"),
        (scan().replace("reference_energy=5.0", "reference_energy=nan"), "has NaN or infinite energies"),
        (scan().replace("reference_energy=5.0", "reference_energy=inf"), "has NaN or infinite energies"),
        (scan().replace("reference_energy=5.0", "reference_energy=much"), "has 'reference_energy=much' on line 6"),
        (scan().replace("reference_energy=5.0", ""), "has 'reference_energy' in 2 of its 3 frames"),
        (scan().replace("coordinate", "angle"), "has no coordinates (the angle or distance of each structure)"),
        (scan().replace("F 0 0 0.95", "F 0 0 nan"), "has NaN or infinite positions"),
        (scan().replace("F 0 0 0.95", "Cl 0 0 0.95"), "has structures of different atoms (HF and HCl)"),
        (scan().replace("H 0 0 0\nF 0 0 0.95", "F 0 0 0\nH 0 0 0.95"), "lists the atoms of its structures in"),
        (scan().replace("charge=0", "charge=1", 1), "has structures of different charge or spin"),
        (scan().replace("charge=0", "charge=half", 1), "'charge=half' in the frame on line 1"),
        (scan().replace("spin=1", "spin=0", 1), "is a multiplicity, which is at least 1"),
        (scan() + scan("b") + scan(), "the record 'turn' occurs twice in"),
        (scan().replace("F 0 0 0.95", "F 0 0"), "the atoms of the frame on line 5 of"),
        (scan().rpartition("F")[0], "ends in the middle of the frame that begins on line 9; it is incomplete"),
        (scan().partition("\n2\n")[0] + "\n", "has fewer than two structures"),
    ],
)  # fmt: skip
def test_wrong_frames_name_the_record_and_the_line(write: Writer, frames: str, words: str) -> None:
    assert words in complaint(write(frames))


def test_one_name_in_two_files_is_a_mistake(write: Writer) -> None:
    folder = write()
    (folder / "more.xyz").write_text(scan())
    assert "the record 'turn' is in" in complaint(folder)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("[records.trun]\ngroup = 'x'\n", "describes a record 'trun' that has no frames (did you mean 'turn'?)"),
        ("[records.turn]\natom_a = [0]\n", "has a key 'atom_a'; did you mean 'atoms_a'?"),
        ("[records.turn]\ntorsion = [0, 1]\n", "needs four different atoms for its torsion, with numbers from 0 to 1"),
        ("[records.turn]\natoms_a = [0]\natoms_b = [2]\n", "needs atoms_a and atoms_b as lists of atoms"),
        ("[records.turn]\natoms_a = [0, 1]\natoms_b = [1]\n", "in neither of atoms_a and atoms_b, or in both"),
        ("[records]\nturn = 1\n", "must be tables, one [records.NAME] for each record"),
        ("[records.turn\n", "is not valid TOML"),
    ],
)
def test_wrong_tables_of_records_are_refused(write: Writer, table: str, words: str) -> None:
    assert words in complaint(write(records=table))


def test_missing_and_unreadable_files_are_one_sentence(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write()
    (folder / "structures.xyz").write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in complaint(folder)
    (folder / "structures.xyz").unlink()
    assert "there is no .xyz file next to" in complaint(folder)
    (folder / "structures.xyz").write_text("\n")
    assert "contain no frames" in complaint(folder)
    monkeypatch.setattr("assay.data.folder.LARGEST", 3)
    assert "at most 3 are read" in complaint(folder)
    (folder / "data.toml").unlink()
    assert "there is no 'data.toml' in" in complaint(folder)


def reaction(*roles: str) -> str:
    return "".join(f"1\nrecord=r role={role} reference_energy=1\nH 0 0 0\n" for role in roles)


@pytest.mark.parametrize(
    ("kind", "frames", "words"),
    [
        ("tautomers", scan(), "has 3 structures instead of two"),
        ("reactions", reaction("reactant", "product"), "has the roles reactant, product instead of one each of"),
        ("reactions", scan(), "has the roles none instead of one each of"),
        ("reference_geometry", reaction("reference", "reference"), "instead of reference, or reference and displaced"),
        ("conformer_selection", reaction("a"), "has fewer than two structures"),
        ("noncovalent_interactions", reaction("a", "b"), "has no coordinates"),
    ],
)
def test_each_kind_has_its_number_of_structures(write: Writer, kind: str, frames: str, words: str) -> None:
    assert kind in KINDS
    assert words in complaint(write(frames, kind=kind))


def test_reactions_in_any_order_of_roles_are_read(write: Writer) -> None:
    frames = reaction("product", "reactant", "transition_state")
    (record,) = read_folder(write(frames, kind="reactions")).records
    assert record.roles == ("product", "reactant", "transition_state")
