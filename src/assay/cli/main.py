"""The command `assay`: reads the arguments and calls a command. Nothing heavy is imported until a command needs it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from assay import __version__
from assay.cli.arguments import DONE, EPILOG, INTERRUPTED, USAGE, Parser
from assay.cli.checking import add_check
from assay.cli.children import adopt_orphans, end_children
from assay.cli.data import add_data
from assay.cli.listing import add_list
from assay.cli.mishaps import report_internal_error, report_system_error
from assay.cli.output import print_to_stderr
from assay.cli.running import add_run
from assay.cli.scoring import add_score
from assay.cli.streams import discard_stdout, prepare_streams
from assay.errors import AssayError
from assay.stopping import Stopped, stop_on_termination


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `assay` with these arguments, by default those of the process; returns the exit code."""
    if arguments is not None:
        return _run(arguments)
    prepare_streams()
    adopt_orphans()
    try:
        return _run(sys.argv[1:])
    finally:
        end_children()


def _run(arguments: Sequence[str]) -> int:
    """Read the arguments, call the command, and make one sentence and an exit code of whatever stops it."""
    try:
        options = _parser().parse_args(arguments)
        stop_on_termination()
        code = int(options.command(options))
        sys.stdout.flush()  # a full disk is noticed here and not after the last line of this program
        return code
    except AssayError as error:
        print_to_stderr([str(error)])
        return USAGE
    except (KeyboardInterrupt, Stopped) as stop:
        print_to_stderr(["stopped; finished jobs are kept, run the same command to continue"])
        return stop.exit_code if isinstance(stop, Stopped) else INTERRUPTED
    except BrokenPipeError:
        discard_stdout()  # the reader has ended
        return DONE
    except OSError as error:
        return report_system_error(error, arguments)
    except Exception as error:
        return report_internal_error(error, arguments)


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
