"""Tests whether stored results still belong to the model: some of its stored answers are asked again.

The fingerprint of a user's model covers its source and its packages, but not what the source reads when it runs, such
as a file of weights. After training such a model again, results of yesterday would be shown as those of today.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.compute.bundling import make_bundle
from assay.compute.runner import Runner
from assay.compute.surveying import HEAVIEST, element_job
from assay.configurations import symbol
from assay.errors import AssayError
from assay.jobs import Job, SinglePoints
from assay.model import ModelCard
from assay.outcome import ERROR, Outcome, Point
from assay.store import Store
from assay.structure import Structure

MOST_STRUCTURES, MOST_ATOMS = 24, 100
"""At most this number of structures is asked again at a time, and none that is larger."""

SAME_ENERGY, SAME_FORCES = 1e-5, 1e-3
"""Answers that differ by less, relative to the energy or the largest force (at least 1 eV, 1 eV/Å), are the same: a
model in single precision rounds differently in another batch."""

SAME_DOUBLE = 1e-10
"""The same for energies above 1 eV in double precision, so that a change does not hide in an offset of 10 000 eV."""

TIMES_NOISE = 10.0
"""A noisy model may also differ by this factor times its noise."""


class Answer(NamedTuple):
    """A structure with the answer that the store has."""

    structure: Structure
    point: Point


def require_same_answers(
    runner: Runner,
    stored: Mapping[str, Outcome],
    jobs: Iterable[Job],
    noise: tuple[float, float] = (0.0, 0.0),
    deadline: float | None = None,
) -> None:
    """Ask a model again for some stored structures; an `AssayError` if it gives other answers than the stored ones.

    Args:
        runner: the runner of the model.
        stored: the outcomes that the store had before this run.
        jobs: the jobs of this run; those with a stored outcome are candidates.
        noise: the noise of the model (eV, eV/Å).
        deadline: seconds for the answers, in place of the deadline of the cost model.
    """
    answers = chosen_answers(runner, stored, jobs)
    if not answers:
        return
    outcome = _ask(runner, SinglePoints(tuple(answer.structure for answer in answers), alone=True), deadline)
    if outcome is not None and outcome.status == ERROR:
        raise AssayError(
            f"'{runner.model.name}' does not answer ({outcome.reason}), so its results in '{runner.store.folder}' "
            f"cannot be compared with it; mend the model, or read them with 'assay score {runner.store.folder}'"
        )
    if outcome is None or "natoms" not in outcome.values:
        return  # the worker was lost; the run itself will report it
    single = _in_single_precision(answer.point for answer in answers)
    for answer, point in zip(answers, outcome.points(), strict=True):
        if change := difference(answer.point, point, noise, single):
            formula = "".join(symbol(int(z)) for z in answer.structure.numbers)
            raise AssayError(
                f"'{runner.model.name}' has changed since its results in '{runner.store.folder}' were computed: "
                f"{change} for {formula}; give --fresh to compute all of them again, or another folder with -o"
            )


def stored_noise(runner: Runner) -> tuple[float, float]:
    """The noise (eV, eV/Å) that an earlier survey of the model measured; zero if it did not."""
    survey = runner.store.read_model().get("survey")
    found = [
        survey.get(name) if isinstance(survey, dict) else None for name in ("noise_energy_eV", "noise_force_eV_per_A")
    ]
    energy, force = (float(value) if isinstance(value, int | float) else 0.0 for value in found)
    return energy, force


def surveyed_elements(card: ModelCard, elements: Sequence[int] | None = None) -> Iterable[SinglePoints]:
    """The jobs of a survey that ask about single elements: what every results folder has."""
    for number in elements or card.elements or range(1, HEAVIEST + 1):
        yield element_job(number, card)
        yield element_job(number, replace(card, pbc=("FFF",)))


def chosen_answers(runner: Runner, stored: Mapping[str, Outcome], jobs: Iterable[Job]) -> list[Answer]:
    """Small stored structures of two atoms or more that have, together, as many pairs of elements as possible.

    The pairs are counted for two atoms, for more, and for crystals: terms of three atoms do not show in a pair.
    """
    candidates = []
    for job in jobs:
        outcome = stored.get(runner.key(job)) if isinstance(job, SinglePoints) else None
        if isinstance(job, SinglePoints) and outcome is not None and "natoms" in outcome.values:
            candidates += [Answer(s, p) for s, p in zip(job.structures, outcome.points(), strict=True) if p.ok]
    candidates = [answer for answer in candidates if 1 < len(answer.structure) <= MOST_ATOMS]
    candidates.sort(key=lambda answer: len(answer.structure))
    kinds: dict[tuple[bool, bool], list[Answer]] = {}
    seen: set[tuple[bool, bool, int, int]] = set()
    for answer in candidates:
        kind = len(answer.structure) > 2, any(answer.structure.pbc)
        elements = sorted(set(answer.structure.numbers.tolist()))
        pairs = {(*kind, *pair) for pair in combinations_with_replacement(elements, 2)}
        if not pairs <= seen:
            kinds.setdefault(kind, []).append(answer)
            seen |= pairs
    return _some_of_each(list(kinds.values()))


def _some_of_each(kinds: list[list[Answer]]) -> list[Answer]:
    """The first answers of each kind in turn, `MOST_STRUCTURES` in all."""
    longest = max(map(len, kinds), default=0)
    mixed = [kind[place] for place in range(longest) for kind in kinds if place < len(kind)]
    return mixed[:MOST_STRUCTURES]


def _in_single_precision(points: Iterable[Point]) -> bool:
    """True if all energies are numbers of single precision."""
    return all(float(np.float32(point.energy)) == point.energy for point in points)


def difference(before: Point, now: Point, noise: tuple[float, float] = (0.0, 0.0), single: bool = True) -> str:
    """How two answers differ by more than rounding and noise explain, with the numbers; empty if they do not.

    `single` is false for a model whose energies are in double precision.
    """
    if not now.ok:
        return f"it answered, and now it does not ({now.reason})"
    rounding = SAME_ENERGY * max(abs(before.energy), 1.0) if single else SAME_ENERGY + SAME_DOUBLE * abs(before.energy)
    energy = rounding + TIMES_NOISE * noise[0]
    if abs(now.energy - before.energy) > energy:
        return f"the energy was {before.energy:.8g} eV and is {now.energy:.8g} eV"
    largest = float(np.abs(before.forces).max(initial=0.0))
    change = float(np.abs(now.forces - before.forces).max(initial=0.0))
    if change > SAME_FORCES * max(largest, 1.0) + TIMES_NOISE * noise[1]:
        return f"a force has changed by {change:.3g} eV/Å"
    return ""


def _ask(runner: Runner, job: SinglePoints, deadline: float | None) -> Outcome | None:
    """The new answers to a job. They are not kept: the results folder has the old ones, and nothing twice."""
    key = runner.key(job)
    bundle = make_bundle([(key, job)], runner.cost, deadline)
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        for _ in runner.executor.run([replace(bundle, scratch=Path(scratch))]):
            pass
        return Store.create(Path(scratch), "").outcomes().get(key)
