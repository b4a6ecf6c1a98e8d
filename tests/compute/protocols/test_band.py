"""A band finds the saddle point between two minima: its energy and its position."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.build import add_adsorbate, fcc100
from ase.calculators.emt import EMT
from ase.mep import NEB
from ase.optimize import FIRE

from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.protocols.band import first_path, rotates_freely
from assay.configurations import boxed
from assay.jobs import Band, Relaxation
from assay.models.loading import load_model
from assay.outcome import ERROR, FAILED, OK
from assay.structure import Floats, Structure, from_atoms
from toys import HCN, HNC, Toy, engine_of


class MuellerBrown(Toy):
    """The surface of Müller and Brown (1979) in the plane z = 0, in hundredths of its units, for one atom."""

    terms = np.array(
        [
            [-200.0, -1.0, 0.0, -10.0, 1.0, 0.0],
            [-100.0, -1.0, 0.0, -10.0, 0.0, 0.5],
            [-170.0, -6.5, 11.0, -6.5, -0.5, 1.5],
            [15.0, 0.7, 0.6, 0.7, -1.0, 1.0],
        ]
    )

    def answer(self, atoms: Atoms) -> dict[str, object]:
        x, y, z = atoms.positions[0]
        size, a, b, c, x0, y0 = self.terms.T
        parts = 0.01 * size * np.exp(a * (x - x0) ** 2 + b * (x - x0) * (y - y0) + c * (y - y0) ** 2)
        slope_x = (parts * (2.0 * a * (x - x0) + b * (y - y0))).sum()
        slope_y = (parts * (b * (x - x0) + 2.0 * c * (y - y0))).sum()
        return {"energy": parts.sum() + z**2, "forces": -np.array([[slope_x, slope_y, 2.0 * z]])}


def at(x: float, y: float) -> Structure:
    """One atom on a periodic surface, where images are not superposed."""
    return Structure.build([1], [[x, y, 0.0]], 50.0 * np.eye(3), "TTF")


@pytest.mark.parametrize("optimizer", ["fire", "fire-bfgs"])
@pytest.mark.parametrize("images", [7, 11])
def test_the_saddle_point_of_a_known_surface_is_found(optimizer: str, images: int) -> None:
    job = Band(at(-0.5, 1.4), at(0.6, 0.1), images=images, force_limit=0.01, ends_limit=0.001, optimizer=optimizer)
    outcome = engine_of(MuellerBrown).run("key", job)
    assert (outcome.status, outcome.reason) == (OK, "")
    values = outcome.values
    assert values["converged"] is True
    assert values["ends_converged"] == [True, True]
    assert values["energies"][0] == pytest.approx(-1.46700, abs=1e-4)
    assert values["barrier"] == pytest.approx(1.4670 - 0.40665, abs=1e-3)
    assert values["reaction_energy"] == pytest.approx(1.46700 - 1.08167, abs=1e-4)
    top = values["positions"][values["top"]]
    np.testing.assert_allclose(top, [[-0.822, 0.624, 0.0]], atol=0.01)


def test_the_saddle_point_of_an_adatom_is_the_bridge_site() -> None:
    """By symmetry a relaxation from the exact bridge site ends at the saddle point."""
    slab = fcc100("Al", size=(2, 2, 2), vacuum=6.0)
    slab.pbc = (True, True, False)

    def gold(site: str, shift: float = 0.0) -> Structure:
        atoms = slab.copy()
        add_adsorbate(atoms, "Au", 1.7, site)
        atoms.positions[-1, 0] += shift
        return from_atoms(atoms)

    engine = engine_of(EMT)
    spacing = float(slab.cell[0, 0]) / 2.0
    low, high = (engine.run("key", Relaxation(gold(site), force_limit=0.005)).values for site in ("hollow", "bridge"))
    outcome = engine.run("key", Band(gold("hollow"), gold("hollow", spacing), images=5, ends_limit=0.005))
    assert (outcome.status, outcome.reason) == (OK, "")
    assert outcome.values["converged"] is True
    expected = float(high["energy"]) - float(low["energy"])
    assert 0.2 < expected < 0.6
    assert outcome.values["barrier"] == pytest.approx(expected, abs=3e-3)
    assert outcome.values["reaction_energy"] == pytest.approx(0.0, abs=1e-3)
    assert outcome.values["top"] == 2


def test_images_move_as_in_ase() -> None:
    start = Structure.build([8, 1, 1], [[0.0, 0.0, 0.0], [0.9, 0.3, 0.0], [-0.4, 0.9, 0.1]])
    end = start.moved(np.array([[0.0, 0.1, 0.0], [0.8, -0.6, 0.1], [0.7, 0.9, -0.1]]))
    job = Band(start, end, images=6, steps=15, relax_ends=False, climb_below=0.0, force_limit=0.0, optimizer="fire")
    ours = engine_of(EMT).run("key", job)
    assert ours.status == OK
    images = [start.moved(positions).to_atoms() for positions in first_path(start, end, job)]
    for image in images:
        image.calc = EMT()
    band = NEB(images, k=0.1, method="improvedtangent", remove_rotation_and_translation=True)
    optimizer = FIRE(band, logfile=None, maxstep=0.2)
    optimizer.run(fmax=0.0, steps=15)
    np.testing.assert_allclose(ours.values["positions"], [image.positions for image in images], atol=1e-6)
    np.testing.assert_allclose(ours.values["energies"], [image.get_potential_energy() for image in images], atol=1e-7)


def curvatures_at(engine: CalculatorEngine, structure: Structure) -> Floats:
    """Eigenvalues of the Hessian (eV/Å²), by differences of forces."""
    size, step = structure.positions.size, 0.005
    rows = []
    for i in range(size):
        ends = []
        for sign in (1.0, -1.0):
            moved = structure.positions.copy()
            moved.flat[i] += sign * step
            ends.append(engine.evaluate(structure.moved(moved)).forces.ravel())
        rows.append((ends[1] - ends[0]) / (2.0 * step))
    hessian = np.array(rows)
    return np.linalg.eigvalsh(0.5 * (hessian + hessian.T))


@pytest.mark.parametrize("through", [None, HCN.moved(np.array([[1.1, 0.0, 0.6], [0.0, 0.0, 0.0], [0.0, 0.0, 1.18]]))])
def test_hydrogen_cyanide_turns_into_the_isocyanide_over_a_first_order_saddle_point(through: Structure | None) -> None:
    pytest.importorskip("tblite")
    engine = CalculatorEngine(load_model("gfn2-xtb"))
    outcome = engine.run("key", Band(HCN, HNC, through=through, images=7))
    assert (outcome.status, outcome.values["converged"]) == (OK, True)
    assert outcome.values["max_force"] < 0.05
    assert outcome.values["barrier"] == pytest.approx(3.175, abs=0.01)
    assert outcome.values["reaction_energy"] == pytest.approx(0.868, abs=0.005)
    top = HCN.moved(np.asarray(outcome.values["positions"])[outcome.values["top"]])
    curvatures = curvatures_at(engine, top)
    assert curvatures[0] < -1.0
    assert (np.abs(curvatures[1:7]) < 1.0).all()  # three translations and three rotations
    assert (curvatures[7:] > 5.0).all()
    assert outcome.values["energies"][outcome.values["top"]] == pytest.approx(engine.evaluate(top).energy, abs=1e-6)


def test_the_path_goes_through_the_structure_in_the_middle() -> None:
    middle = HCN.moved(np.array([[1.1, 0.0, 0.6], [0.0, 0.0, 0.0], [0.0, 0.0, 1.18]]))
    path = first_path(HCN, HNC, Band(HCN, HNC, through=middle, images=8))
    assert len(path) == 8
    distances = [np.linalg.norm(path[4][i] - path[4][j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    expected = [np.linalg.norm(middle.positions[i] - middle.positions[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(distances, expected, atol=1e-9)


def test_a_molecule_in_a_box_is_superposed_like_an_isolated_one() -> None:
    """Structures that were placed into boxes separately may have any position and orientation."""
    turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    turned = HNC.moved(HNC.positions @ turn)
    job = Band(HCN, turned, images=5, steps=10)
    boxes = Band(boxed(HCN), boxed(turned), images=5, steps=10)
    isolated, in_box = (engine_of(EMT).run("key", j).values for j in (job, boxes))
    np.testing.assert_allclose(isolated["energies"], in_box["energies"], atol=1e-4)
    assert np.ptp(np.diff(in_box["positions"], axis=0), axis=0).max() < 2.0


@pytest.mark.parametrize(("edge", "pbc", "free"), [(0.0, "FFF", True), (30.0, "TTT", True), (10.0, "TTT", False)])
def test_only_molecules_rotate_freely(edge: float, pbc: str, free: bool) -> None:
    cell = edge * np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.1, 1.0]])
    assert rotates_freely(Structure.build([1, 1], [[0.0, 0.0, 0.0], [0.0, 0.0, 3.0]], cell, pbc)) is free
    assert not rotates_freely(Structure.build([1], [[0.0, 0.0, 0.0]], 30.0 * np.eye(3), "TTF"))


def test_a_model_without_forces_has_no_barrier() -> None:
    outcome = engine_of(Toy).run("key", Band(HCN, HNC))
    assert (outcome.status, outcome.values["converged"], outcome.values["steps"]) == (OK, True, 0)
    assert (outcome.values["barrier"], outcome.values["max_force"]) == (0.0, 0.0)
    assert outcome.values["ends_steps"] == [0, 0]


class Limited(EMT):
    """EMT that raises after `enough` evaluations."""

    calls, enough = 0, 0

    def calculate(self, atoms=None, properties=("energy",), system_changes=()):  # type: ignore[no-untyped-def]
        self.calls += 1
        if self.calls > self.enough:
            raise RuntimeError("enough")
        super().calculate(atoms, properties, system_changes or ["positions", "numbers", "cell", "pbc"])


@pytest.mark.parametrize(
    ("calls", "reason", "steps"),
    [
        (0, "the start of the band, refused: RuntimeError: enough", None),
        (1, "the end of the band, refused: RuntimeError: enough", None),
        (2, "refused: RuntimeError: enough", None),
        (5, "after 1 steps: refused: RuntimeError: enough", 0),
        (8, "after 2 steps: refused: RuntimeError: enough", 1),
        (10, "after 2 steps: refused: RuntimeError: enough", 1),
    ],
)
def test_a_model_that_fails_ends_the_band_and_the_last_complete_band_is_stored(
    calls: int, reason: str, steps: int | None
) -> None:
    kind = type("LimitedTo", (Limited,), {"enough": calls})
    job = Band(HCN, HNC, images=5, relax_ends=False, climb_below=0.0, force_limit=0.0)
    outcome = engine_of(kind).run("key", job)
    assert (outcome.status, outcome.reason) == (FAILED, reason)
    assert outcome.values.get("steps") == steps
    if steps is not None:
        assert outcome.values["positions"].shape == (5, 3, 3)
        assert np.isfinite(outcome.values["energies"]).all()
        assert outcome.values["converged"] is False


def test_an_end_that_explodes_is_a_failure() -> None:
    class Repels(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            vectors = atoms.positions - atoms.positions.mean(axis=0)
            return {"energy": -float((vectors**2).sum()), "forces": 2.0 * vectors}

    outcome = engine_of(Repels).run("key", Band(HCN, HNC))
    assert outcome.status == FAILED
    assert outcome.reason.startswith("the start of the band, after")
    assert "exploded" in outcome.reason


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (Band(HCN, HNC.reordered([1, 0, 2])), "do not have the same atoms in the same order"),
        (Band(HCN, HNC, through=HNC.reordered([1, 0, 2])), "do not have the same atoms in the same order"),
        (Band(HCN, HNC, images=2), "a band of 2 images is too short; use 3 or more"),
        (Band(HCN, HNC, through=HCN, images=4), "a band of 4 images is too short; use 5 or more"),
    ],
)
def test_a_band_that_cannot_be_made_is_an_error(job: Band, reason: str) -> None:
    outcome = engine_of(Toy).run("key", job)
    assert outcome.status == ERROR
    assert reason in outcome.reason
