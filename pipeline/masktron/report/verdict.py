"""What a masked file protects and what it does not, in a few plain sentences: the last word of `mask`.

Nothing is said here that was not computed: the sentences put figures of the result into words, and name the option
that changes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masktron.results import MaskResult

MUCH = 50.0
"""Per cent from which a figure of risk is bad news."""
_NAMED = 6
"""Fields that are named; more are counted."""


def verdict(result: MaskResult) -> str:
    """Say what was and what was not protected, with the figures that say so and the option that helps.

    Parameters
    ----------
    result : MaskResult

    Returns
    -------
    str
        Two to four sentences.
    """
    return " ".join(sentence for sentence in _sentences(result) if sentence)


def _sentences(result: MaskResult) -> Iterator[str]:
    unchanged = _figure(result, "unchanged")
    bare = unchanged == 100
    yield f"{_rules(result)}{'' if bare else _protection(result)}."
    if bare:
        yield "But nothing is protected: every masked value is the respondent's own."
    else:
        yield _exposure(result, unchanged)
    if bare or unchanged >= MUCH or result.linkage >= MUCH:
        yield _remedy(result)
    yield _unmasked(result)


def _rules(result: MaskResult) -> str:
    tested = result.tested
    said = "Every rule holds"
    if tested.untested:
        said = f"Every rule that was tested holds ({tested.rules - len(tested.untested)} of {tested.rules})"
    return f"{said}, but for {_listed(result.allowed)}, let go" if result.allowed else said


def _protection(result: MaskResult) -> str:
    """What the method has done, by its contract; the smallest groups are those of the written file."""
    if result.draw is None:
        solved = ", solved fields apart" if any(block.solved for block in result.blocks) else ""
        if _whole(result):
            return (
                f", and each record is the same as at least {result.whole_record_k - 1} others in all masked fields"
            )
        together = "some record is unique" if result.whole_record_k == 1 else f"only {result.whole_record_k}"
        return (
            f", and in each block of masked fields at least {result.min_group} records are alike{solved}; in all "
            f"masked fields together {together}"
        )
    match result.contract:
        case "partitioned-synthesis":
            return f"; masked values are drawn for groups of at least {result.draw.smallest} records"
        case "noise-added":
            return "; noise was added to the masked values"
        case "marked-replaced":
            return "; values beyond the thresholds are replaced, and all others are the respondents' own"
        case _:
            return "; masked values are drawn from a model of the file"


def _exposure(result: MaskResult, unchanged: float) -> str:
    """How much of the original an intruder finds again."""
    found = []
    if not math.isnan(result.linkage):
        found.append(f"{_percent(result.linkage)} of the records link to their original by distance")
    if not math.isnan(unchanged):
        found.append(f"{_percent(unchanged)} of the masked values are the respondents' own")
    if result.draw is not None and result.draw.unmoved:
        count = result.draw.unmoved
        found.append(f"{count} {'record comes' if count == 1 else 'records come'} out as {_went(count)} in")
    if not found:
        return "No masked field has a value that could be compared."
    said = " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)
    if math.isnan(result.linkage):
        return f"{said}; linkage is of numbers, and none are masked."
    if result.linkage < MUCH:
        return f"{'But ' if unchanged >= MUCH else ''}{said}; another way to link may find more."
    return f"But {said}: whoever knows the original values of a respondent most likely finds the record."


def _went(count: int) -> str:
    return "it went" if count == 1 else "they went"


def _remedy(result: MaskResult) -> str:
    figure = "linkage" if result.linkage >= MUCH else "unchanged"
    condition = f"--limit {figure}=20 makes it a condition."
    if result.draw is not None:
        return f"Another method or other parameters (masktron methods) can lower this; {condition}"
    if _whole(result):
        return f"A larger k, or a method that draws values (masktron methods), can lower this; {condition}"
    return f"--grouping all, or a method that draws values (masktron methods), can lower this; {condition}"


def _unmasked(result: MaskResult) -> str:
    if not result.unmasked:
        return ""
    return f"Unmasked fields were not looked at, and may identify by themselves: {_listed(result.unmasked)}."


def _whole(result: MaskResult) -> bool:
    """Whether whole records come in groups of k."""
    return result.whole_record_k >= result.k


def _figure(result: MaskResult, name: str) -> float:
    return next((figure.value for figure in result.figures if figure.name == name), math.nan)


def _percent(value: float) -> str:
    """One decimal; neither all nor nothing unless it is so."""
    if 0 < value < 0.1:
        return "less than 0.1 %"
    if value in (0, 100):
        return f"{value:.0f} %"
    return f"{min(value, 99.9):.1f} %"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
