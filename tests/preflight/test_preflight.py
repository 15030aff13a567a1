"""What a rulebook says about itself, on rulebooks with known answers, and against all records of a small box."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lxml import etree

import masktron
from cli_runner import Runner, write_data, write_rules
from examples import examples, parts
from masktron.classify import classify
from masktron.preflight import component, feasibility
from masktron.preflight.component import Known
from masktron.preflight.conclusions import AllowedValues, Preflight
from masktron.preflight.feasibility import Conflict, Point, Row, decide
from masktron.preflight.rulebook import preflight
from masktron.resources import resource
from masktron.rulebook.schematron.reader import read_rules
from pairs.generate import generate
from schema_files import conforms


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., Preflight]:
    return lambda *tests, **options: preflight(
        classify(read_rules(write_rules(tmp_path / "r.sch", *tests, **options)))
    )


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(capsys)


def row(relation: str, bound: object, *sources: int, **terms: object) -> Row:
    coefficients = tuple((name, Fraction(str(c))) for name, c in sorted(terms.items()))
    return Row(coefficients, relation, Fraction(str(bound)), frozenset(sources))  # type: ignore[arg-type]


# linear rows


def test_a_single_decimal_point_is_found_exactly() -> None:
    rows = [row("<=", "0.3", x=1, y=1), row("<=", "-0.1", x=-1), row("<=", "-0.2", y=-1)]
    found = decide(rows)
    assert isinstance(found, Point)
    assert found.values == {"x": Fraction(1, 10), "y": Fraction(1, 5)}


def test_a_strict_bound_takes_the_only_point_away() -> None:
    rows = [row("<", "0.3", 1, x=1, y=1), row("<=", "-0.1", 2, x=-1), row("<=", "-0.2", 3, y=-1)]
    assert decide([*rows, row("<=", 7, 4, x=1)]) == Conflict(frozenset({1, 2, 3}))


@pytest.mark.parametrize("gap", [f"1e-{digits}" for digits in (3, 9, 15, 30, 60)])
def test_what_doubles_cannot_see_is_never_called_a_solution(gap: str) -> None:
    beyond = Fraction("0.3") + Fraction(gap)
    rows = [row("<=", "0.3", 1, x=1, y=1), row("<=", -beyond, 2, x=-1, y=-1)]
    assert not isinstance(decide(rows), Point)


def test_the_least_value_is_not_rounded(ask: Callable[..., Preflight]) -> None:
    assert [(each.field, each.low, each.high) for each in ask("A + B >= 0.6", "B <= 0", "A - B <= 8.4").allowed] == [
        ("A", "0.6", "8.4"),
        ("B", "-3.9", "0"),
    ]


@pytest.mark.parametrize("size", [1, 10**6, 10**12])
def test_large_numbers_do_not_hide_a_conflict(size: int) -> None:
    rows = [row("<=", size, 1, x=1, y=1), row("<=", -size, 2, x=-1), row("<", 0, 3, y=-1)]
    assert decide(rows) == Conflict(frozenset({1, 2, 3}))


def test_a_false_proof_of_the_solver_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver is made to say that every system is impossible, with arbitrary multipliers."""
    rows = [row("<=", 3, 1, x=1, y=1), row("<=", 0, 2, x=-1), row("<=", 0, 3, y=-1)]
    solve = feasibility._solve

    def lying(*arguments: object) -> object:
        solution = solve(*arguments)  # type: ignore[arg-type]
        return feasibility._Solution(solution.point, 0.0, solution.upper - 1.0, solution.equal)  # type: ignore[union-attr]

    assert isinstance(decide(rows), Point)
    monkeypatch.setattr(feasibility, "_solve", lying)
    assert decide(rows) is None
    # x + y <= 3, x >= 5, y >= 0: these weights prove it, others do not.
    rows = [row("<=", 3, x=1, y=1), row("<=", -5, x=-1), row("<=", 0, y=-1)]
    assert feasibility._proves(rows, [Fraction(1)] * 3)
    assert not feasibility._proves(rows, [Fraction(1), Fraction(1), Fraction(0)])
    assert not feasibility._proves(rows, [Fraction(-1)] * 3)


coefficient = st.integers(-3, 3)
rows_of_numbers = st.lists(
    st.tuples(
        st.tuples(coefficient, coefficient, coefficient), st.sampled_from(["=", "<=", "<"]), st.integers(-4, 4)
    ),
    min_size=1,
    max_size=7,
)


