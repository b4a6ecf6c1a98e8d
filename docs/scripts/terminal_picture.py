"""Check a model for real and draw the table that the terminal shows as docs/images/check.svg.

Run by hand when the table changes: `python docs/scripts/terminal_picture.py [MODEL]`.
"""

from __future__ import annotations

import argparse
import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

import assay
from assay.report.table import print_checks, print_problems

PICTURE = Path(__file__).resolve().parent.parent / "images" / "check.svg"
WIDTH = 124
"""Columns: few enough to be legible where a page shows the picture at half its size."""

FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def main() -> None:
    """Check the model in this process and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="emt")
    model = parser.parse_args().model
    report = assay.check(model, workers=0)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(f"[bold]$ assay check {model}[/bold]", highlight=False)
    print_checks(report.result, console)
    print_problems([report.result], console)
    PICTURE.parent.mkdir(exist_ok=True)
    svg = console.export_svg(title=f"assay check {model}", theme=MONOKAI, unique_id="assay-check")
    PICTURE.write_text(without_downloads(svg), encoding="utf-8")


def without_downloads(svg: str) -> str:
    """The picture with fonts of the reader's own computer instead of ones fetched from the network."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: ?(?:Fira Code|arial)[^;]*;", f"font-family: {FONTS};", svg)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)


if __name__ == "__main__":
    main()
