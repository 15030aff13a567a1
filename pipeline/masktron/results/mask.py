"""What `mask` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from masktron.problems.problem import Sentence
from masktron.results.block import BlockResult
from masktron.results.concern import ConcernResult
from masktron.results.draw import DrawResult
from masktron.results.figure import CategoryResult, FigureResult, TotalResult
from masktron.results.key_risk import KeyRisk
from masktron.results.levels import MaskedLevel
from masktron.results.result import JobResult, PlottedResult, from_report
from masktron.results.rules import RuleResult, Tested
from masktron.results.treatment import RuleFate, TreatmentResult
from masktron.results.verdict import ReleaseVerdict, ShownValues
from masktron.serialised import Serialised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INTERNAL = (
    "CONFIDENTIAL: for inside the agency; it shows totals, counts and values of the original, and may name original "
    "records that were left out."
)


@dataclass(frozen=True, slots=True)
class RepairResult(Serialised):
    """A total over the file that masking had shifted, and that was mended.

    Attributes
    ----------
    before, after : float
        How far it was off, in steps of the grid, and how far it is now.
    groups : int
        Groups whose prototypes moved, for this and the other totals together.
    """

    rule: str
    before: float
    after: float
    groups: int


@dataclass(frozen=True, slots=True)
class EngineResult(Serialised):
    """What one engine says of the written file.

    Attributes
    ----------
    violations : int
        By its own count.
    agrees : bool
        Whether it counts what was decided, or differs for a known reason.
    misreads : bool
        Whether libxml2 alone differs, as it reads numbers of XPath 1.0 (``libxml2-rounding`` in docs/engines.md).
    rules : int
        How many of the binding rules it judged; `violations` and `agrees` speak of these.
    not_judged : tuple of str
        Binding rules that it could not be asked about, each with the reason: some that look across records of a large
        file, and of libxml2 those in later versions of XPath than 1.0.
    """

    KEYS: ClassVar = "engine rules records violations agrees notes not_judged"

    engine: str
    records: int
    violations: int
    agrees: bool
    notes: tuple[str, ...] = ()
    misreads: bool = field(default=False, kw_only=True)
    rules: int = field(kw_only=True)
    not_judged: tuple[str, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True, repr=False)
class MaskResult(JobResult, PlottedResult):
    """A masked file and what is known of it.

    Attributes
    ----------
    output, manifest : str
        The files; empty where a data frame was masked without one.
    k, min_group, whole_record_k : int
        Asked for; the smallest group over all blocks; the smallest number of records alike in all masked fields.
    linkage : float
        Distance-based record linkage over all masked numeric variables, per cent.
    information_loss : float
        100 SSE/SST over all masked numeric variables, standardised.
    totals : tuple of TotalResult
        Weighted totals of the masked numbers before and after.
    categories : tuple of CategoryResult
        Weighted counts of the masked categories before and after.
    unchanged : mapping of str to float
        For each masked field, the values that are written as they were, per cent of its values; NaN without any.
    violations : int
        Of hard rules that apply and were not let go, over all records of the written file.
    repairs : tuple of RepairResult
        Totals over the file that were mended.
    figures : tuple of FigureResult
        Those that cost little, and those that have a limit; `assess` has all.
    keys : KeyRisk or None
        What others find by the fields that they may know; None where there are none.
    excluded : tuple of int
        Positions (from 0) of original records left out since they break a rule: confidential.
    missing_weight : float
        Share of the weight of the original that they had, per cent; without a weight, of its records.
    left_out : mapping of str to int
        What else of the original was not released: comments, processing instructions, document types, declarations
        of namespaces, attributes of elements around the records.
    method : str
    promise : str
        The protection contract of the method, in a sentence.
    draw : DrawResult or None
        For methods that draw values for each record.
    contract : str
        The kind of the protection contract.
    unmasked : tuple of str
        Fields that are written as they were.
    let_go : tuple of str
        Those of `allowed` that are no warnings.
    original_order : bool
        Whether the records stand in the order of the original, and no field tells that order that is written as it
        was and differs in every record.
    identifying : tuple of str
        Fields that are written as they were and differ in every record.
    concerns : tuple of ConcernResult
        What somebody has to look at before the file is published: values below 0 where no original is, unmasked
        fields that tell nearly every record apart, records that came out as they went in.
    treatments : tuple of TreatmentResult
        What was done to fields before the others were masked, in this order.
    fates : tuple of RuleFate
        What became of the rules that read these fields.
    tables : mapping of str to str
        Of nested records in several tables, where those beside the output are, by level.
    rules_file : str
        Where the rules stand as they are asked now; empty where none has changed.
    before : tuple of FigureResult
        Figures of keys before the treatments.
    rulebook : str
        Those rules, as Schematron.
    levels : tuple of MaskedLevel
        Of a nested file, what is known of each level.
    limits : mapping of str to float
        Bounds of figures that the user has set.
    key_k : int or None
        How many records were to share each combination of keys; None where nobody asked.
    values : tuple of ShownValues
        Of each masked field three values before and after, of the same three records. Confidential.
    data : data frame or None
        The masked records, of the kind of the data frame that was masked; None for a file.
    order : ndarray of intp, shape (records_out,), or None
        Written record i is record ``order[i]`` of those that were kept, in the order of the original; None where they
        stand in that order. A secret: it is in no output but the manifest.
    """

    JOB: ClassVar = "mask"
    KEYS: ClassVar = (
        "notice output manifest valid method promise verdict risks records_in records_out k min_group whole_record_k "
        "linkage information_loss totals categories unchanged violations blocks repairs draw figures keys tested "
        "rules engines not_applicable allowed notes excluded=_excluded_by_number missing_weight left_out "
        "original_order identifying concerns treatments fates rules_file before levels limits key_k values tables"
    )

    output: str
    manifest: str
    records_in: int
    records_out: int
    k: int
    min_group: int
    whole_record_k: int
    linkage: float
    information_loss: float
    totals: tuple[TotalResult, ...]
    categories: tuple[CategoryResult, ...]
    unchanged: Mapping[str, float]
    violations: int
    blocks: tuple[BlockResult, ...]
    rules: tuple[RuleResult, ...]
    engines: tuple[EngineResult, ...]
    not_applicable: Mapping[str, str]
    allowed: tuple[str, ...]
    notes: tuple[Sentence, ...]
    repairs: tuple[RepairResult, ...] = ()
    figures: tuple[FigureResult, ...] = ()
    keys: KeyRisk | None = None
    excluded: tuple[int, ...] = field(default=(), repr=False)
    missing_weight: float = 0.0
    left_out: Mapping[str, int] = field(default_factory=dict)
    method: str = "mdav"
    promise: str = ""
    draw: DrawResult | None = None
    contract: str = "identical-groups"
    unmasked: tuple[str, ...] = ()
    let_go: tuple[str, ...] = ()
    original_order: bool = False
    identifying: tuple[str, ...] = ()
    concerns: tuple[ConcernResult, ...] = ()
    treatments: tuple[TreatmentResult, ...] = ()
    fates: tuple[RuleFate, ...] = ()
    rules_file: str = ""
    tables: Mapping[str, str] = field(default_factory=dict)
    before: tuple[FigureResult, ...] = ()
    rulebook: str = field(default="", repr=False)
    levels: tuple[MaskedLevel, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    key_k: int | None = None
    values: tuple[ShownValues, ...] = field(default=(), repr=False)
    data: Any = field(default=None, repr=False, compare=False)
    order: NDArray[np.intp] | None = field(default=None, repr=False, compare=False)

    @property
    def valid(self) -> bool:
        """Whether the written file obeys every rule that was to be kept, in every engine."""
        return self.violations == 0 and all(engine.agrees for engine in self.engines)

    @property
    def tested(self) -> Tested:
        """How many of the rules that were to be kept the written file tests."""
        return Tested.of(self.rules, self.records_out)

    @property
    def verdict(self) -> ReleaseVerdict:
        """Whether the rules hold, and how well respondents are protected."""
        told: ReleaseVerdict = from_report("verdict.verdict_of_mask", self)
        return told

    @property
    def risks(self) -> str:
        """What intruders would re-identify, in sentences."""
        return str(from_report("risk_sentences.risks_of", self))

    @property
    def notice(self) -> str:
        """Whom this is for."""
        return INTERNAL

    @property
    def _excluded_by_number(self) -> list[int]:
        return [position + 1 for position in self.excluded]