@given(rows_of_numbers, st.sampled_from([1, 10, 1000]))
@examples(20, full=200)
def test_systems_are_decided_as_by_elimination(
    drawn: list[tuple[tuple[int, int, int], str, int]], denominator: int
) -> None:
    rows = [
        row(relation, Fraction(bound, denominator), at, **{n: c for n, c in zip("xyz", terms, strict=True) if c})
        for at, (terms, relation, bound) in enumerate(drawn)
        if any(terms)
    ]
    found = decide(rows)
    assert found is not None
    if isinstance(found, Point):
        assert all(r.holds({**dict.fromkeys("xyz", Fraction(0)), **found.values}) for r in rows)
    else:
        assert _eliminated([r for at, r in enumerate(rows) if r.sources & found.sources])
    assert isinstance(found, Conflict) is _eliminated(rows)


def _eliminated(rows: Sequence[Row]) -> bool:
    """Whether Fourier and Motzkin's elimination ends in a contradiction; an oracle without an LP."""
    sides = [
        (tuple(sign * dict(r.terms).get(n, Fraction(0)) for n in "xyz"), sign * r.bound, r.relation == "<")
        for r in rows
        for sign in ((1, -1) if r.relation == "=" else (1,))
    ]
    for at in range(3):
        above = [s for s in sides if s[0][at] > 0]
        below = [s for s in sides if s[0][at] < 0]
        sides = [s for s in sides if s[0][at] == 0]
        for (a, b, strict), (c, d, other) in itertools.product(above, below):
            terms = tuple(x / a[at] - y / c[at] for x, y in zip(a, c, strict=True))
            sides.append((terms, b / a[at] - d / c[at], strict or other))
        sides = list(dict.fromkeys(sides))
        assume(len(sides) < 400)
    return any(bound < 0 or (bound == 0 and strict) for _, bound, strict in sides)


# rulebooks with known answers


CONTRADICTIONS = [
    (("A <= 3", "A >= 5"), [("R1", "R2")]),
    (("A >= 0", "A <= 3", "B >= 0", "A >= 5"), [("R2", "R4")]),
    (("A > B", "B > C", "C > A", "A < 100"), [("R1", "R2", "R3")]),
    (("A + B = T", "A > 0", "B > 0", "T <= 0", "A < 9"), [("R1", "R2", "R3", "R4")]),
    (("A + B = T", "A >= 0", "B >= 0", "T <= 0"), []),
    # Two conflicts that share no rule.
    (("A < 1", "A > 2", "A + B = 4", "A + B > 4"), [("R1", "R2"), ("R3", "R4")]),
    # Every branch of two alternatives fails for another reason.
    (("A = 1 or A = 5", "A < 5", "A > 1", "B > 0"), [("R1", "R2", "R3")]),
    (("not(S = 'x') or A > 5", "S = 'x'", "A < 5"), [("R1", "R2", "R3")]),
    (("S = 'x'", "S = 'y' or S = 'z'"), [("R1", "R2")]),
    (("floor(A) = A", "A > 0.2", "A < 0.8"), [("R1", "R2", "R3")]),
    (("floor(A) = A", "floor(B) = B", "2 * A + 4 * B = 5"), [("R1", "R2", "R3")]),
    # Between the integers only together: A = B and A + B = 1.
    (("floor(A) = A", "A - B = 0", "A + B = 1"), [("R1", "R2", "R3")]),
    (("A * B = C", "A > 1", "B > 1", "C > 1"), []),
    (("A < 1 and A > 2", "B > 0"), [("R1",)]),
]


@pytest.mark.parametrize(("tests", "expected"), CONTRADICTIONS)
def test_contradictions(
    tests: tuple[str, ...], expected: list[tuple[str, ...]], ask: Callable[..., Preflight]
) -> None:
    found = ask(*tests)
    assert [each.rules for each in found.contradictions] == expected
    assert not any(each.numbers_only for each in found.contradictions)
    assert not found.undecided


def test_rules_that_only_missing_values_satisfy(ask: Callable[..., Preflight]) -> None:
    (found,) = ask("not(A > 5)", "not(A <= 5)", "B > 0").contradictions
    assert found.rules == ("R1", "R2")
    assert found.numbers_only
    assert ask("not(A > 5)", "not(A <= 5)", "number(A) = A").contradictions[0].numbers_only is False


