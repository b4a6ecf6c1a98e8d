"""KIM models that work in other units than eV and Å, to check how they convert them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.errors import AssayError
from assay.models._kim_library import computable, create_model, import_kimpy, refusals, species_codes

if TYPE_CHECKING:
    import numpy as np
    from ase import Atoms
    from ase.calculators.calculator import Calculator

# The first pair is the reference. The last two change only one unit: there, some models forget part of their energy.
_PAIRS = (("A", "eV"), ("nm", "kcal_mol"), ("Bohr", "Hartree"), ("m", "J"), ("nm", "eV"), ("A", "kcal_mol"))
UNIT_SETS: dict[str, tuple[str, str]] = {f"{length}-{energy}": (length, energy) for length, energy in _PAIRS}
"""Units of length and energy by the name of the set, such as "nm-kcal_mol"."""

UNIT_SIZES = {"A": 1.0, "nm": 10.0, "m": 1e10, "Bohr": 0.5291772109217171}
UNIT_SIZES |= {"eV": 1.0, "J": 1 / 1.60217646e-19, "Hartree": 27.211384332784412, "kcal_mol": 0.04336413730607426}
"""Each unit in Å or eV, with the constants of the KIM API (within 1e-6 of CODATA), so that only errors of the model are
visible. The erg is left out: KIM API 2.3.0 takes 1 eV for 1.6e-26 erg instead of 1.6e-12 erg."""


def build_in_units(name: str, unit_set: str) -> Calculator:
    """A calculator whose KIM model works in one of the `UNIT_SETS`; results are converted to eV and eV/Å.

    Compare with the set 'A-eV' of this function: it never refreshes the model, while the calculator of ASE always does.
    """
    if unit_set not in UNIT_SETS:
        raise AssayError(f"there is no unit set '{unit_set}'; choose one of {', '.join(UNIT_SETS)}")
    model = create_model(name, *UNIT_SETS[unit_set])
    length, energy = (UNIT_SIZES[unit] for unit in UNIT_SETS[unit_set])
    from ase.calculators.calculator import Calculator, all_changes

    class KimInUnits(Calculator):
        implemented_properties = ["energy", "forces"]  # noqa: RUF012  (ASE's convention)

        def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
            with refusals(name, self):
                super().calculate(atoms, properties, system_changes)
                raw_energy, raw_forces = _compute(model, computable(atoms), length)
            self.results = {"energy": raw_energy * energy, "forces": raw_forces * (energy / length)}

    return KimInUnits()


def _compute(model: Any, atoms: Atoms, length: float) -> tuple[float, np.ndarray]:
    """Energy and forces in the units of the model, whose unit of length is `length` (Å)."""
    import numpy as np

    kimpy = import_kimpy()
    positions, codes, owner = _with_images(model, atoms, length)
    number, real = np.array([len(positions)], dtype=np.intc), (np.arange(len(positions)) < len(atoms)).astype(np.intc)
    energy, forces, total = np.zeros(1), np.zeros((len(positions), 3)), np.zeros((len(atoms), 3))
    arguments, names = model.compute_arguments_create(), kimpy.compute_argument_name
    coordinates = positions / length  # needs a name of its own: the KIM API stores only its address
    arguments.set_argument_pointer(names.numberOfParticles, number)
    arguments.set_argument_pointer(names.particleSpeciesCodes, codes)
    arguments.set_argument_pointer(names.particleContributing, real)
    arguments.set_argument_pointer(names.coordinates, coordinates)
    arguments.set_argument_pointer(names.partialEnergy, energy)
    arguments.set_argument_pointer(names.partialForces, forces)
    neighbours = _neighbour_lists(positions, model.get_neighbor_list_cutoffs_and_hints()[0] * length)
    arguments.set_callback(kimpy.compute_callback_name.GetNeighborList, neighbours, {})
    model.compute(arguments)
    np.add.at(total, owner, forces)  # a force on a periodic image belongs to the atom itself
    return float(energy[0]), total


def _with_images(model: Any, atoms: Atoms, length: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions (Å), species codes and the number of the original atom, for all atoms and their periodic images."""
    import numpy as np

    species = species_codes(model)
    if unsupported := set(atoms.symbols) - set(species):
        raise RuntimeError(f"it supports {', '.join(species)}, not {', '.join(sorted(unsupported))}")
    codes = np.array([species[symbol] for symbol in atoms.symbols], dtype=np.intc)
    positions, owner = atoms.positions, np.arange(len(atoms))
    if not atoms.pbc.any():
        return positions, codes, owner
    box = (atoms.cell.array, atoms.pbc.astype(np.intc), positions, codes)
    images = import_kimpy().neighlist.create_paddings(model.get_influence_distance() * length, *box)
    joined = [np.concatenate(both) for both in zip((positions, codes, owner), images, strict=True)]
    return joined[0], joined[1], joined[2]


def _neighbour_lists(positions: np.ndarray, cutoffs: np.ndarray) -> Any:
    """The function by which a model asks for the neighbours of an atom within one of its cutoffs (Å).

    Neighbours are found in Å, because the function of kimpy fails in metres.
    """
    import numpy as np
    from scipy.spatial import cKDTree

    tree = cKDTree(positions)
    near = [tree.query_ball_point(positions, cutoff) for cutoff in cutoffs]

    def neighbours(data: object, cutoffs: object, which: int, atom: int) -> tuple[np.ndarray, int]:
        return np.array([other for other in near[which][atom] if other != atom], dtype=np.intc), 0

    return neighbours
