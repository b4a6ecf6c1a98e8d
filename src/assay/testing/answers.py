"""Answers of a model, alone and in a batch, and how far two answers may be apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from assay.errors import ModelFailure
from assay.model import BatchEvaluator, Model
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

Answer = tuple[float, Floats]
"""Energy (eV) and forces (eV/Å) of one structure."""

Structures = Mapping[str, Structure]
"""Structures by the names under which messages report them."""


@dataclass(frozen=True)
class Tolerance:
    """How far two answers to the same structure may be apart.

    Energies may differ by `energy` (eV) plus `relative_energy` times the energy, and forces by `force` (eV/Å) plus
    `relative_force` times the largest force component of the structure.
    """

    energy: float = 0.0
    relative_energy: float = 0.0
    force: float = 0.0
    relative_force: float = 0.0

    def excess(self, answer: Answer, expected: Answer) -> float:
        """The larger of the two deviations, in units of what is allowed; infinite where a number is NaN."""
        energy, forces = abs(answer[0] - expected[0]), _largest(answer[1] - expected[1])
        ratios = [_ratio(energy, self.energy_allowed(expected)), _ratio(forces, self.force_allowed(expected))]
        return max(ratios)

    def energy_allowed(self, expected: Answer) -> float:
        """The largest deviation of the energy (eV) that is allowed."""
        return self.energy + self.relative_energy * abs(expected[0])

    def force_allowed(self, expected: Answer) -> float:
        """The largest deviation of a force component (eV/Å) that is allowed."""
        return self.force + self.relative_force * _largest(expected[1])


ROUNDING = {
    "float64": Tolerance(1e-8, 1e-9, 1e-8, 1e-9),
    "float32": Tolerance(5e-5, 2e-6, 1e-4, 5e-5),
}
"""What rounding errors of a whole network amount to in each precision."""


def tolerance_of(model: Model) -> Tolerance:
    """What rounding errors allow in the precision that the model claims; single precision where it claims none."""
    return ROUNDING.get(model.card.precision or "", ROUNDING["float32"])


def _largest(forces: Floats) -> float:
    return float(np.abs(forces).max(initial=0.0)) if not np.isnan(forces).any() else np.nan


def _ratio(deviation: float, allowed: float) -> float:
    if np.isnan(deviation):
        return np.inf
    return deviation / allowed if allowed > 0.0 else (0.0 if deviation == 0.0 else np.inf)


def answer_of(calculator: Calculator, structure: Structure) -> Answer:
    """The answer of a calculator to one structure; `ModelFailure` if it refuses or returns NaN or infinite numbers."""
    from assay.compute.engines.calculator import evaluate

    point = evaluate(calculator, structure, ("energy", "forces"))
    return point.energy, point.forces


def single_answers(model: Model, structures: Structures) -> dict[str, Answer]:
    """The answers of the model's calculator, one structure at a time."""
    calculator, found = model.build(), {}
    for name, structure in structures.items():
        try:
            found[name] = answer_of(calculator, structure)
        except ModelFailure as failure:
            fail(model, f"'{name}' is not answered: {failure}")
    return found


def batch_answers(evaluator: BatchEvaluator, structures: Sequence[Structure]) -> list[Answer]:
    """The answers of a batch evaluator; `AssertionError` if their number, kind or shape is wrong."""
    found = list(evaluator.evaluate(structures))
    if len(found) != len(structures):
        raise AssertionError(f"a batch of {len(structures)} structures gives {len(found)} answers")
    for structure, (_, forces) in zip(structures, found, strict=True):
        kind, shape = getattr(forces, "dtype", type(forces).__name__), np.shape(forces)
        if kind != np.float64 or shape != (len(structure), 3):
            raise AssertionError(
                f"a batch gives forces of kind {kind} and shape {shape}, expected float64 and ({len(structure)}, 3)"
            )
    return [(float(energy), forces) for energy, forces in found]


def batch_of(model: Model) -> BatchEvaluator:
    """The model's batch evaluator; `AssertionError` if it has none."""
    if model.build_batch is None:
        fail(model, "it has no batch evaluator")
    return model.build_batch()


def assert_same(model: Model, rows: Iterable[tuple[str, Answer, Answer]], tolerance: Tolerance, words: str) -> None:
    """Fail where an answer differs from what is expected; rows are a name, the answer and what is expected."""
    rows = list(rows)
    wrong = [(tolerance.excess(answer, expected), name) for name, answer, expected in rows]
    bad = [(excess, name) for excess, name in wrong if excess > 1.0]
    if not bad:
        return
    worst = max(bad)[1]
    answer, expected = next((a, e) for name, a, e in rows if name == worst)
    fail(
        model,
        f"{len(bad)} of {len(rows)} structures differ {words}; the worst is '{worst}': "
        f"energy {answer[0]:.9g} eV, expected {expected[0]:.9g} eV (allowed {tolerance.energy_allowed(expected):.1e}); "
        f"forces differ by up to {_largest(answer[1] - expected[1]):.2g} eV/Å "
        f"(allowed {tolerance.force_allowed(expected):.1e})",
    )


def fail(model: Model, message: str) -> NoReturn:
    """Raise an `AssertionError` that names the model."""
    raise AssertionError(f"model '{model.name}': {message}")
