"""The molecules of the G2 set in ASE at their energy minima: closed-shell, neutral, with two or more heavy atoms."""

from __future__ import annotations

from dataclasses import replace

from assay.data.dataset import EMBEDDED, Card, DataSet, Record
from assay.data.digest import content_sha256
from assay.data.rules import REFERENCE
from assay.structure import from_atoms

CARD = Card(
    name="g2-geometries",
    kind="reference_geometry",
    what="closed-shell neutral molecules of the G2 set with at least two heavy atoms",
    level="MP2(full)/6-31G(d) minima",
    licence="LGPL-2.1-or-later (part of ASE)",
    citation="Curtiss et al., J. Chem. Phys. 106, 1063 (1997)",
    source="ase.collections.g2 (comes with ASE)",
    lane=EMBEDDED,
    units="Å",
    sha256="1f7b5ef31424060189ce623926c396f3ab7405fb6a21d6d248e6617c75f77043",
    size="106 records, 106 structures",
)


def read_g2() -> DataSet:
    """The molecules in the order of ASE."""
    from ase.collections import g2

    molecules = [(name, g2[name]) for name in g2.names]
    chosen = [(name, atoms) for name, atoms in molecules if _closed(atoms.get_initial_magnetic_moments())]
    records = [
        Record(name, (replace(from_atoms(atoms), charge=0, spin=1),), roles=(REFERENCE,))
        for name, atoms in chosen
        if sum(atoms.numbers > 1) >= 2
    ]
    return DataSet(replace(CARD, sha256=content_sha256(records)), tuple(records))


def _closed(moments: object) -> bool:
    import numpy as np

    return not np.any(np.asarray(moments))
