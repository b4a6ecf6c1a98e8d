"""A model: how to build its ASE calculator, and what it claims to be able to do."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial, update_wrapper
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import AssayError
from assay.naming import did_you_mean, slug
from assay.structure import Floats, Structure
from assay.weights import PackagedFile, fetch

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

PERIODIC_PATTERNS = ("TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT")


class BatchEvaluator(Protocol):
    """Evaluates many structures in one call."""

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        ...


@dataclass(frozen=True)
class ModelCard:
    """What a model claims. A claim left as None is unknown, and Assay finds out by asking the model.

    `elements` are atomic numbers, `pbc` the patterns of periodic directions it can treat ("FFF" is a cluster), `files`
    those that decide the results, such as a checkpoint: a change in one makes it another model.
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


@dataclass(frozen=True)
class ModelReference:
    """What travels to another process so that it can load the same model: a spec, or the pickled calculator."""

    spec: str
    payload: bytes | None = None
    device: str | None = None


@dataclass(frozen=True)
class Model:
    """A potential under test. `build` makes a fresh ASE calculator; other builders exist where the model has them."""

    card: ModelCard
    fingerprint: str
    build: Callable[[], Calculator]
    reference: ModelReference | None
    build_batch: Callable[[], BatchEvaluator] | None = None
    unit_sets: tuple[str, ...] = ()
    build_in_units: Callable[[str], Calculator] | None = None

    @property
    def name(self) -> str:
        """The name under which results are kept and shown."""
        return self.card.name

    @property
    def folder(self) -> str:
        """The name of the model's results folder: the name, safe for every file system."""
        return slug(self.name)

    def describe(self) -> dict[str, object]:
        """Card and fingerprint as plain data, for `model.json`."""
        return {**asdict(self.card), "fingerprint": self.fingerprint}


@dataclass(frozen=True)
class Registered:
    """A named model of an adapter file: its card, its builders, and the packages and weights it needs.

    `weights` lie in another package's archive and are fetched; builders get their path. `inside` is a file or folder
    of the family's own package (import name, path in it). Builders of models that can also use a GPU get `device`.
    """

    card: ModelCard
    build: Callable[..., Calculator]
    imports: tuple[str, ...] = ()
    install: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    weights: PackagedFile | None = None
    inside: tuple[str, str] | None = None
    build_batch: Callable[..., BatchEvaluator] | None = None
    devices: tuple[str, ...] = ("cpu",)

    @property
    def installed(self) -> bool:
        """True when every package that the model needs can be imported."""
        return all(importlib.util.find_spec(name) is not None for name in self.imports)

    def open(self, device: str | None = None) -> Model:
        """The model itself, its weights at hand; an error that names the install command when a package is missing."""
        if not self.installed:
            raise AssayError(f"model '{self.card.name}' needs {', '.join(self.imports)}; install it: {self.install}")
        versions = [f"{package}=={package_version(package)}" for package in self.card.packages]
        contents = [self.weights.sha256] if self.weights else []
        contents += [_inside_digest(*self.inside)] if self.inside else []
        parts = [self.card.name, *versions, repr(sorted(self.settings.items())), *contents]
        given = (fetch(self.weights),) if self.weights else ()
        return _on_device(self.card, parts, self.build, self.build_batch, given, (device, self.devices), self.card.name)


def _on_device(
    card: ModelCard,
    parts: Sequence[str],
    build: Callable[..., Calculator],
    build_batch: Callable[..., BatchEvaluator] | None,
    given: tuple[Path, ...],
    device: tuple[str | None, tuple[str, ...]],
    spec: str,
) -> Model:
    """A model whose builders have their arguments; `device` is the one asked for and those that the model can use."""
    asked, possible = device
    if asked is not None and asked not in possible:
        raise AssayError(f"model '{card.name}' runs on {' or '.join(possible)} only; leave out --device {asked}")
    options = {"device": asked or "cpu"} if len(possible) > 1 else {}
    elsewhere = [asked] if asked and asked != "cpu" else []
    return Model(
        card,
        digest(*parts, *elsewhere),
        partial(build, *given, **options),
        ModelReference(spec, device=asked),
        partial(build_batch, *given, **options) if build_batch is not None else None,
    )


