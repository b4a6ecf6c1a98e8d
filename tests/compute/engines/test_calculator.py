"""The engine gives the same results as ASE, as copies, and every error of a model becomes a reason."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.errors import AssayError, ModelFailure
from assay.jobs import Dynamics, Job, Probe, SinglePoints
from assay.models.loading import load_model
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, no_point
from assay.structure import Structure, from_atoms
from toys import DIMER, Says, Spring, Toy, engine_of

ZERO = np.zeros((2, 3))
ALL = ("energy", "forces", "stress")


def rattled(seed: int, pbc: object = True, symbol: str = "Cu") -> Atoms:
    atoms = bulk(symbol, cubic=True)
    atoms.rattle(0.15, seed=seed)
    atoms.pbc = pbc
    return atoms


def test_energy_forces_and_stress_are_those_of_plain_ase_in_any_order_of_structures() -> None:
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


def test_charge_and_spin_are_passed_to_the_calculator_for_one_structure_only() -> None:
    infos = []

    class KeepsInfo(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            infos.append(dict(atoms.info))
            return super().answer(atoms)

    engine = engine_of(KeepsInfo)
    for charge, spin in ((1, 2), (None, None), (0, None)):
        engine.evaluate(Structure(DIMER.numbers, DIMER.positions, charge=charge, spin=spin))
    assert infos == [{"charge": 1, "spin": 2}, {}, {"charge": 0}]


def test_old_results_of_a_calculator_that_computes_nothing_are_not_used() -> None:
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


def test_results_are_copied_because_a_calculator_may_reuse_its_arrays() -> None:
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


@pytest.mark.parametrize("pbc", ["".join(p) for p in product("TF", repeat=3)])
def test_the_periodic_directions_of_an_evaluation_are_stored(pbc: str) -> None:
    structure = Structure.build([29, 29], DIMER.positions, 9.0 * np.eye(3), pbc)
    assert engine_of(Spring).evaluate(structure).pbc == pbc


def test_periodic_directions_are_read_from_the_atoms_not_from_the_job() -> None:
    class Periodic(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            atoms.pbc = True
            return super().answer(atoms)

    assert engine_of(Periodic).evaluate(DIMER).pbc == "TTT"


class Centres(Spring):
    """Moves the atoms that it evaluates."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        atoms.positions -= atoms.positions.mean(axis=0)
        return super().answer(atoms)


def test_a_calculator_that_moves_the_atoms_is_counted_and_has_no_effect_on_the_next_result() -> None:
    engine = engine_of(Centres)
    first = engine.evaluate(DIMER)
    assert engine.changed_inputs == 1
    assert engine.evaluate(DIMER).energy == first.energy
    assert engine.changed_inputs == 2
    assert DIMER.positions[0].tolist() == [0.0, 0.0, 0.0]
    correct = engine_of(Spring)
    correct.evaluate(DIMER)
    assert correct.changed_inputs == 0


def change_numbers(atoms: Atoms) -> None:
    atoms.numbers[0] = 1


def change_cell(atoms: Atoms) -> None:
    atoms.cell[0, 0] += 1.0


def change_pbc(atoms: Atoms) -> None:
    atoms.pbc = True


@pytest.mark.parametrize("change", [change_numbers, change_cell, change_pbc])
def test_a_calculator_that_changes_anything_else_is_counted_and_has_no_effect_on_the_next_result(change) -> None:  # type: ignore[no-untyped-def]
    inputs = []

    class Changes(Spring):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            inputs.append((atoms.numbers.tolist(), atoms.cell.array.tolist(), atoms.pbc.tolist()))
            change(atoms)
            return super().answer(atoms)

    engine = engine_of(Changes)
    engine.evaluate(DIMER)
    engine.evaluate(DIMER)
    assert engine.changed_inputs == 2
    assert inputs[0] == inputs[1]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_precision_of_the_forces_is_stored(kind: type) -> None:
    engine = engine_of(lambda: Says(energy=0.0, forces=ZERO.astype(kind)))
    point = engine.evaluate(DIMER)
    assert engine.used == {"precision": kind.__name__, "device": "cpu"}
    assert point.forces.dtype == np.float64


def test_a_calculator_with_only_public_methods_works() -> None:
    class Minimal:
        def get_potential_energy(self, atoms: Atoms) -> float:
            return 2.0 * len(atoms)

        def get_forces(self, atoms: Atoms) -> np.ndarray:
            return np.ones((len(atoms), 3))

    point = engine_of(Minimal).evaluate(DIMER, ALL)
    assert (point.energy, point.forces.tolist(), point.stress) == (4.0, [[1.0] * 3] * 2, None)


