"""Repeats: noise is measured, and each test finds its kind of error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ase import Atoms

from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.probes import repeats
from assay.configurations import cluster, crystal
from assay.jobs import Probe
from assay.structure import Structure
from toys import CLUSTERS, Spring, engine_of, sabotaged


def repeated(engine: CalculatorEngine, structures: Sequence[Structure] = CLUSTERS) -> dict[str, Any]:
    return repeats.run(engine, Probe("repeats", tuple(structures)))


def worst(values: dict[str, Any], test: str) -> float:
    return float(max(np.max(values["tests"][test]["energy"]), np.max(values["tests"][test]["forces"])))


TESTS = ("repeat", "order", "nudge", "second_calculator", "reordered_atoms", "public_methods")


def test_repeats_of_a_sound_model_agree_to_rounding() -> None:
    values = repeated(sabotaged("sound"), [*CLUSTERS, crystal((29, 79))])
    assert set(values["tests"]) == set(TESTS)
    for test in TESTS:
        assert worst(values, test) < 1e-12
    assert [worst(values, test) for test in ("repeat", "order", "nudge", "second_calculator")] == [0.0] * 4
    assert values["changed_inputs"] == 0
    assert values["single_precision"] is False
    assert values["indices"] == [0, 1, 2, 3]
    assert values["natoms"].tolist() == [6, 6, 6, 4]


@pytest.mark.parametrize("size", [1e-3, 1e-6])
def test_repeats_measure_the_size_of_the_noise(size: float) -> None:
    rng = np.random.default_rng(5)

    class Noisy(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            values = super().answer(atoms)
            noise = size * rng.standard_normal((len(atoms), 3))
            return {"energy": values["energy"] + size * rng.standard_normal(), "forces": values["forces"] + noise}  # type: ignore[operator]

    values = repeated(engine_of(Noisy), [cluster((29,), variant=v) for v in range(60)])
    differences = values["tests"]["repeat"]
    assert np.mean(differences["energy"]) == pytest.approx(2.0 / np.sqrt(np.pi) * size, rel=0.3)  # mean of |a − b|
    assert size < np.max(differences["energy"]) < 8.0 * size
    assert size < np.mean(differences["forces"]) < 6.0 * size  # the largest of 18 components


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("history_dependent", "order"),
        ("stale_small_moves", "nudge"),
        ("not_permutation_invariant", "reordered_atoms"),
    ],
)
def test_each_test_finds_its_kind_of_error(name: str, test: str) -> None:
    assert worst(repeated(sabotaged(name)), test) > 1e-9


def test_a_second_calculator_that_differs_is_found() -> None:
    built = []

    class Numbered(Spring):
        def __init__(self) -> None:
            super().__init__()
            self.shift = 0.25 * len(built)
            built.append(self)

        def answer(self, atoms: Atoms) -> dict[str, object]:
            values = super().answer(atoms)
            return {**values, "energy": values["energy"] + self.shift}  # type: ignore[operator]

    values = repeated(engine_of(Numbered))
    assert worst(values, "second_calculator") == pytest.approx(0.25)
    assert worst(values, "repeat") == 0.0


def test_public_methods_that_differ_are_found() -> None:
    class NeverChecks(Spring):
        """Does not notice that the atoms have changed, so that ASE returns old results."""

        def check_state(self, atoms: Atoms, tol: float = 0.0) -> list[str]:
            return []

    values = repeated(engine_of(NeverChecks))
    assert worst(values, "public_methods") > 1e-3
    assert worst(values, "repeat") == worst(values, "order") == 0.0


def test_changed_positions_are_counted() -> None:
    assert repeated(sabotaged("mutates_input"))["changed_inputs"] > len(CLUSTERS)


def test_single_precision_is_found_from_the_numbers() -> None:
    assert repeated(sabotaged("single_precision"))["single_precision"] is True


def test_refused_structures_are_left_out_and_indices_are_kept() -> None:
    values = repeated(sabotaged("sound_batch"), [cluster((47,)), *CLUSTERS])
    assert values["indices"] == [1, 2, 3]
