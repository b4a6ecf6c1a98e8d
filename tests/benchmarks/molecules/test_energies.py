"""Static energies: formulas by hand, refusals, silence, charges, and what is not asked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ase import units

from assay.benchmark import Scope, observe_case, planned_cases
from assay.compute.protocols.null import null_outcome
from assay.data.dataset import Record
from assay.data.source import DataSource
from assay.errors import AssayError
from assay.jobs import SinglePoints, job_key
from assay.score import soft_threshold
from assay.structure import Floats, Structure
from assay.units import KCAL
from molecule_cases import benchmark, embedded_lane, observe, scores, source, survey, table, water

STATIC = ("noncovalent_interactions", "dihedral_scan", "conformer_selection", "tautomers", "reactivity_tst")
KINDS = {name: "reactions" if name == "reactivity_tst" else name for name in STATIC}
ROLES = ("reactant", "transition_state", "product")


def record(kind: str, energies: list[float], name: str = "water", charge: int | None = None, **info: object) -> Record:
    """A record of made-up energies (kcal/mol)."""
    frames = tuple(water(i, charge) for i in range(len(energies)))
    return Record(
        name,
        frames,
        tuple(e / KCAL for e in energies),
        tuple(float(i + 1) for i in range(len(energies))),
        ROLES if kind == "reactions" else (),
        info,
    )


def reference_of(kind: str) -> list[float]:
    """Energies (kcal/mol) that suit a kind."""
    return [-20.0, 0.0] if kind == "tautomers" else [-20.0, 0.0, -5.0]


def small(kind: str, **more: object) -> tuple[DataSource, Record]:
    made = record(kind, reference_of(kind), **more)
    return source(kind, made), made


def answers(made: Record, energies: list[float]):
    return table(list(zip(made.structures, energies, strict=True)))


def test_the_constant_of_kcal_is_that_of_ase() -> None:
    assert pytest.approx(units.mol / units.kcal, rel=1e-12) == KCAL


def test_a_well_is_as_deep_as_its_lowest_point_below_the_largest_distance() -> None:
    made = record("noncovalent_interactions", [3.0, -5.0, -4.0, -1.0])
    seen = observe(
        "noncovalent_interactions", source("noncovalent_interactions", made), answers(made, [9.0, -4.5, -5.5, 0.5])
    )
    values = seen["water"].values
    assert values["reference_interaction_energy"] == pytest.approx(-4.0)
    assert values["predicted_interaction_energy"] == pytest.approx(-6.0)
    assert values["interaction_energy_error"] == pytest.approx(2.0)
    assert values["curve_rmse"] == pytest.approx(math.sqrt((4.5**2 + 1.0**2 + 3.0**2) / 4))
    assert scores("noncovalent_interactions", seen)["water"] == pytest.approx(math.exp(-3.0))
    np.testing.assert_allclose(seen["water"].detail["predicted"], [8.5, -5.0, -6.0, 0.0])


def test_a_repulsive_curve_is_as_high_as_its_highest_point() -> None:
    made = record("noncovalent_interactions", [3.0, 1.0, 0.5], repulsive=True)
    seen = observe("noncovalent_interactions", source("noncovalent_interactions", made), answers(made, [4.0, 2.0, 1.0]))
    assert seen["water"].values["reference_interaction_energy"] == pytest.approx(2.5)
    assert seen["water"].values["interaction_energy_error"] == pytest.approx(0.5)


def test_true_monomers_have_their_own_charges() -> None:
    info = {"atoms_a": [0, 1], "atoms_b": [2], "charge_a": -1, "charge_b": 1}
    made = record("noncovalent_interactions", [-5.0, -100.0, -1.0], charge=0, **info)
    data = source("noncovalent_interactions", made)
    (case,) = planned_cases(benchmark("noncovalent_interactions"), Scope(survey(), data))
    job = case.jobs["monomers"]
    assert isinstance(job, SinglePoints)
    assert [(s.numbers.tolist(), s.charge, s.spin) for s in job.structures] == [([8, 1], -1, 1), ([1], 1, 1)]
    np.testing.assert_array_equal(job.structures[1].positions, made.structures[1].positions[[2]])

    def model(s: Structure) -> tuple[float, Floats]:
        whole = {water(i).positions.tobytes(): e for i, e in enumerate([-3.0, -90.0, 2.0])}
        return (whole[s.positions.tobytes()] if len(s) == 3 else float(-len(s))) / KCAL, np.ones((len(s), 3))

    values = observe("noncovalent_interactions", data, model)["water"].values
    assert values["predicted_monomer_interaction_energy"] == pytest.approx(-90.0 + 3.0)
    assert values["monomer_interaction_energy_error"] == pytest.approx(13.0)
    neutral = survey(charge=False)
    assert "monomers" not in next(iter(planned_cases(benchmark("noncovalent_interactions"), Scope(neutral, data)))).jobs


def test_monomers_that_are_refused_cost_only_their_own_metric() -> None:
    info = {"atoms_a": [0, 1], "atoms_b": [2], "charge_a": 0, "charge_b": 0}
    made = record("noncovalent_interactions", [-5.0, -9.0, -1.0], charge=0, **info)
    energies = answers(made, [-5.0, -9.0, -1.0])

    def model(s: Structure) -> tuple[float, Floats]:
        if len(s) < 3:
            raise ValueError("no fragments")
        return energies(s)

    seen = observe("noncovalent_interactions", source("noncovalent_interactions", made), model)["water"]
    assert seen.status == "ok"
    assert "monomer_interaction_energy_error" not in seen.values


def test_each_class_of_interaction_has_its_own_mean_and_failures_count_in_it() -> None:
    made = [
        record("noncovalent_interactions", [-5.0, -1.0], n, group=g) for n, g in (("a", "x"), ("b", "x"), ("c", "y"))
    ]
    made = [Record(r.id, tuple(s.moved(s.positions + i) for s in r.structures), r.energies, r.coordinates, (), r.info)
            for i, r in enumerate(made)]  # fmt: skip
    known = [(s, e) for r in made[:2] for s, e in zip(r.structures, [-5.5 - (r.id == "b"), -1.0], strict=True)]
    energies = table(known)

    def model(s: Structure) -> tuple[float, Floats]:
        if s.positions.tobytes() in {t.positions.tobytes() for t in made[2].structures}:
            raise ValueError("no")
        return energies(s)

    seen = observe("noncovalent_interactions", source("noncovalent_interactions", *made), model)
    found = {m.name: m for m in benchmark("noncovalent_interactions").measure(list(seen.values()))}
    assert found["interaction_energy_error (x)"].value == pytest.approx(1.0)
    assert found["interaction_energy_error (x)"].stderr == pytest.approx(0.5)
    assert found["interaction_energy_rmse"].value == pytest.approx(math.sqrt((0.5**2 + 1.5**2) / 2))
    assert found["interaction_energy_rmse (x)"].value == found["interaction_energy_rmse"].value
    assert found["interaction_energy_rmse"].score is None
    assert found["interaction_energy_error (y)"].score == 0.0
    assert found["interaction_energy_error (y)"].coverage == (0, 1)


def test_a_torsion_is_aligned_where_the_reference_is_lowest() -> None:
    made = record("dihedral_scan", [2.0, 0.0, 6.0])
    seen = observe("dihedral_scan", source("dihedral_scan", made), answers(made, [-1.0, 1.0, 9.0]))
    values = seen["water"].values
    assert values["predicted_barrier"] == pytest.approx(10.0)
    assert values["barrier_error"] == pytest.approx(4.0)
    assert values["mean_absolute_error"] == pytest.approx((4.0 + 0.0 + 2.0) / 3)
    assert values["root_mean_square_error"] == pytest.approx(math.sqrt((16.0 + 4.0) / 3))
    assert values["pearson_correlation"] == pytest.approx(np.corrcoef([2.0, 0.0, 6.0], [-1.0, 1.0, 9.0])[0, 1])
    assert scores("dihedral_scan", seen)["water"] == pytest.approx(math.exp(-9.0))
    np.testing.assert_array_equal(seen["water"].detail["angles"], [1.0, 2.0, 3.0])


def test_a_flat_torsion_has_no_correlation_and_no_nan() -> None:
    made = record("dihedral_scan", [2.0, 0.0, 6.0])
    asked = benchmark("dihedral_scan")
    (case,) = planned_cases(asked, Scope(survey(), source("dihedral_scan", made)))
    null = asked.observe_null(case, {role: null_outcome(job) for role, job in case.jobs.items()})
    assert null.status == "ok"
    assert "pearson_correlation" not in null.values
    assert null.values["barrier_error"] == pytest.approx(6.0)


def test_conformers_count_their_zero_point_and_find_the_lowest() -> None:
    made = record("conformer_selection", [0.0, 1.0, 3.0])
    seen = observe("conformer_selection", source("conformer_selection", made), answers(made, [10.0, 9.5, 16.0]))
    values = seen["water"].values
    assert values["energy_mae"] == pytest.approx((0.0 + 1.5 + 3.0) / 3)
    assert values["energy_rmse"] == pytest.approx(math.sqrt((1.5**2 + 3.0**2) / 3))
    assert values["spearman_correlation"] == pytest.approx(0.5)
    assert values["lowest_found"] == 0.0
    expected = (soft_threshold(1.5, 0.5) + soft_threshold(math.sqrt(11.25 / 3), 1.5)) / 2
    assert scores("conformer_selection", seen)["water"] == pytest.approx(expected)


def test_tautomers_are_judged_at_a_twentieth_of_an_electronvolt_and_literally() -> None:
    made = record("tautomers", [-20.0, 0.0])
    seen = observe("tautomers", source("tautomers", made), answers(made, [-19.0, 0.0]))
    values = seen["water"].values
    assert (values["predicted_difference"], values["reference_difference"]) == (
        pytest.approx(19.0),
        pytest.approx(20.0),
    )
    assert scores("tautomers", seen)["water"] == 1.0  # 1 kcal/mol is less than 0.05 eV
    assert values["literal_score"] == pytest.approx(math.exp(-3.0 * 0.95 / 0.05))


def test_reactions_have_two_scores_and_a_way_back() -> None:
    made = record("reactions", [1.0, 31.0, -9.0])
    seen = observe("reactivity_tst", source("reactions", made), answers(made, [0.0, 36.0, -12.0]))
    values = seen["water"].values
    assert values["activation_energy_error"] == pytest.approx(6.0)
    assert values["reaction_energy_error"] == pytest.approx(2.0)
    assert values["backward_activation_energy_error"] == pytest.approx(8.0)
    assert values["predicted_backward_activation_energy"] == pytest.approx(48.0)
    assert scores("reactivity_tst", seen)["water"] == pytest.approx((math.exp(-3.0) + 1.0) / 2)


def test_root_mean_squares_of_reactions_are_over_all_of_them() -> None:
    first, second = record("reactions", [0.0, 30.0, -10.0], "a"), record("reactions", [0.0, 20.0, -5.0], "b")
    seen = [
        observe("reactivity_tst", source("reactions", made), answers(made, energies))[made.id]
        for made, energies in ((first, [0.0, 33.0, -9.0]), (second, [0.0, 16.0, -5.0]))
    ]
    found = {m.name: m for m in benchmark("reactivity_tst").measure(seen)}
    assert found["activation_energy_rmse"].value == pytest.approx(math.sqrt((9.0 + 16.0) / 2))
    assert found["reaction_energy_rmse"].value == pytest.approx(math.sqrt(0.5))
    # The mean square is 12.5 ± 3.5; the error of its root is that divided by twice the root.
    assert found["activation_energy_rmse"].stderr == pytest.approx(3.5 / (2.0 * math.sqrt(12.5)))


def test_reactions_are_put_in_order_whatever_that_of_the_file() -> None:
    made = record("reactions", [1.0, 31.0, -9.0])
    turned = Record("water", made.structures[::-1], (made.energies or ())[::-1], None, ROLES[::-1])
    model = answers(made, [1.0, 31.0, -9.0])
    values = observe("reactivity_tst", source("reactions", turned), model)["water"].values
    assert values["reference_activation_energy"] == pytest.approx(30.0)
    assert values["activation_energy_error"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", STATIC)
def test_an_oracle_scores_one(name: str) -> None:
    data, made = small(KINDS[name])
    seen = observe(name, data, answers(made, [e + 7.0 for e in reference_of(KINDS[name])]))
    assert scores(name, seen) == {"water": 1.0}


@pytest.mark.parametrize("name", STATIC)
@pytest.mark.parametrize(
    ("energy", "force", "words"),
    [
        (lambda s: 0.0, 1.0, "the energy is the same"),
        (lambda s: float(s.positions[2, 2]), 0.0, "there are no forces"),
        (lambda s: float("nan"), 1.0, "returned the energy nan"),
    ],
)
def test_models_without_physics_fail(name: str, energy, force: float, words: str) -> None:
    data, _ = small(KINDS[name])
    seen = observe(name, data, lambda s: (energy(s), np.full((len(s), 3), force)))
    assert seen["water"].status == "failed"
    assert words in seen["water"].reason
    assert scores(name, seen) == {"water": 0.0}


@pytest.mark.parametrize("name", STATIC)
def test_one_structure_that_is_refused_fails_its_record_and_no_other(name: str) -> None:
    kind = KINDS[name]
    good, bad = record(kind, reference_of(kind), "good"), record(kind, reference_of(kind), "bad")
    bad = Record(
        "bad", tuple(s.moved(s.positions + 1.0) for s in bad.structures), bad.energies, bad.coordinates, bad.roles
    )
    model = answers(good, reference_of(kind))

    def picky(s: Structure) -> tuple[float, Floats]:
        if s.positions[0, 0] > 0.5:
            raise ValueError("too far out")
        return model(s)

    seen = observe(name, source(kind, good, bad), picky)
    assert {case: o.status for case, o in seen.items()} == {"good": "ok", "bad": "failed"}
    assert "too far out" in seen["bad"].reason


def test_records_beyond_the_claims_are_not_asked() -> None:
    data, _ = small("tautomers")
    (case,) = planned_cases(benchmark("tautomers"), Scope(survey(elements=(1, 6)), data))
    assert not case.jobs
    assert case.unsupported == "the model does not support O"
    assert observe_case(benchmark("tautomers"), case, {}).status == "unsupported"


def test_ions_are_not_asked_of_models_that_take_no_charge() -> None:
    data, _ = small("tautomers", charge=-1)
    (case,) = planned_cases(benchmark("tautomers"), Scope(survey(charge=False), data))
    assert case.unsupported == "the model does not support charges, and this is -1"


@pytest.mark.parametrize(("aware", "ignored"), [(True, 0.0), (False, 1.0)])
def test_ignoring_the_charge_shows(aware: bool, ignored: float) -> None:
    data, made = small("tautomers", charge=-1)
    model = answers(made, [-20.0, 0.0])
    shift = lambda s: 3.0 * (s.charge or 0) * aware  # noqa: E731
    seen = observe("tautomers", data, lambda s: (model(s)[0] + shift(s), model(s)[1]), survey(charge=True))
    assert seen["water"].values["charge_ignored"] == ignored
    assert ("ignores the charge" in seen["water"].reason) is not aware
    assert scores("tautomers", seen)["water"] == 1.0
    metrics = {m.name: m for m in benchmark("tautomers").measure(list(seen.values()))}
    assert metrics["charge_ignored"].value == ignored


def test_a_model_that_refuses_the_neutral_molecule_knows_charges() -> None:
    data, made = small("tautomers", charge=-1)
    model = answers(made, [-20.0, 0.0])

    def ions_only(s: Structure) -> tuple[float, Floats]:
        if s.charge == 0:
            raise ValueError("odd number of electrons")
        return model(s)

    seen = observe("tautomers", data, ions_only, survey(charge=True))["water"]
    assert seen.status == "ok"
    assert seen.values["charge_ignored"] == 0.0


def test_charge_and_spin_reach_the_model() -> None:
    data, made = small("tautomers", charge=-1)
    told = set()

    def model(s: Structure) -> tuple[float, Floats]:
        told.add((s.charge, s.spin))
        return answers(made, [-20.0, 0.0])(s)

    observe("tautomers", data, model, survey(charge=True))
    assert told == {(-1, made.structures[0].spin), (0, 1)}


def test_without_ions_nothing_is_said_about_charges() -> None:
    data, made = small("tautomers")
    seen = observe("tautomers", data, answers(made, [-20.0, 0.0]))
    assert "charge_ignored" not in {m.name for m in benchmark("tautomers").measure(list(seen.values()))}


def test_results_say_on_what_they_were_measured() -> None:
    data, _ = small("tautomers")
    (case,) = planned_cases(benchmark("tautomers"), Scope(survey(), data))
    assert case.context["data"] == {
        "name": "made-up", "level": "no level; at all", "lane": "yours", "sha256": "0" * 64,
    }  # fmt: skip


def test_two_sets_with_the_same_names_do_not_collide() -> None:
    data, _ = small("tautomers")
    both = DataSource((*data.given, *data.given))
    names = [case.id for case in planned_cases(benchmark("tautomers"), Scope(survey(), both))]
    assert names == ["water", "made-up/water"]


def test_few_records_are_evenly_spread_and_the_users_are_all_taken() -> None:
    data = source("tautomers", *(record("tautomers", [0.0, 1.0], f"r{i}") for i in range(9)))
    few = benchmark("tautomers", records=3)
    assert [c.id for c in planned_cases(few, Scope(survey(), embedded_lane(data)))] == ["r0", "r4", "r8"]
    assert len(list(planned_cases(few, Scope(survey(), data)))) == 9
    assert [c.id for c in planned_cases(benchmark("tautomers"), Scope(survey(), data), 2)] == ["r0", "r1"]
    with pytest.raises(AssayError, match="'0' records"):
        benchmark("tautomers", records=0)


def test_both_benchmarks_of_reactions_share_their_single_points() -> None:
    data, _ = small("reactions")
    jobs = [
        next(iter(planned_cases(benchmark(n), Scope(survey(), data)))).jobs["points"]
        for n in ("reactivity_tst", "reactivity_neb")
    ]
    assert job_key(jobs[0], "model") == job_key(jobs[1], "model")
    assert jobs[0].poolable
