"""FeNNol: neural-network potentials in JAX. ANI-2x, and models of your own by `fennol:FILE`.

JAX compiles a model anew, for two seconds or so, whenever an array has a new size. Structures are therefore padded to
sizes that come in few steps, with atoms and pairs that FeNNol leaves out of every sum.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError, ModelFailure
from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.models._torch import is_trusted
from assay.models.registry import Registered, checkpoint_card, checkpoint_file, checkpoint_model
from assay.models.weights import PackagedFile
from assay.structure import Floats, Structure, from_atoms

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

    from assay.model import BatchEvaluator, Model

SCHEME = "fennol"
FILE_SCHEME = True
INSTALL = "pip install 'mlip-assay[fennol]'"

ELEMENTS = (1, 6, 7, 8, 9, 16, 17)
"""H, C, N, O, F, S, Cl: those for which ANI-2x has a network."""

SMALL = 16
"""Up to so many atoms, room is made at once for every pair, angle and composition: no size ever changes."""

MOST_NEIGHBOURS = 4096
"""FeNNol keeps the largest number of neighbours as the size of an array that it does not read here; so it stays."""

EMPTY = 1000.0
"""Edge (Å) of the cell of a system that is padding."""


def build(path: Path, elements: tuple[int, ...] | None = ELEMENTS) -> Calculator:
    """A calculator on padded arrays; FeNNol's own recompiles for each number of atoms, and keeps the largest sizes."""
    from ase.calculators.calculator import Calculator, all_changes

    class Padded(Calculator):
        def __init__(self) -> None:
            super().__init__()
            self.implemented_properties = ["energy", "forces", "stress"]
            self.evaluator = FennolBatch(path, elements)
            self.as_used = self.evaluator.as_used

        def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
            super().calculate(atoms, properties, system_changes)
            structure = from_atoms(atoms)
            if "stress" in (properties or ()) and all(structure.pbc):
                self.results = self.evaluator.with_stress(structure)
            else:
                energy, forces = self.evaluator.evaluate([structure])[0]
                self.results = {"energy": energy, "forces": forces}

        def check_state(self, atoms, tol=1e-15):  # type: ignore[no-untyped-def]
            changes = super().check_state(atoms, tol)
            last = self.atoms.info.get("charge") if self.atoms is not None else None
            return changes if atoms.info.get("charge") == last else [*changes, "info"]

    return Padded()


def build_batch(path: Path, elements: tuple[int, ...] | None = ELEMENTS) -> BatchEvaluator:
    """Many structures as one padded system."""
    return FennolBatch(path, elements)


