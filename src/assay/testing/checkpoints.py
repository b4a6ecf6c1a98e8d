"""What every adapter promises that opens files of users, `scheme:FILE`: errors of one sentence, and no foreign code."""

from __future__ import annotations

import importlib.util
import os
import pickle
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from assay.errors import AssayError
from assay.model import Model
from assay.models.loading import load_model
from assay.testing.answers import (
    Structures,
    Tolerance,
    assert_same,
    batch_answers,
    batch_of,
    fail,
    single_answers,
    tolerance_of,
)
from assay.testing.structures import structures_for

TRUST = "ASSAY_TRUST_CHECKPOINTS"
LONGEST_SENTENCE = 600


class Trap:
    """An object that makes a folder when it is unpickled: the folder shows that code of a file has run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.folder),)


def assert_checkpoint_contract(
    scheme: str,
    checkpoint: Path,
    like: object,
    *,
    structures: Structures | None = None,
    tolerance: Tolerance | None = None,
) -> None:
    """Fail unless users can open files of this family, and only those, without running code from them.

    Args:
        scheme: The word before the colon, such as "mace" in `mace:FILE`.
        checkpoint: A sound file of the family.
        like: The model that has the weights of that file.
        structures: On which the copy and the model are compared; by default the standard structures of the model.
        tolerance: How far the two may differ.
    """
    assert_copy_is_the_same_model(scheme, checkpoint, like, structures, tolerance)
    assert_other_files_are_explained(scheme, checkpoint)
    assert_hostile_files_are_refused(scheme, checkpoint)
    assert_missing_package_is_explained(scheme)


def assert_copy_is_the_same_model(
    scheme: str,
    checkpoint: Path,
    like: object,
    structures: Structures | None = None,
    tolerance: Tolerance | None = None,
) -> None:
    """Fail unless a copy of the file gives the numbers of the model, under its own name and fingerprint."""
    named = load_model(like)
    with _folder() as folder:
        copy = folder / f"mine{checkpoint.suffix}"
        shutil.copy(checkpoint, copy)
        mine = load_model(f"{scheme}:{copy}")
        if mine.name != f"{scheme}:{copy.name}":
            fail(mine, f"a copy of '{checkpoint.name}' is called '{mine.name}', expected '{scheme}:{copy.name}'")
        if mine.fingerprint == named.fingerprint:
            fail(mine, f"the user's file has the fingerprint of '{named.name}'")
        if mine.reference is None or load_model(mine.reference).fingerprint != mine.fingerprint:
            fail(mine, "what travels to other processes is not the same model")
        if mine.card.elements not in (None, named.card.elements):
            fail(mine, f"the file claims other elements than '{named.name}'")
        _assert_same_numbers(mine, named, structures, tolerance)


def _assert_same_numbers(mine: Model, named: Model, structures: Structures | None, tolerance: Tolerance | None) -> None:
    compared = structures_for(named) if structures is None else structures
    allowed, expected = tolerance or tolerance_of(named), single_answers(named, compared)
    single = single_answers(mine, compared)
    assert_same(mine, [(n, single[n], expected[n]) for n in compared], allowed, f"from '{named.name}'")
    if mine.build_batch is not None:
        batch = zip(compared, batch_answers(batch_of(mine), list(compared.values())), strict=True)
        assert_same(mine, [(n, a, expected[n]) for n, a in batch], allowed, f"in a batch from '{named.name}'")


def assert_other_files_are_explained(scheme: str, checkpoint: Path) -> None:
    """Fail unless a file that is missing, empty, cut short, text or of another kind gets an error of one sentence."""
    with _folder() as folder:
        suffix, content = checkpoint.suffix, checkpoint.read_bytes()
        assert_one_sentence(scheme, folder / f"absent{suffix}", "there is no file")
        files = {"empty": b"", "text": b"this is not a model\n", "binary": bytes(range(256))}
        files["half"] = content[: len(content) // 2]
        for name, data in files.items():
            path = folder / f"{name}{suffix}"
            path.write_bytes(data)
            assert_one_sentence(scheme, path)
        if importlib.util.find_spec("torch") is not None:
            import torch

            torch.save({"weights": torch.zeros(3)}, folder / f"tensors{suffix}")
            assert_one_sentence(scheme, folder / f"tensors{suffix}")


def assert_hostile_files_are_refused(scheme: str, checkpoint: Path) -> None:
    """Fail unless pickled objects are refused before they can run, bare or inside a file that looks like a model."""
    with _folder() as folder:
        mark = folder / "code-of-the-file-has-run"
        for path in _hostile_files(folder, Trap(mark), checkpoint):
            assert_one_sentence(scheme, path)
            if mark.exists():
                raise AssertionError(f"'{scheme}:{path.name}' is refused, but code from it has run")


def _hostile_files(folder: Path, trap: Trap, checkpoint: Path) -> Iterator[Path]:
    """Files with a trap in them: plain pickles, one of PyTorch, and the genuine checkpoint with a trap added."""
    for suffix in dict.fromkeys((checkpoint.suffix, ".pkl", ".pickle")):
        path = folder / f"hostile{suffix}"
        path.write_bytes(pickle.dumps(trap))
        yield path
    if importlib.util.find_spec("torch") is None:
        return
    import torch

    path = folder / f"hostile-torch{checkpoint.suffix}"
    torch.save({"model": trap, "model_args": trap}, path)
    yield path
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of TorchScript files, which are not unpickled
            genuine = torch.load(checkpoint, map_location="cpu", weights_only=False)
    except Exception:
        return  # not a file of PyTorch
    if isinstance(genuine, dict):
        path = folder / f"hostile-genuine{checkpoint.suffix}"
        torch.save({**genuine, "extra": trap}, path)
        yield path


def assert_missing_package_is_explained(scheme: str) -> None:
    """Fail unless `scheme:FILE` says how to install the package of the family where it is not installed."""
    with _folder() as folder, patch("importlib.util.find_spec", lambda *_: None):
        path = folder / "any.file"
        path.write_text("nep4 1 Cu\ncutoff 6 5 10 10\n")  # the first lines of a NEP file, which is read before
        assert_one_sentence(scheme, path, "pip install")


def assert_one_sentence(scheme: str, path: Path, words: str = "") -> None:
    """Fail unless opening the file is an `AssayError` of one line that names it and has these words."""
    try:
        load_model(f"{scheme}:{path}").build()
    except AssayError as error:
        text = str(error)
    except Exception as error:
        raise AssertionError(
            f"'{scheme}:{path.name}' raises {type(error).__name__} ({error}), expected an AssayError of one sentence"
        ) from error
    else:
        raise AssertionError(f"'{scheme}:{path.name}' is opened, expected an AssayError of one sentence")
    if "\n" in text or len(text) > LONGEST_SENTENCE or path.name not in text:
        raise AssertionError(f"'{scheme}:{path.name}' gives {text!r}, expected one sentence that names the file")
    if words not in text:
        raise AssertionError(f"'{scheme}:{path.name}' gives {text!r}, expected the words {words!r}")


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for files, while checkpoints are not trusted whatever the environment says."""
    environment = {name: value for name, value in os.environ.items() if name != TRUST}
    with TemporaryDirectory(prefix="assay-testing-") as name, patch.dict(os.environ, environment, clear=True):
        yield Path(name)
