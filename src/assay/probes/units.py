"""Does the model give the same physics when it is asked to work in other units?"""

from __future__ import annotations

from assay.engines.ase import AseEngine, Unsupported, evaluate
from assay.jobs import Probe
from assay.probes._deviation import worst_deviation


def run(engine: AseEngine, probe: Probe) -> dict[str, object]:
    """Deviation of energy (eV) and forces (eV/Å) of each structure in each unit set from the usual ones."""
    model = engine.model
    if model.build_in_units is None or not model.unit_sets:
        raise Unsupported("this kind of model works in one set of units only")
    indices, structures, usual = engine.answered(probe.structures)
    trials = []
    for units in model.unit_sets:
        calculator = model.build_in_units(units)
        trials.append([evaluate(calculator, s, ("energy", "forces")) for s in structures])
    return {"indices": indices, "unit_sets": list(model.unit_sets), **worst_deviation(usual, trials)}
