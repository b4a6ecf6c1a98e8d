"""The engine gives what ASE gives, copies it, and turns every misbehaviour of a model into a reason."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.engines.evaluation import evaluate
from assay.errors import AssayError, ModelFailure
from assay.jobs import Dynamics, Job, Probe, SinglePoints
from assay.models.loading import load_model
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, no_point
from assay.structure import Structure, from_atoms
from toys import DIMER, Says, Spring, Toy, engine_of

ZERO = np.zeros((2, 3))
VOIGT = np.arange(1.0, 7.0)
TENSOR = np.array([[1.0, 6.0, 5.0], [6.0, 2.0, 4.0], [5.0, 4.0, 3.0]])
ALL = ("energy", "forces", "stress")


def rattled(seed: int, pbc: object = True, symbol: str = "Cu") -> Atoms:
    atoms = bulk(symbol, cubic=True)
    atoms.rattle(0.15, seed=seed)
    atoms.pbc = pbc
    return atoms


def reason(**results: object) -> str:
    """Why the results of a calculator are not taken."""
    with pytest.raises(ModelFailure) as failure:
        evaluate(Says(**results), DIMER, ALL)
    return str(failure.value)


def test_energy_forces_and_stress_are_those_of_plain_ase_whatever_came_before() -> None:
    engine = CalculatorEngine(load_model("emt"))
    structures = [rattled(seed, pbc) for seed in range(3) for pbc in (True, False, (True, True, False))]
    wider = rattled(3)
    wider.set_cell(1.1 * wider.cell.array)
    structures += [wider, rattled(4)[:3], rattled(5, symbol="Au"), Atoms("Cu")]
    for atoms in [*structures, *structures[::-1]]:
        plain = atoms.copy()
        plain.calc = EMT()
        point = engine.evaluate(from_atoms(atoms), ALL if atoms.pbc.all() else ("energy", "forces"))
        assert point.energy == plain.get_potential_energy()
        assert np.array_equal(point.forces, plain.get_forces())
        if atoms.pbc.all():
            assert point.stress is not None
            assert np.array_equal(point.stress, plain.get_stress())


def test_the_calculator_is_built_once_and_only_when_it_is_needed() -> None:
    built = []

    def build() -> Spring:
        built.append(1)
        return Spring()

    engine = engine_of(build)
    assert not built
    for _ in range(3):
        engine.evaluate(DIMER)
    assert len(built) == 1
    assert engine.calculator is engine.calculator


def test_charge_and_spin_reach_the_calculator_and_do_not_stay_there() -> None:
    seen = []

    class Watches(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            seen.append(dict(atoms.info))
            return super().answer(atoms)

    engine = engine_of(Watches)
    for charge, spin in ((1, 2), (None, None), (0, None)):
        engine.evaluate(Structure(DIMER.numbers, DIMER.positions, charge=charge, spin=spin))
    assert seen == [{"charge": 1, "spin": 2}, {}, {"charge": 0}]


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ({"forces": ZERO}, "returned no energy"),
        ({"energy": 1.0}, "returned no forces"),
        ({"energy": np.nan, "forces": ZERO}, "returned the energy nan"),
        ({"energy": -np.inf, "forces": ZERO}, "returned the energy -inf"),
        ({"energy": None, "forces": ZERO}, "returned the energy nan"),
        ({"energy": [1.0, 2.0], "forces": ZERO}, "returned an energy of shape (2,), expected one number"),
        ({"energy": 1.0, "forces": np.zeros((3, 3))}, "returned forces of shape (3, 3) for 2 atoms"),
        ({"energy": 1.0, "forces": np.zeros(6)}, "returned forces of shape (6,) for 2 atoms"),
        ({"energy": 1.0, "forces": None}, "returned forces of shape () for 2 atoms"),
        ({"energy": 1.0, "forces": np.full((2, 3), np.nan)}, "returned forces that are NaN or infinite"),
        ({"energy": 1.0, "forces": [[0, 0, 0], [0, 0, np.inf]]}, "returned forces that are NaN or infinite"),
        ({"energy": 1.0, "forces": ZERO, "stress": [1.0]}, "returned a stress of shape (1,), expected six"),
        ({"energy": 1.0, "forces": ZERO, "stress": np.full(6, np.nan)}, "returned a stress that is NaN or infinite"),
    ],
)
def test_results_that_are_not_finite_numbers_of_the_right_shape_are_a_failure(
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
def test_results_that_are_no_numbers_are_a_failure_of_the_model(results: dict[str, object]) -> None:
    assert reason(**results).startswith("returned")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("no parameters for Xx"), "refused: ValueError: no parameters for Xx"),
        (KeyError("Cu"), "refused: KeyError: 'Cu'"),
        (RuntimeError(), "refused: RuntimeError:"),
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


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_is_not_the_models_fault_goes_through(error: type[BaseException]) -> None:
    class Interrupted(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            raise error

    with pytest.raises(error):
        evaluate(Interrupted(), DIMER, ("energy",))


def test_nothing_stale_is_taken_from_a_calculator_that_computes_nothing() -> None:
    class Lazy(Spring):
        calls = 0

        def calculate(self, atoms: Atoms, properties: object = (), system_changes: object = ()) -> None:
            self.calls += 1
            if self.calls == 1:
                super().calculate(atoms)

    engine = engine_of(Lazy)
    engine.evaluate(DIMER)
    with pytest.raises(ModelFailure, match="returned no energy"):
        engine.evaluate(DIMER)


def test_results_are_copied_when_the_calculator_fills_its_buffer_again() -> None:
    class Buffered(Spring):
        buffers = np.zeros((2, 3)), np.zeros(6)

        def answer(self, atoms: Atoms) -> dict[str, object]:
            forces, stress = self.buffers
            forces[:] = -atoms.positions
            stress[:] = atoms.positions[1, 2]
            return {"energy": 0.0, "forces": forces, "stress": stress}

    engine = engine_of(Buffered)
    first = engine.evaluate(DIMER, ALL)
    engine.evaluate(DIMER.moved(2.0 * DIMER.positions), ALL)
    assert np.array_equal(first.forces, -DIMER.positions)
    assert first.stress is not None
    assert first.stress.tolist() == [2.5] * 6


@pytest.mark.parametrize("stress", [VOIGT, VOIGT.tolist(), TENSOR])
def test_stress_comes_in_voigt_order_also_from_a_tensor(stress: object) -> None:
    point = evaluate(Says(energy=0.0, forces=ZERO, stress=stress), DIMER, ALL)
    assert point.stress is not None
    assert np.array_equal(point.stress, VOIGT)


def test_stress_is_given_only_when_asked_for_and_where_there_is_one() -> None:
    assert evaluate(Says(energy=0.0, forces=ZERO, stress=VOIGT), DIMER, ("energy", "forces")).stress is None
    assert evaluate(Says(energy=0.0, forces=ZERO), DIMER, ALL).stress is None


def test_a_calculator_without_stress_is_not_asked_for_it() -> None:
    asked = []

    class NoStress(Spring):
        implemented_properties = ["energy", "forces"]  # noqa: RUF012

        def calculate(self, atoms: Atoms, properties: object = (), system_changes: object = ()) -> None:
            asked.append(properties)
            super().calculate(atoms)

    assert evaluate(NoStress(), DIMER, ALL).stress is None
    assert asked == [["energy", "forces"]]


@pytest.mark.parametrize("pbc", ["".join(p) for p in product("TF", repeat=3)])
def test_the_periodic_directions_of_what_was_evaluated_are_written_down(pbc: str) -> None:
    structure = Structure.build([29, 29], DIMER.positions, 9.0 * np.eye(3), pbc)
    assert engine_of(Spring).evaluate(structure).pbc == pbc


def test_periodic_directions_are_read_from_the_atoms_not_from_the_job() -> None:
    class Periodic(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            atoms.pbc = True
            return super().answer(atoms)

    assert engine_of(Periodic).evaluate(DIMER).pbc == "TTT"


class Centres(Spring):
    """Moves the atoms that it was given."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        atoms.positions -= atoms.positions.mean(axis=0)
        return super().answer(atoms)


