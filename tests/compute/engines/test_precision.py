"""Precision and device are read from the calculator, for any place of its network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ase.build import molecule
from ase.calculators.emt import EMT
from ase.calculators.mixing import SumCalculator

from assay.api import run
from assay.compute.engines.precision import precision_and_device
from assay.errors import AssayError
from assay.models.loading import load_model
from assay.store import open_stores


class Tensor:
    """The attributes of a torch parameter."""

    def __init__(self, dtype: str, device: str, floating: bool = True) -> None:
        self.dtype, self.device, self.floating = dtype, device, floating

    def is_floating_point(self) -> bool:
        return self.floating


class Network:
    """The attributes of a torch module."""

    def __init__(self, *parameters: Tensor) -> None:
        self.tensors = parameters

    def parameters(self) -> object:
        return iter(self.tensors)


class Holder:
    """An object with any attributes."""

    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)


NETWORK = Network(Tensor("torch.int64", "cpu", floating=False), Tensor("torch.float32", "cuda"))


@pytest.mark.parametrize(
    "calculator",
    [
        Holder(results={}, model=NETWORK),
        Holder(models=[NETWORK, Network(Tensor("torch.float64", "cpu"))]),
        Holder(potential=Holder(model=NETWORK)),
    ],
    ids=["model", "list of models", "one level down"],
)
def test_precision_and_device_are_those_of_the_network(calculator: object) -> None:
    assert precision_and_device(calculator) == {"precision": "float32", "device": "cuda"}


def test_the_values_of_the_adapter_come_first() -> None:
    stated = {"precision": "float32", "device": "gpu"}
    assert precision_and_device(Holder(model=NETWORK, as_used=stated)) == stated


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_without_a_network_the_precision_is_that_of_the_forces(dtype: str) -> None:
    forces = np.zeros((2, 3), dtype=dtype)
    assert precision_and_device(Holder(results={"forces": forces})) == {"precision": dtype, "device": "cpu"}


def test_a_calculator_without_any_of_these_is_no_error() -> None:
    assert precision_and_device(Holder(results={}, parameters=3, model=Network())) == {"precision": "", "device": "cpu"}
    atoms = molecule("CO")
    atoms.calc = EMT()
    atoms.get_forces()
    assert precision_and_device(atoms.calc) == {"precision": "float64", "device": "cpu"}


def test_outcomes_have_precision_and_device(tmp_path: Path) -> None:
    run("lj", benchmarks=["net_force_zero"], output=tmp_path, workers=0)
    (store,) = open_stores(tmp_path)
    for outcome in store.outcomes().values():
        assert outcome.provenance["device"] == "cpu"
        assert outcome.provenance["precision"] == "float64"
    assert store.read_model()["survey"]["used"] == {"precision": "float64", "device": "cpu"}


def test_a_device_that_a_model_cannot_use_is_refused_in_one_sentence() -> None:
    with pytest.raises(AssayError, match="model 'emt' runs on cpu only; leave out --device cuda"):
        load_model("emt", "cuda")
    with pytest.raises(AssayError, match="can only be chosen for models given by name"):
        load_model(EMT(), "cuda")
    with pytest.raises(AssayError, match="takes no parameter 'device'"):
        load_model("assay.models.classical:build_emt", "cuda")


def test_a_factory_gets_the_device(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from ase.calculators.emt import EMT\ndevices = []\ndef build(device='x'):\n"
                    "    devices.append(device)\n    return EMT()\n")  # fmt: skip
    model = load_model(f"{path}:build", "cuda")
    calculator = model.build()
    assert isinstance(calculator, EMT)
    assert model.build.func.__globals__["devices"] == ["cuda"]
    assert model.reference is not None
    assert model.reference.device == "cuda"
    assert model.fingerprint != load_model(f"{path}:build").fingerprint


def test_a_sum_is_as_precise_as_its_least_precise_part() -> None:
    single = EMT()
    single.as_used = {"precision": "float32", "device": "cuda"}  # type: ignore[attr-defined]
    for calculator in (SumCalculator([EMT(), single]), Holder(inner=[Holder(calcs=[EMT(), single])]), Holder(c=single)):
        assert precision_and_device(calculator) == {"precision": "float32", "device": "cuda"}
    assert precision_and_device(SumCalculator([EMT(), EMT()]))["precision"] in ("", "float64")
