"""Tables and sentences for people: everything that a model can name is escaped."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from assay.api import Report
from assay.benchmarks.bases.check import Verdict
from assay.outcome import ERROR, FAILED, UNSUPPORTED
from assay.report.table import as_html, as_text, print_scores
from assay.report.verdict import summary_line
from assay.results import ModelResult
from verdicts import EVIL, result, verdict


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_nothing_that_a_model_says_becomes_html(hostile: ModelResult) -> None:
    page = as_html(hostile)
    assert "<script" not in page
    tags = Tags()
    tags.feed(page)
    assert tags.tags == {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert tags.text.count(EVIL) == 4  # two comments, the name, and the reason of the failure at the end


def test_nothing_that_a_model_says_becomes_colour_or_layout(hostile: ModelResult) -> None:
    assert as_text(hostile, width=400).count(EVIL) == 5  # title, two comments, summary, reason at the end
    stream = io.StringIO()
    print_scores([hostile], "[red]suite[/red]", Console(file=stream, width=400))
    assert "[red]suite[/red]" in stream.getvalue()
    assert EVIL in stream.getvalue()


def test_the_table_has_a_line_for_every_check(sound_report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    text = as_text(sound_report.result)
    assert text == str(sound_report)
    for row in sound_report.result.verdicts:
        name = row.name.rpartition(".")[2] + ("*" if row.mandatory else "")
        assert re.search(rf"│ {re.escape(name)} +│ +(pass|—) ", text)
    assert summary_line(sound_report.result) in text.replace("\n", " ")
    assert "works in float64; noise floor" in text


def test_the_table_shows_what_failed(broken_report: Report) -> None:
    text = as_text(broken_report.result)
    assert re.search(r"forces_match_energy\* +│ +FAIL +│ +F +│", text)
    assert "is NOT sound: forces_match_energy" in text


GOOD = verdict("a.b")
BAD = verdict("a.c", FAILED, False)
LOST = verdict("a.d", ERROR, None)


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ([GOOD], "model passes the mandatory check. (* mandatory)"),
        ([GOOD, verdict("a.c")], "model passes all 2 mandatory checks. (* mandatory)"),
        ([GOOD, BAD], "model is NOT sound: c failed (1 of 2 mandatory checks). (* mandatory)"),
        ([BAD, LOST], "model is NOT sound: c failed (1 of 2 mandatory checks, 1 not finished: d). (* mandatory)"),
        ([GOOD, LOST], "model: no verdict, 1 of 2 mandatory checks not finished: d. (* mandatory)"),
        (
            [GOOD, verdict("a.c"), verdict("a.e", UNSUPPORTED, None)],
            "model passes all 2 mandatory checks that apply. (1 does not apply; * mandatory)",
        ),
        (
            [GOOD, verdict("a.c"), replace(BAD, name="a.e", mandatory=False)],
            "model passes all 2 mandatory checks; 1 graded check failed: e. (* mandatory)",
        ),
        (
            [GOOD, BAD, replace(BAD, name="a.e", mandatory=False), replace(LOST, mandatory=False)],
            "model is NOT sound: c failed (1 of 2 mandatory checks); 1 graded check failed: e; "
            "1 graded check not finished: d. (* mandatory)",
        ),
        ([replace(GOOD, mandatory=False)], "model: no mandatory check was asked for; 1 graded check passed."),
        ([verdict("a.b", UNSUPPORTED, None)], "model: no mandatory check applies. (1 does not apply; * mandatory)"),
    ],
)
def test_one_line_says_whether_the_model_is_sound(verdicts: list[Verdict], words: str) -> None:
    assert summary_line(result(*verdicts)) == words


def test_scores_of_several_models_stand_side_by_side(sound_report: Report, broken_report: Report) -> None:
    fewer = replace(broken_report.result, benchmarks=broken_report.result.benchmarks[1:])
    stream = io.StringIO()
    print_scores([sound_report.result, fewer], "smoke", Console(file=stream, width=150, no_color=True))
    lines = {line.split("│")[1].strip(): line for line in stream.getvalue().splitlines() if line.startswith("│")}
    assert "not run" in lines[broken_report.result.benchmarks[0].name]  # missing is never a zero
    assert lines["verification.unit_conversion"].count("—") == 2
    assert re.search(r"pass [A-D] \(4/4\) │.*FAIL F \(4/4\) │", lines["verification.forces_match_energy"])
    assert "mean" in lines


def test_in_a_narrow_terminal_comments_stand_below_the_table(broken_report: Report) -> None:
    lines = as_text(broken_report.result, width=80).splitlines()
    assert max(map(len, lines)) <= 80
    (failed,) = [v for v in broken_report.result.verdicts if v.name.endswith("forces_match_energy")]
    text = " ".join(" ".join(lines).split())
    assert f"forces_match_energy: {failed.comment}" in text
    header = next(line for line in lines if "grade" in line)
    assert "comment" not in header
    assert "cases" in header
