"""One change: a new cell, new periodic directions and new elements are noticed, by both ways to call a calculator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.benchmarks.builders.changed import single_changes
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.probes import one_change
from assay.configurations import cluster, crystal
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.testing import fake_survey
from toys import Says, engine_of, sabotaged

PAIRS = [(a, b) for _, a, b in single_changes(fake_survey())]


def changed(engine: CalculatorEngine) -> dict[str, Any]:
    structures = (*(s for pair in PAIRS for s in pair), PAIRS[0][0].reordered(range(3)))
    return one_change.run(engine, Probe("one_change", structures))


def worst(values: dict[str, Any], test: str) -> float:
    return max(float(np.max(values["tests"][test][kind])) for kind in ("energy", "forces", "stress"))


def test_nothing_is_left_of_the_structure_before_in_a_sound_model() -> None:
    values = changed(sabotaged("sound"))
    assert values["indices"] == list(range(len(PAIRS)))
    assert worst(values, "calculate") < 1e-12
    assert worst(values, "public_methods") < 1e-12
    assert np.isfinite(values["max_stress"]).sum() == sum(all(after.pbc) for _, after in PAIRS)


@pytest.mark.parametrize(
    ("name", "test", "other"),
    [
        ("ignores_change_of_cell", "calculate", None),
        ("neighbours_by_positions", "public_methods", "calculate"),
        ("ignores_change_of_species", "calculate", None),
    ],
)
def test_what_is_left_is_found_where_it_is(name: str, test: str, other: str | None) -> None:
    values = changed(sabotaged(name))
    assert worst(values, test) > 1e-2
    assert other is None or worst(values, other) < 1e-12


def test_pairs_differ_in_one_thing_only() -> None:
    for words, a, b in single_changes(fake_survey()):
        assert np.array_equal(a.positions, b.positions)
        differences = [
            not np.array_equal(a.cell, b.cell), a.pbc != b.pbc, not np.array_equal(a.numbers, b.numbers)
        ]  # fmt: skip
        assert differences.count(True) == 1, words


def test_models_for_molecules_of_one_species_have_no_pairs() -> None:
    assert single_changes(fake_survey(pbc=("FFF",), subjects=fake_survey().subjects[:1])) == []


def test_a_model_that_refuses_everything_fails() -> None:
    with pytest.raises(ModelFailure, match="the model refused all"):
        changed(engine_of(lambda: Says(energy=np.nan)))


def test_a_pair_that_is_refused_is_left_out() -> None:
    good, bad = crystal((29,)), cluster((47,))
    pairs = (bad, bad.moved(bad.positions + 1.0), replace(good, cell=1.3 * good.cell), good)
    values = one_change.run(sabotaged("ignores_change_of_cell"), Probe("one_change", (*pairs, cluster((29,)))))
    assert values["indices"] == [1]
