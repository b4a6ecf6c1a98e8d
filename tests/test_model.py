"""Every way to name a model leads to its calculator, and every wrong way to one sentence that helps."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones

from assay.api import run
from assay.compute.probes.contact import require_calculator
from assay.errors import AssayError
from assay.model import Model, ModelCard, ModelReference, claims_card
from assay.models.loading import load_model
from assay.models.registry import Registered
from toys import Says, Spring

GOOD = """
from ase.calculators.emt import EMT

def build():
    return EMT()

build.claims = ("Cu", "Au")
class Potential(EMT):
    pass
def needs(path):
    return EMT()
def gives_text():
    return "no calculator"
NUMBER = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "potential.py"
    path.write_text(GOOD)
    return path


def message(source: object) -> str:
    """The one sentence with which a model is refused."""
    with pytest.raises(AssayError) as error:
        load_model(source)
    text = str(error.value)
    assert "\n" not in text
    return text


def energy(calculator: Calculator) -> float:
    from ase.build import bulk

    return float(calculator.get_potential_energy(bulk("Cu", cubic=True)))


EXPECTED = energy(EMT())


def build_copper() -> EMT:
    """A factory of a test module, which no other process can import."""
    return EMT()


class Halved(EMT):
    """A class of a test module."""


def test_a_registered_name_is_a_model_with_its_card() -> None:
    model = load_model("emt")
    assert (model.name, model.folder) == ("emt", "emt")
    assert model.card.elements is not None
    assert 29 in model.card.elements
    assert model.reference == ModelReference("emt")
    assert energy(model.build()) == EXPECTED


@pytest.mark.parametrize("factory", ["build", "Potential"])
def test_a_factory_of_a_file_is_a_model(file: Path, factory: str) -> None:
    model = load_model(f"{file}:{factory}")
    assert model.name == f"potential.py:{factory}"
    assert model.folder == f"potential.py-{factory}"
    assert energy(model.build()) == EXPECTED
    assert model.reference == ModelReference(f"{file}:{factory}")
    assert load_model(model.reference).fingerprint == model.fingerprint


def test_a_relative_path_and_a_path_from_home_are_found(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    monkeypatch.setenv("HOME", str(file.parent))
    for path in ("potential.py", "./potential.py", "~/potential.py"):
        model = load_model(f"{path}:build")
        assert model.reference == ModelReference(f"{file}:build")  # workers may start elsewhere


def test_a_file_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "assay_test_neighbour.py").write_text("from ase.calculators.emt import EMT as Calc\n")
    (tmp_path / "main.py").write_text("from assay_test_neighbour import Calc\n\ndef build():\n    return Calc()\n")
    assert energy(load_model(f"{tmp_path / 'main.py'}:build").build()) == EXPECTED


def test_a_factory_of_an_installed_package_is_a_model() -> None:
    model = load_model("ase.calculators.emt:EMT")
    assert model.name == "ase.calculators.emt:EMT"
    assert energy(model.build()) == EXPECTED
    assert model.reference == ModelReference("ase.calculators.emt:EMT")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (EMT, "EMT"),
        (EMT(), "EMT"),
        (build_copper, "build_copper"),
        (Halved, "Halved"),
        (Halved(), "Halved"),
        (lambda: EMT(), "<lambda>"),
        (functools.partial(EMT), "partial"),
    ],
    ids=["class", "instance", "function", "test class", "test instance", "lambda", "partial"],
)
def test_a_live_object_is_a_model_that_can_be_sent(source: object, name: str) -> None:
    model = load_model(source)
    assert model.name == name
    assert energy(model.build()) == EXPECTED
    assert model.reference is not None
    assert energy(load_model(model.reference).build()) == EXPECTED
    assert load_model(model.reference).name == name


def test_a_model_is_taken_as_it_is() -> None:
    model = load_model("emt")
    assert load_model(model) is model


def test_every_build_of_an_instance_is_a_fresh_copy() -> None:
    source = EMT()
    model = load_model(source)
    first, second = model.build(), model.build()
    assert first is not second
    assert first is not source
    first.results["energy"] = 99.0
    assert second.results == source.results == {}


def notebook_class() -> type[Calculator]:
    """A class as a notebook cell makes one: its module is `__main__`, which other processes cannot import."""
    space: dict[str, object] = {"__name__": "__main__"}
    exec("from ase.calculators.emt import EMT\nclass Cell(EMT):\n    pass\n", space)
    return space["Cell"]  # type: ignore[return-value]


