"""Tests whether stored results still belong to the model: some of its stored answers are asked again.

The fingerprint of a user's model covers its source and its packages, but not what the source reads when it runs, such
as a file of weights. After training such a model again, results of yesterday would be shown as those of today.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.compute.bundling import make_bundle
from assay.compute.runner import Runner
from assay.configurations import symbol
from assay.errors import AssayError
from assay.jobs import Job, SinglePoints
from assay.outcome import Outcome, Point
from assay.store import Store
from assay.structure import Structure

MOST_STRUCTURES, MOST_ATOMS = 24, 100
"""At most this number of structures is asked again, and none that is larger."""

SAME_ENERGY, SAME_FORCES = 1e-5, 1e-3
"""Answers that differ by less, relative to the energy or the largest force (at least 1 eV, 1 eV/Å), are the same: a
model in single precision rounds differently in another batch."""

TIMES_NOISE = 10.0
"""A noisy model may also differ by this factor times its noise."""


class Answer(NamedTuple):
    """A structure with the answer that the store has."""

    structure: Structure
    point: Point


def require_same_answers(
    runner: Runner, stored: Mapping[str, Outcome], jobs: Iterable[Job], noise: tuple[float, float] = (0.0, 0.0)
) -> None:
    """Ask a model again for some stored structures; an `AssayError` if it gives other answers than the stored ones.

    Args:
        runner: the runner of the model.
        stored: the outcomes that the store had before this run.
        jobs: the jobs of this run; those with a stored outcome are candidates.
        noise: the noise of the model (eV, eV/Å).
    """
    answers = chosen_answers(runner, stored, jobs)
    if not answers:
        return
    outcome = _ask(runner, SinglePoints(tuple(answer.structure for answer in answers), alone=True))
    if outcome is None or "natoms" not in outcome.values:
        return  # the worker was lost; the run itself will report it
    for answer, point in zip(answers, outcome.points(), strict=True):
        if change := difference(answer.point, point, noise):
            formula = "".join(symbol(int(z)) for z in answer.structure.numbers)
            raise AssayError(
                f"'{runner.model.name}' has changed since its results in '{runner.store.folder}' were computed: "
                f"{change} for {formula}; give --fresh to compute all of them again, or another folder with -o"
            )


def chosen_answers(runner: Runner, stored: Mapping[str, Outcome], jobs: Iterable[Job]) -> list[Answer]:
    """Small stored structures of two atoms or more that have, together, as many pairs of elements as possible."""
    candidates = []
    for job in jobs:
        outcome = stored.get(runner.key(job)) if isinstance(job, SinglePoints) else None
        if isinstance(job, SinglePoints) and outcome is not None and "natoms" in outcome.values:
            candidates += [Answer(s, p) for s, p in zip(job.structures, outcome.points(), strict=True) if p.ok]
    candidates = [answer for answer in candidates if 1 < len(answer.structure) <= MOST_ATOMS]
    candidates.sort(key=lambda answer: len(answer.structure))
    chosen: list[Answer] = []
    seen: set[tuple[int, int]] = set()
    for answer in candidates:
        pairs = set(combinations_with_replacement(sorted(set(answer.structure.numbers.tolist())), 2))
        if not pairs <= seen:
            chosen.append(answer)
            seen |= pairs
        if len(chosen) == MOST_STRUCTURES:
            break
    return chosen


def difference(before: Point, now: Point, noise: tuple[float, float] = (0.0, 0.0)) -> str:
    """How two answers differ by more than rounding and noise explain, with the numbers; empty if they do not."""
    if not now.ok:
        return f"it answered, and now it does not ({now.reason})"
    energy = SAME_ENERGY * max(abs(before.energy), 1.0) + TIMES_NOISE * noise[0]
    if abs(now.energy - before.energy) > energy:
        return f"the energy was {before.energy:.8g} eV and is {now.energy:.8g} eV"
    largest = float(np.abs(before.forces).max(initial=0.0))
    change = float(np.abs(now.forces - before.forces).max(initial=0.0))
    if change > SAME_FORCES * max(largest, 1.0) + TIMES_NOISE * noise[1]:
        return f"a force has changed by {change:.3g} eV/Å"
    return ""


def _ask(runner: Runner, job: SinglePoints) -> Outcome | None:
    """The new answers to a job. They are not kept: the results folder has the old ones, and nothing twice."""
    key = runner.key(job)
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        for _ in runner.executor.run([replace(make_bundle([(key, job)], runner.cost), scratch=Path(scratch))]):
            pass
        return Store.create(Path(scratch), "").outcomes().get(key)
