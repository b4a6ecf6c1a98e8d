"""Print the matrix benchmark × broken model as Markdown: which benchmark catches which bug. `make sabotage` runs this.

Every model of `assay.sabotage` goes through all checks and benchmarks; those of molecules use data of the sound
potential itself. The exit code is 1 if a bug that must be caught is not, if a model that never answers gets anything
but errors, if a sound model fails a mandatory check, or if a sound model is caught by a score. EMT and Lennard-Jones
may be caught on the data of the sound potential, because their physics differs from it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import cache
from pathlib import Path

from catalogue import has_score, own_benchmarks

import assay
from assay.api import Report
from assay.results import BenchmarkResult
from assay.sabotage import BROKEN, SOUND, is_caught
from assay.sabotage.data import write_sound_data

MARKS = {"ok": "·", "failed": "**F**", "unsupported": "", "error": "err"}
LEAKS = {"memory_leak", "slow_leak", "keeps_atoms", "keeps_calculators"}
NEEDS_WORKERS = {*LEAKS, *(name for name, entry in BROKEN.items() if entry.never_answers)}
"""In a process that has freed much memory a leak is not visible; models that never answer would stop this process."""

OTHER_PHYSICS = {"emt", "lennard_jones"}
"""Sound models whose physics differs from that of the sound potential."""

OWN_DATA = ("molecules", "general")
"""Categories that use data of the sound potential here."""

TIMEOUT = 3.0
"""Seconds after which a worker counts as hung; these models answer within a millisecond."""


def must_catch(model: str) -> list[str]:
    """The benchmarks that must catch a model, by their names without category, in the order of the columns."""
    caught_by = BROKEN[model].caught_by if model in BROKEN else ()
    return [short for short in short_names() if short in caught_by]


def short_names() -> list[str]:
    """Checks first, then the other benchmarks, without those that have no score, such as the speed."""
    scored = [name for name, kind in own_benchmarks().items() if has_score(kind)]
    names = sorted(scored, key=lambda name: (not name.startswith("verification."), name))
    return [name.rpartition(".")[2] for name in names]


def cell(result: BenchmarkResult) -> str:
    """The mark of a check, or the score of another benchmark, bold where it catches the model."""
    if result.verdict is not None:
        return MARKS[result.verdict.status]
    if result.score is None and any(o.status == "error" for o in result.observations):
        return "err"
    text = "—" if result.score is None else f"{result.score:.2f}"
    return f"**{text}**" if is_caught(result.score) else text


def catches(result: BenchmarkResult) -> bool:
    """True when a benchmark catches the model: a failed check, a score that `is_caught`, or only failures."""
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
    """The results of the suite `smoke`; nothing is stored."""
    workers = 2 if model in NEEDS_WORKERS else 0
    return assay.run(f"assay.sabotage:{model}", workers=workers, timeout=TIMEOUT, data=sound_folder())


def main() -> int:
    """Run the models named on the command line, or all, and print one row for each."""
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
        cells = [cell(results[name]) for name in names]
        wrong += [f"{model} is not caught by {name}" for name in must if not catches(results[name])]
        if model in BROKEN and BROKEN[model].never_answers and set(cells) != {"err"}:
            wrong.append(f"{model} never answers, but not all results are errors")
        if model in SOUND:
            judges = [b for b in results.values() if b.category not in OWN_DATA or model not in OTHER_PHYSICS]
            scored = [b.name for b in judges if b.verdict is None and b.name.rpartition(".")[2] in names and catches(b)]
            wrong += [f"{model} is sound but caught by {name}" for name in scored]
            wrong += [] if report.passed else [f"{model} is sound but fails"]
        print(f"| `{model}` | {', '.join(must)} | " + " | ".join(cells) + " |", flush=True)
    for line in wrong:
        print(f"WRONG: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
