"""What the ASE calculators of several families share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.structure import Floats

if TYPE_CHECKING:
    from ase import Atoms


def with_info_changes(changes: list[str], last: Atoms | None, atoms: Atoms, *names: str) -> list[str]:
    """The changes that ASE found since the last structure, with "info" added if one of these entries differs.

    ASE does not compare `atoms.info`. Without this, a calculator would return the energy of the last charge.
    """
    before = last.info if last is not None else {}
    same = all(atoms.info.get(name) == before.get(name) for name in names)
    return changes if same else [*changes, "info"]


def voigt(stress: Floats) -> Floats:
    """The components xx, yy, zz, yz, xz, xy of a symmetric stress tensor, in the order that ASE uses."""
    return stress[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]]
