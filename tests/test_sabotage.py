"""Every broken model has the bug it is named for, and no other that direct measurements can see.

Each measurement gives the size of one kind of error, computed here and not by Assay's checks. `SEEN` says for every
model which of them must see the bug, and which may as a consequence; all others must stay at the level of sound code.
"""

import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from scipy.spatial.transform import Rotation

from assay import sabotage
from assay.benchmarks.registry import registered_benchmarks
from assay.sabotage import BROKEN, SOUND
from assay.sound import BOND, Oracle, SoundPotential
from assay.structure import from_atoms

Build = Callable[[], Calculator]
Measure = Callable[[Build], float]
KCAL = 23.060548  # kcal/mol in one eV
CELL = np.array([[4.1, 0.0, 0.0], [1.3, 3.9, 0.0], [-0.9, 1.7, 3.7]])
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # central difference, error of order step^8
STEPS = 0.02 * np.array([k * sign for k in STENCIL for sign in (1, -1)])
WEIGHTS = np.array([c * sign for c in STENCIL.values() for sign in (1, -1)]) / 0.02


class CuAu(SoundPotential):
    """The sound potential with the claims of the broken ones."""

    claims = ("Cu", "Au")


def cluster(seed: int = 0, symbols: str = "Cu4Au4") -> Atoms:
    """Eight atoms on the distorted corners of a cube of 2.8 Å."""
    corners = 2.8 * np.array(list(product((0, 1), repeat=3)))
    return Atoms(symbols, positions=corners + np.random.default_rng(seed).uniform(-0.4, 0.4, (8, 3)))


def crystal(pbc: object = True) -> Atoms:
    """Four atoms of a distorted, skewed, face-centred cell; all of them inside the cell, edges below the cutoff."""
    sites = np.array([[0.1, 0.1, 0.1], [0.6, 0.6, 0.1], [0.6, 0.1, 0.6], [0.1, 0.6, 0.6]])
    shifts = np.random.default_rng(0).uniform(-0.07, 0.07, (4, 3))
    return Atoms("Cu2Au2", cell=CELL, scaled_positions=sites + shifts, pbc=pbc)


def values(calculator: Calculator, atoms: Atoms) -> tuple[float, np.ndarray]:
    """Energy and forces of a copy, so that no model can change the structure of a measurement."""
    calculator.calculate(atoms.copy(), ["energy", "forces"], all_changes)
    return calculator.results["energy"], np.array(calculator.results["forces"], dtype=float)


def energy(build: Build, atoms: Atoms) -> float:
    return values(build(), atoms)[0]


def moved(atoms: Atoms, positions: np.ndarray) -> Atoms:
    copy = atoms.copy()
    copy.positions = positions
    return copy


def difference(a: tuple[float, np.ndarray], b: tuple[float, np.ndarray]) -> float:
    return float(max(abs(a[0] - b[0]), np.abs(a[1] - b[1]).max()))


def directions() -> np.ndarray:
    found = np.random.default_rng(5).standard_normal((3, 8, 3))
    return found / np.linalg.norm(found, axis=(1, 2), keepdims=True)


def forces_against_energy(build: Build) -> float:
    """Force along a direction minus the derivative of the energy (eV/Å)."""
    atoms, errors = cluster(), []
    for d in directions():
        energies = [energy(build, moved(atoms, atoms.positions + s * d)) for s in STEPS]
        errors.append(WEIGHTS @ energies + (values(build(), atoms)[1] * d).sum())
    return float(np.abs(errors).max())


def curl_of_forces(build: Build) -> float:
    """Asymmetry of the force derivatives (eV/Å²), which is zero for every gradient."""
    atoms, (u, v, _) = cluster(), directions()

    def derivative(d: np.ndarray) -> np.ndarray:
        shifted = [values(build(), moved(atoms, atoms.positions + s * d))[1] for s in STEPS]
        return np.tensordot(WEIGHTS, np.array(shifted), axes=1)

    return float(abs((v * derivative(u)).sum() - (u * derivative(v)).sum()))


