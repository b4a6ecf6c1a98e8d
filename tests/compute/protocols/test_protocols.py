"""Protocols receive their points in order, alone or together with other protocols."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from assay.compute.protocols import Requests, carry_out, protocol, side_by_side
from assay.errors import AssayError
from assay.jobs import Probe, SinglePoints
from assay.outcome import FAILED, OK, Point
from assay.structure import Structure


def numbered(value: float) -> Structure:
    return Structure.build([1], [[value, 0.0, 0.0]])


def by_position(structures: Sequence[Structure]) -> list[Point]:
    """Points whose energy is the x coordinate of the first atom."""
    return [Point(float(s.positions[0, 0]), np.zeros((len(s), 3))) for s in structures]


def requests(*rounds: tuple[float, ...]) -> Requests[list[list[float]]]:
    """Requests the structures of each round, and returns their energies."""
    energies = []
    for values in rounds:
        points = yield [numbered(value) for value in values]
        energies.append([point.energy for point in points])
    return energies


def test_a_protocol_receives_its_points_in_order() -> None:
    assert carry_out(requests((3.0, 1.0), (2.0,)), by_position) == [[3.0, 1.0], [2.0]]


def test_side_by_side_each_protocol_receives_its_own_points() -> None:
    rounds = [((1.0,), (2.0,), (3.0,)), ((4.0, 5.0),), (), ((6.0,), (7.0, 8.0))]
    evaluated = []

    def recording(structures: Sequence[Structure]) -> list[Point]:
        evaluated.append(sorted(float(s.positions[0, 0]) for s in structures))
        return by_position(structures)

    results = carry_out(side_by_side([requests(*r) for r in rounds]), recording)
    assert results == [[list(values) for values in r] for r in rounds]
    assert evaluated == [[1.0, 4.0, 5.0, 6.0], [2.0, 7.0, 8.0], [3.0]]


def test_one_refused_single_point_does_not_affect_the_others() -> None:
    job = SinglePoints(tuple(numbered(v) for v in (1.0, 2.0, 3.0)))
    assert carry_out(protocol(job), by_position).status == OK

    def refuses_the_second(structures: Sequence[Structure]) -> list[Point]:
        points = by_position(structures)
        points[1] = Point(float("nan"), np.full((1, 3), np.nan), reason="refused: no")
        return points

    ending = carry_out(protocol(job), refuses_the_second)
    assert (ending.status, ending.reason) == (FAILED, "1 of 3 structures: refused: no")
    assert np.asarray(ending.values["energy"])[[0, 2]].tolist() == [1.0, 3.0]


def test_no_structures_need_no_model() -> None:
    def never(structures: Sequence[Structure]) -> list[Point]:
        raise AssertionError("there is nothing to evaluate")

    assert carry_out(protocol(SinglePoints(())), never).status == OK


def test_a_job_without_a_protocol_is_an_error() -> None:
    with pytest.raises(AssayError, match="no protocol for Probe jobs"):
        protocol(Probe("path"))
