"""A model: how to build its ASE calculator, and what it claims to support."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from assay.elements import atomic_numbers, symbols_of
from assay.errors import AssayError
from assay.naming import did_you_mean, digest, slug
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator


PERIODIC_PATTERNS = ("TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT")


class BatchEvaluator(Protocol):
    """Evaluates many structures in one call."""

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure, in the same order."""
        ...


@dataclass(frozen=True)
class ModelCard:
    """The claims of a model. A claim of None is unknown, and Assay measures it.

    `elements` may be given as symbols; they are kept as atomic numbers, and `symbols` gives them back. `pbc` are the
    supported patterns of periodic directions ("FFF" is a cluster), `files` the files that define the results, such as a
    checkpoint: if one changes, it is another model.
    """

    name: str
    elements: tuple[int, ...] | None = None
    pbc: tuple[str, ...] | None = None
    charge: bool | None = None
    spin: bool | None = None
    precision: str | None = None
    theory: str = ""
    licence: str = ""
    description: str = ""
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.elements is not None and not all(type(z) is int for z in self.elements):
            object.__setattr__(self, "elements", atomic_numbers(self.elements, f"the claims of '{self.name}'"))

    @property
    def symbols(self) -> tuple[str, ...] | None:
        """The symbols of the claimed elements; None if the model claims none."""
        return None if self.elements is None else tuple(symbols_of(self.elements))


@dataclass(frozen=True)
class ModelReference:
    """What another process needs to load the same model: its name on the command line, or the pickled calculator."""

    spec: str
    payload: bytes | None = None
    device: str | None = None


@dataclass(frozen=True)
class Model:
    """A potential under test. `build` makes a new ASE calculator; the other builders are None if not supported."""

    card: ModelCard
    fingerprint: str
    build: Callable[[], Calculator]
    reference: ModelReference | None
    build_batch: Callable[[], BatchEvaluator] | None = None
    unit_sets: tuple[str, ...] = ()
    build_in_units: Callable[[str], Calculator] | None = None
    may_read_files: bool = False
    """True for code of the user's, which may read files that the fingerprint does not cover."""

    origin: str = ""
    """A hash of where the model's file is, as seen from the results folder; empty for models without a file."""

    @property
    def name(self) -> str:
        """The name of the model in results and reports."""
        return self.card.name

    @property
    def folder(self) -> str:
        """The name of the model's results folder, valid on every file system."""
        return slug(self.name)

    def describe(self) -> dict[str, object]:
        """Card and fingerprint as plain data, for `model.json`."""
        origin = {"origin": self.origin} if self.origin else {}
        return {**asdict(self.card), "elements": self.card.symbols, "fingerprint": self.fingerprint, **origin}


def claims_card(name: str, claims: Any) -> ModelCard:
    """A card from the claims of a factory: `claims = ("Cu", "Au")`, or a dictionary with the fields of the card."""
    if claims is None:
        return ModelCard(name)
    claims = [claims] if isinstance(claims, str) else claims
    if not isinstance(claims, Mapping | Sequence | set | frozenset):
        raise AssayError(
            f"the claims of '{name}' are {claims!r}; give a list of elements or a dictionary with fields of ModelCard"
        )
    fields: dict[str, Any] = dict(claims) if isinstance(claims, Mapping) else {"elements": claims}
    unknown = set(fields) - set(ModelCard.__dataclass_fields__)
    if unknown:
        field = str(min(unknown, key=str))
        hint = did_you_mean(field, ModelCard.__dataclass_fields__)
        raise AssayError(f"the claims of '{name}' have the unknown field '{field}'{hint}; use the fields of ModelCard")
    if fields.get("elements") is not None:
        fields["elements"] = atomic_numbers(fields["elements"], f"the claims of '{name}'")
    for key in ("pbc", "packages", "files", "notes"):
        if fields.get(key) is not None:
            fields[key] = tuple(fields[key])
    wrong = [p for p in fields.get("pbc") or () if p not in ("FFF", *PERIODIC_PATTERNS)]
    if wrong:
        raise AssayError(
            f"the claims of '{name}' have the periodic directions '{wrong[0]}'; write a pattern such as 'TTF'"
        )
    return replace(ModelCard(name), **fields)


def file_digest(path: Path, model: str) -> str:
    """The hash of a file that the claims of a model list."""
    try:
        return digest(path.read_bytes())
    except OSError as error:
        raise AssayError(
            f"model '{model}' claims the file '{path}', which cannot be read ({error.strerror}); correct its claims"
        ) from error


def package_version(package: str) -> str:
    """The installed version of a distribution, or "none"."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"
