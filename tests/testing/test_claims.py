"""Claims that hold pass, and claims that do not, fail; refusals must be refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.lj import LennardJones

from argon import Argon, ArgonBatch, argon
from assay.errors import AssayError
from assay.structure import Structure
from assay.testing import assert_claims_hold, assert_refuses

NEON = Structure.build([10, 18], [[0, 0, 0], [0, 0, 3.0]])


class AnswersAll(LennardJones):
    """Answers for every element."""


class AnswersWithNan(Argon):
    """Answers for other elements with NaN."""

    def calculate(self, atoms: Atoms = None, properties: Any = None, system_changes: Any = ()) -> None:
        if set(atoms.numbers.tolist()) == {18}:
            return super().calculate(atoms, properties, system_changes)
        self.results = {"energy": np.nan, "forces": np.full((len(atoms), 3), np.nan)}


class NoSlabs(Argon):
    """Refuses slabs."""

    def calculate(self, atoms: Atoms = None, properties: Any = None, system_changes: Any = ()) -> None:
        if atoms.pbc.tolist() == [True, True, False]:
            raise ValueError("no slabs")
        super().calculate(atoms, properties, system_changes)


class Careless(ArgonBatch):
    """A batch that takes every element for argon."""

    def answer(self, structure: Structure) -> tuple[float, np.ndarray]:
        return super().answer(Structure.build([18] * len(structure), structure.positions, structure.cell))


class LeavesOut(ArgonBatch):
    """A batch that gives NaN for what it refuses, and the rest as usual."""

    def answer(self, structure: Structure) -> tuple[float, np.ndarray]:
        if set(structure.numbers.tolist()) == {18}:
            return super().answer(structure)
        return np.nan, np.full((len(structure), 3), np.nan)


class AllOrNothing(LeavesOut):
    """A batch in which one refusal spoils all answers."""

    def evaluate(self, structures: Any) -> Any:
        answers = super().evaluate(structures)
        bad = any(np.isnan(energy) for energy, _ in answers)
        return [(np.nan, np.full_like(forces, np.nan)) if bad else (e, forces) for e, forces in answers]


class Tired(Argon):
    """Answers with another energy after a refusal."""

    refused = 0

    def calculate(self, atoms: Atoms = None, properties: Any = None, system_changes: Any = ()) -> None:
        self.refused += set(atoms.numbers.tolist()) != {18}
        super().calculate(atoms, properties, system_changes)
        self.results["energy"] += 0.1 * self.refused


def test_claims_of_a_sound_model_hold() -> None:
    assert_claims_hold(argon())
    assert_claims_hold(argon(batch=LeavesOut))
    assert_claims_hold(argon(AnswersAll, batch=None), others_refused=False)


@pytest.mark.parametrize(
    ("calculator", "batch", "claims", "words"),
    [
        (Argon, None, {"elements": [10, 18]}, "'Ne-Ne' is not answered"),
        (NoSlabs, None, {}, "'cell TTF' is not answered: refused: ValueError: no slabs"),
        (AnswersAll, None, {}, "H-H is outside the claims and answered"),
        (AnswersWithNan, None, {}, "H-H is outside the claims and not refused: the model returned the energy nan"),
        (Argon, Careless, {}, "H-H is answered in a batch with"),
        (Argon, AllOrNothing, {}, "another structure is not answered either"),
    ],
)
def test_claims_that_do_not_hold_fail(calculator: Any, batch: Any, claims: dict, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        assert_claims_hold(argon(calculator, batch, **claims))


def test_a_batch_must_answer_what_is_claimed() -> None:
    class NoPairs(ArgonBatch):
        def answer(self, structure: Structure) -> tuple[float, np.ndarray]:
            energy, forces = super().answer(structure)
            return (np.nan if len(structure) == 2 else energy), forces

    with pytest.raises(AssertionError, match="in a batch, 'Ar-Ar' is inside the claims and not answered"):
        assert_claims_hold(argon(batch=NoPairs))


def test_without_a_claim_there_is_nothing_to_test() -> None:
    with pytest.raises(AssayError, match="claims no elements"):
        assert_claims_hold(argon(elements=None))


def test_a_refusal_with_its_reason_passes() -> None:
    assert_refuses(argon(), NEON, "argon only")
    assert_refuses(argon(batch=LeavesOut), NEON)


@pytest.mark.parametrize(
    ("calculator", "batch", "words"),
    [
        (AnswersAll, None, "must be refused is answered"),
        (AnswersWithNan, None, "the model returned the energy nan"),
        (Tired, None, "differ after a refusal"),
        (Argon, Careless, "is answered in a batch with .* eV and refused alone"),
        (Argon, AllOrNothing, "another structure is not answered either"),
    ],
)
def test_what_is_no_refusal_fails(calculator: Any, batch: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        assert_refuses(argon(calculator, batch), NEON)


def test_another_reason_fails() -> None:
    with pytest.raises(AssertionError, match="does not match 'periodic'"):
        assert_refuses(argon(), NEON, "periodic")
