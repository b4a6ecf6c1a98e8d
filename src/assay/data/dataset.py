"""What every data set is made of, wherever it comes from: records of a few structures with reference energies.

A record is one question: a torsion profile, a complex at several distances, the conformers of a molecule, a pair of
tautomers, a reaction, a molecule at its reference geometry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.structure import Structure

EMBEDDED, OFFICIAL, YOURS = "embedded", "official", "yours"
"""Where a data set comes from: with the program, from its publisher, or from a folder of the user's."""

KINDS: Mapping[str, str] = {
    "noncovalent_interactions": "complexes of two molecules at several distances, with interaction energies",
    "dihedral_scan": "molecules turned about a bond, with an energy at each angle",
    "conformer_selection": "conformers of molecules, with energies",
    "tautomers": "pairs of isomers that differ in where a hydrogen sits, with energies",
    "reference_geometry": "molecules at their minima",
    "reactions": "reactant, transition state and product of reactions, with energies",
    "bonds": "molecules with one bond marked whose length is known",
    "rings": "molecules with a flat ring marked",
    "stability": "molecules, proteins and solutions that should last",
}
"""Kinds of data sets, and what their records are."""

MARKS: Mapping[str, str] = {"bonds": "bond", "rings": "ring"}
"""Records of kind `reference_geometry` that have this in their `info` serve as records of these kinds, too."""


@dataclass(frozen=True)
class Card:
    """What is known about a data set. `kind` is one of `KINDS`; `units` are those of the source, before conversion."""

    name: str
    kind: str
    what: str
    level: str
    licence: str
    citation: str
    source: str
    lane: str = YOURS
    units: str = "eV, Å"
    sha256: str = ""
    """Of the file or files read; of the archive, for sets that are downloaded."""

    size: str = ""
    """How many records and structures, in words."""


@dataclass(frozen=True, eq=False)
class Record:
    """One question with its reference.

    `energies` (eV) belong to the structures one by one: total or relative energies, but interaction energies in data
    of kind `noncovalent_interactions`. `coordinates` say where on a scan each structure lies: the dihedral angle
    (degrees), or the distance as a multiple of that at the minimum. `roles` name structures that differ in meaning:
    `reactant`, `transition_state`, `product`; `displaced` for a distorted copy of a reference geometry. `info` is
    plain data about the record:
    `group` (class of interaction), `repulsive` (true if the curve has no well), `atoms_a` and `atoms_b` (indices of the
    two molecules of a complex), `charge_a`, `charge_b`, `torsion` (four indices), `smiles`; `bond` (two indices),
    `bond_type` ("C=O"), `bond_length` (Å, else that of the structure), `bond_stiffness` (eV/Å²), `ring` (indices), and
    `plane_fluctuation` (Å, root mean square at 300 K).
    """

    id: str
    structures: tuple[Structure, ...]
    energies: tuple[float, ...] | None = None
    coordinates: tuple[float, ...] | None = None
    roles: tuple[str, ...] = ()
    info: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class DataSet:
    """A card and its records, and what was left out of the file for a reason that is said."""

    card: Card
    records: tuple[Record, ...]
    remarks: tuple[str, ...] = ()
