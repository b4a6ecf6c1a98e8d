"""`assay data`: download published data sets, verify them, print where they are."""

from __future__ import annotations

import argparse
import sys

from assay.cli.arguments import CHECK_FAILED, DONE, Parser, command


def add_data(commands: argparse._SubParsersAction) -> None:
    """Add the command and its verbs."""
    parser = command(commands, "data", "download published data sets, verify them, print where they are", fetch_data)
    verbs = parser.add_subparsers(metavar="VERB", required=True, title="verbs", parser_class=Parser)
    fetch = command(verbs, "fetch", "download data sets by their names in 'assay list data'", fetch_data)
    fetch.add_argument("names", nargs="+", metavar="NAME")
    fetch.add_argument("--revision", default="", metavar="SHA", help="commit of a repository that has no pinned one")
    verify = command(verbs, "verify", "compare fetched data with its checksums (default: all)", verify_data)
    verify.add_argument("names", nargs="*", metavar="NAME")
    path = command(verbs, "path", "print where fetched data is, or the file of one set", data_path)
    path.add_argument("name", nargs="?", metavar="NAME")


def fetch_data(options: argparse.Namespace) -> int:
    """`assay data fetch`: download published sets into the cache."""
    from assay.cli.download import download_bar
    from assay.data.official import fetch_official, find_official

    for name in options.names:
        find_official(name)  # a wrong name is reported before anything is downloaded
    for name in options.names:
        with download_bar(name, enabled=sys.stderr.isatty()) as progress:
            print(fetch_official(name, options.revision, progress))
    return DONE


def verify_data(options: argparse.Namespace) -> int:
    """`assay data verify`: compare fetched sets with their checksums; exit 1 if one is damaged."""
    from assay.data.official import find_official, official

    names = options.names or [name for name, entry in official().items() if entry.here]
    states = {name: find_official(name).damage() for name in names}
    for name, damage in states.items():
        print(f"{name} {damage or 'is whole'}")
    if not names:
        print("assay: nothing has been fetched yet; 'assay list data' shows what there is", file=sys.stderr)
    return CHECK_FAILED if any(states.values()) else DONE


def data_path(options: argparse.Namespace) -> int:
    """`assay data path`: the folder of fetched data, or the file of one set."""
    from assay.data.fetch import place
    from assay.data.official import find_official

    print(place(find_official(options.name).download.file) if options.name else place(""))
    return DONE
