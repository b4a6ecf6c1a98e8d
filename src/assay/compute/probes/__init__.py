"""Probes: tests that need the running model. Each module has a function `run(engine, probe)` and returns plain data."""
