"""Benchmarks, one file each: the path is the name (`verification/forces_match_energy.py`)."""
