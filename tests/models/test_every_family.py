"""What holds for every pretrained model: it is what its card says, and its forces are conservative, but for Orb's."""

from __future__ import annotations

from functools import cache

import pytest

from assay.api import Report, run
from assay.compute.engines.calculator import AseEngine
from assay.models import family_names, named_models
from assay.models.loading import load_model
from assay.structure import Structure

WITHOUT_PACKAGES = {"classical", "xtb", "kim"}
DIRECT_FORCES = {"orb-d3-xs-v2"}
"""Models whose forces are predicted beside the energy, not derived from it."""

FAMILIES = {family: names for family, names in family_names().items() if family not in WITHOUT_PACKAGES}
MODELS = [pytest.param(name, marks=pytest.mark.family(family)) for family, names in FAMILIES.items() for name in names]
FIRST = [pytest.param(names[0], marks=pytest.mark.family(family)) for family, names in FAMILIES.items()]
CHECKS = ("batch_consistent", "forces_conservative", "rotation_invariance", "species_supported")
every_model = pytest.mark.parametrize("name", MODELS)
one_of_each_family = pytest.mark.parametrize("name", FIRST)
WATER = Structure.build([8, 1, 1], [[0.0, 0.0, 0.12], [0.0, 0.76, -0.48], [0.0, -0.76, -0.48]])


@cache
def checked(name: str) -> Report:
    """A few checks on two elements that every family has."""
    return run(name, benchmarks=CHECKS, elements=(1, 8), limit=3, workers=0)


@every_model
def test_precision_and_device_are_those_of_the_card(name: str) -> None:
    engine = AseEngine(load_model(name))
    assert len(engine.evaluate(WATER).forces) == 3
    assert engine.used == {"precision": named_models()[name].card.precision, "device": "cpu"}


@one_of_each_family
def test_conservative_forces_are_found_so_and_direct_ones_are_not(name: str) -> None:
    verdict = checked(name).checks["forces_conservative"]
    assert verdict["passed"] is (name not in DIRECT_FORCES), verdict["comment"]
    assert verdict["evaluated"] > 0


@one_of_each_family
def test_claimed_elements_are_answered(name: str) -> None:
    assert checked(name).checks["species_supported"]["passed"] is True


@every_model
def test_a_batch_gives_what_one_structure_gives(name: str) -> None:
    model = load_model(name)
    if model.build_batch is None:
        assert checked(name).checks["batch_consistent"]["status"] == "unsupported"
        return
    squeezed = WATER.moved(0.9 * WATER.positions)
    for (energy, forces), alone in zip(
        model.build_batch().evaluate([squeezed, WATER]), map(AseEngine(model).evaluate, [squeezed, WATER]), strict=True
    ):
        assert energy == pytest.approx(alone.energy, rel=1e-6, abs=1e-5)
        assert forces == pytest.approx(alone.forces, rel=1e-4, abs=2e-4)


@one_of_each_family
def test_diatomics_run_in_batches_and_give_scores(name: str) -> None:
    report = run(name, benchmarks=["physicality.diatomics"], elements=(1, 8), workers=0)
    (result,) = report.result.benchmarks
    assert result.coverage == (3, 3)
    assert {o.status for o in result.observations} == {"ok"}, [o.reason for o in result.observations]
    assert result.score is not None
    assert result.score > 0.05  # CHGNet 0.3.0 has a hole at short range in all three pairs, and 0.10
