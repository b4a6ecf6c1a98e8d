"""Thermal fluctuations of rings and bonds at 300 K, from GFN2-xTB.

In a harmonic molecule the classical variance of any internal coordinate is kT times its compliance, b H⁺ b, where H are
the second derivatives of the energy and b is the gradient of the coordinate. For rings this gives the root mean square
distance of the ring atoms from their best plane at 300 K (`plane_fluctuation`, Å), for bonds 1 / compliance is the
stiffness (`bond_stiffness`, eV/Å²), which `src/assay/data/bond_types.py` holds for each type of bond, too.
"""

from __future__ import annotations

import numpy as np
import xtb
from ase import Atoms

HEAT = 8.617333262e-5 * 300.0


def compliance(atoms: Atoms) -> np.ndarray:
    """The inverse of the second derivatives (Å²/eV), without translation and rotation of the whole molecule."""
    centred = atoms.positions - atoms.positions.mean(axis=0)
    moves = [np.tile(axis, len(atoms)) for axis in np.eye(3)]
    turns = [np.cross(axis, centred).ravel() for axis in np.eye(3)]
    left, sizes, _ = np.linalg.svd(np.array(moves + turns).T, full_matrices=False)
    rigid = left[:, sizes > 1e-3 * sizes[0]]
    keep = np.eye(3 * len(atoms)) - rigid @ rigid.T
    return np.linalg.pinv(keep @ xtb.hessian(atoms) @ keep, rcond=1e-5, hermitian=True)


def bond_stiffness(atoms: Atoms, bond: list[int]) -> float:
    """The force constant of a bond (eV/Å²) while all other coordinates relax."""
    first, second = bond
    axis = atoms.positions[second] - atoms.positions[first]
    gradient = np.zeros((len(atoms), 3))
    gradient[second] = axis / np.linalg.norm(axis)
    gradient[first] = -gradient[second]
    return float(1.0 / (gradient.ravel() @ compliance(atoms) @ gradient.ravel()))


def plane_fluctuation(atoms: Atoms, ring: list[int]) -> float:
    """Root mean square distance (Å) of the ring atoms from their best plane at 300 K."""
    places = atoms.positions[ring] - atoms.positions[ring].mean(axis=0)
    _, sizes, axes = np.linalg.svd(places)
    if sizes[2] > 0.02:
        raise ValueError(f"the ring of {atoms.symbols} is not flat")
    flat = np.column_stack([np.ones(len(ring)), places @ axes[0], places @ axes[1]])
    out = np.eye(len(ring)) - flat @ np.linalg.pinv(flat)
    normal = np.zeros((len(ring), len(atoms), 3))
    normal[np.arange(len(ring)), ring] = axes[2]
    motion = out @ normal.reshape(len(ring), -1)
    return float(np.sqrt(HEAT * np.trace(motion @ compliance(atoms) @ motion.T) / len(ring)))
