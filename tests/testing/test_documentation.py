"""The section on testing an adapter is right: its example runs, and every name in it exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import assay.testing

PAGE = (Path(__file__).parents[2] / "docs" / "add-a-model.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## Test your adapter\n")[2].partition("\n## ")[0]
HOMES_OF_OTHERS = {"assay.testing.benchmarks", "assay.testing.checkpoints"}
"""Assertions for benchmarks have a page of their own; those for files are parts of `assert_checkpoint_contract`."""

ADAPTER = """
from argon import CLAIMS, Argon, ArgonBatch

factory = Argon
factory.claims, factory.build_batch = CLAIMS, {}
"""


def example() -> str:
    match = re.search(r"```python\n(.*?)```", SECTION, re.DOTALL)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("batch", ["ArgonBatch", "lambda: None"])
def test_the_example_passes_a_sound_adapter_and_fails_a_broken_one(
    batch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.py").write_text(ADAPTER.format(batch))
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    exec(example(), scope)
    if batch == "ArgonBatch":
        scope["test_my_adapter"]()
        assert "assert_same_in_another_process" in capsys.readouterr().out
    else:
        with pytest.raises(AssertionError, match="assert_batch_matches_single"):
            scope["test_my_adapter"]()


def test_every_assertion_on_the_page_exists_and_all_for_models_are_on_it() -> None:
    public = {name for name in assay.testing.__all__ if name.startswith(("assert_", "check_"))}
    on_page = set(re.findall(r"`((?:assert|check)_\w+)", SECTION))
    elsewhere = {name for name in public if getattr(assay.testing, name).__module__ in HOMES_OF_OTHERS}
    assert on_page <= public
    assert public - elsewhere <= on_page
