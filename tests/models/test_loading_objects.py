"""A calculator, or a function or class that makes one, is a model that other processes can load too."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

from assay.api import run
from assay.model import Model
from assay.models.loading import load_model
from potential_file import EXPECTED, copper_energy
from toys import Says, Spring


def build_copper() -> EMT:
    """A factory in a test module, which no other process can import."""
    return EMT()


class Halved(EMT):
    """A class in a test module."""


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (EMT, "EMT"),
        (EMT(), "EMT"),
        (build_copper, "build_copper"),
        (Halved, "Halved"),
        (Halved(), "Halved"),
        (lambda: EMT(), "<lambda>"),
        (functools.partial(EMT), "partial"),
    ],
    ids=["class", "instance", "function", "test class", "test instance", "lambda", "partial"],
)
def test_an_object_is_a_model_that_can_be_sent_to_another_process(source: object, name: str) -> None:
    model = load_model(source)
    assert model.name == name
    assert copper_energy(model.build()) == EXPECTED
    assert model.reference is not None
    assert copper_energy(load_model(model.reference).build()) == EXPECTED
    assert load_model(model.reference).name == name


def test_a_model_is_returned_unchanged() -> None:
    model = load_model("emt")
    assert load_model(model) is model


def test_every_build_of_a_calculator_is_a_new_copy() -> None:
    source = EMT()
    model = load_model(source)
    first, second = model.build(), model.build()
    assert first is not second
    assert first is not source
    first.results["energy"] = 99.0
    assert second.results == source.results == {}


def notebook_class() -> type[Calculator]:
    """A class as defined in a notebook cell: its module is `__main__`, which other processes cannot import."""
    space: dict[str, object] = {"__name__": "__main__"}
    exec("from ase.calculators.emt import EMT\nclass Cell(EMT):\n    pass\n", space)
    return space["Cell"]  # type: ignore[return-value]


def test_code_that_no_other_process_can_import_is_sent_with_the_model(tmp_path: Path) -> None:
    factor = 2.0

    def closure() -> EMT:
        assert factor == 2.0
        return EMT()

    sources = [notebook_class(), notebook_class()(), closure, lambda: EMT(), Halved, Halved(), build_copper]
    references = [load_model(source).reference for source in sources]
    (tmp_path / "references").write_bytes(pickle.dumps(references))
    code = (
        "import pickle, sys; from ase.build import bulk; from assay.models.loading import load_model\n"
        "for r in pickle.load(open(sys.argv[1], 'rb')):\n"
        "    print(load_model(r).build().get_potential_energy(bulk('Cu', cubic=True)))"
    )
    tests = Path(__file__).parents[1]
    path = [p for p in sys.path if p and Path(p).resolve() != tests]
    process = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "references")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert [float(line) for line in process.stdout.split()] == [EXPECTED] * len(sources), process.stderr


class Locked(EMT):
    """A calculator with an attribute that cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def test_a_calculator_that_cannot_be_pickled_stays_in_this_process() -> None:
    assert load_model(Locked()).reference is None
    assert load_model(Locked).reference is not None  # the class can be sent, only its instances cannot


def test_a_calculator_that_cannot_be_pickled_can_be_checked() -> None:
    report = run(Locked(), benchmarks=("net_force_zero",), workers=0, elements=(29,))
    assert report.checks["net_force_zero"]["passed"] is True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: LennardJones(sigma=1.0), lambda: LennardJones(sigma=2.0)),
        (LennardJones(sigma=1.0), LennardJones(sigma=2.0)),
        (EMT, LennardJones),
        (EMT, EMT()),
        (Says(energy=1.0), Says(energy=2.0)),
    ],
    ids=["lambdas", "parameters", "classes", "class and instance", "content"],
)
def test_different_objects_have_different_fingerprints(one: object, other: object) -> None:
    assert load_model(one).fingerprint != load_model(other).fingerprint
    assert load_model(one).fingerprint == load_model(one).fingerprint


def test_models_that_differ_in_the_hash_of_their_weights_have_different_fingerprints() -> None:
    one, other = (Says(weights=32 * letter) for letter in "ab")
    assert load_model(one).fingerprint != load_model(other).fingerprint


def test_other_builders_are_attributes_of_the_calculator_or_its_class() -> None:
    class Batched(Spring):
        unit_sets = ("A", "nm")

        @staticmethod
        def build_batch() -> str:
            return "batch"

        @staticmethod
        def build_in_units(units: str) -> str:
            return units

    def check(model: Model) -> None:
        assert model.build_batch is not None
        assert model.build_batch() == "batch"
        assert model.unit_sets == ("A", "nm")
        assert model.build_in_units is not None
        assert model.build_in_units("nm") == "nm"

    for source in (Batched, Batched()):
        model = load_model(source)
        check(model)
        assert model.reference is not None
        check(load_model(model.reference))
    assert load_model(Spring).build_batch is None
