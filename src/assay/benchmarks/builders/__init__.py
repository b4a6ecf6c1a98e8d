"""Structures that several benchmarks build: crystals, ice, slabs, displaced molecules."""
