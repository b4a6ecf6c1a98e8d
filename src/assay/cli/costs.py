"""What a dry run prints: the work that is left and its expected time, benchmark by benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from assay.compute.cost import BenchmarkCost, Timings
from assay.compute.plan import Plan
from assay.report.cells import cell

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("benchmark", "cases", "jobs", "force calls", "time")


def cost_document(plans: Mapping[str, Plan]) -> dict[str, Any]:
    """What `--dry-run --json` prints."""
    return {"dry_run": [_row(model, plan) for model, plan in plans.items()]}


def _row(model: str, plan: Plan) -> dict[str, Any]:
    return {
        "model": model,
        "benchmarks": {name: cost.cases for name, cost in plan.costs.items()},
        "jobs_asked": plan.asked,
        "jobs": len(plan.jobs),
        "jobs_missing": len(plan.missing),
        "force_calls": plan.force_calls,
        "seconds_per_call": plan.seconds_per_call,
        "cpu_seconds": None if plan.problem else plan.seconds,
        "start_seconds": None if plan.problem else plan.start_seconds,
        "clock_seconds": None if plan.problem else plan.schedule.clock_seconds,
        "workers": plan.workers,
        "problem": plan.problem,
        "lost": plan.lost,
        "costs": [{"benchmark": name, **_cost(cost, plan)} for name, cost in plan.costs.items()],
        "pace": timing_rows(plan.timings) if plan.missing else [],
    }


def _cost(cost: BenchmarkCost, plan: Plan) -> dict[str, Any]:
    return {**asdict(cost), **({"seconds": None} if plan.problem else {})}


def timing_rows(timings: Timings) -> list[dict[str, Any]]:
    """The sizes that were measured, with the seconds of one evaluation alone and in a batch."""
    rows = []
    for periodic, curve in timings.alone.items():
        for place, (atoms, seconds) in enumerate(curve.points):
            batched = None if timings.batched is None else timings.batched[periodic].points[place][1]
            rows.append({"periodic": periodic, "atoms": atoms, "seconds": seconds, "seconds_together": batched})
    return rows


def print_costs(model: str, plan: Plan, console: Console) -> None:
    """Print a table of costs by benchmark, their sums, and which of them are extrapolated."""
    from rich.table import Table

    table = Table(title=cell(f"{model}: what is left to compute", style="bold"), title_justify="left")
    table.add_column(COLUMNS[0], no_wrap=True)
    for name in COLUMNS[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for name, cost in plan.costs.items():
        time = "?" if plan.problem else ("~ " if cost.extrapolated else "") + duration(cost.seconds)
        table.add_row(cell(name), str(cost.cases), str(cost.jobs), str(cost.force_calls), time)
    console.print(table)
    for line in _lines(plan):
        console.print(cell(line), soft_wrap=True)


def _lines(plan: Plan) -> list[str]:
    """The sums, or why there are none."""
    if plan.problem:
        return [f"the time could not be estimated: {plan.problem}", "run the same command to try again"]
    core, clock = duration(plan.seconds), duration(plan.schedule.clock_seconds)
    lines = [
        f"{plan.asked} jobs asked for, {len(plan.jobs)} distinct, {len(plan.missing)} not in the store",
        f"about {plan.force_calls} force calls, {duration(plan.seconds_per_call)} each: {core} of CPU time "
        f"({duration(plan.start_seconds)} to load the model), {clock} on the clock with {plan.workers} free cores",
    ]
    if plan.lost:
        names, reason = ", ".join(plan.lost), next(iter(plan.lost.values()))
        lines.append(f"not included, because a worker was lost: {names} ({reason})")
    if plan.missing:
        lines.append(f"measured on {_sizes(plan.timings)}")
    beyond = [name for name, cost in plan.costs.items() if cost.extrapolated]
    if beyond:
        lines.append(f"~ extrapolated, because systems are larger than those measured: {', '.join(beyond)}")
    return lines


def _sizes(timings: Timings) -> str:
    """For example `isolated structures of 2 to 57 atoms (0.3 to 40 ms)`."""
    parts = []
    for periodic, curve in timings.alone.items():
        (least, quick), (most, slow) = curve.points[0], curve.points[-1]
        kind = "periodic" if periodic else "isolated"
        if most > least:
            parts.append(f"{kind} structures of {least} to {most} atoms ({duration(quick)} to {duration(slow)})")
        else:
            parts.append(f"{kind} structures of {most} atoms ({duration(slow)})")
    return " and ".join(parts)


def duration(seconds: float) -> str:
    """A time in ms, s, min or h, whichever is easiest to read."""
    if seconds == 0.0:
        return "0 s"
    for limit, size, unit in ((0.1, 1e-3, "ms"), (90.0, 1.0, "s"), (5400.0, 60.0, "min")):
        if seconds < limit:
            return f"{seconds / size:.2g} {unit}"
    hours = seconds / 3600.0
    return f"{hours:.0f} h" if hours >= 100.0 else f"{hours:.2g} h"
