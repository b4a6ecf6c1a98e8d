"""The page of one benchmark as Markdown, from its docstring and its declarations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields

from catalogue import is_check, is_mandatory
from docstrings import Docstring, docstring_of
from tables import number, standard_suites, table

from assay.benchmark import Benchmark, Metric, Plot
from assay.sabotage import BROKEN

SHARED_METRICS = {
    "error_over_tolerance": "error of a case divided by its tolerance ([Tolerances](../verification.md#tolerances))",
    "charge_ignored": "share of the ions whose energy is the same with charge 0 "
    "([Common rules](../molecules.md#common-rules)); only where there are ions",
    "temperature": "mean temperature of the runs",
}
"""Metrics that come from a base class, and so are not in the docstrings."""


def page(name: str, benchmark: type[Benchmark]) -> str:
    """The whole page."""
    text = docstring_of(benchmark)
    sections = [
        f"# {name.rpartition('.')[2]}",
        f"**{text.statement}**",
        text.why,
        f"```\nassay {'check' if is_check(name) else 'run'} MODEL -b {name.rpartition('.')[2]}\n```",
        _facts(name, benchmark),
        f"## Protocol\n\n{_begin(_coded(text.protocol, benchmark))}",
        _sources(text),
        f"## Metrics\n\n{metric_table(benchmark, text)}",
        *(f"**{item.names[0]}:** {_coded(item.text, benchmark)}" for item in text.scores),
        _plots(benchmark.plots),
        _caught(benchmark),
        _settings(name, benchmark),
    ]
    return "\n\n".join(section.strip() for section in sections if section) + "\n"


def _facts(name: str, benchmark: type[Benchmark]) -> str:
    must_pass = "yes" if is_mandatory(benchmark) else "no, it has a grade" if is_check(name) else "no, it has a score"
    kind = getattr(benchmark, "kind", "")
    rows = [
        ("version", str(benchmark.version)),
        ("must pass", must_pass),
        *([("reference data", f"kind [`{kind}`](../data.md#kinds)")] if kind else []),
        ("file", f"`src/{benchmark.__module__.replace('.', '/')}.py`"),
    ]
    return table(("name", f"`{name}`"), rows)


def metric_table(benchmark: type[Benchmark], text: Docstring) -> str:
    """One row for each metric or group of metrics that the docstring describes together, in its order."""
    declared = {metric.name: metric for metric in benchmark.metrics}
    own = {name for item in text.metrics for name in item.names}
    rows = []
    for item in text.metrics:
        beside = [n for n in declared if n not in own and re.search(rf"\b{n}\b", item.text)]
        own.update(beside)
        rows.append(_row([declared[name] for name in (*item.names, *beside)], _coded(item.text, benchmark)))
    rows += [_row([metric], SHARED_METRICS.get(name, "")) for name, metric in declared.items() if name not in own]
    return table(("metric", "unit", "threshold", "ideal", "meaning"), rows)


def _row(metrics: Sequence[Metric], meaning: str) -> tuple[str, ...]:
    cells = zip(*(_cells(metric) for metric in metrics), strict=True)
    said = _begin(meaning.removesuffix(".").removesuffix(" (reported)"))  # the threshold has that already
    return (*("<br>".join(column) for column in cells), said.replace("|", "\\|"))


def _cells(metric: Metric) -> tuple[str, str, str, str]:
    """Name, unit, threshold and ideal; a metric that is only reported has an ideal only if that is not zero."""
    unit = "" if metric.unit == "1" else metric.unit
    if metric.is_score:
        return f"`{metric.name}`", unit, "is a score", number(metric.ideal)
    if metric.threshold is None:
        return f"`{metric.name}`", unit, "reported", number(metric.ideal) if metric.ideal else ""
    return f"`{metric.name}`", unit, f"{metric.threshold:.3g}", number(metric.ideal)


def _coded(text: str, benchmark: type[Benchmark]) -> str:
    """The text with names of metrics that no reader can take for a word (`ts_rmsd`) set as code."""
    for metric in benchmark.metrics:
        if "_" in metric.name:
            text = re.sub(rf"(?<![`\w]){metric.name}(?![`\w])", f"`{metric.name}`", text)
    return text


def _begin(text: str) -> str:
    """The text with a capital letter, unless it begins with a symbol such as r or E."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]{2}", text) else text


def _sources(text: Docstring) -> str:
    lines = [f"**{label}:** {part}" for label, part in (("Reference", text.reference), ("Cite", text.cite)) if part]
    return "\n\n".join(lines)


def _plots(plots: Sequence[Plot]) -> str:
    if not plots:
        return ""
    rows = [(plot.title or plot.y, plot.kind, _x(plot), _y(plot)) for plot in plots]
    return f"## Plots\n\n{table(('plot', 'kind', 'x', 'y'), rows)}"


def _x(plot: Plot) -> str:
    return "each case" if plot.x == "case" else plot.x_label or f"`{plot.x}`"


def _y(plot: Plot) -> str:
    return (plot.y_label or f"`{plot.y}`") + (", with the reference" if plot.reference else "")


def _caught(benchmark: type[Benchmark]) -> str:
    """The broken models that the benchmark must catch, with their bugs."""
    rows = [(f"[`{name}`](../sabotage.md#the-broken-models)", BROKEN[name].what) for name in benchmark.catches]
    return f"## Broken models that it must catch\n\n{table(('model', 'its bug'), rows)}" if rows else ""


def _settings(name: str, benchmark: type[Benchmark]) -> str:
    """The fields of the benchmark with their values in each suite; nothing for a benchmark without fields."""
    if not fields(benchmark):
        return ""
    suites = {suite: built[name] for suite, built in standard_suites().items() if name in built}
    rows = [[getattr(built, item.name) for built in suites.values()] for item in fields(benchmark)]
    if all(len(set(map(repr, row))) < 2 for row in rows):  # no suite changes anything
        suites, rows = {}, [[] for _ in rows]
    cells = [
        (f"`{item.name}`", f"`{item.default}`", *(f"`{value}`" for value in row))
        for item, row in zip(fields(benchmark), rows, strict=True)
    ]
    head = ("setting", "default", *(f"`{suite}`" for suite in suites))
    purpose = " ".join((benchmark.__doc__ or "").split())
    return f"## Settings\n\n{purpose} A [suite](../scoring.md#suites) may change these.\n\n{table(head, cells)}"
