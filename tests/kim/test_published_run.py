"""A published OpenKIM periodicity check, repeated number by number, and what it did not test."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes

from assay.errors import ModelFailure
from assay.models.kim import build_calculator
from kim.published_generator import AMPLITUDE, Configuration, configurations, double, energy_and_forces

pytestmark = pytest.mark.kim

PUBLISHED = json.loads(Path(__file__).with_name("published_periodicity.json").read_text(encoding="utf-8"))
TOLERANCE = 1e-8  # relative, as in the published check


@pytest.fixture(scope="module")
def model() -> Calculator:
    return build_calculator(PUBLISHED["model"])


@pytest.fixture(scope="module")
def rebuilt(model: Calculator) -> list[Configuration]:
    return list(configurations(model))


@pytest.fixture(scope="module")
def evaluated(model: Calculator, rebuilt: list[Configuration]) -> list[Configuration]:
    """The configurations whose energy the model can compute with the periodicity that the report states."""
    return [configuration for configuration in rebuilt if not refuses(model, configuration.atoms)]


def refuses(model: Calculator, atoms: Atoms) -> bool:
    try:
        energy_and_forces(model, atoms)
    except ModelFailure:
        return True
    return False


class IgnoresPeriodicity(Calculator):
    """A broken model: whatever the cell, it sees an isolated cluster."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012  (ASE's convention)

    def __init__(self, sound: Calculator) -> None:
        super().__init__()
        self.sound = sound

    def calculate(self, atoms: Atoms, properties: object = None, system_changes: object = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        isolated = atoms.copy()
        isolated.pbc = False
        energy, forces = energy_and_forces(self.sound, isolated)
        self.results = {"energy": energy, "forces": forces}


def test_configurations_come_in_the_order_of_the_report(rebuilt: list[Configuration]) -> None:
    stated = [(tuple(entry["species"]), entry["pbc"]) for entry in PUBLISHED["configurations"]]
    assert [(configuration.species, configuration.pbc) for configuration in rebuilt] == stated
    assert len(stated) == 21


def test_published_energies_are_those_of_isolated_clusters(model: Calculator, rebuilt: list[Configuration]) -> None:
    energies = [energy_and_forces(model, configuration.cluster())[0] for configuration in rebuilt]
    assert [f"{energy:.12g}" for energy in energies] == [entry["energy"] for entry in PUBLISHED["configurations"]]


def test_published_forces_are_those_of_isolated_clusters(model: Calculator, rebuilt: list[Configuration]) -> None:
    forces = [energy_and_forces(model, configuration.cluster())[1] for configuration in rebuilt]
    printed = [[[f"{component:.8e}" for component in atom] for atom in cluster] for cluster in forces]
    assert printed == [entry["forces"] for entry in PUBLISHED["configurations"]]
    assert np.size(printed) == 252


def test_two_configurations_were_displaced_half_as_far_as_stated(rebuilt: list[Configuration]) -> None:
    closer = {configuration.name: configuration.amplitude for configuration in rebuilt}
    assert {name: far for name, far in closer.items() if far != AMPLITUDE} == {"Pt FFT": 0.15, "AuPt TTT": 0.15}


def test_model_refuses_twelve_of_the_stated_periodicities(
    rebuilt: list[Configuration], evaluated: list[Configuration]
) -> None:
    assert len(rebuilt) - len(evaluated) == 12
    assert [one.name for one in evaluated if one.species != ("Au",)] == ["Pt FFT", "AuPt FTF"]


def test_no_published_energy_belongs_to_its_stated_periodicity(
    model: Calculator, evaluated: list[Configuration]
) -> None:
    entries = PUBLISHED["configurations"]
    published = {f"{''.join(entry['species'])} {entry['pbc']}": float(entry["energy"]) for entry in entries}
    for configuration in evaluated:
        energy, _ = energy_and_forces(model, configuration.atoms)
        assert energy - published[configuration.name] > 1.0, f"{configuration.name}: {energy} eV"


def test_true_doubling_holds_wherever_the_model_evaluates(model: Calculator, evaluated: list[Configuration]) -> None:
    assert len(evaluated) == 9
    for configuration in evaluated:
        result = double(model, configuration)
        assert len(configuration.doubled()) == 4 * 2**configuration.doubled_directions > 4
        assert max(result.energy_error, result.force_error) < TOLERANCE, configuration.name


def test_true_doubling_holds_for_all_when_the_crystal_is_less_compressed(model: Calculator) -> None:
    results = [double(model, configuration) for configuration in configurations(model, lattice=4.0, periodic=True)]
    assert len(results) == 21
    assert max(max(result.energy_error, result.force_error) for result in results) < 1e-12


def test_doubling_exposes_a_model_that_ignores_periodicity(model: Calculator, rebuilt: list[Configuration]) -> None:
    blind = IgnoresPeriodicity(model)
    published_form = [replace(one, pbc="FFF", atoms=one.cluster()) for one in rebuilt]
    errors = [double(blind, one).energy_error for one in published_form]
    assert max(errors) == 0.0, "without a doubled direction nothing can fail"
    for configuration in configurations(model, lattice=4.0, periodic=True):
        assert double(blind, configuration).energy_error > 0.01, configuration.name
