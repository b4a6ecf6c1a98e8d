"""The command `assay`: reads the arguments and calls a command. Nothing heavy is imported until a command needs it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

from assay import __version__
from assay.cli.arguments import DONE, EPILOG, INTERRUPTED, USAGE, Parser
from assay.cli.checking import add_check
from assay.cli.data import add_data
from assay.cli.listing import add_list
from assay.cli.running import add_run
from assay.cli.scoring import add_score
from assay.errors import AssayError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `assay` with these arguments, by default those of the process; returns the exit code."""
    options = _parser().parse_args(arguments)
    _exit_on_termination()
    try:
        return int(options.command(options))
    except AssayError as error:
        print(f"assay: {' '.join(str(error).split())}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        print("assay: stopped; finished jobs are kept, run the same command to continue", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader has ended; Python would print an error at exit
        return DONE


def _exit_on_termination() -> None:
    """Make `kill` and batch systems end the program in order, so that no worker stays behind."""

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
    for add_command in (add_run, add_check, add_score, add_list, add_data):
        add_command(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
