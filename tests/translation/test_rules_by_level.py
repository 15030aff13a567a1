"""Rules of nested files, translated level by level: no household that obeys a rule breaks its translation."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

import masktron
from masktron.jobs.rulebooks import open_rulebook
from masktron.recodings import IntervalRecoding, ListRecoding, Recoding
from masktron.sources.level_tree import Tree
from masktron.translation import translated_by_level
from nested_pairs import HOUSEHOLD, LAYOUT, Element, NestedMaker

TREE = Tree(HOUSEHOLD, LAYOUT)
NUMBERS = tuple(map(Fraction, (0, 2, 15)))
RECODINGS: dict[str, Recoding] = {
    "Age": IntervalRecoding("Age", NUMBERS, ("0 to under 2", "2 to under 15", "15+")),
    "Region": ListRecoding("Region", {"N": "all", "S": "all"}),
    "Size": IntervalRecoding("Size", NUMBERS, ("none", "some", "many")),
}


def recoded(element: Element) -> Element:
    """Return a household with classes in the place of values that have one."""
    values = {
        name: (RECODINGS[name].label_of(value) or value) if value is not None and name in RECODINGS else value
        for name, value in element.values.items()
    }
    return Element(element.level, values, [[recoded(one) for one in kind] for kind in element.members])


def failures(element: Element, rules: Path, folder: Path) -> dict[str, int]:
    """Return how often each rule fails on a document of one household."""
    data = folder / "data.xml"
    data.write_text(f"<Survey>{element.xml()}</Survey>", encoding="utf-8")
    found = masktron.validate(data, rules, record="Household", allow_unfired=("*",))
    return {rule.id: (rule.failed or 0) + (rule.errors or 0) for rule in found.rules}


def fates_of(seeds: range, folder: Path) -> Counter[str]:
    """Compare generated rules with their translations, and count what became of them."""
    fates: Counter[str] = Counter()
    for seed in seeds:
        maker = NestedMaker(seed)
        rules, again = folder / "rules.sch", folder / "again.sch"
        rules.write_text(maker.schematron(8), encoding="utf-8")
        translation = translated_by_level(open_rulebook(rules, None), TREE, RECODINGS)
        again.write_bytes(translation.schematron("classes"))
        asked = {rule.id for rule in translation.asked}
        fates.update(rule.fate for rule in translation.rules)
        for _ in range(2):
            household = maker.element()
            before, after = failures(household, rules, folder), failures(recoded(household), again, folder)
            broken = [name for name in asked if not before[name] and after.get(name, 0)]
            assert not broken, (seed, broken, household.xml(), rules.read_text(), again.read_text())
    return fates


def test_who_obeys_a_rule_obeys_its_translation(tmp_path: Path) -> None:
    fates = fates_of(range(12), tmp_path)
    assert fates["kept"] > fates["exact"] + fates["weakened"] > 0


@pytest.mark.full
def test_who_obeys_a_rule_obeys_its_translation_in_many_files(tmp_path: Path) -> None:
    fates = fates_of(range(12, 300), tmp_path)
    assert min(fates[fate] for fate in ("exact", "weakened", "lost", "kept")) > 20
