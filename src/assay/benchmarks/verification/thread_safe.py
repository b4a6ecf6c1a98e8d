"""Several calculators in several threads give what one gives alone.

Many programs evaluate from threads. A model with scratch space shared between its calculators returns a mixture of
other structures' results now and then, which nobody notices.

Protocol:
- Four calculators in four threads evaluate all structures in different orders for several rounds, with the interpreter
  switching threads as often as it can; energy, forces and stress are compared with a serial evaluation. A pass is
  assurance, not proof.
Reference: the model itself.
Cite: OpenKIM verification check vc-thread-safe.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.benchmarks.bases.probe_check import ProbeCheck
from assay.jobs import Data


@dataclass(frozen=True)
class ThreadSafe(ProbeCheck):
    """Concurrent evaluations equal serial ones."""

    version = 2
    catches = ("not_thread_safe", "shares_stress")
    probe = "threads"
    phrase = "from several threads"
    threads: int = 4
    rounds: int = 5

    @property
    def settings(self) -> Data:
        """How many threads, and how often each goes through all structures."""
        return {"threads": self.threads, "rounds": self.rounds, "stress": True}

    @property
    def calls_per_structure(self) -> int:
        """Every thread evaluates every structure in every round."""
        return self.threads * self.rounds

    @property
    def calculators(self) -> int:
        """Every thread has its own."""
        return self.threads