def stress_against_energy(build: Build) -> float:
    """Stress minus the strain derivative of the energy per volume (eV/Å³)."""
    atoms, calculator, errors = crystal(), build(), []
    calculator.calculate(atoms.copy(), ["stress"], all_changes)
    for k, (a, b) in enumerate(((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))):
        strain = np.zeros((3, 3))
        strain[a, b] += 0.05
        strain[b, a] += 0.05
        images = [atoms.copy() for _ in STEPS]
        for image, step in zip(images, STEPS, strict=True):
            image.set_cell(CELL @ (np.eye(3) + step * strain), scale_atoms=True)
        slope = 10.0 * WEIGHTS @ [energy(build, image) for image in images]
        errors.append(slope / atoms.cell.volume - calculator.results["stress"][k])
    return float(np.abs(errors).max())


def indifference(build: Build) -> float:
    """1 if the energy is the same for all structures or the forces vanish, else 0."""
    (e, f), (other, _) = values(build(), cluster()), values(build(), cluster(1))
    return float(e == other or not f.any())


def net_force(build: Build) -> float:
    return float(np.abs(values(build(), cluster())[1].sum(axis=0)).max())


def image_error(build: Build, image: Atoms, force_map: Callable[[np.ndarray], np.ndarray]) -> float:
    e, f = values(build(), cluster())
    return difference(values(build(), image), (e, force_map(f)))


def rotation(build: Build) -> float:
    turn = Rotation.random(random_state=3).as_matrix()
    return image_error(build, moved(cluster(), cluster().positions @ turn.T), lambda f: f @ turn.T)


def translation(build: Build) -> float:
    return image_error(build, moved(cluster(), cluster().positions + np.array([1.1, -2.3, 3.7])), lambda f: f)


def inversion(build: Build) -> float:
    return image_error(build, moved(cluster(), -cluster().positions), lambda f: -f)


def permutation(build: Build) -> float:
    order = [3, 1, 0, 2, 7, 5, 6, 4]
    return image_error(build, cluster()[order], lambda f: f[order])


def translation_of_crystal(build: Build) -> float:
    """Change when a crystal is shifted so that atoms leave the cell, which nobody wraps."""
    atoms = crystal()
    return difference(
        values(build(), moved(atoms, atoms.positions + np.array([1.1, -1.3, 0.7]))), values(build(), atoms)
    )


def doubling(build: Build) -> float:
    """Error of energies and forces of doubled cells, worst of the seven kinds of periodicity."""
    errors = []
    for pbc in product((True, False), repeat=3):
        times = [1 + p for p in pbc]
        count = int(np.prod(times))
        e, f = values(build(), crystal(pbc))
        errors.append(difference(values(build(), crystal(pbc).repeat(times)), (e * count, np.tile(f, (count, 1)))))
    return max(errors)


def unused_cell(build: Build) -> float:
    """Effect of a cell in directions that are not periodic."""
    boxed = cluster()
    boxed.cell = CELL
    return difference(values(build(), boxed), values(build(), cluster()))


def third_difference(build: Build, path: list[Atoms]) -> float:
    """Largest third difference of the energy (eV) along a path: tiny if smooth, the step if the energy steps."""
    calculator = build()
    return float(np.abs(np.diff([values(calculator, atoms)[0] for atoms in path], 3)).max())


def roughness(build: Build) -> float:
    """Steps and kinks of the energy where two atoms part, and where one atom moves through a cluster."""
    bond = BOND * 2 * 1.32
    dimers = [Atoms("Cu2", positions=[[0, 0, 0], [0, 0, x * bond]]) for x in np.arange(1.75, 1.83, 2e-4)]
    start, way = cluster().positions, np.zeros((8, 3))
    way[0] = [0.9, 0.7, 0.5]
    crossing = [moved(cluster(), start + t * way) for t in np.arange(0.6, 0.75, 5e-4)]
    return max(third_difference(build, dimers), third_difference(build, crossing))


def repetition(build: Build) -> float:
    """Difference between two calls of one calculator for one structure."""
    calculator = build()
    return difference(values(calculator, cluster()), values(calculator, cluster()))


def memory_of_other_structures(build: Build) -> float:
    """Difference that an earlier call for another structure makes."""
    used = build()
    values(used, cluster(1))
    return difference(values(used, cluster()), values(build(), cluster()))


def memory_of_close_structures(build: Build) -> float:
    """Difference that an earlier call for an almost equal structure makes."""
    used, shift = build(), np.zeros((8, 3))
    shift[0, 0] = 5e-4
    values(used, moved(cluster(), cluster().positions + shift))
    return difference(values(used, cluster()), values(build(), cluster()))


