"""In a notebook, progress is shown while a run lasts, and a report is shown once."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from assay.api import run
from assay.notebook import in_notebook

Shown = list[tuple[str, str]]


class ZMQInteractiveShell:
    """The shell of a notebook has a kernel; rich looks for this name."""

    kernel = object()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What a notebook would display: (new or update, text), in order."""
    events: Shown = []
    handle = SimpleNamespace(update=lambda item: events.append(("update", str(item))))

    def display(*items: Any, **options: Any) -> Any:
        events.extend(("new", str(item)) for item in items)
        return handle

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
    module.display, module.HTML = display, str  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    return events


def few(**settings: Any) -> Any:
    return run("emt", benchmarks=["net_force_zero"], elements=["Cu"], workers=0, **settings)


def test_progress_is_shown_and_removed(shown: Shown) -> None:
    assert in_notebook()
    report = few()
    kinds = [kind for kind, _ in shown]
    assert kinds[0] == "new"
    assert set(kinds[1:]) == {"update"}
    assert any("benchmarks" in text and "force calls" in text for _, text in shown)
    assert shown[-1] == ("update", "")
    shown.clear()
    text, page = repr(report), report._repr_html_()
    assert shown == []  # the notebook shows what these return, and nothing else
    assert "net_force_zero" in text
    assert "net_force_zero" in page


def test_a_function_of_the_user_takes_the_place_of_the_line(shown: Shown) -> None:
    calls: list[str] = []
    few(progress=lambda done, total, what: calls.append(what))
    assert "benchmarks" in calls
    assert shown == []


def test_a_script_shows_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    assert not in_notebook()
    few()
    assert capsys.readouterr() == ("", "")
