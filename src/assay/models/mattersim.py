"""MatterSim: universal potentials for wide ranges of temperature and pressure, and any `mattersim:FILE`.

A batch is one graph of all structures; pairs of bonds at one atom, which the network needs too, are listed with numpy.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError, ModelFailure
from assay.model import Model, ModelCard
from assay.models._torch import load_checked, require_device
from assay.models.neighbours import Neighbours, neighbour_pairs
from assay.models.registry import Registered, checkpoint_card, checkpoint_file, checkpoint_model
from assay.models.weights import PackagedFile
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "mattersim"
FILE_SCHEME = True
DEVICES = ("cpu", "cuda")
PACKAGES = ("mattersim", "torch")
INSTALL = "pip install 'mlip-assay[mattersim]' && pip install --no-deps mattersim==1.2.3"
PBC = ("FFF", "TTT")
PASS_SIZE = 100_000
"""Pairs of bonds in one forward pass; each takes 2 kB or so, and a metal has 2000 of them per atom."""

NOTES = (
    "Not claimed for structures that are periodic in one or two directions: mattersim 1.2 folds atoms back into the "
    "cell along the other directions too, which tears a slab apart if it reaches over the border of the cell.",
)


def build(path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a checkpoint; nothing but tensors and plain containers is read from the file."""
    with warnings.catch_warnings():  # importing it changes which warnings are shown
        from mattersim.forcefield.potential import MatterSimCalculator, Potential
    _be_quiet()
    potential = Potential(_network(path, device), device=device)
    return MatterSimCalculator(potential=potential, device=device)


def build_batch(path: Path, device: str = "cpu") -> MatterSimBatch:
    """The batched evaluator of a checkpoint."""
    return MatterSimBatch(build(path, device))


def _be_quiet() -> None:
    """Keep MatterSim from announcing what it loads, and the box that it puts around each molecule."""
    from loguru import logger

    logger.disable("mattersim")
    warnings.filterwarnings("ignore", message="No PBC detected")


def _network(path: Path, device: str) -> Any:
    from mattersim.forcefield.m3gnet.m3gnet import M3Gnet

    content = _content(path, require_device(device))
    network = M3Gnet(device=device, **content["model_args"]).to(device)
    constant = {name: values for name, values in network.state_dict().items() if name == "sbf.coef"}
    try:
        network.load_state_dict({**constant, **content["model"]})  # older files lack this table, which never changes
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise AssayError(f"the weights in '{path.name}' do not fit its settings ({reason}); save it again") from error
    return network.eval()


def _content(path: Path, device: str) -> dict[str, Any]:
    content = load_checked(path, (), device)
    parts = ("model", "model_args")
    if not isinstance(content, dict) or any(not isinstance(content.get(part), dict) for part in parts):
        raise AssayError(f"'{path.name}' is not a MatterSim checkpoint; give a .pth file that MatterSim wrote")
    return content


