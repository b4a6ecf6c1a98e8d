"""A model file for tests: springs at the distances of a reference geometry, so that a simulation takes a second."""

from __future__ import annotations

from pathlib import Path

from assay.api import Report, run

MODEL = """
import numpy as np
from ase.calculators.calculator import Calculator

from assay.data.source import DataSource

REST = DataSource().read("bonds")[0].records[0].structures[0]
FIRST, SECOND = np.triu_indices(len(REST), 1)
LENGTHS = np.linalg.norm(REST.positions[FIRST] - REST.positions[SECOND], axis=1)


class Springs(Calculator):
    implemented_properties = ["energy", "forces"]
    claims = {"elements": ("H", "C"), "pbc": ("FFF",)}

    def calculate(self, atoms=None, properties=(), system_changes=()):
        if not np.array_equal(atoms.numbers, REST.numbers):
            self.results = {"energy": float(atoms.positions.sum()), "forces": np.ones((len(atoms), 3))}
            return
        arms = atoms.positions[FIRST] - atoms.positions[SECOND]
        found = np.linalg.norm(arms, axis=1)
        pull = (20.0 * (found - LENGTHS) / found)[:, None] * arms
        forces = np.zeros((len(atoms), 3))
        np.add.at(forces, FIRST, -pull)
        np.add.at(forces, SECOND, pull)
        self.results = {"energy": 10.0 * float(((found - LENGTHS) ** 2).sum()), "forces": forces}
"""

SUITE = """
name = "short"
benchmarks = ["molecules.bond_lengths"]
[settings."molecules.bond_lengths"]
steps = 400
"""


RUN_SPRINGS = ("run", "model.py:Springs", "-s", "short.toml", "--limit", "1", "--json")
"""The arguments of the command that runs what `write_springs` wrote."""


def write_springs(folder: Path, before: str = "", in_each_call: str = "") -> None:
    """Write the files of the model and the suite, with more lines for the model: at its start and in each call."""
    folder.mkdir(exist_ok=True)
    place = "        arms = atoms"
    (folder / "model.py").write_text(before + MODEL.replace(place, f"{in_each_call}{place}"), encoding="utf-8")
    (folder / "short.toml").write_text(SUITE, encoding="utf-8")


def run_springs(folder: Path) -> Report:
    """One short simulation; its results are in `folder/results/model.py-Springs`."""
    write_springs(folder)
    return run(
        f"{folder / 'model.py'}:Springs", str(folder / "short.toml"), output=folder / "results", workers=0, limit=1
    )
