"""The IF of a rule: what has to be true of a record before the rule asks anything of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from masktron.classify import Edit, classify
from masktron.classify.forms import form_of
from masktron.constraints import CrossRecordEdit, Form, OpaqueEdit
from masktron.errors import RulebookError
from masktron.rulebook.schema import Check, Pattern, Rulebook
from masktron.sources.records import Layout
from masktron.xpath.ir import And, Boolean, Comparison, Expression, If, Not, Or
from masktron.xpath.plain_text import source_of
from masktron.xpath.translate import Scope, translate


def escapes(rulebook: Rulebook, layout: Layout, checks: Collection[int] | None = None) -> Mapping[int, Form]:
    """Return, for rules that are written as IF ... THEN, the form of what spares a record that they fire on.

    That is the negated antecedent: of ``not(A) or B``, ``A != 1 or B``, ``not(A and not(B))``,
    ``if (A) then B else true()``, and a report of ``A and C``, where all but the last part are the antecedent. A
    record that is not in the context is spared, too. What earlier rules of the pattern take is left out: a record on
    which the rule fires is not among it.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    checks : collection of int, optional
        The checks to look at; all by default.

    Returns
    -------
    mapping of int to Form
        By index of the check; rules of another shape, and antecedents that are not understood, are not in it.
    """
    alone: list[Pattern] = []
    for pattern, position, check in rulebook.situated():
        if (checks is None or check.index in checks) and (test := _escape(check, rulebook)) is not None:
            rule = replace(pattern.rules[position], checks=(replace(check, kind="assert", test=test),))
            alone.append(replace(pattern, rules=(rule,)))
    if not alone:
        return {}
    edits = classify(replace(rulebook, patterns=tuple(alone)), layout)
    return {edit.check.index: form_of(edit.constraint) for edit in edits if _is_known(edit)}


def _is_known(edit: Edit) -> bool:
    return not isinstance(edit.constraint, OpaqueEdit | CrossRecordEdit)


def _escape(check: Check, rulebook: Rulebook) -> str | None:
    """Write the negated antecedent of a check as XPath; None where it has none."""
    try:
        test = translate(check.test, Scope(namespaces=dict(rulebook.namespaces)))
    except RulebookError:
        return None
    spared = _spared(test if check.kind == "assert" else Not(test))
    return None if spared is None else source_of(spared)


def _spared(test: Expression) -> Expression | None:
    match test:
        case Or(parts=parts) if all(map(_is_negative, parts[:-1])):
            return _joined(parts[:-1])
        case Not(operand=And(parts=parts)):
            return _joined([Not(part) for part in parts[:-1]])
        case If(condition=condition, otherwise=Boolean(value=True)):
            return Not(condition)
        case _:
            return None


def _is_negative(part: Expression) -> bool:
    return isinstance(part, Not) or (isinstance(part, Comparison) and part.operator == "!=")


def _joined(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))