def change_of_input(build: Build) -> float:
    atoms = cluster()
    build().calculate(atoms, ["energy"], all_changes)
    return float(np.abs(atoms.positions - cluster().positions).max())


def answer_for_unclaimed_species(build: Build) -> float:
    """1 if a refused structure is answered after a good call, else 0."""
    calculator = build()
    values(calculator, cluster())
    try:
        values(calculator, cluster(symbols="Pt8"))
    except ValueError:
        return 0.0
    return 1.0


def claims(build: Build) -> tuple[str, ...]:
    return build.claims  # type: ignore[attr-defined]


def refused_claims(build: Build) -> float:
    """Number of claimed elements without finite values."""
    missing = 0
    for symbol in claims(build):
        try:
            e, f = values(build(), cluster(symbols=f"{symbol}8"))
            missing += not (np.isfinite(e) and np.isfinite(f).all())
        except (ValueError, RuntimeError):
            missing += 1
    return float(missing)


# Sound code stays 100 times below these levels where they are not yes or no; a bug exceeds them ten times.
LEVEL: dict[Measure, float] = {
    forces_against_energy: 1e-9,
    curl_of_forces: 1e-9,
    stress_against_energy: 1e-9,
    net_force: 1e-10,
    rotation: 1e-10,
    translation: 1e-10,
    inversion: 1e-10,
    permutation: 1e-10,
    translation_of_crystal: 1e-10,
    doubling: 1e-10,
    unused_cell: 1e-10,
    roughness: 3e-7,
    repetition: 1e-13,
    memory_of_other_structures: 1e-13,
    memory_of_close_structures: 1e-13,
    change_of_input: 1e-13,
    indifference: 0.05,
    answer_for_unclaimed_species: 0.05,
    refused_claims: 0.05,
}
ANY = set(LEVEL)
DERIVATIVES: set[Measure] = {forces_against_energy, curl_of_forces, stress_against_energy}
SEEN: dict[str, tuple[set[Measure], set[Measure]]] = {
    "long_range_tail": ({doubling}, set()),
    "size_dependent": ({doubling}, set()),
    "soft_core_hole": (set(), set()),
    "wiggly": (set(), set()),
    "zero_force": ({forces_against_energy, indifference}, set()),
    "constant_energy": ({forces_against_energy, indifference}, {stress_against_energy}),
    "frozen": ({indifference}, set()),
    "noise": ({repetition}, ANY - {change_of_input, indifference, answer_for_unclaimed_species, refused_claims}),
    "pure_noise": ({repetition}, ANY - {change_of_input, answer_for_unclaimed_species, refused_claims}),
    "tiny_noise": ({repetition}, ANY - {change_of_input, indifference, answer_for_unclaimed_species, refused_claims}),
    "non_conservative": ({forces_against_energy, curl_of_forces}, set()),
    "scaled_forces": ({forces_against_energy}, set()),
    "wrong_sign_forces": ({forces_against_energy}, set()),
    "not_rotation_invariant": ({rotation}, set()),
    "external_field": ({translation, net_force}, {rotation, inversion, translation_of_crystal, doubling}),
    "not_inversion_symmetric": ({inversion}, set()),
    "not_permutation_invariant": ({permutation}, {doubling}),
    "minimum_image_only": ({doubling}, set()),
    "ignores_pbc": ({doubling}, set()),
    "ignores_pbc_z": ({doubling}, set()),
    "always_periodic": ({unused_cell}, set()),
    "outside_cell": ({translation_of_crystal}, set()),
    "discontinuous_at_cutoff": ({roughness}, DERIVATIVES),
    "force_jump_at_cutoff": ({roughness}, DERIVATIVES),
    "neighbour_cap": ({roughness}, DERIVATIVES | {doubling}),  # periodic images of one atom tie for a rank
    "nan_after": (set(), set()),
    "refuses_claimed_species": ({refused_claims}, set()),
    "wrong_stress_sign": ({stress_against_energy}, set()),
    "stress_voigt_order": ({stress_against_energy}, set()),
    "too_stiff": (set(), set()),
    "too_soft": (set(), set()),
    "wrong_units": (set(), set()),
    "mixed_units": ({forces_against_energy}, {stress_against_energy}),
    "memory_leak": (set(), set()),
    "slow_leak": (set(), set()),
    "not_thread_safe": (set(), set()),
    "stale_after_exception": ({answer_for_unclaimed_species}, set()),
    "history_dependent": ({memory_of_other_structures}, {memory_of_close_structures}),
    "process_dependent": (set(), set()),
    "stale_small_moves": ({memory_of_close_structures}, {roughness}),
    "mutates_input": ({change_of_input}, set()),
    "wrong_unit_conversion": (set(), set()),
    "batch_mixes_structures": (set(), set()),
}
NO_VALUES = {"nan_for_one_species", "raises", "hangs", "kills_process"}
CHECKS = {
    "forces_match_energy": {forces_against_energy, indifference},
    "forces_conservative": {curl_of_forces},
    "stress_matches_energy": {stress_against_energy},
    "net_force_zero": {net_force},
    "rotation_invariance": {rotation},
    "translation_invariance": {translation, translation_of_crystal},
    "inversion_symmetry": {inversion},
    "permutation_symmetry": {permutation},
    "periodicity_support": {doubling, unused_cell},
    "energy_smooth": {roughness},
    "deterministic": {
        repetition,
        memory_of_other_structures,
        memory_of_close_structures,
        change_of_input,
        answer_for_unclaimed_species,
    },
    "species_supported": {refused_claims},
    "memory_stable": set(),
    "thread_safe": set(),
    "unit_conversion": set(),
    "batch_consistent": set(),
    "locality": set(),
    "extensivity": set(),
    "diatomics": set(),
    "compression": set(),
}
REFERENCES = {name.partition(".")[2] for name in registered_benchmarks() if name.startswith(("molecules.", "general."))}
CHECKS |= {name: set() for name in REFERENCES}  # see test_audit.py in tests/benchmarks/molecules and general
ELSEWHERE = {name for name, measures in CHECKS.items() if not measures}  # seen by tests of their own
each_measurement = pytest.mark.parametrize("measure", LEVEL, ids=lambda measure: measure.__name__)


