"""The tools that make reference data find minima and saddles, count frequencies, resume, and write what can be read."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.morse import MorsePotential
from ase.units import _amu, _c, _e

from assay.data.embedded import SETS
from assay.data.folder import read_folder

SCRIPTS = Path(__file__).parents[2] / "data_generation"
NAMES = ("cache", "stationary", "folder")
CURVATURE, LENGTH = 35.0, 1.2


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, ModuleType]]:
    """Modules of the scripts, which are no package, with a cache of their own."""
    monkeypatch.setenv("ASSAY_GENERATION_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(SCRIPTS))
    before = {name: sys.modules.pop(name, None) for name in NAMES}
    yield {name: importlib.import_module(name) for name in NAMES}
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


def spring(atoms: Atoms) -> tuple[float, np.ndarray]:
    """Two atoms on a spring."""
    gap = atoms.positions[1] - atoms.positions[0]
    length = float(np.linalg.norm(gap))
    push = CURVATURE * (length - LENGTH) * gap / length
    return 0.5 * CURVATURE * (length - LENGTH) ** 2, np.array([push, -push])


def derivatives(surface, atoms: Atoms) -> np.ndarray:
    columns = []
    for index in range(3 * len(atoms)):
        sides = []
        for shift in (1e-4, -1e-4):
            moved = atoms.copy()
            moved.positions[index // 3, index % 3] += shift
            sides.append(surface(moved)[1].ravel())
        columns.append((sides[1] - sides[0]) / 2e-4)
    return np.array(columns)


def morse(atoms: Atoms) -> tuple[float, np.ndarray]:
    copy = atoms.copy()
    copy.calc = MorsePotential(epsilon=1.0, r0=2.0, rho0=3.0, rcut1=50.0, rcut2=60.0)
    return copy.get_potential_energy(), copy.get_forces()


def test_a_spring_relaxes_to_its_length_and_has_its_frequency(tools: dict[str, ModuleType]) -> None:
    start = Atoms("CO", [[0, 0, 0], [0.3, 0.4, 1.3]], info={"charge": 0})
    found = tools["stationary"].stationary(start, spring, derivatives(spring, start), 0, 1e-4)
    assert found.get_distance(0, 1) == pytest.approx(LENGTH, abs=1e-5)
    waves, _ = tools["stationary"].vibrations(found, derivatives(spring, found))
    mass = np.prod(found.get_masses()) / found.get_masses().sum()
    expected = np.sqrt(CURVATURE * _e * 1e20 / (mass * _amu)) / (2 * np.pi * _c * 100)
    assert waves == pytest.approx([expected], rel=1e-4)


def test_four_morse_atoms_cross_over_a_flat_rhombus(tools: dict[str, ModuleType]) -> None:
    """The tetrahedron turns inside out through the planar rhombus, a saddle of first order."""
    wide = 2.0 * np.sqrt(3) / 2
    start = Atoms("Ar4", [[0, 1.1, 0], [0, -1.1, 0], [wide, 0, 0.05], [-wide, 0, 0.02]], info={"charge": 0})
    find = tools["stationary"].stationary
    saddle = find(start, morse, lambda atoms: derivatives(morse, atoms), 1, 1e-3)
    waves, _ = tools["stationary"].vibrations(saddle, derivatives(morse, saddle))
    assert (waves < 0).sum() == 1
    spread = np.linalg.svd(saddle.positions - saddle.positions.mean(axis=0), compute_uv=False)
    assert spread[2] == pytest.approx(0.0, abs=1e-2)
    start.positions[2:, 2] += 0.8
    minimum = find(start, morse, lambda atoms: derivatives(morse, atoms), 0, 1e-3)
    sides = minimum.get_all_distances()[np.triu_indices(4, 1)]
    np.testing.assert_allclose(sides, 2.0, atol=5e-3)


def test_updated_second_derivatives_lead_to_the_same_saddle(tools: dict[str, ModuleType]) -> None:
    start = Atoms("Ar4", [[0, 1.1, 0], [0, -1.1, 0], [1.7, 0, 0.05], [-1.7, 0, 0.02]], info={"charge": 0})
    find = tools["stationary"].stationary
    exact = find(start, morse, lambda atoms: derivatives(morse, atoms), 1, 1e-3)
    updated = find(start, morse, derivatives(morse, start), 1, 1e-3)
    assert morse(updated)[0] == pytest.approx(morse(exact)[0], abs=1e-4)


def test_what_was_computed_is_not_computed_again(tools: dict[str, ModuleType]) -> None:
    calls: list[int] = []

    def compute() -> dict[str, int]:
        calls.append(1)
        return {"energy": 7}

    key = tools["cache"].digest("energy", Atoms("He"))
    assert [tools["cache"].remembered(key, compute) for _ in range(2)] == [{"energy": 7}, {"energy": 7}]
    assert len(calls) == 1


def test_the_key_tells_charges_apart_and_ignores_what_is_rounded_away(tools: dict[str, ModuleType]) -> None:
    digest = tools["cache"].digest
    neutral, ion = (Atoms("OH", [[0, 0, 0], [0, 0, 0.97]], info={"charge": charge}) for charge in (0, -1))
    moved = neutral.copy()
    moved.positions[1, 2] += 1e-8
    assert digest(neutral) == digest(moved) != digest(ion)


def test_a_set_that_is_written_can_be_read(
    tools: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tools["folder"]
    monkeypatch.setattr(folder, "SETS", tmp_path)
    ends = [Atoms("HCN", positions, info={"charge": 0}) for positions in (np.eye(3), 2 * np.eye(3))]
    frames = (folder.Frame(ends[0], -2541.25, role="reference"), folder.Frame(ends[1], -2540.0, role="displaced"))
    card = {"kind": "reference_geometry", "level": "none"}
    folder.write("made-up", card, [folder.Entry("one", frames, {"smiles": "C#N", "bond": [1, 2]})])
    (record,) = read_folder(tmp_path / "made-up").records
    assert record.energies == (-2541.25, -2540.0)
    assert record.roles == ("reference", "displaced")
    assert record.info == {"smiles": "C#N", "bond": [1, 2]}
    assert [structure.charge for structure in record.structures] == [0, 0]
    np.testing.assert_array_equal(record.structures[1].positions, ends[1].positions)


OWN = (
    "assay-tautomers",
    "assay-geometries",
    "assay-torsions",
    "assay-reactions",
    "assay-conformers",
    "assay-conformer-minima",
)


@pytest.mark.parametrize("name", OWN)
def test_what_is_read_is_written_again_to_the_last_digit(
    tools: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    entries = tools["folder"].read(name)
    monkeypatch.setattr(tools["folder"], "SETS", tmp_path)
    tools["folder"].write(name, {}, entries.values())
    made, before = tmp_path / name, SETS / name
    assert (made / "structures.xyz").read_bytes() == (before / "structures.xyz").read_bytes()
    texts = [(folder / "data.toml").read_text(encoding="utf-8").partition("\n\n")[2] for folder in (made, before)]
    assert texts[0] == texts[1]


class Kitchen:
    """A set with records of one atom, and a count of what was made."""

    def __init__(self, folder: ModuleType) -> None:
        self.folder, self.made, self.energy, self.broken = folder, [], -1.0, set()

    def task(self, record: str, smiles: str = "[He]") -> object:
        def make() -> object:
            if record in self.broken:
                raise ValueError("no convergence")
            self.made.append(record)
            frame = self.folder.Frame(Atoms("He", info={"charge": 0}), self.energy)
            return self.folder.Entry(record, (frame,), {"smiles": smiles, "note": "computed"})

        return self.folder.Task(make, {"smiles": smiles})

    def generate(self, monkeypatch: pytest.MonkeyPatch, words: str, **smiles: str) -> dict[str, float]:
        """The energy of each record in the set after a run of the script with these words on the command line."""
        monkeypatch.setattr(sys, "argv", ["script", *words.split()])
        self.made = []
        tasks = {record: self.task(record, one) for record, one in smiles.items()}
        self.folder.generate("set", {"kind": "stability", "level": "none"}, tasks)
        return {record: entry.frames[0].energy for record, entry in self.folder.read("set").items()}


@pytest.fixture
def kitchen(tools: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    monkeypatch.setattr(tools["folder"], "SETS", tmp_path)
    return Kitchen(tools["folder"])


def test_records_of_the_set_are_kept_and_only_new_ones_are_made(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen.generate(monkeypatch, "", first="[He]", last="[He]")
    kitchen.energy = -2.0
    assert kitchen.generate(monkeypatch, "", first="[He]", middle="[He]", last="[He]") == {
        "first": -1.0, "middle": -2.0, "last": -1.0,
    }  # fmt: skip
    assert kitchen.made == ["middle"]


def test_a_record_that_is_asked_for_or_has_a_new_recipe_is_made_again(
    kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen.generate(monkeypatch, "", one="[He]", two="[He]", three="[He]")
    kitchen.energy = -2.0
    found = kitchen.generate(monkeypatch, "--only two", one="[He]", two="[He]", three="[He]")
    assert found == {"one": -1.0, "two": -2.0, "three": -1.0}
    kitchen.energy = -3.0
    found = kitchen.generate(monkeypatch, "", one="[He]", two="[He]", three="[3He]")
    assert found == {"one": -1.0, "two": -2.0, "three": -3.0}


def test_a_record_that_cannot_be_made_again_stays_as_it_was(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    kitchen.generate(monkeypatch, "", one="[He]", two="[He]")
    kitchen.energy, kitchen.broken = -2.0, {"two"}
    assert kitchen.generate(monkeypatch, "--only two one", one="[He]", two="[He]") == {"one": -2.0, "two": -1.0}
    assert kitchen.generate(monkeypatch, "", one="[He]", two="[3He]") == {"one": -2.0}


def test_a_dry_run_writes_nothing(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kitchen.generate(monkeypatch, "--dry", one="[He]") == {}
    assert kitchen.made == ["one"]
