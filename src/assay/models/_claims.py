"""Claims that several families share, and the refusal of structures that a model does not support."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from assay.errors import ModelFailure
from assay.model import PERIODIC_PATTERNS

ANY_PERIODICITY = ("FFF", *PERIODIC_PATTERNS)
"""Molecules and clusters, and structures that are periodic in one, two or three directions."""

ELEMENTS_89 = (*range(1, 84), *range(89, 95))
"""H to Bi and Ac to Pu: the elements of the Materials Project, on which most universal models are trained."""

MATERIALS_PROJECT_THEORY = "PBE (+U for some oxides), as in the Materials Project"


def replaced_vectors_note(package: str) -> str:
    """What users must know about a package that makes cell vectors of its own for slabs and wires."""
    return (
        f"In structures that are periodic in one or two directions, {package} replaces the other cell vectors by "
        "vectors along x (the first vector), y (the second) or z (the third). It refuses the structure if a periodic "
        "cell vector lies along the same axis."
    )


def require_elements(numbers: Iterable[int], supported: Collection[int], model: str) -> None:
    """Raise a `ModelFailure` that names the elements that a model does not support.

    Most networks answer for such elements too, with numbers that have no meaning.
    """
    unsupported = sorted(set(numbers) - set(supported))
    if unsupported:
        from ase.data import chemical_symbols

        names = [f"{chemical_symbols[z]} (Z = {z})" if z < len(chemical_symbols) else f"Z = {z}" for z in unsupported]
        raise ModelFailure(f"{model} does not support {', '.join(names)}")


def require_neutral(charge: float | None, model: str) -> None:
    """Raise a `ModelFailure` if a structure has a charge and the model supports only neutral ones."""
    if charge:
        raise ModelFailure(f"{model} supports only neutral structures, not the charge {charge}")
