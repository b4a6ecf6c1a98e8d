"""Molecules from SMILES with RDKit, and their bonds."""

from __future__ import annotations

import numpy as np
from ase import Atoms
from ase.data import covalent_radii
from rdkit import Chem, RDLogger
from rdkit.Chem import AllChem

SEED = 20240611
BOND_FACTOR = 1.3
RDLogger.DisableLog("rdApp.*")

Bonds = frozenset[tuple[int, int]]


def parsed(smiles: str) -> Chem.Mol:
    """The molecule with all its hydrogens; atoms with map numbers come first, in the order of their numbers."""
    options = Chem.SmilesParserParams()
    options.removeHs = False
    molecule = Chem.AddHs(Chem.MolFromSmiles(smiles, options))
    numbers = [atom.GetAtomMapNum() or 10_000 + atom.GetIdx() for atom in molecule.GetAtoms()]
    return Chem.RenumberAtoms(molecule, [int(index) for index in np.argsort(numbers)])


def embedded(smiles: str, count: int, seed: int = SEED) -> list[Atoms]:
    """Start geometries from the distance geometry of RDKit."""
    molecule = parsed(smiles)
    ids = list(AllChem.EmbedMultipleConfs(molecule, count, randomSeed=seed, useRandomCoords=True))
    numbers = [atom.GetAtomicNum() for atom in molecule.GetAtoms()]
    info = {"charge": Chem.GetFormalCharge(molecule)}
    return [Atoms(numbers, molecule.GetConformer(i).GetPositions(), info=dict(info)) for i in ids]


def bonds_of(smiles: str) -> Bonds:
    """Pairs of bonded atoms in the SMILES."""
    pairs = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in parsed(smiles).GetBonds()]
    return frozenset((min(pair), max(pair)) for pair in pairs)


def bonds_in(atoms: Atoms) -> Bonds:
    """Pairs of atoms closer than 1.3 times the sum of their covalent radii."""
    radii = covalent_radii[atoms.numbers]
    near = atoms.get_all_distances() < BOND_FACTOR * (radii[:, None] + radii[None, :])
    return frozenset((int(i), int(j)) for i, j in np.argwhere(np.triu(near, 1)))


def same_shape(one: Atoms, other: Atoms) -> bool:
    """True for equal structures and mirror images; atoms of an element may be numbered differently."""
    spectra = [np.linalg.eigvalsh(1 / (a.get_all_distances() + np.diag(1.0 / a.numbers))) for a in (one, other)]
    return bool(np.abs(spectra[0] - spectra[1]).max() < 0.03)


def superposed(moving: np.ndarray, fixed: np.ndarray, using: np.ndarray) -> tuple[np.ndarray, float]:
    """Positions rotated and moved onto others, and the RMSD (Å) of the atoms used for the superposition."""
    centre, target = moving[using].mean(axis=0), fixed[using].mean(axis=0)
    u, _, v = np.linalg.svd((moving[using] - centre).T @ (fixed[using] - target))
    u[:, -1] *= np.sign(np.linalg.det(u @ v))
    placed = (moving - centre) @ (u @ v) + target
    return placed, float(np.sqrt(((placed - fixed)[using] ** 2).sum(axis=1).mean()))


def heavy(atoms: Atoms) -> np.ndarray:
    """Indices of the heavy atoms; of all atoms if there are fewer than two heavy atoms."""
    found = np.flatnonzero(atoms.numbers > 1)
    return found if len(found) > 1 else np.arange(len(atoms))
