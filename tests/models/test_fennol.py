"""ANI-2x in JAX: padding changes no number, few shapes are compiled, and files run no code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ase.build import molecule

from assay.model import PERIODIC_PATTERNS
from assay.models import fennol
from assay.models._fennol_batch import FennolBatch, load_network
from assay.models._fennol_padding import closed_cell, padded_arrays, padded_size
from assay.structure import Structure, from_atoms
from assay.testing import (
    Tolerance,
    assert_charge_is_refused,
    assert_matches_upstream,
    assert_one_sentence,
    assert_refuses,
    skewed_cell,
    standard_structures,
)
from assay.testing.answers import answer_of
from families import checkpoint, opened

pytestmark = pytest.mark.family("fennol")

NAME = "ani-2x"


@pytest.mark.parametrize("kind", ["distorted ethanol", "cell TTT"])
def test_padding_gives_what_fennol_gives_without(kind: str) -> None:
    """FeNNol's calculator on arrays of exact size, of one structure."""
    from fennol.ase import FENNIXCalculator

    bare = FENNIXCalculator(str(checkpoint(NAME)), gpu_preprocessing=False)
    assert_matches_upstream(opened(NAME), bare, {kind: standard_structures()[kind]}, Tolerance(3e-6, 0.0, 1e-5, 0.0))


def test_an_answer_does_not_depend_on_earlier_ones() -> None:
    """To the last bit: arrays that stay large after a large system would change how sums are rounded."""
    slab, ethanol = skewed_cell(pbc="TTF").repeated((2, 2, 1)), standard_structures()["distorted ethanol"]
    structures = [skewed_cell(), ethanol, slab]
    used = opened(NAME).build()
    load_network.cache_clear()
    fresh = fennol.build(checkpoint(NAME))
    for structure in (skewed_cell().repeated((2, 2, 2)), from_atoms(molecule("C6H6")), *structures):
        answer_of(used, structure)
    for structure in structures:
        (energy, forces), (again, same) = answer_of(used, structure), answer_of(fresh, structure)
        assert energy == again
        np.testing.assert_array_equal(forces, same)


def test_many_sizes_and_compositions_compile_three_shapes() -> None:
    """From one atom to sixteen, whatever they are: arrays for 4, 8 and 16 atoms."""
    load_network.cache_clear()
    elements = opened(NAME).card.elements
    fresh = FennolBatch(checkpoint(NAME), elements)
    rng = np.random.default_rng(5)
    for count in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16):
        for spread in (1.0, 4.0):
            numbers = rng.choice(elements, count)  # type: ignore[arg-type]
            fresh.evaluate([Structure.build(numbers, rng.uniform(-spread, spread, (count, 3)))])
    assert fresh.network._energy_and_forces._cache_size() == 3


@pytest.mark.parametrize(("count", "size"), [(1, 4), (4, 4), (5, 8), (16, 16), (17, 24), (25, 32), (33, 48), (97, 128)])
def test_sizes_come_in_steps(count: int, size: int) -> None:
    assert padded_size(count) == size
    assert padded_size(size) == size


def test_padding_is_an_empty_system_of_no_element() -> None:
    water = from_atoms(molecule("H2O"))
    arrays = padded_arrays([water, water], 8, 4)
    assert arrays["natoms"].tolist() == [3, 3, 0, 0]
    assert arrays["species"].tolist() == [8, 1, 1, 8, 1, 1, -1, -1]
    assert arrays["batch_index"].tolist() == [0, 0, 0, 1, 1, 1, 3, 3]
    assert "cells" not in arrays


@pytest.mark.parametrize("pattern", PERIODIC_PATTERNS)
def test_the_cell_given_to_fennol_keeps_images_apart(pattern: str) -> None:
    body, cutoff = skewed_cell(pbc=pattern), 5.1
    closed = closed_cell(body, cutoff)
    periodic = np.array(body.pbc)
    np.testing.assert_array_equal(closed[periodic], body.cell[periodic])
    for vector in closed[~periodic]:
        assert np.linalg.norm(vector) > cutoff + np.ptp(body.positions @ vector) / np.linalg.norm(vector)
        assert np.abs(body.cell[periodic] @ vector).max() < 1e-9


def test_slabs_have_no_stress() -> None:
    calculator = opened(NAME).build()
    calculator.calculate(skewed_cell(pbc="TTF").to_atoms(), ["energy", "stress"])
    assert "stress" not in calculator.results


def test_charges_are_refused_and_zero_is_no_charge() -> None:
    assert_charge_is_refused(opened(NAME), match="neutral")


def test_elements_without_a_network_are_named() -> None:
    assert_refuses(opened(NAME), Structure.build([14, 1], [[0, 0, 0], [0, 0, 1.5]]), r"does not support Si \(Z = 14\)")


@pytest.mark.parametrize(
    "expression",
    [
        "().__class__.__base__.__subclasses__()",
        "jnp.load",
        "tanh if load('x') else tanh",
        "[tanh][0]",
        'getattr(nn, "x")',
    ],
)
def test_a_file_with_code_in_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expression: str) -> None:
    """FeNNol evaluates the names of activations, so an .fnx file is not as harmless as it looks."""
    from flax.serialization import msgpack_restore, msgpack_serialize

    monkeypatch.delenv("ASSAY_TRUST_CHECKPOINTS", raising=False)
    content = msgpack_restore(checkpoint(NAME).read_bytes())
    dict(content["modules"])["energy"]["activation"] = expression
    (tmp_path / "evil.fnx").write_bytes(msgpack_serialize(content))
    assert_one_sentence("fennol", tmp_path / "evil.fnx", "cannot be opened without running code from it")
    assert_one_sentence("fennol", tmp_path / "evil.fnx", "--trust-checkpoints")
