"""Every aggregator honours the survey weight: one example each, worked out by hand, most through a whole run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import masktron
from cli_runner import write_data, write_rules
from masktron.aggregators import GeometricMean, Median, Medoid
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import detect_layout

WEIGHTS = (6, 1, 1, 2, 2)


def masked_as(
    tmp_path: Path, columns: dict[str, list[object]], *tests: str, weighted: bool = True, **settings: object
) -> tuple[masktron.MaskResult, dict[str, list[str]]]:
    """Mask five records as one group; return the result and what each field shows."""
    rows = [
        {**{name: values[at] for name, values in columns.items()}, "W": weight} for at, weight in enumerate(WEIGHTS)
    ]
    data, out = write_data(tmp_path / "d.xml", rows), tmp_path / "m.xml"
    rules = write_rules(tmp_path / "r.sch", *tests)
    role = "weight" if weighted else "untouched"
    given = {"roles": {"W": role}, "k": 5, "order": "keep", **settings}
    result = masktron.mask(data, rules, out, **given)
    records = read_records(out, detect_layout(out))
    shown = {name: sorted(set(records.columns[name].lexemes.tolist())) for name in columns}
    assert [records.columns["W"].lexemes.tolist()] == [[str(weight) for weight in WEIGHTS]]
    return result, shown


def test_mean(tmp_path: Path) -> None:
    # (6*1 + 2 + 3 + 2*8 + 2*30) / 12 = 87 / 12 = 7.25
    result, shown = masked_as(tmp_path, {"A": ["1.00", "2.00", "3.00", "8.00", "30.00"]}, "A >= 0")
    assert result.blocks[0].aggregator == "mean"
    assert shown == {"A": ["7.25"]}
    (total,) = result.totals
    assert (total.before, total.after, total.change) == (87.0, 87.0, 0.0)


def test_a_fuzzy_prototype(tmp_path: Path) -> None:
    # one cluster, to which all belong: the weighted mean
    _, shown = masked_as(tmp_path, {"A": ["1.00", "2.00", "3.00", "8.00", "30.00"]}, "A >= 0", method="fuzzy")
    assert shown == {"A": ["7.25"]}


def test_a_total_of_few_records_is_not_shown(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"A": at, "X": 7654321 if at == 3 else None} for at in range(20)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A >= 0", "not(X < 0)")
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=5, max_observed_share=5)
    totals = {total.name: total for total in result.totals}
    assert (totals["X"].before, totals["X"].records) == (7654321.0, 0)
    assert "7654321" not in str(result).replace(",", "")
    assert "190" in str(result), "the total of A is that of 20 records"


def test_geometric_mean() -> None:
    # Exponents of 2 for A: (6*0 + 4 + 8 + 2*2 + 2*4) / 12 = 2; for B all 1: 2 ** 2 = 4, 2 ** 1 = 2, C = 8.
    values = np.array([[1, 16, 256, 4, 16], [2] * 5, [2, 32, 512, 8, 32]], dtype=np.float64).T
    found = GeometricMean().aggregate(values, np.zeros(5, dtype=np.intp), np.array(WEIGHTS, dtype=np.float64))
    assert found == pytest.approx(np.array([[4.0, 2.0, 8.0]]))


def test_median() -> None:
    # Half of 12 is 6, which the smallest value alone reaches; without weights it is the third of five.
    values, labels = np.array([[10.0, 20.0, 30.0, 40.0, 50.0]]).T, np.zeros(5, dtype=np.intp)
    assert Median().choose(values, labels, np.array(WEIGHTS, dtype=np.float64)).tolist() == [[0]]
    assert Median().choose(values, labels).tolist() == [[2]]


def test_median_of_ordered_categories(tmp_path: Path) -> None:
    # By weight: low 6, so the lower median is low; by count mid, the third of low, low, mid, mid, high.
    columns: dict[str, list[object]] = {"S": ["low", "mid", "high", "low", "mid"]}
    order = {"S": ["low", "mid", "high"]}
    result, shown = masked_as(tmp_path, columns, "S = 'low' or S != 'x'", ordinal=order)
    assert result.blocks[0].aggregator == "median"
    assert shown == {"S": ["low"]}
    assert masked_as(tmp_path, columns, "S != 'x'", ordinal=order, weighted=False)[1] == {"S": ["mid"]}
    (category,) = result.categories
    assert category.before == {"high": 1.0, "low": 8.0, "mid": 3.0}
    assert category.after == {"high": 0.0, "low": 12.0, "mid": 0.0}
    assert category.distance == pytest.approx(100 * 4 / 12)


def test_mode(tmp_path: Path) -> None:
    # a weighs 6; b has two records of weights 1 and 1, c two of 2 and 2.
    columns: dict[str, list[object]] = {"S": ["a", "b", "b", "c", "c"]}
    result, shown = masked_as(tmp_path, columns, "S != 'x'", nominal=["S"])
    assert result.blocks[0].aggregator == "mode"
    assert shown == {"S": ["a"]}
    assert masked_as(tmp_path, columns, "S != 'x'", nominal=["S"], weighted=False)[1] == {"S": ["b"]}


def test_medoid() -> None:
    # The mean of these is 44 / 5 = 8.8, nearest to 8; where 30 weighs 8, it is 254 / 12 = 21.2, nearest to 30.
    values = np.array([[1.0], [2.0], [3.0], [8.0], [30.0]])
    labels = np.zeros(5, dtype=np.intp)
    assert Medoid().choose(values, labels, np.array([1.0, 1.0, 1.0, 1.0, 8.0])).item() == 4
    assert Medoid().choose(values, labels).item() == 3
    # The mean of 0, 1, 4 with weights 2, 1, 1 is 5 / 4.
    points, weights = np.array([[0.0], [1.0], [4.0]]), np.array([2.0, 1.0, 1.0])
    distances = Medoid().distances(points, np.zeros(3, dtype=np.intp), weights)
    assert distances.tolist() == [1.5625, 0.0625, 7.5625]


@pytest.mark.full
def test_medoid_in_a_run(tmp_path: Path) -> None:
    # Only a whole record keeps a comparison of texts. By weight the record of weight 6 is nearest to the mean.
    columns: dict[str, list[object]] = {"S": ["p", "q", "q", "r", "r"], "T": ["P", "Q", "Q", "R", "R"]}
    rule = "contains('pP qQ rR', concat(S, T))"
    result, shown = masked_as(tmp_path, columns, rule, nominal=["S", "T"])
    assert result.blocks[0].aggregator == "medoid"
    assert shown == {"S": ["p"], "T": ["P"]}
    assert masked_as(tmp_path, columns, rule, nominal=["S", "T"], weighted=False)[1] == {"S": ["q"], "T": ["Q"]}


def test_derive(tmp_path: Path) -> None:
    # A: (6*2 + 4 + 4 + 2*2 + 2*6) / 12 = 3; B: (6*3 + 9 + 5 + 2*3 + 2*5) / 12 = 4; C = A * B and D = C + A.
    a, b = [2, 4, 4, 2, 6], [3, 9, 5, 3, 5]
    c = [x * y for x, y in zip(a, b, strict=True)]
    columns: dict[str, list[object]] = {
        "A": [*a],
        "B": [*b],
        "C": [*c],
        "D": [x + y for x, y in zip(a, c, strict=True)],
    }
    result, shown = masked_as(tmp_path, columns, "A * B = C", "C + A = D")
    assert result.blocks[0].aggregator == "derive"
    assert shown == {"A": ["3"], "B": ["4"], "C": ["12"], "D": ["15"]}


def test_derive_with_categories(tmp_path: Path) -> None:
    # A as above; S takes its mode by weight, R its median by weight: a (6 of 12 reach the half).
    columns: dict[str, list[object]] = {
        "A": [2, 4, 4, 2, 6],
        "S": ["x", "y", "y", "z", "z"],
        "R": ["a", "b", "c", "b", "c"],
    }
    rule = "not(S = 'w') or A > 7 or R = 'd'"
    result, shown = masked_as(tmp_path, columns, rule, nominal=["S"], ordinal={"R": ["a", "b", "c"]})
    assert result.blocks[0].aggregator == "derive"
    assert shown == {"A": ["3"], "S": ["x"], "R": ["a"]}
    assert result.blocks[0].exits["rounded"] == 1
