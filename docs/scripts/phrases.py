"""Phrases that pages must contain, made with the numbers of the code, so that a page cannot lag behind it."""

from __future__ import annotations

from collections.abc import Callable

WORDS = {3: "three", 4: "four", 5: "five", 8: "eight", 10: "ten", 16: "sixteen", 20: "twenty", 30: "thirty"}


def tolerance_phrases() -> list[str]:
    """What docs/verification.md says about structures and tolerances."""
    from assay import configurations, survey
    from assay.benchmarks.bases import derivative, limits
    from assay.benchmarks.bases.records import SAME_ENERGY
    from assay.benchmarks.builders import faces
    from assay.benchmarks.verification import energy_smooth, forces_conservative, forces_match_energy, memory_stable
    from assay.compute.probes import spacing

    force, jacobian = forces_match_energy.RELATIVE, forces_conservative.RELATIVE
    sample = f"{', '.join(survey.SAMPLE[:-1])} and {survey.SAMPLE[-1]}"
    return [
        f"({configurations.TOUCHING:g} times the sum of the covalent radii",
        f"by up to {100 * configurations.DISTORTION:g} % of the nearest-neighbour distance",
        f"by powers of {spacing.STEP:g} (at most {spacing.TRIES} tries)",
        f"between {spacing.SIZEABLE:g} and {spacing.ABSURD:g} eV/Å",
        f"up to {survey.EVERY_SPECIES} species is checked on all of them",
        f"a sample is taken: {sample} as far",
        f"{exponent(limits.ENERGY['float64'])} of the energy of binding",
        f"| {exponent(limits.ENERGY['float32'])} | 4 ε",
        f"{exponent(limits.FORCES['float64'])} of the largest force",
        f"| {exponent(limits.FORCES['float32'])} | 16 ε",
        f"{exponent(force['float64'])} of the largest component ({exponent(force['float32'])} in float32)",
        f"{exponent(jacobian['float64'])} of the largest element of the Jacobian ({exponent(jacobian['float32'])} in",
        f"never more than {100 * derivative.LOOSEST:g} %",
        f"fewer than {100 * derivative.ENOUGH:g} % are left",
        f"jumps of {exponent(energy_smooth.ENERGY_JUMP)} of the well depth in energy",
        f"{exponent(energy_smooth.FORCE_JUMP)} per Å of it in force",
        f"{memory_stable.LIMIT:g} bytes kept per evaluation, {memory_stable.OBJECT_LIMIT:g} per Atoms object",
        f"{memory_stable.DROPPED_LIMIT:g} per Atoms object that was dropped, {memory_stable.LIMIT:g} per calculator",
        f"and {memory_stable.RESIDENT_LIMIT / 1000:g} kB of the process per calculator",
        f"by more than {exponent(SAME_ENERGY)} eV",
        "multiples of 2⁻¹⁰ Å" if faces.GRID == 2.0**-10 else "multiples of another number",
    ]


def performance_phrases() -> list[str]:
    """What docs/performance.md says about deadlines, bundles and batches, with small numbers as words."""
    from assay.compute import bundling, cost, overheads, runner, watchdog
    from assay.compute.engines import batch_size
    from assay.compute.engines import pool as batches
    from assay.compute.executors import DIED, HUNG

    sizes = [str(size) for size in batch_size.LADDER[1:]]
    return [
        f"{cost.TIMEOUT:g} s (`--timeout`)",
        f"The first question to a model may take {cost.CostModel().contact_deadline:g} s",
        f"less than {100 * watchdog.BUSY_SHARE:g} % of a core",
        f"read and write less than {watchdog.LOADED_BYTES / 1e6:g} MB",
        f"{watchdog.OUTER_FACTOR:g} times its deadline plus an hour",
        f"{1e6 * overheads.PER_EVALUATION['SinglePoints']:g} µs (a single point)",
        f"{1e3 * overheads.PER_EVALUATION['Band']:g} ms (a nudged elastic band)",
        f"plus {WORDS[round(cost.DEADLINE_FACTOR)]} times the most that the bundle may take",
        f"or {cost.UNCONVERGED_FACTOR:g} times where that adds no more than twice the {cost.TIMEOUT:g} s",
        f"{WORDS[runner.GIVE_UP[HUNG]]} workers in a row hang, or {runner.GIVE_UP[DIED]} die",
        f"into {WORDS[cost.BUNDLES]} bundles or more",
        f"of {cost.BUNDLE_SECONDS:g} s at least and {cost.LONGEST_BUNDLE:g} s at most",
        f"bundles of at least {WORDS[bundling.SIDE_BY_SIDE]}",
        f"{', '.join(sizes[:-1])} and {sizes[-1]} atoms",
        f"below {100 * batch_size.GAIN:g} %",
        f"{100 * batch_size.MEMORY_SHARE:g} % of the free memory",
        f"{WORDS[batches.SPOT_CHECKS]} structures of the first batch",
        f"{WORDS[batches.GIVE_UP]} structures that the calculator answers and the batch does not",
    ]


