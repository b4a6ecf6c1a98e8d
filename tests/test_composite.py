"""The composite score of the publication: a plain mean over fourteen benchmarks, with its rule for elements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.benchmarks.registry import registered_benchmarks
from assay.composite import LITERAL, PAPER, Part, paper_composite
from assay.errors import Cause
from assay.gaps import Gap, Why
from assay.observation import MetricValue, Observation
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED
from assay.results import BenchmarkResult, ModelResult
from assay.score import mean_score
from verdicts import benchmark, result, verdict


def part(model: ModelResult, name: str) -> Part:
    (found,) = [part for part in paper_composite(model).parts if part.benchmark == name]
    return found


def with_literal_scores(name: str, *seen: Observation) -> BenchmarkResult:
    """A benchmark with own scores of 0.5 whose cases may have the score of the publication."""
    scores = [None if o.status in (UNSUPPORTED, ERROR) else 0.5 for o in seen]
    known = [score for score in scores if score is not None]
    metrics = [MetricValue("literal_score", None, None, "1", None, None)]
    finished = all(o.status != ERROR for o in seen)
    score = mean_score(known)[0] if finished else None
    return BenchmarkResult(name, 1, score, None, (len(known), len(seen)), metrics, seen, scores)


def test_the_fourteen_are_those_of_the_publication() -> None:
    assert len(PAPER) == len({member.title for member in PAPER}) == 14
    named = [member.benchmark for member in PAPER if member.benchmark]
    assert len(named) == len(set(named)) == 10
    assert set(named) <= set(registered_benchmarks())
    assert [member.benchmark for member in PAPER if member.skips_single_cases] == ["molecules.noncovalent_interactions"]


@pytest.mark.parametrize(
    "name",
    [
        "general.stability", "molecules.reference_geometry", "molecules.tautomers", "molecules.ring_planarity",
        "molecules.bond_lengths", "molecules.reactivity_neb",
    ],
)  # fmt: skip
def test_the_literal_score_stands_beside_every_score_that_differs_from_the_publication(name: str) -> None:
    assert LITERAL in [metric.name for metric in registered_benchmarks()[name].metrics]


def test_the_composite_is_the_plain_mean_over_the_benchmarks_that_are_there() -> None:
    model = ModelResult(
        "m",
        [
            *result(verdict("verification.net_force_zero")).benchmarks,
            benchmark("physicality.diatomics", {"H-H": 0.0}),  # not in the publication
            benchmark("molecules.tautomers", {"a": 0.2, "b": 0.4}),
            benchmark("molecules.dihedral_scan", {"a": 0.9}),
            benchmark("general.stability", {"a": 1.0}),
        ],
        not_run=[Gap("molecules.bond_lengths", Why.OUTDATED)],
    )
    composite = paper_composite(model)
    assert composite.score == composite.literal_score == pytest.approx((0.3 + 0.9 + 1.0) / 3)
    assert (len(composite.counted), len(composite.parts)) == (3, 14)
    why = {part.title: part.gap.why for part in composite.parts if part.gap is not None}
    assert why["Bond length distribution"] == Why.OUTDATED
    assert why["Ring planarity"] == Why.NOT_RUN
    assert why["Protein folding stability"] == why["Water radial distribution"] == Why.NOT_AVAILABLE
    assert len(why) == 11


def lacking(name: str, cause: Cause) -> BenchmarkResult:
    """A benchmark of three cases, of which the model does not support the second."""
    found = benchmark(name, {"a": 0.4, "b": None, "c": 0.8})
    seen = list(found.observations)
    return replace(found, observations=[seen[0], replace(seen[1], cause=cause, reason="lacks Br"), seen[2]])


def test_one_missing_element_skips_the_whole_benchmark() -> None:
    skipped = part(ModelResult("m", [lacking("molecules.tautomers", Cause.ELEMENTS)]), "molecules.tautomers")
    assert skipped.score is None
    assert skipped.gap == Gap("molecules.tautomers", Why.MISSING_ELEMENTS, "1 of 3 cases, the first: lacks Br")


def test_of_noncovalent_interactions_only_the_complexes_are_skipped() -> None:
    name = "molecules.noncovalent_interactions"
    counted = part(ModelResult("m", [lacking(name, Cause.ELEMENTS)]), name)
    assert (counted.score, counted.gap) == (pytest.approx(0.6), None)


def test_an_ion_is_no_missing_element() -> None:
    counted = part(ModelResult("m", [lacking("molecules.tautomers", Cause.CHARGE)]), "molecules.tautomers")
    assert (counted.score, counted.gap) == (pytest.approx(0.6), None)


def test_the_score_of_the_publication_stands_beside_that_of_the_benchmark() -> None:
    found = with_literal_scores(
        "molecules.bond_lengths",
        Observation("a", OK, {"literal_score": 1.0}),
        Observation("b", OK, {"literal_score": 0.3}),
        Observation("failed here, not there", FAILED, {"literal_score": 0.7}),
        Observation("failed", FAILED),
        Observation("an ion", UNSUPPORTED, cause=Cause.CHARGE),
    )
    model = ModelResult("m", [found, benchmark("molecules.dihedral_scan", {"a": 1.0})])
    bonds = part(model, "molecules.bond_lengths")
    assert (bonds.score, bonds.literal, bonds.differs) == (0.5, pytest.approx((1.0 + 0.3 + 0.7 + 0.0) / 4), True)
    composite = paper_composite(model)
    assert (composite.score, composite.literal_score) == (pytest.approx(0.75), pytest.approx(0.75))
    scan = part(model, "molecules.dihedral_scan")
    assert (scan.score, scan.literal, scan.differs) == (1.0, 1.0, False)


def test_a_literal_score_that_is_not_finite_is_zero() -> None:
    found = with_literal_scores("molecules.bond_lengths", Observation("a", OK, {"literal_score": float("nan")}))
    assert part(ModelResult("m", [found]), "molecules.bond_lengths").literal == 0.0


def test_a_benchmark_that_is_not_finished_does_not_count() -> None:
    found = with_literal_scores(
        "molecules.bond_lengths", Observation("a", OK, {"literal_score": 1.0}), Observation("b", ERROR, reason="died")
    )
    gap = part(ModelResult("m", [found]), "molecules.bond_lengths").gap
    assert gap is not None
    assert (gap.why, gap.reason) == (Why.NOT_FINISHED, "1 of 2 cases, the first: died")


def test_a_run_too_short_for_a_score_does_not_count() -> None:
    found = with_literal_scores("general.stability", Observation("a", OK, {"literal_score": 0.5}))
    short = part(ModelResult("m", [replace(found, score=None, case_scores=[None])]), "general.stability")
    assert short.score is None
    assert short.gap is not None
    assert short.gap.why == Why.NOT_SCORED
