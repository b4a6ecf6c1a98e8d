"""The kinds of reference data. Each kind is declared here, and nowhere else.

To add a kind, add an entry to `_BUILT_IN`. A benchmark outside of Assay brings a kind of its own with `register_kind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import entry_points
from math import inf
from types import MappingProxyType

from assay.data.checks import (
    RecordCheck,
    angles_are_as_stated,
    bonds_of_isomers_differ,
    bonds_of_reaction_differ,
    bonds_stay,
    isomers_are_two,
    transition_state_is_highest,
)
from assay.data.dataset import Record
from assay.data.rules import (
    REFERENCE,
    Rule,
    complete,
    geometry_roles,
    has_coordinates,
    has_energies,
    marked_bond,
    marked_ring,
    named_atoms,
    one_structure,
    reaction_roles,
    same_atoms,
    same_atoms_in_order,
    same_atoms_of_reaction,
    two_or_more_structures,
    two_structures,
)
from assay.errors import AssayError
from assay.naming import did_you_mean


class Energies(StrEnum):
    """The meaning of the reference energies of a kind."""

    TOTAL = "total or relative"
    INTERACTION = "interaction energies"
    OPTIONAL = "not needed"


@dataclass(frozen=True)
class EnergyLimits:
    """Reference energies (eV) outside of these limits are not plausible; most often their unit is wrong."""

    range: float = inf
    """Largest difference of energies in a record."""

    range_per_atom: float = inf
    """The same, divided by the number of atoms."""

    median_range: float = 0.0
    """The difference of energies in the median record of a set is at least this."""

    binding: float = inf
    """Largest binding energy of a complex."""

    median_binding: float = inf
    """Largest binding energy of the median complex of a set."""


@dataclass(frozen=True)
class Kind:
    """A kind of reference data: what a record contains, and how it is checked.

    Attributes:
        name: the name in `data.toml` and on cards.
        what: what a record is, for the documentation ("two isomers that differ in the position of a hydrogen").
        rules: what a record must fulfil besides the rules for all kinds; the first that fails is reported.
        atoms: the rule for the atoms of the structures of a record.
        energies: the meaning of the reference energies.
        keys: keys of `[records.NAME]` in `data.toml` that this kind uses; similar keys are reported as misspelt.
        single_role: the role of a single structure that has no role in the file.
        part_of: another kind, whose records serve as records of this kind if `mark` is among their keys.
        mark: see `part_of`.
        cyclic: true if the coordinate is an angle, so that a scan may end with the structure that it began with.
        limits: plausible reference energies.
        checks: plausibility checks of a record besides those for all kinds.
        defects: checks whose findings mean that the record cannot judge any model, so that it is left out.
    """

    name: str
    what: str
    rules: tuple[Rule, ...] = ()
    atoms: Rule = same_atoms_in_order
    energies: Energies = Energies.TOTAL
    keys: tuple[str, ...] = ()
    single_role: str = ""
    part_of: str = ""
    mark: str = ""
    cyclic: bool = False
    limits: EnergyLimits = EnergyLimits()
    checks: tuple[RecordCheck, ...] = ()
    defects: tuple[RecordCheck, ...] = ()

    def complaint(self, record: Record) -> str:
        """Why a record cannot be used, as words that follow its name; empty if it can."""
        energies = () if self.energies is Energies.OPTIONAL else (has_energies,)
        rules = (complete, *self.rules, *energies, self.atoms, named_atoms)
        return next((reason for rule in rules if (reason := rule(record))), "")


_BUILT_IN = (
    Kind(
        name="noncovalent_interactions",
        what="a complex of two molecules at two or more distances",
        rules=(has_coordinates, two_or_more_structures),
        energies=Energies.INTERACTION,
        keys=("group", "repulsive", "atoms_a", "atoms_b", "charge_a", "charge_b"),
        limits=EnergyLimits(binding=8.0, median_binding=3.0),
    ),
    Kind(
        name="dihedral_scan",
        what="a molecule rotated about a bond, at two or more angles",
        rules=(has_coordinates, two_or_more_structures),
        keys=("torsion",),
        cyclic=True,
        limits=EnergyLimits(range=4.0, median_range=0.005),
        checks=(bonds_stay, angles_are_as_stated),
    ),
    Kind(
        name="conformer_selection",
        what="two or more conformers of a molecule",
        rules=(two_or_more_structures,),
        limits=EnergyLimits(range_per_atom=0.4),
        checks=(bonds_stay,),
    ),
    Kind(
        name="tautomers",
        what="two isomers that differ in the position of a hydrogen",
        rules=(two_structures,),
        atoms=same_atoms,
        limits=EnergyLimits(range=5.0),
        checks=(bonds_of_isomers_differ,),
        defects=(isomers_are_two,),
    ),
    Kind(
        name="reactions",
        what="reactant, transition state and product of a reaction",
        rules=(reaction_roles,),
        atoms=same_atoms_of_reaction,
        limits=EnergyLimits(range=10.0, median_range=0.1),
        checks=(transition_state_is_highest, bonds_of_reaction_differ),
    ),
    Kind(
        name="reference_geometry",
        what="a molecule at its energy minimum, with or without a displaced copy",
        rules=(geometry_roles,),
        energies=Energies.OPTIONAL,
        single_role=REFERENCE,
        limits=EnergyLimits(range_per_atom=2.0),
        checks=(bonds_stay,),
    ),
    Kind(
        name="bonds",
        what="a molecule with one `bond` marked",
        rules=(marked_bond, one_structure),
        energies=Energies.OPTIONAL,
        keys=("bond", "bond_type", "bond_length", "bond_stiffness"),
        part_of="reference_geometry",
        mark="bond",
    ),
    Kind(
        name="rings",
        what="a molecule with a planar `ring` marked",
        rules=(marked_ring, one_structure),
        energies=Energies.OPTIONAL,
        keys=("ring", "plane_fluctuation"),
        part_of="reference_geometry",
        mark="ring",
    ),
    Kind(
        name="stability",
        what="a molecule, a protein or a periodic solution that is stable in a simulation",
        rules=(one_structure,),
        energies=Energies.OPTIONAL,
    ),
)

_kinds = {kind.name: kind for kind in _BUILT_IN}
KINDS: Mapping[str, Kind] = MappingProxyType(_kinds)
"""All kinds of data by name, those of other packages included."""


def find_kind(name: str) -> Kind:
    """The kind of data with this name. Benchmarks of other packages are imported if Assay itself has no such kind."""
    if name not in KINDS:
        for point in entry_points(group="assay.benchmarks"):
            point.load()
    if name not in KINDS:
        raise AssayError(f"there is no kind of data '{name}'{did_you_mean(name, KINDS)}; there are {', '.join(KINDS)}")
    return KINDS[name]


def register_kind(kind: Kind) -> Kind:
    """Add a kind of data that a benchmark outside of Assay needs, and return it.

    Call it in the module of the benchmark. The same kind may be registered again, for example by a notebook cell that
    is run twice; two different kinds with one name are an error.
    """
    other = KINDS.get(kind.name)
    if other is not None and (other in _BUILT_IN or other.what != kind.what):
        raise AssayError(f"there is already a kind of data '{kind.name}' ({other.what}); choose another name")
    if kind.part_of:
        find_kind(kind.part_of)
    _kinds[kind.name] = kind
    return kind
