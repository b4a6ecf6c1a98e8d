"""Noise has the stated size, and results depend on earlier calls, the process or other threads as stated."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from assay.sabotage import BROKEN, CopperGold
from assay.sabotage.broken import state
from sabotage.structures import Build, cluster, crystal, difference, values


@pytest.mark.parametrize(("name", "in_energy", "in_forces"), [("noise", 1e-4, 1e-4), ("tiny_noise", 1e-7, 1e-6)])
def test_noise_has_the_stated_size(name: str, in_energy: float, in_forces: float) -> None:
    (e, f), calculator = values(CopperGold(), cluster()), BROKEN[name].build()
    samples = [values(calculator, cluster()) for _ in range(300)]
    assert np.std([sample[0] - e for sample in samples]) == pytest.approx(in_energy, rel=0.3)
    assert np.std([sample[1] - f for sample in samples]) == pytest.approx(in_forces, rel=0.1)


def test_pure_noise_does_not_depend_on_the_structure() -> None:
    calculator = BROKEN["pure_noise"].build()
    samples = [values(calculator, cluster(seed)) for seed in range(300)]
    assert np.std([e for e, _ in samples]) == pytest.approx(10.0, rel=0.3)
    assert np.std([f for _, f in samples]) == pytest.approx(10.0, rel=0.1)


def test_noise_is_the_same_in_every_run_of_the_tests() -> None:
    """The fixture in `conftest.py` seeds it, so no test of a random model depends on chance."""
    first = state.noise_generator().standard_normal()
    assert first == np.random.default_rng(0).standard_normal()
    assert state.noise_generator().standard_normal() != first


def test_stale_values_are_those_of_the_structure_before() -> None:
    calculator = BROKEN["stale_after_exception"].build()
    with pytest.raises(ValueError, match="'Pt'"):
        values(calculator, cluster(symbols="Pt8"))
    good = values(calculator, cluster())
    assert difference(values(calculator, cluster(symbols="Pt8")), good) == 0.0


def test_values_are_stale_until_an_atom_has_moved_far_enough() -> None:
    calculator, far = BROKEN["stale_small_moves"].build(), cluster()
    values(calculator, cluster())
    far.positions[0, 0] += 2e-3
    assert difference(values(calculator, far), values(CopperGold(), far)) == 0.0
    assert difference(values(calculator, crystal()), values(CopperGold(), crystal())) == 0.0


def energy_in_process(hash_seed: str) -> float:
    """Energy (eV) of one atom in a new interpreter."""
    code = (
        "from ase import Atoms; from assay.sabotage import BROKEN\n"
        "print(BROKEN['process_dependent'].build().get_potential_energy(Atoms('Cu')))"
    )
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed}
    return float(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True).stdout)


def test_the_energy_depends_on_the_hash_seed_of_the_process() -> None:
    first, second, again = (energy_in_process(seed) for seed in ("1", "2", "1"))
    assert first == again
    assert 1e-7 < abs(first - second) < 1e-5


def wrong_in_threads(build: Build) -> int:
    """Number of wrong results when two threads with their own calculators evaluate different structures."""
    structures = [cluster(0)[:5], cluster(1)]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda atoms: values(build(), atoms), structures))
    return sum(difference(r, values(CopperGold(), a)) > 0.0 for r, a in zip(results, structures, strict=True))


def test_one_of_two_threads_evaluates_the_structure_of_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread waits until both have written the shared positions, so the result does not depend on timing."""
    assert wrong_in_threads(CopperGold) == 0
    both_have_written = threading.Barrier(2, timeout=1800.0)
    monkeypatch.setattr(state, "time", SimpleNamespace(sleep=lambda seconds: both_have_written.wait()))
    assert wrong_in_threads(BROKEN["not_thread_safe"].build) == 1


@pytest.mark.parametrize("name", ["nan_now_and_then", "refuses_now_and_then"])
def test_every_fiftieth_call_and_no_other_has_no_answer(name: str) -> None:
    calculator, sound, wrong = BROKEN[name].build(), values(CopperGold(), cluster()), []
    for call in range(1, 151):
        try:
            right = difference(values(calculator, cluster()), sound) == 0.0
        except RuntimeError:
            right = False
        wrong += [] if right else [call]
    assert wrong == [50, 100, 150]
