"""Measures how long one evaluation takes, on structures of the plan itself, from the smallest to the largest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from assay.compute.cost import TimingCurve, Timings, time_limit
from assay.compute.runner import Runner
from assay.jobs import Job, Probe, structures_of
from assay.outcome import ERROR, OK, Outcome
from assay.structure import Structure

PROBE = "timing"
"""The probe that measures the time of one structure, a module of `assay.compute.probes`."""

SAMPLE, SAMPLED, WORTHWHILE = "sample", 9, 0.01
"""The probe that evaluates some structures of a benchmark, how many, and the share of all expected time from which on a
benchmark is worth it."""

SIZE_RATIO = 2.5
"""Measured sizes differ by at least this factor, the largest from the one before it by at least its square root."""

LONGEST = 5.0
"""Seconds that the measurement of one size may be expected to take; the time of larger systems is extrapolated."""

BUDGET = 8.0
"""After this number of seconds no further size is measured."""

CAUTIOUS_POWER = 1.5
"""The time of a size that was not measured yet is expected to grow at least with this power of the number of atoms."""


class Measurement(NamedTuple):
    """Seconds of one evaluation of a structure, alone and as one of many in a batch."""

    atoms: int
    alone: float
    batched: float
    first: float = 0.0
    """How much longer the first evaluation of this size takes."""


def timing_job(structure: Structure) -> Probe:
    """The job that measures how long one evaluation of a structure takes."""
    return Probe(PROBE, (structure,), force_calls=6)


def measure_timings(runner: Runner, jobs: Iterable[Job]) -> Timings:
    """Measure timing curves for the structures of these jobs; what the store already has is not measured again.

    Isolated and periodic structures are measured separately, from the smallest to the largest. Structures that the
    model refuses are left out. When a worker is lost, or the next size is expected to take too long, larger sizes are
    left to extrapolation. When nothing can be measured, the timings of the survey stay, with the reason if that is not
    because the model refuses all structures.
    """
    problems: list[str] = []
    chosen = _representatives(jobs)
    measured = {periodic: _measure(runner, structures, problems) for periodic, structures in chosen.items()}
    measured = {periodic: rows for periodic, rows in measured.items() if rows}
    if not measured:
        return replace(runner.cost.timings, problem=problems[0] if problems else "")
    alone = {periodic: TimingCurve(tuple((m.atoms, m.alone) for m in rows)) for periodic, rows in measured.items()}
    batched = {periodic: TimingCurve(tuple((m.atoms, m.batched) for m in rows)) for periodic, rows in measured.items()}
    return Timings(alone, batched if runner.cost.has_batches else None, _first(measured.values()))


def measure_difficulty(runner: Runner, groups: Sequence[Sequence[Job]]) -> dict[Job, float]:
    """How much longer evaluations take than others of the same size, for each group of jobs that costs enough.

    Some structures of each group are evaluated once. Models with batches are left out: they do not iterate until they
    converge, so their time depends on the size only.
    """
    found: dict[Job, float] = {}
    if runner.cost.has_batches:
        return found
    seconds = [sum(map(runner.cost.seconds, jobs)) for jobs in groups]
    for jobs, expected in zip(groups, seconds, strict=True):
        structures = _sample([job for job in jobs if time_limit(job) is None])
        usual = sum(runner.cost.timings.seconds([s]) for s in structures)
        if not structures or expected < WORTHWHILE * sum(seconds) or usual > LONGEST:
            continue
        outcome = _ask(runner, Probe(SAMPLE, tuple(structures), force_calls=1 + len(structures)))
        if outcome is not None and outcome.status == OK:
            found |= dict.fromkeys(jobs, max(sum(outcome.values["seconds"]) / usual, 1.0))
    return found


def _sample(jobs: Sequence[Job]) -> list[Structure]:
    """Structures of these jobs, evenly spaced."""
    structures = [s for job in jobs for s in structures_of(job) if len(s)]
    places = range(0, len(structures), max(1, len(structures) // SAMPLED))
    return [structures[place] for place in places][:SAMPLED]


def _first(measured: Iterable[Sequence[Measurement]]) -> float:
    """How much longer the first evaluation of a number of atoms takes.

    Of two measurements of the same number of atoms, isolated and periodic, only one was the first.
    """
    longest: dict[int, float] = {}
    for row in (row for rows in measured for row in rows):
        longest[row.atoms] = max(row.first, longest.get(row.atoms, 0.0))
    return median(longest.values())


def _representatives(jobs: Iterable[Job]) -> dict[bool, list[Structure]]:
    """One structure of each size to measure, from the job that asks for most evaluations of that size."""
    best: dict[bool, dict[int, tuple[int, Structure]]] = {False: {}, True: {}}
    for job in (job for job in jobs if time_limit(job) is None):
        for (periodic, atoms), same_size in _by_size(structures_of(job)).items():
            if job.expected_calls > best[periodic].get(atoms, (0, same_size[0]))[0]:
                best[periodic][atoms] = job.expected_calls, same_size[len(same_size) // 2]  # the first may be extreme
    return {periodic: [sizes[n][1] for n in spread(sorted(sizes))] for periodic, sizes in best.items() if sizes}


def _by_size(structures: Iterable[Structure]) -> dict[tuple[bool, int], list[Structure]]:
    """Structures by whether they are periodic and by their number of atoms, without empty ones."""
    groups: dict[tuple[bool, int], list[Structure]] = {}
    for structure in filter(len, structures):
        groups.setdefault((any(structure.pbc), len(structure)), []).append(structure)
    return groups


def spread(sizes: Sequence[int]) -> list[int]:
    """The smallest and the largest of these sorted sizes, and some in between that are far enough from each other."""
    chosen = [sizes[0]]
    for size in sizes[1:]:
        if size >= SIZE_RATIO * chosen[-1]:
            chosen.append(size)
    if sizes[-1] >= math.sqrt(SIZE_RATIO) * chosen[-1]:
        return [*chosen, sizes[-1]]
    return [*chosen[:-1], sizes[-1]]


def _measure(runner: Runner, structures: Sequence[Structure], problems: list[str]) -> list[Measurement]:
    """Measure structures, smallest first, until the next one would take too long or a worker is lost.

    Why a worker was lost is added to `problems`.
    """
    rows: list[Measurement] = []
    spent = 0.0
    for structure in structures:
        if spent > BUDGET or 2.0 * _expected(runner, rows, structure) > LONGEST:
            break
        outcome = _ask(runner, timing_job(structure))
        if outcome is None or outcome.status == ERROR:
            problems.append(outcome.reason if outcome is not None else runner.gave_up)
            break
        if outcome.status == OK:
            spent += float(outcome.values["spent"])
            alone, batched = (float(outcome.values[name]) for name in ("seconds", "seconds_together"))
            first = float(outcome.values.get("first", 0.0))
            rows.append(Measurement(len(structure), alone, min(alone, batched), first))
    return rows


def _expected(runner: Runner, rows: Sequence[Measurement], structure: Structure) -> float:
    """Seconds that one evaluation is expected to take, from the smaller sizes that were measured, or the survey."""
    if not rows:
        return runner.cost.timings.seconds([structure])
    return TimingCurve(tuple((m.atoms, m.alone) for m in rows)).at(len(structure), CAUTIOUS_POWER)


def _ask(runner: Runner, job: Probe) -> Outcome | None:
    runner.complete([job], "timing")
    return runner.known.get(runner.key(job))
