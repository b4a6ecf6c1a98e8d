"""What several test files share: one verified model with its results folder."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from assay.api import Report, check, run
from assay.sabotage.data import write_sound_data

COPPER = (29,)

# No deadline: how long an example takes says nothing about the code on a busy machine.
settings.register_profile("assay", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("assay")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--family NAME` runs the tests that need the packages of that model family; they fail if these are missing."""
    parser.addoption("--family", action="append", default=[], help="also test this family of models; repeatable")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of families that were not asked for."""
    wanted = set(config.getoption("--family"))
    left_out = [item for item in items if not {m.args[0] for m in item.iter_markers("family")} <= wanted]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(autouse=True)
def same_noise_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken models with random results draw the same numbers in every run: their n-th call has the seed n."""
    seeds = count()
    monkeypatch.setattr("assay.sabotage.broken.state.noise_generator", lambda: np.random.default_rng(next(seeds)))


@pytest.fixture
def ctrl_c_is_ignored() -> Iterator[None]:
    """Within the test, this process ignores Ctrl-C, as one does that a shell script started in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def sound_report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The sound potential, verified on copper in this process; results are kept in `sound_report.folder`."""
    return check("assay.sabotage:sound", output=tmp_path_factory.mktemp("sound"), workers=0, elements=COPPER)


@pytest.fixture(scope="session")
def broken_report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A potential with zero forces, verified on copper in this process."""
    return check("assay.sabotage:zero_force", output=tmp_path_factory.mktemp("broken"), workers=0, elements=COPPER)


@pytest.fixture
def results(sound_report: Report, tmp_path: Path) -> Path:
    """A copy of a results folder that a test may spoil."""
    assert sound_report.folder is not None
    return Path(shutil.copytree(sound_report.folder.parent, tmp_path / "results"))


@pytest.fixture(scope="session")
def every_category(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder of the sound potential with every benchmark, on its own data, in the shortest protocol."""
    folder = tmp_path_factory.mktemp("every-category")
    suite = folder / "short.toml"
    suite.write_text(SHORTEST, encoding="utf-8")
    data = str(write_sound_data(folder / "data"))
    run("assay.sabotage:sound", str(suite), output=folder / "results", data=(data,), workers=0, limit=3)
    return folder / "results"


SHORTEST = """
benchmarks = ["verification", "physicality", "molecules", "general"]
[settings."verification.memory_stable"]
evaluations = 60
seconds = 1.0
[settings."molecules.bond_lengths"]
steps = 100
[settings."molecules.ring_planarity"]
steps = 100
[settings."general.stability"]
steps = 100
[settings."general.energy_conservation"]
steps = 100
molecules = 1
[settings."general.inference_scaling"]
seconds = 1.0
most_atoms = 100
"""
