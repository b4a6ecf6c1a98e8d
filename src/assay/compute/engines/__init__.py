"""Engines turn jobs into outcomes with one model."""
