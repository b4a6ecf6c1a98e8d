"""A Python file with factories, as a user writes one, and the energy that its models give for a copper crystal."""

from __future__ import annotations

from pathlib import Path

from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT

FACTORIES = """
from ase.calculators.emt import EMT

def build():
    return EMT()

build.claims = ("Cu", "Au")
class Potential(EMT):
    pass
def needs(path):
    return EMT()
def gives_text():
    return "no calculator"
NUMBER = 3
"""


def write_factories(folder: Path) -> Path:
    """The file in a folder."""
    path = folder / "potential.py"
    path.write_text(FACTORIES)
    return path


def copper_energy(calculator: Calculator) -> float:
    """Energy (eV) of four copper atoms in a cubic cell."""
    from ase.build import bulk

    return float(calculator.get_potential_energy(bulk("Cu", cubic=True)))


EXPECTED = copper_energy(EMT())
