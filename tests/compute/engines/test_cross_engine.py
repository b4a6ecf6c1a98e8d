"""The same physics on every engine: a harmonic crystal and liquid argon, one at a time, in batches, and in plain ASE.

Cite: Rahman, Phys. Rev. 136, A405 (1964), diffusion in liquid argon; Yeh and Hummer, J. Phys. Chem. B 108, 15873
(2004), how it depends on the size of the box.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.md.langevin import Langevin
from ase.md.verlet import VelocityVerlet

from assay.analysis.blocks import Average, average, drift
from assay.analysis.fluctuations import pooled
from assay.compute.engines.batch_size import LADDER, BatchSize
from assay.compute.engines.batched import BatchedEngine
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.protocols.integrators import temperature
from assay.compute.protocols.simulation import new_simulation
from assay.jobs import Dynamics
from assay.outcome import OK, Outcome
from assay.store.trajectory import Trajectory, trajectory_path
from assay.structure import Floats, Structure, from_atoms
from assay.units import ACCELERATION, BOLTZMANN
from toys import Toy, model_of

Potential = Callable[[Floats], tuple[Floats, Floats]]
"""Energies (eV) and forces (eV/Å) from positions (structures, atoms, 3), for any number of structures."""

STIFFNESS, SPACING = 2.0, 3.0
CRYSTAL = Structure.build(
    [29] * 27, SPACING * np.array(list(itertools.product(range(3), repeat=3)), dtype=float), 9.0 * np.eye(3), "TTT"
)
KELVIN, SIGMA, DEPTH = 94.4, 3.4, 120.0 * BOLTZMANN
DENSITY = 1.374 * 0.602214076 / 39.948  # atoms in Å³, from g/cm³
BOX = (108.0 / DENSITY) ** (1.0 / 3.0)
ARGON = from_atoms(bulk("Ar", "fcc", BOX / 3.0, cubic=True) * (3, 3, 3))
SEEDS = range(4)
ENGINES = ("ase", "batched")
on_each_engine = pytest.mark.parametrize("engine", ENGINES)


def springs(positions: Floats) -> tuple[Floats, Floats]:
    """A simple cubic crystal: springs between the displacements of nearest neighbours, with periodic boundaries."""
    moved = (positions - CRYSTAL.positions).reshape(-1, 3, 3, 3, 3)
    forces, energy = np.zeros_like(moved), np.zeros(len(moved))
    for axis in (1, 2, 3):
        stretch = np.roll(moved, -1, axis) - moved
        forces += STIFFNESS * (stretch - np.roll(stretch, 1, axis))
        energy += 0.5 * STIFFNESS * (stretch**2).sum(axis=(1, 2, 3, 4))
    return energy, forces.reshape(positions.shape)


FIRST, SECOND = np.triu_indices(108, 1)


def argon(positions: Floats) -> tuple[Floats, Floats]:
    """Lennard-Jones atoms, smoothly switched off between 2.2 and 2.5 σ, so that the energy is conserved."""
    columns = np.ascontiguousarray(positions.transpose(2, 0, 1))
    vectors = columns.take(FIRST, 2) - columns.take(SECOND, 2)
    vectors -= BOX * np.rint(vectors * (1.0 / BOX))
    squares = np.einsum("xsp,xsp->sp", vectors, vectors)
    which, pair = np.nonzero(squares < (2.5 * SIGMA) ** 2)
    near = squares[which, pair]
    distance, inverse = np.sqrt(near), SIGMA**2 / near
    sixth = inverse * inverse * inverse
    energies, slopes = 4.0 * DEPTH * sixth * (sixth - 1.0), -24.0 * DEPTH * sixth * (2.0 * sixth - 1.0) / near
    part = np.clip(distance * (1.0 / (0.3 * SIGMA)) - 2.2 / 0.3, 0.0, 1.0)
    fade = 1.0 - part * part * part * (10.0 - 15.0 * part + 6.0 * part * part)
    fading = -30.0 / (0.3 * SIGMA) * (part * (1.0 - part)) ** 2 / distance
    pair_forces = (slopes * fade + energies * fading) * vectors[:, which, pair]
    count, atoms = positions.shape[:2]
    one, other = which * atoms + FIRST[pair], which * atoms + SECOND[pair]
    forces = [np.bincount(other, p, count * atoms) - np.bincount(one, p, count * atoms) for p in pair_forces]
    return np.bincount(which, energies * fade, count), np.stack(forces, axis=1).reshape(positions.shape)


class Alone(Toy):
    """A potential as an ASE calculator."""

    def __init__(self, potential: Potential) -> None:
        super().__init__()
        self.potential = potential

    def answer(self, atoms: Atoms) -> dict[str, object]:
        """Energy and forces of one structure."""
        energy, forces = self.potential(atoms.positions[None])
        return {"energy": energy[0], "forces": forces[0]}


@dataclass
class Together:
    """The same potential for many structures in one call."""

    potential: Potential

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Energy and forces of each structure."""
        energies, forces = self.potential(np.stack([s.positions for s in structures]))
        return list(zip(energies.tolist(), forces, strict=True))


