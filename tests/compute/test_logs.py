"""Logs: what a model prints is kept, but not without end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.compute import logs
from commands import LONGEST


def test_a_log_that_grows_too_large_keeps_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LARGEST", 1000)
    log = os.open(tmp_path / "1.log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    for number in range(300):
        os.write(log, f"line {number}\n".encode())
        logs.shorten(log)
    os.write(log, b"the last words\n")
    os.close(log)
    text = (tmp_path / "1.log").read_text()
    assert len(text) <= 1100
    assert text.startswith("(the beginning was removed")
    assert text.endswith("line 299\nthe last words\n")


def test_only_the_newest_logs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST", 5)
    for number in range(10):
        path = tmp_path / f"{number}.log"
        path.write_text(str(number))
        os.utime(path, (number, number))
    logs._forget_oldest(tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["6", "7", "8", "9"], "and the new one makes five"


def test_a_process_that_prints_without_end_has_a_small_log(tmp_path: Path) -> None:
    code = (
        "import os, sys, time; from pathlib import Path; from assay.compute import logs\n"
        "logs.LARGEST, logs.INTERVAL = 100_000, 0.01\n"
        f"logs.print_to_log(Path({str(tmp_path)!r}))\n"
        "for i in range(300): os.write(1, b'x' * 10_000); time.sleep(0.002)\n"
        "print('python, too'); sys.stdout.flush(); time.sleep(0.5)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=LONGEST)
    (path,) = tmp_path.iterdir()
    assert path.stat().st_size <= 110_000, "3 MB were printed"
    assert path.read_text().endswith("python, too\n")
