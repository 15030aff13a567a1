"""Derive per record: groups share some variables, and equalities with unmasked fields give the others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import masktron
from attacks import SEED
from cli_runner import write_data, write_rules
from examples import examples, parts
from masktron.classify.elimination import Solved, SolvedEquality, assignments, eliminate, equality, pivots, substitute
from masktron.classify.forms import form_of, holds
from masktron.classify.polynomial import MonomialSum, evaluate
from masktron.constraints import Form
from masktron.errors import InfeasibleError
from masktron.results import BlockResult
from masktron.settle.completion import Completion
from masktron.settle.grid import Grid
from refusals import code_of, refused
from rulebook_builder import edit_of

type Rows = list[dict[str, object]]
U = {"U": "untouched"}


def totals(n: int = 60, seed: int = 1) -> Rows:
    """Records with A + B + C = U and S = B + C, all U different."""
    generator = np.random.default_rng(seed)
    rows: Rows = []
    for u in generator.permutation(np.arange(1000, 1000 + 7 * n, 7)).tolist():
        first, second, _ = (u * generator.dirichlet([1, 1, 1])).astype(int).tolist()
        rows.append({"A": first, "B": second, "C": u - first - second, "S": u - first, "U": u})
    return rows


def masked(folder: Path, rows: Rows, *tests: str, k: int = 4, **settings: Any) -> BlockResult:
    """Mask; libxml2 judges the written file, and groups are counted in it, solved variables apart."""
    data, rules = write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", *tests)
    result = masktron.mask(
        data, rules, folder / "m.xml", manifest=folder / "m.json", k=k, **{"order": "keep", **settings}
    )
    records = etree.parse(folder / "m.xml").getroot().findall("Record")
    assert len(records) == result.records_out
    for test in tests:
        rule = etree.XPath(f"boolean({test})")
        assert all(rule(record) for record in records), test
    for block in result.blocks:
        solved = {one.field for one in block.solved}
        shared = [name for name in block.variables if name not in solved]
        assert shared
        groups = Counter(tuple(record.findtext(name) for name in shared) for record in records)
        assert min(groups.values()) >= k
        assert block.min_group >= k
    return max(result.blocks, key=lambda block: len(block.rules))


def solved_by(block: BlockResult) -> dict[str, str]:
    return {one.field: one.rule for one in block.solved}


# whole runs


@pytest.mark.parametrize("role", ["untouched", "record-id", "weight"])
def test_a_total_that_differs_in_each_record(role: str, tmp_path: Path) -> None:
    rows: Rows = [{"A": row["A"], "S": row["S"], "U": row["U"]} for row in totals()]
    block = masked(tmp_path, rows, "A + S = U", "A >= 0", "S >= 0", roles={"U": role})
    assert block.aggregator == "derive_per_record"
    assert solved_by(block) in ({"A": "R1"}, {"S": "R1"})
    assert block.groups == 15
    assert block.exits["medoid"] == 0
    assert block.information_loss < 2
    assert block.observed_share == 0


def test_what_is_solved_is_off_by_what_grouping_changed(tmp_path: Path) -> None:
    rows: Rows = [{"A": row["A"], "S": row["S"], "U": row["U"]} for row in totals()]
    masked(tmp_path, rows, "A + S = U", roles=U)
    records = etree.parse(tmp_path / "m.xml").getroot().findall("Record")
    for before, after in zip(rows, records, strict=True):
        moved = {name: int(str(after.findtext(name))) - int(str(before[name])) for name in ("A", "S")}
        assert moved["A"] == -moved["S"]


def test_least_totals_bind_the_group(tmp_path: Path) -> None:
    # B = U - A has to stay between 0 and 30: groups that are near in C and D alone have no A for all their U.
    generator = np.random.default_rng(7)
    rows: Rows = []
    for u in generator.permutation(np.arange(100, 1000, 9)).tolist():
        b, c, d = int(generator.integers(0, 31)), *generator.integers(0, 100, 2).tolist()
        rows.append({"A": u - b, "B": b, "C": c, "D": d, "U": u})
    block = masked(tmp_path, rows, "A + B = U", "B >= 0", "B <= 30", "A + C + D >= 0", k=3, roles=U)
    assert block.groups == 33
    assert block.exits["medoid"] == 0


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(("A + B + C = U", "A >= 0", "B >= 0", "C >= 0"), marks=pytest.mark.full),
        ("A + B + C = U", "A + B <= 1300", "A >= 0", "not(C < 0)", "not(A > 500) or B <= 700"),
        ("A + S = U", "B + C = S", "A >= 0", "B >= 0", "C >= 0"),
        pytest.param(("A + B + C = U", "B + C = S", "A >= 0"), marks=pytest.mark.full),
        pytest.param(("U - A - B = C", "A >= 0.5 * B or C < 2000"), marks=pytest.mark.full),
    ],
)
@pytest.mark.parametrize("k", parts([5, 2], 1))
def test_equalities_with_further_rules(rules: Sequence[str], k: int, tmp_path: Path) -> None:
    rows = [row for row in totals(90) if int(str(row["A"])) + int(str(row["B"])) <= 1300]
    rows = [row for row in rows if int(str(row["A"])) <= 500 or int(str(row["B"])) <= 700]
    block = masked(tmp_path, rows, *rules, k=k, roles=U)
    assert block.aggregator == "derive_per_record"
    assert block.exits["medoid"] == 0


@pytest.mark.full
def test_two_totals_share_their_parts(tmp_path: Path) -> None:
    rows: Rows = [
        {**row, "W": int(str(row["A"])) - int(str(row["B"])) + 2 * int(str(row["C"]))} for row in totals(32)
    ]
    block = masked(tmp_path, rows, "A + B + C = U", "A - B + 2 * C = W", roles={**U, "W": "untouched"})
    assert len(block.solved) == 2
    assert block.exits["medoid"] == 0


@pytest.mark.full
def test_decimals_come_out_in_every_engine(tmp_path: Path) -> None:
    rows: Rows = []
    for row in totals(150):
        a, b = Decimal(str(row["A"])) / 100, Decimal(str(row["S"])) / 100
        if float(a) + float(b) == float(a + b):
            rows.append({"A": f"{a:.2f}", "B": f"{b:.2f}", "U": f"{a + b:.2f}"})
    block = masked(tmp_path, rows, "A + B = U", "A >= 0", "B >= 0", roles=U, invalid="exclude")
    assert block.aggregator == "derive_per_record"
    assert block.exits["medoid"] == 0


@pytest.mark.full
def test_products_with_an_unmasked_field(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    rows: Rows = []
    for _ in range(80):
        a, b = int(generator.integers(3, 40)), f"{generator.normal(2, 0.4):.9f}"
        rows.append({"A": a, "B": b, "U": repr(a * float(b))})
    block = masked(tmp_path, rows, "A * B = U", "B > 0", roles=U, invalid="exclude")
    assert solved_by(block) == {"B": "R1"}
    assert block.information_loss < 20


@pytest.mark.full
def test_an_integer_quotient_is_refused_rather_than_far_off(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    rows: Rows = [{"A": a, "B": b, "U": a * b} for a, b in generator.integers(5, 60, (80, 2)).tolist()]
    with refused(InfeasibleError, "unmasked-in-the-way", fields=("A", "B"), conditions=("U",)):
        masked(tmp_path, rows, "A * B = U", roles=U)


def test_a_group_needs_the_equality_only_where_it_has_no_other_alternative(tmp_path: Path) -> None:
    rows: Rows = [{"A": row["A"], "B": row["S"], "U": row["U"], "K": "x"} for row in totals(80)]
    for row in rows[::2]:
        row["K"], row["B"] = "y", int(str(row["B"])) // 3
    block = masked(tmp_path, rows, "not(K = 'x') or A + B = U", "A >= 0", "B >= 0", roles={**U, "K": "untouched"})
    assert block.aggregator == "derive_per_record"
    (solved,) = solved_by(block)
    records = etree.parse(tmp_path / "m.xml").getroot().findall("Record[K='y']")
    groups = Counter((record.findtext("A"), record.findtext("B")) for record in records)
    assert min(groups.values()) >= 4, f"{solved} was solved where nothing asks for it"


def test_a_group_that_can_share_everything_does(tmp_path: Path) -> None:
    # The far half obeys the equality as well, but nothing asks it to.
    rows: Rows = [{"A": row["A"], "B": row["S"], "U": row["U"], "K": "x"} for row in totals(80)]
    for at, row in enumerate(rows[::2]):
        row.update(A=100_000 + 50 * at, B=100_000 + int(str(row["B"])), K="y")
        row["U"] = int(str(row["A"])) + int(str(row["B"]))
    rules = ("not(K = 'x') or A + B = U", "A >= 0", "B >= 0")
    masked(tmp_path, rows, *rules, roles={**U, "K": "untouched"})
    records = etree.parse(tmp_path / "m.xml").getroot().findall("Record[K='y']")
    groups = Counter((record.findtext("A"), record.findtext("B")) for record in records)
    assert min(groups.values()) >= 4


def test_missing_values_keep_their_records_apart(tmp_path: Path) -> None:
    rows: Rows = [{"A": row["A"], "B": row["S"], "U": row["U"]} for row in totals(90)]
    for row in rows[::6]:
        row["A"] = None
    for row in rows[1::9]:
        row["B"] = None
    rule = "string(number(A)) = 'NaN' or string(number(B)) = 'NaN' or A + B = U"
    block = masked(tmp_path, rows, rule, "not(A < 0)", "not(B < 0)", roles=U)
    assert block.aggregator == "derive_per_record"
    assert block.exits["medoid"] == 0


def test_groups_that_can_share_everything_do(tmp_path: Path) -> None:
    rows: Rows = [{"A": row["A"], "B": 2000 - int(str(row["A"])), "U": 2000} for row in totals()]
    block = masked(tmp_path, rows, "A + B = U", roles=U)
    assert block.aggregator == "mean"
    assert block.solved == ()
    assert {one.verdict for one in block.candidates if one.solved} == {"not needed: groups can share all variables"}


def test_a_variable_that_nothing_can_move_is_refused(tmp_path: Path) -> None:
    rows: Rows = [{"A": row["A"], "B": row["B"], "U": 2 * int(str(row["A"]))} for row in totals()]
    with pytest.raises(InfeasibleError):
        masked(tmp_path, rows, "A * 2 = U", "A < 100000 or B < 3", roles=U)


def test_a_missing_code_is_never_solved(tmp_path: Path) -> None:
    rows: Rows = [{"A": a, "B": b, "U": a + b} for a in range(10) for b in range(20) if b != 9]
    masked(tmp_path, rows, "A + B = U", roles=U, missing={"B": frozenset({"9"})}, k=3)
    records = etree.parse(tmp_path / "m.xml").getroot().findall("Record")
    assert "9" not in {record.findtext("B") for record in records}


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        masked(tmp_path / name, totals(), "A + S = U", "B + C = S", roles=U, order="random", seed=SEED)
        written.append((tmp_path / name / "m.xml").read_bytes())
    assert written[0] == written[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("grouping", ["all", "rules"])
def test_other_blocks_keep_their_groups(grouping: str, tmp_path: Path) -> None:
    rows: Rows = [{**row, "F": at % 17, "G": at % 13} for at, row in enumerate(totals())]
    block = masked(tmp_path, rows, "A + S = U", "A >= 0", "F + G < 40", "B + C < 99999", roles=U, grouping=grouping)
    assert len(block.rules) >= 1


def generated(seed: int) -> tuple[Rows, list[str], dict[str, Any]]:
    """Records with one or two unmasked totals, and rules on their parts that every record obeys."""
    generator = np.random.default_rng(seed)
    n, k = int(generator.integers(20, 80)), int(generator.integers(2, 6))
    names = list("ABCD")[: int(generator.integers(2, 5))]
    scale = int(generator.choice([1, 1, 10]))  # tenths add up in doubles more often than hundredths
    sizes = generator.integers(30, 3000, n)
    parts = np.floor(sizes[:, None] * generator.dirichlet(np.ones(len(names)), n)).astype(int)
    if generator.random() < 0.3:
        parts[:, 0] -= int(np.median(parts[:, 0]))  # negatives as well
    free = generator.integers(0, 500, n)
    rows: Rows = []
    for own, other in zip(parts.tolist(), free.tolist(), strict=True):
        row = dict(zip(names, own, strict=True)) | {"U": sum(own), "F": other, "T": other + own[-1]}
        rows.append({name: value / scale if scale > 1 else value for name, value in row.items()})
        rows[-1]["K"] = "big" if sum(own) > 800 else "small"
    first, last = names[0], names[-1]
    rules = [f"{' + '.join(names)} = U"]
    optional = [f"{name} >= {min(float(str(row[name])) for row in rows)}" for name in names]
    optional += [
        f"F + {last} = T",
        f"not(K = 'big') or {last} <= {max((float(str(r[last])) for r in rows if r['K'] == 'big'), default=0)}",
        f"{first} <= U or {first} > {last}" if min(parts.min(), 0) < 0 else f"{first} <= U",
        f"not({first} < 5) or {last} >= {min(float(str(row[last])) for row in rows)}",
    ]
    rules += [rule for rule in optional if generator.random() < 0.6]
    roles = {"U": str(generator.choice(["untouched", "record-id"])), "K": "untouched"}
    return rows, rules, {"k": k, "roles": roles, "invalid": "exclude", "max_observed_share": 100.0}


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", parts(range(12), 2))
def test_generated_totals(seed: int, tmp_path: Path) -> None:
    rows, rules, settings = generated(seed)
    block = masked(tmp_path, rows, *rules, **settings)
    assert block.exits["medoid"] <= 1
    assert checked(tmp_path).complies


# check


def checked(folder: Path) -> masktron.CheckResult:
    return masktron.check(folder / "m.xml", folder / "r.sch", original=folder / "d.xml", manifest=folder / "m.json")


def test_check_counts_what_groups_share(tmp_path: Path) -> None:
    masked(tmp_path, totals(), "A + S = U", "B + C = S", roles=U)
    result = checked(tmp_path)
    assert result.complies
    assert result.min_group is not None
    assert result.min_group >= 4


def test_check_counts_a_solved_variable_where_no_rule_gives_it(tmp_path: Path) -> None:
    rows: Rows = [{"A": row["A"], "S": row["S"], "U": row["U"]} for row in totals()]
    masked(tmp_path, rows, "A + S = U", roles=U)
    write_rules(tmp_path / "r.sch", "A + S >= 0")
    result = checked(tmp_path)
    assert result.min_group == 1
    assert not result.complies


def test_an_equality_gives_one_variable(tmp_path: Path) -> None:
    masked(tmp_path, totals(), "A + S = U", "B + C = S", roles=U)
    manifest = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    solved = manifest["result"]["blocks"][0]["solved"]
    first = next(one for one in solved if one["rule"] == "R1")
    solved.append({**first, "field": "S" if first["field"] == "A" else "A"})
    (tmp_path / "m.json").write_text(json.dumps(manifest), encoding="utf-8")
    with refused(masktron.MasktronError, "not-a-manifest", reason="an equality gives two variables"):
        checked(tmp_path)


@pytest.mark.parametrize("change", [
    lambda block: block["solved"].clear(),
    lambda block: block["solved"].append({**block["solved"][0], "field": "A"}),
    lambda block: block["solved"][0].update(atom=7),
])  # fmt: skip
def test_check_does_not_believe_a_manifest_that_solves_too_much(change: Any, tmp_path: Path) -> None:
    rows: Rows = [{"A": row["A"], "S": row["S"], "U": row["U"]} for row in totals()]
    masked(tmp_path, rows, "A + S = U", roles=U)
    manifest = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    change(manifest["result"]["blocks"][0])
    (tmp_path / "m.json").write_text(json.dumps(manifest), encoding="utf-8")
    try:
        assert checked(tmp_path).min_group == 1
    except masktron.MasktronError as error:
        assert code_of(error) == "not-a-manifest"


# theorems


SYSTEMS = [
    ("A + B = U",),
    ("A + B = U", "B + C = T"),
    ("A + B + C = U", "A - B + 2 * C = W"),
    ("A * B = U", "B + C = T"),
    ("A * B = U", "C = T * B"),
]
values = st.fractions(min_value=-20, max_value=20, max_denominator=8)


def forms_of(tests: Sequence[str]) -> list[tuple[int, Form]]:
    return [(at, form_of(edit_of(test).constraint)) for at, test in enumerate(tests)]


@examples(10, full=100)
@given(st.sampled_from(SYSTEMS), st.fixed_dictionaries(dict.fromkeys("ABCTUW", values)))
def test_a_completed_record_satisfies_the_equalities(tests: tuple[str, ...], record: dict[str, Fraction]) -> None:
    forms = forms_of(tests)
    found = assignments(forms, "ABCT", "ABCT")
    assert found
    for chosen in found:
        elimination = eliminate([(one.variable, equality(dict(forms)[one.check], one)) for one in chosen], "ABCT")
        assert elimination is not None
        numbers = dict(record)
        for step in elimination.steps:
            value = step.solve(numbers)
            if value is None:
                break
            numbers[step.variable] = value
        else:
            for one in chosen:
                assert holds(dict(forms)[one.check], numbers)
            if all(numbers[name] for name in "ABCTUW"):
                for name, solution in elimination.solutions.items():
                    assert sum(c * evaluate(p, numbers) for p, c in solution.terms) == numbers[name]


@examples(10, full=100)
@given(
    st.sampled_from(SYSTEMS),
    st.sampled_from(["B >= 3", "A <= B", "2 * A - B < U", "A * B <= 50", "B = 4", "T > C + B"]),
    st.fixed_dictionaries(dict.fromkeys("ABCTUW", values.filter(bool))),
)
def test_a_form_says_the_same_without_the_solved_variables(
    tests: tuple[str, ...], rule: str, record: dict[str, Fraction]
) -> None:
    forms, form = forms_of(tests), form_of(edit_of(rule).constraint)
    for chosen in assignments(forms, "ABCT", "ABCT"):
        elimination = eliminate([(one.variable, equality(dict(forms)[one.check], one)) for one in chosen], "ABCT")
        assert elimination is not None
        numbers = dict(record)
        for step in elimination.steps:
            if (value := step.solve(numbers)) is None or not value:
                return
            numbers[step.variable] = value
        assert holds(elimination.form(form), numbers) == holds(form, numbers)


@pytest.mark.parametrize(
    "tests",
    [
        ("2 * A = U",),
        ("A + B = U", "2 * A = W"),
        ("A + B + C = U", "A + C = W", "B >= 0"),
        ("A + B = T",),
        ("A <= U",),
    ],
)
def test_nothing_is_solved_where_nothing_is_left_to_group(tests: tuple[str, ...]) -> None:
    # In the third, B = U - W would be published as it is.
    assert assignments(forms_of(tests), "ABCT", "ABCT") == []


def test_text_is_not_solved() -> None:
    assert assignments(forms_of(["A + B = U"]), "AB", "A") == []


def test_pivots_stand_once_and_without_a_power() -> None:
    (((_, form),),) = (forms_of(["A * A + B * C + C + U = 0"]),)
    assert pivots(equality(form, Solved("B", 0, 0, 0))) == ["U", "B"]


def test_a_sum_has_no_reciprocal() -> None:
    ratio = MonomialSum.of([((("A", -1),), Fraction(1))])
    assert substitute(ratio, "A", MonomialSum.variable("B") + MonomialSum.variable("U")) is None
    assert substitute(ratio, "A", MonomialSum.variable("B")) == MonomialSum.of([((("B", -1),), Fraction(1))])


# completion


def completion(grid: Grid, *, product: bool = False, codes: frozenset[Fraction] = frozenset()) -> Completion:
    first, second, total = (MonomialSum.variable(name) for name in "ABU")
    step = SolvedEquality("B", (first * second if product else first + second) - total)
    return Completion((step,), {"B": grid}, {"B": codes})


def test_integers_stay_integers() -> None:
    complete = completion(Grid(0), product=True)
    assert complete({"A": "4", "U": "12", "B": "x"}) == {"B": "3"}
    assert complete({"A": "5", "U": "12"}) is None
    assert complete({"A": "0", "U": "12"}) is None


def test_a_quotient_of_decimals_gives_the_product_in_doubles() -> None:
    found = completion(Grid(2), product=True)({"A": "7", "U": "3"})
    assert found is not None
    assert 7 * float(found["B"]) == 3


def test_a_sum_gets_the_digits_of_its_parts() -> None:
    assert completion(Grid(1))({"A": "0.125", "U": "1"}) == {"B": "0.875"}
    assert completion(Grid(0))({"A": "0.5", "U": "1"}) is None


def test_codes_and_missing_values_end_it() -> None:
    assert completion(Grid(0), codes=frozenset({Fraction(9)}))({"A": "1", "U": "10"}) is None
    assert completion(Grid(0))({"A": "1", "U": ""}) is None
    assert completion(Grid(0))({"A": "1"}) is None
