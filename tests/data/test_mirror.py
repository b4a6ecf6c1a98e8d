"""The published files themselves, from a folder with copies of them; left out where there is no such folder.

The folder is `shared/mirror` beside the repository, or the one that `ASSAY_DATA_MIRROR` names. Nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import socket
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from ase import units

from assay.api import run
from assay.cli.main import main
from assay.data.cache import file_sha256
from assay.data.dataset import DataSet
from assay.data.lint import lint
from assay.data.official import fetch_official, official
from assay.data.source import DataSource
from assay.errors import AssayError
from molecule_cases import observe, scores, survey

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("ASSAY_DATA_MIRROR", ROOT.parent / "shared" / "mirror")).resolve()
ATLAS = {"d442x10": 442, "hb375x10": 375, "hb300spxx10": 300, "ihb100x10": 100, "r739x5": 739, "sh250x10": 250}
NAMES = (*(f"nci-{name}" for name in ATLAS), "torsionnet500", "tautobase")
KCAL, HARTREE = units.kcal / units.mol, units.Hartree
EVERYTHING = tuple(range(1, 95))

pytestmark = [
    pytest.mark.mirror,
    pytest.mark.skipif(
        not (FOLDER / official()["tautobase"].download.file).is_file(),
        reason="there is no folder shared/mirror with published data beside the repository, nor in ASSAY_DATA_MIRROR",
    ),
]


@pytest.fixture(autouse=True, scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """All published files in an empty cache, fetched as a user would, while no connection can be opened."""

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("a connection to the network was opened")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ASSAY_DATA_MIRROR", os.path.relpath(FOLDER))
        patch.setattr(socket.socket, "connect", refuse)
        assert main(["data", "fetch", *NAMES]) == 0
        yield


@cache
def published(name: str) -> DataSet:
    (data,) = official()[name].read()
    return data


def energy(name: str, record: str, place: int) -> float:
    energies = next(r.energies for r in published(name).records if r.id == record)
    assert energies is not None
    return energies[place]


def test_what_was_fetched_is_intact(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "verify"]) == 0
    capsys.readouterr()
    assert main(["list", "data", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["data"]}
    for name in NAMES:
        assert rows[name]["sha256"] == file_sha256(FOLDER / official()[name].download.file)


def test_a_copy_with_one_changed_byte_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "nci-ihb100x10"
    file = official()[name].download.file
    content = bytearray((FOLDER / file).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / file).write_bytes(content)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_DATA_MIRROR", str(tmp_path))
    with pytest.raises(AssayError, match="is not the file that was published: its sha256 differs"):
        fetch_official(name)


def test_the_atlas_has_2206_systems() -> None:
    sizes = {name: len(published(f"nci-{name}").records) for name in ATLAS}
    assert sizes == ATLAS
    assert sum(sizes.values()) == 2206


def test_torsionnet_has_500_fragments_with_24_angles_each() -> None:
    data = published("torsionnet500")
    assert Counter(len(record.structures) for record in data.records) == {24: 500}
    assert data.remarks == ()


def test_tautobase_has_1499_pairs_of_which_four_are_the_same_molecule_twice() -> None:
    data = published("tautobase")
    left_out = [remark.split("'")[1] for remark in data.remarks]
    assert left_out == [f"tautomer_pair_{number}" for number in (330, 473, 474, 664)]
    assert all("has the same molecule twice" in remark and "left out" in remark for remark in data.remarks)
    assert len(data.records) + len(left_out) == 1499


@pytest.mark.parametrize(
    ("name", "record", "place", "expected"),
    [
        ("nci-hb375x10", "1.001", 4, -10.810 * KCAL),
        ("nci-r739x5", "001.01", 0, 2.574 * KCAL),
        ("torsionnet500", "fragment_001", 0, -560.066787037087 * HARTREE),
        ("tautobase", "tautomer_pair_1", 1, -285.6200639522588 * HARTREE),
    ],
)
def test_energies_are_those_of_the_files(name: str, record: str, place: int, expected: float) -> None:
    assert energy(name, record, place) == pytest.approx(expected, rel=1e-12)


def test_charges_and_molecules_of_the_atlas_add_up() -> None:
    for name in ATLAS:
        for record in published(f"nci-{name}").records:
            first = record.structures[0]
            atoms = [*record.info["atoms_a"], *record.info["atoms_b"]]  # type: ignore[misc]
            assert sorted(atoms) == list(range(len(first))), record.id
            assert first.charge == record.info["charge_a"] + record.info["charge_b"], record.id  # type: ignore[operator]
    assert any(record.structures[0].charge for record in published("nci-ihb100x10").records)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_else_looks_wrong(name: str) -> None:
    """Four pairs of tautomers have the same bonds: they are conformers, for example with OH turned to N or away.

    Their energies differ by 8 to 14 kcal/mol, so that they can judge a model, and they count.
    """
    findings = [str(finding) for finding in lint(published(name))]
    few = ["has the same bonds in both structures"] * 4 if name == "tautobase" else []
    assert [finding.split(f"'{name}' ")[1] for finding in findings] == few


@pytest.mark.parametrize(
    ("name", "asked"),
    [("torsionnet500", "dihedral_scan"), ("tautobase", "tautomers"), ("nci-ihb100x10", "noncovalent_interactions")],
)
def test_a_model_that_knows_the_references_scores_one(name: str, asked: str) -> None:
    data = published(name)
    few = DataSet(data.card, data.records[:: len(data.records) // 10])
    known = {s.positions.tobytes(): e for r in few.records for s, e in zip(r.structures, r.energies or (), strict=True)}
    seen = observe(
        asked, DataSource((few,)), lambda s: (known.get(s.positions.tobytes(), 0.0), np.ones((len(s), 3))),
        survey(EVERYTHING),
    )  # fmt: skip
    assert len(seen) == len(few.records) >= 10
    assert set(scores(asked, seen).values()) == {1.0}


def test_a_run_takes_its_cases_and_the_checksum_from_the_published_file(tmp_path: Path) -> None:
    """The model has springs and knows no chemistry; what counts is that every case is computed and scored."""
    name = "nci-hb375x10"
    report = run(
        "assay.sabotage:sound", benchmarks=["noncovalent_interactions"], data=name, limit=3,
        elements=("H", "C", "N", "O"), workers=0, output=tmp_path / "results",
    )  # fmt: skip
    (result,) = report.result.benchmarks
    assert [seen.case for seen in result.observations] == [record.id for record in published(name).records[:3]]
    assert {seen.status for seen in result.observations} == {"ok"}
    assert [data["sha256"] for data in result.data] == [official()[name].card.sha256]
    assert result.score is not None
