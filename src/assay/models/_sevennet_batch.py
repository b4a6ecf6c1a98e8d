"""Many structures in one graph, with no edges between them, through a SevenNet network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.models._batches import Answer, split_answers
from assay.models._claims import require_elements
from assay.models._torch import freeze, to_floats
from assay.models.neighbours import Integers, neighbour_pairs
from assay.structure import Structure


class SevenNetBatch:
    """Energies and forces of many structures from one graph; `head` is the level of theory, if there are several."""

    def __init__(self, calculator: Any, head: str | None) -> None:
        self.model = calculator.model
        self.cutoff = float(calculator.cutoff)
        self.elements = calculator.type_map
        self.device = calculator.device
        self.head = self.model.modal_map[head] if head else None
        self.model.set_is_batch_data(True)
        self.model.eval_modal_map = False  # the head is given as a number here, not as a word per structure
        freeze(self.model)

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[Answer]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        import sevenn._keys as key
        import torch

        if not structures:
            return []
        graph, offsets = self._graph(structures)
        with torch.jit.optimized_execution(False):  # batches differ in shape, so optimised code is never used again
            output = self.model(graph)
        return split_answers(to_floats(output[key.PRED_TOTAL_ENERGY]), to_floats(output[key.PRED_FORCE]), offsets)

    def _graph(self, structures: Sequence[Structure]) -> tuple[dict[str, Any], Integers]:
        """The input of the network, and the number of the first atom of each structure."""
        import sevenn._keys as key
        import torch

        numbers = np.concatenate([s.numbers for s in structures])
        require_elements(numbers.tolist(), self.elements, "SevenNet")
        pairs = neighbour_pairs(structures, self.cutoff)
        graph = {
            key.NODE_FEATURE: torch.from_numpy(numbers),
            key.ATOMIC_NUMBERS: torch.from_numpy(numbers),
            key.EDGE_IDX: torch.from_numpy(np.stack([pairs.first, pairs.second])),
            key.EDGE_VEC: torch.from_numpy(pairs.vector.astype(np.float32)),
            key.CELL_VOLUME: torch.ones(len(structures)),  # used only for the stress, which is not read
            key.NUM_ATOMS: torch.from_numpy(np.diff(pairs.offsets)),
            key.BATCH: torch.from_numpy(pairs.atom_structure),
        }
        if self.head is not None:
            graph[key.MODAL_TYPE] = torch.full((len(structures),), self.head)
        return {name: tensor.to(self.device) for name, tensor in graph.items()}, pairs.offsets
