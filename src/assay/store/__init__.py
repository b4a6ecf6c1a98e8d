"""The results folder, the waist of the program: compute writes it, everything that scores or reports reads it."""

from assay.store.folder import Stamp, Store, open_stores

__all__ = ["Stamp", "Store", "open_stores"]
