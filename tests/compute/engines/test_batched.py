"""Batches give the same results as the calculator, also if a batch is split, refused, mixed up or wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType

import numpy as np
import pytest

from assay.compute.engines.batch_size import BatchSize
from assay.compute.engines.batched import BatchedEngine
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.pool import GIVE_UP
from assay.configurations import cluster, dimer
from assay.errors import ModelFailure
from assay.jobs import Band, Job, Probe, Relaxation, SinglePoints
from assay.model import Model
from assay.models.loading import from_object
from assay.outcome import ERROR, FAILED, OK, Outcome
from assay.remarks import batch_remarks
from assay.sabotage.sound import SoundPotential
from assay.structure import Floats, Structure

Answers = list[tuple[float, Floats]]


def exact(structures: Sequence[Structure]) -> Answers:
    """Results of the sound potential for each structure."""
    calculator = SoundPotential()
    return [tuple(calculator.evaluate(s.to_atoms())[:2]) for s in structures]


class Batch:
    """A batch evaluator that computes results by a function and records the sizes of batches."""

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
    return BatchedEngine(CalculatorEngine(model)), batch


def given_up(engine: BatchedEngine) -> dict[int, str]:
    """The sizes whose batches are not used any more, with the reasons."""
    return {width: size.given_up for width, size in engine.pool.sizes.items() if size.given_up}


def curve(count: int, first: int = 29, second: int = 79) -> SinglePoints:
    return SinglePoints(tuple(dimer(first, second, r) for r in np.linspace(1.8, 4.0, count)))


def same(outcome: Outcome, job: SinglePoints) -> None:
    for point, (energy, forces) in zip(outcome.points(), exact(job.structures), strict=True):
        assert point.energy == energy
        np.testing.assert_array_equal(point.forces, forces)


def test_jobs_share_batches_and_each_gets_its_own_results() -> None:
    engine, batch = engine_of(exact)
    jobs = {
        "a": curve(30),
        "b": SinglePoints((cluster((29, 79)), dimer(29, 29), cluster((29,)))),
        "c": curve(50, 29, 29),
    }
    outcomes = list(engine.run(list(jobs.items())))
    assert {o.key for o in outcomes} == {"a", "b", "c"}
    for outcome in outcomes:
        assert outcome.status == OK
        same(outcome, jobs[outcome.key])
        assert outcome.provenance["engine"] == "batched"
    assert max(batch.sizes) > 30  # more than the structures of any one job


def test_a_batch_that_does_not_fit_into_memory_is_halved_and_later_batches_are_small() -> None:
    def small_only(structures: Sequence[Structure]) -> Answers:
        if len(structures) > 10:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 80 bytes.")
        return exact(structures)

    engine, batch = engine_of(small_only)
    jobs = [("a", curve(200)), ("b", curve(100))]
    for outcome in engine.run(jobs):
        assert outcome.status == OK
        same(outcome, dict(jobs)[outcome.key])
    assert not given_up(engine)
    assert engine.pool.sizes[2].ceiling == 0  # 64 atoms do not fit, so only single structures are left
    assert sum(size > 10 for size in batch.sizes) <= 3


def test_a_size_that_fails_in_batches_does_not_cost_the_others_theirs() -> None:
    def no_clusters(structures: Sequence[Structure]) -> Answers:
        if max(map(len, structures)) > 4:
            raise ValueError("too large for a batch")
        return exact(structures)

    engine, batch = engine_of(no_clusters)
    large = SinglePoints(tuple(cluster((29, 79), size=30, variant=v) for v in range(40)))
    for outcome in engine.run([("large", large), ("small", curve(300))]):
        same(outcome, large if outcome.key == "large" else curve(300))
    assert list(given_up(engine)) == [32]
    batch.sizes.clear()
    (outcome,) = engine.run([("again", curve(200))])
    assert max(batch.sizes) > 20
    assert not batch_remarks([outcome])


def test_an_error_of_the_adapter_is_not_blamed_on_the_model() -> None:
    def raise_here(structures: Sequence[Structure]) -> Answers:
        raise IndexError("list index out of range")

    ours = FunctionType(raise_here.__code__, {**globals(), "__name__": "assay.models._mace_batch"})
    for answer, blamed in ((ours, True), (raise_here, False)):
        engine, _ = engine_of(answer)  # type: ignore[arg-type]
        (outcome,) = engine.run([("a", curve(120))])
        same(outcome, curve(120))
        assert ("an error of Assay, not of the model" in outcome.provenance["batch"]["given_up"]) is blamed


def test_a_batch_that_returns_nothing_is_not_an_error_of_assay() -> None:
    engine, _ = engine_of(lambda structures: None)  # type: ignore[arg-type, return-value]
    (outcome,) = engine.run([("a", curve(120))])
    same(outcome, curve(120))
    assert "TypeError" in outcome.provenance["batch"]["given_up"]
    assert "error of Assay" not in outcome.provenance["batch"]["given_up"]


def test_one_refused_structure_does_not_affect_the_others() -> None:
    class Picky(SoundPotential):
        def evaluate(self, atoms):  # type: ignore[no-untyped-def]
            if abs(atoms.get_distance(0, 1) - 3.0) < 1e-6:
                raise ValueError("3 Å is refused")
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
    assert "3 Å is refused" in points[40].reason
    assert "3 Å is refused" in str(outcome.provenance["batch"])
    assert not given_up(engine)


def broken(structures: Sequence[Structure]) -> Answers:
    raise ValueError("no batches")


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
def test_wrong_batches_are_disabled_and_the_reason_is_stored(
    answer: Callable[[Sequence[Structure]], Answers],
) -> None:
    engine, batch = engine_of(answer)
    job = curve(120)
    (outcome,) = engine.run([("a", job)])
    same(outcome, job)
    assert given_up(engine)
    assert outcome.provenance["batch"]["alone"] >= GIVE_UP
    assert outcome.provenance["batch"]["why_alone"]
    assert outcome.provenance["batch"]["given_up"] in given_up(engine).values()
    (remark,) = batch_remarks([outcome])
    assert f"{outcome.provenance['batch']['alone']} structures were computed one at a time" in remark
    calls = len(batch.sizes)
    (again,) = engine.run([("b", curve(40))])
    same(again, curve(40))
    assert len(batch.sizes) == calls  # batches are not tried again


def test_too_little_memory_for_one_structure_is_an_error_of_the_machine() -> None:
    class Hungry(SoundPotential):
        def evaluate(self, atoms):  # type: ignore[no-untyped-def]
            raise MemoryError("too large")

    def hungry(structures: Sequence[Structure]) -> Answers:
        raise MemoryError("too large")

    engine, _ = engine_of(hungry, Hungry)
    (outcome,) = engine.run([("a", curve(3))])
    assert outcome.status == ERROR
    assert outcome.reason == "out of memory: too large"
    assert "Hungry" in outcome.traceback or "too large" in outcome.traceback


def test_a_model_without_a_batch_has_no_evaluator() -> None:
    engine = BatchedEngine(CalculatorEngine(from_object(SoundPotential)))
    with pytest.raises(ModelFailure, match="does not support batches"):
        _ = engine.pool.evaluator


@pytest.mark.parametrize(("copies", "together"), [(40, False), (2, True)])
def test_structures_of_very_different_size_share_a_batch_only_if_they_are_few(
    always_batched: None, copies: int, together: bool
) -> None:
    sizes = list[set[int]]()

    def recording(structures: Sequence[Structure]) -> Answers:
        sizes.append({len(s) for s in structures})
        return exact(structures)

    job = SinglePoints(tuple(cluster((29,), size=n) for n in (2, 5, 6, 7, 8, 12) * copies))
    engine, _ = engine_of(recording)
    (outcome,) = engine.run([("a", job)])
    assert outcome.status == OK
    same(outcome, job)
    assert any(len(group) > 1 for group in sizes)
    assert any(max(group) > 2 * min(group) for group in sizes) is together


@pytest.fixture
def always_batched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are always used if they fit into memory, although they are not faster here."""
    monkeypatch.setattr(BatchSize, "rung", lambda size, waiting=0: min(2, size.ceiling))


