"""Rules that speak of no order of members hold on files with members exchanged, says the engine."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest

from examples import FULL, parts
from masktron.jobs.rulebooks import open_rulebook
from masktron.judge.exact import evaluate
from masktron.judge.request import EvaluationRequest
from masktron.sources.level_tree import LevelPath
from masktron.sources.wide.wide_record import WideRecord, joint
from masktron.unrolling.unit_steps import FieldOfLevel
from masktron.unrolling.unrolled import unroll
from nested_pairs import HOUSEHOLD, LAYOUT, Element, NestedMaker, composition_of

KINDS: tuple[LevelPath, ...] = (("Person",), ("Person", "Spell"), ("Car",))


def exchanged(element: Element, kind: LevelPath, dice: random.Random) -> Element:
    """Return an element of which members of a kind stand in another order."""
    found = []
    for child, members in zip(element.level.children, element.members, strict=True):
        below = members
        if child.name == kind[0]:
            below = [exchanged(one, kind[1:], dice) for one in members] if kind[1:] else members[:]
            if not kind[1:]:
                dice.shuffle(below)
        found.append(below)
    return replace(element, members=found)


def written(units: list[Element], folder: Path) -> Path:
    data = folder / "data.xml"
    data.write_text(f"<Survey>{''.join(unit.xml() for unit in units)}</Survey>", encoding="utf-8")
    return data


def silent_checks(seed: int, version: str, folder: Path) -> tuple[int, int]:
    """Compare what fires and fails before and after; return how many checks there are, and how many speak of none."""
    maker, dice = NestedMaker(seed, version=version), random.Random(seed)
    units = [maker.element() for _ in range(12)]
    rules = folder / "rules.sch"
    rules.write_text(maker.schematron(6), encoding="utf-8")
    rulebook = open_rulebook(rules, None)
    wide = WideRecord.of(HOUSEHOLD, reduce(joint, map(composition_of, units)), LAYOUT)
    unrolled = unroll(rulebook, wide, LAYOUT)
    before = evaluate(EvaluationRequest(written(units, folder), rulebook, LAYOUT))
    checks = silent = 0
    for kind in KINDS:
        others = [exchanged(unit, kind, dice) for unit in units]
        after = evaluate(EvaluationRequest(written(others, folder), rulebook, LAYOUT))
        for check in rulebook.checks:
            if check.index in unrolled.reasons:
                continue
            checks += 1
            if check.index not in unrolled.sequences.get(kind, ()):
                silent += 1
                at = check.index
                assert before.fired[at] == after.fired[at], (seed, kind, rules.read_text(encoding="utf-8"))
                assert before.failed[at] == after.failed[at], (seed, kind, check.test)
    return checks, silent


@pytest.mark.parametrize("version", parts(["2.0", "1.0"], 1))
def test_what_speaks_of_no_order_does_not_change_with_it(version: str, tmp_path: Path) -> None:
    found = [silent_checks(seed, version, tmp_path) for seed in range(25 if FULL else 4)]
    assert sum(silent for _, silent in found) > 0.7 * sum(checks for checks, _ in found)


@pytest.mark.parametrize(
    ("test", "kinds"),
    [
        ("Person[1]/Role = 'head'", {("Person",)}),
        ("count(Person/Spell[1]) = 2", {("Person", "Spell")}),
        ("count((Person/Spell)[1]) = 1", {("Person",), ("Person", "Spell")}),
        ("sum(Person/Income) = Total", set()),
        ("sum(Person/Age) = Total", {("Person",)}),  # its numbers have decimals
        ("Person/Age + 1 > 2", {("Person",)}),
        ("Person/Age > 2", set()),
        ("string(Car/Kind) = 'a'", {("Car",)}),
        ("count(Person[preceding-sibling::Person]) = 1", {("Person",)}),
        ("count(Person[Role = 'head']) = 1 and count(Car) < 2", set()),
    ],
)
def test_of_whose_order_a_rule_speaks(test: str, kinds: set[LevelPath], tmp_path: Path) -> None:
    maker = NestedMaker(3)
    units = [maker.element() for _ in range(30)]
    wide = WideRecord.of(HOUSEHOLD, reduce(joint, map(composition_of, units)), LAYOUT)
    rules = tmp_path / "rules.sch"
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Household">'
        f'<assert test="{test.replace("<", "&lt;")}">m</assert></rule></pattern></schema>',
        encoding="utf-8",
    )
    inexact: frozenset[FieldOfLevel] = frozenset({(("Person",), "Age")})
    assert set(unroll(open_rulebook(rules, None), wide, LAYOUT, inexact).sequences) == kinds
