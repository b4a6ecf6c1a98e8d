"""The steps of each kind of job, independent of how structures are evaluated.

A protocol is a generator. It yields a list of structures to evaluate, receives one `Point` for each in the same order
(with a reason if the model gave no usable result), and returns how the job ended. Therefore the same code runs one
structure at a time in the engine `ase` and together with many other jobs in the engine `batched`.
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
Requests = Generator[list[Structure], list[Point], Result]
"""A generator that yields structures to evaluate, receives their points, and returns a result."""


class Ending(NamedTuple):
    """How a job ended: the status, the values, and the reason and cause if the status is not `ok`."""

    status: str
    values: dict[str, object]
    reason: str = ""
    cause: str = Cause.NONE


def protocol(job: Job, trajectory: Path | None = None) -> Requests[Ending]:
    """The protocol of a job; `AssayError` if this kind of job has none. Dynamics writes its frames to `trajectory`."""
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


def carry_out(requests: Requests[Result], evaluate: Callable[[Sequence[Structure]], list[Point]]) -> Result:
    """Run a protocol to its end with a function that evaluates structures."""
    points: list[Point] | None = None
    while True:
        try:
            structures = next(requests) if points is None else requests.send(points)
        except StopIteration as end:
            return end.value
        points = evaluate(structures)


def side_by_side(protocols: Sequence[Requests[Result]]) -> Requests[list[Result]]:
    """Several protocols as one: in each round the structures of all protocols are evaluated together."""
    results: dict[int, Result] = {}
    structures: dict[int, list[Structure]] = {}

    def advance(number: int, points: list[Point] | None) -> None:
        requests = protocols[number]
        try:
            structures[number] = next(requests) if points is None else requests.send(points)
        except StopIteration as end:
            results[number] = end.value
            structures.pop(number, None)

    for number in range(len(protocols)):
        advance(number, None)
    while structures:
        points = yield [structure for own in structures.values() for structure in own]
        remaining = iter(points)
        for number, own in list(structures.items()):
            advance(number, [next(remaining) for _ in own])
    return [results[number] for number in range(len(protocols))]
