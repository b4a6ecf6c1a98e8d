"""What the two benchmarks of reactions share: three structures in one order, so that both ask for the same job."""

from __future__ import annotations

from assay.benchmarks.bases.records import in_kcal
from assay.data.dataset import Record
from assay.data.rules import REACTION
from assay.structure import Floats, Structure


def ordered(record: Record) -> tuple[Structure, Structure, Structure]:
    """Reactant, transition state and product."""
    first, top, last = (record.structures[record.roles.index(role)] for role in REACTION)
    return first, top, last


def reference_energies(record: Record) -> Floats:
    """Energies of the three in kcal/mol, relative to the reactant."""
    energies = in_kcal(record)[[record.roles.index(role) for role in REACTION]]
    return energies - energies[0]
