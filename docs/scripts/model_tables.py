"""The registered models as Markdown tables: what they claim, where their weights come from, and their notes."""

from __future__ import annotations

from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.models import registered
from assay.models.registry import Registered

DIGITS = 16
"""Of a hash so many digits are shown; the adapter's file has it in full."""


def model_tables() -> str:
    """All tables, one after another."""
    known = dict(sorted(registered().items()))
    return "\n".join((_claims(known), "## Weights and licences\n", _origins(known), "## Notes\n", _notes(known)))


def _table(head: str, rows: list[str]) -> str:
    columns = head.count("|") + 1
    return f"| {head} |\n{'|---' * columns}|\n" + "".join(f"| {row} |\n" for row in rows)


def _claims(known: dict[str, Registered]) -> str:
    head = "name | elements | structures | reads | precision | level of theory | batches | devices"
    rows = [
        f"`{name}` | {len(entry.card.elements or ())} | {structures(entry.card)} | {_reads(entry.card)} | "
        f"{entry.card.precision} | {entry.card.theory} | {'yes' if entry.build_batch else ''} | "
        f"{', '.join(entry.devices)}"
        for name, entry in known.items()
    ]
    return _table(head, rows)


def structures(card: ModelCard) -> str:
    """What a model claims about periodicity, in words."""
    claimed = set(card.pbc or ())
    words = ["clusters"] if "FFF" in claimed else []
    if set(PERIODIC_PATTERNS) <= claimed:
        words.append("any periodic directions")
    else:
        words += ["crystals"] if "TTT" in claimed else []
        words += sorted(claimed - {"FFF", "TTT"})
    return ", ".join(words)


def _reads(card: ModelCard) -> str:
    return ", ".join(word for word, has in (("charge", card.charge), ("spin", card.spin)) if has)


def _origins(known: dict[str, Registered]) -> str:
    head = "name | licence | install | weights"
    return _table(
        head,
        [f"`{name}` | {entry.card.licence} | `{entry.install}` | {origin(entry)}" for name, entry in known.items()],
    )


def origin(entry: Registered) -> str:
    """Where the weights of a model come from."""
    if entry.weights is not None:
        file = entry.weights
        kind = "source archive" if file.source else "wheel"
        return f"fetched: `{file.member}` of the {kind} of `{file.release}`, sha256 `{file.sha256[:DIGITS]}…`"
    if entry.inside is not None:
        package, place = entry.inside
        return f"in the package itself: `{place}` of `{package}`"
    return "none; parameters are part of the package"


def _notes(known: dict[str, Registered]) -> str:
    """Each note once, with the models that it is about."""
    about: dict[str, list[str]] = {}
    for name, entry in known.items():
        for note in entry.card.notes:
            about.setdefault(note, []).append(f"`{name}`")
    return "".join(f"- {', '.join(names)}: {note}\n" for note, names in about.items())
