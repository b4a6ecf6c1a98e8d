"""Claims are compared with measurements: elements, periodicity, spacing, precision, noise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from hypothesis import given
from hypothesis import strategies as st

from assay.api import Settings, run, surveyed
from assay.compute.probes.spacing import ABSURD, SIZEABLE
from assay.configurations import TOUCHING, VACUUM, radius, symbol
from assay.errors import AssayError
from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.models.loading import load_model
from assay.sabotage.sound import SoundPotential
from assay.store.codec import plain
from assay.survey import (
    EVERY_SPECIES,
    MIXED_SPECIES,
    SAMPLE,
    Subject,
    Survey,
    repeats_job,
    sample_species,
    subject_labels,
    touching,
)
from toys import Spring, Toy, model_of

Ask = Callable[..., Survey]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Survey a model in this process."""

    def survey(model: object, **settings: object) -> Survey:
        return surveyed(model, tmp_path, Settings(workers=0, **settings))  # type: ignore[arg-type]

    return survey


def symbols(numbers: object) -> list[str]:
    return [symbol(int(z)) for z in numbers]  # type: ignore[attr-defined]


@given(st.sets(st.integers(1, 118)), st.booleans())
def test_the_sample_is_all_of_few_species_and_twelve_of_many(available: set[int], everything: bool) -> None:
    sample = sample_species(sorted(available), everything)
    assert sample == sorted(set(sample))
    assert set(sample) <= available
    assert len(sample) == (len(available) if everything else min(EVERY_SPECIES, len(available)))


def test_the_documented_sample_is_used_for_a_model_of_all_elements() -> None:
    assert symbols(sample_species(range(1, 87), False)) == list(SAMPLE)
    assert len(SAMPLE) == EVERY_SPECIES
    assert sample_species(range(1, 87), True) == list(range(1, 87))


def test_missing_species_of_the_sample_are_replaced_evenly() -> None:
    sample = sample_species(range(57, 90), False)  # the model has only gold of the sample
    assert 79 in sample
    assert (min(sample), max(sample)) == (57, 89)
    assert max(np.diff(sample)) <= 5


def test_results_for_elements_that_are_not_claimed_are_reported(ask: Ask) -> None:
    survey = ask("emt", elements=None)
    assert symbols(survey.species) == ["Al", "Ni", "Cu", "Pd", "Ag", "Pt", "Au"]
    assert set(symbols(survey.answered)) - set(symbols(survey.species)) == {"H", "C", "N", "O"}
    assert survey.remarks == ["gives results for elements that it does not claim: H C N O"]
    assert "He" in survey.refused[2]
    assert survey.stress is True
    assert survey.pbc == ("FFF", *PERIODIC_PATTERNS)


def test_claimed_elements_that_are_refused_are_reported(ask: Ask) -> None:
    survey = ask("assay.sabotage:refuses_claimed_species")
    assert survey.remarks == ["refuses elements that it claims: Ag"]
    assert "'Ag'" in survey.refused[47]
    assert [s.label for s in survey.subjects] == ["Cu", "Au", "CuAu"]  # refused elements cannot be tested further


def test_invalid_results_instead_of_an_error_are_reported(ask: Ask) -> None:
    survey = ask("assay.sabotage:nan_for_one_species")
    assert survey.invalid == {79: "returned the energy nan"}
    assert "gives invalid results instead of an error: Au (returned the energy nan)" in survey.remarks
    assert 79 in survey.species


