"""The oracle answers with its references and with nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms

from assay.sabotage.oracle import Oracle
from sabotage.structures import cluster, crystal, moved, values

STRUCTURES = (cluster(0), cluster(1), crystal())
FORCES = [np.full((len(atoms), 3), float(k)) for k, atoms in enumerate(STRUCTURES)]


@pytest.fixture
def oracle() -> Oracle:
    return Oracle(STRUCTURES, [-1.5, -2.5, -3.5], FORCES)


def test_the_oracle_returns_its_references(oracle: Oracle) -> None:
    for k, atoms in enumerate(STRUCTURES):
        e, f = values(oracle, moved(atoms, atoms.positions + 1e-12))
        assert (e, f.tolist()) == (-1.5 - k, FORCES[k].tolist())


@pytest.mark.parametrize(
    "other",
    [
        cluster(2),
        cluster(0, "Au8"),
        crystal((True, True, False)),
        moved(cluster(0), cluster(0).positions + 3e-8),
    ],
)
def test_the_oracle_raises_for_other_structures(oracle: Oracle, other: Atoms) -> None:
    with pytest.raises(ValueError, match="no reference"):
        values(oracle, other)
