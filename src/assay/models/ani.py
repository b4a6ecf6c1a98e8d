"""ANI: ensembles of eight networks for organic molecules of H, C, N and O, with weights in the package `torchani`.

All molecules of a batch go through the network together. Periodic structures go one by one, because torchani supports
only one cell at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.model import ModelCard
from assay.models._batches import Answer, evaluate_groups, unpadded_answers
from assay.models._claims import ANY_PERIODICITY, require_elements
from assay.models._torch import DEVICES, freeze, require_device
from assay.models.registry import NamedModel
from assay.structure import Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

ELEMENTS = (1, 6, 7, 8)
NOTES = (
    "Trained on molecules only: periodic systems are computed correctly, but are not part of the training data.",
    "The networks use float32; the reference energies of the atoms and the total energy use float64.",
)


def build(kind: str, device: str = "cpu") -> Calculator:
    """The ASE calculator of the whole ensemble; `kind` is the name of its class in `torchani.models`."""
    ensemble = _ensemble(kind, device)
    from ase.calculators.calculator import all_changes
    from torchani.ase import Calculator as AniCalculator

    class Checked(AniCalculator):
        """Refuses unsupported elements with a message."""

        def calculate(
            self, atoms: Any = None, properties: Any = ("energy",), system_changes: Any = all_changes
        ) -> None:
            _species(atoms.numbers)
            super().calculate(atoms, properties, system_changes)

    return Checked(ensemble.species, ensemble)


def build_batch(kind: str, device: str = "cpu") -> AniBatch:
    """The batch evaluator of the same ensemble."""
    return AniBatch(_ensemble(kind, device), device)


def _ensemble(kind: str, device: str) -> Any:
    """A new copy of the ensemble: torchani needs three seconds to read its text files, a copy takes 20 ms."""
    return deepcopy(_parsed(kind)).to(require_device(device))


@cache
def _parsed(kind: str) -> Any:
    """The ensemble as torchani reads it; its warnings are switched off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchani 2.0 finds its files with pkg_resources, which is deprecated
        from torchani import models
    # torchani makes a tensor of the cell row by row. torch warns about it, but the result is correct.
    warnings.filterwarnings("ignore", message="Creating a tensor from a list of numpy.ndarrays", category=UserWarning)
    return getattr(models, kind)()


class AniBatch:
    """Energies and forces of many structures; all molecules go through all eight networks in one pass."""

    def __init__(self, ensemble: Any, device: str) -> None:
        from assay.models._ani_layers import stack_networks

        self.model = ensemble
        self.device = device
        stack_networks(ensemble)
        freeze(ensemble)

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[Answer]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        periodic = [[i] for i, s in enumerate(structures) if any(s.pbc)]
        molecules = [i for i, s in enumerate(structures) if not any(s.pbc)]
        return evaluate_groups(structures, [*periodic, molecules], self._forward)

    def _forward(self, structures: Sequence[Structure]) -> list[Answer]:
        """One forward pass: any number of molecules, or one periodic structure."""
        import torch
        from ase.units import Hartree
        from torch.nn.utils.rnn import pad_sequence
        from torchani.utils import map2central

        species = [torch.from_numpy(_species(s.numbers)) for s in structures]
        places = [torch.from_numpy(s.positions.astype(np.float32)) for s in structures]
        box = self._box(structures[0])
        if box:
            places = [map2central(box["cell"].cpu(), places[0], box["pbc"].cpu())]
        coordinates = pad_sequence(places, batch_first=True).to(self.device).requires_grad_()
        padded = pad_sequence(species, batch_first=True, padding_value=-1).to(self.device)
        energies = self.model((padded, coordinates), **box).energies * Hartree
        gradients = torch.autograd.grad(energies.sum(), coordinates)[0]
        forces = -gradients.cpu().numpy().astype(float)
        return unpadded_answers(energies.detach().cpu().tolist(), forces, structures)

    def _box(self, structure: Structure) -> dict[str, Any]:
        """The cell and the periodic directions as torchani needs them; nothing for a molecule."""
        import torch
        from ase.geometry import complete_cell

        if not any(structure.pbc):
            return {}
        cell = torch.tensor(complete_cell(structure.cell), dtype=torch.float32, device=self.device)
        return {"cell": cell, "pbc": torch.tensor(structure.pbc, device=self.device)}


def _species(numbers: np.ndarray) -> np.ndarray:
    """The numbers that torchani uses for the elements; it would leave out atoms of other elements without a message."""
    require_elements(numbers.tolist(), ELEMENTS, "ANI")
    return np.searchsorted(ELEMENTS, numbers)


def _named(name: str, kind: str, folder: str, theory: str, words: str) -> NamedModel:
    card = ModelCard(
        name,
        elements=ELEMENTS,
        pbc=ANY_PERIODICITY,
        charge=False,
        spin=False,
        precision="float32",
        theory=theory,
        licence="MIT (torchani)",
        description=f"{words}, eight networks; organic molecules of H, C, N, O",
        packages=("torchani", "torch"),
        notes=NOTES,
    )
    return NamedModel(
        card,
        partial(build, kind),
        imports=("torchani", "pkg_resources"),
        install="pip install 'mlip-assay[ani]'",
        inside=("torchani", f"resources/{folder}"),
        build_batch=partial(build_batch, kind),
        devices=DEVICES,
    )


MODELS = {
    "ani-1ccx": _named("ani-1ccx", "ANI1ccx", "ani-1ccx_8x", "CCSD(T)*/CBS, by transfer from ωB97X", "ANI-1ccx"),
    "ani-1x": _named("ani-1x", "ANI1x", "ani-1x_8x", "ωB97X/6-31G(d)", "ANI-1x"),
}
