"""Categories, means, what is missing, and the comparison, as a reader sees them."""

from __future__ import annotations

import io
import re

from rich.console import Console

from assay.gaps import Gap, Why
from assay.report.categories import print_means
from assay.report.composite import print_composite
from assay.report.table import as_html, as_text
from assay.results import ModelResult
from verdicts import EVIL, benchmark, result, verdict

CHECK = result(verdict("verification.net_force_zero")).benchmarks
ONE = ModelResult(
    "one",
    [*CHECK, benchmark("molecules.x", {"a": 1.0, "b": 0.0}), benchmark("general.y", {"c": 0.4})],
)
TWO = ModelResult(
    "two",
    [benchmark("molecules.x", {"a": 0.6, "b": None})],
    not_run=[Gap("general.y", Why.NOT_RUN), Gap("general.z", Why.NOT_RUN), Gap("molecules.w", Why.NOT_RUN)],
)


def printed(*models: ModelResult, width: int = 150) -> str:
    stream = io.StringIO()
    print_means(models, Console(file=stream, width=width, no_color=True))
    return stream.getvalue()


def test_the_mean_says_over_how_many_benchmarks_it_is() -> None:
    text = printed(ONE, TWO)
    assert re.search(r"│ verification +│ +passed \(1 of 1 judged\) │ +not run │", text)
    assert re.search(r"│ molecules +│ +0\.50 ± 0\.50 \(1 of 1, 2/2\) │ +0\.60 \(1 of 2, 1/2\) │", text)
    assert re.search(r"│ general +│ +0\.40 \(1 of 1, 1/1\) │ +not run │", text)
    mean = r"│ mean +│ +0\.45 ± 0\.25 over 2 of 2 benchmarks │ +0\.60 over 1 of 4 benchmarks │"
    assert re.search(mean, text)
    assert "two, not run: all of general, molecules.w" in text


def test_models_stand_side_by_side_over_what_all_finished() -> None:
    text = printed(ONE, TWO)
    assert re.search(r"│ all finished: molecules +│ +1\.00 \(1, 1 cases\) │ +0\.60 \(1, 1 cases\) │", text)
    assert re.search(r"│ all finished: mean +│ +1\.00 over 1 benchmarks │ +0\.60 over 1 benchmarks │", text)
    assert "not compared, not run by two: general.y" in text
    assert "all finished" not in printed(ONE)
    assert "all finished: nothing" in printed(ONE, ModelResult("none", []))


def test_a_model_that_was_only_verified_has_no_mean() -> None:
    assert re.search(r"│ mean +│ +— │", printed(ModelResult("m", CHECK)))
    assert "1.00" not in printed(ModelResult("m", CHECK))


def test_a_failed_and_an_unfinished_certificate_differ() -> None:
    failed = result(verdict("verification.net_force_zero", "failed", False))
    unfinished = result(verdict("verification.net_force_zero", "error", None))
    assert "NOT passed (1 of 1 judged)" in printed(failed)
    assert "no verdict (0 of 1 judged)" in printed(unfinished)
    assert "model, not finished: verification.net_force_zero" in printed(unfinished)


def test_a_report_ends_with_categories_and_mean() -> None:
    for text in (as_text(ONE), as_html(ONE)):
        assert "0.45 ± 0.25 over 2 of 2 benchmarks" in text
    assert "two, not run: all of general, molecules.w" in as_html(TWO)
    assert "mean" not in as_html(ModelResult("m", CHECK))


def test_names_are_not_read_as_markup() -> None:
    evil = ModelResult(EVIL, ONE.benchmarks, not_run=TWO.not_run)
    assert EVIL in printed(evil, width=400)
    assert "<script" not in as_html(evil)


def test_the_composite_has_a_line_for_each_benchmark_and_the_total() -> None:
    stream = io.StringIO()
    model = ModelResult("m", [benchmark("molecules.tautomers", {"a": 0.5}), benchmark("general.stability", {"b": 1.0})])
    print_composite([model], Console(file=stream, width=100, no_color=True))
    text = stream.getvalue()
    assert re.search(r"│ Tautomers +│ +0\.50 │", text)
    assert re.search(r"│ Reactivity-NEB +│ +not run │", text)
    assert re.search(r"│ total +│ +0\.75 over 2/14 \(literal 0\.75\) │", text)
    assert text.count("not available") == 4
