"""Compression: crystals with the distances they claim, curves of known shape, and holes that are found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from ase.neighborlist import neighbor_list

from assay.api import run
from assay.benchmark import Case, Scope, observe_case, planned_cases
from assay.benchmarks.physicality.compression import GPA, Compression
from assay.configurations import radius
from assay.errors import AssayError
from assay.jobs import SinglePoints
from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.observation import Observation
from assay.outcome import Outcome, Point, pack_points
from assay.sabotage import BROKEN, SOUND, is_caught
from assay.store.codec import plain
from assay.structure import Floats, Structure
from assay.survey import Subject, Survey
from toys import Says, Toy, engine_of

ALL = ("FFF", *PERIODIC_PATTERNS)
TOUCHING = 2.0 * radius(29)
COMPRESSION = Compression()


def survey(elements: tuple[int, ...] = (29,), factor: float = 1.0, **changes: object) -> Survey:
    """A model of the elements as a survey would find it."""
    given: dict = {
        "card": ModelCard("a model", elements=elements),
        "answered": elements,
        "pbc": ALL,
        "stress": True,
        "subjects": tuple(Subject(str(z), (z,), factor, factor) for z in elements),
        **changes,
    }
    return Survey(**given)


def cases(found: Survey, benchmark: Compression = COMPRESSION) -> dict[str, Case]:
    return {case.id: case for case in planned_cases(benchmark, Scope(found))}


def structures(case: Case) -> tuple[Structure, ...]:
    job = case.jobs["scan"]
    assert isinstance(job, SinglePoints)
    return job.structures


def seen(
    curve: Callable[[Floats], Floats],
    refused: slice | None = None,
    pressure: bool = False,
    push: float = 1.0,
    number: int = 29,
) -> Observation:
    """What is observed of an fcc crystal whose energy per atom (eV) is a function of the distance, touching = 1."""
    case = cases(survey((number,)))[f"{number}-fcc"]
    distance = np.asarray(case.context["distance"])
    energies = curve(distance / float(case.context["touching"]))
    volume = distance**3 / 2**0.5
    slope = np.gradient(energies, volume)
    points = [
        Point(e, np.zeros((1, 3)), np.array([s, s, s, 0, 0, 0]) if pressure else None)
        for e, s in zip(energies, slope, strict=True)
    ]
    for i in range(len(points))[refused] if refused else ():
        points[i] = Point(float("nan"), np.full((1, 3), np.nan), None, "refused: too dense")
    outcome = Outcome("k", "failed" if refused else "ok", pack_points(points, [1] * len(points)))
    pushed = Outcome("k", "ok", pack_points([Point(0.0, np.array([[push, 0.0, 0.0], [-push, 0.0, 0.0]]))], [2]))
    return observe_case(COMPRESSION, case, {"scan": outcome, "witness": pushed})


def morse(x: Floats) -> Floats:
    """A well of 3 eV at the touching distance."""
    return 3.0 * ((1.0 - np.exp(-3.0 * (x - 1.0))) ** 2 - 1.0)


def hole(x: Floats) -> Floats:
    """The same well with a hole at small distances."""
    return morse(x) - 200.0 * np.exp(-(((x - 0.35) / 0.12) ** 2))


def bump(x: Floats) -> Floats:
    """The same well with a second one at 1.5."""
    return morse(x) - 1.5 * np.exp(-(((x - 1.5) / 0.1) ** 2))


def wall(x: Floats) -> Floats:
    """Repulsion and nothing else."""
    return x**-6.0


def test_distances_reach_from_strong_compression_to_twice_the_touching_distance() -> None:
    case = cases(survey())["29-fcc"]
    distances = np.asarray(case.context["distance"])
    assert len(distances) == 40
    assert distances[0] == pytest.approx(0.45 * TOUCHING)
    assert distances[-1] == pytest.approx(2.0 * TOUCHING)
    np.testing.assert_allclose(distances[1:] / distances[:-1], distances[1] / distances[0])


@pytest.mark.parametrize(("name", "atoms", "neighbours"), [("29-fcc", 1, 12), ("29-diamond", 2, 4)])
def test_crystals_have_their_coordination_at_the_distance_they_claim(name: str, atoms: int, neighbours: int) -> None:
    case = cases(survey())[name]
    for structure, distance in zip(structures(case), case.context["distance"], strict=True):
        assert len(structure) == atoms
        first, found = neighbor_list("id", structure.to_atoms(), 1.05 * distance)
        assert np.bincount(first).tolist() == [neighbours] * atoms
        np.testing.assert_allclose(found, distance)


def test_models_of_clusters_get_a_cuboctahedron() -> None:
    (case,) = cases(survey(pbc=("FFF",))).values()
    for structure, distance in zip(structures(case), case.context["distance"], strict=True):
        gaps = np.linalg.norm(structure.positions[:, None] - structure.positions[None], axis=2)
        assert len(structure) == 13
        assert gaps[np.triu_indices(13, 1)].min() == pytest.approx(distance)
        assert np.count_nonzero(np.isclose(gaps[0], distance)) == 12
    assert case.jobs["scan"].properties == ("energy", "forces")  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["6-fcc", "6-diamond"])
def test_carbon_is_squeezed_to_one_atom_per_cubic_angstrom_and_pulled_to_three_angstrom(name: str) -> None:
    case = cases(survey((6,)))[name]
    densest, widest = structures(case)[0], np.asarray(case.context["distance"])[-1]
    assert len(densest) / densest.volume == pytest.approx(1.0)
    assert widest == pytest.approx(3.04)
    assert np.bincount(neighbor_list("i", densest.to_atoms(), 6.0)).max() < 1000


def test_hydrogen_would_need_denser_crystals_and_is_a_cluster() -> None:
    (case,) = cases(survey((1,))).values()
    distances = np.asarray(case.context["distance"])
    assert case.id == "1-cuboctahedron"
    assert distances[[0, -1]] == pytest.approx([0.5, 3.0])
    (silent,) = cases(survey((1,), pbc=PERIODIC_PATTERNS)).values()
    assert "one atom per Å³" in observe_case(COMPRESSION, silent, {}).reason
    assert COMPRESSION.case_score(observe_case(COMPRESSION, silent, {})) is None


def test_a_model_with_another_length_scale_is_asked_in_it() -> None:
    assert cases(survey(factor=1.12))["29-fcc"].context["touching"] == pytest.approx(TOUCHING)
    assert cases(survey(factor=2.0))["29-fcc"].context["touching"] == pytest.approx(2.0 * TOUCHING)


def test_a_well_is_perfect() -> None:
    found = seen(morse, pressure=True)
    assert found.values == pytest.approx(
        {
            "energy_minima": 1.0,
            "holes": 0.0,
            "pressure_flips": 1.0,
            "spearman_compression": -1.0,
            "spearman_expansion": 1.0,
            "refused_fraction": 0.0,
        }
    )
    assert found.detail["well"] == pytest.approx(TOUCHING, rel=0.03)
    assert COMPRESSION.case_score(found) == 1.0


def test_a_crystal_that_only_repels_fails_unless_its_atoms_form_molecules() -> None:
    copper = seen(wall, pressure=True)
    assert copper.status == "failed"
    assert "only repel" in copper.reason
    assert COMPRESSION.case_score(copper) == 0.0
    found = seen(wall, pressure=True, number=18)
    assert found.values["energy_minima"] == 0.0
    assert found.values["pressure_flips"] == 0.0
    assert found.values["spearman_compression"] == -1.0
    assert "spearman_expansion" not in found.values
    assert COMPRESSION.case_score(found) == 1.0


def test_a_hole_is_found_counted_as_a_minimum_and_caught() -> None:
    found = seen(hole, pressure=True)
    assert found.values["holes"] == 1.0
    assert found.values["energy_minima"] == 2.0
    assert found.values["pressure_flips"] >= 2.0
    assert found.detail["inward_drop"] > 10.0
    assert found.detail["well"] == pytest.approx(TOUCHING, rel=0.03)
    assert is_caught(COMPRESSION.case_score(found))
    assert is_caught(COMPRESSION.case_score(seen(hole)))


def test_a_second_minimum_is_counted() -> None:
    found = seen(bump)
    assert found.values["energy_minima"] == 2.0
    assert found.values["holes"] == 0.0
    assert found.values["spearman_expansion"] < 0.99


def test_a_metastable_crystal_of_a_gas_is_no_hole() -> None:
    """Bonded at the touching distance, with more energy than the free atoms, as for F or N."""
    found = seen(lambda x: 5.0 * wall(x) - 1.6 * np.exp(-(((x - 1.15) / 0.1) ** 2)))
    assert found.detail["well"] == pytest.approx(2.0 * TOUCHING)
    assert found.values["energy_minima"] == 1.0
    assert found.values["holes"] == 0.0
    assert found.values["spearman_compression"] == -1.0


def test_ripples_below_a_tenth_of_an_electronvolt_do_not_count() -> None:
    found = seen(lambda x: morse(x) + 0.02 * np.sin(40.0 * x))
    assert found.values["energy_minima"] == 1.0
    assert found.values["holes"] == 0.0


def test_pressure_is_minus_the_mean_stress_in_gigapascal() -> None:
    found = seen(lambda x: -5.0 * x**3, pressure=True)  # dE/dV is the same everywhere
    constant = 5.0 / TOUCHING**3 * 2**0.5 * GPA
    np.testing.assert_allclose(found.detail["pressure"][1:-1], constant, rtol=1e-6)


def test_a_few_refused_points_are_reported_and_many_fail() -> None:
    few = seen(morse, slice(0, 3))
    assert few.status == "ok"
    assert few.values["refused_fraction"] == pytest.approx(3 / 40)
    assert few.reason == "3 of 40 structures without an answer: refused: too dense"
    many = seen(morse, slice(0, 12))
    assert many.status == "failed"
    assert COMPRESSION.case_score(many) == 0.0


def test_a_flat_energy_fails() -> None:
    found = seen(np.zeros_like)
    assert found.status == "failed"
    assert "same at all densities" in found.reason


def test_a_right_energy_without_forces_fails() -> None:
    found = seen(morse, push=0.0)
    assert found.status == "failed"
    assert "feels no force" in found.reason


@pytest.mark.parametrize("pbc", [ALL, ("FFF",)])
def test_one_atom_of_the_witness_is_out_of_its_place(pbc: tuple[str, ...]) -> None:
    """By symmetry there is no force in a perfect crystal, so that zeros would go unnoticed."""
    engine = engine_of(SOUND["sound"])
    for name, case in cases(survey(pbc=pbc)).items():
        job = case.jobs["witness"]
        assert isinstance(job, SinglePoints)
        for structure in job.structures:
            assert np.abs(engine.evaluate(structure).forces).max() > 0.05, name
            assert len(structure) >= 2


class Constant(Toy):
    """The same energy for each atom, wherever it is."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        return {"energy": -2.0 * len(atoms), "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}


