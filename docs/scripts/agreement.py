"""What people wrote by hand and the code can contradict: README, numbers on pages, the matrix, lists of names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from catalogue import categories, own_benchmarks
from docstrings import docstring_of
from page import page
from phrases import PHRASES
from sabotage_matrix import must_catch, short_names

import assay
from assay.cli.arguments import CHECK_FAILED, DONE, EPILOG, INTERNAL, INTERRUPTED, JOB_ERRORS, USAGE
from assay.models import file_schemes
from assay.sabotage import BROKEN, SOUND

DOCS = Path(__file__).resolve().parent.parent
README_LINES = 100


def disagreements() -> list[str]:
    """One sentence for each place that does not agree with the code."""
    checks = (_readme, _exit_codes, _checkpoints, _tree, _matrix, _decisions, _numbers, _thresholds)
    return [line for check in checks for line in check()]


def _text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def _readme() -> Iterator[str]:
    """README.md is short, and names every category and the exit codes as `assay --help` does."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    if len(text.splitlines()) > README_LINES:
        yield f"README.md has {len(text.splitlines())} lines; {README_LINES} are allowed"
    yield from (f"README.md does not name the category '{name}'" for name in categories() if f"**{name}**" not in text)
    codes = EPILOG.splitlines()[0].removeprefix("exit codes: ")
    if codes not in " ".join(text.split()):
        yield f"README.md should give the exit codes as '{codes}'"


def _exit_codes() -> Iterator[str]:
    text = _text("command-line.md")
    for code in (DONE, CHECK_FAILED, USAGE, JOB_ERRORS, INTERNAL, INTERRUPTED):
        if f"| {code} |" not in text:
            yield f"docs/command-line.md has no row for the exit code {code}"


def _checkpoints() -> Iterator[str]:
    text = _text("models.md")
    for scheme in sorted(file_schemes()):
        if f"| `{scheme}:FILE`" not in text:
            yield f"docs/models.md has no row for the checkpoints '{scheme}:FILE'"


def _tree() -> Iterator[str]:
    """Every folder of the package is in the tree of docs/concepts.md."""
    text = _text("concepts.md")
    for folder in sorted(Path(assay.__file__).parent.iterdir()):
        if (folder / "__init__.py").is_file() and f"\n  {folder.name}/" not in text:
            yield f"the tree in docs/concepts.md does not have the folder '{folder.name}/'"


def _matrix() -> Iterator[str]:
    """Every model and benchmark is in the matrix of docs/sabotage.md, and every row is complete."""
    short = short_names()
    lines = _text("sabotage.md").splitlines()
    rows = [line for line in lines if line.startswith("| ") and line.count("|") > len(short)]
    missing = [name for name in short if not rows or f"| `{name}` |" not in rows[0]]
    for model in (*SOUND, *BROKEN):
        start = f"| `{model}` | {', '.join(must_catch(model))} |"
        missing += [] if any(row.startswith(start) and row.count("|") == len(short) + 3 for row in rows) else [model]
    for name in missing:
        yield f"the matrix in docs/sabotage.md is out of date for '{name}': paste the output of `make sabotage`"


def _decisions() -> Iterator[str]:
    """Every decision is in the table of docs/decisions/index.md."""
    text = _text("decisions/index.md")
    for path in sorted((DOCS / "decisions").glob("*.md")):
        if path.name != "index.md" and f"]({path.name})" not in text:
            yield f"docs/decisions/index.md does not have '{path.name}'"


def _numbers() -> Iterator[str]:
    """Phrases with numbers of the code are on their page; line breaks do not count."""
    for name, phrases in PHRASES.items():
        text = " ".join(_page_or_text(name).split())
        yield from (f"docs/{name} should say '{phrase}'" for phrase in phrases() if phrase not in text)


def _page_or_text(name: str) -> str:
    """A page that was written by hand, or one that is made from a docstring."""
    folder, _, rest = name.partition("/")
    if folder != "benchmarks":
        return _text(name)
    benchmark = rest.removesuffix(".md")
    return page(benchmark, own_benchmarks()[benchmark])


def _thresholds() -> Iterator[str]:
    """Where a docstring says "Good up to 0.05 Å", that is the threshold of one of the metrics it is about."""
    for name, benchmark in own_benchmarks().items():
        thresholds = {metric.name: metric.threshold for metric in benchmark.metrics}
        for item in docstring_of(benchmark).metrics:
            for number in re.findall(r"Good up to ([\d.]+\d|\d)", item.text):
                if float(number) not in [thresholds[metric] for metric in item.names]:
                    yield f"the docstring of {name} says 'Good up to {number}' for {', '.join(item.names)}"
