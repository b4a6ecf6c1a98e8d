"""Write what the documentation takes from the code, and check what people wrote against it. `make docs` runs this.

Written into docs/benchmarks/ (not kept in git): a page for each benchmark, an index, the tables that other pages
insert, and the help texts of the command line. Then everything written by hand that the code can contradict is checked
(`agreement.py`): the exit code is 1, with one line for each place to correct, if something is out of date.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from agreement import DOCS, disagreements
from catalogue import categories, own_benchmarks
from kind_table import kind_table
from model_tables import family_table, model_tables
from page import page
from tables import broken_models, category_sentence, category_table, cause_table, composite_table, suite_table

OUTPUT = DOCS / "benchmarks"
COMMANDS = ("", "run", "check", "score", "list", "data")
GUIDES = {"verification": "verification.md", "physicality": "physicality.md", "molecules": "molecules.md"}
"""The page with the common rules of a category; all others are about simulations."""


def main() -> int:
    """Write everything again; the page of a benchmark that no longer exists is deleted."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    (OUTPUT / "generated").mkdir(parents=True)
    benchmarks = own_benchmarks()
    for name, kind in benchmarks.items():
        _write(OUTPUT / f"{name}.md", page(name, kind))
    _write(OUTPUT / "index.md", index())
    for file, text in snippets():
        _write(OUTPUT / "generated" / file, text)
    wrong = disagreements()
    for line in wrong:
        print(f"benchmark_pages: {line}", file=sys.stderr)
    print(f"{len(benchmarks)} benchmark pages written to docs/{OUTPUT.name}")
    return 1 if wrong else 0


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def index() -> str:
    """All benchmarks, category by category."""
    sections = ["# All benchmarks\n\nEach page is made from the benchmark's own file.\n"]
    for category in categories():
        rules = f"[Rules of this category](../{GUIDES.get(category, 'dynamics.md')})."
        sections.append(f"## {category}\n\n{category_sentence(category)} {rules}\n\n{category_table(category, '')}")
    return "\n".join(sections)


def snippets() -> Iterator[tuple[str, str]]:
    """Files that other pages insert, by name."""
    for category in categories():
        yield f"{category}.md", category_table(category)
    yield "broken.md", broken_models()
    yield "models.md", model_tables()
    yield "families.md", family_table()
    yield "kinds.md", kind_table()
    yield "suites.md", suite_table()
    yield "causes.md", cause_table()
    yield "composite.md", composite_table()
    for command in COMMANDS:
        yield f"help-{command or 'assay'}.txt", help_text(command)


def help_text(command: str) -> str:
    """What `assay COMMAND --help` prints."""
    arguments = [sys.executable, "-m", "assay", *([command] if command else []), "--help"]
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