@pytest.mark.parametrize(
    ("tests", "rule", "by"),
    [
        (("A <= 3", "A <= 5"), "R2", ("R1",)),
        (("A <= 5", "A <= 3"), "R1", ("R2",)),
        (("A + B = T", "A >= 0", "B >= 0", "T >= 0"), "R4", ("R1", "R2", "R3")),
        (("A = 3", "A <= 5", "A >= 1"), "R2", ("R1",)),
        (("A <= B", "B <= C", "A <= C"), "R3", ("R1", "R2")),
        (("A <= 3", "A < 4 or B > 2"), "R2", ("R1",)),
        (("A * B = C", "B * A = C", "B < 5"), "R2", ("R1",)),
    ],
)
def test_redundant_rules(
    tests: tuple[str, ...], rule: str, by: tuple[str, ...], ask: Callable[..., Preflight]
) -> None:
    found = {each.rule: each for each in ask(*tests).redundant}
    assert found[rule].by == by
    assert not found[rule].numbers_only


def test_all_redundant_rules_could_go_together(ask: Callable[..., Preflight]) -> None:
    assert [each.rule for each in ask("A <= 3", "not(A > 3) and A < 9", "A <= 3").redundant] == ["R2", "R3"]


def test_a_rule_that_asks_for_a_value_is_not_redundant(ask: Callable[..., Preflight]) -> None:
    """`not(A > 3)` holds where A is missing, `A <= 5` does not."""
    (found,) = ask("not(A > 3)", "A <= 5", "A > 0 or B > 1").redundant
    assert (found.rule, found.numbers_only) == ("R2", True)
    (found,) = ask("not(A > 1) and not(A < 1)", "A = 1 or A = 3", "A > 2 or B > 1").redundant
    assert (found.rule, found.numbers_only) == ("R2", True)
    (found,) = ask("A <= 3", "not(A > 5)").redundant
    assert (found.rule, found.numbers_only) == ("R2", False)


def test_nothing_follows_from_a_soft_rule(tmp_path: Path) -> None:
    text = write_rules(tmp_path / "r.sch", "A <= 3", "A <= 5", "A < 0", "A > 4").read_text()
    soft = text.replace('id="R1"', 'id="R1" role="warning"').replace('id="R3"', 'id="R3" role="warning"')
    (tmp_path / "s.sch").write_text(soft)
    found = preflight(classify(read_rules(tmp_path / "s.sch")))
    assert found.redundant == ()
    assert [each.rules for each in found.contradictions] == [("R1", "R4"), ("R3", "R4")]


def test_duplicates_tautologies_and_what_is_not_looked_at(ask: Callable[..., Preflight]) -> None:
    found = ask(
        "A + B = T",
        "T - B = A",
        "A > 1 or not(A > 1)",
        "not(Id = preceding-sibling::*/Id)",
        "contains(S, T)",
    )
    assert found.duplicates == (("R1", "R2"),)
    assert found.always == ("R3",)
    assert [rule for rule, _ in found.skipped] == ["R4", "R5"]


def test_dead_conditions(ask: Callable[..., Preflight]) -> None:
    found = ask("A >= 0", "not(A < -5) or B = 1", "B = 0 or B < 2 or A < 7")
    assert [(each.rule, each.by, each.through) for each in found.redundant] == [("R2", ("R1",), "A >= -5")]
    found = ask("A >= 10", "not(S = 'x') or A < 5", "S = 'x' or S = 'y'")
    assert [(each.rule, each.part, each.by) for each in found.impossible] == [("R2", "A < 5", ("R1",))]


def test_what_the_rules_leave_to_each_field(ask: Callable[..., Preflight]) -> None:
    found = ask(
        "A + B = T", "A >= 0.1", "B > 0", "T <= 9", "3 * C = 1", "D = 2 or D = 4 or D > 7", "D < 7",
        "S = 'x' or S = 'y'", "S != 'y'", "U = 'p' or A > 1",
    )  # fmt: skip
    assert {each.field: each for each in found.allowed} == {
        "A": AllowedValues("A", "0.1", "9", high_open=True),
        "B": AllowedValues("B", "0", "8.9", low_open=True),
        "C": AllowedValues("C", "1/3", "1/3"),
        "D": AllowedValues("D", "2", "4"),
        "S": AllowedValues("S", values=("x",)),
        "T": AllowedValues("T", "0.1", "9", low_open=True),
    }
    assert {each.field: each.fixed for each in found.allowed if each.fixed} == {"C": "1/3", "S": "x"}


