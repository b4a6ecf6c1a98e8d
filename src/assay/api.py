"""The library's functions: `check` verifies a potential, `run` runs a suite. The command line calls these, too."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.compute.cost import CostModel
from assay.compute.executors import open_executor
from assay.compute.plan import Plan, make_plan, write_plan
from assay.compute.rechecking import require_same_answers, stored_noise, surveyed_elements
from assay.compute.reuse import NOTHING_REUSED, Reuse, reused_results
from assay.compute.runner import Runner
from assay.compute.surveying import make_survey
from assay.data.source import DataSource, open_data
from assay.elements import atomic_numbers
from assay.errors import AssayError
from assay.model import Model
from assay.models.loading import load_model
from assay.notebook import shown_progress
from assay.places import with_own_folder
from assay.report.document import check_document, score_document
from assay.report.verdict import exit_code
from assay.results import ModelResult, read_results
from assay.settings import DEFAULTS, TIMEOUT, Progress, Settings, silent
from assay.store import Store
from assay.suites import Suite, choose_suite
from assay.survey import Survey

__all__ = ["Report", "Settings", "check", "dry_run", "run", "run_suite", "surveyed"]


@dataclass(frozen=True)
class Report:
    """The results of a run. Prints as a table in a terminal and in a notebook; `data` is the JSON document."""

    result: ModelResult
    suite: Suite
    folder: Path | None
    gave_up: str = ""
    reuse: Reuse = NOTHING_REUSED
    cpu_seconds: float = 0.0
    """CPU seconds that were used for what was missing, without the survey."""

    expected_seconds: float = 0.0
    """The estimate of it, made before the run."""

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
        """Mean score over the categories, between 0 and 1; None if only checks were run, which are in no mean."""
        return self.result.score[0]

    @property
    def data(self) -> dict[str, Any]:
        """Everything as plain data, as `assay score --json` prints it."""
        return score_document([self.result], self.suite.name)

    @property
    def exit_code(self) -> int:
        """0 done, 1 a mandatory check failed, 3 some jobs ended in error."""
        return exit_code(self.result)

    def to_json(self) -> str:
        """`data` as text."""
        return json.dumps(self.data, indent=1, allow_nan=False)

    def __str__(self) -> str:
        from assay.report.table import as_text, text_width

        return as_text(self.result, text_width())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from assay.report.table import as_html

        return as_html(self.result)


def check(
    model: object,
    output: str | Path | None = None,
    *,
    workers: int | None = None,
    timeout: float = TIMEOUT,
    limit: int | None = None,
    all_species: bool = False,
    elements: Sequence[str | int] | None = None,
    device: str | None = None,
    fresh: bool = False,
    progress: Progress = silent,
) -> Report:
    """Verify a potential: run every verification check on a calculator, a factory of one, or a model name.

    Args:
        model: an ASE calculator, a function or class that makes one, or a name as on the command line.
        output: results folder to keep and to resume from; by default nothing is kept.
        workers: worker processes; by default one per core, 0 to stay in this process.
        timeout: seconds without CPU time or an answer after which a worker hangs; added to every deadline in CPU time.
        limit: at most this number of cases of each check.
        all_species: check every species that the model supports, not a sample.
        elements: elements that the model claims, where it claims none itself, such as ("Cu", "Au").
        device: where the model runs, "cpu" or "cuda".
        fresh: put earlier results in `output` aside and compute everything again.
        progress: called while jobs run with the force calls done, the force calls in all, and what they are for; by
            default, progress is shown in a notebook and nowhere else.
    """
    settings = Settings(
        workers=workers,
        timeout=timeout,
        limit=limit,
        all_species=all_species,
        elements=_numbers(elements),
        device=device,
        fresh=fresh,
        progress=progress,
    )
    return run_suite(model, "smoke", ("verification",), output, settings)


def run(
    model: object,
    suite: str = "smoke",
    benchmarks: Sequence[str] = (),
    output: str | Path | None = None,
    *,
    workers: int | None = None,
    timeout: float = TIMEOUT,
    limit: int | None = None,
    all_species: bool = False,
    elements: Sequence[str | int] | None = None,
    device: str | None = None,
    data: str | Path | Sequence[str | Path] = (),
    seeds: int | None = None,
    until_error: float | None = None,
    fresh: bool = False,
    progress: Progress = silent,
) -> Report:
    """Run a suite (or some benchmarks of it) on a potential and return the results.

    Args:
        model: an ASE calculator, a function or class that makes one, or a name as on the command line.
        suite: "smoke", "laptop", "paper", or a TOML file.
        benchmarks: names or categories, to run only these.
        output: results folder to keep and to resume from; by default nothing is kept.
        workers: worker processes; by default one per core, 0 to stay in this process.
        timeout: seconds without CPU time or an answer after which a worker hangs; added to every deadline in CPU time.
        limit: at most this number of cases of each benchmark.
        all_species: check every species that the model supports, not a sample.
        elements: elements that the model claims, where it claims none itself, such as ("Cu", "Au").
        device: where the model runs, "cpu" or "cuda".
        data: folders of reference data, or names from `assay list data`, that replace the embedded data sets.
        seeds: run every simulation this number of times, with different velocities.
        until_error: end a simulation when the standard error of its bond length or ring planarity is below this (Å).
        fresh: put earlier results in `output` aside and compute everything again.
        progress: called while jobs run with the force calls done, the force calls in all, and what they are for; by
            default, progress is shown in a notebook and nowhere else.
    """
    settings = Settings(
        workers=workers,
        timeout=timeout,
        limit=limit,
        all_species=all_species,
        elements=_numbers(elements),
        device=device,
        data=tuple(map(str, [data] if isinstance(data, str | Path) else data)),
        seeds=seeds,
        until_error=until_error,
        fresh=fresh,
        progress=progress,
    )
    return run_suite(model, suite, benchmarks, output, settings)


def run_suite(
    model: object,
    suite: str = "smoke",
    benchmarks: Sequence[str] = (),
    output: str | Path | None = None,
    settings: Settings = DEFAULTS,
) -> Report:
    """Run a suite as `run` does, with all settings in one object."""
    chosen, data = _chosen_suite(suite, benchmarks, settings), open_data(settings.data)
    opened = _opened(model, output, settings)
    if settings.fresh and output is not None:
        Store.create(Path(output), opened.folder).put_aside()
    with _session(opened, output, settings) as runner:
        stored, contact, replaced = runner.known, runner.cost.contact_deadline, _claim_folder(runner)
        if runner.model.may_read_files:  # before the survey, whose new answers would stand beside old ones
            first = surveyed_elements(runner.model.card, settings.elements)
            require_same_answers(runner, stored, first, stored_noise(runner), contact)
        plan = _prepare(runner, chosen, settings, data)
        reuse = reused_results(stored, plan.jobs, runner.store.folder)
        if runner.model.may_read_files:
            noise = (plan.survey.noise_energy, plan.survey.noise_force)
            require_same_answers(runner, stored, plan.jobs.values(), noise)
        write_plan(plan, runner, partial=settings.limit is not None)
        before = runner.executor.cpu_seconds
        runner.complete(plan.jobs.values(), "benchmarks")
        result = read_results(runner.store, chosen)
        result = replace(result, warnings=(*data.remarks, *replaced, *result.warnings))
        return Report(
            result,
            chosen,
            runner.store.folder if output is not None else None,
            runner.gave_up,
            reuse,
            runner.executor.cpu_seconds - before,
            plan.seconds,
        )


def dry_run(
    model: object,
    suite: str = "smoke",
    benchmarks: Sequence[str] = (),
    output: str | Path | None = None,
    settings: Settings = DEFAULTS,
) -> Plan:
    """Plan what a run would compute, and estimate its time. The model is surveyed, which takes seconds.

    No benchmark is run, and the cases in the results folder stay as they are.
    """
    chosen, data = _chosen_suite(suite, benchmarks, settings), open_data(settings.data)
    with _session(_opened(model, output, settings), None if settings.fresh else output, settings) as runner:
        return _prepare(runner, chosen, settings, data)


def surveyed(model: object, output: str | Path | None = None, settings: Settings = DEFAULTS) -> Survey:
    """Survey a model: which elements and boundary conditions it supports. Answers in the results folder are reused."""
    with _session(_opened(model, output, settings), output, settings) as runner:
        return make_survey(runner, settings.all_species, settings.elements)


def _numbers(elements: Sequence[str | int] | None) -> tuple[int, ...] | None:
    return None if elements is None else atomic_numbers(elements, "the elements given")


def _chosen_suite(name: str, benchmarks: Sequence[str], settings: Settings) -> Suite:
    """The suite or some benchmarks of it, with the settings that the user changes for all benchmarks."""
    changes: dict[str, object] = {}
    if settings.seeds is not None:
        changes["seeds"] = int(settings.seeds)
    if settings.until_error is not None:
        changes["until_error"] = float(settings.until_error)
    return choose_suite(name, tuple(benchmarks)).adjusted(**changes)


def _prepare(runner: Runner, suite: Suite, settings: Settings, data: DataSource) -> Plan:
    noise = any(benchmark.needs_noise for benchmark in suite.build())
    survey = make_survey(runner, settings.all_species, settings.elements, noise)
    return make_plan(suite.build(), survey, runner, settings.limit, data)


def _opened(model: object, output: str | Path | None, settings: Settings) -> Model:
    """The model, under a name with a results folder of its own."""
    opened = load_model(model, settings.device)
    return opened if output is None else with_own_folder(opened, Path(output))


def _claim_folder(runner: Runner) -> list[str]:
    """Note in the folder whose it is, before anything is computed; a warning if it was that of another version."""
    store, model = runner.store, runner.model
    if not (store.folder / "model.json").exists():
        store.write_model(model.describe())
    try:
        before = store.read_model().get("fingerprint", model.fingerprint)
    except AssayError:
        return []  # the plan writes it again
    in_python = model.reference is None or model.reference.payload is not None
    if before == model.fingerprint or in_python:  # the hash of an object of Python may change without a reason
        return []
    return [
        f"'{store.folder}' has results of another model or version called '{model.name}', which are kept and not scored"
    ]


@contextmanager
def _session(model: Model, output: str | Path | None, settings: Settings) -> Iterator[Runner]:
    """Open store, executor and runner for a model; without an output folder the results are deleted afterwards."""
    workers = settings.workers if settings.workers is not None else (os.cpu_count() or 1)
    with tempfile.TemporaryDirectory(prefix="assay-") as scratch:
        store = Store.create(Path(scratch if output is None else output), model.folder)
        with (
            open_executor(model, store, workers) as executor,
            shown_progress(settings.progress, model.name) as progress,
        ):
            yield Runner(model, store, executor, CostModel.of_model(model, settings.timeout), progress)
