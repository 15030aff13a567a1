"""Groups of whole runs: governing rules, and unmasked fields that tie or limit masked ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import masktron
from cli_runner import write_data, write_rules
from examples import spread
from masktron.results import BlockResult

type Rows = list[dict[str, object]]


def masked(folder: Path, rows: Rows, *tests: str, **settings: Any) -> BlockResult:
    """Mask; libxml2 judges the written file, and groups are counted in it."""
    data, rules = write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", *tests)
    result = masktron.mask(data, rules, folder / "m.xml", **{"order": "keep", **settings})
    records = etree.parse(folder / "m.xml").getroot().findall("Record")
    assert len(records) == len(rows)
    for test in tests:
        holds = etree.XPath(f"boolean({test})")
        assert all(holds(record) for record in records), test
    for block in result.blocks:
        groups = Counter(tuple(record.findtext(name) for name in block.variables) for record in records)
        assert min(groups.values()) >= settings["k"]
    return max(result.blocks, key=lambda block: len(block.rules))


@pytest.mark.parametrize("seed", spread(range(4), every=3))
def test_classes_without_a_common_value_are_kept_apart(seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(seed)
    rows: Rows = [
        {"U": u, "C": {"EA": "s", "SO": "r"}.get(u, str(generator.choice(list("prs"), p=[0.1, 0.1, 0.8])))}
        for u in ["EA"] * 9 + ["SO"] * 5 + ["NO"] * 6
    ]
    rules = ("not(U = 'EA') or C = 's'", "not(U = 'SO') or C = 'r'", "C = 'p' or C = 'r' or C = 's'")
    roles = {"U": "untouched", "C": "confidential"}
    assert masked(tmp_path, rows, *rules, k=9, roles=roles).groups == 2


def limited(n: int = 120) -> Rows:
    generator = np.random.default_rng(2)
    cap = generator.permutation(np.arange(50, 50 + 7 * n, 7))
    share, other = generator.random(n), generator.integers(0, 500, n)
    return [
        {"A": int(c * s), "B": int(b), "CAP": int(c)}
        for c, s, b in zip(cap, np.minimum(1, share * 1.5), other, strict=True)
    ]


def test_a_limit_that_differs_in_each_record_parts_nobody(tmp_path: Path) -> None:
    block = masked(tmp_path, limited(), "A <= CAP", "A + B < 100000", k=4, roles={"CAP": "untouched"})
    assert block.groups == 30
    assert block.information_loss < 15


@pytest.mark.full
def test_limits_on_both_sides_leave_room_in_every_group(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    rows = [{**row, "A": int(str(row["CAP"])) + int(generator.integers(-30, 31))} for row in limited()]
    rules = ("A <= CAP + 30", "A >= CAP - 30", "A + B < 100000")
    assert masked(tmp_path, rows, *rules, k=4, roles={"CAP": "untouched"}).groups > 20


def test_a_limit_under_a_condition(tmp_path: Path) -> None:
    rows = [{**row, "K": "x" if at % 3 else "y"} for at, row in enumerate(limited())]
    for row in rows[::3]:
        row["A"] = int(str(row["CAP"])) + 40
    masked(
        tmp_path,
        rows,
        "not(K = 'x') or A <= CAP",
        "A + B < 100000",
        k=4,
        roles={"CAP": "untouched", "K": "untouched"},
    )


def test_an_equality_with_an_unmasked_field_ties(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    total = generator.choice([100, 200, 300], 60)
    first = (total * generator.random(60)).astype(int)
    rows: Rows = [{"A": int(a), "B": int(t - a), "U": int(t)} for a, t in zip(first, total, strict=True)]
    block = masked(tmp_path, rows, "A + B = U", k=4, roles={"U": "untouched"})
    assert block.exits["medoid"] == 0


def test_nested_and_overlapping_antecedents(tmp_path: Path) -> None:
    generator = np.random.default_rng(9)
    rows: Rows = []
    for _ in range(150):
        a, b, c = generator.integers(0, 100, 3).tolist()
        v = int(generator.integers(0, 100))
        v = min(v, 60) if a > 30 else v
        v = min(v, 40) if a > 70 else v
        v = min(v, b) if b > 50 else v
        w = 0 if c < 5 else int(generator.integers(1, 50))
        rows.append({"A": a, "B": b, "C": c, "V": v, "W": w})
    rules = (
        "not(A > 30) or V <= 60", "not(A > 70) or V <= 40", "not(B > 50) or V <= B", "not(C < 5) or W = 0",
        "C < 5 or W >= 1",
    )  # fmt: skip
    block = masked(tmp_path, rows, *rules, k=5)
    assert block.exits["medoid"] <= 1
    assert block.groups >= 26
