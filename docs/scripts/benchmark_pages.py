"""Write what the documentation takes from the code, and check what people wrote against it. `make docs` runs this.

Written into docs/benchmarks/ (not kept in git): a page for each benchmark from its module docstring, an index, the
table of broken models, and the help texts of the command line. Checked: the table of checks in README.md, the matrix
in docs/sabotage.md, and the numbers in docs/verification.md and docs/concepts.md. Exit code 1, with one line for each
thing to mend, if these lag behind the code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from assay.benchmark import Benchmark, registered_benchmarks
from assay.sabotage import BROKEN, SOUND

DOCS = Path(__file__).resolve().parent.parent
OUTPUT = DOCS / "benchmarks"
COMMANDS = ("", "run", "check", "score", "list")
LABELS = r"(Protocol|Reference|Cite): "


def main() -> int:
    """Write everything anew; a page of a benchmark that is gone goes too."""
    shutil.rmtree(OUTPUT, ignore_errors=True)
    (OUTPUT / "generated").mkdir(parents=True)
    known = registered_benchmarks()
    for name, kind in known.items():
        (OUTPUT / f"{name}.md").write_text(page(name, kind), encoding="utf-8")
    (OUTPUT / "index.md").write_text(index(known), encoding="utf-8")
    (OUTPUT / "generated" / "broken.md").write_text(broken_models(), encoding="utf-8")
    for command in COMMANDS:
        (OUTPUT / "generated" / f"help-{command or 'assay'}.txt").write_text(help_text(command), encoding="utf-8")
    stale = [*stale_readme(known), *stale_matrix(known), *stale_numbers()]
    for line in stale:
        print(f"benchmark_pages: {line}", file=sys.stderr)
    print(f"{len(known)} benchmark pages written to docs/{OUTPUT.name}")
    return 1 if stale else 0


def docstring(kind: type[Benchmark]) -> str:
    """The text at the top of the benchmark's file."""
    return (sys.modules[kind.__module__].__doc__ or "").strip()


def first_sentence(kind: type[Benchmark]) -> str:
    """The first paragraph of the docstring in one line."""
    return docstring(kind).partition("\n\n")[0].replace("\n", " ")


def is_mandatory(kind: type[Benchmark]) -> bool:
    """True for checks that must pass."""
    return bool(getattr(kind, "mandatory", False))


def page(name: str, kind: type[Benchmark]) -> str:
    """Docstring, facts, and the settings that a suite may change."""
    body = docstring(kind).partition("\n\n")[2]
    body = re.sub(rf"[ \t]+{LABELS}", r"\n\1: ", body)
    body = re.sub(rf"(?m)^{LABELS}", r"\n**\1:** ", body)
    metrics = ", ".join(f"`{m.name}` ({m.unit}), threshold {m.threshold:g}" for m in kind.metrics if m.threshold)
    rows = [
        ("name", f"`{name}`"),
        ("version", str(kind.version)),
        ("must pass", "yes" if is_mandatory(kind) else "no, it grades"),
        ("metric", metrics or "none"),
        ("must catch", ", ".join(f"[`{bug}`](../sabotage.md#the-broken-models)" for bug in kind.catches) or "nothing"),
        ("file", f"`src/{kind.__module__.replace('.', '/')}.py`"),
    ]
    table = "| fact | value |\n|---|---|\n" + "\n".join(f"| {left} | {right} |" for left, right in rows)
    return f"# {name.rpartition('.')[2]}\n\n**{first_sentence(kind)}**\n\n{body}\n\n{table}\n{settings(kind)}"


def settings(kind: type[Benchmark]) -> str:
    """The fields of the benchmark with their defaults; nothing for a benchmark without fields."""
    rows = "".join(f"| `{item.name}` | `{item.default}` |\n" for item in fields(kind))
    if not rows:
        return ""
    return f"\n## Settings\n\nA suite may change these.\n\n| setting | default |\n|---|---|\n{rows}"


def index(known: dict[str, type[Benchmark]]) -> str:
    """All benchmarks, one line each."""
    rows = "\n".join(
        f"| [`{name}`]({name}.md) | {'yes' if is_mandatory(kind) else ''} | {first_sentence(kind)} |"
        for name, kind in known.items()
    )
    intro = (
        "Each page is made from the docstring of the benchmark's own file. *Must pass* marks the checks that decide\n"
        "the exit code of `assay check`; [How the checks decide](../verification.md) has the common rules."
    )
    return f"# The benchmarks\n\n{intro}\n\n| benchmark | must pass | statement |\n|---|---|---|\n{rows}\n"


def readme_rows(known: dict[str, type[Benchmark]]) -> list[str]:
    """The table of README.md."""
    return [
        f"| `{name.rpartition('.')[2]}` | {'yes' if is_mandatory(kind) else ''} | {first_sentence(kind)} |"
        for name, kind in known.items()
    ]