@pytest.mark.parametrize(
    "build",
    [Constant, Toy, BROKEN["raises"].build, lambda: Says(energy=float("nan"), forces=[[0.0, 0.0, 0.0]])],
)
def test_models_that_say_nothing_fail(build: Callable[[], object]) -> None:
    engine = engine_of(build)
    for case in cases(survey()).values():
        found = observe_case(COMPRESSION, case, {role: engine.run("k", job) for role, job in case.jobs.items()})
        assert found.status == "failed"
        assert COMPRESSION.case_score(found) == 0.0


def test_claimed_elements_that_were_not_answered_are_not_passed_over() -> None:
    found = survey(answered=(29,), card=ModelCard("a model", elements=(29, 47, 79)), refused={47: "refused: no"})
    made = cases(replace(found, lost={79: "the worker died"}))
    statuses = {name: observe_case(COMPRESSION, case, {}).status for name, case in made.items() if not case.jobs}
    assert statuses == {"Ag": "failed", "Au": "error"}


def test_a_model_without_crystals_or_clusters_is_not_asked() -> None:
    (case,) = cases(survey(pbc=("TTF",))).values()
    assert observe_case(COMPRESSION, case, {}).status == "unsupported"


def test_bad_protocols_are_refused() -> None:
    with pytest.raises(AssayError, match="crystals cannot have"):
        Compression(shortest=0.8)
    with pytest.raises(AssayError, match="'5' points"):
        Compression(points=5)


