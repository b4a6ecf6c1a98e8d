"""Temporary: the old place of `assay.data.dataset`, for modules that still import it from here."""

from assay.data.dataset import EMBEDDED, Card, DataSet, Record

__all__ = ["EMBEDDED", "Card", "DataSet", "Record"]
