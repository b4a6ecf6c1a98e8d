"""CPU time that jobs need besides the evaluations of the model, as measured with a model that takes no time.

It matters only for models that answer in less than a millisecond. The numbers are for one core of a server of 2023.
"""

from __future__ import annotations

from assay.jobs import Job, Probe

PER_EVALUATION = {
    "SinglePoints": 40e-6,
    "Relaxation": 200e-6,
    "Dynamics": 90e-6,
    "Band": 350e-6,
    # Between two lines of Python another thread runs: 1 ms for a compiled model, 16 ms for EMT, which is Python.
    "threads": 5e-3,
    # A quarter of the evaluations is made while Python counts its objects, which slows it down.
    "memory": 0.5e-3,
}
"""Seconds for each expected evaluation, by the kind of a job or the name of a probe."""

OTHERS = 50e-6
"""The same for all other probes."""


def own_seconds(job: Job) -> float:
    """CPU seconds that Assay itself needs for a job."""
    kind = job.name if isinstance(job, Probe) else type(job).__name__
    return PER_EVALUATION.get(kind, OTHERS) * job.expected_calls