def checkpoint_file(scheme: str, rest: str) -> Path:
    """The file that a user named as `scheme:FILE`."""
    path = Path(rest).expanduser().resolve()
    if not path.is_file():
        raise AssayError(f"there is no file '{rest}'; give the path of a checkpoint, as in {scheme}:FILE")
    return path


def checkpoint_card(scheme: str, path: Path, **claims: Any) -> ModelCard:
    """The card of a user's own checkpoint, named after its file."""
    return claims_card(f"{scheme}:{path.name}", claims)


def checkpoint_model(
    card: ModelCard,
    path: Path,
    build: Callable[..., Calculator],
    build_batch: Callable[..., BatchEvaluator] | None = None,
    device: str | None = None,
    devices: tuple[str, ...] = ("cpu",),
) -> Model:
    """A model from a user's own checkpoint file; its content and the family's version make the fingerprint."""
    versions = [f"{package}=={package_version(package)}" for package in card.packages]
    parts = [card.name, *versions, _file_digest(path, card.name)]
    spec = f"{card.name.partition(':')[0]}:{path}"
    return _on_device(card, parts, build, build_batch, (path,), (device, devices), spec)


def _inside_digest(package: str, place: str) -> str:
    """The hash of a file, or of all files of a folder, inside an installed package."""
    found = importlib.util.find_spec(package)
    roots = list(found.submodule_search_locations or []) if found is not None else []
    if not roots:
        raise AssayError(f"package '{package}' is not installed, or is not a folder with '{place}' in it")
    home = Path(roots[0]) / place
    files = sorted(path for path in home.rglob("*") if path.is_file()) if home.is_dir() else [home]
    return digest(*(part for path in files for part in (path.name, _file_digest(path, package))))


def digest(*parts: str | bytes) -> str:
    """A short hash of all parts in order."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(f"{len(data)}:".encode() + data)
    return total.hexdigest()[:16]


def package_version(package: str) -> str:
    """The installed version of a distribution, or "none"."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def load_model(source: object, device: str | None = None) -> Model:
    """Find a model by what the user gave: a name, `kim:NAME`, `mace:FILE`, `file.py:factory`, `package.module:factory`,
    an ASE calculator, a factory function or class, or a `Model`. `device` is for models that Assay itself builds."""
    if isinstance(source, ModelReference):
        return _from_payload(source) if source.payload is not None else load_model(source.spec, source.device)
    if not isinstance(source, str) and device is not None:
        raise AssayError(f"a device ('{device}') can only be chosen for models given by name; build yours on it")
    if isinstance(source, Model):
        return source
    if not isinstance(source, str):
        return from_object(source)
    from assay.models import registered, schemes

    names = registered()
    if source in names:
        return names[source].open(device)
    scheme, colon, rest = source.partition(":")
    if colon and scheme in schemes():
        return schemes()[scheme](rest, device)
    if colon and rest:
        return _from_factory(source, device)
    if source.endswith(".py"):
        raise AssayError(f"'{source}' names a file but no factory in it; write '{source}:FACTORY'")
    hint = did_you_mean(source, [*names])
    raise AssayError(
        f"there is no model '{source}'{hint}; 'assay list models' shows the names, or give file.py:factory"
    )


