"""A kind of data is declared once: everything that reads, checks, chooses and lists data asks the declaration."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay.data
from assay.cli.listing import listing
from assay.data import embedded as own_sets
from assay.data.checks import Finding, Findings
from assay.data.dataset import Record
from assay.data.folder import read_folder
from assay.data.kinds import KINDS, Energies, EnergyLimits, Kind, find_kind, register_kind
from assay.data.rules import same_atoms, two_structures
from assay.data.source import DataSource, open_data
from assay.errors import AssayError

READERS = {"g2", "mlipaudit", "mlipaudit_systems", "official", "s22x5"}
"""Modules that read published data; they name the kind of what they read."""

CARD = 'name = "{0}"\nkind = "{1}"\nlevel = "exact"\nenergy_unit = "eV"\n'
FRAME = "2\nrecord=hf reference_energy={0} role={1} charge=0 spin=1\n{2}\n"
SHORT, LONG = "H 0 0 0\nF 0 0 0.92", "F 0 0 0\nH 0 0 1.2"


def longer_is_higher(record: Record) -> Findings:
    """The stretched molecule has the higher energy."""
    first, second = record.energies or (0.0, 0.0)
    if second <= first:
        yield Finding("has a stretched molecule whose energy is not the higher one")


STRETCHED = Kind(
    name="stretched",
    what="a molecule and the same molecule with a longer bond",
    rules=(two_structures,),
    atoms=same_atoms,
    keys=("stretched_by",),
    limits=EnergyLimits(range=2.0),
    checks=(longer_is_higher,),
)


@pytest.fixture
def stretched(new_kinds: None) -> Kind:
    return register_kind(STRETCHED)


def write(folder: Path, frames: str, kind: str = "stretched", table: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.toml").write_text(CARD.format(folder.name, kind) + table, encoding="utf-8")
    (folder / "structures.xyz").write_text(frames, encoding="utf-8")
    return folder


def pair(low: float = 0.0, high: float = 0.5) -> str:
    return FRAME.format(low, "a", SHORT) + FRAME.format(high, "b", LONG)


def test_no_other_module_names_a_kind() -> None:
    home = Path(assay.data.__path__[0])
    naming = {
        path.stem
        for path in home.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in KINDS
    }
    assert naming == {"kinds", *READERS}


def test_a_folder_of_a_new_kind_is_read_and_given_to_benchmarks(stretched: Kind, tmp_path: Path) -> None:
    data = open_data([str(write(tmp_path / "mine", pair()))])
    (found,) = data.read("stretched")
    assert [record.energies for record in found.records] == [(0.0, 0.5)]
    assert found.remarks == ()
    assert DataSource().read("stretched") == []


def test_a_record_of_a_new_kind_must_fulfil_its_rules(stretched: Kind, tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"record 'hf' in .* has 1 structures instead of two"):
        read_folder(write(tmp_path / "one", FRAME.format(0.0, "a", SHORT)))
    with pytest.raises(AssayError, match="has no reference energies"):
        read_folder(write(tmp_path / "none", pair().replace("reference_energy", "energy")))
    with pytest.raises(AssayError, match="lists the atoms of its structures in different orders"):
        read_folder(write(tmp_path / "other", pair(), kind="conformer_selection"))


def test_limits_and_checks_of_a_new_kind_are_applied(stretched: Kind, tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"energies that differ by 11\.50 eV, while up to 2\.0 eV is plausible"):
        open_data([str(write(tmp_path / "kcal", pair(0.0, 11.5)))])
    (remark,) = open_data([str(write(tmp_path / "lower", pair(0.5, 0.0)))]).remarks
    assert remark == "record 'hf' of 'lower' has a stretched molecule whose energy is not the higher one"


def test_keys_of_a_new_kind_are_known(stretched: Kind, tmp_path: Path) -> None:
    table = "[records.hf]\nstreched_by = 0.28\n"
    with pytest.raises(AssayError, match="has a key 'streched_by'; did you mean 'stretched_by'"):
        read_folder(write(tmp_path / "mine", pair(), table=table))


@pytest.fixture
def embedded_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Embedded sets are read from a folder of the test."""
    monkeypatch.setattr(own_sets, "SETS", tmp_path / "sets")
    own_sets.embedded.cache_clear()
    yield tmp_path / "sets"
    own_sets.embedded.cache_clear()


