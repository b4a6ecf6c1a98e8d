"""Tables of the named models in Markdown: their claims, the origin of their weights, and their notes."""

from __future__ import annotations

from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.models import named_models
from assay.models.registry import NamedModel

DIGITS = 16
"""The number of digits of a hash that are shown; the file of the adapter has all of them."""


def model_tables() -> str:
    """All tables, one after another."""
    models = dict(sorted(named_models().items()))
    return "\n".join((_claims(models), "## Weights and licences\n", _origins(models), "## Notes\n", _notes(models)))


def _table(head: str, rows: list[str]) -> str:
    columns = head.count("|") + 1
    return f"| {head} |\n{'|---' * columns}|\n" + "".join(f"| {row} |\n" for row in rows)


def _claims(models: dict[str, NamedModel]) -> str:
    head = "name | elements | structures | reads | precision | level of theory | batches | devices"
    rows = [
        f"`{name}` | {len(entry.card.elements or ())} | {structures(entry.card)} | {_reads(entry.card)} | "
        f"{entry.card.precision} | {entry.card.theory} | {'yes' if entry.build_batch else ''} | "
        f"{', '.join(entry.devices)}"
        for name, entry in models.items()
    ]
    return _table(head, rows)


def structures(card: ModelCard) -> str:
    """The periodicity that a model claims, in words."""
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


def _origins(models: dict[str, NamedModel]) -> str:
    head = "name | licence | install | weights"
    return _table(
        head,
        [f"`{name}` | {entry.card.licence} | `{entry.install}` | {origin(entry)}" for name, entry in models.items()],
    )


def origin(entry: NamedModel) -> str:
    """Where the weights of a model come from."""
    if entry.weights is not None:
        file = entry.weights
        kind = "source archive" if file.source else "wheel"
        return f"fetched: `{file.member}` of the {kind} of `{file.release}`, sha256 `{file.sha256[:DIGITS]}…`"
    if entry.inside is not None:
        package, place = entry.inside
        return f"in the package itself: `{place}` of `{package}`"
    return "none; parameters are part of the package"


def _notes(models: dict[str, NamedModel]) -> str:
    """Each note once, with the names of its models."""
    about: dict[str, list[str]] = {}
    for name, entry in models.items():
        for note in entry.card.notes:
            about.setdefault(note, []).append(f"`{name}`")
    return "".join(f"- {', '.join(names)}: {note}\n" for note, names in about.items())
