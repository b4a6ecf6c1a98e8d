"""Time and memory of an evaluation, for structures of increasing size.

The smallest of several CPU times counts, because other work on the machine only adds to it; the time limit is in CPU
time, too, so that a busy machine measures the same sizes. CPU time is that of all threads, of which there is one unless
the user allows more. For a model on an accelerator, where the CPU only waits, all times are wall times. Memory is the
peak of the process minus its memory before the first size, because freed memory is used again by the next size. The
positions differ between calls, so that a cache cannot return old results.
"""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from assay.compute.clock import Clock, clock_of
from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import Cause, MachineFailure, ModelFailure
from assay.jobs import Probe
from assay.structure import Structure

STEEPEST = 3.0
"""The largest exponent of the cost that is assumed for the next size."""


@dataclass
class Measurements:
    """Measured values, one entry for each size that the model evaluated."""

    atoms: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Seconds and megabytes for each size, up to the limit of time or memory, and a description of the machine."""
    budget, repeats = float(probe.settings["seconds"]), int(probe.settings["repeats"])
    measured, end = Measurements(), "all sizes were tried"
    _one_thread()
    clock = clock_of(engine.device)
    started = clock()
    _reset_peak()
    held = peak_megabytes_since_reset()
    for structure in probe.structures:
        left = budget - (clock() - started)
        if measured.atoms and _expected_seconds(measured, len(structure)) * (repeats + 1) > left:
            end = f"with the next size, {len(structure)} atoms, the probe would take longer than {budget:.0f} s"
            break
        try:
            _measure(engine, structure, repeats, measured, clock)
            measured.megabytes.append(max(peak_megabytes_since_reset() - held, 0.0) + _device_megabytes())
        except (ModelFailure, MachineFailure) as error:
            end = f"{len(structure)} atoms: {error}"
            too_large = isinstance(error, ModelFailure) or error.cause == Cause.OUT_OF_MEMORY
            if not measured.atoms or not too_large:
                raise
            break
    return {
        "natoms": np.array(measured.atoms),
        "cpu_seconds": np.array(measured.seconds),
        "wall_seconds": np.array(measured.wall),
        "peak_megabytes": np.array(measured.megabytes),
        "ended": end,
        "hardware": hardware(),
    }


def _measure(
    engine: CalculatorEngine, structure: Structure, repeats: int, measured: Measurements, clock: Clock
) -> None:
    """Add the shortest times of `repeats` evaluations after one warm-up."""
    rng = np.random.default_rng(len(structure))
    seconds, wall = [], []
    for number in range(repeats + 1):
        moved = structure.moved(structure.positions + rng.uniform(-0.01, 0.01, structure.positions.shape))
        on_wall, started = time.perf_counter(), clock()
        engine.evaluate(moved)
        if number:  # the first may compile or allocate
            seconds.append(clock() - started)
            wall.append(time.perf_counter() - on_wall)
    measured.atoms.append(len(structure))
    measured.seconds.append(min(seconds))
    measured.wall.append(min(wall))


def _expected_seconds(measured: Measurements, atoms: int) -> float:
    """Expected time of an evaluation of this size, extrapolated from the last two sizes."""
    n, seconds = measured.atoms, measured.seconds
    power = STEEPEST
    if len(n) > 1 and seconds[-2] > 0.0:
        power = min(STEEPEST, max(1.0, float(np.log(seconds[-1] / seconds[-2]) / np.log(n[-1] / n[-2]))))
    return float(seconds[-1] * (atoms / n[-1]) ** power)


def _one_thread() -> None:
    """Set torch to one thread if it is loaded; other libraries read OMP_NUM_THREADS."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def _reset_peak() -> None:
    """Reset the peak memory of this process, if the system allows it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_megabytes_since_reset() -> float:
    """Peak memory of this process since the last reset, in MB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3
    except (OSError, StopIteration):
        from assay.compute.engines.batch_size import peak_megabytes_since_start

        return peak_megabytes_since_start()


def _device_megabytes() -> float:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return 0.0
    return float(torch.cuda.max_memory_allocated()) / 1e6


def hardware() -> dict[str, object]:
    """The machine: processor, cores, memory, accelerator and load."""
    import psutil

    torch = sys.modules.get("torch")
    card = torch.cuda.get_device_name() if torch is not None and torch.cuda.is_available() else ""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory_gigabytes": round(psutil.virtual_memory().total / 1e9, 1),
        "accelerator": card,
        "threads": os.environ.get("OMP_NUM_THREADS", ""),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
