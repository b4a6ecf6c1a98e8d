"""The eight networks of an ANI ensemble as one: their weights are stacked, so that one product does the work of eight.

The numbers are those of torchani within rounding. This file imports torch, so it is imported only when an ANI model is
built.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def stack_networks(model: Any) -> None:
    """Replace the networks of an ensemble by a stack of them, if all have the same layers; else they stay."""
    networks = list(model.neural_networks)
    if len(networks) > 1 and len({str(network) for network in networks}) == 1 and _has_known_layers(networks[0]):
        model.neural_networks = StackedEnsemble(networks)


def _has_known_layers(network: Any) -> bool:
    """True if the network of every element is linear layers with a CELU after each but the last one."""
    kinds = [[type(layer) for layer in layers] for layers in network.values()]
    return all(
        set(row[::2]) == {torch.nn.Linear} and set(row[1::2]) == {torch.nn.CELU} and len(row) % 2 == 1 for row in kinds
    )


class StackedEnsemble(torch.nn.Module):
    """The mean energy of all networks of an ensemble, for molecules with any number of added atoms (species -1)."""

    def __init__(self, networks: list[Any]) -> None:
        super().__init__()
        self.elements = torch.nn.ModuleList(StackedLayers([n[name] for n in networks]) for name in networks[0])

    def forward(self, species_and_features: tuple[Tensor, Tensor], cell: Any = None, pbc: Any = None) -> Any:
        """Species as they are, and the energy of each molecule (Hartree), as the ensemble of torchani returns them."""
        species, features = species_and_features
        kinds, rows = species.flatten(), features.flatten(0, 1)
        energies = rows.new_zeros(kinds.shape)
        for kind, layers in enumerate(self.elements):
            atoms = (kinds == kind).nonzero().flatten()
            if len(atoms):
                energies = energies.index_copy(0, atoms, layers(rows.index_select(0, atoms)))
        return species, energies.view_as(species).sum(dim=1)


class StackedLayers(torch.nn.Module):
    """The networks of one element."""

    def __init__(self, networks: list[Any]) -> None:
        super().__init__()
        linear = [[layer for layer in network if isinstance(layer, torch.nn.Linear)] for network in networks]
        depth = range(len(linear[0]))
        self.alphas = [float(layer.alpha) for layer in networks[0] if isinstance(layer, torch.nn.CELU)]
        # All networks have the same input, so their first layers are one layer with many outputs.
        first = [layers[0] for layers in linear]
        self.count, self.width = len(networks), first[0].out_features
        self.first_weight = torch.nn.Parameter(torch.cat([layer.weight for layer in first]).detach().clone())
        self.first_bias = torch.nn.Parameter(torch.cat([layer.bias for layer in first]).detach().clone())
        self.weights = torch.nn.ParameterList(
            torch.stack([layers[i].weight.t() for layers in linear]).detach().clone() for i in depth[1:]
        )
        self.biases = torch.nn.ParameterList(
            torch.stack([layers[i].bias[None, :] for layers in linear]).detach().clone() for i in depth[1:]
        )

    def forward(self, features: Tensor) -> Tensor:
        """The mean energy (Hartree) of each atom over all networks."""
        out = torch.nn.functional.linear(features, self.first_weight, self.first_bias)
        out = out.view(-1, self.count, self.width).transpose(0, 1)
        for weight, bias, alpha in zip(self.weights, self.biases, self.alphas, strict=True):
            out = torch.baddbmm(bias, torch.nn.functional.celu(out, alpha), weight)
        return out.squeeze(2).mean(dim=0)
