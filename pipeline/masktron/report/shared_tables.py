"""Tables that a terminal and pages have alike: rules, figures, engines, totals, categories, levels."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from masktron.counts import counted
from masktron.report.result_table import NOTHING, Mark, ResultTable, Tone
from masktron.report.sentences import engine_opinion
from masktron.report.text import number
from masktron.results import EngineResult, FigureResult, LevelDescription, MaskResult, RuleResult


def figure(value: float, unit: str = "", digits: int = 3) -> str:
    """Write a figure with its unit; a dash where there is none."""
    if math.isnan(value):
        return NOTHING
    if unit == "records":
        return counted(round(value), "record")
    text = number(value, ".2g") if 0 < abs(value) < 10**-digits else number(value, f".{digits}f")
    return f"{text} {unit}".rstrip()


def bare(origin: str) -> str:
    """Return the place of a rule without folders: no page shows where files lie on a machine."""
    return re.sub(r"[^\s()]*[/\\]", "", origin)


def verdict_of(rule: RuleResult) -> Mark:
    """Say in a word what became of a rule."""
    if rule.untested is not None:
        return Mark("not tested", "quiet" if rule.untested.allowed or rule.soft else "bad")
    if not rule.violations:
        return Mark("holds", "good")
    if rule.soft:
        return Mark("warns", "quiet")
    return Mark("allowed", "quiet") if rule.passes else Mark("fails", "bad")


def rules_table(rules: Sequence[RuleResult], title: str = "All rules") -> ResultTable:
    """One row for each rule, in the order of the rulebook: how often it fired and failed, and what it may."""
    beside = {
        "undecided": any(rule.undecided is not None for rule in rules),
        "allowed": any(rule.allowed is not None for rule in rules),
        "what it says": any(rule.text for rule in rules),
    }
    numbers = ("fired", "failed", "undecided", "errors", "allowed")
    columns = ("rule", "class", "verdict", *numbers, "where", "what it says")
    rows = tuple(
        (
            rule.id + (" (soft)" if rule.soft else ""),
            rule.kind,
            verdict_of(rule),
            _counted(rule.fired, bad=rule.idle and not rule.reached),
            _counted(rule.failed, bad=bool(rule.failed) and not rule.passes),
            _counted(rule.undecided),
            _counted(rule.errors, bad=bool(rule.errors) and not rule.passes),
            str(rule.allowed or NOTHING),
            bare(rule.origin),
            rule.text,
        )
        for rule in rules
    )
    table = ResultTable(title, columns, rows, frozenset(numbers))
    return table.without(*(name for name, has in beside.items() if not has))


def _counted(many: int | None, *, bad: bool = False) -> str | Mark:
    told = NOTHING if many is None else number(many)
    return Mark(told, "bad") if bad else told


def figures_table(
    figures: Sequence[FigureResult], limits: Mapping[str, float] = MappingProxyType({}), title: str = "Figures"
) -> ResultTable:
    """One row for each figure, with what it means and its limit where it has one."""
    columns = ("figure", "about", "value", "limit", "what it means")
    rows = tuple(
        (
            one.name,
            one.group,
            figure(one.value, one.unit),
            f"{limits[one.name]:g}" if one.name in limits else "",
            one.meaning + _place(one),
        )
        for one in figures
    )
    table = ResultTable(title, columns, rows, frozenset({"value", "limit"}))
    return table if limits else table.without("limit")


def _place(one: FigureResult) -> str:
    between = " The 95 % interval is {:.1f} to {:.1f} %.".format(*one.interval) if one.interval else ""
    if not one.field:
        return between
    return f" Here {'most' if one.better == 'lower' else 'least'} in {one.field}.{between}"


def engines_table(engines: Sequence[EngineResult]) -> ResultTable:
    """What each engine says of the written file."""
    rows = tuple(
        (
            one.engine,
            f"{number(one.rules)} of {number(engines[0].rules)}",
            number(one.records),
            number(one.violations),
            Mark(engine_opinion(one), _looks(one)),
        )
        for one in engines
    )
    columns = ("re-validated by", "rules", "records", "violations", "opinion")
    return ResultTable("Engines", columns, rows, frozenset({"records", "violations"}))


def _looks(engine: EngineResult) -> Tone:
    return "bad" if not engine.agrees else "noted" if engine.violations else "good"


def totals_table(result: MaskResult) -> ResultTable:
    """Weighted totals; of fewer than k records only the change, since the total would tell too much of each."""
    rows = tuple(
        (
            one.name,
            number(one.records),
            *(number(total, ".12g") if one.records >= result.k else NOTHING for total in (one.before, one.after)),
            figure(one.change),
        )
        for one in result.totals
    )
    columns = ("weighted total", "records", "before", "after", "change %")
    return ResultTable("Weighted totals", columns, rows, frozenset(columns[1:]))


def categories_table(result: MaskResult) -> ResultTable:
    """How many categories there are, and how far their weighted shares have moved."""
    rows = tuple(
        (
            one.name,
            one.kind,
            *(str(sum(count > 0 for count in counts.values())) for counts in (one.before, one.after)),
            figure(one.distance),
        )
        for one in result.categories
    )
    columns = ("categories", "kind", "distinct before", "distinct after", "shares moved %")
    return ResultTable("Categories", columns, rows, frozenset(columns[2:]))


def levels_table(levels: Sequence[LevelDescription]) -> ResultTable:
    """Kinds of records of a nested file, and how many stand at least and at most in one of the level above."""
    rows = tuple(
        (
            one.level,
            number(one.records),
            f"{one.parent}: {between(one.least, one.most)}" if one.parent else NOTHING,
            ", ".join(one.fields) or NOTHING,
        )
        for one in levels
    )
    return ResultTable("Kinds of records", ("level", "records", "in each", "fields"), rows, frozenset({"records"}))


def between(least: int, most: int) -> str:
    """Say how many there are at least and at most."""
    return number(least) if least == most else f"{number(least)} to {number(most)}"
