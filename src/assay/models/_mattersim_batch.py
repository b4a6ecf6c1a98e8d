"""Many structures in one graph through a MatterSim network; numpy lists the pairs of bonds that the network reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.errors import ModelFailure
from assay.models._batches import Answer, split_answers
from assay.models._bonds import bond_pairs
from assay.models._torch import freeze, tensor_makers, to_floats
from assay.models.neighbours import Integers, Neighbours, neighbour_pairs
from assay.structure import Floats, Structure

PERIODICITY = ("FFF", "TTT")
"""The patterns of periodic directions that MatterSim treats correctly."""

PASS_SIZE = 100_000
"""Pairs of bonds in one forward pass; each takes about 2 kB, and a metal has 2000 of them per atom."""


class MatterSimBatch:
    """Energies and forces of many structures from one graph."""

    def __init__(self, calculator: Any) -> None:
        self.potential = calculator.potential
        self.device = calculator.device
        arguments = self.potential.model.model_args
        self.cutoff, self.angle_cutoff = float(arguments["cutoff"]), float(arguments["threebody_cutoff"])
        self.largest = int(arguments["max_z"])
        freeze(self.potential)

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[Answer]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        if not structures:
            return []
        if any(s.pattern not in PERIODICITY for s in structures):
            raise ModelFailure("MatterSim supports only structures that are periodic in all directions or in none")
        pairs = neighbour_pairs(structures, self.cutoff)
        size = np.cumsum(self._bond_pair_counts(pairs))
        if size[-1] > PASS_SIZE and len(structures) > 1:
            middle = min(int(np.searchsorted(size, size[-1] / 2)) + 1, len(structures) - 1)
            return [*self.evaluate(structures[:middle]), *self.evaluate(structures[middle:])]
        output = self.potential(self._graph(structures, pairs), include_forces=True, include_stresses=False)
        return split_answers(to_floats(output["total_energy"]), to_floats(output["forces"]), pairs.offsets)

    def _bond_pair_counts(self, pairs: Neighbours) -> Floats:
        """The number of pairs of bonds at the same atom in each structure."""
        short = np.linalg.norm(pairs.vector, axis=1) <= self.angle_cutoff
        bonds = np.bincount(pairs.first[short], minlength=len(pairs.atom_structure))
        counts = np.bincount(pairs.atom_structure, bonds * (bonds - 1), minlength=len(pairs.offsets) - 1)
        return np.asarray(counts, dtype=float)

    def _graph(self, structures: Sequence[Structure], pairs: Neighbours) -> dict[str, Any]:
        """The input of the network; atoms and bonds are numbered through all structures."""
        import torch

        numbers: Integers = np.concatenate([s.numbers for s in structures])
        if numbers.max() > self.largest:
            raise ModelFailure(f"MatterSim supports atomic numbers up to {self.largest}, not {numbers.max()}")
        short = np.linalg.norm(pairs.vector, axis=1) <= self.angle_cutoff
        triples, per_bond = bond_pairs(pairs.first, short)
        bonds = np.bincount(pairs.structure, minlength=len(structures))
        positions, cells, shifts = self._folded(structures, pairs)
        floats, integers = tensor_makers(torch.float32, self.device)
        return {
            "atom_pos": floats(positions),
            "atom_attr": floats(numbers[:, None]),
            "cell": floats(cells),
            "pbc_offsets": floats(shifts),
            "edge_index": integers(np.stack([pairs.first, pairs.second])),
            "three_body_indices": integers(triples),
            "bond_index_bias": integers(np.zeros((len(triples), 1))),
            "three_body_edge_map": integers(triples[:, 0]),
            "num_triple_ij": integers(per_bond[:, None]),
            "num_three_body": integers(np.bincount(pairs.structure[triples[:, 0]], minlength=len(structures))),
            "num_bonds": integers(bonds),
            "num_atoms": integers(np.diff(pairs.offsets)),
            "num_graphs": integers(len(structures)),
            "batch": integers(pairs.atom_structure),
            "total_num_atoms": len(numbers),
            "total_num_bonds": len(pairs.first),
        }

    def _folded(self, structures: Sequence[Structure], pairs: Neighbours) -> tuple[Floats, Floats, Floats]:
        """Positions inside the cell, cells, and lattice translations of the bonds between the moved atoms.

        MatterSim moves all atoms into the cell; a molecule gets a box. This changes positions by a rounding error of
        single precision, which is visible in the energy. A batch must have the same rounding errors.
        """
        margin = 5.0 * max(self.cutoff, self.angle_cutoff)
        boxes = [s.cell if any(s.pbc) else np.eye(3) * (np.ptp(s.positions, axis=0).max() + margin) for s in structures]
        cells = np.stack(boxes)
        own = cells[pairs.atom_structure]
        places = np.concatenate([s.positions for s in structures])
        fractions = np.einsum("ai,aij->aj", places, np.linalg.inv(cells)[pairs.atom_structure])
        inside = fractions % 1.0 % 1.0  # twice, because a tiny negative number gives 1 the first time
        moved = np.rint(fractions - inside)
        shifts = pairs.shift + moved[pairs.second] - moved[pairs.first]
        return np.einsum("ai,aij->aj", inside, own), cells, shifts
