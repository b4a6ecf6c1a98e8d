"""The list of broken models, and the benchmarks that must catch each of them.

A benchmark names the broken models that it must catch (`catches` of its class). This is the only list of who catches
what: `caught_by` of a broken model is read from it, so benchmarks of other packages are included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.naming import did_you_mean
from assay.sabotage.sound import SoundPotential

if TYPE_CHECKING:
    from assay.benchmark import Benchmark

CAUGHT_UP_TO = 0.5
"""The highest score that a benchmark may give to a broken model that it catches."""


@dataclass(frozen=True)
class Sabotage:
    """A broken model: its name, its bug in one sentence, and its class, which builds the calculator.

    Attributes:
        never_answers: True where a call neither returns nor raises. No benchmark can catch such a model; all its cases
            must end as errors, and the run must go on.
    """

    name: str
    what: str
    build: type[SoundPotential]
    never_answers: bool = False

    @property
    def caught_by(self) -> tuple[str, ...]:
        """The benchmarks that must catch this model, by their names without category, in alphabetical order."""
        from assay.benchmarks.registry import registered_benchmarks  # not at import: it imports every benchmark

        benchmarks = registered_benchmarks().items()
        return tuple(sorted(name.rpartition(".")[2] for name, kind in benchmarks if self.name in kind.catches))


BROKEN: dict[str, Sabotage] = {}
"""Every broken model by its name."""


def broken(kind: type[SoundPotential]) -> type[SoundPotential]:
    """Enter a class in `BROKEN`: `ZeroForce` becomes `zero_force`, and its docstring describes the bug."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
    BROKEN[name] = Sabotage(name, kind.__doc__ or "", kind, getattr(kind, "never_answers", False))
    return kind


def caught_models(benchmark: type[Benchmark]) -> tuple[Sabotage, ...]:
    """The broken models that a benchmark must catch.

    Raises:
        AssayError: `catches` contains a name that is not in `BROKEN`.
    """
    for name in benchmark.catches:
        if name not in BROKEN:
            raise AssayError(
                f"benchmark '{benchmark.name or benchmark.__name__}' must catch '{name}', but there is no broken model "
                f"'{name}'{did_you_mean(name, BROKEN)}; assay.sabotage.BROKEN has all names"
            )
    return tuple(BROKEN[name] for name in benchmark.catches)


def is_caught(score: float | None) -> bool:
    """True when a benchmark that is not a check has caught a broken model: it gives no score, or one of at most 0.5."""
    return score is None or score <= CAUGHT_UP_TO
