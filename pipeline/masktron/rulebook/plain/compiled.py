"""Plain rules as Schematron: what every judge reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from masktron.problems.problem import Field, Known, Note, Problem, Setting, fields
from masktron.rulebook.plain.conditions import Conditions, Records
from masktron.rulebook.plain.kinds import kinds_by_use, without_tolerance
from masktron.rulebook.plain.slips import PlainSyntaxError, require_readable
from masktron.rulebook.plain.tree import Compared, Name, PlainRule, PlainRules, walk
from masktron.rulebook.schema import Check, Origin, Pattern, Rule, Rulebook
from masktron.sources.tables.column_names import xml_name

EVERY = "*"
"""Stands for all rules among those that need not be tested."""


def compiled(rules: PlainRules, levels: Sequence[Records], path: Path, loose: Collection[str] = ()) -> Rulebook:
    """Write rules in XPath for the records of a file: each in a pattern of its own, in the version that it needs.

    So no rule keeps records from another, and one that needs XPath 2.0 leaves the others in XPath 1.0.

    Parameters
    ----------
    rules : PlainRules
    levels : sequence of Records
        Of the file, those within others behind these: a rule is on the first that has all that it names.
    path : Path
        The file of the rules.
    loose : collection of str
        Rules that may name fields which the file lacks, as nobody has to test them; ``*`` for all.

    Raises
    ------
    RulebookError
        Rules cannot be read, are no conditions, or say what XPath cannot: all of them.
    """
    kinds = kinds_by_use((rule.node for rule in rules.rules), levels[0].kinds_of)
    patterns: list[Pattern] = []
    wrong = [*rules.wrong]
    for one in rules.definitions:
        if any(one.name in records.fields for records in levels):
            taken = Problem("name-taken", kind="field", name=one.name, first="by the file")
            wrong.append(one.wrong(taken, 0, str(path)))
    for rule in rules.rules:
        try:
            records = _fitting(rule, levels, loose=not {rule.name, EVERY}.isdisjoint(loose))
            conditions = Conditions(records, kinds)
            outcome = conditions.written(without_tolerance(rule.node, rule.tolerance, kinds))
        except PlainSyntaxError as error:
            wrong.append(rule.wrong(error.problem, error.at, str(path)))
            continue
        except RecursionError:
            wrong.append(rule.wrong(Problem("plain-too-deep"), 0, str(path)))
            continue
        origin = Origin(rule.file or str(path), rule.line)
        soft = rule.severity != "error"
        check = Check(
            id=rule.name,
            index=len(patterns),
            kind="assert",
            test=outcome.test(rules.missing_fails),
            message=(rule.label or rule.written,),
            origin=origin,
            role=rule.severity if soft else None,
            soft=soft,
            written=rule.written,
            decided="" if rules.missing_fails else f"({outcome.holds.text}) or ({outcome.fails.text})",
        )
        context = records.root if records.whole(rule.node) else records.record
        rules_ = (Rule(context, (), (check,), origin),)
        patterns.append(Pattern(rule.name, (), rules_, origin, "2.0" if conditions.later else "1.0"))
    require_readable(wrong, str(path))
    return Rulebook(
        path=path,
        binding="xslt2" if any(pattern.version == "2.0" for pattern in patterns) else "xslt",
        namespaces=tuple(levels[0].namespaces.items()),
        lets=(),
        patterns=tuple(patterns),
        missing={name: codes for records in reversed(levels) for name, codes in records.codes.items()},
    )


def _fitting(rule: PlainRule, levels: Sequence[Records], *, loose: bool) -> Records:
    """Return the level on whose records a rule is.

    Raises
    ------
    PlainSyntaxError
        The file lacks a field that the rule names; or it has it, where the rule cannot see it.
    """
    found = next((one for one in levels if one.sees(rule.node)), None)
    if found is not None:
        return found
    named = [one for one in walk(rule.node) if isinstance(one, Name)]
    known = dict.fromkeys(name for level in levels for name in (*level.fields, *level.within))
    unknown = next((one for one in named if one.name not in known), None)
    if unknown is None:
        raise PlainSyntaxError(Problem("plain-levels", fields=fields(dict.fromkeys(one.name for one in named))), 0)
    if loose:
        lacking = {one.name: xml_name(one.name) for one in named if one.name not in known}
        supplied = [replace(one, fields={**lacking, **one.fields}) for one in levels]
        return _fitting(rule, supplied, loose=False)
    compared = any(isinstance(one, Compared) and unknown in (one.left, one.right) for one in walk(rule.node))
    problem = Problem(
        "unknown-name",
        kind="field",
        name=Field(unknown.name),
        known=Known(unknown.name, tuple(known)),
    )
    if compared:
        problem = problem.then(Note('a text stands in quotation marks: "{name}"', name=unknown.name))
    if rule.name:
        untested = Setting("--allow-unfired", (rule.name,))
        problem = problem.then(Note("where the file need not have this field: {setting}", setting=untested))
    raise PlainSyntaxError(problem, unknown.at)
