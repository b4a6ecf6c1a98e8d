"""The base of benchmarks that follow one quantity of a small molecule in a simulation at 300 K."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any

from assay.benchmarks.bases.records import RecordBenchmark
from assay.benchmarks.bases.runs import followed, replicas, stopped
from assay.data.dataset import Record
from assay.errors import AssayError
from assay.jobs import Dynamics, Job, Watch
from assay.observation import Metric, Plot
from assay.outcome import Outcome
from assay.score import soft_threshold
from assay.structure import Floats
from assay.survey import Survey

FACTOR = log(1.4)
"""Good up to here: fluctuations within a factor of 1.4, which is a factor of two in stiffness."""

FLUCTUATION = (
    Metric("fluctuation_error", "1", threshold=FACTOR),
    Metric("fluctuation", "Å"),
    Metric("fluctuation_ratio", "1", ideal=1.0),
    Metric("temperature", "K", ideal=300.0),
)


@dataclass(frozen=True)
class ThermalBenchmark(RecordBenchmark):
    """Simulations at 300 K of `steps` of 1 fs, a frame every `interval` steps, repeated with `seeds` seeds.

    With `until_error` (Å) a run ends as soon as the standard errors of its scored averages are below it. Each of N runs
    ends at sqrt(N) / 2 times it: then the error of their mean is half of it, or, if the runs differ more than their own
    errors tell, their scatter, which is below it with a probability of 95 %. A subclass writes `watched`, `context_of`
    (with the entry `body`) and `compare`.
    """

    worst_counts = True
    has_null = False  # without forces the atoms fly apart, which fails: there is no score to beat
    catches = ("zero_force", "frozen", "pure_noise", "wrong_sign_forces", "nan_after", "raises")
    steps: int = 20_000
    interval: int = 5
    seeds: int = 1
    until_error: float | None = None
    drop_start: bool = True
    """Leave out the start of a run, in which it still warms up."""

    def watched(self, context: Mapping[str, Any]) -> Watch:
        """The quantity that is followed, from the context of a case."""
        raise AssayError(f"benchmark '{self.name}' follows nothing; give it a method 'watched'")

    @property
    def spacing(self) -> float:
        """The time (ps) between two frames."""
        return self.interval * Dynamics.timestep / 1000.0

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """A run for each seed."""
        start = survey.placed(record.structures[0])
        job = Dynamics(start, steps=self.steps, interval=self.interval)
        if self.until_error is not None:
            error = self.until_error * (sqrt(self.seeds) / 2.0 if self.seeds > 1 else 1.0)
            job = replace(job, watch=(self.watched(self.context_of(record)),), until_error=error)
        return replicas(job, self.seeds)


def thermal_plots(quantity: str, label: str) -> tuple[Plot, ...]:
    """The quantity over time and its distribution."""
    return (
        Plot("series", quantity, "time", label, "time (ps)", f"{label} (Å)"),
        Plot("histogram", "histogram", "edges", f"distribution of the {label}", f"{label} (Å)", "frames"),
    )


def literal_mean(runs: Sequence[Outcome], deviation: Callable[[Floats], Floats], threshold: float) -> float:
    """The published score of runs: that of a deviation (Å), averaged over all frames; 0 if a run stopped."""
    if stopped(runs):
        return 0.0
    means = [float(followed(run, deviation).mean()) for run in runs]
    return soft_threshold(sum(means) / len(means), threshold)