def test_an_embedded_set_of_a_new_kind_is_listed_and_used_by_default(stretched: Kind, embedded_folder: Path) -> None:
    write(embedded_folder / "assay-stretched", pair())
    own_sets.embedded.cache_clear()
    (row,) = [row for row in listing("data") if row["kind"] == "stretched"]
    assert row["line"] == "[embedded] stretched; 1 records, 2 structures; exact; not stated; not stated"
    assert [data.card.name for data in DataSource().read("stretched")] == ["assay-stretched"]


def test_marked_records_of_another_kind_serve_as_records_of_a_new_kind(new_kinds: None, tmp_path: Path) -> None:
    register_kind(Kind("poles", "a polar molecule", energies=Energies.OPTIONAL, part_of="stability", mark="pole"))
    frames = FRAME.format(0.0, "a", SHORT) + FRAME.format(0.0, "a", LONG).replace("record=hf", "record=fh")
    folder = write(tmp_path / "mine", frames, kind="stability", table="[records.fh]\npole = 0\n")
    (found,) = open_data([str(folder)]).read("poles")
    assert [record.id for record in found.records] == ["fh"]


def test_names_of_kinds_are_unique(stretched: Kind) -> None:
    assert register_kind(Kind("stretched", stretched.what)) is KINDS["stretched"]
    with pytest.raises(AssayError, match="there is already a kind of data 'stretched' \\(a molecule and the same"):
        register_kind(Kind("stretched", "something else"))
    with pytest.raises(AssayError, match="there is already a kind of data 'tautomers'"):
        register_kind(Kind("tautomers", find_kind("tautomers").what))
    with pytest.raises(AssayError, match=r"no kind of data 'tautomer' \(did you mean 'tautomers'\?\)"):
        register_kind(Kind("new", "new", part_of="tautomer"))


PACKAGE = """
from dataclasses import dataclass

from ase.calculators.emt import EMT

from assay.benchmark import Benchmark, Case
from assay.observation import Metric, Observation
from assay.data.kinds import Kind, register_kind
from assay.data.rules import two_structures
from assay.jobs import SinglePoints

register_kind(Kind("copper_pairs", "two copper atoms at two distances", rules=(two_structures,)))


@dataclass(frozen=True)
class CopperPairs(Benchmark):
    metrics = (Metric("difference", "eV"),)
    needs_noise = False

    def cases(self, scope):
        sets = scope.data.read("copper_pairs")
        return [Case(r.id, {"points": SinglePoints(r.structures)}) for data in sets for r in data.records]

    def observe(self, case, outcomes):
        first, second = (point.energy for point in outcomes["points"].points())
        return Observation(case.id, "ok", {"difference": second - first})
"""


@pytest.fixture
def my_lab(tmp_path: Path) -> Path:
    """An installed package with a benchmark and a kind of data, and a folder with data of that kind beside it."""
    information = tmp_path / "my_lab-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: my-lab\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[assay.benchmarks]\nmy.pairs = my_lab:CopperPairs\n")
    (tmp_path / "my_lab.py").write_text(PACKAGE)
    (tmp_path / "mine.toml").write_text('benchmarks = ["my.pairs"]\n')
    frames = pair().replace("H ", "Cu ").replace("F ", "Cu ").replace("0.92", "2.3").replace("1.2", "2.6")
    write(tmp_path / "pairs", frames, kind="copper_pairs")
    return tmp_path


def python(home: Path, *arguments: str) -> str:
    """What a new Python process prints that finds the package in `home`."""
    process = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(home), *filter(None, sys.path)])},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_a_benchmark_of_another_package_brings_its_own_kind(my_lab: Path) -> None:
    command = "run my_lab:EMT --suite mine.toml --data pairs --elements Cu -j 0 -o results --json"
    document = json.loads(python(my_lab, "-m", "assay", *command.split()))
    (benchmark,) = document["models"][0]["benchmarks"]
    assert [(case["id"], case["status"]) for case in benchmark["cases"]] == [("hf", "ok")]


def test_data_of_another_packages_kind_is_read_before_its_benchmark_is_imported(my_lab: Path) -> None:
    code = "from assay.data.source import open_data; print(open_data(['pairs']).given[0].card.kind)"
    assert python(my_lab, "-c", code) == "copper_pairs\n"
