"""Rules of which nothing is asked any more, against every record of a few values, and by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import pytest

from masktron.recodings import IntervalRecoding, ListRecoding, Recoding, Rounded, Tails
from masktron.translation import TranslatedRule
from recoded_records import Cells, recoded_record, says, translation_of
from rulebook_builder import rulebook

OPEN = IntervalRecoding("X", (Fraction(16), Fraction(25), Fraction(35)), ("16-24", "25-34", "35+"), whole=True)
FIVES = ListRecoding("X", {str(age): f"{age // 5 * 5}-{age // 5 * 5 + 4}" for age in range(100)})
TWO = ListRecoding("Y", {"1": "low", "3": "low", "4": "high", "7": "high"})
TOP = Tails("X", top=Fraction(85), top_label="88")

BY_HAND: dict[str, tuple[str, Mapping[str, Recoding], str]] = {
    "an open class": ("X < 40 or Z > 3", {"X": OPEN}, "vacuous"),
    "an open class, also without a value": ("not(X >= 40 and Z <= 3)", {"X": OPEN}, "vacuous"),
    "a code for missing values as text": (
        "not(X != '' and not(X = '999')) or (X >= 18 and X <= 99)",
        {"X": OPEN},
        "vacuous",
    ),
    "nothing but texts that numbers do not tell": ("string-length(X) = 2", {"X": OPEN}, "lost"),
    "cut at the bound": ("X < 35 or Z > 3", {"X": OPEN}, "exact"),
    "one class is asked": ("X < 30 or Z > 3", {"X": OPEN}, "weakened"),
    "every class has some": ("X mod 2 = 1 or Z > 3", {"X": FIVES}, "vacuous"),
    "never asked anything": ("X >= 0 or Z > 3", {"X": FIVES}, "exact"),
    "never asked anything, also without a value": ("not(X < 0)", {"X": FIVES}, "implied"),
    "a tail of one value": ("X < 90 or Z > 3", {"X": TOP}, "vacuous"),
    "numbers below the tail are asked": ("(X < 90 and X > 20) or Z > 3", {"X": TOP}, "weakened"),
    "numbers below the tail are asked, and nothing else": ("not(X = 20) or Z > 3", {"X": TOP}, "exact"),
    "nothing but the tail": ("not(X = 90) or Z > 3", {"X": TOP}, "vacuous"),
    "rounded, another number will do": ("not(X + Z = 4)", {"X": Rounded("X", Fraction(5))}, "vacuous"),
    "rounded": ("X > 20", {"X": Rounded("X", Fraction(5))}, "weakened"),
    "two fields": ("X mod 2 = 1 or Y = 3 or Z > 3", {"X": FIVES, "Y": TWO}, "vacuous"),
    "two fields, one class of each": ("X < 17 or Y = 3 or Z > 3", {"X": FIVES, "Y": TWO}, "weakened"),
    "two fields that ask nothing in turn": ("X < 17 or Y = 3 or Y = 4", {"X": FIVES, "Y": TWO}, "vacuous"),
    "both fields in one comparison": ("X != Y", {"X": FIVES, "Y": TWO}, "vacuous"),
}


@pytest.mark.few(5)
@pytest.mark.parametrize(("test", "recodings", "fate"), BY_HAND.values(), ids=BY_HAND)
def test_what_asks_nothing_any_more_is_told_apart(test: str, recodings: Mapping[str, Recoding], fate: str) -> None:
    translation = translation_of(rulebook([("Record", test)]), recodings)
    (rule,) = translation.rules
    assert rule.fate == fate
    names = " and ".join(recodings)
    if fate != "lost":
        assert rule.reason == ("" if fate != "vacuous" else f"it asks nothing any more of any class of {names}")
    if fate == "vacuous":
        written = translation.schematron("").decode()
        assert f"<!-- rule-1: vacuous ({rule.reason}); it was: " in written


def test_a_rule_on_numbers_below_a_tail_is_still_asked() -> None:
    (rule,) = translation_of(rulebook([("Record", "not(X = 20) or Z > 3")]), {"X": TOP}).rules
    assert [says(rule.test, {"X": x, "Z": "3"}, "1.0") for x in ("19", "20", "88", None)] == [True, False, True, True]


def test_records_without_a_value_are_asked_as_before() -> None:
    (rule,) = translation_of(rulebook([("Record", "X < 40 or Z > 3")]), {"X": OPEN}).rules
    assert rule.fate == "vacuous"
    assert [says(rule.test, {"X": x, "Z": "3"}, "1.0") for x in ("16-24", "35+", None)] == [True, True, False]


AGE = ListRecoding("X", {"1": "1-2", "2": "1-2", "3": "3-5", "4": "3-5", "5": "3-5", "6": "6"})
HALVES = ListRecoding("X", {value: "low" if value < "4" else "high" for value in "123456"})
CUT = IntervalRecoding("X", (Fraction(1), Fraction(4)), ("a", "b"), whole=True)
DOMAINS = {"X": "123456", "Y": "1347", "Z": "0236"}
RECODINGS: list[dict[str, Recoding]] = [
    {"X": AGE},
    {"X": HALVES},
    {"X": CUT},
    {"X": HALVES, "Y": TWO},
    {"X": CUT, "Y": TWO},
    {"X": Tails("X", top=Fraction(4), top_label="5")},
]
PARTS = ("X {} {}", "Y {} {}", "X {} Y", "X mod 2 = 1", "Z {} {}", "X + Z {} {}", "X - Z {} {}")


def grown(draw: random.Random) -> str:
    parts = [
        draw.choice(PARTS).format(draw.choice(("=", "!=", "<", "<=", ">", ">=")), draw.randint(1, 6))
        for _ in range(draw.randint(1, 3))
    ]
    return " or ".join(f"not({part})" if draw.random() < 0.3 else part for part in parts)


def with_values() -> list[Cells]:
    return [dict(zip(DOMAINS, cells, strict=True)) for cells in product(*DOMAINS.values())]


def asked_of(rule: TranslatedRule, recodings: Mapping[str, Recoding]) -> bool:
    return bool(rule.test) and not all(
        says(rule.test, recoded_record(record, recodings), "1.0") for record in with_values()
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(6))
def test_of_every_record_with_values_nothing_is_asked(seed: int) -> None:
    draw = random.Random(seed)
    vacuous = asked = 0
    for _ in range(40):
        test, recodings = grown(draw), draw.choice(RECODINGS)
        (rule,) = translation_of(rulebook([("Record", test)]), recodings).rules
        if rule.fate == "vacuous":
            vacuous += 1
            assert not asked_of(rule, recodings), rule
        if rule.fate == "weakened" and asked_of(rule, recodings):
            asked += 1
        if rule.fate in ("exact", "implied"):
            refused = [one for one in with_values() if not says(test, one, "1.0")]
            assert not refused or asked_of(rule, recodings), rule
    assert vacuous >= 3
    assert asked >= 3


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(6))
def test_of_rules_on_recoded_fields_alone_none_is_missed(seed: int) -> None:
    draw = random.Random(seed)
    found = {"weakened": 0, "vacuous": 0}
    for _ in range(40):
        relation = draw.choice(("=", "!=", "<", ">="))
        test = f"X {relation} {draw.randint(1, 6)} or Y {draw.choice(('=', '<', '>='))} {draw.randint(1, 7)}"
        recodings = draw.choice(({"X": AGE, "Y": TWO}, {"X": HALVES, "Y": TWO}))
        (rule,) = translation_of(rulebook([("Record", test)]), recodings).rules
        if rule.fate in found:
            found[rule.fate] += 1
            before = not all(says(test, record, "1.0") for record in with_values())
            assert (rule.fate == "vacuous") is (before and not asked_of(rule, recodings)), rule
    assert min(found.values()) >= 3
