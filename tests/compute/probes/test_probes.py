"""Each probe measures what it says, in the size it says, on models whose answer is known beforehand."""

from __future__ import annotations

import mmap
import os
import subprocess
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.probes import (
    after_exception,
    batches,
    contact,
    fresh_process,
    memory,
    path,
    repeats,
    spacing,
    threads,
    unit_sets,
)
from assay.configurations import cluster, crystal
from assay.errors import AssayError, ModelFailure
from assay.jobs import Probe
from assay.models.loading import from_object, load_model
from assay.structure import Floats, Structure
from toys import DIMER, Pair, Says, Spring, Toy, distances, engine_of

CLUSTERS = tuple(cluster((29,), variant=v) for v in range(3))


def sabotaged(name: str) -> CalculatorEngine:
    return CalculatorEngine(load_model(f"assay.sabotage:{name}"))


# spacing


def found(engine: CalculatorEngine, structure: Structure) -> dict[str, Any]:
    (row,) = spacing.run(engine, Probe("spacing", (structure,)))["rows"]  # type: ignore[misc]
    return dict(row)


@pytest.mark.parametrize(("sigma", "epsilon"), [(1.0, 1.0), (3.4, 0.0103), (2.3, 0.4)])
@pytest.mark.parametrize("number", [1, 29, 55], ids=["H", "Cu", "Cs"])
def test_spacing_finds_sizeable_forces_for_any_length_scale(sigma: float, epsilon: float, number: int) -> None:
    engine = engine_of(lambda: LennardJones(sigma=sigma, epsilon=epsilon, rc=10.0 * sigma))
    structure = cluster((number,))
    row = found(engine, structure)
    scaled = structure.transformed(row["factor"] * np.eye(3))
    force = np.abs(engine.evaluate(scaled).forces).max()
    assert row["max_force"] == pytest.approx(force)
    assert spacing.SIZEABLE <= force <= spacing.ABSURD
    assert 0.7 < distances(scaled.positions).min() / sigma < 2.5
    assert row["reason"] == ""


