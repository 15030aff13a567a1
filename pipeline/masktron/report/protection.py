"""How well a masked file protects respondents: red, amber or green, with the reason.

`protection` is the only place that decides this. Each function of `_JUDGES` looks at one kind of evidence and yields
statements; the worst level decides, and of equal ones the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from masktron.counts import counted
from masktron.figures import NAMES, figure_of
from masktron.problems.wording import spelled
from masktron.report.sentences import figure_word, listed, listed_fields, percent_text
from masktron.results.figure import KeyRisk
from masktron.results.verdict import Statement, StatementLevel

RED_LINKAGE = 50.0
"""Per cent of re-identified records from which linkage is red: more picks of an intruder are right than wrong."""
RED_UNIQUES = 50.0
"""Per cent of records that are unique in the keys from which this is red: most of them can be singled out."""
_OWN_VALUES: Mapping[str, tuple[float, str]] = {
    "unchanged": (50.0, "of the masked values are the respondents' own"),
    "revealed": (50.0, "of the masked values are told of all members of their groups"),
    "sole_values": (20.0, "of the published numbers tell that one respondent took part"),
    "differencing": (0.0, "of the original values come out of this and earlier releases together"),
}
"""Figures of respondents' own values: per cent above which each is amber, and what it is. Not red, since counts and
categories often keep their values by chance; by chance `sole_values` is up to 15."""
_SEVERITY: Mapping[StatementLevel, int] = {"green": 0, "amber": 1, "red": 2}
_AT_ONCE = 2
"""Reasons of the same level that are told."""
OF_LINKAGE = ("strongest_linkage", "linkage")
"""Figures of which the first that is known counts."""
OF_UNIQUES = ("key_uniques", "key_k")
EVIDENCE = (*OF_LINKAGE, *OF_UNIQUES, "unchanged", "sole_values", "revealed")
"""Figures that a statement on protection rests on, beside those that have a limit."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the protection of a masked file.

    Attributes
    ----------
    figures : mapping of str to float
        By name; NaN where a figure does not exist, absent where it was not measured.
    limits : mapping of str to float
        That the user has set, or the manifest has.
    keys : KeyRisk or None
    key_k : int or None
        Records that were to share each combination of keys.
    problems : tuple of str
        Parts of the contract that the file does not keep.
    concerns : tuple of str
        What else tells records apart.
    by_level : bool
        Whether the file is nested: then so many records of each level share their keys, and those of all members of a
        unit together may tell it.
    """

    figures: Mapping[str, float]
    limits: Mapping[str, float]
    keys: KeyRisk | None = None
    key_k: int | None = None
    problems: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    by_level: bool = False

    def value(self, name: str) -> float:
        """Return a figure, NaN where it is not known."""
        return self.figures.get(name, math.nan)

    def limited(self, *names: str) -> bool:
        """Whether one of these figures has a limit."""
        return not self.limits.keys().isdisjoint(names)


def protection(evidence: Evidence) -> Statement:
    """Decide how well respondents are protected.

    Returns
    -------
    Statement
        With the figures that decided, and those that an intruder would gain from.
    """
    found = list(chain.from_iterable(judge(evidence) for judge in _JUDGES))
    worst = max((one.level for one in found), key=_SEVERITY.__getitem__)
    first, *others = [one for one in found if one.level == worst][:_AT_ONCE]
    figures: dict[str, float] = {name: value for name in EVIDENCE if not math.isnan(value := evidence.value(name))}
    for one in (*others, first):
        figures |= one.figures
    return Statement(worst, first.ground, " ".join(one.reason for one in (first, *others)), figures)


def _contract(evidence: Evidence) -> Iterator[Statement]:
    if evidence.problems:
        first, *others = evidence.problems
        more = f" (and {counted(len(others), 'more problem')})" if others else ""
        yield Statement("red", "contract", f"{first[0].upper()}{first[1:]}{more}.")


def _limits(evidence: Evidence) -> Iterator[Statement]:
    for name, bound in evidence.limits.items():
        value = evidence.value(name)
        if not math.isnan(value) and not figure_of(name).meets(value, bound):
            yield Statement(
                "red", "limit-missed", f"{figure_word(name)} is {value:g}; the limit is {bound:g}.", {name: value}
            )


def _keys(evidence: Evidence) -> Iterator[Statement]:
    keys, asked = evidence.keys, evidence.key_k
    if keys is None or asked is None or evidence.by_level or not keys.k < asked:
        return
    said = f"k = {asked} was asked for the keys {listed_fields(keys.fields)}, and {keys.k:g} was reached."
    without = keys.k_without_weight
    if keys.weight is not None and without is not None and without > keys.k:
        others = listed_fields(tuple(name for name in keys.fields if name != keys.weight))
        said = (
            f"At least {without:g} records share each combination of {others} (k = {asked} was asked), but the "
            f"weight '{listed_fields((keys.weight,))}' tells them apart: with it, k is {keys.k:g}. Write it in "
            f"classes ({spelled('[[--recode {weight}=breaks:...:mean]]', weight=keys.weight)})."
        )
    yield Statement("red", "keys-below-k", said, {"key_k": keys.k})


def _linkage(evidence: Evidence) -> Iterator[Statement]:
    """High linkage is amber where its own limit admits it; a limit on a weaker intruder admits nothing."""
    name, value = linkage_of(evidence.figures)
    if value >= RED_LINKAGE:
        said = re_identified(name, value)
        if evidence.limited(name):
            yield Statement("amber", "linkage", f"Linkage is within its limit, but high. {said}", {name: value})
        else:
            yield Statement("red", "linkage", said, {name: value})


def linkage_of(figures: Mapping[str, float]) -> tuple[str, float]:
    """Return the strongest linkage that is known, by its name; NaN where there is none."""
    known = ((name, figures[name]) for name in OF_LINKAGE if not math.isnan(figures.get(name, math.nan)))
    return next(known, (OF_LINKAGE[-1], math.nan))


def re_identified(name: str, value: float) -> str:
    """Say what the strongest intruder finds of whom anything is known."""
    also = "all unmasked fields and " if name == "strongest_linkage" else ""
    return f"An intruder who knows {also}the true values would re-identify {percent_text(value)} of the records."


def _uniques(evidence: Evidence) -> Iterator[Statement]:
    keys = evidence.keys
    alone = 0 if keys is None else keys.below["2"]
    if keys is None or not alone:
        return
    many, limited = 100 * alone >= RED_UNIQUES * keys.records, evidence.limited(*OF_UNIQUES)
    if limited and not many:
        return
    level: StatementLevel = "red" if many and not limited else "amber"
    within = "Unique records are within their limit, but many. " if limited else ""
    who = f"{alone:,} of {counted(keys.records, 'record')} {'is' if alone == 1 else 'are'} unique"
    what = "keys" if keys.stated else "unmasked fields"
    said = f"{within}{who} in the {what} {listed_fields(keys.fields)}."
    yield Statement(level, "key-uniques", said, {"key_uniques": alone})


def _own_values(evidence: Evidence) -> Iterator[Statement]:
    value = evidence.value("unchanged")
    if value == 100:
        yield Statement("red", "nothing-masked", "Every masked value is the respondent's own.", {"unchanged": value})
    for name, (most, what) in _OWN_VALUES.items():
        value = evidence.value(name)
        if value > most and not evidence.limited(name) and not (name == "unchanged" and value == 100):
            yield Statement("amber", "own-values", f"{percent_text(value)} {what}.", {name: value})


def _concerns(evidence: Evidence) -> Iterator[Statement]:
    for one in evidence.concerns:
        yield Statement("amber", "concern", f"{one[0].upper()}{one[1:]}.")


def _without_limit(evidence: Evidence) -> Iterator[Statement]:
    """Nothing is green of which nobody said how much is too much; what was not measured may be anything."""
    missing = [one for one in ("linkage", "unchanged", "sole_values") if one not in evidence.figures]
    if missing and not ("linkage" in missing and "strongest_linkage" in evidence.figures and len(missing) == 1):
        yield Statement("amber", "not-measured", f"Not measured: {listed([*map(figure_word, missing)])}.")
    bounded = [name for name in evidence.limits if name in NAMES and figure_of(name).group == "risk"]
    if not bounded:
        name, value = linkage_of(evidence.figures)
        found = "" if math.isnan(value) or value >= RED_LINKAGE else f" {re_identified(name, value)}"
        yield Statement("amber", "no-limit", f"No limit is set on a figure of risk.{found}")
        return
    known = {name: evidence.value(name) for name in bounded if not math.isnan(evidence.value(name))}
    if unknown := [name for name in bounded if name not in known]:
        yield Statement(
            "amber", "not-measured", f"The limit on {listed([*map(figure_word, unknown)])} could not be checked."
        )
    said = ", ".join(
        f"{figure_word(name)} {value:g} (limit {evidence.limits[name]:g})" for name, value in known.items()
    )
    yield Statement("green", "limits-met", f"Every limit is met: {said}.", known)


_JUDGES = (_contract, _limits, _keys, _own_values, _linkage, _uniques, _concerns, _without_limit)
PUBLIC_REASONS: Mapping[str, str] = {
    "contract": "This file does not keep what its masking promised.",
    "limit-missed": "A limit that the publisher set on the risk is not met.",
    "keys-below-k": "Fewer records than intended share the fields that others may know, the survey weight included.",
    "nothing-masked": "Masking left the values as they were.",
    "linkage": "Somebody who already knows the true values could find most of the records again.",
    "key-uniques": "Records can be told apart by the fields that were not masked.",
    "own-values": "Many masked values are as the respondents gave them.",
    "concern": "Records can be told apart by the fields that were not masked.",
    "no-limit": "The publisher set no limit on the risk that somebody finds a respondent.",
    "not-measured": "Not every risk was measured.",
    "limits-met": "Every limit that the publisher set on the risk is met.",
}
"""What whoever gets the file is told, by ground: no figure of the original, whatever the reason says inside."""