def test_a_calculator_that_moves_the_atoms_is_noticed_and_does_no_harm() -> None:
    engine = engine_of(Centres)
    first = engine.evaluate(DIMER)
    assert engine.changed_inputs == 1
    assert engine.evaluate(DIMER).energy == first.energy
    assert engine.changed_inputs == 2
    assert DIMER.positions[0].tolist() == [0.0, 0.0, 0.0]
    honest = engine_of(Spring)
    honest.evaluate(DIMER)
    assert honest.changed_inputs == 0


def change_numbers(atoms: Atoms) -> None:
    atoms.numbers[0] = 1


def change_cell(atoms: Atoms) -> None:
    atoms.cell[0, 0] += 1.0


def change_pbc(atoms: Atoms) -> None:
    atoms.pbc = True


@pytest.mark.parametrize("change", [change_numbers, change_cell, change_pbc])
def test_a_calculator_that_changes_anything_else_is_noticed_and_does_no_harm(change) -> None:  # type: ignore[no-untyped-def]
    seen = []

    class Changes(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            seen.append((atoms.numbers.tolist(), atoms.cell.array.tolist(), atoms.pbc.tolist()))
            change(atoms)
            return super().answer(atoms)

    engine = engine_of(Changes)
    engine.evaluate(DIMER)
    engine.evaluate(DIMER)
    assert engine.changed_inputs == 2
    assert seen[0] == seen[1]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_precision_of_the_forces_is_written_down(kind: type) -> None:
    engine = engine_of(lambda: Says(energy=0.0, forces=ZERO.astype(kind)))
    point = engine.evaluate(DIMER)
    assert engine.used == {"precision": kind.__name__, "device": "cpu"}
    assert point.forces.dtype == np.float64


def test_a_calculator_with_public_methods_only_will_do() -> None:
    class Minimal:
        def get_potential_energy(self, atoms: Atoms) -> float:
            return 2.0 * len(atoms)

        def get_forces(self, atoms: Atoms) -> np.ndarray:
            return np.ones((len(atoms), 3))

    point = engine_of(Minimal).evaluate(DIMER, ALL)
    assert (point.energy, point.forces.tolist(), point.stress) == (4.0, [[1.0] * 3] * 2, None)


def test_a_calculator_with_public_methods_of_its_own_is_asked_through_them() -> None:
    """That is what users get, whatever `calculate` writes down."""

    class Shifted(Spring):
        def get_property(self, name: str, atoms: Atoms | None = None, allow_calculation: bool = True) -> object:
            value = super().get_property(name, atoms, allow_calculation)
            return value + 0.5 if name == "energy" else value

    engine = engine_of(Shifted)
    for factor in (1.0, 2.0, 1.0):
        structure = DIMER.moved(factor * DIMER.positions)
        point = engine.evaluate(structure)
        assert point.energy == pytest.approx(factor**2 * 6.25 + 0.5)
        assert np.array_equal(point.forces, -2.0 * structure.positions)


class Picky(Spring):
    """Refuses gold, and gives NaN for silver."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        if 79 in atoms.numbers:
            raise ValueError("no gold")
        energy = {"energy": np.nan} if 47 in atoms.numbers else {}
        return {**super().answer(atoms), **energy}


def test_one_bad_structure_leaves_the_others_of_its_job() -> None:
    structures = [Structure.build([z, z], DIMER.positions) for z in (29, 79, 28, 47)]
    outcome = engine_of(Picky).run("key", SinglePoints(tuple(structures)))
    assert (outcome.key, outcome.status) == ("key", FAILED)
    points = outcome.points()
    assert [p.reason for p in points] == ["", "refused: ValueError: no gold", "", "returned the energy nan"]
    assert [points[i].energy for i in (0, 2)] == [6.25, 6.25]
    assert [points[i].pbc for i in (0, 2)] == ["FFF", "FFF"]
    assert np.isnan(points[1].forces).all()
    assert points[1].forces.shape == (2, 3)
    assert outcome.reason == "2 of 4 structures: refused: ValueError: no gold"
    assert "no gold" in outcome.traceback


def test_a_good_job_says_who_computed_it_and_when() -> None:
    outcome = engine_of(Spring).run("key", SinglePoints((DIMER, DIMER)))
    assert (outcome.status, outcome.reason, outcome.traceback) == (OK, "", "")
    assert outcome.provenance["engine"] == "ase"
    assert outcome.provenance["finished"] >= outcome.provenance["started"] > 1e9
    assert outcome.provenance["cpu_seconds"] >= 0.0


@pytest.mark.parametrize("job", [Dynamics(DIMER), Probe("no_such_probe")])
def test_jobs_that_the_engine_does_not_know_end_in_error(job: Job) -> None:
    outcome = engine_of(Spring).run("key", job)
    assert (outcome.status, outcome.values) == (ERROR, {})
    assert (job.name if isinstance(job, Probe) else type(job).__name__) in outcome.reason
    assert "Traceback" in outcome.traceback


@pytest.mark.parametrize(
    ("error", "status", "expected"),
    [
        (Unsupported("has no batches"), UNSUPPORTED, "has no batches"),
        (ModelFailure("refused: no"), FAILED, "refused: no"),
        (MemoryError("3 GB"), ERROR, "out of memory: 3 GB"),
        (ZeroDivisionError("ours"), ERROR, "ZeroDivisionError: ours"),
        (AssayError("cannot be built"), ERROR, "AssayError: cannot be built"),
    ],
)
def test_what_a_probe_raises_decides_the_status(
    error: Exception, status: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
        raise error

    monkeypatch.setattr("assay.compute.probes.contact.run", run)
    outcome = engine_of(Spring).run("key", Probe("contact"))
    assert (outcome.status, outcome.reason) == (status, expected)
    assert bool(outcome.traceback) == (status != UNSUPPORTED)


def test_a_factory_that_fails_is_an_error_of_the_job() -> None:
    def build() -> Spring:
        raise OSError("weights not found")

    outcome = engine_of(build).run("key", SinglePoints((DIMER,)))
    assert (outcome.status, outcome.reason) == (ERROR, "OSError: weights not found")


def test_answered_structures_come_with_their_places() -> None:
    structures = [Structure.build([z, z], DIMER.positions) for z in (79, 29, 47, 28)]
    places, kept, points = engine_of(Picky).evaluate_accepted(structures)
    assert places == [1, 3]
    assert [s.numbers[0] for s in kept] == [29, 28]
    assert [p.energy for p in points] == [6.25, 6.25]
    with pytest.raises(ModelFailure, match="the model refused all 1 structures: refused: ValueError: no gold"):
        engine_of(Picky).evaluate_accepted(structures[:1])
    with pytest.raises(ModelFailure, match="no structures"):
        engine_of(Picky).evaluate_accepted([])


def test_many_compositions_do_not_confuse_the_engine() -> None:
    engine, rng = engine_of(Spring), np.random.default_rng(0)
    for i in [*range(1, 90), *range(1, 90)]:
        positions = rng.normal(size=(1 + i % 7, 3))
        point = engine.evaluate(Structure.build([i] * len(positions), positions))
        assert point.energy == pytest.approx((positions**2).sum())
        assert np.array_equal(point.forces, -2.0 * positions)


def test_the_place_of_a_missing_answer_is_kept() -> None:
    point = no_point(3, "refused: no")
    assert not point.ok
    assert np.isnan(point.energy)
    assert point.forces.shape == (3, 3)
