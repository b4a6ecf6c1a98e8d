"""Pages are made from docstrings and declarations, and what people wrote by hand agrees with the code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.api import run
from assay.errors import Cause
from assay.models import named_models
from assay.report.document import check_document, score_document

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "scripts"))

import agreement
from catalogue import categories, own_benchmarks
from docstrings import docstring_of, parse
from model_tables import family_table
from page import page
from tables import category_table, cause_table, suite_table

DOCSTRING = """Rings stay flat.

Electrons are shared.

Protocol: NVT at 300 K
from the reference.
- Every ring is watched: all of its atoms.
- rmsd, rmsd_max: distance from the plane. Good up to
  0.05 Å.
- Score of a ring: that of rmsd.
A ring that breaks fails.
Reference: flat rings.    Cite: nobody.
"""

BENCHMARKS = own_benchmarks()


def test_a_docstring_is_split_at_its_labels_and_at_its_metrics() -> None:
    text = parse(DOCSTRING, ["rmsd", "rmsd_max"])
    assert text.statement == "Rings stay flat."
    assert text.why == "Electrons are shared."
    assert text.protocol.splitlines() == [
        "NVT at 300 K from the reference.",
        "",
        "- Every ring is watched: all of its atoms.",
        "",
        "A ring that breaks fails.",
    ]
    assert [(item.names, item.text) for item in text.metrics] == [
        (("rmsd", "rmsd_max"), "distance from the plane. Good up to 0.05 Å.")
    ]
    assert [item.text for item in text.scores] == ["that of rmsd."]
    assert (text.reference, text.cite) == ("flat rings.", "nobody.")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_page_has_everything_that_its_benchmark_declares(name: str) -> None:
    benchmark = BENCHMARKS[name]
    text = page(name, benchmark)
    for metric in benchmark.metrics:
        (row,) = [
            line for line in text.splitlines() if line.startswith("|") and f"`{metric.name}`" in line.split("|")[1]
        ]
        names, units, thresholds = (cell.strip().split("<br>") for cell in row.split("|")[1:4])
        place = names.index(f"`{metric.name}`")
        assert units[place].strip() == ("" if metric.unit == "1" else metric.unit)
        assert thresholds[place] in (
            ("is a score", "reported") if metric.threshold is None else (f"{metric.threshold:.3g}",)
        )
        assert row.split("|")[-2].strip(), f"'{metric.name}' has no meaning"
    for plot in benchmark.plots:
        assert f"| {plot.title} | {plot.kind} |" in text
    for bug in benchmark.catches:
        assert f"[`{bug}`]" in text
    assert docstring_of(benchmark).reference in text
    assert "Protocol:" not in text


def test_every_benchmark_is_in_the_table_of_its_category() -> None:
    tables = {category: category_table(category) for category in categories()}
    for name in BENCHMARKS:
        category, _, short = name.partition(".")
        assert f"[`{short}`](benchmarks/{name}.md)" in tables[category]


def test_suites_causes_and_models_are_all_in_their_tables() -> None:
    assert "| `steps` | 2 000 | 20 000 | 1 000 000 |" in suite_table()
    assert all(f"| `{cause}` | " in cause_table() for cause in Cause if cause)
    assert "|  |" not in cause_table()
    assert all(f"`{name}`" in family_table() for name in named_models())


def test_every_key_of_the_json_documents_is_on_its_page() -> None:
    text = (agreement.DOCS / "json.md").read_text(encoding="utf-8")
    results = [run("emt", benchmarks=["net_force_zero"], workers=0, limit=1).result]
    (model,) = score_document(results, "smoke", detail=True)["models"]
    (benchmark,) = model["benchmarks"]
    pair = score_document([*results, *results], "smoke", composite=True)
    composite, comparison = pair["models"][0]["composite"], pair["comparison"]
    tables = (
        model, *model["categories"].values(), benchmark, *benchmark["metrics"], *benchmark["cases"],
        *check_document(results[0])["checks"], pair, composite, *composite["missing"], comparison,
        *comparison["models"],
    )  # fmt: skip
    for key in {key for table in tables for key in table}:
        assert f"`{key}`" in text or f'"{key}"' in text or f"`checks[].{key}`" in text, key


def test_what_is_written_by_hand_agrees_with_the_code() -> None:
    assert agreement.disagreements() == []


def test_a_page_that_disagrees_with_the_code_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in agreement.DOCS.glob("*.md")}
    (tmp_path / "docs" / "decisions").mkdir(parents=True)
    (tmp_path / "README.md").write_text("Exit codes: none.\n" * 101, encoding="utf-8")
    for name, text in pages.items():
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    wrong = pages["verification.md"].replace("1e-8 of", "1e-7 of")
    (tmp_path / "docs" / "verification.md").write_text(wrong, encoding="utf-8")
    (tmp_path / "docs" / "decisions" / "index.md").write_text("", encoding="utf-8")
    (tmp_path / "docs" / "decisions" / "new.md").write_text("", encoding="utf-8")
    monkeypatch.setattr(agreement, "DOCS", tmp_path / "docs")
    found = agreement.disagreements()
    assert "README.md has 101 lines; 100 are allowed" in found
    assert "docs/verification.md should say '1e-8 of the energy of binding'" in found
    assert "docs/decisions/index.md does not have 'new.md'" in found
