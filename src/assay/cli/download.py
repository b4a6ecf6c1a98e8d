"""A progress bar for downloads on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assay.data.transfer import DownloadProgress, quiet
from assay.text import one_line


@contextmanager
def download_bar(name: str, enabled: bool) -> Iterator[DownloadProgress]:
    """Give the function that a download calls to report progress; without `enabled` it shows nothing."""
    if not enabled:
        yield quiet
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(one_line(name), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
