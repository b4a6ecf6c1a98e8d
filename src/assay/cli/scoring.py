"""`assay score`: scores from a results folder. No model is needed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.arguments import (
    DONE,
    add_benchmarks,
    add_composite,
    add_detail,
    add_json,
    command,
    require_json_for_detail,
)
from assay.cli.output import open_console, print_json, print_to_stderr
from assay.errors import AssayError


def add_score(commands: argparse._SubParsersAction) -> None:
    """Add the command and its options."""
    parser = command(commands, "score", "scores from a results folder; needs no model", score)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("-s", "--suite", default="smoke", help="suite name or TOML file (default: smoke)")
    add_benchmarks(parser)
    add_json(parser)
    add_detail(parser)
    add_composite(parser)
    parser.add_argument("--csv", action="store_true", help="print one line per model and benchmark as CSV")


def score(options: argparse.Namespace) -> int:
    """`assay score`: read the results of all models in a folder, score them, print them."""
    from assay.results import read_results
    from assay.store import open_stores
    from assay.suites import choose_suite

    require_json_for_detail(options)
    paper = options.composite == "paper"
    if paper and options.csv and not options.json:
        raise AssayError("--composite paper is printed as a table or with --json; leave out --csv")
    suite = choose_suite(options.suite, tuple(options.benchmark))
    results = [read_results(store, suite) for store in open_stores(options.folder)]
    for result in results:
        print_to_stderr(result.warnings)
    if options.json:
        from assay.report.document import score_document

        print_json(score_document(results, suite.name, options.detail, paper))
    elif options.csv:
        from assay.report.csv import print_csv

        print_csv(results, sys.stdout)
    else:
        from assay.report.table import print_problems, print_scores

        console = open_console()
        print_scores(results, suite.name, console)
        if paper:
            from assay.report.composite import print_composite

            print_composite(results, console)
        print_problems(results, console)
    return DONE