def broken_models() -> str:
    """The broken models with their bugs, as a table."""
    rows = "\n".join(
        f"| `{bug.name}` | {bug.what} | {', '.join(f'`{check}`' for check in bug.caught_by) or '—'} |"
        for bug in BROKEN.values()
    )
    return f"| model | its bug | must be caught by |\n|---|---|---|\n{rows}\n"


def help_text(command: str) -> str:
    """What `assay COMMAND --help` prints."""
    arguments = [sys.executable, "-m", "assay", *([command] if command else []), "--help"]
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True).stdout


def stale_readme(known: dict[str, type[Benchmark]]) -> list[str]:
    """Rows that the table of README.md should have and has not."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    return [f"README.md lacks the row {row}" for row in readme_rows(known) if row not in text]


def stale_matrix(known: dict[str, type[Benchmark]]) -> list[str]:
    """Models and checks that the matrix of docs/sabotage.md should have and has not."""
    text = (DOCS / "sabotage.md").read_text(encoding="utf-8")
    checks = [name.rpartition(".")[2] for name in known if name.startswith("verification.")]
    missing = [model for model in (*SOUND, *BROKEN) if f"\n| `{model}` |" not in text]
    missing += [check for check in checks if f"| `{check}` |" not in text]
    return [f"docs/sabotage.md has no '{name}': paste the output of `make sabotage`" for name in missing]


def stale_numbers() -> list[str]:
    """Phrases, made with the numbers of the code, that a page should have and has not; line breaks do not count."""
    found = []
    for page_name, phrases in (("verification.md", tolerance_phrases()), ("concepts.md", deadline_phrases())):
        text = " ".join((DOCS / page_name).read_text(encoding="utf-8").split())
        found += [f"docs/{page_name} should say '{phrase}'" for phrase in phrases if phrase not in text]
    return found


def tolerance_phrases() -> list[str]:
    """What docs/verification.md says about structures and tolerances."""
    from assay import configurations, survey
    from assay.benchmarks.verification import (
        _derivative,
        _limits,
        energy_smooth,
        forces_conservative,
        forces_match_energy,
        memory_stable,
    )
    from assay.probes import spacing

    force, jacobian = forces_match_energy.RELATIVE, forces_conservative.RELATIVE
    sample = f"{', '.join(survey.SAMPLE[:-1])} and {survey.SAMPLE[-1]}"
    return [
        f"({configurations.TOUCHING:g} times the sum of the covalent radii",
        f"by up to {100 * configurations.DISTORTION:g} % of the nearest-neighbour distance",
        f"by powers of {spacing.STEP:g} (at most {spacing.TRIES} tries)",
        f"between {spacing.SIZEABLE:g} and {spacing.ABSURD:g} eV/Å",
        f"up to {survey.EVERY_SPECIES} species is checked on all of them",
        f"a sample is taken: {sample} as far",
        f"{exponent(_limits.ENERGY['float64'])} of \\|E\\|",
        f"| {exponent(_limits.ENERGY['float32'])} | 4 ε",
        f"{exponent(_limits.FORCES['float64'])} of the largest force",
        f"| {exponent(_limits.FORCES['float32'])} | 16 ε",
        f"{exponent(force['float64'])} of the largest component ({exponent(force['float32'])} in float32)",
        f"{exponent(jacobian['float64'])} of the largest element of the Jacobian ({exponent(jacobian['float32'])} in",
        f"never more than {100 * _derivative.LOOSEST:g} %",
        f"fewer than {100 * _derivative.ENOUGH:g} % are left",
        f"jumps of {exponent(energy_smooth.ENERGY_JUMP)} of the well depth in energy",
        f"{exponent(energy_smooth.FORCE_JUMP)} per Å of it in force",
        f"{memory_stable.LIMIT:g} bytes kept per evaluation",
    ]


def deadline_phrases() -> list[str]:
    """What docs/concepts.md says about deadlines, with small numbers as words."""
    from assay.executors import DIED, HUNG
    from assay.runner import GIVE_UP, PATIENCE, TIMEOUT

    words = {3: "three", 4: "four", 5: "five", 10: "ten", 20: "twenty", 30: "thirty"}
    return [
        f"{TIMEOUT:g} s (`--timeout`)",
        f"plus {words[round(PATIENCE)]} times what the bundle should take",
        f"{words[GIVE_UP[HUNG]]} workers in a row hang, or {GIVE_UP[DIED]} die",
    ]


def exponent(value: float) -> str:
    """A power of ten as people write it: 1e-4, not 0.0001."""
    mantissa, _, power = f"{value:.0e}".partition("e")
    return f"{mantissa}e{int(power)}"


if __name__ == "__main__":
    sys.exit(main())