def _from_factory(spec: str, device: str | None) -> Model:
    """A model from `file.py:factory` or `package.module:factory`."""
    place, _, name = spec.rpartition(":")
    if place.endswith(".py"):
        path = Path(place).expanduser().resolve()
        module, source = _import_file(path), path.read_bytes()
        reference, shown = ModelReference(f"{path}:{name}", device=device), f"{path.name}:{name}"
    else:
        module, reference, shown = _import_module(place), ModelReference(spec, device=device), spec
        origin = getattr(module, "__file__", None)
        source = Path(origin).read_bytes() if origin else b""
    factory = getattr(module, name, None)
    if factory is None:
        public = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise AssayError(f"'{place}' has no factory '{name}'{did_you_mean(name, public)}")
    card = claims_card(shown, getattr(factory, "claims", None) or getattr(module, "CLAIMS", None))
    origin = getattr(module, "__file__", None)
    home = Path(origin).parent if origin else Path()
    contents = [_file_digest(home / name, shown) for name in card.files]
    fingerprint = digest(shown, source, *_imported_versions(source, place), *contents, *([device] if device else []))
    return _model(card, fingerprint, _for_device(factory, shown, device), reference)


def _for_device(factory: Any, shown: str, device: str | None) -> Any:
    """The factory with the device filled in, which it must take as a parameter of that name."""
    if device is None:
        return factory
    if not callable(factory) or "device" not in inspect.signature(factory).parameters:
        raise AssayError(f"'{shown}' takes no parameter 'device'; add one to it or leave out --device {device}")
    return update_wrapper(partial(factory, device=device), factory)


def _model(card: ModelCard, fingerprint: str, factory: object, reference: ModelReference | None) -> Model:
    """A model of a factory or calculator, with the other builders if it carries them as attributes."""
    return Model(
        card,
        fingerprint,
        _builder(factory, card.name),
        reference,
        getattr(factory, "build_batch", None),
        tuple(getattr(factory, "unit_sets", ())),
        getattr(factory, "build_in_units", None),
    )


def _file_digest(path: Path, model: str) -> str:
    """The hash of a file that a model claims to depend on."""
    try:
        return digest(path.read_bytes())
    except OSError as error:
        raise AssayError(
            f"model '{model}' claims the file '{path}', which cannot be read ({error.strerror})"
        ) from error


def _imported_versions(source: bytes, place: str) -> list[str]:
    """Versions of the packages that a Python source imports, since a new version may give other numbers."""
    import ast

    names = {"ase", place.partition(".")[0]}
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # a compiled module
        tree = ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    homes = importlib.metadata.packages_distributions()
    found = sorted({distribution for name in names for distribution in homes.get(name, [])})
    return [f"{distribution}=={package_version(distribution)}" for distribution in found]


def _import_file(path: Path) -> ModuleType:
    """Import a Python file that need not be installed; files beside it can be imported by it."""
    if not path.is_file():
        raise AssayError(f"there is no file '{path}'; give the path of a Python file, as in file.py:factory")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = f"assay_user_{digest(str(path), path.read_bytes())}"  # a file that has changed is another module
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AssayError(f"'{path}' is not a Python file; give one, as in file.py:factory")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # Not through Python's compiled copies: they look at the second and the size of a file only.
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise AssayError(f"'{path}' cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _import_module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise AssayError(
            f"module '{name}' cannot be imported ({error}); install it or check the name, as in package.module:factory"
        ) from error


def _builder(factory: Any, shown: str) -> Callable[[], Calculator]:
    if callable(factory) and not hasattr(factory, "get_potential_energy"):
        return factory
    if callable(factory) and isinstance(factory, type):
        return factory
    if hasattr(factory, "get_potential_energy"):
        return lambda: _copied(factory)
    raise AssayError(f"'{shown}' is neither a calculator nor a function that returns one")


def _copied(calculator: Calculator) -> Calculator:
    """A fresh copy of a calculator, or the calculator itself where it cannot be copied."""
    import copy

    try:
        return copy.deepcopy(calculator)
    except Exception:
        return calculator


