"""How long an evaluation takes is measured on structures of the plan's own sizes, cheaply, and only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from hypothesis import given
from hypothesis import strategies as st

from assay.compute.cost import CostModel, Timings
from assay.compute.executors import open_executor
from assay.compute.measuring import (
    CAUTIOUS_POWER,
    LONGEST,
    SAMPLED,
    measure_difficulty,
    measure_timings,
    spread,
    timing_job,
)
from assay.compute.probes.timing import run as run_probe
from assay.compute.runner import Runner
from assay.configurations import cluster, crystal
from assay.jobs import Dynamics, Job, Probe, SinglePoints
from assay.outcome import OK
from assay.store import Store
from assay.structure import Floats, Structure
from timed import Clock, Slow, SlowBatch, clock_of_the_probe, gas
from toys import engine_of, model_of


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return clock_of_the_probe(monkeypatch)


@contextmanager
def runner(folder: Path, build: Callable[[], object], **parts: object) -> Iterator[Runner]:
    model = model_of(build, **parts)
    store = Store.create(folder, "toy")
    with open_executor(model, store, 0) as executor:
        cost = CostModel.of_model(model)
        cost.record_small_structures(1e-3)
        yield Runner(model, store, executor, cost)


def runs(*sizes: int) -> list[Job]:
    return [Dynamics(gas(n), steps=100) for n in sizes]


def sizes(timings: Timings, periodic: bool = False) -> list[int]:
    return [atoms for atoms, _ in timings.alone[periodic].points]


@given(st.lists(st.integers(1, 5000), min_size=1, unique=True))
def test_measured_sizes_are_few_and_include_the_smallest_and_the_largest(available: list[int]) -> None:
    chosen = spread(sorted(available))
    assert set(chosen) <= set(available)
    assert chosen[-1] == max(available)
    assert chosen[0] == min(available) or len(chosen) == 1
    assert len(chosen) <= 2 + np.log(5000) / np.log(2.5)
    assert all(b >= 1.5 * a for a, b in pairwise(chosen))


def test_the_timings_of_a_model_are_found(tmp_path: Path, clock: Clock) -> None:
    jobs = [*runs(5, 20, 80), SinglePoints((gas(10, 30.0),))]
    with runner(tmp_path, lambda: Slow(clock)) as machine:
        timings = measure_timings(machine, jobs)
    assert sizes(timings) == [5, 20, 80]
    assert sizes(timings, periodic=True) == [10]
    assert timings.batched is None
    for size in (5, 20, 40, 80):
        assert timings.seconds([gas(size)]) == pytest.approx(2e-4 * size)
    assert timings.seconds([gas(10, 30.0)]) == pytest.approx(2e-3)


def test_a_model_with_batches_has_a_second_curve_that_is_never_slower(tmp_path: Path, clock: Clock) -> None:
    with runner(tmp_path, lambda: Slow(clock), build_batch=lambda: SlowBatch(clock)) as machine:
        timings = measure_timings(machine, runs(4, 20))
    assert timings.batched is not None
    assert timings.batched[False].points == (
        (4, pytest.approx(8e-4 / 64)),
        (20, pytest.approx(4e-3 / 25)),
    )
    assert timings.alone[False].points == ((4, pytest.approx(8e-4)), (20, pytest.approx(4e-3)))


def test_batches_are_timed_where_there_are_any(clock: Clock) -> None:
    def build() -> Slow:
        return Slow(clock)

    values = run_probe(engine_of(build, build_batch=lambda: SlowBatch(clock)), timing_job(gas(20)))
    assert values["together"] == 25  # 512 atoms
    assert values["seconds_together"] == pytest.approx(4e-3 / 25)
    assert values["seconds"] == pytest.approx(4e-3)
    alone = run_probe(engine_of(build), timing_job(gas(20)))
    assert (alone["together"], alone["seconds_together"]) == (1, alone["seconds"])


def test_a_batch_that_fails_leaves_the_time_of_the_calculator(clock: Clock) -> None:
    class Broken:
        def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
            raise RuntimeError("no batches today")

    values = run_probe(engine_of(lambda: Slow(clock), build_batch=Broken), timing_job(gas(4)))
    assert (values["together"], values["seconds_together"]) == (1, values["seconds"])


def test_what_would_take_long_is_never_measured(tmp_path: Path, clock: Clock) -> None:
    asked: list[int] = []
    with runner(tmp_path, lambda: Slow(clock, 2e-3, asked)) as machine:
        timings = measure_timings(machine, runs(4, 40, 4000))
    assert set(asked) == {4, 40}, "4000 atoms are expected to take a thousand times as long as 40"
    assert timings.alone[False].largest == 40
    assert not timings.covers([gas(4000)])
    assert timings.seconds([gas(4000)]) == pytest.approx(8.0)
    assert 2.0 * timings.alone[False].at(4000, CAUTIOUS_POWER) > LONGEST


def test_measuring_ends_when_it_has_taken_long(tmp_path: Path, clock: Clock) -> None:
    class Compiles(Slow):
        """The first evaluation of each size takes 9 s more."""

        def answer(self, atoms: Atoms) -> dict[str, object]:
            clock.move(0.0 if len(atoms) in self.asked else 9.0)
            return super().answer(atoms)

    with runner(tmp_path, lambda: Compiles(clock, 1e-4)) as machine:
        timings = measure_timings(machine, runs(4, 40))
    assert timings.alone[False].points == ((4, pytest.approx(4e-4)),), "the first evaluation does not count"
    assert not timings.covers([gas(40)]), "more than 8 s were spent"


def test_jobs_that_keep_to_a_time_need_no_measurement(tmp_path: Path, clock: Clock) -> None:
    asked: list[int] = []
    jobs: list[Job] = [Probe("scaling", (gas(3), gas(300)), {"seconds": 5.0, "repeats": 3}), *runs(10)]
    with runner(tmp_path, lambda: Slow(clock, 1e-4, asked)) as machine:
        measure_timings(machine, jobs)
    assert set(asked) == {10}


def test_nothing_is_measured_twice(tmp_path: Path, clock: Clock) -> None:
    asked: list[int] = []
    found = []
    for plan in ((4, 40), (4, 40), (4, 12, 40)):
        with runner(tmp_path, lambda: Slow(clock, 1e-4, asked)) as machine:
            found.append(measure_timings(machine, runs(*plan)))
        asked.append(0)
    assert found[0] == found[1]
    calls = " ".join(map(str, asked)).split(" 0")
    assert (calls[1].split(), set(calls[2].split())) == ([], {"12"})


def test_sizes_that_the_model_refuses_are_passed_over(tmp_path: Path, clock: Clock) -> None:
    class Picky(Slow):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            if len(atoms) in {4, 40}:
                raise ValueError("not this one")
            return super().answer(atoms)

    with runner(tmp_path, lambda: Picky(clock)) as machine:
        assert sizes(measure_timings(machine, runs(4, 12, 40))) == [12]
        of_the_survey = machine.cost.timings
        assert measure_timings(machine, runs(4, 40)) == of_the_survey, "when all are refused, those of the survey stay"
        assert measure_timings(machine, []) == of_the_survey


def test_the_structure_with_most_work_stands_for_its_size(tmp_path: Path, clock: Clock) -> None:
    start, other = cluster((29,)), cluster((79,))
    jobs: list[Job] = [SinglePoints((other,)), Dynamics(start, steps=50), SinglePoints((crystal((79,)),))]
    with runner(tmp_path, lambda: Slow(clock)) as machine:
        measure_timings(machine, jobs)
        known = machine.known
        assert known[machine.key(timing_job(start))].status == OK
        assert machine.key(timing_job(other)) not in known


class HardGold(Slow):
    """Takes ten times as long for gold, and does not converge for silver, which takes fifty times as long."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        """Nothing, after a while."""
        self.clock.move({79: 9.0, 47: 49.0}.get(int(atoms.numbers[0]), 0.0) * self.each * len(atoms))
        if atoms.numbers[0] == 47:
            raise RuntimeError("not converged")
        return super().answer(atoms)


def of_element(number: int, count: int) -> list[Job]:
    return [SinglePoints((Structure.build([number] * 10, gas(10).positions + 0.1 * i),)) for i in range(count)]


def test_structures_that_are_hard_for_the_model_are_expected_to_take_longer(tmp_path: Path, clock: Clock) -> None:
    easy, gold, silver = of_element(29, 30), of_element(79, 30), of_element(47, 30)
    asked: list[int] = []
    with runner(tmp_path, lambda: HardGold(clock, asked=asked)) as machine:
        machine.cost.record_timings(measure_timings(machine, easy))
        asked.clear()
        found = measure_difficulty(machine, [easy, gold, silver, []])
    assert len(asked) == 2 * (1 + SAMPLED), "silver is refused before it is counted"
    assert {round(found[job]) for job in easy} == {1}
    assert {round(found[job]) for job in gold} == {10}
    assert {round(found[job]) for job in silver} == {49}
    machine.cost.difficulty = found
    assert machine.cost.seconds(gold[0]) == pytest.approx(10 * machine.cost.seconds(easy[0]), rel=0.2)
    assert machine.cost.longest(gold[0]) == pytest.approx(10 * machine.cost.longest(easy[0]))


def test_no_sample_is_measured_of_a_model_with_batches_or_of_what_costs_next_to_nothing(
    tmp_path: Path, clock: Clock
) -> None:
    jobs = of_element(29, 300)
    with runner(tmp_path / "batches", lambda: Slow(clock), build_batch=lambda: SlowBatch(clock)) as machine:
        assert measure_difficulty(machine, [jobs]) == {}
    with runner(tmp_path / "alone", lambda: Slow(clock)) as machine:
        assert measure_difficulty(machine, [jobs[1:], jobs[:1]]).keys() == set(jobs[1:])
