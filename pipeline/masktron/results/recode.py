"""What `recode` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from masktron.problems.problem import Sentence
from masktron.results.result import JobResult
from masktron.serialised import Known, Percent, Serialised, Share

if TYPE_CHECKING:
    from masktron.translation.translated_rules import Fate


@dataclass(frozen=True, slots=True)
class RecodingChoice(Serialised):
    """A recoding that reaches what is asked for, such that no lower one does; or the one that loses least.

    Attributes
    ----------
    levels : mapping of str to int
        Of the fields that have a hierarchy; 0 is a field as it was.
    loss : float
        From 0, nothing, to 1, all keys of all records.
    left : int
        Records that are left to local suppression.
    smallest : int
        Records of the rarest combination.
    combinations : int
        Different combinations.
    lost : tuple of str, or None
        Hard rules that are lost by it and not allowed to be; None where nobody asked, as a better recoding was found.
    emptied : tuple of str
        Fields of which nothing is left: all records that have a value have the same one.
    """

    levels: Mapping[str, int]
    loss: Share
    left: int
    smallest: int
    combinations: int
    lost: tuple[str, ...] | None
    emptied: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyFigures(Serialised):
    """What keys tell, without the weight, and with a missing value as one of its own.

    Attributes
    ----------
    key_k : int
        The fewest records that share a combination.
    key_uniques : int
        Records that are alone with theirs.
    key_population_uniques : float
        Of these, those that are expected to be alone in the population.
    individual_risk : float
        Mean risk of a record, from 0 to 1.
    global_risk : float
        Expected re-identifications, in per cent of the records.
    """

    key_k: int
    key_uniques: int
    key_population_uniques: Known
    individual_risk: Share
    global_risk: Percent


@dataclass(frozen=True, slots=True)
class RecodedRule(Serialised):
    """What becomes of a rule that reads a recoded field.

    Attributes
    ----------
    id : str
    fate : {"exact", "implied", "weakened", "vacuous", "removed", "lost"}
    old, new : str
        In mathematics; `new` is empty where the rule is not asked any more.
    reason : str
        Why it is lost, or that it asks nothing any more; else empty.
    """

    id: str
    fate: Fate
    old: str
    new: str
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class RecodeResult(JobResult):
    """The best recodings of the keys of a file.

    Attributes
    ----------
    data, rulebook : str
    records : int
        Those that would be released.
    keys : tuple of str
        Fields that others may know.
    fixed : tuple of str
        Those of them without a hierarchy.
    k : int
    suppressed : int
        Records that may be left to local suppression.
    measure : str
        Of the loss.
    nodes, looked_at : int
        Recodings that there are, and those that were looked at.
    minimal : int
        Recodings that reach what is asked for such that no lower one does.
    choices : tuple of RecodingChoice
        The best ones, by rising loss.
    chosen : int
        Position in `choices`: the best that loses no hard rule, or none that must not be.
    before, after : KeyFigures
        Of the original, and by the chosen recoding with nothing suppressed.
    kept : int
        Rules that read no recoded field of the chosen recoding.
    rules : tuple of RecodedRule
        The others, by the chosen recoding.
    recode : mapping of str to str
        The settings, as ``[recode]`` of masktron.toml has them.
    notes : tuple of str
    """

    JOB: ClassVar = "recode"
    KEYS: ClassVar = (
        "data rules=rulebook records keys fixed k suppressed loss=measure nodes looked_at minimal choices chosen "
        "before after kept fates=rules recode notes"
    )

    data: str
    rulebook: str
    records: int
    keys: tuple[str, ...]
    fixed: tuple[str, ...]
    k: int
    suppressed: int
    measure: str
    nodes: int
    looked_at: int
    minimal: int
    choices: tuple[RecodingChoice, ...]
    chosen: int
    before: KeyFigures
    after: KeyFigures
    kept: int
    rules: tuple[RecodedRule, ...]
    recode: Mapping[str, str]
    notes: tuple[Sentence, ...]
