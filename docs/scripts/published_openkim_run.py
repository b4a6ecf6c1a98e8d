"""Print, as Markdown, the tables of the page on the published OpenKIM run.

Run with `python docs/scripts/published_openkim_run.py`; needs kimpy and the OpenKIM models. The configurations are
those of the tests, from the same generator.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ase.calculators.calculator import Calculator

from assay.errors import ModelFailure
from assay.models.kim import build_calculator

TESTS = Path(__file__).resolve().parents[2] / "tests" / "kim"
sys.path.insert(0, str(TESTS))

from published_generator import Configuration, Doubling, configurations, double, energy_and_forces  # noqa: E402


def double_or_none(model: Calculator, configuration: Configuration) -> Doubling | None:
    """The doubling, or None where the model refuses the stated periodicity."""
    try:
        return double(model, configuration)
    except ModelFailure:
        return None


def published_row(model: Calculator, configuration: Configuration, published: str) -> str:
    """One configuration of the report: published, cluster, stated periodicity, true doubling, relative error."""
    cluster, _ = energy_and_forces(model, configuration.cluster())
    result = double_or_none(model, configuration)
    cells = [configuration.name, str(configuration.doubled_directions), published, f"{cluster:.12g}"]
    if result is None:
        cells += ["refused", "—", "—"]
    else:
        error = max(result.energy_error, result.force_error)
        cells += [f"{result.energy:.12g}", f"{result.doubled_energy:.12g}", f"{error:.1e}"]
    return f"| {' | '.join(cells)} |"


def relaxed_row(configuration: Configuration, result: Doubling) -> str:
    """One configuration at the larger lattice constant: atoms before and after, energies, relative errors."""
    atoms = f"4 → {len(configuration.doubled())}"
    energies = f"{result.energy:.12g} | {result.doubled_energy:.12g}"
    return f"| {configuration.name} | {atoms} | {energies} | {result.energy_error:.1e} | {result.force_error:.1e} |"


def print_published(model: Calculator, entries: list[dict[str, str]]) -> None:
    """The 21 configurations of the report, energies in eV per four atoms."""
    print("| configuration | p | published | isolated cluster | stated periodicity | E(2^p)/2^p | error |")
    print("|---|---|---|---|---|---|---|")
    rebuilt = list(configurations(model))
    for configuration, entry in zip(rebuilt, entries, strict=True):
        print(published_row(model, configuration, entry["energy"]))
    refused = sum(double_or_none(model, one) is None for one in rebuilt)
    closer = [f"{one.name} ({one.amplitude} Å)" for one in rebuilt if one.amplitude != 0.3]
    print(f"\nRefused: {refused} of {len(rebuilt)}. Displaced less than 0.3 Å: {', '.join(closer)}.\n")


def print_relaxed(model: Calculator) -> None:
    """The same recipe at a = 4.0 Å with the stated periodicity in force throughout."""
    print("| configuration | atoms | E | E(2^p)/2^p | energy error | force error |")
    print("|---|---|---|---|---|---|")
    results = [(one, double(model, one)) for one in configurations(model, lattice=4.0, periodic=True)]
    for configuration, result in results:
        print(relaxed_row(configuration, result))
    energy = max(result.energy_error for _, result in results)
    force = max(result.force_error for _, result in results)
    print(f"\nEvaluated: {len(results)} of {len(results)}. Worst error: energy {energy:.1e}, forces {force:.1e}.")


if __name__ == "__main__":
    published = json.loads((TESTS / "published_periodicity.json").read_text(encoding="utf-8"))
    calculator = build_calculator(published["model"])
    print_published(calculator, published["configurations"])
    print_relaxed(calculator)
