"""Constants in the units of Assay: Å, fs, eV, amu, K. Plain numbers, so that results can be read without ASE."""

from __future__ import annotations

BOLTZMANN = 8.617333262e-5
"""Boltzmann constant in eV/K."""

KCAL = 23.060548012069493
"""One eV in kcal/mol, with the constants of ASE."""

ACCELERATION = 9.648533212331e-3
"""Acceleration (Å/fs²) of 1 amu by 1 eV/Å; a mass (amu) times a squared velocity (Å/fs)², divided by it, is in eV."""

BAR = 6.241509074e-7
"""One bar in eV/Å³."""

GPA = 160.21766208
"""One eV/Å³ in GPa."""
