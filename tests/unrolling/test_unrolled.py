"""Rules on wide records hold where those of the nested file do, says the engine that reads both."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from lxml import etree

from examples import FULL, parts
from masktron.jobs.rulebooks import open_rulebook
from masktron.judge.exact import RecordJudge, evaluate
from masktron.judge.findings import Verdict
from masktron.judge.request import EvaluationRequest
from masktron.rulebook.schema import Rulebook
from masktron.sources.wide.wide_record import Composition, UnitPlace, WideRecord, joint, kind_text
from masktron.unrolling.by_composition import unroll_each
from masktron.unrolling.unrolled import order_bound, unroll
from nested_pairs import HOUSEHOLD, LAYOUT, Element, NestedMaker, composition_of


def wide_element(place: UnitPlace, element: Element | None, record: etree._Element) -> None:
    if place.presence and element is not None:
        record.set(place.presence, "1")
    if element is None:
        return
    for leaf in place.leaves:
        value = element.values[leaf.field.name]
        if value is None:
            continue
        if leaf.field.attribute:
            record.set(leaf.name.removeprefix("@"), value)
        else:
            etree.SubElement(record, leaf.name).text = value or None
    for kind, members in zip(place.members, element.members, strict=True):
        for at, member in enumerate(kind):
            wide_element(member, members[at] if at < len(members) else None, record)


def members_of(place: UnitPlace, element: Element) -> frozenset[str]:
    """Name the members of a unit that are there, all the way down."""
    found: set[str] = set()
    for kind, members in zip(place.members, element.members, strict=True):
        for member, own in zip(kind, members, strict=False):
            found |= {member.name, *members_of(member, own)}
    return frozenset(found)


def judged_wide(
    units: list[Element], wide: WideRecord, rulebook_path: Path
) -> tuple[np.ndarray, np.ndarray, set[int]]:
    """Return how often each check fires and fails on wide records, and which checks are not unrolled."""
    rulebook = open_rulebook(rulebook_path, None)
    unrolled = unroll_each(rulebook, wide, LAYOUT)
    root = etree.Element("Survey")
    for unit in units:
        record = etree.SubElement(root, "Household")
        wide_element(wide.unit, unit, record)
        if wide.kind:
            record.set(wide.kind, kind_text(wide.kinds.index(members_of(wide.unit, unit))))
    fired = np.zeros(len(rulebook.checks), dtype=int)
    failed = np.zeros(len(rulebook.checks), dtype=int)
    if unrolled.origins:
        checks = range(len(unrolled.origins))
        verdicts = RecordJudge(unrolled.rulebook, wide.layout, checks=checks).verdicts(root)
        for at, origin in enumerate(unrolled.origins):
            fired[origin.check] += np.isin(verdicts[:, at], (Verdict.HOLDS, Verdict.FAILS)).sum()
            failed[origin.check] += np.count_nonzero(verdicts[:, at] >= Verdict.FAILS)
    return fired, failed, set(unrolled.reasons)


def compared(seed: int, version: str, folder: Path) -> tuple[int, int]:
    """Compare one made pair; return how many checks there are and how many were compared."""
    maker = NestedMaker(seed, version=version)
    units = [maker.element() for _ in range(12)]
    rules, data = folder / "rules.sch", folder / "data.xml"
    rules.write_text(maker.schematron(6), encoding="utf-8")
    data.write_text(f"<Survey>{''.join(unit.xml() for unit in units)}</Survey>", encoding="utf-8")
    rulebook = open_rulebook(rules, None)
    whole = evaluate(EvaluationRequest(data, rulebook, LAYOUT))
    fired = np.zeros(len(rulebook.checks), dtype=int)
    failed, left = fired.copy(), set()
    classes: dict[Composition, list[Element]] = {}
    for unit in units:
        classes.setdefault(composition_of(unit), []).append(unit)
    described = list(classes.items())
    if seed % 3 == 0:  # one class of all compositions
        every = described[0][0]
        for composition, _ in described[1:]:
            every = joint(every, composition)
        described = [(every, units)]
    for composition, members in described:
        wide = WideRecord.of(HOUSEHOLD, composition, LAYOUT)
        if seed % 6 == 0:  # and each of them told apart in it
            wide = wide.of_kinds(sorted({members_of(wide.unit, unit) for unit in members}, key=sorted))
        more = judged_wide(members, wide, rules)
        fired, failed, left = fired + more[0], failed + more[1], left | more[2]
    kept = [check.index for check in rulebook.checks if check.index not in left]
    for index in kept:
        test = rulebook.checks[index].test
        assert (fired[index], failed[index]) == (whole.fired[index], whole.failed[index] + whole.errors[index]), (
            seed,
            index,
            test,
            rules.read_text(encoding="utf-8"),
        )
    return len(rulebook.checks), len(kept)


@pytest.mark.parametrize("version", parts(["2.0", "1.0"], 1))
def test_wide_rules_are_those_of_the_nested_file(version: str, tmp_path: Path) -> None:
    found = [compared(seed, version, tmp_path) for seed in range(24 if FULL else 2)]
    assert sum(kept for _, kept in found) > 0.9 * sum(checks for checks, _ in found)


ONE_OF_EACH = Composition(((Composition(((),)), Composition(((),))), ()))
"""Two persons without spells."""


def book_of(test: str, version: str, folder: Path) -> Rulebook:
    binding = "" if version == "1.0" else ' queryBinding="xslt2"'
    path = folder / "rules.sch"
    path.write_text(
        f'<schema xmlns="http://purl.oclc.org/dsdl/schematron"{binding}><pattern><rule context="Household">'
        f"<assert test={quoteattr(test)}>m</assert></rule></pattern></schema>",
        encoding="utf-8",
    )
    return open_rulebook(path, None)


@pytest.mark.parametrize(
    ("version", "test", "shown"),
    [
        ("1.0", "Size + (1) + 2 = Total", "((Size + 1) + 2) = Total"),
        ("1.0", "Size = 1 and (Region or Total) and true()", "boolean(Region)"),
        ("1.0", "Size = Total = Region", "boolean(Region)"),
        ("1.0", "Person[(2)]/Age/../Income = 3", "Person.2.Income = 3"),
        ("2.0", "(Person => count()) = 2", "2 = 2"),
        ("2.0", "fn:count(fn:distinct-values(Person/Age)) = 1", "count(distinct-values(("),
        ("2.0", "(Size) castable  as xs:integer ?", "Size castable as xs:integer?"),
        ("2.0", "Person ! Age = 1", "Person.1.Age = 1"),
    ],
)
def test_an_expression_is_written_for_the_wide_record(version: str, test: str, shown: str, tmp_path: Path) -> None:
    book = book_of(test, version, tmp_path)
    unrolled = unroll(book, WideRecord.of(HOUSEHOLD, ONE_OF_EACH, LAYOUT), LAYOUT)
    assert not unrolled.reasons
    assert shown in unrolled.rulebook.checks[0].test


@pytest.mark.parametrize(
    ("version", "test", "reason"),
    [
        ("2.0", "Person[1] is Person[2]", "'Person[1] is Person[2]', which is not unrolled"),
        ("2.0", "map{'a': Size}('a') = 1", "which is not unrolled"),
        ("1.0", "/Survey/Household/Size = 1", "an absolute path"),
        ("1.0", "count(../Household) = 1", "what stands around the unit"),
        ("1.0", "Size/text()/../Age = 1", "a step from a text"),
        ("1.0", "count(1 | Size) = 1", "'1' in the place of nodes"),
    ],
)
def test_what_is_not_unrolled_has_a_reason(version: str, test: str, reason: str, tmp_path: Path) -> None:
    book = book_of(test, version, tmp_path)
    unrolled = unroll(book, WideRecord.of(HOUSEHOLD, ONE_OF_EACH, LAYOUT), LAYOUT)
    assert reason in unrolled.reasons[0]


@pytest.mark.parametrize(
    ("test", "bound"),
    [
        ("Person/Age = Size", False),
        ("../Household/@id = attribute::id", False),
        ("self::node()/Size = Person/text()", False),
        ("Person/*", True),
        (".//Age = 1", True),
        ("(Person | Car)/Value = 1", True),
        ("Person/(Age, Income)[1] = 1", True),
        ("Person << Car", True),
        ("preceding-sibling::Household", True),
    ],
)
def test_which_checks_read_the_order_of_elements(test: str, bound: bool, tmp_path: Path) -> None:
    assert order_bound(book_of(test, "2.0", tmp_path)) == (frozenset({0}) if bound else frozenset())
