"""The S22x5 set in ASE: 22 complexes of small molecules at five distances, with CCSD(T) interaction energies.

The energies at the minimum were revised with larger basis sets after the curves had been published. As in ASE, each
curve is scaled by one factor so that its value at the minimum is the revised one. This changes the stacked complexes by
up to 0.6 kcal/mol, which is not small compared with an accuracy of 1 kcal/mol.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.data.dataset import EMBEDDED, Card, DataSet, Record
from assay.data.digest import content_sha256
from assay.structure import Structure

DISTANCES = (0.9, 1.0, 1.2, 1.5, 2.0)
GROUPS = ("hydrogen bonded",) * 7 + ("dispersion",) * 8 + ("mixed",) * 7
"""Classes of interaction of the complexes 1-7, 8-15 and 16-22, in the order of the publication and of ASE."""

CARD = Card(
    name="s22x5",
    kind="noncovalent_interactions",
    what="22 hydrogen-bonded, dispersion-bound and mixed complexes (C, H, N, O) at 0.9 to 2.0 times their distance; "
    "each curve is scaled to the revised energy at the minimum (Takatani 2010)",
    level="CCSD(T)/CBS, counterpoise corrected",
    licence="LGPL-2.1-or-later (part of ASE)",
    citation="Gráfová et al., J. Chem. Theory Comput. 6, 2365 (2010); Takatani et al., J. Chem. Phys. 132, 144104 "
    "(2010); Jurečka et al., Phys. Chem. Chem. Phys. 8, 1985 (2006)",
    source="ase.data.s22 (comes with ASE)",
    lane=EMBEDDED,
    units="eV, Å",
    sha256="6a716ee6c49be0c9afd5bae3dba76b56f5ec45476b2b52326510a9e45329e38d",
    size="22 records, 110 structures",
)


def read_s22x5() -> DataSet:
    """All 22 complexes."""
    from ase.data.s22 import s22

    records = tuple(_record(name, group) for name, group in zip(s22, GROUPS, strict=True))
    return DataSet(replace(CARD, sha256=content_sha256(records)), tuple(records))


def _record(name: str, group: str) -> Record:
    from ase.data import atomic_numbers
    from ase.data.s22 import data, get_interaction_energy_s22x5

    entry: dict[str, Any] = data[name]
    numbers = [atomic_numbers[symbol] for symbol in _symbols(entry["symbols"])]
    structures = tuple(
        replace(Structure.build(numbers, entry[f"positions {distance}"]), charge=0, spin=1) for distance in DISTANCES
    )
    energies = tuple(float(get_interaction_energy_s22x5(name, str(distance))) for distance in DISTANCES)
    first = int(entry["dimer atoms"][0])
    info = {
        "group": group,
        "repulsive": False,
        "atoms_a": list(range(first)),
        "atoms_b": list(range(first, len(numbers))),
        "charge_a": 0,
        "charge_b": 0,
    }
    return Record(name, structures, energies, DISTANCES, info=info)


def _symbols(text: str) -> list[str]:
    from ase.symbols import string2symbols

    return list(string2symbols(text))
