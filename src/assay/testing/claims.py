"""What an adapter claims and what it refuses, as assertions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from assay.configurations import boxed, dimer, symbol
from assay.errors import INVALID, AssayError, ModelFailure
from assay.model import PERIODIC_PATTERNS, Model
from assay.models.loading import load_model
from assay.structure import Structure
from assay.testing.answers import (
    Answer,
    answer_of,
    assert_same,
    batch_answers,
    batch_of,
    fail,
    single_answers,
    tolerance_of,
)
from assay.testing.structures import skewed_cell

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

HEAVIEST = 118


def assert_claims_hold(source: object, others_refused: bool = True) -> None:
    """Fail unless every claimed element and periodic pattern is answered, and every other element refused.

    A refusal is an exception: NaN, infinite or misshapen numbers are not. A batch must refuse what the calculator
    refuses, by an exception or by NaN for that structure alone.

    Args:
        source: Anything that `assay.load_model` takes.
        others_refused: Whether elements outside the claim must be refused. False for models that have parameters for
            every element, such as Lennard-Jones.
    """
    model = load_model(source)
    if model.card.elements is None:
        raise AssayError(f"model '{model.name}' claims no elements, so there is no claim to test")
    claimed = {f"{symbol(z)}-{symbol(z)}": touching_pair(model, z) for z in model.card.elements}
    patterns = [pattern for pattern in PERIODIC_PATTERNS if pattern in (model.card.pbc or ())]
    claimed |= {f"cell {pattern}": skewed_cell(model.card.elements, pattern) for pattern in patterns}
    single_answers(model, claimed)
    if model.build_batch is not None:
        rows = zip(claimed, batch_answers(batch_of(model), list(claimed.values())), strict=True)
        silent = [name for name, answer in rows if not _finite(answer)]
        if silent:
            fail(model, f"in a batch, '{silent[0]}' is inside the claims and not answered with finite numbers")
    calculator = model.build()
    for number in sorted(set(range(1, HEAVIEST + 1)) - set(model.card.elements)):
        _assert_other_element(model, calculator, number, others_refused)


def _assert_other_element(model: Model, calculator: Calculator, number: int, refused: bool) -> None:
    """Fail unless an element outside the claim is refused, or, where that is allowed, answered."""
    pair, name = touching_pair(model, number), f"{symbol(number)}-{symbol(number)}"
    failure = _refusal(calculator, pair)
    if failure is not None and failure.cause in INVALID:
        fail(model, f"{name} is outside the claims and not refused: the model {failure}")
    if failure is None and refused:
        fail(model, f"{name} is outside the claims and answered; refuse it or claim it")
    if failure is not None and model.build_batch is not None:
        _assert_batch_refuses(model, pair, name)


def assert_refuses(source: object, structure: Structure, match: str = "") -> None:
    """Fail unless the calculator and the batch refuse a structure, and the model then answers others as before.

    `match` is a regular expression that must be found in the message of the calculator.
    """
    model = load_model(source)
    calculator, elements = model.build(), model.card.elements or ()
    pairs = [touching_pair(model, number) for number in elements[:1]]
    before = [answer_of(calculator, pair) for pair in pairs]
    failure = _refusal(calculator, structure)
    if failure is None:
        fail(model, "a structure that must be refused is answered")
    if failure.cause in INVALID:
        fail(model, f"a structure that must be refused is not: the model {failure}")
    if not re.search(match, str(failure)):
        fail(model, f"the refusal is {str(failure)!r}, which does not match {match!r}")
    after = [("a pair", answer_of(calculator, pair), answer) for pair, answer in zip(pairs, before, strict=True)]
    assert_same(model, after, tolerance_of(model), "after a refusal")
    if model.build_batch is not None:
        _assert_batch_refuses(model, structure, "a structure that the calculator refuses")


def _assert_batch_refuses(model: Model, structure: Structure, name: str) -> None:
    """Fail unless a batch raises for the structure, or gives NaN for it and a usable answer for its neighbour."""
    elements = model.card.elements or ()
    pairs = [touching_pair(model, number) for number in elements[:1]]
    evaluator = batch_of(model)
    try:
        batch = batch_answers(evaluator, [*pairs, structure])
    except AssertionError:
        raise
    except Exception:
        return
    if _finite(batch[-1]):
        fail(model, f"{name} is answered in a batch with {batch[-1][0]:.6g} eV and refused alone")
    if not all(_finite(answer) for answer in batch[:-1]):
        fail(model, f"in a batch with {name}, which is refused, another structure is not answered either")


def _refusal(calculator: Calculator, structure: Structure) -> ModelFailure | None:
    """Why the calculator does not answer; None if it answers."""
    try:
        answer_of(calculator, structure)
    except ModelFailure as failure:
        return failure
    return None


def _finite(answer: Answer) -> bool:
    return bool(np.isfinite(answer[0]) and np.isfinite(answer[1]).all())


def touching_pair(model: Model, number: int) -> Structure:
    """Two atoms of an element that touch, in a box for models that claim periodic systems only."""
    pair = dimer(number, number)
    return boxed(pair) if model.card.pbc is not None and "FFF" not in model.card.pbc else pair
