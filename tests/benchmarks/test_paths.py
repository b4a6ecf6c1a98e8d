"""The place of a jump is a distance that a user can look up, for clusters as for two atoms."""

from __future__ import annotations

import pytest

from assay.api import run
from assay.benchmark import Case
from assay.benchmarks.bases.paths import place_on_path
from assay.reasons import Reason, grouped


def test_a_cutoff_has_the_same_distance_for_two_atoms_and_in_clusters() -> None:
    report = run("assay.sabotage:discontinuous_at_cutoff", benchmarks=["energy_smooth"], elements=("Cu",), workers=0)
    (result,) = report.result.benchmarks
    failed = {o.case: o.reason for o in result.observations if o.values["error_over_tolerance"] > 1.0}
    assert set(failed) == {"Cu-Cu", "Cu-cluster", "Cu-cluster12"}
    assert all("at a Cu–Cu distance of 5.227 Å" in reason for reason in failed.values()), failed


@pytest.mark.parametrize(
    ("context", "jump", "words"),
    [
        ({"pair": "Al–Ni", "start": 1.5}, {}, "at an Al–Ni distance of 3.500 Å"),
        ({}, {"pair": [8, 29], "distance": 4.0, "crosses": True}, "at an O–Cu distance of 4.000 Å"),
        ({}, {"pair": [6, 6], "distance": 1.5, "crosses": False}, "where the shortest distance of the moved atom is a"),
        ({}, {}, "2.000 Å along the path mine"),
    ],
)
def test_places_are_distances(context: dict, jump: dict, words: str) -> None:
    assert place_on_path(Case("mine", {}, context), {"at": 2.0, **jump}).startswith(words)


def test_a_and_an_are_of_one_kind() -> None:
    copper, aluminium = ("energy jump at a Cu–Cu distance of 5.2 Å", "energy jump at an Al–Al distance of 5.877 Å")
    assert len(grouped([Reason("Cu-Cu", copper), Reason("Al-Al", aluminium)])) == 1
