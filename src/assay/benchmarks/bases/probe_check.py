"""The base of checks in which a probe evaluates all structures in a second way; both answers must agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Residual, judge_deviations
from assay.jobs import Data, Probe
from assay.outcome import Outcome
from assay.survey import Survey, repeats_job, subject_labels


@dataclass(frozen=True)
class ProbeCheck(Check):
    """One job: the probe evaluates every structure in its own way, which `phrase` names in messages."""

    probe: ClassVar[str] = ""
    role: ClassVar[str] = ""
    """Role of the job and id of the case: the name of the probe, unless the class gives another one."""

    twins: ClassVar[bool] = False
    """Also use a second cluster of each species, so that several structures have the same atoms."""

    phrase: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.role = cls.role or cls.probe

    @property
    def settings(self) -> Data:
        """Parameters of the probe."""
        return {}

    @property
    def calls_per_structure(self) -> int:
        """Number of evaluations that the probe needs for each structure."""
        return 5

    @property
    def calculators(self) -> int:
        """Number of calculators that the probe builds for itself."""
        return 0

    def trials(self, survey: Survey) -> Iterable[Case]:
        """One case with every cluster and crystal."""
        usual = repeats_job(survey)
        if usual is not None:
            twins = survey.clusters(variant=1) if self.twins else []
            structures = (*usual.structures, *(structure for _, structure in twins))
            labels = [*subject_labels(survey), *(f"{label}-twin" for label, _ in twins)]
            calls = self.calls_per_structure * len(structures)
            job = Probe(self.probe, structures, self.settings, calls, self.calculators)
            yield Case(self.role, {self.role: job}, {"labels": labels})

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The deviation of each structure."""
        return judge_deviations(case, self.phrase, outcomes[self.role].values)
