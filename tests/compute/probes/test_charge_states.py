"""Charge states: energies by charge and spin, and what is left of the state before."""

from __future__ import annotations

from typing import Any

import pytest

from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.probes import charge_states
from assay.configurations import cluster
from assay.jobs import Probe
from assay.sabotage.broken.ase_results import Charged
from toys import engine_of, sabotaged

ASKED = ["charge", "spin"]


def states(engine: CalculatorEngine, claimed: list[str] = ASKED, asked: list[str] = ASKED) -> dict[str, Any]:
    settings = {"asked": asked, "claimed": claimed, "same": 1e-6}
    return charge_states.run(engine, Probe("charge_states", (cluster((29,)),), settings))


def worst(values: dict[str, Any], test: str) -> float:
    return max(row["energy"] for row in values["rows"] if row["test"] == test)


def test_a_sound_model_uses_charge_and_spin_and_keeps_nothing() -> None:
    values = states(engine_of(Charged))
    assert values["used"] == ["charge +1", "charge -1", "spin 3"]
    assert {row["test"] for row in values["rows"]} == {"neutral", "calculate", "public_methods"}
    assert [worst(values, test) for test in ("neutral", "calculate", "public_methods")] == [0.0] * 3


def test_old_charges_and_other_defaults_are_found() -> None:
    assert worst(states(sabotaged("stale_charge")), "public_methods") > 1.0
    assert worst(states(sabotaged("stale_charge")), "calculate") == 0.0
    assert worst(states(sabotaged("triplet_by_default")), "neutral") > 1e-3


def test_what_is_not_claimed_and_not_used_is_not_examined() -> None:
    values = states(sabotaged("sound"), claimed=[])
    assert values["used"] == values["rows"] == []
    assert states(sabotaged("sound"))["rows"]


def test_only_what_is_asked_is_evaluated() -> None:
    assert list(states(engine_of(Charged), asked=["spin"])["energies"]) == ["spin 3"]


def test_larger_charges_are_tried_where_the_electrons_do_not_fit() -> None:
    class EvenElectrons(Charged):
        def evaluate(self, atoms):  # type: ignore[no-untyped-def]
            if (self.state(atoms)[0]) % 2:
                raise ValueError("odd")
            return super().evaluate(atoms)

    values = states(engine_of(EvenElectrons), asked=["charge"])
    assert list(values["energies"]) == ["charge +2", "charge -2"]
    assert list(values["reasons"]) == ["charge +1", "charge -1"]


@pytest.mark.parametrize(
    ("name", "ignored"), [("ignores_claimed_charge", "charge +1"), ("ignores_claimed_spin", "spin 3")]
)
def test_what_is_ignored_is_not_used(name: str, ignored: str) -> None:
    values = states(sabotaged(name))
    assert ignored in values["energies"]
    assert ignored not in values["used"]
