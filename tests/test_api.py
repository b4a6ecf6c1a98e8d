"""`assay.check` and `assay.run` in a script or notebook give the same verdicts as the command line."""

from __future__ import annotations

import inspect
import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

from assay import api
from assay.api import Report, Settings, check, dry_run, run
from assay.data.source import DataSource
from assay.errors import AssayError
from assay.model import ModelCard
from assay.report.document import score_document
from assay.results import read_results
from assay.sabotage import SoundBatch
from assay.sabotage.sound import SoundPotential, Values
from assay.store import Store
from assay.structure import Structure
from assay.suites import load_suite
from run_cases import springs

COPPER = (29,)
FEW = ("rotation_invariance", "periodicity_support", "forces_match_energy")


class Copper(SoundPotential):
    """The sound potential for copper, at the top of a test file, where a new process cannot import it."""

    claims = ("Cu",)


class Upside(Copper):
    """Forces point the wrong way."""

    def evaluate(self, atoms: Atoms) -> Values:
        """Energy and minus the forces."""
        values = super().evaluate(atoms)
        return values._replace(forces=-values.forces)


def build_copper() -> Calculator:
    """A factory at the top of a file."""
    return Copper()


build_copper.claims = ("Cu",)  # type: ignore[attr-defined]


def verdicts(report: Report) -> dict[str, tuple[object, ...]]:
    """What must not depend on how the model was given."""
    keys = ("status", "passed", "mandatory", "grade", "evaluated", "refused")
    return {name: tuple(row[key] for key in keys) for name, row in report.checks.items()}


def verify(model: object, **settings: object) -> Report:
    """A few checks; with two workers where nothing else is said."""
    return run(model, benchmarks=FEW, **{"workers": 2, **settings})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def expected() -> dict[str, tuple[object, ...]]:
    """The verdicts for the sound potential on copper, computed in this process."""
    return verdicts(verify(Copper(), workers=0))


def test_the_verbs_stay_what_they_are_however_often_they_are_used() -> None:
    """In a process of its own, since what `assay.run` is may depend on what was imported before."""
    code = """
import assay
for _ in range(2):
    assert assay.run("assay.sabotage:sound_batch", benchmarks=["inversion_symmetry"], workers=0).passed
assert callable(assay.check)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _local() -> list[object]:
    class Local(Copper):
        """A class that exists only inside of a function."""

    secret = Local.__name__  # makes the factory below a closure

    def build() -> Calculator:
        assert secret == "Local"
        return Local()

    return [Local(), Local, build, lambda: Local()]


MODELS: list[tuple[str, Callable[[], object]]] = [
    ("instance", Copper),
    ("class", lambda: Copper),
    ("factory", lambda: build_copper),
    ("partial", lambda: partial(SoundPotential, ("Cu",))),
    ("instance of a local class", lambda: _local()[0]),
    ("local class", lambda: _local()[1]),
    ("closure", lambda: _local()[2]),
    ("lambda", lambda: _local()[3]),
]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(("name", "model"), MODELS, ids=[name for name, _ in MODELS])
def test_every_way_to_give_a_model(name: str, model: Callable[[], object], workers: int, expected: dict) -> None:
    report = verify(model(), workers=workers, elements=COPPER)
    assert report.passed
    assert verdicts(report) == expected, name


def test_a_registered_name_and_its_calculator_agree() -> None:
    named = verify("emt", elements=COPPER)
    given = verify(EMT(), elements=COPPER)
    assert verdicts(named) == verdicts(given)
    assert named.passed


def test_the_same_verdicts_as_on_the_command_line(tmp_path: Path) -> None:
    options = [part for name in FEW for part in ("-b", name)]
    done = subprocess.run(
        [sys.executable, "-m", "assay", "check", "assay.sabotage:zero_force", *options, "--json"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    report = verify("assay.sabotage:zero_force", workers=0)
    assert (report.exit_code, done.returncode) == (1, 1)
    assert list(report.checks.values()) == json.loads(done.stdout)["checks"]


def test_a_broken_calculator_fails_in_workers_and_in_this_process() -> None:
    for workers in (0, 2):
        report = verify(Upside(), workers=workers)
        assert not report.passed
        assert report.exit_code == 1
        assert report.checks["forces_match_energy"]["status"] == "failed"
        assert report.checks["rotation_invariance"]["status"] == "ok"


@pytest.mark.parametrize("what", ["a lock", "an open file", "a generator"])
def test_a_calculator_that_cannot_be_pickled_is_checked_in_this_process(
    tmp_path: Path, expected: dict, what: str
) -> None:
    with (tmp_path / "log").open("w") as file:
        calculator = Copper()
        calculator.held = {"a lock": threading.Lock(), "an open file": file, "a generator": (x for x in "abc")}[what]
        report = verify(calculator)
    assert verdicts(report) == expected


def test_a_calculator_that_cannot_be_copied_is_not_asked_from_threads() -> None:
    calculator = Copper()
    calculator.lock = threading.Lock()
    report = run(calculator, benchmarks=["deterministic", "thread_safe"])
    assert report.checks["deterministic"]["passed"] is True
    assert report.checks["thread_safe"]["status"] == "unsupported"
    assert "cannot be copied" in report.checks["thread_safe"]["comment"]


class PublicMethodsOnly:
    """Has the methods that ASE's atoms call, and nothing else: no `calculate`, no `results`."""

    claims = ("Cu",)

    def __init__(self) -> None:
        self.inner = EMT()

    def get_potential_energy(self, atoms: Atoms, force_consistent: bool = False) -> float:
        """The energy, in eV."""
        return float(self.inner.get_potential_energy(atoms))

    def get_forces(self, atoms: Atoms) -> np.ndarray:
        """The forces, in eV/Å."""
        return np.array(self.inner.get_forces(atoms))


