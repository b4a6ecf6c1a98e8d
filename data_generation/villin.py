"""The villin headpiece HP36, a small folded protein: 36 residues in three helices.

The coordinates are those of PDB entry 1VII (solution NMR, minimised average structure), from the copy in the package
pdbfixer: `pip install openmm pdbfixer` (8.6.1 and 1.12.0 were used). The ends are capped with acetyl and methylamide.

In vacuum, no water screens the charges. With the charges of pH 7, side chains would exchange protons, and models that
do not support charges could not compute the total charge of +2. So the protein is neutral. Glu45, Asp46 and Glu72 are
acids (the entry was measured at pH 3.7, where acids are partly protonated), and the five Lys are amines. Arg55, by far
the strongest base, keeps its charge. Asp44, the nearest acid, has the opposite charge; both form a salt bridge.
"""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from molecules import SEED

CHECKSUM = "e1fd07976c0e1ed7aeaa2a2733e1334ad9051744bf2fc196812bdf922f08a981"
NEUTRAL = {"ASP": "ASH", "GLU": "GLH", "LYS": "LYN"}
CHARGED = "44"
"""Number of the aspartate that stays charged."""

HOLD = 1_000.0
"""Force constant (kJ/mol/nm²) that holds the α-carbons at their NMR positions: in vacuum, a protein contracts."""

TOLERANCE = 5.0  # kJ/mol/nm, root mean square
INFO = {
    "description": "villin headpiece HP36 (PDB 1VII), capped and neutral",
    "sequence": "Ac-MLSDEDFKAVFGMTRSAFANLPLWKQQNLKKEKGLF-NHMe, numbered from 41",
    "protonation": "Glu45, Asp46, Glu72 and all Lys neutral; Asp44 and Arg55 charged, a salt bridge; no net charge",
    "prepared": "caps by PDBFixer, hydrogens by OpenMM, relaxed with Amber ff14SB in vacuum, α-carbons held",
    "citation": "McKnight, Matsudaira, Kim, Nat. Struct. Biol. 4, 180 (1997), doi:10.1038/nsb0397-180; "
    "PDB 1VII (CC0-1.0)",
}


def villin() -> Atoms:
    """The relaxed protein with all hydrogens; the same on every computer, except for rounding errors."""
    from openmm import Platform, app

    capped = _capped(_source())
    model = app.Modeller(capped.topology, capped.positions)
    model.delete([atom for atom in model.topology.atoms() if atom.element is app.element.hydrogen])
    force_field = app.ForceField("amber14/protein.ff14SB.xml")
    slow_but_exact = Platform.getPlatformByName("Reference")
    random.seed(SEED)  # OpenMM puts hydrogens at random positions before it relaxes them
    states = [_state(residue) for residue in model.topology.residues()]
    model.addHydrogens(force_field, variants=states, platform=slow_but_exact)
    return _relaxed(model, force_field, slow_but_exact)


def _source() -> Path:
    """The PDB file of the entry in pdbfixer."""
    import pdbfixer

    path = Path(pdbfixer.__file__).parent / "tests" / "data" / "test.pdb"
    if hashlib.sha256(path.read_bytes()).hexdigest() != CHECKSUM:
        raise ValueError(f"'{path}' is not the expected copy of PDB entry 1VII; install pdbfixer 1.12.0")
    return path


def _capped(path: Path) -> Any:
    """The protein with acetyl before the first residue and methylamide after the last."""
    import pdbfixer

    fixer = pdbfixer.PDBFixer(filename=str(path))
    fixer.missingResidues = {(0, 0): ["ACE"], (0, 36): ["NME"]}
    fixer.findMissingAtoms()
    fixer.addMissingAtoms(seed=SEED)
    return fixer


def _state(residue: Any) -> str | None:
    """The Amber name for the protonation of a residue; None if there is only one."""
    return residue.name if residue.id == CHARGED else NEUTRAL.get(residue.name)


def _relaxed(model: Any, force_field: Any, platform: Any) -> Atoms:
    import openmm
    from openmm import app, unit

    system = force_field.createSystem(model.topology, nonbondedMethod=app.NoCutoff, constraints=None)
    hold = openmm.CustomExternalForce(f"{HOLD} * ((x - x0)^2 + (y - y0)^2 + (z - z0)^2)")
    for name in ("x0", "y0", "z0"):
        hold.addPerParticleParameter(name)
    for atom in model.topology.atoms():
        if atom.name == "CA":
            hold.addParticle(atom.index, model.positions[atom.index].value_in_unit(unit.nanometer))
    system.addForce(hold)
    run = app.Simulation(model.topology, system, openmm.VerletIntegrator(0.001), platform)
    run.context.setPositions(model.positions)
    run.minimizeEnergy(tolerance=TOLERANCE)
    positions = run.context.getState(getPositions=True).getPositions(asNumpy=True).value_in_unit(unit.angstrom)
    numbers = [atom.element.atomic_number for atom in model.topology.atoms()]
    return Atoms(numbers, np.array(positions), info={"charge": _charge(system)})


def _charge(system: Any) -> int:
    """The sum of the atomic charges of the force field; an error if it is not an integer."""
    import openmm

    (force,) = [f for f in system.getForces() if isinstance(f, openmm.NonbondedForce)]
    total = sum(force.getParticleParameters(i)[0]._value for i in range(force.getNumParticles()))
    if abs(total - round(total)) > 1e-6:
        raise ValueError(f"the atomic charges add up to {total}, which is not an integer")
    return round(total)
