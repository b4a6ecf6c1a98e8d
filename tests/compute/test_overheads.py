"""What Assay itself needs for a job is estimated, too: it decides for models that answer in microseconds."""

from __future__ import annotations

from importlib import import_module

from assay.compute.overheads import OTHERS, PER_EVALUATION, own_seconds
from assay.configurations import cluster
from assay.jobs import Band, Dynamics, Job, Probe, Relaxation, SinglePoints

START = cluster((29,))


def test_every_kind_of_job_has_an_overhead_for_each_evaluation() -> None:
    jobs: list[Job] = [SinglePoints((START,) * 3), Relaxation(START), Dynamics(START, steps=7), Band(START, START)]
    for job in jobs:
        assert own_seconds(job) == PER_EVALUATION[type(job).__name__] * job.expected_calls > 0.0
    assert own_seconds(Probe("threads", (START,), force_calls=20)) == 20 * PER_EVALUATION["threads"]
    assert own_seconds(Probe("repeats", (START,), force_calls=20)) == 20 * OTHERS


def test_every_probe_with_an_overhead_of_its_own_exists() -> None:
    for name in PER_EVALUATION.keys() - {"SinglePoints", "Relaxation", "Dynamics", "Band"}:
        assert callable(import_module(f"assay.compute.probes.{name}").run)