def test_a_calculator_without_ases_base_class_is_checked_too() -> None:
    report = verify(PublicMethodsOnly())
    assert report.passed
    assert all(row["evaluated"] > 0 for row in report.checks.values())


class ForcesTooLarge(EMT):
    """Changes what the public method returns, which is what users see, and not `calculate`."""

    claims = ("Cu",)

    def get_forces(self, atoms: Atoms | None = None) -> np.ndarray:
        """Forces that are 1 % too large."""
        return 1.01 * np.array(super().get_forces(atoms))


class EnergyTooLarge(EMT):
    """Changes what `get_property` returns, through which all public methods go."""

    claims = ("Cu",)

    def get_property(self, name: str, atoms: Atoms | None = None, allow_calculation: bool = True) -> object:
        """An energy that is 1 % too large."""
        value = super().get_property(name, atoms, allow_calculation)
        return 1.01 * value if name == "energy" else value


@pytest.mark.parametrize("kind", [ForcesTooLarge, EnergyTooLarge])
def test_what_is_checked_is_what_users_get(kind: type[Calculator]) -> None:
    report = run(kind(), benchmarks=["forces_match_energy", "deterministic", "thread_safe"], workers=0)
    statuses = {name: row["status"] for name, row in report.checks.items()}
    assert statuses == {"forces_match_energy": "failed", "deterministic": "ok", "thread_safe": "ok"}


def test_elements_are_symbols_in_python_too(tmp_path: Path) -> None:
    report = run("emt", benchmarks=["net_force_zero"], output=tmp_path, elements=["Au", "Cu"], workers=0)
    assert report.result.description["elements"][:2] == ["Al", "Ni"]
    assert report.result.description["survey"]["checked"] == ["Cu", "Au", "CuAu"]
    assert api.surveyed("emt", tmp_path, Settings(elements=("Cu",), workers=0)).symbols == ("Cu",)  # type: ignore[arg-type]
    assert ModelCard("mine", elements=("Cu", "Au")).symbols == ("Cu", "Au")  # type: ignore[arg-type]
    with pytest.raises(AssayError, match=r"unknown element 'Cux' \(did you mean 'Cu'\?\)"):
        run("emt", elements=["Cux"])


