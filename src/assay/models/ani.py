"""ANI: ensembles of eight networks for organic molecules of H, C, N and O, with weights inside the `torchani` package.

A batch is one padded array. Periodic structures have a cell each, which torchani takes one at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import ModelFailure
from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.models._torch import require_device
from assay.models.registry import Registered
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

ELEMENTS = (1, 6, 7, 8)
DEVICES = ("cpu", "cuda")
NOTES = (
    "Trained on molecules only: periodic systems are computed correctly, but nothing was fitted to them.",
    "Networks in float32, reference energies of the atoms and their sum in float64.",
)


def build(kind: str, device: str = "cpu") -> Calculator:
    """torchani's ASE calculator of the whole ensemble; `kind` is its class in `torchani.models`."""
    ensemble = _ensemble(kind, device)
    from ase.calculators.calculator import all_changes
    from torchani.ase import Calculator as AniCalculator

    class Checked(AniCalculator):
        """Refuses unknown elements in words."""

        def calculate(
            self, atoms: Any = None, properties: Any = ("energy",), system_changes: Any = all_changes
        ) -> None:
            _species(atoms.numbers)
            super().calculate(atoms, properties, system_changes)

    return Checked(ensemble.species, ensemble)


def build_batch(kind: str, device: str = "cpu") -> AniBatch:
    """The batched evaluator of the same ensemble."""
    return AniBatch(_ensemble(kind, device), device)


def _ensemble(kind: str, device: str) -> Any:
    """An ensemble of its own for every caller: torchani parses text files for three seconds, a copy takes 20 ms."""
    return deepcopy(_parsed(kind)).to(require_device(device))


@cache
def _parsed(kind: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchani 2.0 finds its files with pkg_resources, which is deprecated
        from torchani import models
    # torchani turns the cell into a tensor row by row, of which torch warns at every start; the result is right.
    warnings.filterwarnings("ignore", message="Creating a tensor from a list of numpy.ndarrays", category=UserWarning)
    return getattr(models, kind)()


class AniBatch:
    """Energies and forces of many structures; all that are not periodic in one forward pass."""

    def __init__(self, ensemble: Any, device: str) -> None:
        self.model = ensemble
        self.device = device
        for parameter in ensemble.parameters():
            parameter.requires_grad_(False)  # only the gradient by positions is wanted

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        alone = [i for i, s in enumerate(structures) if any(s.pbc)]
        together = [i for i, s in enumerate(structures) if not any(s.pbc)]
        found: dict[int, tuple[float, Floats]] = {}
        for group in [*([i] for i in alone), together]:
            if group:
                found.update(zip(group, self._pass([structures[i] for i in group]), strict=True))
        return [found[i] for i in range(len(structures))]

    def _pass(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
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
        values = energies.detach().cpu().tolist()
        return [(e, f[: len(s)].copy()) for e, f, s in zip(values, forces, structures, strict=True)]

    def _box(self, structure: Structure) -> dict[str, Any]:
        """The cell and the periodic directions as torchani takes them; nothing for a molecule."""
        import torch
        from ase.geometry import complete_cell

        if not any(structure.pbc):
            return {}
        cell = torch.tensor(complete_cell(structure.cell), dtype=torch.float32, device=self.device)
        return {"cell": cell, "pbc": torch.tensor(structure.pbc, device=self.device)}


def _species(numbers: np.ndarray) -> np.ndarray:
    """Places of the elements in torchani's list; it would take an element that it does not know for padding."""
    unknown = sorted(set(numbers.tolist()) - set(ELEMENTS))
    if unknown:
        from ase.data import chemical_symbols

        raise ModelFailure(f"ANI knows H, C, N and O, not {', '.join(chemical_symbols[z] for z in unknown)}")
    return np.searchsorted(ELEMENTS, numbers)


def _register(name: str, kind: str, folder: str, theory: str, words: str) -> Registered:
    card = ModelCard(
        name,
        elements=ELEMENTS,
        pbc=("FFF", *PERIODIC_PATTERNS),
        charge=False,
        spin=False,
        precision="float32",
        theory=theory,
        licence="MIT (torchani)",
        description=f"{words}, eight networks; organic molecules of H, C, N, O",
        packages=("torchani", "torch"),
        notes=NOTES,
    )
    return Registered(
        card,
        partial(build, kind),
        imports=("torchani", "pkg_resources"),
        install="pip install 'mlip-assay[ani]'",
        inside=("torchani", f"resources/{folder}"),
        build_batch=partial(build_batch, kind),
        devices=DEVICES,
    )


MODELS = {
    "ani-1ccx": _register("ani-1ccx", "ANI1ccx", "ani-1ccx_8x", "CCSD(T)*/CBS, by transfer from ωB97X", "ANI-1ccx"),
    "ani-1x": _register("ani-1x", "ANI1x", "ani-1x_8x", "ωB97X/6-31G(d)", "ANI-1x"),
}
