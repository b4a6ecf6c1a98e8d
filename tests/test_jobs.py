"""Equal jobs have equal keys, and any change of a job changes its key."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.configurations import cluster
from assay.jobs import Band, Dynamics, Job, Probe, Relaxation, SinglePoints, job_key, structures_of
from assay.structure import Structure

# Texts that could be confused with the separators of a poor hash.
tricky = st.sampled_from(["", "'", "int:1;", "list1", "map0", "str:'a';", "1;", "a", "None", "True", "array(1,)<f8"])
atoms_of_settings = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | tricky
nested = st.recursive(atoms_of_settings, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=8)


def crystal() -> Structure:
    cell = np.array([[3.0, 0.1, 0.0], [0.0, 3.2, 0.0], [0.2, 0.0, 3.4]])
    return replace(Structure.build([29, 79], [[0.0, 0.1, 0.2], [1.5, 1.6, 1.7]], cell, "TTF"), charge=0, spin=1)


def key(job: Job) -> str:
    return job_key(job, "fingerprint")


def probe_key(setting: object) -> str:
    return key(Probe("path", (), {"x": setting}))


def test_equal_jobs_have_an_equal_key() -> None:
    one, other = SinglePoints((crystal(), crystal())), SinglePoints((crystal(), crystal()))
    assert one.structures[0].positions is not other.structures[0].positions
    assert key(one) == key(other)
    assert set(key(one)) <= set("0123456789abcdef")


def test_the_layout_of_an_array_in_memory_does_not_matter() -> None:
    by_columns = replace(crystal(), positions=np.asfortranarray(crystal().positions))
    assert key(SinglePoints((by_columns,))) == key(SinglePoints((crystal(),)))


@given(st.integers(0, 5), st.sampled_from([-np.inf, np.inf]), st.sampled_from(["positions", "cell"]))
def test_the_smallest_change_of_any_coordinate_changes_the_key(place: int, towards: float, field: str) -> None:
    array = getattr(crystal(), field).copy()
    array.flat[place] = np.nextafter(array.flat[place], towards)
    assert key(SinglePoints((replace(crystal(), **{field: array}),))) != key(SinglePoints((crystal(),)))


CHANGED: list[Job] = [
    SinglePoints(()),
    SinglePoints((crystal(), crystal())),
    SinglePoints((crystal(),), ("energy", "forces", "stress")),
    SinglePoints((crystal(),), ("forces", "energy")),
    SinglePoints((replace(crystal(), pbc=(True, True, True)),)),
    SinglePoints((replace(crystal(), charge=None),)),
    SinglePoints((replace(crystal(), charge=1),)),
    SinglePoints((replace(crystal(), spin=None),)),
    SinglePoints((replace(crystal(), charge=1, spin=0),)),
    SinglePoints((crystal().reordered([1, 0]),)),
    SinglePoints((replace(crystal(), numbers=np.array([29, 78])),)),
    Probe("repeats", (crystal(),)),
    Probe("threads", (crystal(),)),
    Probe("threads", (crystal(),), {"threads": 2}),
    Probe("threads", (crystal(),), {"threads": 4}),
    Probe("threads", (crystal(),), {"rounds": 4}),
    Probe("threads", (crystal(),), {"rounds": 4.0}),
    Probe("threads", (crystal(),), {"rounds": "4"}),
    Relaxation(crystal()),
    Relaxation(crystal(), steps=501),
    Relaxation(crystal(), force_limit=0.02),
    Relaxation(crystal(), max_step=0.1),
    Relaxation(crystal(), "fire"),
    Dynamics(crystal()),
    Dynamics(crystal(), seed=1),
    Dynamics(crystal(), temperature=301.0),
    Band(crystal(), crystal()),
    Band(crystal(), crystal(), crystal()),
    Band(crystal(), crystal(), relax_ends=False),
    Band(crystal(), crystal(), ends_limit=0.01),
    Band(crystal(), crystal(), spring=0.2),
    Band(crystal(), crystal().reordered([1, 0])),
    Band(crystal().reordered([1, 0]), crystal()),
]


def test_jobs_that_differ_in_anything_have_different_keys() -> None:
    keys = [key(job) for job in [SinglePoints((crystal(),)), *CHANGED]]
    assert len(set(keys)) == len(keys)


def test_the_expected_cost_is_not_part_of_the_work() -> None:
    assert key(Probe("repeats", (crystal(),), {"a": 1}, 10)) == key(Probe("repeats", (crystal(),), {"a": 1}, 99))


def test_fingerprint_and_engine_settings_change_the_key() -> None:
    job = SinglePoints((crystal(),))
    keys = [
        job_key(job, "model"),
        job_key(job, "model2"),
        job_key(job, ""),
        job_key(job, "model", {"device": "cuda"}),
        job_key(job, "model", {"device": "cpu"}),
        job_key(job, "model", {"device": "cpu", "dtype": None}),
    ]
    assert len(set(keys)) == len(keys)
    assert job_key(job, "model", {}) == job_key(job, "model", None)


def test_the_order_of_settings_does_not_matter() -> None:
    assert key(Probe("a", (), {"x": 1, "y": 2})) == key(Probe("a", (), {"y": 2, "x": 1}))


@given(nested, nested)
def test_different_settings_never_share_a_key(one: object, other: object) -> None:
    assert (probe_key(one) == probe_key(other)) == (repr(one) == repr(other))


@given(st.lists(atoms_of_settings, min_size=2, max_size=4), st.integers(1, 3), st.integers(1, 3))
def test_the_same_items_in_other_groups_have_another_key(items: list[object], first: int, second: int) -> None:
    def groupings(at: int) -> list[object]:
        return [
            (*items[:at], tuple(items[at:])),
            (tuple(items[:at]), *items[at:]),
            (tuple(items[:at]), tuple(items[at:])),
        ]

    ways = [tuple(items), (tuple(items),), *groupings(first), *groupings(second)]
    assert len({probe_key(way) for way in ways}) == len({repr(way) for way in ways})


@given(st.lists(st.tuples(tricky, tricky), min_size=1, max_size=3, unique_by=lambda pair: pair[0]))
def test_names_and_values_of_settings_are_not_confused(pairs: list[tuple[str, str]]) -> None:
    settings: dict[str, object] = dict(pairs)
    swapped: dict[str, object] = {value: name for name, value in pairs}
    assert (key(Probe("a", (), settings)) == key(Probe("a", (), swapped))) == (settings == swapped)


@given(st.lists(st.floats(allow_nan=False), min_size=12, max_size=12))
def test_the_shape_of_an_array_changes_the_key(values: list[float]) -> None:
    flat = np.array(values)
    keys = {key(SinglePoints((replace(crystal(), positions=flat.reshape(shape)),))) for shape in [(4, 3), (3, 4), 12]}
    assert len(keys) == 3


def test_a_new_process_gives_the_same_key() -> None:
    code = (
        "from assay.configurations import cluster; from assay.jobs import Probe, job_key\n"
        "print(job_key(Probe('path', (cluster((29, 79)),), {'b': 1, 'a': (True, None, 0.1)}), 'model'))"
    )
    here = job_key(Probe("path", (cluster((29, 79)),), {"a": (True, None, 0.1), "b": 1}), "model")
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == here


@pytest.mark.parametrize(
    ("job", "calls", "count"),
    [
        (SinglePoints((crystal(), crystal(), crystal())), 3, 3),
        (Probe("repeats", (crystal(), crystal()), {}, 36), 36, 2),
        (Relaxation(crystal(), steps=70), 71, 1),
        (Dynamics(crystal(), steps=80), 81, 1),
        (Band(crystal(), crystal(), images=5, steps=10, ends_steps=20), 3 * 11 + 2 * 21, 2),
        (Band(crystal(), crystal(), images=5, steps=10, relax_ends=False), 3 * 11 + 2, 2),
        (Band(crystal(), crystal(), crystal(), images=5, steps=10, relax_ends=False), 3 * 11 + 2, 3),
    ],
)
def test_jobs_have_the_right_number_of_structures_and_evaluations(job: Job, calls: int, count: int) -> None:
    assert job.force_calls == calls
    assert len(structures_of(job)) == count


@pytest.mark.parametrize("job", [Relaxation(crystal(), steps=n) for n in (0, 5, 500)] + [Band(crystal(), crystal())])
def test_the_expected_number_of_evaluations_is_between_one_and_the_largest(job: Relaxation | Band) -> None:
    assert 1 <= job.expected_calls <= job.force_calls


def test_jobs_may_share_batches_unless_they_need_the_calculator() -> None:
    one = (crystal(),)
    assert [j.poolable for j in (SinglePoints(one), Relaxation(*one), Band(crystal(), crystal()))] == [True] * 3
    alone = (SinglePoints(one, alone=True), SinglePoints(one, ("energy", "stress")), Probe("path", one))
    assert [j.poolable for j in alone] == [False] * 3


def test_keys_tell_charges_and_directions_of_other_types_apart() -> None:
    """Keys of structures are put together from parts that are kept; equal numbers of other types are other parts."""
    body = Structure.build([29, 29], [[0.0, 0.0, 0.0], [0.0, 0.0, 2.5]])
    variants = [replace(body, charge=charge) for charge in (None, 0, 1)]
    variants += [replace(body, spin=spin) for spin in (1, 3)]
    variants += [replace(body, pbc=pbc) for pbc in ((True, False, False), (False, True, False), (1, 0, 0))]  # type: ignore[arg-type]
    keys = [job_key(SinglePoints((structure,)), "model") for structure in variants]
    assert len(set(keys)) == len(keys)
    assert keys == [job_key(SinglePoints((structure,)), "model") for structure in variants]
