"""Protocols ask for points and get them back in order, alone or side by side with others."""

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


def places(structures: Sequence[Structure]) -> list[Point]:
    """The place of the first atom as the energy."""
    return [Point(float(s.positions[0, 0]), np.zeros((len(s), 3))) for s in structures]


def asks(*rounds: tuple[float, ...]) -> Requests[list[list[float]]]:
    """Asks for the structures of each round, and returns the energies."""
    seen = []
    for values in rounds:
        points = yield [numbered(value) for value in values]
        seen.append([point.energy for point in points])
    return seen


def test_a_protocol_gets_its_points_in_the_order_asked_for() -> None:
    assert carry_out(asks((3.0, 1.0), (2.0,)), places) == [[3.0, 1.0], [2.0]]


def test_side_by_side_each_protocol_gets_its_own_points() -> None:
    rounds = [((1.0,), (2.0,), (3.0,)), ((4.0, 5.0),), (), ((6.0,), (7.0, 8.0))]
    asked = []

    def watched(structures: Sequence[Structure]) -> list[Point]:
        asked.append(sorted(float(s.positions[0, 0]) for s in structures))
        return places(structures)

    results = carry_out(side_by_side([asks(*r) for r in rounds]), watched)
    assert results == [[list(values) for values in r] for r in rounds]
    assert asked == [[1.0, 4.0, 5.0, 6.0], [2.0, 7.0, 8.0], [3.0]]


def test_single_points_are_asked_for_at_once_and_one_refusal_leaves_the_others() -> None:
    job = SinglePoints(tuple(numbered(v) for v in (1.0, 2.0, 3.0)))
    assert carry_out(protocol(job), places).status == OK

    def refuses_the_second(structures: Sequence[Structure]) -> list[Point]:
        points = places(structures)
        points[1] = Point(float("nan"), np.full((1, 3), np.nan), reason="refused: no")
        return points

    ending = carry_out(protocol(job), refuses_the_second)
    assert (ending.status, ending.reason) == (FAILED, "1 of 3 structures: refused: no")
    assert np.asarray(ending.values["energy"])[[0, 2]].tolist() == [1.0, 3.0]


def test_no_structures_need_no_model() -> None:
    def never(structures: Sequence[Structure]) -> list[Point]:
        raise AssertionError("asked for nothing")

    assert carry_out(protocol(SinglePoints(())), never).status == OK


def test_a_job_without_a_protocol_is_an_error() -> None:
    with pytest.raises(AssayError, match="no protocol for Probe jobs"):
        protocol(Probe("path"))
