"""Names: safe folder names, suggestions for misspelt names, and hashes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable


def slug(name: str) -> str:
    """The name as a valid folder name on every file system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "model"


def did_you_mean(name: str, valid_names: Iterable[str]) -> str:
    """The most similar valid name as a phrase for an error message; empty if none is similar."""
    import difflib

    candidates = list(valid_names)
    close = difflib.get_close_matches(name, candidates, n=1, cutoff=0.5)
    if not close:
        tails = {candidate.rpartition(".")[2]: candidate for candidate in candidates}
        close = [tails[tail] for tail in difflib.get_close_matches(name.rpartition(".")[2], tails, n=1, cutoff=0.5)]
    return f" (did you mean '{close[0]}'?)" if close else ""


def digest(*parts: str | bytes) -> str:
    """A short hash of all parts, which depends on their order."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(f"{len(data)}:".encode() + data)
    return total.hexdigest()[:16]
