"""Bonds in motion: length, bias and fluctuation, and models that are too stiff, too soft, frozen or broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.analysis.blocks import average
from assay.benchmark import Scope, observe_case, planned_cases
from assay.data.bond_types import BOND_TYPES
from assay.data.dataset import Record
from assay.data.embedded import defaults
from assay.data.source import DataSource
from assay.jobs import Dynamics, Watch
from assay.observation import Observation
from assay.outcome import OK, Outcome
from assay.store.trajectory import Recorder, Trajectory, trajectory_path
from assay.structure import Structure
from molecule_cases import Model, benchmark, source, survey
from run_cases import HOPELESS, observe_runs, run_case, springs

LENGTH, STIFFNESS = 1.41, BOND_TYPES["C-O"].stiffness
REST = np.array([[0.0, 0.0, 0.0], [LENGTH, 0.0, 0.0]])
PAIR = replace(Structure.build([6, 8], REST), charge=0, spin=1)
NAME = "bond_lengths"
SOUND = springs(REST, STIFFNESS)


def data(**info: object) -> DataSource:
    return source("bonds", Record("pair", (PAIR,), info={"bond": [0, 1], **info}))


def seen(model: Model, folder: Path, steps: int = 12_000, seeds: int = 1) -> Observation:
    asked = benchmark(NAME, steps=steps, interval=10, seeds=seeds)
    cases = list(planned_cases(asked, Scope(survey(), data())))
    return observe_runs(asked, cases, model, folder)["pair"]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Observation:
    return seen(SOUND, tmp_path_factory.mktemp("sound"), 20_000)


def score(observation: Observation) -> float:
    found = benchmark(NAME).case_score(observation)
    assert found is not None
    return found


def test_a_sound_bond_has_its_length_and_the_fluctuation_of_its_stiffness(sound: Observation) -> None:
    found = sound
    assert found.status == OK, found.reason
    assert score(found) == 1.0
    assert found.values["bias"] == pytest.approx(0.0, abs=0.005)
    assert found.values["fluctuation_ratio"] == pytest.approx(1.0, abs=0.3)
    assert found.values["mean_deviation"] == pytest.approx(0.8 * found.values["fluctuation"], rel=0.1)
    assert (found.stderr["fluctuation_ratio"] or 0.0) > 0.05
    assert found.detail["histogram"].sum() <= 2001


def test_standard_errors_are_those_of_the_amplitudes_that_friction_makes(tmp_path: Path) -> None:
    """In 4 ps with a friction of 2/ps there are 4 amplitudes, so that the fluctuation is known to 1 / (2 sqrt(4))."""
    asked = benchmark(NAME, steps=4000, interval=5, drop_start=False)
    found = observe_runs(asked, planned_cases(asked, Scope(survey(), data())), SOUND, tmp_path)["pair"]
    errors = {name: error or 0.0 for name, error in found.stderr.items()}
    assert errors["fluctuation_error"] == pytest.approx(0.25, rel=0.01)
    assert errors["fluctuation"] == pytest.approx(0.25 * found.values["fluctuation"], rel=0.01)
    assert errors["fluctuation_ratio"] == pytest.approx(0.25 * found.values["fluctuation_ratio"], rel=0.01)
    # The mean of |x| of a normal distribution is sqrt(2 / π) of its width.
    assert errors["mean_deviation"] == pytest.approx(np.sqrt(2.0 / np.pi) * errors["fluctuation"], rel=0.02)
    assert found.tolerances["fluctuation_error"] == pytest.approx(max(np.log(1.4), 0.5), rel=0.01)


def test_the_error_of_the_bias_is_that_of_the_mean_length(tmp_path: Path) -> None:
    """One run: the error of a correlated mean. Three runs: their scatter, or their own errors, if larger."""
    asked = benchmark(NAME, steps=2000, interval=5, drop_start=False, seeds=3)
    (case,) = planned_cases(asked, Scope(survey(), data()))
    runs = run_case(case, SOUND, tmp_path)
    means = []
    for run in runs.values():
        positions = np.concatenate([frames.positions for frames in run.trajectory().chunks()])
        means.append(average(np.linalg.norm(positions[:, 0] - positions[:, 1], axis=1)))
    one, three = observe_case(asked, case, {"run1": runs["run1"]}), observe_case(asked, case, runs)
    assert one.stderr["bias"] == pytest.approx(means[0].stderr)
    own = np.sqrt(sum((mean.stderr or 0.0) ** 2 for mean in means)) / 3.0
    scatter = np.std([mean.value for mean in means], ddof=1) / np.sqrt(3.0)
    assert three.stderr["bias"] == pytest.approx(max(own, scatter))


def test_too_stiff_and_too_soft_are_told_apart(tmp_path: Path) -> None:
    stiff, soft = (seen(springs(REST, factor * STIFFNESS), tmp_path, 15_000, 4) for factor in (3.0, 1.0 / 3.0))
    assert stiff.values["fluctuation_ratio"] == pytest.approx(3.0**-0.5, abs=0.12)
    assert soft.values["fluctuation_ratio"] == pytest.approx(3.0**0.5, abs=0.35)
    for found in (stiff, soft):
        assert found.status == OK
        assert score(found) < 0.4
        assert found.values["mean_deviation"] < 0.05, "the published metric sees nothing wrong"


def metric_scores(observation: Observation) -> dict[str, float | None]:
    return {metric.name: metric.score(observation) for metric in benchmark(NAME).metrics}


def test_a_bond_that_is_too_long_has_a_bias_and_the_right_fluctuation(tmp_path: Path) -> None:
    found = seen(springs(1.08 * REST, STIFFNESS), tmp_path, 6000, 4)
    assert found.values["bias"] == pytest.approx(0.08 * LENGTH, abs=0.005)
    assert metric_scores(found)["fluctuation_error"] == 1.0
    assert score(found) < 0.1


def frozen_run(folder: Path) -> Outcome:
    recorder = Recorder(trajectory_path(folder, "stuck"), 2)
    for step in range(200):
        recorder.add(REST, (float(step), 0.0, 0.08, 0.0))
    values = {"natoms": 2, "frames": 200, "expected_frames": 200, "freedom": 6, "stopped": "", "stopped_cause": ""}
    return Outcome(
        "stuck", OK, {**values, "trajectory": recorder.finish({})}, frames=Trajectory(trajectory_path(folder, "stuck"))
    )


def test_a_frozen_molecule_fails_although_it_deviates_by_nothing(tmp_path: Path) -> None:
    asked = benchmark(NAME)
    (case,) = planned_cases(asked, Scope(survey(), data()))
    found = observe_case(asked, case, {"run1": frozen_run(tmp_path)})
    assert found.values["mean_deviation"] == pytest.approx(0.0, abs=1e-6)
    assert score(found) == pytest.approx(0.0, abs=1e-6)
    assert found.values["literal_score"] == 1.0, "by the words of the publication a frozen molecule is perfect"


def test_the_literal_score_counts_every_frame_with_the_published_threshold(tmp_path: Path) -> None:
    asked = benchmark(NAME)
    (case,) = planned_cases(asked, Scope(survey(), data(bond_length=LENGTH - 0.08)))
    found = observe_case(asked, case, {"run1": frozen_run(tmp_path)})
    assert found.values["literal_score"] == pytest.approx(np.exp(-3.0 * 0.03 / 0.05), rel=1e-4)


def test_a_run_that_stopped_counts_as_zero_in_the_literal_score(tmp_path: Path) -> None:
    good, bad = seen(SOUND, tmp_path / "good", 1000), seen(HOPELESS["nan_after"](SOUND), tmp_path / "bad", 1000)
    measured = {m.name: m for m in benchmark(NAME).measure([good, bad])}
    assert (good.values["literal_score"], bad.values["literal_score"]) == (1.0, 0.0)
    assert measured["literal_score"].value == 0.5
    assert measured["literal_score"].score is None


@pytest.mark.parametrize("model", HOPELESS)
def test_broken_models_score_next_to_nothing(model: str, tmp_path: Path) -> None:
    found = seen(HOPELESS[model](SOUND), tmp_path, 2000)
    assert score(found) <= 0.1, (found.reason, found.values)


def test_seeds_are_runs_of_their_own_and_their_scatter_is_an_error(tmp_path: Path) -> None:
    asked = benchmark(NAME, steps=1000, interval=10, seeds=3)
    (case,) = planned_cases(asked, Scope(survey(), data()))
    jobs = list(case.jobs.values())
    assert [job.seed for job in jobs if isinstance(job, Dynamics)] == [0, 1, 2]
    observations = observe_runs(asked, [case], SOUND, tmp_path)
    metrics = {m.name: m for m in asked.measure(list(observations.values()))}
    assert metrics["mean_deviation"].stderr is not None
    assert metrics["mean_deviation"].stderr > 0.0


def test_what_a_short_run_cannot_tell_has_no_score(tmp_path: Path, sound: Observation) -> None:
    short = seen(SOUND, tmp_path, 1000)
    assert short.tolerances["fluctuation_error"] > 0.6
    assert "fluctuation_error" in short.unresolved
    assert "fluctuation_error" in short.reason
    assert metric_scores(short)["fluctuation_error"] is None
    assert sound.unresolved == ()
    assert sound.tolerances["fluctuation_error"] == pytest.approx(np.log(1.4))
    value = next(m for m in benchmark(NAME).measure([short, sound]) if m.name == "fluctuation_error")
    assert value.coverage == (2, 2)
    assert value.score == 1.0, "only the long run counts"


@pytest.mark.parametrize(("limit", "seeds"), [(0.004, 1), (0.002, 1), (0.003, 4)])
def test_a_run_ends_on_the_standard_error_that_is_reported(limit: float, seeds: int, tmp_path: Path) -> None:
    asked = benchmark(NAME, steps=60_000, interval=5, until_error=limit, seeds=seeds)
    (case,) = planned_cases(asked, Scope(survey(), data()))
    runs = run_case(case, SOUND, tmp_path)
    assert all(run.values["sure_enough"] for run in runs.values())
    found = observe_case(asked, case, runs)
    reported = [found.stderr[name] or 0.0 for name in ("mean_deviation", "bias")]
    assert 0.0 < max(reported) < limit
    frames = [run.values["frames"] for run in runs.values()]
    assert max(frames) < 12_001
    if frames[0] > 0.2 * 12_001 + 240:
        before = observe_case(asked, case, {"run1": shortened(runs["run1"], frames[0] - 240, tmp_path)})
        assert max(before.stderr[name] or 1.0 for name in ("mean_deviation", "bias")) >= limit


def shortened(run: Outcome, frames: int, folder: Path) -> Outcome:
    """The same run with fewer frames."""
    recorder = Recorder(trajectory_path(folder, "short"), 2)
    positions = np.concatenate([part.positions for part in run.trajectory().chunks()])
    kinetic = run.trajectory().series("kinetic")
    for step in range(frames):
        recorder.add(positions[step], (5.0 * step, 0.0, kinetic[step], 0.0))
    recorder.finish({})
    return replace(run, frames=Trajectory(trajectory_path(folder, "short")))


def test_the_distance_is_watched_only_if_a_run_may_end_early() -> None:
    (case,) = planned_cases(benchmark(NAME), Scope(survey(), data()))
    (early,) = planned_cases(benchmark(NAME, until_error=0.001), Scope(survey(), data()))
    jobs = [c.jobs["run1"] for c in (case, early)]
    assert [job.watch for job in jobs if isinstance(job, Dynamics)] == [
        (),
        (Watch("distance", (0, 1), LENGTH, case.context["expected"], True),),
    ]


def test_a_bond_of_unknown_stiffness_is_not_asked() -> None:
    odd = Record("odd", (replace(Structure.build([6, 8], [[0, 0, 0], [2.0, 0, 0]]), charge=0),), info={"bond": [0, 1]})
    (case,) = planned_cases(benchmark(NAME), Scope(survey(), source("bonds", odd)))
    assert "bond_stiffness" in case.unsupported
    known = replace(odd, info={"bond": [0, 1], "bond_stiffness": 10.0})
    (case,) = planned_cases(benchmark(NAME), Scope(survey(), source("bonds", known)))
    assert case.jobs
    assert case.context["expected"] == pytest.approx(np.sqrt(0.0258520 / 10.0), rel=1e-4)


def test_eight_types_of_bonds_come_with_the_program() -> None:
    (bonds,) = defaults("bonds")
    assert {str(record.info["bond_type"]) for record in bonds.records} == set(BOND_TYPES)
    cases = list(planned_cases(benchmark(NAME), Scope(survey((1, 6, 7, 8, 9)))))
    assert len(cases) == 8
    for case in cases:
        assert case.context["length"] == pytest.approx(BOND_TYPES[case.context["group"]].length, abs=0.01)
