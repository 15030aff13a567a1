"""The independent oracle of XPath 2 and later: Saxon's XQuery, which contains XPath and can catch its errors.

Nothing of masktron is used, and no stylesheet. Contexts are matched by their definition: from every node of the
document the path is evaluated as it is written. Where that raises an error, it is asked again step by step, so that
the error is that of one node.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from saxonche import PySaxonApiError, PySaxonProcessor

from differential.case import Case, Check, Let, Rule, Step
from differential.told import ERROR, FAILS, HOLDS, Tally, Told

_FUNCTIONS = "http://www.w3.org/2005/xpath-functions"
_HEAD = f"""xquery version "3.1";
declare namespace math = "{_FUNCTIONS}/math"; declare namespace map = "{_FUNCTIONS}/map";
declare namespace array = "{_FUNCTIONS}/array";
"""
_ALL = "declare variable $m-all := (/ | //* | //@*);\n"
_BREAK = "\n"


@cache
def _processor(*, optimised: bool = False) -> PySaxonProcessor:
    created = PySaxonProcessor(license=False)
    # optimised, an expression that is moved out of a loop is evaluated outside its try; and unoptimised it is another
    # way through Saxon than the one that masktron takes
    if not optimised:
        created.set_configuration_property("http://saxon.sf.net/feature/optimizationLevel", "0")
    return created


class Refused(Exception):  # noqa: N818 - an outcome, not an error
    """Saxon cannot compile a query."""


class Query:
    """Queries on one document."""

    def __init__(self, case: Case, *, optimised: bool = False) -> None:
        self.case = case
        self._processor = _processor(optimised=optimised)
        text = case.table.text.replace(f'encoding="{case.table.encoding}"', "")
        self._node = self._processor.parse_xml(xml_text=text)
        self._spaces = "".join(f'declare namespace {p} = "{u}";\n' for p, u in case.namespaces)

    def run(self, pieces: Iterable[str]) -> list[str]:
        """Evaluate expressions that yield one string each.

        Raises
        ------
        Refused
        """
        body = ",\n".join(pieces)
        text = f"{_HEAD}{self._spaces}{_ALL}string-join(({body}), '{_BREAK}')"
        engine: Any = self._processor.new_xquery_processor()
        engine.set_context(xdm_item=self._node)
        try:
            engine.set_query_content(text)
            answer = engine.run_query_to_string()
        except PySaxonApiError as error:
            raise Refused(str(error)) from None
        return str(answer).removeprefix('<?xml version="1.0" encoding="UTF-8"?>').split(_BREAK)

    def refused(self, piece: str) -> str:
        """Return why Saxon refuses an expression alone, or nothing."""
        try:
            self.run([piece])
        except Refused as error:
            return str(error)
        return ""


def _written(expression: str) -> str:
    """Return XPath as XQuery: references are read in its literals, and ``current()`` is a variable here."""
    return expression.replace("&", "&amp;").replace("current()", "$m-current")


def _lets(outer: tuple[Let, ...], own: tuple[Let, ...] = ()) -> str:
    """Return the clauses that bind variables at the context node; those of patterns and schema see the document."""
    above = (f"let ${let.name} := root(.) ! ({_written(let.value.text)})" for let in outer)
    return " ".join(
        ("let $m-current := .", *above, *(f"let ${let.name} := ({_written(let.value.text)})" for let in own))
    )


@dataclass(frozen=True, slots=True)
class _Scope:
    outer: tuple[Let, ...]
    rule: Rule


def _truth(scope: _Scope, test: str, at: str) -> str:
    """Return the expression for T, F or E at nodes, one after the other."""
    lets = _lets(scope.outer, scope.rule.lets)
    return (
        f"string-join(for $m-n in {at} return $m-n ! "
        f"(try {{ {lets} return if ({_written(test)}) then 'T' else 'F' }} catch * {{ 'E' }}))"
    )


def _selected(scope: _Scope, path: str) -> str:
    """Return the expression for the ids of all nodes that a path selects from one of their ancestors."""
    return (
        "string-join(try { for $m-a in $m-all return $m-a ! "
        f"({_lets(scope.outer)} return ({_written(path)})[exists(ancestor-or-self::node() intersect $m-a)]) "
        "! generate-id(.) } catch * { 'E' }, ' ')"
    )


def _stepwise(scope: _Scope, step: Step) -> str:
    """Return the expression for T, F or E at every node, predicate by predicate, where the bare path selects it."""
    bare = (
        f"($m-all ! (let $m-a := . return ({_written(step.path)})[exists(ancestor-or-self::node() intersect $m-a)]))"
        " ! generate-id(.)"
    )
    above = f"exists(..[{_written(step.above.text)}])" if step.above else "true()"
    own = f"exists(.[{_written(step.predicate.text)}])" if step.predicate else "true()"
    truth = f"{_lets(scope.outer)} return if ({above}) then if ({own}) then 'T' else 'F' else 'F'"
    return (
        f"string-join(let $m-bare := {bare} for $m-n in $m-all return $m-n ! (if (not(generate-id(.) = $m-bare)) "
        f"then 'F' else try {{ {truth} }} catch * {{ 'E' }}))"
    )


def pruned(case: Case) -> tuple[Case, tuple[str, ...]]:
    """Return the case without the rules and checks that Saxon refuses to compile, and its reasons."""
    query = Query(case)
    reasons: list[str] = []

    def bad(piece: str) -> bool:
        reason = query.refused(piece)
        reasons.extend([reason] if reason else [])
        return bool(reason)

    def rule(one: Rule, scope: _Scope) -> Rule | None:
        if bad(_selected(scope, one.context_text)):
            return None
        if any(bad(_truth(scope, f"exists(${let.name})", "()")) for let in one.lets):
            return None
        checks = tuple(c for c in one.checks if not any(bad(p) for p in _pieces(scope, c)))
        return replace(one, checks=checks) if checks else None

    if all(not query.refused(", ".join(_everything(_Scope(case.lets + p.lets, r)))) for _, p, r in case.rules):
        return case, ()
    patterns = []
    for pattern in case.patterns:
        rules = tuple(
            kept for r in pattern.rules if (kept := rule(r, _Scope(case.lets + pattern.lets, r))) is not None
        )
        patterns += [replace(pattern, rules=rules)] if rules else []
    return replace(case, patterns=tuple(patterns)), tuple(reasons)


def _pieces(scope: _Scope, check: Check) -> tuple[str, ...]:
    shown = (_truth(scope, f"exists(({check.shown.text}))", "()"),) if check.shown else ()
    return (_truth(scope, check.test.text, "()"), *shown)


def _everything(scope: _Scope) -> Iterable[str]:
    yield _selected(scope, scope.rule.context_text)
    for check in scope.rule.checks:
        yield from _pieces(scope, check)


def evaluate(case: Case) -> dict[str, Told]:
    """Evaluate every check on every node."""
    return _Walk(case).told()


def confirms(case: Case, name: str, row: int, said: Told) -> bool:
    """Tell whether Saxon, optimising, says the same of a record, alone or in its file, if nothing else is asked."""
    patterns = tuple(
        replace(p, rules=tuple(replace(r, checks=tuple(c for c in r.checks if c.id == name)) for r in p.rules))
        for p in case.patterns
        if any(c.id == name for r in p.rules for c in r.checks)
    )
    whole = replace(case, patterns=patterns)
    # the record alone is not where a position in the context finds it
    alone = replace(whole, table=replace(case.table, rows=case.table.rows[row : row + 1]))
    return said.marks[row] in (_marked(alone, name, 0), _marked(whole, name, row))


def _marked(case: Case, name: str, row: int) -> str:
    try:
        return _Walk(case, optimised=True).told()[name].marks[row]
    except Refused:
        # an error that was raised outside its try
        return ERROR


class _Walk:
    def __init__(self, case: Case, *, optimised: bool = False) -> None:
        self.case = case
        self.query = Query(case, optimised=optimised)
        self.scopes = [_Scope(case.lets + p.lets, r) for _, p, r in case.rules]
        first = [
            "string-join($m-all ! generate-id(.), ' ')",
            "string-join($m-all ! string(count((ancestor-or-self::*[parent::*[not(parent::*)]])/"
            "(self::*, preceding-sibling::*))), ' ')",
            *(_selected(s, s.rule.context_text) for s in self.scopes),
        ]
        ids, records, *self.found = self.query.run(first)
        self.ids = ids.split(" ")
        self.records = [int(r) - 1 for r in records.split(" ")]
        self.count = max(self.records, default=-1) + 1

    def told(self) -> dict[str, Told]:
        fired: list[tuple[_Scope, list[int], list[int]]] = []
        matches = self.matches()
        at = 0
        for pattern in self.case.patterns:
            taken: set[int] = set()
            for _ in pattern.rules:
                marks = matches[at]
                mine = [i for i, m in enumerate(marks) if m == "T" and i not in taken]
                wrong = [i for i, m in enumerate(marks) if m == "E" and i not in taken]
                taken.update(mine, wrong)
                fired.append((self.scopes[at], mine, wrong))
                at += 1
        return self.tests(fired)

    def matches(self) -> list[str]:
        """Return, for each rule, T, F or E for each node of the document."""
        again = [(k, s) for k, (s, found) in enumerate(zip(self.scopes, self.found, strict=True)) if found == "E"]
        steps = [_stepwise(s, step) for _, s in again for step in s.rule.context]
        answers = iter(self.query.run(steps) if steps else [])
        marks = []
        for scope, found in zip(self.scopes, self.found, strict=True):
            if found == "E":
                each = [next(answers) for _ in scope.rule.context]
                marks.append("".join(_worst(m) for m in zip(*each, strict=True)))
            else:
                ids = set(found.split(" "))
                marks.append("".join("T" if i in ids else "F" for i in self.ids))
        return marks

    def tests(self, fired: list[tuple[_Scope, list[int], list[int]]]) -> dict[str, Told]:
        pieces = []
        for scope, mine, _ in fired:
            at = f"(for $m-i in ({', '.join(str(i + 1) for i in mine)}) return $m-all[$m-i])"
            pieces += [_truth(scope, check.test.text, at) for check in scope.rule.checks]
        answers = iter(self.query.run(pieces) if pieces else [])
        told: dict[str, Told] = {}
        for scope, mine, wrong in fired:
            for check in scope.rule.checks:
                tally = Tally(self.count)
                for i, mark in zip(mine, next(answers), strict=True):
                    tally.add(self.records[i], _mark(check, mark))
                for i in wrong:
                    tally.add(self.records[i], ERROR, context=True)
                told[check.id] = tally.told()
        return told


def _worst(marks: tuple[str, ...]) -> str:
    return next(m for m in "ETF" if m in marks)


def _mark(check: Check, mark: str) -> str:
    if mark == "E":
        return ERROR
    return HOLDS if (mark == "T") == (check.kind == "assert") else FAILS


def short(reason: str) -> str:
    """Return the error code of a message of Saxon."""
    code = re.search(r"[A-Z]{4}[0-9]{4}", reason)
    return code.group() if code else reason[:60]
