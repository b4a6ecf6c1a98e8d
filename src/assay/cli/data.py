"""`assay data`: download published data sets, check them, and show where they are."""

from __future__ import annotations

import argparse
import sys

from assay.cli.arguments import CHECK_FAILED, DONE, Parser, command
from assay.cli.output import print_text, print_to_stderr


def add_data(commands: argparse._SubParsersAction) -> None:
    """Add the command `assay data` with its verbs."""
    parser = command(commands, "data", "download published data sets, check them, and show where they are", fetch_data)
    verbs = parser.add_subparsers(metavar="VERB", required=True, title="verbs", parser_class=Parser)
    fetch = command(verbs, "fetch", "download data sets by their names in 'assay list data'", fetch_data)
    fetch.add_argument("names", nargs="+", metavar="NAME")
    fetch.add_argument("--revision", default="", metavar="SHA", help="commit of a repository without a fixed one")
    verify = command(verbs, "verify", "compare fetched data with its checksums (default: all)", verify_data)
    verify.add_argument("names", nargs="*", metavar="NAME")
    path = command(verbs, "path", "print the folder of fetched data, or the file of one set", data_path)
    path.add_argument("name", nargs="?", metavar="NAME")


def fetch_data(options: argparse.Namespace) -> int:
    """`assay data fetch`: download published sets to the cache."""
    from assay.cli.download import download_bar
    from assay.data.official import fetch_official, find_official

    for name in options.names:
        find_official(name)  # a wrong name is reported before anything is downloaded
    for name in options.names:
        with download_bar(name, enabled=sys.stderr.isatty()) as progress:
            print_text(fetch_official(name, options.revision, progress))
    return DONE


def verify_data(options: argparse.Namespace) -> int:
    """`assay data verify`: compare fetched sets with their checksums; exit code 1 if one is damaged."""
    from assay.data.official import find_official, official

    names = options.names or [name for name, entry in official().items() if entry.here]
    states = {name: find_official(name).damage() for name in names}
    for name, damage in states.items():
        print_text(f"{name} {damage or 'is intact'}")
    if not names:
        print_to_stderr(["no data set has been fetched; 'assay list data' shows the names"])
    return CHECK_FAILED if any(states.values()) else DONE


def data_path(options: argparse.Namespace) -> int:
    """`assay data path`: print the folder of fetched data, or the file of one set."""
    from assay.data.fetch import place
    from assay.data.official import find_official

    print_text(place(find_official(options.name).download.file) if options.name else place(""))
    return DONE
