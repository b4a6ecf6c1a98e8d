"""A model that cannot be loaded is explained in one sentence that says what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ase.calculators.calculator import Calculator

from assay.compute.probes.contact import require_calculator
from assay.errors import AssayError
from assay.models.loading import load_model
from potential_file import EXPECTED, FACTORIES, copper_energy, write_factories


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_factories(tmp_path)


def message(source: object) -> str:
    """The sentence that explains why a model cannot be loaded."""
    with pytest.raises(AssayError) as error:
        load_model(source)
    text = str(error.value)
    assert "\n" not in text
    return text


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
def test_the_type_of_an_object_that_is_not_a_model_is_named(source: object) -> None:
    assert message(source).startswith(f"a {type(source).__name__} is neither")


def test_a_wrong_factory_of_a_file_gets_a_hint(file: Path) -> None:
    text = message(f"{file}:buidl")
    assert "'buidl'" in text
    assert "did you mean 'build'?" in text


def test_an_object_that_is_neither_calculator_nor_function_is_refused(file: Path) -> None:
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
    file.write_text(FACTORIES)  # after the correction it can be loaded
    assert copper_energy(load_model(f"{file}:build").build()) == EXPECTED


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
