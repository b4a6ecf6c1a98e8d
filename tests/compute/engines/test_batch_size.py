"""Batches are as large as it pays, and no larger than memory allows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.compute.engines import batch_size as module
from assay.compute.engines.batch_size import LADDER, BatchSize


def climb(size: BatchSize, seconds: Callable[[int], float], calls: int = 20) -> list[int]:
    """The rungs used when a structure costs `seconds(rung)`."""
    used = []
    for _ in range(calls):
        used.append(size.rung())
        size.record(used[-1], seconds(used[-1]))
    return used


def test_batches_grow_while_a_structure_gets_cheaper() -> None:
    used = climb(BatchSize({0: 1.0}), lambda rung: 1.0 / LADDER[rung])
    assert used[:2] == [1, 1]
    assert used[-1] == len(LADDER) - 1


def test_batches_stop_growing_where_it_no_longer_pays() -> None:
    used = climb(BatchSize({0: 1.0}), lambda rung: {0: 1.0, 1: 0.5, 2: 0.2, 3: 0.19}.get(rung, 0.1))
    assert max(used) == 3
    assert used[-1] == 3


def test_a_model_that_is_quicker_alone_is_asked_alone() -> None:
    used = climb(BatchSize({0: 0.05}), lambda rung: 0.05 if rung == 0 else 0.06)
    assert used[-1] == 0


def test_the_first_call_at_a_size_may_compile() -> None:
    seen: dict[int, int] = {}

    def seconds(rung: int) -> float:
        seen[rung] = seen.get(rung, 0) + 1
        return 5.0 if seen[rung] == 1 else 1.0 / LADDER[rung]

    assert climb(BatchSize({0: 1.0}), seconds)[-1] == len(LADDER) - 1


def test_a_batch_that_would_need_too_much_memory_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "free_megabytes", lambda: 1000.0)
    size = BatchSize({0: 1.0}, megabytes=400.0)
    used = climb(size, lambda rung: 1.0 / LADDER[rung])
    assert set(used) == {1}


def known(alone: float, least: float) -> BatchSize:
    """A size that has climbed: so many seconds for an atom alone, and for a batch of 64 atoms as a whole."""
    size = BatchSize({0: alone})
    for rung, total in ((1, least), (2, 1.5 * least), (3, 3.0 * least), (4, 13.0 * least)):
        size.record(rung, total, LADDER[rung])
        size.record(rung, total, LADDER[rung])
    return size


def test_what_is_waiting_goes_into_one_batch_if_that_is_not_too_large() -> None:
    size = known(alone=1e-2, least=1e-2)
    assert size.rung() == 3
    assert [size.rung(waiting) for waiting in (100_000, 1024, 400, 256, 200, 100, 64)] == [3, 3, 3, 2, 2, 2, 1]


def test_a_few_structures_go_alone_where_that_is_quicker() -> None:
    """A batch costs about the same for one structure as for 64 atoms."""
    size = known(alone=1e-3, least=2e-2)
    assert [size.rung(waiting) for waiting in (64, 30, 19, 5)] == [1, 1, 0, 0]
    assert known(alone=1e-1, least=2e-2).rung(1) == 1
