"""Write what the documentation takes from the code, and check what people wrote against it. `make docs` runs this.

Written into docs/benchmarks/ (not kept in git): a page for each benchmark from its module docstring, an index, the
tables of broken models, of named models and of kinds of data, and the help texts of the command line. Checked: the
tables of benchmarks and models in README.md, the matrix in docs/sabotage.md, and the numbers that pages quote
(`phrases.py`). Exit code 1, with one line for each thing to mend, if these lag behind the code.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from kind_table import kind_table
from model_tables import model_tables
from phrases import PHRASES
from sabotage_matrix import must_catch, short_names

from assay.benchmark import Benchmark, Metric
from assay.benchmarks.registry import registered_benchmarks
from assay.models import file_schemes, named_models
from assay.sabotage import BROKEN, SOUND

DOCS = Path(__file__).resolve().parent.parent
OUTPUT = DOCS / "benchmarks"
COMMANDS = ("", "run", "check", "score", "list", "data")
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
    (OUTPUT / "generated" / "models.md").write_text(model_tables(), encoding="utf-8")
    (OUTPUT / "generated" / "kinds.md").write_text(kind_table(), encoding="utf-8")
    for command in COMMANDS:
        (OUTPUT / "generated" / f"help-{command or 'assay'}.txt").write_text(help_text(command), encoding="utf-8")
    stale = [*stale_readme(known), *stale_models(), *stale_matrix(), *stale_numbers()]
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


def is_check(name: str) -> bool:
    """True for benchmarks that end in a verdict."""
    return name.startswith("verification.")


def is_mandatory(kind: type[Benchmark]) -> bool:
    """True for checks that must pass."""
    return bool(getattr(kind, "mandatory", False))


def metric_text(metric: Metric) -> str:
    """A metric with its unit, and what scores 1 in it."""
    unit = "" if metric.unit == "1" else f" ({metric.unit})"
    if metric.threshold is None:
        return f"`{metric.name}`{unit}, reported"
    wanted = f"up to {metric.threshold:.3g}" if metric.ideal == 0.0 else f"{metric.ideal:+g} ± {metric.threshold:g}"
    return f"`{metric.name}`{unit}, {wanted}"


def page(name: str, kind: type[Benchmark]) -> str:
    """Docstring, facts, and the settings that a suite may change."""
    body = docstring(kind).partition("\n\n")[2]
    body = re.sub(rf"[ \t]+{LABELS}", r"\n\1: ", body)
    body = re.sub(rf"(?m)^{LABELS}", r"\n**\1:** ", body)
    rows = [
        ("name", f"`{name}`"),
        ("version", str(kind.version)),
        ("must pass", "yes" if is_mandatory(kind) else "no, it grades" if is_check(name) else "no, it scores"),
        ("metrics", "<br>".join(metric_text(metric) for metric in kind.metrics)),
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
    """All benchmarks, one line each; checks first."""
    checks = "".join(
        f"| [`{name}`]({name}.md) | {'yes' if is_mandatory(kind) else ''} | {first_sentence(kind)} |\n"
        for name, kind in known.items()
        if is_check(name)
    )
    physicality, molecules, general = (
        "".join(
            f"| [`{name}`]({name}.md) | {first_sentence(kind)} |\n"
            for name, kind in known.items()
            if name.startswith(f"{category}.")
        )
        for category in ("physicality", "molecules", "general")
    )
    return f"""# The benchmarks

Each page is made from the docstring of the benchmark's own file.

## Verification

*Must pass* marks the checks that decide the exit code of `assay check`; [How the checks decide](../verification.md) has
the common rules.

| check | must pass | statement |
|---|---|---|
{checks}
## Physicality

These have scores and no verdict; [Physicality](../physicality.md) has the common rules.

| benchmark | what it is about |
|---|---|
{physicality}
## Molecules

These compare with reference data; [Molecules](../molecules.md) has the common rules.

| benchmark | what it is about |
|---|---|
{molecules}
## General

What every simulation needs; [Dynamics](../dynamics.md) has the protocols and rules.

| benchmark | what it is about |
|---|---|
{general}"""


def readme_rows(known: dict[str, type[Benchmark]]) -> list[str]:
    """The tables of benchmarks in README.md."""
    checks = [
        f"| `{name.rpartition('.')[2]}` | {'yes' if is_mandatory(kind) else ''} | {first_sentence(kind)} |"
        for name, kind in known.items()
        if is_check(name)
    ]
    return checks + [f"| `{name}` | {first_sentence(kind)} |" for name, kind in known.items() if not is_check(name)]


def broken_models() -> str:
    """The broken models with their bugs, as a table."""
    rows = "\n".join(
        f"| `{bug.name}` | {bug.what} | {', '.join(f'`{name}`' for name in must_catch(bug.name)) or '—'} |"
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


def stale_models() -> list[str]:
    """Models and kinds of checkpoint that README.md should name and does not."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    names = [*named_models(), *(f"{scheme}:FILE" for scheme in sorted(file_schemes()))]
    return [f"README.md does not name the model '{name}'" for name in names if f"`{name}`" not in text]


def stale_matrix() -> list[str]:
    """Models and benchmarks that the matrix of docs/sabotage.md should have, complete, and has not."""
    lines = (DOCS / "sabotage.md").read_text(encoding="utf-8").splitlines()
    short = short_names()
    rows = [line for line in lines if line.startswith("| ") and line.count("|") > len(short)]
    missing = [name for name in short if not rows or f"| `{name}` |" not in rows[0]]
    for model in (*SOUND, *BROKEN):
        start = f"| `{model}` | {', '.join(must_catch(model))} |"
        missing += [] if any(row.startswith(start) and row.count("|") == len(short) + 3 for row in rows) else [model]
    return [f"docs/sabotage.md has no '{name}' of today: paste the output of `make sabotage`" for name in missing]


def stale_numbers() -> list[str]:
    """Phrases, made with the numbers of the code, that a page should have and has not; line breaks do not count."""
    found = []
    for page_name, phrases in PHRASES.items():
        text = " ".join((DOCS / page_name).read_text(encoding="utf-8").split())
        found += [f"docs/{page_name} should say '{phrase}'" for phrase in phrases() if phrase not in text]
    return found


if __name__ == "__main__":
    sys.exit(main())
