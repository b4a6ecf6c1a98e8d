"""The same question gets the same answer: again, in another order, in a new process, after an exception.

A result that depends on what was computed before cannot be reproduced, and hides every other error. The largest
deviation between repeats is the noise floor of the model, which the tolerances of all other checks use.

Protocol: every cluster and crystal is evaluated
- again at once, in other orders, after a slightly moved copy, and with its atoms listed backwards;
- by a second calculator, and through ASE's public methods;
- in a new process with another hash seed;
- after the same positions with another cell, other periodic directions or other elements, of which only one differs;
- after the model was made to refuse a structure;
- in turn with the others for at least 200 calls, each of which must be answered.
Stress is compared, too, for crystals of models that have it. The positions that the model is given must not be altered.
Reference: the model itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Limits, Residual, judge_deviations
from assay.benchmarks.bases.steady import ROLE, many_calls, unanswered
from assay.benchmarks.builders.changed import refused_structures, single_changes
from assay.jobs import Data, Probe
from assay.outcome import Outcome
from assay.survey import Survey, repeats_job, subject_labels

SAME = (1e-2, 1e-1)
"""Repeats must agree a hundred times better in energy, and ten times better in forces, than what is called equal."""

TIGHTNESS = {
    "repeat": SAME,
    "order": SAME,
    "nudge": SAME,
    "second_calculator": SAME,
    "reordered_atoms": (1.0, 1.0),
    # ASE's own route lets iterative models start from their last solution, which moves forces by their convergence.
    "public_methods": (10.0, 1000.0),
}
ONE_CHANGE = {
    "calculate": ("(calculate)", (1.0, 1.0)),
    "public_methods": ("(ASE's public methods)", TIGHTNESS["public_methods"]),
}


@dataclass(frozen=True)
class Deterministic(Check):
    """Repeats agree to the noise floor, and nothing stale is returned."""

    mandatory = True
    version = 2
    catches = (
        "noise", "pure_noise", "tiny_noise", "history_dependent", "process_dependent", "stale_after_exception",
        "stale_small_moves", "mutates_input", "noisy_stress", "stale_stress", "ignores_change_of_cell",
        "neighbours_by_positions", "ignores_change_of_species", "nan_now_and_then", "refuses_now_and_then",
    )  # fmt: skip

    def trials(self, survey: Survey) -> Iterable[Case]:
        """Repeats in this process, in a new process, and after an exception."""
        repeats = repeats_job(survey)
        if repeats is None:
            return
        labels = subject_labels(survey)
        yield Case("repeats", {"repeats": repeats}, {"labels": labels})
        fresh = Probe("fresh_process", repeats.structures, {"stress": True}, 3 * len(repeats.structures), processes=1)
        yield Case("new-process", {"deviations": fresh}, {"labels": labels})
        yield many_calls(repeats.structures)
        changes = single_changes(survey)
        if changes:
            structures = (*(s for _, a, b in changes for s in (a, b)), changes[0][1].reordered(range(3)))
            job = Probe("one_change", structures, force_calls=9 * len(changes))
            yield Case("one-change", {"changes": job}, {"labels": [words for words, _, _ in changes]})
        good = [s for _, s in survey.clusters()][:2]
        bad = refused_structures(survey, len(good[0])) if good else []
        if good and bad:
            settings = {"bad": len(bad)}
            job = Probe("after_exception", (*good, *bad), settings, force_calls=12 * len(bad))
            yield Case("after-exception", {"exception": job}, {"labels": labels})

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """Deviations by kind of repetition."""
        if "deviations" in outcomes:
            yield from judge_deviations(case, "in a new process", outcomes["deviations"].values, SAME)
        elif ROLE in outcomes:
            yield unanswered(outcomes[ROLE].values)
        elif "exception" in outcomes:
            yield from _after_exception(Limits.of(case), outcomes["exception"].values)
        elif "changes" in outcomes:
            values = outcomes["changes"].values
            for name, (words, tight) in ONE_CHANGE.items():
                yield from judge_deviations(case, words, {**values, **values["tests"][name]}, tight)
        else:
            values = outcomes["repeats"].values
            if values["changed_inputs"]:
                where = f"the model altered the positions it was given in {values['changed_inputs']} evaluations"
                yield Residual(where, np.inf, "evaluations", 0.0, 0.0, "input is not the model's to change")
            tests = values["tests"]
            for name, tight in TIGHTNESS.items():
                merged = {**values, **tests[name]}
                yield from judge_deviations(case, name.replace("_", " "), merged, tight)


def _after_exception(limits: Limits, values: Data) -> Iterable[Residual]:
    answered = values["answered"]
    stale = [row for row in answered if row["stale"]] if isinstance(answered, list) else []
    if stale:
        where = "a structure that the model cannot compute got the energy of another one"
        yield Residual(where, np.inf, "eV", 0.0, 0.0, "a refusal must not return old results")
    count, scale, force = int(values["natoms"]), float(values["scale"]), float(values["max_force"])
    energy, forces = float(values["energy"]), float(values["forces"])
    yield limits.energy("after an exception", energy, scale, count, tight=10.0)
    yield limits.forces("after an exception", forces, force, tight=1000.0)
