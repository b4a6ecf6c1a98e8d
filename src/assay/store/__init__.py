"""The results folder, the waist of the program: compute writes it, everything that scores or reports reads it."""

from assay.store.cases import Stamp
from assay.store.folder import Store, open_stores
from assay.store.outcomes import Outcomes

__all__ = ["Outcomes", "Stamp", "Store", "open_stores"]
