"""MACE: equivariant message-passing potentials; a small organic one, a small universal one, and any `mace:FILE`.

A batch is one graph of all structures, run through the network with its two costliest layers replaced by equal ones
that need a tenth of the time.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError, ModelFailure
from assay.model import PERIODIC_PATTERNS, Model, ModelCard
from assay.models._torch import is_trusted, load_checked, load_trusted, require_device
from assay.models.neighbours import Neighbours, neighbour_pairs
from assay.models.registry import Registered, checkpoint_card, checkpoint_file, checkpoint_model
from assay.models.weights import PackagedFile
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "mace"
FILE_SCHEME = True
DEVICES = ("cpu", "cuda")
PACKAGES = ("mace-torch", "torch", "e3nn")
INSTALL = "pip install 'mlip-assay[mace]'"
PASS_SIZE = 600
"""Atoms and edges in one forward pass on a CPU, or up to half as many more; far larger ones do not fit its cache."""

ALLOWED = ("mace.modules.", "e3nn.o3.", "e3nn.nn.", "e3nn.math.", "torch.nn.modules.")
"""Modules whose classes a user's checkpoint may contain."""

NOTES = (
    "With some but not all directions periodic, the calculator of mace-torch 0.3 refuses a cell of which a periodic "
    "vector lies along the axis (x for the first, z for the third) that a direction without periodicity stands for.",
)


