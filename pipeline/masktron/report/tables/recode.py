"""Recodings for the eye: what each loses and leaves, and what becomes of rules and of risk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import get_args

from rich.console import RenderableType
from rich.table import Table

from masktron.counts import counted
from masktron.report.sentences import treatment_lines
from masktron.report.tables.cells import headed, noted
from masktron.report.text import number, plain
from masktron.results import RecodeResult, RuleFate
from masktron.toml_text import toml_text
from masktron.translation.translated_rules import Fate

_LONGEST = 70
"""Characters of a rule that are shown."""
_FIGURES = {
    "key_k": ".0f",
    "key_uniques": ".0f",
    "key_population_uniques": ".1f",
    "individual_risk": ".4f",
    "global_risk": ".3f",
}

_RECOMMENDED = "recommended"
_MARK = (f"[bold]{_RECOMMENDED}[/]", "[bold]least lost[/]")
"""Of the recoding that is chosen: it leaves something of each field, or there is none that does."""


def tables(result: RecodeResult) -> list[RenderableType]:
    """The recodings that lose least, key figures before and after, what becomes of rules, and the settings."""
    parts: list[RenderableType] = [_choices(result), _figures(result)]
    parts += _fates(result)
    parts += noted("note", result.notes)
    parts.append(
        f"{plain(result.data)}: {counted(result.records, 'record')}, {counted(result.minimal, 'recoding')} that no "
        f"lower one can replace; {number(result.looked_at)} of {number(result.nodes)} looked at"
    )
    if result.recode:
        emptied = result.choices[result.chosen].emptied
        parts.append(
            f"[bold]no usable recoding[/]: fewer keys, or this, which leaves nothing of {plain(', '.join(emptied))}:"
            if emptied
            else "[bold]recommended[/], in masktron.toml:"
        )
        parts += [plain(line) for line in toml_text({"recode": dict(result.recode)}).splitlines()]
    else:
        parts.append("[bold]nothing has to be recoded[/]")
    return parts


def _choices(result: RecodeResult) -> Table:
    names = list(result.choices[0].levels)
    table = headed(
        *(plain(name) for name in names), f"loss ({result.measure})", "left to suppress", "k", "rules lost", ""
    )
    for at, one in enumerate(result.choices):
        table.add_row(
            *(f"{one.levels[name]}{' (nothing left)' if name in one.emptied else ''}" for name in names),
            number(one.loss, ".4f"),
            number(one.left),
            number(one.smallest),
            "not looked at" if one.lost is None else plain(", ".join(one.lost)) or "-",
            _MARK[bool(one.emptied)] if at == result.chosen else "",
        )
    table.columns[-1].no_wrap = True
    table.columns[-1].min_width = len(_RECOMMENDED)
    return table


def _fates(result: RecodeResult) -> Iterator[str]:
    """Say how many rules become what by the recommended recoding, and what each changed one becomes."""
    many = Counter(rule.fate for rule in result.rules)
    counts = ", ".join(f"{result.kept if fate == 'kept' else many[fate]} {fate}" for fate in get_args(Fate.__value__))
    yield f"rules by the recommended recoding: {counts}"
    yield from map(
        plain,
        treatment_lines(
            (), [RuleFate(one.id, one.fate, _short(one.old), _short(one.new), one.reason, ()) for one in result.rules]
        ),
    )


def _short(rule: str) -> str:
    """Return a rule, or the beginning of one that would fill many lines: JSON has all of it."""
    return rule if len(rule) <= _LONGEST else f"{rule[:_LONGEST]} ..."


def _figures(result: RecodeResult) -> Table:
    table = headed("figure", "before", "after")
    for name, spec in _FIGURES.items():
        table.add_row(name, number(getattr(result.before, name), spec), number(getattr(result.after, name), spec))
    table.caption_justify = "left"
    table.caption = (
        f"by {plain(', '.join(result.keys))} alone, without a weight; a missing value counts as a value of its own, "
        "where masktron keys takes it for any value"
    )
    return table
