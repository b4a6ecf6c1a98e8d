"""Minimisation steps are those of ASE's optimisers, and end in known minima."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from ase.optimize import BFGS, FIRE

from assay.compute.protocols.minimisers import Bfgs, Fire, FireThenBfgs, Minimiser, largest_norm, make_minimiser
from assay.errors import AssayError
from assay.structure import Floats
from toys import Spring

STEPS = 40


def rattled(atoms: Atoms, calculator: Calculator, size: float = 0.15) -> Atoms:
    atoms.rattle(size, seed=7)
    atoms.calc = calculator
    return atoms


def cluster() -> Atoms:
    """Seven Lennard-Jones atoms, near a pentagonal bipyramid."""
    ring = [[np.cos(a), np.sin(a), 0.0] for a in 2.0 * np.pi * np.arange(5) / 5]
    return Atoms("Ar7", 1.0 * np.array([*ring, [0.0, 0.0, 0.6], [0.0, 0.0, -0.6]]))


SYSTEMS: dict[str, Callable[[], Atoms]] = {
    "metal": lambda: rattled(bulk("Cu", cubic=True).repeat((2, 1, 1)), EMT()),
    "molecule": lambda: rattled(molecule("CH3OH"), EMT(), 0.05),
    "cluster": lambda: rattled(cluster(), LennardJones(rc=10.0), 0.05),
    "springs": lambda: rattled(Atoms("H3", np.arange(9.0).reshape(3, 3)), Spring()),
}


def ase_positions(optimizer: type, atoms: Atoms, **options: object) -> list[Floats]:
    """Positions after each step of ASE's optimiser."""
    positions = []
    moves = optimizer(atoms, logfile=None, **options)
    for _ in moves.irun(fmax=1e-3, steps=STEPS):
        positions.append(atoms.get_positions())
    return positions


def own_positions(minimiser: Minimiser, atoms: Atoms, count: int) -> list[Floats]:
    positions = [atoms.get_positions()]
    while len(positions) < count:
        atoms.set_positions(minimiser.step(atoms.get_positions(), atoms.get_forces()))
        positions.append(atoms.get_positions())
    return positions


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(("optimizer", "own"), [(BFGS, Bfgs), (FIRE, Fire)])
@pytest.mark.parametrize("max_step", [0.2, 0.03])
def test_every_step_is_that_of_ase(system: str, optimizer: type, own: type, max_step: float) -> None:
    theirs = ase_positions(optimizer, SYSTEMS[system](), maxstep=max_step)
    ours = own_positions(own(max_step), SYSTEMS[system](), len(theirs))
    assert len(theirs) > 10
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(ours[:10], theirs[:10], rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("name", ["bfgs", "fire", "fire-bfgs"])
def test_the_lowest_cluster_of_seven_atoms_is_found(name: str) -> None:
    atoms, minimiser = SYSTEMS["cluster"](), make_minimiser(name, 0.1)
    for _ in range(500):
        if largest_norm(atoms.get_forces()) < 1e-4:
            break
        atoms.set_positions(minimiser.step(atoms.get_positions(), atoms.get_forces()))
    assert atoms.get_potential_energy() == pytest.approx(-16.505384, abs=1e-3)  # the lowest energy of seven atoms


def test_bfgs_finds_the_minimum_of_a_harmonic_surface_in_few_steps() -> None:
    rng = np.random.default_rng(3)
    modes = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    hessian = modes @ np.diag([5.0, 10.0, 20.0, 40.0, 60.0, 90.0]) @ modes.T
    positions, minimiser = rng.normal(scale=0.1, size=(2, 3)), Bfgs()
    for _ in range(30):
        positions = minimiser.step(positions, -(hessian @ positions.ravel()).reshape(2, 3))
    assert np.abs(positions).max() < 1e-6


@pytest.mark.parametrize("make", [Bfgs, Fire, FireThenBfgs])
def test_a_step_is_never_longer_than_the_limit(make: Callable[[float], Minimiser]) -> None:
    minimiser, positions = make(0.07), np.zeros((3, 3))
    for force in (1e6, 1e-3, 1e3, 2.0, -5.0):
        moved = minimiser.step(positions, np.full((3, 3), force))
        assert largest_norm(moved - positions) <= 0.07 + 1e-12
        positions = moved


@pytest.mark.parametrize("make", [Bfgs, Fire, FireThenBfgs])
def test_constant_and_zero_forces_give_finite_steps(make: Callable[[float], Minimiser]) -> None:
    for force in (0.5, 0.0):
        minimiser, positions = make(0.1), np.zeros((2, 3))
        for _ in range(10):
            positions = minimiser.step(positions, np.full((2, 3), force))
        assert np.isfinite(positions).all()


def minimisers_used(largest_forces: list[float]) -> list[type]:
    """The minimiser of each step for a list of largest forces (eV/Å)."""
    minimiser, kinds = FireThenBfgs(0.2), []
    for force in largest_forces:
        minimiser.step(np.zeros((2, 3)), np.array([[force, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        kinds.append(type(minimiser._current))
    return kinds


def test_bfgs_follows_fire_for_small_forces_and_fire_returns_if_forces_grow() -> None:
    assert minimisers_used([3.0, 1.2, 0.9, 2.0, 0.3, 5.0, 0.6, 0.4]) == [Fire, Fire, Bfgs, Bfgs, Bfgs, Fire, Fire, Bfgs]


def test_fire_returns_if_bfgs_makes_no_progress() -> None:
    assert minimisers_used([0.9] * 20) == [Bfgs] * 13 + [Fire] * 7
    assert minimisers_used([0.95**n for n in range(1, 60)]) == [Bfgs] * 59


def test_an_optimizer_that_does_not_exist_is_named() -> None:
    with pytest.raises(AssayError, match=r"there is no optimizer 'bgfs' \(did you mean 'bfgs'\?\)"):
        make_minimiser("bgfs", 0.2)