def test_every_broken_model_is_tested() -> None:
    assert set(SEEN) | NO_VALUES == set(BROKEN)


@each_measurement
def test_no_measurement_sees_anything_in_the_sound_potential(measure: Measure) -> None:
    assert measure(CuAu) <= LEVEL[measure] / 100


@pytest.mark.parametrize("name", SEEN)
def test_a_bug_is_seen_where_it_must_be_and_nowhere_else(name: str) -> None:
    must, may = SEEN[name]
    sizes = {measure: measure(BROKEN[name].build) for measure in LEVEL}
    assert {m.__name__: sizes[m] for m in must if not sizes[m] > 10 * LEVEL[m]} == {}
    assert {m.__name__: sizes[m] for m in ANY - must - may if not sizes[m] < LEVEL[m]} == {}


@pytest.mark.parametrize("name", SEEN)
def test_each_named_check_has_something_to_catch(name: str) -> None:
    for check in BROKEN[name].caught_by:
        elsewhere = check in ELSEWHERE or name == "process_dependent"
        assert elsewhere or CHECKS[check] & SEEN[name][0]


@pytest.mark.parametrize(
    ("name", "energy_factor", "force_factor"),
    [
        ("zero_force", 1, 0),
        ("constant_energy", 0, 1),
        ("frozen", 0, 0),
        ("scaled_forces", 1, 1.001),
        ("wrong_sign_forces", 1, -1),
        ("too_stiff", 3, 3),
        ("too_soft", 1 / 3, 1 / 3),
        ("wrong_units", KCAL, KCAL),
        ("mixed_units", KCAL, 1),
    ],
)
def test_energy_and_forces_are_wrong_by_the_stated_factor(name: str, energy_factor: float, force_factor: float) -> None:
    e, f = values(CuAu(), cluster())
    broken_energy, broken_forces = values(BROKEN[name].build(), cluster())
    assert broken_energy == pytest.approx(energy_factor * e, rel=1e-6)
    np.testing.assert_allclose(broken_forces, force_factor * f, rtol=1e-6)


