"""What all checks share: tolerances that follow from precision and noise, counting, the verdict, the letter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.benchmark import Benchmark, Case, Metric, MetricValue, Observation, Scope
from assay.codec import Data
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome, Point
from assay.score import grade, mean_score, soft_threshold
from assay.structure import Floats
from assay.survey import Survey

EPSILON = {"float64": 2.2e-16, "float32": 1.2e-7}
ENERGY = {"float64": 1e-8, "float32": 3e-6}
"""Relative change of an energy that is still called equal."""

FORCES = {"float64": 1e-6, "float32": 1e-3}
"""The same for forces, relative to the largest one; wider, since iterative models converge forces less well."""


@dataclass(frozen=True)
class Residual:
    """One comparison: what differs, by how much, how much may differ and why, and how much is mere noise."""

    where: str
    error: float
    unit: str
    tolerance: float
    floor: float
    why: str

    @property
    def ratio(self) -> float:
        """Error in units of the tolerance."""
        if not math.isfinite(self.error):
            return math.inf
        if self.tolerance > 0.0:
            return self.error / self.tolerance
        return 0.0 if self.error == 0.0 else math.inf


@dataclass(frozen=True)
class Limits:
    """The tolerances of one case: precision of the model and its measured noise floor (eV, eV/Å)."""

    precision: str
    noise_energy: float
    noise_force: float

    @classmethod
    def of(cls, case: Case) -> Limits:
        """The limits that were written into a case when it was made."""
        noise = [float(case.context[name]) for name in ("noise_energy", "noise_force")]
        return cls(str(case.context["precision"]), *noise)

    @property
    def epsilon(self) -> float:
        """The spacing of floating-point numbers near 1 in the model's precision."""
        return EPSILON[self.precision]

    def energy_noise(self, energy: float) -> float:
        """How far an energy (eV) may be off by rounding and by the measured noise."""
        return 2.0 * self.epsilon * max(abs(energy), 1.0) + self.noise_energy

    def force_noise(self, force: float) -> float:
        """How far forces (eV/Å) of this size may be off by rounding and by the measured noise."""
        return 4.0 * self.epsilon * max(force, 1.0) + self.noise_force

    def energy(
        self, where: str, error: float, scale: float, atoms: int, extra: float = 0.0, tight: float = 1.0
    ) -> Residual:
        """Judge a difference of energies (eV). The scale is |E|, but at least 1 eV per atom: energies may cancel."""
        size = max(abs(scale), float(atoms))
        relative = ENERGY[self.precision] * tight
        tolerance = max(relative * size, self._allowance(self.noise_energy, 1e-3 * size, tight)) + extra
        floor = max(4.0 * self.epsilon * size, self.noise_energy)
        return Residual(f"{where}: energy", error, "eV", tolerance, floor, self._why(relative, "energy"))

    def forces(self, where: str, error: float, scale: float, extra: float = 0.0, tight: float = 1.0) -> Residual:
        """Judge a difference of forces (eV/Å) against the largest force, but at least 1 eV/Å."""
        size = max(abs(scale), 1.0)
        relative = FORCES[self.precision] * tight
        tolerance = max(relative * size, self._allowance(self.noise_force, 1e-2 * size, tight)) + extra
        floor = max(16.0 * self.epsilon * size, self.noise_force)
        return Residual(f"{where}: forces", error, "eV/Å", tolerance, floor, self._why(relative, "largest force"))

    def _allowance(self, noise: float, most: float, tight: float) -> float:
        """What noise excuses: ten times its floor, up to a limit, and nothing where the noise itself is judged."""
        return min(10.0 * noise, most) if tight == 1.0 else 0.0

    def _why(self, relative: float, what: str) -> str:
        return f"{relative:.0e} of the {what} in {self.precision}, or ten times the noise floor if that is more"


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check over all its cases."""

    name: str
    status: str
    passed: bool | None
    mandatory: bool
    grade: str | None
    error: float | None
    unit: str
    tolerance: float | None
    evaluated: int
    refused: int
    skipped: int
    comment: str
    where: str = ""
    why: str = ""
    floor: float | None = None


class Refused(Exception):
    """The model would not compute the structure that a comparison starts from."""


@dataclass(frozen=True)
class Check(Benchmark):
    """A statement that is true of every sound model. Subclasses write `trials` and `residuals`."""

    mandatory: ClassVar[bool] = False
    optional_feature: ClassVar[bool] = False
    """True for checks of something that many models do not have, such as a batched evaluator."""

    metrics: ClassVar[tuple[Metric, ...]] = (Metric("error_over_tolerance", "1", threshold=1.0),)

    def trials(self, survey: Survey) -> Iterable[Case]:
        """The cases of this check for a model, without the limits, which are added to every case."""
        raise TypeError(f"check '{self.name}' has no trials")

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The comparisons of a case; raise `Refused` if the model would not compute what they start from."""
        raise TypeError(f"check '{self.name}' compares nothing")

    def cases(self, scope: Scope) -> Iterable[Case]:
        """All trials, each with the precision and noise of the model."""
        survey = scope.survey
        limits = {
            "precision": survey.precision,
            "noise_energy": survey.noise_energy,
            "noise_force": survey.noise_force,
        }
        if survey.contact_error:
            return [Case("contact", {}, {"lost": survey.contact_error, **limits})]
        trials = list(self.trials(survey))
        if not trials or (any(t.jobs for t in trials) and not self.optional_feature):
            trials += _without_structures(survey)
        if not trials:
            trials = [Case("nothing", {}, {"failure": "the model answered for no element"})]
        trials = trials[: scope.limit] if scope.limit else trials
        return [Case(t.id, t.jobs, {**t.context, **limits}, t.unsupported) for t in trials]

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The worst comparison of the case, in units of its tolerance."""
        early = _without_comparison(case, outcomes)
        if early is not None:
            return early
        try:
            found = list(self.residuals(case, outcomes))
        except Refused as refusal:
            invalid = not str(refusal).startswith("refused")  # an answer that is NaN or misshapen is not a refusal
            return Observation(case.id, FAILED, reason=str(refusal), detail={"refused": 1, "invalid": invalid})
        if not found:
            return Observation(case.id, FAILED, reason="nothing was compared", detail={"refused": 0})
        worst = max(found, key=lambda r: r.ratio)
        detail = {"evaluated": 1, "comparisons": len(found), "worst": _as_dict(worst)}
        if not math.isfinite(worst.ratio):
            return Observation(case.id, FAILED, reason=worst.where, detail=detail)
        reason = (
            f"{worst.where}: {worst.error:.2g} {worst.unit}, allowed {worst.tolerance:.1g}" if worst.ratio > 1.0 else ""
        )
        return Observation(case.id, OK, {"error_over_tolerance": worst.ratio}, reason, detail)

    def verdict(self, observations: Sequence[Observation]) -> Verdict:
        """Pass or fail over all cases; a pass needs at least one evaluated case and no failed comparison."""
        observations = sorted(observations, key=lambda o: o.case)
        compared = [o for o in observations if "worst" in o.detail]
        refused = [o for o in observations if o.status == FAILED and "worst" not in o.detail]
        lost = [o for o in observations if o.status == ERROR]
        skipped = [o for o in observations if o.status == UNSUPPORTED]
        broken = [o for o in compared if o.status == FAILED or o.values["error_over_tolerance"] > 1.0]
        broken += [o for o in refused if o.detail.get("invalid")]
        worst = _worst(compared)
        status, passed = _decide(compared, refused, lost, broken)
        return Verdict(
            name=self.name,
            status=status,
            passed=passed,
            mandatory=self.mandatory,
            grade=_letter(worst, passed, len(refused), len(compared)),
            error=_finite(worst.error) if worst else None,
            unit=worst.unit if worst else "",
            tolerance=worst.tolerance if worst else None,
            evaluated=len(compared),
            refused=sum(1 for o in refused if not o.detail.get("invalid")),
            skipped=len(skipped),
            comment=_comment(worst, broken, refused, lost, skipped),
            where=worst.where if worst else "",
            why=worst.why if worst else "",
            floor=worst.floor if worst else None,
        )

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """The largest error over all cases in units of its tolerance, scored case by case."""
        metric = self.metrics[0]
        ratios = [o.values[metric.name] for o in observations if o.status == OK]
        scores = [soft_threshold(r, 1.0) for r in ratios] + [0.0 for o in observations if o.status == FAILED]
        score, stderr = mean_score(scores)
        worst = max(ratios, default=None)
        return [MetricValue(metric.name, worst, stderr, metric.unit, metric.threshold, score)]


def _without_structures(survey: Survey) -> list[Case]:
    """A case for each cluster or crystal that the model refused at every spacing, so that it is not passed over."""
    found = []
    for subject in survey.subjects:
        missing = ["cluster"] if subject.cluster_factor is None else []
        missing += survey.periodic_patterns[:1] if subject.crystal_factor is None else []
        word = "lost" if subject.lost else "failure"
        found += [Case(f"{subject.label}-{kind}", {}, {word: subject.reason}) for kind in missing]
    return found


def _without_comparison(case: Case, outcomes: Mapping[str, Outcome]) -> Observation | None:
    """Cases that end before any comparison: not asked for, never answered, or spoilt by the machine."""
    if case.unsupported:
        return Observation(case.id, UNSUPPORTED, reason=case.unsupported)
    if "lost" in case.context:
        return Observation(case.id, ERROR, reason=str(case.context["lost"]))
    if "failure" in case.context:
        reason = str(case.context["failure"])
        return Observation(
            case.id, FAILED, reason=reason, detail={"refused": 1, "invalid": reason.startswith("returned")}
        )
    for outcome in outcomes.values():
        if outcome.status == ERROR:
            return Observation(case.id, ERROR, reason=outcome.reason)
        if outcome.status == UNSUPPORTED:
            return Observation(case.id, UNSUPPORTED, reason=outcome.reason)
        if outcome.status == FAILED and "natoms" not in outcome.values:
            return Observation(case.id, FAILED, reason=outcome.reason, detail={"refused": 1})
    return None


def _decide(compared: list, refused: list, lost: list, broken: list) -> tuple[str, bool | None]:
    if broken or (refused and not compared and not lost):
        return FAILED, False
    if lost:
        return ERROR, None
    return (OK, True) if compared else (UNSUPPORTED, None)


def _as_dict(residual: Residual) -> dict[str, object]:
    return {**residual.__dict__, "error": _finite(residual.error)}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _worst(compared: Sequence[Observation]) -> Residual | None:
    """The worst comparison over all cases; one without a finite error is worse than any."""
    found = []
    for observation in compared:
        row = observation.detail["worst"]
        if isinstance(row, Mapping):
            error = row["error"]
            values = {**row, "error": math.inf if error is None else float(error)}
            found.append(Residual(**values))
    return max(found, key=lambda r: (r.ratio, r.error / r.floor if r.floor else 0.0, r.where), default=None)


def _letter(worst: Residual | None, passed: bool | None, refused: int, compared: int) -> str | None:
    """The letter of the worst comparison; a model that refused a quarter of the cases gets no better than a D."""
    if passed is None:
        return None
    if not passed or worst is None:
        return "F"
    letter = grade(worst.error, worst.floor, worst.tolerance)
    return max(letter, "D") if refused and 3 * refused >= compared else letter


def _comment(worst: Residual | None, broken: list, refused: list, lost: list, skipped: list) -> str:
    parts = []
    if broken:
        parts.append(f"fails for {_names(broken)}: {broken[0].reason}")
    elif worst is not None:
        parts.append(f"worst {worst.error:.1e} {worst.unit} at {worst.where}")
    silent = [o for o in refused if o not in broken]
    if silent:
        parts.append(f"refused {_names(silent)} ({silent[0].reason})")
    if lost:
        parts.append(f"not finished for {_names(lost)} ({lost[0].reason})")
    if skipped and not (broken or refused or lost or worst):
        parts.append(skipped[0].reason)
    return "; ".join(parts)


def _names(observations: Sequence[Observation]) -> str:
    names = [o.case for o in observations]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def base_point(points: Sequence[Point]) -> Point:
    """The point that a comparison starts from; `Refused` when the model would not compute it."""
    if not points[0].ok:
        raise Refused(points[0].reason)
    return points[0]


def compare(
    limits: Limits,
    where: str,
    base: Point,
    other: Point,
    energy: float,
    forces: Floats,
    extra: tuple[float, float] = (0.0, 0.0),
) -> list[Residual]:
    """Judge a second evaluation against what is expected of it: an energy (eV) and forces (eV/Å)."""
    if not other.ok:
        return [Residual(f"{where}: {other.reason}", math.inf, "eV", 0.0, 0.0, "the model answered before")]
    count = len(other.forces)
    return [
        limits.energy(where, abs(other.energy - energy), max(abs(energy), abs(base.energy)), count, extra[0]),
        limits.forces(where, float(np.abs(other.forces - forces).max()), float(np.abs(forces).max()), extra[1]),
    ]


def judge_deviations(case: Case, test: str, values: Data, tight: tuple[float, float] = (1.0, 1.0)) -> list[Residual]:
    """Judge what a probe measured as the deviation of each structure; `tight` scales the two tolerances."""
    limits, labels = Limits.of(case), case.context["labels"]
    indices = np.asarray(values["indices"], dtype=int)
    arrays = {
        name: np.asarray(values[name], dtype=float) for name in ("natoms", "scale", "max_force", "energy", "forces")
    }
    found = []
    for i in range(len(arrays["energy"])):
        count, where = int(arrays["natoms"][i]), f"{labels[indices[i]]} {test}"
        found.append(limits.energy(where, arrays["energy"][i], arrays["scale"][i], count, tight=tight[0]))
        found.append(limits.forces(where, arrays["forces"][i], arrays["max_force"][i], tight=tight[1]))
    return found