@dataclass(frozen=True)
class Run:
    """The frames of a simulation: positions (frames, atoms, 3) and energies (eV)."""

    positions: Floats
    potential: Floats
    kinetic: Floats
    freedom: int

    @property
    def total(self) -> Floats:
        """The energy that is conserved without a thermostat."""
        return self.potential + self.kinetic

    @property
    def kelvin(self) -> Floats:
        """Temperature of each frame."""
        return np.array([temperature(k, self.freedom) for k in self.kinetic])


def simulate(engine: str, potential: Potential, jobs: Sequence[Dynamics]) -> list[Run]:
    """Run the jobs on an engine; batches are used even if they are not faster on this machine."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(BatchSize, "rung", lambda size, waiting=0: len(LADDER) - 1)
        single = CalculatorEngine(
            model_of(lambda: Alone(potential), build_batch=lambda: Together(potential)), Path(folder)
        )
        keys = [f"run{number}" for number in range(len(jobs))]
        bundle = list(zip(keys, jobs, strict=True))
        outcomes = (
            [single.run(*each) for each in bundle] if engine == "ase" else list(BatchedEngine(single).run(bundle))
        )
        for outcome in outcomes:
            assert outcome.status == OK, outcome.reason
            assert outcome.provenance.get("batch", {}).get("alone", 0) == 0
        return [
            _read(replace(o, frames=Trajectory(trajectory_path(Path(folder), o.key))))
            for o in sorted(outcomes, key=lambda o: keys.index(o.key))
        ]


def _read(outcome: Outcome) -> Run:
    trajectory = outcome.trajectory()
    positions = np.concatenate([frames.positions for frames in trajectory.chunks()])
    return Run(positions, trajectory.series("energy"), trajectory.series("kinetic"), int(outcome.values["freedom"]))


def in_plain_ase(potential: Potential, job: Dynamics) -> Run:
    """The same job with velocity Verlet or Langevin of ASE; the start and the constants are the same as ours."""
    simulation, femtosecond = new_simulation(job), ACCELERATION**0.5
    atoms = job.structure.to_atoms()
    atoms.calc = Alone(potential)
    atoms.set_masses(simulation.masses)
    atoms.set_velocities(simulation.velocities / femtosecond)
    if job.ensemble == "nve":
        run: VelocityVerlet | Langevin = VelocityVerlet(atoms, job.timestep * femtosecond)
    else:
        settings = {"temperature_K": job.temperature, "friction": job.friction / 1000.0 / femtosecond}
        random = np.random.RandomState(job.seed)
        run = Langevin(atoms, job.timestep * femtosecond, **settings, fixcm=False, rng=random)
    rows: list[tuple[Floats, float, float]] = []

    def keep() -> None:
        rows.append((atoms.get_positions(), atoms.get_potential_energy(), atoms.get_kinetic_energy()))

    run.attach(keep, interval=job.interval)
    run.run(job.steps)
    positions, energies, kinetic = (np.array(column) for column in zip(*rows, strict=True))
    return Run(positions, energies, kinetic, simulation.freedom)


def mean_of(runs: Sequence[Run], series: Callable[[Run], Floats], start: int = 0) -> Average:
    """The mean of a quantity over the frames of all runs, with its standard error."""
    return pooled([average(series(run)[start:]) for run in runs])


def agree(one: Average, other: Average, errors: float = 3.5) -> bool:
    """True if two means differ by at most `errors` standard errors."""
    assert one.stderr is not None
    assert other.stderr is not None
    return abs(one.value - other.value) <= errors * float(np.hypot(one.stderr, other.stderr))


WARM = [Dynamics(CRYSTAL, timestep=3.0, steps=2000, interval=4, friction=10.0, seed=seed) for seed in SEEDS]


@cache
def warm_crystal(engine: str) -> list[Run]:
    if engine == "plain":
        return [in_plain_ase(springs, job) for job in WARM[:2]]
    return simulate(engine, springs, WARM)


def free_crystal(engine: str, timestep: float) -> Run:
    job = Dynamics(CRYSTAL, "nve", timestep=timestep, steps=int(2400 / timestep), interval=1, seed=5)
    return simulate(engine, springs, [job])[0]


@cache
def molten(seeds: int = len(SEEDS)) -> list[Structure]:
    """Liquids after 1.5 ps at 250 K, which is enough to melt the crystal."""
    job = Dynamics(ARGON, temperature=250.0, timestep=5.0, steps=300, interval=300, friction=5.0)
    runs = simulate("batched", argon, [replace(job, seed=seed) for seed in range(seeds)])
    return [ARGON.moved(run.positions[-1]) for run in runs]


@cache
def cooled(engine: str, seeds: int = len(SEEDS)) -> list[Run]:
    """3 ps at the final temperature; with this friction the temperature relaxes within 0.2 ps."""
    job = Dynamics(ARGON, temperature=KELVIN, timestep=5.0, steps=600, interval=5, friction=5.0)
    jobs = [replace(job, structure=start, seed=seed) for seed, start in enumerate(molten(seeds))]
    return simulate(engine, argon, jobs)


@cache
def liquid(engine: str, seeds: int = len(SEEDS), steps: int = 1300) -> list[Run]:
    """6.5 ps or more without a thermostat, from the last frames of `cooled`."""
    job = Dynamics(ARGON, "nve", temperature=KELVIN, timestep=5.0, steps=steps, interval=10)
    starts = [ARGON.moved(run.positions[-1]) for run in cooled("batched", seeds)]
    jobs = [replace(job, structure=start, seed=seed) for seed, start in enumerate(starts)]
    return [in_plain_ase(argon, job) for job in jobs] if engine == "plain" else simulate(engine, argon, jobs)


def diffusion(runs: Sequence[Run], spacing: float = 50.0) -> Average:
    """The diffusion coefficient (10⁻⁵ cm²/s) from the slope of the mean square displacement between 1 and 3 ps."""
    lags = np.arange(20, 61, 5)

    def of(run: Run) -> float:
        squares = [((run.positions[lag:] - run.positions[:-lag]) ** 2).sum(axis=2).mean() for lag in lags]
        return float(np.polyfit(spacing * lags, squares, 1)[0]) / 6.0 * 1e4  # 1 Å²/fs is 0.1 cm²/s

    values = np.array([of(run) for run in runs])
    return Average(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), float(len(values)))


@on_each_engine
def test_a_harmonic_crystal_has_the_temperature_and_the_energy_of_equipartition(engine: str) -> None:
    """Each of the 78 vibrations has a potential energy of kT/2, and each of the 81 momenta a kinetic energy of kT/2."""
    runs = warm_crystal(engine)
    heat, share = mean_of(runs, lambda run: run.kelvin, 100), 78 * 0.5 * BOLTZMANN * 300.0
    energy = mean_of(runs, lambda run: run.potential, 100)
    assert agree(heat, Average(300.0, 0.0, 1.0))
    assert agree(energy, Average(share, 0.0, 1.0))
    assert (heat.stderr or 1e9) < 0.015 * 300.0, "the error is small enough for this test"
    assert (energy.stderr or 1e9) < 0.015 * share


@on_each_engine
def test_a_harmonic_crystal_vibrates_at_its_frequencies(engine: str) -> None:
    """A harmonic coordinate has Q(t+τ) + Q(t−τ) = 2 cos(ωτ) Q(t), with the ω of velocity Verlet: sin(ω'h/2) = ωh/2."""
    timestep, lag = 4.0, 6
    moved = free_crystal(engine, timestep).positions - CRYSTAL.positions
    for wave in ((1, 0, 0), (1, 1, 0), (1, 1, 1)):
        along = np.cos(2.0 * np.pi / 9.0 * CRYSTAL.positions @ np.array(wave))
        coordinate = np.einsum("fix,i->fx", moved, along)
        middle, around = coordinate[lag:-lag].ravel(), (coordinate[2 * lag :] + coordinate[: -2 * lag]).ravel()
        frequency = np.arccos(0.5 * float(middle @ around) / float(middle @ middle)) / (lag * timestep)
        ideal = np.sqrt(2.0 * STIFFNESS * ACCELERATION / 63.546 * 1.5 * sum(wave))
        assert frequency == pytest.approx(2.0 / timestep * np.arcsin(0.5 * ideal * timestep), rel=1e-4)


@on_each_engine
def test_the_error_of_the_energy_is_of_second_order_in_the_time_step(engine: str) -> None:
    coarse, fine = (free_crystal(engine, timestep).total for timestep in (4.0, 2.0))
    assert fine.std() < 1e-3
    assert coarse.std() / fine.std() == pytest.approx(4.0, rel=0.1)


def test_engines_give_the_same_motion_of_a_crystal() -> None:
    """Friction damps rounding errors; after 6 ps the engines differ only by rounding."""
    for alone, together in zip(*map(warm_crystal, ENGINES), strict=True):
        assert np.abs(alone.positions - together.positions).max() < 1e-6
        assert np.abs(alone.total - together.total).max() < 1e-9


def test_a_crystal_has_the_same_temperature_and_energy_in_plain_ase() -> None:
    ours, plain = warm_crystal("ase"), warm_crystal("plain")
    assert agree(mean_of(ours, lambda run: run.kelvin, 100), mean_of(plain, lambda run: run.kelvin, 100))
    assert agree(mean_of(ours, lambda run: run.potential, 100), mean_of(plain, lambda run: run.potential, 100))


@on_each_engine
@pytest.mark.parametrize(("potential", "start"), [(springs, CRYSTAL), (argon, ARGON)], ids=["crystal", "argon"])
def test_without_a_thermostat_the_motion_is_that_of_plain_ase(
    engine: str, potential: Potential, start: Structure
) -> None:
    """Positions are recorded at each evaluation, because frames on disk are in single precision."""
    job = Dynamics(start, "nve", temperature=200.0, timestep=2.0, steps=200, interval=1, seed=3)
    evaluated: list[Floats] = []

    def recording(positions: Floats) -> tuple[Floats, Floats]:
        evaluated.append(positions[0].copy())
        return potential(positions)

    run = simulate(engine, recording, [job])[0]
    plain = in_plain_ase(potential, job)
    ours = np.array(evaluated if engine == "ase" else evaluated[:1] + evaluated[-200:])  # without the spot checks
    assert np.abs(ours - plain.positions).max() < 1e-9
    assert np.abs(run.total - plain.total).max() < 1e-9
    assert np.ptp(plain.positions, axis=0).max() > 0.1, "the atoms do move"


def test_the_femtosecond_is_that_of_ase() -> None:
    assert units.fs == pytest.approx(ACCELERATION**0.5, rel=1e-7)


def test_engines_give_the_same_motion_of_a_liquid_until_rounding_errors_grow() -> None:
    for alone, together in zip(*map(liquid, ENGINES), strict=True):
        assert np.abs(alone.positions[:20] - together.positions[:20]).max() < 1e-5, "1 ps"
    assert agree(*[mean_of(liquid(engine), lambda run: run.kelvin) for engine in ENGINES])


@on_each_engine
def test_liquid_argon_has_the_temperature_of_its_thermostat(engine: str) -> None:
    heat = mean_of(cooled(engine), lambda run: run.kelvin, 40)
    assert agree(heat, Average(KELVIN, 0.0, 1.0))
    assert (heat.stderr or 1e9) < 0.02 * KELVIN


@pytest.mark.parametrize("engine", [*ENGINES, "plain"])
def test_liquid_argon_conserves_energy_and_temperature(engine: str) -> None:
    runs = liquid(engine)
    for run in runs:
        slope = drift(0.05 * np.arange(len(run.total)), run.total / 108)
        assert abs(slope.value) < 2e-6, "eV/atom/ps; the thermal energy is 1.2e-2 eV/atom"
    heat = mean_of(runs, lambda run: run.kelvin)
    assert agree(heat, Average(KELVIN, 0.0, 1.0))
    assert (heat.stderr or 1e9) < 0.05 * KELVIN, "the runs differ in energy"


@on_each_engine
def test_the_error_of_the_energy_of_a_liquid_is_of_second_order(engine: str) -> None:
    def fluctuation(timestep: float) -> float:
        job = Dynamics(molten()[0], "nve", temperature=KELVIN, timestep=timestep, seed=1, interval=1)
        return float(simulate(engine, argon, [replace(job, steps=int(1200 / timestep))])[0].total.std())

    assert fluctuation(12.0) / fluctuation(6.0) == pytest.approx(4.0, rel=0.2)


def published() -> float:
    """The published 2.43 · 10⁻⁵ cm²/s for 864 atoms, corrected for the size of our box, 2.837 kT / 6πηL.

    The viscosity η of liquid argon at this temperature is about 0.22 mPa s.
    """
    return 2.43 - 0.5 * 2.837 * 1.380649e-23 * KELVIN / (6.0 * np.pi * 2.2e-4 * BOX * 1e-10) * 1e9


@on_each_engine
def test_liquid_argon_diffuses_as_in_plain_ase(engine: str) -> None:
    """Runs differ in energy and therefore in diffusion: four short runs have a standard error of about 12 %."""
    measured = diffusion(liquid(engine))
    assert agree(measured, diffusion(liquid("plain")))
    assert measured.value == pytest.approx(published(), rel=0.35)


@pytest.mark.slow
@on_each_engine
def test_liquid_argon_diffuses_as_published(engine: str) -> None:
    """Sixteen runs of 15 ps; the size of the box and the cutoff give an uncertainty of 10 %."""
    measured = diffusion(liquid(engine, seeds=16, steps=3000))
    assert (measured.stderr or 1e9) < 0.05 * published()
    assert agree(measured, Average(published(), 0.05 * published(), 1.0), errors=2.0)