@pytest.mark.parametrize(("name", "order"), [("wrong_stress_sign", None), ("stress_voigt_order", [0, 1, 2, 5, 4, 3])])
def test_the_stress_is_wrong_as_stated(name: str, order: list[int] | None) -> None:
    stress = CuAu().get_stress(crystal())
    expected = -stress if order is None else stress[order]
    np.testing.assert_allclose(BROKEN[name].build().get_stress(crystal()), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "in_energy", "in_forces"), [("noise", 1e-4, 1e-4), ("tiny_noise", 1e-7, 1e-6)])
def test_noise_has_the_stated_size(name: str, in_energy: float, in_forces: float) -> None:
    (e, f), calculator = values(CuAu(), cluster()), BROKEN[name].build()
    samples = [values(calculator, cluster()) for _ in range(300)]
    assert np.std([sample[0] - e for sample in samples]) == pytest.approx(in_energy, rel=0.3)
    assert np.std([sample[1] - f for sample in samples]) == pytest.approx(in_forces, rel=0.1)


def parted(build: Build, distance: float) -> tuple[float, np.ndarray]:
    """Energy and forces of two copper atoms at a distance in bond lengths."""
    return values(build(), Atoms("Cu2", positions=[[0, 0, 0], [0, 0, distance * BOND * 2 * 1.32]]))


def test_a_pair_loses_a_millielectronvolt_at_the_discontinuous_cutoff() -> None:
    build = BROKEN["discontinuous_at_cutoff"].build
    (inside, _), (outside, forces) = parted(build, 1.8 - 1e-9), parted(build, 1.8 + 1e-9)
    assert -2e-3 < inside < -5e-4
    assert outside == 0.0
    assert not forces.any()


def test_a_pair_force_steps_at_the_kinked_cutoff_while_the_energy_does_not() -> None:
    build = BROKEN["force_jump_at_cutoff"].build
    (inside, pull), (outside, forces) = parted(build, 1.78 - 1e-9), parted(build, 1.78 + 1e-9)
    assert abs(inside) < 1e-9
    assert outside == 0.0
    assert not forces.any()
    assert 5e-3 < np.abs(pull).max() < 2e-2


def large_box() -> Atoms:
    """A cluster that reaches across the faces of a box of 20 Å."""
    atoms = Atoms(cluster().symbols, positions=cluster().positions - 1.4, cell=[20.0] * 3, pbc=True)
    atoms.wrap()
    return atoms


@pytest.mark.parametrize(
    ("name", "atoms"),
    [
        ("minimum_image_only", large_box()),
        ("ignores_pbc", cluster()),
        ("ignores_pbc_z", crystal((True, True, False))),
        ("always_periodic", crystal()),
        ("always_periodic", cluster()),
        ("outside_cell", crystal((True, False, True))),
        ("neighbour_cap", cluster()[:7]),
        ("discontinuous_at_cutoff", cluster()[:2]),
        ("refuses_claimed_species", crystal()),
        ("not_inversion_symmetric", cluster()[:3]),
    ],
)
def test_a_model_is_right_where_its_bug_does_not_reach(name: str, atoms: Atoms) -> None:
    assert difference(values(BROKEN[name].build(), atoms), values(CuAu(), atoms)) < 1e-12


def test_the_force_that_is_no_gradient_is_small() -> None:
    sound, broken = (values(build(), cluster())[1] for build in (CuAu, BROKEN["non_conservative"].build))
    assert 1e-3 < np.abs(broken - sound).max() / np.abs(sound).max() < 0.05


def test_each_atom_keeps_its_six_nearest_neighbours_and_few_others() -> None:
    atoms = crystal().repeat(2)
    capped, full = sabotage.NeighbourCap().pairs(atoms), CuAu().pairs(atoms)
    assert len(capped.first) <= 6 * len(atoms) < len(full.first) / 4
    for atom in range(len(atoms)):
        near, all_of_them = (
            np.sort(np.linalg.norm(p.vector[(p.first == atom) | (p.second == atom)], axis=1)) for p in (capped, full)
        )
        np.testing.assert_allclose(near[:6], all_of_them[:6])


def test_values_are_fine_for_500_calls_and_nan_after_that() -> None:
    calculator = BROKEN["nan_after"].build()
    for _ in range(500):
        e, f = values(calculator, cluster())
    assert difference((e, f), values(CuAu(), cluster())) == 0.0
    e, f = values(calculator, cluster())
    assert np.isnan(e)
    assert np.isnan(f).all()


