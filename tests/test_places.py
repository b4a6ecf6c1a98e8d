"""Models of the same name from different files never share a results folder, and earlier results are found again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.api import Report, run
from assay.model import Model, ModelCard, ModelReference
from assay.models.loading import load_model
from assay.places import with_own_folder
from assay.results import read_results
from assay.store import Store, open_stores
from assay.suites import choose_suite

SOURCE = '''
from ase.calculators.emt import EMT

class f(EMT):
    """{text}"""
    claims = ("Cu",)
'''


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SOURCE.format(text=text))
    return f"{path}:f"


def run_one(model: object, output: Path) -> Report:
    return run(model, "smoke", ("net_force_zero",), output, workers=0, limit=1)


def test_two_files_of_one_name_have_results_of_their_own(tmp_path: Path) -> None:
    a, b = (write(tmp_path / name / "m.py", name) for name in "ab")
    out = tmp_path / "results"
    for model in (a, b, a, b):
        opened = with_own_folder(load_model(model), out)
        Store.create(out, opened.folder).write_model(opened.describe())
    assert sorted(path.name for path in out.iterdir()) == ["b-m.py-f", "m.py-f"]
    names = [read_results(store, choose_suite("smoke", ("net_force_zero",))).name for store in open_stores(out)]
    assert names == ["b/m.py:f", "m.py:f"]


def test_the_scores_show_both(tmp_path: Path) -> None:
    a, b = (write(tmp_path / name / "m.py", name) for name in "ab")
    for model in (a, b):
        report = run_one(model, tmp_path / "results")
        assert report.result.warnings == ()
    suite = choose_suite("smoke", ("net_force_zero",))
    results = [read_results(store, suite) for store in open_stores(tmp_path / "results")]
    assert [len(result.benchmarks) for result in results] == [1, 1]


def settled(model: str, output: Path) -> Model:
    opened = with_own_folder(load_model(model), output)
    Store.create(output, opened.folder).write_model(opened.describe())
    return opened


def test_a_file_that_changed_keeps_its_folder_and_so_does_a_tree_that_was_moved(tmp_path: Path) -> None:
    one = tmp_path / "one"
    settled(write(one / "a" / "m.py", "first"), one / "results")
    assert settled(write(one / "a" / "m.py", "second"), one / "results").folder == "m.py-f"
    two = one.rename(tmp_path / "two")
    assert settled(write(two / "a" / "m.py", "third"), two / "results").folder == "m.py-f"


def test_results_of_earlier_versions_belong_to_the_name(tmp_path: Path) -> None:
    model = write(tmp_path / "a" / "m.py", "a")
    opened = settled(model, tmp_path / "results")
    path = tmp_path / "results" / "m.py-f" / "model.json"
    before = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in before.items() if name != "origin"}))
    assert settled(model, tmp_path / "results").folder == opened.folder
    assert "origin" in json.loads(path.read_text())


@pytest.mark.parametrize("spec", ["mace:{}/one.model", "{}/one.py:build"])
def test_checkpoints_of_one_name_are_told_apart_too(tmp_path: Path, spec: str) -> None:
    names = []
    for number, folder in enumerate(("x/a", "x/b", "y/b")):
        path = Path(spec.format(tmp_path / folder))
        shown = path.name if spec.startswith("{}") else "mace:one.model"
        model = Model(ModelCard(shown), f"fingerprint{number}", object, ModelReference(spec.format(tmp_path / folder)))
        opened = with_own_folder(model, tmp_path / "results")
        Store.create(tmp_path / "results", opened.folder).write_model(opened.describe())
        names.append(opened.name)
        assert opened.fingerprint == model.fingerprint, "the keys of jobs stay as they were"
    last = names[0].removeprefix("mace:")
    scheme = "mace:" if spec.startswith("mace") else ""
    assert names == [f"{scheme}{start}{last}" for start in ("", "b/", "y/b/")]


def test_another_version_in_the_same_folder_is_said(tmp_path: Path) -> None:
    model, out = write(tmp_path / "m.py", "first"), tmp_path / "results"
    run_one(model, out)
    changed = replace(load_model(model), fingerprint="another")
    report = run_one(changed, out)
    assert any("has results of another model or version called 'm.py:f'" in text for text in report.result.warnings)
    assert run_one(changed, out).result.warnings == ()
