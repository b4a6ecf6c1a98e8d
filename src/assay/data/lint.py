"""Plausibility of a data set: units, charges, copies, distances, bonds and energies.

`assay.data.rules` says what a record must have; the functions here find what looks wrong in records that can be read.
What depends on the kind of data is declared in `assay.data.kinds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np

from assay.analysis.superposition import superposed_rmsd
from assay.data.checks import Finding, Findings, covalent_radii
from assay.data.dataset import DataSet, Record
from assay.data.energy_units import ENERGY_UNITS, electronvolts
from assay.data.kinds import Energies, Kind, find_kind
from assay.data.rules import DISPLACED, REFERENCE
from assay.structure import Structure

CLASH = 0.6
"""Atoms are never nearer than this (Å)."""

SHORTEST = (0.6, 1.5)
"""Range of the shortest distance of a molecule, divided by the sum of the covalent radii: nm and Bohr are outside."""

SAME = 1e-3
"""Two structures with an RMSD below this (Å) are the same."""

SAME_ENERGY = 0.01
"""Two energies (eV) of the same structure that differ by more than this contradict each other."""

FULL_TURN = 300.0
"""Two equal structures of a scan are its two ends if their angles (degrees) differ by more than this."""


def lint(dataset: DataSet) -> list[Finding]:
    """All findings as sentences, those about single records first."""
    kind, name = find_kind(dataset.card.kind), dataset.card.name
    found = [
        replace(finding, text=f"record '{record.id}' of '{name}' {finding}", record=record.id)
        for record in dataset.records
        for finding in _of_record(kind, record)
    ]
    return found + [replace(finding, text=f"'{name}' {finding}") for finding in _of_set(kind, dataset.records)]


def defects(dataset: DataSet) -> list[Finding]:
    """The findings about records that cannot judge any model, as sentences; all records are checked."""
    kind, name = find_kind(dataset.card.kind), dataset.card.name
    return [
        replace(finding, text=f"record '{record.id}' of '{name}' {finding}", record=record.id)
        for record in dataset.records
        for finding in (*_copies(kind, record), *(found for check in kind.defects for found in check(record)))
        if finding.defect
    ]


def _of_record(kind: Kind, record: Record) -> Findings:
    yield from _structures(record)
    yield from _copies(kind, record)
    if record.energies is not None and not np.isfinite(record.energies).all():
        yield Finding("has NaN or infinite energies")
        return
    yield from _energies(kind, record)
    for check in (*kind.checks, *kind.defects):
        yield from check(record)


def _structures(record: Record) -> Findings:
    """Distances between atoms, and the number of electrons compared with the spin."""
    for place, structure in enumerate(record.structures):
        i, j = np.triu_indices(len(structure), 1)
        distances = np.linalg.norm(structure.positions[i] - structure.positions[j], axis=1)
        radii = covalent_radii(structure)
        if len(distances) and distances.min() < CLASH:
            yield Finding(f"has two atoms at a distance of {distances.min():.2f} Å in structure {place}")
        nearest = (distances / (radii[i] + radii[j])).min() if len(structure) > 2 else 1.0
        if not SHORTEST[0] < nearest < SHORTEST[1]:
            text = f"has a shortest bond of {nearest:.2f} times the sum of the covalent radii in structure {place}"
            yield Finding(f"{text}; is the unit Å?", unit=True)
        electrons = int(structure.numbers.sum()) - (structure.charge or 0)
        if structure.charge is not None and structure.spin is not None and (electrons + structure.spin) % 2 == 0:
            yield Finding(f"has {electrons} electrons and spin multiplicity {structure.spin} in structure {place}")


def _copies(kind: Kind, record: Record) -> Findings:
    """The same structure twice in one record, unless these are the two ends of a full rotation.

    If all structures are the same, every model gives the same energy for them; if equal structures have different
    energies, no model can agree with both.
    """
    angles = record.coordinates if kind.cyclic else None
    pairs = [
        (one, other)
        for one, other in _of_equal_size(record)
        if _same(record.structures[one], record.structures[other])
        and (angles is None or abs(angles[one] - angles[other]) <= FULL_TURN)
    ]
    everything = len(pairs) == len(record.structures) * (len(record.structures) - 1) // 2
    for one, other in pairs:
        text = f"has two equal structures, {one} and {other}"
        if record.energies is not None and abs(record.energies[one] - record.energies[other]) > SAME_ENERGY:
            yield Finding(f"{text}, with different energies", defect=True)
        else:
            yield Finding(text, defect=everything)


def _of_equal_size(record: Record) -> list[tuple[int, int]]:
    """Pairs of structures that may be equal: the difference of radii of gyration is never above the RMSD."""
    radii = [np.sqrt(((s.positions - s.positions.mean(axis=0)) ** 2).sum() / len(s)) for s in record.structures]
    return [(one, other) for one, other in combinations(range(len(radii)), 2) if abs(radii[one] - radii[other]) <= SAME]


def _same(one: Structure, other: Structure) -> bool:
    return np.array_equal(one.numbers, other.numbers) and superposed_rmsd(one.positions, other.positions) <= SAME


def _energies(kind: Kind, record: Record) -> Findings:
    """Differences of energies and binding energies within their limits, and total energies of a plausible size."""
    if record.energies is None:
        return
    energies, limits = np.array(record.energies), kind.limits
    spread, largest = float(np.ptp(energies)), min(limits.range, limits.range_per_atom * len(record.structures[0]))
    if spread > largest:
        text = f"has energies that differ by {spread:.2f} eV, while up to {largest:.1f} eV is plausible"
        yield Finding(f"{text}; is the unit right?", unit=True)
    if energies.min() < -limits.binding:
        yield Finding(f"has a binding energy of {-energies.min():.1f} eV; is the unit right?", unit=True)
    if kind.energies is not Energies.INTERACTION:
        yield from _totals(record)
    by_role = dict(zip(record.roles, record.energies, strict=False))
    if by_role.get(DISPLACED, np.inf) <= by_role.get(REFERENCE, -np.inf):
        yield Finding("has a displaced copy whose energy is not above that of the reference")


def _totals(record: Record) -> Findings:
    """Total energies of all electrons that are wrong by the ratio of two units.

    Such energies are close to -Z^2.4 / 2 Hartree, summed over the atoms. Energies with another zero are not judged.
    """
    numbers = record.structures[0].numbers.astype(float)
    expected = -0.5 * (numbers**2.4).sum() * electronvolts("Hartree")
    ratio = float(np.mean(record.energies or [0.0])) / expected
    for stated, real in permutations(ENERGY_UNITS, 2):
        if 0.95 < ratio * electronvolts(real) / electronvolts(stated) < 1.05:
            yield Finding(f"has total energies that seem to be in {real}, not in {stated}", unit=True)
            return


def _of_set(kind: Kind, records: tuple[Record, ...]) -> Findings:
    """Names and structures that occur twice, and the energies of the median record."""
    names = [record.id for record in records]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Finding(f"has the record '{name}' more than once")
    for one, other in _alike(records):
        pairs = zip(one.structures, other.structures, strict=True)
        if all(superposed_rmsd(a.positions, b.positions) < SAME for a, b in pairs):
            yield Finding(f"has the same structures in the records '{one.id}' and '{other.id}'")
    energies = [record.energies for record in records if record.energies is not None]
    if not energies:
        return
    spread, binding = np.median([np.ptp(e) for e in energies]), np.median([-min(e) for e in energies])
    if spread < kind.limits.median_range:
        text = f"has energies that differ by only {spread:.4f} eV in the median record"
        yield Finding(f"{text}; is the unit right?", unit=True)
    if binding > kind.limits.median_binding:
        yield Finding(f"has a median binding energy of {binding:.1f} eV; is the unit right?", unit=True)


def _alike(records: tuple[Record, ...]) -> Iterator[tuple[Record, Record]]:
    """Pairs of records that list the same atoms; only these can have the same structures."""
    groups: dict[tuple[bytes, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(structure.numbers.tobytes() for structure in record.structures), []).append(record)
    for group in groups.values():
        yield from combinations(group, 2)
