"""A suite names benchmarks and settings; mistakes in either are one sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.benchmarks.registry import find_benchmarks, registered_benchmarks
from assay.benchmarks.verification.memory_stable import MemoryStable
from assay.benchmarks.verification.thread_safe import ThreadSafe
from assay.errors import AssayError
from assay.suites import Suite, choose_suite, load_suite, suite_names

CHECKS = 16


def message(call: object, *arguments: object) -> str:
    with pytest.raises(AssayError) as error:
        call(*arguments)  # type: ignore[operator]
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.toml"


def test_there_are_three_suites_and_each_can_be_built() -> None:
    assert suite_names() == ["laptop", "paper", "smoke"]
    for name in suite_names():
        suite = load_suite(name)
        assert suite.name == name
        assert suite.description
        built = suite.build()
        assert len(built) >= CHECKS
        assert {b.name for b in built} <= set(registered_benchmarks())


def test_a_longer_suite_watches_longer() -> None:
    evaluations, rounds = [], []
    for name in ("smoke", "laptop", "paper"):
        built = {b.name: b for b in load_suite(name).build()}
        memory, threads = built["verification.memory_stable"], built["verification.thread_safe"]
        assert isinstance(memory, MemoryStable)
        assert isinstance(threads, ThreadSafe)
        evaluations.append(memory.evaluations)
        rounds.append(threads.rounds)
    assert evaluations == [1200, 6000, 20000]
    assert rounds == [5, 20, 50]


def test_the_verification_suite_holds_these_checks() -> None:
    names = [n.removeprefix("verification.") for n in registered_benchmarks() if n.startswith("verification.")]
    assert sorted(names) == [
        "batch_consistent", "charge_and_spin_used", "deterministic", "energy_smooth", "forces_conservative",
        "forces_match_energy", "inversion_symmetry", "memory_stable", "net_force_zero", "periodicity_support",
        "permutation_symmetry", "results_follow_ase", "rotation_invariance", "species_supported",
        "stress_matches_energy", "thread_safe", "translation_invariance",
        "unit_conversion",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["verification.net_force_zero"], ["verification.net_force_zero"]),
        (["net_force_zero"], ["verification.net_force_zero"]),
        (["net_force_zero", "verification.net_force_zero"], ["verification.net_force_zero"]),
        (["thread_safe", "net_force_zero"], ["verification.thread_safe", "verification.net_force_zero"]),
    ],
)
def test_benchmarks_are_found_by_name_with_or_without_their_category(patterns: list[str], expected: list[str]) -> None:
    assert find_benchmarks(patterns) == expected


def test_a_category_is_all_of_its_benchmarks() -> None:
    every = [n for n in registered_benchmarks() if n.startswith("verification.")]
    assert find_benchmarks(["verification"]) == find_benchmarks(["verification.*"]) == every


@pytest.mark.parametrize("pattern", ["net_force_zeros", "verification.net_force_zer", "nonsense_qqq", "", "verif"])
def test_an_unknown_benchmark_is_one_sentence(pattern: str) -> None:
    text = message(find_benchmarks, [pattern])
    assert f"there is no benchmark '{pattern}'" in text
    assert ("did you mean 'verification.net_force_zero'?" in text) == ("net_force" in pattern)


def test_an_unknown_suite_gets_a_hint() -> None:
    text = message(load_suite, "smokey")
    assert "'smokey'" in text
    assert "did you mean 'smoke'?" in text


def test_a_file_is_a_suite(file: Path) -> None:
    file.write_text(
        'name = "mine"\ndescription = "d"\nbenchmarks = ["thread_safe", "rotation_invariance"]\n'
        '[settings."verification.thread_safe"]\nthreads = 3\n'
    )
    suite = load_suite(str(file))
    assert (suite.name, suite.description) == ("mine", "d")
    threads, rotations = suite.build()
    assert (threads.name, threads.threads, threads.rounds) == ("verification.thread_safe", 3, 5)  # type: ignore[attr-defined]
    assert rotations.name == "verification.rotation_invariance"


def test_lists_in_a_file_become_tuples(file: Path) -> None:
    file.write_text(
        'benchmarks = ["translation_invariance"]\n[settings."verification.translation_invariance"]\nshifts = [2.0]\n'
    )
    suite = load_suite(str(file))
    assert suite.name == str(file)
    assert suite.build()[0].shifts == (2.0,)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "content",
    [
        "benchmarks = [",
        "",
        'name = "no list"',
        "benchmarks = 3",
        'benchmarks = "verification"',
        'settings = 3\nbenchmarks = ["thread_safe"]',
    ],
)
def test_a_file_that_is_no_suite_is_one_sentence(file: Path, content: str) -> None:
    file.write_text(content)
    text = message(lambda: load_suite(str(file)).build())
    assert str(file) in text
    assert "benchmarks" in text


def test_a_file_that_is_not_there_is_one_sentence(file: Path) -> None:
    assert f"there is no suite file '{file}'" in message(load_suite, str(file))


def test_a_setting_that_a_benchmark_does_not_have_gets_a_hint() -> None:
    suite = Suite("mine", "", ("thread_safe",), {"verification.thread_safe": {"thread": 3}})
    text = message(suite.build)
    for part in ("suite 'mine'", "'thread'", "'verification.thread_safe'", "did you mean 'threads'?"):
        assert part in text


def test_settings_of_a_benchmark_that_does_not_exist_are_one_sentence() -> None:
    suite = Suite("mine", "", ("thread_safe",), {"verification.thread_save": {"threads": 3}})
    assert "'verification.thread_save'" in message(suite.build)


def test_a_setting_for_all_goes_to_every_benchmark_that_has_it() -> None:
    changed = load_suite("smoke").adjusted(seeds=4, until_error=0.02)
    before = {b.name: b for b in load_suite("smoke").build()}
    simulated = {b.name for b in changed.build() if hasattr(b, "seeds")}
    assert simulated == {
        "general.stability", "general.energy_conservation", "molecules.bond_lengths", "molecules.ring_planarity",
    }  # fmt: skip
    for benchmark in changed.build():
        here = {name: value for name, value in (("seeds", 4), ("until_error", 0.02)) if hasattr(benchmark, name)}
        assert benchmark == replace(before[benchmark.name], **here)
    assert not any(hasattr(b, "until_error") for b in changed.build() if b.name.startswith("general.")), (
        "the verdict of a run needs the whole run"
    )
    assert load_suite("smoke").adjusted() == load_suite("smoke")


def test_a_setting_that_no_benchmark_takes_names_those_that_do() -> None:
    text = message(lambda: choose_suite("smoke", ("general",)).adjusted(until_error=0.1))
    assert text.endswith("'until_error'; molecules.bond_lengths, molecules.ring_planarity have it")
    assert "is off in suite 'paper'" in message(lambda: load_suite("paper").adjusted(until_error=0.1))
    assert load_suite("paper").adjusted(seeds=3).name == "paper"


def test_some_benchmarks_of_a_suite_keep_its_settings() -> None:
    suite = choose_suite("paper", ("memory_stable",))
    assert suite.name == "paper"
    (memory,) = suite.build()
    assert isinstance(memory, MemoryStable)
    assert memory.evaluations == 20000
    assert choose_suite("paper") == load_suite("paper")


def test_a_category_has_settings_for_all_its_benchmarks_and_a_benchmark_its_own_before_them() -> None:
    both = ("general.stability", "general.energy_conservation", "general.inference_scaling")
    settings = {"general": {"seeds": 3, "most_atoms": 30}, "general.stability": {"seeds": 5}}
    stability, conservation, scaling = Suite("mine", "", both, settings).build()
    assert (stability.seeds, stability.most_atoms) == (5, 30)  # type: ignore[attr-defined]
    assert (conservation.seeds, conservation.most_atoms) == (3, 30)  # type: ignore[attr-defined]
    assert scaling.most_atoms == 30  # type: ignore[attr-defined]
    assert not hasattr(scaling, "seeds")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"general": {"seedz": 3}}, "'seedz', which no benchmark of category 'general' has .did you mean 'seeds'"),
        ({"generall": {"seeds": 3}}, "'generall', which is no benchmark or category .did you mean 'general'"),
    ],
)
def test_wrong_settings_of_a_category_are_one_sentence(settings: dict, message: str) -> None:
    with pytest.raises(AssayError, match=message):
        Suite("mine", "", ("general.stability",), settings).build()
