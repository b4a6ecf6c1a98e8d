"""Surveys of models that do not exist, on which a benchmark makes its cases without any model."""

from __future__ import annotations

from typing import Any

from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.survey import Subject, Survey

COPPER, GOLD = 29, 79


def fake_survey(**changes: Any) -> Survey:
    """What a survey finds of a model of copper and gold that answers everything; `changes` are fields of `Survey`."""
    subjects = (
        Subject("Cu", (COPPER,), 1.0, 1.0, 1.0),
        Subject("Au", (GOLD,), 1.12, 1.0, 2.0),
        Subject("CuAu", (COPPER, GOLD), 1.0, 1.0, 1.5),
    )
    patterns = ("FFF", *PERIODIC_PATTERNS)
    given: dict[str, Any] = {
        "card": ModelCard("a model", elements=(COPPER, GOLD), pbc=patterns),
        "answered": (COPPER, GOLD),
        "refused": {1: "refused: no"},
        "subjects": subjects,
        "pbc": patterns,
        "stress": True,
        **changes,
    }
    return Survey(**given)


NO_ANSWER, NO_CONTACT = "no answer at all", "no contact"

SURVEYS = {
    "everything": fake_survey(),
    "clusters only": fake_survey(pbc=("FFF",), stress=False),
    "crystals only": fake_survey(pbc=PERIODIC_PATTERNS),
    "one species": fake_survey(subjects=fake_survey().subjects[:1]),
    "single precision and noise": fake_survey(precision="float32", noise_energy=1e-6, noise_force=1e-5),
    "lost gold": fake_survey(answered=(COPPER,), lost={GOLD: "the worker died"}, subjects=fake_survey().subjects[:1]),
    NO_ANSWER: fake_survey(answered=(), subjects=(), refused={COPPER: "refused: no", GOLD: "refused: no"}),
    NO_CONTACT: fake_survey(contact_error="no answer within 120 s"),
}
"""Eight kinds of models that a benchmark must make cases for, by what is special about them."""
