"""Recodings for the eye: what each loses and leaves, and what becomes of rules and of risk."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table

from masktron.counts import counted
from masktron.report.tables.cells import headed, noted, unbroken
from masktron.report.text import number, plain
from masktron.results import RecodeResult
from masktron.toml_text import toml_text

_LONGEST = 70
"""Characters of a rule that are shown."""
_FIGURES = {
    "key_k": ".0f",
    "key_uniques": ".0f",
    "key_population_uniques": ".1f",
    "individual_risk": ".4f",
    "global_risk": ".3f",
}


def tables(result: RecodeResult) -> list[RenderableType]:
    """The recodings that lose least, key figures before and after, what becomes of rules, and the settings."""
    parts: list[RenderableType] = [_choices(result), _figures(result)]
    if result.rules:
        fates = headed("rule", "becomes", "before", "after")
        for rule in result.rules:
            fate = f"[red]{rule.fate}[/]" if rule.fate == "lost" else rule.fate
            fates.add_row(plain(rule.id), fate, _short(rule.old), _short(rule.new or rule.reason or "-"))
        parts.append(unbroken(fates, [rule.id for rule in result.rules]))
    parts += noted("note", result.notes)
    parts.append(
        f"{plain(result.data)}: {counted(result.records, 'record')}, {counted(result.minimal, 'recoding')} that no "
        f"lower one can replace; {number(result.looked_at)} of {number(result.nodes)} looked at"
    )
    if result.recode:
        parts.append("[bold]recommended[/], in masktron.toml:")
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
            *(str(one.levels[name]) for name in names),
            number(one.loss, ".4f"),
            number(one.left),
            number(one.smallest),
            "not looked at" if one.lost is None else plain(", ".join(one.lost)) or "-",
            "[bold]recommended[/]" if at == result.chosen else "",
        )
    return table


def _short(rule: str) -> str:
    """Return a rule, or the beginning of one that would fill the table: JSON has all of it."""
    return plain(rule if len(rule) <= _LONGEST else f"{rule[:_LONGEST]} ...")


def _figures(result: RecodeResult) -> Table:
    table = headed("figure", "before", "after")
    for name, spec in _FIGURES.items():
        table.add_row(name, number(getattr(result.before, name), spec), number(getattr(result.after, name), spec))
    return table
