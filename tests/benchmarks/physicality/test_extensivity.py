"""Extensivity: slabs that fit their cell, vacuum that is vacuum, and sums that are exact, broken or meaningless."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from ase.neighborlist import neighbor_list

from assay.api import run
from assay.benchmark import Case, MetricValue, Observation, Scope, observe_case, planned_cases
from assay.benchmarks.physicality.extensivity import Extensivity
from assay.errors import AssayError
from assay.jobs import SinglePoints
from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.sabotage import BROKEN, SOUND, is_caught
from assay.structure import Structure
from assay.survey import Subject, Survey
from toys import Says, Toy, engine_of

ALL = ("FFF", *PERIODIC_PATTERNS)


def survey(elements: tuple[int, ...] = (13, 29, 47, 79), factor: float = 1.0, **changes: object) -> Survey:
    """A model of the elements as a survey would find it."""
    mixed = (Subject("mix", elements, factor, factor),) if len(elements) > 1 else ()
    given: dict = {
        "card": ModelCard("a model", elements=elements),
        "answered": elements,
        "pbc": ALL,
        "subjects": (*(Subject(str(z), (z,), factor, factor) for z in elements), *mixed),
        **changes,
    }
    return Survey(**given)


def cases(found: Survey, benchmark: Extensivity | None = None) -> dict[str, Case]:
    return {case.id: case for case in planned_cases((benchmark or Extensivity()), Scope(found))}


def structures(case: Case) -> tuple[Structure, ...]:
    job = case.jobs["points"]
    assert isinstance(job, SinglePoints)
    return job.structures


def observe(build: Callable[[], object], found: Survey) -> dict[str, Observation]:
    """Every case answered by a calculator."""
    engine = engine_of(build)
    return {
        name: observe_case(Extensivity(), case, {role: engine.run("k", job) for role, job in case.jobs.items()})
        for name, case in cases(found).items()
    }


def measured(seen: dict[str, Observation]) -> dict[str, MetricValue]:
    return {value.name: value for value in Extensivity().measure(list(seen.values()))}


class Bonds(Toy):
    """Each bond below 3.5 Å adds (r − 2.5 Å)² − 1 in eV."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        i, r, vector = neighbor_list("idD", atoms, 3.5)
        forces = np.zeros((len(atoms), 3))
        np.add.at(forces, i, (2.0 * (r - 2.5) / r)[:, None] * vector)
        return {"energy": 0.5 * float(((r - 2.5) ** 2 - 1.0).sum()), "forces": forces}