def test_no_solver_is_asked_without_linear_rules(
    ask: Callable[..., Preflight], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feasibility, "_solve", None)
    found = ask("A >= 0 and A <= 9", "not(A > 8) or B = 1", "S = 'x'", "floor(A) = A")
    assert [each.field for each in found.allowed] == ["A", "S"]
    with pytest.raises(TypeError):
        ask("A + B = T")


@pytest.mark.full
def test_beyond_the_bound_nothing_is_said(ask: Callable[..., Preflight], monkeypatch: pytest.MonkeyPatch) -> None:
    """Pigeons: four values of three kinds, no two alike; every branch has to be closed."""
    kinds = [f"V{i} = 1 or V{i} = 2 or V{i} = 3" for i in range(4)]
    differ = [f"V{i} - V{j} > 0 or V{j} - V{i} > 0" for i, j in itertools.combinations(range(4), 2)]
    (found,) = ask(*kinds, *differ).contradictions
    assert len(found.rules) == 10
    monkeypatch.setattr(component, "search", lambda c, u: real(c, u, branches=5))
    given_up = ask(*kinds, *differ)
    assert given_up.contradictions == ()
    assert given_up.undecided == ("whether the rules on the fields of R1 contradict each other",)


real = component.search


def test_rules_without_common_fields_are_taken_apart(ask: Callable[..., Preflight]) -> None:
    found = ask("A > 1", "A < 0", "B >= 1", "B >= 0")
    assert [each.rules for each in found.contradictions] == [("R1", "R2")]
    assert [each.rule for each in found.redundant] == ["R4"]


@pytest.mark.full
@pytest.mark.parametrize("sample", ["household", "business"])
def test_the_samples_contradict_nothing_and_waste_nothing(sample: str) -> None:
    found = preflight(classify(read_rules(resource(f"rules/{sample}.sch"))))
    assert (found.contradictions, found.redundant, found.impossible) == ((), (), ())
    assert not found.undecided
    limits = {each.field: (each.low, each.high) for each in found.allowed if each.low}
    if sample == "business":
        # FullTime + PartTime = Staff and FullTime <= Staff.
        assert limits["PartTime"] == ("0", None)
    else:
        # NetIncome <= Income and |Income - Tax - NetIncome| <= 1; 2 * Tax <= Income + 20000; no tax on a loss.
        assert limits["Tax"] == ("-1", None)
        assert limits["Income"] == ("-20000", None)


@pytest.mark.parametrize("seed", parts(range(10), 5))
def test_rulebooks_that_some_file_obeys_contradict_nothing(seed: int, tmp_path: Path) -> None:
    generate(seed).write(tmp_path)
    (rules,) = tmp_path.rglob("*.sch")
    found = preflight(classify(read_rules(rules)))
    assert (found.contradictions, found.undecided) == ((), ())


# every record of a small box as the oracle, judged by libxml2


@dataclass(frozen=True)
class Box:
    """Records over A, B, C in {missing, 0, 1, 2, 3}, and which of them each test accepts."""

    tests: tuple[str, ...]

    def records(self) -> list[tuple[int | None, ...]]:
        return list(itertools.product((None, 0, 1, 2, 3), repeat=3))

    def accepted(self) -> dict[str, set[tuple[int | None, ...]]]:
        compiled = [etree.XPath(f"boolean({test})") for test in self.tests]
        found: dict[str, set[tuple[int | None, ...]]] = {f"R{at}": set() for at in range(1, len(self.tests) + 1)}
        for record in self.records():
            cells = "".join(f"<{n}>{v}</{n}>" for n, v in zip("ABC", record, strict=True) if v is not None)
            element = etree.fromstring(f"<Record>{cells}</Record>")
            for at, test in enumerate(compiled, 1):
                if test(element):
                    found[f"R{at}"].add(record)
        return found


