"""Import a Python file of the user's, which need not be installed."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from assay.errors import AssayError
from assay.naming import digest
from assay.text import named


def import_file(path: Path) -> ModuleType:
    """The module in a Python file; it can import the files beside it. A file that has changed is imported anew."""
    if not _is_file(path):
        raise AssayError(f"there is no file '{path}'; give the path of a Python file, as in file.py:name")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = f"assay_user_{digest(str(path), path.read_bytes())}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise AssayError(f"'{path}' is not a Python file; give one, as in file.py:name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # Not through Python's compiled copies, which compare only the time (in seconds) and the size of a file.
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise AssayError(f"'{path}' cannot be imported: {named(error)}") from error
    return module


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long to be one of a file
        return False


def snake_case(name: str) -> str:
    """A class name in lower case with underscores: `RingPlanarity` is `ring_planarity`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
