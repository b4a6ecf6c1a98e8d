"""Composite scores of publications. `paper`: that of MLIPAudit, over its fourteen benchmarks.

The publication skips a benchmark as a whole if its data has elements that the model does not support; only of
non-covalent interactions it skips single complexes. The composite is the plain mean over the benchmarks that are left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.benchmarks.registry import registered_benchmarks
from assay.errors import Cause
from assay.gaps import Gap, Why, gap_of
from assay.observation import Observation
from assay.outcome import FAILED, UNSUPPORTED
from assay.results import BenchmarkResult, ModelResult
from assay.score import mean_score

LITERAL = "literal_score"
"""The value of a case that is its score by the words of the publication, where Assay defines its own differently."""


@dataclass(frozen=True)
class Member:
    """A benchmark of the publication, and the benchmark here that computes the same; empty if there is none."""

    title: str
    benchmark: str = ""
    skips_single_cases: bool = False
    """True where only the cases with unsupported elements are skipped, not the benchmark."""


PAPER = (
    Member("General stability", "general.stability"),
    Member("Reference geometry stability", "molecules.reference_geometry"),
    Member("Non-covalent interactions", "molecules.noncovalent_interactions", skips_single_cases=True),
    Member("Dihedral scan", "molecules.dihedral_scan"),
    Member("Conformer selection", "molecules.conformer_selection"),
    Member("Tautomers", "molecules.tautomers"),
    Member("Ring planarity", "molecules.ring_planarity"),
    Member("Bond length distribution", "molecules.bond_lengths"),
    Member("Reactivity-TST", "molecules.reactivity_tst"),
    Member("Reactivity-NEB", "molecules.reactivity_neb"),
    Member("Water radial distribution"),
    Member("Solvent radial distribution"),
    Member("Protein folding stability"),
    Member("Protein sampling outliers"),
)
"""The fourteen. Give the name of a benchmark here as soon as there is one."""


@dataclass(frozen=True)
class Part:
    """One benchmark of a composite: its score for a model, or the reason why it does not count."""

    title: str
    benchmark: str
    score: float | None = None
    """The score of the benchmark."""

    literal: float | None = None
    """The score by the words of the publication; the same number where the definitions are the same."""

    differs: bool = False
    """True where the publication defines the score in another way."""

    gap: Gap | None = None
    """Why there is no score."""


@dataclass(frozen=True)
class Composite:
    """A composite score of one model, with all benchmarks of the publication."""

    name: str
    parts: Sequence[Part]

    @property
    def counted(self) -> list[Part]:
        """The benchmarks that have a score."""
        return [part for part in self.parts if part.score is not None]

    @property
    def score(self) -> float | None:
        """The plain mean over the benchmarks that have a score; None without any."""
        return mean_score([part.score for part in self.parts if part.score is not None])[0]

    @property
    def literal_score(self) -> float | None:
        """The mean of the scores by the words of the publication, over the same benchmarks."""
        return mean_score([part.literal for part in self.counted if part.literal is not None])[0]


def paper_composite(model: ModelResult, members: Sequence[Member] = PAPER) -> Composite:
    """The composite of the publication for one model."""
    return Composite("paper", [_part(member, model) for member in members])


def _part(member: Member, model: ModelResult) -> Part:
    """The score of one benchmark, or why it does not count."""
    title, name = member.title, member.benchmark
    result = next((b for b in model.benchmarks if b.name == name), None)
    gap = _gap(member, model, result)
    if gap is not None or result is None:
        return Part(title, name, gap=gap)
    differs = any(metric.name == LITERAL for metric in result.metrics)
    return Part(title, name, result.score, _literal_score(result) if differs else result.score, differs)


def _gap(member: Member, model: ModelResult, result: BenchmarkResult | None) -> Gap | None:
    """Why a benchmark does not count: not here, not run, not finished, or elements that the model does not support."""
    name = member.benchmark
    if result is None:
        if name not in registered_benchmarks():
            return Gap(name, Why.NOT_AVAILABLE)
        return next((gap for gap in model.not_run if gap.benchmark == name), Gap(name, Why.NOT_RUN))
    lacking = [o for o in result.observations if o.status == UNSUPPORTED and o.cause == Cause.ELEMENTS]
    if lacking and not member.skips_single_cases:
        reason = f"{len(lacking)} of {len(result.observations)} cases, the first: {lacking[0].reason}"
        return Gap(name, Why.MISSING_ELEMENTS, reason)
    return gap_of(result)


def _literal_score(result: BenchmarkResult) -> float | None:
    """The mean over cases of the score that the publication would give."""
    return mean_score([score for o in result.observations if (score := _case_score(o)) is not None])[0]


def _case_score(seen: Observation) -> float | None:
    """The publication's score of one case: a failed case without a value counts 0, an unsupported one not at all."""
    if seen.status == UNSUPPORTED:
        return None
    if LITERAL not in seen.values:
        return 0.0 if seen.status == FAILED else None
    value = seen.values[LITERAL]
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.0
