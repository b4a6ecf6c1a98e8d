"""Temporary: the old place of `assay.data.cache`, for modules that still import it from here."""

from assay.data.cache import cache_folder, file_sha256, writing

__all__ = ["cache_folder", "file_sha256", "writing"]
