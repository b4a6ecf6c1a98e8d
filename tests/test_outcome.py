"""Points of a job are stored in a few arrays and read back as points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ModelFailure
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome, Point, pack_points
from assay.store import codec

reasons = st.sampled_from(["", "", "refused: ValueError: no", "returned the energy nan"])


@st.composite
def points(draw: st.DrawFn) -> Point:
    """A point of one to five atoms, with or without stress, or without a result."""
    count, reason = draw(st.integers(1, 5)), draw(reasons)
    if reason:
        return Point(float("nan"), np.full((count, 3), np.nan), None, reason)
    values = np.array(draw(st.lists(st.floats(-1e6, 1e6), min_size=3 * count + 7, max_size=3 * count + 7)))
    stress = values[-6:] if draw(st.booleans()) else None
    return Point(
        float(values[0]), values[1 : 3 * count + 1].reshape(-1, 3), stress, "", draw(st.sampled_from(["FFF", "TTF"]))
    )


def stored(outcome: Outcome) -> Outcome:
    """The outcome after writing and reading."""
    return Outcome(**codec.loads(codec.dumps(outcome.as_dict())))


@given(st.lists(points(), max_size=6))
def test_points_are_read_back_unchanged(original: list[Point]) -> None:
    packed = pack_points(original, [len(p.forces) for p in original])
    read = stored(Outcome("key", OK, packed)).points()
    assert len(read) == len(original)
    for a, b in zip(original, read, strict=True):
        assert (a.ok, a.reason, a.pbc) == (b.ok, b.reason, b.pbc)
        assert np.array_equal([a.energy], [b.energy], equal_nan=True)
        assert np.array_equal(a.forces, b.forces, equal_nan=True)
        assert (a.stress is None) == (b.stress is None)
        if a.stress is not None and b.stress is not None:
            assert np.array_equal(a.stress, b.stress)


def test_a_point_is_ok_unless_there_is_a_reason() -> None:
    forces = np.zeros((1, 3))
    assert Point(0.0, forces).ok
    assert not Point(0.0, forces, reason="refused: no").ok


def test_a_job_without_structures_has_no_points() -> None:
    assert stored(Outcome("key", OK, pack_points([], []))).points() == []


def test_an_outcome_is_read_back_unchanged() -> None:
    outcome = Outcome("key", FAILED, {"a": [1, {"b": None}]}, "the reason", "Traceback: …", {"finished": 12.5})
    assert stored(outcome) == outcome


def test_there_are_four_statuses() -> None:
    assert sorted({OK, FAILED, UNSUPPORTED, ERROR}) == ["error", "failed", "ok", "unsupported"]


@pytest.mark.parametrize("damage", [{"reasons": []}, {"pbc": "FFF"}])
def test_damaged_points_are_reported(damage: dict[str, object]) -> None:
    packed = pack_points([Point(1.0, np.zeros((1, 3)), pbc="FFF")], [1])
    with pytest.raises(ModelFailure, match="damaged"):
        Outcome("key", OK, {**packed, **damage}).points()
