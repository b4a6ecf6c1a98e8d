"""Broken potentials, each with one realistic bug, and sound ones: with them every check and benchmark is tested.

`BROKEN` and `SOUND` hold the models by name. Each name is also a factory of this package, so that you can try a model
yourself: `assay check assay.sabotage:zero_force`. The broken models derive from one sound potential
(`assay.sabotage.sound`) and claim to support Cu and Au. A check catches a broken model that fails it; any other
benchmark catches one by its score (`is_caught`). Units: eV, Å.
"""

from collections.abc import Callable

from ase.calculators.calculator import Calculator

import assay.sabotage.broken  # noqa: F401 - enters the broken models in BROKEN
from assay.naming import did_you_mean
from assay.sabotage.registry import BROKEN, CAUGHT_UP_TO, Sabotage, caught_models, is_caught
from assay.sabotage.sound import CopperGold, SoundPotential
from assay.sabotage.sound_models import SOUND, SinglePrecision, SoundBatch

__all__ = [
    "BROKEN",
    "CAUGHT_UP_TO",
    "SOUND",
    "CopperGold",
    "Sabotage",
    "SinglePrecision",
    "SoundBatch",
    "SoundPotential",
    "caught_models",
    "is_caught",
]

# Here and not in __getattr__, because the name 'sound' would otherwise be the file sound.py and not the model.
globals().update({entry.build.__name__: entry.build for entry in BROKEN.values()})
globals().update({name: entry.build for name, entry in BROKEN.items()} | SOUND)


def __getattr__(name: str) -> Callable[[], Calculator]:
    models = [*BROKEN, *SOUND]
    raise AttributeError(f"there is no model '{name}' in assay.sabotage{did_you_mean(name, models)}; see BROKEN, SOUND")
