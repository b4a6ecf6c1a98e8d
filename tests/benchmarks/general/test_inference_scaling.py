"""Cost against size: exponents of known laws, a ladder that ends in time, and never a score."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator

from assay.analysis.scaling import growth
from assay.benchmark import Benchmark, Scope, observe_case, planned_cases
from assay.benchmarks.registry import registered_benchmarks
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.probes import scaling
from assay.compute.probes.scaling import run
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.model import Model, ModelCard
from assay.outcome import Outcome
from assay.survey import Subject, Survey
from molecule_cases import survey
from timed import Clock


def built(**settings: object) -> Benchmark:
    return registered_benchmarks()["general.inference_scaling"](**settings)


class Slow(Calculator):
    """Takes a time that grows with the square of the number of atoms, and has memory for a limited number only."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012
    room = 10_000
    clock = Clock()

    def calculate(self, atoms: Atoms | None = None, properties: object = (), system_changes: object = ()) -> None:
        assert atoms is not None
        if len(atoms) > self.room:
            raise MemoryError("no room for so many")
        self.clock.move(4e-7 * len(atoms) ** 2)
        self.results = {"energy": 0.0, "forces": np.zeros((len(atoms), 3))}


class Small(Slow):
    room = 100


class Refuses(Slow):
    room = 0

    def calculate(self, atoms: Atoms | None = None, properties: object = (), system_changes: object = ()) -> None:
        raise ValueError("no")


@pytest.fixture(autouse=True)
def clock_that_only_the_model_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing depends on the machine: the probe reads the clock of the model."""
    clock = Slow.clock
    monkeypatch.setattr(scaling, "time", SimpleNamespace(perf_counter=lambda: 0.0))  # a busy machine
    monkeypatch.setattr(scaling, "clock_of", lambda device: clock)


def engine(kind: type[Calculator]) -> CalculatorEngine:
    return CalculatorEngine(Model(ModelCard("slow"), "slow", kind, None))


def ladder(**settings: object) -> Probe:
    (case,) = planned_cases(built(**settings), Scope(survey((1, 8))))
    job = case.jobs["scaling"]
    assert isinstance(job, Probe)
    return job


@pytest.mark.parametrize("power", [1.0, 1.5, 3.0])
def test_the_exponent_of_a_power_law_is_found_beyond_its_fixed_cost(power: float) -> None:
    sizes = 24.0 * 2.0 ** np.arange(10)
    law = growth(sizes, 0.5e-3 + 1e-6 * sizes**power)
    assert law.exponent == pytest.approx(power, abs=0.25)
    assert law.stderr is not None
    assert growth(sizes, 1e-6 * sizes**power).exponent == pytest.approx(power, abs=1e-9)


def test_two_sizes_are_no_law() -> None:
    assert growth(np.array([10.0, 20.0]), np.array([1.0, 2.0])).exponent is None


def test_time_is_measured_and_its_growth_found() -> None:
    values = run(engine(Slow), ladder(seconds=20.0, repeats=2, most_atoms=600))
    found = observe_case(
        built(), next(iter(planned_cases(built(), Scope(survey((1, 8)))))), {"scaling": Outcome("k", "ok", values)}
    )
    assert values["natoms"].tolist() == [24, 48, 96, 192, 288]
    assert found.values["time_exponent"] == pytest.approx(2.0)
    assert found.values["time_per_atom"] == pytest.approx(0.4 * 288)
    assert found.values["largest_system"] == 288
    assert found.detail["hardware"]["cores"] > 0
    assert found.detail["ended"] == "all sizes were tried"


def test_the_ladder_ends_in_time_and_where_memory_does() -> None:
    short = run(engine(Slow), ladder(seconds=0.2, repeats=2, most_atoms=6000))
    assert short["natoms"].max() < 3000
    assert "would take longer" in short["ended"]
    small = run(engine(Small), ladder(seconds=20.0, repeats=1))
    assert small["natoms"].tolist() == [24, 48, 96]
    assert "192 atoms" in small["ended"]


def test_a_model_that_refuses_everything_fails() -> None:
    with pytest.raises(ModelFailure):
        run(engine(Refuses), ladder(seconds=1.0))


def test_speed_is_never_a_score() -> None:
    asked = built()
    assert all(metric.threshold is None for metric in asked.metrics)
    (case,) = planned_cases(asked, Scope(survey((1, 8))))
    values = {"natoms": np.array([24, 48, 96]), "cpu_seconds": np.array([1.0, 2.0, 4.0]),
              "peak_megabytes": np.array([1.0, 2.0, 4.0])}  # fmt: skip
    found = observe_case(asked, case, {"scaling": Outcome("k", "ok", values)})
    assert asked.case_score(found) is None
    assert [metric.score for metric in asked.measure([found])] == [None] * len(asked.metrics)
    assert found.values["time_exponent"] == pytest.approx(1.0)


def test_every_model_has_a_ladder() -> None:
    free = planned_cases(built(), Scope(survey((1, 8))))
    periodic = Survey(ModelCard("w", elements=(1, 8)), answered=(1, 8), pbc=("FFF", "TTT"))
    copper = Survey(
        ModelCard("Cu", elements=(29,)), answered=(29,), pbc=("TTT",), subjects=(Subject("Cu", (29,), 1.0, 1.0),)
    )
    cluster = Survey(
        ModelCard("Cu", elements=(29,)), answered=(29,), pbc=("FFF",), subjects=(Subject("Cu", (29,), 1.0, None),)
    )
    found = [
        next(iter(cases)) for cases in (free, *(planned_cases(built(), Scope(s)) for s in (periodic, copper, cluster)))
    ]
    assert [case.id for case in found] == ["ice, free", "ice", "Cu crystal", "Cu cluster"]
    probes = [case.jobs["scaling"] for case in found]
    sizes = [[len(s) for s in probe.structures] for probe in probes if isinstance(probe, Probe)]
    assert sizes[0][-1] == 5184
    assert all(row == sorted(row) and row[0] < 30 for row in sizes)
