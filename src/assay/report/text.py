"""A long report in plain text, check by check and configuration by configuration."""

from __future__ import annotations

import textwrap

from assay.benchmarks.registry import registered_benchmarks
from assay.observation import Observation
from assay.report.cells import safe
from assay.report.problems import MARKS, problem_lines, wrapped
from assay.report.verdict import summary_line
from assay.results import BenchmarkResult, ModelResult

WIDTH = 110
RULE, DOUBLE_RULE = "-" * WIDTH, "=" * WIDTH


def text_report(result: ModelResult) -> str:
    """For every check: its protocol, the configurations with their errors, and the grade."""
    lines = [DOUBLE_RULE, f"Verification of {result.name}", DOUBLE_RULE]
    survey = result.description.get("survey", {})
    if isinstance(survey, dict):
        lines += [
            f"{key.replace('_', ' '):24}: {_shown(value)}" for key, value in survey.items() if value not in ({}, [])
        ]
    for benchmark in result.benchmarks:
        if benchmark.verdict is not None:
            lines += _check(benchmark)
    problems = [part for line in problem_lines([result]) for part in wrapped(safe(line), WIDTH)]
    lines += [DOUBLE_RULE, summary_line(result), *problems]
    return "\n".join(map(safe, lines))


def _shown(value: object) -> str:
    text = " ".join(str(v) for v in value) if isinstance(value, list) else str(value)
    return f"\n{'':26}".join(textwrap.wrap(safe(text), WIDTH - 26, break_on_hyphens=False))


def _check(result: BenchmarkResult) -> list[str]:
    verdict = result.verdict
    if verdict is None:
        return []
    module = registered_benchmarks()[result.name].__module__
    import sys

    text = (sys.modules[module].__doc__ or "").strip()
    lines = [
        "",
        DOUBLE_RULE,
        f"Check {result.name}, version {result.version}" + (" (mandatory)" if verdict.mandatory else ""),
    ]
    lines += [DOUBLE_RULE, text, RULE]
    lines += [_case(o) for o in result.observations]
    lines += [
        RULE,
        f"Configurations : {verdict.evaluated} evaluated, {verdict.refused} refused, {verdict.skipped} not applicable",
        f"Worst error    : {_number(verdict.error)} {verdict.unit} at {verdict.where}"
        if verdict.where
        else "Worst error    : none",
        f"Tolerance      : {_number(verdict.tolerance)} {verdict.unit} ({verdict.why})"
        if verdict.why
        else "Tolerance      : none",
        f"Noise floor    : {_number(verdict.floor)} {verdict.unit}",
        f"Result         : {MARKS[verdict.status]}",
        f"Grade          : {verdict.grade or 'N/A'}",
        f"Comment        : {verdict.comment}",
    ]
    return lines


def _case(observation: Observation) -> str:
    worst = observation.detail.get("worst")
    if isinstance(worst, dict):
        verdict = "PASS" if observation.values.get("error_over_tolerance", 2.0) <= 1.0 else "FAIL"
        compared = f"{observation.detail.get('comparisons')} comparisons"
        numbers = f"worst {_number(worst['error'])} of {_number(worst['tolerance'])} {worst['unit']}"
        return f"{verdict}: {observation.case}, {compared}, {numbers} at {worst['where']}"
    return f"{observation.status.upper()}: {observation.case}, {observation.reason}"


def _number(value: object) -> str:
    return f"{value:.3e}" if isinstance(value, float) else "not finite"
