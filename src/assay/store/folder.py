"""The results folder: files of lines that are only appended, so that a kill loses nothing that was written."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from assay.benchmark import Case
from assay.errors import AssayError, Cause
from assay.outcome import ERROR, Outcome
from assay.store import codec
from assay.store.cases import ENDS, Stamp, read_cases, settings_of
from assay.store.outcome_file import OutcomeFile
from assay.store.outcomes import Outcomes
from assay.store.reading import Refused, list_regular, read_bounded

PARTS = ("outcomes", "cases", "trajectories", "logs", "model.json")
"""What the results of a model consist of."""

ASIDE = "earlier"
"""The folder of results that were put aside by --fresh."""

ROOM = 64_000
"""Bytes that must be free on the disk for a run to go on after a worker was lost."""


@dataclass
class Store:
    """The results folder of one model. Each process appends to a file of its own, so no locks are needed."""

    folder: Path
    warnings: list[str] = field(default_factory=list)
    """What was passed over when the outcomes were read last."""

    notes: tuple[str, ...] = ()
    """What was passed over beside this folder when it was opened."""

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
            for name in PARTS:
                if (folder / name).is_symlink():
                    raise AssayError(
                        f"'{folder / name}' is a link, which Assay does not follow; choose another with -o"
                    )
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
        if reason := codec.too_large(line.encode()):
            line = codec.dumps(_too_large(outcome, reason).as_dict()) + "\n"
        try:
            if self._writer is None:
                path = self.folder / "outcomes" / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.jsonl"
                self._writer = path.open("a", encoding="utf-8")
            self._writer.write(line)
            self._writer.flush()
        except OSError as error:
            raise _cannot_write(self.folder, error) from error

    def require_room(self) -> None:
        """An `AssayError` unless outcomes can still be written: on a full disk every worker is lost, one by one."""
        path = self.folder / "outcomes" / f".{os.getpid()}.tmp"
        try:
            try:
                path.write_bytes(bytes(ROOM))
            finally:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise _cannot_write(self.folder, error) from error

    def outcomes(self) -> Outcomes:
        """Every finished job by its key; what is damaged or not finished is left out and reported in `warnings`.

        Only lines that were written since the last call are read and parsed. Values stay on disk until asked for.
        """
        paths, self.warnings[:] = list_regular(self.folder / "outcomes", ".jsonl")
        files = {}
        for path in paths:
            try:
                files[path] = (self._files.get(path) or OutcomeFile(path)).read()
            except (Refused, OSError) as error:
                self.warnings.append(f"{path.name} {error} and was passed over")
            else:
                self.warnings += files[path].warnings
        self._files = files
        return Outcomes(tuple(files.values()))

    def write_model(self, description: Mapping[str, object]) -> None:
        """Write what the model claims and what the survey found."""
        _write_atomically(self.folder / "model.json", json.dumps(codec.plain(description), indent=1, allow_nan=False))

    def read_model(self) -> dict[str, Any]:
        """Read what `write_model` wrote; an empty table if there is nothing."""
        path = self.folder / "model.json"
        return _read_table(path) if os.path.lexists(path) else {}

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
        text = codec.dumps(data)
        if reason := codec.too_large(text.encode()):
            raise AssayError(f"the cases of '{benchmark}' have {reason}; give --limit")
        _write_atomically(path, text)
        self._cases = "", {}

    def _cases_path(self, benchmark: str) -> Path:
        return self.folder / "cases" / f"{benchmark}.json"

    def benchmarks(self) -> list[str]:
        """Names of the benchmarks that have cases here; what is passed over is added to `warnings`."""
        paths, notes = list_regular(self.folder / "cases", ".json")
        self.warnings += [note for note in notes if note not in self.warnings]
        return [path.stem for path in paths]

    def read_cases(self, benchmark: str) -> tuple[Stamp, list[tuple[Case, dict[str, str]]]]:
        """Read the stamp and the cases of a benchmark, with the keys of their jobs."""
        path = self._cases_path(benchmark)
        data = _read_table(path)
        self._cases = benchmark, data
        try:
            return read_cases(data)
        except (KeyError, TypeError, ValueError) as error:
            raise AssayError(f"'{path}' is damaged ({error!r}); delete it and run the benchmark again") from error

    def read_settings(self, benchmark: str) -> dict[str, Any]:
        """The settings with which a benchmark made its cases; empty if they were not written.

        After `read_cases` of the same benchmark, the settings are those that belong to the cases it returned.
        """
        name, table = self._cases
        return settings_of(table if name == benchmark else _read_table(self._cases_path(benchmark)))


def open_stores(root: Path) -> list[Store]:
    """Open the stores of all models in a results folder, or the one store if the folder of one model is given."""
    if (root / "outcomes").is_dir():
        return [Store(root)]
    folders = [path.parent for path in sorted(root.glob("*/outcomes")) if path.is_dir()]
    notes = tuple(f"'{folder}' is a link and was passed over" for folder in folders if folder.is_symlink())
    stores = [Store(folder, notes=notes) for folder in folders if not folder.is_symlink()]
    stores[1:] = [replace(store, notes=()) for store in stores[1:]]
    if not stores:
        raise AssayError(f"'{root}' holds no results; give the folder that 'assay run' wrote (-o, default 'results')")
    return stores


def _read_table(path: Path) -> dict[str, Any]:
    try:
        data = codec.loads(read_bounded(path))
    except (Refused, ValueError) as error:
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
        with suppress(OSError):
            temporary.unlink()  # half a file would take the last bytes of a full disk
        raise _cannot_write(path, error) from error


def _too_large(outcome: Outcome, reason: str) -> Outcome:
    """The error in place of a result that would not be read again."""
    return replace(
        outcome, status=ERROR, values={}, reason=f"the result has {reason}", traceback="", cause=Cause.INTERNAL
    )


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
