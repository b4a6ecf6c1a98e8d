"""Unit sets: results in other units agree with the usual ones."""

from __future__ import annotations

import pytest

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.probes import unit_sets
from assay.errors import ModelFailure
from assay.jobs import Probe
from toys import CLUSTERS, DIMER, Spring, engine_of, sabotaged


def test_other_units_are_compared_with_the_usual_ones() -> None:
    engine = sabotaged("wrong_unit_conversion")
    values = unit_sets.run(engine, Probe("unit_sets", CLUSTERS))
    assert values["usual"] == "A"
    assert set(values["by_set"]) == {"nm"}  # type: ignore[call-overload]
    assert values["by_set"]["nm"]["energy"].max() > 1e-3  # type: ignore[index]


def unit_engine(right: bool) -> CalculatorEngine:
    def in_units(name: str) -> Spring:
        if name == "impossible":
            raise ModelFailure("no such units")
        calculator = Spring()
        calculator.stiffness = 2.0 if right or name == "A" else 2.5
        return calculator

    return engine_of(Spring, unit_sets=("A", "nm", "impossible"), build_in_units=in_units)


def test_right_units_agree_and_refused_units_are_listed() -> None:
    values = unit_sets.run(unit_engine(right=True), Probe("unit_sets", CLUSTERS))
    assert values["declined"] == ["impossible"]
    assert values["by_set"]["nm"]["energy"].max() == 0.0  # type: ignore[index]
    wrong = unit_sets.run(unit_engine(right=False), Probe("unit_sets", (DIMER,)))
    assert wrong["by_set"]["nm"]["energy"].tolist() == [pytest.approx(0.25 * 2.5**2)]  # type: ignore[index]


def test_models_with_one_set_of_units_are_not_supported() -> None:
    with pytest.raises(Unsupported, match="only one set of units"):
        unit_sets.run(engine_of(Spring), Probe("unit_sets", CLUSTERS))
    one_set = engine_of(Spring, unit_sets=("A",), build_in_units=lambda name: Spring())
    with pytest.raises(Unsupported, match="does not support other units"):
        unit_sets.run(one_set, Probe("unit_sets", CLUSTERS))
