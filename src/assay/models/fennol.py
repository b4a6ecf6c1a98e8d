"""FeNNol: neural-network potentials in JAX. The model ANI-2x, and models of your own by `fennol:FILE`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError
from assay.model import ModelCard
from assay.models._calculators import with_info_changes
from assay.models._checkpoints import cannot_open_safely, is_trusted
from assay.models._claims import ANY_PERIODICITY
from assay.models._fennol_batch import FennolBatch
from assay.models.registry import NamedModel, checkpoint_card, checkpoint_file, checkpoint_model, require_package
from assay.models.weights import PackagedFile
from assay.structure import from_atoms

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

    from assay.model import BatchEvaluator, Model

SCHEME = "fennol"
FILE_SCHEME = True
INSTALL = "pip install 'mlip-assay[fennol]'"

ELEMENTS = (1, 6, 7, 8, 9, 16, 17)
"""H, C, N, O, F, S, Cl: the elements for which ANI-2x has a network."""

HARMLESS = re.compile(r"(?:[\w\s,=+*/()-]|(?<=\d)\.(?=\d))*")
"""Names, numbers and calls, as in `partial(celu, alpha=0.1)`; no text in quotes, no dot between names."""


def build(path: Path, elements: tuple[int, ...] | None = ELEMENTS) -> Calculator:
    """An ASE calculator on padded arrays. The calculator of FeNNol is compiled again for each number of atoms."""
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
            return with_info_changes(super().check_state(atoms, tol), self.atoms, atoms, "charge")

    return Padded()


def build_batch(path: Path, elements: tuple[int, ...] | None = ELEMENTS) -> BatchEvaluator:
    """The batch evaluator: many structures as one padded system."""
    return FennolBatch(path, elements)


def open_model(rest: str, device: str | None = None) -> Model:
    """A FeNNol model of the user's own: `fennol:FILE`."""
    require_package(f"{SCHEME}:{rest}", "fennol", "fennol", INSTALL)
    path = checkpoint_file(SCHEME, rest)
    modules = _checked_settings(path).get("modules", {})
    orders = [settings["species_order"] for settings in modules.values() if "species_order" in settings]
    symbols = orders[0].split(",") if orders and isinstance(orders[0], str) else (orders or [None])[0]
    card = checkpoint_card(
        SCHEME,
        path,
        elements=[symbol.strip() for symbol in symbols] if symbols else None,
        pbc=("FFF", "TTT"),
        charge=False,
        spin=False,
        description="FeNNol model of the user",
        packages=("FeNNol", "jax"),
    )
    builders = partial(build, elements=card.elements), partial(build_batch, elements=card.elements)
    return checkpoint_model(card, path, *builders, device=device)


def _checked_settings(path: Path) -> Mapping[str, Any]:
    """The settings in the file of a model; an `AssayError` if the file could run code when the model is opened.

    Pickled files can run any code, and FeNNol evaluates the activations that a file names as Python expressions.
    """
    from flax.serialization import msgpack_restore

    if path.suffix in (".pkl", ".pickle"):
        if is_trusted():
            return {}
        raise cannot_open_safely(path, "it is a pickle")
    try:
        content = msgpack_restore(path.read_bytes())
        settings = {name: dict(content[name]) for name in ("modules", "preprocessing")}
    except Exception as error:
        raise AssayError(f"'{path.name}' is not a FeNNol model ({error}); give a file that FeNNol saved") from error
    for text in _texts(settings):
        if not is_trusted() and ("__" in text or not HARMLESS.fullmatch(text)):
            raise cannot_open_safely(path, f"FeNNol would run the Python code '{text[:60]}'")
    return settings


def _texts(value: object) -> Iterator[str]:
    """Every text in nested tables and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for item in pair for text in _texts(item))
    elif isinstance(value, list | tuple):
        yield from (text for item in value for text in _texts(item))


MODELS = {
    "ani-2x": NamedModel(
        ModelCard(
            "ani-2x",
            elements=ELEMENTS,
            pbc=ANY_PERIODICITY,
            charge=False,
            spin=False,
            precision="float32",
            theory="ωB97X/6-31G*",
            licence="LGPL-3.0 (FeNNol)",
            description="ANI-2x, one network, in JAX; organic molecules of H C N O F S Cl",
            packages=("FeNNol", "jax"),
            notes=(
                "The file holds one network of ANI-2x, not the mean of eight, and no energies of free atoms.",
                "JAX uses one thread for each core of the computer, even if OMP_NUM_THREADS is smaller.",
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
