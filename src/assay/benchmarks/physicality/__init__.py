"""Benchmarks of the energy surface itself: is it physical, whatever level of theory it was fitted to?"""
