"""What a model claims and what it really supports: elements, spacing of atoms, precision, noise.

`assay.compute.surveying` makes a survey with jobs before any benchmark runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.configurations import TOUCHING, boxed, cluster, crystal, radius, symbol
from assay.errors import Cause
from assay.jobs import Probe
from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.reasons import Reason, grouped
from assay.structure import Structure

EVERY_SPECIES = 12
"""A model with up to this number of species is checked on all of them; of more species a sample is used by default."""

SAMPLE = ("H", "C", "N", "O", "F", "Na", "Si", "S", "Cl", "Cu", "Ag", "Au")
"""The sample: at least one species of every block and type of bonding; missing ones are replaced evenly by others."""

MIXED_SPECIES = 6
"""Species in the mixed structure."""

USUAL_FACTORS = (0.75, 1.35)
"""The usual range of the spacing factor; a model outside it has its own length scale, and its structures are scaled."""

LARGE_CLUSTER = 12
"""Atoms in a larger cluster: enough neighbours to exceed a short neighbour list."""


@dataclass(frozen=True)
class Subject:
    """One kind of test structure: a species or the mixture, with the spacing at which this model gives usable forces.

    A factor of None means that the model refuses that kind of structure.
    """

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
    """The measured properties of a model. Energies in eV, forces in eV/Å; elements are atomic numbers."""

    card: ModelCard
    answered: tuple[int, ...] = ()
    """Elements for which the model gives energy and forces."""

    refused: Mapping[int, str] = field(default_factory=dict)
    """Elements that the model refuses, with the reason."""

    invalid: Mapping[int, str] = field(default_factory=dict)
    """Elements with NaN, infinite or malformed results, with the reason."""

    lost: Mapping[int, str] = field(default_factory=dict)
    """Elements for which the worker process was lost, with the reason."""

    refused_alone: tuple[int, ...] = ()
    """Elements whose single atom is refused while their dimer is not; its results may be those of another structure."""

    lone_energies: Mapping[int, float] = field(default_factory=dict)
    """Energy (eV) of a lone atom of each element; where the model refuses it, half of that of two touching atoms."""

    subjects: tuple[Subject, ...] = ()
    pbc: tuple[str, ...] = ()
    stress: bool = False
    precision: str = "float64"
    measured_precision: str = ""
    """The precision that the results show, whatever the model claims; empty if it was not measured."""

    noise_energy: float = 0.0
    noise_force: float = 0.0
    seconds_per_call: float = 0.02
    seconds_per_batched_call: float | None = None
    used: Mapping[str, str] = field(default_factory=dict)
    """Precision and device of the running calculator."""

    contact_error: str = ""
    """Why the first contact failed; empty if it succeeded."""

    noise_measured: bool = False
    """False if no benchmark needed the noise floor."""

    @property
    def species(self) -> tuple[int, ...]:
        """Atomic numbers that the model claims or, without a claim, those that it does not refuse."""
        if self.card.elements is not None:
            return self.card.elements
        return tuple(sorted({*self.answered, *self.invalid}))

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of `species`."""
        return tuple(symbol(z) for z in self.species)

    @property
    def periodic_patterns(self) -> tuple[str, ...]:
        """Patterns with at least one periodic direction that the model claims or, without a claim, supports."""
        return tuple(p for p in PERIODIC_PATTERNS if p in self.pbc)

    @property
    def remarks(self) -> list[str]:
        """Notes for the user about claims that are not correct."""
        notes = list(self.card.notes)
        if self.card.elements is not None:
            claimed = set(self.card.elements)
            beyond = [z for z in self.answered if z not in claimed]
            below = [z for z in self.card.elements if z in self.refused or z in self.invalid]
            if beyond:
                notes.append(f"gives results for elements that it does not claim: {_symbols(beyond)}")
            if below:
                notes.append(f"refuses elements that it claims: {_symbols(below)}")
        if self.invalid:
            notes.append(f"gives invalid results instead of an error: {_with_reasons(self.invalid)}")
        if self.card.precision and self.noise_measured and self.measured_precision not in ("", self.precision):
            notes.append(f"claims {self.card.precision}, but its results are those of {self.measured_precision}")
        if self.lost:
            notes.append(f"the worker was lost for elements: {_with_reasons(self.lost)}")
        return notes

    def clusters(self, variant: int = 0) -> list[tuple[str, Structure]]:
        """A distorted cluster for each subject, in a periodic box for models that support only periodic systems."""
        labelled = []
        for subject in self.subjects:
            if subject.cluster_factor is not None:
                atoms = cluster(subject.numbers, subject.cluster_factor, variant=variant)
                labelled.append((subject.label, self.placed(atoms)))
        return labelled

    def large_clusters(self) -> list[tuple[str, Structure]]:
        """Larger clusters, of the first species and of the mixture, in which atoms have many neighbours."""
        labelled = []
        for subject in [*self.subjects[:1], *(s for s in self.subjects[1:] if len(s.numbers) > 1)]:
            if subject.cluster_factor is not None:
                atoms = cluster(subject.numbers, subject.cluster_factor, LARGE_CLUSTER)
                labelled.append((subject.label, self.placed(atoms)))
        return labelled

    def crystals(self, pattern: str = "TTT", variant: int = 0) -> list[tuple[str, Structure]]:
        """A distorted periodic cell for each subject; none if the model does not support the pattern."""
        return [
            (subject.label, crystal(subject.numbers, subject.crystal_factor, pattern, variant))
            for subject in self.subjects
            if subject.crystal_factor is not None and pattern in self.pbc
        ]

    def lone_energy(self, structure: Structure) -> float:
        """The energy (eV) per atom of the atoms of a structure when they are alone; 0 if one of them is unknown."""
        energies = [self.lone_energies.get(int(z)) for z in structure.numbers]
        known = [energy for energy in energies if energy is not None]
        return sum(known) / len(known) if known and len(known) == len(energies) else 0.0

    @property
    def usable(self) -> list[int]:
        """Atomic numbers that the model claims and gives results for."""
        return [z for z in self.species if z in self.answered]

    def placed(self, structure: Structure) -> Structure:
        """A molecule or cluster, in a periodic box for models that support only periodic systems."""
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
            "noise_energy_eV": self.noise_energy if self.noise_measured else None,
            "noise_force_eV_per_A": self.noise_force if self.noise_measured else None,
            "seconds_per_call": self.seconds_per_call,
            "seconds_per_batched_call": self.seconds_per_batched_call,
            "used": dict(self.used),
            "remarks": self.remarks,
        }


