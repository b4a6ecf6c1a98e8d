"""Threads: calculators in several threads give the same numbers as one alone."""

from __future__ import annotations

from typing import Any

import pytest
from ase import Atoms

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.probes import threads
from assay.jobs import Probe
from toys import CLUSTERS, Spring, engine_of, sabotaged


def threaded(engine: CalculatorEngine) -> dict[str, Any]:
    return threads.run(engine, Probe("threads", CLUSTERS, {"threads": 4, "rounds": 5}))


def test_threads_agree_unless_calculators_share_memory() -> None:
    sound, shared = threaded(sabotaged("sound")), threaded(sabotaged("not_thread_safe"))
    assert sound["energy"].tolist() == sound["forces"].tolist() == [0.0] * 3
    assert (sound["threads"], sound["rounds"]) == (4, 5)
    assert shared["energy"].max() > 1e-3


def test_each_thread_evaluates_every_structure_with_its_own_calculator() -> None:
    calls: list[tuple[int, int]] = []

    class Counts(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            calls.append((id(self), int(atoms.positions[0, 0] * 1e6)))
            return super().answer(atoms)

    engine = engine_of(Counts)
    threaded(engine)
    by_calculator = [sum(1 for c in calls if c[0] == one) for one in {c[0] for c in calls}]
    # Once without threads, five rounds in each of four threads, and once more in two that must not share arrays.
    assert sorted(by_calculator) == [3, 15, 15, 18, 18]


def test_a_calculator_that_cannot_be_copied_is_not_supported() -> None:
    only = Spring()
    with pytest.raises(Unsupported, match="cannot be copied"):
        threaded(engine_of(lambda: only))
