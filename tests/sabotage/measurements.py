"""Direct measurements of errors of a potential, which use none of Assay's checks.

Each measurement returns the size of one kind of error. `LEVEL` has the size above which it counts as an error: sound
code stays 100 times below it, and a bug exceeds it at least ten times.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from ase import Atoms
from ase.calculators.calculator import all_changes
from scipy.spatial.transform import Rotation

from sabotage.structures import (
    CELL,
    COPPER_BOND,
    Build,
    cluster,
    crystal,
    derivative,
    difference,
    dimer,
    directions,
    energy,
    moved,
    strained,
    values,
)

Measure = Callable[[Build], float]
VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
LEVEL: dict[Measure, float] = {}


def error_above(level: float) -> Callable[[Measure], Measure]:
    """Enter a measurement in `LEVEL`."""

    def enter(measure: Measure) -> Measure:
        LEVEL[measure] = level
        return measure

    return enter


@error_above(1e-9)
def forces_against_energy(build: Build) -> float:
    """Force along a direction minus the derivative of the energy (eV/Å)."""
    atoms, forces = cluster(), values(build(), cluster())[1]

    def error(d: np.ndarray) -> float:
        return derivative(lambda s: energy(build, moved(atoms, atoms.positions + s * d)), 0.02) + (forces * d).sum()

    return float(np.abs([error(d) for d in directions()]).max())


@error_above(1e-9)
def curl_of_forces(build: Build) -> float:
    """Asymmetry of the force derivatives (eV/Å²), which is zero for every gradient."""
    atoms, (u, v, _) = cluster(), directions()

    def slope(d: np.ndarray) -> np.ndarray:
        return derivative(lambda s: values(build(), moved(atoms, atoms.positions + s * d))[1], 0.02)

    return float(abs((v * slope(u)).sum() - (u * slope(v)).sum()))


@error_above(1e-9)
def stress_against_energy(build: Build) -> float:
    """Stress minus the strain derivative of the energy per volume (eV/Å³)."""
    return stress_error(build, crystal(), step=0.002)


def stress_error(build: Build, atoms: Atoms, step: float) -> float:
    """Largest error of the stress (eV/Å³) of a crystal."""
    calculator, errors = build(), []
    calculator.calculate(atoms.copy(), ["stress"], all_changes)
    for k, (a, b) in enumerate(VOIGT):
        strain = np.zeros((3, 3))
        strain[a, b] += 0.5
        strain[b, a] += 0.5
        slope = derivative(lambda s, strain=strain: energy(build, strained(atoms, s * strain)), step)
        errors.append(slope / atoms.cell.volume - calculator.results["stress"][k])
    return float(np.abs(errors).max())


@error_above(0.05)
def indifference(build: Build) -> float:
    """1 if the energy is the same for all structures or all forces are zero, else 0."""
    (e, f), (other, _) = values(build(), cluster()), values(build(), cluster(1))
    return float(e == other or not f.any())


@error_above(1e-10)
def net_force(build: Build) -> float:
    """Sum of all forces of a cluster (eV/Å)."""
    return float(np.abs(values(build(), cluster())[1].sum(axis=0)).max())


def image_error(build: Build, image: Atoms, force_map: Callable[[np.ndarray], np.ndarray]) -> float:
    """Error of an image of the cluster, whose forces must be those of the cluster under the map."""
    e, f = values(build(), cluster())
    return difference(values(build(), image), (e, force_map(f)))


@error_above(1e-10)
def rotation(build: Build) -> float:
    """Change when the cluster is rotated."""
    turn = Rotation.random(random_state=3).as_matrix()
    return image_error(build, moved(cluster(), cluster().positions @ turn.T), lambda f: f @ turn.T)


@error_above(1e-10)
def translation(build: Build) -> float:
    """Change when the cluster is shifted."""
    return image_error(build, moved(cluster(), cluster().positions + np.array([1.1, -2.3, 3.7])), lambda f: f)


@error_above(1e-10)
def inversion(build: Build) -> float:
    """Change when the cluster is inverted."""
    return image_error(build, moved(cluster(), -cluster().positions), lambda f: -f)


@error_above(1e-10)
def permutation(build: Build) -> float:
    """Change when the atoms are reordered."""
    order = [3, 1, 0, 2, 7, 5, 6, 4]
    return image_error(build, cluster()[order], lambda f: f[order])


@error_above(1e-10)
def translation_of_crystal(build: Build) -> float:
    """Change when a crystal is shifted such that atoms leave the cell and are not wrapped."""
    atoms, shift = crystal(), np.array([1.1, -1.3, 0.7])
    return difference(values(build(), moved(atoms, atoms.positions + shift)), values(build(), atoms))


@error_above(1e-10)
def doubling(build: Build) -> float:
    """Error of energies and forces of doubled cells, the largest over all kinds of periodicity."""
    errors = []
    for pbc in product((True, False), repeat=3):
        times = [1 + p for p in pbc]
        count = int(np.prod(times))
        e, f = values(build(), crystal(pbc))
        errors.append(difference(values(build(), crystal(pbc).repeat(times)), (e * count, np.tile(f, (count, 1)))))
    return max(errors)


@error_above(1e-10)
def unused_cell(build: Build) -> float:
    """Effect of a cell in directions that are not periodic."""
    boxed = cluster()
    boxed.cell = CELL
    return difference(values(build(), boxed), values(build(), cluster()))


@error_above(3e-7)
def roughness(build: Build) -> float:
    """Largest third difference of the energy (eV) along two paths: tiny if smooth, else the size of the step."""
    dimers = [dimer(x * COPPER_BOND) for x in np.arange(1.75, 1.83, 2e-4)]
    start, way = cluster().positions, np.zeros((8, 3))
    way[0] = [0.9, 0.7, 0.5]
    crossing = [moved(cluster(), start + t * way) for t in np.arange(0.6, 0.75, 5e-4)]
    calculators = build(), build()
    curves = [[values(c, a)[0] for a in path] for c, path in zip(calculators, (dimers, crossing), strict=True)]
    return max(float(np.abs(np.diff(curve, 3)).max()) for curve in curves)


@error_above(1e-13)
def repetition(build: Build) -> float:
    """Difference between two calls of one calculator for one structure."""
    calculator = build()
    return difference(values(calculator, cluster()), values(calculator, cluster()))


def after(build: Build, earlier: Atoms) -> float:
    """Difference that an earlier call for another structure makes."""
    used = build()
    values(used, earlier)
    return difference(values(used, cluster()), values(build(), cluster()))


@error_above(1e-13)
def memory_of_other_structures(build: Build) -> float:
    """Difference that an earlier call for a different structure makes."""
    return after(build, cluster(1))


@error_above(1e-13)
def memory_of_close_structures(build: Build) -> float:
    """Difference that an earlier call for an almost equal structure makes."""
    close = cluster()
    close.positions[0, 0] += 5e-4
    return after(build, close)


@error_above(1e-13)
def change_of_input(build: Build) -> float:
    """Distance (Å) by which a call moves the atoms that it is given."""
    atoms = cluster()
    build().calculate(atoms, ["energy"], all_changes)
    return float(np.abs(atoms.positions - cluster().positions).max())


@error_above(0.05)
def answer_for_unclaimed_species(build: Build) -> float:
    """1 if an unsupported species gets an answer after a supported one, else 0."""
    calculator = build()
    values(calculator, cluster())
    try:
        values(calculator, cluster(symbols="Pt8"))
    except ValueError:
        return 0.0
    return 1.0


@error_above(0.05)
def refused_claims(build: Build) -> float:
    """Number of claimed elements without finite values."""
    missing = 0
    claims = build.claims  # type: ignore[attr-defined]
    for symbol in claims["elements"] if isinstance(claims, dict) else claims:
        try:
            e, f = values(build(), cluster(symbols=f"{symbol}8"))
            missing += not (np.isfinite(e) and np.isfinite(f).all())
        except (ValueError, RuntimeError):
            missing += 1
    return float(missing)
