"""KIM models behave as ASE calculators, refuse clearly, and say the same in every system of units."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk

from assay.errors import AssayError, ModelFailure
from assay.models import _kim_library, _kim_units, kim

pytestmark = pytest.mark.kim

PT_AU = "EAM_Dynamo_OBrienBarrPrice_2018_PtAu__MO_946831081299_000"
EFFECTIVE_MEDIUM = "EMT_Asap_Standard_JacobsenStoltzeNorskov_1996_AlAgAuCuNiPdPt__MO_115316750986_001"
SIMULATOR_MODEL = "Sim_LAMMPS_ADP_StarikovGordeevLysogorskiy_2020_SiAuAl__SM_113843830602_000"
BOTH_CHANGE = [name for name, (length, energy) in kim.UNIT_SETS.items() if length != "A" and energy != "eV"]
OTHERS = [name for name in kim.UNIT_SETS if name != "A-eV"]
PERIODICITIES = [(False, False, False), (True, False, True), (True, True, True)]


def distorted_alloy(pbc: tuple[bool, bool, bool] = (False, False, False)) -> Atoms:
    """Eight atoms of Pt-Au displaced by about 0.1 Å from a face-centred crystal, so that no force vanishes."""
    atoms = bulk("Au", a=4.0, cubic=True).repeat((2, 1, 1))
    atoms.symbols[::3] = "Pt"
    atoms.rattle(0.1, seed=7)
    atoms.pbc = pbc
    return atoms


def in_units(model: str, unit_set: str, atoms: Atoms) -> tuple[float, np.ndarray]:
    atoms = atoms.copy()
    atoms.calc = kim.build_in_units(model, unit_set)
    return atoms.get_potential_energy(), atoms.get_forces()


def squeezed_platinum() -> Atoms:
    """Platinum so dense that its electron density lies beyond the tables of the Pt-Au potential."""
    return bulk("Pt", a=3.0, cubic=True)


def test_platinum_gold_potential_claims_platinum_and_gold() -> None:
    assert kim.supported_elements(PT_AU) == (78, 79)


@pytest.mark.parametrize("pbc", PERIODICITIES)
@pytest.mark.parametrize("model", [PT_AU, EFFECTIVE_MEDIUM])
def test_own_driver_of_the_kim_api_agrees_with_that_of_ase(model: str, pbc: tuple[bool, bool, bool]) -> None:
    atoms = distorted_alloy(pbc)
    energy, forces = in_units(model, "A-eV", atoms)
    atoms.calc = kim.build_calculator(model)
    assert energy == pytest.approx(atoms.get_potential_energy(), rel=1e-12)
    assert forces == pytest.approx(atoms.get_forces(), abs=1e-11)


@pytest.mark.parametrize("pbc", PERIODICITIES)
@pytest.mark.parametrize(
    ("model", "unit_set"),
    [(PT_AU, one) for one in BOTH_CHANGE] + [(EFFECTIVE_MEDIUM, one) for one in OTHERS],
)
def test_energy_and_forces_do_not_depend_on_the_units(model: str, unit_set: str, pbc: tuple[bool, bool, bool]) -> None:
    energy, forces = in_units(model, "A-eV", distorted_alloy(pbc))
    same_energy, same_forces = in_units(model, unit_set, distorted_alloy(pbc))
    assert same_energy == pytest.approx(energy, rel=1e-11)
    assert same_forces == pytest.approx(forces, abs=1e-10)
    assert np.abs(forces).max() > 0.1


def test_embedded_atom_driver_forgets_the_pair_energy_when_one_unit_changes() -> None:
    """Driver MD_120291908751_005 converts its pair table only if length and energy both change.

    The pair energy P then enters with the numbers of eV and Å: its error is (10 - 1) P in nm and eV, and
    (0.0434 - 1) P in Å and kcal/mol, with the same P.
    """
    energy, _ = in_units(PT_AU, "A-eV", distorted_alloy())
    from_length = (in_units(PT_AU, "nm-eV", distorted_alloy())[0] - energy) / (10 - 1)
    from_energy = (in_units(PT_AU, "A-kcal_mol", distorted_alloy())[0] - energy) / (units.kcal / units.mol - 1)
    assert abs(from_length) > 0.1
    assert from_length == pytest.approx(from_energy, rel=1e-5)


@pytest.mark.parametrize(("unit", "unit_set"), [("nm", "nm-kcal_mol"), ("kcal_mol", "nm-kcal_mol"), ("J", "m-J")])
def test_a_unit_wrong_by_a_thousandth_is_noticed(unit: str, unit_set: str, monkeypatch: pytest.MonkeyPatch) -> None:
    energy, forces = in_units(PT_AU, "A-eV", distorted_alloy())
    monkeypatch.setitem(_kim_units.UNIT_SIZES, unit, _kim_units.UNIT_SIZES[unit] * 1.001)
    wrong_energy, wrong_forces = in_units(PT_AU, unit_set, distorted_alloy())
    assert abs(wrong_energy / energy - 1) > 1e-5
    assert np.abs(wrong_forces - forces).max() > 1e-4 * np.abs(forces).max()


def test_unit_constants_are_those_of_nature_to_a_millionth() -> None:
    nature = {"A": 1.0, "nm": units.nm, "m": units.m, "Bohr": units.Bohr, "eV": 1.0, "J": units.J}
    nature |= {"Hartree": units.Hartree, "kcal_mol": units.kcal / units.mol}
    assert pytest.approx(nature, rel=1e-6) == _kim_units.UNIT_SIZES


def test_a_refused_structure_stays_refused() -> None:
    """ASE's own class would answer the second question with zero energy and zero forces."""
    atoms = squeezed_platinum()
    for calculator in (kim.build_calculator(PT_AU), kim.build_in_units(PT_AU, "nm-kcal_mol")):
        atoms.calc = calculator
        for question in (atoms.get_potential_energy, atoms.get_forces, atoms.get_potential_energy):
            with pytest.raises(ModelFailure, match="density value outside"):
                question()


