"""`assay run`, and what `assay check` shares with it: the options of a run, its settings, and the dry run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.arguments import (
    CHECK_FAILED,
    DONE,
    JOB_ERRORS,
    USAGE,
    Parser,
    add_benchmarks,
    add_detail,
    add_json,
    command,
    count,
    length,
    positive,
    require_json_for_detail,
    seconds,
)
from assay.cli.output import models_print_to_stderr, open_console, print_json, print_to_stderr
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.api import Report, Settings
    from assay.model import Model


def add_run(commands: argparse._SubParsersAction) -> None:
    """Add the command and its options."""
    parser = command(commands, "run", "run a suite of benchmarks on one or more models", run)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("-s", "--suite", default="smoke", help="suite name or TOML file (default: smoke)")
    add_benchmarks(parser)
    parser.add_argument(
        "--data", action="append", default=[], metavar="DIR|NAME",
        help="reference data instead of the embedded: a folder of yours or a name from 'assay list data'; repeatable",
    )  # fmt: skip
    parser.add_argument(
        "--seeds", type=positive, metavar="N", help="run every simulation N times, with different velocities"
    )
    parser.add_argument(
        "--until-error", type=length, metavar="X",
        help="end a simulation of a bond or ring when its standard error is below X Å; not in suite paper",
    )  # fmt: skip
    add_running_options(parser)
    add_detail(parser)


def add_running_options(parser: Parser) -> None:
    """Add the options of every command that runs a model."""
    parser.add_argument("-o", "--output", type=Path, default=Path("results"), help="results folder (default: results)")
    parser.add_argument(
        "-j", "--jobs", type=count, default=None, metavar="N", help="worker processes (default: all cores)"
    )
    parser.add_argument("--limit", type=positive, metavar="N", help="at most N cases of each benchmark")
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="S",
        help="seconds without CPU time or an answer before a worker counts as hung; added to every deadline (30)",
    )
    parser.add_argument("--all-species", action="store_true", help="take every species, not a sample")
    parser.add_argument("--elements", metavar="X,Y", help="the elements that the model claims, for example Cu,Au")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="where the model runs (default: cpu)")
    parser.add_argument(
        "--trust-checkpoints", action="store_true", help="unpickle checkpoint files, which may run any code in them"
    )
    parser.add_argument(
        "--fail-on", choices=("mandatory", "graded"), default="mandatory",
        help="exit 1 when a mandatory check fails (default), or also when one fails that is only graded",
    )  # fmt: skip
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="survey the model, print what would be computed and how long it takes, then stop",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="compute everything again; earlier results are kept in a folder 'earlier'"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """`assay run`: a suite on one or more models, the tables of each as soon as it is done, then all scores."""
    require_json_for_detail(options)
    settings = settings_from(options)
    if options.dry_run:
        return show_dry_run(options.models, options.suite, options.benchmark, options, settings)
    models = _opened(options.models, settings) if len(options.models) > 1 else options.models
    reports = [report for model in models if (report := _run_one_of_several(model, options, settings))]
    if not reports:
        return USAGE
    if options.json:
        from assay.report.document import score_document

        print_json(score_document([r.result for r in reports], reports[0].suite.name, options.detail))
    else:
        _show_scores(reports, options.output)
    code = exit_code(reports, options.fail_on)
    return USAGE if code == DONE and len(reports) < len(options.models) else code


def _opened(models: Sequence[str], settings: Settings) -> list[Model]:
    """Every model, opened before the first is run, so that a wrong name is reported at once."""
    from assay.models.loading import load_model

    with models_print_to_stderr():
        return [load_model(model, settings.device) for model in models]


def _run_one_of_several(model: str | Model, options: argparse.Namespace, settings: Settings) -> Report | None:
    """Run one model and print its tables; None, with the reason on standard error, for one that cannot be run."""
    try:
        report = run_model(model, options.suite, options.benchmark, options.output, settings)
    except AssayError as error:
        if len(options.models) == 1:
            raise
        print_to_stderr([f"{_name_of(model)} was not run: {error}"])
        return None
    if not options.json:
        from assay.report.table import print_problems, print_tables

        console = open_console()
        print_tables(report.result, console)
        if len(options.models) > 1:  # of one model, they are the last lines of all
            print_problems([report.result], console)
    return report


def run_model(model: str | Model, suite: str, benchmarks: Sequence[str], output: Path, settings: Settings) -> Report:
    """Run a suite on one model, with a progress bar on a terminal; warnings go to standard error."""
    from assay.api import run_suite
    from assay.cli.progress import progress_bar

    if not isinstance(model, str):
        settings = replace(settings, device=None)  # an opened model is on its device
    with models_print_to_stderr(), progress_bar(_name_of(model), enabled=sys.stderr.isatty()) as progress:
        report = run_suite(model, suite, benchmarks, output, replace(settings, progress=progress))
    print_to_stderr([*report.result.warnings, *filter(None, [report.reuse.sentence(), _time_used(report)])])
    if report.gave_up:
        print_to_stderr([f"stopped early, {report.gave_up}; run the same command to try again"])
    return report


def _time_used(report: Report) -> str:
    """The CPU time of the workers beside what was expected; empty if nothing was computed."""
    from assay.cli.costs import duration

    if not report.expected_seconds:
        return ""
    return f"{duration(report.cpu_seconds)} of CPU time used, {duration(report.expected_seconds)} expected"


def _name_of(model: str | Model) -> str:
    return model if isinstance(model, str) else model.name


def settings_from(options: argparse.Namespace) -> Settings:
    """The settings that the options give. Options that a command does not have keep their defaults."""
    from assay.settings import TIMEOUT, Settings

    if options.trust_checkpoints:
        os.environ["ASSAY_TRUST_CHECKPOINTS"] = "1"  # for the workers, too
    return Settings(
        workers=options.jobs,
        timeout=options.timeout or TIMEOUT,
        limit=options.limit,
        all_species=options.all_species,
        elements=_atomic_numbers(options.elements),
        device=options.device,
        data=tuple(getattr(options, "data", ())),
        seeds=getattr(options, "seeds", None),
        until_error=getattr(options, "until_error", None),
        fresh=options.fresh,
    )


def _atomic_numbers(symbols: str | None) -> tuple[int, ...] | None:
    from assay.elements import NUMBERS

    if symbols is None:
        return None
    names = [name.strip() for name in symbols.split(",")]
    wrong = [name for name in names if name not in NUMBERS]
    if wrong:
        raise AssayError(f"there is no element '{wrong[0]}'; give symbols with commas, as in --elements Cu,Au")
    return tuple(sorted({NUMBERS[name] for name in names}))


def show_dry_run(
    models: Sequence[str], suite: str, benchmarks: Sequence[str], options: argparse.Namespace, settings: Settings
) -> int:
    """Print what would be computed for each model, and how long it would take; 3 if that could not be estimated."""
    from assay.api import dry_run
    from assay.cli.costs import cost_document, print_costs

    with models_print_to_stderr():
        plans = {model: dry_run(model, suite, benchmarks, options.output, settings) for model in models}
    if options.json:
        print_json(cost_document(plans))
    else:
        console = open_console()
        for model, plan in plans.items():
            print_costs(model, plan, console)
    return JOB_ERRORS if any(plan.problem or plan.lost for plan in plans.values()) else DONE


def _show_scores(reports: Sequence[Report], output: Path) -> None:
    from assay.report.table import print_lines, print_problems, print_scores

    console, results = open_console(), [r.result for r in reports]
    print_scores(results, reports[0].suite.name, console)
    print_lines([f"results are in '{output}'; 'assay score {output}' reads them again"], console)
    print_problems(results, console)


def exit_code(reports: Sequence[Report], fail_on: str) -> int:
    """The exit code for several models; a failed check outweighs jobs that ended in error."""
    from assay.report.verdict import exit_code as exit_code_of

    codes = [exit_code_of(report.result, fail_on) for report in reports]
    return CHECK_FAILED if CHECK_FAILED in codes else max(codes)
