"""Named models say what they need, and every adapter is found without importing the packages of its family."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import pytest
from ase.calculators.emt import EMT

import assay.models
from assay.errors import AssayError
from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.models import family_names, file_schemes, named_models, schemes
from assay.models.loading import load_model
from assay.models.registry import NamedModel, checkpoint_card, checkpoint_file, checkpoint_model, package_folder

NAMES = ["emt", "gfn1-xtb", "gfn2-xtb", "lj"]


def named(**fields: object) -> NamedModel:
    return NamedModel(ModelCard("m", packages=("ase",)), EMT, **fields)  # type: ignore[arg-type]


def test_models_without_a_network_have_names_and_kim_models_have_a_prefix() -> None:
    assert set(NAMES) <= set(named_models())
    assert set(schemes()) - file_schemes() == {"kim"}


def test_every_named_model_belongs_to_the_file_of_its_family() -> None:
    families = family_names()
    assert families["classical"] == ["emt", "lj"]
    assert sorted(name for names in families.values() for name in names) == sorted(named_models())


@pytest.mark.parametrize("name", sorted(named_models()))
def test_a_card_says_what_the_model_is(name: str) -> None:
    entry = named_models()[name]
    card = entry.card
    assert card.name == name
    assert card.elements is not None
    assert list(card.elements) == sorted(set(card.elements))
    assert card.pbc is not None
    assert set(card.pbc) <= {"FFF", *PERIODIC_PATTERNS}
    assert card.precision in {"float64", "float32"}
    for text in (card.theory, card.licence, card.description, entry.install):
        assert text
    assert card.packages
    assert entry.imports


@pytest.mark.parametrize(
    ("name", "elements", "charge"),
    [
        ("emt", (13, 28, 29, 46, 47, 78, 79), False),
        ("lj", (18,), False),
        ("gfn1-xtb", tuple(range(1, 87)), True),
        ("gfn2-xtb", tuple(range(1, 87)), True),
    ],
)
def test_elements_and_charge_are_claimed_as_published(name: str, elements: tuple[int, ...], charge: bool) -> None:
    card = named_models()[name].card
    assert card.elements == elements
    assert (card.charge, card.spin) == (charge, charge)


def test_finding_all_models_imports_none_of_their_packages() -> None:
    code = (
        "import sys; from assay.models import named_models\n"
        "needed = {name for entry in named_models().values() for name in entry.imports} | {'ase', 'torch', 'scipy'}\n"
        "print(len(needed), needed & set(sys.modules))"
    )
    path = os.pathsep.join(filter(None, sys.path))
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    count, imported = process.stdout.split(maxsplit=1)
    assert int(count) > 10
    assert imported.strip() == "set()"


def test_another_package_adds_models_by_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = SimpleNamespace(
        __name__="mine", MODELS={"m": named()}, SCHEME="mine", open_model=lambda rest, device: rest
    )
    monkeypatch.setitem(sys.modules, "assay_test_adapter", adapter)  # type: ignore[arg-type]
    point = EntryPoint("mine", "assay_test_adapter", "assay.models")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point] if group == "assay.models" else [])
    assay.models._families.cache_clear()
    try:
        assert load_model("m").name == "m"
        assert load_model("mine:anything") == "anything"
        assert "mine" not in file_schemes()
        assert family_names()["mine"] == ["m"]
    finally:
        assay.models._families.cache_clear()


def test_a_named_model_without_its_package_says_how_to_install_it() -> None:
    entry = NamedModel(ModelCard("rare"), EMT, imports=("no_such_package",), install="pip install rare")
    assert not entry.installed
    with pytest.raises(AssayError, match="'rare' needs no_such_package; install it: pip install rare"):
        entry.open()


def test_settings_and_versions_of_packages_are_part_of_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = named(settings={"accuracy": 1}), named(settings={"accuracy": 2})
    before = one.open().fingerprint
    assert other.open().fingerprint != before
    monkeypatch.setattr("assay.models.registry.package_version", lambda package: "99.0")
    assert one.open().fingerprint != before


def test_weights_in_a_package_are_part_of_the_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "assay_test_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")  # the package must not be imported
    monkeypatch.syspath_prepend(tmp_path)
    fingerprints = []
    for content in ("one", "two", "one"):
        (folder / "weights.bin").write_text(content)
        fingerprints.append(named(inside=("assay_test_weights", "weights.bin")).open().fingerprint)
    assert fingerprints[0] == fingerprints[2] != fingerprints[1]
    assert package_folder("assay_test_weights") == folder


@pytest.mark.parametrize("module", ["no_such_package", "math"])
def test_a_package_that_is_not_a_folder_is_an_error(module: str) -> None:
    with pytest.raises(AssayError, match=f"'{module}'"):
        package_folder(module)


def test_builders_get_the_device_only_if_there_is_a_choice() -> None:
    def build(**options: str) -> dict[str, str]:
        return options

    def opened(device: str | None, *devices: str) -> object:
        return NamedModel(ModelCard("m"), build, build_batch=build, devices=devices).open(device)  # type: ignore[arg-type]

    assert opened(None, "cpu").build() == {}
    assert opened(None, "cpu", "cuda").build() == {"device": "cpu"}
    on_gpu = opened("cuda", "cpu", "cuda")
    assert on_gpu.build() == on_gpu.build_batch() == {"device": "cuda"}
    assert on_gpu.reference.device == "cuda"
    assert on_gpu.fingerprint != opened("cpu", "cpu", "cuda").fingerprint == opened(None, "cpu", "cuda").fingerprint
    with pytest.raises(AssayError, match="model 'm' runs on cpu only; leave out --device cuda"):
        opened("cuda", "cpu")


def test_a_checkpoint_is_a_model_with_the_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("one")
    path = checkpoint_file("nep", str(tmp_path / "own.txt"))
    card = checkpoint_card("nep", path, elements=["Cu"], pbc=("TTT",))
    model = checkpoint_model(card, path, lambda path: path.read_text())  # type: ignore[arg-type,return-value]
    assert model.name == "nep:own.txt"
    assert model.card.elements == (29,)
    assert model.reference is not None
    assert model.reference.spec == f"nep:{path}"
    assert model.build() == "one"
    path.write_text("two")
    assert checkpoint_model(card, path, EMT).fingerprint != model.fingerprint


def test_a_checkpoint_that_does_not_exist_is_explained(tmp_path: Path) -> None:
    with pytest.raises(
        AssayError, match=r"there is no file '.*absent'; give the path of a checkpoint, as in mace:FILE"
    ):
        checkpoint_file("mace", str(tmp_path / "absent"))
