"""Every benchmark by its name: those of this package, of other packages, and of a file that the user names."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

from assay.benchmark import Benchmark
from assay.errors import AssayError
from assay.importing import import_file, snake_case
from assay.naming import did_you_mean, slug

NOT_CATEGORIES = ("bases", "builders")
"""Folders of `assay.benchmarks` that hold no benchmarks."""

_from_files: dict[str, type[Benchmark]] = {}


def registered_benchmarks() -> dict[str, type[Benchmark]]:
    """Every benchmark by its name, `category.file`, with those that were loaded from files of the user's."""
    return {**installed_benchmarks(), **_from_files}


@cache
def installed_benchmarks() -> dict[str, type[Benchmark]]:
    """The benchmarks of this package, and those of others through `assay.benchmarks` entry points."""
    import assay.benchmarks as home

    found: dict[str, type[Benchmark]] = {}
    for item in pkgutil.walk_packages(home.__path__, f"{home.__name__}."):
        short = item.name.removeprefix(f"{home.__name__}.")
        if item.ispkg or "." not in short or short.partition(".")[0] in NOT_CATEGORIES:
            continue
        class_name = "".join(word.title() for word in short.rpartition(".")[2].split("_"))
        found[short] = _named(importlib.import_module(item.name), class_name, short)
    for point in importlib.metadata.entry_points(group="assay.benchmarks"):
        kind = point.load()
        kind.name = point.name
        found[point.name] = kind
    return found


def _named(module: ModuleType, class_name: str, name: str) -> type[Benchmark]:
    """The benchmark class of a module, which from then on has this name."""
    kind = getattr(module, class_name, None)
    if not (isinstance(kind, type) and issubclass(kind, Benchmark)):
        classes = [n for n, v in vars(module).items() if isinstance(v, type) and issubclass(v, Benchmark)]
        hint = did_you_mean(class_name, classes)
        raise AssayError(
            f"benchmark '{name}' has no class '{class_name}' in its file{hint}; the class must be a Benchmark"
        )
    kind.name = name
    return kind


def load_benchmark_file(spec: str) -> str:
    """Load a benchmark from `file.py:Class` and return its name, `file.class` in lower case with underscores."""
    place, _, class_name = spec.rpartition(":")
    path = Path(place).expanduser().resolve()
    name = f"{slug(path.stem)}.{snake_case(class_name)}"
    if name in installed_benchmarks():
        raise AssayError(f"'{spec}' would be called '{name}', which exists already; rename the file or the class")
    _from_files[name] = _named(import_file(path), class_name, name)
    return name


def find_benchmarks(patterns: Iterable[str]) -> list[str]:
    """Names that match the patterns: a full name, a category, a name without its category, or `file.py:Class`."""
    chosen: list[str] = []
    for pattern in patterns:
        hits = [load_benchmark_file(pattern)] if _is_file(pattern) else _matching(pattern)
        chosen += [name for name in hits if name not in chosen]
    return chosen


def _is_file(pattern: str) -> bool:
    return pattern.rpartition(":")[0].endswith(".py")


def _matching(pattern: str) -> list[str]:
    known, wanted = registered_benchmarks(), pattern.removesuffix(".*")
    hits = [n for n in known if n == wanted or n.startswith(f"{wanted}.") or n.rpartition(".")[2] == wanted]
    if not hits:
        hint = did_you_mean(wanted, known)
        raise AssayError(f"there is no benchmark '{pattern}'{hint}; 'assay list benchmarks' shows the names")
    return hits
