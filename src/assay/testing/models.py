"""What every adapter promises, as assertions: batches, precision, other processes, and nothing printed."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ModelFailure
from assay.model import BatchEvaluator, Model
from assay.models.loading import load_model
from assay.testing.answers import (
    Answer,
    Structures,
    Tolerance,
    answer_of,
    assert_same,
    batch_answers,
    batch_of,
    fail,
    single_answers,
    tolerance_of,
)
from assay.testing.structures import structures_for

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator


def built_once(source: object) -> Model:
    """The same model with builders that build once: several assertions on it do not load its weights again."""
    model = load_model(source)
    batch = cache(model.build_batch) if model.build_batch is not None else None
    return replace(model, build=cache(model.build), build_batch=batch)


def assert_batch_matches_single(
    source: object, structures: Structures | None = None, tolerance: Tolerance | None = None
) -> None:
    """Fail unless a batch gives what the calculator gives, one structure at a time.

    The structures are evaluated together in three orders, then all lone atoms (a batch without any neighbours), each
    structure alone in a batch, and together once more, because an answer must not depend on what was evaluated before.
    An empty batch must give an empty list.

    Args:
        source: Anything that `assay.load_model` takes: a name, a factory, a calculator, a `Model`.
        structures: By default, the standard structures for the claims of the model.
        tolerance: By default, what rounding errors allow in the precision that the model claims.
    """
    model = load_model(source)
    named = structures_for(model) if structures is None else structures
    allowed = tolerance or tolerance_of(model)
    evaluator, expected, names = batch_of(model), single_answers(model, named), list(named)
    shuffled = [names[i] for i in np.random.default_rng(1).permutation(len(names))]
    lone = [name for name, structure in named.items() if len(structure) == 1]
    batches = [("in one batch", names), ("in reverse order", names[::-1]), ("in random order", shuffled)]
    batches += [("in a batch of lone atoms", lone), *(("in a batch of one", [name]) for name in names)]
    for words, members in [*batches, ("in a batch after others", names)]:
        batch = {name: named[name] for name in members}
        _assert_batch(model, evaluator, batch, expected, allowed, words)
    if len(evaluator.evaluate([])) != 0:
        fail(model, "an empty batch gives answers")


def _assert_batch(
    model: Model,
    evaluator: BatchEvaluator,
    batch: Structures,
    expected: dict[str, Answer],
    tolerance: Tolerance,
    words: str,
) -> None:
    """Fail unless the batch answers as expected and leaves its input as it was."""
    before = {name: structure.positions.copy() for name, structure in batch.items()}
    rows = zip(batch, batch_answers(evaluator, list(batch.values())), strict=True)
    assert_same(model, [(name, answer, expected[name]) for name, answer in rows], tolerance, words)
    if any(not np.array_equal(batch[name].positions, positions) for name, positions in before.items()):
        fail(model, f"evaluating {words} changes the positions that it is given")


def assert_precision_and_device(source: object, device: str = "cpu") -> None:
    """Fail unless the running calculator has the precision of the card and is on the device."""
    from assay.compute.engines.calculator import CalculatorEngine

    model = load_model(source)
    engine = CalculatorEngine(model)
    engine.evaluate(next(iter(structures_for(model).values())))
    expected = {"precision": model.card.precision, "device": device}
    if engine.used != expected:
        fail(model, f"it uses {engine.used}, expected {expected}")


def assert_same_in_another_process(
    source: object, structures: Structures | None = None, tolerance: Tolerance | None = None
) -> None:
    """Fail unless a new process can load the model and gets the same numbers."""
    from assay.compute.engines.calculator import CalculatorEngine, Unsupported
    from assay.compute.probes import fresh_process
    from assay.jobs import Probe

    model = load_model(source)
    named = structures_for(model) if structures is None else structures
    allowed = tolerance or tolerance_of(model)
    try:
        values = fresh_process.run(CalculatorEngine(model), Probe("fresh_process", tuple(named.values())))
    except (Unsupported, ModelFailure) as error:
        fail(model, f"it does not work in another process: {error}")
    if len(np.asarray(values["indices"])) < len(named):
        fail(model, f"only {len(np.asarray(values['indices']))} of {len(named)} structures are answered")
    columns = [np.asarray(values[name], dtype=float) for name in ("energy", "forces", "scale", "max_force")]
    for name, energy, force, scale, largest in zip(named, *columns, strict=True):
        if energy > allowed.energy + allowed.relative_energy * scale:
            fail(model, f"in another process the energy of '{name}' differs by {energy:.2g} eV")
        if force > allowed.force + allowed.relative_force * largest:
            fail(model, f"in another process forces of '{name}' differ by {force:.2g} eV/Å")


def assert_matches_upstream(
    source: object, calculator: Calculator, structures: Structures | None = None, tolerance: Tolerance | None = None
) -> None:
    """Fail unless the adapter gives what another calculator gives, such as that of the model's own package."""
    model = load_model(source)
    named = structures_for(model) if structures is None else structures
    expected = {name: answer_of(calculator, structure) for name, structure in named.items()}
    rows = [(name, answer, expected[name]) for name, answer in single_answers(model, named).items()]
    assert_same(model, rows, tolerance or tolerance_of(model), "between the adapter and the other calculator")


def assert_quiet(source: object) -> None:
    """Fail if building or using the model prints to standard output, which belongs to the report."""
    model, printed = load_model(source), io.StringIO()
    with redirect_stdout(printed):
        answer_of(model.build(), next(iter(structures_for(model).values())))
        if model.build_batch is not None:
            model.build_batch()
    if printed.getvalue():
        fail(model, f"it prints {printed.getvalue()[:80]!r}")
