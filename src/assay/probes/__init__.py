"""Probes: questions that need the running model itself. Each module has `run(engine, probe)` and returns plain values."""