def moving(count: int = 12) -> dict[str, Job]:
    """Relaxations of clusters of several sizes, a band, and single points."""
    rng = np.random.default_rng(1)
    jobs: dict[str, Job] = {}
    for i in range(count):
        start = cluster((29, 79), size=4 + i % 5)
        moved = start.moved(start.positions + rng.normal(scale=0.1, size=start.positions.shape))
        jobs[f"relaxation {i}"] = Relaxation(moved, "fire" if i % 3 == 0 else "bfgs", steps=30 + i)
    square = Structure.build([29] * 4, [[0.0, 0.0, 0.0], [2.4, 0.0, 0.0], [0.0, 2.4, 0.0], [2.4, 2.4, 0.3]])
    other = square.moved(square.positions + np.array([[0.0, 0.0, 0.0]] * 3 + [[0.0, 0.0, -0.6]]))
    jobs["band"] = Band(square, other, images=5, steps=20, ends_steps=30)
    jobs["points"] = curve(20)
    return jobs


def equal(one: Outcome, other: Outcome) -> None:
    """Both outcomes are exactly equal."""
    assert (one.key, one.status, one.reason) == (other.key, other.status, other.reason)
    assert one.values.keys() == other.values.keys()
    for name, value in one.values.items():
        np.testing.assert_array_equal(value, other.values[name], err_msg=f"{one.key}: {name}")


