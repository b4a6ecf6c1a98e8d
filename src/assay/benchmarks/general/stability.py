"""Simulations last: nothing explodes, breaks, collapses, heats up, or freezes.

A potential may be right about every energy in a table and still lose a hydrogen after ten picoseconds. Then no
simulation with it means anything.

Protocol: NVT at 300 K from the structures of the data set; f is the frame of the first event, N the number of frames.
- stability: 1 if nothing happens; 0.5 + f / 2N if a hydrogen is lost; f / 2N if the run explodes (10 000 K too hot, or
  a hundred times hotter than a frame before and above three times the target) or stops. A hydrogen is lost if it is
  free, which is more than 2.5 Å from its atom and further than 1.5 sums of covalent radii from every heavy atom, in at
  least three frames and a quarter of all since the first, and if no atom holds it again for ten frames. Events that the
  publication does not look for score like an explosion: NaN or infinite numbers; a bond of two heavy atoms longer than
  1.5 sums of covalent radii; fragments, or half of all hydrogens lost; atoms nearer than half the sum of their radii;
  overheating, which is a mean temperature from f to the end of more than 1.2 times the target, by more than 4 standard
  errors. A run without thermal motion scores 0, and so does one whose second half is colder than 0.75 times the target
  by more than 4 standard errors. The relative error of a mean temperature is known: sqrt(2 / (degrees of freedom ×
  friction × time)). A run that may not show twice the target temperature has no score. With several seeds it is the
  mean.
- literal_score: the published score by the letter (reported): explosions, and the first frame in which a hydrogen is
  more than 2.5 Å from its atom, whatever else it is bonded to.
- survived: the share of systems to which nothing happened (reported).
- temperature: the mean over the second half of the run (reported). Velocities after complete steps are too cold by
  (ω Δt)² / 4 for a vibration of frequency ω; this part, which follows from the forces, is added.
- Score of a system: stability itself.
Reference: none; a sound model lasts.
Cite: MLIPAudit for the kinds of systems and the score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

import numpy as np

from assay.analysis.events import STABLE
from assay.benchmark import Case
from assay.benchmarks.bases.records import LITERAL, RecordBenchmark
from assay.benchmarks.bases.runs import (
    body_of,
    judged,
    mean_temperature,
    replicas,
    runs_of,
    temperatures,
    thinned,
    times,
)
from assay.data.dataset import EMBEDDED, DataSet, Record
from assay.jobs import Dynamics, Job
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome
from assay.score import mean_score
from assay.survey import Survey


@dataclass(frozen=True)
class Stability(RecordBenchmark):
    """Simulations of `steps` of 1 fs, a frame every `interval` steps; embedded systems of up to `most_atoms`."""

    kind = "stability"
    version = 2
    metrics = (
        Metric("stability", "1", ideal=1.0, is_score=True),
        LITERAL,
        Metric("survived", "1", ideal=1.0),
        Metric("temperature", "K"),
    )
    plots = (Plot("series", "temperatures", "time", "temperature", "time (ps)", "temperature (K)"),)
    catches: ClassVar[tuple[str, ...]] = ("zero_force", "frozen", "wrong_sign_forces", "nan_after", "raises")
    has_null = False  # without forces everything flies apart at once: there is no score to beat
    steps: int = 20_000
    interval: int = 20
    seeds: int = 1
    most_atoms: int | None = None

    def chosen(self, data: DataSet) -> list[Record]:
        """Of embedded systems only those that are small enough."""
        chosen = super().chosen(data)
        if self.most_atoms is None or data.card.lane != EMBEDDED:
            return chosen
        return [record for record in chosen if len(record.structures[0]) <= self.most_atoms]

    def obstacle(self, record: Record, survey: Survey) -> str:
        """Solutions need a model that supports periodic systems."""
        start = record.structures[0]
        periodic = any(start.pbc) and start.pattern not in survey.pbc
        return "the model does not support periodic systems" if periodic else ""

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """A run for each seed."""
        start = record.structures[0]
        start = start if any(start.pbc) else survey.placed(start)
        return replicas(Dynamics(start, steps=self.steps, interval=self.interval), self.seeds)

    def context_of(self, record: Record) -> dict[str, object]:
        """What the atoms are, and which are bonded at the start."""
        return {
            "body": body_of(record.structures[0]),
            "description": str(record.info.get("description", "")),
        }

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """What happened in each run; a run that stopped is judged by the frames that it has."""
        runs = runs_of(outcomes)
        events = [judged(case.context["body"], run) for run in runs]
        scores = [event.score for event in events if event.score is not None]
        score, scatter = mean_score(scores)
        worst = min(events, key=lambda event: 2.0 if event.score is None else event.score)
        heat, values = mean_temperature(runs), {LITERAL.name: fmean(event.literal_score for event in events)}
        values |= {} if score is None else {"stability": score, "survived": float(worst.kind == STABLE)}
        values |= {"temperature": heat.value} if np.isfinite(heat.value) else {}
        kelvin, expected = thinned(temperatures(runs[0])).tolist(), int(runs[0].values["expected_frames"])
        detail = {
            "verdicts": [event._asdict() for event in events],
            "expected_frames": expected,
            "time": thinned(times(runs[0])),
            "temperatures": [t if np.isfinite(t) else None for t in kelvin],
        }
        where = "" if worst.frame is None else f" at frame {worst.frame} of {expected}"
        reason = "" if worst.kind == STABLE else f"{worst.kind}{where}: {worst.reason}"
        errors = {"stability": scatter, "temperature": heat.stderr}
        return Observation(case.id, OK, values, reason, detail, stderr=errors)
