"""What a rulebook or a file costs grows with its size: counted in calls, so that no clock has a say."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from cost_shapes import FILES, RULES, records
from examples import parts
from masktron.classify import classify, forms
from masktron.classify.forms import PER_CHECK, Effort, TooManyDisjunctsError
from masktron.config import Config
from masktron.jobs import common
from masktron.jobs.check import CheckRequest, run_check
from masktron.jobs.common import size_notes
from masktron.jobs.job import open_job
from masktron.jobs.mask import run_mask
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.validate import ValidateRequest, run_validate
from masktron.judge.exact import evaluate
from masktron.judge.findings import Assigned, Tier
from masktron.judge.request import EvaluationRequest
from masktron.judge.shortcuts import looks_through
from masktron.problems.wording import sentence
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.xml import xml_source
from masktron.sources.xml.layout import survey_exactly
from masktron.sources.xml.xml_source import XmlSource

FEW, MANY = 12, 48
"""Rules of a rulebook."""
STEEP = 1.8
"""How much faster than the number of rules their cost may grow; 4 is what is quadratic, with these numbers."""


def calls_of(work: Callable[[], object]) -> int:
    """Count the calls of Python functions: a measure of work that is the same on every machine."""
    count = 0

    def count_it(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_it)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def cost_of(shape: str, size: int, folder: Path) -> int:
    path = folder / f"{size}.sch"
    path.write_text(RULES[shape](size))
    data = folder / "data.xml"
    data.write_bytes(records(20))

    def work() -> None:
        rulebook = read_rules(path)
        layout, _ = survey_exactly(data, record="R")
        classify(rulebook, layout)
        evaluate(EvaluationRequest(data, rulebook, layout))

    return calls_of(work)


BOUNDED = ("conjunction", "nested ifs")
"""One test that is compared until its effort is spent: no more than that, however long it is."""


@pytest.mark.full
@pytest.mark.parametrize(("size", "per_check"), parts([(96, PER_CHECK // 8), (192, PER_CHECK)], 1))
@pytest.mark.parametrize("shape", parts(BOUNDED, 1))
def test_a_test_costs_no_more_than_its_effort(
    shape: str, size: int, per_check: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "PER_CHECK", per_check)
    assert cost_of(shape, size, tmp_path) < 80 * per_check


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", parts((shape for shape in RULES if shape not in BOUNDED), 2))
def test_rules_cost_as_much_as_they_are_many(shape: str, tmp_path: Path) -> None:
    cost_of(shape, 3, tmp_path)  # caches and imports
    few, many = (cost_of(shape, size, tmp_path) for size in (FEW, MANY))
    assert many < STEEP * MANY / FEW * few


def test_what_is_compared_has_a_bound_that_is_said(tmp_path: Path) -> None:
    """Alternatives that neither merge nor exclude each other: opaque, with the reason, and not for ever."""
    clauses = " and ".join(f"(F{i} &gt; 1 or G{i} &lt; 2)" for i in range(40))
    path = tmp_path / "rules.sch"
    path.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>'
        f'<rule context="R"><assert id="a" test="{clauses}"/></rule></pattern></schema>'
    )
    (edit,) = classify(read_rules(path))
    assert edit.name == "opaque"
    assert "alternatives" in edit.constraint.reason  # type: ignore[union-attr]


def test_a_rulebook_has_a_bound_too() -> None:
    effort = Effort(total=PER_CHECK + 1)
    effort.spend(PER_CHECK)
    effort.begin()
    with pytest.raises(TooManyDisjunctsError, match="not analysed"):
        effort.spend(2)


@pytest.mark.full
def test_costly_rules_cost_no_other_its_class(tmp_path: Path) -> None:
    """Counts over many members have thousands of alternatives; what comes behind them is understood all the same."""
    costly = " and ".join(f"(F{i} &gt; 1 or G{i} &lt; 2)" for i in range(40))
    checks = "".join(f'<assert id="c{i}" test="{costly}"/>' for i in range(4)) + '<assert id="sum" test="A + B = C"/>'
    path = tmp_path / "rules.sch"
    path.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron">'
        f'<pattern><rule context="R">{checks}</rule></pattern></schema>'
    )
    assert [edit.name for edit in classify(read_rules(path))] == [*["opaque"] * 4, "linear"]


SPELLINGS = {
    "unique key": "count(//R[ID = current()/ID]) = 1",
    "class": "count(../R[G = current()/G and A &gt; 3]) &gt; 0 or A",
    "before": "not(preceding-sibling::R[ID = current()/ID])",
    "total": "sum(//R/A) &gt;= 0",
}


@pytest.mark.parametrize("shape", [name for name in FILES if name != "flat"])
def test_rules_across_records_are_looked_up_in_files_of_any_shape(shape: str, tmp_path: Path) -> None:
    """A file of 6,000 records whose rules are walked would take a minute: 4 * 36 million nodes are looked at."""
    data, rules = tmp_path / "data.xml", tmp_path / "rules.sch"
    data.write_bytes(FILES[shape](1500))
    checks = "".join(f'<assert id="{name[:3]}" test="{test}">no</assert>' for name, test in SPELLINGS.items())
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>'
        f'<rule context="R">{checks}</rule></pattern></schema>'
    )
    result = run_validate(data, ValidateRequest(rules, config=Config(record="R")))
    assert [(rule.fired, rule.failed) for rule in result.rules] == [(1500, 0)] * len(SPELLINGS)
    assert not any(looks_through(parsed(test.replace("&gt;", ">"))) for test in SPELLINGS.values())


def test_what_grows_with_the_square_is_said_before(tmp_path: Path) -> None:
    data, rules = tmp_path / "data.xml", tmp_path / "rules.sch"
    data.write_bytes(records(8000))
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="R">'
        '<assert id="slow" test="count(preceding-sibling::R[A &lt; current()/A]) &lt; 3">no</assert>'
        '<assert id="key" test="count(//R[ID = current()/ID]) = 1">no</assert>'
        '<assert id="next" test="not(following-sibling::R[1]/A = 99)">no</assert></rule></pattern></schema>'
    )
    (note,) = size_notes(open_job(data, rules))
    assert note.startswith("slow: looks through the whole file for each of some 8,000 records")
    assert "four times as long" in note
    # what no engine has to see as a whole is not even counted
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(XmlSource, "estimate", lambda _: pytest.fail("the file is read"))
        job = open_job(data, rules)
        assert job.source.count is None
        patched.setattr(type(job), "tiers", lambda _: (Assigned(Tier.RECORDS, ""),) * 3)
        assert size_notes(job) == ()


SQUARE = (
    '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="R">'
    '<assert id="slow" test="count(preceding-sibling::R[A &lt; current()/A]) &lt; 300">no</assert>'
    "</rule></pattern></schema>"
)


@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
@pytest.mark.parametrize("block", [7, 1 << 20])
def test_records_are_counted_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: str, block: int
) -> None:
    monkeypatch.setattr(xml_source, "_BLOCK", block)
    data = tmp_path / "data.xml"
    other = "<p:Record\tx='&gt;'/><Records/><Rec/></Record><!-- -->" + "x" * 30
    text = f"<?xml version='1.0' encoding='{codec}'?><D>" + f"<Record><A>1</A></Record><Record/>{other}" * 20 + "</D>"
    data.write_bytes(text.encode(codec))
    assert xml_source._start_tags(data, "Record") == 60


def test_mask_and_check_say_what_grows_with_the_square(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "_WORTH", 1e-4)
    data, rules, out = (tmp_path / name for name in ("data.xml", "rules.sch", "out.xml"))
    data.write_bytes(records(40))
    rules.write_text(SQUARE)
    said: list[str] = []
    masked = run_mask(
        MaskRequest(data, rules, out, config=Config(k=3, nominal=("B",))),
        progress=lambda stage, _: said.append(stage),
    )
    checked = run_check(CheckRequest(out, rules), progress=lambda stage, _: said.append(stage))
    for notes in (masked.notes, checked.notes):
        slow = "slow: looks through the whole file for each of some 40 records"
        assert sum(sentence(note).startswith(slow) for note in notes) == 1
    first = next(at for at, stage in enumerate(said) if stage.startswith("validating data.xml"))
    assert said[first].startswith("validating data.xml, whole, about")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("A = 1", False),
        ("A/B = @c", False),
        ("count(//R[A = 1]) = 1", True),
        ("/D/R/A = A", True),
        ("preceding-sibling::R[1]/A = A", False),
        ("preceding-sibling::R/A = B", True),
        ("../A = 1", True),
        ("every $other in //R satisfies $other/A != B", True),
        ("count(//R[A = current()/A]) = 1", False),
    ],
)
def test_walks_are_told_from_what_is_looked_up(expression: str, expected: bool) -> None:
    assert looks_through(parsed(expression)) is expected
