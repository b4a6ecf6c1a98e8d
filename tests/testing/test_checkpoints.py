"""Assertions about files of users pass a careful adapter and fail a careless one."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import assay.models
from argon import CLAIMS, Argon, argon, changed
from assay.errors import AssayError
from assay.model import Model
from assay.models.registry import checkpoint_card, checkpoint_file, checkpoint_model
from assay.testing import (
    Trap,
    assert_checkpoint_contract,
    assert_copy_is_the_same_model,
    assert_hostile_files_are_refused,
    assert_missing_package_is_explained,
    assert_one_sentence,
    assert_other_files_are_explained,
)

Use = Callable[..., None]
HALF = changed(lambda calculator, _: calculator.results.update(energy=0.5 * calculator.results["energy"]))


def build(path: Path) -> Argon:
    return Argon()


def read(path: Path) -> dict[str, Any]:
    """The content of a toy checkpoint, which is a JSON file."""
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        raise AssayError(f"'{path.name}' is not a toy model ({type(error).__name__}); give a JSON file") from error
    if not isinstance(content, dict) or content.get("kind") != "toy":
        raise AssayError(f"'{path.name}' is not a toy model; give a file of that kind")
    return content


def unpickle(path: Path) -> dict[str, Any]:
    """A careless reader."""
    try:
        return dict(pickle.loads(path.read_bytes()))
    except Exception:
        return read(path)


def shout(path: Path) -> dict[str, Any]:
    """A reader with an error of two lines."""
    try:
        return read(path)
    except AssayError as error:
        raise AssayError(f"{error}\nThis is a second line") from error


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Registers a family `toy:FILE` with a reader and a builder of its own."""
    families = assay.models._families()

    def use(reader: Callable[[Path], dict] = read, builder: Callable = build, install: str = "pip install toy") -> None:
        def open_model(rest: str, device: str | None = None) -> Model:
            if importlib.util.find_spec("json") is None:
                raise AssayError(f"'toy:{rest}' needs the package 'toy'; install it: {install}")
            path = checkpoint_file("toy", rest)
            reader(path)
            return checkpoint_model(checkpoint_card("toy", path, **CLAIMS), path, builder)

        family = SimpleNamespace(SCHEME="toy", FILE_SCHEME=True, MODELS={}, open_model=open_model)
        monkeypatch.setattr(assay.models, "_families", lambda: (*families, family))

    return use


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """A sound file of the toy family."""
    path = tmp_path / "argon.json"
    path.write_text(json.dumps({"kind": "toy", "weights": [1.0] * 10}))
    return path


def test_a_careful_adapter_passes(toy: Use, sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TRUST_CHECKPOINTS", "1")
    toy()
    assert_checkpoint_contract("toy", sound, argon())
    assert os.environ["ASSAY_TRUST_CHECKPOINTS"] == "1"


def test_trust_is_switched_off_while_files_are_tried(toy: Use, sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TRUST_CHECKPOINTS", "1")
    toy(lambda path: unpickle(path) if "ASSAY_TRUST_CHECKPOINTS" in os.environ else read(path))
    assert_hostile_files_are_refused("toy", sound)


def test_code_of_a_file_that_runs_is_noticed(toy: Use, sound: Path) -> None:
    toy(unpickle)
    with pytest.raises(AssertionError, match="is refused, but code from it has run"):
        assert_hostile_files_are_refused("toy", sound)


def test_a_trap_that_is_unpickled_makes_its_folder(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Trap(tmp_path / "mark")))
    assert (tmp_path / "mark").is_dir()


def test_a_file_that_is_opened_though_it_is_hostile_fails(toy: Use, sound: Path) -> None:
    toy(lambda path: {})
    with pytest.raises(AssertionError, match=r"'toy:hostile\.json' is opened"):
        assert_hostile_files_are_refused("toy", sound)


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        (lambda path: json.loads(path.read_text()), r"'toy:empty\.json' raises JSONDecodeError"),
        (shout, "expected one sentence that names the file"),
        (lambda path: {}, r"'toy:empty\.json' is opened"),
        (lambda path: read(path) if b"toy" not in path.read_bytes() else {}, r"'toy:half\.json' is opened"),
    ],
)
def test_other_files_must_be_explained(toy: Use, sound: Path, reader: Callable, words: str) -> None:
    toy(reader)
    with pytest.raises(AssertionError, match=words):
        assert_other_files_are_explained("toy", sound)


def test_an_error_must_have_the_words(toy: Use, tmp_path: Path) -> None:
    toy()
    assert_one_sentence("toy", tmp_path / "absent.json", "there is no file")
    with pytest.raises(AssertionError, match="expected the words 'trust'"):
        assert_one_sentence("toy", tmp_path / "absent.json", "trust")


def test_a_missing_package_must_be_explained(toy: Use) -> None:
    toy()
    assert_missing_package_is_explained("toy")
    toy(install="see its web page")
    with pytest.raises(AssertionError, match="expected the words 'pip install'"):
        assert_missing_package_is_explained("toy")


def test_a_copy_must_give_the_same_numbers(toy: Use, sound: Path) -> None:
    toy()
    assert_copy_is_the_same_model("toy", sound, argon())
    toy(builder=lambda path: HALF())
    with pytest.raises(AssertionError, match="structures differ from 'factory'"):
        assert_copy_is_the_same_model("toy", sound, argon())


def test_a_copy_must_claim_the_same_elements(toy: Use, sound: Path) -> None:
    toy()
    with pytest.raises(AssertionError, match="claims other elements than 'factory'"):
        assert_copy_is_the_same_model("toy", sound, argon(elements=[10, 18]))


def test_a_copy_must_have_a_fingerprint_of_its_own(toy: Use, sound: Path) -> None:
    toy()
    copy = sound.rename(sound.with_name("mine.json"))
    with pytest.raises(AssertionError, match=r"has the fingerprint of .toy:mine\.json"):
        assert_copy_is_the_same_model("toy", copy, f"toy:{copy}")