def test_what_no_other_process_can_import_travels_by_value(tmp_path: Path) -> None:
    factor = 2.0

    def closure() -> EMT:
        assert factor == 2.0
        return EMT()

    sources = [notebook_class(), notebook_class()(), closure, lambda: EMT(), Halved, Halved(), build_copper]
    references = [load_model(source).reference for source in sources]
    (tmp_path / "references").write_bytes(pickle.dumps(references))
    code = (
        "import pickle, sys; from ase.build import bulk; from assay.models.loading import load_model\n"
        "for r in pickle.load(open(sys.argv[1], 'rb')):\n"
        "    print(load_model(r).build().get_potential_energy(bulk('Cu', cubic=True)))"
    )
    tests = Path(__file__).parent
    path = [p for p in sys.path if p and Path(p).resolve() != tests]
    process = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "references")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert [float(line) for line in process.stdout.split()] == [EXPECTED] * len(sources), process.stderr


class Locked(EMT):
    """A calculator that holds something that cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


def test_a_calculator_that_cannot_be_pickled_stays_in_this_process() -> None:
    assert load_model(Locked()).reference is None
    assert load_model(Locked).reference is not None  # the class can be sent, only its instances cannot


def test_a_calculator_that_cannot_be_pickled_can_be_checked() -> None:
    report = run(Locked(), benchmarks=("net_force_zero",), workers=0, elements=(29,))
    assert report.checks["net_force_zero"]["passed"] is True


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("gfn2-xbt", ["'gfn2-xbt'", "did you mean 'gfn2-xtb'?", "assay list models"]),
        ("qqqq", ["'qqqq'", "file.py:factory"]),
        ("", ["there is no model ''"]),
        ("potential.py", ["'potential.py'", "'potential.py:FACTORY'"]),
        ("nowhere.py:build", ["nowhere.py'", "there is no file"]),
        ("no_such_package.x:build", ["'no_such_package.x'", "cannot be imported"]),
        ("ase.calculators.emt:EMTT", ["'ase.calculators.emt'", "'EMTT'", "did you mean 'EMT'?"]),
        ("ase.calculators.emt:qqqqqqq", ["'qqqqqqq'"]),
        ("emt:", ["'emt:'", "did you mean 'emt'?"]),
    ],
)
def test_a_wrong_name_is_one_sentence_with_a_hint(source: str, parts: list[str]) -> None:
    text = message(source)
    for part in parts:
        assert part in text


@pytest.mark.parametrize("source", [":build", ".relative:build", "..:x"])
def test_a_module_without_a_name_is_one_sentence(source: str) -> None:
    assert f"'{source.partition(':')[0]}'" in message(source)


@pytest.mark.parametrize("source", [3, None, [], {"name": "emt"}, object()])
def test_what_is_no_model_at_all_is_named_by_its_kind(source: object) -> None:
    assert message(source).startswith(f"a {type(source).__name__} is neither")


def test_a_wrong_factory_of_a_file_gets_a_hint(file: Path) -> None:
    text = message(f"{file}:buidl")
    assert "'buidl'" in text
    assert "did you mean 'build'?" in text


def test_what_is_neither_calculator_nor_function_is_refused(file: Path) -> None:
    assert "'potential.py:NUMBER' is neither a calculator nor a function" in message(f"{file}:NUMBER")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("def build(:\n", ["SyntaxError", "line 1"]),
        ("import no_such_package_at_all\n", ["ModuleNotFoundError", "no_such_package_at_all"]),
        ("raise RuntimeError('weights are missing')\n", ["RuntimeError", "weights are missing"]),
        ("1 / 0\n", ["ZeroDivisionError"]),
        ("raise SystemExit(3)\n", ["SystemExit"]),
    ],
)
def test_a_file_that_cannot_be_imported_is_one_sentence(file: Path, content: str, parts: list[str]) -> None:
    file.write_text(content)
    text = message(f"{file}:build")
    for part in [str(file), "cannot be imported", *parts]:
        assert part in text
    file.write_text(GOOD)  # and once it is mended, it works
    assert energy(load_model(f"{file}:build").build()) == EXPECTED


def test_a_module_with_a_syntax_error_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "assay_test_broken.py").write_text("def build(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "'assay_test_broken'" in message("assay_test_broken:build")


def test_a_factory_that_needs_arguments_is_one_sentence(file: Path) -> None:
    with pytest.raises(AssayError, match=r"'potential.py:needs' cannot be built: TypeError.*argument: 'path'"):
        require_calculator(load_model(f"{file}:needs"))


def test_a_factory_that_gives_no_calculator_is_one_sentence(file: Path) -> None:
    with pytest.raises(AssayError, match=r"'potential.py:gives_text' gives a str, not an ASE calculator"):
        require_calculator(load_model(f"{file}:gives_text"))


def test_a_factory_whose_own_error_is_clear_is_not_wrapped() -> None:
    def build() -> Calculator:
        raise AssayError("the weights are missing; fetch them")

    with pytest.raises(AssayError, match=r"^the weights are missing; fetch them$"):
        require_calculator(load_model(build))


def test_kim_models_without_the_kim_library_say_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kimpy", None)
    text = message("kim:EAM_Dynamo_Something__MO_000000000000_000")
    assert "kimpy" in text
    assert "install" in text


def test_a_registered_model_without_its_package_says_how_to_install_it() -> None:
    entry = Registered(ModelCard("rare"), EMT, imports=("no_such_package",), install="pip install rare")
    assert not entry.installed
    with pytest.raises(AssayError, match="'rare' needs no_such_package; install it: pip install rare"):
        entry.open()


@pytest.mark.parametrize(
    ("claims", "elements"),
    [
        (("Cu", "Au"), (29, 79)),
        (["Au", "Cu"], (29, 79)),
        ((79, 29), (29, 79)),
        (("Cu", 79), (29, 79)),
        ((np.int64(79), np.int32(29)), (29, 79)),
        ({"elements": ("Cu", "Au")}, (29, 79)),
        ({"elements": None}, None),
        ({"charge": True}, None),
        (None, None),
    ],
)
def test_claims_are_a_list_of_elements_or_a_card(claims: object, elements: tuple[int, ...] | None) -> None:
    assert claims_card("m", claims).elements == elements


def test_claims_may_fill_the_whole_card() -> None:
    claims = {
        "elements": ["H"],
        "pbc": ["FFF", "TTT"],
        "charge": True,
        "spin": False,
        "theory": "HF",
        "notes": ["slow"],
    }
    card = claims_card("m", claims)
    assert card == ModelCard("m", (1,), ("FFF", "TTT"), True, False, theory="HF", notes=("slow",))


@pytest.mark.parametrize(
    ("claims", "part"),
    [
        ({"element": ("Cu",)}, "unknown field 'element'"),
        (("Cu", "Xx"), "unknown element 'Xx'"),
        (("cu",), "unknown element 'cu'"),
        ((0,), "unknown element"),
        ("CuAu", "unknown element"),
    ],
)
def test_wrong_claims_are_one_sentence(claims: object, part: str) -> None:
    with pytest.raises(AssayError) as error:
        claims_card("m", claims)
    assert part in str(error.value)
    assert "'m'" in str(error.value)


@pytest.mark.parametrize("claims", [(200,), (-1,), 5, {"pbc": "TTT"}, {"pbc": ("TT",)}])
def test_claims_that_mean_nothing_are_one_sentence(claims: object) -> None:
    with pytest.raises(AssayError):
        claims_card("m", claims)


def test_an_element_claimed_twice_counts_once() -> None:
    assert claims_card("m", ("Cu", "Cu")).elements == (29,)


def test_a_factory_a_module_and_a_class_may_carry_claims(tmp_path: Path, file: Path) -> None:
    assert load_model(f"{file}:build").card.elements == (29, 79)
    assert load_model(f"{file}:Potential").card.elements is None
    other = tmp_path / "claims.py"
    other.write_text(f"{GOOD}\nCLAIMS = {{'elements': ('Ag',), 'licence': 'MIT'}}\n")
    assert load_model(f"{other}:build").card.elements == (29, 79)  # the factory's own claim comes first
    assert load_model(f"{other}:Potential").card.elements == (47,)
    assert load_model(f"{other}:Potential").card.licence == "MIT"

    class Claiming(EMT):
        claims = ("Pt",)

    for source in (Claiming, Claiming()):
        model = load_model(source)
        assert model.card.elements == (78,)
        assert model.reference is not None
        assert load_model(model.reference).card.elements == (78,)


def test_the_fingerprint_changes_with_the_file(file: Path) -> None:
    before = load_model(f"{file}:build").fingerprint
    assert load_model(f"{file}:build").fingerprint == before
    assert load_model(f"{file}:Potential").fingerprint != before
    file.write_text(GOOD + "\n# other parameters\n")
    assert load_model(f"{file}:build").fingerprint != before
    file.write_text(GOOD)
    assert load_model(f"{file}:build").fingerprint == before


def test_the_fingerprint_changes_with_the_files_that_a_model_claims(file: Path) -> None:
    file.write_text(f"{GOOD}\nCLAIMS = {{'files': ['weights.bin']}}\n")
    weights = file.parent / "weights.bin"
    assert "'potential.py:Potential' claims the file" in message(f"{file}:Potential")
    weights.write_bytes(b"one")
    first = load_model(f"{file}:Potential").fingerprint
    weights.write_bytes(b"two")
    assert load_model(f"{file}:Potential").fingerprint != first
    weights.write_bytes(b"one")
    assert load_model(f"{file}:Potential").fingerprint == first


def test_the_fingerprint_changes_with_the_packages_that_a_file_imports(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(package: str) -> str:
        return "99.0" if package == "scipy" else "1.0"

    file.write_text(GOOD)
    before = load_model(f"{file}:build").fingerprint
    other = file.parent / "other" / "potential.py"
    other.parent.mkdir()
    other.write_text(f"from scipy import special\n{GOOD}")
    importing = load_model(f"{other}:build").fingerprint
    with monkeypatch.context() as patch:
        patch.setattr("assay.models.loading.package_version", lambda package: "1.0")
        plain = [load_model(f"{path}:build").fingerprint for path in (file, other)]
        patch.setattr("assay.models.loading.package_version", version)
        assert load_model(f"{file}:build").fingerprint == plain[0]  # it does not import scipy
        assert load_model(f"{other}:build").fingerprint != plain[1]
    assert [load_model(f"{path}:build").fingerprint for path in (file, other)] == [before, importing]


@pytest.mark.parametrize("source", ["math:sin", "sys:intern"])
def test_a_factory_of_a_compiled_module_is_a_model(source: str) -> None:
    assert load_model(source).name == source


def test_a_file_changed_within_a_second_is_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own cache of compiled files looks at the second and the size only."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    versions = []
    for number in (3, 4):
        file.write_text(GOOD.replace("NUMBER = 3", f"NUMBER = {number}\nPotential.number = {number}"))
        os.utime(file, (1e9, 1e9))
        versions.append(load_model(f"{file}:Potential").build().number)
    assert versions == [3, 4]


def test_a_changed_file_is_read_again(file: Path) -> None:
    load_model(f"{file}:build")
    file.write_text(GOOD.replace("return EMT()", "return EMT(asap_cutoff=True)"))
    assert load_model(f"{file}:build").build().parameters.asap_cutoff is True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: LennardJones(sigma=1.0), lambda: LennardJones(sigma=2.0)),
        (LennardJones(sigma=1.0), LennardJones(sigma=2.0)),
        (EMT, LennardJones),
        (EMT, EMT()),
        (Says(energy=1.0), Says(energy=2.0)),
    ],
    ids=["lambdas", "parameters", "classes", "class and instance", "content"],
)
def test_different_objects_have_different_fingerprints(one: object, other: object) -> None:
    assert load_model(one).fingerprint != load_model(other).fingerprint
    assert load_model(one).fingerprint == load_model(one).fingerprint


def test_models_that_differ_in_the_hash_of_their_weights_have_different_fingerprints() -> None:
    one, other = (Says(weights=32 * letter) for letter in "ab")
    assert load_model(one).fingerprint != load_model(other).fingerprint


def test_the_fingerprint_of_a_registered_model_knows_versions_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Registered(ModelCard("m", packages=("ase",)), EMT, settings={"accuracy": 1})
    other = Registered(ModelCard("m", packages=("ase",)), EMT, settings={"accuracy": 2})
    before = entry.open().fingerprint
    assert other.open().fingerprint != before
    monkeypatch.setattr("assay.models.registry.package_version", lambda package: "99.0")
    assert entry.open().fingerprint != before


def test_other_builders_come_along_as_attributes() -> None:
    class Batched(Spring):
        unit_sets = ("A", "nm")

        @staticmethod
        def build_batch() -> str:
            return "batch"

        @staticmethod
        def build_in_units(units: str) -> str:
            return units

    def check(model: Model) -> None:
        assert model.build_batch is not None
        assert model.build_batch() == "batch"
        assert model.unit_sets == ("A", "nm")
        assert model.build_in_units is not None
        assert model.build_in_units("nm") == "nm"

    for source in (Batched, Batched()):
        model = load_model(source)
        check(model)
        assert model.reference is not None
        check(load_model(model.reference))
    assert load_model(Spring).build_batch is None


def test_a_model_describes_itself_as_plain_data() -> None:
    description = load_model("emt").describe()
    assert description["name"] == "emt"
    assert description["fingerprint"] == load_model("emt").fingerprint
    assert {"elements", "pbc", "charge", "spin", "theory", "licence"} <= set(description)
