"""Ethanol in motion with each family: its calculator and its batch give the same simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from ase.build import molecule

from assay.analysis.blocks import drift
from assay.compute.engines.batch_size import BatchSize
from assay.compute.engines.batched import BatchedEngine
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.protocols.integrators import temperature
from assay.jobs import Dynamics
from assay.models.loading import load_model
from assay.outcome import OK
from assay.store.trajectory import Trajectory, trajectory_path
from assay.structure import Floats, Structure, from_atoms
from families import one_of_each_family

ETHANOL = from_atoms(molecule("CH3CH2OH"))
SEEDS, STEPS = (1, 2), 120
Frames = tuple[Floats, Floats, Floats]
"""Positions (frames, atoms, 3), potential and kinetic energies (eV) of a run, one frame for each step."""


def jobs() -> list[Dynamics]:
    """Runs in two ensembles, each with two seeds."""
    start = Structure.build(ETHANOL.numbers, ETHANOL.positions)
    job = Dynamics(replace(start, charge=0, spin=1), timestep=0.5, steps=STEPS, interval=1)
    return [replace(job, ensemble=ensemble, seed=seed) for ensemble in ("nve", "nvt") for seed in SEEDS]


@cache
def simulated(name: str) -> tuple[Sequence[Frames], Sequence[Frames]]:
    """Each run alone by the calculator, and all in batches, whether or not these are quicker on this machine."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(BatchSize, "rung", lambda size, waiting=0: min(2, size.ceiling))
        model = load_model(name)
        if model.build_batch is None:
            pytest.skip(f"{name} has no batches")
        bundle = [(f"run{number}", job) for number, job in enumerate(jobs())]
        alone = [CalculatorEngine(model, Path(folder) / "alone").run(key, job) for key, job in bundle]
        together = list(BatchedEngine(CalculatorEngine(model, Path(folder) / "together")).run(bundle))
        for outcome in together:
            assert outcome.provenance["batch"]["alone"] == 0, outcome.provenance["batch"]
        return tuple(
            [
                _frames(replace(o, frames=Trajectory(trajectory_path(Path(folder) / place, o.key))))
                for o in sorted(found, key=lambda o: o.key)
            ]
            for place, found in (("alone", alone), ("together", together))
        )  # type: ignore[return-value]


def _frames(outcome) -> Frames:  # type: ignore[no-untyped-def]
    assert outcome.status == OK, outcome.reason
    trajectory = outcome.trajectory()
    (frames,) = trajectory.chunks()
    return frames.positions, trajectory.series("energy"), trajectory.series("kinetic")


@one_of_each_family()
def test_a_batch_moves_atoms_as_the_calculator_does(name: str) -> None:
    """For 20 steps, before differences in the last digits of single precision have grown."""
    for (one, energy, _), (other, same, _) in zip(*simulated(name), strict=True):
        assert np.abs(one[:21] - other[:21]).max() < 1e-4
        assert energy[:21] == pytest.approx(same[:21], abs=1e-3)
        assert np.abs(one[20] - one[0]).max() > 0.02, "atoms do not move"


@one_of_each_family(lambda family, _: family.conservative)
def test_energy_is_conserved_alone_and_in_batches(name: str) -> None:
    """The error of a slope over 60 fs is that of the vibrations, a few meV; forces that are not a gradient do worse."""
    for runs in simulated(name):
        for _, energy, kinetic in runs[: len(SEEDS)]:
            total, exchanged = energy + kinetic, np.std(kinetic)
            assert np.std(total) < 0.05 * exchanged
            slope = drift(0.0005 * np.arange(STEPS + 1), total / len(ETHANOL))
            assert abs(slope.value) < 5e-3, "eV/atom/ps"


@one_of_each_family()
def test_a_thermostat_works_alone_and_in_batches(name: str) -> None:
    """0.06 ps is too short to measure a temperature, but shows a thermostat without effect, or an explosion."""
    for runs in simulated(name):
        kelvin = [temperature(float(k), 3 * len(ETHANOL)) for _, _, kinetic in runs[len(SEEDS) :] for k in kinetic]
        assert 100.0 < np.mean(kelvin) < 500.0