class Spacious(Toy):
    """Refuses atoms closer than 4 Å; beyond that the force falls with the square of the distance."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        nearest = distances(atoms.positions).min()
        if nearest < 4.0:
            raise ValueError("too dense")
        return {"energy": 0.0, "forces": np.full((len(atoms), 3), 8.0 / nearest**2)}


def test_spacing_widens_structures_that_are_refused_until_they_are_answered() -> None:
    structure = cluster((29,))
    row = found(engine_of(Spacious), structure)
    assert row["max_force"] is not None
    nearest = row["factor"] * distances(structure.positions).min()
    assert 4.0 <= nearest < 4.0 * spacing.STEP
    assert row["reason"] == ""


def test_spacing_gives_the_reason_when_everything_is_refused() -> None:
    row = found(engine_of(lambda: Says(energy=np.nan)), cluster((29,)))
    assert row["max_force"] is None
    assert row["reason"] == "returned the energy nan"


def test_spacing_ends_for_a_model_without_forces() -> None:
    row = found(engine_of(Toy), cluster((29,)))
    assert row["max_force"] == 0.0
    assert row["tries"] == spacing.TRIES


def test_spacing_takes_the_nearest_to_sizeable_of_what_there_is() -> None:
    class Weak(Spring):
        stiffness = 1e-9

    row = found(engine_of(Weak), cluster((29,)))
    assert 0.0 < row["max_force"] < spacing.SIZEABLE


# path

DEPTH, LENGTH, RANGE = 1.0, 2.0, 1.5


def morse(r: float) -> float:
    """A smooth bond, 1 eV deep at 2 Å."""
    return float(DEPTH * ((1.0 - np.exp(-RANGE * (r - LENGTH))) ** 2 - 1.0))


def morse_slope(r: float) -> float:
    fall = np.exp(-RANGE * (r - LENGTH))
    return float(2.0 * DEPTH * RANGE * fall * (1.0 - fall))


def walked(engine: CalculatorEngine, **changes: float) -> dict[str, Any]:
    """A dimer pulled from 1 Å to 9 Å; places are counted from 1 Å."""
    settings: dict[str, float] = {
        "atom": 1, "x": 0.0, "y": 0.0, "z": 1.0, "start": 0.0, "end": 8.0, "step": 0.1, "budget": 700,
        "energy_limit": 1e-6, "force_limit": 1e-5, "epsilon": 2.2e-16, **changes,
    }  # fmt: skip
    return path.run(engine, Probe("path", (Structure.build([29, 29], [[0, 0, 0], [0, 0, 1.0]]),), settings))


def test_a_smooth_curve_has_no_jump() -> None:
    values = walked(engine_of(lambda: Pair(morse, morse_slope)))
    assert values["jumps"] == []
    assert (values["roughness"], values["unseen"]) == (0.0, 0.0)
    assert values["refused"] == 0
    assert values["well"] == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(values["energy"], [morse(1.0 + at) for at in values["at"]], atol=1e-12)
    np.testing.assert_allclose(values["force"], [-morse_slope(1.0 + at) for at in values["at"]], atol=1e-12)
    np.testing.assert_allclose(values["at"], np.linspace(0.0, 8.0, 81), atol=1e-12)


@pytest.mark.parametrize(("where", "size"), [(2.7182818, 1e-2), (2.7182818, -2e-4), (6.0, 1e-4), (5.4321, -1e-5)])
def test_a_jump_of_the_energy_is_found_with_its_place_and_size(where: float, size: float) -> None:
    def jumping(r: float) -> float:
        return morse(r) + size * (r > where)

    values = walked(engine_of(lambda: Pair(jumping, morse_slope)))
    (jump,) = values["jumps"]
    assert 1.0 + jump["at"] == pytest.approx(where, abs=1e-5)
    assert jump["energy"] == pytest.approx(abs(size), rel=0.01, abs=2e-6)
    assert jump["force"] < 1e-4


@pytest.mark.parametrize(("where", "size"), [(3.14159, 1e-1), (3.14159, -5e-3), (5.4321, 1e-3)])
def test_a_jump_of_the_force_is_found_with_its_place_and_size(where: float, size: float) -> None:
    def kinked(r: float) -> float:
        return morse(r) + size * max(0.0, r - where)

    def slope(r: float) -> float:
        return morse_slope(r) + size * (r > where)

    values = walked(engine_of(lambda: Pair(kinked, slope)))
    (jump,) = values["jumps"]
    assert 1.0 + jump["at"] == pytest.approx(where, abs=1e-5)
    assert jump["force"] == pytest.approx(abs(size), rel=0.01)
    assert jump["energy"] < 1e-7  # what the slope alone does over the width is taken off


def test_two_jumps_are_two() -> None:
    def stairs(r: float) -> float:
        return morse(r) + 1e-3 * (r > 4.111) + 2e-3 * (r > 5.222)

    jumps = sorted(walked(engine_of(lambda: Pair(stairs, morse_slope)))["jumps"], key=lambda jump: jump["at"])
    assert [1.0 + jump["at"] for jump in jumps] == pytest.approx([4.111, 5.222], abs=1e-5)
    assert [jump["energy"] for jump in jumps] == pytest.approx([1e-3, 2e-3], rel=0.01)


def test_jumps_below_the_limit_are_not_looked_for() -> None:
    def jumping(r: float) -> float:
        return morse(r) + 1e-5 * (r > 5.4321)

    values = walked(engine_of(lambda: Pair(jumping, morse_slope)), energy_limit=1e-3, force_limit=1e-2)
    assert values["jumps"] == []


def test_a_path_that_is_refused_at_its_start_is_walked_from_where_it_is_answered() -> None:
    def close(r: float) -> float:
        if r < 1.55:
            raise ValueError("too close")
        return morse(r)

    values = walked(engine_of(lambda: Pair(close, morse_slope)))
    assert values["at"][0] == pytest.approx(0.6)
    assert values["refused"] == 6
    assert values["reason"] == "refused: ValueError: too close"
    assert values["jumps"] == []


def test_a_gap_in_which_the_model_refuses_is_told() -> None:
    def holey(r: float) -> float:
        if 5.02 < r < 5.08:
            raise ValueError("no table here")
        return morse(r)

    values = walked(engine_of(lambda: Pair(holey, morse_slope)))
    assert values["unseen"] == pytest.approx(0.1)
    assert values["refused"] >= 1


def test_roughness_that_no_budget_resolves_is_told() -> None:
    def rough(r: float) -> float:
        return morse(r) + float(1e-3 * np.sin(1e5 * r))

    values = walked(engine_of(lambda: Pair(rough, morse_slope)), budget=200)
    assert values["roughness"] > 1.0
    assert (values["jumps"], values["unseen"]) == ([], 0.0)


def test_rounding_of_single_precision_is_not_followed_but_a_jump_beyond_it_is() -> None:
    def rounded(r: float) -> float:
        return float(np.float32(-500.0 + morse(r)))

    def stepped(r: float) -> float:
        return rounded(r) + (5e-3 if r > 4.0 else 0.0)

    values = walked(engine_of(lambda: Pair(rounded, morse_slope)), epsilon=1.2e-7)
    assert (values["jumps"], values["roughness"]) == ([], 0.0)
    assert walked(engine_of(lambda: Pair(rounded, morse_slope)), epsilon=2.2e-16)["jumps"]  # steps of 3e-5 eV
    (jump,) = walked(engine_of(lambda: Pair(stepped, morse_slope)), epsilon=1.2e-7)["jumps"]
    assert jump["at"] == pytest.approx(3.0, abs=1e-5)
    assert jump["energy"] == pytest.approx(5e-3, rel=0.1)


def test_a_path_that_is_never_answered_is_a_failure() -> None:
    with pytest.raises(ModelFailure, match="fewer than three points: returned the energy nan"):
        walked(engine_of(lambda: Says(energy=np.nan)))


def test_the_depth_of_a_repulsive_curve_is_its_height() -> None:
    values = walked(engine_of(lambda: Pair(lambda r: np.exp(-r), lambda r: -np.exp(-r))))
    assert values["jumps"] == []
    assert 1e-3 < values["well"] < 1.0


# memory


class Leaks(Spring):
    """Keeps so many bytes at every call."""

    kept: list[bytes]

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.kept = size, []

    def answer(self, atoms: Atoms) -> dict[str, object]:
        self.kept.append(b"x" * self.size)
        return super().answer(atoms)


def growth(engine: CalculatorEngine) -> dict[str, Any]:
    return memory.run(engine, Probe("memory", CLUSTERS, {"evaluations": 240, "seconds": 10.0}))


@pytest.mark.parametrize("size", [2_000, 200_000])
def test_a_leak_is_measured_to_the_byte(size: int) -> None:
    values = growth(engine_of(lambda: Leaks(size)))
    assert size <= values["python_bytes"] < 1.05 * size + 200.0
    assert values["evaluations"] == 240


class LeaksOutsidePython(Spring):
    """Keeps memory that Python knows nothing of, as compiled code does."""

    size = 64 * mmap.PAGESIZE

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[mmap.mmap] = []

    def answer(self, atoms: Atoms) -> dict[str, object]:
        block = mmap.mmap(-1, self.size)
        block.write(b"x" * self.size)  # written to, so that the memory is really taken
        self.kept.append(block)
        return super().answer(atoms)


def test_a_leak_outside_python_is_seen_in_the_process() -> None:
    values = growth(engine_of(LeaksOutsidePython))
    assert values["resident_bytes"] == pytest.approx(LeaksOutsidePython.size, rel=0.2)
    assert values["python_bytes"] < 0.05 * LeaksOutsidePython.size


def test_a_model_that_keeps_nothing_does_not_grow() -> None:
    assert growth(engine_of(Spring))["python_bytes"] < 100.0


def test_a_cache_that_is_full_after_a_while_is_no_leak() -> None:
    class Caches(Leaks):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            del self.kept[50:]
            return super().answer(atoms)

    assert growth(engine_of(lambda: Caches(5_000)))["python_bytes"] < 500.0


def test_what_is_kept_once_while_memory_is_watched_is_no_leak() -> None:
    class FillsOnce(Leaks):
        watched = 0

        def answer(self, atoms: Atoms) -> dict[str, object]:
            self.watched += tracemalloc.is_tracing()
            if not 20 < self.watched <= 40:  # a block of evaluations between two readings
                del self.kept[-1:]
            return super().answer(atoms)

    assert growth(engine_of(lambda: FillsOnce(5_000)))["python_bytes"] < 500.0


def test_memory_of_a_model_that_refuses_everything_cannot_be_measured() -> None:
    with pytest.raises(ModelFailure, match="the model refused all 20 evaluations"):
        growth(engine_of(lambda: Says(energy=np.nan)))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (1e6 + 4096.0 * np.arange(12), 4096.0),
        (np.full(12, 1e6), 0.0),
        (1e6 - 4096.0 * np.arange(12), 0.0),
        (np.where(np.arange(12) < 3, 1e6, 2e6), 0.0),  # one early jump of the allocator
        (np.where(np.arange(12) < 10, 1e6, 2e6), 0.0),  # one late jump
        (np.where(np.arange(12) < 8, 1e6, 2e6), 0.0),  # one in the middle
        (1e6 + 500.0 * np.arange(12) + np.where(np.arange(12) < 5, 0.0, 1e5), 500.0),
    ],
)
def test_growth_is_what_goes_on_growing(sizes: Floats, expected: float) -> None:
    assert memory.steady_growth(sizes) == pytest.approx(expected)


# repeats


def repeated(engine: CalculatorEngine, structures: Sequence[Structure] = CLUSTERS) -> dict[str, Any]:
    return repeats.run(engine, Probe("repeats", tuple(structures)))


def worst(values: dict[str, Any], test: str) -> float:
    return float(max(np.max(values["tests"][test]["energy"]), np.max(values["tests"][test]["forces"])))


TESTS = ("repeat", "order", "nudge", "second_calculator", "reordered_atoms", "public_methods")


def test_repeats_of_a_sound_model_agree_to_rounding() -> None:
    values = repeated(sabotaged("sound"), [*CLUSTERS, crystal((29, 79))])
    assert set(values["tests"]) == set(TESTS)
    for test in TESTS:
        assert worst(values, test) < 1e-12
    assert [worst(values, test) for test in ("repeat", "order", "nudge", "second_calculator")] == [0.0] * 4
    assert values["changed_inputs"] == 0
    assert values["single_precision"] is False
    assert values["indices"] == [0, 1, 2, 3]
    assert values["natoms"].tolist() == [6, 6, 6, 4]


@pytest.mark.parametrize("size", [1e-3, 1e-6])
def test_repeats_see_noise_in_its_size(size: float) -> None:
    rng = np.random.default_rng(5)

    class Noisy(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            values = super().answer(atoms)
            noise = size * rng.standard_normal((len(atoms), 3))
            return {"energy": values["energy"] + size * rng.standard_normal(), "forces": values["forces"] + noise}  # type: ignore[operator]

    values = repeated(engine_of(Noisy), [cluster((29,), variant=v) for v in range(60)])
    found = values["tests"]["repeat"]
    assert np.mean(found["energy"]) == pytest.approx(2.0 / np.sqrt(np.pi) * size, rel=0.3)  # mean of |a − b|
    assert size < np.max(found["energy"]) < 8.0 * size
    assert size < np.mean(found["forces"]) < 6.0 * size  # the largest of 18 components


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("history_dependent", "order"),
        ("stale_small_moves", "nudge"),
        ("not_permutation_invariant", "reordered_atoms"),
    ],
)
def test_each_test_sees_the_bug_that_it_is_made_for(name: str, test: str) -> None:
    assert worst(repeated(sabotaged(name)), test) > 1e-9


def test_a_second_calculator_that_differs_is_seen() -> None:
    built = []

    class Numbered(Spring):
        def __init__(self) -> None:
            super().__init__()
            self.shift = 0.25 * len(built)
            built.append(self)

        def answer(self, atoms: Atoms) -> dict[str, object]:
            values = super().answer(atoms)
            return {**values, "energy": values["energy"] + self.shift}  # type: ignore[operator]

    values = repeated(engine_of(Numbered))
    assert worst(values, "second_calculator") == pytest.approx(0.25)
    assert worst(values, "repeat") == 0.0


def test_public_methods_that_differ_are_seen() -> None:
    class NeverLooks(Spring):
        """Does not notice that the atoms have changed, so that ASE hands out what is there."""

        def check_state(self, atoms: Atoms, tol: float = 0.0) -> list[str]:
            return []

    values = repeated(engine_of(NeverLooks))
    assert worst(values, "public_methods") > 1e-3
    assert worst(values, "repeat") == worst(values, "order") == 0.0


def test_altered_positions_are_counted() -> None:
    assert repeated(sabotaged("mutates_input"))["changed_inputs"] > len(CLUSTERS)


def test_single_precision_shows_in_the_numbers() -> None:
    assert repeated(sabotaged("single_precision"))["single_precision"] is True


def test_refused_structures_are_left_out_and_their_places_kept() -> None:
    values = repeated(sabotaged("sound_batch"), [cluster((47,)), *CLUSTERS])
    assert values["indices"] == [1, 2, 3]


# in a new process, in threads, in other units, in batches


def test_a_new_process_gives_the_same_numbers() -> None:
    values = fresh_process.run(sabotaged("sound"), Probe("fresh_process", (*CLUSTERS, crystal((29,)))))
    assert values["energy"].tolist() == values["forces"].tolist() == [0.0] * 4
    assert values["indices"] == [0, 1, 2, 3]


def test_an_energy_that_depends_on_the_process_is_seen() -> None:
    values = fresh_process.run(sabotaged("process_dependent"), Probe("fresh_process", CLUSTERS))
    assert 1e-9 < values["energy"].max() < 1e-3
    assert values["forces"].max() == 0.0


@pytest.mark.parametrize("seed", ["0", "1", "random", None])
def test_a_new_process_gets_a_hash_seed_of_its_own(seed: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []

    def run(command: object, env: dict[str, str], **_: object) -> object:
        seeds.append(env["PYTHONHASHSEED"])
        return subprocess.CompletedProcess([], 1, "", "not started")

    monkeypatch.setattr("assay.compute.probes.fresh_process.subprocess.run", run)
    if seed is None:
        monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    else:
        monkeypatch.setenv("PYTHONHASHSEED", seed)
    with pytest.raises(ModelFailure, match="a new process cannot evaluate the model: not started"):
        fresh_process.run(sabotaged("sound"), Probe("fresh_process", CLUSTERS))
    assert seeds[0].isdigit()
    assert seeds[0] != seed


def test_what_only_this_process_can_answer_is_a_failure() -> None:
    home = os.getpid()

    class AtHome(EMT):
        def calculate(self, *arguments: object) -> None:
            if os.getpid() != home:
                raise RuntimeError("far from home")
            super().calculate(*arguments)

    with pytest.raises(ModelFailure, match=r"a new process fails .*far from home"):
        fresh_process.run(CalculatorEngine(load_model(AtHome)), Probe("fresh_process", CLUSTERS))


def test_a_calculator_that_cannot_be_sent_is_not_asked() -> None:
    with pytest.raises(Unsupported, match="cannot be pickled"):
        fresh_process.run(engine_of(Spring), Probe("fresh_process", CLUSTERS))


def threaded(engine: CalculatorEngine) -> dict[str, Any]:
    return threads.run(engine, Probe("threads", CLUSTERS, {"threads": 4, "rounds": 5}))


def test_threads_agree_with_one_another_only_without_shared_scratch() -> None:
    sound, shared = threaded(sabotaged("sound")), threaded(sabotaged("not_thread_safe"))
    assert sound["energy"].tolist() == sound["forces"].tolist() == [0.0] * 3
    assert (sound["threads"], sound["rounds"]) == (4, 5)
    assert shared["energy"].max() > 1e-3


def test_threads_evaluate_every_structure_on_calculators_of_their_own() -> None:
    calls: list[tuple[int, int]] = []

    class Counts(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            calls.append((id(self), int(atoms.positions[0, 0] * 1e6)))
            return super().answer(atoms)

    engine = engine_of(Counts)
    threaded(engine)
    by_calculator = [sum(1 for c in calls if c[0] == one) for one in {c[0] for c in calls}]
    # Once in series, five rounds in each of four threads, and once more in two, to see whether they share arrays.
    assert sorted(by_calculator) == [3, 15, 15, 18, 18]


def test_a_calculator_of_which_there_is_only_one_is_not_asked_from_threads() -> None:
    only = Spring()
    with pytest.raises(Unsupported, match="cannot be copied"):
        threaded(engine_of(lambda: only))


def test_other_units_are_compared_with_the_usual_ones() -> None:
    engine = sabotaged("wrong_unit_conversion")
    values = unit_sets.run(engine, Probe("unit_sets", CLUSTERS))
    assert values["usual"] == "A"
    assert set(values["by_set"]) == {"nm"}  # type: ignore[call-overload]
    assert values["by_set"]["nm"]["energy"].max() > 1e-3  # type: ignore[index]


def unit_engine(right: bool) -> CalculatorEngine:
    def in_units(name: str) -> Spring:
        if name == "impossible":
            raise ModelFailure("no such units")
        calculator = Spring()
        calculator.stiffness = 2.0 if right or name == "A" else 2.5
        return calculator

    return engine_of(Spring, unit_sets=("A", "nm", "impossible"), build_in_units=in_units)


def test_units_that_are_right_agree_and_those_that_are_declined_are_named() -> None:
    values = unit_sets.run(unit_engine(right=True), Probe("unit_sets", CLUSTERS))
    assert values["declined"] == ["impossible"]
    assert values["by_set"]["nm"]["energy"].max() == 0.0  # type: ignore[index]
    wrong = unit_sets.run(unit_engine(right=False), Probe("unit_sets", (DIMER,)))
    assert wrong["by_set"]["nm"]["energy"].tolist() == [pytest.approx(0.25 * 2.5**2)]  # type: ignore[index]


def test_models_with_one_set_of_units_are_not_asked() -> None:
    with pytest.raises(Unsupported, match="only one set of units"):
        unit_sets.run(engine_of(Spring), Probe("unit_sets", CLUSTERS))
    lonely = engine_of(Spring, unit_sets=("A",), build_in_units=lambda name: Spring())
    with pytest.raises(Unsupported, match="does not support other units"):
        unit_sets.run(lonely, Probe("unit_sets", CLUSTERS))


@pytest.mark.parametrize(("name", "right"), [("sound_batch", True), ("batch_mixes_structures", False)])
def test_batches_agree_with_single_evaluations_unless_they_mix(name: str, right: bool) -> None:
    values = batches.run(sabotaged(name), Probe("batches", (cluster((47,)), *CLUSTERS, crystal((29,)))))
    assert values["indices"] == [1, 2, 3, 4]
    assert values["energy"].max() == 0.0
    assert (values["forces"].max() == 0.0) == right


def test_models_without_batches_are_not_asked() -> None:
    with pytest.raises(Unsupported, match="does not support batches"):
        batches.run(engine_of(Spring), Probe("batches", CLUSTERS))


class RaisingBatch:
    """A batch that runs out of luck."""

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Never gives anything."""
        raise ValueError("ragged batch")


