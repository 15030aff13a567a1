"""What a run says of drawn values, against another count of the files: who kept his, which moments are off most."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lxml import etree

import masktron
from attacks import KEY
from cli_runner import write_data, write_rules
from drawing_methods import ALL as DRAWING
from masktron import methods
from masktron.masking.draws import perturbing
from masktron.measures.moment_shift import moment_shift
from paths import SCHEMAS
from schema_files import conforms

type Rows = list[dict[str, object]]
type Kept = tuple[list[bool], list[tuple[str | None, ...]]]

SCHEMA = json.loads((SCHEMAS / "mask.schema.json").read_text(encoding="utf-8"))
MOMENT = SCHEMA["$defs"]["MomentResult"]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "ALL", (*methods.ALL, *DRAWING))


def masked(folder: Path, rows: Rows, *tests: str, **settings: Any) -> tuple[masktron.MaskResult, Any]:
    data, rules = write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", *tests)
    numbers = sorted({name for row in rows for name, value in row.items() if isinstance(value, int)})
    result = masktron.mask(data, rules, folder / "m.xml", numeric=numbers, order="keep", secret=KEY, **settings)
    conforms(result.as_dict(), "mask")
    assert result.draw is not None
    return result, result.draw


def unmoved(folder: Path, *names: str) -> Kept:
    """Whether each record has in all fields what it had, and what that is."""
    before, after = (
        [tuple(record.findtext(name) for name in names) for record in etree.parse(folder / file).getroot()]
        for file in ("d.xml", "m.xml")
    )
    return [own == now for own, now in zip(before, after, strict=True)], before


def by(draw: Any) -> tuple[int, int, int, int]:
    reasons = draw.unmoved_by
    return reasons.untouched, reasons.drawn, reasons.given_back, reasons.rare


def told(result: masktron.MaskResult) -> str:
    (note,) = (note for note in result.notes if "come out as they went in, in all" in note)
    return note


def test_values_within_the_threshold_are_told_from_draws_that_were_the_same(tmp_path: Path) -> None:
    """Small counts: two records of three have nothing beyond a threshold, and donors have what others had."""
    generator = np.random.default_rng(1)
    values = generator.geometric(0.25, size=(150, 2)) * [1, 10]
    result, draw = masked(
        tmp_path, [{"A": int(a), "B": int(b)} for a, b in values], "A >= 0", "B >= 0", method="hierarchical", k=3
    )
    same, before = unmoved(tmp_path, "A", "B")
    beyond = (values > np.quantile(values, 0.85, axis=0)).any(axis=1)
    untouched = sum(own and not marked for own, marked in zip(same, beyond, strict=True))
    drawn = sum(own and bool(marked) for own, marked in zip(same, beyond, strict=True))
    rare = sum(
        own and marked and before.count(values) < 3 for own, marked, values in zip(same, beyond, before, strict=True)
    )
    assert by(draw) == (untouched, drawn, 0, rare)
    assert untouched > 80 < drawn + untouched == draw.unmoved == sum(same)
    assert drawn > 0
    note = told(result)
    assert note.startswith(f"{sum(same)} of 150 records come out as they went in, in all masked fields: ")
    assert f"{untouched} had nothing to replace, {drawn} drew" in note
    assert rare > 0
    assert f"; {rare} of those that were to be replaced are like fewer than k = 3 records" in note
    assert result.as_dict()["draw"]["unmoved"] == sum(same)


@pytest.mark.full
def test_who_gets_his_own_back_since_the_rules_say_so_is_told_apart(tmp_path: Path) -> None:
    generator = np.random.default_rng(2)
    rows: Rows = [
        {"A": int(a), "CAP": int(a), "FIXED": int(at in (7, 31))}
        for at, a in enumerate(generator.integers(0, 10**6, 60))
    ]
    roles = {"CAP": "untouched", "FIXED": "untouched"}
    result, draw = masked(
        tmp_path,
        rows,
        "FIXED = 0 or A = CAP",
        "A >= 0",
        method="test_noise",
        k=3,
        roles=roles,
        max_observed_share=100,
    )
    same, _ = unmoved(tmp_path, "A")
    assert same == [row["FIXED"] == 1 for row in rows]
    assert by(draw) == (0, 0, sum(same), sum(same))
    assert told(result).endswith("look at them before the file is released")


def test_categories_that_are_drawn_alike_are_counted_though_many_share_them(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    rows: Rows = [{"S": "abc"[at]} for at in generator.integers(0, 3, 60)]
    del rows[3]["S"], rows[4]["S"]
    roles = {"S": "confidential"}
    result, draw = masked(tmp_path, rows, "not(S) or S != 'x'", method="test_mixing", k=3, roles=roles)
    same, _ = unmoved(tmp_path, "S")
    assert by(draw) == (2, sum(same) - 2, 0, 0)
    assert sum(same) > 12
    assert "look at them" not in told(result)


def test_fields_that_are_masked_by_groups_count_as_well(tmp_path: Path) -> None:
    """Numbers are drawn and nearly never the same; categories are those of groups. No record keeps both."""
    generator = np.random.default_rng(4)
    rows: Rows = [
        {"S": "ab"[int(at)], "A": int(a)} for at, a in generator.integers([0, 5000], [2, 9000], size=(60, 2))
    ]
    for row in rows[:40]:
        del row["A"]
    roles = {"S": "confidential"}
    tests = ("not(A) or A >= 0", "string-length(S) = 1")
    _, draw = masked(tmp_path, rows, *tests, method="test_noise", k=4, roles=roles)
    same, before = unmoved(tmp_path, "S", "A")
    alone = sum(own and values[1] is None for own, values in zip(same, before, strict=True))
    assert by(draw) == (0, sum(same), 0, 0), "a category that the group gives back was to be replaced"
    assert alone > 20


def test_the_worst_variance_and_correlation_are_said_as_drawn_and_as_written(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    a, b = generator.lognormal(5, 1, size=(2, 70)).astype(int)
    rows: Rows = [{"A": int(x), "B": int(x + y), "C": int(2 * x + y)} for x, y in zip(a, b, strict=True)]
    tests = ("A + B = C", "A >= 0", "B >= A")
    result, draw = masked(tmp_path, rows, *tests, method="test_noise", k=3)
    before, after = (
        np.array(
            [[float(record.findtext(name)) for name in "ABC"] for record in etree.parse(tmp_path / file).getroot()]
        )
        for file in ("d.xml", "m.xml")
    )
    said = draw.variance_written
    ratios = after.var(axis=0) / before.var(axis=0)
    far = int(np.abs(np.log(ratios)).argmax())
    assert (draw.variance_written.name, draw.variance_written.variance_written) == (
        "ABC"[far],
        pytest.approx(ratios[far]),
    )
    pairs = {
        (i, j): (np.corrcoef(before[:, i], before[:, j])[0, 1], np.corrcoef(after[:, i], after[:, j])[0, 1])
        for i, j in combinations(range(3), 2)
    }
    (i, j), (own, now) = max(pairs.items(), key=lambda item: abs(item[1][0] - item[1][1]))
    worst = draw.worst_written
    assert (worst.fields, worst.original, worst.written) == (
        ("ABC"[i], "ABC"[j]),
        pytest.approx(own, abs=1e-12),
        pytest.approx(now, abs=1e-12),
    )
    (note,) = (note for note in result.notes if "holds only so far" in note)
    assert f"that of {'ABC'[far]}, {ratios[far]:.2f} times as large ({said.variance_drawn:.2f} as" in note
    assert f"{'ABC'[i]} and {'ABC'[j]}, {now:.2f} for {own:.2f} in the original ({worst.drawn:.2f} as drawn)" in note
    table = repr(result)
    assert f"written for {own:.4f}" in " ".join(table.split())


def test_draws_beyond_what_a_column_can_hold_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drew: list[Any] = []

    def noted(original: Any, drawn: Any, written: Any) -> Any:
        drew.append(drawn)
        return moment_shift(original, drawn, written)

    monkeypatch.setattr(perturbing, "moment_shift", noted)
    rng = np.random.default_rng(7)
    values, rules = rng.integers(60, 128, 60), write_rules(tmp_path / "r.sch", "A >= -100000")
    told: Any = {"method": "ipso", "numeric": ["A"], "order": "keep", "secret": KEY}
    said = "drawn beyond what the type or the format of the column can hold, and written as values that fit: "
    for kind, some in ((pa.int8(), True), (pa.int16(), False)):
        data, out = tmp_path / f"{kind}.parquet", tmp_path / f"{kind}-out.parquet"
        pq.write_table(pa.table({"A": pa.array(values, kind)}), data)
        result = masktron.mask(data, rules, out, **told)
        assert result.draw is not None
        conforms(result.as_dict(), "mask")
        assert result.as_dict()["draw"]["moments"][0].keys() == set(MOMENT["required"]) == set(MOMENT["properties"])
        (moment,) = result.draw.moments
        beyond = int((drew[-1] > 127).sum() + (drew[-1] < -128).sum())
        notes = [note for note in result.notes if note.startswith("drawn beyond")]
        if some:
            assert moment.beyond == beyond > 2
            assert notes == [f"{said}{beyond} of A; a wider column keeps the draws as they are"]
            assert (pq.read_table(out)["A"].to_numpy() == 127).sum() >= beyond
        else:
            assert beyond > 0
            assert (moment.beyond, notes) == (0, [])
