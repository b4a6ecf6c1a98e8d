"""Simulations last: nothing explodes, breaks, falls together, gets hot, or freezes.

A potential may be right about every energy in a table and still lose a hydrogen after ten picoseconds. Then no
simulation with it means anything.

Protocol: NVT at 300 K from the structures of the data set. The score S of a system is the published one: 1 if nothing
happens, 0.5 + f / 2N if a hydrogen is lost at frame f of N (more than 2.5 Å from its atom and from all other heavy
atoms until the end), f / 2N if the run explodes at frame f (10 000 K too hot, or a hundred times hotter than a frame
before). Scored like an explosion is what the publication does not look at: numbers that are not finite, a bond of two
heavy atoms longer than 1.5 sums of covalent radii, fragments, atoms nearer than half the sum of their radii, and a
temperature that stays above 1.5 times what it should be. A run without thermal motion scores 0. With several seeds S is
the mean. `survived` is the share of systems to which nothing happened.
Reference: none; a sound model lasts.    Cite: MLIPAudit for the systems' kinds and S.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.analysis.events import STABLE
from assay.benchmark import Case, Metric, MetricValue, Observation
from assay.benchmarks.bases.records import MoleculeBenchmark, placed
from assay.benchmarks.bases.runs import (
    STDERR,
    body_of,
    mean_temperature,
    replicas,
    runs_of,
    temperatures,
    thinned,
    verdict_on,
    with_run_errors,
)
from assay.data.dataset import EMBEDDED, DataSet, Record
from assay.jobs import Dynamics, Job
from assay.outcome import OK, Outcome
from assay.score import mean_score
from assay.survey import Survey


@dataclass(frozen=True)
class Stability(MoleculeBenchmark):
    """Simulations in `steps` of 1 fs, a frame every `interval`; embedded systems of up to `most_atoms`."""

    kind = "stability"
    metrics = (Metric("stability", "1", ideal=1.0), Metric("survived", "1", ideal=1.0), Metric("temperature", "K"))
    catches: ClassVar[tuple[str, ...]] = ("zero_force", "frozen", "wrong_sign_forces", "nan_after", "raises")
    rare = ()
    steps: int = 20_000
    interval: int = 20
    seeds: int = 1
    most_atoms: int | None = None

    def _chosen(self, data: DataSet) -> list[Record]:
        chosen = super()._chosen(data)
        if self.most_atoms is None or data.card.lane != EMBEDDED:
            return chosen
        return [record for record in chosen if len(record.structures[0]) <= self.most_atoms]

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """A run for each seed."""
        start = record.structures[0]
        start = start if any(start.pbc) else placed(start, survey)
        return replicas(Dynamics(start, steps=self.steps, interval=self.interval), self.seeds)

    def _case(self, name: str, record: Record, card: object, survey: Survey) -> Case:
        case = super()._case(name, record, card, survey)  # type: ignore[arg-type]
        periodic = any(record.structures[0].pbc)
        if case.jobs and periodic and record.structures[0].pattern not in survey.pbc:
            return replace(case, jobs={}, unsupported="the model knows no periodic systems")
        return case

    def context_of(self, record: Record) -> dict[str, object]:
        """What the atoms are, and which are bonded at the start."""
        return {
            "body": body_of(record.structures[0]),
            "description": str(record.info.get("description", "")),
        }

    def null_observation(self, case: Case) -> Observation | None:
        """Without forces everything flies apart at once: there is no score to beat."""
        return None

    def judge(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The verdict on each run; a run that stopped is judged by the frames that it has."""
        runs = runs_of(outcomes)
        verdicts = [verdict_on(case.context["body"], run) for run in runs]
        score, scatter = mean_score([verdict.score for verdict in verdicts])
        worst = min(verdicts, key=lambda verdict: verdict.score)
        heat = mean_temperature(runs)
        values = {"stability": score or 0.0, "survived": float(worst.kind == STABLE)}
        values |= {"temperature": heat.value} if np.isfinite(heat.value) else {}
        told = [{"kind": v.kind, "frame": v.frame, "reason": v.reason, "score": v.score} for v in verdicts]
        detail = {
            STDERR: {"stability": scatter, "temperature": heat.stderr},
            "verdicts": told,
            "expected_frames": int(runs[0].values["expected_frames"]),
            "temperatures": [t if np.isfinite(t) else None for t in thinned(temperatures(runs[0])).tolist()],
        }
        where = "" if worst.frame is None else f" at frame {worst.frame} of {detail['expected_frames']}"
        reason = "" if worst.kind == STABLE else f"{worst.kind}{where}: {worst.reason}"
        return Observation(case.id, OK, values, reason, detail)

    def case_score(self, observation: Observation) -> float | None:
        """S itself."""
        if observation.status == OK:
            return observation.values["stability"]
        return 0.0 if observation.status == "failed" else None

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """Means over systems; the first metric is its own score."""
        found = [with_run_errors(metric, observations) for metric in self.metrics]
        scores = [score for o in observations if (score := self.case_score(o)) is not None]
        complete = all(o.status != "error" for o in observations)
        return [replace(found[0], score=mean_score(scores)[0] if complete else None), *found[1:]]
