"""Plain rules as Schematron: what every judge reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from masktron.errors import RulebookError
from masktron.problems.problem import Place, Problem, Rule
from masktron.rulebook.plain.conditions import Conditions, Records, whole_file
from masktron.rulebook.plain.grammar import SyntaxProblem
from masktron.rulebook.plain.kinds import kinds_by_use
from masktron.rulebook.plain.reading import several
from masktron.rulebook.plain.tree import PlainRule, PlainRules

_TOP = '<schema xmlns="http://purl.oclc.org/dsdl/schematron"{binding}>'


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


def compiled(rules: PlainRules, records: Records, where: str) -> tuple[Compiled, ...]:
    """Write rules in XPath for the records of a file.

    Parameters
    ----------
    rules : PlainRules
    records : Records
    where : str
        The file of the rules, for messages.

    Raises
    ------
    RulebookError
        A rule is no condition, or says what XPath cannot.
    """
    kinds = {**kinds_by_use(rule.node for rule in rules.rules), **records.kinds}
    found: list[Compiled] = []
    wrong: list[Problem] = []
    for rule in rules.rules:
        conditions = Conditions(records, kinds, rule.tolerance)
        try:
            test = conditions.written(rule.node, True, rules.missing_fails)
            holds, fails = (conditions.written(rule.node, truth, True) for truth in (True, False))
        except SyntaxProblem as error:
            wrong.append(error.problem.at(Place(where, rule.line, error.at + 1, rule=Rule(rule.name))))
            continue
        context = records.root if whole_file(rule.node) else records.record
        decided = "" if rules.missing_fails else f"({holds}) or ({fails})"
        found.append(Compiled(rule, context, test, decided, conditions.later))
    if wrong:
        raise RulebookError(several(wrong, where))
    return tuple(found)


def schematron(rules: Iterable[Compiled], records: Records, *, decided: bool = False) -> str:
    """Return a rulebook in which each rule stands on the line that it has in its own file, in a pattern of its own.

    Parameters
    ----------
    rules : iterable of Compiled
    records : Records
    decided : bool
        Whether it asks where rules are decided, and not whether they hold.
    """
    each = [*rules]
    binding = ' queryBinding="xslt2"' if any(one.later for one in each) else ""
    text = _TOP.format(binding=binding)
    text += "".join(f"<ns prefix={quoteattr(p)} uri={quoteattr(uri)}/>" for p, uri in records.namespaces.items())
    line = 1
    for one in each:
        text += "\n" * (one.rule.line - line)
        line = max(line, one.rule.line)
        text += _pattern(one, one.decided if decided else one.test)
    return f"{text}</schema>\n"


def shown(rules: Iterable[Compiled], records: Records) -> str:
    """Return a rulebook as somebody would write it, with each rule in plain text above it."""
    each = [*rules]
    binding = ' queryBinding="xslt2"' if any(one.later for one in each) else ""
    lines = [_TOP.format(binding=binding)]
    lines += [f"  <ns prefix={quoteattr(p)} uri={quoteattr(uri)}/>" for p, uri in records.namespaces.items()]
    for one in each:
        lines += ["  <pattern>", f"    <rule context={quoteattr(one.context)}>"]
        lines += [f"      {_assert(one, one.test)}", "    </rule>", "  </pattern>"]
    return "\n".join([*lines, "</schema>", ""])


def _pattern(one: Compiled, test: str) -> str:
    return f"<pattern><rule context={quoteattr(one.context)}>{_assert(one, test)}</rule></pattern>"


def _assert(one: Compiled, test: str) -> str:
    role = "" if one.rule.severity == "error" else f' role="{one.rule.severity}"'
    said = escape((one.rule.label or one.rule.written).replace("\n", " "))
    return f"<assert id={quoteattr(one.rule.name)}{role} test={_attribute(test)}>{said}</assert>"


def _attribute(text: str) -> str:
    return quoteattr(text).replace("&gt;", ">")
