"""What went wrong, reason by reason: the last lines of every report, where a reader looks first."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from assay.observation import Observation
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED
from assay.reasons import Reason, not_supported, sentences
from assay.results import BenchmarkResult, ModelResult

MARKS = {OK: "pass", FAILED: "FAIL", UNSUPPORTED: "—", ERROR: "error"}


def problem_lines(results: Sequence[ModelResult]) -> list[str]:
    """A line for each failed or unfinished check, and for each other benchmark with failed or unfinished cases."""
    lines = []
    for result in results:
        model = f"{result.name}: " if len(results) > 1 else ""
        for benchmark in result.benchmarks:
            lines += [f"{mark} {model}{text}" for mark, text in _problems(benchmark)]
    return lines


def _problems(benchmark: BenchmarkResult) -> list[tuple[str, str]]:
    verdict = benchmark.verdict
    if verdict is not None:
        text = f"{verdict.name.rpartition('.')[2]}: {verdict.comment}"
        return [(MARKS[verdict.status], text)] if verdict.status in (FAILED, ERROR) else []
    found = []
    for status, word in ((FAILED, "failed"), (ERROR, "not finished")):
        reasons = reasons_of(benchmark.observations, status)
        if reasons:
            mark = word if status == FAILED else MARKS[ERROR]
            share = f"{len(reasons)} of {len(benchmark.observations)} cases {word}"
            found.append((mark, f"{benchmark.name}: {share}: {sentences(reasons)}"))
    return found


def remark_lines(result: ModelResult) -> list[str]:
    """For each benchmark that is no check: its data, what the model does not support, and remarks about its cases."""
    lines = []
    for benchmark in (b for b in result.benchmarks if b.verdict is None):
        parts = [f"data {source['name']} ({source['level'].partition(';')[0]})" for source in benchmark.data]
        if skipped := reasons_of(benchmark.observations, UNSUPPORTED):
            parts.append(f"not supported: {not_supported(skipped)}")
        if noted := [reason for reason in reasons_of(benchmark.observations, OK) if reason.text]:
            parts.append(f"noted: {sentences(noted)}")
        lines += [f"{benchmark.name}: {'; '.join(parts)}"] if parts else []
    return lines


def reasons_of(observations: Sequence[Observation], status: str) -> list[Reason]:
    """The reasons of all cases with a status."""
    return [Reason(o.case, o.reason, o.cause) for o in observations if o.status == status]


def wrapped(line: str, width: int) -> list[str]:
    """A long line in several, none wider than `width`; nothing is cut off."""
    return textwrap.wrap(line, max(width, 20), subsequent_indent="    ", break_on_hyphens=False) or [""]