class FennolBatch:
    """A FeNNol model on lists of structures, padded to sizes that come in steps."""

    def __init__(self, path: Path, elements: tuple[int, ...] | None) -> None:
        import jax
        from ase.units import Hartree

        self.network = _network(path, path.stat().st_mtime_ns)
        self.elements = elements
        self.to_ev = Hartree / self.network.Ha_to_model_energy
        weights = jax.tree_util.tree_leaves(self.network.variables)
        self.as_used = {"precision": str(weights[0].dtype), "device": jax.devices()[0].platform}

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure; periodic ones are evaluated apart from the others."""
        found: list[tuple[float, Floats]] = [(0.0, np.zeros((0, 3)))] * len(structures)
        for periodic in (False, True):
            chosen = [i for i, s in enumerate(structures) if any(s.pbc) == periodic]
            if not chosen:
                continue
            group = [structures[i] for i in chosen]
            energies, forces, _ = self.network._energy_and_forces(self.network.variables, self._inputs(group))
            for i, answer in zip(chosen, self._split(group, energies, forces), strict=True):
                found[i] = answer
        return found

    def with_stress(self, structure: Structure) -> dict[str, object]:
        """Energy (eV), forces (eV/Å) and stress (eV/Å³) of one crystal."""
        inputs = self._inputs([structure])
        energies, forces, virials, _ = self.network._energy_and_forces_and_virial(self.network.variables, inputs)
        energy, pull = self._split([structure], energies, forces)[0]
        stress = np.asarray(virials[0], dtype=float) * self.to_ev / structure.volume
        return {"energy": energy, "forces": pull, "stress": stress[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]]}

    def _split(self, structures: Sequence[Structure], energies: Any, forces: Any) -> list[tuple[float, Floats]]:
        """The part of each structure, without the padding."""
        ends = np.cumsum([len(s) for s in structures])
        total = np.asarray(energies, dtype=float)[: len(structures)].reshape(-1) * self.to_ev
        parts = np.split(np.asarray(forces, dtype=float)[: ends[-1]] * self.to_ev, ends[:-1])
        return [(float(e), f.copy()) for e, f in zip(total, parts, strict=True)]

    def _inputs(self, structures: Sequence[Structure]) -> Mapping[str, Any]:
        """Arrays for the network. Their sizes follow from the structures alone, never from what was evaluated before:
        sums over arrays of another size are rounded otherwise, and the same structure must give the same numbers."""
        for structure in structures:
            self._refuse_unclaimed(structure)
        atoms = step(sum(len(s) for s in structures))
        systems = _systems(structures, atoms)
        periodic = any(structures[0].pbc)
        raw = padded(structures, atoms, systems, self.network.cutoff if periodic else None)
        first = self._first_sizes(atoms, systems)
        needed, inputs = self.network.preprocessing(first, raw)
        sizes = _rounded_state(needed, common=atoms <= SMALL or systems > 2)
        if sizes != first:
            _, inputs = self.network.preprocessing(sizes, raw)
        return dict(inputs)

    def _first_sizes(self, atoms: int, systems: int) -> Any:
        """Sizes to begin with: enough for any arrangement of a few atoms in the open, without FeNNol's own margins."""
        from flax.core.frozen_dict import FrozenDict

        start = self.network.preprocessing.init()
        n = atoms if atoms <= SMALL and systems == 2 else 1
        enough: dict[str, Any] = {"max_nat": atoms, "npairs": n * n // 2, "nangles": n**3 // 2}
        enough |= {"max_neigh": MOST_NEIGHBOURS, "add_neigh": 0, "nblist_mult_size": 1.0}
        enough["sizes"] = FrozenDict(dict.fromkeys(self.elements or (), n))
        layers = [FrozenDict({k: enough.get(k, v) for k, v in layer.items()}) for layer in start["layers_state"]]
        return _rounded_state(FrozenDict({**start, "layers_state": tuple(layers)}), common=True)

    def _refuse_unclaimed(self, structure: Structure) -> None:
        """FeNNol gives atoms without a network no energy, silently; and this adapter passes no charge on."""
        beyond = sorted(set(structure.numbers.tolist()) - set(self.elements)) if self.elements is not None else []
        if beyond:
            raise ModelFailure(f"the model has no network for the element with atomic number {beyond[0]}")
        if structure.charge:
            raise ModelFailure(f"the model knows neutral systems only, not the charge {structure.charge}")


@lru_cache(maxsize=4)
def _network(path: Path, changed: int) -> Any:
    """The model of a file. Calculators share it, since what JAX has compiled belongs to it and nothing else changes."""
    from fennol import FENNIX

    return FENNIX.load(str(path))


def doubled(count: int) -> int:
    """The next of the sizes 4, 8, 16, 32, 64 and so on."""
    return max(4, 1 << max(count - 1, 0).bit_length())


def step(count: int) -> int:
    """The next of the sizes 4, 8, 16, 24, 32, 48, 64, 96, 128 and so on."""
    size = doubled(count)
    return 3 * size // 4 if count <= 3 * size // 4 and size > SMALL else size


def _systems(structures: Sequence[Structure], atoms: int) -> int:
    """Systems to make room for, the empty one included. Small molecules get as many as there are atoms, so that the
    shapes of a batch depend on its atoms alone; with large ones FeNNol's table of all pairs would be too long."""
    if len(structures) == 1:
        return 2
    return 1 + (atoms if max(len(s) for s in structures) <= SMALL else step(len(structures)))


def padded(
    structures: Sequence[Structure], atoms: int, systems: int, cutoff: float | None = None
) -> dict[str, np.ndarray]:
    """Structures one after another, then atoms of no element in an empty system; cells if a cutoff (Å) is given."""
    counts = np.zeros(systems, dtype=np.int32)
    counts[: len(structures)] = [len(s) for s in structures]
    species = np.full(atoms, -1, dtype=np.int32)
    species[: counts.sum()] = np.concatenate([s.numbers for s in structures])
    coordinates = np.zeros((atoms, 3), dtype=np.float32)
    coordinates[: counts.sum()] = np.concatenate([s.positions for s in structures])
    member = np.full(atoms, systems - 1, dtype=np.int32)
    member[: counts.sum()] = np.repeat(np.arange(systems, dtype=np.int32), counts)
    found = {"species": species, "coordinates": coordinates, "natoms": counts, "batch_index": member}
    if cutoff is not None:
        cells = [closed_cell(s, cutoff) for s in structures]
        empty = [EMPTY * np.eye(3)] * (systems - len(structures))
        found["cells"] = np.array(cells + empty, dtype=np.float32)
    return found | {"true_atoms": species > 0, "true_sys": np.arange(systems) < len(structures)}


def closed_cell(structure: Structure, cutoff: float) -> Floats:
    """A cell with three vectors: along directions that are not periodic, one that is too long for images to be felt."""
    from ase.geometry import complete_cell

    periodic = np.array(structure.pbc)
    cell = np.asarray(complete_cell(structure.cell * periodic[:, None]), dtype=float)
    extent = np.ptp(structure.positions @ cell.T, axis=0)  # vectors that complete a cell have unit length
    return np.where(periodic[:, None], structure.cell, cell * (extent + cutoff + 1.0)[:, None])


def _rounded_state(state: Any, common: bool) -> Any:
    """Sizes of FeNNol's arrays raised to the next step; `common` gives all elements the size of the most frequent.

    All pair lists follow from that of the first graph, whose pairs the others filter, so that fewer shapes arise.
    """
    from flax.core.frozen_dict import FrozenDict

    graph = state["layers_state"][0]
    pairs = doubled(max(int(graph.get(name, 1)) for name in ("npairs", "npairs_noself")))

    def rounded(layer: Mapping[str, Any], key: str, value: Any) -> Any:
        if key in ("npairs", "npairs_noself"):
            return pairs if layer is graph else max(2 * pairs, doubled(int(value)))
        if key == "nangles":
            return doubled(int(value))
        if key != "sizes":
            return value
        largest = max(value.values(), default=0)
        return FrozenDict({int(z): step(int(largest if common else n)) for z, n in value.items()})

    layers = [FrozenDict({k: rounded(layer, k, v) for k, v in layer.items()}) for layer in state["layers_state"]]
    return FrozenDict({**state, "layers_state": tuple(layers)})


HARMLESS = re.compile(r"(?:[\w\s,=+*/()-]|(?<=\d)\.(?=\d))*")
"""Names, numbers and calls, as in `partial(celu, alpha=0.1)`; nothing that reaches into an object or holds a string."""


def _settings(path: Path) -> Mapping[str, Any]:
    """What the file of a model says about it, once it is known that opening the model runs no foreign code.

    Pickled files run what they like; and FeNNol evaluates the activations named in a file as Python expressions.
    """
    from flax.serialization import msgpack_restore

    advice = "if you trust whoever made it, add --trust-checkpoints"
    if path.suffix in (".pkl", ".pickle"):
        if is_trusted():
            return {}
        raise AssayError(f"'{path.name}' is a pickle, which cannot be opened without running code from it; {advice}")
    try:
        content = msgpack_restore(path.read_bytes())
        found = {name: dict(content[name]) for name in ("modules", "preprocessing")}
    except Exception as error:
        raise AssayError(f"'{path.name}' is not a FeNNol model ({error}); give a file that FeNNol has saved") from error
    for text in _texts(found):
        if not is_trusted() and ("__" in text or not HARMLESS.fullmatch(text)):
            raise AssayError(f"'{path.name}' would have FeNNol run the Python code '{text[:60]}'; {advice}")
    return found


def _texts(value: object) -> Iterator[str]:
    """Every string in nested tables and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for item in pair for text in _texts(item))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in _texts(item))


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's own FeNNol model: `fennol:FILE`."""
    if importlib.util.find_spec("fennol") is None:
        raise AssayError(f"'{SCHEME}:{rest}' needs the package 'fennol'; install it: {INSTALL}")
    path = checkpoint_file(SCHEME, rest)
    modules = _settings(path).get("modules", {})
    orders = [params["species_order"] for params in modules.values() if "species_order" in params]
    symbols = orders[0].split(",") if orders and isinstance(orders[0], str) else (orders or [None])[0]
    card = checkpoint_card(
        SCHEME,
        path,
        elements=[symbol.strip() for symbol in symbols] if symbols else None,
        pbc=("FFF", "TTT"),
        charge=False,
        spin=False,
        description="A FeNNol model of your own",
        packages=("FeNNol", "jax"),
    )
    builders = partial(build, elements=card.elements), partial(build_batch, elements=card.elements)
    return checkpoint_model(card, path, *builders, device=device)


MODELS = {
    "ani-2x": Registered(
        ModelCard(
            "ani-2x",
            elements=ELEMENTS,
            pbc=("FFF", *PERIODIC_PATTERNS),
            charge=False,
            spin=False,
            precision="float32",
            theory="ωB97X/6-31G*",
            licence="LGPL-3.0 (FeNNol)",
            description="ANI-2x, one network, in JAX; organic molecules of H C N O F S Cl",
            packages=("FeNNol", "jax"),
            notes=(
                "The file holds one network of ANI-2x, not the mean of eight, and no energies of free atoms.",
                "JAX uses as many threads as the machine has cores, whatever OMP_NUM_THREADS says.",
            ),
        ),
        build,
        imports=("fennol", "jax"),
        install=INSTALL,
        settings={"padded": True},
        weights=PackagedFile(
            "fennol",
            "2026.6.29",
            "fennol-2026.6.29/examples/md/ani2x.fnx",
            sha256="635469d6c1f9cf4796af42292a70e01aaf392a321344c21ae025dea90688316c",
            archive_sha256="6b3381d1b933446a8d71edc6bc22e219c77c7a2e226fe98b85c19836d97389ac",
            source=True,
        ),
        build_batch=build_batch,
    ),
}
