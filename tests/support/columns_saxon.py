"""Saxon's verdicts on tests over rows of lexemes, and what the columns say of the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from columns_twin import batch_of
from masktron.judge.columns.expressions import compile_test
from masktron.judge.columns.items import NotColumnar
from masktron.judge.columns.state import ColumnScope
from masktron.judge.columns.xpath2 import XPATH2
from masktron.judge.exact import RecordJudge
from masktron.judge.findings import Verdict
from masktron.rulebook.schema import Check, Pattern, Rule, Rulebook
from masktron.sources.record_layout import Layout
from rulebook_builder import HERE, layout, lets, rulebook

type Row = Mapping[str, str | None]

FALSE, TRUE, ERROR, UNSURE = range(4)


def book(tests: Sequence[str], context: str = "Record") -> Rulebook:
    """One rule with a check for each test."""
    empty = rulebook([], version="3.1")
    checks = tuple(Check(f"rule-{k}", k, "assert", test, (), HERE) for k, test in enumerate(tests))
    pattern = Pattern("pattern", lets({}), (Rule(context, lets({}), checks, HERE),), HERE, "3.1")
    return Rulebook(empty.path, empty.binding, empty.namespaces, (), (pattern,))


def document(of: Layout, rows: Sequence[Row]) -> etree._Element:
    root = etree.Element(of.record_path[0])
    for row in rows:
        record = etree.SubElement(root, of.record_tag)
        for field in of.fields:
            lexeme = row.get(field.name)
            if lexeme is None:
                continue
            if field.attribute:
                record.set(field.tag, lexeme)
            else:
                etree.SubElement(record, field.tag).text = lexeme
    return root


def saxon(tests: Sequence[str], of: Layout, rows: Sequence[Row], context: str = "Record") -> NDArray[np.int64]:
    """TRUE, FALSE or ERROR for each row and test."""
    verdicts = RecordJudge(book(tests, context), of, checks=range(len(tests))).verdicts(document(of, rows))
    table = {Verdict.HOLDS: TRUE, Verdict.FAILS: FALSE, Verdict.ERROR: ERROR, Verdict.NOT_FIRED: UNSURE}
    return np.vectorize(lambda verdict: table[Verdict(verdict)], otypes=[np.int64])(verdicts)


def scope_of(of: Layout, focus: int | None = None) -> ColumnScope:
    return ColumnScope((), of, XPATH2).on(focus)


def columns(tests: Sequence[str], of: Layout, rows: Sequence[Row], focus: int | None = None) -> NDArray[np.int64]:
    """TRUE, FALSE or UNSURE for each row and test."""
    batch = batch_of(of, rows)
    said = []
    for test in tests:
        truth = compile_test(test, scope_of(of, focus)).truth(batch)
        said.append(np.where(truth.unsure, UNSURE, truth.holds))
    return np.array(said, dtype=np.int64).T


def columnar(test: str, of: Layout) -> bool:
    """Tell whether a test has an evaluation over columns."""
    try:
        compile_test(test, scope_of(of))
    except NotColumnar:
        return False
    return True


def disagreements(
    tests: Sequence[str], of: Layout, rows: Sequence[Row], expected: NDArray[np.int64], said: NDArray[np.int64]
) -> list[str]:
    """Where the columns say what Saxon does not."""
    wrong = (said != UNSURE) & (said != expected)
    return [f"{tests[k]} on {rows[i]}: {said[i, k]}, Saxon {expected[i, k]}" for i, k in np.argwhere(wrong)[:20]]


__all__ = ["ERROR", "FALSE", "TRUE", "UNSURE", "columnar", "columns", "disagreements", "layout", "saxon"]
