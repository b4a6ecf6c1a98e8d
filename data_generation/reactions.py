"""Make `assay-reactions`: closed-shell reactions of one or two molecules, each with a verified transition state.

    python data_generation/reactions.py

A first guess has intermediate lengths for the bonds that break and form. From it, the transition state is found in
GFN2-xTB and optimised again with ωB97M-D3(BJ)/def2-SVP. It is kept if the second derivatives at this level have exactly
one negative eigenvalue, and if the motion along this mode leads to the bonds of the reactant on one side and of the
product on the other. Reactant and product are these minima, optimised at the same level. Energies are def2-TZVP.

Where two molecules react or are formed, this end is the complex of both that the transition state leads to, and the
record says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import quantum
import xtb
from ase import Atoms
from cache import digest, remembered_structures
from folder import Entry, Frame, Task, generate
from molecules import SEED, Bonds, bonds_in, bonds_of, embedded
from saddles import guesses
from stationary import stationary, vibrations

BASIS = quantum.SMALL
CONFORMERS = 4
ENDS = ("reactant", "product")
COMPLEX = "two molecules in one complex: the minimum on this side of the transition state, not molecules far apart"
REACTIONS = {
    "hydrogen_cyanide": ("[C:1](#[N:2])[H:3]", "[C-:1]#[N+:2][H:3]"),
    "formaldehyde_hydroxymethylene": ("[C:1](=[O:2])([H:3])[H:4]", "[C:1]([O:2][H:3])[H:4]"),
    "isocyanic_acid": ("[N:1](=[C:2]=[O:3])[H:4]", "[N:1]#[C:2][O:3][H:4]"),
    "diazene": ("[N:1](=[N:2][H:3])[H:4]", "[N-:1]=[N+:2]([H:3])[H:4]"),
    "thioformaldehyde": ("[C:1](=[S:2])([H:3])[H:4]", "[C:1]([S:2][H:3])[H:4]"),
    "hydroxylamine": ("[N:1]([O:2][H:3])([H:4])[H:5]", "[N+:1]([O-:2])([H:3])([H:4])[H:5]"),
    "methanimine": ("[C:1](=[N:2][H:5])([H:3])[H:4]", "[C:1]([N:2]([H:3])[H:5])[H:4]"),
    "formic_acid_shift": ("[C:1](=[O:2])([O:3][H:4])[H:5]", "[C:1]([O:2][H:4])(=[O:3])[H:5]"),
    "thioformic_acid": ("[C:1](=[O:2])([S:3][H:4])[H:5]", "[C:1]([O:2][H:4])(=[S:3])[H:5]"),
    "cyanamide": ("[N:1]([C:2]#[N:3])([H:4])[H:5]", "[N:1](=[C:2]=[N:3][H:5])[H:4]"),
    "ketene": ("[C:1](=[C:2]=[O:3])([H:4])[H:5]", "[C:1](#[C:2][O:3][H:5])[H:4]"),
    "methyl_isocyanide": ("[C:1]([N+:2]#[C-:3])([H:4])([H:5])[H:6]", "[C:1]([C:3]#[N:2])([H:4])([H:5])[H:6]"),
    "formamide": ("[C:1](=[O:2])([N:3]([H:4])[H:5])[H:6]", "[C:1]([O:2][H:4])(=[N:3][H:5])[H:6]"),
    "formaldoxime": ("[C:1]([N:2]=[O:3])([H:4])([H:5])[H:6]", "[C:1](=[N:2][O:3][H:4])([H:5])[H:6]"),
    "vinyl_alcohol": (
        "[C:1](=[C:2]([O:3][H:4])[H:5])([H:6])[H:7]",
        "[C:1]([C:2](=[O:3])[H:5])([H:4])([H:6])[H:7]",
    ),
    "nitromethane": (
        "[C:1]([N+:2](=[O:3])[O-:4])([H:5])([H:6])[H:7]",
        "[C:1](=[N+:2]([O:3][H:5])[O-:4])([H:6])[H:7]",
    ),
    "formyl_fluoride": ("[C:1](=[O:2])([F:3])[H:4]", "[C-:1]#[O+:2].[F:3][H:4]"),
    "formic_acid_hydrogen": ("[C:1](=[O:2])([O:3][H:4])[H:5]", "[C:1](=[O:2])=[O:3].[H:4][H:5]"),
    "formic_acid_water": ("[C:1](=[O:2])([O:3][H:4])[H:5]", "[C-:1]#[O+:2].[O:3]([H:4])[H:5]"),
    "carbonic_acid": ("[C:1](=[O:2])([O:3][H:4])[O:5][H:6]", "[C:1](=[O:2])=[O:3].[O:5]([H:4])[H:6]"),
    "vinyl_fluoride": ("[C:1](=[C:2]([F:3])[H:4])([H:5])[H:6]", "[C:1](#[C:2][H:4])[H:6].[F:3][H:5]"),
    "hydrogen_fluoride_ethene": (
        "[C:1](=[C:2]([H:5])[H:6])([H:3])[H:4].[F:7][H:8]",
        "[C:1]([C:2]([F:7])([H:5])[H:6])([H:3])([H:4])[H:8]",
    ),
    "water_formaldehyde": (
        "[C:1](=[O:2])([H:3])[H:4].[O:5]([H:6])[H:7]",
        "[C:1]([O:2][H:6])([H:3])([H:4])[O:5][H:7]",
    ),
    "ammonia_formaldehyde": (
        "[C:1](=[O:2])([H:3])[H:4].[N:5]([H:6])([H:7])[H:8]",
        "[C:1]([O:2][H:6])([H:3])([H:4])[N:5]([H:7])[H:8]",
    ),
    "fulminic_acid_ethyne": (
        "[C:1](#[N+:2][O-:3])[H:4].[C:5](#[C:6][H:8])[H:7]",
        "[C:1]1([H:4])=[N:2][O:3][C:6]([H:8])=[C:5]1[H:7]",
    ),
    "cyclobutene": (
        "[C:1]1([H:5])=[C:2]([H:6])[C:3]([H:7])([H:8])[C:4]1([H:9])[H:10]",
        "[C:1]([H:5])(=[C:4]([H:9])[H:10])[C:2]([H:6])=[C:3]([H:7])[H:8]",
    ),
    "fulminic_acid_ethene": (
        "[C:1](#[N+:2][O-:3])[H:4].[C:5](=[C:6]([H:8])[H:9])([H:7])[H:10]",
        "[C:1]1([H:4])=[N:2][O:3][C:6]([H:8])([H:9])[C:5]1([H:7])[H:10]",
    ),
    "butadiene_ethene": (
        "[C:1](=[C:2]([H:9])[C:3]([H:10])=[C:4]([H:11])[H:12])([H:7])[H:8].[C:5](=[C:6]([H:15])[H:16])([H:13])[H:14]",
        "[C:1]1([H:7])([H:8])[C:2]([H:9])=[C:3]([H:10])[C:4]([H:11])([H:12])[C:6]([H:15])([H:16])[C:5]1([H:13])[H:14]",
    ),
    "malonaldehyde": (
        "[O:1]=[C:2]([H:6])/[C:3]([H:7])=[C:4](/[H:8])[O:5][H:9]",
        "[H:9][O:1]/[C:2]([H:6])=[C:3]([H:7])/[C:4]([H:8])=[O:5]",
    ),
}
CARD = {
    "kind": "reactions",
    "what": "closed-shell reactions: hydrogen shifts, rearrangements, eliminations, and additions of one molecule to "
    "another; reactant, transition state and product. Each transition state has one imaginary frequency and leads to "
    "both ends; two molecules at one end are a complex, a minimum",
    "level": "ωB97M-D3(BJ)/def2-TZVP at geometries optimised with ωB97M-D3(BJ)/def2-SVP until forces are below "
    f"0.01 eV/Å; {quantum.SETTINGS}",
    "licence": "CC0-1.0",
    "citation": "Assay data, generated by data_generation/reactions.py",
    "source": "data_generation/reactions.py",
}


def starts(smiles: tuple[str, str]) -> Iterator[Atoms]:
    """Guesses of the transition state from relaxed GFN2-xTB conformers of the reactant and of the product."""
    for seed in range(SEED, SEED + CONFORMERS):
        for one, other in (smiles, smiles[::-1]):
            for atoms in embedded(one, 1, seed):
                try:
                    start = xtb.relaxed(atoms, force_limit=0.05, steps=200)
                except RuntimeError:
                    continue
                if bonds_in(start) == bonds_of(one):
                    yield from guesses(start, bonds_of(one), bonds_of(other), seed)


def nudged(saddle: Atoms, mode: np.ndarray) -> list[Atoms]:
    """The saddle point displaced to both sides; the atom that moves most moves by 0.15 Å."""
    sides = []
    for sign in (1, -1):
        moved = saddle.copy()
        moved.positions += sign * 0.15 * mode / np.linalg.norm(mode, axis=1).max()
        sides.append(moved)
    return sides


def descended(saddle: Atoms, mode: np.ndarray) -> list[Atoms]:
    """The GFN2-xTB minima on both sides of a saddle point."""
    return [xtb.relaxed(side, force_limit=0.01, step=0.04) for side in nudged(saddle, mode)]


def ends(saddle: Atoms, mode: np.ndarray, wanted: tuple[Bonds, Bonds]) -> list[Atoms]:
    """Reactant and product at the level of theory of the geometries.

    The way down is first followed in GFN2-xTB, which is fast, and at the level of the geometries if GFN2-xTB leads to
    other minima.
    """
    try:
        starts = ordered(descended(saddle, mode), wanted)
    except (RuntimeError, ValueError):
        starts = nudged(saddle, mode)
    return ordered([well(start) for start in starts], wanted)


def ordered(wells: list[Atoms], wanted: tuple[Bonds, Bonds]) -> list[Atoms]:
    """The two minima as reactant and product; an error if they are other molecules."""
    found = (bonds_in(wells[0]), bonds_in(wells[1]))
    if found == wanted:
        return wells
    if found[::-1] == wanted:
        return wells[::-1]
    raise ValueError("the transition state leads to other molecules")


def crude_saddle(smiles: tuple[str, str]) -> Atoms:
    """The first GFN2-xTB transition state that leads from the reactant to the product."""
    wanted = (bonds_of(smiles[0]), bonds_of(smiles[1]))
    for guess in starts(smiles):
        try:
            atoms = stationary(guess, xtb.energy_and_forces, xtb.hessian(guess), 1, 0.01, steps=60, longest=0.08)
            waves, modes = vibrations(atoms, xtb.hessian(atoms))
            if (waves < 0).sum() != 1:
                continue
            ordered(descended(atoms, modes[0]), wanted)
        except (RuntimeError, ValueError, np.linalg.LinAlgError):
            continue
        return atoms
    raise RuntimeError("no transition state between the two was found in GFN2-xTB")


def well(start: Atoms) -> Atoms:
    """The nearest minimum at the level of theory of the geometries; modes between two molecules are very soft."""
    surface = partial(quantum.energy_and_forces, basis=BASIS)
    return stationary(start, surface, xtb.hessian(start), 0, 0.01, steps=120, longest=0.08, floor=0.05)


def verified(smiles: tuple[str, str]) -> list[Atoms]:
    """Reactant, transition state and product; an error says what failed."""
    wanted = (bonds_of(smiles[0]), bonds_of(smiles[1]))
    (guess,) = remembered_structures(digest("saddle", smiles), lambda: [crude_saddle(smiles)])
    surface = partial(quantum.energy_and_forces, basis=BASIS)
    saddle = stationary(guess, surface, xtb.hessian(guess), 1, 0.01, steps=40, longest=0.08)
    waves, modes = vibrations(saddle, quantum.hessian(saddle, BASIS))
    if (waves < 0).sum() != 1:
        raise ValueError(f"the transition state has {(waves < 0).sum()} imaginary frequencies")
    reactant, product = ends(saddle, modes[0], wanted)
    return [reactant, saddle, product]


def reaction(record: str, smiles: tuple[str, str]) -> Entry:
    """Reactant, transition state and product, with energies."""
    key = digest("reaction", BASIS, smiles)
    structures = remembered_structures(key, lambda: verified(smiles))
    roles = ("reactant", "transition_state", "product")
    frames = [Frame(atoms, quantum.energy(atoms), role=role) for atoms, role in zip(structures, roles, strict=True)]
    if frames[1].energy <= max(frames[0].energy, frames[2].energy):
        raise ValueError("with def2-TZVP, the transition state does not have the highest energy")
    waves, _ = vibrations(structures[1], quantum.hessian(structures[1], BASIS))
    told = {"smiles": ">>".join(smiles), "imaginary_wavenumber": round(float(-waves[0]), 1)}
    return Entry(
        record, tuple(frames), told | {role: COMPLEX for role, one in zip(ENDS, smiles, strict=True) if "." in one}
    )


def main() -> None:
    """Write the set, small molecules first."""
    tasks = {
        record: Task(partial(reaction, record, pair), {"smiles": ">>".join(pair)}) for record, pair in REACTIONS.items()
    }
    generate("assay-reactions", CARD, tasks)


if __name__ == "__main__":
    main()
