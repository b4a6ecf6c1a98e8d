"""First contact: what a calculator supports, how fast it is, and why it cannot be used."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.emt import EMT

from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.probes import contact
from assay.configurations import cluster
from assay.errors import AssayError
from assay.jobs import Probe
from assay.models.loading import from_object
from assay.structure import Structure
from toys import DIMER, Spring, engine_of

GOLD = Structure.build([79] * 6, cluster((79,)).positions)


def test_first_contact_reports_what_the_calculator_supports() -> None:
    class Claims(Spring):
        claims = ("Cu", "Au")

    values = contact.run(engine_of(Claims), Probe("contact", (DIMER,)))
    assert values.pop("seconds_per_call") > 0.0  # type: ignore[operator]
    assert values.pop("seconds_to_build") > 0.0  # type: ignore[operator]
    assert values == {
        "calculator": "Claims",
        "stress": True,
        "claims": ["Cu", "Au"],
        "reasons": [],
        "seconds_per_batched_call": None,
        "used": {"precision": "float64", "device": "cpu"},
    }
    values = contact.run(engine_of(EMT), Probe("contact", (DIMER,)))
    assert (values["calculator"], values["claims"]) == ("EMT", None)


def test_first_contact_measures_the_time_in_a_batch_if_batches_work() -> None:
    def evaluate(structures: list[Structure]) -> list[tuple[float, np.ndarray]]:
        sizes.append(len(structures))
        if broken:
            raise ValueError("no batches")
        return [(0.0, np.zeros((len(s), 3))) for s in structures]

    sizes: list[int] = []
    for broken in (False, True):
        batch = SimpleNamespace(evaluate=evaluate)
        model = replace(from_object(Spring), build_batch=lambda batch=batch: batch)
        values = contact.run(CalculatorEngine(model), Probe("contact", (DIMER,)))
        seconds = values["seconds_per_batched_call"]
        assert (seconds is None) if broken else (seconds is not None and seconds > 0.0)
    assert sizes == [contact.COPIES] * 3


def test_first_contact_tries_structures_until_one_is_accepted() -> None:
    sizes = []

    class RefusesGold(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            sizes.append(len(atoms))
            if 79 in atoms.numbers:
                raise ValueError("no gold")
            return super().answer(atoms)

    values = contact.run(engine_of(RefusesGold), Probe("contact", (GOLD, GOLD, DIMER, DIMER)))
    assert values["reasons"] == ["refused: ValueError: no gold"] * 2
    assert sizes == [6, 6, 2, 2]  # the accepted structure is evaluated twice, to measure the time


def test_first_contact_with_an_object_that_is_not_a_calculator_is_one_sentence() -> None:
    with pytest.raises(AssayError, match="'toy' gives a str, not an ASE calculator"):
        contact.run(engine_of(lambda: "text"), Probe("contact", (DIMER,)))
