"""Random rulebooks on random documents: libxml2, Saxon in 1.0 mode, and a plain evaluation node by node agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from examples import examples
from masktron.judge.exact import EngineChoice, RecordJudge, evaluate
from masktron.judge.request import EvaluationRequest
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Layout

ISO = "http://purl.oclc.org/dsdl/schematron"
LAYOUT = Layout(("Data", "Record"), ())

VALUES = st.sampled_from(["", "0", "1", "2", "-3", "2.5", "x", " 1 "])
FIELDS = ("V1", "V2", "V3")


@st.composite
def records(draw: st.DrawFn) -> str:
    cells = draw(st.lists(st.tuples(st.sampled_from(FIELDS), VALUES), max_size=4))
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in cells)
    if draw(st.booleans()):
        inner += f"<G><V1>{draw(VALUES)}</V1><Record><V2>{draw(VALUES)}</V2></Record></G>"
    attribute = f' id="{draw(VALUES)}"' if draw(st.booleans()) else ""
    return f"<Record{attribute}>{inner}</Record>"


@st.composite
def documents(draw: st.DrawFn) -> str:
    body = "\n".join(draw(st.lists(records(), max_size=5)))
    before = "<Note><V1>5</V1><Record><V2>1</V2></Record></Note>" if draw(st.booleans()) else ""
    return f"<Data>{before}\n{body}</Data>"


PREDICATES = st.sampled_from(
    [
        "",
        "[V1]",
        "[V1 = 1]",
        "[not(V2 < 1)]",
        "[@id]",
        "[count(V1) > 1]",
        "[1]",
        "[last()]",
        "[2]",
        "[../V2]",
        "[. = 1]",
        "[V1 and V2]",
        "[number(V1)]",
        "[position() = 1]",
        "[$limit = V1]",
        "[following-sibling::*]",
    ]
)
HEADS = st.sampled_from(["", "", "", "//", "/Data/", "Data/", "Record/", "Record//", "../", ".//", "G/", "Data//"])
NAMES = st.sampled_from(["Record", "Record", "V1", "V2", "*", "G", "(V1 | V2)", "child::V3", "descendant::V2"])


@st.composite
def contexts(draw: st.DrawFn) -> str:
    alternatives = []
    for _ in range(draw(st.integers(1, 2))):
        name = draw(NAMES)
        # XPath 1.0 has no parenthesis after a slash
        alternatives.append(("" if name.startswith("(") else draw(HEADS)) + name + draw(PREDICATES))
    return " | ".join(alternatives)


TESTS = st.sampled_from(
    [
        "V1 = 1",
        "number(V1) <= number(V2)",
        "not(V1 < V2)",
        "../V1 = .",
        "count(//V1) > 2",
        "V1 + V2 = V3",
        ". = 2",
        "string-length(.) < 3",
        "$limit > V1",
        "$own",
        "@id != V1",
        "count(../*) = 3",
        "V1[2] = V2",
        "preceding-sibling::*",
        "contains(V1, 'x')",
        "round(V2) = V2",
        "current()/V1 = V1",
    ]
)


@dataclass(frozen=True)
class Case:
    document: str
    patterns: tuple[tuple[tuple[str, tuple[tuple[str, str], ...]], ...], ...]

    def rulebook(self) -> str:
        patterns = "".join(
            "<pattern>"
            + "".join(
                f"<rule context={quoteattr(context)}><let name='own' value='V2 = $limit'/>"
                + "".join(f"<{kind} test={quoteattr(test)}/>" for kind, test in checks)
                + "</rule>"
                for context, checks in rules
            )
            + "</pattern>"
            for rules in self.patterns
        )
        return f'<schema xmlns="{ISO}"><let name="limit" value="1"/>{patterns}</schema>'


CHECKS = st.lists(st.tuples(st.sampled_from(["assert", "report"]), TESTS), min_size=1, max_size=2).map(tuple)
RULES = st.lists(st.tuples(contexts(), CHECKS), min_size=1, max_size=3).map(tuple)
CASES = st.builds(Case, documents(), st.lists(RULES, min_size=1, max_size=2).map(tuple))


def plainly(case: Case) -> list[tuple[int, int, set[int]]]:
    """Fired, failed, and the records that fail, by definition: no stylesheet, no chunks, no turned contexts."""
    root = etree.fromstring(case.document)
    nodes = list(root.iter())
    records = root.findall("Record")
    answers = []
    for rules in case.patterns:
        taken: set[etree._Element] = set()
        for context, checks in rules:
            selected = _select(root, _from_document(context))
            for start in nodes:
                selected |= _select(start, context) & set(start.iter())
            mine = [n for n in nodes if n in selected and n not in taken]
            taken.update(mine)
            for kind, test in checks:
                bad = [n for n in mine if _truth(n, test) == (kind == "report")]
                around = [{n, *n.iterancestors()} for n in bad]
                answers.append(
                    (len(mine), len(bad), {i for i, r in enumerate(records) if any(r in a for a in around)})
                )
    return answers


def _select(start: etree._Element, path: str) -> set[etree._Element]:
    found: Any = start.xpath(path, limit=1)
    return set(found)


def _from_document(context: str) -> str:
    """A context as an absolute path; the root is neither V1 nor V2, and the document has no parent."""
    parts = context.replace("(V1 | V2)", "V1").split(" | ")
    return " | ".join(part if part.startswith("/") else f"/{part}" for part in parts)


def _truth(node: etree._Element, test: str) -> bool:
    own = bool(node.xpath("V2 = 1"))
    return bool(node.xpath(f"boolean({test.replace('current()', '.')})", limit=1, own=own))


def answers_of(path: Path, case: Case, engine: EngineChoice) -> list[tuple[int, int, set[int]]]:
    rulebook = read_rules(path / "rules.sch")
    done = evaluate(EvaluationRequest(path / "data.xml", rulebook, LAYOUT, engine=engine), chunk=2)
    assert not done.errors.any()
    assert len(done.findings) == done.failed.sum()
    failing = [set(np.flatnonzero(done.verdicts[:, k] == 2).tolist()) for k in range(len(rulebook.checks))]
    return [(int(f), int(b), rows) for f, b, rows in zip(done.fired, done.failed, failing, strict=True)]


def written(folder: Path, case: Case) -> Path:
    (folder / "data.xml").write_text(case.document)
    (folder / "rules.sch").write_text(case.rulebook())
    return folder


ONE = (("assert", "V1 = 1"), ("report", "../V1 = ."))


@examples(12, full=120)
@given(CASES)
@example(Case("<Data><Record><V1>1</V1></Record></Data>", (((("Record[1]", ONE), ("*", ONE))),)))
@example(Case("<Data><Note><V1>5</V1></Note><Record><V1>1</V1></Record></Data>", (((("V1", ONE),)),)))
def test_engines_agree_with_the_definition(tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    folder = written(tmp_path_factory.mktemp("case"), case)
    expected = plainly(case)
    assert answers_of(folder, case, "auto") == expected
    assert answers_of(folder, case, "saxon") == expected


@pytest.mark.full
@settings(max_examples=40)
@given(CASES)
def test_a_batch_of_all_records_gives_the_verdicts_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    folder = written(tmp_path_factory.mktemp("case"), case)
    rulebook = read_rules(folder / "rules.sch")
    whole = evaluate(EvaluationRequest(folder / "data.xml", rulebook, LAYOUT))
    batch = RecordJudge(rulebook, LAYOUT, checks=range(len(rulebook.checks)))
    assert np.array_equal(batch.verdicts(etree.fromstring(case.document)), whole.verdicts)


@pytest.mark.full
def test_the_strategy_reaches_failures_in_records_and_outside() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=150, database=None)
    @given(CASES)
    def collect(case: Case) -> None:
        for fired, failed, rows in plainly(case):
            seen["fired"] += fired > 0
            seen["failed"] += failed > 0
            seen["inside"] += bool(rows)
            seen["outside"] += failed > len(rows)

    collect()
    assert min(seen[k] for k in ("fired", "failed", "inside", "outside")) > 10