def test_a_refusal_does_not_disturb_the_next_structure() -> None:
    calculator = kim.build_calculator(PT_AU)
    before, after, refused = distorted_alloy(), distorted_alloy(), squeezed_platinum()
    before.calc = after.calc = refused.calc = calculator
    energy = before.get_potential_energy()
    with pytest.raises(ModelFailure):
        refused.get_potential_energy()
    assert after.get_potential_energy() == energy


def test_an_element_outside_the_model_is_refused() -> None:
    atoms = bulk("Cu", cubic=True)
    for calculator in (kim.build_calculator(PT_AU), kim.build_in_units(PT_AU, "nm-kcal_mol")):
        atoms.calc = calculator
        with pytest.raises(ModelFailure, match="Cu"):
            atoms.get_potential_energy()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_position_that_is_not_a_number_is_refused(bad: float) -> None:
    """Handed on, it would end the whole Python process."""
    atoms = distorted_alloy((True, True, True))
    atoms.positions[0, 0] = bad
    for calculator in (kim.build_calculator(PT_AU), kim.build_in_units(PT_AU, "nm-kcal_mol")):
        atoms.calc = calculator
        with pytest.raises(ModelFailure, match="finite"):
            atoms.get_potential_energy()


def test_a_slab_needs_no_third_cell_vector() -> None:
    slab = distorted_alloy((True, True, False))
    flat = slab.copy()
    flat.cell[2] = 0.0
    for calculator in (kim.build_calculator(PT_AU), kim.build_in_units(PT_AU, "nm-kcal_mol")):
        slab.calc = flat.calc = calculator
        assert flat.get_potential_energy() == pytest.approx(slab.get_potential_energy(), rel=1e-13)


@pytest.mark.parametrize("ask", [kim.build_calculator, kim.supported_elements, kim.model_fingerprint])
def test_unknown_models_are_answered_with_what_to_do(ask: Callable[[str], object]) -> None:
    with pytest.raises(AssayError, match=r"'No_Such_Model' is not installed; .* list"):
        ask("No_Such_Model")
    with pytest.raises(AssayError, match="simulatorModel"):
        ask(SIMULATOR_MODEL)


def test_unknown_unit_sets_are_answered_with_the_known_ones() -> None:
    with pytest.raises(AssayError, match="Bohr-Hartree"):
        kim.build_in_units(PT_AU, "furlong-calorie")


def test_missing_kimpy_is_answered_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _kim_library.import_kimpy.cache_clear()
    monkeypatch.setitem(sys.modules, "kimpy", None)
    with pytest.raises(AssayError, match=r"pip install .*\[kim\]"):
        kim.build_calculator(PT_AU)


def test_fingerprint_tells_models_apart_and_is_stable() -> None:
    assert kim.model_fingerprint(PT_AU) == kim.model_fingerprint(PT_AU)
    assert kim.model_fingerprint(PT_AU) != kim.model_fingerprint(EFFECTIVE_MEDIUM)


def test_asking_whether_kim_is_available_loads_nothing() -> None:
    code = "import sys; from assay.models import kim; kim.is_available(); print({'kimpy', 'ase'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"


def test_no_log_file_is_left_behind(tmp_path: Path) -> None:
    """In a fresh process: the KIM API opens kim.log in the working folder as soon as it is used."""
    code = (
        "from ase.build import bulk; from assay.models import kim\n"
        f"kim.model_fingerprint('{PT_AU}'); kim.supported_elements('{PT_AU}')\n"
        f"for calculator in (kim.build_calculator('{PT_AU}'), kim.build_in_units('{PT_AU}', 'm-J')):\n"
        "    for lattice in (4.0, 3.0):\n"
        "        atoms = bulk('Pt', a=lattice, cubic=True); atoms.calc = calculator\n"
        "        try: atoms.get_forces()\n"
        "        except Exception as error: print(error)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert answer.stdout.count("density value outside") == 2
    assert list(tmp_path.iterdir()) == []
