"""The IF of a rule: what has to be true of a record before the rule asks anything of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from masktron.classify import Edit, classify
from masktron.classify.forms import form_of
from masktron.constraints import CrossRecordEdit, Form, OpaqueEdit
from masktron.errors import RulebookError
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import Call, Comparison, Connective, Expression, If
from masktron.rulebook.schema import Check, Pattern, Rulebook
from masktron.sources.record_layout import Layout


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
        test = parsed(check.test, rulebook.namespaces)
    except RulebookError:
        return None
    if check.kind == "report":
        return _broken(test)
    match test:
        case Connective(sign="or", operands=(*spared, _)) if all(map(_is_negative, spared)):
            return " or ".join(map(str, spared))
        case Call(standard="not", arguments=(inner,)):
            return _broken(inner)
        case If(condition=condition, otherwise=Call(standard="true")):
            return f"not({condition})"
        case _:
            return None


def _broken(test: Expression) -> str | None:
    """Write that one of the parts of a conjunction does not hold, the last one left out."""
    if isinstance(test, Connective) and test.sign == "and":
        return " or ".join(f"not({part})" for part in test.operands[:-1])
    return None


def _is_negative(part: Expression) -> bool:
    match part:
        case Call(standard="not") | Comparison(sign="!=" | "ne"):
            return True
        case _:
            return False
