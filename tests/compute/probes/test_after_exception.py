"""After an exception: old results are not returned for refused structures, nor wrong results after them."""

from __future__ import annotations

from typing import Any

import pytest
from ase import Atoms

from assay.compute.probes import after_exception
from assay.configurations import cluster
from assay.jobs import Probe
from assay.structure import Structure
from toys import CLUSTERS, Spring, engine_of


class RefusesGold(Spring):
    """Refuses gold; `kind` decides what happens afterwards: correct, old or wrong results."""

    kind = "sound"
    last: dict[str, object] | None = None
    refused = False

    def answer(self, atoms: Atoms) -> dict[str, object]:
        if 79 in atoms.numbers:
            self.refused = True
            if self.kind == "stale" and self.last is not None:
                return self.last
            raise ValueError("no gold")
        values = super().answer(atoms)
        if self.kind == "wrong" and self.refused:
            values["energy"] = values["energy"] + 0.125  # type: ignore[operator]
        self.refused, self.last = False, values
        return values


def measured(kind: str, bad: Structure) -> dict[str, Any]:
    def build() -> RefusesGold:
        calculator = RefusesGold()
        calculator.kind = kind
        return calculator

    return after_exception.run(engine_of(build), Probe("after_exception", (*CLUSTERS[:2], bad), {"bad": 1}))


GOLD = Structure.build([79] * 6, cluster((79,)).positions)


def test_a_sound_model_gives_no_old_results_after_a_refusal() -> None:
    values = measured("sound", GOLD)
    assert (values["energy"], values["forces"], values["answered"]) == (0.0, 0.0, [])
    assert values["refused"] == 4  # twice after each of two good structures
    assert values["natoms"] == 6


def test_old_results_for_a_refused_structure_are_found() -> None:
    values = measured("stale", GOLD)
    assert values["answered"]
    assert all(row["stale"] for row in values["answered"])


def test_a_wrong_result_after_a_refusal_is_measured() -> None:
    assert measured("wrong", GOLD)["energy"] == pytest.approx(0.125)


def test_a_new_result_is_not_an_old_one() -> None:
    values = measured("sound", cluster((28,)))
    assert values["answered"]
    assert not any(row["stale"] for row in values["answered"])


def test_a_cache_that_ignores_a_failure_is_found() -> None:
    class WrongCache(Spring):
        """Marks a structure as computed before the computation."""

        done: bytes = b""
        kept: dict[str, object]

        def calculate(self, atoms: Atoms, properties: object = (), system_changes: object = ()) -> None:
            self.atoms = atoms.copy()
            if self.done != atoms.positions.tobytes():
                self.done = atoms.positions.tobytes()
                if 79 in atoms.numbers:
                    raise ValueError("no gold")
                self.kept = self.answer(atoms)
            self.results = dict(self.kept)

    values = after_exception.run(engine_of(WrongCache), Probe("after_exception", (*CLUSTERS[:2], GOLD), {"bad": 1}))
    assert [row["stale"] for row in values["answered"]] == [True] * 4  # directly and by the public methods
    assert values["refused"] == 2
