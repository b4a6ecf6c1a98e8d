"""Many structures as one padded system through a FeNNol model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from assay.models._batches import Answer, evaluate_groups, split_answers
from assay.models._calculators import voigt
from assay.models._claims import require_elements, require_neutral
from assay.models._fennol_padding import SMALL, padded_arrays, padded_size, padded_systems, rounded_state
from assay.structure import Structure

MAX_NEIGHBOURS = 4096
"""The largest number of neighbours. FeNNol keeps it as the size of an array that is not used here; it never changes."""


@lru_cache(maxsize=4)
def load_network(path: Path, changed: int) -> Any:
    """The model in a file; `changed` is the time of its last change.

    Calculators share the model, because it holds what JAX has compiled, and nothing else in it changes.
    """
    from fennol import FENNIX

    return FENNIX.load(str(path))


class FennolBatch:
    """Energies and forces of many structures, in arrays of a few fixed sizes.

    Args:
        path: The file of the model.
        elements: The atomic numbers that the model supports, or None if they are unknown.
    """

    def __init__(self, path: Path, elements: tuple[int, ...] | None) -> None:
        import jax
        from ase.units import Hartree

        self.network = load_network(path, path.stat().st_mtime_ns)
        self.elements = elements
        self.to_ev = Hartree / self.network.Ha_to_model_energy
        weights = jax.tree_util.tree_leaves(self.network.variables)
        self.as_used = {"precision": str(weights[0].dtype), "device": jax.devices()[0].platform}

    def evaluate(self, structures: Sequence[Structure]) -> list[Answer]:
        """Energy (eV) and forces (eV/Å) of each structure; periodic ones are evaluated apart from the others."""
        groups = [[i for i, s in enumerate(structures) if any(s.pbc) == periodic] for periodic in (False, True)]
        return evaluate_groups(structures, groups, self._evaluate_together)

    def with_stress(self, structure: Structure) -> dict[str, object]:
        """Energy (eV), forces (eV/Å) and stress (eV/Å³) of one crystal."""
        inputs = self._inputs([structure])
        energies, forces, virials, _ = self.network._energy_and_forces_and_virial(self.network.variables, inputs)
        energy, own_forces = self._without_padding([structure], energies, forces)[0]
        stress = np.asarray(virials[0], dtype=float) * self.to_ev / structure.volume
        return {"energy": energy, "forces": own_forces, "stress": voigt(stress)}

    def _evaluate_together(self, structures: Sequence[Structure]) -> list[Answer]:
        """The answers for structures that are all periodic, or all not periodic."""
        energies, forces, _ = self.network._energy_and_forces(self.network.variables, self._inputs(structures))
        return self._without_padding(structures, energies, forces)

    def _without_padding(self, structures: Sequence[Structure], energies: Any, forces: Any) -> list[Answer]:
        """The answers in eV and eV/Å, without the added atoms and systems."""
        offsets = np.concatenate([[0], np.cumsum([len(s) for s in structures])])
        total = np.asarray(energies, dtype=float)[: len(structures)].reshape(-1) * self.to_ev
        return split_answers(total, np.asarray(forces, dtype=float)[: offsets[-1]] * self.to_ev, offsets)

    def _inputs(self, structures: Sequence[Structure]) -> Mapping[str, Any]:
        """Arrays for the network.

        Their sizes depend only on the structures, not on what was evaluated before. Sums over arrays of another size
        have other rounding errors, and the same structure must always give the same numbers.
        """
        for structure in structures:
            self._require_supported(structure)
        atoms = padded_size(sum(len(s) for s in structures))
        systems = padded_systems(structures, atoms)
        periodic = any(structures[0].pbc)
        raw = padded_arrays(structures, atoms, systems, self.network.cutoff if periodic else None)
        first = self._first_sizes(atoms, systems)
        needed, inputs = self.network.preprocessing(first, raw)
        sizes = rounded_state(needed, common=atoms <= SMALL or systems > 2)
        if sizes != first:
            _, inputs = self.network.preprocessing(sizes, raw)
        return dict(inputs)

    def _first_sizes(self, atoms: int, systems: int) -> Any:
        """Sizes to begin with, without the margins of FeNNol; for a small molecule they are always large enough."""
        from flax.core.frozen_dict import FrozenDict

        start = self.network.preprocessing.init()
        n = atoms if atoms <= SMALL and systems == 2 else 1
        enough: dict[str, Any] = {"max_nat": atoms, "npairs": n * n // 2, "nangles": n**3 // 2}
        enough |= {"max_neigh": MAX_NEIGHBOURS, "add_neigh": 0, "nblist_mult_size": 1.0}
        enough["sizes"] = FrozenDict(dict.fromkeys(self.elements or (), n))
        layers = [FrozenDict({k: enough.get(k, v) for k, v in layer.items()}) for layer in start["layers_state"]]
        return rounded_state(FrozenDict({**start, "layers_state": tuple(layers)}), common=True)

    def _require_supported(self, structure: Structure) -> None:
        """Refuse what FeNNol would leave out without a message: atoms without a network, and the charge."""
        if self.elements is not None:
            require_elements(structure.numbers.tolist(), self.elements, "this FeNNol model")
        require_neutral(structure.charge, "this FeNNol model")
