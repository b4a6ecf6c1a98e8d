"""The registered models as Markdown tables: families, claims, where the weights come from, and notes."""

from __future__ import annotations

from importlib import import_module

from tables import table

from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.models import family_names, named_models
from assay.models.registry import NamedModel

DIGITS = 16
"""Digits of a hash that are shown; the file of the adapter has all of them."""


def model_tables() -> str:
    """All tables, one after another."""
    models = dict(sorted(named_models().items()))
    return "\n".join((_claims(models), "## Weights and licences\n", _origins(models), "## Notes\n", _notes(models)))


def family_table() -> str:
    """One row for each family: what it is, the names of its models, and the command that installs it."""
    rows = []
    for family, names in family_names().items():
        if names:
            entry = named_models()[names[0]]
            rows.append((f"`{family}`", _about(family), "<br>".join(f"`{n}`" for n in names), f"`{entry.install}`"))
    return table(("family", "what it is", "names", "install"), rows)


def _about(family: str) -> str:
    """The first sentence of the adapter's file."""
    text = " ".join((import_module(f"assay.models.{family}").__doc__ or "").split())
    return text.partition(". ")[0].removesuffix(".")


def _claims(known: dict[str, NamedModel]) -> str:
    head = ("name", "elements", "structures", "reads", "precision", "level of theory", "batches", "devices")
    rows = [
        (
            f"`{name}`",
            str(len(entry.card.elements or ())),
            structures(entry.card),
            _reads(entry.card),
            entry.card.precision,
            entry.card.theory,
            "yes" if entry.build_batch else "",
            ", ".join(entry.devices),
        )
        for name, entry in known.items()
    ]
    return table(head, rows)


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


def _origins(known: dict[str, NamedModel]) -> str:
    rows = [(f"`{name}`", entry.card.licence, origin(entry)) for name, entry in known.items()]
    return table(("name", "licence", "weights"), rows)


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