class MatterSimBatch:
    """Energies and forces of many structures from one graph."""

    def __init__(self, calculator: Any) -> None:
        self.potential = calculator.potential
        self.device = calculator.device
        arguments = self.potential.model.model_args
        self.cutoff, self.angle_cutoff = float(arguments["cutoff"]), float(arguments["threebody_cutoff"])
        self.largest = int(arguments["max_z"])
        for parameter in self.potential.parameters():
            parameter.requires_grad_(False)  # only the gradient by positions is wanted

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        if not structures:
            return []
        if any(s.pattern not in PBC for s in structures):
            raise ModelFailure("MatterSim is right only for structures periodic in all directions or in none")
        pairs = neighbour_pairs(structures, self.cutoff)
        size = np.cumsum(self._angles(pairs))
        if size[-1] > PASS_SIZE and len(structures) > 1:
            middle = min(int(np.searchsorted(size, size[-1] / 2)) + 1, len(structures) - 1)
            return [*self.evaluate(structures[:middle]), *self.evaluate(structures[middle:])]
        output = self.potential(self._graph(structures, pairs), include_forces=True, include_stresses=False)
        energies = output["total_energy"].detach().cpu().numpy().astype(float)
        forces = output["forces"].detach().cpu().numpy().astype(float)
        split = np.split(forces, pairs.offsets[1:-1])
        return [(energy, own.copy()) for energy, own in zip(energies.tolist(), split, strict=True)]

    def _angles(self, pairs: Neighbours) -> np.ndarray:
        """How many pairs of bonds at one atom each structure has."""
        near = np.linalg.norm(pairs.vector, axis=1) <= self.angle_cutoff
        bonds = np.bincount(pairs.first[near], minlength=len(pairs.atom_structure))
        return np.bincount(pairs.atom_structure, bonds * (bonds - 1), minlength=len(pairs.offsets) - 1)

    def _graph(self, structures: Sequence[Structure], pairs: Neighbours) -> dict[str, Any]:
        """The input of the network; atoms and bonds are numbered through all structures."""
        import torch

        numbers = np.concatenate([s.numbers for s in structures])
        if numbers.max() > self.largest:
            raise ModelFailure(f"this MatterSim model knows elements up to {self.largest}, not {numbers.max()}")
        near = np.linalg.norm(pairs.vector, axis=1) <= self.angle_cutoff
        triples, per_bond = bond_pairs(pairs.first, near)
        bonds = np.bincount(pairs.structure, minlength=len(structures))
        positions, cells, shifts = self._folded(structures, pairs)

        def tensor(values: object, kind: Any = torch.int64) -> Any:
            return torch.as_tensor(np.asarray(values), dtype=kind, device=self.device)

        return {
            "atom_pos": tensor(positions, torch.float32),
            "atom_attr": tensor(numbers[:, None], torch.float32),
            "cell": tensor(cells, torch.float32),
            "pbc_offsets": tensor(shifts, torch.float32),
            "edge_index": tensor(np.stack([pairs.first, pairs.second])),
            "three_body_indices": tensor(triples),
            "bond_index_bias": tensor(np.zeros((len(triples), 1))),
            "three_body_edge_map": tensor(triples[:, 0]),
            "num_triple_ij": tensor(per_bond[:, None]),
            "num_three_body": tensor(np.bincount(pairs.structure[triples[:, 0]], minlength=len(structures))),
            "num_bonds": tensor(bonds),
            "num_atoms": tensor(np.diff(pairs.offsets)),
            "num_graphs": tensor(len(structures)),
            "batch": tensor(pairs.atom_structure),
            "total_num_atoms": len(numbers),
            "total_num_bonds": len(pairs.first),
        }

    def _folded(self, structures: Sequence[Structure], pairs: Neighbours) -> tuple[Floats, Floats, Floats]:
        """Positions inside the cell, cells, and lattice translations of the bonds between the folded atoms.

        MatterSim folds every structure, molecules into a box that it puts around them. That changes positions by a
        rounding error of single precision, which shows in the energy; a batch must not differ in it.
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


def bond_pairs(first: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ordered pairs of different bonds that start at the same atom, and how many of them each bond is the first of.

    `first` is the atom at which each bond starts, in increasing order; only bonds marked in `near` take part.
    """
    chosen = np.flatnonzero(near)
    centres = first[chosen]
    begin, end = np.searchsorted(centres, centres, "left"), np.searchsorted(centres, centres, "right")
    counts = end - begin
    left = np.repeat(np.arange(len(chosen)), counts)
    right = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(begin, counts)
    different = left != right
    per_bond = np.zeros(len(first), dtype=np.int64)
    per_bond[chosen] = counts - 1
    return np.stack([chosen[left[different]], chosen[right[different]]], axis=1), per_bond


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's checkpoint, `mattersim:FILE`."""
    if importlib.util.find_spec("mattersim") is None:
        raise AssayError(f"'{SCHEME}:{rest}' needs the package 'mattersim'; install it: {INSTALL}")
    path = checkpoint_file(SCHEME, rest)
    content = _content(path, "cpu")
    card = checkpoint_card(
        SCHEME,
        path,
        elements=_fitted_elements(content["model"]),
        pbc=PBC,
        charge=False,
        spin=False,
        precision="float32",
        description="MatterSim checkpoint of the user",
        packages=PACKAGES,
        notes=NOTES,
    )
    return checkpoint_model(card, path, build, build_batch, device, DEVICES)


def _fitted_elements(weights: dict[str, Any]) -> list[int] | None:
    """Elements whose own energy was fitted: it stays zero for those without training data."""
    energies = weights.get("normalizer.shift")
    return None if energies is None else [z for z in range(1, len(energies)) if abs(float(energies[z])) > 1e-6]


def _register(size: str, parameters: str, sha256: str) -> Registered:
    card = ModelCard(
        f"mattersim-{size.lower()}",
        elements=(*range(1, 84), *range(89, 95)),
        pbc=PBC,
        charge=False,
        spin=False,
        precision="float32",
        theory="PBE (+U for some oxides), as in the Materials Project; 0 to 5000 K and 0 to 1000 GPa",
        licence="MIT (weights and mattersim)",
        description=f"MatterSim-v1.0.0 {size}: {parameters} parameters; 89 elements, far from equilibrium too",
        packages=PACKAGES,
        notes=NOTES,
    )
    weights = PackagedFile(
        "mattersim",
        "1.0.0rc8",
        f"mattersim/pretrained_models/mattersim-v1.0.0-{size}.pth",
        sha256=sha256,
        archive_sha256="b3efabcf8b8c7dca62af68e8803077cbec420db44161a7fff463a2382c5c4df6",
        python="3.9",
        platform="manylinux2014_x86_64",
    )
    return Registered(
        card,
        build,
        imports=("mattersim",),
        install=INSTALL,
        weights=weights,
        build_batch=build_batch,
        devices=DEVICES,
    )


MODELS = {
    "mattersim-1m": _register("1M", "0.9 million", "28b0b0b0f13efefee06b47ea4c9105a26bd3e2c8396da193430da96b3b49a8be"),
    "mattersim-5m": _register("5M", "4.5 million", "e3df9fa708725e3d453140646c7d1838324b347a3d1214cf1440522146f872b5"),
}
