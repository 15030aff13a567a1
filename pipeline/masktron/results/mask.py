"""What `mask` returns: blocks of fields, what methods drew, engines and the file as a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from masktron.problems.problem import Sentence
from masktron.results.figure import CategoryResult, FigureResult, KeyRisk, MaskedLevel, TotalResult
from masktron.results.result import JobResult, PlottedResult, from_report
from masktron.results.rules import RuleFate, RuleResult, Tested, TreatmentResult
from masktron.results.verdict import ConcernResult, ReleaseVerdict, ShownValues
from masktron.serialised import Known, Percent, Serialised, Share, read_plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from masktron.partitions.kdcut import Cut
    from masktron.settle.lattice import SettleExit


@dataclass(frozen=True, slots=True)
class CandidateResult(Serialised):
    """One of the aggregators that were tried for a block.

    Attributes
    ----------
    information_loss : float
        As in `BlockResult`, and lost values count as if the mean of the file replaced them; NaN where it was not
        carried out.
    copied_share : float
        Share of the records in groups that copy one of their records, 0 to 1; NaN where it was not carried out.
    verdict : str
        Taken, or why not.
    solved : tuple of str
        Fields that it solves in each record.
    """

    aggregator: str
    information_loss: float
    copied_share: Share
    verdict: str
    solved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SolvedResult(Serialised):
    """A field that an equality of a rule gives in each record.

    Attributes
    ----------
    field, rule : str
    disjunct, atom : int
        Which alternative of the rule's form holds the equality, and where; both from 0.
    """

    field: str
    rule: str
    disjunct: int
    atom: int


@dataclass(frozen=True, slots=True)
class CutResult(Serialised):
    """A stratum with more records than are partitioned together; the largest one, where there are several.

    Attributes
    ----------
    records : int
    blocks : int
        Into which it was cut.
    largest : int
        Records of the largest.
    information_loss : float
        What the cut costs: percentage points of 100 SSE/SST in the coordinates in which groups are formed, with their
        means. It can be negative.
    measured : bool
        Whether this is the difference to what is formed without a cut; otherwise it is an estimate, which does not
        know that rules move records between groups.
    """

    records: int
    blocks: int
    largest: int
    information_loss: float
    measured: bool

    @classmethod
    def of(cls, cut: Cut, total: float) -> CutResult:
        """Put a cut into the words of reports; `total` is the sum of squares of the file."""
        return cls(cut.records, cut.blocks, cut.largest, cut.loss(total), cut.measured)


@dataclass(frozen=True, slots=True)
class BlockResult(Serialised):
    """One block after masking.

    Attributes
    ----------
    groups : int
        Of records that share one prototype; the number of records where each has values of its own.
    min_group : int
        Smallest number of records that share one prototype as written; solved fields apart.
    exits : mapping of str to int
        Groups by how settle found their prototype.
    observed_share : float
        Groups that publish the values of one observed record, per cent of the records: those that are copied, and in
        a block of observed aggregators all whose prototype one of their records holds.
    copied : int
        Groups that publish one record's values in the place of an aggregate, since no other obeys the rules or since
        this record rules its group: what ``max_observed_share`` is about.
    coincident : int
        Groups whose aggregate equals one of their records by chance.
    revealed : int
        Values that all members of a group of two or more had and that are published, or that follow from inequalities
        of the rules: see `masktron.measures.revealed`.
    dominated : int
        Groups in which one record holds more than nine tenths of the weight.
    information_loss : float
        100 SSE/SST over the block's numeric variables, standardised; NaN where it has none.
    candidates : tuple of CandidateResult
        What came of each aggregator that keeps the rules, where there were several.
    solved : tuple of SolvedResult
        Fields that follow in each record from the others and from its unmasked fields. Groups share the other fields;
        these do not count for `min_group` where a rule gives them.
    cut : CutResult or None
        Where more records than ``max_block_records`` would have been partitioned together.
    """

    variables: tuple[str, ...]
    rules: tuple[str, ...]
    aggregator: str
    reason: Sentence
    groups: int
    min_group: int
    exits: Mapping[SettleExit, int]
    observed_share: Percent
    copied: int
    coincident: int
    revealed: int
    dominated: int
    information_loss: float
    candidates: tuple[CandidateResult, ...] = ()
    solved: tuple[SolvedResult, ...] = ()
    cut: CutResult | None = None

    @property
    def drawn(self) -> bool:
        """Whether every record has values of its own, so that there are no groups."""
        return self.aggregator == "drawn"


@dataclass(frozen=True, slots=True)
class MomentResult(Serialised):
    """Mean and variance of a drawn number: as the method drew it, and as it is written.

    Attributes
    ----------
    mean_drawn, mean_written : float
        Mean less that of the original, in standard deviations of the original.
    variance_drawn, variance_written : float
        Divided by that of the original.
    beyond : int
        Values that the first draw had beyond what the type or the format of the column can hold. They are written as
        values that fit, most of them at that bound. No value of a record follows from it: the bound is that of the
        column, which the release has too, and the draws are random. Whoever has the release can count the values at
        the bound anyway.
    """

    KEYS: ClassVar = "field=name mean_drawn mean_written variance_drawn variance_written beyond"

    name: str
    mean_drawn: float
    mean_written: float
    variance_drawn: float
    variance_written: float
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class CorrelationResult(Serialised):
    """The correlation of two drawn numbers: in the original, as drawn and as written; NaN where there is none."""

    fields: tuple[str, str]
    original: Known
    drawn: float
    written: float


@dataclass(frozen=True, slots=True)
class UnmovedResult(Serialised):
    """Records that came out as they went in, in all masked fields.

    Attributes
    ----------
    untouched : int
        Nothing of theirs was to be replaced.
    drawn : int
        They drew the values that they had, or these are the values of their group.
    given_back : int
        They drew others, and got their own back when the rules were kept.
    rare : int
        Of those that were to be replaced, the ones that fewer than k records of the original are like.
    """

    untouched: int
    drawn: int
    given_back: int
    rare: int

    @property
    def records(self) -> int:
        """All of them."""
        return self.untouched + self.drawn + self.given_back


@dataclass(frozen=True, slots=True)
class DrawResult(Serialised):
    """What a method that draws did, and what keeping the rules made of it.

    Attributes
    ----------
    strata : int
        Parts of the file in which it drew: by alternatives of rules, and by what is missing.
    groups, smallest : int or None
        Groups of the method, and records of the smallest; None where it forms none.
    moments : tuple of MomentResult
        One for each drawn number.
    worst_drawn, worst_written : CorrelationResult or None
        The two of them whose correlation is farthest from that of the original, as drawn and as written; None where
        no two of them vary.
    unmoved_by : UnmovedResult
        Records that came out as they went in, in all masked fields, by the reason.
    """

    KEYS: ClassVar = (
        "strata groups smallest moments correlation_drawn correlation_written worst_drawn worst_written unmoved "
        "unmoved_by"
    )

    strata: int
    groups: int | None
    smallest: int | None
    moments: tuple[MomentResult, ...]
    worst_drawn: CorrelationResult | None
    worst_written: CorrelationResult | None
    unmoved_by: UnmovedResult

    @property
    def unmoved(self) -> int:
        """Records that came out as they went in, in all masked fields."""
        return self.unmoved_by.records

    @property
    def variance_drawn(self) -> MomentResult | None:
        """The number whose variance as drawn is farthest from that of the original; None where there is none."""
        return max(self.moments, key=lambda one: _off(one.variance_drawn), default=None)

    @property
    def variance_written(self) -> MomentResult | None:
        """The number whose variance as written is farthest from that of the original; None where there is none."""
        return max(self.moments, key=lambda one: _off(one.variance_written), default=None)

    @property
    def correlation_drawn(self) -> float:
        """Largest difference of a correlation as drawn to that of the original."""
        return abs(self.worst_drawn.drawn - self.worst_drawn.original) if self.worst_drawn else 0.0

    @property
    def correlation_written(self) -> float:
        """Largest difference of a correlation as written to that of the original."""
        return abs(self.worst_written.written - self.worst_written.original) if self.worst_written else 0.0


def _off(ratio: float) -> float:
    """How far a ratio of variances is from 1: a half is as far as two."""
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


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
    before: Known
    after: Known
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
    apart : frozenset of int
        Indices of the rules that `notes` are about.
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
    apart: frozenset[int] = field(default=frozenset(), kw_only=True)


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
    issued : ReleaseVerdict or None
        The verdict of a result that was read back; None where it is still to be made.
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
    linkage: Percent
    information_loss: float
    totals: tuple[TotalResult, ...]
    categories: tuple[CategoryResult, ...]
    unchanged: Mapping[str, Percent]
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
    missing_weight: Percent = 0.0
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
    limits: Mapping[str, Known] = field(default_factory=dict)
    key_k: int | None = None
    values: tuple[ShownValues, ...] = field(default=(), repr=False)
    data: Any = field(default=None, repr=False, compare=False)
    order: NDArray[np.intp] | None = field(default=None, repr=False, compare=False)
    issued: ReleaseVerdict | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the verdict as it was issued, and positions that count from 0."""
        numbers = read_plain(tuple[int, ...], told.get("excluded", []), "excluded")
        return {"issued": ReleaseVerdict.issued(told), "excluded": tuple(number - 1 for number in numbers)}

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
        told: ReleaseVerdict = self.issued or from_report("verdict.verdict_of_mask", self)
        return told

    @property
    def risks(self) -> str:
        """What intruders would re-identify, in sentences."""
        return str(from_report("sentences.risks_of", self))

    @property
    def notice(self) -> str:
        """Whom this is for."""
        return INTERNAL

    @property
    def _excluded_by_number(self) -> list[int]:
        return [position + 1 for position in self.excluded]
