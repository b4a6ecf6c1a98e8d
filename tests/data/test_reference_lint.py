"""The lint finds what is wrong with reference data, and finds nothing in the sets that come with Assay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from ase import units

from assay.data.dataset import DataSet, Record
from assay.data.embedded import SETS, embedded
from assay.data.folder import CARD, read_folder
from assay.data.lint import lint
from assay.data.plausible import FEW

OWN = sorted(path.parent.name for path in SETS.glob(f"*/{CARD}") if "energy_unit" in path.read_text(encoding="utf-8"))
"""Sets that the project computed, with energies."""

KCAL = units.kcal / units.mol


def findings(data: DataSet) -> list[str]:
    return [str(finding) for finding in lint(data)]


def own(name: str) -> DataSet:
    if name not in OWN:
        pytest.skip(f"'{name}' is not generated yet")
    return read_folder(SETS / name)


def with_first(data: DataSet, change: Callable[[Record], Record]) -> DataSet:
    return replace(data, records=(change(data.records[0]), *data.records[1:]))


def scaled(data: DataSet, factor: float) -> DataSet:
    """All energies in a unit that is wrong by a factor."""
    records = [replace(r, energies=tuple(factor * e for e in r.energies or ())) for r in data.records]
    return replace(data, records=tuple(records))


def relative(data: DataSet) -> DataSet:
    """The same energies counted from the lowest of each record."""
    records = [replace(r, energies=tuple(e - min(r.energies or ()) for e in r.energies or ())) for r in data.records]
    return replace(data, records=tuple(records))


@pytest.mark.parametrize("name", sorted(embedded()))
def test_embedded_sets_are_clean(name: str) -> None:
    assert findings(embedded()[name].read()) == []


@pytest.mark.parametrize("name", OWN)
def test_energies_counted_from_the_lowest_are_clean_too(name: str) -> None:
    assert findings(relative(own(name))) == []


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("factor", [1 / units.Hartree, 1 / KCAL, units.mol / units.kJ, KCAL, units.kJ / units.mol])
def test_total_energies_in_another_unit_are_found(name: str, factor: float) -> None:
    data = own(name)
    assert len(findings(scaled(data, factor))) >= len(data.records)


@pytest.mark.parametrize("name", [name for name in OWN if name != "assay-geometries"])
def test_relative_energies_in_kcal_are_found(name: str) -> None:
    data = own(name)
    found = [finding for finding in findings(scaled(relative(data), 1 / KCAL)) if "unit" in finding]
    # Conformers that are minima are close in energy; what is found is enough to refuse the whole set.
    assert len(found) > len(data.records) * (FEW if name == "assay-conformer-minima" else 0.5)


def test_barriers_in_hartree_are_found() -> None:
    assert any("is the unit right" in finding for finding in findings(scaled(relative(own("assay-reactions")), 1e-2)))


def test_interaction_energies_in_kcal_are_found() -> None:
    assert findings(scaled(embedded()["s22x5"].read(), 1 / KCAL))


@pytest.mark.parametrize("name", OWN)
def test_positions_in_bohr_or_nanometres_are_found(name: str) -> None:
    for factor in (1 / units.Bohr, 0.1):

        def grown(record: Record, factor: float = factor) -> Record:
            return replace(record, structures=tuple(s.moved(factor * s.positions) for s in record.structures))

        data = own(name)
        record = data.records[-1]
        assert any("Å" in finding for finding in findings(replace(data, records=(grown(record),))))


@pytest.mark.parametrize("name", OWN)
def test_a_charge_that_leaves_an_odd_electron_is_found(name: str) -> None:
    def charged(record: Record) -> Record:
        return replace(record, structures=tuple(replace(s, charge=(s.charge or 0) + 1) for s in record.structures))

    found = findings(with_first(own(name), charged))
    assert found
    assert all("electrons" in finding for finding in found)


@pytest.mark.parametrize("name", OWN)
def test_a_structure_that_stands_twice_is_found(name: str) -> None:
    def doubled(record: Record) -> Record:
        return replace(record, structures=(record.structures[0], record.structures[0], *record.structures[2:]))

    assert any("two equal structures, 0 and 1" in finding for finding in findings(with_first(own(name), doubled)))


@pytest.mark.parametrize("name", OWN)
def test_a_record_that_stands_twice_is_found(name: str) -> None:
    data = own(name)
    renamed = replace(data.records[0], id="another name")
    text = f"'{name}' has the same structures in the records '{data.records[0].id}' and 'another name'"
    assert findings(replace(data, records=(*data.records, renamed))) == [text]
    assert any("more than once" in f for f in findings(replace(data, records=(*data.records, data.records[0]))))


@pytest.mark.parametrize("name", ["assay-conformers", "assay-torsions", "assay-geometries"])
def test_a_hydrogen_that_left_its_molecule_is_found(name: str) -> None:
    def broken(record: Record) -> Record:
        positions = record.structures[-1].positions.copy()
        positions[-1] += 6.0
        return replace(record, structures=(*record.structures[:-1], record.structures[-1].moved(positions)))

    assert any("have the same bonds" in finding for finding in findings(with_first(own(name), broken)))


def test_a_reaction_that_goes_nowhere_is_found() -> None:
    def idle(record: Record) -> Record:
        first = record.structures[0]
        nudged = first.moved(first.positions + 0.05 * np.eye(len(first), 3))
        return replace(record, structures=(*record.structures[:2], nudged))

    assert any("same bonds in reactant and product" in f for f in findings(with_first(own("assay-reactions"), idle)))


def test_tautomers_with_the_same_bonds_are_found() -> None:
    def twin(record: Record) -> Record:
        first = record.structures[0]
        return replace(record, structures=(first, first.moved(first.positions + 0.05 * np.eye(len(first), 3))))

    assert any("same bonds in both" in finding for finding in findings(with_first(own("assay-tautomers"), twin)))


def test_a_transition_state_below_its_product_is_found() -> None:
    def sunk(record: Record) -> Record:
        energies = record.energies or ()
        return replace(record, energies=(energies[0], min(energies) - 0.01, energies[2]))

    assert any("not above those of reactant" in text for text in findings(with_first(own("assay-reactions"), sunk)))


def test_a_scan_whose_angles_are_shifted_is_found() -> None:
    def shifted(record: Record) -> Record:
        return replace(record, coordinates=tuple(c + 15.0 for c in record.coordinates or ()))

    assert any("dihedral" in finding for finding in findings(with_first(own("assay-torsions"), shifted)))


def test_an_energy_that_is_not_a_number_is_found() -> None:
    def lost(record: Record) -> Record:
        return replace(record, energies=(float("nan"), *(record.energies or ())[1:]))

    assert any("NaN or infinite" in finding for finding in findings(with_first(own("assay-tautomers"), lost)))
