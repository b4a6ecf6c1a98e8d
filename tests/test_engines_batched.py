"""Batches give what the calculator gives: whole, halved, refused, mixed up or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from assay.configurations import cluster, dimer
from assay.engines import batched
from assay.engines.ase import AseEngine
from assay.engines.batched import GIVE_UP, LADDER, BatchedEngine, Tempo
from assay.errors import ModelFailure
from assay.jobs import SinglePoints
from assay.model import Model, from_object
from assay.outcome import ERROR, FAILED, OK, Outcome
from assay.sound import SoundPotential
from assay.structure import Floats, Structure

Answers = list[tuple[float, Floats]]


def exact(structures: Sequence[Structure]) -> Answers:
    """What the sound potential gives for each structure."""
    calculator = SoundPotential()
    return [tuple(calculator.evaluate(s.to_atoms())[:2]) for s in structures]


class Batch:
    """A batch evaluator that keeps the sizes it was asked for and answers by a function."""

    def __init__(self, answer: Callable[[Sequence[Structure]], Answers]) -> None:
        self.answer, self.sizes = answer, list[int]()

    def evaluate(self, structures: Sequence[Structure]) -> Answers:
        self.sizes.append(len(structures))
        return self.answer(structures)


def engine_of(
    answer: Callable[[Sequence[Structure]], Answers], build: object = SoundPotential
) -> tuple[BatchedEngine, Batch]:
    batch = Batch(answer)
    model: Model = replace(from_object(build), build_batch=lambda: batch)
    return BatchedEngine(AseEngine(model)), batch


def curve(count: int, first: int = 29, second: int = 79) -> SinglePoints:
    return SinglePoints(tuple(dimer(first, second, r) for r in np.linspace(1.8, 4.0, count)))


def same(outcome: Outcome, job: SinglePoints) -> None:
    for point, (energy, forces) in zip(outcome.points(), exact(job.structures), strict=True):
        assert point.energy == energy
        np.testing.assert_array_equal(point.forces, forces)


def test_jobs_share_batches_and_each_gets_its_own_numbers() -> None:
    engine, batch = engine_of(exact)
    jobs = {
        "a": curve(30),
        "b": SinglePoints((cluster((29, 79)), dimer(29, 29), cluster((29,)))),
        "c": curve(50, 29, 29),
    }
    outcomes = engine.run(list(jobs.items()))
    assert [o.key for o in outcomes] == ["a", "b", "c"]
    for outcome in outcomes:
        assert outcome.status == OK
        same(outcome, jobs[outcome.key])
        assert outcome.provenance["engine"] == "batched"
    assert max(batch.sizes) > 30  # more than one job holds


def test_a_batch_that_does_not_fit_into_memory_is_halved_and_stays_small() -> None:
    def small_only(structures: Sequence[Structure]) -> Answers:
        if len(structures) > 10:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 80 bytes.")
        return exact(structures)

    engine, batch = engine_of(small_only)
    jobs = [("a", curve(200)), ("b", curve(100))]
    for outcome, (_, job) in zip(engine.run(jobs), jobs, strict=True):
        assert outcome.status == OK
        same(outcome, job)
    assert not engine.given_up
    assert engine.tempos[2].ceiling == 0  # 64 atoms were too many, so no rung of the ladder is left
    assert sum(size > 10 for size in batch.sizes) <= 3


def test_one_structure_that_the_model_refuses_costs_only_itself() -> None:
    class Picky(SoundPotential):
        def evaluate(self, atoms):  # type: ignore[no-untyped-def]
            if abs(atoms.get_distance(0, 1) - 3.0) < 1e-6:
                raise ValueError("three is too much")
            return super().evaluate(atoms)

    def picky(structures: Sequence[Structure]) -> Answers:
        calculator = Picky()
        return [tuple(calculator.evaluate(s.to_atoms())[:2]) for s in structures]

    engine, _ = engine_of(picky, Picky)
    job = SinglePoints(tuple(dimer(29, 29, r) for r in (*np.linspace(2.0, 2.9, 40), 3.0, *np.linspace(3.1, 4.0, 40))))
    (outcome,) = engine.run([("a", job)])
    points = outcome.points()
    assert outcome.status == FAILED
    assert [i for i, p in enumerate(points) if not p.ok] == [40]
    assert "three is too much" in points[40].reason
    assert "three is too much" in str(outcome.provenance["batch"])
    assert not engine.given_up


def broken(structures: Sequence[Structure]) -> Answers:
    raise ValueError("no batches today")


def short(structures: Sequence[Structure]) -> Answers:
    return exact(structures)[:-1]


def not_finite(structures: Sequence[Structure]) -> Answers:
    return [(float("nan"), forces) for _, forces in exact(structures)]


def misshapen(structures: Sequence[Structure]) -> Answers:
    return [(energy, forces[:1]) for energy, forces in exact(structures)]


def mixed_up(structures: Sequence[Structure]) -> Answers:
    answers = exact(structures)
    return [(energy, forces) for (energy, _), (_, forces) in zip(answers, answers[1:] + answers[:1], strict=True)]


@pytest.mark.parametrize("answer", [broken, short, not_finite, misshapen, mixed_up])
def test_a_batch_that_cannot_be_trusted_is_given_up_and_the_reason_kept(
    answer: Callable[[Sequence[Structure]], Answers],
) -> None:
    engine, batch = engine_of(answer)
    job = curve(120)
    (outcome,) = engine.run([("a", job)])
    same(outcome, job)
    assert "batches were given up" in engine.given_up
    assert outcome.provenance["batch"]["alone"] >= GIVE_UP
    assert outcome.provenance["batch"]["why_alone"]
    calls = len(batch.sizes)
    (again,) = engine.run([("b", curve(40))])
    same(again, curve(40))
    assert len(batch.sizes) == calls  # not tried again


def test_memory_that_fails_for_a_single_structure_is_an_error_of_the_machine() -> None:
    class Hungry(SoundPotential):
        def evaluate(self, atoms):  # type: ignore[no-untyped-def]
            raise MemoryError("all gone")

    def hungry(structures: Sequence[Structure]) -> Answers:
        raise MemoryError("all gone")

    engine, _ = engine_of(hungry, Hungry)
    (outcome,) = engine.run([("a", curve(3))])
    assert outcome.status == ERROR
    assert outcome.reason == "out of memory: all gone"
    assert "Hungry" in outcome.traceback or "all gone" in outcome.traceback


def test_a_model_without_a_batch_has_no_evaluator() -> None:
    engine = BatchedEngine(AseEngine(from_object(SoundPotential)))
    with pytest.raises(ModelFailure, match="no batched evaluator"):
        _ = engine.evaluator


def climb(tempo: Tempo, seconds: Callable[[int], float], calls: int = 20) -> list[int]:
    """The rungs used when a structure costs `seconds(rung)`."""
    used = []
    for _ in range(calls):
        used.append(tempo.rung())
        tempo.note(used[-1], seconds(used[-1]))
    return used


def test_batches_grow_while_a_structure_gets_cheaper() -> None:
    used = climb(Tempo({0: 1.0}), lambda rung: 1.0 / LADDER[rung])
    assert used[:2] == [1, 1]
    assert used[-1] == len(LADDER) - 1


def test_batches_stop_growing_where_it_no_longer_pays() -> None:
    used = climb(Tempo({0: 1.0}), lambda rung: {0: 1.0, 1: 0.5, 2: 0.2, 3: 0.19}.get(rung, 0.1))
    assert max(used) == 3
    assert used[-1] == 3


def test_a_model_that_is_quicker_alone_is_asked_alone() -> None:
    used = climb(Tempo({0: 0.05}), lambda rung: 0.05 if rung == 0 else 0.06)
    assert used[-1] == 0


def test_the_first_call_at_a_size_may_compile() -> None:
    seen: dict[int, int] = {}

    def seconds(rung: int) -> float:
        seen[rung] = seen.get(rung, 0) + 1
        return 5.0 if seen[rung] == 1 else 1.0 / LADDER[rung]

    assert climb(Tempo({0: 1.0}), seconds)[-1] == len(LADDER) - 1


def test_a_batch_that_would_need_too_much_memory_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched, "free_megabytes", lambda: 1000.0)
    tempo = Tempo({0: 1.0}, megabytes=400.0)
    used = climb(tempo, lambda rung: 1.0 / LADDER[rung])
    assert set(used) == {1}
