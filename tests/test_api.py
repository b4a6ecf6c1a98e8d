"""`assay.check` and `assay.run` in a script or notebook give the same verdicts as the command line."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

from assay.api import Report, check, run
from assay.errors import AssayError
from assay.sabotage import SoundBatch
from assay.sound import SoundPotential, Values

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
    assert report.score == pytest.approx(1.0)
    assert str(report) == repr(report)
    assert "SoundBatch passes all mandatory checks." in str(report)
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
from assay.sound import SoundPotential

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
    (tmp_path / "script.py").write_text(SCRIPT)
    first, second = (
        subprocess.run([sys.executable, "script.py", kind], cwd=tmp_path, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert first.stdout.count("evaluated") > 100
    assert second.stdout.count("evaluated") == 0


@pytest.mark.parametrize(
    ("model", "settings", "phrase"),
    [
        ("emt", {"worker": 2}, "there is no setting 'worker'"),
        ("emt", {"suite": "smok"}, "did you mean 'smoke'?"),
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
