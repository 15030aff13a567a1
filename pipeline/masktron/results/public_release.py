"""What whoever gets a masked file may know of it: a model without a place for anything of an original record.

Nothing here is copied from the result of a run, whose notes, totals and reasons speak of the original. Each attribute
is public by itself (the rulebook, settings that are no secret, the released file) or is a figure of the original that
is refused unless it is coarse: see `KeptFigure`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from masktron.results.verdict import Statement

type PublicStatus = Literal["holds", "not tested", "let go", "not applicable"]
"""What a rule is in the released file; one that reads removed fields is not applicable."""
type ShiftBound = Literal["0.01", "0.05", "0.2", "more"]
"""The mean has moved by at most so many standard deviations of the original."""
type SharesBound = Literal["1", "5", "20", "more"]
"""At most so many of 100 records would have to change category to get the old shares back."""

SUMMED = "summed"
"""How a field is masked that is the sum of masked values of members."""
PUBLIC_LEAST_RECORDS = 100
"""Records with a value from which figures of the original are published, if coarse."""
PUBLIC_LEAST_GROUPS = 20
"""Groups, or records with values of their own, in which they are."""
PUBLIC_LARGEST_SHARE = 0.1
"""The largest share of a sum of squares or products that one record may have, or of its change that one group may."""
PUBLIC_LEAST_INTERVAL = 0.1
"""Standard deviations that a share of variance leaves open of any value, for whoever knows all other ones."""
PUBLIC_LEAST_OPEN = 0.05
"""The same as a share of the value; half a standard deviation is enough of any."""
FEW_LEFT_OUT = 10
"""Records left out from which on nobody is told apart by it; of fewer, their share of the weight is not published."""
STEP = 0.01
"""Figures are multiples of this: what an analyst needs, and too coarse to be solved for a value."""


@dataclass(frozen=True, slots=True)
class KeptFigure:
    """A figure of the original that is coarse enough to be published.

    Attributes
    ----------
    value : float
        A multiple of `STEP`.

    Raises
    ------
    ValueError
        It is finer than that.
    """

    value: float

    def __post_init__(self) -> None:
        """Refuse digits that users do not need."""
        if self.value != round(self.value, 2):
            raise ValueError("a figure of the original with more than two decimals is not for others")

    @classmethod
    def coarsened(cls, value: float) -> KeptFigure:
        """Round to what may be published."""
        return cls(round(value, 2) + 0.0)

    def __str__(self) -> str:
        return f"{self.value:.2f}"


@dataclass(frozen=True, slots=True)
class PublicClass:
    """A class of a hierarchy: its label, and the values that it holds, from the file of the hierarchy alone."""

    label: str
    values: str


@dataclass(frozen=True, slots=True)
class PublicLevel:
    """One kind of records of a nested release: households, or the persons in them.

    Attributes
    ----------
    name : str
        Names from the top level down, with ``/`` between them: ``Household/Person``.
    records : int or None
        Of the released file, which whoever has it can count; None where nobody has counted.
    weight : str
        The field by which they are weighted, their own or that of a level around them; empty for none.
    sorted_by : tuple of str
        Fields, written as they are, by which members of different records were put side by side; none: in the order
        of the file.
    table : str
        Name of its table, without folders, where it has one beside that of the top level.
    checksum : str
        SHA-256 of that table.
    """

    name: str
    records: int | None = None
    weight: str = ""
    sorted_by: tuple[str, ...] = ()
    table: str = ""
    checksum: str = ""

    @property
    def kind(self) -> str:
        """What its records are called."""
        return self.name.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class PublicField:
    """A field of the released file.

    Attributes
    ----------
    name : str
    masked : bool
        Whether it was masked; else it is written as it was.
    number : bool
    weight : bool
    block : int or None
        Which block it was masked in, from 1.
    how : str
        The aggregator, or ``drawn``, or ``summed`` of the members of a record; several of them, with ``, `` between
        them, where positions differ; empty where it was not masked.
    solved_by : str
        The rule from which it follows in each record; empty for none.
    mean : {"0.01", "0.05", "0.2", "more"} or None
        None where that may not be told, as of all that follow.
    variance : KeptFigure or None
        Variance after divided by variance before.
    correlations : KeptFigure or None
        By how much its correlations with the other masked numbers have moved, on average over the pairs of which each
        may be told, up or down.
    shares : {"1", "5", "20", "more"} or None
        Of categories; every record counts once.
    missing : int or None
        Values that are missing in the released file; None where that file was not at hand.
    codes : tuple of str
        What stands for them there, beside nothing.
    below_zero : int
        Values below 0 in the released file, which whoever has it can count; 0 where that file was not at hand.
    keeps_mean : bool
        Whether groups have their mean, and so the file that of the original values of its records, with survey
        weights where there are some, but for rounding. Only where `mean` may be told.
    reweighted : tuple of str
        Of a weight: fields by whose classes it took over the weights of records left out.
    recoded : str
        How it was recoded, a setting without the name of a file; empty where it was not.
    classes : tuple of PublicClass
        What the labels of a hierarchy stand for; none where the setting says that.
    suppressed : bool
        Whether cells of it may have been left out, so that k records share each combination of keys. A weight is
        counted as a key, but never left out.
    untrue : str
        Why some records have another value than before: drawn anew, by which probabilities, or swapped; else empty.
    treated : bool
        Whether a step may have changed it before others were masked, whatever kind of step.
    level : str
        The level of a nested file whose field it is; empty in a flat one.
    more_blocks : tuple of int
        Further blocks, where positions are in several.
    solved_everywhere : bool
        Whether it follows by `solved_by` at all positions.
    """

    name: str
    masked: bool
    number: bool
    weight: bool = False
    block: int | None = None
    how: str = ""
    solved_by: str = ""
    mean: ShiftBound | None = None
    variance: KeptFigure | None = None
    correlations: KeptFigure | None = None
    shares: SharesBound | None = None
    missing: int | None = None
    codes: tuple[str, ...] = ()
    below_zero: int = 0
    keeps_mean: bool = False
    reweighted: tuple[str, ...] = ()
    recoded: str = ""
    classes: tuple[PublicClass, ...] = ()
    suppressed: bool = False
    untrue: str = ""
    treated: bool = False
    level: str = ""
    more_blocks: tuple[int, ...] = ()
    solved_everywhere: bool = True


@dataclass(frozen=True, slots=True)
class PublicRule:
    """A rule of the rulebook: what it says, and whether it holds in the released file."""

    id: str
    kind: str
    form: str
    text: str
    soft: bool
    status: PublicStatus


@dataclass(frozen=True, slots=True)
class PublicFate:
    """What became of a rule that reads a recoded field; it follows from the rulebook and the classes of the file.

    Attributes
    ----------
    id : str
    fate : str
        ``exact``, ``implied``, ``weakened``, ``vacuous``, ``removed`` or
        ``lost``.
    form : str
        What is asked now; empty where nothing is.
    """

    id: str
    fate: str
    form: str


@dataclass(frozen=True, slots=True)
class PublicEngine:
    """An engine that judged the released file: how many of the rules, and how many records.

    Attributes
    ----------
    name : str
    rules, records : int
    """

    name: str
    rules: int
    records: int


@dataclass(frozen=True, slots=True)
class PublicRelease:
    """A released file, for those who get it.

    Attributes
    ----------
    name : str
        Of the file, without folders.
    checksum, rules_checksum : str
        SHA-256 of the released file and of the rulebook. That of the original is a secret: with it a guess of the
        original can be tested.
    rulebook : str
        Its name, without folders.
    records : int
        Of the released file.
    method, contract, promise : str
        How it was masked, the kind of what that promises, and this in a sentence.
    k : int
        Records in the smallest group, where the contract promises groups.
    whole_records : bool
        Whether one partition was made of all masked fields, so that whole records come in groups of k.
    random_order : bool
        Whether the records stand in random order.
    left_out : int
        Records of the original that were left out: whoever knows the size of the sample can count them.
    missing_weight : str
        Their share of the weight, in per cent with one decimal; empty where there is no weight, or they are few.
    moved_totals, unexplained : tuple of str
        Masked fields whose total moved, or which categories explain no more as they did; in large files alone.
    fields : tuple of PublicField
        Of the released file.
    removed : tuple of str
        Names of the fields that were left out, as they name respondents.
    rules : tuple of PublicRule
    engines : tuple of PublicEngine
    versions : mapping of str to str
    protection : Statement
        Its level, with a reason of which each word follows from that: no figure of the original.
    compared : bool
        Whether the original was at hand, so that figures of it could be told at all.
    shared_keys : str
        How many records share which combinations of keys, in a sentence for each level; empty where nothing was left
        out for that.
    fates : tuple of PublicFate
        Of rules that read recoded fields.
    levels : tuple of PublicLevel
        Of a nested file, the top level first; none of a flat one.
    protected : str
        The level of which each record is one that was masked, with all that stands in it; empty of a flat file.
    numbered : tuple of str
        Keys that join tables and have new numbers, which say nothing of a respondent.
    rare_left_out : bool
        Whether records may have been left out as fewer than k are composed like them.
    own_checksum : str
        Of several tables, the SHA-256 of that of the top level, where it was at hand; `checksum` is of all together.
    takes_over : bool
        Whether records of a rare pattern of missing values may have taken over another one: by method and settings
        alone. Which fields that has changed is told nowhere, as it speaks of fewer than k records at a time.
    written_as : mapping of str to str
        How the file is written, by the options that say so; none where the file itself tells it, or was not at hand.
    """

    name: str
    checksum: str
    rules_checksum: str
    rulebook: str
    records: int
    method: str
    contract: str
    promise: str
    k: int
    whole_records: bool
    random_order: bool
    left_out: int
    fields: tuple[PublicField, ...]
    removed: tuple[str, ...]
    rules: tuple[PublicRule, ...]
    engines: tuple[PublicEngine, ...]
    versions: Mapping[str, str]
    protection: Statement
    compared: bool = True
    shared_keys: str = ""
    fates: tuple[PublicFate, ...] = ()
    levels: tuple[PublicLevel, ...] = ()
    protected: str = ""
    numbered: tuple[str, ...] = ()
    missing_weight: str = ""
    moved_totals: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()
    rare_left_out: bool = False
    own_checksum: str = ""
    takes_over: bool = False
    written_as: Mapping[str, str] = field(default_factory=dict)

    @property
    def told(self) -> bool:
        """Whether any figure of the original is told."""
        figures = ((one.mean, one.shares, one.variance, one.correlations) for one in self.fields)
        return any(figure is not None for own in figures for figure in own)
