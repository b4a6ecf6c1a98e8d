"""Whose fault is it: the user's, the model's, or ours (any other exception, with its traceback kept)."""

from __future__ import annotations


class AssayError(Exception):
    """The user asked for something that cannot be done; the message is one sentence that says what to do."""


class ModelFailure(Exception):
    """The model refused a structure or returned something that is not a finite energy and finite forces."""
