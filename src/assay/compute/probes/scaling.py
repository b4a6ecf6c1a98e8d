"""How much time and memory a step takes, for structures of growing size.

The smallest of several CPU times counts, because other work on the machine only ever adds; times on the wall clock are
kept beside them. Memory is the peak of the process above what it held before the first size, because freed memory is
used again by the next. Each call sees other positions, so that nothing is answered from memory.
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

from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.structure import Structure

STEEPEST = 3.0
"""The next size is expected to cost no more than by this power of its growth, before it has been tried."""


@dataclass
class Ladder:
    """What was measured, one entry for each size that was answered."""

    atoms: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Seconds and megabytes for each size, up to where time or memory ends, with the machine they were measured on."""
    budget, repeats = float(probe.settings["seconds"]), int(probe.settings["repeats"])
    started, ladder, end = time.monotonic(), Ladder(), "all sizes were tried"
    _one_thread()
    _reset_peak()
    held = peak_megabytes_since_reset()
    for structure in probe.structures:
        left = budget - (time.monotonic() - started)
        if ladder.atoms and _expected(ladder, len(structure)) * (repeats + 1) > left:
            end = f"the next size, {len(structure)} atoms, would take longer than {budget:.0f} s in all"
            break
        try:
            _measure(engine, structure, repeats, ladder)
            ladder.megabytes.append(max(peak_megabytes_since_reset() - held, 0.0) + _device_megabytes())
        except (ModelFailure, MemoryError) as error:
            end = f"{len(structure)} atoms: {error or 'out of memory'}"
            if not ladder.atoms:
                raise
            break
    return {
        "natoms": np.array(ladder.atoms),
        "cpu_seconds": np.array(ladder.cpu),
        "wall_seconds": np.array(ladder.wall),
        "peak_megabytes": np.array(ladder.megabytes),
        "ended": end,
        "hardware": hardware(),
    }


def _measure(engine: CalculatorEngine, structure: Structure, repeats: int, ladder: Ladder) -> None:
    """Warm up, then the best of some calls."""
    rng = np.random.default_rng(len(structure))
    cpu, wall = [], []
    for number in range(repeats + 1):
        moved = structure.moved(structure.positions + rng.uniform(-0.01, 0.01, structure.positions.shape))
        clock, busy = time.perf_counter(), time.process_time()
        engine.evaluate(moved)
        if number:  # the first may compile or allocate
            cpu.append(time.process_time() - busy)
            wall.append(time.perf_counter() - clock)
    ladder.atoms.append(len(structure))
    ladder.cpu.append(min(cpu))
    ladder.wall.append(min(wall))


def _expected(ladder: Ladder, atoms: int) -> float:
    """Seconds on the clock that a size will take, from the last ones."""
    n, seconds = ladder.atoms, ladder.wall
    power = STEEPEST
    if len(n) > 1 and seconds[-2] > 0.0:
        power = min(STEEPEST, max(1.0, float(np.log(seconds[-1] / seconds[-2]) / np.log(n[-1] / n[-2]))))
    return float(seconds[-1] * (atoms / n[-1]) ** power)


def _one_thread() -> None:
    """One thread where a library that is loaded lets itself be told; others obey OMP_NUM_THREADS."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


def _reset_peak() -> None:
    """Start the peak of this process anew, where the system allows that."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_megabytes_since_reset() -> float:
    """The most memory that this process held since the peak was forgotten, in MB."""
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
    """The machine: processor, cores, memory, accelerator, and how busy it was."""
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
