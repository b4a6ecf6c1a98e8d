"""Probes: questions that need the running model. Each module has `run(engine, probe)` and returns plain values."""
