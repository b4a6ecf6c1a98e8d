"""Reference data of every kind for clusters of Cu and Au, computed with the sound potential.

The benchmarks of molecules compare with reference data, and for models of copper and gold there are no molecules. On
this data the sound potential is exact, so a broken copy of it can lose score only through its bug. The data is computed
in seconds and written in the layout that `--data` reads. Units: eV, Å.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from assay.analysis.superposition import superposed
from assay.compute.protocols import carry_out, protocol
from assay.configurations import cluster, generator, symbol
from assay.jobs import Job, Relaxation
from assay.outcome import Point
from assay.sabotage.sound import BOND, CopperGold
from assay.structure import Floats, Structure
from assay.units import BOLTZMANN

CU, AU = 29, 79
LENGTH = 2.0 * BOND * 1.34  # Å, between the bond lengths of Cu2 and Au2
LEVEL = "the sound potential of assay.sabotage"
DISTANCES = (0.9, 1.0, 1.2, 1.5, 2.0)
DISPLACEMENT = 0.15  # Å, along each coordinate
SADDLES = (((CU, CU, AU), 7, 5), ((CU, CU, AU), 7, 9))
"""Species, number of atoms and variant of clusters from which the search for a saddle point converges."""


@dataclass(frozen=True)
class Frame:
    """A structure with its reference energy (eV) and further words of its comment line, such as its role."""

    structure: Structure
    energy: float
    words: str = ""


Records = dict[str, tuple[list[Frame], str]]
"""By name: the frames of a record, and its lines in `data.toml`."""


def write_sound_data(folder: Path) -> Path:
    """Write one data set of each kind into a folder, and return the folder."""
    for kind, make in KINDS.items():
        home = folder / f"sound-{kind.replace('_', '-')}"
        home.mkdir(parents=True, exist_ok=True)
        records = make()
        (home / "structures.xyz").write_text("".join(_xyz(records)), encoding="utf-8")
        tables = [f"\n[records.{name}]\n{lines}" for name, (_, lines) in records.items() if lines]
        card = f'name = "{home.name}"\nkind = "{kind}"\nlevel = "{LEVEL}"\nenergy_unit = "eV"\n'
        (home / "data.toml").write_text(card + "".join(tables), encoding="utf-8")
    return folder


def _xyz(records: Records) -> Iterator[str]:
    for name, (frames, _) in records.items():
        for frame in frames:
            rows = zip(frame.structure.numbers, frame.structure.positions, strict=True)
            body = "".join(f"{symbol(int(z))} {x:.16g} {y:.16g} {u:.16g}\n" for z, (x, y, u) in rows)
            words = f"record={name} reference_energy={frame.energy:.16g} charge=0 spin=1 {frame.words}".strip()
            yield f'{len(frame.structure)}\nProperties=species:S:1:pos:R:3 {words} pbc="F F F"\n{body}'


def answer(structures: Sequence[Structure]) -> list[Point]:
    """Energies and forces of the sound potential."""
    values = [_potential().evaluate(structure.to_atoms()) for structure in structures]
    return [Point(value.energy, value.forces) for value in values]


@cache
def _potential() -> CopperGold:
    return CopperGold()


def _energy(structure: Structure) -> float:
    return answer([structure])[0].energy


def _relaxed(structure: Structure) -> Structure:
    job: Job = Relaxation(structure, force_limit=1e-4, steps=2000)
    return structure.moved(np.asarray(carry_out(protocol(job), answer).values["positions"]))


def _complexes() -> Records:
    """Two atoms or small clusters at five distances along z."""
    flat = LENGTH * np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.75**0.5, 0.0]])
    above = (flat[1:2] + flat[2:3]) / 3.0
    parts = {"atoms": (flat[:1], flat[:1]), "pairs": (flat[:2], flat[:2]), "atom_on_three": (flat, above)}
    records: Records = {}
    for name, (low, high) in parts.items():
        first, second = (Structure.build([z] * len(p), p) for z, p in ((CU, low), (AU, high)))
        frames = []
        for distance in DISTANCES:
            moved = second.positions + np.array([0.0, 0.0, distance * LENGTH])
            whole = Structure.build([*first.numbers, *second.numbers], np.concatenate([low, moved]))
            energy = _energy(whole) - _energy(first) - _energy(second)
            frames.append(Frame(whole, energy, f"coordinate={distance}"))
        a, b = list(range(len(low))), list(range(len(low), len(low) + len(high)))
        group = "pairs" if name != "atom_on_three" else "many bodies"
        records[name] = (frames, f'atoms_a = {a}\natoms_b = {b}\ncharge_a = 0\ncharge_b = 0\ngroup = "{group}"\n')
    return records


def _torsions() -> Records:
    """Chains of four atoms at twelve torsion angles of the middle bond."""
    records: Records = {}
    for name, numbers in (("copper", [CU] * 4), ("gold_ends", [AU, CU, CU, AU])):
        frames = []
        for angle in range(-150, 181, 30):
            turn, bent = np.radians(angle), LENGTH * np.array([-0.09, 0.996])
            ends = [[bent[0], bent[1], 0.0], [LENGTH - bent[0], bent[1] * np.cos(turn), bent[1] * np.sin(turn)]]
            chain = Structure.build(numbers, [ends[0], [0.0, 0.0, 0.0], [LENGTH, 0.0, 0.0], ends[1]])
            frames.append(Frame(chain, _energy(chain), f"coordinate={angle}"))
        records[name] = (frames, "torsion = [0, 1, 2, 3]\n")
    return records


def _conformers() -> Records:
    """Compact clusters of the same atoms."""
    records: Records = {}
    for size in (5, 6, 7):
        shapes = [cluster((CU, AU), 1.0, size, variant) for variant in range(4)]
        records[f"cluster_of_{size}"] = ([Frame(s, _energy(s)) for s in shapes], "")
    return records


def _isomers() -> Records:
    """Pairs of clusters of the same atoms that differ in the place of the gold and in shape."""
    records: Records = {}
    for variant in (1, 2, 3):
        one, other = cluster((CU, CU, AU), 1.0, 6, variant), cluster((CU, CU, AU), 1.08, 6, variant + 3)
        records[f"pair_{variant}"] = ([Frame(s, _energy(s)) for s in (one, other)], "")
    return records


def _geometries() -> Records:
    """Clusters at their minima, and displaced."""
    records: Records = {}
    for size in (4, 5, 6):
        rest = _relaxed(cluster((CU, AU), 1.0, size))
        moved = rest.moved(rest.positions + DISPLACEMENT * generator(size).standard_normal((size, 3)))
        records[f"cluster_of_{size}"] = (
            [Frame(rest, _energy(rest), "role=reference"), Frame(moved, _energy(moved), "role=displaced")],
            "",
        )
    return records


def _reactions() -> Records:
    """Saddle points, with the minima on both sides."""
    records: Records = {}
    for species, size, variant in SADDLES:
        rest = _relaxed(cluster(species, 1.0, size, variant))
        start = rest.moved(rest.positions + 0.25 * np.random.default_rng(variant).standard_normal((size, 3)))
        top, mode = _saddle(start)
        sides = [_relaxed(top.moved(top.positions + push * mode)) for push in (0.1, -0.1)]
        stops = [("reactant", sides[0]), ("transition_state", top), ("product", sides[1])]
        frames = [
            Frame(s.moved(superposed(s.positions, top.positions)), _energy(s), f"role={role}") for role, s in stops
        ]
        records[f"cluster_of_{size}_{variant}"] = (frames, "")
    return records


def _saddle(structure: Structure, steps: int = 150) -> tuple[Structure, Floats]:
    """A saddle point near the structure, with its unstable mode (largest component 1).

    Each step goes uphill along the softest vibration and downhill along all others.
    """
    place = structure.positions.ravel().copy()
    for _ in range(steps):
        slope, stiffness, motions = _surface(structure, place)
        if np.abs(slope).max() < 1e-7:
            break
        inner = np.flatnonzero(np.abs(stiffness) > 1e-3)  # without translations and rotations, which cost no energy
        move = np.zeros_like(slope)
        move[inner] = -(motions.T @ slope)[inner] / np.abs(stiffness[inner])
        move[inner[0]] *= -1.0
        step = motions @ move
        place = place + step * min(1.0, 0.15 / float(np.abs(step).max()))
    down = motions[:, 0].reshape(-1, 3)
    return structure.moved(place.reshape(-1, 3)), down / float(np.abs(down).max())


def _surface(structure: Structure, place: Floats) -> tuple[Floats, Floats, Floats]:
    """Gradient (eV/Å), and force constants (eV/Å²) and directions of the vibrations, by central differences."""
    shift = 1e-4  # Å
    around = [place, *(place + sign * shift * axis for axis in np.eye(len(place)) for sign in (1.0, -1.0))]
    slopes = -np.array([p.forces.ravel() for p in answer([structure.moved(x.reshape(-1, 3)) for x in around])])
    hessian = (slopes[1::2] - slopes[2::2]) / (2.0 * shift)
    return slopes[0], *np.linalg.eigh(0.5 * (hessian + hessian.T))


def _bonds() -> Records:
    """Dimers, with the force constant of their bond."""
    records: Records = {}
    for name, numbers in (("copper_pair", (CU, CU)), ("mixed_pair", (CU, AU))):
        rest = _relaxed(Structure.build(numbers, [[0.0, 0.0, 0.0], [LENGTH, 0.0, 0.0]]))
        _, stiffness, _ = _surface(rest, rest.positions.ravel())
        lines = f"bond = [0, 1]\nbond_stiffness = {0.5 * stiffness[-1]:.6f}\n"  # each end moves by a half
        records[name] = ([Frame(rest, _energy(rest))], lines)
    return records


def _rings() -> Records:
    """Octahedra, whose four middle atoms form a flat ring, with their thermal distance from the plane."""
    corners = LENGTH / np.sqrt(2.0) * np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    records: Records = {}
    for name, tips in (("copper_tips", CU), ("gold_tips", AU)):
        rest = _relaxed(Structure.build([AU] * 4 + [tips] * 2, corners))
        lines = f"ring = [0, 1, 2, 3]\nplane_fluctuation = {_out_of_plane(rest):.6f}\n"
        records[name] = ([Frame(rest, _energy(rest))], lines)
    return records


def _out_of_plane(rest: Structure, count: int = 4) -> float:
    """Root mean square distance (Å) of the first atoms from their plane, z = 0, at 300 K, classical and harmonic."""
    _, stiffness, motions = _surface(rest, rest.positions.ravel())
    inner = stiffness > 1e-2
    flat = np.column_stack([np.ones(count), rest.positions[:count, :2]])
    bent = (np.eye(count) - flat @ np.linalg.pinv(flat)) @ motions[2 : 3 * count : 3, inner]
    return float(np.sqrt(BOLTZMANN * 300.0 * (bent**2 / stiffness[inner]).sum() / count))


def _stable() -> Records:
    """Icosahedra, which stay together at 300 K and have so many atoms that a short run shows its temperature."""
    clusters = {name: _relaxed(_icosahedron(z)) for name, z in (("gold", AU), ("gold_in_copper", CU))}
    return {f"icosahedron_of_{name}": ([Frame(rest, _energy(rest))], "") for name, rest in clusters.items()}


def _icosahedron(shell: int) -> Structure:
    """A gold atom in twelve atoms of an element."""
    golden = 0.5 * (1.0 + 5.0**0.5)
    corners = [p for a in (-1.0, 1.0) for b in (-golden, golden) for p in ((0.0, a, b), (a, b, 0.0), (b, 0.0, a))]
    places = LENGTH * np.array(corners) / np.hypot(1.0, golden)
    return Structure.build([AU, *[shell] * 12], [np.zeros(3), *places])


KINDS: dict[str, Callable[[], Records]] = {
    "noncovalent_interactions": _complexes,
    "dihedral_scan": _torsions,
    "conformer_selection": _conformers,
    "tautomers": _isomers,
    "reference_geometry": _geometries,
    "reactions": _reactions,
    "bonds": _bonds,
    "rings": _rings,
    "stability": _stable,
}
