"""A progress bar appears on standard error, and only where somebody watches."""

from __future__ import annotations

import pytest

from assay.cli.progress import progress_bar
from assay.settings import silent


def test_progress_goes_to_standard_error_and_only_where_somebody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("model", enabled=False) as progress:
        assert progress is silent
        progress(1, 2, "benchmarks")
    assert capsys.readouterr() == ("", "")
    with progress_bar("[red]model", enabled=True) as progress:
        for done in (0, 5, 10):
            progress(done, 10, "elements")
        progress(1, 3, "benchmarks")
    assert capsys.readouterr().out == ""
