"""Plain rules as Schematron: what every judge reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from masktron.problems.problem import Field, Known, Place, Problem, Rule, fields
from masktron.rulebook.plain.conditions import Conditions, Records, whole_file
from masktron.rulebook.plain.kinds import kinds_by_use
from masktron.rulebook.plain.slips import PlainSyntaxError, require_readable
from masktron.rulebook.plain.tree import Compared, Name, PlainRule, PlainRules, walk
from masktron.rulebook.schema import Check, Origin, Pattern, Rulebook
from masktron.rulebook.schema import Rule as SchematronRule


@dataclass(frozen=True, slots=True)
class Compiled:
    """One rule in XPath.

    Attributes
    ----------
    rule : PlainRule
    context : str
    test : str
        What must hold: that the rule does not fail, or where missing values fail, that it holds.
    decided : str
        What holds where the rule holds or fails for certain; empty where missing values fail.
    later : bool
        Whether it needs XPath 2.0.
    """

    rule: PlainRule
    context: str
    test: str
    decided: str
    later: bool


def compiled(rules: PlainRules, levels: Sequence[Records], where: str) -> tuple[Compiled, ...]:
    """Write rules in XPath for the records of a file.

    Parameters
    ----------
    rules : PlainRules
    levels : sequence of Records
        Of the file, those within others behind these: a rule is on the first that has all that it names.
    where : str
        The file of the rules, for messages.

    Raises
    ------
    RulebookError
        Rules cannot be read, are no conditions, or say what XPath cannot: all of them.
    """
    by_use = kinds_by_use(rule.node for rule in rules.rules)
    found: list[Compiled] = []
    wrong = [*rules.wrong]
    for rule in rules.rules:
        try:
            records = _fitting(rule, levels)
            conditions = Conditions(records, {**by_use, **records.kinds}, rule.tolerance)
            test = conditions.written(rule.node, True, rules.missing_fails)
            holds, fails = (conditions.written(rule.node, truth, True) for truth in (True, False))
        except PlainSyntaxError as error:
            wrong.append(error.problem.at(Place(rule.file or where, *rule.place(error.at), rule=Rule(rule.name))))
            continue
        context = records.root if whole_file(rule.node) else records.record
        decided = "" if rules.missing_fails else f"({holds}) or ({fails})"
        found.append(Compiled(rule, context, test, decided, conditions.later))
    require_readable(wrong, where)
    return tuple(found)


def _fitting(rule: PlainRule, levels: Sequence[Records]) -> Records:
    """Return the level on whose records a rule is.

    Raises
    ------
    PlainSyntaxError
        The file lacks a field that the rule names; or it has it, where the rule cannot see it.
    """
    named = [one for one in walk(rule.node) if isinstance(one, Name)]
    found = next((one for one in levels if one.knows(name.name for name in named)), None)
    if found is not None:
        return found
    known = dict.fromkeys(name for level in levels for name in (*level.fields, *level.within))
    unknown = next((one for one in named if one.name not in known), None)
    if unknown is None:
        raise PlainSyntaxError(Problem("plain-levels", fields=fields(dict.fromkeys(one.name for one in named))), 0)
    compared = any(isinstance(one, Compared) and unknown in (one.left, one.right) for one in walk(rule.node))
    problem = Problem(
        "unknown-name",
        kind="field",
        name=Field(unknown.name),
        known=Known(unknown.name, tuple(known)),
        more=f'; a text stands in quotation marks: "{unknown.name}"' if compared else None,
    )
    raise PlainSyntaxError(problem, unknown.span.start)


def rulebook(rules: Iterable[Compiled], records: Records, path: Path) -> Rulebook:
    """Return the rulebook: each rule in a pattern of its own, in the XPath version that it needs.

    So no rule keeps records from another, and one that needs XPath 2.0 leaves the others in XPath 1.0.
    """
    patterns = []
    for index, one in enumerate(rules):
        origin = Origin(one.rule.file or str(path), one.rule.line)
        soft = one.rule.severity != "error"
        check = Check(
            id=one.rule.name,
            index=index,
            kind="assert",
            test=one.test,
            message=(one.rule.label or one.rule.written,),
            origin=origin,
            role=one.rule.severity if soft else None,
            soft=soft,
            written=one.rule.written,
            decided=one.decided,
        )
        rule = SchematronRule(one.context, (), (check,), origin)
        patterns.append(Pattern(one.rule.name, (), (rule,), origin, "2.0" if one.later else "1.0"))
    return Rulebook(
        path=path,
        binding="xslt2" if any(pattern.version == "2.0" for pattern in patterns) else "xslt",
        namespaces=tuple(records.namespaces.items()),
        lets=(),
        patterns=tuple(patterns),
        missing=dict(records.codes),
    )
