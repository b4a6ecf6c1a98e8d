"""The two verbs of the library: `check` verifies a calculator, `run` takes a suite. The command line calls these."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.compute.executors.local import open_executor
from assay.compute.plan import Plan, make_plan, write_plan
from assay.compute.runner import TIMEOUT, Progress, Runner, silent
from assay.compute.surveying import make_survey
from assay.data.source import DataSource, open_data
from assay.errors import AssayError
from assay.model import Model
from assay.models.loading import load_model
from assay.report.document import check_document, score_document
from assay.results import ModelResult, read_results
from assay.store import Store
from assay.suites import Suite, choose_suite
from assay.survey import Survey

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Settings:
    """How to run, as opposed to what. `workers=0` stays in this process; `elements` are atomic numbers.

    `data` are folders of reference data or names from `assay list data`, which stand in for the embedded sets. With
    `seeds` every simulation is run so many times; with `until_error` (Å) one ends as soon as the standard error of the
    bond length or flatness that it is run for is below that.
    """

    workers: int | None = None
    timeout: float = TIMEOUT
    limit: int | None = None
    all_species: bool = False
    elements: tuple[int, ...] | None = None
    device: str | None = None
    data: tuple[str, ...] = ()
    seeds: int | None = None
    until_error: float | None = None
    progress: Progress = silent

    def __post_init__(self) -> None:
        seeds, error = self.seeds, self.until_error
        _see_that(seeds is None or _is_count(seeds), "seeds", seeds, "a whole number of at least 1")
        _see_that(error is None or _is_length(error), "until_error", error, "a number of Å above 0")


@dataclass(frozen=True)
class Report:
    """The results of a run. Prints as a table in a terminal and in a notebook; `data` is the JSON document."""

    result: ModelResult
    suite: Suite
    folder: Path | None
    gave_up: str = ""

    @property
    def passed(self) -> bool:
        """True when every mandatory check passed."""
        return self.result.passed

    @property
    def checks(self) -> dict[str, dict[str, Any]]:
        """The verdict of each check, by its name without the category."""
        rows = check_document(self.result)["checks"]
        return {str(row["name"]).rpartition(".")[2]: row for row in rows}

    @property
    def score(self) -> float | None:
        """Mean score over the benchmarks, between 0 and 1."""
        return self.result.score[0]

    @property
    def data(self) -> dict[str, Any]:
        """Everything as plain data, as `assay score --json` prints it."""
        return score_document([self.result], self.suite.name)

    @property
    def exit_code(self) -> int:
        """0 done, 1 a mandatory check failed, 3 some jobs ended in error."""
        if self.result.has_failure:
            return 1
        return 3 if self.result.has_error else 0

    def to_json(self) -> str:
        """`data` as text."""
        return json.dumps(self.data, indent=1, allow_nan=False)

    def __str__(self) -> str:
        from assay.report.table import as_text

        return as_text(self.result)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from assay.report.table import as_html

        return as_html(self.result)


def check(model: object, output: str | Path | None = None, **settings: Any) -> Report:
    """Verify a potential: run every verification check on a calculator, a factory of one, or a model name.

    Args:
        model: an ASE calculator, a function or class that makes one, or a name as on the command line.
        output: results folder to keep and to resume from; by default nothing is kept.
        settings: fields of `Settings`, for example `workers=0` to stay in this process.
    """
    return run(model, suite="smoke", benchmarks=("verification",), output=output, **settings)


def run(
    model: object,
    suite: str = "smoke",
    benchmarks: Sequence[str] = (),
    output: str | Path | None = None,
    **settings: Any,
) -> Report:
    """Run a suite (or some benchmarks of it) on a potential and return the results.

    Args:
        model: an ASE calculator, a function or class that makes one, or a name as on the command line.
        suite: "smoke", "laptop", "paper", or a TOML file.
        benchmarks: names or categories, to take only these.
        output: results folder to keep and to resume from; by default nothing is kept.
        settings: fields of `Settings`.
    """
    chosen = _settings(settings)
    wanted, data = _chosen_suite(suite, benchmarks, chosen), open_data(chosen.data)
    with _session(load_model(model, chosen.device), output, chosen) as runner:
        plan = _prepare(runner, wanted, chosen, data)
        write_plan(plan, runner, partial=chosen.limit is not None)
        runner.complete(plan.jobs.values(), "benchmarks")
        result = read_results(runner.store, wanted)
        said = replace(result, warnings=(*data.remarks, *result.warnings))
        return Report(said, wanted, _kept(output, runner), runner.gave_up)


def dry_run(model: object, suite: str, benchmarks: Sequence[str], output: str | Path, settings: Settings) -> Plan:
    """What a run would compute. The model is surveyed, which takes seconds; no benchmark is run."""
    wanted, data = _chosen_suite(suite, benchmarks, settings), open_data(settings.data)
    with _session(load_model(model, settings.device), output, settings) as runner:
        return _prepare(runner, wanted, settings, data)


def surveyed(model: object, output: str | Path, settings: Settings) -> Survey:
    """What is known of a model; asks it only what the store does not know yet."""
    with _session(load_model(model, settings.device), output, settings) as runner:
        return make_survey(runner, settings.all_species, settings.elements)


def _settings(given: dict[str, Any]) -> Settings:
    unknown = set(given) - set(Settings.__dataclass_fields__)
    if unknown:
        raise AssayError(
            f"there is no setting '{sorted(unknown)[0]}'; there are {', '.join(Settings.__dataclass_fields__)}"
        )
    if "data" in given:
        places = given["data"]
        given = {**given, "data": tuple(map(str, [places] if isinstance(places, str | Path) else places))}
    return replace(Settings(), **given)


def _see_that(right: bool, name: str, value: object, wanted: str) -> None:
    if not right:
        raise AssayError(f"the setting '{name}' cannot be '{value}'; give {wanted}")


def _is_count(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _is_length(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < inf


def _chosen_suite(name: str, benchmarks: Sequence[str], settings: Settings) -> Suite:
    """The suite or some benchmarks of it, with what the user wants to have different for all of them."""
    wanted: dict[str, object] = {}
    if settings.seeds is not None:
        wanted["seeds"] = int(settings.seeds)
    if settings.until_error is not None:
        wanted["until_error"] = float(settings.until_error)
    return choose_suite(name, tuple(benchmarks)).adjusted(**wanted)


def _prepare(runner: Runner, suite: Suite, settings: Settings, data: DataSource) -> Plan:
    noise = any(benchmark.needs_noise for benchmark in suite.build())
    survey = make_survey(runner, settings.all_species, settings.elements, noise)
    return make_plan(suite.build(), survey, runner, settings.limit, data)


@contextmanager
def _session(model: Model, output: str | Path | None, settings: Settings) -> Iterator[Runner]:
    """A store, an executor and a runner that belong together; without an output folder they vanish afterwards."""
    workers = settings.workers if settings.workers is not None else (os.cpu_count() or 1)
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        store = Store.create(Path(scratch if output is None else output), model.folder)
        with open_executor(model, store, workers) as executor:
            yield Runner(model, store, executor, settings.timeout, progress=settings.progress)


def _kept(output: str | Path | None, runner: Runner) -> Path | None:
    return runner.store.folder if output is not None else None