class ShortBatch:
    """A batch that forgets its last structure."""

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """One result too few."""
        return [(0.0, np.zeros((len(s), 3))) for s in structures[:-1]]


class WideBatch:
    """A batch that pads its forces."""

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Forces of two atoms too many."""
        return [(0.0, np.zeros((len(s) + 2, 3))) for s in structures]


@pytest.mark.parametrize(
    "evaluator",
    [
        RaisingBatch,
        ShortBatch,
        WideBatch,
    ],
)
def test_a_batch_that_fails_is_the_models_failure(evaluator: type) -> None:
    with pytest.raises(ModelFailure):
        batches.run(engine_of(Spring, build_batch=evaluator), Probe("batches", CLUSTERS))


# after an exception, first contact


class Forgetful(Spring):
    """Refuses gold; what it does afterwards is up to its kind."""

    kind = "sound"
    last: dict[str, object] | None = None
    spoilt = False

    def answer(self, atoms: Atoms) -> dict[str, object]:
        if 79 in atoms.numbers:
            self.spoilt = True
            if self.kind == "stale" and self.last is not None:
                return self.last
            raise ValueError("no gold")
        values = super().answer(atoms)
        if self.kind == "spoils" and self.spoilt:
            values["energy"] = values["energy"] + 0.125  # type: ignore[operator]
        self.spoilt, self.last = False, values
        return values


def excepted(kind: str, bad: Structure) -> dict[str, Any]:
    def build() -> Forgetful:
        calculator = Forgetful()
        calculator.kind = kind
        return calculator

    return after_exception.run(engine_of(build), Probe("after_exception", (*CLUSTERS[:2], bad), {"bad": 1}))


GOLD = Structure.build([79] * 6, cluster((79,)).positions)


def test_a_model_that_refuses_and_goes_on_shows_nothing_stale() -> None:
    values = excepted("sound", GOLD)
    assert (values["energy"], values["forces"], values["answered"]) == (0.0, 0.0, [])
    assert values["refused"] == 4  # twice after each of two good structures
    assert values["natoms"] == 6


def test_old_results_given_for_a_refused_structure_are_stale() -> None:
    values = excepted("stale", GOLD)
    assert values["answered"]
    assert all(row["stale"] for row in values["answered"])


def test_a_refusal_that_spoils_the_next_answer_is_measured() -> None:
    assert excepted("spoils", GOLD)["energy"] == pytest.approx(0.125)


def test_an_answer_of_its_own_is_not_called_stale() -> None:
    values = excepted("sound", cluster((28,)))
    assert values["answered"]
    assert not any(row["stale"] for row in values["answered"])


def test_a_careless_cache_that_forgets_that_it_failed_is_seen() -> None:
    class Careless(Spring):
        """Marks a structure as done before it has computed it."""

        done: bytes = b""
        kept: dict[str, object]

        def calculate(self, atoms: Atoms, properties: object = (), system_changes: object = ()) -> None:
            self.atoms = atoms.copy()
            if self.done != atoms.positions.tobytes():
                self.done = atoms.positions.tobytes()
                if 79 in atoms.numbers:
                    raise ValueError("no gold")
                self.kept = self.answer(atoms)
            self.results = dict(self.kept)

    values = after_exception.run(engine_of(Careless), Probe("after_exception", (*CLUSTERS[:2], GOLD), {"bad": 1}))
    assert [row["stale"] for row in values["answered"]] == [True] * 4  # directly and by the public methods
    assert values["refused"] == 2


def test_first_contact_tells_what_the_calculator_offers() -> None:
    class Claims(Spring):
        claims = ("Cu", "Au")

    values = contact.run(engine_of(Claims), Probe("contact", (DIMER,)))
    assert values.pop("seconds_per_call") > 0.0  # type: ignore[operator]
    assert values == {
        "calculator": "Claims",
        "stress": True,
        "claims": ["Cu", "Au"],
        "reasons": [],
        "seconds_per_batched_call": None,
        "used": {"precision": "float64", "device": "cpu"},
    }
    values = contact.run(engine_of(EMT), Probe("contact", (DIMER,)))
    assert (values["calculator"], values["claims"]) == ("EMT", None)


def test_first_contact_measures_the_pace_of_batches_where_they_work() -> None:
    def evaluate(structures: list[Structure]) -> list[tuple[float, np.ndarray]]:
        asked.append(len(structures))
        if broken:
            raise ValueError("no batches")
        return [(0.0, np.zeros((len(s), 3))) for s in structures]

    asked: list[int] = []
    for broken in (False, True):
        batch = SimpleNamespace(evaluate=evaluate)
        model = replace(from_object(Spring), build_batch=lambda batch=batch: batch)
        values = contact.run(CalculatorEngine(model), Probe("contact", (DIMER,)))
        pace = values["seconds_per_batched_call"]
        assert (pace is None) if broken else (pace is not None and pace > 0.0)
    assert asked == [contact.COPIES] * 3


def test_first_contact_goes_on_until_one_structure_is_answered() -> None:
    asked = []

    class Watches(Forgetful):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            asked.append(len(atoms))
            return super().answer(atoms)

    values = contact.run(engine_of(Watches), Probe("contact", (GOLD, GOLD, DIMER, DIMER)))
    assert values["reasons"] == ["refused: ValueError: no gold"] * 2
    assert asked == [6, 6, 2, 2]  # what is answered is asked again, for the pace


def test_first_contact_with_what_is_no_calculator_is_one_sentence() -> None:
    with pytest.raises(AssayError, match="'toy' gives a str, not an ASE calculator"):
        contact.run(engine_of(lambda: "text"), Probe("contact", (DIMER,)))
