"""Values in the store are read back exactly, and the text is JSON that any program can read."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.store import codec

KINDS = (np.float64, np.float32, np.int64, np.bool_)
arrays = st.sampled_from(KINDS).flatmap(lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=1, min_side=0)))
numbers = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


def containers(inner: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(inner) | st.dictionaries(st.text(), inner)


documents = st.recursive(numbers, containers, max_leaves=20)


def strict(text: str) -> object:
    """Read JSON as a strict reader does: NaN and Infinity are not numbers."""

    def refuse(name: str) -> object:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def same_bits(a: np.ndarray, b: object) -> bool:
    return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@given(arrays)
def test_an_array_is_read_back_exactly(array: np.ndarray) -> None:
    text = codec.dumps({"deep": [{"array": array}]})
    strict(text)
    assert same_bits(array, codec.loads(text)["deep"][0]["array"])


def test_nan_and_infinity_inside_an_array_are_kept() -> None:
    array = np.array([1.0, np.nan, np.inf, -np.inf, -0.0])
    assert same_bits(array, codec.loads(codec.dumps(array)))


def test_an_array_without_dimensions_keeps_its_shape() -> None:
    assert same_bits(np.array(1.5), codec.loads(codec.dumps(np.array(1.5))))


def test_transposed_and_big_endian_arrays_have_the_same_values() -> None:
    array = np.arange(6.0).reshape(2, 3)
    for other in (array.T.copy().T, np.asfortranarray(array), array.astype(">f8"), array[::-1][::-1]):
        assert same_bits(array, codec.loads(codec.dumps(other)))


@pytest.mark.parametrize("kind", [np.int32, np.int8, np.uint16, np.float16])
def test_smaller_number_types_keep_their_values(kind: type) -> None:
    array = np.array([0, 1, 100], dtype=kind)
    read = codec.loads(codec.dumps(array))
    assert isinstance(read, np.ndarray)
    assert read.tolist() == [0, 1, 100]


@given(documents)
def test_documents_without_arrays_are_read_back_equal(document: object) -> None:
    text = codec.dumps(document)
    assert "\n" not in text
    assert codec.loads(text) == document
    assert strict(text) == document


@given(st.floats())
def test_a_float_outside_an_array_is_exact_or_null(value: float) -> None:
    for number in (value, np.float64(value)):
        read = strict(codec.dumps({"value": number}))["value"]
        assert read == value if math.isfinite(value) else read is None


def test_numpy_scalars_and_tuples_become_ordinary_data() -> None:
    document = {1: (np.int64(3), np.bool_(True), np.float32(0.5)), "nan": [np.float32("nan")]}
    assert strict(codec.dumps(document)) == {"1": [3, True, 0.5], "nan": [None]}


@pytest.mark.parametrize("kind", ["|O", "<U3", "|S4", "<f2", "<c16", ">f8", "<M8[s]", "", None])
def test_array_types_that_assay_never_writes_are_rejected(kind: str | None) -> None:
    with pytest.raises(ValueError, match="unknown type"):
        codec.loads(json.dumps({"__array__": [kind, [1], "AAAAAAAAAAA="]}))


@pytest.mark.parametrize(
    "packed", [["<f8", [2], "AAAAAAAAAAA="], ["<f8", [1], "AAAA"], ["<f8", [1], "A"], ["<f8"], "text"]
)
def test_a_damaged_array_is_a_value_error(packed: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        codec.loads(json.dumps({"__array__": packed}))


@pytest.mark.parametrize("packed", [3, True, ["<f8", "x", "AAAAAAAAAAA="], ["<f8", [1], 7]])
def test_other_values_in_place_of_an_array_are_a_value_error(packed: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        codec.loads(json.dumps({"__array__": packed}))


def test_a_table_that_only_resembles_an_array_stays_a_table() -> None:
    table = {"__array__": ["<f8", [1], "AAAAAAAAAAA="], "more": 1}
    assert codec.loads(json.dumps(table)) == table


def test_plain_data_has_lists_and_null() -> None:
    value = {
        1: np.array([[1.0, np.nan]]),
        "scalar": np.float64("inf"),
        "tuple": (1, 2.5, "x", None, True),
        "set": {3},
        "deep": [{"a": {"b": -math.inf}}],
    }
    assert codec.plain(value) == {
        "1": [[1.0, None]],
        "scalar": None,
        "tuple": [1, 2.5, "x", None, True],
        "set": [3],
        "deep": [{"a": {"b": None}}],
    }


@given(
    st.recursive(st.floats() | arrays, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
)
def test_plain_data_is_always_strict_json(value: object) -> None:
    plain = codec.plain(value)
    assert strict(json.dumps(plain, allow_nan=False)) == plain
