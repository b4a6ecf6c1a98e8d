"""The results folder: files of lines that are only appended, so that a kill loses nothing that was written."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from assay.benchmark import Case
from assay.errors import AssayError
from assay.outcome import Outcome
from assay.store import codec
from assay.store.legacy import case_row
from assay.store.outcome_file import OutcomeFile, add_newest

PARTS = ("outcomes", "cases", "trajectories", "logs", "model.json")
"""What the results of a model consist of."""

ASIDE = "earlier"
"""The folder of results that were put aside by --fresh."""

ENDS = ("unsupported", "failure", "lost", "cause")
"""Fields of a case that was decided before anything was run."""


class Stamp(NamedTuple):
    """What cases were made for: the version of the benchmark and the fingerprint of the model."""

    version: int
    fingerprint: str


@dataclass
class Store:
    """The results folder of one model. Each process appends to a file of its own, so no locks are needed."""

    folder: Path
    warnings: list[str] = field(default_factory=list)
    _writer: TextIO | None = None
    _files: dict[Path, OutcomeFile] = field(default_factory=dict, repr=False, compare=False)
    _cases: tuple[str, dict[str, Any]] = field(default=("", {}), repr=False, compare=False)
    """The benchmark whose cases were read last, and its table."""

    @classmethod
    def create(cls, root: Path, model_folder: str) -> Store:
        """Open the folder of a model below `root`; make it if it does not exist."""
        folder = root.resolve() / model_folder  # a model may change the working directory
        try:
            (folder / "outcomes").mkdir(parents=True, exist_ok=True)
            (folder / "cases").mkdir(exist_ok=True)
        except OSError as error:
            raise AssayError(
                f"the results folder '{folder}' cannot be made ({error.strerror}); choose another with -o"
            ) from error
        return cls(folder)

    def put_aside(self) -> Path | None:
        """Move all results of the model into a folder of their own below this one; None if there were none."""
        parts = [self.folder / name for name in PARTS if (self.folder / name).exists()]
        if not self.has_results:
            return None
        aside = self.folder / ASIDE / f"{datetime.now():%Y-%m-%dT%H%M%S}-{uuid.uuid4().hex[:4]}"
        try:
            aside.mkdir(parents=True)
            for part in parts:
                os.replace(part, aside / part.name)
            for name in ("outcomes", "cases"):
                (self.folder / name).mkdir()
        except OSError as error:
            raise _cannot_write(aside, error) from error
        self._files, self._writer, self._cases = {}, None, ("", {})
        return aside

    @property
    def has_results(self) -> bool:
        """True if the folder has outcomes or cases."""
        return any(any((self.folder / name).iterdir()) for name in ("outcomes", "cases"))

    def append(self, outcome: Outcome) -> None:
        """Write one finished job as one whole line, which stays when this process is killed."""
        line = codec.dumps(outcome.as_dict()) + "\n"
        try:
            if self._writer is None:
                path = self.folder / "outcomes" / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl"
                self._writer = path.open("a", encoding="utf-8")
            self._writer.write(line)
            self._writer.flush()
        except OSError as error:
            raise _cannot_write(self.folder, error) from error

    def outcomes(self) -> dict[str, Outcome]:
        """Every finished job by its key. The newest line counts; an incomplete line is left out and reported.

        Only lines that were written since the last call are read and parsed.
        """
        paths = sorted((self.folder / "outcomes").glob("*.jsonl"))
        self._files = {path: self._files.get(path) or OutcomeFile(path) for path in paths}
        newest: dict[str, tuple[float, Outcome]] = {}
        self.warnings.clear()
        for file in self._files.values():
            file.read()
            self.warnings += file.warnings
            for key, finished, outcome in file.outcomes():
                add_newest(newest, key, finished, outcome)
        return {key: outcome for key, (_, outcome) in newest.items()}

    def write_model(self, description: Mapping[str, object]) -> None:
        """Write what the model claims and what the survey found."""
        _write_atomically(self.folder / "model.json", json.dumps(codec.plain(description), indent=1, allow_nan=False))

    def read_model(self) -> dict[str, Any]:
        """Read what `write_model` wrote; an empty table if there is nothing."""
        path = self.folder / "model.json"
        if not path.is_file():
            return {}
        return _read_table(path)

    def write_cases(
        self,
        benchmark: str,
        stamp: Stamp,
        cases: Iterable[Case],
        keys: Mapping[str, dict[str, str]],
        keep_others: bool = False,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """Write case ids, job keys and references, so that scoring needs neither the model nor the data.

        `settings` are those of the benchmark, by which the outcomes must be judged. With `keep_others`, cases of an
        earlier run with the same version, model and settings stay.
        """
        protocol = codec.loads(codec.dumps(dict(settings or {})))
        rows = [
            {"id": c.id, "keys": keys[c.id], "context": dict(c.context), **{k: getattr(c, k) for k in ENDS}}
            for c in cases
        ]
        path = self._cases_path(benchmark)
        if keep_others and path.is_file():
            known = {row["id"] for row in rows}
            rows += [row for row in _rows_of(path, stamp, protocol) if row["keys"] and row["id"] not in known]
        made_by = {"version": stamp.version, "fingerprint": stamp.fingerprint, "settings": protocol}
        data = {"benchmark": benchmark, **made_by, "cases": rows}
        _write_atomically(path, codec.dumps(data))
        self._cases = "", {}

    def _cases_path(self, benchmark: str) -> Path:
        return self.folder / "cases" / f"{benchmark}.json"

    def benchmarks(self) -> list[str]:
        """Names of the benchmarks that have cases here."""
        return sorted(path.stem for path in (self.folder / "cases").glob("*.json"))

    def read_cases(self, benchmark: str) -> tuple[Stamp, list[tuple[Case, dict[str, str]]]]:
        """Read the stamp and the cases of a benchmark, with the keys of their jobs."""
        path = self._cases_path(benchmark)
        data = _read_table(path)
        self._cases = benchmark, data
        try:
            stored = [case_row(row) for row in data["cases"]]
            rows = [(Case(r["id"], {}, r["context"], **{k: r[k] for k in ENDS}), r["keys"]) for r in stored]
            return Stamp(int(data["version"]), str(data["fingerprint"])), rows
        except (KeyError, TypeError, ValueError) as error:
            raise AssayError(f"'{path}' is damaged ({error!r}); delete it and run the benchmark again") from error

    def read_settings(self, benchmark: str) -> dict[str, Any]:
        """The settings with which a benchmark made its cases; empty if they were not written.

        After `read_cases` of the same benchmark, the settings are those that belong to the cases it returned.
        """
        name, table = self._cases
        kept = (table if name == benchmark else _read_table(self._cases_path(benchmark))).get("settings")
        items = kept.items() if isinstance(kept, dict) else ()
        return {name: tuple(value) if isinstance(value, list) else value for name, value in items}


def open_stores(root: Path) -> list[Store]:
    """Open the stores of all models in a results folder, or the one store if the folder of one model is given."""
    if (root / "outcomes").is_dir():
        return [Store(root)]
    stores = [Store(path.parent) for path in sorted(root.glob("*/outcomes")) if path.is_dir()]
    if not stores:
        raise AssayError(f"'{root}' holds no results; give the folder that 'assay run' wrote (-o, default 'results')")
    return stores


def _read_table(path: Path) -> dict[str, Any]:
    try:
        data = codec.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AssayError(f"'{path}' cannot be read ({error}); delete it and run the benchmark again") from error
    if not isinstance(data, dict):
        raise AssayError(f"'{path}' is not a JSON table; delete it and run the benchmark again")
    return data


def _write_atomically(path: Path, text: str) -> None:
    """Replace a file in one step: neither a reader nor a power cut can leave half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> AssayError:
    return AssayError(
        f"'{path}' cannot be written ({error.strerror or error}); check that the folder exists and the disk is not full"
    )


def _rows_of(path: Path, stamp: Stamp, settings: object) -> list[dict[str, Any]]:
    """Cases of an earlier run of the same kind; none from a damaged file, which is replaced anyway."""
    try:
        old = _read_table(path)
        same = (old["version"], old["fingerprint"]) == stamp and old.get("settings", {}) == settings
        rows = old["cases"] if same else []
        return [row for row in rows if isinstance(row["keys"], dict) and isinstance(row["id"], str)]
    except (AssayError, KeyError, TypeError):
        return []
