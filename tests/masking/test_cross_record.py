"""Rules over several records: how they are spelled, what is done about each, and the written files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from cli_runner import write_data
from examples import parts
from masktron.classify.display import render_cross_record
from masktron.config import Role
from masktron.constraints import CrossRecordEdit, Tally
from masktron.errors import InfeasibleError
from masktron.grouping.record_groups import RecordGroups
from masktron.jobs.originals import InvalidOriginalError
from masktron.masking.totals.file_conditions import TallyTerm, TotalCondition
from pairs.judge import smallest_group, table, violations
from pairs.spelling import SCH
from pairs.values import multiplies_up, written
from refusals import problem_of, refused
from rulebook_builder import edit_of, layout
from schema_files import conforms

type Rows = list[dict[str, object]]
FIELDS = layout("ID", "V1", "V2", "V3", "REGION", "@W")


def understood(test: str, **options: Any) -> tuple[str, str]:
    constraint = edit_of(test, of=FIELDS, **options).constraint
    assert isinstance(constraint, CrossRecordEdit)
    return constraint.kind, render_cross_record(constraint)


# spellings

UNIQUE = [
    ("count(//Record[ID = current()/ID]) = 1", {}),
    ("count(//Record[number(ID) = number(current()/ID)]) < 2", {}),
    ("count(//Record/ID[. = current()/ID]) <= 1", {}),
    ("not(preceding-sibling::Record/ID = ID)", {}),
    ("not(ID = following-sibling::Record/ID)", {}),
    ("not(preceding-sibling::Record[ID = current()/ID])", {}),
    ("count(preceding-sibling::Record[ID = current()/ID]) = 0", {}),
    ("not(../Record[ID = $id][2])", {"rule_lets": {"id": "ID"}}),
    ("count($same) = 1", {"rule_lets": {"same": "//Record[ID = current()/ID]"}}),
    ("count(//Record[ID = current()/ID]) > 1", {"kind": "report"}),
    ("exists(preceding-sibling::Record[ID = current()/ID])", {"kind": "report", "version": "2.0"}),
    ("empty(preceding-sibling::Record[ID = current()/ID])", {"version": "2.0"}),
    ("count(distinct-values(//ID)) = count(//ID)", {"version": "2.0", "context": "Records"}),
    ("count(Record) eq count(distinct-values(Record/ID))", {"version": "2.0", "context": "/Records"}),
]


@pytest.mark.parametrize(("test", "options"), UNIQUE, ids=[test for test, _ in UNIQUE])
def test_a_unique_key(test: str, options: dict[str, Any]) -> None:
    assert understood(test, **options) == ("unique", "ID occurs once")


def test_a_key_of_several_fields() -> None:
    both = "count(//Record[ID = current()/ID and REGION = current()/REGION]) = 1"
    assert understood(both) == ("unique", "ID, REGION occurs once")
    assert understood("not(preceding-sibling::Record[ID = current()/ID][REGION = current()/REGION])") == (
        "unique",
        "ID, REGION occurs once",
    )


ROOT = {"context": "/Records"}
MODERN = {"version": "2.0", **ROOT}
BOUNDS = [
    # counts
    ("count(//Record) = 1080", {}, "count", "count of records = 1080"),
    ("count(Record[REGION = 'N']) >= 3", ROOT, "count", "count of records where REGION = 'N' >= 3"),
    ("not(count(Record[REGION='N']) < 3)", ROOT, "count", "count of records where REGION = 'N' >= 3"),
    ("count(//Record[V1 > 5]) = @n", ROOT, "count", "/@n = count of records where V1 > 5"),
    ("count(//V1[. > 5]) <= 7", ROOT, "count", "count of V1 where V1 > 5 <= 7"),
    ("count(//Record[REGION = current()/REGION]) >= 5", {}, "count", "count of records of the same REGION >= 5"),
    ("count(//Record) - count(//Record[V1 = 0]) > 10", ROOT, "count",
     "count of records - count of records where V1 = 0 > 10"),
    # totals
    ("sum(//Record/V1) = 12345", ROOT, "total", "sum of V1 = 12345"),
    ("sum(//V1) <= 10.5", {"context": "/"}, "total", "sum of V1 <= 10.5"),
    ("sum(/*/*/V1) < 7", {}, "total", "sum of V1 < 7"),
    ("sum(../Record/V1) != 12345", {"kind": "report"}, "total", "sum of V1 = 12345"),
    ("sum(//Record/@W) = sum(//Record/V1)", ROOT, "total", "sum of @W = sum of V1"),
    ("sum(//Record/V1) = sum(//Record/V2) + sum(//Record/V3)", ROOT, "total",
     "sum of V2 + sum of V3 = sum of V1"),
    ("sum(//V1) - 2 * sum(//V2) >= 0 and sum(//V3) > 1", ROOT, "total",
     "2 * sum of V2 <= sum of V1 and sum of V3 > 1"),
    ("sum(//V1 | //V2) = 5", ROOT, "total", "sum of V1 + sum of V2 = 5"),
    ("sum(parent::Records/child::Record/child::V1) = 5", {}, "total", "sum of V1 = 5"),
    ("$all = 5", {"schema_lets": {"all": "sum(//Record/V1)"}}, "total", "sum of V1 = 5"),
    ("sum($all/V1) = 5", {"schema_lets": {"all": "//Record"}}, "total", "sum of V1 = 5"),
    ("sum(Record[REGION = 'N']/V1) = 5", ROOT, "total", "sum of V1 where REGION = 'N' = 5"),
    ("sum(//V1[../REGION = 'N']) = 5", ROOT, "total", "sum of V1 where REGION = 'N' = 5"),
    ("sum(//Record[REGION = current()/REGION]/V1) <= 5", {}, "total", "sum of V1 of the same REGION <= 5"),
    ("sum(//V1[number(.) = number(.)]) = 5", ROOT, "total", "sum of V1 where V1 is a number = 5"),
    ("sum(//V1) div count(//V1) < 12", ROOT, "total", "average of V1 < 12"),
    ("sum(//V1) div 1000 < 12", ROOT, "total", "0.001 * sum of V1 < 12"),
    ("sum(//V1) - @total <= 0.5 and sum(//V1) - @total >= -0.5", ROOT, "total", "|/@total - sum of V1| <= 0.5"),
    ("abs(sum(../Record/V1) - //Control/TOT) <= 0.5", {"version": "2.0"}, "total",
     "|//Control/TOT - sum of V1| <= 0.5"),
    ("avg(//Record/V1) le 12", MODERN, "total", "average of V1 <= 12"),
    ("sum((//V1, //V2)) = 5", MODERN, "total", "sum of V1 + sum of V2 = 5"),
    ("sum(//Record/number(V1)) = 5", MODERN, "total", "sum of V1 = 5"),
    ("sum(//Record/V1/number()) = 5", MODERN, "total", "sum of V1 = 5"),
    ("sum(//Record/xs:decimal(V1)) = xs:decimal(@total)", MODERN, "total", "/@total = sum of V1"),
    # not understood as conditions on tallies
    ("sum(//V1) = 5 or sum(//V2) = 5", ROOT, "total", ""),
    ("sum(//V1) != 5", ROOT, "total", ""),
    ("max(//V1) < 5", MODERN, "total", ""),
    ("sum(//Record/(V1 * V2)) = 5", MODERN, "total", ""),
    ("sum(../Record[ID = current()/ID]/V1) = V2", {}, "total", ""),
    ("sum(//Record[1]/V1) = 5", ROOT, "total", ""),
    ("sum(//V1) * sum(//V2) = 5", ROOT, "total", ""),
    ("sum(preceding-sibling::Record/V1) < 5", {}, "total", ""),
    ("V1 >= preceding-sibling::Record[1]/V1", {}, "other", ""),
    ("every $r in //Record satisfies $r/V1 > 0", {"version": "2.0"}, "other", ""),
]  # fmt: skip


@pytest.mark.parametrize(("test", "options", "kind", "form"), BOUNDS, ids=[row[0] for row in BOUNDS])
def test_counts_and_totals(test: str, options: dict[str, Any], kind: str, form: str) -> None:
    assert understood(test, **options) == (kind, form)


@pytest.mark.parametrize(
    ("test", "variables"),
    [
        ("sum(//Record/number(V1)) = 5", {"V1"}),
        ("sum(//Record/(V1 * V2)) = 5", {"V1", "V2"}),
        ("sum(//Record/V1/text()) = 5", {"V1"}),
        ("sum(//V1/../V2) = 5", {"V1", "V2"}),
        ("abs(sum(//V1) - /Records/Header/TOT) <= 0.5", {"V1"}),
        ("sum(//V1[number(.) = number(.)]) = //Control/V2", {"V1"}),
    ],
)
def test_every_field_of_records_counts_and_no_other(test: str, variables: set[str]) -> None:
    """A field that goes unseen would be masked as if no rule read it."""
    assert set(edit_of(test, of=FIELDS, version="2.0", context="Records").variables) == variables


def test_a_rule_that_applies_depending_on_other_records_is_not_understood() -> None:
    assert understood("V1 = V2", context="Record[count(../Record) > 5]")[0] == "other"


# files


def book(path: Path, *rules: tuple[str, str], binding: str = "xslt") -> Path:
    """Write rules as (context, test); ids are R1, R2, ..."""
    escaped = [(context, test.replace("<", "&lt;")) for context, test in rules]
    body = "".join(
        f'<pattern><rule context="{context}"><assert id="R{number}" test="{test}">R{number}</assert></rule></pattern>'
        for number, (context, test) in enumerate(escaped, 1)
    )
    path.write_text(f'<schema xmlns="{SCH}" queryBinding="{binding}">{body}</schema>', encoding="utf-8")
    return path


def rows(n: int = 100, seed: int = 4) -> Rows:
    """A + B = T, an amount M with cents, a key and a region."""
    generator = np.random.default_rng(seed)
    found: Rows = []
    for record in range(n):
        a, b = (int(x) for x in generator.integers(0, [500, 900]))
        cents = int(generator.integers(1, 90_000))
        region = "NSE"[int(generator.integers(0, 3))]
        found.append({"ID": 1000 + record, "A": a, "B": b, "T": a + b, "M": f"{cents / 100:.2f}", "REGION": region})
    return found


def total(data: Rows, name: str, region: str = "") -> Fraction:
    return sum((Fraction(str(row[name])) for row in data if not region or row["REGION"] == region), Fraction(0))


ROLES: Mapping[str, Role] = {"ID": Role.RECORD_ID, "REGION": Role.UNTOUCHED}
SUM = ("Record", "A + B = T")


def masked(
    folder: Path, data: Rows, *rules: tuple[str, str], binding: str = "xslt", k: int = 5, **settings: Any
) -> masktron.MaskResult:
    """Mask and let the independent judge look at the written file: no violation, no group smaller than k."""
    source, out = write_data(folder / "data.xml", data), folder / "masked.xml"
    if "attributes" in settings:
        source.write_text(source.read_text().replace("<Data>", f"<Data {settings.pop('attributes')}>", 1))
    rulebook = book(folder / "rules.sch", *rules, binding=binding)
    settings.setdefault("roles", ROLES)
    result = masktron.mask(source, rulebook, out, k=k, **{"order": "keep", **settings})
    assert violations(rulebook, out, source) == {}
    records = table(out)
    assert all(smallest_group(records, block.variables) >= k for block in result.blocks)
    conforms(result.as_dict(), "mask")
    manifest = out.with_suffix(".manifest.json")
    assert masktron.check(out, rulebook, original=source, manifest=manifest).complies
    return result


def test_a_total_is_mended_and_the_rest_holds(tmp_path: Path) -> None:
    data = rows(103)
    rules = [SUM, *(("Data", f"sum(Record/{name}) = {total(data, name)}") for name in "ABT")]
    result = masked(tmp_path, data, *rules)
    assert [repair.after for repair in result.repairs] == [0.0] * len(result.repairs)
    assert result.repairs
    assert all(repair.before for repair in result.repairs)
    assert 0 < max(repair.groups for repair in result.repairs) <= 8
    manifest = json.loads((tmp_path / "masked.manifest.json").read_text())
    assert manifest["result"]["repairs"] == [repair.as_dict() for repair in result.repairs]
    assert "mended: R" in repr(result)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", parts(range(4), 2))
def test_groups_of_one_size_become_unequal_where_a_total_asks_for_it(seed: int, tmp_path: Path) -> None:
    """100 records in groups of five: totals would be multiples of five."""
    data = rows(100, seed)
    if total(data, "A") % 5 == 0:
        data[0]["A"], data[0]["T"] = int(str(data[0]["A"])) + 1, int(str(data[0]["T"])) + 1
    masked(tmp_path, data, SUM, ("Data", f"sum(Record/A) = {total(data, 'A')}"))
    records = table(tmp_path / "masked.xml")
    sizes = Counter((record["A"], record["B"]) for record in records).values()
    assert gcd(*sizes) == 1


def test_what_no_groups_can_reach_is_refused_with_the_reason(tmp_path: Path) -> None:
    """Two groups of five, and a total that is no multiple of five: the one group of ten does not help either."""
    data: Rows = [{"A": 7 * record + (record == 0)} for record in range(10)]
    assert sum(int(str(row["A"])) for row in data) % 5
    with refused(InfeasibleError, "rules-not-kept", fields=("A",), rules=("R1",)) as caught:
        masked(tmp_path, data, ("Data", f"sum(Record/A) = {sum(int(str(row['A'])) for row in data)}"), roles={})
    assert not (tmp_path / "masked.xml").exists()
    assert "a multiple of 5 steps" in problem_of(caught.value).references["reason"]
    assert not any(f" {row['A']} " in str(caught.value) for row in data if int(str(row["A"])) > 9)


def test_totals_of_decimals_with_a_tolerance(tmp_path: Path) -> None:
    data = rows(60)
    amount = float(total(data, "M"))
    rule = f"sum(Record/M) - {amount:.2f} < 0.005 and sum(Record/M) - {amount:.2f} > -0.005"
    masked(tmp_path, data, ("Data", rule), ("Record", "M > 0"))


def test_a_bound_is_only_mended_where_it_is_broken(tmp_path: Path) -> None:
    data = rows(100)
    loose = masked(tmp_path, data, SUM, ("Data", f"sum(Record/A) <= {total(data, 'A') + 5000}"))
    assert loose.repairs == ()


def test_a_total_at_the_edge_of_its_bound_comes_back(tmp_path: Path) -> None:
    """Large values weigh more, so that the plain total of weighted means rises far above its bound."""
    data: Rows = [{"A": a, "W": 1 if a == 10 else 5} for a in [10, 400, 500, 500, 520] * 12]
    most = sum(int(str(row["A"])) for row in data)
    rules = [("Record", "A mod 10 = 0"), ("Data", f"sum(Record/A) <= {most}")]
    result = masked(tmp_path, data, *rules, roles={"W": "weight"}, k=30)
    assert result.repairs[0].before > 1000
    assert {int(str(record["A"])) % 10 for record in table(tmp_path / "masked.xml")} == {0}


@pytest.mark.full
def test_totals_by_a_classification_part_the_groups(tmp_path: Path) -> None:
    data = rows(120)
    rules = [(f"Record[REGION = '{r}']", f"sum(../Record[REGION = current()/REGION]/T) = {total(data, 'T', r)}")
             for r in "NSE"]  # fmt: skip
    masked(tmp_path, data, SUM, *rules)
    records = table(tmp_path / "masked.xml")
    regions: dict[object, set[object]] = {}
    for record in records:
        regions.setdefault((record["A"], record["B"], record["T"]), set()).add(record["REGION"])
    assert sum(len(found) > 1 for found in regions.values()) <= 1


def test_totals_of_a_part_of_the_file(tmp_path: Path) -> None:
    data = rows(90)
    rules = [("Data", f"sum(Record[REGION = '{r}']/A) = {total(data, 'A', r)}") for r in "NE"]
    masked(tmp_path, data, SUM, *rules)


def test_weighted_means_do_not_keep_totals_and_are_mended(tmp_path: Path) -> None:
    data = [{**row, "W": 1 + int(str(row["T"])) // 200} for row in rows(100)]
    rule = ("Data", f"sum(Record/T) = {total(data, 'T')}")
    result = masked(tmp_path, data, SUM, rule, roles={**ROLES, "W": Role.WEIGHT})
    assert abs(result.repairs[0].before) > 20


def test_a_product_keeps_its_total_between_limits(tmp_path: Path) -> None:
    data = [{**row, "P": int(str(row["A"])) * int(str(row["B"]))} for row in rows(80)]
    most = total(data, "P")
    rule = ("Data", f"sum(Record/P) <= {most} and sum(Record/P) >= {most - 100}")
    result = masked(tmp_path, data, ("Record", "A * B = P"), rule)
    assert result.repairs[0].groups > 1


def test_a_balance_lets_its_parts_move_together(tmp_path: Path) -> None:
    """A alone has half a unit of room; its total is thousands off, since the weights go with it."""
    generator = np.random.default_rng(8)
    data: Rows = []
    for _ in range(60):
        a, b = (int(cents) for cents in generator.integers(100, 90_000, size=2))
        data.append({"A": f"{a / 100:.2f}", "B": f"{b / 100:.2f}", "T": round((a + b) / 100), "W": 1 + a // 10_000})
    balance = "A + B - T <= 0.51 and A + B - T >= -0.51"
    amount = total(data, "A")
    bounds = f"sum(Record/A) <= {float(amount + 1):.2f} and sum(Record/A) >= {float(amount - 1):.2f}"
    result = masked(tmp_path, data, ("Record", balance), ("Data", bounds), roles={"W": Role.WEIGHT}, k=10)
    assert abs(result.repairs[0].before) > 10_000


def test_a_product_with_a_long_fraction_lets_its_other_factor_move(tmp_path: Path) -> None:
    """One more of N asks for a digit of R with which the product in doubles is exact."""
    generator = np.random.default_rng(9)
    data: Rows = []
    while len(data) < 60:
        factors = [Fraction(int(generator.integers(1, 3 * 10**8)), 10**8), Fraction(int(generator.integers(2, 900)))]
        product = factors[0] * factors[1]
        if multiplies_up(factors, product):
            data.append({"R": written(factors[0]), "N": written(factors[1]), "P": written(product)})
    rule = ("Data", f"sum(Record/N) = {total(data, 'N')}")
    result = masked(tmp_path, data, ("Record", "R * N = P"), rule, roles={}, k=12)
    assert result.blocks[0].exits["medoid"] == 0


def test_a_total_that_stands_at_the_root(tmp_path: Path) -> None:
    data = rows(100)
    rule = ("Data", "abs(sum(Record/T) - @total) <= 3")
    masked(tmp_path, data, SUM, rule, attributes=f'total="{total(data, "T") + 2}"', binding="xslt2")


def test_totals_of_totals_follow_from_the_records(tmp_path: Path) -> None:
    result = masked(tmp_path, rows(100), SUM, ("Data", "sum(Record/T) = sum(Record/A) + sum(Record/B)"))
    assert result.repairs == ()


def test_missing_values_and_codes_take_part_as_the_rule_sees_them(tmp_path: Path) -> None:
    data = rows(100)
    for row in data[:20]:
        del row["A"]
        row["T"] = row["B"]
    for row in data[20:40]:
        row["B"] = -9
        row["T"] = row["A"]
    sums = "not(A) and B = T or B = -9 and A = T or A + B = T"
    known = sum(int(str(row["A"])) for row in data if "A" in row)
    code = sum(int(str(row["B"])) for row in data)
    masked(
        tmp_path, data, ("Record", sums), ("Data", f"sum(Record/A) = {known}"), ("Data", f"sum(Record/B) = {code}"),
        missing={"B": frozenset({"-9"})},
    )  # fmt: skip


def test_keys_and_counts_that_masking_does_not_touch(tmp_path: Path) -> None:
    data = rows(60)
    north = sum(row["REGION"] == "N" for row in data)
    result = masked(
        tmp_path, data, SUM,
        ("Record", "count(//Record[ID = current()/ID]) = 1"),
        ("Data", f"count(Record[REGION = 'N']) = {north}"),
        ("Data", "count(Record) = 60"),
    )  # fmt: skip
    assert result.repairs == ()


def test_a_unique_masked_value_is_refused(tmp_path: Path) -> None:
    rule = ("Record", "not(preceding-sibling::Record/ID = ID)")
    with refused(InfeasibleError, "rules-not-kept", fields=("ID",), rules=("R1",)):
        masked(tmp_path, rows(60), rule, roles={"REGION": Role.UNTOUCHED})
    both = ("Record", "count(//Record[ID = current()/ID and A = current()/A]) = 1")
    masked(tmp_path, rows(60), both, SUM)


def test_a_count_that_masking_keeps_is_kept_and_another_refused(tmp_path: Path) -> None:
    data: Rows = [{"A": value} for value in [*range(0, 50), *range(1000, 1050)]]
    masked(tmp_path, data, ("Data", "count(Record[A >= 1000]) = 50"), roles={})
    with refused(InfeasibleError, "rules-not-kept", fields=("A",), rules=("R1",)):
        masked(tmp_path, data, ("Data", "count(Record[A = 1049]) >= 1"), roles={})


def test_what_cannot_be_mended_is_judged_in_the_written_file(tmp_path: Path) -> None:
    """Half of the file's total is more than any mean; the greatest value is more than the greatest mean."""
    data = rows(60)
    masked(tmp_path, data, SUM, ("Record", "A <= 0.5 * sum(../Record/A)"))
    top = max(int(str(row["A"])) for row in data)
    with refused(InfeasibleError, "rules-not-kept", rules=("R1",)):
        masked(tmp_path, data, ("Data", f"max(Record/A) = {top}"), binding="xslt2")