class NoForces(Bonds):
    """Right energies, no forces."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        return {**super().answer(atoms), "forces": np.zeros((len(atoms), 3))}


def test_metals_with_the_least_misfit_are_paired() -> None:
    assert list(cases(survey())) == ["Ag-Au-100", "Al-Au-100", "Al-Ag-100", "copies"]


def test_a_single_pair_stands_at_three_distances() -> None:
    assert list(cases(survey((29, 79)))) == ["Cu-Au-100", "Cu-Au-120", "Cu-Au-150", "copies"]


@pytest.mark.parametrize("elements", [(47, 79), (29, 79), (13, 28), (18,)])
def test_every_atom_of_a_slab_has_its_neighbours_across_the_cell(elements: tuple[int, ...]) -> None:
    """Twelve inside, nine at the two surfaces: both slabs are whole crystals in the cell, with no seam."""
    for case in list(cases(survey(elements)).values())[:1]:
        for slab in structures(case)[:2]:
            bond = np.linalg.norm(slab.cell[0]) / 3
            counts = np.bincount(neighbor_list("i", slab.to_atoms(), 1.2 * bond), minlength=36)
            assert len(slab) == 36
            assert sorted(counts.tolist()) == [9] * 18 + [12] * 18


@pytest.mark.parametrize(("elements", "case"), [((47, 79), "Ag-Au-100"), ((29, 79), "Cu-Au-150")])
def test_vacuum_is_as_thick_as_it_says_on_both_sides(elements: tuple[int, ...], case: str) -> None:
    first, second, both = structures(cases(survey(elements))[case])
    gap, height = float(case.rpartition("-")[2]), both.cell[2, 2]
    low, high = (np.ptp(s.positions[:, 2]) for s in (first, second))
    between = second.positions[:, 2].min() - first.positions[:, 2].max()
    across = height + first.positions[:, 2].min() - second.positions[:, 2].max()
    assert between == pytest.approx(gap)
    assert across == pytest.approx(gap)
    assert height == pytest.approx(low + high + 2 * gap)
    assert between + low + across + high == pytest.approx(height)


def test_parts_are_alone_in_the_places_and_in_the_cell_of_the_whole() -> None:
    first, second, both = structures(cases(survey())["Ag-Au-100"])
    np.testing.assert_array_equal(both.positions, np.concatenate([first.positions, second.positions]))
    np.testing.assert_array_equal(both.numbers, [47] * 36 + [79] * 36)
    for part in (first, second):
        np.testing.assert_array_equal(part.cell, both.cell)
        assert part.pattern == both.pattern == "TTT"


def test_slabs_have_the_lattice_of_the_metal_or_the_length_scale_of_the_model() -> None:
    silver = structures(cases(survey())["Ag-Au-100"])[0]
    assert silver.cell[0, 0] == pytest.approx(3 * 4.09 / 2**0.5)
    toy = structures(cases(survey((47, 79), factor=2.0))["Ag-Au-100"])[0]
    assert toy.cell[0, 0] == pytest.approx(3 * 2.0 * 1.12 * 2 * 1.45)


@pytest.mark.parametrize(
    ("elements", "first"), [((1, 8), "H-O-100"), ((14,), "Si-Si-100"), ((29,), "Cu-Cu-100"), ((7, 8, 29), "N-O-100")]
)
def test_models_without_two_metals_get_slabs_of_what_they_have(elements: tuple[int, ...], first: str) -> None:
    made = cases(survey(elements))
    assert next(iter(made)) == first
    assert "instead of two metals" in made[first].context["said"]


def test_models_of_clusters_get_molecules_far_apart() -> None:
    made = cases(survey((1, 6, 8), pbc=("FFF",)))
    names = [f"acetone-stretched-acetone-{gap}" for gap in (100, 120, 150)]
    assert list(made) == [*names, "copies"]
    for name, gap in zip(names, (100.0, 120.0, 150.0), strict=True):
        first, second, both = structures(made[name])
        assert both.pattern == "FFF"
        distances = np.linalg.norm(first.positions[:, None] - second.positions[None], axis=2)
        assert gap <= distances.min() < gap + 1.0
    metals = cases(survey((29, 79), pbc=("FFF",)))
    assert list(metals) == ["mix-29-100", "mix-29-120", "mix-29-150", "copies"]


@pytest.mark.parametrize(("pbc", "pattern"), [(ALL, "FFF"), (PERIODIC_PATTERNS, "TTT")])
def test_copies_are_eight_and_nowhere_nearer_than_the_gap(pbc: tuple[str, ...], pattern: str) -> None:
    one, many = structures(cases(survey(pbc=pbc))["copies"])
    assert len(many) == 8 * len(one)
    assert one.pattern == many.pattern == pattern
    atoms = many.to_atoms()
    owner = np.repeat(np.arange(8), len(one))
    distances = atoms.get_all_distances(mic=pattern == "TTT")
    assert distances[owner[:, None] != owner[None]].min() >= 100.0
    if pattern == "TTT":
        scaled = many.positions @ np.linalg.inv(many.cell)
        assert scaled.min() > 0.0
        assert scaled.max() < 1.0


def test_energies_of_bonds_add_up() -> None:
    seen = observe(Bonds, survey())
    assert {o.status for o in seen.values()} == {"ok"}
    assert measured(seen)["energy_difference"].value == pytest.approx(0.0, abs=1e-9)
    assert [Extensivity().case_score(o) for o in seen.values()] == [1.0] * 4


def test_what_is_added_per_pair_of_atoms_is_measured_in_all_and_per_atom() -> None:
    class Crowded(Bonds):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            found = super().answer(atoms)
            return {**found, "energy": found["energy"] + 1e-5 * len(atoms) ** 2}

    seen, copied = observe(Crowded, survey()), 1e-5 * (48**2 - 8 * 6**2)
    found = measured(seen)
    expected = 1e3 * 1e-5 * (72**2 - 2 * 36**2)
    assert found["energy_difference"].value == pytest.approx(expected)
    assert found["energy_difference_per_atom"].value == pytest.approx(expected / 72)
    assert found["energy_difference"].stderr == pytest.approx(0.0, abs=1e-9)
    assert found["copies_energy_difference"].value == pytest.approx(1e3 * copied)
    assert found["energy_difference"].coverage == (3, 3)
    assert found["copies_energy_difference"].coverage == (1, 1)
    assert found["energy_difference"].score == pytest.approx(0.0, abs=1e-6)


def test_a_model_that_divides_by_the_number_of_atoms_fails_even_for_equal_parts() -> None:
    class PerAtom(Bonds):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            found = super().answer(atoms)
            return {**found, "energy": found["energy"] / len(atoms)}

    seen = observe(PerAtom, survey((29,)))
    assert [Extensivity().case_score(o) for o in seen.values()] == [pytest.approx(0.0, abs=1e-6)] * 4


@pytest.mark.parametrize(
    ("build", "word"),
    [
        (Toy, "does not change"),
        (NoForces, "no forces"),
        (lambda: Says(energy=-3.0, forces=[]), "returned forces of shape"),
        (lambda: Says(energy=float("nan"), forces=[]), "returned the energy nan"),
        (BROKEN["raises"].build, "refused"),
    ],
)
def test_models_that_say_nothing_fail_every_case(build: Callable[[], object], word: str) -> None:
    seen = observe(build, survey())
    assert {o.status for o in seen.values()} == {"failed"}
    assert all(word in o.reason for o in seen.values())
    assert [Extensivity().case_score(o) for o in seen.values()] == [0.0] * 4


def test_a_sum_over_atoms_that_do_not_interact_is_no_sum_of_bodies() -> None:
    class Gas(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            return {"energy": -3.0 * len(atoms), "forces": np.zeros((len(atoms), 3))}

    assert {o.status for o in observe(Gas, survey()).values()} == {"failed"}


def test_one_pair_that_is_refused_fails_and_the_others_count() -> None:
    class NoSilver(Bonds):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            if set(atoms.symbols) == {"Ag"}:
                raise ValueError("no silver slabs")
            return super().answer(atoms)

    seen = observe(NoSilver, survey())
    assert {name: o.status for name, o in seen.items()} == {
        "Ag-Au-100": "failed", "Al-Au-100": "ok", "Al-Ag-100": "failed", "copies": "ok",
    }  # fmt: skip
    assert measured(seen)["energy_difference"].score == pytest.approx(1 / 3)
    assert measured(seen)["copies_energy_difference"].score == 1.0


def test_rounding_to_single_precision_does_not_fail_but_in_double_precision_it_would() -> None:
    class Rounded(Bonds):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            found = super().answer(atoms)
            return {**found, "energy": float(np.float32(found["energy"] - 7.123 * (atoms.numbers**2).sum()))}

    single, double = observe(Rounded, survey(precision="float32")), observe(Rounded, survey())
    assert max(o.values.get("energy_difference", 0.0) for o in double.values()) > 2.0
    assert [Extensivity().case_score(o) for o in single.values()] == [1.0] * 4


def test_noise_excuses_ten_times_the_threshold_at_most() -> None:
    assert observe(Bonds, survey(noise_energy=2e-4))["copies"].detail["limit"] == pytest.approx(2.0)
    assert observe(Bonds, survey(noise_energy=1.0))["copies"].detail["limit"] == pytest.approx(10.0)


def test_bad_protocols_are_refused() -> None:
    with pytest.raises(AssayError, match="gaps"):
        replace(Extensivity(), gaps=(0.0,))
    with pytest.raises(AssayError, match="layers"):
        replace(Extensivity(), layers=0)


def test_a_model_that_answered_nothing_fails() -> None:
    (case,) = cases(survey(answered=(), subjects=())).values()
    assert observe_case(Extensivity(), case, {}).status == "failed"


@pytest.mark.parametrize("name", SOUND)
def test_sound_models_are_extensive(name: str) -> None:
    score = run(f"assay.sabotage:{name}", benchmarks=["physicality.extensivity"], workers=0).result.benchmarks[0].score
    assert score is not None
    assert score >= 0.9


@pytest.mark.parametrize("name", Extensivity.catches)
def test_broken_models_are_caught(name: str) -> None:
    report = run(BROKEN[name].build, benchmarks=["physicality.extensivity"], workers=0)
    assert is_caught(report.result.benchmarks[0].score)
