"""The verdict on a model in one sentence and as an exit code. JUnit files and exit codes follow the same rule."""

from __future__ import annotations

from collections.abc import Sequence

from assay.observation import Verdict
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED
from assay.results import ModelResult

MANDATORY, GRADED = "mandatory", "graded"
FAIL_ON = (MANDATORY, GRADED)
"""Which failed checks make the exit code 1: mandatory ones, or also those that are only graded."""

DONE, CHECK_FAILED, JOB_ERRORS = 0, 1, 3


def counts_as_failure(verdict: Verdict, fail_on: str = MANDATORY) -> bool:
    """True for a failed check that makes the exit code 1."""
    return verdict.passed is False and (verdict.mandatory or fail_on == GRADED)


def exit_code(result: ModelResult, fail_on: str = MANDATORY) -> int:
    """0 done, 1 a check failed that counts, 3 some jobs ended in error."""
    if any(counts_as_failure(verdict, fail_on) for verdict in result.verdicts):
        return CHECK_FAILED
    return JOB_ERRORS if result.has_error else DONE


def summary_line(result: ModelResult) -> str:
    """One sentence: does the model pass, which checks failed, and how many checks stand behind it."""
    mandatory = [v for v in result.verdicts if v.mandatory]
    graded = [v for v in result.verdicts if not v.mandatory]
    skipped = sum(v.status == UNSUPPORTED for v in result.verdicts)
    remarks = [f"{skipped} {'does' if skipped == 1 else 'do'} not apply"] if skipped else []
    remarks += ["* mandatory"] if mandatory else []
    told = "; ".join(filter(None, [_mandatory(mandatory), _graded(graded)]))
    return f"{result.name}{told}." + (f" ({'; '.join(remarks)})" if remarks else "")


def _mandatory(verdicts: Sequence[Verdict]) -> str:
    """What follows the name of the model: the verdict, which the mandatory checks alone decide."""
    failed, lost = _named(verdicts, FAILED), _named(verdicts, ERROR)
    count = len(verdicts) - len(_named(verdicts, UNSUPPORTED))
    of_all = f"of {_checks(count, MANDATORY)}"
    if failed:
        more = f", {len(lost)} not finished: {', '.join(lost)}" if lost else ""
        return f" is NOT sound: {', '.join(failed)} failed ({len(failed)} {of_all}{more})"
    if lost:
        return f": no verdict, {len(lost)} {of_all} not finished: {', '.join(lost)}"
    if not count:
        return f": no mandatory check {'applies' if verdicts else 'was asked for'}"
    if count == 1:
        return " passes the mandatory check"
    return f" passes all {_checks(count, MANDATORY)}" + (" that apply" if count < len(verdicts) else "")


def _graded(verdicts: Sequence[Verdict]) -> str:
    """The checks without influence on the verdict: which failed or did not finish, or how many passed."""
    parts = []
    for status, word in ((FAILED, "failed"), (ERROR, "not finished")):
        names = _named(verdicts, status)
        parts += [f"{_checks(len(names), GRADED)} {word}: {', '.join(names)}"] if names else []
    passed = len(_named(verdicts, OK))
    return "; ".join(parts) or (f"{_checks(passed, GRADED)} passed" if passed else "")


def _named(verdicts: Sequence[Verdict], status: str) -> list[str]:
    return [v.name.rpartition(".")[2] for v in verdicts if v.status == status]


def _checks(count: int, kind: str) -> str:
    return f"{count} {kind} check{'' if count == 1 else 's'}"
