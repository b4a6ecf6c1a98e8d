"""Load the model that a user asks for: by its name, from a file with a factory, or from a calculator."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
from collections.abc import Callable
from functools import partial, update_wrapper
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError
from assay.importing import import_file
from assay.model import Model, ModelCard, ModelReference, claims_card, digest, file_digest, package_version
from assay.naming import did_you_mean

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator


def load_model(source: object, device: str | None = None) -> Model:
    """Load a model.

    Args:
        source: The name of a model, `kim:NAME`, `mace:FILE`, `file.py:factory`, `package.module:factory`, an ASE
            calculator, a function or class that makes one, a `Model`, or a `ModelReference` from another process.
        device: "cpu" or "cuda"; only for models that are given as text.
    """
    if isinstance(source, ModelReference):
        return _from_payload(source) if source.payload is not None else load_model(source.spec, source.device)
    if not isinstance(source, str) and device is not None:
        raise AssayError(f"a device ('{device}') can only be chosen for models given by name; build yours on it")
    if isinstance(source, Model):
        return source
    if not isinstance(source, str):
        return from_object(source)
    from assay.models import named_models, schemes

    names = named_models()
    if source in names:
        return names[source].open(device)
    scheme, colon, rest = source.partition(":")
    if colon and scheme in schemes():
        return schemes()[scheme](rest, device)
    if colon and rest:
        return _from_factory(source, device)
    if source.endswith(".py"):
        raise AssayError(f"'{source}' is a file without the name of a factory; write '{source}:FACTORY'")
    hint = did_you_mean(source, [*names])
    raise AssayError(
        f"there is no model '{source}'{hint}; 'assay list models' shows the names, or give file.py:factory"
    )


def _from_factory(spec: str, device: str | None) -> Model:
    """The model of `file.py:factory` or `package.module:factory`."""
    place, _, name = spec.rpartition(":")
    if place.endswith(".py"):
        path = Path(place).expanduser().resolve()
        module, source = import_file(path), path.read_bytes()
        reference, shown = ModelReference(f"{path}:{name}", device=device), f"{path.name}:{name}"
    else:
        module, reference, shown = _import_module(place), ModelReference(spec, device=device), spec
        source = _source_of(module)
    factory = getattr(module, name, None)
    if factory is None:
        public = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise AssayError(f"'{place}' has no factory '{name}'{did_you_mean(name, public)}")
    card = claims_card(shown, getattr(factory, "claims", None) or getattr(module, "CLAIMS", None))
    origin = getattr(module, "__file__", None)
    folder = Path(origin).parent if origin else Path()
    files = [file_digest(folder / file, shown) for file in card.files]
    versions, own = _imported_versions(source, place), _own_source(factory, module)
    fingerprint = digest(shown, source, *versions, *own, *files, *([device] if device else []))
    return _with_builders(card, fingerprint, _for_device(factory, shown, device), reference)


def _own_source(factory: object, module: ModuleType) -> list[bytes]:
    """The source of the file that defines a factory, if another file of the same package only exports it."""
    home = sys.modules.get(getattr(factory, "__module__", "") or "")
    if home is None or home is module or home.__name__.partition(".")[0] != module.__name__.partition(".")[0]:
        return []
    return [_source_of(home)]


def _source_of(module: ModuleType) -> bytes:
    """The content of the file of a module; nothing for modules that are part of the interpreter."""
    origin = getattr(module, "__file__", None)
    return Path(origin).read_bytes() if origin else b""


def _for_device(factory: Any, shown: str, device: str | None) -> Any:
    """The factory with its parameter `device` filled in; an `AssayError` if it has no such parameter."""
    if device is None:
        return factory
    if not callable(factory) or "device" not in inspect.signature(factory).parameters:
        raise AssayError(f"'{shown}' takes no parameter 'device'; add one to it or leave out --device {device}")
    return update_wrapper(partial(factory, device=device), factory)


def _with_builders(card: ModelCard, fingerprint: str, factory: object, reference: ModelReference | None) -> Model:
    """The model of a factory or calculator, with the other builders that it has as attributes."""
    return Model(
        card,
        fingerprint,
        _builder(factory, card.name),
        reference,
        getattr(factory, "build_batch", None),
        tuple(getattr(factory, "unit_sets", ())),
        getattr(factory, "build_in_units", None),
        may_read_files=_is_users_code(factory),
    )


def _is_users_code(factory: object) -> bool:
    """True for what Assay did not write: a factory, and a calculator too, may read files when it is used."""
    kind = factory if callable(factory) and hasattr(factory, "__module__") else type(factory)
    return not str(getattr(kind, "__module__", "")).startswith("assay.")


def _imported_versions(source: bytes, place: str) -> list[str]:
    """Versions of the packages that a Python source imports; another version may give other numbers."""
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
    distributions = sorted({distribution for name in names for distribution in homes.get(name, [])})
    return [f"{distribution}=={package_version(distribution)}" for distribution in distributions]


def _import_module(name: str) -> ModuleType:
    """The module of this name; an `AssayError` if it cannot be imported."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise AssayError(
            f"module '{name}' cannot be imported ({error}); install it or check the name, as in package.module:factory"
        ) from error


