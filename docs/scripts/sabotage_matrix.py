"""Print the matrix check × broken model as Markdown: which checks fail for which bug. `make sabotage` runs this.

Every broken model of `assay.sabotage` is audited in full. Exit code 1 if a check that must catch a bug did not, or if a
sound model failed a mandatory check.
"""

from __future__ import annotations

import argparse
import sys

import assay
from assay.benchmark import find_benchmarks
from assay.sabotage import BROKEN, SOUND

MARKS = {"ok": "·", "failed": "**F**", "unsupported": "", "error": "err"}
NEEDS_WORKERS = {"hangs", "kills_process"}
TIMEOUT = 3.0
"""Seconds after which a hung worker is given up here; these models answer within a millisecond."""


def main() -> int:
    """Audit the models named on the command line, or all, and print one row each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=[*SOUND, *BROKEN])
    chosen = parser.parse_args().models
    checks = [name.rpartition(".")[2] for name in find_benchmarks(["verification"])]
    print("| model | must fail | " + " | ".join(f"`{name}`" for name in checks) + " |")
    print("|---|---|" + ":-:|" * len(checks))
    wrong = []
    for name in chosen:
        report = assay.check(f"assay.sabotage:{name}", workers=2 if name in NEEDS_WORKERS else 0, timeout=TIMEOUT)
        verdicts = report.checks
        must = BROKEN[name].caught_by if name in BROKEN else ()
        wrong += [f"{name} is not caught by {check}" for check in must if verdicts[check]["status"] != "failed"]
        if name in SOUND and not report.passed:
            wrong.append(f"{name} is sound but fails")
        cells = [MARKS[str(verdicts[check]["status"])] for check in checks]
        print(f"| `{name}` | {', '.join(must)} | " + " | ".join(cells) + " |", flush=True)
    for line in wrong:
        print(f"WRONG: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
