"""Tables that pages take from the code: benchmarks by category, suites, broken models, causes, families of models."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from importlib import import_module

from catalogue import is_mandatory, own_benchmarks
from docstrings import docstring_of
from sabotage_matrix import must_catch

from assay import errors
from assay.benchmark import Benchmark
from assay.composite import PAPER
from assay.observation import Metric
from assay.sabotage import BROKEN
from assay.suites import load_suite, suite_names

SUITES = ("smoke", "laptop", "paper")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """A number as people write it, with a real minus sign."""
    return f"{value:g}".replace("-", "−")


def category_sentence(category: str) -> str:
    """What a category is about: the docstring of its folder."""
    return " ".join((import_module(f"assay.benchmarks.{category}").__doc__ or "").split())


def category_table(category: str, folder: str = "benchmarks/") -> str:
    """The benchmarks of a category, one line each, with links to their pages in a folder."""
    members = {n: kind for n, kind in own_benchmarks().items() if n.startswith(f"{category}.")}
    links = {name: f"[`{name.rpartition('.')[2]}`]({folder}{name}.md)" for name in members}
    if category == "verification":
        rows = [(links[n], "yes" if is_mandatory(k) else "", docstring_of(k).statement) for n, k in members.items()]
        return table(("check", "must pass", "statement"), rows)
    rows = [(links[n], docstring_of(kind).statement, _scored(kind)) for n, kind in members.items()]
    return table(("benchmark", "what it is about", "scored metrics, good up to"), rows)


def _scored(benchmark: type[Benchmark]) -> str:
    return "<br>".join(filter(None, map(_good, benchmark.metrics))) or "none"


def _good(metric: Metric) -> str:
    """A scored metric with what scores 1; nothing for a metric that is only reported."""
    if metric.is_score:
        return f"`{metric.name}` (is a score)"
    if metric.threshold is None:
        return ""
    unit = "" if metric.unit == "1" else f" {metric.unit}"
    wanted = f"{metric.threshold:.3g}" if metric.ideal == 0.0 else f"{number(metric.ideal)} ± {metric.threshold:g}"
    return f"`{metric.name}` ({wanted}{unit})".replace(" ", "&nbsp;")


@cache
def standard_suites() -> dict[str, dict[str, Benchmark]]:
    """The benchmarks of each suite with its settings, by name."""
    names = sorted(suite_names(), key=lambda name: (name not in SUITES, SUITES.index(name) if name in SUITES else 0))
    return {name: {built.name: built for built in load_suite(name).build()} for name in names}


def suite_table() -> str:
    """The settings that differ between suites, one row each."""
    suites = standard_suites()
    rows: list[tuple[str, ...]] = []
    for name, kind in own_benchmarks().items():
        link = f"[`{name}`](benchmarks/{name}.md)"
        for item in fields(kind):
            values = [_value(built[name], item.name) if name in built else "" for built in suites.values()]
            if len(set(values)) > 1:
                rows.append((link, f"`{item.name}`", *values))
                link = ""
    return table(("benchmark", "setting", *(f"`{name}`" for name in suites)), rows)


def _value(benchmark: Benchmark, setting: str) -> str:
    value = getattr(benchmark, setting)
    return "all" if value is None else f"{value:,}".replace(",", " ") if type(value) is int else str(value)


def broken_models() -> str:
    """The broken models with their bugs."""
    rows = [
        (f"`{bug.name}`", bug.what, ", ".join(f"`{name}`" for name in must_catch(bug.name)) or "—")
        for bug in BROKEN.values()
    ]
    return table(("model", "its bug", "must be caught by"), rows)


def composite_table() -> str:
    """The benchmarks of `--composite paper` with those that compute them."""
    rows = [(member.title, f"`{member.benchmark}`" if member.benchmark else "not available yet") for member in PAPER]
    return table(("benchmark of the publication", "benchmark of Assay"), rows)


def cause_table() -> str:
    """The causes of `assay.errors.Cause`, each with the text below it in the source."""
    meanings: dict[str, str] = {}
    for node in ast.parse(inspect.getsource(errors.Cause)).body[0].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            meanings[node.targets[0].id] = ""
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and meanings:
            meanings[next(reversed(meanings))] = " ".join(str(node.value.value).split())
    rows = [(f"`{errors.Cause[n]}`", text or _sentence(n)) for n, text in meanings.items() if errors.Cause[n]]
    return table(("cause", "meaning"), rows)


def _sentence(name: str) -> str:
    """OUT_OF_MEMORY as "Out of memory."."""
    return f"{name.replace('_', ' ').capitalize()}."
