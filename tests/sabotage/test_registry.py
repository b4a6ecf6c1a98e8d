"""Who catches what is written once, in `catches` of the benchmarks, and every broken model is caught."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from assay.benchmark import Benchmark
from assay.benchmarks.registry import installed_benchmarks, registered_benchmarks
from assay.errors import AssayError
from assay.sabotage import BROKEN, caught_models, is_caught


class Caught(Benchmark):
    """A benchmark of another package."""

    name = "mine.caught"
    catches = ("zero_force", "hangs")


@pytest.fixture
def benchmark_of_another_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`Caught`, registered by an entry point."""
    points = [SimpleNamespace(name="mine.caught", load=lambda: Caught)]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
    installed_benchmarks.cache_clear()
    yield
    installed_benchmarks.cache_clear()


@pytest.mark.parametrize("name", registered_benchmarks())
def test_every_benchmark_catches_broken_models_that_exist(name: str) -> None:
    assert caught_models(registered_benchmarks()[name])


def test_an_unknown_name_in_catches_is_an_error_with_the_closest_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Caught, "catches", ("frozen", "zero_forces"))
    message = r"^benchmark 'mine.caught' must catch 'zero_forces', but there is no .* \(did you mean 'zero_force'\?\)"
    with pytest.raises(AssayError, match=message):
        caught_models(Caught)


@pytest.mark.parametrize("name", BROKEN)
def test_every_broken_model_is_caught_by_a_benchmark_unless_it_never_answers(name: str) -> None:
    assert bool(BROKEN[name].caught_by) is not BROKEN[name].never_answers


def test_a_model_is_caught_by_the_benchmarks_that_name_it() -> None:
    named = {
        (kind.name.rpartition(".")[2], model) for kind in registered_benchmarks().values() for model in kind.catches
    }
    assert named == {(short, model) for model, entry in BROKEN.items() for short in entry.caught_by}
    assert "forces_conservative" in BROKEN["zero_force"].caught_by


@pytest.mark.usefixtures("benchmark_of_another_package")
def test_benchmarks_of_other_packages_count_too() -> None:
    assert BROKEN["hangs"].caught_by == ("caught",)
    assert {"caught", "forces_match_energy"} <= set(BROKEN["zero_force"].caught_by)


@pytest.mark.parametrize(("score", "caught"), [(None, True), (0.0, True), (0.5, True), (0.51, False), (1.0, False)])
def test_no_score_or_a_low_one_catches_a_model(score: float | None, caught: bool) -> None:
    assert is_caught(score) is caught
