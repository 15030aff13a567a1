"""What `keys` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from masktron.problems.problem import Problem, Sentence
from masktron.problems.wording import complaint
from masktron.results.figure import FigureResult, KeyRisk
from masktron.results.result import CONFIDENTIAL, JobResult
from masktron.results.rules import RuleFate, TreatmentResult
from masktron.serialised import Serialised


@dataclass(frozen=True, slots=True)
class KeyValues(Serialised):
    """The values of a quasi-identifier, and the classes that a recoding makes of them. Confidential.

    Attributes
    ----------
    field : str
    different : int
        Values that it has.
    values : mapping of str to int, or None
        Records that have each, numbers in their order; None of more than `jobs.key_treatments.LISTED`.
    classes : mapping of str to int, or None
        Records that have each as it would be written; None where nothing is treated, or of more.
    """

    field: str
    different: int
    values: Mapping[str, int] | None
    classes: Mapping[str, int] | None


@dataclass(frozen=True, slots=True, repr=False)
class KeysResult(JobResult):
    """What keys tell, and what treatments would make of them and of the rules.

    Attributes
    ----------
    data, rulebook : str
    records : int
        Those that would be released.
    keys, treated : KeyRisk or None
        As the data are, and after the treatments; None where there are no keys, or no treatment that can be done.
    before, figures : tuple of FigureResult
        Figures of keys, likewise; empty.
    treatments : tuple of TreatmentResult
    fates : tuple of RuleFate
        What becomes of the rules that read recoded fields.
    fields : tuple of KeyValues
        The quasi-identifiers but for the weight.
    problem : Problem or None
        Why `mask` would stop at the treatments.
    notes : tuple of str
    """

    JOB: ClassVar = "keys"
    KEYS: ClassVar = (
        "notice data rules=rulebook records keys treated before figures treatments fates fields obstacle notes"
    )

    data: str
    rulebook: str
    records: int
    keys: KeyRisk | None
    treated: KeyRisk | None
    before: tuple[FigureResult, ...]
    figures: tuple[FigureResult, ...]
    treatments: tuple[TreatmentResult, ...]
    fates: tuple[RuleFate, ...]
    fields: tuple[KeyValues, ...]
    problem: Problem | None
    notes: tuple[Sentence, ...]

    @property
    def obstacle(self) -> str | None:
        """Why `mask` would stop at the treatments, as its error says it."""
        return None if self.problem is None else complaint(self.problem)

    @property
    def notice(self) -> str:
        """Whom this is for."""
        return CONFIDENTIAL
