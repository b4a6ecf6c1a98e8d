"""A batch is divided into passes that cover it, and its arrays into the energy and forces of each structure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.models._batches import Answer, evaluate_groups, split_answers, split_passes, unpadded_answers
from assay.structure import Structure


def chain(atoms: int) -> Structure:
    return Structure.build([1] * atoms, np.arange(3.0 * atoms).reshape(-1, 3))


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=30), st.integers(1, 2000))
def test_passes_cover_all_structures_in_order_and_none_is_empty(sizes: list[int], pass_size: int) -> None:
    passes = split_passes(np.concatenate([[0], np.cumsum(sizes)]), pass_size)
    assert passes[0][0] == 0
    assert passes[-1][1] == len(sizes)
    assert all(start < stop for start, stop in passes)
    assert [stop for _, stop in passes[:-1]] == [start for start, _ in passes[1:]]


def test_structures_of_the_same_size_go_into_passes_of_the_same_size() -> None:
    assert split_passes(np.arange(0, 2001, 100), 500) == [(0, 5), (5, 10), (10, 15), (15, 20)]
    assert split_passes(np.arange(0, 2001, 100), 10_000) == [(0, 20)]


def test_there_is_no_empty_pass_after_a_large_last_structure() -> None:
    assert split_passes(np.array([0, 10, 20, 5000]), 600) == [(0, 3)]


def test_forces_of_all_atoms_are_divided_among_the_structures() -> None:
    forces = np.arange(18.0).reshape(6, 3)
    first, second = split_answers(np.array([1.0, 2.0]), forces, np.array([0, 2, 6]))
    assert (first[0], second[0]) == (1.0, 2.0)
    assert first[1].tolist() == forces[:2].tolist()
    assert second[1].tolist() == forces[2:].tolist()


def test_a_change_in_one_answer_does_not_change_the_arrays_of_the_batch() -> None:
    forces = np.zeros((3, 3))
    ((_, own),) = split_answers(np.array([1.0]), forces, np.array([0, 3]))
    own += 1.0
    assert not forces.any()


def test_added_atoms_are_left_out_of_the_forces() -> None:
    forces = np.arange(24.0).reshape(2, 4, 3)
    first, second = unpadded_answers([1.0, 2.0], forces, [chain(2), chain(4)])
    assert first[1].tolist() == forces[0, :2].tolist()
    assert second[1].tolist() == forces[1].tolist()


def test_answers_of_groups_come_in_the_order_of_the_structures() -> None:
    batches: list[list[int]] = []

    def evaluate(structures: list[Structure]) -> list[Answer]:
        batches.append([len(s) for s in structures])
        return [(float(len(s)), s.positions) for s in structures]

    answers = evaluate_groups([chain(n) for n in (1, 2, 3, 4)], [[3, 1], [], [0, 2]], evaluate)
    assert [energy for energy, _ in answers] == [1.0, 2.0, 3.0, 4.0]
    assert batches == [[4, 2], [1, 3]]


def test_a_group_with_too_few_answers_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        evaluate_groups([chain(1), chain(2)], [[0, 1]], lambda structures: [(0.0, np.zeros((1, 3)))])
