"""Weights of MACE and Orb among the test files in the source archive of the package janus-core."""

from __future__ import annotations

from assay.models.weights import PackagedFile


def janus_weights(file: str, sha256: str) -> PackagedFile:
    """The checkpoint of this name; nothing of the package itself is used."""
    return PackagedFile(
        "janus-core",
        "0.8.2",
        f"janus_core-0.8.2/tests/models/{file}",
        sha256=sha256,
        archive_sha256="7e6bd7e5c1fd0e03936f0fb19821375d9a36651b0a07c84ab372cd3beda4634d",
        source=True,
    )
