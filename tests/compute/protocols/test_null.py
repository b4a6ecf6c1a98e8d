"""The null model gives the same outcomes as a calculator with zero energy and zero forces."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from assay.compute.protocols.null import null_outcome
from assay.jobs import Band, Relaxation, SinglePoints
from assay.outcome import OK
from toys import HCN, HNC, Toy, engine_of

JOBS = (SinglePoints((HCN, HNC)), Relaxation(HNC), Band(HCN, HNC))


def test_the_null_outcome_is_that_of_a_calculator_with_zeros() -> None:
    for job in JOBS:
        null, zeros = null_outcome(job), engine_of(Toy).run("key", job)
        assert null.status == zeros.status == OK
        assert null.values.keys() == zeros.values.keys()
        for name, value in zeros.values.items():
            assert np.array_equal(null.values[name], value), name


def test_energies_are_zero_and_nothing_moves() -> None:
    points, relaxed, band = (null_outcome(job) for job in JOBS)
    assert all(p.energy == 0.0 and not p.forces.any() for p in points.points())
    assert (relaxed.values["steps"], relaxed.values["converged"], relaxed.values["energy"]) == (0, True, 0.0)
    assert np.array_equal(relaxed.values["positions"], HNC.positions)
    assert (band.values["barrier"], band.values["reaction_energy"]) == (0.0, 0.0)


def test_no_calculator_is_imported() -> None:
    code = (
        "import sys; from assay.jobs import Band; from assay.compute.protocols.null import null_outcome\n"
        "from assay.structure import Structure\n"
        "one = Structure.build([1, 1], [[0, 0, 0], [0, 0, 1]]); other = one.moved(1.5 * one.positions)\n"
        "null_outcome(Band(one, other)); print(sorted({'ase', 'torch', 'jax', 'scipy'} & set(sys.modules)))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
