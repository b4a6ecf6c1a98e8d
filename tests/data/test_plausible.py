"""Data in another unit than stated is refused; a single wrong record does not mean that the unit is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.dataset import Card, DataSet, Record
from assay.data.embedded import defaults, embedded
from assay.data.energy_units import electronvolts
from assay.data.plausible import plausible
from assay.data.source import open_data
from assay.errors import AssayError
from assay.structure import Structure
from mlipaudit_documents import write

WITH_TOTALS = ("tautomers", "reactions", "reference_geometry")


def scaled(data: DataSet, energy: float = 1.0, length: float = 1.0, only: int | None = None) -> DataSet:
    def one(record: Record) -> Record:
        energies = None if record.energies is None else tuple(energy * value for value in record.energies)
        structures = tuple(structure.moved(structure.positions * length) for structure in record.structures)
        return replace(record, energies=energies, structures=structures)

    records = [one(r) if only in (None, place) else r for place, r in enumerate(data.records)]
    return replace(data, records=tuple(records))


@pytest.mark.parametrize("name", sorted(embedded()))
def test_embedded_data_is_plausible(name: str) -> None:
    data = embedded()[name].read()
    assert plausible(data, "here", strict=True).records == data.records
    assert plausible(data, "here", strict=True).remarks == ()


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(("meant", "said"), [("kcal/mol", "eV"), ("kJ/mol", "eV"), ("eV", "Hartree"), ("meV", "eV")])
def test_interaction_energies_that_are_too_large_are_refused(meant: str, said: str, strict: bool) -> None:
    (s22x5,) = defaults("noncovalent_interactions")
    wrong = scaled(s22x5, electronvolts(said) / electronvolts(meant))
    with pytest.raises(AssayError, match=r"the data in 'here' cannot be in eV, Å: .*is the unit right\?"):
        plausible(wrong, "here", strict)


@pytest.mark.parametrize("kind", WITH_TOTALS)
@pytest.mark.parametrize(
    ("meant", "said"), [("kcal/mol", "eV"), ("eV", "kcal/mol"), ("Hartree", "eV"), ("kJ/mol", "eV")]
)
def test_total_energies_in_another_unit_are_refused(kind: str, meant: str, said: str) -> None:
    for data in defaults(kind):
        with pytest.raises(AssayError, match="the data in 'here' cannot be in eV, Å"):
            plausible(scaled(data, electronvolts(said) / electronvolts(meant)), "here", strict=False)


@pytest.mark.parametrize("length", [0.1, 10.0, 0.529177, 1.0 / 0.529177], ids=["nm", "pm", "a", "bohr"])
def test_coordinates_in_another_unit_are_refused(length: float) -> None:
    (s22x5,) = defaults("noncovalent_interactions")
    with pytest.raises(AssayError, match="cannot be in eV, Å"):
        plausible(scaled(s22x5, length=length), "here", strict=False)


def test_one_record_in_another_unit_is_left_out_or_an_error() -> None:
    (s22x5,) = defaults("noncovalent_interactions")
    wrong = scaled(s22x5, 23.06, only=6)
    name = s22x5.records[6].id
    lenient = plausible(wrong, "here", strict=False)
    assert [r.id for r in s22x5.records if r.id not in {kept.id for kept in lenient.records}] == [name]
    (remark,) = lenient.remarks
    assert remark.startswith(f"record '{name}' of 's22x5' has a binding energy of")
    assert remark.endswith("; it is left out")
    with pytest.raises(AssayError, match=f"record '{name}'"):
        plausible(wrong, "here", strict=True)


def test_an_author_may_say_that_a_record_is_unusual() -> None:
    (s22x5,) = defaults("noncovalent_interactions")
    wrong = scaled(s22x5, 23.06, only=6)
    vouched = tuple(replace(r, info={**r.info, "unusual": True}) for r in wrong.records)
    assert plausible(replace(wrong, records=vouched), "here", strict=True).records == vouched


def test_oddities_are_remarks() -> None:
    (s22x5,) = defaults("noncovalent_interactions")
    twice = replace(s22x5, records=(*s22x5.records, replace(s22x5.records[0], id="copy")))
    (remark,) = plausible(twice, "here", strict=True).remarks
    assert "has the same structures in the records" in remark


def test_a_folder_with_the_wrong_unit_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    angles = {0: 0.0, 90: 5.0, 180: 100.0}
    hydrogens = {0: "0.9508 0", 90: "0 0.9508", 180: "-0.9508 0"}
    frames = [
        f"4\nrecord=peroxide coordinate={angle} reference_energy={energy}\n"
        f"H 0.9508 0 -0.1762\nO 0 0 0\nO 0 0 1.458\nH {hydrogens[angle]} 1.6342\n"
        for angle, energy in angles.items()
    ]
    card = 'name = "mine"\nkind = "dihedral_scan"\nlevel = "x"\nenergy_unit = "{0}"\n'
    write(tmp_path / "mine", {"data.toml": card.format("kJ/mol"), "a.xyz": "".join(frames)})
    assert open_data([str(tmp_path / "mine")]).remarks == ()
    write(tmp_path / "mine", {"data.toml": card.format("eV"), "a.xyz": "".join(frames)})
    with pytest.raises(AssayError) as caught:
        open_data([str(tmp_path / "mine")])
    assert str(caught.value) == (
        f"the data in '{tmp_path / 'mine'}' cannot be in eV, Å: record 'peroxide' of 'mine' has energies that "
        "differ by 100.00 eV, while up to 4.0 eV is plausible; is the unit right?"
    )


SHAPES = {
    "noncovalent_interactions": (3, ()),
    "dihedral_scan": (3, ()),
    "conformer_selection": (2, ()),
    "tautomers": (2, ()),
    "reference_geometry": (2, ("reference", "displaced")),
    "reactions": (3, ("reactant", "transition_state", "product")),
}


@given(st.sampled_from(sorted(SHAPES)), st.integers(1, 5), st.lists(st.integers(-2, 2), min_size=45, max_size=45))
def test_no_geometry_however_odd_ends_in_a_crash(kind: str, natoms: int, numbers: list[int]) -> None:
    count, roles = SHAPES[kind]
    frames = np.resize(np.array(numbers, dtype=float), (count, natoms, 3))
    structures = tuple(Structure.build([1] * natoms, frame) for frame in frames)
    places = tuple(float(place) for place in range(count))
    info = {"torsion": [0, 1, 2, 3]} if natoms > 3 else {}
    record = Record("odd", structures, tuple(map(float, numbers[:count])), places, roles, info)
    card = Card("set", kind, "", "", "", "", "")
    complaint = ""
    try:
        plausible(DataSet(card, (record,)), "here", strict=True)
    except AssayError as error:
        complaint = str(error)
    assert not complaint or complaint.startswith(
        ("the data in 'here' cannot be in", "'set' has no record that can judge a model")
    )


def left_out(name: str, change: Callable[[Record], Record]) -> tuple[str, DataSet]:
    """The name of the second record of an embedded set, and what remains of the set when that record is changed."""
    data = embedded()[name].read()
    spoilt = replace(data, records=(data.records[0], change(data.records[1]), *data.records[2:]))
    return data.records[1].id, plausible(spoilt, "here", strict=True)


@pytest.mark.parametrize("shift", [0.0, 0.01])
def test_a_pair_of_tautomers_that_is_one_molecule_judges_no_model(shift: float) -> None:
    """One minimum that was optimised twice; a sound model has an energy difference of zero and would fail."""

    def twice(record: Record) -> Record:
        first = record.structures[0]
        return replace(record, structures=(first, first.moved(first.positions + shift * np.eye(len(first), 3))))

    name, rest = left_out("assay-tautomers", twice)
    assert name not in {record.id for record in rest.records}
    assert len(rest.remarks) == 1
    assert rest.remarks[0].startswith(f"record '{name}' of 'assay-tautomers' has the same molecule twice")
    assert rest.remarks[0].endswith("it is left out")


def test_equal_structures_with_different_energies_judge_no_model() -> None:
    def contradictory(record: Record) -> Record:
        return replace(record, structures=(record.structures[0], record.structures[0], *record.structures[2:]))

    name, rest = left_out("assay-conformers", contradictory)
    assert name not in {record.id for record in rest.records}
    assert "two equal structures, 0 and 1, with different energies; it is left out" in rest.remarks[0]


def test_a_conformer_that_stands_twice_with_one_energy_is_only_reported() -> None:
    def doubled(record: Record) -> Record:
        energies = record.energies or ()
        return replace(record, structures=(*record.structures, record.structures[0]), energies=(*energies, energies[0]))

    name, rest = left_out("assay-conformers", doubled)
    assert name in {record.id for record in rest.records}
    assert "two equal structures" in rest.remarks[0]


def test_data_in_which_nothing_judges_a_model_is_an_error() -> None:
    (data,) = defaults("tautomers")
    first = data.records[0].structures[0]
    alone = replace(data, records=(replace(data.records[0], structures=(first, first)),))
    with pytest.raises(AssayError, match="'assay-tautomers' has no record that can judge a model: record"):
        plausible(alone, "here", strict=False)


def test_an_author_can_vouch_for_a_record_that_looks_useless() -> None:
    def vouched(record: Record) -> Record:
        first = record.structures[0]
        return replace(record, structures=(first, first), info={**record.info, "unusual": True})

    name, rest = left_out("assay-tautomers", vouched)
    assert name in {record.id for record in rest.records}
