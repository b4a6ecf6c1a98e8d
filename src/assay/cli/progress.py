"""A progress bar for jobs on standard error, with the remaining time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from assay.settings import Progress, silent
from assay.text import one_line


@contextmanager
def progress_bar(name: str, enabled: bool) -> Iterator[Progress]:
    """Give the function that a runner calls to report progress; without `enabled` it shows nothing."""
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
        lock = Lock()  # the thread that watches simulations calls this, too

        def update(done: int, total: int, what: str) -> None:
            with lock:
                if what not in tasks:
                    tasks[what] = bar.add_task(one_line(f"{name}: {what}"), total=total)
                bar.update(tasks[what], completed=done, total=total)  # type: ignore[arg-type]

        yield update
