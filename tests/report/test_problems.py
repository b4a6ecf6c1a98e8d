"""Every reason is shown whole in a terminal of any width, and what went wrong is repeated at the end."""

from __future__ import annotations

import pytest

from assay.benchmarks.bases.records import outside_claims
from assay.configurations import cluster
from assay.data.dataset import Record
from assay.model import ModelCard
from assay.observation import MetricValue, Observation
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED
from assay.report.problems import problem_lines
from assay.report.table import as_html, as_text
from assay.results import BenchmarkResult, ModelResult
from assay.survey import Survey
from verdicts import result, verdict

JUMP = "fails for Al-Al: energy jump at an Al–Al distance of 5.877 Å: 0.0011 eV, allowed 0.0001; fails for Ni-Ni: NaN"
LOST = "not finished for Cu-cluster, Au-cluster (no answer within 41 s at a load of 17; give more with --timeout 120)"
REFUSED = "refused Pt-cluster (ValueError: distances below 0.5 Å are outside of the training data of this model)"


def case(name: str, status: str, reason: str, cause: str = "") -> Observation:
    return Observation(name, status, {}, reason, cause=cause)


def not_supported(*elements: str, charge: int = 0) -> str:
    """The words with which a benchmark says that a model for H, C and N does not support a molecule."""
    survey = Survey(ModelCard("m", elements=("H", "C", "N", *([] if charge == 0 else elements)), charge=False))  # type: ignore[arg-type]
    numbers = ModelCard("", elements=elements).elements  # type: ignore[arg-type]
    structure = cluster(numbers or ())
    return outside_claims(Record("r", (type(structure)(**{**structure.__dict__, "charge": charge}),)), survey)


CASES = [
    *(case(f"reaction_{i}", FAILED, f"not converged after 500 steps, largest force {i}.5 eV/Å") for i in range(1, 7)),
    case("broken_bond", FAILED, "at step 8: exploded: the temperature is 11251 K", "exploded"),
    case("slow", ERROR, "no answer within 41 s", "worker_lost"),
    case("large", ERROR, "not enough memory", "out_of_memory"),
    *(case(f"ion_{i}", UNSUPPORTED, not_supported("H", charge=1)) for i in range(3)),
    *(case(f"foreign_{e}", UNSUPPORTED, not_supported(e)) for e in ("S", "F", "S", "F")),
    case("odd", UNSUPPORTED, "the structures list their atoms in different orders"),
    case("good", OK, ""),
    case("hole", OK, "no wall: the energy is lowest at 0.18 Å, the shortest distance"),
]
METRIC = MetricValue("a_quantity_with_a_long_name_error", 1.2345, 0.01, "kcal/mol", 1.0, 0.5, (2, 19))
MEASURED = BenchmarkResult(
    "molecules.reactivity_neb", 1, None, None, (9, 19), [METRIC], CASES, [None] * len(CASES),
    data=[{"name": "some-set", "level": "ωB97M-D3(BJ)/def2-TZVP at geometries optimised with ωB97M-D3(BJ)/def2-SVP"}],
)  # fmt: skip
CHECKS = result(
    verdict("verification.energy_smooth", FAILED, False, mandatory=False, comment=JUMP, evaluated=100, refused=12),
    verdict("verification.deterministic", ERROR, None, comment=LOST),
    verdict("verification.translation_invariance", comment=REFUSED),
    verdict("verification.net_force_zero", comment=""),
    verdict("verification.unit_conversion", UNSUPPORTED, None, comment="this model supports only one set of units"),
)
MODEL = ModelResult("a-model-with-a-name", [*CHECKS.benchmarks, MEASURED])
GROUPS = (
    "6 (reaction_1, reaction_2, reaction_3, reaction_4 and 2 more): for example reaction_1: not converged after 500",
    "1 (broken_bond): at step 8: exploded: the temperature is 11251 K",
    "2 of 19 cases not finished: 1 (slow): no answer within 41 s; 1 (large): not enough memory",
    "4 with F or S (foreign_S, foreign_F, foreign_S, foreign_F); 3 ions (ion_0, ion_1, ion_2); 1 (odd): the structures",
    "noted: hole: no wall: the energy is lowest at 0.18 Å",
    "data some-set (ωB97M-D3(BJ)/def2-TZVP at geometries optimised with",
)


def flat(text: str) -> str:
    """The text in one line."""
    return " ".join(text.split())


@pytest.mark.parametrize("width", [40, 60, 80, 109, 110, 200])
def test_every_reason_is_whole_and_every_problem_is_repeated_at_the_end(width: int) -> None:
    text = as_text(MODEL, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for part in (REFUSED, "this model supports only one set of units"):
        assert part in flat(text) or width >= 110  # in a cell of a wide table, a reason has borders between its words
    for part in GROUPS:
        assert part in flat(text)
    end = flat(text)[-len(flat(" ".join(problem_lines([MODEL])))) :]
    assert end == flat(" ".join(problem_lines([MODEL])))
    assert end.startswith(f"FAIL energy_smooth: {JUMP} error deterministic: {LOST} failed molecules.reactivity_neb: 7")


def test_a_narrow_terminal_leaves_out_columns_and_never_rows() -> None:
    header = {width: as_text(CHECKS, width).splitlines()[2] for width in (60, 80, 150)}
    assert "comment" in header[150]
    assert "comment" not in header[80]
    assert "tolerance" not in header[60]
    for text in (as_text(CHECKS, 60), as_text(CHECKS, 150)):
        assert all(v.name.partition(".")[2] in text for v in CHECKS.verdicts)


def test_a_notebook_shows_the_same_reasons() -> None:
    page = as_html(MODEL)
    assert all(line in page for line in problem_lines([MODEL]))


def test_of_several_models_every_problem_names_its_model() -> None:
    assert {line.split()[1] for line in problem_lines([MODEL, MODEL])} == {"a-model-with-a-name:"}


def test_a_benchmark_without_a_single_case_that_counts_takes_one_row() -> None:
    nothing = BenchmarkResult("molecules.tautomers", 1, None, None, (0, 1), [METRIC], CASES[-6:-5], [None])
    assert METRIC.name not in as_text(ModelResult("model", [nothing]))
