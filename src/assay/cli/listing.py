"""`assay list`: models with how to install them, benchmarks with their first sentence, suites, and data sets."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from assay.cli.arguments import DONE, add_json, command
from assay.cli.output import chosen_width, print_json, print_text
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.data.dataset import Card


def add_list(commands: argparse._SubParsersAction) -> None:
    """Add the command and its options."""
    parser = command(commands, "list", "list models, benchmarks, suites or data", print_list)
    parser.add_argument("what", choices=("models", "benchmarks", "suites", "data"))
    add_json(parser)


def print_list(options: argparse.Namespace) -> int:
    """`assay list`: print one line per model, benchmark, suite or data set."""
    rows = listing(options.what)
    if options.json:
        print_json({options.what: rows})
        return DONE
    if options.what == "data":
        width = chosen_width() or shutil.get_terminal_size((150, 24)).columns
        print_columns([_data_columns(row) for row in rows], width)
        return DONE
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        print_text(f"{row['name']!s:{width}}  {row['line']}")
    return DONE


def print_columns(rows: Sequence[Sequence[str]], width: int) -> None:
    """One line for each row, with as many columns as fit; no cell is cut off."""
    sizes = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    count = next(n for n in range(len(sizes), 0, -1) if n <= 2 or sum(sizes[:n]) + 2 * (n - 1) <= width)
    for row in rows:
        print_text("  ".join(f"{cell:{size}}" for cell, size in zip(row[:count], sizes, strict=False)).rstrip())


def listing(what: str) -> list[dict[str, object]]:
    """Rows of plain data; of each row, `name` and `line` are printed."""
    kinds = {"models": _models, "benchmarks": _benchmarks, "suites": _suites, "data": _data}
    if what not in kinds:
        raise AssayError(f"there is no list of '{what}'; there are {', '.join(kinds)}")
    return kinds[what]()


def _models() -> list[dict[str, object]]:
    from assay.models import file_schemes, named_models, schemes
    from assay.models.install import install_hint

    rows: list[dict[str, object]] = []
    for name, entry in sorted(named_models().items()):
        line = entry.card.description
        install = install_hint(entry.install)
        if not entry.installed:
            line += f"  [not installed: {install}]"
        rows.append({"name": name, "line": line, "installed": entry.installed, "install": install,
                     "theory": entry.card.theory, "licence": entry.card.licence})  # fmt: skip
    for scheme in sorted(set(schemes()) - file_schemes()):
        rows.append({"name": f"{scheme}:NAME", "line": f"a model of the {scheme.upper()} library by its own name"})
    for scheme in sorted(file_schemes()):
        rows.append({"name": f"{scheme}:FILE", "line": f"a checkpoint file of your own, of the family {scheme}"})
    rows.append({"name": "file.py:factory", "line": "a function in a Python file that returns an ASE calculator"})
    rows.append({"name": "package.module:factory", "line": "a function or calculator class of an installed package"})
    return rows


def _benchmarks() -> list[dict[str, object]]:
    import sys

    from assay.benchmarks.registry import registered_benchmarks

    rows: list[dict[str, object]] = []
    for name, kind in registered_benchmarks().items():
        text = sys.modules[kind.__module__].__doc__ or ""
        must = bool(getattr(kind, "mandatory", False))
        first = text.partition("\n\n")[0].replace("\n", " ")
        rows.append({"name": name, "line": ("* " if must else "  ") + first, "version": kind.version,
                     "mandatory": must, "metrics": [m.name for m in kind.metrics]})  # fmt: skip
    return rows


def _suites() -> list[dict[str, object]]:
    from assay.suites import load_suite, suite_names

    suites = [load_suite(name) for name in suite_names()]
    return [{"name": s.name, "line": s.description, "benchmarks": list(s.benchmarks)} for s in suites]


def _data() -> list[dict[str, object]]:
    from assay.data.embedded import embedded
    from assay.data.official import official

    rows = [_data_row(entry.card, True, default=entry.default) for entry in embedded().values()]
    for entry in official().values():
        rows.append({**_data_row(entry.known_card(), entry.here), "bytes": entry.download.bytes})
    return rows


def _data_row(card: Card, here: bool, default: bool = False) -> dict[str, object]:
    """One data set; `default` is true when a benchmark uses it unless the user chooses another one."""
    parts = [card.kind, card.size, card.level, card.licence, card.source]
    state = "embedded" if card.lane == "embedded" else "official, fetched" if here else "official, not fetched"
    line = f"[{state}] " + "; ".join(parts)
    return {"name": card.name, "line": line, **asdict(card), "here": here, "default": default}


def _data_columns(row: Mapping[str, object]) -> list[str]:
    """What is printed of a data set, the most needed first; the JSON has all of it."""
    state = "embedded" if row["lane"] == "embedded" else "fetched" if row["here"] else "not fetched"
    records = str(row["size"]).partition(", ")[0].replace("about ", "~")
    level = re.split("[;:]|, | at ", str(row["level"]))[0]
    licence = str(row["licence"]).partition(";")[0]
    return [str(row["name"]), state, str(row["kind"]), records, level, licence]
