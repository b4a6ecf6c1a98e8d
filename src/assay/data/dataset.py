"""Reference data in memory: a data set has a card, which describes it, and records, which hold the references.

A record has all that one case of a benchmark is compared with: a torsion profile, a complex at several distances, the
conformers of a molecule, a pair of tautomers, a reaction, or a molecule at its reference geometry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.structure import Structure

EMBEDDED, OFFICIAL, YOURS = "embedded", "official", "yours"
"""Where a data set comes from: Assay itself (or ASE), its publisher, or a folder of the user."""


@dataclass(frozen=True)
class Card:
    """The description of a data set: origin, level of theory, licence, units and checksum.

    `kind` is the name of a kind of data (`assay.data.kinds`); `lane` is one of `embedded`, `official` and `yours`;
    `units` are those of the source, before conversion to eV and Å.
    """

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
    """Checksum of the files that were read, or of the downloaded archive."""

    size: str = ""
    """Numbers of records and structures, as text."""


@dataclass(frozen=True, eq=False)
class Record:
    """Structures that belong together, with their reference values.

    Attributes:
        id: name of the record, unique in its data set.
        structures: one or more structures.
        energies: reference energies (eV), one for each structure: total or relative energies, or interaction energies
            in data of kind `noncovalent_interactions`.
        coordinates: position of each structure on a scan: the dihedral angle (degrees), or the distance divided by the
            distance at the minimum.
        roles: what each structure is, where that matters: `reactant`, `transition_state`, `product`; `reference`, and
            `displaced` for a distorted copy of a reference geometry.
        info: plain data about the record: `group` (class of interaction), `repulsive` (true if the curve has no
            minimum), `atoms_a` and `atoms_b` (indices of the two molecules of a complex), `charge_a`, `charge_b`,
            `torsion` (four indices), `smiles`, `bond` (two indices), `bond_type` ("C=O"), `bond_length` (Å; by default
            the length in the structure), `bond_stiffness` (eV/Å²), `ring` (indices), `plane_fluctuation` (Å, root mean
            square at 300 K), and whatever else the author of the data adds.
    """

    id: str
    structures: tuple[Structure, ...]
    energies: tuple[float, ...] | None = None
    coordinates: tuple[float, ...] | None = None
    roles: tuple[str, ...] = ()
    info: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class DataSet:
    """A card with its records. `remarks` are sentences about records that were left out or look wrong."""

    card: Card
    records: tuple[Record, ...]
    remarks: tuple[str, ...] = ()