def claims_card(name: str, claims: Any) -> ModelCard:
    """A card from what a factory declares: `claims = ("Cu", "Au")` or a dictionary with the fields of the card."""
    if claims is None:
        return ModelCard(name)
    claims = [claims] if isinstance(claims, str) else claims
    if not isinstance(claims, Mapping | Sequence | set | frozenset):
        raise AssayError(f"the claims of '{name}' are {claims!r}; give a list of elements or a table, see ModelCard")
    fields: dict[str, Any] = dict(claims) if isinstance(claims, Mapping) else {"elements": claims}
    unknown = set(fields) - set(ModelCard.__dataclass_fields__)
    if unknown:
        raise AssayError(f"the claims of '{name}' have the unknown field '{min(unknown, key=str)}'; see ModelCard")
    if fields.get("elements") is not None:
        fields["elements"] = _atomic_numbers(name, fields["elements"])
    for key in ("pbc", "packages", "files", "notes"):
        if fields.get(key) is not None:
            fields[key] = tuple(fields[key])
    wrong = [p for p in fields.get("pbc") or () if p not in ("FFF", *PERIODIC_PATTERNS)]
    if wrong:
        raise AssayError(f"the claims of '{name}' name the periodic directions '{wrong[0]}'; write them as in 'TTF'")
    return replace(ModelCard(name), **fields)


def _atomic_numbers(name: str, elements: Collection[Any]) -> tuple[int, ...]:
    """Atomic numbers of elements given by symbol or number, in order, each once."""
    from ase.data import atomic_numbers

    found = set()
    for element in elements:
        number = atomic_numbers.get(element, 0) if isinstance(element, str) else element
        if not isinstance(number, Integral) or not 1 <= int(number) <= 118:
            raise AssayError(f"the claims of '{name}' name an unknown element in {list(elements)}")
        found.add(int(number))
    return tuple(sorted(found))


def from_object(source: object) -> Model:
    """A model from a live calculator, or from a function or class that makes one."""
    is_calculator = hasattr(source, "get_potential_energy") and not isinstance(source, type)
    if not is_calculator and not callable(source):
        raise AssayError(
            f"a {type(source).__name__} is neither a model name, nor an ASE calculator, nor a factory of one"
        )
    label = type(source).__name__ if is_calculator else getattr(source, "__name__", type(source).__name__)
    card = claims_card(label, getattr(source, "claims", None))
    payload = _pickled(source)
    if payload is None:
        return _model(card, digest(label, repr(id(source))), source, None)
    return _model(card, digest(label, _lasting(payload)), source, ModelReference(label, payload))


def _pickled(source: object) -> bytes | None:
    """The object as bytes, classes of uninstalled modules included, or None where that is impossible."""
    import cloudpickle

    kind = source if isinstance(source, type) or callable(source) else type(source)
    module = sys.modules.get(getattr(kind, "__module__", ""), None)
    local = module is not None and not _is_installed(module)
    try:
        if local and module is not None:
            cloudpickle.register_pickle_by_value(module)
        payload = cloudpickle.dumps(source)
        cloudpickle.loads(payload)
        return bytes(payload)
    except Exception:
        return None
    finally:
        if local and module is not None:
            cloudpickle.unregister_pickle_by_value(module)


def _lasting(payload: bytes) -> bytes:
    """Pickled bytes without the random labels that cloudpickle gives to classes, which differ in every process."""
    from cloudpickle import cloudpickle

    for label in list(cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.values()):
        payload = payload.replace(label.encode(), b"")
    return payload


def _is_installed(module: ModuleType) -> bool:
    """True for modules that a fresh interpreter can import too."""
    origin = getattr(module, "__file__", None)
    top = module.__name__.partition(".")[0]
    known = top == "assay" or top in sys.stdlib_module_names
    return top != "__main__" and (origin is None or "site-packages" in origin or "dist-packages" in origin or known)


def _from_payload(reference: ModelReference) -> Model:
    import cloudpickle

    source = cloudpickle.loads(reference.payload)
    card = claims_card(reference.spec, getattr(source, "claims", None))
    return _model(card, "", source, reference)
