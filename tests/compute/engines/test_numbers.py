"""Energies, forces and stresses are real numbers: nothing is dropped, filled in or parsed to make them so."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from ase import Atoms

from assay.compute.engines.batched import BatchedEngine
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.numbers import checked_energy, checked_forces, checked_stress
from assay.compute.probes import repeats
from assay.errors import INVALID, Cause, ModelFailure
from assay.jobs import Probe, SinglePoints
from assay.models.loading import from_object
from assay.outcome import FAILED, OK
from toys import CLUSTERS, Toy

ONES = np.ones((2, 3))


class Unwilling:
    """A tensor that must be detached before it becomes an array."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


WRONG = {
    "imaginary": ONES * (1.0 + 1.0j),
    "complex": ONES.astype(complex),
    "masked": np.ma.array(ONES, mask=[[True, False, False], [False, False, False]]),
    "text": ONES.astype(str),
    "bytes": ONES.astype("S3"),
    "text in lists": [["1.0", "1.0", "1.0"], [1.0, 1.0, 1.0]],
    "booleans": ONES.astype(bool),
    "objects": ONES.astype(object),
    "decimals": [[Decimal(1)] * 3] * 2,
    "dates": np.zeros((2, 3), dtype="datetime64[s]"),
    "times": np.zeros((2, 3), dtype="timedelta64[s]"),
    "records": np.zeros((2, 3), dtype=[("x", float)]),
    "unwilling": Unwilling(),
    "ragged": [[1.0, 2.0, 3.0], [1.0]],
    "empty": [],
}
RIGHT = {
    "floats": ONES,
    "lists": ONES.tolist(),
    "single": ONES.astype(np.float32),
    "half": ONES.astype(np.float16),
    "long": ONES.astype(np.longdouble),
    "whole": ONES.astype(np.int32),
    "unsigned": ONES.astype(np.uint8),
    "swapped": ONES.astype(">f8"),
    "fortran": np.asfortranarray(ONES),
}


@pytest.mark.parametrize("name", WRONG)
def test_forces_that_are_not_real_numbers_are_malformed(name: str) -> None:
    with pytest.raises(ModelFailure, match=r"^returned forces") as failure:
        checked_forces(WRONG[name], 2)
    assert failure.value.cause == Cause.MALFORMED


@pytest.mark.parametrize("name", RIGHT)
def test_forces_of_any_real_type_are_copied(name: str) -> None:
    found = checked_forces(RIGHT[name], 2)
    assert found.dtype == float
    assert np.array_equal(found, ONES)
    found[0, 0] = 7.0
    assert np.asarray(RIGHT[name])[0, 0] == 1.0


@pytest.mark.parametrize(
    "value",
    ["-3.1", b"-3.1", -3.1 + 0.0j, np.complex128(1.0), True, np.bool_(1), np.ma.masked, np.ma.array(1.0, mask=True),
     Decimal("1.5"), Fraction(1, 2), object(), [], [1.0, 2.0], {"energy": 1.0}],
)  # fmt: skip
def test_energies_that_are_not_one_real_number_are_malformed(value: object) -> None:
    with pytest.raises(ModelFailure, match=r"^returned an energy") as failure:
        checked_energy(value)
    assert failure.value.cause == Cause.MALFORMED


@pytest.mark.parametrize("value", [-3.0, -3, np.float32(-3), np.int64(-3), [-3.0], np.array([[-3.0]])])
def test_one_real_number_is_an_energy(value: object) -> None:
    assert checked_energy(value) == -3.0


@pytest.mark.parametrize("value", [np.ones(6) * 1j, np.ones(6, dtype=bool), ["1"] * 6, np.ma.array(np.ones(6))])
def test_stresses_that_are_not_real_numbers_are_malformed(value: object) -> None:
    with pytest.raises(ModelFailure, match=r"^returned a stress") as failure:
        checked_stress(value)
    assert failure.value.cause in INVALID


class AsText(Toy):
    """Right numbers, as text."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        return {"energy": "1.0", "forces": np.ones((len(atoms), 3)).astype(str)}


class OnlyInPublic(Toy):
    """Numbers in `calculate`, text from the public methods of ASE."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        return {"energy": 1.0, "forces": np.ones((len(atoms), 3))}

    def get_property(self, name: str, atoms: Atoms | None = None, allow_calculation: bool = True) -> object:
        found = super().get_property(name, atoms, allow_calculation)
        return np.asarray(found).astype(str) if atoms is not None and atoms.calc is self else found


class BatchOfText:
    """A batch evaluator whose forces are text, with pairs that are none."""

    def __init__(self, pairs: bool) -> None:
        self.pairs = pairs

    def evaluate(self, structures: list) -> list:
        text = [(1.0, np.ones((len(s), 3)).astype(str)) for s in structures]
        return text if self.pairs else [1.0 for _ in structures]


def test_an_outcome_of_text_has_failed_and_is_invalid() -> None:
    outcome = CalculatorEngine(from_object(AsText)).run("key", SinglePoints(CLUSTERS))
    assert (outcome.status, outcome.cause) == (FAILED, Cause.MALFORMED)


def test_the_public_methods_are_held_to_the_same_rule() -> None:
    with pytest.raises(ModelFailure, match="returned an energy as text") as failure:
        repeats.run(CalculatorEngine(from_object(OnlyInPublic)), Probe("repeats", CLUSTERS))
    assert failure.value.cause == Cause.MALFORMED


@pytest.mark.parametrize("pairs", [True, False])
def test_batches_of_text_do_not_count_and_the_calculator_answers(pairs: bool) -> None:
    def build() -> Toy:
        return OnlyInPublic()

    build.build_batch = lambda: BatchOfText(pairs)  # type: ignore[attr-defined]
    engine = CalculatorEngine(from_object(build))
    (outcome,) = BatchedEngine(engine).run([("key", SinglePoints(CLUSTERS))])
    assert outcome.status == OK
    assert outcome.provenance["batch"]["alone"] == len(CLUSTERS)
