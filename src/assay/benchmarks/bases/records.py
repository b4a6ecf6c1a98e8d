"""The base of benchmarks on reference data: each record of a data set becomes a case.

A subclass names the `kind` of data and writes `compare`; `jobs_of` and `context_of` have defaults for single points
and reference energies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.benchmark import Benchmark, Case, Scope, failed
from assay.benchmarks.bases.points import refusals, silence
from assay.configurations import symbol
from assay.data.dataset import EMBEDDED, Card, DataSet, Record
from assay.errors import AssayError, Cause
from assay.jobs import Job, SinglePoints
from assay.observation import ELEMENTS, Metric, Observation
from assay.outcome import OK, Outcome
from assay.structure import Floats, Structure
from assay.survey import Survey
from assay.units import KCAL

POINTS, CHARGE = "points", "charge"
"""Roles of jobs: the structures of the record, and one of them with its charge and without."""

SAME_ENERGY = 1e-6
"""An ion and the neutral molecule whose energies (eV) differ by less have the same energy."""

CHARGE_IGNORED = Metric("charge_ignored", "1", optional=True)
LITERAL = Metric("literal_score", "1", ideal=1.0, counts_failed=True, failed_value=0.0)
"""The score by the words of the publication, reported where the score of Assay is defined in another way."""

IGNORES = "ignores the charge: the ion has the energy of the neutral molecule"


@dataclass(frozen=True)
class RecordBenchmark(Benchmark):
    """A benchmark whose cases are the records of all data sets of one kind.

    `records` takes only that number of records from each embedded set, evenly spread, for quick suites. Data that the
    user chose is always taken whole.
    """

    needs_noise: ClassVar[bool] = False
    has_null: ClassVar[bool] = True
    catches: ClassVar[tuple[str, ...]] = (
        "zero_force", "constant_energy", "frozen", "pure_noise", "wrong_units", "mixed_units", "too_stiff", "too_soft",
        "raises",
    )  # fmt: skip
    optional: ClassVar[tuple[str, ...]] = (CHARGE,)
    kind: ClassVar[str] = ""
    """The kind of data, one of `assay.data.kinds.KINDS`."""

    use: ClassVar[str] = ""
    """Of several files of one kind, the one that is meant for this benchmark."""

    records: int | None = None

    def __post_init__(self) -> None:
        if self.records is not None and self.records < 1:
            raise AssayError(f"benchmark '{self.name}' cannot take '{self.records}' records; give 1 or more")

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """The jobs of a record by role; by default single points of its structures."""
        return {POINTS: SinglePoints(tuple(survey.placed(s) for s in record.structures))}

    def context_of(self, record: Record) -> dict[str, object]:
        """What `compare` needs beside the outcomes; by default the reference energies in kcal/mol."""
        return {"reference": in_kcal(record)}

    def obstacle(self, record: Record, survey: Survey) -> str:
        """Why this benchmark cannot ask about a record; empty if it can."""
        return ""

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The numbers of a case against its reference."""
        raise AssayError(f"benchmark '{self.name}' compares nothing; give it a method 'compare'")

    def literal(self, case: Case, outcomes: Mapping[str, Outcome]) -> float | None:
        """The score of a case by the words of the publication; None where that is the score of this benchmark."""
        return None

    def disqualified(self, case: Case, outcomes: Mapping[str, Outcome]) -> str:
        """Why the outcomes prove nothing, however well they fit: refused, or without physics. Empty if they do."""
        points = outcomes[POINTS].points() if POINTS in outcomes else []
        return refusals(points) or silence(points)

    def chosen(self, data: DataSet) -> list[Record]:
        """The records of a set that are asked about."""
        everything = list(data.records)
        if self.records is None or data.card.lane != EMBEDDED or self.records >= len(everything):
            return everything
        return [everything[round(place)] for place in np.linspace(0, len(everything) - 1, self.records)]

    def cases(self, scope: Scope) -> Iterator[Case]:
        """One case for each record; the sets of one kind follow each other."""
        seen: set[str] = set()
        for data in scope.data.read(self.kind, self.use):
            for record in self.chosen(data):
                name = record.id if record.id not in seen else f"{data.card.name}/{record.id}"
                seen.add(name)
                yield self._case(name, record, data.card, scope.survey)

    def without_cases(self, scope: Scope) -> Case:
        """Without data there is nothing to ask."""
        return Case("nothing", {}, unsupported=f"there is no data of kind '{self.kind}'", cause=Cause.NO_DATA)

    def _case(self, name: str, record: Record, card: Card, survey: Survey) -> Case:
        source = {"name": card.name, "level": card.level, "lane": card.lane, "sha256": card.sha256}
        context = {"data": source, ELEMENTS: elements_of(record), **self.context_of(record)}
        if unsupported := outside_claims(record, survey):
            cause = Cause.ELEMENTS if unsupported_elements(record, survey) else Cause.CHARGE
            return Case(name, {}, context, unsupported, cause=cause)
        if unsupported := self.obstacle(record, survey):
            return Case(name, {}, context, unsupported)
        jobs = self.jobs_of(record, survey)
        first = record.structures[0]
        if first.charge:
            jobs[CHARGE] = SinglePoints((survey.placed(first), survey.placed(neutral(first))))
        return Case(name, jobs, context)

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The comparison, unless the outcomes prove nothing; ions are also asked whether their charge matters."""
        reason = self.disqualified(case, outcomes)
        seen = failed(case, reason) if reason else with_charge(self.compare(case, outcomes), outcomes)
        literal = self.literal(case, outcomes)
        return seen if literal is None else replace(seen, values={**seen.values, LITERAL.name: literal})

    def observe_null(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The comparison alone: the thresholds must not be passed by a model without physics."""
        return self.compare(case, outcomes)