def build(precision: str, path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a fetched model, in the given precision."""
    _import_mace()
    return _calculator(load_trusted(path, device), precision, device)


def build_batch(precision: str, path: Path, device: str = "cpu") -> MaceBatch:
    """The batched evaluator of a fetched model."""
    return MaceBatch(build(precision, path, device))


def build_file(path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a user's checkpoint, in the precision it is stored in."""
    network = _user_network(path, device)
    return _calculator(network, _precision(network), device)


def build_file_batch(path: Path, device: str = "cpu") -> MaceBatch:
    """The batched evaluator of a user's checkpoint."""
    return MaceBatch(build_file(path, device))


def _import_mace() -> Any:
    """The package, without the notices that it and its dependencies give on the terminal."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        import mace.calculators
    return mace


def _precision(network: Any) -> str:
    return str(next(network.parameters()).dtype).removeprefix("torch.")


def _calculator(network: Any, precision: str, device: str) -> Calculator:
    import torch
    from ase.calculators.calculator import all_changes

    class KeepsDefaults(_import_mace().calculators.MACECalculator):  # type: ignore[misc]
        def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
            with _default_precision():
                super().calculate(atoms, properties, system_changes)

    network = network.to(device=require_device(device), dtype=getattr(torch, precision))
    calculator = KeepsDefaults(models=[network], device=device, default_dtype=precision)
    used = next(network.parameters())
    calculator.as_used = {"precision": _precision(network), "device": str(used.device.type)}
    return calculator


@contextmanager
def _default_precision(wanted: str = "") -> Iterator[None]:
    """Put torch's default precision back afterwards; MACE leaves its own behind when it refuses a structure."""
    import torch

    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(getattr(torch, wanted) if wanted else before)
        yield
    finally:
        torch.set_default_dtype(before)


class MaceBatch:
    """Energies and forces of many structures from one graph, a cache-sized part of it at a time."""

    def __init__(self, calculator: Any) -> None:
        from assay.models._mace_layers import quicken

        self.network = calculator.models[0]
        self.cutoff = float(calculator.r_max)
        self.head = calculator.available_heads.index(calculator.head)
        reference = next(self.network.parameters())
        self.dtype, self.device = reference.dtype, reference.device
        self.place = np.full(119, -1)
        self.place[self.network.atomic_numbers.cpu().numpy()] = np.arange(len(self.network.atomic_numbers))
        quicken(self.network)

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        if not structures:
            return []
        pairs = neighbour_pairs(structures, self.cutoff)
        edges = np.searchsorted(pairs.structure, np.arange(len(structures) + 1))
        found: list[tuple[float, Floats]] = []
        for start, stop in self._passes(pairs.offsets + edges):
            found += self._forward(structures[start:stop], pairs, edges[[start, stop]], start)
        return found

    def _passes(self, sizes: np.ndarray) -> Iterator[tuple[int, int]]:
        """Like ranges of structures to evaluate together; `sizes` counts atoms and edges up to each structure."""
        count = max(round(int(sizes[-1]) / PASS_SIZE), 1) if self.device.type == "cpu" else 1
        starts = np.searchsorted(sizes, np.linspace(0.0, sizes[-1], count + 1)[:-1])
        yield from pairwise(np.unique([*starts, len(sizes) - 1]).tolist())  # none is empty if the last one is large

    def _forward(
        self, structures: Sequence[Structure], pairs: Neighbours, edges: np.ndarray, start: int
    ) -> list[tuple[float, Floats]]:
        offsets = pairs.offsets[start : start + len(structures) + 1]
        output = self.network(self._graph(structures, pairs, slice(*edges), offsets), training=False)
        energies = output["energy"].detach().cpu().numpy().astype(float)
        forces = output["forces"].detach().cpu().numpy().astype(float)
        split = np.split(forces, (offsets - offsets[0])[1:-1])
        return [(energy, own.copy()) for energy, own in zip(energies.tolist(), split, strict=True)]

    def _graph(
        self, structures: Sequence[Structure], pairs: Neighbours, edges: slice, offsets: np.ndarray
    ) -> dict[str, Any]:
        """The input of the network: atoms of all structures one after another, and directed edges between them."""
        import torch

        kinds = self._kinds(np.concatenate([s.numbers for s in structures]))
        cells = np.stack([s.cell for s in structures])
        owner, shift = pairs.structure[edges], pairs.shift[edges]
        first = int(pairs.atom_structure[offsets[0]])

        def floats(values: np.ndarray) -> Any:
            return torch.as_tensor(values, dtype=self.dtype, device=self.device)

        def whole(values: np.ndarray) -> Any:
            return torch.as_tensor(values, dtype=torch.int64, device=self.device)

        return {
            "positions": floats(np.concatenate([s.positions for s in structures])),
            "node_attrs": torch.nn.functional.one_hot(whole(kinds), int(self.place.max()) + 1).to(self.dtype),
            "edge_index": whole(np.stack([pairs.first[edges], pairs.second[edges]]) - offsets[0]),
            "shifts": floats(np.einsum("ei,eij->ej", shift, cells[owner - first])),
            "unit_shifts": floats(shift),
            "cell": floats(cells.reshape(-1, 3)),
            "batch": whole(pairs.atom_structure[offsets[0] : offsets[-1]] - first),
            "ptr": whole(offsets - offsets[0]),
            "head": whole(np.full(len(structures), self.head)),
        }

    def _kinds(self, numbers: np.ndarray) -> np.ndarray:
        kinds = self.place[numbers]
        if (kinds < 0).any():
            from ase.data import chemical_symbols

            unknown = sorted({chemical_symbols[z] for z in numbers[kinds < 0]})
            raise ModelFailure(f"this MACE model does not support {', '.join(unknown)}")
        return kinds


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's checkpoint, `mace:FILE`; a file that MACE's training wrote with `torch.save`."""
    if importlib.util.find_spec("mace") is None:
        raise AssayError(f"'{SCHEME}:{rest}' needs the package 'mace-torch'; install it: {INSTALL}")
    path = checkpoint_file(SCHEME, rest)
    network = _user_network(path, "cpu")
    embeds = hasattr(network, "joint_embedding")  # such a model may take charge and spin, which the batch does not
    card = checkpoint_card(
        SCHEME,
        path,
        elements=[int(z) for z in network.atomic_numbers],
        pbc=("FFF", *PERIODIC_PATTERNS),
        charge=None if embeds else False,
        spin=None if embeds else False,
        precision=_precision(network),
        description="MACE checkpoint of the user",
        packages=PACKAGES,
        notes=NOTES,
    )
    return checkpoint_model(card, path, build_file, None if embeds else build_file_batch, device, DEVICES)


def _user_network(path: Path, device: str) -> Any:
    """The network in a user's checkpoint, built anew from its settings and weights: no code of the file is run."""
    _import_mace()
    if is_trusted():
        return _require_mace(load_checked(path, ALLOWED, device), path)
    with _code_left_out():
        read = _require_mace(load_checked(path, ALLOWED, device), path)
    from mace.tools.scripts_utils import extract_config_mace_model

    try:
        with warnings.catch_warnings(), _default_precision(_precision(read)):
            warnings.simplefilter("ignore")
            network = type(read)(**extract_config_mace_model(read)).to(device)
        lost = network.load_state_dict(read.state_dict(), strict=False)
    except Exception as error:
        raise _not_rebuilt(path, str(error).splitlines()[0]) from error
    # Files of older versions lack these marks, which follow from the coefficients.
    missing = [name for name in lost.missing_keys if not name.endswith("_zeroed")]
    if missing or lost.unexpected_keys:
        raise _not_rebuilt(path, f"'{[*missing, *lost.unexpected_keys][0]}' does not fit")
    return network


def _require_mace(network: Any, path: Path) -> Any:
    kind = type(network).__name__
    if kind not in ("MACE", "ScaleShiftMACE"):
        raise AssayError(f"'{path.name}' holds a {kind}, not a MACE model with energies; give the .model file itself")
    return network


def _not_rebuilt(path: Path, why: str) -> AssayError:
    return AssayError(
        f"checkpoint '{path.name}' cannot be built anew from its settings ({why}); "
        "if you trust whoever made it, add --trust-checkpoints"
    )


@contextmanager
def _code_left_out() -> Iterator[None]:
    """While a checkpoint is read, put an empty module wherever it holds Python source or compiled code."""
    import torch
    from e3nn.util.codegen import CodeGenMixin

    class Empty(torch.nn.Module):
        def __init__(self, *_: object) -> None:
            super().__init__()

    def without_code(self: Any, state: dict[str, Any]) -> None:
        torch.nn.Module.__setstate__(self, {name: value for name, value in state.items() if name != "__codegen__"})

    code = ("torch.fx.graph_module.reduce_graph_module", "torch.fx._symbolic_trace.Tracer")
    stand_ins = [*((Empty, name) for name in code), (torch.nn.functional.silu, "torch.nn.functional.silu")]
    original = CodeGenMixin.__setstate__
    CodeGenMixin.__setstate__ = without_code
    try:
        with torch.serialization.safe_globals(stand_ins):
            yield
    finally:
        CodeGenMixin.__setstate__ = original


def _register(name: str, file: tuple[str, str], precision: str, **claims: Any) -> Registered:
    card = ModelCard(
        name,
        pbc=("FFF", *PERIODIC_PATTERNS),
        charge=False,
        spin=False,
        precision=precision,
        packages=PACKAGES,
        notes=NOTES,
        **claims,
    )
    weights = PackagedFile(
        "janus-core",
        "0.8.2",
        f"janus_core-0.8.2/tests/models/{file[0]}",
        sha256=file[1],
        archive_sha256="7e6bd7e5c1fd0e03936f0fb19821375d9a36651b0a07c84ab372cd3beda4634d",
        source=True,
    )
    return Registered(
        card,
        partial(build, precision),
        imports=("mace",),
        install=INSTALL,
        settings={"precision": precision},
        weights=weights,
        build_batch=partial(build_batch, precision),
        devices=DEVICES,
    )


MODELS = {
    "mace-off23-small": _register(
        "mace-off23-small",
        ("MACE-OFF23_small.model", "165cce4cfec5a34b9c64d4ebf95de15d71106bb584b7291c8470f0749977c46f"),
        "float64",
        elements=(1, 6, 7, 8, 9, 15, 16, 17, 35, 53),
        theory="ωB97M-D3(BJ)/def2-TZVPPD",
        licence="Academic Software License: non-commercial use only (weights); MIT (mace-torch)",
        description="MACE-OFF23 small: organic molecules and liquids of H C N O F P S Cl Br I",
    ),
    "mace-mp-0-small": _register(
        "mace-mp-0-small",
        ("mace_mp_small.model", "2ddb079cee0e131eaaf6912ba581b394551ead283e95c99cfe78c605d10b5736"),
        "float32",
        elements=(*range(1, 84), *range(89, 95)),
        theory="PBE (+U for some oxides), as in the Materials Project",
        licence="MIT (weights and mace-torch)",
        description="MACE-MP-0 small: universal, 89 elements, crystals first",
    ),
}
