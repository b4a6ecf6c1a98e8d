"""A relaxation ends in a minimum with its last structure, or reports why it did not."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from ase.calculators.emt import EMT
from ase.optimize import BFGS

from assay.jobs import Relaxation
from assay.outcome import ERROR, FAILED, OK, Outcome
from assay.structure import Structure, from_atoms
from toys import DIMER, Pair, Spring, Toy, engine_of

DEPTH, WIDTH, LENGTH = 2.0, 1.5, 1.4


def morse() -> Pair:
    """A Morse bond: depth (eV), width (1/Å) and length (Å)."""
    return Pair(
        lambda r: DEPTH * (1.0 - exp(-WIDTH * (r - LENGTH))) ** 2 - DEPTH,
        lambda r: 2.0 * DEPTH * WIDTH * (1.0 - exp(-WIDTH * (r - LENGTH))) * exp(-WIDTH * (r - LENGTH)),
    )


def stretched(length: float) -> Structure:
    return DIMER.moved(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, length]]))


def bond(outcome: Outcome) -> float:
    positions = np.asarray(outcome.values["positions"])
    return float(np.linalg.norm(positions[1] - positions[0]))


@pytest.mark.parametrize("optimizer", ["bfgs", "fire", "fire-bfgs"])
@pytest.mark.parametrize("length", [1.0, 1.4, 1.9])
def test_a_morse_bond_relaxes_to_its_length(optimizer: str, length: float) -> None:
    outcome = engine_of(morse).run("key", Relaxation(stretched(length), optimizer, force_limit=1e-4))
    assert (outcome.status, outcome.reason) == (OK, "")
    values = outcome.values
    assert values["converged"] is True
    assert bond(outcome) == pytest.approx(LENGTH, abs=1e-4)
    assert values["energy"] == pytest.approx(-DEPTH, abs=1e-6)
    assert values["max_force"] < 1e-4
    assert values["start_energy"] == values["energies"][0] == pytest.approx(morse().energy(length))
    assert len(values["energies"]) == values["steps"] + 1
    assert values["energies"][-1] == values["energy"]
    assert (values["natoms"], values["positions"].shape, values["forces"].shape) == (2, (2, 3), (2, 3))


def test_the_final_structure_has_the_final_energy_and_forces() -> None:
    job = Relaxation(stretched(1.9), steps=3, force_limit=1e-9)
    engine = engine_of(morse)
    values = engine.run("key", job).values
    point = engine.evaluate(job.structure.moved(np.asarray(values["positions"])))
    assert values["energy"] == point.energy
    assert np.array_equal(values["forces"], point.forces)


def test_the_minimum_and_the_number_of_steps_are_those_of_ase() -> None:
    atoms = molecule("CH3CH2OH")
    atoms.rattle(0.1, seed=2)
    outcome = engine_of(EMT).run("key", Relaxation(from_atoms(atoms), force_limit=0.02))
    atoms.calc = EMT()
    optimizer = BFGS(atoms, logfile=None)
    assert optimizer.run(fmax=0.02)
    assert outcome.values["steps"] == optimizer.nsteps
    np.testing.assert_allclose(outcome.values["positions"], atoms.positions, atol=1e-8)
    assert outcome.values["energy"] == pytest.approx(atoms.get_potential_energy(), abs=1e-9)


def test_too_few_steps_are_not_a_failure_of_the_model() -> None:
    outcome = engine_of(morse).run("key", Relaxation(stretched(1.9), steps=2))
    assert (outcome.status, outcome.values["converged"], outcome.values["steps"]) == (OK, False, 2)
    assert outcome.values["max_force"] > 0.01


def test_a_model_without_forces_does_not_move_the_atoms() -> None:
    outcome = engine_of(Toy).run("key", Relaxation(stretched(1.9)))
    assert (outcome.status, outcome.values["converged"], outcome.values["steps"]) == (OK, True, 0)
    assert np.array_equal(outcome.values["positions"], stretched(1.9).positions)


class FailsLater(Spring):
    """Springs for three evaluations, then `later`."""

    calls = 0

    def answer(self, atoms: Atoms) -> dict[str, object]:
        self.calls += 1
        return super().answer(atoms) if self.calls <= 3 else self.later(atoms)

    def later(self, atoms: Atoms) -> dict[str, object]:
        raise RuntimeError("no more")


class BecomesNan(FailsLater):
    def later(self, atoms: Atoms) -> dict[str, object]:
        return {"energy": 1.0, "forces": np.full((len(atoms), 3), np.nan)}


class RunsOutOfMemory(FailsLater):
    def later(self, atoms: Atoms) -> dict[str, object]:
        raise MemoryError("full")


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (FailsLater, "after 3 steps: refused: RuntimeError: no more"),
        (BecomesNan, "after 3 steps: returned forces that are NaN or infinite"),
    ],
)
def test_a_model_that_fails_later_ends_the_relaxation_and_earlier_steps_are_stored(model: type, reason: str) -> None:
    job = Relaxation(DIMER, max_step=0.1)
    outcome = engine_of(model).run("key", job)
    assert (outcome.status, outcome.reason) == (FAILED, reason)
    assert (outcome.values["steps"], outcome.values["converged"]) == (2, False)
    assert len(outcome.values["energies"]) == 3
    sound = engine_of(Spring).run("key", Relaxation(DIMER, max_step=0.1, steps=2))
    assert np.array_equal(outcome.values["positions"], sound.values["positions"])
    assert "Traceback" in outcome.traceback


def test_a_model_that_refuses_the_first_structure_leaves_no_values() -> None:
    class Refuses(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            raise ValueError("no")

    outcome = engine_of(Refuses).run("key", Relaxation(DIMER))
    assert (outcome.status, outcome.values, outcome.reason) == (FAILED, {}, "refused: ValueError: no")


def test_too_little_memory_is_an_error_of_the_machine() -> None:
    outcome = engine_of(RunsOutOfMemory).run("key", Relaxation(DIMER, max_step=0.1))
    assert (outcome.status, outcome.reason) == (ERROR, "out of memory: full")


def test_an_explosion_ends_the_relaxation() -> None:
    repulsive = lambda: Pair(lambda r: -10.0 * log(r), lambda r: -10.0 / r)  # noqa: E731
    outcome = engine_of(repulsive).run("key", Relaxation(stretched(1.0)))
    assert outcome.status == FAILED
    assert "exploded: an atom is 20 Å from its first position" in outcome.reason
    assert outcome.values["converged"] is False
    assert np.isfinite(outcome.values["positions"]).all()
    assert bond(outcome) < 42.0


@pytest.mark.parametrize("size", [1e7, 1e200])
def test_extreme_forces_end_the_relaxation(size: float) -> None:
    class Wild(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            return {"energy": 0.0, "forces": np.full((len(atoms), 3), size)}

    outcome = engine_of(Wild).run("key", Relaxation(DIMER))
    assert outcome.status == FAILED
    assert outcome.reason.startswith("exploded: a force is")
    assert outcome.values["steps"] == 0


def test_charge_spin_and_cell_are_kept() -> None:
    evaluated = set()

    class Records(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            evaluated.add((atoms.info["charge"], atoms.info["spin"], float(atoms.cell[2, 2]), bool(atoms.pbc[2])))
            return super().answer(atoms)

    cell = np.diag([8.0, 8.0, 9.0])
    structure = Structure(DIMER.numbers, DIMER.positions, cell, (True, True, True), charge=-1, spin=2)
    assert engine_of(Records).run("key", Relaxation(structure)).status == OK
    assert evaluated == {(-1, 2, 9.0, True)}


def test_an_unknown_optimizer_is_an_error() -> None:
    outcome = engine_of(Spring).run("key", Relaxation(DIMER, optimizer="newton"))
    assert outcome.status == ERROR
    assert "there is no optimizer 'newton'" in outcome.reason
