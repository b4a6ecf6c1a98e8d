"""Benchmarks get the user's data where there is some, and embedded data otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.data import source
from assay.data.kinds import KINDS
from assay.data.source import DataSource, open_data
from assay.errors import AssayError
from mlipaudit_documents import DOCUMENTS, FRAGMENT, HYDROGENS, write

FRAME = "2\nrecord={0} reference_energy={1}\nH 0 0 0\nF 0 0 {2}\n"


def own(folder: Path, name: str = "mine") -> Path:
    folder.mkdir(parents=True)
    (folder / "data.toml").write_text(f'name = "{name}"\nkind = "conformer_selection"\nlevel = "x"\nenergy_unit = "eV"')
    (folder / "a.xyz").write_text(FRAME.format("hf", 0, 0.92) + FRAME.format("hf", 0.1, 0.99))
    return folder


def names(data: DataSource, kind: str, use: str = "") -> list[str]:
    return [one.card.name for one in data.read(kind, use)]


def test_without_data_of_the_user_the_embedded_sets_are_read() -> None:
    assert names(DataSource(), "noncovalent_interactions") == ["s22x5"]


def test_data_of_the_user_replaces_only_its_own_kind(tmp_path: Path) -> None:
    data = open_data([str(own(tmp_path / "mine"))])
    assert names(data, "conformer_selection") == ["mine"]
    assert names(data, "noncovalent_interactions") == ["s22x5"]


def test_embedded_sets_are_not_read_before_a_benchmark_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(source, "defaults", lambda kind: asked.append(kind) or [])
    data = open_data([])
    assert asked == []
    data.read("tautomers")
    assert asked == ["tautomers"]


def test_bands_and_transition_states_have_files_of_their_own(tmp_path: Path) -> None:
    data = open_data([str(write(tmp_path, DOCUMENTS))])
    assert names(data, "reactions", "tst") == ["grambow_dataset"]
    assert names(data, "reactions", "neb") == ["grambow_dataset_neb"]
    assert len(names(data, "reactions")) == 2


def test_a_single_file_of_reactions_serves_both_uses(tmp_path: Path) -> None:
    only = {name: document for name, document in DOCUMENTS.items() if "reactivity" in name}
    data = open_data([str(write(tmp_path, only))])
    assert names(data, "reactions", "neb") == names(data, "reactions", "tst") == ["grambow_dataset"]


def test_several_folders_and_names_are_taken_together(tmp_path: Path) -> None:
    own(tmp_path / "all" / "one", "one")
    own(tmp_path / "all" / "two", "two")
    data = open_data([str(tmp_path / "all"), "g2-geometries"])
    assert names(data, "conformer_selection") == ["one", "two"]
    assert names(data, "reference_geometry") == ["g2-geometries"]


def test_the_list_of_records_that_were_left_out_is_short(tmp_path: Path) -> None:
    bad = {f"bad{i}": {} for i in range(9)}
    write(tmp_path, {"NCI_Atlas.json": {"good": HYDROGENS, **bad}, "TorsionNet500.json": {"f": FRAGMENT, "g": {}}})
    remarks = open_data([str(tmp_path)]).remarks
    assert len(remarks) == 5
    assert remarks[3] == "and 6 more remarks about 'NCI_Atlas'"
    assert "record 'g'" in remarks[4]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("s22x", "there is no folder and no data set 's22x' (did you mean 's22x5'?)"),
        ("nci-d442x1", "(did you mean 'nci-d442x10'?); 'assay list data' shows the names"),
        ("nci-d442x10", "the data set 'nci-d442x10' has not been fetched; run: assay data fetch nci-d442x10"),
    ],
)
def test_names_that_lead_nowhere_say_what_to_do(place: str, words: str, cache: Path) -> None:
    with pytest.raises(AssayError) as caught:
        open_data([place])
    assert words in str(caught.value)


def test_a_folder_without_data_and_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"no data in a supported layout: neither 'data.toml' nor a file of MLIPAudit"):
        open_data([str(tmp_path)])
    (tmp_path / "file.json").write_text("{}")
    with pytest.raises(AssayError, match="is a file; give --data the folder of the file"):
        open_data([str(tmp_path / "file.json")])


def test_two_sets_of_one_name_are_refused(tmp_path: Path) -> None:
    places = [str(own(tmp_path / "a")), str(own(tmp_path / "b"))]
    with pytest.raises(AssayError, match="two of the data sets have the name 'mine'"):
        open_data(places)


def test_an_unknown_kind_is_a_mistake_of_the_benchmark() -> None:
    assert "tautomers" in KINDS
    with pytest.raises(AssayError, match=r"no kind of data 'tautomer' \(did you mean 'tautomers'\?\)"):
        DataSource().read("tautomer")
