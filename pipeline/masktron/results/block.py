"""One block of fields after masking: aggregators that were tried, fields that were solved, cuts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from masktron.problems.problem import Sentence
from masktron.serialised import Serialised

if TYPE_CHECKING:
    from masktron.partitions.kdcut import Cut


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
    copied_share: float
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
    exits: Mapping[str, int]
    observed_share: float
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