def test_observations_are_finite_json() -> None:
    found = seen(hole, pressure=True)
    json.dumps(plain({"detail": found.detail, "values": found.values}), allow_nan=False)


@pytest.mark.parametrize("name", SOUND)
def test_sound_models_have_no_holes(name: str) -> None:
    report = run(f"assay.sabotage:{name}", benchmarks=["physicality.compression"], workers=0, elements=(29, 79))
    score = report.result.benchmarks[0].score
    assert score is not None
    assert score >= 0.9


@pytest.mark.parametrize("name", Compression.catches)
def test_broken_models_are_caught(name: str) -> None:
    report = run(BROKEN[name].build, benchmarks=["physicality.compression"], workers=0)
    assert is_caught(report.result.benchmarks[0].score)


def test_aluminium_collapses_in_effective_medium_theory() -> None:
    """A real hole: below 1.7 Å the energy of fcc Al in EMT falls by more than 40 eV per atom."""
    report = run("emt", benchmarks=["physicality.compression"], workers=0, elements=(13, 29))
    holes = {o.case: o.values["holes"] for o in report.result.benchmarks[0].observations}
    assert holes == {"Al-fcc": 1.0, "Al-diamond": 1.0, "Cu-fcc": 0.0, "Cu-diamond": 0.0}