def test_every_job_ends_in_batches_as_it_does_alone(always_batched: None) -> None:
    engine, batch = engine_of(exact)
    jobs = moving()
    outcomes = {o.key: o for o in engine.run(list(jobs.items()))}
    assert outcomes.keys() == jobs.keys()
    single = CalculatorEngine(from_object(SoundPotential))
    for key, job in jobs.items():
        equal(outcomes[key], single.run(key, job))
    steps = [int(o.values["steps"]) for key, o in outcomes.items() if key.startswith("relaxation")]
    assert min(steps) < max(steps)
    calls = sum(batch.sizes)
    assert len(batch.sizes) < 0.3 * calls


def test_an_outcome_is_returned_as_soon_as_its_job_has_ended(always_batched: None) -> None:
    engine, _ = engine_of(exact)
    jobs = moving()
    order = [o.key for o in engine.run(list(jobs.items()))]
    assert order[0] == "points"  # one round, while the other jobs continue
    steps = {o.key: o.values["steps"] for o in engine.run([(k, j) for k, j in jobs.items() if k.startswith("relax")])}
    assert list(steps.values()) == sorted(steps.values())


class Refuses(SoundPotential):
    """Refuses structures whose first atom has moved by more than 0.05 Å along x."""

    def evaluate(self, atoms):  # type: ignore[no-untyped-def]
        if atoms.positions[0, 0] > 0.05:
            raise ValueError("too far")
        return super().evaluate(atoms)


def pair_along(axis: int, length: float) -> Structure:
    return Structure.build([29, 29], [np.zeros(3), length * np.eye(3)[axis]])


def test_a_job_that_fails_does_not_affect_the_others(always_batched: None) -> None:
    def refusing(structures: Sequence[Structure]) -> Answers:
        calculator = Refuses()
        return [tuple(calculator.evaluate(s.to_atoms())[:2]) for s in structures]

    jobs = {f"good {i}": Relaxation(pair_along(2, 2.0 + 0.1 * i)) for i in range(5)}
    jobs["bad"] = Relaxation(pair_along(0, 3.2))  # the first atom moves along x, towards the other
    engine, _ = engine_of(refusing, Refuses)
    outcomes = {o.key: o for o in engine.run(list(jobs.items()))}
    assert outcomes["bad"].status == FAILED
    assert "too far" in outcomes["bad"].reason
    assert outcomes["bad"].values["steps"] >= 1
    single = CalculatorEngine(from_object(SoundPotential))
    for key in jobs.keys() - {"bad"}:
        equal(outcomes[key], single.run(key, jobs[key]))