def _symbols(numbers: Sequence[int]) -> str:
    return " ".join(symbol(z) for z in numbers)


def _with_reasons(elements: Mapping[int, str]) -> str:
    """Elements, those with the same kind of reason together: `Cu Ag (the energy is NaN); Au (…)`."""
    groups = grouped(Reason(symbol(z), elements[z]) for z in sorted(elements))
    return "; ".join(f"{' '.join(member.case for member in group.members)} ({group.reason})" for group in groups)


def sample_species(available: Sequence[int], all_species: bool) -> list[int]:
    """The species to check: all if they are few or if `all_species` is true, else a sample of the periodic table."""
    if all_species or len(available) <= EVERY_SPECIES:
        return list(available)
    sample = [z for z in available if symbol(z) in SAMPLE]
    rest = [z for z in available if z not in sample]
    missing = EVERY_SPECIES - len(sample)
    if missing > 0 and rest:
        places = np.linspace(0, len(rest) - 1, min(missing, len(rest)))
        sample += sorted({rest[round(p)] for p in places})
    return sorted(sample)


def repeats_job(survey: Survey) -> Probe | None:
    """The job that measures the noise floor; the check `deterministic` uses the same job."""
    structures = [s for _, s in survey.clusters()] + [
        s for pattern in survey.periodic_patterns[:1] for _, s in survey.crystals(pattern)
    ]
    if not structures:
        return None
    return Probe("repeats", tuple(structures), {"stress": True}, force_calls=18 * len(structures) + 75, calculators=1)


def subject_labels(survey: Survey) -> list[str]:
    """Names of the structures of `repeats_job`, in the same order."""
    crystals = [f"{label}-{p}" for p in survey.periodic_patterns[:1] for label, _ in survey.crystals(p)]
    return [label for label, _ in survey.clusters()] + crystals


def touching(first: int, second: int, survey: Survey) -> float:
    """The distance (Å) of two touching atoms, with the spacing factors of this model."""
    factors = {s.numbers[0]: s.cluster_factor or 1.0 for s in survey.subjects if len(s.numbers) == 1}
    return TOUCHING * (radius(first) * factors.get(first, 1.0) + radius(second) * factors.get(second, 1.0))
