"""Stored results of a model that has changed are not shown as its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.lj import LennardJones

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


def test_a_model_that_cannot_be_built_any_more_does_not_show_its_old_results(factory: Path) -> None:
    command("run", "mine.py:trained", *ASKED, where=factory)
    (factory / "weights.json").unlink()
    ended = command("run", "mine.py:trained", *ASKED, where=factory)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "does not answer" in ended.stderr


def test_no_answer_of_a_retrained_model_is_kept_under_the_key_of_an_old_one(factory: Path) -> None:
    """The survey of a second benchmark asks more than that of the first: its answers must not be mixed."""
    command("run", "mine.py:trained", "-b", "physicality.diatomics", "-o", "out", "-j", "0", where=factory)
    before = set(_keys(factory))
    train(factory, 0.5)
    assert command("run", "mine.py:trained", *ASKED, where=factory).returncode == 2
    assert set(_keys(factory)) == before


def _keys(folder: Path) -> list[str]:
    files = (folder / "out").glob("*/outcomes/*.jsonl")
    return [json.loads(line)["key"] for path in files for line in path.read_text().splitlines()]


class Lazy(Calculator):
    """A finished calculator that reads its parameter when it is used for the first time."""

    implemented_properties = ("energy", "forces", "stress")

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = str(path)

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        inner = LennardJones(sigma=2.3, epsilon=float(Path(self.path).read_text()), rc=8.0, smooth=True)
        inner.calculate(atoms, properties, system_changes)
        self.results = {name: inner.results[name] for name in self.implemented_properties}


class OfThree(Lazy):
    """Only the energy of three atoms or more depends on the file, beside an offset of 10 000 eV per atom."""

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes) -> None:
        Calculator.calculate(self, atoms, properties, system_changes)
        inner = LennardJones(sigma=2.3, epsilon=0.4, rc=8.0, smooth=True)
        inner.calculate(atoms, properties, system_changes)
        self.results = {name: inner.results[name] for name in self.implemented_properties}
        count, parameter = len(self.atoms), float(Path(self.path).read_text())
        self.results["energy"] += 0.01 * parameter * max(count - 2, 0) - 1e4 * count


@pytest.mark.parametrize("kind", [Lazy, OfThree])
def test_a_finished_calculator_that_reads_a_file_is_asked_again(kind: type[Lazy], tmp_path: Path) -> None:
    weights, asked = tmp_path / "weights.txt", ("verification.net_force_zero",)
    weights.write_text("0.4")
    calculator = kind(weights)
    first = run(calculator, benchmarks=asked, output=tmp_path / "out", workers=0, elements=("Cu",))
    same = run(calculator, benchmarks=asked, output=tmp_path / "out", workers=0, elements=("Cu",))
    assert (first.reuse.read, same.reuse.read) == (0, same.reuse.all)
    weights.write_text("0.5")
    with pytest.raises(AssayError, match="has changed since its results"):
        run(calculator, benchmarks=asked, output=tmp_path / "out", workers=0, elements=("Cu",))


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


def test_a_change_does_not_hide_in_the_offset_of_double_precision() -> None:
    before, now = point(-80_000.123456789), point(-80_000.123356789)
    assert not difference(before, now)
    assert "the energy was" in difference(before, now, single=False)
