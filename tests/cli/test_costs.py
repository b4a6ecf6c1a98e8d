"""What a dry run prints: times in units that are easy to read, and which of them are extrapolated."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.console import Console

from assay.benchmark import Case
from assay.cli.costs import cost_document, duration, print_costs
from assay.compute.cost import BenchmarkCost, Schedule, TimingCurve, Timings
from assay.compute.plan import Plan
from assay.jobs import SinglePoints
from assay.model import ModelCard
from assay.survey import Survey
from toys import DIMER

NAME = "verification.net_force_zero"
JOB = SinglePoints((DIMER,))


def plan_of(
    cost: BenchmarkCost, timings: Timings, missing: bool = True, problem: str = "", cases: Sequence[Case] = ()
) -> Plan:
    return Plan(
        cases={NAME: list(cases)},
        versions={NAME: 1},
        settings={NAME: {}},
        jobs={"key": JOB},
        asked=3,
        missing={"key": JOB} if missing else {},
        survey=Survey(ModelCard("mine")),
        timings=timings,
        costs={NAME: cost},
        schedule=Schedule(2.0, cost.seconds + 0.5),
        workers=2,
        problem=problem,
    )


SMALL = Timings({False: TimingCurve(((6, 0.002),))})
LARGE = Timings(
    {False: TimingCurve(((6, 0.002), (60, 0.2))), True: TimingCurve(((4, 0.01),))},
    {False: TimingCurve(((6, 0.001), (60, 0.1))), True: TimingCurve(((4, 0.01),))},
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.0031, "3.1 ms"),
        (0.25, "0.25 s"),
        (42.0, "42 s"),
        (300.0, "5 min"),
        (7200.0, "2 h"),
        (1e6, "278 h"),
    ],
)
def test_times_are_printed_in_the_unit_that_suits_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_what_is_extrapolated_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    print_costs("mine", plan_of(BenchmarkCost(2, 1, 40, 7200.0, True), SMALL), Console(width=150))
    printed = capsys.readouterr().out
    assert "~ 2 h" in printed
    assert f"~ extrapolated, because systems are larger than those measured: {NAME}" in printed
    assert "measured on isolated structures of 6 atoms" in printed
    print_costs("mine", plan_of(BenchmarkCost(2, 1, 40, 4.0, False), SMALL), Console(width=150))
    assert "~" not in capsys.readouterr().out


def test_sums_and_measured_sizes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_costs("mine", plan_of(BenchmarkCost(2, 1, 40, 4.0, False), LARGE), Console(width=200))
    printed = capsys.readouterr().out
    assert "3 jobs asked for, 1 distinct, 1 not in the store" in printed
    assert "about 40 force calls, 0.1 s each: 4.5 s of CPU time (0.5 s to load the model), 2 s on the clock" in printed
    assert "isolated structures of 6 to 60 atoms (2 ms to 0.2 s) and periodic structures of 4 atoms (10 ms)" in printed


def test_the_document_has_the_keys_of_the_contract() -> None:
    (row,) = cost_document({"mine": plan_of(BenchmarkCost(2, 1, 40, 4.0, False), LARGE)})["dry_run"]
    assert row == {
        "model": "mine",
        "benchmarks": {NAME: 2},
        "jobs_asked": 3,
        "jobs": 1,
        "jobs_missing": 1,
        "force_calls": 40,
        "seconds_per_call": 0.1,
        "cpu_seconds": 4.5,
        "start_seconds": 0.5,
        "clock_seconds": 2.0,
        "workers": 2,
        "problem": "",
        "lost": {},
        "costs": [{"benchmark": NAME, "cases": 2, "jobs": 1, "force_calls": 40, "seconds": 4.0, "extrapolated": False}],
        "pace": [
            {"periodic": False, "atoms": 6, "seconds": 0.002, "seconds_together": 0.001},
            {"periodic": False, "atoms": 60, "seconds": 0.2, "seconds_together": 0.1},
            {"periodic": True, "atoms": 4, "seconds": 0.01, "seconds_together": 0.01},
        ],
    }


def test_nothing_was_measured_where_nothing_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(BenchmarkCost(2, 0, 0, 0.0, False), SMALL, missing=False)
    (row,) = cost_document({"mine": plan})["dry_run"]
    assert row["pace"] == []
    print_costs("mine", plan, Console(width=150))
    assert "measured on" not in capsys.readouterr().out


def test_an_estimate_that_could_not_be_made_has_no_numbers_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(BenchmarkCost(2, 1, 40, 4.0, False), SMALL, problem="no answer within 120 s of CPU time")
    print_costs("mine", plan, Console(width=150))
    printed = capsys.readouterr().out
    assert "the time could not be estimated: no answer within 120 s of CPU time" in printed
    (row,) = (line for line in printed.splitlines() if NAME in line)
    assert row.replace("│", " ").split()[-1] == "?"
    (document,) = cost_document({"mine": plan})["dry_run"]
    assert document["problem"] == plan.problem
    assert [document[key] for key in ("cpu_seconds", "start_seconds", "clock_seconds")] == [None] * 3
    assert [cost["seconds"] for cost in document["costs"]] == [None]


def test_cases_that_the_survey_lost_are_named_as_not_included(capsys: pytest.CaptureFixture[str]) -> None:
    lost = [Case("Tm-cluster", {}, lost="the worker died"), Case("Au-cluster", {}, lost="the worker died")]
    plan = plan_of(BenchmarkCost(2, 1, 40, 4.0, False), SMALL, cases=lost)
    print_costs("mine", plan, Console(width=150))
    expected = "not included, because a worker was lost: Tm-cluster, Au-cluster (the worker died)"
    assert expected in capsys.readouterr().out
    assert cost_document({"mine": plan})["dry_run"][0]["lost"] == {case.id: case.lost for case in lost}