atom = st.one_of(
    st.builds(
        lambda n, r, b: f"{n} {r} {b}", st.sampled_from("ABC"), st.sampled_from(["<=", "<", ">=", "=", "!="]),
        st.integers(0, 3),
    ),
    st.builds(
        lambda pair, c, r, b: f"{pair[0]} + {c} * {pair[1]} {r} {b}",
        st.sampled_from(["AB", "BC", "CA"]), st.sampled_from([-2, -1, 1, 2]), st.sampled_from(["<=", ">=", "=", "<"]),
        st.integers(-2, 6),
    ),
    st.just("A + B = C"),
    st.just("A * B = C"),
)  # fmt: skip
rule = st.one_of(
    atom,
    st.builds("not({})".format, atom),
    st.builds("not({}) or {}".format, atom, atom),
    st.builds("{} or {} or {}".format, atom, atom, atom),
    st.builds("{} and {}".format, atom, atom),
)
BOX = tuple(f"{name} >= 0 and {name} <= 3 and floor({name}) = {name}" for name in "ABC")


def asked(tests: Sequence[str], folder: Path) -> Preflight:
    return preflight(classify(read_rules(write_rules(folder / "box.sch", *tests))))


@pytest.mark.full
@given(st.lists(rule, min_size=1, max_size=5))
@examples(6, full=120)
def test_what_is_found_is_true_of_every_record(tmp_path_factory: pytest.TempPathFactory, tests: list[str]) -> None:
    """Missing values included; numbers outside the box cannot save a claim that the box refutes."""
    found = asked(tests, tmp_path_factory.getbasetemp())
    box = Box(tuple(tests))
    accepted = box.accepted()
    complete = {record for record in box.records() if None not in record}

    def together(rules: Sequence[str], *, numbers: bool) -> set[tuple[int | None, ...]]:
        return set.intersection(complete if numbers else set(box.records()), *(accepted[r] for r in rules))

    for each in found.contradictions:
        assert not together(each.rules, numbers=each.numbers_only)
    for each in found.redundant:
        assert together(each.by, numbers=each.numbers_only) <= accepted[each.rule]
    for ids in found.duplicates:
        assert len({frozenset(accepted[i]) for i in ids}) == 1
    everyone = together(list(accepted), numbers=True)
    for limits in found.allowed:
        for record in everyone:
            value = record["ABC".index(limits.field)]
            assert value is not None
            assert limits.low is None or Fraction(limits.low) <= value
            assert limits.high is None or value <= Fraction(limits.high)
            assert not (limits.low_open and value == Fraction(limits.low or 0))
            assert not (limits.high_open and value == Fraction(limits.high or 0))


@pytest.mark.full
@given(st.lists(rule, min_size=1, max_size=4))
@examples(6, full=120)
def test_in_a_box_of_integers_everything_is_found(tmp_path_factory: pytest.TempPathFactory, tests: list[str]) -> None:
    assume(not any("A * B" in test for test in tests))
    full = (*BOX, *tests)
    found = asked(full, tmp_path_factory.getbasetemp())
    assert not found.undecided
    accepted = Box(full).accepted()
    everyone = set.intersection(*accepted.values())
    assert bool(found.contradictions) is not bool(everyone)
    for each in found.contradictions:
        for left_out in each.rules:
            rest = [accepted[rule] for rule in each.rules if rule != left_out]
            # Without its box a field may leave the oracle's records, so only the other rules are tried.
            if left_out not in ("R1", "R2", "R3") and {"R1", "R2", "R3"} <= set(each.rules):
                assert set.intersection(*rest)
    if found.contradictions:
        return
    implied = {each.rule for each in found.redundant} | {*found.always}
    for at in range(4, len(full) + 1):
        others = [accepted[other] for other in accepted if other != f"R{at}" and other not in implied]
        assert (f"R{at}" in implied) is (set.intersection(*others) <= accepted[f"R{at}"])


def test_a_model_of_soft_and_hard_rules_is_no_proof(ask: Callable[..., Preflight]) -> None:
    assert Known(0, "R1", (), False).form == ()
    assert ask("A > 0 or B > 0", "A < 1").contradictions == ()


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["q: A >= 0 and A < -5"], [("q",)]),
        (["q: A in 10..5"], [("q",)]),
        (["q: A == 3 and A == 4"], [("q",)]),
        (["q: A > A", "r: B > A and A > B"], [("q",), ("r",)]),
        (["h: S == 'x'", "v: S >= 3"], [("h", "v")]),
        (["m: missing(A)", "z: A == ''"], []),
    ],
)
def test_a_plain_rule_that_no_values_satisfy_is_a_contradiction(
    tmp_path: Path, lines: list[str], found: list[tuple[str, ...]]
) -> None:
    rules = tmp_path / "r.rules"
    rules.write_text("\n".join(lines))
    assert [each.rules for each in masktron.explain(rules).preflight.contradictions] == found


