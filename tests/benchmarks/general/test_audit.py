"""The audit of the benchmarks of motion through the whole program: broken models score next to nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from assay.api import run
from assay.results import BenchmarkResult
from assay.sabotage.data import write_sound_data

NAMES = ("general.stability", "general.energy_conservation", "molecules.bond_lengths", "molecules.ring_planarity")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sound_data(tmp_path_factory.mktemp("sound"))


def results(model: str, folder: Path) -> Mapping[str, BenchmarkResult]:
    report = run(f"assay.sabotage:{model}", benchmarks=list(NAMES), data=str(folder), workers=0)
    return {b.name: b for b in report.result.benchmarks}


def test_the_sound_potential_lasts_and_keeps_its_energy_and_its_shape(folder: Path) -> None:
    found = results("sound", folder)
    assert set(found) == set(NAMES)
    assert found["general.stability"].score == found["general.energy_conservation"].score == 1.0
    for name in ("molecules.bond_lengths", "molecules.ring_planarity"):
        score = found[name].score
        assert score is not None
        assert score > 0.8, [o.values for o in found[name].observations]
    for result in found.values():
        assert result.null_score is None
        assert all(metric.stderr is not None for metric in result.metrics if metric.threshold is not None)


@pytest.mark.parametrize("model", ["zero_force", "frozen", "wrong_sign_forces", "raises"])
def test_broken_models_score_next_to_nothing(model: str, folder: Path) -> None:
    for name, result in results(model, folder).items():
        assert result.score is not None
        assert result.score <= 0.1, (name, [(o.reason, o.values) for o in result.observations])
        assert result.coverage[0] == result.coverage[1] > 0
        assert not [o.reason for o in result.observations if o.reason.startswith("observing failed")]
