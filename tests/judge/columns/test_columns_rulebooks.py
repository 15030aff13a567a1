"""The rules of the rulebooks and pages that come with masktron are evaluated over columns."""

from __future__ import annotations

import re

import pytest

from columns_saxon import columnar
from masktron.judge.columns.program import compile_program
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.xml.plain import survey
from paths import DOCS, RULES, SAMPLES
from rulebook_builder import layout

LEFT = {
    "business": {"enterprise-unique", "founded-domain"},
    "establishments": {"enterprise-unique"},
    "household": {"household-unique", "age-domain"},
    "persons": {"household-unique", "number-unique"},
}
"""Rules across records, which two passes decide, and rules that read another document."""


@pytest.mark.parametrize("name", LEFT)
def test_rules_on_single_records_stay_over_columns(name: str) -> None:
    rulebook = read_rules(RULES / f"{name}.sch")
    of, _ = survey(SAMPLES / f"{name}.xml")
    _, reasons = compile_program(rulebook, of, range(len(rulebook.checks)))
    assert {check.id for check, why in zip(rulebook.checks, reasons, strict=True) if why} == LEFT[name]


def test_spellings_of_the_page_on_writing_rules_stay_over_columns() -> None:
    text = (DOCS / "writing-rules.md").read_text(encoding="utf-8")
    table = text.partition("| linear equality |")[2].partition("| domain |")[0]
    cells = [row.replace("b:", "").split(" | ")[-2] for row in table.splitlines()]  # of Schematron, beside plain text
    written = [part for cell in cells for part in re.findall(r"`([^`]+)`", cell)]
    assert len(written) >= 15
    names = sorted(set(re.findall(r"\b[A-Z]\w*", " ".join(written))))
    assert [test for test in written if not columnar(test, layout(*names))] == []
