"""Asked to work in other units, the model gives the same physics.

KIM models convert their parameters to the units that a simulator asks for. A conversion that misses one parameter
gives plausible and wrong results in that simulator only.

Protocol:
- Energy and forces of all structures with the model set up in other units of length and energy, converted back.
- Models with one set of units are not supported.
Reference: the model in eV and Å.
Cite: OpenKIM verification check vc-unit-conversion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.benchmark import Case
from assay.benchmarks.bases.limits import Residual, judge_deviations
from assay.benchmarks.bases.probe_check import ProbeCheck
from assay.outcome import Outcome


@dataclass(frozen=True)
class UnitConversion(ProbeCheck):
    """The same energy and forces in every set of units."""

    optional_feature = True
    catches = ("wrong_unit_conversion",)
    probe = "unit_sets"
    role = "units"

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The deviation of each structure in each set of units."""
        values = outcomes[self.role].values
        by_set = values["by_set"]
        for units, row in by_set.items() if isinstance(by_set, Mapping) else ():
            yield from judge_deviations(case, f"in {units}", {"indices": values["indices"], **row})
