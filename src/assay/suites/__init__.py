"""Suites: which benchmarks a run takes, with which settings. Each is a TOML file in this folder."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

from assay.benchmark import Benchmark
from assay.benchmarks.registry import find_benchmarks, registered_benchmarks
from assay.errors import AssayError
from assay.naming import did_you_mean
from assay.suites.values import checked_values
from assay.text import one_line


@dataclass(frozen=True)
class Suite:
    """A named choice of benchmarks; `settings` change their fields.

    The settings of a benchmark stand under its name. Those under a category, such as "liquids", hold for every
    benchmark of the category that has such a field, so that benchmarks which share a simulation cannot drift apart;
    the settings of a single benchmark come before them.
    """

    name: str
    description: str
    benchmarks: tuple[str, ...]
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def build(self) -> list[Benchmark]:
        """The benchmarks themselves, with the suite's settings."""
        names = find_benchmarks(self.benchmarks)  # first, because it may load benchmarks from files
        known = registered_benchmarks()
        categories = {name.partition(".")[0] for name in known}
        for name in self.settings:
            if name in categories:
                self._check_category(name, known)
            elif name not in known:
                hint = did_you_mean(name, [*known, *categories])
                raise AssayError(
                    f"suite '{self.name}' has settings for '{name}', which is no benchmark or category{hint}"
                )
        return [self._build(known[name]) for name in names]

    def _check_category(self, category: str, known: Mapping[str, type[Benchmark]]) -> None:
        """`AssayError` for a setting that no benchmark of the category has."""
        members = [kind for name, kind in known.items() if name.partition(".")[0] == category]
        fields = {name for kind in members for name in kind.__dataclass_fields__}
        for setting in self.settings[category]:
            if setting not in fields:
                hint = did_you_mean(setting, fields)
                raise AssayError(
                    f"suite '{self.name}' sets '{setting}', which no benchmark of category '{category}' has{hint}"
                )

    def _build(self, kind: type[Benchmark]) -> Benchmark:
        fields, own = kind.__dataclass_fields__, self.settings.get(kind.name, {})
        for setting in own:
            if setting not in fields:
                hint = did_you_mean(setting, fields)
                raise AssayError(
                    f"suite '{self.name}' sets '{setting}', which benchmark '{kind.name}' does not have{hint}"
                )
        shared = {k: v for k, v in self.settings.get(kind.name.partition(".")[0], {}).items() if k in fields}
        return kind(**checked_values(kind, {**shared, **own}, f"suite '{self.name}'"))

    def adjusted(self, **settings: object) -> Suite:
        """The suite with other settings, such as `seeds=3`, for every benchmark that has them; one at least must."""
        names, known = find_benchmarks(self.benchmarks), registered_benchmarks()
        changed = {name: dict(values) for name, values in self.settings.items()}
        for setting, value in settings.items():
            if setting in FIXED.get(self.name, ()):
                raise AssayError(f"'{setting}' is off in suite '{self.name}', whose protocol is fixed; leave it out")
            takers = [n for n in names if setting in known[n].__dataclass_fields__]
            if not takers:
                raise AssayError(f"no chosen benchmark has the setting '{setting}'; {_who_has(setting)}")
            for name in takers:
                changed.setdefault(name, {})[setting] = value
        return replace(self, settings=changed)


LARGEST = 2**20
"""Largest size of a suite file (bytes)."""

FIXED = {"paper": ("until_error",)}
"""Settings that a suite does not allow: a simulation that stops early is not the published one."""


def _who_has(setting: str) -> str:
    """Which benchmarks have a setting."""
    names = [name for name, kind in registered_benchmarks().items() if setting in kind.__dataclass_fields__]
    return f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} it"


def suite_names() -> list[str]:
    """Names of the suites that come with Assay."""
    files = resources.files(__name__).iterdir()
    return sorted(item.name.removesuffix(".toml") for item in files if item.name.endswith(".toml"))


def load_suite(name: str) -> Suite:
    """A suite by name, or from a TOML file of the user's."""
    if name.endswith(".toml"):
        path = Path(name)
        if not _is_file(path):
            raise AssayError(f"there is no suite file '{name}'; give an existing TOML file or one of {suite_names()}")
        text = _text(path)
    elif name in suite_names():
        text = (resources.files(__name__) / f"{name}.toml").read_text(encoding="utf-8")
    else:
        hint = did_you_mean(name, suite_names())
        raise AssayError(f"there is no suite '{name}'{hint}; 'assay list suites' shows the names")
    return _parse(name, text)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long to be one of a file
        return False


def _text(path: Path) -> str:
    """The content of a suite file; `AssayError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise AssayError(f"the suite file '{path}' has more than {LARGEST} bytes; a suite is a short list")
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AssayError(f"the suite file '{path}' is not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise AssayError(f"the suite file '{path}' cannot be read ({error.strerror or error})") from error


def _parse(name: str, text: str) -> Suite:
    try:
        data = tomllib.loads(text)
        benchmarks, settings = data["benchmarks"], data.get("settings", {})
        if not isinstance(benchmarks, list) or not all(isinstance(item, str) for item in benchmarks):
            raise ValueError("'benchmarks' is not a list of names")
        if not isinstance(settings, dict) or not all(isinstance(item, dict) for item in settings.values()):
            raise ValueError("'settings' is not a table of tables")
        title, description = data.get("name", name), data.get("description", "")
        if not isinstance(title, str) or not isinstance(description, str):
            raise ValueError("'name' and 'description' are not text")
        return Suite(title, description, tuple(benchmarks), settings)
    except RecursionError as error:
        raise AssayError(f"suite '{name}' cannot be read (its values are nested too deeply)") from error
    except (KeyError, ValueError) as error:
        why = one_line(str(error))
        raise AssayError(f"suite '{name}' cannot be read ({why}); it needs a list 'benchmarks'") from error


def choose_suite(name: str, benchmarks: tuple[str, ...] = ()) -> Suite:
    """A suite, or only some benchmarks of it; benchmarks outside of the suite run with their own defaults."""
    suite = load_suite(name)
    if not benchmarks:
        return suite
    return Suite(suite.name, suite.description, tuple(find_benchmarks(benchmarks)), suite.settings)
