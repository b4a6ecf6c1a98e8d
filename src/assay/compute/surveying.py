"""Measures what a model supports before any benchmark runs: elements, spacing of atoms, precision, noise.

The survey consists of jobs, which are run in workers, stored and resumed like the jobs of benchmarks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.compute.clock import is_cpu
from assay.compute.runner import Runner
from assay.configurations import boxed, cluster, crystal, dimer, symbol
from assay.errors import INVALID, AssayError, Cause
from assay.jobs import Data, Probe, SinglePoints
from assay.model import PERIODIC_PATTERNS, ModelCard, claims_card
from assay.outcome import ERROR, OK, Outcome
from assay.structure import Structure
from assay.survey import MIXED_SPECIES, Subject, Survey, repeats_job, sample_species

HEAVIEST = 118


def make_survey(
    runner: Runner, all_species: bool = False, elements: Sequence[int] | None = None, noise: bool = True
) -> Survey:
    """Survey a model in four steps: first contact, elements, spacing of atoms, noise floor.

    The last step is left out if no benchmark needs the `noise` floor, unless the store already has it.
    """
    card = runner.model.card
    survey = make_contact(runner, replace(card, elements=tuple(elements)) if elements else card)
    if survey.contact_error:
        return survey
    survey = _elements(runner, survey)
    survey = _spacings(runner, survey, all_species)
    return _noise(runner, survey, noise)


def contact_job(card: ModelCard) -> Probe:
    """The first job: dimers of a few common elements, or of elements that the model claims."""
    numbers = (card.elements or (1, 29, 6, 18, 79))[:5]
    pairs = [dimer(z, z) for z in numbers]
    if card.pbc is None or "FFF" not in card.pbc:
        pairs += [boxed(pair) for pair in pairs[:2]]
    return Probe("contact", tuple(pairs), force_calls=len(pairs))


def make_contact(runner: Runner, card: ModelCard) -> Survey:
    """Build the model and evaluate once: what it supports, and how long an evaluation takes alone and in a batch."""
    job = contact_job(card)
    runner.complete([job], "first contact", deadline=runner.cost.contact_deadline)
    outcome = runner.known.get(runner.key(job))
    if outcome is None or outcome.status != OK:
        reason = outcome.reason if outcome is not None else runner.gave_up
        if outcome is not None and outcome.cause == Cause.NOT_BUILT:
            raise AssayError(reason)
        return Survey(card, contact_error=reason or "the first contact gave no result")
    runner.cost.record_load_time(_start_seconds(outcome) + _seconds(outcome))
    runner.cost.build_seconds = float(outcome.values.get("seconds_to_build", 0.0))
    seconds_per_call = outcome.values.get("seconds_per_call")
    claims = outcome.values.get("claims")
    if claims is not None and card.elements is None:
        card = claims_card(card.name, claims)
    batched, used = outcome.values.get("seconds_per_batched_call"), outcome.values.get("used")
    precision_and_device = {str(k): str(v) for k, v in used.items()} if isinstance(used, Mapping) else {}
    seconds_in_batch = max(float(batched), 1e-5) if isinstance(batched, float) else None
    if isinstance(seconds_per_call, float):
        runner.cost.record_small_structures(max(seconds_per_call, 1e-4), seconds_in_batch)
    return Survey(
        card,
        stress=bool(outcome.values["stress"]),
        seconds_per_batched_call=seconds_in_batch,
        used=precision_and_device,
        precision=judged_precision(card.precision or precision_and_device.get("precision", "")),
    )


def _seconds(outcome: Outcome) -> float:
    """The time of a job: CPU time, or wall time for a model on an accelerator, where the CPU only waits."""
    times = [outcome.provenance.get(name, 0.0) for name in ("cpu_seconds", "started", "finished")]
    cpu, start, end = (float(t) if isinstance(t, int | float) else 0.0 for t in times)
    return max(cpu if is_cpu(str(outcome.provenance.get("device", ""))) else end - start, 0.0)


def _start_seconds(outcome: Outcome) -> float:
    """CPU time of the process that ran this job, before its first job; 0 if it was no worker."""
    seconds = outcome.provenance.get("start_seconds", 0.0)
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def element_job(number: int, card: ModelCard) -> SinglePoints:
    """An atom and a dimer of an element and, unless the model claims no periodicity, the dimer in a periodic box."""
    isolated = (Structure.build([number], [[0.0, 0.0, 0.0]]), dimer(number, number))
    if card.pbc is not None and not set(card.pbc) - {"FFF"}:
        return SinglePoints(isolated, alone=True)
    return SinglePoints((*isolated, boxed(isolated[1])), alone=True)


def _elements(runner: Runner, survey: Survey) -> Survey:
    jobs = {z: element_job(z, survey.card) for z in range(1, HEAVIEST + 1)}
    runner.complete(jobs.values(), "elements")
    answered, refused, invalid, lost, patterns = [], {}, {}, {}, {"FFF": 0, "TTT": 0}
    refused_alone, lone = [], {}
    calls, seconds = 0, 0.0
    for z, job in jobs.items():
        outcome = runner.known.get(runner.key(job))
        if outcome is None or outcome.status == ERROR:
            lost[z] = outcome.reason if outcome is not None else runner.gave_up
            continue
        points = outcome.points()
        calls, seconds = calls + len(points), seconds + _seconds(outcome)
        pairs = points[1:]
        invalid_result = next((p.reason for p in points if p.cause in INVALID), "")
        if invalid_result:
            invalid[z] = invalid_result
        elif any(p.ok for p in points):
            answered.append(z)
            refused_alone += [z] if not points[0].ok else []
            answers = [point.energy / count for point, count in zip(points, (1, 2, 2), strict=False) if point.ok]
            lone[z] = answers[0]
            for name, point in zip(("FFF", "TTT"), pairs, strict=False):
                patterns[name] += point.ok
        else:
            refused[z] = pairs[0].reason
    claimed = survey.card.pbc
    measured = [name for name, count in patterns.items() if 2 * count > len(answered)]
    if answered and not any(patterns.values()):
        measured = list(patterns)  # two atoms are refused; larger structures show which directions are supported
    pbc = claimed if claimed is not None else (*measured, *(PERIODIC_PATTERNS[1:] if "TTT" in measured else ()))
    seconds_per_call = max(seconds / max(calls, 1), 1e-4)
    runner.cost.record_small_structures(seconds_per_call, survey.seconds_per_batched_call)
    return replace(
        survey,
        answered=tuple(answered),
        refused=refused,
        invalid=invalid,
        lost=lost,
        refused_alone=tuple(refused_alone),
        lone_energies=lone,
        pbc=pbc,
        seconds_per_call=seconds_per_call,
    )


def _spacings(runner: Runner, survey: Survey, all_species: bool) -> Survey:
    species = sample_species(survey.usable, all_species)
    kinds: list[tuple[int, ...]] = [(z,) for z in species]
    if len(species) > 1:
        kinds.append(tuple(_spread(species, MIXED_SPECIES)))
    jobs = {kind: _spacing_job(kind, survey) for kind in kinds}
    runner.complete(jobs.values(), "spacings")
    subjects, timing = [], []
    for kind, job in jobs.items():
        outcome = runner.known.get(runner.key(job))
        subjects.append(
            _subject(kind, outcome, "FFF" in survey.pbc or "TTT" in survey.pbc, bool(survey.periodic_patterns))
        )
        if outcome is not None and outcome.status == OK:
            timing.append(_seconds(outcome) / max(sum(int(row["tries"]) for row in _rows(outcome)), 1))
    seconds_per_call = max(float(np.mean(timing)), 1e-4) if timing else survey.seconds_per_call
    runner.cost.record_small_structures(seconds_per_call, survey.seconds_per_batched_call)
    return replace(survey, subjects=tuple(subjects), seconds_per_call=seconds_per_call)


def _spread(species: Sequence[int], count: int) -> list[int]:
    """`count` of the species, evenly spaced from light to heavy."""
    places = np.linspace(0, len(species) - 1, min(count, len(species)))
    return [species[round(p)] for p in places]


def _spacing_job(kind: tuple[int, ...], survey: Survey) -> Probe:
    body = cluster(kind)
    structures = [survey.placed(body)]
    if survey.periodic_patterns:
        structures.append(crystal(kind, pbc=survey.periodic_patterns[0]))
    return Probe("spacing", tuple(structures), force_calls=4 * len(structures))


def _rows(outcome: Outcome) -> list[Data]:
    rows = outcome.values.get("rows", [])
    return list(rows) if isinstance(rows, list) else []


def _subject(kind: tuple[int, ...], outcome: Outcome | None, has_cluster: bool, has_crystal: bool) -> Subject:
    label = symbol(kind[0]) if len(kind) == 1 else "".join(symbol(z) for z in kind)
    rows = _rows(outcome) if outcome is not None and outcome.status == OK else []
    factors = [float(row["factor"]) if row["max_force"] is not None else None for row in rows]
    forces = [float(row["max_force"]) for row in rows if row["max_force"] is not None]
    reason, cause = next(
        ((str(row["reason"]), str(row["cause"])) for row in rows if row["reason"]),
        ("", "") if rows else (outcome.reason, outcome.cause) if outcome is not None else ("not run", Cause.NOT_RUN),
    )
    return Subject(
        label,
        kind,
        factors[0] if factors and has_cluster else None,
        factors[1] if len(factors) > 1 and has_crystal else None,
        max(forces, default=None),
        reason,
        outcome is None or outcome.status == ERROR,
        cause,
    )


def _noise(runner: Runner, survey: Survey, needed: bool) -> Survey:
    job = repeats_job(survey)
    if job is None or not (needed or runner.key(job) in runner.known):
        return survey
    runner.complete([job], "noise floor")
    outcome = runner.known.get(runner.key(job))
    if outcome is None or outcome.status != OK:
        return survey
    tests = outcome.values["tests"]
    energy = max(float(np.max(tests[name]["energy"])) for name in ("repeat", "order"))
    force = max(float(np.max(tests[name]["forces"])) for name in ("repeat", "order"))
    used = judged_precision(survey.used.get("precision", ""))
    single = bool(outcome.values["single_precision"]) or used == "float32"
    measured = "float32" if single or rounds_as_single(survey, job, outcome.values, (energy, force)) else "float64"
    return replace(
        survey,
        noise_energy=energy,
        noise_force=force,
        precision=judged_precision(survey.card.precision or measured),
        measured_precision=measured,
        noise_measured=True,
    )


def judged_precision(name: str) -> str:
    """The precision by which a model is judged: "float64" where nothing else is known, "float32" for all lower ones."""
    return "float64" if name in ("", "float64", "double") else "float32"


SINGLE = 1.2e-7
"""Spacing of numbers near 1 in single precision."""

ROUGH_ENERGY, ROUGH_FORCE = (0.003, 30.0), (0.003, 100.0)
"""Roughness, in units of that spacing times the energy or the largest force, that single precision explains: a single
rounding at the end gives 0.3, a sum of rounded terms less, and a network with many layers up to ten. Double precision
gives less than 1e-6. The upper limit counts at least 1 eV per atom and 1 eV/Å, because larger terms may cancel."""


def rounds_as_single(survey: Survey, job: Probe, values: Data, noise: tuple[float, float]) -> bool:
    """True if energy and forces are as rough under tiny displacements as computing in single precision makes them.

    A model that is wrong but smooth is not; nor is one that gives different results each time, up to a `noise` (eV,
    eV/Å) of that size, nor one whose energy alone is rounded, nor one whose numbers have passed through text.
    """
    rows = values.get("rounding")
    if not isinstance(rows, Mapping):
        return False
    places = np.asarray(rows["index"], dtype=int)
    structures = [job.structures[int(np.asarray(values["indices"])[i])] for i in places]
    atoms = np.array([len(s) for s in structures])
    totals, lone = np.asarray(values["scale"])[places], np.array([survey.lone_energy(s) for s in structures])
    bound = np.abs(totals - np.abs(atoms * lone))
    sizes, largest = np.maximum(bound, atoms), np.asarray(values["max_force"])[places]
    forces = np.maximum(largest, 1.0)
    energy, force = np.asarray(rows["energy"]), np.asarray(rows["forces"])
    if np.any(rows.get("decimals", False)) or np.median(energy) < 10.0 * noise[0] or np.median(force) < 10.0 * noise[1]:
        return False
    most = np.maximum(ROUGH_ENERGY[1] * sizes, totals)  # a total that is itself rounded has the error of the total
    explained = np.median(energy / most) <= SINGLE and np.median(force / forces) <= ROUGH_FORCE[1] * SINGLE
    return bool(
        explained
        and np.median(energy - ROUGH_ENERGY[0] * SINGLE * bound) > 0.0
        and np.median(force - ROUGH_FORCE[0] * SINGLE * largest) > 0.0
    )
