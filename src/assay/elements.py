"""Elements as people write them: symbols. Numbers are accepted wherever a user gives elements."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

from assay.errors import AssayError
from assay.naming import did_you_mean

SYMBOLS = (
    "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar", "K", "Ca",
    "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",
    "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe", "Cs", "Ba", "La", "Ce",
    "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W", "Re", "Os", "Ir",
    "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm",
    "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl",
    "Mc", "Lv", "Ts", "Og",
)  # fmt: skip
"""The symbols of all elements, from hydrogen to oganesson."""

NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS, start=1)}


def atomic_numbers(elements: Iterable[object], where: str) -> tuple[int, ...]:
    """Atomic numbers of elements (symbols or numbers), in increasing order, each once.

    Args:
        elements: such as `("Cu", "Au")` or `(29, 79)`.
        where: the beginning of the error for an unknown element, such as "the claims of 'emt'".
    """
    given = [elements] if isinstance(elements, str) else elements
    return tuple(sorted({_number(element, where) for element in given}))


def symbols_of(numbers: Iterable[int]) -> list[str]:
    """The symbols of atomic numbers, in the same order."""
    return [SYMBOLS[number - 1] for number in numbers]


def _number(element: object, where: str) -> int:
    number = NUMBERS.get(element.strip(), 0) if isinstance(element, str) else element
    if isinstance(number, Integral) and not isinstance(number, bool) and 1 <= int(number) <= len(SYMBOLS):
        return int(number)
    hint = did_you_mean(str(element), SYMBOLS) if isinstance(element, str) else ""
    raise AssayError(f"{where} name the unknown element '{element}'{hint}; use symbols, as in Cu and Au")
