"""What the benchmarks of molecules share: records become cases, refusals and silence fail, charges must matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np

from assay.benchmark import Benchmark, Case, Metric, MetricValue, Observation, Scope, ended_early
from assay.configurations import boxed, symbol
from assay.data.dataset import EMBEDDED, Card, DataSet, Record
from assay.errors import AssayError
from assay.jobs import Data, Job, SinglePoints
from assay.outcome import ERROR, FAILED, OK, Outcome, Point
from assay.structure import Floats, Structure
from assay.survey import Survey
from assay.units import KCAL

POINTS, CHARGE = "points", "charge"
"""Roles of jobs: the structures of the record, and one of them with its charge and without."""

SILENT_ENERGY, SILENT_FORCE = 1e-6, 1e-10  # eV, eV/Å; at its own minima a sound model has small forces, not none
SAME_ENERGY = 1e-6  # eV, between an ion and the neutral molecule
CHARGE_IGNORED = Metric("charge_ignored", "1")
IGNORES = "ignores the charge: the ion has the energy of the neutral molecule"


@dataclass(frozen=True)
class MoleculeBenchmark(Benchmark):
    """A benchmark whose cases are the records of the data sets of one kind.

    `records` takes so many of each embedded set, evenly spread, for quick suites; data that the user chose is always
    taken whole. A subclass writes `jobs_of`, `context_of` and `judge`.
    """

    needs_noise: ClassVar[bool] = False
    catches: ClassVar[tuple[str, ...]] = (
        "zero_force", "constant_energy", "frozen", "pure_noise", "wrong_units", "mixed_units", "too_stiff", "too_soft",
        "raises",
    )  # fmt: skip
    kind: ClassVar[str] = ""
    use: ClassVar[str] = ""
    """Of several files of one kind, the one that is meant for this benchmark."""

    optional: ClassVar[tuple[str, ...]] = (CHARGE,)
    """Roles of jobs that the model may refuse without failing the case."""

    rare: ClassVar[tuple[str, ...]] = (CHARGE_IGNORED.name,)
    """Metrics that are left out where no case has them."""

    records: int | None = None

    def __post_init__(self) -> None:
        if self.records is not None and self.records < 1:
            raise AssayError(f"benchmark '{self.name}' cannot take '{self.records}' records; give 1 or more")

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """What is asked about a record."""
        return {POINTS: SinglePoints(tuple(placed(s, survey) for s in record.structures))}

    def context_of(self, record: Record) -> dict[str, object]:
        """The reference, in the units in which it is reported."""
        return {"reference": in_kcal(record)}

    def judge(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """What the thresholds alone say about outcomes that are all there."""
        raise AssayError(f"benchmark '{self.name}' judges nothing; give it a method 'judge'")

    def obstacle(self, record: Record) -> str:
        """Why this benchmark cannot ask about a record; empty if it can."""
        return ""

    def witness(self, case: Case, outcomes: Mapping[str, Outcome]) -> str:
        """Why the outcomes show nothing, however well they fit: refused, or without physics. Empty if they do."""
        points = outcomes[POINTS].points() if POINTS in outcomes else []
        return refusals(points) or silence(points)

    def cases(self, scope: Scope) -> Iterable[Case]:
        """One case for each record; several sets of one kind follow each other."""
        survey = scope.survey
        if survey.contact_error:
            return [Case("contact", {}, lost=survey.contact_error)]
        made = list(islice(self._cases(scope.data.read(self.kind, self.use), survey), scope.limit))
        return made or [Case("nothing", {}, unsupported=f"no data of kind '{self.kind}'")]

    def _cases(self, sets: Sequence[DataSet], survey: Survey) -> Iterator[Case]:
        seen: set[str] = set()
        for data in sets:
            for record in self._chosen(data):
                name = record.id if record.id not in seen else f"{data.card.name}/{record.id}"
                seen.add(name)
                yield self._case(name, record, data.card, survey)

    def _chosen(self, data: DataSet) -> list[Record]:
        everything = list(data.records)
        if self.records is None or data.card.lane != EMBEDDED or self.records >= len(everything):
            return everything
        return [everything[round(place)] for place in np.linspace(0, len(everything) - 1, self.records)]

    def _case(self, name: str, record: Record, card: Card, survey: Survey) -> Case:
        source = {"name": card.name, "level": card.level, "lane": card.lane, "sha256": card.sha256}
        context = {"data": source, **self.context_of(record)}
        unsupported = self.obstacle(record) or outside_claims(record, survey)
        if unsupported:
            return Case(name, {}, context, unsupported)
        jobs = self.jobs_of(record, survey)
        first = record.structures[0]
        if first.charge:
            jobs[CHARGE] = SinglePoints((placed(first, survey), placed(neutral(first), survey)))
        return Case(name, jobs, context)

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The judgement, unless the model refused something, felt nothing, or was lost."""
        binding = {k: o for k, o in outcomes.items() if k not in self.optional or o.status == ERROR}
        seen = ended_early(case, binding)
        if seen is None:
            reason = self.witness(case, outcomes)
            seen = failed(case, reason) if reason else with_charge(self.judge(case, outcomes), outcomes)
        return replace(seen, detail={**seen.detail, "group": case.context.get("group", "")})

    def null_observation(self, case: Case) -> Observation | None:
        """What constant energy and no forces would get from the thresholds alone."""
        from assay.compute.protocols.null import null_outcome

        return self.judge(case, {role: null_outcome(job) for role, job in case.jobs.items()})

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """The mean of each metric; `charge_ignored` and its like only where a case has them."""
        seen = {name for o in observations for name in o.values}
        return [m for m in super().measure(observations) if m.name not in self.rare or m.name in seen]


