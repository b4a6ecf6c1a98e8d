"""Fresh process: a new process gives the same numbers as this one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import BinaryIO

import pytest
from ase.calculators.emt import EMT

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.probes import fresh_process
from assay.configurations import crystal
from assay.errors import Cause, MachineFailure, ModelFailure
from assay.jobs import Probe
from assay.models.loading import load_model
from toys import CLUSTERS, Spring, engine_of, sabotaged


def test_a_new_process_gives_the_same_numbers() -> None:
    values = fresh_process.run(sabotaged("sound"), Probe("fresh_process", (*CLUSTERS, crystal((29,)))))
    assert values["energy"].tolist() == values["forces"].tolist() == [0.0] * 4
    assert values["indices"] == [0, 1, 2, 3]


def test_an_energy_that_depends_on_the_process_is_found() -> None:
    values = fresh_process.run(sabotaged("process_dependent"), Probe("fresh_process", CLUSTERS))
    assert 1e-9 < values["energy"].max() < 1e-3
    assert values["forces"].max() == 0.0


@pytest.mark.parametrize("seed", ["0", "1", "random", None])
def test_a_new_process_gets_another_hash_seed(seed: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []

    def run(command: object, env: dict[str, str], stderr: BinaryIO, **_: object) -> object:
        seeds.append(env["PYTHONHASHSEED"])
        stderr.write(b"not started")
        return subprocess.CompletedProcess([], 1)

    monkeypatch.setattr("assay.compute.probes.fresh_process.subprocess.run", run)
    if seed is None:
        monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    else:
        monkeypatch.setenv("PYTHONHASHSEED", seed)
    with pytest.raises(ModelFailure, match="a new process cannot evaluate the model: not started"):
        fresh_process.run(sabotaged("sound"), Probe("fresh_process", CLUSTERS))
    assert seeds[0].isdigit()
    assert seeds[0] != seed


def test_a_model_that_works_only_in_this_process_fails() -> None:
    first = os.getpid()

    class OnlyHere(EMT):
        def calculate(self, *arguments: object) -> None:
            if os.getpid() != first:
                raise RuntimeError("wrong process")
            super().calculate(*arguments)

    with pytest.raises(ModelFailure, match=r"a new process fails .*wrong process"):
        fresh_process.run(CalculatorEngine(load_model(OnlyHere)), Probe("fresh_process", CLUSTERS))


def test_a_calculator_that_cannot_be_pickled_is_not_supported() -> None:
    with pytest.raises(Unsupported, match="cannot be pickled"):
        fresh_process.run(engine_of(Spring), Probe("fresh_process", CLUSTERS))


class KilledElsewhere(EMT):
    """Works in one process, and is killed in every other, as when memory is short."""

    def __init__(self, home: int) -> None:
        super().__init__()
        self.home = home

    def calculate(self, *arguments: object) -> None:
        if os.getpid() != self.home:
            os.kill(os.getpid(), signal.SIGKILL)
        super().calculate(*arguments)


def test_a_new_process_that_is_killed_says_nothing_about_the_model() -> None:
    with pytest.raises(MachineFailure, match=r"died .signal 9") as failure:
        fresh_process.run(CalculatorEngine(load_model(KilledElsewhere(os.getpid()))), Probe("fresh_process", CLUSTERS))
    assert failure.value.cause == Cause.WORKER_LOST


class LeavesAChild(EMT):
    """Starts a program that outlives it and keeps its output open."""

    def __init__(self, home: int) -> None:
        super().__init__()
        self.home = home

    def calculate(self, *arguments: object) -> None:
        if os.getpid() != self.home:
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"], start_new_session=True)
        super().calculate(*arguments)


def test_a_child_that_the_model_leaves_behind_does_not_hold_up_the_probe() -> None:
    started = time.monotonic()
    engine = CalculatorEngine(load_model(LeavesAChild(os.getpid())))
    fresh_process.run(engine, Probe("fresh_process", CLUSTERS[:1]))
    assert time.monotonic() - started < 19.0, "it waited for the end of the child"