def test_a_calculator_with_its_own_public_methods_is_called_through_them() -> None:
    """Users call these methods, so their results count, not those of `calculate`."""

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


def test_one_refused_structure_does_not_affect_the_others_of_its_job() -> None:
    structures = [Structure.build([z, z], DIMER.positions) for z in (29, 79, 28, 47)]
    outcome = engine_of(Picky).run("key", SinglePoints(tuple(structures)))
    assert (outcome.key, outcome.status) == ("key", FAILED)
    points = outcome.points()
    assert [p.reason for p in points] == ["", "refused: ValueError: no gold", "", "returned the energy nan"]
    assert [points[i].energy for i in (0, 2)] == [6.25, 6.25]
    assert [points[i].pbc for i in (0, 2)] == ["FFF", "FFF"]
    assert np.isnan(points[1].forces).all()
    assert points[1].forces.shape == (2, 3)
    assert outcome.reason == "2 of 4 structures: 1 × refused: ValueError: no gold; 1 × returned the energy nan"
    assert "no gold" in outcome.traceback


def test_the_outcome_of_a_job_has_engine_and_times() -> None:
    outcome = engine_of(Spring).run("key", SinglePoints((DIMER, DIMER)))
    assert (outcome.status, outcome.reason, outcome.traceback) == (OK, "", "")
    assert outcome.provenance["engine"] == "ase"
    assert outcome.provenance["finished"] >= outcome.provenance["started"] > 1e9
    assert outcome.provenance["cpu_seconds"] >= 0.0


@pytest.mark.parametrize("job", [Dynamics(DIMER), Probe("no_such_probe")])
def test_jobs_that_the_engine_does_not_support_end_in_error(job: Job) -> None:
    outcome = engine_of(Spring).run("key", job)
    assert (outcome.status, outcome.values) == (ERROR, {})
    assert (job.name if isinstance(job, Probe) else type(job).__name__) in outcome.reason
    assert "Traceback" in outcome.traceback


@pytest.mark.parametrize(
    ("error", "status", "expected"),
    [
        (Unsupported("no batches"), UNSUPPORTED, "no batches"),
        (ModelFailure("refused: no"), FAILED, "refused: no"),
        (MemoryError("3 GB"), ERROR, "out of memory: 3 GB"),
        (ZeroDivisionError("ours"), ERROR, "ZeroDivisionError: ours"),
        (AssayError("cannot be built"), ERROR, "AssayError: cannot be built"),
    ],
)
def test_the_exception_of_a_probe_decides_the_status(
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


def test_accepted_structures_are_returned_with_their_indices() -> None:
    structures = [Structure.build([z, z], DIMER.positions) for z in (79, 29, 79, 28)]
    indices, accepted, points = engine_of(Picky).evaluate_accepted(structures)
    assert indices == [1, 3]
    assert [s.numbers[0] for s in accepted] == [29, 28]
    assert [p.energy for p in points] == [6.25, 6.25]
    with pytest.raises(ModelFailure, match="the model refused all 1 structures: refused: ValueError: no gold"):
        engine_of(Picky).evaluate_accepted(structures[:1])
    with pytest.raises(ModelFailure, match="no structures"):
        engine_of(Picky).evaluate_accepted([])


def test_nan_is_no_refusal_that_may_be_passed_over() -> None:
    structures = [Structure.build([z, z], DIMER.positions) for z in (79, 29, 47)]
    with pytest.raises(ModelFailure, match="returned the energy nan"):
        engine_of(Picky).evaluate_accepted(structures)


def test_many_compositions_give_correct_results() -> None:
    engine, rng = engine_of(Spring), np.random.default_rng(0)
    for i in [*range(1, 90), *range(1, 90)]:
        positions = rng.normal(size=(1 + i % 7, 3))
        point = engine.evaluate(Structure.build([i] * len(positions), positions))
        assert point.energy == pytest.approx((positions**2).sum())
        assert np.array_equal(point.forces, -2.0 * positions)


def test_a_missing_result_has_the_shape_of_its_structure() -> None:
    point = no_point(3, "refused: no")
    assert not point.ok
    assert np.isnan(point.energy)
    assert point.forces.shape == (3, 3)
