"""Memory: a leak is measured in bytes per evaluation, and a cache is not a leak."""

from __future__ import annotations

import mmap
import tracemalloc
from typing import Any

import numpy as np
import pytest
from ase import Atoms

from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.probes import memory
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.structure import Floats
from toys import CLUSTERS, Says, Spring, engine_of


class Leaks(Spring):
    """Keeps `size` bytes at every call."""

    kept: list[bytes]

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.kept = size, []

    def answer(self, atoms: Atoms) -> dict[str, object]:
        self.kept.append(b"x" * self.size)
        return super().answer(atoms)


def growth(engine: CalculatorEngine) -> dict[str, Any]:
    return memory.run(engine, Probe("memory", CLUSTERS, {"evaluations": 240, "seconds": 10.0}))


@pytest.mark.parametrize("size", [2_000, 200_000])
def test_a_leak_is_measured_to_the_byte(size: int) -> None:
    values = growth(engine_of(lambda: Leaks(size)))
    assert size <= values["python_bytes"] < 1.05 * size + 200.0
    assert values["evaluations"] == 240


class LeaksOutsidePython(Spring):
    """Keeps memory outside of Python objects, as compiled code does."""

    size = 64 * mmap.PAGESIZE

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[mmap.mmap] = []

    def answer(self, atoms: Atoms) -> dict[str, object]:
        block = mmap.mmap(-1, self.size)
        block.write(b"x" * self.size)  # written to, so that the memory is really used
        self.kept.append(block)
        return super().answer(atoms)


def test_a_leak_outside_python_is_found_in_the_memory_of_the_process() -> None:
    values = growth(engine_of(LeaksOutsidePython))
    assert values["resident_bytes"] == pytest.approx(LeaksOutsidePython.size, rel=0.2)
    assert values["python_bytes"] < 0.05 * LeaksOutsidePython.size


def test_a_model_that_keeps_nothing_does_not_grow() -> None:
    assert growth(engine_of(Spring))["python_bytes"] < 100.0


def test_a_cache_of_limited_size_is_not_a_leak() -> None:
    class Caches(Leaks):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            del self.kept[50:]
            return super().answer(atoms)

    assert growth(engine_of(lambda: Caches(5_000)))["python_bytes"] < 500.0


def test_memory_that_grows_once_is_not_a_leak() -> None:
    class FillsOnce(Leaks):
        evaluations = 0

        def answer(self, atoms: Atoms) -> dict[str, object]:
            self.evaluations += tracemalloc.is_tracing()
            if not 20 < self.evaluations <= 40:  # the evaluations between two measurements
                del self.kept[-1:]
            return super().answer(atoms)

    assert growth(engine_of(lambda: FillsOnce(5_000)))["python_bytes"] < 500.0


def test_memory_of_a_model_that_refuses_everything_cannot_be_measured() -> None:
    with pytest.raises(ModelFailure, match="the model refused all 20 evaluations"):
        growth(engine_of(lambda: Says(energy=np.nan)))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (1e6 + 4096.0 * np.arange(12), 4096.0),
        (np.full(12, 1e6), 0.0),
        (1e6 - 4096.0 * np.arange(12), 0.0),
        (np.where(np.arange(12) < 3, 1e6, 2e6), 0.0),  # one early jump of the allocator
        (np.where(np.arange(12) < 10, 1e6, 2e6), 0.0),  # one late jump
        (np.where(np.arange(12) < 8, 1e6, 2e6), 0.0),  # one in the middle
        (1e6 + 500.0 * np.arange(12) + np.where(np.arange(12) < 5, 0.0, 1e5), 500.0),
    ],
)
def test_only_steady_growth_counts(sizes: Floats, expected: float) -> None:
    assert memory.steady_growth(sizes) == pytest.approx(expected)


class KeepsObjects(Spring):
    """Keeps something for every `Atoms` object."""

    def __init__(self, size: int | None) -> None:
        super().__init__()
        self.known: dict[int, object] = {}
        self.size = size

    def calculate(self, atoms: Atoms, properties: object = (), system_changes: object = ()) -> None:
        super().calculate(atoms, properties, system_changes)
        self.known[id(atoms)] = dict(self.results)
        if self.size is not None and len(self.known) > self.size:
            del self.known[next(iter(self.known))]


def test_what_is_kept_for_each_object_is_a_leak_unless_its_number_is_limited() -> None:
    assert growth(engine_of(lambda: KeepsObjects(None)))["object_bytes"] > 300.0
    assert growth(engine_of(lambda: KeepsObjects(128)))["object_bytes"] < 50.0
    assert growth(engine_of(Spring))["object_bytes"] < 50.0


def test_objects_that_the_user_has_dropped_are_found() -> None:
    class KeepsAtoms(Spring):
        history: list[Atoms]

        def answer(self, atoms: Atoms) -> dict[str, object]:
            vars(self).setdefault("history", []).append(atoms)
            return super().answer(atoms)

    assert growth(engine_of(KeepsAtoms))["dropped_object_bytes"] > 1000.0
    assert growth(engine_of(Spring))["dropped_object_bytes"] < 100.0


def test_calculators_that_are_kept_are_found() -> None:
    kept: list[Spring] = []

    def build() -> Spring:
        kept.append(Spring())
        return kept[-1]

    assert growth(engine_of(build))["calculator_bytes"] > 1000.0
    values = growth(engine_of(Spring))
    assert values["calculator_bytes"] < 300.0
    assert values["calculators"] == 66


def test_calculators_that_take_long_to_build_are_not_measured() -> None:
    def slow() -> Spring:
        sum(range(3_000_000))
        return Spring()

    values = memory.run(engine_of(slow), Probe("memory", CLUSTERS, {"evaluations": 240, "seconds": 0.02}))
    assert "calculator_bytes" not in values
    assert "do not fit into 0.01 s" in values["not_built"]  # type: ignore[operator]


def test_a_model_with_one_calculator_for_all_is_not_measured() -> None:
    only = Spring()
    assert growth(engine_of(lambda: only))["not_built"] == "the model has only one calculator"
