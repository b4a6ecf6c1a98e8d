"""One evaluation: results are checked, and every error of a calculator becomes a reason."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from ase import Atoms

from assay import stopping
from assay.compute.engines.evaluation import evaluate
from assay.errors import MachineFailure, ModelFailure
from toys import DIMER, Says, Spring, Toy

ZERO = np.zeros((2, 3))
VOIGT = np.arange(1.0, 7.0)
TENSOR = np.array([[1.0, 6.0, 5.0], [6.0, 2.0, 4.0], [5.0, 4.0, 3.0]])
ALL = ("energy", "forces", "stress")


def reason(**results: object) -> str:
    """Why the results of a calculator are rejected."""
    with pytest.raises(ModelFailure) as failure:
        evaluate(Says(**results), DIMER, ALL)
    return str(failure.value)


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ({"forces": ZERO}, "returned no energy"),
        ({"energy": 1.0}, "returned no forces"),
        ({"energy": np.nan, "forces": ZERO}, "returned the energy nan"),
        ({"energy": -np.inf, "forces": ZERO}, "returned the energy -inf"),
        ({"energy": None, "forces": ZERO}, "returned no energy"),
        ({"energy": [1.0, 2.0], "forces": ZERO}, "returned an energy of shape (2,), expected one number"),
        ({"energy": 1.0, "forces": np.zeros((3, 3))}, "returned forces of shape (3, 3) for 2 atoms"),
        ({"energy": 1.0, "forces": np.zeros(6)}, "returned forces of shape (6,) for 2 atoms"),
        ({"energy": 1.0, "forces": None}, "returned no forces"),
        ({"energy": 1.0, "forces": np.full((2, 3), np.nan)}, "returned forces that are NaN or infinite"),
        ({"energy": 1.0, "forces": [[0, 0, 0], [0, 0, np.inf]]}, "returned forces that are NaN or infinite"),
        ({"energy": 1.0, "forces": ZERO, "stress": [1.0]}, "returned a stress of shape (1,), expected six"),
        ({"energy": 1.0, "forces": ZERO, "stress": np.full(6, np.nan)}, "returned a stress that is NaN or infinite"),
    ],
)
def test_results_that_are_nan_infinite_or_of_the_wrong_shape_are_a_failure(
    results: dict[str, object], expected: str
) -> None:
    assert reason(**results).startswith(expected)


@pytest.mark.parametrize(
    "results",
    [
        {"energy": "low", "forces": ZERO},
        {"energy": 1.0 + 1.0j, "forces": ZERO},
        {"energy": {}, "forces": ZERO},
        {"energy": 1.0, "forces": [[1.0, 2.0, 3.0], [1.0]]},
        {"energy": 1.0, "forces": "none"},
        {"energy": 1.0, "forces": ZERO, "stress": [[1.0], [1.0, 2.0]]},
    ],
)
def test_results_that_are_not_numbers_are_a_failure_of_the_model(results: dict[str, object]) -> None:
    assert reason(**results).startswith("returned")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("no parameters for Xx"), "refused: ValueError: no parameters for Xx"),
        (KeyError("Cu"), "refused: KeyError: 'Cu'"),
        (RuntimeError(), "refused: RuntimeError"),
        (ModelFailure("outside the tables"), "refused: outside the tables"),
        (AssertionError("odd"), "refused: AssertionError: odd"),
    ],
)
def test_a_calculator_that_raises_has_refused(error: Exception, expected: str) -> None:
    class Raises(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            raise error

    with pytest.raises(ModelFailure) as failure:
        evaluate(Raises(), DIMER, ("energy",))
    assert str(failure.value) == expected
    assert failure.value.__cause__ is error


@pytest.mark.parametrize(("error", "raised"), [(KeyboardInterrupt, KeyboardInterrupt), (MemoryError, MachineFailure)])
def test_errors_that_are_not_failures_of_the_model_are_raised(
    error: type[BaseException], raised: type[BaseException]
) -> None:
    class Interrupted(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            raise error

    with pytest.raises(raised):
        evaluate(Interrupted(), DIMER, ("energy",))


def test_a_message_of_three_megabytes_is_kept_as_a_short_reason() -> None:
    class Talkative(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            raise ValueError("no parameters " + 3_000_000 * "x")

    with pytest.raises(
        ModelFailure, match=r"^refused: ValueError: no parameters x+ … .2999014 characters left out"
    ) as f:
        evaluate(Talkative(), DIMER, ("energy",))
    assert len(str(f.value)) < 1100


@pytest.mark.parametrize("swallow", [True, False])
def test_a_request_to_stop_is_no_refusal_even_if_the_model_catches_everything(
    swallow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "_asked", [])

    class Catches(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            try:
                stopping._leave(signal.SIGTERM, None)
            except BaseException as error:
                if not swallow:
                    raise RuntimeError("something happened") from error
            return {"energy": 1.0, "forces": ZERO}

    model = Catches()
    with pytest.raises(stopping.Stopped) as stopped:
        _ = [evaluate(model, DIMER, ("energy",)) for _ in range(2)]
    assert stopped.value.exit_code == 143


@pytest.mark.parametrize("stress", [VOIGT, VOIGT.tolist(), TENSOR])
def test_stress_is_in_voigt_order_also_from_a_tensor(stress: object) -> None:
    point = evaluate(Says(energy=0.0, forces=ZERO, stress=stress), DIMER, ALL)
    assert point.stress is not None
    assert np.array_equal(point.stress, VOIGT)


def test_stress_is_returned_only_if_requested_and_supported() -> None:
    assert evaluate(Says(energy=0.0, forces=ZERO, stress=VOIGT), DIMER, ("energy", "forces")).stress is None
    assert evaluate(Says(energy=0.0, forces=ZERO), DIMER, ALL).stress is None


def test_stress_is_not_requested_from_a_calculator_without_it() -> None:
    requested = []

    class NoStress(Spring):
        implemented_properties = ["energy", "forces"]  # noqa: RUF012

        def calculate(self, atoms: Atoms, properties: object = (), system_changes: object = ()) -> None:
            requested.append(properties)
            super().calculate(atoms)

    assert evaluate(NoStress(), DIMER, ALL).stress is None
    assert requested == [["energy", "forces"]]
