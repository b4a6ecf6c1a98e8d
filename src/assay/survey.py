"""What a model claims and what it turns out to do: elements, spacing, precision, noise. Made before any benchmark.

A survey is itself made of jobs, so it is resumed, protected and kept like everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.configurations import TOUCHING, boxed, cluster, crystal, radius, symbol
from assay.errors import Cause
from assay.jobs import Probe
from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.structure import Structure

EVERY_SPECIES = 12
"""Models of up to this many species are checked on all of them; of others a sample is taken, unless told otherwise."""

SAMPLE = ("H", "C", "N", "O", "F", "Na", "Si", "S", "Cl", "Cu", "Ag", "Au")
"""The sample: one or more of every block and bonding type; gaps are filled evenly from what the model has."""

MIXED_SPECIES = 6
USUAL_FACTORS = (0.75, 1.35)
"""A model whose factor of spacing lies outside has another length scale than nature, and gets structures in its own."""

LARGE_CLUSTER = 12
"""Atoms in the larger clusters, enough for an atom to have more neighbours than a short list holds."""


@dataclass(frozen=True)
class Subject:
    """One kind of test structure: a species, or the mixture, with the spacing at which this model feels it."""

    label: str
    numbers: tuple[int, ...]
    cluster_factor: float | None
    crystal_factor: float | None
    largest_force: float | None = None
    reason: str = ""
    lost: bool = False
    cause: str = Cause.NONE


@dataclass(frozen=True)
class Survey:
    """The model as found. Energies in eV, forces in eV/Å."""

    card: ModelCard
    answered: tuple[int, ...] = ()
    refused: Mapping[int, str] = field(default_factory=dict)
    invalid: Mapping[int, str] = field(default_factory=dict)
    lost: Mapping[int, str] = field(default_factory=dict)
    odd: tuple[int, ...] = ()
    """Elements whose lone atom was refused while two of them were answered: perhaps with somebody else's results."""

    subjects: tuple[Subject, ...] = ()
    pbc: tuple[str, ...] = ()
    stress: bool = False
    precision: str = "float64"
    noise_energy: float = 0.0
    noise_force: float = 0.0
    seconds_per_call: float = 0.02
    seconds_per_batched_call: float | None = None
    used: Mapping[str, str] = field(default_factory=dict)
    """Precision and device as found in the running calculator."""

    contact_error: str = ""
    noise_known: bool = False
    """False as long as no benchmark needed to know how well the model repeats itself."""

    @property
    def species(self) -> tuple[int, ...]:
        """Atomic numbers that the model claims, or, where it claims nothing, those for which it did not refuse."""
        if self.card.elements is not None:
            return self.card.elements
        return tuple(sorted({*self.answered, *self.invalid}))

    @property
    def periodic_patterns(self) -> tuple[str, ...]:
        """Patterns with at least one periodic direction that the model claims or turned out to answer."""
        return tuple(p for p in PERIODIC_PATTERNS if p in self.pbc)

    @property
    def remarks(self) -> list[str]:
        """What the user should know about claims that do not hold."""
        notes = list(self.card.notes)
        if self.card.elements is not None:
            claimed = set(self.card.elements)
            beyond = [z for z in self.answered if z not in claimed]
            below = [z for z in self.card.elements if z in self.refused or z in self.invalid]
            if beyond:
                notes.append(f"answers for elements outside its claim: {_symbols(beyond)}")
            if below:
                notes.append(f"refuses elements inside its claim: {_symbols(below)}")
        if self.invalid:
            reason = next(iter(self.invalid.values()))
            notes.append(f"answers with nonsense instead of refusing: {_symbols(sorted(self.invalid))} ({reason})")
        if self.lost:
            notes.append(f"worker lost while asking for: {_symbols(sorted(self.lost))}")
        return notes

    def clusters(self, variant: int = 0) -> list[tuple[str, Structure]]:
        """A distorted cluster for each subject, boxed for models that only know periodic systems."""
        found = []
        for subject in self.subjects:
            if subject.cluster_factor is not None:
                body = cluster(subject.numbers, subject.cluster_factor, variant=variant)
                found.append((subject.label, self.placed(body)))
        return found

    def large_clusters(self) -> list[tuple[str, Structure]]:
        """Larger clusters, of the first species and of the mixture, in which atoms have many neighbours."""
        found = []
        for subject in [*self.subjects[:1], *(s for s in self.subjects[1:] if len(s.numbers) > 1)]:
            if subject.cluster_factor is not None:
                body = cluster(subject.numbers, subject.cluster_factor, LARGE_CLUSTER)
                found.append((subject.label, self.placed(body)))
        return found

    def crystals(self, pattern: str = "TTT", variant: int = 0) -> list[tuple[str, Structure]]:
        """A distorted periodic cell for each subject; none if the pattern is not claimed."""
        return [
            (subject.label, crystal(subject.numbers, subject.crystal_factor, pattern, variant))
            for subject in self.subjects
            if subject.crystal_factor is not None and pattern in self.pbc
        ]

    @property
    def usable(self) -> list[int]:
        """Atomic numbers that the model claims and answers for."""
        return [z for z in self.species if z in self.answered]

    def placed(self, structure: Structure) -> Structure:
        """A molecule or cluster as it is, or in a periodic box for models that support only periodic systems."""
        return structure if "FFF" in self.pbc or not self.pbc else boxed(structure)

    def describe(self) -> dict[str, object]:
        """Plain data for `model.json`."""
        return {
            "answered": _symbols(self.answered).split(),
            "refused": {symbol(z): reason for z, reason in self.refused.items()},
            "invalid": {symbol(z): reason for z, reason in self.invalid.items()},
            "lost": {symbol(z): reason for z, reason in self.lost.items()},
            "checked": [s.label for s in self.subjects],
            "sampled": len({z for s in self.subjects for z in s.numbers}) < len(set(self.species) & set(self.answered)),
            "pbc": list(self.pbc),
            "stress": self.stress,
            "precision": self.precision,
            "noise_energy_eV": self.noise_energy if self.noise_known else None,
            "noise_force_eV_per_A": self.noise_force if self.noise_known else None,
            "seconds_per_call": self.seconds_per_call,
            "seconds_per_batched_call": self.seconds_per_batched_call,
            "used": dict(self.used),
            "remarks": self.remarks,
        }


