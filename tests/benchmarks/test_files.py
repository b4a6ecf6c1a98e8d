"""A benchmark is one short file, and says what a report should draw from what it observed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from assay.benchmarks.registry import registered_benchmarks
from assay.errors import AssayError
from assay.observation import PLOT_KINDS, Observation, Plot
from assay.outcome import OK
from assay.results import ModelResult, read_results
from assay.store import open_stores
from assay.suites import load_suite

LONGEST = 120
LONGER = {
    "general.energy_conservation": "runs at two time steps, drifts, and what follows if they do not resolve anything",
    "general.stability": "a rule for each of ten verdicts, and the published score beside",
    "molecules.bond_lengths": "three scored metrics, and the published score beside them",
    "molecules.reference_geometry": "two minimisations, a test of the stiffness, and the published score beside",
    "physicality.compression": "26 lines say what each of six metrics means and which structures are used",
    "physicality.diatomics": "28 lines say what each of ten metrics means",
    "physicality.locality": "three experiments on one molecule, which share their structures and limits",
}
"""Benchmarks whose file is longer, with the reason."""

NAMES = sorted(registered_benchmarks())
every_benchmark = pytest.mark.parametrize("name", NAMES)


@every_benchmark
def test_a_benchmark_fits_on_two_screens(name: str) -> None:
    path = Path(sys.modules[registered_benchmarks()[name].__module__].__file__ or "")
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert (lines > LONGEST) == (name in LONGER), f"{name} has {lines} lines"
    assert lines <= 1.5 * LONGEST


@every_benchmark
def test_the_protocol_names_every_metric_of_a_benchmark_with_several(name: str) -> None:
    kind = registered_benchmarks()[name]
    text = sys.modules[kind.__module__].__doc__ or ""
    named = [metric.name for metric in kind.metrics if not metric.optional and metric.name != "temperature"]
    if len(named) > 1:
        assert [metric for metric in named if metric not in text] == []


@every_benchmark
def test_plots_are_declared(name: str) -> None:
    plots = registered_benchmarks()[name].plots
    assert plots
    assert all(plot.kind in PLOT_KINDS and plot.title for plot in plots)


def test_a_plot_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(AssayError, match="there is no kind of plot 'pie'"):
        Plot("pie", "energy")


@pytest.fixture(scope="module")
def seen(every_category: Path) -> ModelResult:
    """The results of every benchmark for the sound potential."""
    (store,) = open_stores(every_category)
    return read_results(store, load_suite("smoke"))


def length(observation: Observation, name: str) -> int:
    """How many numbers an observation has under a name, in its detail or else its values."""
    return int(np.size(observation.detail[name] if name in observation.detail else observation.values[name]))


@every_benchmark
def test_observations_have_the_data_of_the_plots(name: str, seen: ModelResult) -> None:
    (result,) = [b for b in seen.benchmarks if b.name == name]
    ok = [o for o in result.observations if o.status == OK]
    if not ok:
        assert {o.status for o in result.observations} == {"unsupported"}, [o.reason for o in result.observations]
        return
    for plot in registered_benchmarks()[name].plots:
        having = [o for o in ok if all(n in o.detail or n in o.values for n in plot.needs)]
        assert having, f"no case of {name} has {plot.needs}"
        for observation in having:
            sizes = {n: length(observation, n) for n in plot.needs}
            if plot.kind == "histogram":
                assert sizes[plot.x] == sizes[plot.y] + 1
            else:
                assert len(set(sizes.values())) == 1, sizes
