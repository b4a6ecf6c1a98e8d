"""Pair curves as a benchmark: what is asked, what is seen in curves of known shape, and what is never perfect."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from ase import Atoms
from scipy.stats import spearmanr

from assay.api import run
from assay.benchmark import Case, Scope, observe_case, planned_cases
from assay.benchmarks.bases.diatomic_constants import ISOTOPE_MASSES, diatomic_constants
from assay.benchmarks.physicality.diatomics import Diatomics
from assay.errors import AssayError
from assay.jobs import SinglePoints
from assay.model import ModelCard
from assay.observation import Observation
from assay.outcome import Outcome, Point, pack_points
from assay.sabotage import BROKEN, SOUND, is_caught
from assay.store.codec import plain
from assay.structure import Floats
from assay.survey import Subject, Survey
from toys import Toy

GRID = np.linspace(0.18, 6.0, 100)
FIVE = ("force_flips", "energy_minima", "energy_inflections", "spearman_repulsion", "spearman_attraction")
DIATOMICS = Diatomics()


def survey(**changes: object) -> Survey:
    """A model of H, C and O, as a survey would find it."""
    given: dict = {"card": ModelCard("a model", elements=(1, 6, 8)), "answered": (1, 6, 8), "pbc": ("FFF",), **changes}
    return Survey(**given)


def cases(benchmark: Diatomics = DIATOMICS, limit: int | None = None, **changes: object) -> list[Case]:
    """The cases for such a model."""
    return list(planned_cases(benchmark, Scope(survey(**changes)), limit))


def scan(case: Case) -> SinglePoints:
    """The job of a case."""
    job = case.jobs["scan"]
    assert isinstance(job, SinglePoints)
    return job


def answered(energy: Floats, force: Floats, reasons: dict[int, str] | None = None) -> Outcome:
    """The outcome of a job that gave this curve, with some points refused."""
    missing, nothing = reasons or {}, np.full((2, 3), np.nan)
    points = [
        Point(np.nan, nothing, reason=missing[i]) if i in missing else Point(e, np.array([[0, 0, -f], [0.1, -0.1, f]]))
        for i, (e, f) in enumerate(zip(energy, force, strict=True))
    ]
    return Outcome("key", "ok", pack_points(points, [2] * len(points)))


def seen(energy: Floats, force: Floats, pair: str = "H-C", **reasons: dict[int, str]) -> Observation:
    """What the benchmark sees in a curve."""
    case = next(c for c in cases() if c.id == pair)
    return observe_case(DIATOMICS, case, {"scan": answered(energy, force, **reasons)})


def morse(depth: float = 4.0, width: float = 2.0, length: float = 1.5) -> tuple[Floats, Floats]:
    """Energy (eV) and force (eV/Å) of a Morse oscillator."""
    fade = np.exp(-width * (GRID - length))
    return depth * (fade**2 - 2.0 * fade), 2.0 * depth * width * (fade**2 - fade)


def five(observation: Observation) -> list[float | None]:
    """The five metrics that are scored, in order; None where there is none."""
    return [observation.values.get(name) for name in FIVE]


def test_every_pair_is_one_job_on_the_grid_of_the_protocol() -> None:
    made = cases()
    assert [case.id for case in made] == ["H-H", "H-C", "H-O", "C-C", "C-O", "O-O"]
    job = scan(made[4])
    assert job.force_calls == 100
    assert job.properties == ("energy", "forces")
    for structure, distance in zip(job.structures, GRID, strict=True):
        assert structure.numbers.tolist() == [6, 8]
        np.testing.assert_array_equal(structure.positions, [[0.0, 0.0, 0.0], [0.0, 0.0, distance]])
        assert (structure.pattern, structure.charge, structure.spin) == ("FFF", None, None)
    assert made[4].context["cell"] == "none"
    assert made[4].context["multiplicity"] == "not given"


def test_periodic_models_get_a_cube_that_keeps_images_apart() -> None:
    case = cases(pbc=("TTT", "TTF"))[0]
    structure = scan(case).structures[-1]
    assert structure.pattern == "TTT"
    np.testing.assert_array_equal(structure.cell, 30.0 * np.eye(3))
    assert case.context["cell"] == "cube of 30 Å"
    assert scan(cases(Diatomics(longest=10.0), pbc=("TTT",))[0]).structures[0].cell[0, 0] == 34.0


def test_models_that_take_a_spin_get_the_lowest_one_that_the_electrons_allow() -> None:
    made = cases(card=ModelCard("a model", elements=(1, 6, 7), spin=True))
    given = {c.id: {(s.charge, s.spin) for s in scan(c).structures} for c in made}
    assert given == {
        "H-H": {(0, 1)}, "H-C": {(0, 2)}, "H-N": {(0, 1)}, "C-C": {(0, 1)}, "C-N": {(0, 2)}, "N-N": {(0, 1)},
    }  # fmt: skip
    assert [c.context["multiplicity"] for c in made] == [1, 2, 1, 1, 2, 1]
    observed = observe_case(DIATOMICS, made[1], {"scan": answered(*morse())})
    assert (observed.detail["multiplicity"], observed.detail["cell"]) == (2, "none")


def test_a_sample_keeps_claimed_elements_that_were_refused() -> None:
    everything = tuple(range(1, 90))  # H to Ac
    known = survey(
        card=ModelCard("a model", elements=everything),
        answered=everything[1:],
        subjects=(Subject("Fe", (26,), 1.0, 1.0),),
    )
    sampled = planned_cases(Diatomics(species="sample"), Scope(known))
    elements = {name for case in sampled for name in case.id.split("-")}
    assert {"H", "Fe", "Cu"} <= elements
    assert len(elements) == 13
    assert [c.id for c in planned_cases(DIATOMICS, Scope(known), 90)][-2:] == ["H-Ac", "He-He"]


def test_lost_elements_are_errors_and_no_elements_a_failure() -> None:
    made = {c.id: observe_case(DIATOMICS, c, {}) for c in cases(lost={8: "the worker died"}) if not c.jobs}
    assert {name: o.status for name, o in made.items()} == dict.fromkeys(("H-O", "C-O", "O-O"), "error")
    assert made["C-O"].reason == "the worker died"
    for changes, status in (
        ({"contact_error": "no answer"}, "error"),
        ({"card": ModelCard("m"), "answered": ()}, "failed"),
    ):
        (case,) = cases(**changes)
        assert observe_case(DIATOMICS, case, {}).status == status
    crashed = Outcome("key", "error", reason="out of memory")
    assert observe_case(DIATOMICS, cases()[0], {"scan": crashed}).status == "error"


@pytest.mark.parametrize("wrong", [{"species": "some"}, {"points": 5}, {"shortest": 0.0}, {"longest": 0.1}])
def test_wrong_settings_are_named(wrong: dict) -> None:
    with pytest.raises(AssayError, match=f"'{next(iter(wrong.values()))}'"):
        Diatomics(**wrong)


def test_a_morse_curve_is_perfect() -> None:
    energy, force = morse()
    found = seen(energy - 1234.5, force)
    assert found.status == "ok"
    assert five(found) == pytest.approx([1.0, 1.0, 1.0, -1.0, 1.0])
    assert DIATOMICS.case_score(found) == 1.0
    assert found.values["short_range_hole"] == 0.0
    assert found.values["force_energy_gap"] < 1e-3
    np.testing.assert_allclose(found.detail["energies"], energy - energy[-1], atol=1e-9)
    np.testing.assert_array_equal(found.detail["forces"], force)
    assert found.detail["minimum"] == np.argmin(energy)
    json.dumps(plain(found.detail), allow_nan=False)


def test_a_curve_that_only_repels_is_wrong_for_atoms_that_bind_and_right_for_noble_gases() -> None:
    energy = 50.0 * np.exp(-2.0 * GRID)
    found = seen(energy, 2.0 * energy)
    assert five(found) == [0.0, 0.0, 0.0, pytest.approx(-1.0), -1.0]
    assert "no bond" in found.reason
    assert DIATOMICS.case_score(found) == pytest.approx((3.0 * np.exp(-3.0) + 1.0) / 5.0, abs=1e-9)
    noble = survey(card=ModelCard("a model", elements=(1, 18)), answered=(1, 18))
    for case in planned_cases(DIATOMICS, Scope(noble))[1:]:
        free = observe_case(DIATOMICS, case, {"scan": answered(energy, 2.0 * energy)})
        assert five(free) == [0.0, 0.0, 0.0, pytest.approx(-1.0), None]
        assert free.tolerances == dict.fromkeys(FIVE[:3], 1.0)
        assert DIATOMICS.case_score(free) == 1.0
        assert DIATOMICS.case_score(observe_case(DIATOMICS, case, {"scan": answered(*morse(0.4, 1.5, 3.5))})) == 1.0


def test_rounding_in_the_tail_of_a_repulsive_curve_is_no_attraction() -> None:
    energy = 50.0 * np.exp(-4.0 * GRID) + 1e-9 * (GRID > 4.0) * GRID
    assert seen(energy, 4.0 * energy).values["spearman_attraction"] == -1.0


@pytest.mark.parametrize(("depth", "width", "length"), [(0.52, 0.78, 3.92), (0.45, 0.69, 4.65)], ids=["K2", "Cs2"])
def test_soft_bonds_of_real_molecules_are_perfect(depth: float, width: float, length: float) -> None:
    found = seen(*morse(depth, width, length))
    assert found.values["energy_inflections"] == 0.0
    assert DIATOMICS.case_score(found) == 1.0


def test_two_wells_score_as_badly_as_none() -> None:
    energy, force = morse()
    second = -2.0 * np.exp(-(((GRID - 3.5) / 0.3) ** 2))
    found = seen(energy + second, force + 2.0 * second * (GRID - 3.5) / 0.09)
    metric = next(m for m in DIATOMICS.metrics if m.name == "energy_minima")
    assert found.values["energy_minima"] == 2.0
    assert metric.score(found) == pytest.approx(np.exp(-3.0))


@pytest.mark.parametrize(("total", "ignored"), [(0.0, False), (-1e5, True)])
def test_rounding_of_a_large_total_energy_is_not_read_as_order(total: float, ignored: bool) -> None:
    """Single precision resolves 0.01 eV of 1e5 eV; of a small energy it would be an energy that jumps unfelt."""
    energy, force = morse()
    tail = GRID > 3.5
    energy, force = np.where(tail, 0.01 * np.cos(9.0 * GRID), energy), np.where(tail, 0.0, force)
    attraction = seen(energy + total, force).values["spearman_attraction"]
    assert (attraction > 0.999) is ignored


def test_a_curve_without_a_wall_gets_the_worst_repulsion() -> None:
    energy = -50.0 * np.exp(-2.0 * GRID)
    found = seen(energy, 2.0 * energy)
    assert found.values["spearman_repulsion"] == 1.0
    assert found.values["short_range_hole"] == 1.0
    assert "lowest at 0.18 Å" in found.reason
    assert (DIATOMICS.case_score(found) or 0.0) < 0.81


def test_a_hole_under_the_wall_is_seen_and_costs() -> None:
    energy, force = morse()
    pit = 2000.0 * np.exp(-((GRID / 0.3) ** 2))
    found = seen(energy - pit, force - pit * 2.0 * GRID / 0.09)
    assert found.values["short_range_hole"] == 1.0
    assert found.values["force_flips"] > 1.0
    assert (DIATOMICS.case_score(found) or 0.0) < 0.5


@pytest.mark.parametrize(
    ("energy", "force"),
    [
        (np.zeros(100), np.zeros(100)),
        (np.full(100, -7.0), morse()[1]),
        (morse()[0], np.zeros(100)),
        (5e-4 * np.sin(GRID), 5e-4 * np.cos(GRID)),
    ],
    ids=["zero", "constant energy", "no force", "next to nothing"],
)
def test_atoms_that_do_not_feel_each_other_have_failed(energy: Floats, force: Floats) -> None:
    found = seen(energy, force)
    assert found.status == "failed"
    assert found.reason.startswith("no interaction at any distance")
    assert DIATOMICS.case_score(found) == 0.0


def test_a_tenth_of_the_points_may_be_missing_and_no_more() -> None:
    few = seen(*morse(), reasons={99: "returned the energy nan", 3: "refused: too close"})
    assert five(few) == pytest.approx([1.0, 1.0, 1.0, -1.0, 1.0])
    assert few.reason == ("2 of 100 structures without an answer: 1 × refused: too close; 1 × returned the energy nan")
    assert few.values["refused_fraction"] == pytest.approx(0.02)
    assert np.isnan(few.detail["energies"]).sum() == 2
    inside = seen(*morse(), reasons=dict.fromkeys(range(20, 30), "refused: no"))
    assert five(inside) == pytest.approx([1.0, 1.0, 1.0, -1.0, 1.0])
    assert inside.values["force_energy_gap"] < 2e-3
    many = seen(*morse(), reasons=dict.fromkeys(range(11), "refused: no"))
    assert (many.status, many.values) == ("failed", {})
    assert many.reason.startswith("11 of 100 ")


def test_failed_pairs_pull_every_scored_metric_down() -> None:
    pairs = [seen(*morse()), replace(seen(*morse(), reasons=dict.fromkeys(range(11), "refused")), case="H-O")]
    measured = {m.name: m for m in DIATOMICS.measure(pairs)}
    for name in FIVE:
        assert measured[name].score == pytest.approx(0.5)
        assert measured[name].coverage == (1, 2)
    assert measured["force_energy_gap"].score is None


def test_the_order_of_pairs_does_not_matter() -> None:
    pairs = [seen(*morse(width=width)) for width in (1.0, 1.5, 2.0)]
    assert DIATOMICS.measure(pairs) == DIATOMICS.measure(pairs[::-1])


def brute_force(energy: Floats, force: Floats) -> list[float]:
    """The five metrics once more, point by point, for curves without a zero tail and with both sides."""
    kept = [f for f in force if abs(f) > 0.01]
    flips = sum(1 for a, b in pairwise(kept) if a * b < 0)
    slope = np.gradient(energy, GRID)
    bend = [b for b in np.gradient(slope, GRID) if abs(b) > 0.5]
    turns = sum(1 for a, b in pairwise(bend) if a * b < 0)
    wells = sum(1 for i in range(1, 99) if _is_well(energy, i))
    lowest = int(np.argmin(energy))
    wall, rise = (spearmanr(GRID[part], energy[part]).statistic for part in (slice(lowest + 1), slice(lowest, None)))
    return [flips, wells, turns, wall, rise]


def _is_well(energy: Floats, i: int) -> bool:
    """A local minimum with a prominence of 0.1 eV, one step wide at half of it."""
    if not energy[i - 1] > energy[i] < energy[i + 1]:
        return False
    rims = []
    for side in (energy[:i][::-1], energy[i + 1 :]):
        lower = np.flatnonzero(side < energy[i])
        rims.append(side[: lower[0] if len(lower) else len(side)].max())
    prominence = min(rims) - energy[i]
    level, width = energy[i] + 0.5 * prominence, 0.0
    for step in (-1, 1):
        j = i
        while energy[j] < level:
            j += step
        width += abs(j - i) - (energy[j] - level) / (energy[j] - energy[j - step])
    return bool(prominence >= 0.1 and width >= 1.0)


@pytest.mark.parametrize("seed", range(40))
def test_metrics_are_those_of_an_independent_count(seed: int) -> None:
    rng = np.random.default_rng(seed)
    energy, force = morse(*rng.uniform([0.5, 1.0, 1.0], [6.0, 2.5, 2.5]))
    for _ in range(int(rng.integers(0, 5))):  # bumps and dents, each with its own force
        height, where, width = rng.uniform([-2.0, 0.5, 0.1], [2.0, 5.0, 0.6])
        bump = height * np.exp(-(((GRID - where) / width) ** 2))
        energy, force = energy + bump, force + bump * 2.0 * (GRID - where) / width**2
    energy = energy + rng.choice([0.0, 1e-3, 0.2]) * rng.standard_normal(100)
    assert 0 < np.argmin(energy) < 99
    assert five(seen(energy, force)) == pytest.approx(brute_force(energy - energy[-1], force), abs=1e-12)


def test_a_measured_molecule_gives_errors_and_others_none() -> None:
    known = diatomic_constants()["C-O"]
    width = 2.3
    found = seen(*morse(11.0, width, 1.2), pair="C-O")
    assert found.values["bond_length_error"] == pytest.approx(1.2 - known.bond_length, abs=1e-4)
    assert found.values["well_depth_error"] == pytest.approx(11.23 - 11.0, abs=2e-3)
    mass = 12.0 * 15.994915 / 27.994915
    expected = 521.4709 * np.sqrt(2.0 * 11.0 * width**2 / mass)
    assert found.detail["bond"]["wavenumber"] == pytest.approx(expected, rel=1e-3)
    assert found.values["frequency_error"] == pytest.approx(abs(expected - 2169.81), abs=3.0)
    assert "well_depth_error" not in seen(*morse(), pair="C-C").values
    repulsive = 50.0 * np.exp(-2.0 * GRID)
    assert not any(name.endswith("_error") for name in seen(repulsive, 2.0 * repulsive, pair="C-O").values)


def test_measured_constants_are_plausible_and_named_like_cases() -> None:
    from ase.data import atomic_numbers, covalent_radii

    table = diatomic_constants()
    assert len(table) == 30
    for pair, known in table.items():
        first, second = (atomic_numbers[name] for name in pair.split("-"))
        assert first <= second
        assert 0.7 < known.bond_length / (covalent_radii[first] + covalent_radii[second]) < 1.25
        # Badger's rule in its crudest form: the stiffness of a bond lies within a factor of some eV/Å².
        stiffness = known.reduced_mass * (known.wavenumber / 521.4709) ** 2
        assert 1.0 < stiffness < 145.0
        assert known.well_depth is None or 1.0 < known.well_depth < 12.0
    assert table["H-Cl"].reduced_mass == pytest.approx(0.97959, abs=1e-5)
    assert set(ISOTOPE_MASSES) == {name for pair in table for name in pair.split("-")}


class _Curve(Toy):
    """A pair potential of copper given by a function of the distance."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        """Energy and forces of the first two atoms; nothing for the others."""
        forces = np.zeros((len(atoms), 3))
        if len(atoms) < 2:
            return {"energy": 0.0, "forces": forces}
        vector = atoms.positions[1] - atoms.positions[0]
        distance = float(np.linalg.norm(vector))
        fade = np.exp(-1.5 * (distance - 2.2))
        forces[1] = 6.0 * (fade**2 - fade) * vector / distance
        forces[0] = -forces[1]
        return {"energy": 2.0 * (fade**2 - 2.0 * fade), "forces": forces}


def score(model: object, **settings: object) -> float | None:
    """The score of a model in this benchmark alone."""
    report = run(model, benchmarks=("physicality.diatomics",), workers=0, **settings)
    (result,) = report.result.benchmarks
    return result.score


def test_a_model_of_perfect_curves_scores_one_from_end_to_end() -> None:
    assert score(_Curve, elements=(29, 79)) == 1.0


@pytest.mark.parametrize(("model", "least"), [("sound", 0.8), ("emt", 0.8), ("lennard_jones", 1.0)])
def test_sound_models_score_high(model: str, least: float) -> None:
    """The sound potential and EMT have more than one inflection, which costs them a fifth."""
    assert (score(SOUND[model], elements=(29, 79)) or 0.0) >= least


@pytest.mark.parametrize("model", Diatomics.catches)
def test_broken_models_score_at_most_a_half(model: str) -> None:
    assert is_caught(score(BROKEN[model].build))


@pytest.mark.parametrize(
    "broken",
    [lambda atoms: 1 / 0, lambda atoms: {"energy": np.nan, "forces": np.full((len(atoms), 3), np.nan)}],
    ids=["raises", "nan"],
)
def test_models_that_never_answer_score_nothing(broken: Callable[[Atoms], dict]) -> None:
    class Broken(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            return broken(atoms)

    assert score(Broken, elements=(29, 79)) in (0.0, None)
