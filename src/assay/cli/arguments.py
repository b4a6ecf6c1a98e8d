"""What the commands share: a parser whose errors are one sentence, options, types of values, and exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from assay.errors import AssayError
from assay.naming import did_you_mean
from assay.text import one_line

DONE, CHECK_FAILED, USAGE, JOB_ERRORS, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 130

EPILOG = """exit codes: 0 done, 1 a mandatory check failed, 2 wrong usage, 3 some jobs ended in error,
4 an error of Assay itself, 130 or 143 interrupted
MODEL is a name from 'assay list models', kim:NAME, FAMILY:FILE such as mace:FILE, file.py:factory or
package.module:factory"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence with a did-you-mean."""

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse a value outside of the choices in one sentence, with the closest choice."""
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            hint = did_you_mean(str(value), choices)
            self.error(f"there is no '{value}'{hint}; choose from {', '.join(choices)}")

    def error(self, message: str) -> NoReturn:
        """Print one sentence and leave with the exit code for wrong usage."""
        print(f"assay: {one_line(message)} (see '{self.prog} --help')", file=sys.stderr)
        raise SystemExit(USAGE)


def command(commands: argparse._SubParsersAction, name: str, text: str, function: Callable) -> Parser:
    """Add a command that calls a function with the parsed options; returns the parser for its options."""
    parser: Parser = commands.add_parser(
        name, help=text, description=text, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(command=function)
    return parser


def add_benchmarks(parser: Parser, what: str = "benchmark or category") -> None:
    """Add the option -b, which chooses benchmarks."""
    parser.add_argument("-b", "--benchmark", action="append", default=[], metavar="NAME|FILE:CLASS",
                        help=f"only this {what}, or one in a file of yours (mine.py:Lattice); repeatable")  # fmt: skip


def add_json(parser: Parser) -> None:
    """Add the option --json."""
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout and nothing else")


def add_detail(parser: Parser) -> None:
    """Add the option --detail, which needs --json."""
    parser.add_argument(
        "--detail", action="store_true", help="with --json: add the detail of each case, such as curves and series"
    )


def add_composite(parser: Parser) -> None:
    """Add the option --composite, which chooses how scores are combined."""
    parser.add_argument(
        "--composite", choices=("categories", "paper"), default="categories",
        help="categories: the mean over categories (default); paper: also the composite score of MLIPAudit",
    )  # fmt: skip


def require_json_for_detail(options: argparse.Namespace) -> None:
    """Raise an error when --detail is given without --json."""
    if options.detail and not options.json:
        raise AssayError("--detail adds to the JSON document; give --json, too")


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def count(text: str) -> int:
    """A whole number, which may be 0."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number; 0 runs everything in one process")
    return int(text)


def seconds(text: str) -> float:
    """A time above 0 s."""
    return _above_zero(text, "seconds")


def length(text: str) -> float:
    """A length above 0 Å."""
    return _above_zero(text, "Å")


def _above_zero(text: str, unit: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of {unit} above 0")
    return value
