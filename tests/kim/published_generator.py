"""The 21 four-atom configurations of a published OpenKIM periodicity check, rebuilt draw by draw.

The check, vc-periodicity-support, was run in December 2018 on the Pt-Au embedded-atom potential of O'Brien, Barr and
Price. Its report prints energies and forces but no positions, so the positions have to be generated again: one stream
of random numbers, seeded once with 13, runs through all configurations in the order of the report. The run used
Python 2, whose `random.random` gives the same stream as today's; its integers were `int(random() * n)`.

Lengths are in Å, forces in eV/Å.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator
from ase.lattice.cubic import FaceCenteredCubic

from assay.errors import ModelFailure

SEED = 13
LATTICE = 3.0  # Å, cubic cell of the face-centred crystal
AMPLITUDE = 0.3  # Å, largest displacement along each axis
SPECIES = (("Au",), ("Pt",), ("Au", "Pt"))
PERIODICITIES = ("TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT")
SMALL, LARGE = 0.1, 5.0  # forces below and above these multiples of the first largest component are moved or rejected
ATTEMPTS, ROUNDS = 6, 1000


@dataclass(frozen=True)
class Doubling:
    """Energies in eV per original cell, before and after doubling, and the largest relative errors."""

    energy: float
    doubled_energy: float
    energy_error: float
    force_error: float


@dataclass(frozen=True)
class Configuration:
    """One configuration: its label in the report, the atoms with that periodicity, and how far they were displaced."""

    species: tuple[str, ...]
    pbc: str
    atoms: Atoms
    amplitude: float

    @property
    def name(self) -> str:
        return f"{''.join(self.species)} {self.pbc}"

    @property
    def doubled_directions(self) -> int:
        """Number p of periodic directions: doubling all of them makes 2**p copies of the cell."""
        return self.pbc.count("T")

    def cluster(self) -> Atoms:
        """The same four atoms with all periodicity switched off."""
        isolated = self.atoms.copy()
        isolated.pbc = False
        return isolated

    def doubled(self) -> Atoms:
        """The cell repeated twice along every periodic direction; atom k is a copy of atom k modulo 4."""
        return self.atoms.repeat([2 if letter == "T" else 1 for letter in self.pbc])


def configurations(calculator: Calculator, lattice: float = LATTICE, periodic: bool = False) -> Iterator[Configuration]:
    """Yield the 21 configurations in the order of the report.

    Args:
        calculator: the model, which takes part: it decides which atoms are moved again and which draws are given up.
        lattice: cubic lattice constant in Å; the report used 3.0.
        periodic: whether forces are looked at under the stated periodicity. The published numbers need False.
    """
    stream = random.Random(SEED)
    for species in SPECIES:
        for pbc in PERIODICITIES:
            stated = [letter == "T" for letter in pbc]
            crystal = FaceCenteredCubic("Au", latticeconstant=lattice, pbc=stated if periodic else False)
            crystal.symbols = deal_species(stream, species, len(crystal))
            atoms, amplitude = distort(stream, crystal, calculator)
            atoms.pbc = stated
            yield Configuration(species, pbc, atoms, amplitude)


def deal_species(stream: random.Random, species: tuple[str, ...], count: int) -> list[str]:
    """Deal the elements in turn to random free sites; a pure crystal needs no draw."""
    if len(species) == 1:
        return [species[0]] * count
    free, symbols = list(range(count)), [""] * count
    for turn in range(count):
        symbols[free.pop(int(stream.random() * len(free)))] = species[turn % len(species)]
    return symbols


def distort(stream: random.Random, crystal: Atoms, calculator: Calculator) -> tuple[Atoms, float]:
    """Displace every atom at random; whenever the model refuses, start from the crystal with half the amplitude."""
    for attempt in range(ATTEMPTS):
        amplitude = AMPLITUDE / 2**attempt
        atoms = crystal.copy()
        atoms.positions += [[amplitude * stream.uniform(-1, 1) for _ in range(3)] for _ in atoms]
        atoms.calc = calculator
        try:
            enlarge_small_forces(stream, atoms, amplitude)
        except ModelFailure:
            continue
        atoms.calc = None
        return atoms, amplitude
    raise ModelFailure(f"the model refused {ATTEMPTS} displacements of {crystal.symbols}, down to {amplitude} Å")


def enlarge_small_forces(stream: random.Random, atoms: Atoms, amplitude: float) -> None:
    """Move coordinates with a small force again, staying inside the box first spanned by the atoms.

    The stopping rule is the published one. It looks at the most negative and the most positive component only, so
    single components may still be small when it ends.
    """
    start, forces = atoms.positions.copy(), atoms.get_forces()
    low, high, scale = start.min(axis=0), start.max(axis=0), np.abs(forces).max()
    for _ in range(ROUNDS):
        for atom, axis in np.argwhere(np.abs(forces) < SMALL * scale):
            atoms.positions[atom, axis] = _inside(stream, atoms.positions[atom, axis], amplitude, low[axis], high[axis])
        forces = atoms.get_forces()
        if np.abs(forces).max() > LARGE * scale:
            atoms.positions = start
            forces = atoms.get_forces()
        elif min(abs(forces.min()), abs(forces.max())) > SMALL * scale:
            return
    raise RuntimeError(f"forces on {atoms.symbols} were still small after {ROUNDS} rounds")


def _inside(stream: random.Random, value: float, amplitude: float, low: float, high: float) -> float:
    """A random step of at most `amplitude` from `value` that ends between `low` and `high`."""
    while not low <= (moved := value + amplitude * stream.uniform(-1, 1)) <= high:
        pass
    return moved


def energy_and_forces(calculator: Calculator, atoms: Atoms) -> tuple[float, np.ndarray]:
    """Energy in eV and forces in eV/Å, leaving the atoms as they were."""
    atoms = atoms.copy()
    atoms.calc = calculator
    return float(atoms.get_potential_energy()), atoms.get_forces()


def double(calculator: Calculator, configuration: Configuration) -> Doubling:
    """Double the cell along its p periodic directions: the energy must grow 2**p times, forces must repeat."""
    energy, forces = energy_and_forces(calculator, configuration.atoms)
    total, doubled_forces = energy_and_forces(calculator, configuration.doubled())
    copies = 2**configuration.doubled_directions
    force_error = np.abs(doubled_forces - np.tile(forces, (copies, 1))).max() / np.abs(forces).max()
    return Doubling(energy, total / copies, abs(total / copies - energy) / abs(energy), float(force_error))
