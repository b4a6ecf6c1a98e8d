"""Made-up records, models that answer from a table, and short ways to put benchmarks of molecules to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.benchmark import Benchmark, Case, Observation, Scope, observe_case, planned_cases
from assay.benchmarks.registry import registered_benchmarks
from assay.compute.protocols import carry_out, protocol
from assay.data.dataset import EMBEDDED, Card, DataSet, Record
from assay.data.source import DataSource
from assay.errors import Cause
from assay.model import ModelCard
from assay.outcome import Outcome, Point, no_point
from assay.structure import Floats, Structure
from assay.survey import Survey
from assay.units import KCAL

Model = Callable[[Structure], tuple[float, Floats]]
"""Energy (eV) and forces (eV/Å) of a structure; raises where it refuses."""

NAMES = (
    "noncovalent_interactions", "dihedral_scan", "conformer_selection", "tautomers", "reference_geometry",
    "reactivity_tst", "reactivity_neb",
)  # fmt: skip


def benchmark(name: str, **settings: object) -> Benchmark:
    """A benchmark of molecules."""
    return registered_benchmarks()[f"molecules.{name}"](**settings)


def survey(elements: Sequence[int] = (1, 6, 8), **card: object) -> Survey:
    """A model as a survey would find it."""
    given: dict = {"elements": tuple(elements), **card}
    return Survey(ModelCard("a model", **given), answered=tuple(elements), pbc=("FFF",))


def water(number: int, charge: int | None = None) -> Structure:
    """Water whose third atom stands somewhere else for each number."""
    place = [[0.0, 0.0, 0.0], [0.96, 0.0, 0.0], [-0.24, 0.93, 0.01 * number]]
    return replace(Structure.build([8, 1, 1], place), charge=charge, spin=None if charge is None else 1 + charge % 2)


def source(kind: str, *records: Record, lane: str = "yours") -> DataSource:
    """Data of one kind."""
    card = Card("made-up", kind, "made up", "no level; at all", "none", "nobody", "here", lane, sha256="0" * 64)
    return DataSource((DataSet(card, records),))


def embedded_lane(data: DataSource) -> DataSource:
    """The same data as if it came with the program."""
    return DataSource(tuple(replace(d, card=replace(d.card, lane=EMBEDDED)) for d in data.given))


def table(pairs: Sequence[tuple[Structure, float]]) -> Model:
    """A model that knows the energies (kcal/mol) of some structures, and pushes every atom."""
    known = {structure.positions.tobytes(): energy / KCAL for structure, energy in pairs}
    return lambda s: (known[s.positions.tobytes()], np.ones((len(s), 3)))


def outcomes(case: Case, model: Model) -> dict[str, Outcome]:
    """What a model makes of the jobs of a case."""

    def answer(structures: Sequence[Structure]) -> list[Point]:
        return [_point(model, structure) for structure in structures]

    endings = {role: carry_out(protocol(job), answer) for role, job in case.jobs.items()}
    return {role: Outcome("key", e.status, e.values, e.reason, cause=e.cause) for role, e in endings.items()}


def _point(model: Model, structure: Structure) -> Point:
    try:
        energy, forces = model(structure)
    except ValueError as error:
        return no_point(len(structure), f"refused: {error}")
    finite = np.isfinite(energy) and bool(np.isfinite(forces).all())
    return (
        Point(energy, forces) if finite else no_point(len(structure), f"returned the energy {energy}", Cause.NOT_FINITE)
    )


def observe(
    name: str, data: DataSource, model: Model, found: Survey | None = None, **settings: object
) -> dict[str, Observation]:
    """Every case of a benchmark, answered by a model."""
    asked = benchmark(name, **settings)
    return {
        case.id: observe_case(asked, case, outcomes(case, model))
        for case in planned_cases(asked, Scope(found or survey(), data))
    }


def scores(name: str, seen: Mapping[str, Observation]) -> dict[str, float | None]:
    """The score of each case."""
    return {case: benchmark(name).case_score(o) for case, o in seen.items()}


def sound_data(folder: Path) -> DataSource:
    """The data of the sound potential."""
    from assay.data.source import open_data
    from assay.sabotage.data import write_sound_data

    return open_data([str(write_sound_data(folder))])
