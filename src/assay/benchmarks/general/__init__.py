"""Benchmarks of what every simulation needs: stability, conservation of energy, and the cost of an evaluation."""
