"""What looks wrong in a data set that can be read: units, charges, copies, clashes, bonds, energies out of range.

`assay.data.rules` says what a record must have; this says what is implausible in it. Every finding is a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, permutations

import numpy as np

from assay.analysis.molecule import Indices, bonds, broken_and_made
from assay.analysis.superposition import superposed_rmsd
from assay.data.dataset import DataSet, Record
from assay.data.energy_units import ENERGY_UNITS, electronvolts
from assay.structure import Floats, Structure

CLASH = 0.6
"""Atoms are never nearer than this (Å)."""

SHORTEST = (0.6, 1.5)
"""The shortest distance of a molecule, as a multiple of the sum of covalent radii: nm and Bohr fall outside."""

SAME = 1e-3
"""Two structures closer than this (Å, RMSD) are one."""

WIDEST = {"dihedral_scan": 4.0, "tautomers": 5.0, "reactions": 10.0}
"""Largest difference of energies (eV) in a record of a kind."""

WIDEST_PER_ATOM = {"conformer_selection": 0.4, "reference_geometry": 2.0}
DEEPEST, DEEPEST_MEDIAN = 8.0, 3.0
"""Largest binding energy (eV) of a complex, and of the middle complex of a set."""

LOWEST_MEDIAN = {"dihedral_scan": 0.005, "reactions": 0.1}
"""Least that the middle record of a set must span (eV); smaller ones come from a unit that is too large."""

Findings = Iterator[str]


def lint(dataset: DataSet) -> list[str]:
    """All findings, those about single records first."""
    kind = dataset.card.kind
    checks: tuple[Callable[[str, Record], Findings], ...] = (_structures, _copies, _energies, _bonds, _angles)
    found = [
        f"record '{record.id}' of '{dataset.card.name}' {finding}"
        for record in dataset.records
        for check in checks
        for finding in check(kind, record)
    ]
    return found + [f"'{dataset.card.name}' {finding}" for finding in _whole(kind, dataset.records)]


def _radii(structure: Structure) -> Floats:
    from ase.data import covalent_radii

    return np.asarray(covalent_radii[structure.numbers], dtype=float)


def _structures(kind: str, record: Record) -> Findings:
    """Distances between atoms, and electrons against spin."""
    for place, structure in enumerate(record.structures):
        i, j = np.triu_indices(len(structure), 1)
        distances = np.linalg.norm(structure.positions[i] - structure.positions[j], axis=1)
        radii = _radii(structure)
        if len(distances) and distances.min() < CLASH:
            yield f"has two atoms {distances.min():.2f} Å apart in structure {place}"
        nearest = (distances / (radii[i] + radii[j])).min() if len(structure) > 2 else 1.0
        if not SHORTEST[0] < nearest < SHORTEST[1]:
            yield f"has its shortest bond at {nearest:.2f} times the covalent radii in structure {place}; is it in Å?"
        electrons = int(structure.numbers.sum()) - (structure.charge or 0)
        if structure.charge is not None and structure.spin is not None and (electrons + structure.spin) % 2 == 0:
            yield f"has {electrons} electrons and spin multiplicity {structure.spin} in structure {place}"


def _copies(kind: str, record: Record) -> Findings:
    """The same structure twice in one record, unless a scan has come round to where it began."""
    for one, other in combinations(range(len(record.structures)), 2):
        a, b = record.structures[one], record.structures[other]
        if not np.array_equal(a.numbers, b.numbers) or superposed_rmsd(a.positions, b.positions) > SAME:
            continue
        round_trip = kind == "dihedral_scan" and record.coordinates is not None
        if round_trip and abs(record.coordinates[one] - record.coordinates[other]) > 300:  # type: ignore[index]
            continue
        yield f"has the same structure at places {one} and {other}"


def _energies(kind: str, record: Record) -> Findings:
    """Ranges by kind, a transition state above both ends, a minimum below its distorted copy, units of totals."""
    if record.energies is None:
        return
    energies, atoms = np.array(record.energies), len(record.structures[0])
    if not np.isfinite(energies).all():
        yield "has an energy that is not finite"
        return
    span = float(np.ptp(energies))
    limit = WIDEST.get(kind, WIDEST_PER_ATOM.get(kind, np.inf) * atoms)
    if span > limit:
        yield f"spans {span:.2f} eV, more than the {limit:.1f} eV that are plausible; is the unit right?"
    if kind == "noncovalent_interactions" and energies.min() < -DEEPEST:
        yield f"binds by {-energies.min():.1f} eV; is the unit right?"
    if kind != "noncovalent_interactions":
        yield from _totals(record)
    by_role = dict(zip(record.roles, record.energies, strict=False))
    top = by_role.get("transition_state", np.inf)
    if kind == "reactions" and top <= max(by_role.get("reactant", -np.inf), by_role.get("product", -np.inf)):
        yield "has a transition state that is not above both reactant and product"
    if by_role.get("displaced", np.inf) <= by_role.get("reference", -np.inf):
        yield "has a distorted copy that is not above its reference"


def _totals(record: Record) -> Findings:
    """Total energies of all electrons off by the ratio of two units.

    Such energies are near to -Z^2.4 / 2 Hartree, summed over the atoms; energies of other zeros are not judged.
    """
    numbers = record.structures[0].numbers.astype(float)
    expected = -0.5 * (numbers**2.4).sum() * electronvolts("Hartree")
    ratio = float(np.mean(record.energies or [0.0])) / expected
    for said, meant in permutations(ENERGY_UNITS, 2):
        if 0.95 < ratio * electronvolts(meant) / electronvolts(said) < 1.05:
            yield f"has total energies that look like {meant} read as {said}"
            return


def _bonds(kind: str, record: Record) -> Findings:
    """Bonds stay where only the shape changes, and change where a reaction is claimed."""
    first = record.structures[0]
    pairs = bonds(first.positions, _radii(first))
    if kind in ("conformer_selection", "dihedral_scan", "reference_geometry"):
        for place, other in enumerate(record.structures[1:], start=1):
            if any(len(part) for part in broken_and_made(other.positions, pairs, _radii(first))):
                yield f"does not keep its bonds in structure {place}"
    if kind == "tautomers" and _environments(first) == _environments(record.structures[1]):
        yield "has the same bonds in both structures"
    if kind == "reactions" and record.info.get("use") != "tst":
        ends = [s for s, role in zip(record.structures, record.roles, strict=False) if role != "transition_state"]
        listed = [_listed(bonds(end.positions, _radii(end))) for end in ends]
        if len(listed) == 2 and listed[0] == listed[1]:
            yield "has the same bonds in reactant and product"


def _listed(pairs: Indices) -> list[list[int]]:
    return [[int(i), int(j)] for i, j in pairs]


def _environments(structure: Structure) -> list[str]:
    """Each atom described by its neighbours up to three bonds away; the order of atoms does not matter."""
    pairs = bonds(structure.positions, _radii(structure))
    names = [str(number) for number in structure.numbers]
    for _ in range(3):
        around: list[list[str]] = [[] for _ in names]
        for i, j in pairs:
            around[i].append(names[j])
            around[j].append(names[i])
        names = [f"{name}({','.join(sorted(near))})" for name, near in zip(names, around, strict=True)]
    return sorted(names)


def _angles(kind: str, record: Record) -> Findings:
    """The dihedral that is measured is the coordinate that is stated."""
    torsion = record.info.get("torsion")
    if kind != "dihedral_scan" or not isinstance(torsion, list | tuple) or record.coordinates is None:
        return
    for structure, stated in zip(record.structures, record.coordinates, strict=True):
        try:
            measured = float(structure.to_atoms().get_dihedral(*torsion))
        except ZeroDivisionError:
            yield "has three atoms of its torsion on a line"
            return
        gap = abs((measured - stated + 180.0) % 360.0 - 180.0)
        if gap > 5.0:
            yield f"has a dihedral of {measured:.0f} degrees where it states {stated:.0f}"


def _whole(kind: str, records: tuple[Record, ...]) -> Findings:
    """Names and records that occur twice, and the middle of the energies."""
    names = [record.id for record in records]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"has the record '{name}' more than once"
    for one, other in _alike(records):
        pairs = zip(one.structures, other.structures, strict=True)
        if all(superposed_rmsd(a.positions, b.positions) < SAME for a, b in pairs):
            yield f"has the same structures in the records '{one.id}' and '{other.id}'"
    spans = [float(np.ptp(record.energies)) for record in records if record.energies is not None]
    if spans and np.median(spans) < LOWEST_MEDIAN.get(kind, 0.0):
        yield f"spans only {np.median(spans):.4f} eV in the middle record; is the unit right?"
    if kind == "noncovalent_interactions" and spans:
        depth = float(np.median([-min(record.energies) for record in records if record.energies is not None]))
        if depth > DEEPEST_MEDIAN:
            yield f"has complexes bound by {depth:.1f} eV in the middle; is the unit right?"


def _alike(records: tuple[Record, ...]) -> Iterator[tuple[Record, Record]]:
    """Pairs of records that list the same atoms, the only ones worth comparing."""
    groups: dict[tuple[bytes, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(structure.numbers.tobytes() for structure in record.structures), []).append(record)
    for group in groups.values():
        yield from combinations(group, 2)
