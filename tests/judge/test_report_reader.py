"""What stylesheets report, read without a tree where that is possible, and the same as from the tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import write_rules
from masktron.judge import report_reader
from masktron.judge.report_reader import Failure, read_report
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules

HEAD = '<report xmlns:a="http://a/?b=c&amp;d" xmlns="">'


@pytest.fixture
def rulebook(tmp_path: Path) -> Rulebook:
    return read_rules(write_rules(tmp_path / "rules.sch", "A = 1", "B = 1"))


PLAIN = {
    "failures": '<r><f c="0" k="F"><m>a  b\n</m></f><f c="1" k="E"><m>an error</m></f></r>',
    "nothing": "",
    "records without": '<r/><r></r><r><f c="1" k="C"><m/></f></r><r/>',
    "around": '<f c="0" k="F"><m>o</m></f><r><f c="1" k="F"><m>i</m></f></r><f c="0" k="F"><m>p</m></f><r/>',
    "references": '<r><f c="0" k="F"><m>&lt;a&gt; &amp;amp;&amp;nbsp; &#128;&#13;\N{NO-BREAK SPACE}"x" ></m></f></r>',
}
OTHERS = {
    "steps": '<r><f c="0" k="F"><s>2</s><m>a</m></f><f c="1" k="F"><m>b</m></f></r>',
    "leaf": '<r><f c="0" k="F"><s>2</s><text>0</text><m>a</m></f></r>',
    "attribute": '<r><f c="0" k="F"><attribute name="id" uri=""/><m>a</m></f></r>',
    "cdata": '<r><f c="0" k="F"><m><![CDATA[<r>]]></m></f></r>',
}


def both(text: str, rulebook: Rulebook, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Failure], list[Failure]]:
    found = list(read_report(text, rulebook))
    monkeypatch.setattr(report_reader, "_plain_failures", lambda *_: None)
    return found, list(read_report(text, rulebook))


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("name", [*PLAIN, *OTHERS])
def test_reports_are_read_as_their_tree(
    name: str, end: str, rulebook: Rulebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = (PLAIN | OTHERS)[name]
    text = f"{HEAD}{inner}</report>{end}"
    plain = report_reader._plain_failures(text, {0: "assert", 1: "assert"})
    assert (plain is None) == (name in OTHERS)
    found, from_tree = both(text, rulebook, monkeypatch)
    assert found == from_tree
    assert len(found) == inner.count("<f ")


def test_an_empty_report_has_no_failures(rulebook: Rulebook) -> None:
    assert list(read_report("<report/>\n", rulebook)) == []
