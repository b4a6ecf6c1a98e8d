"""Many structures in one graph through a MACE network, with its two slowest layers replaced by faster ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.models._batches import Answer, split_answers, split_passes
from assay.models._claims import require_elements
from assay.models._torch import tensor_makers, to_floats
from assay.models.neighbours import Integers, Neighbours, neighbour_pairs
from assay.structure import Structure

PASS_SIZE = 600
"""Atoms and edges in one forward pass on a CPU, or up to 50 % more; much larger passes do not fit into its cache."""


class MaceBatch:
    """Energies and forces of many structures from one graph, in forward passes that fit into the CPU cache."""

    def __init__(self, calculator: Any) -> None:
        from assay.models._mace_layers import replace_slow_layers

        self.network = calculator.models[0]
        self.cutoff = float(calculator.r_max)
        self.head = calculator.available_heads.index(calculator.head)
        reference = next(self.network.parameters())
        self.dtype, self.device = reference.dtype, reference.device
        self.elements = self.network.atomic_numbers.cpu().numpy()
        self.index = np.full(119, -1)
        self.index[self.elements] = np.arange(len(self.elements))
        replace_slow_layers(self.network)

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[Answer]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        if not structures:
            return []
        pairs = neighbour_pairs(structures, self.cutoff)
        edges = np.searchsorted(pairs.structure, np.arange(len(structures) + 1))
        answers: list[Answer] = []
        for start, stop in self._passes(pairs.offsets + edges):
            answers += self._forward(structures[start:stop], pairs, edges[[start, stop]], start)
        return answers

    def _passes(self, sizes: Integers) -> list[tuple[int, int]]:
        """Ranges of structures for each forward pass; `sizes` counts atoms and edges up to each structure."""
        return split_passes(sizes, PASS_SIZE if self.device.type == "cpu" else int(sizes[-1]))

    def _forward(self, structures: Sequence[Structure], pairs: Neighbours, edges: Integers, start: int) -> list[Answer]:
        """One forward pass for structures from number `start` on, whose edges are a range of those of all."""
        offsets = pairs.offsets[start : start + len(structures) + 1]
        output = self.network(self._graph(structures, pairs, slice(*edges), offsets), training=False)
        return split_answers(to_floats(output["energy"]), to_floats(output["forces"]), offsets - offsets[0])

    def _graph(
        self, structures: Sequence[Structure], pairs: Neighbours, edges: slice, offsets: Integers
    ) -> dict[str, Any]:
        """The input of the network: atoms of all structures one after another, and directed edges between them."""
        import torch

        numbers = np.concatenate([s.numbers for s in structures])
        require_elements(numbers.tolist(), self.elements.tolist(), "this MACE model")
        cells = np.stack([s.cell for s in structures])
        owner, shift = pairs.structure[edges], pairs.shift[edges]
        first = int(pairs.atom_structure[offsets[0]])
        floats, integers = tensor_makers(self.dtype, self.device)
        kinds = torch.nn.functional.one_hot(integers(self.index[numbers]), len(self.elements))
        return {
            "positions": floats(np.concatenate([s.positions for s in structures])),
            "node_attrs": kinds.to(self.dtype),
            "edge_index": integers(np.stack([pairs.first[edges], pairs.second[edges]]) - offsets[0]),
            "shifts": floats(np.einsum("ei,eij->ej", shift, cells[owner - first])),
            "unit_shifts": floats(shift),
            "cell": floats(cells.reshape(-1, 3)),
            "batch": integers(pairs.atom_structure[offsets[0] : offsets[-1]] - first),
            "ptr": integers(offsets - offsets[0]),
            "head": integers(np.full(len(structures), self.head)),
        }
