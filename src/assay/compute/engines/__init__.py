"""Engines run jobs with one model and return their outcomes."""