def test_only_structures_with_gold_are_nan() -> None:
    build = BROKEN["nan_for_one_species"].build
    e, f = values(build(), cluster(symbols="Cu7Au"))
    assert np.isnan(e)
    assert np.isnan(f).all()
    copper = cluster(symbols="Cu8")
    assert difference(values(build(), copper), values(CuAu(), copper)) == 0.0
    assert refused_claims(build) == 1.0


def test_silver_is_claimed_and_refused() -> None:
    build = BROKEN["refuses_claimed_species"].build
    assert claims(build) == ("Cu", "Au", "Ag")
    with pytest.raises(ValueError, match="'Ag'"):
        energy(build, cluster(symbols="Cu7Ag"))


def test_every_call_raises() -> None:
    with pytest.raises(RuntimeError, match="always raises"):
        energy(BROKEN["raises"].build, cluster())


def test_a_hanging_call_sleeps_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 5:
            raise TimeoutError

    monkeypatch.setattr("assay.sabotage.time.sleep", sleep)
    with pytest.raises(TimeoutError):
        energy(BROKEN["hangs"].build, cluster())
    assert sum(naps) > 3600


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that imports the same package."""
    path = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-c", f"from ase import Atoms\nfrom assay.sabotage import BROKEN\n{code}"]
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_process_dies_in_the_first_call() -> None:
    result = python("calc = BROKEN['kills_process'].build(); print('built', flush=True); calc.calculate(Atoms('Cu'))")
    assert result.stdout == "built\n"
    assert result.returncode == -9


def test_the_energy_depends_on_the_hash_seed_of_the_process() -> None:
    code = "calc = BROKEN['process_dependent'].build(); print(calc.get_potential_energy(Atoms('Cu')))"
    first, second, again = (float(python(code, PYTHONHASHSEED=seed).stdout) for seed in ("1", "2", "1"))
    assert first == again
    assert 1e-7 < abs(first - second) < 1e-5


@pytest.mark.parametrize(("name", "least", "most"), [("memory_leak", 99_000, 110_000), ("slow_leak", 3_900, 5_000)])
def test_every_call_keeps_memory(name: str, least: int, most: int) -> None:
    def growth(calculator: Calculator) -> float:
        values(calculator, cluster())
        tracemalloc.start()
        for _ in range(50):
            values(calculator, cluster())
        grown = tracemalloc.get_traced_memory()[0] / 50
        tracemalloc.stop()
        return grown

    sound = growth(CuAu())
    assert sound < 1_000
    assert least < growth(BROKEN[name].build()) - sound < most


def errors_of_threads(build: Build) -> int:
    """Wrong results when four threads with their own calculators evaluate different structures."""
    structures = [cluster(seed)[: 5 + seed] for seed in range(4)]
    expected = [values(CuAu(), atoms) for atoms in structures]
    wrong: list[int] = []
    start = threading.Barrier(4)

    def work(k: int) -> None:
        calculator = build()
        start.wait()
        for _ in range(30):
            if difference(values(calculator, structures[k]), expected[k]) > 0.0:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(wrong)


def test_threads_compute_each_others_structures_only_with_the_shared_scratch() -> None:
    assert errors_of_threads(CuAu) == 0
    assert errors_of_threads(BROKEN["not_thread_safe"].build) > 10


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
    assert difference(values(calculator, far), values(CuAu(), far)) == 0.0
    assert difference(values(calculator, crystal()), values(CuAu(), crystal())) == 0.0


def test_only_the_other_units_give_other_physics() -> None:
    build = BROKEN["wrong_unit_conversion"].build
    usual, other = (build.build_in_units(units) for units in build.unit_sets)  # type: ignore[attr-defined]
    assert difference(values(usual, cluster()), values(CuAu(), cluster())) == 0.0
    assert difference(values(other, cluster()), values(CuAu(), cluster())) > 1e-3
    assert forces_against_energy(lambda: build.build_in_units("nm")) < LEVEL[forces_against_energy]  # type: ignore[attr-defined]


def batch_errors(build: Build, structures: list[Atoms]) -> tuple[list[float], list[float]]:
    """Errors of energies (eV) and forces (eV/Å) in a batch, structure by structure."""
    found = build.build_batch().evaluate([from_atoms(atoms) for atoms in structures])  # type: ignore[attr-defined]
    expected = [values(CuAu(), atoms) for atoms in structures]
    pairs = list(zip(found, expected, strict=True))
    return [abs(a[0] - b[0]) for a, b in pairs], [float(np.abs(a[1] - b[1]).max()) for a, b in pairs]


def test_forces_in_a_batch_are_those_of_the_structure_before_if_it_is_as_large() -> None:
    energies, forces = batch_errors(BROKEN["batch_mixes_structures"].build, [cluster(0), cluster(1), crystal()])
    assert energies == [0.0, 0.0, 0.0]
    assert forces[0] == forces[2] == 0.0
    assert forces[1] > 0.1


def test_the_sound_batch_gives_what_each_structure_gives_alone() -> None:
    assert batch_errors(SOUND["sound_batch"], [cluster(0), cluster(1), crystal()]) == ([0.0] * 3, [0.0] * 3)


def test_single_precision_is_sound_to_seven_digits_and_not_to_ten() -> None:
    single = SOUND["single_precision"]()
    for atoms in (cluster(), crystal()):
        (e, f), (e32, f32) = values(CuAu(), atoms), values(single, atoms)
        assert 1e-10 < difference((e, f), (e32, f32)) / np.abs(f).max() < 1e-5
        assert single.results["forces"].dtype == np.float32
    exact, rounded = (build().get_stress(crystal()) for build in (CuAu, SOUND["single_precision"]))
    np.testing.assert_allclose(rounded, exact, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("name", SOUND)
def test_sound_models_have_forces_that_match_their_energy(name: str) -> None:
    atoms, build = cluster(), SOUND[name]
    step, tolerance = (0.02, 3e-4) if name == "single_precision" else (1e-3, 1e-5)
    for d in directions():
        ahead, behind = (energy(build, moved(atoms, atoms.positions + s * d)) for s in (step, -step))
        force = (values(build(), atoms)[1] * d).sum()
        assert abs((behind - ahead) / (2 * step) - force) < tolerance * np.abs(values(build(), atoms)[1]).max()


@pytest.mark.parametrize("name", [*BROKEN, *SOUND])
def test_a_name_is_a_factory_that_pickles_and_says_what_it_claims(name: str) -> None:
    build = getattr(sabotage, name)
    assert build is (BROKEN[name].build if name in BROKEN else SOUND[name])
    assert pickle.loads(pickle.dumps(build)) is build
    assert {"Cu", "Au"} <= set(claims(build))
    assert isinstance(build(), Calculator)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_describes_its_bug_in_one_sentence(name: str) -> None:
    entry = BROKEN[name]
    assert entry.name == name
    assert entry.what == entry.build.__doc__
    assert entry.what.endswith(".")
    assert entry.what.count(". ") == 0
    assert set(entry.caught_by) <= set(CHECKS)


def test_builders_work_in_a_fresh_process() -> None:
    payload = pickle.dumps([entry.build for entry in BROKEN.values()] + list(SOUND.values())).hex()
    result = python(f"import pickle; print(len([b() for b in pickle.loads(bytes.fromhex('{payload}'))]))")
    assert result.stdout == f"{len(BROKEN) + len(SOUND)}\n", result.stderr


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no model 'sound_asleep'"):
        _ = sabotage.sound_asleep


def test_the_oracle_returns_its_references_and_knows_nothing_else() -> None:
    structures = [cluster(0), cluster(1), crystal()]
    forces = [np.full((len(atoms), 3), float(k)) for k, atoms in enumerate(structures)]
    oracle = Oracle(structures, [-1.5, -2.5, -3.5], forces)
    for k, atoms in enumerate(structures):
        e, f = values(oracle, moved(atoms, atoms.positions + 1e-12))
        assert (e, f.tolist()) == (-1.5 - k, forces[k].tolist())
    for other in (
        cluster(2),
        cluster(0, "Au8"),
        crystal((True, True, False)),
        moved(cluster(0), cluster(0).positions + 3e-8),
    ):
        with pytest.raises(ValueError, match="no reference"):
            values(oracle, other)
