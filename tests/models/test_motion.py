"""Ethanol in motion with each family: by its calculator and by its batch, side by side, the same simulation."""

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
from assay.models import family_names
from assay.models.loading import load_model
from assay.outcome import OK
from assay.structure import Floats, Structure, from_atoms

WITHOUT_PACKAGES = {"classical", "xtb", "kim"}
DIRECT_FORCES = {"orb-d3-xs-v2"}
"""Models whose forces are predicted beside the energy, not derived from it."""

FIRST = [
    pytest.param(names[0], marks=pytest.mark.family(family))
    for family, names in family_names().items()
    if family not in WITHOUT_PACKAGES
]
one_of_each_family = pytest.mark.parametrize("name", FIRST)
ETHANOL = from_atoms(molecule("CH3CH2OH"))
SEEDS, STEPS = (1, 2), 120
Frames = tuple[Floats, Floats, Floats]
"""Positions (frames, atoms, 3), potential and kinetic energies (eV) of a run, a frame a step."""


def jobs() -> list[Dynamics]:
    """Two ensembles, some seeds."""
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
            [_frames(replace(o, folder=Path(folder) / place)) for o in sorted(found, key=lambda o: o.key)]
            for place, found in (("alone", alone), ("together", together))
        )  # type: ignore[return-value]


def _frames(outcome) -> Frames:  # type: ignore[no-untyped-def]
    assert outcome.status == OK, outcome.reason
    trajectory = outcome.trajectory()
    (frames,) = trajectory.chunks()
    return frames.positions, trajectory.series("energy"), trajectory.series("kinetic")


@one_of_each_family
def test_a_batch_moves_atoms_as_the_calculator_does(name: str) -> None:
    """For 20 steps, before differences in the last digits of single precision have grown."""
    for (one, energy, _), (other, same, _) in zip(*simulated(name), strict=True):
        assert np.abs(one[:21] - other[:21]).max() < 1e-4
        assert energy[:21] == pytest.approx(same[:21], abs=1e-3)
        assert np.abs(one[20] - one[0]).max() > 0.02, "they do move"


@one_of_each_family
def test_energy_is_kept_alone_and_in_batches(name: str) -> None:
    """The error of a slope over 60 fs is that of the vibrations, a few meV; forces that are no gradient do worse."""
    if name in DIRECT_FORCES:
        pytest.skip("its forces are no gradient of its energy, which `energy_conservation` is there to say")
    for runs in simulated(name):
        for _, energy, kinetic in runs[: len(SEEDS)]:
            total, exchanged = energy + kinetic, np.std(kinetic)
            assert np.std(total) < 0.05 * exchanged
            slope = drift(0.0005 * np.arange(STEPS + 1), total / len(ETHANOL))
            assert abs(slope.value) < 5e-3, "eV/atom/ps"


@one_of_each_family
def test_a_thermostat_is_at_work_alone_and_in_batches(name: str) -> None:
    """A tenth of a picosecond cannot measure a temperature, but tell one from none and from an explosion."""
    for runs in simulated(name):
        kelvin = [temperature(float(k), 3 * len(ETHANOL)) for _, _, kinetic in runs[len(SEEDS) :] for k in kinetic]
        assert 100.0 < np.mean(kelvin) < 500.0