# the original


def test_leaving_records_out_does_not_mend_a_total(tmp_path: Path) -> None:
    data = rows(60)
    rules = ("Record", f"sum(../Record/A) = {total(data, 'A') + 1}")
    with refused(InvalidOriginalError, "original-breaks-file-rules", rules=("R1",)):
        masked(tmp_path, data, rules, invalid="exclude")
    assert masked_without(tmp_path, data, rules) == ("R1",)


def masked_without(folder: Path, data: Rows, rule: tuple[str, str]) -> tuple[str, ...]:
    source, rulebook = write_data(folder / "data.xml", data), book(folder / "rules.sch", rule, SUM)
    return masktron.mask(source, rulebook, folder / "o.xml", k=5, roles=ROLES, allow=("R1",)).allowed


def test_leaving_records_out_may_break_a_total_and_says_so(tmp_path: Path) -> None:
    data = rows(60)
    data[7]["T"] = -1
    rules = [SUM, ("Data", f"sum(Record/A) = {total(data, 'A')}"), ("Data", "count(Record) = 60")]
    with refused(InfeasibleError, "rules-not-kept", rules=("R2", "R3")) as caught:
        masked(tmp_path, data, *rules, invalid="exclude")
    assert "1 record was left out" in problem_of(caught.value).references["reason"]


