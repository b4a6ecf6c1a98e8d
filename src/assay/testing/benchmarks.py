"""What every benchmark promises without any model, as assertions: names, cases, observations of failures, scores."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from assay.benchmark import Benchmark, Case, Scope, observe_case, planned_cases, with_null
from assay.benchmarks.registry import registered_benchmarks
from assay.data.source import DataSource
from assay.errors import AssayError
from assay.jobs import Job, Probe, job_key
from assay.observation import Observation
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome, no_point
from assay.store.codec import dumps, plain
from assay.survey import Survey
from assay.testing.surveys import NO_ANSWER, NO_CONTACT, SURVEYS

STATUSES = (OK, FAILED, UNSUPPORTED, ERROR)
HOME = "assay.benchmarks."
REFUSED = "refused: no"


def check_benchmark(
    benchmark: type[Benchmark] | Benchmark | str,
    *,
    data: DataSource | None = None,
    surveys: Mapping[str, Survey] = SURVEYS,
) -> None:
    """Fail unless a benchmark keeps what all benchmarks promise; no model is run.

    Args:
        benchmark: The class, an instance with settings of its own, or the name of a registered benchmark.
        data: References that the benchmark reads; by default those that come with Assay.
        surveys: Models to make cases for, by what is special about them.
    """
    made, source = built(benchmark), data or DataSource()
    assert_declared(made)
    assert_documented(made)
    assert_catches_exist(made)
    for label, survey in surveys.items():
        try:
            assert_cases_are_stable(made, survey, source)
            assert_limit_takes_the_first_cases(made, survey, source)
            assert_failures_are_observed(made, survey, source)
        except AssertionError as error:
            raise AssertionError(f"{error} (survey '{label}')") from error
    assert_no_answer_is_no_success(made, surveys, source)
    assert_nothing_evaluated_scores_nothing(made)
    assert_scores_are_between_0_and_1(made)


def built(benchmark: type[Benchmark] | Benchmark | str) -> Benchmark:
    """The benchmark itself, with its defaults where a class or a name is given."""
    if isinstance(benchmark, str):
        if benchmark not in registered_benchmarks():
            raise AssayError(f"there is no benchmark '{benchmark}'; 'assay list benchmarks' shows the names")
        return registered_benchmarks()[benchmark]()
    return benchmark() if isinstance(benchmark, type) else benchmark


def cases_of(benchmark: Benchmark, survey: Survey, data: DataSource, limit: int | None = None) -> list[Case]:
    """The cases of a benchmark for a model as surveyed."""
    return planned_cases(benchmark, Scope(survey, data), limit)


def assert_declared(benchmark: Benchmark) -> None:
    """Fail unless class, version, metrics and settings are declared; for those of Assay the path is the name."""
    kind = type(benchmark)
    if not is_dataclass(benchmark) or not getattr(kind, "__dataclass_params__").frozen:  # noqa: B009
        _fail(benchmark, "the class is not a frozen dataclass; write @dataclass(frozen=True) above it")
    if kind.__module__.startswith(HOME):
        short = kind.__module__.removeprefix(HOME)
        words = "".join(word.title() for word in short.rpartition(".")[2].split("_"))
        if (kind.name, kind.__name__) != (short, words):
            _fail(benchmark, f"class '{kind.__name__}' in '{short}' is called '{kind.name}'; the path is the name")
    names = [metric.name for metric in kind.metrics]
    if not names or len(set(names)) != len(names) or not all(metric.unit for metric in kind.metrics):
        _fail(benchmark, f"metrics {names} must be one or more, of different names, each with a unit (1 for none)")
    wrong = [m.name for m in kind.metrics if m.threshold is not None and not 0.0 < m.threshold < math.inf]
    if wrong:
        _fail(benchmark, f"the threshold of '{wrong[0]}' is not a positive number")
    if kind.version < 1:
        _fail(benchmark, f"its version is {kind.version}, expected 1 or more")
    try:
        dumps({item.name: getattr(benchmark, item.name) for item in fields(benchmark)})
    except (TypeError, ValueError) as error:
        _fail(benchmark, f"its settings are kept with the results and must be plain data: {error}")


def assert_documented(benchmark: Benchmark) -> None:
    """Fail unless the docstring of the file begins with one sentence and has the parts Protocol and Reference."""
    kind = type(benchmark)
    text = sys.modules[kind.__module__].__doc__ or ""
    first, _, rest = text.partition("\n\n")
    if not first.endswith(".") or "\n" in first:
        _fail(benchmark, f"the docstring of its file begins with {first[:80]!r}, expected one sentence on one line")
    for part in ("Protocol:", "Reference:"):
        if not re.search(rf"^{part}\s+\S", rest, re.MULTILINE):
            _fail(benchmark, f"the docstring of its file has no line that begins with '{part}'")
    if not (kind.__doc__ or "").strip() or (kind.__doc__ or "").startswith(f"{kind.__name__}("):
        _fail(benchmark, "the class has no docstring")


def assert_catches_exist(benchmark: Benchmark) -> None:
    """Fail unless `catches` names broken models of `assay.sabotage`; a benchmark of Assay must name one."""
    from assay.sabotage import BROKEN

    unknown = sorted(set(benchmark.catches) - set(BROKEN))
    if unknown:
        _fail(benchmark, f"it catches '{unknown[0]}', which is not a broken model of assay.sabotage")
    if not benchmark.catches and type(benchmark).__module__.startswith(HOME):
        _fail(benchmark, "it names no broken model that it catches")


def assert_cases_are_stable(benchmark: Benchmark, survey: Survey, data: DataSource) -> None:
    """Fail unless cases are there, have ids of their own, and are the same again: ids, jobs and context.

    The context must be plain data without NaN. A case without jobs must say why.
    """
    first, second = cases_of(benchmark, survey, data), cases_of(benchmark, survey, data)
    ids = [case.id for case in first]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if not ids:
        _fail(benchmark, "it makes no cases; where nothing applies, make one that is unsupported and says why")
    if twice is not None:
        _fail(benchmark, f"two of its cases are called '{twice}'")
    if ids != [case.id for case in second]:
        _fail(benchmark, "a second call makes other cases")
    for case, again in zip(first, second, strict=True):
        if _content(benchmark, case) != _content(benchmark, again):
            _fail(benchmark, f"a second call gives case '{case.id}' other jobs or another context")
        if not (case.jobs or case.unsupported or case.failure or case.lost):
            _fail(benchmark, f"case '{case.id}' has no jobs and no reason; give 'unsupported', 'failure' or 'lost'")


def _content(benchmark: Benchmark, case: Case) -> str:
    """The jobs and the context of a case as text."""
    keys = {role: job_key(job, "model") for role, job in case.jobs.items()}
    try:
        return json.dumps([keys, plain(case.context), dumps(case.context)], allow_nan=False)
    except (TypeError, ValueError) as error:
        _fail(benchmark, f"the context of case '{case.id}' is not plain data: {error}")


def assert_limit_takes_the_first_cases(benchmark: Benchmark, survey: Survey, data: DataSource, limit: int = 2) -> None:
    """Fail unless a limit gives the first cases of all."""
    everything = [case.id for case in cases_of(benchmark, survey, data)]
    few = [case.id for case in cases_of(benchmark, survey, data, limit)]
    if few != everything[:limit]:
        _fail(benchmark, f"with a limit of {limit} it makes the cases {few}, expected {everything[:limit]}")


def assert_failures_are_observed(benchmark: Benchmark, survey: Survey, data: DataSource) -> None:
    """Fail unless jobs that failed, are unsupported or were lost give an observation that is not ok."""
    from assay.compute.protocols.null import null_outcome

    for case in cases_of(benchmark, survey, data):
        for status in (ERROR, UNSUPPORTED, FAILED) if case.jobs else (ERROR,):
            outcomes = {role: Outcome(f"{role}key", status, reason=REFUSED) for role in case.jobs}
            _assert_not_ok(benchmark, case, outcomes, f"jobs are '{status}'")
        if case.jobs:
            with TemporaryDirectory(prefix="assay-testing-") as folder:
                outcomes = {role: refused_outcome(job, Path(folder), role) for role, job in case.jobs.items()}
                _assert_not_ok(benchmark, case, outcomes, "structures are refused")
        if case.jobs and benchmark.has_null:
            null = {role: null_outcome(job) for role, job in case.jobs.items()}
            _observed(benchmark, case, partial(with_null, benchmark, case, null), "the null model is observed")


def refused_outcome(job: Job, folder: Path, role: str = "job") -> Outcome:
    """The outcome of a job with a model that refuses every structure."""
    from assay.compute.protocols import carry_out, protocol
    from assay.store.trajectory import Trajectory, trajectory_path

    key = "".join(letter for letter in role if letter.isalnum())
    if isinstance(job, Probe):
        return Outcome(key, FAILED, reason=REFUSED)
    path = trajectory_path(folder, key)
    asking = protocol(job, path)
    ending = carry_out(asking, lambda structures: [no_point(len(s), REFUSED) for s in structures])
    frames = Trajectory(path) if "trajectory" in ending.values else None
    return Outcome(key, ending.status, ending.values, ending.reason, cause=ending.cause, frames=frames)


def _assert_not_ok(benchmark: Benchmark, case: Case, outcomes: Mapping[str, Outcome], words: str) -> None:
    """Fail unless the observation is of this case, has a status that is not ok, and a score of 0 or none."""
    seen = _observed(benchmark, case, partial(observe_case, benchmark, case, outcomes), words)
    if not isinstance(seen, Observation) or seen.case != case.id:
        _fail(benchmark, f"case '{case.id}' whose {words} gives {seen!r}, expected an observation of that case")
    if seen.status not in STATUSES or seen.status == OK:
        _fail(benchmark, f"case '{case.id}' whose {words} is observed as '{seen.status}'")
    if benchmark.case_score(seen):
        _fail(benchmark, f"case '{case.id}' whose {words} scores {benchmark.case_score(seen)}")


def _observed(benchmark: Benchmark, case: Case, call: Callable[[], object], words: str) -> object:
    try:
        return call()
    except Exception as error:
        _fail(benchmark, f"case '{case.id}' raises {type(error).__name__} ({error}) where {words}")


def assert_no_answer_is_no_success(benchmark: Benchmark, surveys: Mapping[str, Survey], data: DataSource) -> None:
    """Fail unless a model that never answered fails, and one that was lost is an error."""
    for name, allowed in ((NO_ANSWER, {FAILED, UNSUPPORTED}), (NO_CONTACT, {ERROR})):
        if name not in surveys:
            continue
        made = [case for case in cases_of(benchmark, surveys[name], data) if not case.jobs]
        seen = [observe_case(benchmark, case, {}) for case in made]
        wrong = [o for o in seen if o.status not in allowed]
        if wrong:
            _fail(benchmark, f"for a model with {name}, case '{wrong[0].case}' is '{wrong[0].status}'")
        if seen and is_success(benchmark, seen):
            _fail(benchmark, f"a model with {name} passes or scores")


def assert_nothing_evaluated_scores_nothing(benchmark: Benchmark) -> None:
    """Fail if cases of which none was evaluated give a pass, a value or a score above 0."""
    for statuses in ((), (UNSUPPORTED,), (ERROR,), (FAILED,), (FAILED, UNSUPPORTED), (ERROR, FAILED)):
        nothing = [Observation(f"case {i}", status, reason=REFUSED) for i, status in enumerate(statuses)]
        if is_success(benchmark, nothing):
            _fail(benchmark, f"cases that are all {list(statuses)} give a pass, a value or a score")
        verdict = benchmark.verdict(nothing)
        if verdict is not None and (verdict.evaluated, verdict.status == OK, verdict.grade in {None, "F"}) != (
            0, False, True,
        ):  # fmt: skip
            _fail(benchmark, f"cases that are all {list(statuses)} give the verdict {verdict}")


def is_success(benchmark: Benchmark, observations: Sequence[Observation]) -> bool:
    """True when a benchmark reports anything good: a pass, a value, a score above 0."""
    verdict = benchmark.verdict(observations)
    if verdict is not None:
        return bool(verdict.passed)
    metrics = benchmark.measure(observations)
    scores = [benchmark.case_score(o) for o in observations] + [m.score for m in metrics]
    return any(m.value is not None for m in metrics) or any(scores)


def assert_scores_are_between_0_and_1(benchmark: Benchmark) -> None:
    """Fail if the score of a case is NaN or outside 0 and 1, however far its values are from the ideal.

    Values of metrics without a threshold may be scores themselves; they stay at 0.5.
    """
    for size in (0.0, 0.5, 1.0, 1.5, 1e6, -1e6, math.inf, -math.inf, math.nan):
        values = {m.name: m.ideal + size * m.threshold if m.threshold else 0.5 for m in benchmark.metrics}
        for status in STATUSES:
            score = benchmark.case_score(Observation("case", status, values if status == OK else {}))
            if score is not None and not 0.0 <= score <= 1.0:
                _fail(benchmark, f"a case that is '{status}' with the values {values} scores {score}")


def assert_order_does_not_matter(benchmark: Benchmark, observations: Iterable[Observation]) -> None:
    """Fail unless metrics and verdict are the same for the observations of a run in reverse order."""
    forwards = list(observations)
    backwards = forwards[::-1]
    for one, two in zip(benchmark.measure(forwards), benchmark.measure(backwards), strict=True):
        if (one.name, one.value, one.score, one.coverage) != (two.name, two.value, two.score, two.coverage):
            _fail(benchmark, f"'{one.name}' is {one.value}, or {two.value} in reverse order")
    first, second = benchmark.verdict(forwards), benchmark.verdict(backwards)
    for field in ("status", "passed", "grade", "error", "tolerance", "evaluated", "refused", "skipped"):
        if getattr(first, field, None) != getattr(second, field, None):
            _fail(benchmark, f"'{field}' of the verdict depends on the order of observations")


def _fail(benchmark: Benchmark, message: str) -> NoReturn:
    raise AssertionError(f"benchmark '{benchmark.name or type(benchmark).__name__}': {message}")
