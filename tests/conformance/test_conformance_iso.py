"""Every element and attribute of ISO Schematron 2016, 2020 and 2025: right, or refused by name; none is ignored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lxml import etree

import pyschematron_oracle
from differential import by_masktron, conformance
from differential.case import ISO
from differential.conformance import Conformance
from examples import spread
from masktron.errors import RulebookError
from masktron.judge import exact
from masktron.judge.request import EvaluationRequest
from masktron.report.formats.svrl import SVRL
from masktron.rulebook.schematron.reader import read_rules
from masktron.rulebook.schematron.vocabulary import ATTRIBUTES, CHILDREN, EDITION_OF
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import survey
from paths import CONFORMANCE, DOCS, SCHEMAS
from refusals import problem_of, refused
from schematron_vocabulary import ELEMENTS_WITHIN, FIRST_EDITION
from svrl_files import write_svrl

FOLDER = CONFORMANCE / "iso"
READ = [case for path in sorted(FOLDER.glob("*.xml")) for case in conformance.read(path)]
CASES = [pytest.param(case, id=f"{case.name}-{case.version}-{k}") for k, case in enumerate(READ)]
GRAMMAR = etree.RelaxNG(file=str(SCHEMAS / "svrl.rng"))


def surveyed(data: Path) -> Layout:
    """Return where the records called Record stand, which may be within others."""
    layout: Layout = survey(data, hints=["Record"])[0]
    within = layout.record_tag.rpartition("}")[2] == "Part"
    return survey(data, record="Record")[0] if within else layout


@pytest.mark.parametrize("case", [p for p, case in zip(CASES, READ, strict=True) if case.refused])
def test_what_is_refused_is_refused_by_name(case: Conformance, tmp_path: Path) -> None:
    assert case.refused is not None
    _, rules = case.write(tmp_path)
    with refused(RulebookError, case.refused.code) as caught:
        read_rules(rules, case.phase)
    named = [*map(str, problem_of(caught.value).references.values())]
    assert [name for name in case.refused.names if not any(name in one for one in named)] == []
    assert re.search(rf"{re.escape(str(tmp_path / case.refused.at))}:\d+", caught.value.where), caught.value.where


@pytest.mark.parametrize(
    "case", spread([p for p, case in zip(CASES, READ, strict=True) if not case.refused], every=2)
)
def test_what_is_carried_out_is_right_and_reported(case: Conformance, tmp_path: Path) -> None:
    data, rules = case.write(tmp_path)
    rulebook = read_rules(rules, case.phase)
    for note in case.notes:
        assert any(note in each for each in rulebook.notes), rulebook.notes
    layout = surveyed(data)
    done = exact.evaluate(EvaluationRequest(data, rulebook, layout))
    told = by_masktron.told(done, rulebook)
    assert {e.check: e.matches(told[e.check]) for e in case.expected} == dict.fromkeys(told, True), told
    for k, expected in enumerate(case.expected):
        if expected.message is not None:
            assert next(f.message for f in done.findings if f.check == k) == expected.message
    write_svrl(tmp_path / "out.svrl", rulebook, done)
    report = etree.parse(tmp_path / "out.svrl")
    assert GRAMMAR.validate(report), GRAMMAR.error_log
    for test in case.svrl:
        assert report.xpath(f"boolean({test})", namespaces={"svrl": SVRL}), (test, etree.tostring(report).decode())


PYSCHEMATRON_DEPARTS = {
    *("diagnostics", "group", "marks", "phase-from-and-first-match", "phase-from-paths", "properties", "references"),
    *("subject", "visit-each-and-first-match", "visit-each-twice"),
}
"""Cases in which pyschematron compares the text of a field with a number in XPath 1.0, or has to match attributes."""


@pytest.mark.parametrize(
    "case",
    spread([p for p, case in zip(CASES, READ, strict=True) if case.version == "1.0" and not case.refused], every=2),
)
def test_pyschematron_agrees(case: Conformance, tmp_path: Path) -> None:
    data, rules = case.write(tmp_path)
    rulebook = read_rules(rules, case.phase)
    done = exact.evaluate(EvaluationRequest(data, rulebook, surveyed(data)))
    counted = list(zip(done.fired, done.failed + done.errors, strict=True))
    assert (pyschematron_oracle.counts(rulebook, data) == counted) == (case.name not in PYSCHEMATRON_DEPARTS)


REWRITTEN = {"rule/@visit-each", "phase/@from", "group"}
"""What becomes rules of other contexts, or other patterns."""


@pytest.mark.parametrize(
    "case",
    spread(
        [p for p, case in zip(CASES, READ, strict=True) if {*case.covers} & REWRITTEN and not case.refused], every=2
    ),
)
def test_every_tier_agrees_on_what_is_rewritten(case: Conformance, tmp_path: Path) -> None:
    data, rules = case.write(tmp_path)
    files = by_masktron.Files(data, read_rules(rules, case.phase), surveyed(data))
    for evaluate in by_masktron.tiers(case.version).values():
        answer = evaluate(files)
        if answer is None:  # the columns have none of the checks
            continue
        told = by_masktron.told(answer.done, files.rulebook)
        assert {e.check: e.matches(told[e.check]) for e in case.expected} == dict.fromkeys(told, True), told
        assert not answer.broken


def test_there_is_a_case_for_every_element_and_attribute_of_the_editions() -> None:
    covered = {name for case in READ for name in case.covers}
    assert set(FIRST_EDITION) - covered == set()
    assert covered - set(FIRST_EDITION) == set()


def test_a_case_holds_what_it_is_about() -> None:
    for case in READ:
        texts = [case.schema, *case.files.values()]
        elements = [e for text in texts for e in etree.fromstring(text.encode()).iter()]
        held = {etree.QName(e).localname for e in elements if isinstance(e.tag, str)}
        held |= {f"{etree.QName(e).localname}/@{key}" for e in elements for key in e.attrib}
        assert set(case.covers) <= held, (case.name, set(case.covers) - held)


def test_the_table_of_masktron_is_that_of_the_standard() -> None:
    attributes = {f"{element}/@{one}": first for element, own in ATTRIBUTES.items() for one, first in own.items()}
    # inclusions are gone before the table of children counts
    assert {**EDITION_OF, **attributes} == FIRST_EDITION
    assert {parent: set(children) for parent, children in CHILDREN.items() if children} == ELEMENTS_WITHIN


IN_PLACE = [
    (case, element)
    for element in sorted(ATTRIBUTES)
    for case in [c for c in READ if not c.refused and f"<{element}" in c.schema and element in c.covers][:1]
]


@pytest.mark.parametrize(("case", "element"), IN_PLACE, ids=[element for _, element in IN_PLACE])
@pytest.mark.parametrize("what", ["attribute", "element"])
def test_what_no_edition_has_is_refused_wherever_it_stands(
    case: Conformance, element: str, what: str, tmp_path: Path
) -> None:
    _, rules = case.write(tmp_path)
    schema = etree.parse(rules)
    found = next(schema.iter(f"{{{ISO}}}{element}"))
    if what == "attribute":
        found.set("xyzzy", "1")
    else:
        etree.SubElement(found, f"{{{ISO}}}xyzzy")
    schema.write(rules)
    with refused(RulebookError, "not-allowed-here") as caught:
        read_rules(rules, case.phase)
    assert element in str(problem_of(caught.value).references.values())
    assert re.search(r"rules\.sch:\d+", caught.value.where)


def test_no_element_is_left_out() -> None:
    assert {element for _, element in IN_PLACE} == EDITION_OF.keys() - {"library"}


def test_the_docs_say_of_every_term_what_masktron_does() -> None:
    text = (DOCS / "writing-rules" / "schematron.md").read_text(encoding="utf-8")
    told: dict[str, str] = {}
    for names, since in re.findall(r"^\| (.+) \| ([0-9]{4}) \| .+ \|$", text, re.MULTILINE):
        shared, of, elements = names.partition(" of ")
        for element in re.findall(r"[\w-]+", elements) if of else re.findall(r"[\w-]+", names)[:1]:
            first = EDITION_OF[element] if of else since
            told |= {f"{element}/@{one}": first for one in re.findall(r"@([\w-]+)", shared)}
            if names.startswith("**"):
                told[element] = since
    assert told == FIRST_EDITION