# explain


def test_explain_says_what_is_asked_and_what_is_done(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data.xml", rows(60))
    rules = [
        SUM,
        ("Data", "sum(Record/A) <= 1000000"),
        ("Data", "count(Record[A > 5]) > 1"),
        ("Data", "count(Record) = 60"),
    ]
    rulebook = book(tmp_path / "rules.sch", *rules)
    said = {rule["id"]: rule for rule in masktron.explain(rulebook, data, roles=ROLES).as_dict()["rules"]}
    assert said["R2"]["form"] == "sum of A <= 1000000"
    assert "spread over groups" in said["R2"]["why"]
    assert "judged after masking" in said["R3"]["why"]
    assert said["R4"]["why"] == "reads no masked field"


# theorems


@given(
    st.lists(st.integers(0, 3), min_size=4, max_size=12),
    st.lists(st.integers(-50, 50), min_size=4, max_size=4),
    st.fractions(min_value=-3, max_value=3, max_denominator=4),
    st.data(),
)
def test_a_total_over_groups_is_a_multiple_of_its_measure(
    labels: list[int], values: list[int], factor: Fraction, draw: st.DataObject
) -> None:
    codes = np.unique(labels, return_inverse=True)[1].astype(np.intp)
    groups = int(codes.max()) + 1
    chosen = np.array(draw.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))), dtype=np.bool_)
    flags = np.zeros(groups, dtype=np.bool_)
    lexemes = np.array([str(values[code]) for code in codes], dtype=np.object_)
    condition = TotalCondition(0, (), (TallyTerm(Tally("sum", "A"), factor, chosen, 0),), "=", Fraction(0))
    unit = condition.measure({"A": lexemes}, {"A": RecordGroups(codes, flags, flags)}, finer=2)
    figure = condition.figure({"A": lexemes})
    assert unit is not None
    assert figure is not None
    assert figure == 0 if unit == 0 else (figure / unit).denominator == 1
