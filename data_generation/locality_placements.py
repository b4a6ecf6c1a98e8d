"""Make the coordinates of the benchmark `physicality.locality` and write them to its data file.

    python data_generation/locality_placements.py

Acetone has the MP2 geometry of the G2 set in ASE, with the mean of its atoms at the origin. Ghost atoms and hydrogens
are placed at random around this origin, with a fixed seed. Units: Å, rounded to 1e-5 Å.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from ase.build import molecule

SEED = 20240611
CUBE = 60.0
GHOSTS, SHELLS = 20, 5
FROM_SOLUTE, FROM_EACH_OTHER = 40.05, 5.05
"""Slightly more than 40 Å and 5 Å, so that rounding does not make them smaller."""

PLACEMENTS = 30
NEAREST, FARTHEST = 20.0, 50.0
TARGET = Path(__file__).parents[1] / "src" / "assay" / "data" / "locality" / "placements.json"


def nearest(points: np.ndarray, site: np.ndarray) -> float:
    """The shortest distance (Å) from a site to any of the points or their nearest periodic images."""
    gaps = points - site
    gaps -= CUBE * np.rint(gaps / CUBE)
    return float(np.linalg.norm(gaps, axis=1).min()) if len(points) else np.inf


def shell(solute: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random sites far from the solute and not too close to each other."""
    sites: list[np.ndarray] = []
    while len(sites) < GHOSTS:
        site = rng.uniform(-0.5 * CUBE, 0.5 * CUBE, 3)
        placed = np.array(sites).reshape(-1, 3)
        if nearest(solute, site) >= FROM_SOLUTE and nearest(placed, site) >= FROM_EACH_OTHER:
            sites.append(site)
    return np.array(sites)


def hydrogens(rng: np.random.Generator) -> np.ndarray:
    """Random sites: distances are uniform between the limits, directions are uniform on the sphere."""
    directions = rng.normal(size=(PLACEMENTS, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return directions * rng.uniform(NEAREST + 0.01, FARTHEST - 0.01, PLACEMENTS)[:, None]


def main() -> None:
    """Write the file."""
    acetone = molecule("CH3COCH3")
    positions = np.round(acetone.positions - acetone.positions.mean(axis=0), 5)
    rng = np.random.default_rng(SEED)
    shells = [shell(positions, rng) for _ in range(SHELLS)]
    data = {
        "seed": SEED,
        "cube": CUBE,
        "acetone": {"numbers": acetone.numbers.tolist(), "positions": positions.tolist()},
        "shells": [np.round(sites, 5).tolist() for sites in shells],
        "hydrogens": np.round(hydrogens(rng), 5).tolist(),
    }
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(json.dumps(data) + "\n", encoding="utf-8")
    print(f"{TARGET.name} is written")


if __name__ == "__main__":
    main()
