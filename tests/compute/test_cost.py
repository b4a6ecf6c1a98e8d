"""How long an evaluation takes is measured on structures of the plan's own sizes, cheaply, and never made up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from hypothesis import given
from hypothesis import strategies as st

from assay.compute import cost as pace
from assay.compute.cost import CAUTION, LONGEST, STEEPEST, Curve, Pace, measure_pace, pace_job, steady
from assay.compute.executors.local import open_executor
from assay.compute.probes.timing import run as ask_pace
from assay.compute.runner import Runner
from assay.configurations import cluster, crystal
from assay.jobs import Dynamics, Job, Probe, SinglePoints
from assay.outcome import OK
from assay.store import Store
from assay.structure import Floats, Structure
from toys import Toy, engine_of, model_of

POWERS = Curve(((10, 0.01), (100, 0.1), (1000, 10.0)))


class Sleepy(Toy):
    """Takes a time for each atom, and writes down how many atoms it was asked for."""

    def __init__(self, each: float = 2e-4, asked: list[int] | None = None) -> None:
        super().__init__()
        self.each, self.asked = each, [] if asked is None else asked

    def answer(self, atoms: Atoms) -> dict[str, object]:
        """Nothing, after a while."""
        self.asked.append(len(atoms))
        time.sleep(self.each * len(atoms))
        return super().answer(atoms)


class SleepyBatch:
    """Takes no longer for many structures than for one."""

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Nothing, after a while."""
        time.sleep(2e-4 * len(structures[0]))
        return [(0.0, np.zeros((len(s), 3))) for s in structures]


@contextmanager
def runner(folder: Path, build: Callable[[], object], **parts: object) -> Iterator[Runner]:
    model = model_of(build, **parts)
    store = Store.create(folder, "toy")
    with open_executor(model, store, 0) as executor:
        yield Runner(model, store, executor, pace=steady(1e-3))


def gas(atoms: int, side: float = 0.0) -> Structure:
    """So many atoms, in a box if it has a side (Å)."""
    positions = np.random.default_rng(atoms).uniform(0.0, 20.0, (atoms, 3))
    return Structure.build([29] * atoms, positions, np.eye(3) * side, "TTT" if side else "FFF")


def runs(*sizes: int) -> list[Job]:
    return [Dynamics(gas(n), steps=100) for n in sizes]


@pytest.mark.parametrize(
    ("atoms", "seconds"), [(10, 0.01), (31.6228, 0.0316228), (100, 0.1), (316.228, 1.0), (1000, 10.0)]
)
def test_between_sizes_time_grows_by_a_power(atoms: float, seconds: float) -> None:
    assert POWERS.at(atoms) == pytest.approx(seconds, rel=1e-4)  # type: ignore[arg-type]


def test_below_the_smallest_size_nothing_is_quicker() -> None:
    assert POWERS.at(1) == POWERS.at(10) == 0.01


def test_beyond_the_largest_size_time_grows_as_it_did() -> None:
    assert POWERS.at(2000) == pytest.approx(40.0)  # as the square
    assert Curve(((10, 0.01), (100, 0.01))).at(1000) == pytest.approx(0.1), "at least with the number of atoms"
    assert Curve(((10, 1e-6), (20, 1.0))).at(40) == pytest.approx(2.0**STEEPEST), "at most as its cube"
    assert Curve(((10, 0.01),)).at(100) == pytest.approx(0.1)
    assert Curve(((10, 0.01),)).at(100, least=2.0) == pytest.approx(1.0)


@given(st.lists(st.integers(1, 5000), min_size=1, unique=True))
def test_measured_sizes_are_few_and_include_the_smallest_and_the_largest(sizes: list[int]) -> None:
    chosen = pace._spread(sorted(sizes))
    assert set(chosen) <= set(sizes)
    assert chosen[-1] == max(sizes)
    assert chosen[0] == min(sizes) or len(chosen) == 1
    assert len(chosen) <= 2 + np.log(5000) / np.log(2.5)
    assert all(b >= 1.5 * a for a, b in pairwise(chosen))


def test_the_time_of_a_mixture_is_the_mean_and_free_and_periodic_go_apart() -> None:
    known = Pace({False: Curve(((10, 0.1), (20, 0.2))), True: Curve(((10, 1.0),))})
    assert known.seconds([gas(10), gas(20)]) == pytest.approx(0.15)
    assert known.seconds([gas(10), gas(10, 30.0)]) == pytest.approx(0.55)
    assert known.seconds([]) == 0.1
    assert known.measured([gas(20), gas(10, 30.0)])
    assert not known.measured([gas(20), gas(20, 30.0)])