def in_kcal(record: Record) -> Floats:
    """The reference energies of a record in kcal/mol, with their own zero."""
    if record.energies is None:
        raise AssayError(f"record '{record.id}' has no reference energies, which this benchmark needs")
    return KCAL * np.array(record.energies)


def predicted(outcomes: Mapping[str, Outcome], role: str = POINTS) -> Floats:
    """The energies of single points in kcal/mol."""
    return KCAL * np.array([point.energy for point in outcomes[role].points()])


def neutral(structure: Structure) -> Structure:
    """The same atoms without their charge."""
    return replace(structure, charge=0, spin=spin_of(structure, 0))


def spin_of(structure: Structure, charge: int) -> int | None:
    """The lowest multiplicity that the number of electrons allows; None if the data says nothing about spin."""
    return None if structure.spin is None else 1 + (int(structure.numbers.sum()) - charge) % 2


def elements_of(record: Record) -> list[str]:
    """The symbols of the elements of a record, by rising atomic number."""
    return [symbol(z) for z in sorted({int(z) for structure in record.structures for z in structure.numbers})]


def unsupported_elements(record: Record, survey: Survey) -> list[int]:
    """Atomic numbers of a record that the model does not support."""
    present = {int(z) for structure in record.structures for z in structure.numbers}
    return sorted(present - set(survey.species))


def outside_claims(record: Record, survey: Survey) -> str:
    """Why the model does not support a record; empty if it does."""
    if missing := unsupported_elements(record, survey):
        return f"the model does not support {' '.join(symbol(z) for z in missing)}"
    charge = next((s.charge for s in record.structures if s.charge), 0)
    if charge and survey.card.charge is False:
        return f"the model does not support charges, and this is {charge:+d}"
    return ""


def small_molecules(scope: Scope, count: int, most_atoms: int) -> list[tuple[str, Structure]]:
    """The smallest ring molecule and free systems of the stability data that the model supports, `count` at most."""
    rings, systems = (
        [r for data in scope.data.read(kind) for r in data.records if not outside_claims(r, scope.survey)]
        for kind in ("rings", "stability")
    )
    smallest = sorted(rings, key=lambda record: (len(record.structures[0]), record.id))[:1]
    free = [r for r in systems if not any(r.structures[0].pbc) and len(r.structures[0]) <= most_atoms]
    return [(r.id, scope.survey.placed(r.structures[0])) for r in [*smallest, *free][:count]]


def with_charge(seen: Observation, outcomes: Mapping[str, Outcome]) -> Observation:
    """The observation of an ion, with `charge_ignored` 1 if its energy is that of the neutral molecule."""
    if CHARGE not in outcomes:
        return seen
    outcome = outcomes[CHARGE]
    points = outcome.points() if outcome.status == OK else []
    answered = len(points) == 2 and all(point.ok for point in points)
    ignored = answered and abs(points[0].energy - points[1].energy) <= SAME_ENERGY
    reason = "; ".join(filter(None, [seen.reason, IGNORES if ignored else ""]))
    return replace(seen, values={**seen.values, CHARGE_IGNORED.name: float(ignored)}, reason=reason)
