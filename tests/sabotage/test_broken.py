"""Every broken model has the bug that it is named after, and no other bug that direct measurements can see.

`SEEN` has two sets for every model: the measurements that must see its bug, and those that may see it as a
consequence. For all other measurements the model must be as good as sound code.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator

from assay import sabotage
from assay.sabotage import BROKEN, SOUND, CopperGold
from sabotage.measurements import (
    LEVEL,
    Measure,
    answer_for_unclaimed_species,
    change_of_input,
    curl_of_forces,
    doubling,
    forces_against_energy,
    indifference,
    inversion,
    memory_of_close_structures,
    memory_of_other_structures,
    net_force,
    permutation,
    refused_claims,
    repetition,
    rotation,
    roughness,
    stress_against_energy,
    translation,
    translation_of_crystal,
    unused_cell,
)
from sabotage.structures import cluster, crystal, difference, values

NONE: set[Measure] = set()
DERIVATIVES: set[Measure] = {forces_against_energy, curl_of_forces, stress_against_energy}
NUMBERS = set(LEVEL) - {change_of_input, indifference, answer_for_unclaimed_species, refused_claims}
SEEN: dict[str, tuple[set[Measure], set[Measure]]] = {
    "zero_force": ({forces_against_energy, indifference}, NONE),
    "constant_energy": ({forces_against_energy, indifference}, {stress_against_energy}),
    "frozen": ({indifference}, NONE),
    "scaled_forces": ({forces_against_energy}, NONE),
    "wrong_sign_forces": ({forces_against_energy}, NONE),
    "wrong_stress_sign": ({stress_against_energy}, NONE),
    "mixed_units": ({forces_against_energy}, {stress_against_energy}),
    "stress_voigt_order": ({stress_against_energy}, NONE),
    "non_conservative": ({forces_against_energy, curl_of_forces}, NONE),
    "not_rotation_invariant": ({rotation}, NONE),
    "external_field": ({translation, net_force}, {rotation, inversion, translation_of_crystal, doubling}),
    "not_inversion_symmetric": ({inversion}, NONE),
    "not_permutation_invariant": ({permutation}, {doubling}),
    "minimum_image_only": ({doubling}, NONE),
    "ignores_pbc": ({doubling}, NONE),
    "ignores_pbc_z": ({doubling}, NONE),
    "always_periodic": ({unused_cell}, NONE),
    "outside_cell": ({translation_of_crystal}, NONE),
    "discontinuous_at_cutoff": ({roughness}, DERIVATIVES),
    "force_jump_at_cutoff": ({roughness}, DERIVATIVES),
    "neighbour_cap": ({roughness}, DERIVATIVES | {doubling}),  # images of one atom are equally far
    "long_range_tail": ({doubling}, NONE),
    "size_dependent": ({doubling}, NONE),
    "refuses_claimed_species": ({refused_claims}, NONE),
    "noise": ({repetition}, NUMBERS),
    "tiny_noise": ({repetition}, NUMBERS),
    "pure_noise": ({repetition}, NUMBERS | {indifference}),
    "stale_after_exception": ({answer_for_unclaimed_species}, NONE),
    "history_dependent": ({memory_of_other_structures}, {memory_of_close_structures}),
    "stale_small_moves": ({memory_of_close_structures}, {roughness}),
    "mutates_input": ({change_of_input}, NONE),
    "periodic_with_any_cell": ({unused_cell}, NONE),
    "wraps_molecules": ({unused_cell}, NONE),
    "ignores_change_of_species": ({answer_for_unclaimed_species}, NONE),
}
UNSEEN = (
    *("too_stiff", "too_soft", "wrong_units", "soft_core_hole", "only_repels", "wiggly"),  # sound code, wrong physics
    *("wrong_unit_conversion", "batch_mixes_structures", "not_thread_safe", "process_dependent"),
    *("nan_after", "memory_leak", "slow_leak", "keeps_atoms", "keeps_calculators"),
    *("ignores_change_of_cell", "neighbours_by_positions", "stale_stress", "loses_atoms_on_faces"),
    *("slab_stress_of_other_volume", "no_stress_along_wires", "energies_without_pairs", "corrects_outside_calculate"),
    *("ignores_claimed_charge", "ignores_claimed_spin", "stale_charge", "triplet_by_default"),
)
"""Models whose bug none of the measurements can see; the files in `broken/` measure it in other ways."""

NO_VALUES = {
    "nan_for_one_species", "nan_now_and_then", "refuses_now_and_then", "raises", "hangs", "kills_process",
    "energy_in_array", "stress_as_tensor",
}  # fmt: skip
SEEN |= dict.fromkeys(UNSEEN, (NONE, NONE))
UNSEEN = (*UNSEEN, "noisy_stress", "shares_stress")
SEEN |= dict.fromkeys(("noisy_stress", "shares_stress"), (NONE, {stress_against_energy}))
CHECKS: dict[str, set[Measure]] = {
    "forces_match_energy": {forces_against_energy, indifference},
    "forces_conservative": {curl_of_forces, indifference},
    "stress_matches_energy": {stress_against_energy},
    "net_force_zero": {net_force},
    "rotation_invariance": {rotation},
    "translation_invariance": {translation, translation_of_crystal, unused_cell},
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
}
"""The measurements that see the same errors as a check."""


def test_every_broken_model_is_measured() -> None:
    assert set(SEEN) | NO_VALUES == set(BROKEN)


@pytest.mark.parametrize("measure", LEVEL, ids=lambda measure: measure.__name__)
def test_no_measurement_sees_an_error_in_the_sound_potential(measure: Measure) -> None:
    assert measure(CopperGold) <= LEVEL[measure] / 100


@pytest.mark.parametrize("name", SEEN)
def test_a_bug_is_seen_where_it_must_be_and_nowhere_else(name: str) -> None:
    must, may = SEEN[name]
    sizes = {measure: measure(BROKEN[name].build) for measure in LEVEL}
    assert {m.__name__: sizes[m] for m in must if not sizes[m] > 10 * LEVEL[m]} == {}
    assert {m.__name__: sizes[m] for m in set(LEVEL) - must - may if not sizes[m] < LEVEL[m]} == {}


@pytest.mark.parametrize("name", sorted(set(SEEN) - set(UNSEEN)))
def test_a_check_that_must_catch_a_model_has_an_error_to_find(name: str) -> None:
    blind = [check for check in BROKEN[name].caught_by if check in CHECKS and not CHECKS[check] & SEEN[name][0]]
    assert blind == []


@pytest.mark.parametrize(
    ("name", "atoms"),
    [
        ("minimum_image_only", Atoms("Cu4Au4", positions=cluster().positions - 1.4, cell=[20.0] * 3, pbc=True)),
        ("ignores_pbc", cluster()),
        ("ignores_pbc_z", crystal((True, True, False))),
        ("always_periodic", crystal()),
        ("always_periodic", cluster()),
        ("outside_cell", crystal((True, False, True))),
        ("neighbour_cap", cluster()[:7]),
        ("discontinuous_at_cutoff", cluster()[:2]),
        ("refuses_claimed_species", crystal()),
        ("nan_for_one_species", cluster(symbols="Cu8")),
        ("not_inversion_symmetric", cluster()[:3]),
    ],
)
def test_a_model_is_right_where_its_bug_has_no_effect(name: str, atoms: Atoms) -> None:
    atoms.wrap()  # a cluster in a large cell extends across its faces
    assert difference(values(BROKEN[name].build(), atoms), values(CopperGold(), atoms)) < 1e-12


@pytest.mark.parametrize("name", [*BROKEN, *SOUND])
def test_a_name_is_a_factory_that_pickles_and_claims_copper_and_gold(name: str) -> None:
    build = getattr(sabotage, name)
    assert build is (BROKEN[name].build if name in BROKEN else SOUND[name])
    assert pickle.loads(pickle.dumps(build)) is build
    claims = build.claims["elements"] if isinstance(build.claims, dict) else build.claims
    assert {"Cu", "Au"} <= set(claims)
    assert isinstance(build(), Calculator)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_model_describes_its_bug_in_one_sentence(name: str) -> None:
    entry = BROKEN[name]
    assert entry.name == name
    assert entry.what == entry.build.__doc__
    assert entry.what.endswith(".")
    assert entry.what.count(". ") == 0


def test_classes_are_names_of_the_package_too() -> None:
    assert sabotage.NeighbourCap is BROKEN["neighbour_cap"].build
    assert sabotage.SoundBatch is SOUND["sound_batch"]


def test_an_unknown_name_is_an_attribute_error_with_the_closest_name() -> None:
    with pytest.raises(AttributeError, match=r"no model 'zero_forces' in assay.sabotage \(did you mean 'zero_force'\?"):
        _ = sabotage.zero_forces


def python(code: str) -> str:
    """The output of code in a new interpreter."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True).stdout.strip()


def test_builders_work_in_a_new_process() -> None:
    payload = pickle.dumps([entry.build for entry in BROKEN.values()] + list(SOUND.values())).hex()
    built = python(f"import pickle; print(len([b() for b in pickle.loads(bytes.fromhex('{payload}'))]))")
    assert built == f"{len(BROKEN) + len(SOUND)}"


@pytest.mark.parametrize("first", ["sound", "data", "broken.forces", "oracle"])
def test_sound_is_the_model_whatever_file_is_imported_first(first: str) -> None:
    code = f"import assay.sabotage.{first}; from assay import sabotage; print(sabotage.sound.__name__)"
    assert python(code) == "SoundPotential"


def test_the_package_imports_no_benchmark() -> None:
    code = "import sys, assay.sabotage; print([n for n in sys.modules if n.startswith('assay.benchmark')])"
    assert python(code) == "[]"
