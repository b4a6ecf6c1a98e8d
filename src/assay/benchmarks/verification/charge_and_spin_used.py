"""Charge and spin in `atoms.info` are used, and a change of them alone is noticed.

An ion with the energy of the neutral molecule is wrong by electronvolts. ASE compares positions, cell and elements to
decide whether something must be computed again, but not `atoms.info`, so that a calculator may return the energy of the
charge before.

Protocol: a closed-shell molecule (water, or a cluster of six equal atoms), for what the model claims or is seen to use
- charges ±1 (±2 where these are refused) and spin 3, the multiplicity 2S + 1: each has another energy than no charge;
- charge 0 and spin 1 are the same as no information;
- after only charge or spin of one Atoms object changed, its energy and forces are those of a new calculator, through
  ASE's methods and directly.
- Models that neither claim nor use charge and spin are not supported.
Reference: the model itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Limits, NotApplicable, Residual
from assay.benchmarks.bases.records import SAME_ENERGY
from assay.jobs import Data, Probe
from assay.outcome import Outcome
from assay.structure import Structure
from assay.survey import Survey

WATER = Structure.build([8, 1, 1], [[0.0, 0.0, 0.12], [0.0, 0.78, -0.45], [0.05, -0.75, -0.50]])
WORDS = {
    "neutral": "against no information",
    "calculate": "against a new calculator",
    "public_methods": "with only atoms.info changed, against a new calculator",
}
TIGHT = {"calculate": (1.0, 1.0), "neutral": (1.0, 1.0), "public_methods": (10.0, 1000.0)}


@dataclass(frozen=True)
class ChargeAndSpinUsed(Check):
    """Charge and spin change the energy, and nothing is returned of the charge before."""

    mandatory = True
    optional_feature = True
    catches = ("ignores_claimed_charge", "ignores_claimed_spin", "stale_charge", "triplet_by_default")

    def trials(self, survey: Survey) -> Iterable[Case]:
        """One molecule, for what the model does not disclaim."""
        claims = {"charge": survey.card.charge, "spin": survey.card.spin}
        asked = [name for name, claim in claims.items() if claim is not False]
        molecules = [WATER] if {1, 8} <= set(survey.usable) else []
        molecules += [s for label, s in survey.clusters() if len(set(s.numbers.tolist())) == 1][:1]
        if not asked:
            yield Case("states", {}, unsupported="the model supports neither charge nor spin")
        if not asked or not molecules:
            return
        claimed = [name for name in asked if claims[name]]
        settings = {"asked": asked, "claimed": claimed, "same": SAME_ENERGY}
        job = Probe("charge_states", tuple(survey.placed(s) for s in molecules), settings, force_calls=30)
        yield Case("states", {"states": job}, {"claimed": claimed})

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """Claims that are ignored, and deviations after a change."""
        values, limits, claimed = outcomes["states"].values, Limits.of(case), list(case.context["claimed"])
        if not values["used"] and not claimed:
            raise NotApplicable("the model neither claims nor uses charge and spin")
        yield from _ignored(values, claimed)
        for row in values["rows"]:
            test = str(row["test"])
            # Without a claim, a spin may be meant as something else than a multiplicity.
            if test != "neutral" or "spin" in claimed or "spin" not in row["state"]:
                yield from _judged(limits, f"{row['state']} {WORDS[test]}", row, int(values["natoms"]), TIGHT[test])


def _ignored(values: Data, claimed: list[str]) -> Iterable[Residual]:
    """A failure for every state of a claimed quantity that has the neutral energy, or if all of them are refused."""
    for quantity in claimed:
        answered = [name for name in values["energies"] if name.startswith(quantity)]
        if not answered:
            reason = next((text for name, text in values["reasons"].items() if name.startswith(quantity)), "")
            yield Residual(f"{quantity} is claimed, but: {reason}", np.inf, "eV", 0.0, 0.0, "as claimed")
        for name in answered:
            where = f"{name} in atoms.info has the energy of the neutral singlet"
            error = 0.0 if name in values["used"] else np.inf
            yield Residual(where, error, "eV", SAME_ENERGY, SAME_ENERGY, f"{quantity} is claimed")


def _judged(limits: Limits, where: str, row: Data, atoms: int, tight: tuple[float, float]) -> list[Residual]:
    if "reason" in row:
        return [Residual(f"{where}: {row['reason']}", np.inf, "eV", 0.0, 0.0, "the model answered before")]
    return [
        limits.energy(where, float(row["energy"]), float(row["scale"]), atoms, tight=tight[0]),
        limits.forces(where, float(row["forces"]), float(row["max_force"]), tight=tight[1]),
    ]
