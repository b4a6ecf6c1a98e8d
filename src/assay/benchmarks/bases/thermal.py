"""What benchmarks of small molecules in motion share: runs at 300 K, a worst score, errors of averages over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

from assay.analysis.events import STABLE
from assay.analysis.fluctuations import amplitudes
from assay.benchmark import Case, Metric, MetricValue, Observation
from assay.benchmarks.bases.records import MoleculeBenchmark, failed, placed
from assay.benchmarks.bases.runs import replicas, runs_of, verdict_on, went_wrong, with_run_errors
from assay.data.dataset import Record
from assay.errors import AssayError
from assay.jobs import Dynamics, Job, Watch
from assay.outcome import Outcome
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
class ThermalBenchmark(MoleculeBenchmark):
    """Simulations at 300 K in `steps` of 1 fs, a frame every `interval`, from so many `seeds`.

    With `until_error` (Å) a run ends as soon as it is known so well. A subclass writes `watched`, `context_of` and
    `summary`.
    """

    worst_counts = True
    catches = ("zero_force", "frozen", "pure_noise", "wrong_sign_forces", "nan_after", "raises")
    steps: int = 20_000
    interval: int = 5
    seeds: int = 1
    until_error: float | None = None
    drop_start: bool = True
    """Leave out the start of a run, in which it still warms up."""

    def watched(self, record: Record) -> Watch:
        """The quantity that is followed."""
        raise AssayError(f"benchmark '{self.name}' follows nothing; give it a method 'watched'")

    def summary(self, case: Case, runs: Sequence[Outcome]) -> Observation:
        """What runs that went to their end show."""
        raise AssayError(f"benchmark '{self.name}' sees nothing; give it a method 'summary'")

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """A run for each seed."""
        watch = (self.watched(record),) if self.until_error is not None else ()
        start = placed(record.structures[0], survey)
        job = Dynamics(start, steps=self.steps, interval=self.interval, watch=watch, until_error=self.until_error)
        return replicas(job, self.seeds)

    def amplitudes(self, kept: Sequence[Floats], modes: int = 1) -> float:
        """How many independent amplitudes of vibration the kept parts of all runs hold."""
        return amplitudes(sum(map(len, kept)) * self.interval / 1000.0, Dynamics.friction, modes)

    def judge(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The summary; a run that went wrong, or in which the molecule comes apart or stands still, fails the case."""
        runs = runs_of(outcomes)
        if reason := went_wrong(runs):
            return failed(case, reason)
        seen = self.summary(case, runs)
        for verdict in (verdict_on(case.context["body"], run) for run in runs):
            if verdict.kind != STABLE:
                return failed(
                    case, f"{verdict.kind} at frame {verdict.frame}: {verdict.reason}", seen.values, seen.detail
                )
        return seen

    def null_observation(self, case: Case) -> Observation | None:
        """Without forces the atoms fly apart, which fails: there is no score to beat."""
        return None

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """Means over molecules, with the errors of the averages over time."""
        seen = {name for o in observations for name in o.values}
        wanted = [metric for metric in self.metrics if metric.name not in self.rare or metric.name in seen]
        return [with_run_errors(metric, observations) for metric in wanted]
