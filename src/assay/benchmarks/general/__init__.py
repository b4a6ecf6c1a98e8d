"""Benchmarks of what every simulation needs: that it lasts, keeps its energy, and how long it takes."""