def _symbols(numbers: Sequence[int]) -> str:
    return " ".join(symbol(z) for z in numbers)


def sample_species(available: Sequence[int], all_species: bool) -> list[int]:
    """The species to check: all if they are few or if asked for, else a sample over the periodic table."""
    if all_species or len(available) <= EVERY_SPECIES:
        return list(available)
    chosen = [z for z in available if symbol(z) in SAMPLE]
    rest = [z for z in available if z not in chosen]
    gaps = EVERY_SPECIES - len(chosen)
    if gaps > 0 and rest:
        places = np.linspace(0, len(rest) - 1, min(gaps, len(rest)))
        chosen += sorted({rest[round(p)] for p in places})
    return sorted(chosen)


def repeats_job(survey: Survey) -> Probe | None:
    """The question whose answer is the noise floor; the check `deterministic` asks the same one."""
    structures = [s for _, s in survey.clusters()] + [
        s for pattern in survey.periodic_patterns[:1] for _, s in survey.crystals(pattern)
    ]
    return Probe("repeats", tuple(structures), force_calls=18 * len(structures)) if structures else None


def subject_labels(survey: Survey) -> list[str]:
    """Names of the structures of `repeats_job`, in its order."""
    crystals = [f"{label}-{p}" for p in survey.periodic_patterns[:1] for label, _ in survey.crystals(p)]
    return [label for label, _ in survey.clusters()] + crystals


def touching(first: int, second: int, survey: Survey) -> float:
    """The distance (Å) at which two species touch for this model."""
    factors = {s.numbers[0]: s.cluster_factor or 1.0 for s in survey.subjects if len(s.numbers) == 1}
    return TOUCHING * (radius(first) * factors.get(first, 1.0) + radius(second) * factors.get(second, 1.0))