def test_a_model_without_claims_is_held_to_what_it_answers() -> None:
    calculator = LennardJones(sigma=2.3, epsilon=0.4, rc=6.0, ro=4.0, smooth=True)
    report = run(calculator, benchmarks=["net_force_zero"], workers=0)
    survey = report.result.description["survey"]
    assert len(survey["answered"]) == 118
    assert {"H", "C", "O", "Cu", "Au"} <= set(survey["checked"])
    assert report.checks["net_force_zero"]["evaluated"] == 2 * len(survey["checked"])


def test_reports_print_and_are_plain_data(tmp_path: Path) -> None:
    report = check(SoundBatch(), output=tmp_path / "results", workers=0)
    assert report.folder is not None
    assert report.folder.is_relative_to(tmp_path)
    assert report.passed
    assert report.score is None, "checks are part of no mean"
    assert str(report) == repr(report)
    assert "SoundBatch passes all 8 mandatory checks" in str(report)
    page = report._repr_html_()
    assert page.count("<tr>") == 1 + len(report.checks)
    for name, row in report.checks.items():
        assert name in str(report)
        assert f"<td>{name}" in page
        assert row["name"] == f"verification.{name}"
    data = json.loads(report.to_json())
    assert data == json.loads(json.dumps(report.data, allow_nan=False))
    assert data["models"][0]["name"] == "SoundBatch"


def test_names_are_escaped_in_a_notebook() -> None:
    class Odd(Copper):
        """A model whose name is HTML and markup of the table."""

    Odd.__name__ = "<b>[red]odd[/red]</b>"
    report = run(Odd(), benchmarks=["inversion_symmetry"], workers=0)
    assert "<b>" not in report._repr_html_()
    assert "<b>[red]odd[/red]</b> passes" in str(report)


def test_a_report_without_folder_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    report = run(Copper(), benchmarks=["inversion_symmetry"], workers=0)
    assert report.folder is None
    assert list(tmp_path.iterdir()) == []


SCRIPT = """
import sys
from assay.api import run
from assay.sabotage.sound import SoundPotential

class Mine(SoundPotential):
    claims = ("Cu",)
    def evaluate(self, atoms):
        print("evaluated")
        return super().evaluate(atoms)

model = {"instance": Mine(), "class": Mine, "factory": lambda: Mine(("Cu",))}[sys.argv[1]]
assert run(model, benchmarks=["inversion_symmetry"], output="results", workers=0, elements=(29,)).passed
"""


