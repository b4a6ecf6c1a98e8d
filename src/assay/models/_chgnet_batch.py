"""Many structures in one graph through a CHGNet network.

CHGNet makes its own graphs bond by bond in Python; here numpy makes the graph of all structures at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelFailure
from assay.models._batches import Answer, evaluate_groups, split_answers
from assay.models._bonds import bond_pairs, undirected_bonds
from assay.models._torch import freeze, tensor_makers, to_floats
from assay.models.neighbours import Integers, Neighbours, neighbour_pairs
from assay.structure import Floats, Structure


class ChgnetBatch:
    """Energies and forces of many structures from one graph."""

    def __init__(self, calculator: Any) -> None:
        self.network = calculator.model.eval()
        self.device = next(self.network.parameters()).device
        self.cutoff = float(self.network.graph_converter.atom_graph_cutoff)
        self.angle_cutoff = float(self.network.graph_converter.bond_graph_cutoff)
        self.largest = self.network.atom_embedding.embedding.num_embeddings
        freeze(self.network)

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[Answer]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given.

        Structures without angles are evaluated apart from the others: CHGNet leaves out a layer for them, which in
        CHGNet 0.2.0 adds a constant.
        """
        if not structures:
            return []
        numbers = np.concatenate([s.numbers for s in structures])
        if numbers.max() > self.largest:
            raise ModelFailure(f"CHGNet supports atomic numbers up to {self.largest}, not {numbers.max()}")
        pairs = neighbour_pairs(structures, self.cutoff)
        if 0 < (angular := self._has_angles(pairs)).sum() < len(structures):
            groups = [np.flatnonzero(chosen).tolist() for chosen in (angular, ~angular)]
            return evaluate_groups(structures, groups, self.evaluate)
        return self._evaluate_together(structures, numbers, pairs)

    def _evaluate_together(self, structures: Sequence[Structure], numbers: Integers, pairs: Neighbours) -> list[Answer]:
        """The answers for structures that all have angles, or all have none."""
        import torch

        graph = self._graph(structures, numbers, pairs)
        counts = torch.as_tensor(np.diff(pairs.offsets), device=self.device)
        per_cell = self.network._compute(graph)["e"] * (counts if self.network.is_intensive else 1)
        slope = torch.autograd.grad(per_cell.sum(), graph.atom_positions[0], allow_unused=True)[0]
        forces = np.zeros((len(numbers), 3)) if slope is None else -to_floats(slope)
        return split_answers(to_floats(per_cell) + self._composition_energy(numbers, pairs), forces, pairs.offsets)

    def _has_angles(self, pairs: Neighbours) -> NDArray[np.bool_]:
        """Whether each structure has an atom with two short bonds."""
        short = np.linalg.norm(pairs.vector, axis=1) < self.angle_cutoff
        bonds = np.bincount(pairs.first[short], minlength=len(pairs.atom_structure))
        centres = np.bincount(pairs.atom_structure[bonds > 1], minlength=len(pairs.offsets) - 1)
        return np.asarray(centres > 0)

    def _composition_energy(self, numbers: Integers, pairs: Neighbours) -> Floats:
        """The part of the energy (eV) that depends only on the composition."""
        if self.network.composition_model is None:
            return np.zeros(len(pairs.offsets) - 1)
        per_element = to_floats(self.network.composition_model.fc.weight).ravel()
        total = np.bincount(pairs.atom_structure, per_element[numbers - 1], minlength=len(pairs.offsets) - 1)
        return np.asarray(total, dtype=float)

    def _graph(self, structures: Sequence[Structure], numbers: Integers, pairs: Neighbours) -> Any:
        """The batched graph of CHGNet: atoms, bonds in both directions, bonds without direction, and pairs of bonds."""
        import torch
        from chgnet.model.model import BatchedGraph

        floats, integers = tensor_makers(torch.float32, self.device)
        undirected, one_way = undirected_bonds(pairs)
        angles, _ = bond_pairs(pairs.first, np.linalg.norm(pairs.vector, axis=1) < self.angle_cutoff)
        # Near the origin, positions in single precision have smaller rounding errors.
        positions = floats(np.concatenate([s.positions - s.positions[0] for s in structures]))
        positions.requires_grad_(True)
        cells = np.stack([s.cell for s in structures])
        moves = floats(np.einsum("ei,eij->ej", pairs.shift, cells[pairs.structure]))
        bonds = integers(np.stack([pairs.first, pairs.second], axis=1))
        ends = (positions[bonds[:, 0]], positions[bonds[:, 1]])
        identity = torch.eye(3, device=self.device)
        for_atoms, for_bonds, directions = self.network.bond_basis_expansion(*ends, integers(one_way), moves, identity)
        left, right = integers(angles[:, 0]), integers(angles[:, 1])
        bases = self.network.angle_basis_expansion(directions[left], directions[right]) if len(angles) else left
        return BatchedGraph(
            atomic_numbers=integers(numbers),
            bond_bases_ag=for_atoms,
            bond_bases_bg=for_bonds,
            angle_bases=bases,
            batched_atom_graph=bonds,
            batched_bond_graph=integers(np.stack([pairs.first[angles[:, 0]], *undirected[angles.T]], axis=1)),
            atom_owners=integers(pairs.atom_structure),
            directed2undirected=integers(undirected),
            atom_positions=[positions],
            strains=[],
            volumes=[],
        )
