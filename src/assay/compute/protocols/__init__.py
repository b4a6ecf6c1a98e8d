"""What a job does with a model, step by step, apart from how the model is asked.

A protocol is a generator. It yields the structures that it wants evaluated, is sent one `Point` for each of them in
the same order (with a reason where the model gave nothing usable), and returns how the job ended. So the same physics
runs one structure at a time in the engine `ase` and side by side with many other jobs in the engine `batched`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from assay.errors import AssayError, Cause
from assay.jobs import Band, Dynamics, Job, Relaxation, SinglePoints
from assay.outcome import Point
from assay.structure import Structure

Result = TypeVar("Result")
Asking = Generator[list[Structure], list[Point], Result]
"""A generator that asks for points of structures and returns a result."""


class Ending(NamedTuple):
    """How a job ended: the status, the values, and the reason and cause if it is not `ok`."""

    status: str
    values: dict[str, object]
    reason: str = ""
    cause: str = Cause.NONE


def protocol(job: Job, trajectory: Path | None = None) -> Asking[Ending]:
    """The protocol of a job; `AssayError` for kinds of jobs that have none. Dynamics writes its frames to a file."""
    from assay.compute.protocols.band import run_band
    from assay.compute.protocols.relaxation import run_relaxation
    from assay.compute.protocols.single_points import run_single_points

    match job:
        case SinglePoints():
            return run_single_points(job)
        case Relaxation():
            return run_relaxation(job)
        case Band():
            return run_band(job)
        case Dynamics() if trajectory is not None:
            from assay.compute.protocols.dynamics import run_dynamics
            from assay.store.trajectory import Recorder

            return run_dynamics(job, Recorder(trajectory, len(job.structure)))
    raise AssayError(f"there is no protocol for {type(job).__name__} jobs")


def carry_out(asking: Asking[Result], answer: Callable[[Sequence[Structure]], list[Point]]) -> Result:
    """Run a protocol to its end with a function that evaluates structures."""
    points: list[Point] | None = None
    while True:
        try:
            asked = next(asking) if points is None else asking.send(points)
        except StopIteration as end:
            return end.value
        points = answer(asked)


def side_by_side(protocols: Sequence[Asking[Result]]) -> Asking[list[Result]]:
    """Several protocols as one: in each round what all of them ask for is asked together."""
    results: dict[int, Result] = {}
    asked: dict[int, list[Structure]] = {}

    def advance(number: int, points: list[Point] | None) -> None:
        asking = protocols[number]
        try:
            asked[number] = next(asking) if points is None else asking.send(points)
        except StopIteration as end:
            results[number] = end.value
            asked.pop(number, None)

    for number in range(len(protocols)):
        advance(number, None)
    while asked:
        points = yield [structure for wanted in asked.values() for structure in wanted]
        answers = iter(points)
        for number, wanted in list(asked.items()):
            advance(number, [next(answers) for _ in wanted])
    return [results[number] for number in range(len(protocols))]
