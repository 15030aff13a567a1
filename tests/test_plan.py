"""Plans: blocks, roles, the aggregator of each block and why, and what is refused before a value is touched."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

import masktron
from cli_runner import write_data, write_rules
from masktron.aggregators import ALL as AGGREGATORS
from masktron.aggregators import OFFERED
from masktron.aggregators.base import Aggregator, GroupContext, ObservedAggregator
from masktron.classify import classify
from masktron.classify.forms import form_of, holds
from masktron.config import Config, Role
from masktron.constraints import Member, Missing, Present
from masktron.errors import DocumentError, InfeasibleError, MasktronError, UsageError
from masktron.plan import Plan, _among_numbers, make_plan
from masktron.problems.wording import sentence
from masktron.roles import FieldFacts, resolve_roles
from masktron.sources.lexical import parse_number
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import detect_layout
from refusals import refused
from rulebook_builder import layout, rulebook

pytestmark = pytest.mark.usefixtures("at_terminal")

NAMES = "ABCDEFGH"


def facts(
    roles: Mapping[str, Role], texts: str = "", lowest: float = 1.0, ordinals: str = ""
) -> tuple[FieldFacts, ...]:
    """Lower-case letters in `ordinals` have an order that is not that of numbers."""
    order: dict[str, tuple[str, ...]] = dict.fromkeys(ordinals.upper(), ())
    order |= {name.upper(): ("low", "high") for name in ordinals if name.islower()}
    return tuple(
        FieldFacts(
            name,
            roles.get(name, Role.CONFIDENTIAL),
            name not in texts + ordinals.upper(),
            lowest,
            order=order.get(name),
        )
        for name in NAMES
    )


def plan_of(
    *tests: str,
    roles: Mapping[str, Role] | None = None,
    texts: str = "",
    lowest: float = 1.0,
    ordinals: str = "",
    released: Sequence[int] = (),
    aggregator: str | None = None,
    **settings: Any,
) -> Plan:
    book = rulebook([("Record", test) for test in tests])
    # One pattern for each rule: within a pattern only the first would fire.
    patterns = (replace(book.patterns[0], rules=(rule,)) for rule in book.patterns[0].rules)
    edits = classify(replace(book, patterns=tuple(patterns)), layout(*NAMES))
    known = facts(roles or {}, texts, lowest, ordinals)
    return make_plan(edits, known, Config(**settings), released=released, aggregator=aggregator)


def asked(aggregator: str, *tests: str, **known: Any) -> Plan:
    return plan_of(*tests, aggregator=aggregator, **known)


# blocks


@given(st.lists(st.sets(st.sampled_from(NAMES), min_size=2, max_size=3), max_size=6), st.booleans())
def test_blocks_are_the_connected_components(rules: list[set[str]], whole: bool) -> None:
    plan = plan_of(*(" + ".join(sorted(rule)) + " >= 0" for rule in rules), grouping="all" if whole else "rules")
    pairs = [(NAMES.index(min(rule)), NAMES.index(name)) for rule in rules for name in rule]
    ends = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    graph = coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(NAMES), len(NAMES)))
    part = connected_components(graph, directed=False)[1]
    expected = {tuple(n for n, p in zip(NAMES, part, strict=True) if p == one) for one in part}
    ruled = {block.variables for block in plan.blocks if block.checks}
    assert ruled == {names for names in expected if any(set(names) & rule for rule in rules)}
    assert sorted(name for block in plan.blocks for name in block.variables) == list(NAMES)
    for block in plan.blocks:
        assert block.checks == tuple(i for i, rule in enumerate(rules) if rule & set(block.variables))
    assert len(plan.partitions) == (1 if whole else len(plan.blocks))


def test_variables_without_rules_go_in_threes() -> None:
    free = [block.variables for block in plan_of("A + B >= 0", texts="H").blocks]
    assert free == [("A", "B"), ("H",), ("C", "D", "E"), ("F", "G")]
    assert [b.variables for b in plan_of("A + B >= 0", group_size_vars=4).blocks][1:] == [tuple("CDEF"), tuple("GH")]
    assert plan_of("A + B >= 0", grouping="all").blocks[1].variables == tuple("CDEFGH")


def test_unmasked_fields_condition_and_tie() -> None:
    (block, *_) = plan_of("A <= G", "not(H = 1) or A > 5", roles={"G": Role.UNTOUCHED, "H": Role.RECORD_ID}).blocks
    assert block.variables == ("A",)
    assert block.conditions == ("G", "H")
    assert block.ties == ("G",)


def test_every_rule_is_somewhere() -> None:
    plan = plan_of(
        "A >= 0", "G > 0 or A > 0", "H > 0", "B >= 0", roles={"G": Role.IDENTIFIER, "H": Role.WEIGHT}, released=[3]
    )
    assert [index for index, _ in plan.not_applicable] == [1]
    assert "G" in plan.not_applicable[0][1]
    assert plan.untouched == (2,)
    assert plan.released == (3,)
    assert [block.checks for block in plan.blocks if block.checks] == [(0,)]
    assert plan.by_role(Role.IDENTIFIER) == ("G",)


def test_a_plan_is_plain_data() -> None:
    plan = plan_of("A + B = C", "D = 1 or D = 3")
    assert json.loads(json.dumps(plan.as_dict()))["k"] == 5
    assert plan == plan_of("A + B = C", "D = 1 or D = 3")


# aggregators


@pytest.mark.parametrize(
    ("tests", "texts", "lowest", "candidates"),
    [
        (["A + B = C", "A <= C", "A >= 0"], "", 0.0, "mean"),
        (["A * B = C"], "", 1.0, "geometric_mean derive"),
        (["A * B = C"], "", float("-inf"), "geometric_mean derive"),
        (["A = 1 or A = 3"], "", 0.0, "derive median"),
        (["(A = 1 or A = 3) and A <= B"], "", 0.0, "derive median"),
        (["A mod 5 = 0"], "", 0.0, "derive median"),
        (["A mod 5 = 0", "A <= B"], "", 0.0, "derive median"),
        (["A mod 5 = 0", "A + B = C"], "", 0.0, "derive"),
        (["A mod 5 = 0", "A * B = 12"], "", 1.0, "derive derive_geometric mode"),
        (["A * B = C", "C + D = E"], "", 1.0, "derive derive_geometric"),
        (["A * B = C", "C + D = E"], "", float("-inf"), "derive"),
        (["A = 'x' or A = 'y'"], "A", 0.0, "mode"),
        (["not(A = 'x') or B > 3"], "A", 0.0, "derive"),
        (["string-length(concat(A, B)) > 2"], "A", 0.0, "derive"),
        (["string-length(concat(A, B)) > 2"], "AB", 0.0, "medoid"),
        (["string-length(concat(A, B)) > 2"], "", 0.0, "derive"),
    ],
)
def test_candidates_keep_all_rules_in_order_of_preference(
    tests: list[str], texts: str, lowest: float, candidates: str
) -> None:
    block = plan_of(*tests, texts=texts, lowest=lowest).blocks[0]
    names = [candidate.aggregator for candidate in block.candidates]
    assert names == candidates.split()
    assert block.aggregator == names[0]
    assert sentence(block.reason).startswith(f"{names[0]} keeps ")
    for candidate in block.candidates:
        assert sentence(candidate.reason) in sentence(block.prospect)
        assert sentence(candidate.reason).endswith("group by group") == candidate.aggregator.startswith("derive")
    if names != ["mean"]:
        # What the plan might have used instead is named with its obstacle, each aggregator once.
        others = {"mean", "geometric_mean", "median", "mode"} - {*names}
        refused = [sentence(refusal).split()[0] for refusal in block.refusals]
        # The mode never competes with the median.
        assert {*refused, *(["mode"] if "median" in names else [])} >= others
        assert len(refused) == len({*refused})


def test_a_block_can_use_another_candidate() -> None:
    plan = plan_of("A * B = C")
    block = plan.blocks[0].choosing(1)
    assert (block.aggregator, block.derived, block.one_signed) == ("derive", True, False)
    assert sentence(block.reason).startswith("derive keeps ")
    chosen = plan.choosing([block, *plan.blocks[1:]])
    assert chosen.blocks[0] == block
    assert plan.blocks[0].aggregator == "geometric_mean", "plans do not change"
    entry = chosen.as_dict()["partitions"][0]["blocks"][0]
    assert entry["aggregator"] == "derive"
    assert [candidate["aggregator"] for candidate in entry["candidates"]] == ["geometric_mean", "derive"]


@pytest.mark.parametrize(
    ("tests", "ordinals", "texts", "chosen"),
    [
        (["A >= 0"], "A", "", "median"),
        (["A >= 0"], "a", "", "median"),
        (["A <= B"], "AB", "", "median"),
        (["A <= B"], "Ab", "", "medoid"),
        (["A <= B"], "A", "B", "medoid"),
        (["A + B <= C"], "ABC", "", "medoid"),
        (["A <= B"], "A", "", "derive"),
        (["A = 'low' or B = 'x'"], "a", "B", "mode"),
        (["A = 'low' or B = 3"], "a", "", "derive"),
        (["concat(A, B) = 'x'"], "ab", "", "medoid"),
    ],
)
def test_ordered_categories(tests: list[str], ordinals: str, texts: str, chosen: str) -> None:
    assert plan_of(*tests, ordinals=ordinals, texts=texts).blocks[0].aggregator == chosen


def test_categories_without_rules_take_their_middle() -> None:
    free = {block.variables: block.aggregator for block in plan_of("A >= 0", ordinals="Bc", texts="D").blocks}
    assert {names: free[names] for names in (("B",), ("C",), ("D",))} == {
        ("B",): "median",
        ("C",): "median",
        ("D",): "mode",
    }


@pytest.mark.parametrize("test", ["A = -9 or A = 7", "A = 'NA' or A >= 0", "A != '' and A != 'NA'"])
def test_missing_codes_in_rules_do_not_cost_the_mean(test: str) -> None:
    codes = ("-9", "NA")
    edits = classify(rulebook([("Record", test)]), layout("A"))
    fact = FieldFacts("A", Role.CONFIDENTIAL, True, 0.0, codes)
    assert make_plan(edits, [fact], Config()).blocks[0].aggregator == "mean"
    if "-9" in test:
        assert make_plan(edits, [replace(fact, codes=())], Config()).blocks[0].aggregator != "mean"


def test_only_the_geometric_mean_parts_signs() -> None:
    assert plan_of("A * B = C").blocks[0].one_signed
    assert not plan_of("A + B = C").blocks[0].one_signed
    assert not plan_of("A * B = C", "C + D = E").blocks[0].choosing(1).one_signed


def test_a_rule_over_several_records_is_refused() -> None:
    with refused(InfeasibleError, "rules-not-kept", fields=("A",), rules=("rule-1",)) as caught:
        plan_of("count(../Record[A = current()/A]) = 1")
    assert caught.value.exit_code == 5
    assert plan_of("count(../Record[A = current()/A]) = 1", released=[0]).released == (0,)
    assert plan_of("count(../Record[A = current()/A]) = 1", roles={"A": Role.RECORD_ID}).untouched == (0,)


# what numbers a set asks for

NUMBERS = st.sampled_from([Fraction(n) for n in (-9, 0, 1, 2, 3)])
TEXTS = st.sampled_from(["-9", "0", "1", "2", "NA", "", "-9.0"])


@st.composite
def sets_and_groups(draw: st.DrawFn) -> tuple[Member, tuple[str, ...], list[str]]:
    values = draw(st.frozensets(NUMBERS, min_size=1) | st.frozensets(TEXTS, min_size=1))
    codes = tuple(draw(st.sets(st.sampled_from(["-9", "NA", "3"]))))
    numbers = [number for number in ("-9", "0", "1", "2", "3") if number not in codes]
    missing = [*codes, ""]
    group = draw(
        st.lists(st.sampled_from(numbers), min_size=1, max_size=6)
        | st.sampled_from(missing).map(lambda lexeme: [lexeme] * 3)
    )
    return Member("A", values, draw(st.booleans())), codes, group


@given(sets_and_groups())
def test_a_set_reduced_to_numbers_keeps_the_whole_set(case: tuple[Member, tuple[str, ...], list[str]]) -> None:
    atom, codes, group = case
    reduced = _among_numbers(atom, FieldFacts("A", Role.CONFIDENTIAL, True, -9.0, codes))
    assume(all(holds(((atom,),), {"A": lexeme}) for lexeme in group))
    missing = group[0] in codes or not group[0]
    values = np.array([[np.nan if missing else parse_number(lexeme)] for lexeme in group])
    labels = np.zeros(len(group), dtype=np.intp)
    context = GroupContext(frozenset("A"), one_signed=frozenset("A"))
    for aggregator in AGGREGATORS:
        if reduced is not None and not aggregator.preserves(reduced, context):
            continue
        if aggregator.name == "geometric_mean" and len(set(np.sign(values).ravel())) > 1:
            continue
        if missing:
            prototype: Any = group[0]
        elif isinstance(aggregator, ObservedAggregator):
            prototype = group[int(aggregator.choose(values, labels)[0, 0])]
        else:
            prototype = Fraction(float(aggregator.aggregate(values, labels)[0, 0]))
        if not missing and prototype in {Fraction(code) for code in codes if code != "NA"}:
            continue  # settle keeps prototypes off the missing codes
        assert holds(((atom,),), {"A": prototype}), (aggregator.name, reduced)


# roles


def resolved(tmp_path: Path, rows: list[dict[str, object]], **settings: Any) -> dict[str, FieldFacts]:
    config = Config(**settings)
    path = write_data(tmp_path / "data.xml", rows)
    records = read_records(path, detect_layout(path), missing=config.missing)
    return {fact.name: fact for fact in resolve_roles(records, config)}


def test_roles_are_completed(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"A": value, "B": "x", "C": "", "D": "-9" if value else 4, "E": "" if value % 2 else "NA"}
        for value in range(6)
    ]
    found = resolved(
        tmp_path, rows, roles={"B": Role.UNTOUCHED}, missing={"D": frozenset({"-9"}), "*": frozenset({"NA"})}
    )
    assert {name: fact.role.value for name, fact in found.items()} == {
        "A": "confidential",
        "B": "untouched",
        "C": "untouched",
        "D": "confidential",
        "E": "untouched",
    }
    assert found["A"].numeric
    assert found["A"].lowest == 0
    assert found["D"].lowest == 4, "a missing code is no value"
    assert found["D"].codes == ("-9", "NA")
    assert not found["B"].numeric


@pytest.mark.parametrize(
    ("rows", "settings", "error", "code"),
    [
        ([{"A": 1}], {"roles": {"X": Role.RECORD_ID}}, UsageError, "unknown-name"),
        ([{"A": 1}], {"missing": {"X": frozenset({"9"})}}, UsageError, "unknown-name"),
        ([{"A": 1, "S": "x"}], {}, UsageError, "no-role"),
        ([{"A": 1, "V": 1, "W": 1}], {"roles": {"V": Role.WEIGHT, "W": Role.WEIGHT}}, UsageError, "given-twice"),
        ([{"A": 1, "W": 0}], {"roles": {"W": Role.WEIGHT}}, DocumentError, "bad-weights"),
        ([{"A": 1, "W": -2}], {"roles": {"W": Role.WEIGHT}}, DocumentError, "bad-weights"),
        ([{"A": 1, "W": 1}, {"A": 1}], {"roles": {"W": Role.WEIGHT}}, DocumentError, "bad-weights"),
        ([{"A": 1}, {"A": 2}, {"A": "x"}], {}, DocumentError, "text-in-numbers"),
    ],
)
def test_roles_that_do_not_fit_are_refused(
    tmp_path: Path, rows: list[dict[str, object]], settings: dict[str, Any], error: type[MasktronError], code: str
) -> None:
    with refused(error, code):
        resolved(tmp_path, rows, **settings)


def test_all_text_fields_without_a_role_are_named_at_once(tmp_path: Path) -> None:
    rows = [{"A": at, "NAME": f"n{at}", "TOWN": "x", "SEX": "m", "STREET": "y", "CODE": "c"} for at in range(3)]
    with refused(UsageError, "no-role", fields=("NAME", "STREET", "CODE")) as stopped:
        resolved(tmp_path, rows, roles={"TOWN": Role.RECORD_ID}, nominal=("SEX",))
    hint = stopped.value.hint
    assert "--role NAME=identifier --role STREET=identifier --role CODE=identifier" in hint
    block = [line.strip() for line in hint.splitlines()]
    assert tomllib.loads("\n".join(block[1:5])) == {
        "roles": {"NAME": "identifier", "STREET": "identifier", "CODE": "identifier"}
    }
    roles = dict.fromkeys(("NAME", "STREET", "CODE"), Role.IDENTIFIER)
    resolved(tmp_path, rows, roles={**roles, "TOWN": Role.RECORD_ID}, nominal=("SEX",))


def test_what_a_rule_says_of_missing_values_does_not_count_where_there_are_none(tmp_path: Path) -> None:
    names = "ABCDEF"
    total = "sum(" + " | ".join(names) + ") = T"
    rules = write_rules(tmp_path / "r.sch", total)
    rows = [dict(zip((*names, "T"), (*range(at, at + 6), 6 * at + 15), strict=True)) for at in range(20)]
    explained = masktron.explain(rules, write_data(tmp_path / "d.xml", rows))
    assert explained.rules[0].aggregator == "mean"
    rows[3]["A"] = None  # type: ignore[assignment]
    rows[3]["T"] -= 3
    explained = masktron.explain(rules, write_data(tmp_path / "e.xml", rows))
    assert explained.rules[0].aggregator == "derive"


# an aggregator that is asked for


def test_an_aggregator_that_is_asked_for_is_the_only_candidate() -> None:
    plan = asked("median", "A <= B")
    assert [(block.aggregator, len(block.candidates)) for block in plan.blocks] == [("median", 1)] * len(plan.blocks)
    ruled, *free = plan.blocks
    assert sentence(ruled.reason).startswith("median keeps")
    assert all("no rule reads these fields" in sentence(block.reason) for block in free)
    assert asked("minimum", "A + B <= C").blocks[0].aggregator == "minimum"


def test_without_asking_nothing_changes() -> None:
    tests = ("A + B = C", "D * E = F", "G <= H")
    assert plan_of(*tests) == plan_of(*tests)
    names = {candidate.aggregator for block in plan_of(*tests).blocks for candidate in block.candidates}
    assert names.isdisjoint(aggregator.name for aggregator in OFFERED)
    assert not any(
        aggregator.name in sentence(block.reason) for aggregator in OFFERED for block in plan_of(*tests).blocks
    )


@pytest.mark.parametrize("name", ["median", "maximum", "convex_median", "mode", "boolean_max_min"])
def test_an_aggregator_that_would_break_a_rule_is_refused(name: str) -> None:
    with refused(InfeasibleError, "aggregator-unsuitable", fields=("A", "B", "C"), aggregator=name):
        asked(name, "A + B <= C")


def test_blocks_of_other_kinds_keep_their_own() -> None:
    plan = asked("median", "A <= B", texts="H")
    (nominal,) = (block for block in plan.blocks if block.variables == ("H",))
    assert nominal.aggregator == "mode"
    assert sentence(nominal.reason).endswith("median needs numbers or ordered categories")
    assert asked("lower_quartile", ordinals="H").blocks[0].aggregator == "lower_quartile"


def test_an_aggregator_for_nothing_is_refused() -> None:
    with refused(InfeasibleError, "aggregator-unsuitable", reasons=("geometric_mean needs numbers",)):
        asked("geometric_mean", texts="ABCDEFGH")
    with refused(UsageError, "unknown-name", name="middle"):
        asked("middle")


@given(
    st.sampled_from(AGGREGATORS),
    st.sampled_from(["A + B = C", "A <= B", "A * B = C", "A + B <= C", "A = 1 or A = 4", "A - 2 * B = 0", "A != B"]),
)
def test_what_is_asked_for_keeps_the_rules_by_its_theorem(aggregator: Aggregator, test: str) -> None:
    try:
        block = asked(aggregator.name, test).blocks[0]
    except InfeasibleError:
        reject()
    context = GroupContext(
        frozenset(block.variables), positive=frozenset(NAMES), one_signed=frozenset(block.variables)
    )
    edit = classify(rulebook([("Record", test)]), layout(*NAMES))[0]
    atoms = [atom for conjunction in form_of(edit.constraint) for atom in conjunction]
    assert all(aggregator.preserves(atom, context) for atom in atoms if not isinstance(atom, Missing | Present))
