"""What `assess` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

from masktron.problems.problem import Sentence
from masktron.results.figure import FigureResult, KeyRisk, MaskedLevel
from masktron.results.result import JobResult, PlottedResult, from_report
from masktron.results.rules import RuleFate, TreatmentResult
from masktron.results.verdict import ReleaseVerdict
from masktron.serialised import Known

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False)
class AssessResult(JobResult, PlottedResult):
    """What masking cost and what risk is left: a masked file against its original.

    Attributes
    ----------
    masked, original : str
        The files.
    records : int
        Of the masked file, each compared with its own original.
    numeric, categorical : tuple of str
        Fields that were compared as numbers, and as categories.
    figures : tuple of FigureResult
        In the order contract, risk, utility.
    notes : tuple of str
        What was taken for granted, and what could not be told.
    against : tuple of str
        Earlier releases, for what each pair tells together.
    keys : KeyRisk or None
        What others find by the fields that they may know; None where there are none.
    treatments : tuple of TreatmentResult
        What the manifest declares of what was done before fields were masked, in this order.
    fates : tuple of RuleFate
        What the manifest says each rule became that is asked otherwise, or not any more.
    levels : tuple of MaskedLevel
        Of nested files, what is known of each level.
    limits : mapping of str to float
        Bounds of figures by the settings and the manifest.
    key_k : int or None
        How many records were to share each combination of keys, by the manifest.
    concerns : tuple of str
        What tells records apart, by the manifest.
    issued : ReleaseVerdict or None
        The verdict of a result that was read back; None where it is still to be made.
    """

    JOB: ClassVar = "assess"
    KEYS: ClassVar = (
        "masked original verdict records numeric categorical figures risks notes against keys treatments fates "
        "levels limits key_k"
    )

    masked: str
    original: str
    records: int
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    figures: tuple[FigureResult, ...]
    notes: tuple[Sentence, ...] = ()
    against: tuple[str, ...] = ()
    keys: KeyRisk | None = None
    treatments: tuple[TreatmentResult, ...] = ()
    fates: tuple[RuleFate, ...] = ()
    levels: tuple[MaskedLevel, ...] = ()
    limits: Mapping[str, Known] = field(default_factory=dict)
    key_k: int | None = None
    concerns: tuple[str, ...] = ()
    issued: ReleaseVerdict | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the verdict as it was issued."""
        return {"issued": ReleaseVerdict.issued(told)}

    @property
    def verdict(self) -> ReleaseVerdict:
        """How well respondents are protected; rules are not judged here."""
        told: ReleaseVerdict = self.issued or from_report("verdict.verdict_of_assess", self)
        return told

    @property
    def risks(self) -> str:
        """What intruders would re-identify, in sentences."""
        return str(from_report("sentences.risks_of", self))

    def __getitem__(self, name: str) -> float:
        """Return the value of a figure: ``result["linkage"]``."""
        return {figure.name: figure.value for figure in self.figures}[name]

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a data frame, a row each, with a column for each attribute."""
        import pandas as pd

        rows = [{slot.name: getattr(figure, slot.name) for slot in fields(figure)} for figure in self.figures]
        return pd.DataFrame(rows, columns=[slot.name for slot in fields(FigureResult)])
