"""Assertions for authors of adapters and benchmarks: does it keep what every model and benchmark of Assay promises?

`check_model` runs all assertions for a model, `check_benchmark` all for a benchmark; each can also be called alone.
They raise `AssertionError` with the numbers in the message and need no test framework.
"""

from __future__ import annotations

from assay.testing.answers import Answer, Structures, Tolerance, single_answers
from assay.testing.benchmarks import check_benchmark
from assay.testing.check import ModelReport, check_model
from assay.testing.checkpoints import (
    Trap,
    assert_checkpoint_contract,
    assert_copy_is_the_same_model,
    assert_hostile_files_are_refused,
    assert_missing_package_is_explained,
    assert_one_sentence,
    assert_other_files_are_explained,
)
from assay.testing.claims import assert_claims_hold, assert_refuses
from assay.testing.models import (
    assert_batch_matches_single,
    assert_matches_upstream,
    assert_precision_and_device,
    assert_quiet,
    assert_same_in_another_process,
    built_once,
)
from assay.testing.physics import (
    assert_charge_is_read,
    assert_charge_is_refused,
    assert_forces_match_energy,
    assert_open_directions_have_no_images,
    assert_stress_matches_energy,
    assert_supercell_adds_up,
    numerical_forces,
)
from assay.testing.structures import skewed_cell, standard_structures, structures_for
from assay.testing.surveys import SURVEYS, fake_survey

__all__ = [
    "SURVEYS",
    "Answer",
    "ModelReport",
    "Structures",
    "Tolerance",
    "Trap",
    "assert_batch_matches_single",
    "assert_charge_is_read",
    "assert_charge_is_refused",
    "assert_checkpoint_contract",
    "assert_claims_hold",
    "assert_copy_is_the_same_model",
    "assert_forces_match_energy",
    "assert_hostile_files_are_refused",
    "assert_matches_upstream",
    "assert_missing_package_is_explained",
    "assert_one_sentence",
    "assert_open_directions_have_no_images",
    "assert_other_files_are_explained",
    "assert_precision_and_device",
    "assert_quiet",
    "assert_refuses",
    "assert_same_in_another_process",
    "assert_stress_matches_energy",
    "assert_supercell_adds_up",
    "built_once",
    "check_benchmark",
    "check_model",
    "fake_survey",
    "numerical_forces",
    "single_answers",
    "skewed_cell",
    "standard_structures",
    "structures_for",
]
