"""Locality: the shipped places are where they should be, known tails give known forces, and silence is no virtue."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from ase.geometry import get_distances

from assay.api import run
from assay.benchmark import Case, Scope, observe_case, planned_cases
from assay.benchmarks.builders.placements import CUBE, LARGE_CUBE, Scene, placements
from assay.benchmarks.physicality.locality import Locality
from assay.jobs import SinglePoints
from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.observation import MetricValue, Observation
from assay.outcome import Outcome
from assay.sabotage import BROKEN, SOUND, is_caught
from assay.store.codec import plain
from assay.survey import Subject, Survey
from toys import Says, Toy, engine_of

ALL = ("FFF", *PERIODIC_PATTERNS)
ORGANIC = (1, 6, 8, 10)


def survey(elements: tuple[int, ...] = ORGANIC, **changes: object) -> Survey:
    """A model of the elements as a survey would find it."""
    given: dict = {
        "card": ModelCard("a model", elements=elements),
        "answered": elements,
        "pbc": ALL,
        "subjects": (*(Subject(str(z), (z,), 1.0, 1.0) for z in elements), Subject("mix", elements, 1.0, 1.0)),
        **changes,
    }
    return Survey(**given)


def cases(found: Survey) -> dict[str, Case]:
    return {case.id: case for case in planned_cases(Locality(), Scope(found))}


def single_points(case: Case, role: str) -> SinglePoints:
    job = case.jobs[role]
    assert isinstance(job, SinglePoints)
    return job


def observe(build: Callable[[], object], found: Survey) -> dict[str, Observation]:
    """Every case answered by a calculator."""
    engine = engine_of(build)
    return {
        name: observe_case(Locality(), case, {role: engine.run("k", job) for role, job in case.jobs.items()})
        for name, case in cases(found).items()
    }


def measured(seen: dict[str, Observation]) -> dict[str, MetricValue]:
    return {value.name: value for value in Locality().measure(list(seen.values()))}


class Contact(Toy):
    """Pairs repel with 1 eV (1 − r/4 Å)³ up to 4 Å, whatever they are; `tail` adds tail / r without end (eV Å)."""

    tail = 0.0
    shift = 0.0  # eV for each pair of atoms

    def answer(self, atoms: Atoms) -> dict[str, object]:
        i, j = np.triu_indices(len(atoms), 1)
        vectors, lengths = get_distances(atoms.positions, cell=atoms.cell, pbc=atoms.pbc)
        vector, r = vectors[i, j], lengths[i, j]
        t = np.maximum(1.0 - r / 4.0, 0.0)
        energy = float((t**3 + self.tail / r + self.shift).sum())
        slope = -0.75 * t**2 - self.tail / r**2
        pull = (slope / r)[:, None] * vector
        forces = np.zeros((len(atoms), 3))
        np.add.at(forces, i, pull)
        np.add.at(forces, j, -pull)
        return {"energy": energy, "forces": forces}


class Tail(Contact):
    tail = 0.5


class Coupled(Contact):
    shift = 0.01


def test_every_ghost_is_40_angstrom_from_every_atom_of_acetone_by_minimum_image() -> None:
    shipped = placements()
    assert shipped.shells.shape == (5, 20, 3)
    for sites in shipped.shells:
        _, gaps = get_distances(shipped.acetone, sites, cell=CUBE * np.eye(3), pbc=True)
        assert gaps.min() >= 40.0
        _, between = get_distances(sites, cell=CUBE * np.eye(3), pbc=True)
        assert between[np.triu_indices(20, 1)].min() >= 5.0
    assert len({sites.tobytes() for sites in shipped.shells}) == 5


def test_hydrogens_are_20_to_50_angstrom_away_and_so_is_their_nearest_image_in_the_large_cube() -> None:
    sites = placements().hydrogens
    distances = np.linalg.norm(sites, axis=1)
    assert sites.shape == (30, 3)
    assert distances.min() >= 20.0
    assert distances.max() <= 50.0
    assert np.ptp(distances) > 20.0
    _, images = get_distances(placements().acetone, sites, cell=LARGE_CUBE * np.eye(3), pbc=True)
    np.testing.assert_allclose(images, np.linalg.norm(placements().acetone[:, None] - sites[None], axis=2))


@pytest.mark.parametrize(("pattern", "expected"), [("TTT", 2.0), ("FTT", 58.0), ("FFF", 58.0)])
def test_the_nearest_distance_heeds_images_in_periodic_directions_only(pattern: str, expected: float) -> None:
    scene = Scene("one atom", np.array([1]), np.array([[-29.0, 0.0, 0.0]]), pattern, CUBE, False)
    assert scene.nearest(np.array([[29.0, 0.0, 0.0]])) == pytest.approx(expected)


def test_shipped_acetone_is_acetone() -> None:
    shipped = placements()
    assert sorted(shipped.numbers.tolist()) == [1] * 6 + [6] * 3 + [8]
    _, gaps = get_distances(shipped.acetone)
    carbonyl = gaps[np.ix_(shipped.numbers == 8, shipped.numbers == 6)].min()
    assert carbonyl == pytest.approx(1.22, abs=0.02)
    np.testing.assert_allclose(shipped.acetone.mean(axis=0), 0.0, atol=1e-5)


def test_ghosts_are_asked_in_the_periodic_cube_and_hydrogen_in_the_open() -> None:
    made = cases(survey())
    assert list(made) == ["ghosts", "hydrogen", "decay"]
    both = single_points(made["ghosts"], "both").structures
    assert {s.pattern for s in both} == {"TTT"}
    assert [len(s) for s in both] == [30] * 5
    assert {s.pattern for s in single_points(made["hydrogen"], "both").structures} == {"FFF"}
    assert len(single_points(made["hydrogen"], "both").structures) == 30
    assert made["ghosts"].context["nearest"] >= 40.0
    assert made["ghosts"].context["said"] == ""


@pytest.mark.parametrize(("pbc", "ghosts", "hydrogen"), [(("FFF",), "FFF", "FFF"), (PERIODIC_PATTERNS, "TTT", "TTT")])
def test_models_that_know_only_clusters_or_only_crystals_are_asked_what_they_know(
    pbc: tuple[str, ...], ghosts: str, hydrogen: str
) -> None:
    made = cases(survey(pbc=pbc))
    assert single_points(made["ghosts"], "both").structures[0].pattern == ghosts
    far = single_points(made["hydrogen"], "both").structures[0]
    assert far.pattern == hydrogen
    assert not far.cell.any() or np.array_equal(far.cell, LARGE_CUBE * np.eye(3))


def test_models_that_take_a_spin_are_told_that_hydrogen_makes_a_doublet() -> None:
    made = cases(survey(card=ModelCard("a model", elements=ORGANIC, spin=True)))
    assert single_points(made["ghosts"], "both").structures[0].info == {"charge": 0, "spin": 1}
    assert single_points(made["hydrogen"], "both").structures[0].info == {"charge": 0, "spin": 2}
    assert single_points(cases(survey())["hydrogen"], "both").structures[0].info == {}


@pytest.mark.parametrize(
    ("elements", "ghost", "said"),
    [
        ((1, 6, 8), "H", "H in place of Ne"),
        ((1, 2, 6, 8, 18), "Ar", "Ar in place of Ne"),
        ((6, 8, 29), "C", "mix cluster in place of acetone, C in place of Ne"),
        ((29,), "Cu", "mix cluster in place of acetone, Cu in place of Ne"),
    ],
)
def test_species_that_are_missing_are_replaced_and_named(elements: tuple[int, ...], ghost: str, said: str) -> None:
    made = cases(survey(elements))["ghosts"]
    assert made.context["probe"] == ghost
    assert made.context["said"].replace("29 cluster", "mix cluster") == said


def test_a_strictly_local_model_is_exactly_local() -> None:
    seen = observe(Contact, survey())
    assert seen["ghosts"].values == pytest.approx({"ghost_force_max": 0.0, "energy_additivity_max": 0.0}, abs=1e-9)
    assert seen["hydrogen"].values["hydrogen_force_mean"] == 0.0
    assert [Locality().case_score(seen[name]) for name in seen] == [1.0, 1.0, None]
    assert 2.0 < seen["decay"].values["effective_range"] < 4.0


def test_a_tail_gives_the_force_of_coulombs_law() -> None:
    """One atom with charge-like repulsion k/r at a distance pushes each atom with k/r²."""
    seen = observe(Tail, survey())
    gaps = np.linalg.norm(placements().hydrogens[:, None] - placements().acetone[None], axis=2)
    means = (1e3 * Tail.tail / gaps**2).mean(axis=1)
    values, found = seen["hydrogen"].values, measured(seen)
    assert values["hydrogen_force_mean"] == pytest.approx(means.mean(), rel=1e-6)
    assert values["hydrogen_force_std"] == pytest.approx(means.std(), rel=1e-6)
    assert found["hydrogen_force_mean"].stderr == pytest.approx(means.std() / 30**0.5, rel=1e-6)
    assert found["hydrogen_force_std"].stderr == pytest.approx(means.std() / 58**0.5, rel=1e-6)
    energies = 1e3 * (Tail.tail / gaps).sum(axis=1)
    assert values["energy_additivity_max"] == pytest.approx(energies.max(), rel=1e-6)
    assert found["hydrogen_force_mean"].score == pytest.approx(0.0, abs=1e-3)
    assert seen["decay"].values["effective_range"] == pytest.approx(
        (1e3 * Tail.tail) ** 0.5, rel=0.15
    )  # k/r² = 1 meV/Å


def test_ghosts_push_with_the_sum_of_their_tails_over_nearest_images() -> None:
    seen, shipped = observe(Tail, survey()), placements()
    pushes = []
    for sites in shipped.shells:
        vectors, gaps = get_distances(shipped.acetone, sites, cell=CUBE * np.eye(3), pbc=True)
        total = (1e3 * Tail.tail * vectors / gaps[:, :, None] ** 3).sum(axis=1)
        pushes.append(np.linalg.norm(total, axis=1).max())
    assert seen["ghosts"].values["ghost_force_max"] == pytest.approx(max(pushes), rel=1e-6)
    error = np.std(pushes, ddof=1) / 5**0.5
    assert measured(seen)["ghost_force_max"].stderr == pytest.approx(error, rel=1e-6)


def test_a_force_felt_at_the_end_of_the_ray_is_said_to_reach_beyond_it() -> None:
    class Strong(Contact):
        tail = 5.0

    seen = observe(Strong, survey())["decay"]
    assert seen.values["effective_range"] == pytest.approx(30.0)
    assert "beyond 30 Å" in seen.reason
    curve = seen.detail["curves"]["Ne"]
    np.testing.assert_allclose(curve["force"][-1], 5e3 / 30.0**2, rtol=1e-6)
    assert len(curve["distance"]) == 24


def test_an_energy_that_couples_far_atoms_fails_though_forces_are_right() -> None:
    seen = observe(Coupled, survey())
    assert seen["hydrogen"].values["energy_additivity_max"] == pytest.approx(10 * 10.0)
    assert seen["hydrogen"].values["hydrogen_force_mean"] == 0.0
    assert measured(seen)["energy_additivity_max"].score == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (Toy, "force does not change"),
        (lambda: Says(energy=-3.0, forces=[]), "returned forces of shape"),
        (lambda: Says(energy=float("nan"), forces=[]), "returned the energy nan"),
        (BROKEN["raises"].build, "acetone alone: refused"),
    ],
)
def test_models_that_say_nothing_fail_every_case(build: Callable[[], object], word: str) -> None:
    seen = observe(build, survey())
    assert {o.status for o in seen.values()} == {"failed"}
    assert word in seen["ghosts"].reason
    assert [Locality().case_score(o) for o in seen.values()] == [0.0, 0.0, 0.0]
    assert all(value.value is None for value in measured(seen).values())


def test_a_model_that_refuses_the_molecule_with_far_atoms_fails_there_and_nowhere_else() -> None:
    class NoCrowds(Contact):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            if len(atoms) > 20:
                raise ValueError("too many atoms")
            return super().answer(atoms)

    seen = observe(NoCrowds, survey())
    assert seen["ghosts"].status == "failed"
    assert "too many atoms" in seen["ghosts"].reason
    assert {seen["hydrogen"].status, seen["decay"].status} == {"ok"}
    found = measured(seen)
    assert found["ghost_force_max"].score == 0.0
    assert found["hydrogen_force_mean"].score == 1.0
    assert found["energy_additivity_max"].score == 0.5


def test_a_lone_atom_that_is_refused_leaves_the_energy_out_and_says_so() -> None:
    class NoLoneAtoms(Contact):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            if len(atoms) == 1:
                raise ValueError("no neighbours")
            return super().answer(atoms)

    seen = observe(NoLoneAtoms, survey())["hydrogen"]
    assert seen.status == "ok"
    assert "energy_additivity_max" not in seen.values
    assert "no neighbours" in seen.reason


def test_noise_raises_the_limits_but_not_without_end() -> None:
    quiet, noisy = survey(), survey(noise_force=3e-5, noise_energy=3e-4)
    assert observe(Contact, quiet)["ghosts"].detail["limits"] == {"force": 0.1, "energy": 1.0}
    limits = observe(Contact, noisy)["ghosts"].detail["limits"]
    assert limits == {"force": pytest.approx(0.3), "energy": pytest.approx(3.0)}
    roaring = observe(Contact, survey(noise_force=1.0, noise_energy=1.0))["ghosts"].detail["limits"]
    assert roaring == {"force": pytest.approx(1.0), "energy": pytest.approx(10.0)}


def test_rounding_of_large_energies_to_single_precision_does_not_fail() -> None:
    class Rounded(Contact):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            found = super().answer(atoms)
            return {
                "energy": float(np.float32(found["energy"] - 17.123 * (atoms.numbers**2).sum())),
                "forces": found["forces"],
            }

    exact, single = observe(Rounded, survey()), observe(Rounded, survey(precision="float32"))
    assert exact["ghosts"].values["energy_additivity_max"] > 1.0
    assert Locality().case_score(single["ghosts"]) == 1.0


def test_a_model_that_was_never_reached_or_never_answered() -> None:
    lost = cases(survey(contact_error="no answer within 120 s"))["contact"]
    assert observe_case(Locality(), lost, {}).status == "error"
    silent = cases(survey(answered=(), subjects=()))["molecule"]
    assert observe_case(Locality(), silent, {}).status == "failed"
    died = Outcome("k", "error", reason="the worker died")
    case = cases(survey())["ghosts"]
    assert observe_case(Locality(), case, dict.fromkeys(case.jobs, died)).status == "error"


def test_observations_are_finite_json() -> None:
    for seen in observe(Tail, survey()).values():
        json.dumps(plain({"detail": seen.detail, "values": seen.values}), allow_nan=False)


@pytest.mark.parametrize("name", SOUND)
def test_sound_models_are_local(name: str) -> None:
    score = run(f"assay.sabotage:{name}", benchmarks=["physicality.locality"], workers=0).result.benchmarks[0].score
    assert score is not None
    assert score >= 0.9


@pytest.mark.parametrize("name", Locality.catches)
def test_broken_models_are_caught(name: str) -> None:
    assert is_caught(run(BROKEN[name].build, benchmarks=["physicality.locality"], workers=0).result.benchmarks[0].score)


def test_limit_and_protocol_can_be_changed() -> None:
    short = replace(Locality(), decay_points=5, reach=10.0)
    made = list(planned_cases(short, Scope(survey()), 2))
    assert [case.id for case in made] == ["ghosts", "hydrogen"]
    decay = list(planned_cases(short, Scope(survey())))[2]
    assert [len(grid) for grid in decay.context["distances"].values()] == [5, 5]
    assert max(decay.context["distances"]["Ne"]) == pytest.approx(10.0)
