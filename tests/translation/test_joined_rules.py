"""What rules say together of classes: no recoded record obeys them that has no original which obeys them all."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from masktron.reading.nodes import FieldRef
from masktron.recodings import IntervalRecoding, ListRecoding, Recoding, Rounded
from masktron.rulebook.schema import Rulebook
from masktron.translation.joined_rules import follows
from masktron.translation.truth_trees import both, either, tree_of
from recoded_records import Cells, recoded_record, says, translation_of
from rulebook_builder import rulebook

AGE = ListRecoding("X", {str(age): f"{age // 5 * 5}-{age // 5 * 5 + 4}" for age in range(10, 30)})
PUPIL, LICENCE = "not(S = 'pupil') or X <= 15", "not(L = 'yes') or X >= 16"
DOMAINS = {"X": ("1", "2", "3", "4", "5", "6", None), "Y": ("1", "3", "4", "7", None), "Z": ("0", "2", "6", None)}
LISTED: list[dict[str, Recoding]] = [
    {"X": ListRecoding("X", {"1": "1-2", "2": "1-2", "3": "3-5", "4": "3-5", "5": "3-5", "6": "6"})},
    {
        "X": ListRecoding("X", {"1": "odd", "3": "odd", "5": "odd", "2": "even", "4": "even", "6": "even"}),
        "Y": ListRecoding("Y", {"1": "low", "3": "low", "4": "high", "7": "high"}),
    },
]
SHAPES = (
    "{f} {r} {n}",
    "not(Z = 2) or {f} {r} {n}",
    "Z = 0 or not({f} = {n})",
    "X {r} Y",
    "Z {r} {f} + {n}",
    "not({f} = {n}) or Y = 3",
    "Z {r} 4",
)


def grown(draw: random.Random) -> str:
    shape, field, relation = draw.choice(SHAPES), draw.choice("XXY"), draw.choice(("<=", ">=", "=", "!="))
    return shape.format(f=field, r=relation, n=draw.randint(0, 6))


def together(tests: Sequence[str]) -> Rulebook:
    """Several checks of one rule."""
    found = rulebook([("Record", test) for test in tests])
    (pattern,) = found.patterns
    checks = tuple(check for rule in pattern.rules for check in rule.checks)
    return replace(found, patterns=(replace(pattern, rules=(replace(pattern.rules[0], checks=checks),)),))


def passes(rules: Rulebook, recodings: dict[str, Recoding], record: Cells) -> bool:
    return all(says(rule.test, record, "1.0") for rule in translation_of(rules, recodings).asked)


def test_what_two_rules_exclude_together_is_asked() -> None:
    rules = together([PUPIL, LICENCE, "Z >= 0"])
    alone, asked, kept = translation_of(rules, {"X": AGE}).rules
    assert (alone.fate, asked.fate, kept.fate) == ("weakened", "weakened", "kept")
    assert (alone.reason, asked.reason) == ("", "asked together with rule-1")
    record = {"X": "15-19", "S": "pupil", "L": "yes", "Z": "1"}
    assert says(alone.test, record, "1.0")
    assert not says(asked.test, record, "1.0")
    assert says(asked.test, {**record, "L": "no"}, "1.0")
    assert says(asked.test, {**record, "S": "worker"}, "1.0")
    assert not passes(rules, {"X": AGE}, record)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (PUPIL, "not(L = 'yes') or X <= 17"),  # 15 obeys both
        (PUPIL, "not(L = 'yes') or X >= 20"),  # all of a class agree on the second
        (PUPIL, "not(L = 'yes') or Y >= 16"),
        ("not(S = 'pupil') or X <= 22", LICENCE),  # of 15-19, 16 obeys both, and 20-24 the second alone
    ],
)
def test_rules_that_say_no_more_together_are_asked_by_themselves(first: str, second: str) -> None:
    assert all(not rule.reason for rule in translation_of(together([first, second]), {"X": AGE}).rules)


def test_a_rule_that_is_let_go_or_soft_says_nothing_of_others() -> None:
    rules = together([PUPIL, LICENCE])
    assert all(not rule.reason for rule in translation_of(rules, {"X": AGE}, apart=True).rules)
    (pattern,) = rules.patterns
    (rule,) = pattern.rules
    soft = replace(rule, checks=(replace(rule.checks[0], flag="warning", soft=True), rule.checks[1]))
    rules = replace(rules, patterns=(replace(pattern, rules=(soft,)),))
    assert all(not rule.reason for rule in translation_of(rules, {"X": AGE}).rules)


@pytest.mark.parametrize(("masked", "together_with"), [("L", ["", "", "rule-1"]), ("SZ", ["", "", ""])])
def test_rules_on_masked_fields_are_not_tied_by_classes(masked: str, together_with: list[str]) -> None:
    rules = together([PUPIL, LICENCE, "not(Z = 0) or X >= 16"])
    found = translation_of(rules, {"X": AGE}, masked=list(masked)).rules
    assert [rule.reason.removeprefix("asked together with ") for rule in found] == together_with


def test_a_rule_on_a_removed_field_says_nothing_of_others() -> None:
    found = translation_of(together([PUPIL, LICENCE]), {"X": AGE}, removed=["L"]).rules
    first, second = ((rule.fate, rule.reason) for rule in found)
    assert (first, second) == (("weakened", ""), ("removed", "reads the removed identifier L"))


def test_two_that_ask_nothing_by_themselves_may_exclude_a_class_together() -> None:
    rules = together(["not(X = 10) and not(X = 11) and not(X = 12)", "not(X = 13) and not(X = 14)"])
    first, second = translation_of(rules, {"X": AGE}).rules
    assert (first.fate, first.test, first.reason) == ("weakened", "", "asked in rule-2")
    assert (second.fate, second.reason) == ("weakened", "asked together with rule-1")
    assert [rule.fate for rule in translation_of(rules, {"X": AGE}, apart=True).rules] == ["vacuous", "vacuous"]
    assert [passes(rules, {"X": AGE}, {"X": label}) for label in ("10-14", "15-19")] == [False, True]


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(6))
def test_recoded_records_that_obey_have_an_original_that_obeys_all(seed: int) -> None:
    draw = random.Random(seed)
    joined = 0
    for _ in range(12):
        tests = [grown(draw) for _ in range(draw.randint(2, 4))]
        rules, recodings = together(tests), draw.choice(LISTED)
        translation = translation_of(rules, recodings)
        assert not translation.lost
        joined += any(rule.reason for rule in translation.rules)
        obeying: set[tuple[str | None, ...]] = set()
        every: dict[tuple[str | None, ...], dict[str, str | None]] = {}
        for cells in product(*DOMAINS.values()):
            record = dict(zip(DOMAINS, cells, strict=True))
            new = recoded_record(record, recodings)
            every[tuple(new.values())] = new
            if all(says(test, record, "1.0") for test in tests):
                obeying.add(tuple(new.values()))
        for key, new in every.items():
            passed = all(says(rule.test, new, "1.0") for rule in translation.asked)
            assert passed == (key in obeying), (tests, new)
    assert joined


@pytest.mark.parametrize(
    "recoding",
    [Rounded("X", Fraction(5)), IntervalRecoding("X", tuple(map(Fraction, (0, 15, 20))), ("-14", "15-19", "20-"))],
    ids=["rounded", "cut"],
)
def test_classes_of_numbers_keep_what_records_obey(recoding: Recoding) -> None:
    rules = together([PUPIL, LICENCE, "Z >= X * 2", "Z <= X * 2 + 1"])
    translation = translation_of(rules, {"X": recoding})
    assert any(rule.reason for rule in translation.rules)
    for age, status, licence, more in product(range(8, 30), ("pupil", "worker"), ("yes", "no"), (0, 1, 2)):
        record = {"X": str(age), "S": status, "L": licence, "Z": str(2 * age + more)}
        new = recoded_record(record, {"X": recoding})
        obeyed = all(says(test, record, "1.0") for test in (rule.test for rule in rules.patterns[0].rules[0].checks))
        assert not obeyed or all(says(rule.test, new, "1.0") for rule in translation.asked)
    if isinstance(recoding, IntervalRecoding):
        assert not passes(rules, {"X": recoding}, {"X": "15-19", "S": "pupil", "L": "yes", "Z": "32"})


def test_what_follows_from_a_tree_does_so_whatever_its_conditions_say() -> None:
    a, b, c = (tree_of(FieldRef(name, "")) for name in "ABC")
    assert follows(either((a, b)), a)
    assert follows(a, both((a, either((b, c)))))
    assert follows(either((both((a, b)), both((a, c)))), both((a, either((c, b)))))
    assert not follows(a, either((a, b)))
    assert not follows(both((a, b)), a)