def test_structures_of_a_batch_with_nan_are_evaluated_alone(always_batched: None) -> None:
    calls = [0]

    def becomes_nan(structures: Sequence[Structure]) -> Answers:
        calls[0] += 1
        return exact(structures) if calls[0] < 6 else not_finite(structures)

    engine, _ = engine_of(becomes_nan)
    jobs = {k: j for k, j in moving().items() if k.startswith("relaxation")}
    single = CalculatorEngine(from_object(SoundPotential))
    for outcome in engine.run(list(jobs.items())):
        equal(outcome, single.run(outcome.key, jobs[outcome.key]))
    assert any("NaN, infinite numbers" in reason for reason in given_up(engine).values())


def test_too_little_memory_halves_the_batch_in_any_round(always_batched: None) -> None:
    def small_only(structures: Sequence[Structure]) -> Answers:
        if len(structures) > 3:
            raise MemoryError
        return exact(structures)

    engine, batch = engine_of(small_only)
    jobs = moving()
    single = CalculatorEngine(from_object(SoundPotential))
    for outcome in engine.run(list(jobs.items())):
        equal(outcome, single.run(outcome.key, jobs[outcome.key]))
    assert not given_up(engine)
    assert max(batch.sizes) > 3


def test_too_little_memory_for_one_structure_ends_only_its_job(always_batched: None) -> None:
    class Hungry(SoundPotential):
        def evaluate(self, atoms):  # type: ignore[no-untyped-def]
            if len(atoms) == 6:
                raise MemoryError("six atoms")
            return super().evaluate(atoms)

    def hungry(structures: Sequence[Structure]) -> Answers:
        calculator = Hungry()
        return [tuple(calculator.evaluate(s.to_atoms())[:2]) for s in structures]

    engine, _ = engine_of(hungry, Hungry)
    both = SinglePoints((cluster((29,), size=6), cluster((29,), size=5), cluster((29,), size=6)))
    outcomes = {o.key: o for o in engine.run([*moving().items(), ("both", both)])}
    assert len(outcomes) == len(moving()) + 1
    bad = {key for key, o in outcomes.items() if o.status == ERROR}
    assert bad == {"relaxation 2", "relaxation 7", "both"}
    assert outcomes["both"].reason == "out of memory: six atoms"


def test_a_job_that_cannot_run_does_not_affect_the_others() -> None:
    engine, _ = engine_of(exact)
    bad, good = Relaxation(cluster((29,)), "newton"), Relaxation(cluster((29,)))
    outcomes = {o.key: o for o in engine.run([("bad", bad), ("worse", Probe("path")), ("good", good)])}
    assert {key: o.status for key, o in outcomes.items()} == {"bad": ERROR, "worse": ERROR, "good": OK}
    assert "there is no optimizer 'newton'" in outcomes["bad"].reason
    assert "Traceback" in outcomes["bad"].traceback


def test_relaxations_with_a_model_without_forces_end_at_once(always_batched: None) -> None:
    def zeros(structures: Sequence[Structure]) -> Answers:
        return [(0.0, np.zeros((len(s), 3))) for s in structures]

    class Zero(SoundPotential):
        def evaluate(self, atoms):  # type: ignore[no-untyped-def]
            values = super().evaluate(atoms)
            return values._replace(energy=0.0, forces=0.0 * values.forces)

    engine, batch = engine_of(zeros, Zero)
    jobs = {k: j for k, j in moving().items() if k.startswith("relaxation")}
    assert {o.values["steps"] for o in engine.run(list(jobs.items()))} == {0}
    assert sum(batch.sizes) <= len(jobs)
