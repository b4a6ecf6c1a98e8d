"""Models fail, hang, end their process and take memory as stated; a run reports errors and goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from ase.calculators.calculator import Calculator

from assay.api import run
from assay.sabotage import BROKEN, CopperGold
from assay.sabotage.broken import machine
from sabotage.structures import cluster, difference, energy, values


def test_values_are_right_for_500_calls_and_nan_after_that() -> None:
    calculator = BROKEN["nan_after"].build()
    results = [values(calculator, cluster()) for _ in range(501)]
    assert difference(results[499], values(CopperGold(), cluster())) == 0.0
    assert np.isnan(results[500][0])
    assert np.isnan(results[500][1]).all()


def test_every_call_raises() -> None:
    with pytest.raises(RuntimeError, match="always raises"):
        energy(BROKEN["raises"].build, cluster())


def test_a_hanging_call_sleeps_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 5:
            raise TimeoutError

    monkeypatch.setattr(machine, "time", SimpleNamespace(sleep=sleep))
    with pytest.raises(TimeoutError):
        energy(BROKEN["hangs"].build, cluster())
    assert sum(naps) > 3600


def test_the_process_dies_in_the_first_call() -> None:
    code = (
        "from ase import Atoms; from assay.sabotage import BROKEN\n"
        "calc = BROKEN['kills_process'].build(); print('built', flush=True); calc.calculate(Atoms('Cu'))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert process.stdout == "built\n"
    assert process.returncode == -9


@pytest.mark.parametrize("name", [name for name, entry in BROKEN.items() if entry.never_answers])
def test_every_case_of_a_model_that_never_answers_is_an_error(name: str) -> None:
    report = run(f"assay.sabotage:{name}", benchmarks=["net_force_zero"], workers=1, timeout=1.0)
    (result,) = report.result.benchmarks
    assert {observation.status for observation in result.observations} == {"error"}
    assert report.exit_code == 3


def growth(calculator: Calculator) -> float:
    """Bytes that each call keeps."""
    values(calculator, cluster())
    tracemalloc.start()
    for _ in range(50):
        values(calculator, cluster())
    grown = tracemalloc.get_traced_memory()[0] / 50
    tracemalloc.stop()
    return grown


@pytest.mark.parametrize(("name", "least", "most"), [("memory_leak", 99_000, 110_000), ("slow_leak", 3_900, 5_000)])
def test_every_call_keeps_memory(name: str, least: int, most: int) -> None:
    sound = growth(CopperGold())
    assert sound < 1_000
    assert least < growth(BROKEN[name].build()) - sound < most
