"""Which results folder a model has: two models of the same name never share one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from assay.errors import AssayError
from assay.model import Model
from assay.naming import digest, slug
from assay.store import Store


def with_own_folder(model: Model, root: Path) -> Model:
    """The model under a name whose folder below `root` is not that of a model from another file.

    `a/m.py:f` and `b/m.py:f` are both called `m.py:f`; the second one that is run becomes `b/m.py:f`. Results of
    versions that did not write where a model came from belong to whoever has the name.
    """
    path = _file_of(model)
    if path is None:
        return model
    origin = digest(os.path.relpath(path, root.resolve()).replace(os.sep, "/"))
    for name in _names(model.name, path):
        if not _belongs_to_another(root / slug(name), origin, model.fingerprint):
            return replace(model, card=replace(model.card, name=name), origin=origin)
    raise AssayError(f"every folder for '{model.name}' in '{root}' belongs to another model; choose another with -o")


def _file_of(model: Model) -> Path | None:
    """The file that the user named; None for models with a name of their own and for calculators."""
    reference = model.reference
    if reference is None or reference.payload is not None:
        return None
    for text in (reference.spec, reference.spec.partition(":")[2]):
        if Path(text).is_absolute():
            return Path(text)
    return None


def _names(name: str, path: Path) -> Iterator[str]:
    """The name, then with one more folder of the path each time."""
    yield name
    file = path.name.partition(":")[0]
    folders = [part for part in path.parent.parts if part not in (path.anchor, os.sep)]
    for first in range(len(folders) - 1, -1, -1):
        longer = "/".join([*folders[first:], file])
        yield name.replace(file, longer, 1) if file in name else f"{'/'.join(folders[first:])}/{name}"


def _belongs_to_another(folder: Path, origin: str, fingerprint: str) -> bool:
    """True if the results in a folder were computed with another file, and by another model."""
    try:
        found = Store(folder).read_model()
    except AssayError:
        return False  # the run writes it again
    return found.get("origin", origin) != origin and found.get("fingerprint") != fingerprint
