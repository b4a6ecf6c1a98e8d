"""Batches grow as long as they get faster and fit into memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.compute.engines import batch_size as module
from assay.compute.engines.batch_size import LADDER, BatchSize


def used_rungs(size: BatchSize, seconds: Callable[[int], float], calls: int = 20) -> list[int]:
    """The rungs that are used if an atom takes `seconds(rung)`."""
    used = []
    for _ in range(calls):
        used.append(size.rung())
        size.record(used[-1], seconds(used[-1]))
    return used


def test_batches_grow_while_the_time_per_atom_decreases() -> None:
    used = used_rungs(BatchSize({0: 1.0}), lambda rung: 1.0 / LADDER[rung])
    assert used[:2] == [1, 1]
    assert used[-1] == len(LADDER) - 1


def test_batches_stop_growing_if_they_are_not_faster() -> None:
    used = used_rungs(BatchSize({0: 1.0}), lambda rung: {0: 1.0, 1: 0.5, 2: 0.2, 3: 0.19}.get(rung, 0.1))
    assert max(used) == 3
    assert used[-1] == 3


def test_single_structures_are_used_if_they_are_faster() -> None:
    used = used_rungs(BatchSize({0: 0.05}), lambda rung: 0.05 if rung == 0 else 0.06)
    assert used[-1] == 0


def test_the_first_call_of_a_size_may_be_slow() -> None:
    calls: dict[int, int] = {}

    def seconds(rung: int) -> float:
        calls[rung] = calls.get(rung, 0) + 1
        return 5.0 if calls[rung] == 1 else 1.0 / LADDER[rung]

    assert used_rungs(BatchSize({0: 1.0}), seconds)[-1] == len(LADDER) - 1


def test_a_batch_that_would_need_too_much_memory_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "free_megabytes", lambda: 1000.0)
    size = BatchSize({0: 1.0}, megabytes=400.0)
    used = used_rungs(size, lambda rung: 1.0 / LADDER[rung])
    assert set(used) == {1}


def measured(alone: float, least: float) -> BatchSize:
    """A batch size after four rungs: `alone` seconds per atom alone, `least` seconds for a batch of 64 atoms."""
    size = BatchSize({0: alone})
    for rung, total in ((1, least), (2, 1.5 * least), (3, 3.0 * least), (4, 13.0 * least)):
        size.record(rung, total, LADDER[rung])
        size.record(rung, total, LADDER[rung])
    return size


def test_waiting_structures_go_into_one_batch_if_it_is_not_too_large() -> None:
    size = measured(alone=1e-2, least=1e-2)
    assert size.rung() == 3
    assert [size.rung(waiting) for waiting in (100_000, 1024, 400, 256, 200, 100, 64)] == [3, 3, 3, 2, 2, 2, 1]


def test_a_few_structures_are_evaluated_alone_if_that_is_faster() -> None:
    """A batch of one structure takes about as long as one of 64 atoms."""
    size = measured(alone=1e-3, least=2e-2)
    assert [size.rung(waiting) for waiting in (64, 30, 19, 5)] == [1, 1, 0, 0]
    assert measured(alone=1e-1, least=2e-2).rung(1) == 1
