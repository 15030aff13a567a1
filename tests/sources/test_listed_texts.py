"""Texts are categories without a word where somebody has listed their values; else they may be names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import masktron
from cli_runner import write_file, write_rules
from refusals import code_of

SIZES = ["small", "large", "mid"] * 10


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rules(tmp_path / "r.sch", "A >= 0")


def said(rules: Path, data: Any, **more: object) -> tuple[str | None, str]:
    found = masktron.explain(rules, data, k=3, **more)  # type: ignore[arg-type]
    return found.obstacle, " ".join(found.notes)


def csv_of(folder: Path) -> Path:
    return write_file(folder / "d.csv", "A,size\n" + "".join(f"{at}.5,{size}\n" for at, size in enumerate(SIZES)))


SCHEMAS = {
    "plain values": ({"categories": ["small", "mid", "large"]}, "nominal: size"),
    "in an order": ({"categories": ["small", "mid", "large"], "categoriesOrdered": True}, "ordinal: size"),
    "enum": ({"constraints": {"enum": ["small", "mid", "large"]}}, "nominal: size"),
    "labels": ({"categories": [{"value": "small", "label": "S"}, "mid", "large"]}, "nominal: size"),
    "a string": ({}, None),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_table_schema_that_lists_values(rules: Path, tmp_path: Path, name: str) -> None:
    field, expected = SCHEMAS[name]
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"fields": [{"name": "size", "type": "string", **field}]}))
    obstacle, notes = said(rules, csv_of(tmp_path), metadata=schema)
    if expected is None:
        assert obstacle is not None
        assert code_of(obstacle) == "no-role"
    else:
        assert obstacle is None
        assert expected in notes


@pytest.mark.parametrize("ordered", [True, False])
def test_categories_of_arrow_are_listed_where_they_have_an_order(
    rules: Path, tmp_path: Path, *, ordered: bool
) -> None:
    path = tmp_path / "d.parquet"
    column = pa.array(SIZES).dictionary_encode()
    column = pa.DictionaryArray.from_arrays(column.indices, column.dictionary, ordered=ordered)
    table = pa.table({"A": [at + 0.5 for at in range(30)], "size": column})
    pq.write_table(table, path)
    frame = table.to_pandas()
    assert frame["size"].cat.ordered is ordered
    kind = pl.Enum(["small", "mid", "large"]) if ordered else pl.Categorical
    polars = pl.DataFrame({"A": table["A"].to_pylist(), "size": pl.Series(SIZES, dtype=kind)})
    for data in (path, table, frame, polars):
        obstacle, notes = said(rules, data)
        if ordered:
            assert obstacle is None
            assert "ordinal: size" in notes
        else:
            assert obstacle is not None
            assert code_of(obstacle) == "no-role"
            assert "nominal: size" in said(rules, data, roles={"size": "confidential"})[1]


def test_texts_alone_say_nothing(rules: Path) -> None:
    obstacle, _ = said(rules, pd.DataFrame({"A": [at + 0.5 for at in range(30)], "size": SIZES}))
    assert obstacle is not None
    assert code_of(obstacle) == "no-role"
    assert 'roles={"size": "identifier"}' in obstacle
