"""Assertions about adapters pass a sound model and fail a broken one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.emt import EMT

from argon import Answers, Argon, ArgonBatch, argon, changed
from assay.errors import AssayError
from assay.structure import Structure
from assay.testing import (
    Tolerance,
    assert_batch_matches_single,
    assert_matches_upstream,
    assert_precision_and_device,
    assert_quiet,
    assert_same_in_another_process,
    built_once,
    check_model,
    standard_structures,
    structures_for,
)

PAIR = {"pair": Structure.build([18, 18], [[0, 0, 0], [0, 0, 3.7]])}


class Mixed(ArgonBatch):
    """Gives each structure the energy of the one before."""

    def evaluate(self, structures: Sequence[Structure]) -> Answers:
        answers = super().evaluate(structures)
        energies = [energy for energy, _ in answers]
        return [(e, forces) for e, (_, forces) in zip(energies[-1:] + energies[:-1], answers, strict=True)]


class Sorted(ArgonBatch):
    """Gives answers in the order of sizes."""

    def evaluate(self, structures: Sequence[Structure]) -> Answers:
        return super().evaluate(sorted(structures, key=len))


class Short(ArgonBatch):
    """Loses the last structure."""

    def evaluate(self, structures: Sequence[Structure]) -> Answers:
        return super().evaluate(structures[:-1])


class Single(ArgonBatch):
    """Gives forces in single precision."""

    def answer(self, structure: Structure) -> tuple[float, Any]:
        energy, forces = super().answer(structure)
        return energy, forces.astype(np.float32)


class Flat(ArgonBatch):
    """Gives forces in one row."""

    def answer(self, structure: Structure) -> tuple[float, Any]:
        energy, forces = super().answer(structure)
        return energy, forces.ravel()


class Remembers(ArgonBatch):
    """Adds a little with every call."""

    calls = 0

    def evaluate(self, structures: Sequence[Structure]) -> Answers:
        self.calls += 1
        return [(energy + 1e-5 * (self.calls > 3), forces) for energy, forces in super().evaluate(structures)]


class AddsLoneAtoms(ArgonBatch):
    """Adds up the energies of a batch that has no pairs."""

    def evaluate(self, structures: Sequence[Structure]) -> Answers:
        if len(structures) > 1 and all(len(s) == 1 for s in structures):
            return [(1.0, forces) for _, forces in super().evaluate(structures)]
        return super().evaluate(structures)


class Moves(ArgonBatch):
    """Moves the atoms that it is given."""

    def answer(self, structure: Structure) -> tuple[float, Any]:
        found = super().answer(structure)
        structure.positions[0] += 0.1
        return found


class Fills(ArgonBatch):
    """Answers an empty batch."""

    def evaluate(self, structures: Sequence[Structure]) -> Answers:
        return super().evaluate(structures) or [(0.0, np.zeros((1, 3)))]


class NotANumber(ArgonBatch):
    """Gives NaN for pairs."""

    def answer(self, structure: Structure) -> tuple[float, Any]:
        energy, forces = super().answer(structure)
        return np.nan if len(structure) == 2 else energy, forces


def test_a_sound_batch_passes() -> None:
    assert_batch_matches_single(argon())


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (Mixed, "differ in one batch"),
        (Sorted, "expected float64 and"),
        (Short, r"gives \d+ answers"),
        (Single, "kind float32"),
        (Flat, "shape"),
        (Remembers, "differ in a batch"),
        (AddsLoneAtoms, "in a batch of lone atoms"),
        (Moves, "changes the positions"),
        (Fills, "an empty batch gives answers"),
        (NotANumber, "energy nan eV"),
    ],
)
def test_a_broken_batch_fails(batch: Callable[[], object], words: str) -> None:
    lone = {f"atom {i}": Structure.build([18], [[float(i), 0, 0]]) for i in range(2)}
    with pytest.raises(AssertionError, match=words):
        assert_batch_matches_single(argon(batch=batch), structures_for(argon()) | lone)


def test_a_model_without_a_batch_has_none_to_test() -> None:
    with pytest.raises(AssertionError, match="no batch evaluator"):
        assert_batch_matches_single(argon(batch=None))


def test_a_structure_that_is_not_answered_is_named() -> None:
    with pytest.raises(AssertionError, match="'water' is not answered: refused: the model supports argon only"):
        assert_batch_matches_single(argon(), {"water": standard_structures()["water"]})


def test_numbers_are_in_the_message() -> None:
    with pytest.raises(AssertionError, match=r"model 'factory': 1 of 1 .*'pair': energy .* eV, expected .* eV"):
        assert_batch_matches_single(argon(changed(lambda c, _: c.results.update(energy=1.0))), PAIR)


def test_precision_is_that_of_the_card() -> None:
    assert_precision_and_device(argon())
    with pytest.raises(AssertionError, match=r"'precision': 'float64'.*expected.*'precision': 'float32'"):
        assert_precision_and_device(argon(precision="float32"))
    with pytest.raises(AssertionError, match="'device': 'cuda'"):
        assert_precision_and_device(argon(), device="cuda")


def test_another_process_gets_the_same_numbers() -> None:
    assert_same_in_another_process(argon(), PAIR)


def test_structures_that_are_not_answered_are_counted() -> None:
    with pytest.raises(AssertionError, match="only 1 of 2 structures are answered"):
        assert_same_in_another_process(argon(), PAIR | {"water": standard_structures()["water"]})


def test_a_model_that_depends_on_the_process_fails() -> None:
    def add_environment(calculator: Argon, atoms: Atoms) -> None:
        import sys

        calculator.results["energy"] += 1e-3 * ("pytest" in sys.modules)

    with pytest.raises(AssertionError, match=r"in another process the energy of 'pair' differs by 0\.001 eV"):
        assert_same_in_another_process(argon(changed(add_environment)), PAIR)


def test_a_model_that_cannot_be_sent_fails() -> None:
    import threading

    calculator = Argon()
    calculator.lock = threading.Lock()
    with pytest.raises(AssertionError, match="cannot be pickled"):
        assert_same_in_another_process(calculator, PAIR)


def test_an_adapter_gives_what_the_package_gives() -> None:
    assert_matches_upstream(argon(), Argon(), tolerance=Tolerance())
    slightly_off = changed(lambda c, _: c.results.update(energy=c.results["energy"] + 1e-6))
    with pytest.raises(AssertionError, match="between the adapter and the other calculator"):
        assert_matches_upstream(argon(slightly_off), Argon())


def test_what_is_printed_is_found() -> None:
    assert_quiet(argon())
    with pytest.raises(AssertionError, match="it prints 'hello"):
        assert_quiet(argon(changed(lambda *_: print("hello"))))


def test_built_once_builds_once() -> None:
    model = built_once(argon())
    assert model.build() is model.build()
    assert argon().build() is not argon().build()


def test_all_that_applies_is_tested() -> None:
    report = check_model(argon(), cutoff=7.0)
    assert len(report.passed) == 9
    assert set(report.skipped) == {"assert_charge_is_read"}
    assert set(check_model(argon(batch=None, pbc=["FFF"], precision=None)).skipped) == {
        "assert_batch_matches_single",
        "assert_precision_and_device",
        "assert_stress_matches_energy",
        "assert_supercell_adds_up",
        "assert_open_directions_have_no_images",
        "assert_charge_is_read",
    }


def test_all_that_is_wrong_is_reported_at_once() -> None:
    def scale(calculator: Argon, _: Atoms) -> None:
        calculator.results["forces"] = 1.1 * calculator.results["forces"]

    with pytest.raises(AssertionError) as caught:
        check_model(argon(changed(scale), precision="float32"))
    text = str(caught.value)
    assert text.startswith("3 of 10 assertions fail\n")
    for name in ("assert_batch_matches_single", "assert_forces_match_energy", "assert_precision_and_device"):
        assert f"\n{name}: model 'factory'" in text


def test_named_models_of_ase_keep_the_contract() -> None:
    check_model("emt", others_refused=False, cutoff=8.0)
    check_model("lj", others_refused=False, cutoff=11.0)


def test_elements_may_be_given_where_none_are_claimed() -> None:
    with pytest.raises(AssayError, match=r"claims no elements; claim them, or give elements=\('Cu', 'Au'\)"):
        check_model(EMT())
    assert "assert_claims_hold" in check_model(EMT(), elements=(29, 79), others_refused=False).passed
