"""Stored results of a model that has changed are not shown as its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.api import run
from assay.compute.rechecking import difference
from assay.errors import AssayError
from assay.outcome import Point, no_point
from assay.store import Store
from commands import command

FACTORY = """
import json
from pathlib import Path
from ase.calculators.lj import LennardJones

claims = ("Cu", "Au")

def trained():
    weights = json.loads(Path(__file__).with_name("weights.json").read_text())
    return LennardJones(sigma=2.3, epsilon=weights["epsilon"], rc=8.0, smooth=True)

trained.claims = claims
"""
ASKED = ("-b", "verification.net_force_zero", "-o", "out", "-j", "0")


@pytest.fixture
def factory(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(FACTORY)
    return train(tmp_path, 0.4)


def train(folder: Path, epsilon: float) -> Path:
    (folder / "weights.json").write_text(json.dumps({"epsilon": epsilon}))
    return folder


def test_a_retrained_model_is_refused_and_computed_again_with_fresh(factory: Path) -> None:
    first = command("run", "mine.py:trained", *ASKED, where=factory)
    assert "results read from" not in first.stderr
    same = command("run", "mine.py:trained", *ASKED, where=factory)
    assert (first.returncode, same.returncode) == (0, 0)
    assert "results read from" in same.stderr
    assert "computed on 20" in same.stderr
    train(factory, 0.5)
    other = command("run", "mine.py:trained", *ASKED, where=factory)
    assert other.returncode == 2
    assert "has changed since its results" in other.stderr
    assert "--fresh" in other.stderr
    fresh = command("run", "mine.py:trained", *ASKED, "--fresh", where=factory)
    assert fresh.returncode == 0
    assert "results read from" not in fresh.stderr
    again = command("run", "mine.py:trained", *ASKED, where=factory)
    assert again.returncode == 0, again.stderr


def test_fresh_keeps_what_was_there_and_a_dry_run_moves_nothing(factory: Path) -> None:
    command("run", "mine.py:trained", *ASKED, where=factory)
    (store,) = [path.parent for path in (factory / "out").glob("*/outcomes")]
    lines = sum(len(path.read_text().splitlines()) for path in (store / "outcomes").glob("*.jsonl"))
    command("run", "mine.py:trained", *ASKED, "--fresh", "--dry-run", where=factory)
    assert not (store / "earlier").exists()
    command("run", "mine.py:trained", *ASKED, "--fresh", where=factory)
    (earlier,) = (store / "earlier").iterdir()
    assert sum(len(path.read_text().splitlines()) for path in (earlier / "outcomes").glob("*.jsonl")) == lines
    assert (earlier / "model.json").is_file()


def test_an_empty_folder_has_nothing_to_put_aside(tmp_path: Path) -> None:
    store = Store.create(tmp_path, "model")
    assert store.put_aside() is None
    assert not (store.folder / "earlier").exists()


def test_a_model_whose_forces_alone_have_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ase.calculators.lj import LennardJones

    asked = {"benchmarks": ("verification.net_force_zero",), "output": tmp_path, "workers": 0, "elements": (29,)}
    run(_lennard_jones, **asked)  # type: ignore[arg-type]
    usual = LennardJones.calculate

    def stronger(self: LennardJones, *args: object, **kwargs: object) -> None:
        usual(self, *args, **kwargs)
        self.results["forces"] = 1.01 * self.results["forces"]

    monkeypatch.setattr(LennardJones, "calculate", stronger)
    with pytest.raises(AssayError, match="a force has changed"):
        run(_lennard_jones, **asked)  # type: ignore[arg-type]


def _lennard_jones() -> object:
    from ase.calculators.lj import LennardJones

    return LennardJones(sigma=2.3, epsilon=0.4, rc=8.0, smooth=True)


def point(energy: float, force: float = 1.0) -> Point:
    return Point(energy, np.array([[force, 0.0, 0.0], [-force, 0.0, 0.0]]))


@pytest.mark.parametrize(
    ("now", "noise", "words"),
    [
        (point(-100.0001), (0.0, 0.0), ""),
        (point(-100.002), (0.0, 0.0), "the energy was -100 eV and is -100.002 eV"),
        (point(-100.002), (1e-3, 0.0), ""),
        (point(-100.0, 1.0005), (0.0, 0.0), ""),
        (point(-100.0, 1.01), (0.0, 0.0), "a force has changed by 0.01"),
        (point(-100.0, 1.01), (0.0, 1e-2), ""),
        (no_point(2, "refused: no"), (0.0, 0.0), "now it does not (refused: no)"),
    ],
)
def test_answers_may_differ_by_rounding_and_noise_and_no_more(now: Point, noise: tuple, words: str) -> None:
    found = difference(point(-100.0), now, noise)
    assert (words in found) if words else not found
