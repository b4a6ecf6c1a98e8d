"""A model is loaded by its name or from a Python file, and the content of the file is part of its fingerprint."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from ase.calculators.emt import EMT

from assay.errors import AssayError
from assay.model import ModelReference
from assay.models.loading import load_model
from potential_file import EXPECTED, FACTORIES, copper_energy, write_factories


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_factories(tmp_path)


def test_a_name_gives_a_model_with_its_card() -> None:
    model = load_model("emt")
    assert (model.name, model.folder) == ("emt", "emt")
    assert model.card.elements is not None
    assert 29 in model.card.elements
    assert model.reference == ModelReference("emt")
    assert copper_energy(model.build()) == EXPECTED


@pytest.mark.parametrize("factory", ["build", "Potential"])
def test_a_factory_of_a_file_is_a_model(file: Path, factory: str) -> None:
    model = load_model(f"{file}:{factory}")
    assert model.name == f"potential.py:{factory}"
    assert model.folder == f"potential.py-{factory}"
    assert copper_energy(model.build()) == EXPECTED
    assert model.reference == ModelReference(f"{file}:{factory}")
    assert load_model(model.reference).fingerprint == model.fingerprint


def test_a_relative_path_and_a_path_from_home_are_found(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    monkeypatch.setenv("HOME", str(file.parent))
    for path in ("potential.py", "./potential.py", "~/potential.py"):
        model = load_model(f"{path}:build")
        assert model.reference == ModelReference(f"{file}:build")  # workers may start in another folder


def test_a_file_may_import_files_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "assay_test_other.py").write_text("from ase.calculators.emt import EMT as Calc\n")
    (tmp_path / "main.py").write_text("from assay_test_other import Calc\n\ndef build():\n    return Calc()\n")
    assert copper_energy(load_model(f"{tmp_path / 'main.py'}:build").build()) == EXPECTED


def test_a_factory_of_an_installed_package_is_a_model() -> None:
    model = load_model("ase.calculators.emt:EMT")
    assert model.name == "ase.calculators.emt:EMT"
    assert copper_energy(model.build()) == EXPECTED
    assert model.reference == ModelReference("ase.calculators.emt:EMT")


@pytest.mark.parametrize("source", ["math:sin", "sys:intern"])
def test_a_factory_of_a_compiled_module_is_a_model(source: str) -> None:
    assert load_model(source).name == source


def test_a_factory_a_module_and_a_class_may_have_claims(tmp_path: Path, file: Path) -> None:
    assert load_model(f"{file}:build").card.elements == (29, 79)
    assert load_model(f"{file}:Potential").card.elements is None
    other = tmp_path / "claims.py"
    other.write_text(f"{FACTORIES}\nCLAIMS = {{'elements': ('Ag',), 'licence': 'MIT'}}\n")
    assert load_model(f"{other}:build").card.elements == (29, 79)  # claims of the factory are used first
    assert load_model(f"{other}:Potential").card.elements == (47,)
    assert load_model(f"{other}:Potential").card.licence == "MIT"

    class Claiming(EMT):
        claims = ("Pt",)

    for source in (Claiming, Claiming()):
        model = load_model(source)
        assert model.card.elements == (78,)
        assert model.reference is not None
        assert load_model(model.reference).card.elements == (78,)


def test_a_changed_file_is_read_again(file: Path) -> None:
    load_model(f"{file}:build")
    file.write_text(FACTORIES.replace("return EMT()", "return EMT(asap_cutoff=True)"))
    assert load_model(f"{file}:build").build().parameters.asap_cutoff is True


def test_a_file_changed_within_a_second_is_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache of compiled files of Python compares only the second of the last change and the size."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    versions = []
    for number in (3, 4):
        file.write_text(FACTORIES.replace("NUMBER = 3", f"NUMBER = {number}\nPotential.number = {number}"))
        os.utime(file, (1e9, 1e9))
        versions.append(load_model(f"{file}:Potential").build().number)
    assert versions == [3, 4]


def test_the_fingerprint_changes_with_the_file(file: Path) -> None:
    before = load_model(f"{file}:build").fingerprint
    assert load_model(f"{file}:build").fingerprint == before
    assert load_model(f"{file}:Potential").fingerprint != before
    file.write_text(FACTORIES + "\n# other parameters\n")
    assert load_model(f"{file}:build").fingerprint != before
    file.write_text(FACTORIES)
    assert load_model(f"{file}:build").fingerprint == before


def test_the_fingerprint_changes_with_the_files_that_a_model_claims(file: Path) -> None:
    file.write_text(f"{FACTORIES}\nCLAIMS = {{'files': ['weights.bin']}}\n")
    weights = file.parent / "weights.bin"
    with pytest.raises(AssayError, match=r"'potential.py:Potential' claims the file"):
        load_model(f"{file}:Potential")
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

    file.write_text(FACTORIES)
    before = load_model(f"{file}:build").fingerprint
    other = file.parent / "other" / "potential.py"
    other.parent.mkdir()
    other.write_text(f"from scipy import special\n{FACTORIES}")
    importing = load_model(f"{other}:build").fingerprint
    with monkeypatch.context() as patch:
        patch.setattr("assay.models.loading.package_version", lambda package: "1.0")
        plain = [load_model(f"{path}:build").fingerprint for path in (file, other)]
        patch.setattr("assay.models.loading.package_version", version)
        assert load_model(f"{file}:build").fingerprint == plain[0]  # it does not import scipy
        assert load_model(f"{other}:build").fingerprint != plain[1]
    assert [load_model(f"{path}:build").fingerprint for path in (file, other)] == [before, importing]


def test_a_factory_that_a_package_only_exports_changes_with_the_file_that_defines_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "exporting_package"
    package.mkdir()
    (package / "__init__.py").write_text("from exporting_package.inner import build\n")
    source = "from ase.calculators.lj import LennardJones\ndef build():\n    return LennardJones(epsilon={})\n"
    (package / "inner.py").write_text(source.format(1.0))
    monkeypatch.syspath_prepend(tmp_path)
    first = load_model("exporting_package:build").fingerprint
    assert load_model("exporting_package:build").fingerprint == first
    (package / "inner.py").write_text(source.format(2.0))
    assert load_model("exporting_package:build").fingerprint != first
