"""Batches: results in a batch agree with single evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import FunctionType

import numpy as np
import pytest

from assay.compute.engines.calculator import Unsupported
from assay.compute.probes import batches
from assay.configurations import cluster, crystal
from assay.errors import Cause, ModelFailure
from assay.jobs import Probe
from assay.outcome import ERROR, FAILED, Outcome
from assay.structure import Floats, Structure
from toys import CLUSTERS, Spring, engine_of, sabotaged


@pytest.mark.parametrize(("name", "right"), [("sound_batch", True), ("batch_mixes_structures", False)])
def test_batches_agree_with_single_evaluations_unless_structures_are_mixed(name: str, right: bool) -> None:
    values = batches.run(sabotaged(name), Probe("batches", (cluster((47,)), *CLUSTERS, crystal((29,)))))
    assert values["indices"] == [1, 2, 3, 4]
    assert values["energy"].max() == 0.0
    assert (values["forces"].max() == 0.0) == right


def test_models_without_batches_are_not_supported() -> None:
    with pytest.raises(Unsupported, match="does not support batches"):
        batches.run(engine_of(Spring), Probe("batches", CLUSTERS))


class RaisingBatch:
    """A batch evaluator that always raises."""

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Raise an exception."""
        raise ValueError("ragged batch")


class ShortBatch:
    """A batch evaluator without a result for the last structure."""

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Return one result too few."""
        return [(0.0, np.zeros((len(s), 3))) for s in structures[:-1]]


class WideBatch:
    """A batch evaluator that pads the forces."""

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Return forces of two atoms too many."""
        return [(0.0, np.zeros((len(s) + 2, 3))) for s in structures]


@pytest.mark.parametrize(
    "evaluator",
    [
        RaisingBatch,
        ShortBatch,
        WideBatch,
    ],
)
def test_a_batch_that_fails_is_a_failure_of_the_model(evaluator: type) -> None:
    with pytest.raises(ModelFailure):
        batches.run(engine_of(Spring, build_batch=evaluator), Probe("batches", CLUSTERS))


def test_an_error_of_an_adapter_is_not_a_failure_of_the_model() -> None:
    def raise_here(self: object, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        raise IndexError("list index out of range")

    def run(name: str) -> Outcome:
        evaluate = FunctionType(raise_here.__code__, {**globals(), "__name__": name})
        engine = engine_of(Spring)
        engine.model = replace(engine.model, build_batch=type("Batch", (), {"evaluate": evaluate}))
        return engine.run("key", Probe("batches", CLUSTERS))

    ours, theirs = run("assay.models._mace_batch"), run("package.of.the.model")
    assert (ours.status, ours.cause) == (ERROR, Cause.INTERNAL)
    assert "IndexError" in ours.traceback
    assert theirs.status == FAILED