def _builder(factory: Any, shown: str) -> Callable[[], Calculator]:
    """The factory itself, or a function that copies a calculator."""
    if callable(factory) and not hasattr(factory, "get_potential_energy"):
        return factory
    if callable(factory) and isinstance(factory, type):
        return factory
    if hasattr(factory, "get_potential_energy"):
        return lambda: _copied(factory)
    raise AssayError(f"'{shown}' is neither a calculator nor a function that returns one")


def _copied(calculator: Calculator) -> Calculator:
    """A new copy of a calculator, or the calculator itself if it cannot be copied."""
    import copy

    try:
        return copy.deepcopy(calculator)
    except Exception:
        return calculator


def from_object(source: object) -> Model:
    """The model of a calculator, or of a function or class that makes one."""
    is_calculator = hasattr(source, "get_potential_energy") and not isinstance(source, type)
    if not is_calculator and not callable(source):
        raise AssayError(
            f"a {type(source).__name__} is neither a model name, nor an ASE calculator, nor a function that makes one"
        )
    label = type(source).__name__ if is_calculator else getattr(source, "__name__", type(source).__name__)
    card = claims_card(label, getattr(source, "claims", None))
    payload = _pickled(source)
    if payload is None:
        return _with_builders(card, digest(label, repr(id(source))), source, None)
    return _with_builders(card, digest(label, _without_labels(payload)), source, ModelReference(label, payload))


def _pickled(source: object) -> bytes | None:
    """The object as bytes that another process can load, or None if it cannot be pickled.

    Classes of modules that are not installed are part of the bytes.
    """
    import cloudpickle

    kind = source if isinstance(source, type) or callable(source) else type(source)
    module = sys.modules.get(getattr(kind, "__module__", ""), None)
    local = module is not None and not _is_installed(module)
    try:
        if local and module is not None:
            cloudpickle.register_pickle_by_value(module)
        cloudpickle.loads(cloudpickle.dumps(source))
        return bytes(cloudpickle.dumps(source))  # the first time in a process, a local class gives other bytes
    except Exception:
        return None
    finally:
        if local and module is not None:
            cloudpickle.unregister_pickle_by_value(module)


def _without_labels(payload: bytes) -> bytes:
    """The same pickled bytes in every process: without the random labels that cloudpickle gives to classes."""
    from cloudpickle import cloudpickle

    for label in list(cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.values()):
        payload = payload.replace(label.encode(), b"")
    return payload


def _is_installed(module: ModuleType) -> bool:
    """True for modules that another Python process can import too."""
    origin = getattr(module, "__file__", None)
    top = module.__name__.partition(".")[0]
    if top == "__main__":
        return False
    if origin is None or top == "assay" or top in sys.stdlib_module_names:
        return True
    return "site-packages" in origin or "dist-packages" in origin


def _from_payload(reference: ModelReference) -> Model:
    """The model that another process pickled."""
    import cloudpickle

    source = cloudpickle.loads(reference.payload)
    card = claims_card(reference.spec, getattr(source, "claims", None))
    return _with_builders(card, "", source, reference)
