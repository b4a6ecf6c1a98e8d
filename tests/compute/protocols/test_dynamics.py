"""Dynamics with known results: equipartition, an ideal gas under pressure, conserved energy, and runs with problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from assay.analysis.blocks import average
from assay.compute.protocols import Ending, Requests, carry_out
from assay.compute.protocols.dynamics import run_dynamics
from assay.compute.protocols.integrators import (
    Barostat,
    Langevin,
    kinetic_energy,
    standard_masses,
    temperature,
    thermal_velocities,
    without_drift,
    without_rotation,
)
from assay.compute.protocols.simulation import new_simulation
from assay.compute.protocols.watching import Watching
from assay.jobs import Dynamics, Watch
from assay.outcome import FAILED, OK, Point, no_point
from assay.store.trajectory import Recorder, Trajectory
from assay.structure import Floats, Structure
from assay.units import ACCELERATION, BAR, BOLTZMANN

Evaluate = Callable[[Sequence[Structure]], list[Point]]
CUBE = 3.0 * np.array([[i, j, k] for i in range(2) for j in range(2) for k in range(2)], dtype=float)
ATOMS = Structure.build([6, 8] * 4, CUBE)


def wells(stiffness: float = 5.0, centres: Floats = CUBE) -> Evaluate:
    """Each atom in its own harmonic well with a stiffness in eV/Å²."""

    def evaluate(structures: Sequence[Structure]) -> list[Point]:
        moved = [s.positions - centres for s in structures]
        return [Point(0.5 * stiffness * float((x * x).sum()), -stiffness * x) for x in moved]

    return evaluate


def no_forces(structures: Sequence[Structure]) -> list[Point]:
    return [Point(0.0, np.zeros((len(s), 3))) for s in structures]


def simulate(job: Dynamics, evaluate: Evaluate, folder: Path) -> tuple[Ending, Trajectory]:
    path = folder / "run.h5"
    ending = carry_out(run_dynamics(job, Recorder(path, len(job.structure))), evaluate)
    return ending, Trajectory(path)


def test_the_thermostat_gives_each_well_its_thermal_energy(tmp_path: Path) -> None:
    job = Dynamics(ATOMS, steps=60_000, interval=10, seed=1, friction=10.0)
    ending, run = simulate(job, wells(), tmp_path)
    assert ending.status == OK
    share = 1.5 * BOLTZMANN * 300.0 * len(ATOMS)
    assert run.series("energy")[500:].mean() == pytest.approx(share, rel=0.03)
    assert run.series("kinetic")[500:].mean() == pytest.approx(share, rel=0.03)


def test_friction_decides_how_fast_atoms_warm_up(tmp_path: Path) -> None:
    """Cold atoms without forces warm up as 1 − exp(−2 γ t)."""
    job = Dynamics(ATOMS, temperature=300.0, steps=250, interval=250, friction=2.0)
    warmed = []
    for seed in range(300):
        simulation = new_simulation(Dynamics(ATOMS, seed=seed))
        simulation.velocities[:] = 0.0
        step = Langevin.build(simulation.masses, 1.0, 300.0, job.friction / 1000.0)
        for _ in range(job.steps):
            step.drift(simulation.positions, simulation.velocities, np.zeros((8, 3)), simulation.random)
        warmed.append(temperature(kinetic_energy(simulation.velocities, simulation.masses), 24))
    assert np.mean(warmed) == pytest.approx(300.0 * (1.0 - np.exp(-2.0 * 2.0 * 0.25)), rel=0.04)


def test_without_a_thermostat_the_energy_is_conserved(tmp_path: Path) -> None:
    def fluctuation(timestep: float) -> float:
        job = Dynamics(ATOMS, "nve", timestep=timestep, steps=int(2000 / timestep), interval=1, seed=2)
        ending, run = simulate(job, wells(), tmp_path / str(timestep))
        assert ending.status == OK
        total = run.series("energy") + run.series("kinetic")
        return float(total.std())

    coarse, fine = fluctuation(2.0), fluctuation(1.0)
    assert fine < 1e-2
    assert coarse / fine == pytest.approx(4.0, rel=0.15), "the error of velocity Verlet is of second order"


def test_free_runs_start_without_drift_and_rotation() -> None:
    simulation = new_simulation(Dynamics(ATOMS, "nve", seed=5))
    momentum = simulation.masses @ simulation.velocities
    angular = (simulation.masses[:, None] * np.cross(simulation.positions, simulation.velocities)).sum(axis=0)
    assert np.abs(momentum).max() < 1e-12
    assert np.abs(angular).max() < 1e-12
    assert simulation.freedom == 3 * 8 - 6


def test_a_linear_molecule_has_no_rotation_about_its_axis() -> None:
    positions, masses = np.array([[0.0, 0, 0], [0, 0, 1.1]]), np.array([14.0, 14.0])
    velocities = without_drift(np.random.default_rng(0).normal(size=(2, 3)), masses)
    left = without_rotation(positions, velocities, masses)
    assert np.isfinite(left).all()
    assert np.abs(left[:, :2]).max() < 1e-12
    assert new_simulation(Dynamics(Structure.build([7, 7], positions), "nve")).freedom == 1


def test_velocities_have_the_right_temperature() -> None:
    masses = standard_masses(np.array([1, 6, 79] * 4000))
    velocities = thermal_velocities(masses, 250.0, np.random.default_rng(0))
    assert temperature(kinetic_energy(velocities, masses), 36_000) == pytest.approx(250.0, rel=0.02)


@pytest.mark.parametrize(("molecules", "attempts"), [(8, 40_000), (2, 120_000)])
def test_the_barostat_gives_the_volume_of_an_ideal_gas(molecules: int, attempts: int) -> None:
    """The mean volume of N free atoms at constant pressure is (N + 1) kT / p, and its spread <V> / sqrt(N + 1)."""
    expected = (molecules + 1.0) * BOLTZMANN * 300.0 / (20.0 * BAR)
    barostat, random = Barostat(300.0, 20.0 * BAR, np.arange(molecules), 0.1 * expected), np.random.default_rng(3)
    positions, cell, volumes = 4.0 * CUBE[:molecules], expected ** (1.0 / 3.0) * np.eye(3), []
    for _ in range(attempts):
        trial = barostat.scaled(positions, cell, random)
        old = float(np.linalg.det(cell))
        if trial is not None and barostat.accepts((0.0, 0.0), (old, float(np.linalg.det(trial[1]))), random):
            positions, cell = trial
        volumes.append(np.linalg.det(cell))
    assert np.mean(volumes) == pytest.approx(expected, rel=0.02)
    assert np.std(volumes) == pytest.approx(expected / np.sqrt(molecules + 1.0), rel=0.05)


def test_molecules_keep_their_shape_when_the_volume_changes(tmp_path: Path) -> None:
    pair = np.array([[0.0, 0, 0], [1.1, 0, 0]])
    centres = [np.array([x, y, 5.0]) for x in (2.0, 9.7) for y in (2.0, 6.0)]  # two bonds cross the cell boundary
    box = Structure.build([7, 7] * 4, np.concatenate([(pair + c) % 10.0 for c in centres]), 10.0 * np.eye(3), "TTT")
    job = Dynamics(box, "npt", temperature=1e-3, steps=200, interval=10, volume_interval=1, pressure=1e4)
    _, run = simulate(job, no_forces, tmp_path)
    assert run.series("volume")[-1] < 0.95 * run.series("volume")[0]
    last = list(run.chunks())[-1].positions[-1]
    assert np.linalg.norm(last[0::2] - last[1::2], axis=1) == pytest.approx(1.1, abs=5e-3)


class SavesOften(Recorder):
    """Saves every ten frames."""

    def add(self, positions: Floats, row: Sequence[float]) -> bool:
        return super().add(positions, row) or self.unsaved % 10 == 0


@pytest.mark.parametrize("ensemble", ["nve", "nvt", "npt"])
def test_an_interrupted_run_continues_to_the_same_trajectory(tmp_path: Path, ensemble: str) -> None:
    start = Structure.build([6, 8] * 4, CUBE, 7.0 * np.eye(3), "TTT") if ensemble == "npt" else ATOMS
    job = Dynamics(start, ensemble, steps=300, interval=3, seed=4, watch=(Watch("distance", (0, 1)),), until_error=1e-9)
    simulate(job, wells(), tmp_path)
    whole = Trajectory(tmp_path / "run.h5")

    path = tmp_path / "again.h5"
    for calls_before_stop in (77, 140, 10_000):
        calls = 0

        def evaluate(structures: Sequence[Structure], most: int = calls_before_stop) -> list[Point]:
            nonlocal calls
            calls += 1
            if calls > most:
                raise KeyboardInterrupt
            return wells()(structures)

        try:
            ending = carry_out(run_dynamics(job, SavesOften(path, len(start))), evaluate)
        except KeyboardInterrupt:
            continue
    assert ending.values["frames"] == 101
    again = Trajectory(path)
    for name in ("step", "energy", "kinetic", "volume"):
        assert again.series(name).tolist() == whole.series(name).tolist()
    assert np.array_equal(next(again.chunks()).positions, next(whole.chunks()).positions)


def test_a_run_ends_when_it_is_precise_enough(tmp_path: Path) -> None:
    job = Dynamics(ATOMS, steps=20_000, interval=5, seed=1, watch=(Watch("distance", (0, 1)),), until_error=0.02)
    ending, run = simulate(job, wells(), tmp_path)
    assert ending.status == OK
    assert ending.values["sure_enough"] is True
    assert 800 <= len(run) < 4001


def test_a_checkpoint_does_not_grow_with_the_watched_quantities(tmp_path: Path) -> None:
    """They are read again from the frames on disk, in the precision in which the frames are kept."""
    job = Dynamics(ATOMS, steps=200, interval=1, watch=(Watch("distance", (0, 1)),), until_error=1e-9)
    path = tmp_path / "part.h5"
    recorder, whole = SavesOften(path, len(ATOMS)), Watching(job)
    moved = CUBE + 0.1 * np.random.default_rng(0).standard_normal((57, *CUBE.shape))
    for step, positions in enumerate(moved):
        if recorder.add(positions, (step, 0.0, 0.0, 0.0)):
            recorder.save({"step": step})
        whole.add(positions)
    recorder.save({"step": 56})
    again, later = Watching(job), Recorder(path, len(ATOMS))
    later.resume()
    again.restore(later.written())
    assert again.series == whole.series
    assert len(again.series[0]) == 57


def test_the_temperature_of_an_oscillator_is_too_low_by_a_known_factor(tmp_path: Path) -> None:
    """1 − (ω Δt)² / 4 after complete steps; with the energy of half a kick it is the target, as it is for positions."""
    stiffness, carbon = 220.0, Structure.build([6] * 8, CUBE)
    factor = 1.0 - stiffness * ACCELERATION / standard_masses(carbon.numbers)[0] * 2.0**2 / 4.0
    job = Dynamics(carbon, steps=60_000, timestep=2.0, interval=5, seed=1, friction=20.0)
    ending, run = simulate(job, wells(stiffness), tmp_path)
    measured = average(2.0 * run.series("kinetic")[2400:] / (BOLTZMANN * 24))
    error = 4.0 * (measured.stderr or 0.0)
    assert factor < 0.85
    assert error < 0.03 * 300.0
    assert measured.value == pytest.approx(300.0 * factor, abs=error)
    assert measured.value + ending.values["kick_temperature"] == pytest.approx(300.0, abs=error)
    assert 2.0 * run.series("energy")[2400:].mean() / (BOLTZMANN * 24) == pytest.approx(300.0, abs=error)


def test_a_run_that_was_killed_when_it_was_precise_enough_ends_there(tmp_path: Path) -> None:
    job = Dynamics(ATOMS, steps=1000, interval=1, seed=1, watch=(Watch("distance", (0, 1)),), until_error=10.0)
    whole, run = simulate(job, wells(), tmp_path)
    assert whole.values["sure_enough"] is True

    class Killed(SavesOften):
        def finish(self, state: Mapping[str, object]) -> str:
            raise KeyboardInterrupt

    path = tmp_path / "again.h5"
    with pytest.raises(KeyboardInterrupt):
        carry_out(run_dynamics(job, Killed(path, len(ATOMS))), wells())
    ending = carry_out(run_dynamics(job, SavesOften(path, len(ATOMS))), wells())
    assert ending.values["frames"] == whole.values["frames"]
    assert Trajectory(path).series("energy").tolist() == run.series("energy").tolist()


def pulled_apart(structures: Sequence[Structure]) -> list[Point]:
    """A constant force on the last atom."""
    return [Point(0.0, np.eye(len(s))[:, [-1]] * np.array([0.3, 0.0, 0.0])) for s in structures]


def pushed_together(structures: Sequence[Structure]) -> list[Point]:
    return wells(0.02, np.tile(CUBE[:1], (8, 1)))(structures)


@pytest.mark.parametrize(
    ("evaluate", "words"), [(pulled_apart, "atom 7 left"), (pushed_together, "collapsed"), (wells(-200.0), "exploded")]
)
def test_a_run_with_a_problem_stops_with_frame_and_reason(tmp_path: Path, evaluate: Evaluate, words: str) -> None:
    ending, run = simulate(Dynamics(ATOMS, steps=5000, interval=5, seed=1), evaluate, tmp_path)
    assert ending.status == FAILED
    assert words in ending.reason
    assert ending.values["stopped_at_frame"] == len(run) - 1 < 1000


def test_a_model_that_fails_ends_the_run(tmp_path: Path) -> None:
    calls = 0

    def fails_later(structures: Sequence[Structure]) -> list[Point]:
        nonlocal calls
        calls += 1
        return (
            [Point(np.nan, np.zeros((8, 3)), reason="returned the energy nan")] if calls > 58 else wells()(structures)
        )

    ending, run = simulate(Dynamics(ATOMS, steps=5000, interval=5), fails_later, tmp_path)
    assert ending.reason == "at step 58: returned the energy nan"
    assert len(run) == 12


def stopped_after(count: int, run: Requests[Ending], asked: Sequence[Structure]) -> Ending:
    """How a run ends that goes on with other forces, until the model refuses."""
    try:
        for step in range(1000):
            asked = run.send(wells(4.0)(asked) if step < count else [no_point(len(ATOMS), "no more")])
    except StopIteration as end:
        return Ending(*end.value)
    raise AssertionError("the run does not end")


def test_of_two_processes_at_one_simulation_the_first_to_finish_counts_with_its_numbers(tmp_path: Path) -> None:
    """The second one, of which the model refused a step, reports what is in the file."""
    job, path = Dynamics(ATOMS, steps=60, interval=3, seed=1), tmp_path / "run.h5"
    second = run_dynamics(job, Recorder(path, len(ATOMS)))
    asked = next(second)  # it has found nothing to go on from
    first, run = simulate(job, wells(), tmp_path)
    before = path.read_bytes()
    assert first.status == OK
    assert stopped_after(40, second, asked) == first
    assert path.read_bytes() == before
    assert len(run) == first.values["frames"] == 21
