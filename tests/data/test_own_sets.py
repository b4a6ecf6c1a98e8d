"""What the sets that the project computed contain: reactions of several types, conformers and tautomers at minima."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from assay.analysis.molecule import bonds
from assay.analysis.superposition import superposed_rmsd
from assay.benchmark import Scope, planned_cases, with_null
from assay.compute.protocols.null import null_outcome
from assay.data.checks import covalent_radii
from assay.data.dataset import Record
from assay.data.embedded import embedded
from assay.data.source import DataSource
from assay.structure import Structure
from molecule_cases import benchmark, survey

EVERYTHING = survey(tuple(range(1, 95)), charge=True)
COMPLEX = "two molecules in one complex"


def records(name: str) -> tuple[Record, ...]:
    return embedded()[name].read().records


def pairs_of(structure: Structure) -> frozenset[tuple[int, int]]:
    """Pairs of atoms closer than 1.3 times the sum of their covalent radii."""
    near = bonds(structure.positions, covalent_radii(structure), 1.3)
    return frozenset((int(i), int(j)) for i, j in near)


def molecules_in(structure: Structure) -> int:
    """The number of molecules."""
    groups = [{index} for index in range(len(structure))]
    for i, j in pairs_of(structure):
        one, other = (next(group for group in groups if index in group) for index in (i, j))
        if one is not other:
            groups.remove(other)
            one |= other
    return len(groups)


def ends_of(record: Record) -> tuple[Structure, Structure]:
    by_role = dict(zip(record.roles, record.structures, strict=True))
    return by_role["reactant"], by_role["product"]


def is_hydrogen_shift(record: Record) -> bool:
    """True if one molecule becomes another one, and one hydrogen changes its place."""
    before, after = ends_of(record)
    changed = pairs_of(before) ^ pairs_of(after)
    light = all(1 in (before.numbers[i], before.numbers[j]) for i, j in changed)
    return light and len(changed) == 2 and molecules_in(before) == molecules_in(after) == 1


def test_at_least_eight_reactions_are_no_hydrogen_shifts() -> None:
    others = [record.id for record in records("assay-reactions") if not is_hydrogen_shift(record)]
    assert len(others) >= 8, others
    assert len(records("assay-reactions")) - len(others) >= 10


def test_at_least_two_reactions_begin_with_two_molecules() -> None:
    two = [record.id for record in records("assay-reactions") if molecules_in(ends_of(record)[0]) == 2]
    assert len(two) >= 2, two


@pytest.mark.parametrize("record", records("assay-reactions"), ids=lambda record: record.id)
def test_an_end_with_two_molecules_is_described_as_their_complex(record: Record) -> None:
    drawn = str(record.info["smiles"]).split(">>")
    for role, structure, smiles in zip(("reactant", "product"), ends_of(record), drawn, strict=True):
        assert molecules_in(structure) == 1 + smiles.count(".")
        assert str(record.info.get(role, "")).startswith(COMPLEX) == ("." in smiles)


def test_conformers_are_different_minima_of_molecules_with_twelve_atoms_or_more() -> None:
    found = records("assay-conformer-minima")
    assert len(found) >= 6
    for record in found:
        assert 12 <= len(record.structures[0]) <= 20
        assert len({pairs_of(structure) for structure in record.structures}) == 1
        assert min(distances(record)) > 0.2, record.id
    assert sum(len(record.structures) >= 3 for record in found) >= 5


def distances(record: Record) -> Iterator[float]:
    """RMSD (Å) of each pair of conformers, as they are and mirrored."""
    for one, other in combinations(record.structures, 2):
        yield superposed_rmsd(one.positions, other.positions)
        yield superposed_rmsd(one.positions * [1, 1, -1], other.positions)


def test_at_least_ten_pairs_of_tautomers_have_reference_geometries() -> None:
    levels = [str(record.info["geometry"]) for record in records("assay-tautomers")]
    assert sum(level.startswith("ωB97M-D3(BJ)/def2-") for level in levels) >= 10
    assert all(level == "GFN2-xTB" for level in levels if not level.startswith("ωB97M"))


SETS = {
    "assay-conformers": "conformer_selection",
    "assay-conformer-minima": "conformer_selection",
    "assay-tautomers": "tautomers",
    "assay-reactions": "reactivity_tst",
    "assay-torsions": "dihedral_scan",
}


@pytest.mark.parametrize("name", SETS)
def test_a_model_without_energies_is_clearly_wrong(name: str) -> None:
    """The score that the thresholds give to zero for all energies, averaged over a set."""
    asked = benchmark(SETS[name])
    cases = planned_cases(asked, Scope(EVERYTHING, DataSource((embedded()[name].read(),))))
    nulls = [
        with_null(asked, c, {role: null_outcome(job) for role, job in c.jobs.items()}).context["null"] for c in cases
    ]
    scores = [null["score"] for null in nulls]
    assert len(scores) == len(records(name))
    assert np.mean(scores) < 0.1