@pytest.mark.parametrize("kind", ["instance", "class", "factory"])
def test_a_script_that_is_started_again_computes_nothing_again(tmp_path: Path, kind: str) -> None:
    """A model of the user's may read files, and is asked again for a few structures to see that it is the same."""
    (tmp_path / "script.py").write_text(SCRIPT)
    first, second = (
        subprocess.run([sys.executable, "script.py", kind], cwd=tmp_path, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert first.stdout.count("evaluated") > 100
    assert 0 < second.stdout.count("evaluated") <= 4, "the atom, a dimer, a cluster and a crystal"


@pytest.mark.parametrize(
    ("model", "settings", "phrase"),
    [
        ("emt", {"suite": "smok"}, "did you mean 'smoke'?"),
        ("emt", {"seeds": 0}, "the setting 'seeds' cannot be '0'; give a whole number of at least 1"),
        ("emt", {"seeds": True}, "the setting 'seeds' cannot be 'True'"),
        ("emt", {"seeds": 1.5}, "the setting 'seeds' cannot be '1.5'"),
        ("emt", {"seeds": "two"}, "the setting 'seeds' cannot be 'two'"),
        ("emt", {"until_error": -0.1}, "the setting 'until_error' cannot be '-0.1'; give a number of Å above 0"),
        ("emt", {"until_error": math.nan}, "the setting 'until_error' cannot be 'nan'"),
        ("emt", {"until_error": "0.1"}, "give a number of Å above 0"),
        ("emt", {"seeds": 2, "benchmarks": ["verification"]}, "no chosen benchmark has the setting 'seeds'"),
        ("emt", {"until_error": 0.1, "suite": "paper"}, "'until_error' is off in suite 'paper'"),
        ("emt", {"benchmarks": ["rotation_invarance"]}, "did you mean 'verification.rotation_invariance'?"),
        ("emtt", {}, "did you mean 'emt'?"),
        (5, {}, "a int is neither a model name"),
        (None, {}, "a NoneType is neither a model name"),
        (lambda: "text", {"workers": 0}, "gives a str, not an ASE calculator"),
        (lambda: 1 / 0, {"workers": 0}, "cannot be built: ZeroDivisionError"),
        (lambda: 1 / 0, {"workers": 1}, "cannot be built: ZeroDivisionError"),
    ],
)
def test_wrong_use_is_one_sentence(model: object, settings: dict, phrase: str, tmp_path: Path) -> None:
    for output in (None, tmp_path):
        with pytest.raises(AssayError) as caught:
            run(model, output=output, **settings)
        assert phrase in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("verb", [check, run])
def test_an_unknown_setting_is_a_type_error_before_anything_runs(verb: Callable[..., Report]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'worker'"):
        verb("emt", worker=2)


@pytest.mark.parametrize("verb", [check, run])
def test_every_setting_of_a_verb_is_a_named_parameter_with_the_default_of_the_settings(verb: Callable) -> None:
    parameters = inspect.signature(verb).parameters
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    settings = {item.name: item.default for item in fields(Settings) if item.name in parameters}
    assert {name: parameters[name].default for name in settings} == settings
    left_out = {item.name for item in fields(Settings)} - set(parameters)
    assert left_out == ({"data", "seeds", "until_error"} if verb is check else set()), "checks have no such settings"


def test_settings_reach_the_run_as_they_were_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[Settings] = []

    def stop(model: object, suite: str, benchmarks: object, output: object, settings: Settings) -> None:
        given.append(settings)

    monkeypatch.setattr(api, "run_suite", stop)
    seen = list[str]()
    shared = {"workers": 3, "timeout": 7.0, "limit": 2, "all_species": True, "device": "cpu"}

    def progress(done: int, total: int, what: str) -> None:
        seen.append(what)

    check("emt", elements=[29, 79], progress=progress, **shared)  # type: ignore[arg-type]
    run("emt", data=tmp_path, seeds=2, until_error=0.5, **shared)  # type: ignore[arg-type]
    run("emt", data=["one", tmp_path])
    run("emt", data="one")
    assert given == [
        Settings(elements=(29, 79), progress=progress, **shared),  # type: ignore[arg-type]
        Settings(data=(str(tmp_path),), seeds=2, until_error=0.5, **shared),  # type: ignore[arg-type]
        Settings(data=("one", str(tmp_path))),
        Settings(data=("one",)),
    ]


class Answers(Calculator):
    """Returns whatever it was given, for every structure."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012
    claims = ("Cu",)

    def __init__(self, energy: object, forces: object) -> None:
        super().__init__()
        self.answer = {"energy": energy, "forces": forces}

    def calculate(
        self, atoms: Atoms | None = None, properties: object = None, system_changes: object = all_changes
    ) -> None:
        """Write the answer down."""
        self.results = {name: value for name, value in self.answer.items() if value is not None}


@pytest.mark.parametrize(
    ("energy", "forces"),
    [
        (None, np.zeros((2, 3))),
        (0.0, None),
        ("low", np.zeros((2, 3))),
        (1.0 + 2.0j, np.zeros((2, 3))),
        (np.zeros(5), np.zeros((2, 3))),
        (math.inf, np.zeros((2, 3))),
        (0.0, [[1.0, 2.0], [3.0]]),
        (0.0, "strong"),
        (0.0, np.zeros(1)),
        (0.0, np.full((2, 3), math.nan)),
    ],
    ids=[
        "no energy", "no forces", "text as energy", "complex energy", "many energies", "infinite energy",
        "ragged forces", "text as forces", "one force", "forces that are NaN",
    ],
)  # fmt: skip
def test_answers_of_the_wrong_kind_are_the_models_failure(energy: object, forces: object) -> None:
    report = run(Answers(energy, forces), benchmarks=["species_supported"], workers=0)
    row = report.checks["species_supported"]
    assert row["status"] == "failed"
    assert row["evaluated"] == 1
    assert "returned" in row["comment"]
    assert report.exit_code == 1
    json.dumps(report.data, allow_nan=False)


def test_an_energy_of_one_element_arrays_is_a_number() -> None:
    class Arrays(Copper):
        """Gives energies as arrays of one number, and forces as lists, as some models do."""

        def evaluate(self, atoms: Atoms) -> Values:
            """Energy and forces."""
            values = super().evaluate(atoms)
            return values._replace(energy=np.array([values.energy]), forces=values.forces.tolist())

    assert verify(Arrays(), workers=0).passed


def test_more_seeds_are_more_runs_of_every_simulation(tmp_path: Path) -> None:
    once, thrice = (
        dry_run("assay.sabotage:sound", "smoke", ("general",), tmp_path, Settings(workers=0, seeds=seeds)).costs
        for seeds in (None, 3)
    )
    ladder = "general.inference_scaling"  # has no seeds, and is asked as before
    assert once.pop(ladder).force_calls == thrice.pop(ladder).force_calls
    for name, cost in once.items():
        assert thrice[name].cases == cost.cases
        assert (thrice[name].jobs, thrice[name].force_calls) == (3 * cost.jobs, 3 * cost.force_calls)
        assert thrice[name].seconds > cost.seconds


RINGS = [record.structures[0] for record in DataSource().read("rings")[0].records]


class Springs(Calculator):
    """Distances in ring molecules are held by springs of 9 eV/Å²; other structures get numbers without a meaning."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012
    claims = {"elements": ("H", "C", "N", "O"), "pbc": ("FFF",)}  # noqa: RUF012

    def calculate(self, atoms: Atoms, properties: object = None, system_changes: object = all_changes) -> None:
        """Energy and forces of the springs."""
        self.results = {"energy": float(atoms.positions.sum()), "forces": np.ones((len(atoms), 3))}
        rest = next((ring for ring in RINGS if np.array_equal(ring.numbers, atoms.numbers)), None)
        if rest is not None:
            energy, forces = springs(rest.positions, 9.0)(Structure.build(atoms.numbers, atoms.positions))
            self.results = {"energy": energy, "forces": forces}


SUITE = """name = 'mine'
benchmarks = ['ring_planarity']
[settings.'molecules.ring_planarity']
steps = 1500
interval = 3
records = 1
drop_start = false
"""


def test_runs_with_other_settings_are_read_back_as_they_were_made(tmp_path: Path) -> None:
    """Whatever suite is asked for later: number of seeds, length and interval of a run belong to its outcomes."""
    (tmp_path / "suite.toml").write_text(SUITE)
    errors = []
    for settings in ({}, {"seeds": 3}, {"until_error": 0.2}, {}):
        report = run(Springs(), str(tmp_path / "suite.toml"), output=tmp_path / "results", workers=0, **settings)
        assert report.folder is not None
        (benchmark,) = report.result.benchmarks
        assert [o.status for o in benchmark.observations] == ["ok"], benchmark.observations[0].reason
        for suite in ("smoke", "laptop", "paper"):
            again = replace(read_results(Store(report.folder), load_suite(suite)), not_run=())
            assert score_document([again], "mine") == report.data
        errors.append({metric.name: metric.stderr for metric in benchmark.metrics}["fluctuation"])
    alone, thrice, short, alone_again = errors
    assert thrice < alone < short
    assert alone_again == alone, "what was computed before is found again"


def test_a_run_that_knows_enough_is_shorter(tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(SUITE)
    frames = []
    for settings in ({}, {"until_error": 0.2}, {"until_error": 1e-9}):
        output = tmp_path / str(settings)
        report = run(Springs(), str(tmp_path / "suite.toml"), output=output, workers=0, **settings)
        assert report.folder is not None
        known = [outcome.values for outcome in Store(report.folder).outcomes().values()]
        frames += [(v["frames"], v["sure_enough"]) for v in known if "trajectory" in v]
    assert frames[0] == frames[2] == (501, False)
    assert frames[1][0] < 250
    assert frames[1][1] is True
