"""Asked to work in other units, the model gives the same physics.

KIM models convert their parameters to the units that a simulator asks for. A conversion that misses one parameter
gives plausible and wrong results in that simulator only.

Protocol: energy and forces of all structures with the model set up in other units of length and energy, converted back.
Models with one set of units are not asked.
Reference: the model in eV and Å.    Cite: OpenKIM verification check vc-unit-conversion.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.benchmarks.verification._deviation import DeviationCheck


@dataclass(frozen=True)
class UnitConversion(DeviationCheck):
    """The same energy and forces in every set of units."""

    catches = ("wrong_unit_conversion",)
    probe = "units"
    phrase = "in other units"