def physicality_phrases() -> list[str]:
    """What docs/physicality.md says about limits and cells."""
    from assay.benchmarks.bases import limits, points
    from assay.benchmarks.builders import placements
    from assay.benchmarks.physicality import diatomics

    tenth = {0.1: "a tenth"}[round(1.0 - points.ANSWERED, 3)]
    return [
        f"a cube of {diatomics.Diatomics().longest + diatomics.VACUUM:g} Å",
        f"a cube of {placements.LARGE_CUBE:g} Å",
        f"more than {tenth} of the points",
        f"{WORDS[round(limits.ULPS)]} spacings of floating-point numbers",
        f"{WORDS[round(limits.TIMES_NOISE)]} times the noise floor",
        f"{WORDS[round(limits.MOST)]} times the threshold itself",
    ]


def diatomics_phrases() -> list[str]:
    """What the docstring of `physicality.diatomics` says."""
    from assay.benchmarks.physicality import diatomics

    pairs = diatomics.Diatomics()
    return [
        f"{pairs.points} even distances of {pairs.shortest:g} to {pairs.longest:.1f} Å",
        f"a cube {diatomics.VACUUM:g} Å wider",
        f"\\|f\\| ≤ {diatomics.FORCE_FLOOR:g} eV/Å",
    ]


def compression_phrases() -> list[str]:
    """What the docstring of `physicality.compression` says."""
    from assay.analysis import compression as shape
    from assay.benchmarks.physicality import compression

    crystals = compression.Compression()
    return [
        f"at {crystals.points} nearest-neighbour distances",
        f"from {crystals.shortest:g} to {crystals.longest:.1f} times",
        f"falls by more than {shape.DEEP:g} eV",
        f"\\|P\\| ≤ {shape.SIZEABLE_PRESSURE:g} GPa",
        f"beyond {compression.WELL_FROM:g} touching distances",
    ]


def locality_phrases() -> list[str]:
    """What the docstring of `physicality.locality` says."""
    from assay.benchmarks.builders import placements
    from assay.benchmarks.physicality import locality

    shells, places = placements.placements().shells, placements.placements().hydrogens
    return [
        f"with {len(shells[0])} Ne",
        f"{WORDS[len(shells)]} arrangements",
        f"a periodic cube of {placements.CUBE:g} Å",
        f"{len(places)} places of one H",
        f"a cube of {placements.LARGE_CUBE:g} Å",
        f"to {locality.Locality().reach:g} Å, up to which \\|ΔF\\| is above {locality.FELT:g} meV/Å",
    ]


def extensivity_phrases() -> list[str]:
    """What the docstring of `physicality.extensivity` says."""
    from assay.benchmarks.physicality import extensivity

    slabs = extensivity.Extensivity()
    gaps = [f"{gap:g}" for gap in slabs.gaps]
    return [
        f"slabs of {slabs.size**2 * slabs.layers} atoms, {WORDS[slabs.layers]} layers each",
        f"{', '.join(gaps[:-1])} and {gaps[-1]} Å",
    ]


def molecule_phrases() -> list[str]:
    """What docs/molecules.md says about limits and protocols."""
    from assay.benchmarks.bases import records
    from assay.benchmarks.builders import displaced
    from assay.benchmarks.molecules import reactivity_neb, reference_geometry

    rest, band = reference_geometry.ReferenceGeometry(), reactivity_neb.ReactivityNeb()
    low, high = reference_geometry.STIFFNESS_RANGE
    return [
        f"minimisations to {rest.force_limit:g} eV/Å",
        f"moved by {displaced.RMSD:g} Å",
        f"a factor of {reference_geometry.STRAIN_FACTOR:g} of the reference",
        f"from {displaced.DISPLACEMENTS} random displacements of {displaced.DISPLACEMENT:g} Å",
        f"between {low:g} and {high:g} eV/Å²",
        f"A band of {band.images} images, to {band.force_limit:g} eV/Å with a climbing image",
        f"the same to {exponent(records.SAME_ENERGY)} eV",
    ]


def run_phrases() -> list[str]:
    """What docs/dynamics.md says about verdicts on runs."""
    from assay.analysis import events, heat, motion, topology
    from assay.benchmarks.general import energy_conservation

    return [
        f"more than {topology.LOST:g} Å from its atom",
        f"{motion.HOTTER:,.0f} K above the target".replace(",", " "),
        f"farther apart than {topology.STRETCHED:g} sums of covalent radii",
        f"the mean is above {heat.WARM:g} times the target",
        f"change by less than {events.STILL:g} Å",
        f"the second half is below {heat.COLD:g} times the target",
        f"further than {topology.STRETCHED:g} sums of covalent radii from every heavy atom",
        f"must change less than {energy_conservation.UNBALANCED:g} times as much",
    ]


def exponent(value: float) -> str:
    """A power of ten as people write it: 1e-4, not 0.0001."""
    mantissa, _, power = f"{value:.0e}".partition("e")
    return f"{mantissa}e{int(power)}"


PHRASES: dict[str, Callable[[], list[str]]] = {
    "verification.md": tolerance_phrases,
    "performance.md": performance_phrases,
    "physicality.md": physicality_phrases,
    "molecules.md": molecule_phrases,
    "dynamics.md": run_phrases,
    "benchmarks/physicality.diatomics.md": diatomics_phrases,
    "benchmarks/physicality.compression.md": compression_phrases,
    "benchmarks/physicality.locality.md": locality_phrases,
    "benchmarks/physicality.extensivity.md": extensivity_phrases,
}
"""Pages in docs/ by path; those in benchmarks/ are made from docstrings."""
