"""MACE: large batches in several passes, quicker layers, and checkpoints that run no code."""

from __future__ import annotations

import pickletools
import zipfile
from pathlib import Path

import numpy as np
import pytest
from ase.build import molecule

from assay.configurations import dimer
from assay.errors import ModelFailure
from assay.models.loading import load_model
from assay.structure import from_atoms
from assay.testing import assert_refuses
from assay.testing.answers import answer_of, batch_answers, batch_of
from families import checkpoint, opened

pytestmark = pytest.mark.family("mace")

OFF, MP = "mace-off23-small", "mace-mp-0-small"


def test_a_large_batch_is_cut_into_passes_that_cover_it_in_order() -> None:
    batch = batch_of(opened(MP))
    structures = [dimer(6, 8, float(distance)) for distance in np.linspace(0.18, 6.0, 400)]
    passes = list(batch._passes(np.arange(401) * 4))  # type: ignore[attr-defined]
    assert len(passes) > 2
    assert [start for start, _ in passes] == [0, *(stop for _, stop in passes[:-1])]
    assert passes[-1][1] == 400
    together = np.array([energy for energy, _ in batch_answers(batch, structures)])
    each = np.array([batch_answers(batch, [structure])[0][0] for structure in structures[::40]])
    np.testing.assert_allclose(together[::40], each, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sizes", [[1, 1, 5000], [5000, 1, 1], [1, 5000, 1], [5000]])
def test_no_pass_is_empty_where_one_structure_is_large(sizes: list[int]) -> None:
    passes = list(batch_of(opened(MP))._passes(np.cumsum([0, *sizes])))  # type: ignore[attr-defined]
    assert all(start < stop for start, stop in passes)
    assert [i for start, stop in passes for i in range(start, stop)] == list(range(len(sizes)))


def test_the_quicker_layers_equal_those_of_mace() -> None:
    import torch

    from assay.models._mace_checkpoint import read_network
    from assay.models._mace_layers import CubicProduct, ElementLinear

    network, quick = read_network(checkpoint(OFF), "cpu"), batch_of(opened(OFF)).network
    own, other = network.products[0].symmetric_contractions.contractions[0], quick.products[0]
    cubic = other.symmetric_contractions.contractions[0]
    linear = quick.interactions[0].skip_tp
    assert isinstance(cubic, CubicProduct)
    assert isinstance(linear, ElementLinear)
    torch.manual_seed(1)
    kinds = torch.nn.functional.one_hot(torch.randint(0, 10, (40,)), 10).double()
    features = torch.randn(40, 96, 16, dtype=torch.float64, requires_grad=True)
    pull = torch.randn(40, 96, dtype=torch.float64)
    results = [layer(features, kinds) for layer in (own, cubic)]
    torch.testing.assert_close(results[1], results[0], rtol=1e-10, atol=1e-10)
    slopes = [torch.autograd.grad(result, features, pull)[0] for result in results]
    torch.testing.assert_close(slopes[1], slopes[0], rtol=1e-10, atol=1e-10)
    mixed = torch.randn(40, linear.width, dtype=torch.float64)
    torch.testing.assert_close(linear(mixed, kinds), network.interactions[0].skip_tp(mixed, kinds))


def test_unknown_elements_are_named_and_leave_the_precision_of_other_models_alone() -> None:
    import torch

    silane = from_atoms(molecule("SiH4"))
    assert_refuses(opened(OFF), silane, "14")
    with pytest.raises(ModelFailure, match="does not support Si"):
        batch_of(opened(OFF)).evaluate([silane])
    assert torch.get_default_dtype() == torch.float32


def test_a_checkpoints_own_code_is_not_run(tmp_path: Path) -> None:
    """The source text inside a MACE file is Python that unpickling executes; here it would leave a mark."""
    import torch

    mark, path = tmp_path / "it-ran", tmp_path / "spoiled.model"
    with zipfile.ZipFile(checkpoint(OFF)) as source, zipfile.ZipFile(path, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            spoil = entry.filename.endswith("data.pkl")
            target.writestr(entry, _with_trap(content, f"open({str(mark)!r}, 'w').close()\n") if spoil else content)
    model = load_model(f"mace:{path}")
    assert answer_of(model.build(), from_atoms(molecule("H2O")))[0] == pytest.approx(-2081.116, abs=1e-3)
    assert not mark.exists()
    torch.load(path, weights_only=False)
    assert mark.exists()


def test_a_checkpoint_is_read_once_and_every_calculator_has_its_own_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from assay.models import _mace_checkpoint

    path, reads, read = tmp_path / "mine.model", list[Path](), _mace_checkpoint.load_checked
    path.write_bytes(checkpoint(OFF).read_bytes())
    monkeypatch.setattr(_mace_checkpoint, "load_checked", lambda file, *given: reads.append(file) or read(file, *given))
    model = load_model(f"mace:{path}")
    first, second, batch = model.build(), model.build(), batch_of(model)
    assert reads == [path]
    water = from_atoms(molecule("H2O"))
    before = answer_of(second, water)[0]
    with torch.no_grad():
        for parameter in first.models[0].parameters():  # type: ignore[attr-defined]
            parameter.zero_()
    assert answer_of(first, water)[0] != pytest.approx(before, abs=1e-3)
    assert answer_of(second, water)[0] == pytest.approx(before, abs=1e-9)
    assert batch.evaluate([water])[0][0] == pytest.approx(before, abs=1e-6)
    path.write_bytes(checkpoint(MP).read_bytes())
    assert len(load_model(f"mace:{path}").card.elements or ()) == 89
    assert reads == [path, path]


def _with_trap(content: bytes, line: str) -> bytes:
    """A pickle of a MACE model in which a line is put before the imports of every piece of source text."""
    for operation, value, at in reversed([*pickletools.genops(content)]):
        if operation.name == "BINUNICODE" and value.startswith("NoneType = type(None)"):
            end = at + 5 + len(value.encode())
            text = (line + value).encode()
            content = content[: at + 1] + len(text).to_bytes(4, "little") + text + content[end:]
    return content
