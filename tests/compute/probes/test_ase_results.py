"""Results of calculators: their form, the sums of their parts, and ASE's sum of calculators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.probes import ase_results
from assay.configurations import cluster, crystal
from assay.jobs import Probe
from toys import Says, engine_of, sabotaged

STRUCTURES = (cluster((29,)), crystal((29, 79)))


def rows(engine: CalculatorEngine) -> list[dict[str, Any]]:
    found = ase_results.run(engine, Probe("ase_results", STRUCTURES))
    assert found["indices"] == [0, 1]
    return found["rows"]  # type: ignore[return-value]


def test_a_sound_model_has_no_faults_and_its_sums_agree() -> None:
    for row, structure in zip(rows(sabotaged("sound")), STRUCTURES, strict=True):
        assert row["faults"] == []
        kinds = [d["kind"] for d in row["deviations"] if d["what"] == "the sum of two"]
        assert kinds == (["energy", "forces", "stress"] if any(structure.pbc) else ["energy", "forces"])
        assert all(d["error"] <= 1e-12 for d in row["deviations"])


@pytest.mark.parametrize(("name", "what"), [("energy_in_array", "energy"), ("stress_as_tensor", "stress")])
def test_a_wrong_form_is_named(name: str, what: str) -> None:
    faults = [fault for row in rows(sabotaged(name)) for fault in row["faults"]]
    assert {fault["what"] for fault in faults} == {what}
    assert all("shape" in fault["found"] for fault in faults)


@pytest.mark.parametrize("name", ["energies_without_pairs", "corrects_outside_calculate"])
def test_parts_and_sums_that_do_not_add_up_are_measured(name: str) -> None:
    errors = [d["error"] for row in rows(sabotaged(name)) for d in row["deviations"] if d["kind"] == "energy"]
    assert max(errors) > 0.1


@pytest.mark.parametrize("energy", [1.5, np.float64(1.5), np.float32(1.5), np.array(1.5), 1])
def test_every_real_number_is_an_energy(energy: object) -> None:
    answers = {"energy": energy, "forces": np.zeros((6, 3), dtype=np.float32)}
    (row,) = ase_results.run(engine_of(lambda: Says(**answers)), Probe("", STRUCTURES[:1]))["rows"]  # type: ignore[misc]
    assert row["faults"] == []


@pytest.mark.parametrize(
    ("results", "what"),
    [
        ({"free_energy": np.array([1.5])}, "free_energy"),
        ({"forces": np.zeros((6, 3), dtype=int)}, "forces"),
        ({"energies": np.zeros((6, 1))}, "energies"),
        ({"stresses": np.zeros((6, 3, 3))}, "stresses"),
    ],
)
def test_other_forms_are_faults(results: dict[str, object], what: str) -> None:
    answers = {"energy": 1.5, "forces": np.zeros((6, 3)), **results}
    (row,) = ase_results.run(engine_of(lambda: Says(**answers)), Probe("", STRUCTURES[:1]))["rows"]  # type: ignore[misc]
    assert {fault["what"] for fault in row["faults"]} == {what}
