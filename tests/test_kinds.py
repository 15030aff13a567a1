"""Declared kinds: nominal fields take the mode, ordinal ones the median, and numbers beside them keep their mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from cli_runner import write_data, write_rules
from examples import examples
from made_columns import column_of_cells
from masktron.aggregators import Median
from masktron.roles import ranks
from masktron.sources.column import Column
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import detect_layout

SIZES = ("small", "medium", "large")


def column(*lexemes: str | None) -> Column:
    return column_of_cells(lexemes)


def mask(
    folder: Path, rows: list[dict[str, object]], *tests: str, **given_: Any
) -> tuple[masktron.MaskResult, dict[str, list[str | None]]]:
    data, out = write_data(folder / "d.xml", rows), folder / "m.xml"
    result = masktron.mask(data, write_rules(folder / "r.sch", *tests), out, **{"order": "keep", **given_})
    records = read_records(out, detect_layout(out))
    return result, {name: column.lexemes.tolist() for name, column in records.columns.items()}


def rows_of(**columns: list[object]) -> list[dict[str, object]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


# ranks


def test_ranks_follow_the_declared_order_and_ignore_white_space() -> None:
    found = ranks(column("large", " small\n", None, "medium", "huge"), SIZES)
    assert found[[0, 1, 3]].tolist() == [2.0, 0.0, 1.0]
    assert np.isnan(found[[2, 4]]).all()


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=30),
)
def test_the_median_of_ranks_of_numbers_is_the_median_of_the_numbers(rows: list[tuple[int, int, int]]) -> None:
    """So all that its theorem says of numbers holds of an order of numbers."""
    _, labels = np.unique([group for group, _, _ in rows], return_inverse=True)
    held = column(*(str(value) for _, value, _ in rows))
    weights = np.array([float(weight) for *_, weight in rows])
    chosen = Median().choose(ranks(held, ())[:, None], labels, weights)
    assert chosen.tolist() == Median().choose(held.values[:, None], labels, weights).tolist()


# runs


def test_kinds_decide_the_aggregator(tmp_path: Path) -> None:
    rows = rows_of(
        NACE=["01.1", "01.10", "47", "47", "A"] * 6,
        SIZE=[SIZES[at % 3] for at in range(30)],
        STARS=[1 + at % 5 for at in range(30)],
        A=list(range(30)),
    )
    result, shown = mask(tmp_path, rows, "A >= 0", k=3, nominal=["NACE"], ordinal={"SIZE": SIZES, "STARS": []})
    aggregators = {block.variables: block.aggregator for block in result.blocks}
    assert aggregators == {("A",): "mean", ("NACE",): "mode", ("SIZE",): "median", ("STARS",): "median"}
    assert [total.name for total in result.totals] == ["A"]
    categories = {category.name: category for category in result.categories}
    assert {name: category.kind for name, category in categories.items()} == {
        "NACE": "nominal",
        "SIZE": "ordinal",
        "STARS": "ordinal",
    }
    assert categories["NACE"].before == {"01.1": 6.0, "01.10": 6.0, "47": 12.0, "A": 6.0}, "lexemes are categories"
    assert set(shown["NACE"]) <= {"01.1", "01.10", "47", "A"}
    assert sum(categories["SIZE"].after.values()) == 30


def test_near_in_the_order_is_near_in_the_groups(tmp_path: Path) -> None:
    rows = rows_of(S=list("abcdef") * 2, A=[0] * 12)
    _, shown = mask(tmp_path, rows, "S != 'z'", k=4, ordinal={"S": list("abcdef")})
    pairs = sorted({(before, str(after)) for before, after in zip("abcdef" * 2, shown["S"], strict=True)})
    assert pairs == [("a", "a"), ("b", "a"), ("c", "c"), ("d", "c"), ("e", "e"), ("f", "e")]


def test_numbers_beside_categories_are_averaged(tmp_path: Path) -> None:
    rows = rows_of(S=["x"] * 4 + ["y"] * 4, R=list("aabb") * 2, A=[1, 2, 3, 6, 20, 30, 40, 50])
    rule = "(S = 'x' and A < 10) or (S = 'y' and A >= 10 and R != 'c')"
    result, shown = mask(tmp_path, rows, rule, k=4, nominal=["S"], ordinal={"R": ["b", "a", "c"]})
    (block,) = result.blocks
    assert (block.aggregator, block.exits["rounded"]) == ("derive", 2)
    assert shown["A"] == ["3"] * 4 + ["35"] * 4
    assert shown["S"] == ["x"] * 4 + ["y"] * 4
    assert shown["R"] == ["b"] * 8, "the lower median in the declared order, not in that of the alphabet"


def test_an_allowed_combination_costs_the_numbers_nothing(tmp_path: Path) -> None:
    # The modes are a and q, which do not go together; of the combinations that do, c and q has most weight.
    rows = rows_of(
        S=list("aabcd"), R=["p", "r", "q", "q", "q"], A=[1, 2, 3, 4, 10], W=[2, 2, 1, 3, 1], UNTIED=[0, 1, 2, 3, 4]
    )
    rule = "contains('|ap|ar|bq|cq|dq|', concat('|', S, R, '|')) and A >= 0"
    settings_: dict[str, Any] = {"k": 5, "nominal": ["S", "R"], "roles": {"W": "weight"}, "max_observed_share": 0}
    result, shown = mask(tmp_path, rows, rule, **settings_)
    (block,) = [block for block in result.blocks if "S" in block.variables]
    assert block.aggregator == "derive"
    assert (block.exits["projected"], block.exits["medoid"]) == (1, 0)
    assert (shown["S"], shown["R"]) == (["c"] * 5, ["q"] * 5)
    assert shown["A"] == ["3"] * 5, "(2 + 4 + 3 + 12 + 10) / 9 is nearest to 3"


def test_a_combination_without_a_number_is_a_record_and_counted_as_one(tmp_path: Path) -> None:
    rows = rows_of(
        S=list("aabcd") * 2, R=["p", "r", "q", "q", "q"] * 2, A=[None] * 5 + [3] * 5, B=["x"] * 5 + ["y"] * 5
    )
    rule = "contains('|ap|ar|bq|cq|dq|', concat('|', S, R, '|')) and not(A < 0)"
    given_: dict[str, Any] = {"k": 5, "nominal": ["S", "R", "B"], "max_observed_share": 20}
    result, shown = mask(tmp_path, rows, rule, **given_)
    (block,) = [block for block in result.blocks if "S" in block.variables]
    assert {name: count for name, count in block.exits.items() if count} == {"projected": 1, "medoid": 1}
    assert block.observed_share == 20, "where A is 3 throughout, the rest is one record's combination too"
    assert shown["A"] == [None] * 5 + ["3"] * 5


def test_ordered_categories_beside_nominal_ones_take_the_median(tmp_path: Path) -> None:
    rows = rows_of(S=["x"] * 5, R=["high", "high", "mid", "low", "low"])
    given_: dict[str, Any] = {"k": 5, "nominal": ["S"], "ordinal": {"R": ["low", "mid", "high"]}}
    result, shown = mask(tmp_path, rows, "S = 'x' or R = 'mid'", **given_)
    assert (result.blocks[0].aggregator, result.blocks[0].variables) == ("mode", ("S", "R"))
    assert shown["R"] == ["mid"] * 5


def test_a_sum_with_an_ordinal_part_is_solved_for_the_numbers(tmp_path: Path) -> None:
    rows = rows_of(A=[100, 210, 330, 140, 560], C=[1, 2, 4, 9, 0])
    for row in rows:
        row["SIZE"] = int(row["A"]) + int(row["C"])  # type: ignore[call-overload]
    result, shown = mask(tmp_path, rows, "A + C = SIZE", k=5, ordinal=["SIZE"])
    assert (result.blocks[0].aggregator, result.blocks[0].exits["rounded"]) == ("derive", 1)
    assert set(shown["SIZE"]) == {"212"}
    assert [int(a or 0) + int(c or 0) for a, c in zip(shown["A"], shown["C"], strict=True)] == [212] * 5


@pytest.mark.parametrize(
    ("declared", "aggregator"),
    [
        ({"ordinal": ["A", "B"]}, "median"),
        ({"ordinal": {"A": ["1", "2", "3"], "B": ["1", "2", "3"]}}, "median"),
        ({"ordinal": {"A": ["3", "2", "1"], "B": []}}, "medoid"),
        ({"ordinal": {"A": ["1", "2", "3"]}, "nominal": ["B"]}, "medoid"),
        ({"nominal": ["A", "B"]}, "medoid"),
    ],
)
def test_only_an_order_of_numbers_is_compared(tmp_path: Path, declared: dict[str, Any], aggregator: str) -> None:
    rows = rows_of(A=[1, 1, 2, 3, 1, 2], B=[1, 2, 2, 3, 3, 3])
    result, _ = mask(tmp_path, rows, "A <= B", k=3, **declared)
    assert result.blocks[0].aggregator == aggregator


def test_categories_that_are_one_number_break_what_the_mode_keeps_of_numbers(tmp_path: Path) -> None:
    # As numbers A = B everywhere. By lexemes the modes are 01 of A and 2 of B: nothing vouches for them.
    rows = rows_of(A=["1", "01", "01", "2", "02"], B=["1", "1.0", "01", "2", "2"])
    result, shown = mask(tmp_path, rows, "number(A) = number(B)", k=5, nominal=["A", "B"])
    assert result.blocks[0].aggregator == "medoid"
    assert float(shown["A"][0] or 0) == float(shown["B"][0] or 0)


def test_missing_categories_stay_missing(tmp_path: Path) -> None:
    rows = rows_of(S=["small", "large", None, None, "NA", "NA"] * 2, A=list(range(12)))
    result, shown = mask(
        tmp_path, rows, "A >= 0", "not(S) or S != 'x'", k=2, ordinal={"S": SIZES}, missing={"S": ["NA"]}
    )
    before = [None if row["S"] is None else row["S"] == "NA" for row in rows]
    assert [None if text is None else text == "NA" for text in shown["S"]] == before
    assert sum(result.categories[0].before.values()) == 4


def test_a_field_may_change_its_kind_by_option_only_where_it_is_said() -> None:
    assert masktron.Config(nominal=("A",)).kind_of("A") == "nominal"
    assert masktron.Config(ordinal={"A": ()}).kind_of("A") == "ordinal"
    assert masktron.Config().kind_of("A") is None


@pytest.mark.full
@examples(8, full=25)
@given(data=st.data())
def test_mixed_blocks_keep_their_combinations(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Random allowed combinations of two categories and a number's range: every written record obeys them."""
    triples = data.draw(
        st.lists(
            st.tuples(st.sampled_from("abc"), st.sampled_from(SIZES), st.integers(0, 9)),
            min_size=4, max_size=16,
        )
    )  # fmt: skip
    allowed = {(s, r) for s, r, _ in triples}
    limit = {s: max(a for t, _, a in triples if t == s) for s, _, _ in triples}
    combinations = " or ".join(f"(S = '{s}' and R = '{r}')" for s, r in sorted(allowed))
    caps = [f"S != '{s}' or A <= {cap}" for s, cap in sorted(limit.items())]
    rows: list[dict[str, object]] = [{"S": s, "R": r, "A": a} for s, r, a in triples]
    k = data.draw(st.integers(2, len(rows)))
    result, shown = mask(
        tmp_path_factory.mktemp("mixed"),
        rows, combinations, *caps,
        k=k, nominal=["S"], ordinal={"R": SIZES}, max_observed_share=100,
    )  # fmt: skip
    assert result.min_group >= k
    for s, r, a in zip(shown["S"], shown["R"], shown["A"], strict=True):
        assert (s, r) in allowed
        assert int(a or 0) <= limit[str(s)]
