"""The command line: parse, call, print. Nothing heavy is imported until a command needs it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from assay import __version__
from assay.cli.arguments import (
    CHECK_FAILED,
    DONE,
    EPILOG,
    INTERRUPTED,
    USAGE,
    Parser,
    command,
    count,
    length,
    positive,
    seconds,
)
from assay.cli.data import add_data
from assay.errors import AssayError

if TYPE_CHECKING:
    from rich.console import Console

    from assay.api import Report, Settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command `assay`; returns the exit code."""
    options = _parser().parse_args(arguments)
    _leave_on_termination()
    try:
        return int(options.command(options))
    except AssayError as error:
        print(f"assay: {' '.join(str(error).split())}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("assay: stopped; what was finished is kept, run the same command to go on", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader has left, and Python must not complain at exit
        return DONE


def _leave_on_termination() -> None:
    """Make `kill` and batch systems end the program in order, so that no worker is left behind."""
    import signal
    import threading

    def leave(number: int, frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, leave)


def _parser() -> Parser:
    parser = Parser(
        prog="assay",
        description="Can this interatomic potential be trusted?",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands", parser_class=Parser)
    _add_run(commands)
    _add_check(commands)
    _add_score(commands)
    _add_list(commands)
    add_data(commands)
    return parser


def _add_run(commands: argparse._SubParsersAction) -> None:
    parser = command(commands, "run", "run a suite of benchmarks on one or more models", run)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("-s", "--suite", default="smoke", help="suite name or TOML file (default: smoke)")
    parser.add_argument(
        "-b", "--benchmark", action="append", default=[], help="only this benchmark or category; repeatable"
    )
    parser.add_argument(
        "--data", action="append", default=[], metavar="DIR|NAME",
        help="reference data instead of the embedded: a folder of yours or a name from 'assay list data'; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", type=positive, metavar="N", help="run every simulation N times, with other velocities"
    )
    parser.add_argument(
        "--until-error", type=length, metavar="X",
        help="end a simulation of a bond or ring when its standard error is below X Å; not in suite paper",
    )  # fmt: skip
    _add_running(parser)


def _add_check(commands: argparse._SubParsersAction) -> None:
    parser = command(commands, "check", "verify one model; exit 1 when a mandatory check fails", check)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("-b", "--benchmark", action="append", default=[], help="only this check; repeatable")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write the checks as a JUnit XML file")
    parser.add_argument("--text", action="store_true", help="print a long text report, configuration by configuration")
    parser.add_argument(
        "--write-configs", type=Path, metavar="DIR", help="write the test structures as extended XYZ files"
    )
    _add_running(parser)


def _add_running(parser: Parser) -> None:
    parser.add_argument("-o", "--output", type=Path, default=Path("results"), help="results folder (default: results)")
    parser.add_argument(
        "-j", "--jobs", type=count, default=None, metavar="N", help="worker processes (default: all cores)"
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="at most N cases of each benchmark")
    parser.add_argument(
        "--timeout", type=seconds, metavar="S", help="grace in seconds before a job counts as hung (30)"
    )
    parser.add_argument("--all-species", action="store_true", help="take every species, not a sample")
    parser.add_argument("--elements", metavar="X,Y", help="the elements that the model claims, for example Cu,Au")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="where the model runs (default: cpu)")
    parser.add_argument(
        "--trust-checkpoints", action="store_true", help="unpickle checkpoint files, which may run any code in them"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="survey the model, say what would be computed and how long it takes, stop",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout and nothing else")


def _add_score(commands: argparse._SubParsersAction) -> None:
    parser = command(commands, "score", "scores from a results folder; needs no model", score)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--suite", default="smoke", help="suite name or TOML file (default: smoke)")
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout and nothing else")
    parser.add_argument("--csv", action="store_true", help="print one line per model and benchmark as CSV")


def _add_list(commands: argparse._SubParsersAction) -> None:
    parser = command(commands, "list", "list models, benchmarks, suites or data", list_things)
    parser.add_argument("what", choices=("models", "benchmarks", "suites", "data"))
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout and nothing else")


def run(options: argparse.Namespace) -> int:
    """`assay run`: a suite on one or more models, then the scores of all of them."""
    from assay.report.document import score_document

    if options.dry_run:
        return _dry_run(options.models, options)
    reports = [_run_one(name, options.suite, options.benchmark, options) for name in options.models]
    if options.json:
        _print_json(score_document([r.result for r in reports], reports[0].suite.name))
    else:
        _show_run(reports, options)
    return _exit_code(reports)


def check(options: argparse.Namespace) -> int:
    """`assay check`: the verification checks of one model."""
    from assay.report.document import check_document

    names = [_check_name(name) for name in options.benchmark or ["verification"]]
    if options.dry_run:
        return _dry_run([options.model], options, names)
    report = _run_one(options.model, "smoke", names, options)
    if options.junit:
        from assay.report.junit import write_junit

        write_junit(report.result, options.junit)
    if options.write_configs:
        from assay.cli.configs import write_configurations

        with _models_print_to_stderr():
            count = write_configurations(options.model, _settings(options), options.output, options.write_configs)
        print(f"assay: {count} configurations written to '{options.write_configs}'", file=sys.stderr)
    if options.json:
        _print_json(check_document(report.result))
    elif options.text:
        from assay.report.text import text_report

        print(text_report(report.result))
    else:
        _show_checks(report)
    return _exit_code([report])


def _check_name(name: str) -> str:
    return name if name == "verification" else f"verification.{name.removeprefix('verification.')}"


@contextmanager
def _models_print_to_stderr() -> Iterator[None]:
    """Whatever a model prints while it is imported or run goes to standard error: standard output is ours."""
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(ours, 1)
        os.close(ours)


def _run_one(model: str, suite: str, benchmarks: Sequence[str], options: argparse.Namespace) -> Report:
    from dataclasses import asdict

    from assay.api import run as run_model
    from assay.cli.progress import progress_bar

    settings = {k: v for k, v in asdict(_settings(options)).items() if k != "progress"}
    with _models_print_to_stderr(), progress_bar(model, enabled=sys.stderr.isatty()) as progress:
        report = run_model(model, suite, benchmarks, output=options.output, progress=progress, **settings)
    for warning in report.result.warnings:
        print(f"assay: {warning}", file=sys.stderr)
    if report.gave_up:
        print(f"assay: stopped early, {report.gave_up}; run the same command to try again", file=sys.stderr)
    return report


def _settings(options: argparse.Namespace) -> Settings:
    from assay.api import Settings
    from assay.compute.runner import TIMEOUT

    if options.trust_checkpoints:
        os.environ["ASSAY_TRUST_CHECKPOINTS"] = "1"  # for the workers too
    return Settings(
        options.jobs,
        options.timeout or TIMEOUT,
        options.limit,
        options.all_species,
        _elements(options.elements),
        options.device,
        tuple(getattr(options, "data", ())),
        getattr(options, "seeds", None),
        getattr(options, "until_error", None),
    )


def _elements(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    from ase.data import atomic_numbers

    names = [name.strip() for name in text.split(",")]
    wrong = [name for name in names if atomic_numbers.get(name, 0) == 0]
    if wrong:
        raise AssayError(f"there is no element '{wrong[0]}'; give symbols with commas, as in --elements Cu,Au")
    return tuple(sorted({int(atomic_numbers[name]) for name in names}))


def _dry_run(models: Sequence[str], options: argparse.Namespace, benchmarks: Sequence[str] | None = None) -> int:
    from assay.api import dry_run
    from assay.cli.costs import cost_document, print_costs

    plans = {}
    for model in models:
        suite = getattr(options, "suite", "smoke")
        with _models_print_to_stderr():
            plans[model] = dry_run(model, suite, benchmarks or options.benchmark, options.output, _settings(options))
    if options.json:
        _print_json(cost_document(plans))
        return DONE
    for model, plan in plans.items():
        print_costs(model, plan, _console())
    return DONE


def score(options: argparse.Namespace) -> int:
    """`assay score`: results from a folder, without any model."""
    from assay.report.document import score_document
    from assay.report.table import print_scores
    from assay.results import read_results
    from assay.store import open_stores
    from assay.suites import load_suite

    suite = load_suite(options.suite)
    results = [read_results(store, suite) for store in open_stores(options.folder)]
    for result in results:
        for warning in result.warnings:
            print(f"assay: {warning}", file=sys.stderr)
    if options.json:
        _print_json(score_document(results, suite.name))
    elif options.csv:
        from assay.report.csv import print_csv

        print_csv(results, sys.stdout)
    else:
        print_scores(results, suite.name, _console())
    return DONE


def list_things(options: argparse.Namespace) -> int:
    """`assay list`: what there is."""
    from assay.cli.listing import listing

    rows = listing(options.what)
    if options.json:
        _print_json({options.what: rows})
        return DONE
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        print(f"{row['name']!s:{width}}  {row['line']}")
    return DONE


def _show_run(reports: Sequence[Report], options: argparse.Namespace) -> None:
    from assay.report.table import print_scores, print_tables

    console = _console()
    for report in reports:
        print_tables(report.result, console)
    print_scores([r.result for r in reports], reports[0].suite.name, console)
    console.print(
        f"results are in '{options.output}'; 'assay score {options.output}' reads them again", highlight=False
    )


def _show_checks(report: Report) -> None:
    from assay.report.table import print_checks

    print_checks(report.result, _console())


def _console() -> Console:
    from rich.console import Console

    # Output that goes to a file or pipe has no width of its own.
    return Console(width=None if sys.stdout.isatty() else 150)


def _exit_code(reports: Sequence[Report]) -> int:
    codes = [report.exit_code for report in reports]
    return CHECK_FAILED if CHECK_FAILED in codes else max(codes)


def _print_json(document: object) -> None:
    print(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