def test_only_jobs_that_share_batches_have_the_pace_of_batches() -> None:
    known = steady(0.1, together=0.01)
    assert known.seconds([gas(5)]) == 0.1
    assert known.seconds([gas(5)], together=True) == 0.01
    assert steady(0.1).seconds([gas(5)], together=True) == 0.1


def test_the_pace_of_a_model_is_found(tmp_path: Path) -> None:
    jobs = [*runs(5, 20, 80), SinglePoints((gas(10, 30.0),))]
    with runner(tmp_path, Sleepy) as machine:
        found = measure_pace(machine, jobs)
    assert [n for n, _ in found.alone[False].points] == [5, 20, 80]
    assert [n for n, _ in found.alone[True].points] == [10]
    assert found.together is None
    for size in (5, 20, 40, 80):
        assert 2e-4 * size <= found.seconds([gas(size)]) <= 2e-4 * size + 4e-3  # a busy machine adds to it


def test_batches_are_timed_where_there_are_any() -> None:
    values = ask_pace(engine_of(Sleepy, build_batch=SleepyBatch), pace_job(gas(20)))
    assert values["together"] == 25  # 512 atoms
    assert 4e-3 / 25 <= values["seconds_together"] < 0.5 * values["seconds"]  # type: ignore[operator]
    alone = ask_pace(engine_of(Sleepy), pace_job(gas(20)))
    assert (alone["together"], alone["seconds_together"]) == (1, alone["seconds"])


def test_a_batch_that_fails_leaves_the_pace_of_the_calculator() -> None:
    class Broken:
        def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
            raise RuntimeError("no batches today")

    values = ask_pace(engine_of(Sleepy, build_batch=Broken), pace_job(gas(4)))
    assert (values["together"], values["seconds_together"]) == (1, values["seconds"])


def test_what_would_take_long_is_never_measured(tmp_path: Path) -> None:
    asked: list[int] = []
    with runner(tmp_path, lambda: Sleepy(2e-3, asked)) as machine:
        found = measure_pace(machine, runs(4, 40, 4000))
    assert set(asked) == {4, 40}, "4000 atoms are expected to take a thousand times as long as 40"
    assert found.alone[False].largest == 40
    assert not found.measured([gas(4000)])
    assert found.seconds([gas(4000)]) == pytest.approx(8.0, rel=0.3)
    assert 2.0 * found.alone[False].at(4000, CAUTION) > LONGEST


def test_jobs_that_keep_to_a_time_need_no_measurement(tmp_path: Path) -> None:
    asked: list[int] = []
    jobs: list[Job] = [Probe("scaling", (gas(3), gas(300)), {"seconds": 5.0, "repeats": 3}), *runs(10)]
    with runner(tmp_path, lambda: Sleepy(1e-4, asked)) as machine:
        measure_pace(machine, jobs)
    assert set(asked) == {10}


def test_nothing_is_measured_twice(tmp_path: Path) -> None:
    asked: list[int] = []
    found = []
    for sizes in ((4, 40), (4, 40), (4, 12, 40)):
        with runner(tmp_path, lambda: Sleepy(1e-4, asked)) as machine:
            found.append(measure_pace(machine, runs(*sizes)))
        asked.append(0)
    assert found[0] == found[1]
    calls = " ".join(map(str, asked)).split(" 0")
    assert (calls[1].split(), set(calls[2].split())) == ([], {"12"})


def test_sizes_that_the_model_refuses_are_passed_over(tmp_path: Path) -> None:
    class Picky(Sleepy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            if len(atoms) in {4, 40}:
                raise ValueError("not this one")
            return super().answer(atoms)

    with runner(tmp_path, Picky) as machine:
        assert [n for n, _ in measure_pace(machine, runs(4, 12, 40)).alone[False].points] == [12]
        assert measure_pace(machine, runs(4, 40)) == machine.pace, "when all are refused the survey's pace stays"
        assert measure_pace(machine, []) == machine.pace


def test_the_structure_with_most_work_stands_for_its_size(tmp_path: Path) -> None:
    start, other = cluster((29,)), cluster((79,))
    jobs: list[Job] = [SinglePoints((other,)), Dynamics(start, steps=50), SinglePoints((crystal((79,)),))]
    with runner(tmp_path, Sleepy) as machine:
        measure_pace(machine, jobs)
        known = machine.known
        assert known[machine.key(pace_job(start))].status == OK
        assert machine.key(pace_job(other)) not in known