def test_elements_and_periodicity_are_measured_if_there_is_no_claim(ask: Ask) -> None:
    class Two(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            if not set(atoms.numbers) <= {28, 47}:
                raise ValueError("unknown element")
            return super().answer(atoms)

    survey = ask(Two)
    assert symbols(survey.species) == symbols(survey.answered) == ["Ni", "Ag"]
    assert len(survey.refused) == 116
    assert survey.remarks == []
    assert set(survey.pbc) == {"FFF", *PERIODIC_PATTERNS}


def test_claims_of_the_calculator_count_too(ask: Ask) -> None:
    survey = ask(lambda: SoundPotential(("Pd", "Pt")))
    assert symbols(survey.card.elements) == ["Pd", "Pt"]
    assert survey.remarks == []


def test_elements_from_the_user_are_the_claim(ask: Ask) -> None:
    survey = ask("assay.sabotage:sound", elements=(29,))
    assert survey.species == (29,)
    assert [s.label for s in survey.subjects] == ["Cu"]


def test_all_species_are_used_on_request(ask: Ask) -> None:
    numbers = tuple(range(21, 37))
    assert len(ask("assay.sabotage:sound", elements=numbers).subjects) == EVERY_SPECIES + 1
    assert len(ask("assay.sabotage:sound", elements=numbers, all_species=True).subjects) == len(numbers) + 1


class ClustersOnly(Spring):
    """Refuses periodic systems."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        if atoms.pbc.any():
            raise ValueError("not periodic")
        return super().answer(atoms)


class PeriodicOnly(Spring):
    """Refuses anything that is not periodic in three directions."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        if not atoms.pbc.all():
            raise ValueError("only crystals")
        return super().answer(atoms)


def test_a_model_that_refuses_periodic_systems_is_tested_on_clusters_only(ask: Ask) -> None:
    survey = ask(ClustersOnly, elements=(29,))
    assert survey.pbc == ("FFF",)
    assert survey.periodic_patterns == ()
    assert survey.crystals() == []
    assert [s.pattern for _, s in survey.clusters()] == ["FFF"]


def test_a_model_that_refuses_clusters_is_tested_on_clusters_in_a_box(ask: Ask) -> None:
    survey = ask(PeriodicOnly, elements=(29,))
    assert "FFF" not in survey.pbc
    ((label, body),) = survey.clusters()
    assert (label, body.pattern) == ("Cu", "TTT")
    extent = np.ptp(body.positions, axis=0)
    np.testing.assert_allclose(np.diag(body.cell) - extent, VACUUM)


def test_claimed_periodicity_is_used(ask: Ask) -> None:
    class Claims(Spring):
        claims = {"elements": ("Cu",), "pbc": ("FFF", "TTF")}  # noqa: RUF012

    survey = ask(Claims)
    assert survey.pbc == ("FFF", "TTF")
    assert survey.periodic_patterns == ("TTF",)
    assert [s.pattern for _, s in survey.crystals("TTF")] == ["TTF"]
    assert survey.crystals("TTT") == []


def test_test_structures_have_the_spacing_that_the_model_needs(ask: Ask) -> None:
    survey = ask("lj")
    (subject,) = survey.subjects
    assert subject.largest_force is not None
    assert SIZEABLE <= subject.largest_force <= ABSURD
    engine = load_model("lj").build()
    for _, body in [*survey.clusters(), *survey.crystals()]:
        force = np.abs(engine.get_forces(body.to_atoms())).max()
        assert SIZEABLE <= force <= ABSURD


def test_the_mixture_has_at_most_six_species_from_light_to_heavy(ask: Ask) -> None:
    survey = ask("assay.sabotage:sound", elements=tuple(range(3, 12)))
    mixture = survey.subjects[-1]
    assert mixture.label == "LiBCOFNa"
    assert len(mixture.numbers) == MIXED_SPECIES
    assert [label for label, _ in survey.large_clusters()] == ["Li", "LiBCOFNa"]
    assert [len(body) for _, body in survey.large_clusters()] == [12, 12]


def test_single_precision_is_found(ask: Ask) -> None:
    survey = ask("assay.sabotage:single_precision")
    assert survey.precision == "float32"
    assert ask("assay.sabotage:sound_batch").precision == "float64"


def test_the_noise_floor_is_measured(ask: Ask) -> None:
    noisy, quiet = ask("assay.sabotage:noise"), ask("assay.sabotage:sound_batch")
    assert 5e-5 < noisy.noise_energy < 1e-3
    assert 1e-4 < noisy.noise_force < 1e-3
    assert (quiet.noise_energy, quiet.noise_force) == (0.0, 0.0)


def test_the_noise_floor_is_measured_only_if_a_benchmark_needs_it(tmp_path: Path) -> None:
    def noise(*benchmarks: str) -> object:
        report = run(SoundPotential(), benchmarks=benchmarks, output=tmp_path, workers=0, elements=(29,))
        return report.result.description["survey"]["noise_energy_eV"]

    assert noise("physicality.diatomics") is None
    assert noise("physicality.diatomics", "verification.net_force_zero") == 0.0
    assert noise("physicality.diatomics") == 0.0, "a noise floor in the store is used"


def test_the_job_for_the_noise_floor_has_names_for_its_structures(ask: Ask) -> None:
    survey = ask("assay.sabotage:sound_batch")
    job = repeats_job(survey)
    assert job is not None
    assert subject_labels(survey) == ["Cu", "Au", "CuAu", "Cu-TTT", "Au-TTT", "CuAu-TTT"]
    assert [s.pattern for s in job.structures] == ["FFF"] * 3 + ["TTT"] * 3
    assert repeats_job(Survey(ModelCard("empty"))) is None


def test_a_survey_runs_no_job_twice(tmp_path: Path) -> None:
    calls = []

    class Counts(SoundPotential):
        claims = ("Cu",)

        def calculate(self, *arguments: object) -> None:
            calls.append(1)
            super().calculate(*arguments)

    model = model_of(Counts, card=ModelCard("counts", elements=(29,)))
    first = surveyed(model, tmp_path, Settings(workers=0))
    assert len(calls) > 100
    calls.clear()
    again = surveyed(model, tmp_path, Settings(workers=0))
    assert calls == []
    assert again.describe() == first.describe()


@pytest.mark.parametrize(
    ("build", "words"),
    [(lambda path: Toy(), "cannot be built: TypeError"), (lambda: "text", "not an ASE calculator")],
)
def test_a_model_that_cannot_be_built_is_one_sentence(ask: Ask, build: Callable[..., object], words: str) -> None:
    with pytest.raises(AssayError, match=words) as error:
        ask(build)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("model '<lambda>'")


def test_a_model_that_refuses_everything_has_no_test_structures(ask: Ask) -> None:
    survey = ask("assay.sabotage:raises")
    assert survey.answered == ()
    assert len(survey.refused) == 118
    assert survey.subjects == ()
    assert survey.remarks == ["refuses elements that it claims: Cu Au"]


def test_the_description_is_plain_data(ask: Ask) -> None:
    described = ask("assay.sabotage:nan_for_one_species").describe()
    assert json.loads(json.dumps(plain(described), allow_nan=False)) == described
    assert described["answered"] == ["Cu"]
    assert described["invalid"] == {"Au": "returned the energy nan"}
    assert described["checked"] == ["Cu"]


def test_lost_elements_are_reported() -> None:
    survey = Survey(ModelCard("m", elements=(1, 6)), lost={6: "no answer within 30 s"}, answered=(1,))
    assert survey.remarks == ["the worker was lost for elements: C (no answer within 30 s)"]


def test_two_species_touch_at_the_sum_of_their_scaled_radii() -> None:
    subjects = (Subject("H", (1,), 2.0, None), Subject("Cu", (29,), None, None), Subject("HCu", (1, 29), 9.0, None))
    survey = Survey(ModelCard("m"), subjects=subjects)
    assert touching(1, 29, survey) == pytest.approx(TOUCHING * (2.0 * radius(1) + radius(29)))
    assert touching(1, 1, survey) == pytest.approx(TOUCHING * 4.0 * radius(1))
    assert touching(8, 8, survey) == pytest.approx(TOUCHING * 2.0 * radius(8))