# the command


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("q: A >= 0 and A < -5", "no record can satisfy q, which contradicts itself: correct the rule"),
        ("q: S >= 3", "q reads S as a number, and no record has a number there: correct the rule or the data"),
    ],
)
def test_validate_and_mask_name_a_rule_that_no_record_can_satisfy(
    tmp_path: Path, run: Runner, rule: str, said: str
) -> None:
    rules, data = tmp_path / "r.rules", tmp_path / "d.csv"
    rules.write_text(rule)
    data.write_text("A,S\n" + "".join(f"{i}.5,x\n" for i in range(12)))
    assert said in run("validate", data, "--rules", rules).out
    refused = run("mask", data, "--rules", rules, "--role", "S=quasi-identifier", "-k", "3", "-o", tmp_path / "o.csv")
    assert said in " ".join(refused.err.split())


def test_explain_names_a_contradiction_and_ends_well(tmp_path: Path, run: Runner) -> None:
    rules = write_rules(tmp_path / "r.sch", "A + B = T", "A > 5", "B > 5", "T < 10", "S = 'x' or T > 2")
    outcome = run("explain", rules)
    assert outcome.code == 0
    assert "contradiction: no record satisfies all of R1, R2, R3, R4" in outcome.out
    content = json.loads(run("explain", rules, "--json", "-").out)
    conforms(content, "explain")
    assert content["preflight"]["contradictions"] == [{"rules": ["R1", "R2", "R3", "R4"], "numbers_only": False}]
    assert "HiGHS" in content["preflight"]["solver"]
    assert content["coverage"] == []


@pytest.fixture
def covered(tmp_path: Path) -> tuple[Path, Path]:
    rows = [{"A": a, "B": 10, "T": a + 10, "S": "xy"[a % 2], "K": 1 if a % 3 else None, "M": ""} for a in range(20)]
    rules = write_rules(
        tmp_path / "r.sch",
        "A + B = T",
        "not(S = 'z') or A > 5",
        "not(S = 'x') or A < 100",
        "not(A > 100 and not(B = 3))",
        "A <= 19 and A >= -50",
        "B <= 300",
        "not(M > 3)",
        "B = 10 or A = 3",
        "K = 1 or not(K)",
        "A < K * 1000 or not(K)",
    )
    return write_data(tmp_path / "d.xml", rows), rules


def test_what_the_records_test(covered: tuple[Path, Path]) -> None:
    data, rules = covered
    result = masktron.explain(rules, data, config=masktron.Config(k=3, roles={"S": masktron.Role.RECORD_ID}))
    found = {each.rule: each for each in result.coverage}
    assert {rule: each.untested for rule, each in found.items() if each.untested} == {
        "R2": "its IF holds in no record",
        "R4": "its IF holds in no record",
        "R7": "a field is missing in every record",
        "R8": "every record satisfies B = 10, so none is asked for A = 3",
    }
    assert found["R3"].asked == 10
    assert [(each.part, each.holds, each.alone) for each in found["R3"].alternatives] == [
        ("A < 100", 20, 10),
        ("S != 'x'", 10, 0),
    ]


def test_rules_that_tie_masked_to_unmasked_fields(covered: tuple[Path, Path], run: Runner) -> None:
    data, rules = covered
    roles = ("--role", "S=record-id", "--role", "K=untouched", "--role", "B=identifier")
    content = json.loads(run("explain", rules, "--data", data, *roles, "--json", "-").out)
    conforms(content, "explain")
    found = {each["rule"]: each for each in content["ties"]}
    assert found["R1"]["meaning"] == "not applicable once B is removed"
    assert found["R3"]["masked"] == ["A"]
    assert found["R3"]["unmasked"] == ["S"]
    assert "satisfy one alternative" in found["R3"]["meaning"]
    assert "groups hold one value of K" in found["R10"]["meaning"]
    assert "R9" not in found
    declared = json.loads(run("explain", rules, *roles, "--json", "-").out)["ties"]
    assert {each["rule"] for each in declared} >= {"R1", "R3", "R10"}
    assert json.loads(run("explain", rules, "--json", "-").out)["ties"] == []
