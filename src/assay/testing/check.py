"""All assertions for an adapter in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from assay.elements import atomic_numbers
from assay.errors import AssayError
from assay.model import Model
from assay.models.loading import load_model
from assay.testing.answers import Tolerance
from assay.testing.claims import assert_claims_hold
from assay.testing.models import (
    assert_batch_matches_single,
    assert_precision_and_device,
    assert_quiet,
    assert_same_in_another_process,
    built_once,
)
from assay.testing.physics import (
    assert_charge_is_read,
    assert_forces_match_energy,
    assert_open_directions_have_no_images,
    assert_stress_matches_energy,
    assert_supercell_adds_up,
)
from assay.testing.structures import SHORTEST, structures_for

Step = tuple[str, str, Callable[[], None]]
"""The name of an assertion, the reason why it does not apply (empty if it does), and the call."""


@dataclass(frozen=True)
class ModelReport:
    """What was tested: assertions that passed, and the reason for each one that does not apply."""

    passed: tuple[str, ...]
    skipped: Mapping[str, str]


def check_model(
    source: object,
    *,
    elements: tuple[str | int, ...] | None = None,
    tolerance: Tolerance | None = None,
    shortest: float = SHORTEST,
    others_refused: bool = True,
    conservative: bool = True,
    cutoff: float | None = None,
) -> ModelReport:
    """Run every assertion that applies to a model, and fail with all that is wrong.

    Args:
        source: Anything that `assay.load_model` takes: a name, a factory, a calculator, a `Model`.
        elements: Elements to test on, such as ("Cu", "Au"), for models that claim none.
        tolerance: How far two answers to the same structure may differ; by default what the precision allows.
        shortest: The shortest distance (Å) at which pairs of atoms are evaluated.
        others_refused: Whether elements outside the claim must be refused.
        conservative: Whether forces and stress must be the slope of the energy.
        cutoff: The distance (Å) beyond which nothing interacts, if there is one. Slabs and molecules are then compared
            with themselves in a box with that much vacuum.
    """
    model = load_model(source)
    if elements is not None:
        model = replace(model, card=replace(model.card, elements=atomic_numbers(elements, "the elements given")))
    if model.card.elements is None:
        raise AssayError(f"model '{model.name}' claims no elements; claim them, or give elements=('Cu', 'Au')")
    passed, skipped, failures = [], {}, []
    steps = [*_contract(model, tolerance, shortest, others_refused), *_physics(model, tolerance, conservative, cutoff)]
    for name, reason, call in steps:
        if reason:
            skipped[name] = reason
            continue
        try:
            call()
            passed.append(name)
        except AssertionError as error:
            failures.append(f"{name}: {error}")
        except Exception as error:
            failures.append(f"{name}: {type(error).__name__}: {error}")
    if failures:
        raise AssertionError("\n".join([f"{len(failures)} of {len(steps)} assertions fail", *failures]))
    return ModelReport(tuple(passed), skipped)


def _contract(model: Model, tolerance: Tolerance | None, shortest: float, others_refused: bool) -> Iterator[Step]:
    """Assertions about the adapter itself."""
    structures, once = structures_for(model, shortest), built_once(model)
    no_batch = "" if model.build_batch is not None else "the model has no batch evaluator"
    batch = partial(assert_batch_matches_single, once, structures, tolerance)
    yield "assert_batch_matches_single", no_batch, batch
    yield "assert_claims_hold", "", partial(assert_claims_hold, once, others_refused)
    no_claim = "" if model.card.precision else "the model claims no precision"
    yield "assert_precision_and_device", no_claim, partial(assert_precision_and_device, once)
    no_reference = "" if model.reference is not None else "the calculator cannot be pickled"
    process = partial(assert_same_in_another_process, model, structures, tolerance)
    yield "assert_same_in_another_process", no_reference, process
    yield "assert_quiet", "", partial(assert_quiet, model)


def _physics(model: Model, tolerance: Tolerance | None, conservative: bool, cutoff: float | None) -> Iterator[Step]:
    """Assertions about what the adapter passes on: units, signs, cells, charges."""
    from assay.compute.engines.evaluation import has_stress

    once, claimed = built_once(model), model.card.pbc or ("FFF",)
    direct = "" if conservative else "forces are not the slope of the energy"
    aperiodic = "" if "TTT" in claimed else "periodic systems are not claimed"
    open_ones = "" if "FFF" in claimed else "molecules are not claimed"
    stress = direct or aperiodic or ("" if has_stress(once.build()) else "the calculator has no stress")
    yield "assert_forces_match_energy", direct or open_ones, partial(assert_forces_match_energy, once)
    yield "assert_stress_matches_energy", stress, partial(assert_stress_matches_energy, once)
    yield "assert_supercell_adds_up", aperiodic, partial(assert_supercell_adds_up, once, tolerance=tolerance)
    endless = "" if cutoff else "no cutoff is given"
    images = partial(assert_open_directions_have_no_images, once, vacuum=20.0 + (cutoff or 0.0), tolerance=tolerance)
    yield "assert_open_directions_have_no_images", aperiodic or endless, images
    ions = {1, 8} <= set(model.card.elements or ()) and bool(model.card.charge) and not open_ones
    neutral = "" if ions else "charges, or H and O, are not claimed"
    yield "assert_charge_is_read", neutral, partial(assert_charge_is_read, once)
