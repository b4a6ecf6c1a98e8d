"""Benchmarks of molecules against reference data: energies, geometries, reactions."""
