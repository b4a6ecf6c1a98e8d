"""Small files in MLIPAudit's layout, with molecules that nobody would mistake for real data."""

from __future__ import annotations

import json
import math
from pathlib import Path

LINE = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.75], [0.0, 0.0, 3.0], [0.0, 0.0, 3.75]]


def curve(*distances: float) -> list[list[list[float]]]:
    return [[*LINE[:2], [0.0, 0.0, d], [0.0, 0.0, d + 0.75]] for d in distances]


def peroxide(angle: float) -> list[list[float]]:
    """HOOH turned by an angle (degrees)."""
    turned = [0.95 * math.cos(math.radians(angle)), 0.95 * math.sin(math.radians(angle)), 1.63]
    return [[0.95, 0.0, -0.18], [0.0, 0.0, 0.0], [0.0, 0.0, 1.45], turned]


def structure(energy: float, length: float) -> dict[str, object]:
    return {"energy": energy, "atom_symbols": ["H", "F"], "coordinates": [[0, 0, 0], [0, 0, length]]}


PAIR = {"atom_symbols": [["H", "F"], ["F", "H"]], "coordinates": [LINE[:2], LINE[:2]], "energies": [-10.0, -9.5]}
HYDROGENS = {
    "system_name": "hydrogen...hydrogen",
    "dataset_name": "NCIA_D442x10",
    "group": "HCNO",
    "total_charge": 0.0,
    "charge_a": 0.0,
    "charge_b": 0.0,
    "selection_indices_a": [0, 1],
    "selection_indices_b": [2, 3],
    "atom_symbols": ["H"] * 4,
    "distance_profile": [20.0, 10.0, 8.0],
    "interaction_energy_profile": [-0.004, -0.09, 0.176],
    "coords": curve(6.0, 3.0, 2.4),
}
FRAGMENT = {
    "torsion_atom_indices": [0, 1, 2, 3],
    "dft_energy_profile": [[-15.0, 2.0], [0.0, 0.0]],
    "atom_symbols": ["H", "O", "O", "H"],
    "conformer_coordinates": [peroxide(-15.0), peroxide(0.0)],
    "smiles": "OO",
}
CONFORMERS = {
    "molecule_name": "ado",
    "dft_energy_profile": [-1000.0, -998.0],
    "atom_symbols": ["H"] * 4,
    "conformer_coordinates": curve(3.0, 3.1),
    "charge": 1,
}
GEOMETRY = {"atom_symbols": ["H", "F"], "coordinates": LINE[:2], "smiles": "F", "charge": 0}
REACTION = {
    "reactants": structure(-500.0, 0.9),
    "products": structure(-490.0, 1.9),
    "transition_state": structure(-460.0, 1.4),
}
BOND = {
    "atom_symbols": ["C", "O"],
    "coordinates": [[0.0, 0.0, 0.0], [0.0, 0.0, 1.4]],
    "smiles": "CO",
    "charge": 0,
    "pattern_atom_indices": [0, 1],
    "reference_bond_distance": 1.4,
}
SQUARE = {
    "atom_symbols": ["C"] * 4,
    "coordinates": [[0.0, 0.0, 0.0], [1.4, 0.0, 0.0], [1.4, 1.4, 0.0], [0.0, 1.4, 0.0]],
    "smiles": "C1CCC1",
    "charge": 0,
    "pattern_atoms": [0, 1, 2, 3],
}
DOCUMENTS: dict[str, object] = {
    "noncovalent_interactions/NCI_Atlas.json": {"1.01.01": HYDROGENS},
    "dihedral_scan/TorsionNet500.json": {"fragment_001": FRAGMENT},
    "conformer_selection/folmsbee_dataset.json": [CONFORMERS],
    "conformer_selection/wiggle150_dataset.json": [CONFORMERS],
    "tautomers/tautobase_2792.json": {"0987": PAIR},
    "reference_geometry_stability/openff_n200_neutral.json": {"mol_0": GEOMETRY},
    "reference_geometry_stability/openff_n20_charged.json": {"mol_0": GEOMETRY | {"charge": -1}},
    "reactivity/grambow_dataset.json": {"005639": REACTION},
    "nudged_elastic_band/grambow_dataset_neb.json": {"000000": REACTION},
    "bond_length_distribution/bond_length_distribution.json": {"carbon-oxygen (single)": BOND},
    "ring_planarity/ring_planarity_data.json": {"square": SQUARE},
}


def write(folder: Path, documents: dict[str, object]) -> Path:
    for name, document in documents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(document if isinstance(document, str) else json.dumps(document))
    return folder
