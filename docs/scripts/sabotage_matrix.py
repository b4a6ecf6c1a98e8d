"""Print the matrix benchmark × broken model as Markdown: who notices which bug. `make sabotage` runs this.

Every model of `assay.sabotage` is audited in full: verdicts of the checks, scores of the other benchmarks, those of
molecules on data of the sound potential itself. Exit code 1 if a bug that must be caught is not, if a sound model fails
a mandatory check, or if it is caught by a score; sound models of other physics are no judges of that data.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import cache
from pathlib import Path

import assay
from assay.api import Report
from assay.benchmark import registered_benchmarks
from assay.results import BenchmarkResult
from assay.sabotage import BROKEN, SOUND, is_caught
from assay.sabotage.data import write_sound_data

MARKS = {"ok": "·", "failed": "**F**", "unsupported": "", "error": "err"}
NEEDS_WORKERS = {"hangs", "kills_process", "memory_leak", "slow_leak"}
"""The first two would take this process with them; in a process that has freed much memory a leak does not show."""

OTHER_PHYSICS = {"emt", "lennard_jones"}
"""Sound models that are right to disagree with the sound potential."""

OWN_DATA = ("molecules", "general")
"""Categories that are tried on data of the sound potential."""

TIMEOUT = 3.0
"""Seconds after which a hung worker is given up here; these models answer within a millisecond."""


def must_catch(model: str) -> list[str]:
    """The benchmarks that must catch a model, by their names without category, in the order of the columns."""
    caught_by = BROKEN[model].caught_by if model in BROKEN else ()
    return [short for short in short_names() if short in caught_by]


def short_names() -> list[str]:
    """Checks first, then the other benchmarks; those that never score, such as speed, are no judges."""
    known = [name for name, kind in registered_benchmarks().items() if getattr(kind, "scored", True)]
    names = sorted(known, key=lambda name: (not name.startswith("verification."), name))
    return [name.rpartition(".")[2] for name in names]


def cell(result: BenchmarkResult) -> str:
    """The mark of a check, or the score of another benchmark, bold where it exposes the model."""
    if result.verdict is not None:
        return MARKS[result.verdict.status]
    if result.score is None and any(o.status == "error" for o in result.observations):
        return "err"
    text = "—" if result.score is None else f"{result.score:.2f}"
    return f"**{text}**" if is_caught(result.score) else text


def is_noticed(result: BenchmarkResult) -> bool:
    """True when a benchmark exposes the model: a failed check, a score that `is_caught`, or nothing but failures."""
    if result.verdict is not None:
        return result.verdict.status == "failed"
    if result.score is None:
        return {o.status for o in result.observations} <= {"failed", "error"}
    return is_caught(result.score)


@cache
def sound_folder() -> str:
    """Reference data for models of copper and gold."""
    return str(write_sound_data(Path(tempfile.mkdtemp(prefix="assay-sound-"))))


def audited(model: str) -> Report:
    """All checks and benchmarks of the suite `smoke`, with nothing kept."""
    workers = 2 if model in NEEDS_WORKERS else 0
    return assay.run(f"assay.sabotage:{model}", workers=workers, timeout=TIMEOUT, data=sound_folder())


def main() -> int:
    """Audit the models named on the command line, or all, and print one row each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=[*SOUND, *BROKEN])
    chosen = parser.parse_args().models
    names = short_names()
    print("| model | must be caught by | " + " | ".join(f"`{name}`" for name in names) + " |")
    print("|---|---|" + ":-:|" * len(names))
    wrong = []
    for model in chosen:
        report = audited(model)
        results = {b.name.rpartition(".")[2]: b for b in report.result.benchmarks}
        must = must_catch(model)
        wrong += [f"{model} is not caught by {name}" for name in must if not is_noticed(results[name])]
        if model in SOUND:
            judges = [b for b in results.values() if b.category not in OWN_DATA or model not in OTHER_PHYSICS]
            scored = [
                b.name for b in judges if b.verdict is None and b.name.rpartition(".")[2] in names and is_noticed(b)
            ]
            wrong += [f"{model} is sound but caught by {name}" for name in scored]
            wrong += [] if report.passed else [f"{model} is sound but fails"]
        cells = [cell(results[name]) for name in names]
        print(f"| `{model}` | {', '.join(must)} | " + " | ".join(cells) + " |", flush=True)
    for line in wrong:
        print(f"WRONG: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
