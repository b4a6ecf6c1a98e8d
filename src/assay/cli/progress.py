"""A progress bar on standard error, with the time that is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from assay.compute.runner import Progress, silent


@contextmanager
def progress_bar(name: str, enabled: bool) -> Iterator[Progress]:
    """Gives the function that a runner calls; a bar appears only where somebody watches."""
    if not enabled:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("force calls, left"),
        TimeRemainingColumn(),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, int] = {}
        alone = Lock()  # a thread that looks after simulations calls, too

        def update(done: int, total: int, what: str) -> None:
            with alone:
                if what not in tasks:
                    tasks[what] = bar.add_task(f"{name}: {what}", total=total)
                bar.update(tasks[what], completed=done, total=total)  # type: ignore[arg-type]

        yield update
