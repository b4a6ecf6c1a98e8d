"""The composite score of a publication as a table: a line for each of its benchmarks, and the total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.composite import Composite, Part, paper_composite
from assay.report.cells import cell
from assay.report.columns import groups_of_models, keeps_names
from assay.results import ModelResult

if TYPE_CHECKING:
    from rich.console import Console


def print_composite(results: Sequence[ModelResult], console: Console) -> None:
    """The composite of each model, a column each."""
    from rich.table import Table

    composites = [paper_composite(result) for result in results]
    for group in groups_of_models(len(results), console.width):
        table = Table(title=cell("composite of the paper (MLIPAudit)", style="bold"), title_justify="left")
        table.add_column("benchmark", overflow="fold", no_wrap=keeps_names(console.width))
        for result in results[group]:
            table.add_column(cell(result.name), justify="right", overflow="fold")
        for parts in zip(*(composite.parts for composite in composites[group]), strict=True):
            table.add_row(cell(parts[0].title), *(cell(_cell(part)) for part in parts))
        table.add_section()
        table.add_row("total", *(cell(_total(composite)) for composite in composites[group]), style="bold")
        console.print(table)


def _cell(part: Part) -> str:
    """The score, with that by the words of the publication where it is another; or the reason why there is none."""
    if part.score is None:
        return str(part.gap.why) if part.gap else "—"
    return f"{part.score:.2f}" + (f" (literal {part.literal:.2f})" if part.differs and part.literal is not None else "")


def _total(composite: Composite) -> str:
    share = f"{len(composite.counted)}/{len(composite.parts)}"
    if composite.score is None or composite.literal_score is None:
        return f"— over {share}"
    return f"{composite.score:.2f} over {share} (literal {composite.literal_score:.2f})"
