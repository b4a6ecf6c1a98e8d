"""`assay check`: the verification checks of one model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.arguments import add_benchmarks, command
from assay.cli.output import models_print_to_stderr, open_console, print_json, print_text, print_to_stderr
from assay.cli.running import add_running_options, exit_code, run_model, settings_from, show_dry_run
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.api import Report, Settings

SUITE = "smoke"
"""The checks are the same in every suite."""


def add_check(commands: argparse._SubParsersAction) -> None:
    """Add the command and its options."""
    parser = command(commands, "check", "verify one model; exit 1 when a mandatory check fails", check)
    parser.add_argument("model", metavar="MODEL")
    add_benchmarks(parser, "check")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write the checks as a JUnit XML file")
    parser.add_argument("--text", action="store_true", help="print a long text report, configuration by configuration")
    parser.add_argument(
        "--write-configs", type=Path, metavar="DIR", help="write the test structures as extended XYZ files"
    )
    add_running_options(parser)


def check(options: argparse.Namespace) -> int:
    """`assay check`: run the checks, write the files that were asked for, print the verdicts."""
    _require_places(options)
    settings = settings_from(options)
    names = [check_name(name) for name in options.benchmark or ["verification"]]
    if options.dry_run:
        return show_dry_run([options.model], SUITE, names, options, settings)
    report = run_model(options.model, SUITE, names, options.output, settings)
    if options.junit:
        from assay.report.junit import write_junit

        write_junit(report.result, options.junit, options.fail_on)
    if options.write_configs:
        _write_configurations(options, settings)
    _show(report, options)
    return exit_code([report], options.fail_on)


def _require_places(options: argparse.Namespace) -> None:
    """An error before anything is computed if a file or folder cannot be written where the user wants it."""
    file, folder = options.junit, options.write_configs
    if file is not None and not file.absolute().parent.is_dir():
        raise AssayError(f"the JUnit file '{file}' cannot be written, because its folder does not exist; make it first")
    if folder is not None and folder.exists() and not folder.is_dir():
        raise AssayError(f"'{folder}' exists and is no folder; give another one to --write-configs")


def check_name(name: str) -> str:
    """The full name of a check, whose category may be left out; `file.py:Class` stays as it is."""
    return name if name == "verification" or ":" in name else f"verification.{name.removeprefix('verification.')}"


def _write_configurations(options: argparse.Namespace, settings: Settings) -> None:
    from assay.cli.configs import write_configurations

    with models_print_to_stderr():
        count = write_configurations(options.model, settings, options.output, options.write_configs)
    print_to_stderr([f"{count} configurations written to '{options.write_configs}'"])


def _show(report: Report, options: argparse.Namespace) -> None:
    if options.json:
        from assay.report.document import check_document

        print_json(check_document(report.result))
    elif options.text:
        from assay.report.text import text_report

        print_text(text_report(report.result))
    else:
        from assay.report.table import print_problems, print_tables

        console = open_console()
        print_tables(report.result, console)
        print_problems([report.result], console)
