"""Rules across levels in mathematics: an interpreter of its own finds what the engine finds on the nested file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from masktron.classify.forms import CellValue, holds, number_of, variables_of
from masktron.classify.nested_rules.across_edits import LevelCheck, kinds_of
from masktron.classify.nested_rules.level_classes import LevelReading
from masktron.classify.nested_rules.member_figures import LevelRule, MemberFigure, RecordNode, SingleField
from masktron.constraints import CrossRecordEdit, Form, OpaqueEdit
from masktron.jobs.documents import Given
from masktron.jobs.job import open_job
from masktron.jobs.rulebooks import open_rulebook
from masktron.judge.exact import evaluate
from masktron.judge.request import EvaluationRequest
from masktron.sources.level_tree import Tree
from masktron.unrolling.unrolled_values import NotUnrolled
from nested_pairs import HOUSEHOLD, LAYOUT, Element, NestedMaker

TREE = Tree(HOUSEHOLD, LAYOUT)
type Around = Mapping[RecordNode, Element | None]


class Interpreter:
    """Says what figures are in a unit, from its elements, and whether forms hold of them."""

    def __init__(self, rule: LevelRule) -> None:
        self.rule = rule

    def fulfilled(self, form: Form, around: Around) -> bool:
        return holds(form, {name: self.value(name, around) for name in variables_of(form)})

    def value(self, name: str, around: Around) -> CellValue:
        figure = self.rule.figures[name]
        if isinstance(figure, SingleField):
            element = self.element(figure.node, around)
            return None if element is None else element.values[figure.field.name]
        choices = list(self.choices(figure, around))
        if figure.function == "count":
            return Fraction(len(choices))
        return over([cell for choice in choices if (cell := self.value(figure.of, choice)) is not None], figure)

    def choices(self, figure: MemberFigure, around: Around) -> Iterator[Around]:
        for choice in self.members(figure.bound, around):
            if not figure.where or self.fulfilled(self.rule.conditions[figure.where], choice):
                yield choice

    def members(self, bound: tuple[RecordNode, ...], around: Around) -> Iterator[Around]:
        if not bound:
            yield around
            return
        node, *rest = bound
        for one in self.candidates(node, around):
            yield from self.members(tuple(rest), {**around, node: one})

    def candidates(self, node: RecordNode, around: Around) -> list[Element]:
        assert node.above is not None
        above = self.element(node.above, around)
        if above is None:
            return []
        kind = [level.name for level in above.level.children].index(node.level.name)
        found = above.members[kind]
        if node.order is None:
            return found
        which, beside = node.order
        other = self.element(beside, around)
        at = next((position for position, one in enumerate(found) if one is other), None)
        if at is None:
            return []
        return found[:at] if which == "before" else found[at + 1 :]

    def element(self, node: RecordNode, around: Around) -> Element | None:
        if node in around:
            return around[node]
        picked = node.picked
        assert picked is not None
        found = [
            one
            for one in self.candidates(picked.node, around)
            if not picked.where or self.fulfilled(self.rule.conditions[picked.where], {**around, picked.node: one})
        ]
        at = len(found) - picked.position if picked.from_end else picked.position - 1
        return found[at] if 0 <= at < len(found) else None


def over(cells: list[CellValue], figure: MemberFigure) -> CellValue:
    """Return a figure over cells that are there."""
    if figure.function == "distinct":
        return Fraction(len(set(cells)))
    numbers = [number for cell in cells if (number := number_of(cell)) is not None]
    if len(numbers) < len(cells):
        return "no number"
    if figure.function == "sum" or not numbers:
        return sum(numbers, Fraction(0)) if figure.function == "sum" else None
    ways = {"min": min(numbers), "max": max(numbers), "avg": sum(numbers, Fraction(0)) / len(numbers)}
    return ways[figure.function]


def fired_at(node: RecordNode, unit: Element) -> Iterator[Around]:
    """Yield all elements of a unit that a rule may fire on, each with those around it."""
    if node.above is None:
        yield {node: unit}
        return
    for around in fired_at(node.above, unit):
        above = around[node.above]
        assert above is not None
        kind = [level.name for level in above.level.children].index(node.level.name)
        yield from ({**around, node: one} for one in above.members[kind])


def denied(rule: LevelRule, form: Form, units: list[Element]) -> int:
    """Count the nodes at which a form does not hold."""
    judge = Interpreter(rule)
    return sum(not judge.fulfilled(form, around) for unit in units for around in fired_at(rule.node, unit))


def denied_for_each(rule: LevelRule, read: LevelReading, units: list[Element]) -> int:
    """Count the nodes at which what a rule says of each of some members does not hold of one of them."""
    judge = Interpreter(rule)

    def obeys(around: Around, over: tuple[tuple[RecordNode, ...], ...]) -> bool:
        if not over:
            return judge.fulfilled(read.form, around)
        return all(obeys(choice, over[1:]) for choice in judge.members(over[0], around))

    return sum(not obeys(around, read.over) for unit in units for around in fired_at(rule.node, unit))


def judged(asked: LevelCheck, failed: int, units: list[Element]) -> str:
    """Compare what is made of a check with what the engine says of it; return its class, if it has one."""
    told = (asked.check.kind, asked.check.test)
    try:
        rule = asked.rule()
    except NotUnrolled:
        return "no form"
    assert denied(rule, rule.form, units) == failed, told
    try:
        read = asked.read(rule)
    except NotUnrolled:
        return "opaque"
    if not isinstance(read.constraint, CrossRecordEdit):
        assert denied_for_each(rule, read, units) == failed, (told, read.said)
    return type(read.constraint).__name__


def compared(seed: int, version: str, folder: Path) -> Counter[str]:
    """Compare the rules of a made pair with the engine; count the classes of those that have one."""
    maker = NestedMaker(seed, version=version)
    units = [maker.element() for _ in range(12)]
    rules, data = folder / "rules.sch", folder / "data.xml"
    rules.write_text(maker.schematron(6), encoding="utf-8")
    data.write_text(f"<Survey>{''.join(unit.xml() for unit in units)}</Survey>", encoding="utf-8")
    rulebook = open_rulebook(rules, None)
    whole = evaluate(EvaluationRequest(data, rulebook, LAYOUT))
    found: Counter[str] = Counter()
    kinds = tuple(kinds_of(TREE))
    for pattern in rulebook.patterns:
        for at, rule in enumerate(pattern.rules):
            for check in rule.checks:
                asked = LevelCheck(rulebook, TREE, kinds, pattern, at, check)
                failed = int(whole.failed[check.index] + whole.errors[check.index])
                found[judged(asked, failed, units)] += 1
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("version", "seeds"),
    [("1.0", range(12)), ("2.0", range(12)), pytest.param("1.0", range(12, 200), marks=pytest.mark.full),
     pytest.param("2.0", range(12, 100), marks=pytest.mark.full)],
)  # fmt: skip
def test_forms_say_what_the_engine_says(version: str, seeds: range, tmp_path: Path) -> None:
    found: Counter[str] = sum((compared(seed, version, tmp_path) for seed in seeds), Counter())
    assert found["no form"] < 0.6 * found.total(), found
    assert found["GoverningEdit"] >= len(seeds), found
    assert found["ValueEdit"] > len(seeds), found


SAID = {
    "composition": ("Household", "count(Person) = Size", "linear", "Size = |Person|"),
    "a sum over members": ("Household", "sum(Person/Income) = Total", "linear", "Total = Σ Person/Income"),
    "a sum over some": (
        "Household", "sum(Person[Age > 15]/Income) = Total", "linear", "Total = Σ Person/Income (Age > 15)",
    ),
    "a sum that is asked where nothing is missing": (
        "Household",
        "count(Person[not(Income != '')]) > 0 or (count(Person[Income != '' and not(number(Income) = number(Income))"
        "]) = 0 and sum(Person[Income != '']/Income) = Total)",
        "linear",
        "(∃ Person: (Income = '' or Income absent)) or (Total = Σ Person/Income ((Income != '' and Income present)) "
        "and (no Person: (Income is not a number and Income != '')))",
    ),
    "one of a kind": ("Household", "count(Person[Role = 'head']) = 1", "governing",
                      "exactly one Person: Role = 'head'"),
    "some member": ("Household", "Size > 3 or Person/Age > 17", "governing", "Size > 3 or (∃ Person: Age > 17)"),
    "every member": ("Household", "not(Person/Age < 0)", "values", "∀ Person: Age >= 0 or Age missing"),
    "each member": ("Person", "Age >= 0", "values", "∀ Person: Age >= 0"),
    "a field of members": ("Person/Age", ". >= 0", "values", "∀ Person: Age >= 0 or Age absent"),
    "a condition on the household": (
        "Person[Role = 'child']", "../Size > 1", "governing", "∀ Person: Size > 1 or Role != 'child'",
    ),
    "another member": (
        "Person", "not(Role = 'child') or ../Person[Role = 'head']/Age >= Age + 15", "governing",
        "∀ Person p: (∃ Person q: (q.Age - p.Age >= 15 and q.Role = 'head')) or p.Role != 'child'",
    ),
    "an order of siblings": (
        "Spell", "not(preceding-sibling::Spell[1]) or preceding-sibling::Spell[1]/End <= Begin", "governing",
        "∀ Spell: no earlier Spell or previous Spell/End <= Begin",
    ),
    "an order of all before": (
        "Person", "not(preceding-sibling::Person/Age < Age)", "governing",
        "∀ Person p: ∀ earlier Person q: p.Age <= q.Age or q.Age missing or p.Age missing",
    ),
    "a unique key": (
        "Person", "not(@id = preceding-sibling::Person/@id)", "cross-record",
        "Person/@id occurs once in each Household",
    ),
    "a unique key by a count": (
        "Person", "count(../Person[@id = current()/@id]) = 1", "cross-record",
        "Person/@id occurs once in each Household",
    ),
    "a unique key from above": (
        "Household", "not(Person/@id = Person/following-sibling::Person/@id)", "cross-record",
        "Person/@id occurs once in each Household",
    ),
    "no key: another field": (
        "Person", "not(@id = preceding-sibling::Person/@mother)", "opaque",
        "across levels: p.@id = q.@mother: it compares text, not numbers",
    ),
    "values of a document": (
        "Person", "Role = document('roles.xml')/R/Role", "domain",
        "∀ Person: Role in the values of /R/Role in roles.xml",
    ),
    "three levels": (
        "Household", "sum(Person/Spell/End) <= 100", "values", "Σ Person/Spell/End <= 100",
    ),
    "other households": (
        "Person", "/Survey/Household/Size > 1", "opaque",
        "across levels: an absolute path, which reads other records",
    ),
    "two kinds of members": ("Household", "not(Car) or Person", "governing", "no Car or ∃ Person"),
}  # fmt: skip


@pytest.mark.few(6)
@pytest.mark.parametrize("name", SAID)
def test_rules_across_levels_are_said_with_the_names_of_levels(name: str, tmp_path: Path) -> None:
    context, test, kind, said = SAID[name]
    maker = NestedMaker(1)
    units = [maker.element() for _ in range(12)]
    data, rules = tmp_path / "data.xml", tmp_path / "rules.sch"
    data.write_text(f"<Survey>{''.join(unit.xml() for unit in units)}</Survey>", encoding="utf-8")
    (tmp_path / "roles.xml").write_text("<R><Role>head</Role></R>", encoding="utf-8")
    rules.write_text(
        "<schema xmlns='http://purl.oclc.org/dsdl/schematron'><pattern>"
        f"<rule context={quoteattr(context)}><assert test={quoteattr(test)}>m</assert></rule></pattern></schema>",
        encoding="utf-8",
    )
    documents = {"roles.xml": tmp_path / "roles.xml"} if "document(" in test else {}
    given = Given(documents, data)
    job = open_job(data, rules, given=given)
    (edit,) = job.edits
    constraint = edit.constraint
    assert (edit.name, constraint.reason if isinstance(constraint, OpaqueEdit) else edit.said) == (kind, said)
    if "document(" not in test:
        whole = evaluate(EvaluationRequest(data, job.rulebook, LAYOUT))
        (pattern,) = job.rulebook.patterns
        asked = LevelCheck(job.rulebook, TREE, tuple(kinds_of(TREE)), pattern, 0, edit.check)
        assert (judged(asked, int(whole.failed[0] + whole.errors[0]), units) in ("no form", "opaque")) == (
            kind == "opaque"
        )
