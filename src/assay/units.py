"""Constants in the units of Assay: Å, fs, eV, amu, K. Plain numbers, because ASE need not be there to read results."""

from __future__ import annotations

BOLTZMANN = 8.617333262e-5
"""eV/K."""

KCAL = 23.060548012069493
"""kcal/mol in one eV, with the constants of ASE."""

ACCELERATION = 9.648533212331e-3
"""Å/fs² for a force of 1 eV/Å on 1 amu; velocities in Å/fs squared times a mass in amu, divided by it, are eV."""

BAR = 6.241509074e-7
"""eV/Å³ in one bar."""

GPA = 160.21766208
"""GPa in one eV/Å³."""
