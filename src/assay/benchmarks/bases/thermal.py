"""The base of benchmarks that follow one quantity of a small molecule in a simulation at 300 K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from assay.analysis.fluctuations import independent_amplitudes
from assay.benchmarks.bases.records import RecordBenchmark
from assay.benchmarks.bases.runs import replicas
from assay.data.dataset import Record
from assay.errors import AssayError
from assay.jobs import Dynamics, Job, Watch
from assay.observation import Metric, Plot
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

    With `until_error` (Å) a run ends as soon as the standard error of the followed quantity is below it. A subclass
    writes `watched`, `context_of` (with the entry `body`) and `compare`.
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

    def watched(self, record: Record) -> Watch:
        """The quantity that is followed."""
        raise AssayError(f"benchmark '{self.name}' follows nothing; give it a method 'watched'")

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """A run for each seed."""
        watch = (self.watched(record),) if self.until_error is not None else ()
        start = survey.placed(record.structures[0])
        job = Dynamics(start, steps=self.steps, interval=self.interval, watch=watch, until_error=self.until_error)
        return replicas(job, self.seeds)

    def amplitudes(self, kept: Sequence[Floats], modes: int = 1) -> float:
        """How many independent amplitudes of vibration the kept parts of all runs hold."""
        return independent_amplitudes(sum(map(len, kept)) * self.interval / 1000.0, Dynamics.friction, modes)


def thermal_plots(quantity: str, label: str) -> tuple[Plot, ...]:
    """The quantity over time and its distribution."""
    return (
        Plot("series", quantity, "time", label, "time (ps)", f"{label} (Å)"),
        Plot("histogram", "histogram", "edges", f"distribution of the {label}", f"{label} (Å)", "frames"),
    )