def in_kcal(record: Record) -> Floats:
    """The reference energies of a record in kcal/mol, with their own zero."""
    if record.energies is None:
        raise AssayError(f"record '{record.id}' has no reference energies, which this benchmark needs")
    return KCAL * np.array(record.energies)


def predicted(outcomes: Mapping[str, Outcome], role: str = POINTS) -> Floats:
    """The energies of single points in kcal/mol."""
    return KCAL * np.array([point.energy for point in outcomes[role].points()])


def placed(structure: Structure, survey: Survey) -> Structure:
    """The structure in the open, or in a box for models that only know periodic systems."""
    return structure if "FFF" in survey.pbc or not survey.pbc else boxed(structure)


def spin_of(structure: Structure, charge: int) -> int | None:
    """The lowest multiplicity that the number of electrons allows; none if the data says nothing about spin."""
    return None if structure.spin is None else 1 + (int(structure.numbers.sum()) - charge) % 2


def neutral(structure: Structure) -> Structure:
    """The same atoms without their charge."""
    return replace(structure, charge=0, spin=spin_of(structure, 0))


def outside_claims(record: Record, survey: Survey) -> str:
    """Why the model is not asked about a record; empty if it is."""
    present = {int(z) for structure in record.structures for z in structure.numbers}
    missing = sorted(present - set(survey.species))
    if missing:
        return f"the model does not claim {' '.join(symbol(z) for z in missing)}"
    charge = next((s.charge for s in record.structures if s.charge), 0)
    if charge and survey.card.charge is False:
        return f"the model takes no charge, and this is {charge:+d}"
    return ""


def failed(
    case: Case, reason: str, values: Mapping[str, float] | None = None, detail: Data | None = None
) -> Observation:
    """A case that the model failed, which scores 0."""
    return Observation(case.id, FAILED, values or {}, reason, detail or {})


def refusals(points: Sequence[Point]) -> str:
    """How many structures have no answer, and why the first has none; empty if all have."""
    reasons = [point.reason for point in points if not point.ok]
    return f"{len(reasons)} of {len(points)} structures without an answer; the first: {reasons[0]}" if reasons else ""


def silence(points: Sequence[Point]) -> str:
    """Why answers show nothing, however well they fit: an energy or forces that never change. Empty if they do."""
    if not points:
        return ""
    if np.ptp([point.energy for point in points]) < SILENT_ENERGY:
        return f"the energy is the same for all {len(points)} structures"
    if max(float(np.abs(point.forces).max()) for point in points) < SILENT_FORCE:
        return f"there are no forces in any of {len(points)} structures"
    return ""


def with_charge(seen: Observation, outcomes: Mapping[str, Outcome]) -> Observation:
    """The observation of an ion, with the word whether its charge makes a difference."""
    if CHARGE not in outcomes:
        return seen
    outcome = outcomes[CHARGE]
    points = outcome.points() if outcome.status == OK else []
    answered = len(points) == 2 and all(point.ok for point in points)
    ignored = answered and abs(points[0].energy - points[1].energy) <= SAME_ENERGY
    reason = "; ".join(filter(None, [seen.reason, IGNORES if ignored else ""]))
    return replace(seen, values={**seen.values, CHARGE_IGNORED.name: float(ignored)}, reason=reason)
