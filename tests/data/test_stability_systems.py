"""The systems of `general.stability` are what their names say, whole, and neutral; the protein is folded."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from numpy.typing import NDArray

from assay.analysis.motion import bonded_pairs, molecules_of
from assay.configurations import radius, symbol
from assay.data.dataset import Record
from assay.data.embedded import embedded
from assay.structure import Structure

SYSTEMS = {record.id: record for record in embedded()["assay-stability"].read().records}
FREE = ["small_molecule_HCNO", "small_molecule_sulfur", "small_molecule_halogen"]
FREE += ["peptide_HCNO", "peptide_disulfide", "protein"]
SOLVATED = ["solvated_peptide", "solvated_peptide_ion"]
HELICES = ((44, 48), (55, 58), (63, 72))
"""First and last residues of the helices that the PDB entry names; the chain begins with 41."""

Pairs = NDArray[np.int64]


def start(record: Record) -> Structure:
    return record.structures[0]


def pairs_of(structure: Structure) -> Pairs:
    return bonded_pairs(structure, np.array([radius(int(z)) for z in structure.numbers]))[0]


def formula(structure: Structure, chosen: object = slice(None)) -> str:
    return str(Atoms(structure.numbers[chosen]).get_chemical_formula())


def test_the_eight_are_there() -> None:
    assert list(SYSTEMS) == FREE + SOLVATED
    assert all(start(record).charge == 0 for record in SYSTEMS.values()), "models that take no charge can be asked"


@pytest.mark.parametrize(
    ("name", "composition"),
    [
        ("small_molecule_HCNO", "C13H21N3O"),
        ("small_molecule_sulfur", "C4H6N2S"),
        ("small_molecule_halogen", "C18H13ClFN3"),
        ("peptide_HCNO", "C12H22N4O4"),
        ("peptide_disulfide", "C43H66N12O12S2"),
        ("protein", "C195H304N50O52S2"),
    ],
)
def test_free_systems_are_one_molecule_of_the_right_atoms(name: str, composition: str) -> None:
    structure = start(SYSTEMS[name])
    assert formula(structure) == composition
    assert molecules_of(pairs_of(structure), len(structure)).max() == 0


@pytest.mark.parametrize(
    ("name", "peptide", "ion"), zip(SOLVATED, ["C8H15N3O4", "C12H25N4O4"], ["", "Cl"], strict=True)
)
def test_solutions_are_a_peptide_in_water_of_its_density(name: str, peptide: str, ion: str) -> None:
    structure = start(SYSTEMS[name])
    part = molecules_of(pairs_of(structure), len(structure))
    found = [formula(structure, part == molecule) for molecule in range(part.max() + 1)]
    assert sorted({*found}) == sorted({peptide, "H2O", *filter(None, [ion])})
    assert found.count(peptide) == 1
    assert found.count(ion) == (1 if ion else 0)
    density = Atoms(structure.numbers).get_masses().sum() * 1.66054 / structure.volume
    assert density == pytest.approx(1.0, abs=0.08), "g/cm³"


@pytest.mark.parametrize("name", SYSTEMS)
def test_bonds_to_hydrogen_have_the_lengths_of_chemistry(name: str) -> None:
    structure = start(SYSTEMS[name])
    usual = {"C": (1.06, 1.12), "N": (0.98, 1.06), "O": (0.94, 1.01)}
    pairs, vectors = bonded_pairs(structure, np.array([radius(int(z)) for z in structure.numbers]))
    lengths = np.linalg.norm(vectors, axis=1)
    for (heavy, other), length in zip(pairs, lengths, strict=True):
        if structure.numbers[other] == 1:
            low, high = usual[symbol(int(structure.numbers[heavy]))]
            assert low < length < high


def neighbours_of(structure: Structure) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(len(structure))]
    for first, second in pairs_of(structure):
        found[first].append(int(second))
    return found


def alpha_carbons(structure: Structure) -> list[int]:
    """Carbons between the nitrogen of one peptide bond and the carbonyl of the next, in the order of the chain."""
    z, near = structure.numbers, neighbours_of(structure)

    def carbonyl(atom: int) -> bool:
        oxygens = [n for n in near[atom] if z[n] == 8 and len(near[n]) == 1]
        return bool(z[atom] == 6 and len(oxygens) == 1 and any(z[n] == 7 for n in near[atom]))

    def amide(atom: int) -> bool:
        return bool(z[atom] == 7 and any(carbonyl(n) for n in near[atom]))

    carbons = [a for a in range(len(z)) if z[a] == 6 and len(near[a]) == 4]
    return [a for a in carbons if any(map(amide, near[a])) and any(map(carbonyl, near[a]))]


def test_the_protein_is_folded_into_three_helices() -> None:
    """Along an α-helix the third next α-carbon is 5.0 to 5.6 Å away, in a strand 10 Å."""
    structure = start(SYSTEMS["protein"])
    chain = structure.positions[alpha_carbons(structure)]
    assert len(chain) == 36
    steps = np.linalg.norm(np.diff(chain, axis=0), axis=1)
    assert steps.min() > 3.7
    assert steps.max() < 3.95
    coiled = "".join("h" if gap < 6.0 else "-" for gap in np.linalg.norm(chain[3:] - chain[:-3], axis=1))
    assert len(coiled.replace("-", " ").split()) == len(HELICES)
    for first, last in HELICES:
        assert set(coiled[first - 41 : last - 41 - 2]) == {"h"}
    spread = np.sqrt(((chain - chain.mean(axis=0)) ** 2).sum(axis=1).mean())
    assert spread == pytest.approx(8.9, abs=0.5), "Å; a stretched chain of 36 has 38"


def test_the_salt_bridge_of_the_protein_is_closed() -> None:
    """The only charged groups are a carboxylate and a guanidinium, and they touch."""
    structure = start(SYSTEMS["protein"])
    z, near = structure.numbers, neighbours_of(structure)
    lone = [a for a in range(len(z)) if z[a] == 8 and len(near[a]) == 1]
    acids = [a for a in range(len(z)) if z[a] == 6 and sum(n in lone for n in near[a]) == 2]
    bases = [a for a in range(len(z)) if z[a] == 6 and sum(z[n] == 7 for n in near[a]) == 3]
    amines = [a for a in range(len(z)) if z[a] == 7 and sum(z[n] == 1 for n in near[a]) == 3]
    assert (len(acids), len(bases), len(amines)) == (1, 1, 0)
    oxygens = [n for n in near[acids[0]] if z[n] == 8]
    gaps = structure.positions[oxygens][:, None] - structure.positions[near[bases[0]]]
    assert np.linalg.norm(gaps, axis=2).min() < 3.0


def test_the_protein_says_where_it_comes_from() -> None:
    info = SYSTEMS["protein"].info
    assert "1VII" in str(info["citation"])
    assert "McKnight" in embedded()["assay-stability"].card.citation
    assert {"protonation", "prepared", "sequence"} <= set(info)
