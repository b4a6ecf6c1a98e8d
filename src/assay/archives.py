"""Temporary: the old place of `assay.data.archives`, for modules that still import it from here."""

from assay.data.archives import opened

__all__ = ["opened"]
