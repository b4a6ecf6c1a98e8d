"""Geometries from GFN2-xTB: relaxation, second derivatives and dynamics. Energies in eV, lengths in Å."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ase import Atoms, units
from ase.constraints import FixInternals
from ase.md.langevin import Langevin
from ase.md.velocitydistribution import MaxwellBoltzmannDistribution
from ase.optimize import BFGS
from cache import digest, remembered_structures, rounded
from molecules import bonds_in, bonds_of, embedded, heavy, same_shape, superposed
from tblite.ase import TBLite


def with_xtb(atoms: Atoms) -> Atoms:
    """A copy with a new calculator: a used one starts from its last density, so that results depend on the last one."""
    copy = rounded(atoms)
    copy.calc = TBLite(method="GFN2-xTB", charge=copy.info["charge"], accuracy=0.1, verbosity=0)
    return copy


def energy(atoms: Atoms) -> float:
    """Energy (eV)."""
    return energy_and_forces(atoms)[0]


def energy_and_forces(atoms: Atoms) -> tuple[float, np.ndarray]:
    """Energy (eV) and forces (eV/Å)."""
    copy = with_xtb(atoms)
    return float(copy.get_potential_energy()), copy.get_forces()


def relaxed(atoms: Atoms, force_limit: float = 0.005, steps: int = 500, step: float = 0.1) -> Atoms:
    """The nearest minimum; no force is above `force_limit` (eV/Å)."""
    copy = with_xtb(atoms)
    if not BFGS(copy, logfile=None, maxstep=step).run(fmax=force_limit, steps=steps):
        raise RuntimeError(f"the relaxation of {copy.symbols} in GFN2-xTB does not converge")
    return rounded(copy)


def turned(atoms: Atoms, torsion: list[int], angle: float, moving: list[int]) -> Atoms:
    """The structure relaxed with one dihedral fixed at an angle (degrees)."""
    copy = with_xtb(atoms)
    copy.set_dihedral(*torsion, angle, indices=moving)
    copy.set_constraint(FixInternals(dihedrals_deg=[[angle, torsion]], epsilon=1e-6))
    if not BFGS(copy, logfile=None, maxstep=0.05).run(fmax=0.005, steps=600):
        raise RuntimeError(f"the relaxation of {copy.symbols} in GFN2-xTB does not converge at {angle} degrees")
    return rounded(copy)


def hessian(atoms: Atoms, shift: float = 0.005) -> np.ndarray:
    """Second derivatives by central differences of forces, a matrix of 3N × 3N (eV/Å²)."""
    columns = []
    for index in range(3 * len(atoms)):
        sides = []
        for sign in (1, -1):
            moved = atoms.copy()
            moved.positions[index // 3, index % 3] += sign * shift
            sides.append(energy_and_forces(moved)[1].ravel())
        columns.append((sides[1] - sides[0]) / (2 * shift))
    matrix = np.array(columns)
    return 0.5 * (matrix + matrix.T)


def minima(smiles: str, count: int, window: float = 0.6) -> list[Atoms]:
    """Different minima of a molecule in the order of energy, up to `window` (eV) above the lowest."""
    found: list[tuple[float, Atoms]] = []
    for start in embedded(smiles, count):
        try:
            atoms = relaxed(start)
        except RuntimeError:
            continue
        if bonds_in(atoms) == bonds_of(smiles):
            found.append((energy(atoms), atoms))
    found.sort(key=lambda pair: pair[0])
    distinct: list[Atoms] = []
    for value, atoms in found:
        if value < found[0][0] + window and not any(_same(atoms, other) for other in distinct):
            distinct.append(atoms)
    if not distinct:
        raise RuntimeError(f"no minimum of {smiles} has the bonds of the SMILES")
    return distinct


def lowest(smiles: str, count: int) -> Atoms:
    """The lowest of the minima."""
    return remembered_structures(digest("lowest", smiles, count), lambda: minima(smiles, count)[:1])[0]


def _same(one: Atoms, other: Atoms) -> bool:
    """True for the same minimum or its mirror image."""
    return abs(energy(one) - energy(other)) < 0.003 and same_shape(one, other)


def snapshots(
    atoms: Atoms, count: int, temperature: float, seed: int, keep: Callable[[Atoms], bool], every: int = 200
) -> list[Atoms]:
    """Structures of a Langevin trajectory (time step 0.5 fs) that `keep` accepts."""
    rng = np.random.default_rng(seed)
    copy = with_xtb(atoms)
    MaxwellBoltzmannDistribution(copy, temperature_K=temperature, rng=rng)
    dynamics = Langevin(copy, 0.5 * units.fs, temperature_K=temperature, friction=0.02 / units.fs, rng=rng, fixcm=False)
    taken: list[Atoms] = []
    while len(taken) < count and dynamics.nsteps < 40 * every:
        dynamics.run(every)
        if keep(copy):
            taken.append(rounded(copy))
    return taken


def returns(displaced: Atoms, reference: Atoms, limit: float = 0.03) -> bool:
    """True if both relax to the same minimum: same bonds, RMSD of heavy atoms below `limit` (Å)."""
    try:
        one, other = relaxed(displaced), relaxed(reference)
    except RuntimeError:
        return False
    gap = superposed(one.positions, other.positions, heavy(one))[1]
    return bonds_in(one) == bonds_in(other) and gap < limit
