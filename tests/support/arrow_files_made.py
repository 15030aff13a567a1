"""The household sample with types, and files in Arrow's types as other software writes them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from lxml import etree

from paths import SAMPLES

_TEXTS = ("Name", "Status", "Tenure", "Occupation")
"""Codes of occupations begin with 0."""


def household() -> pa.Table:
    """Integers, decimals, texts and categories, with metadata of the file and of a field."""
    root = etree.parse(str(SAMPLES / "household.xml")).getroot()
    rows = [{str(cell.tag): cell.text for cell in record} for record in root]
    names = list(dict.fromkeys(name for row in rows for name in row))
    arrays: dict[str, Any] = {}
    for name in names:
        texts = [row.get(name) for row in rows]
        held = [text for text in texts if text is not None]
        if name in _TEXTS:
            arrays[name] = pa.array(texts)
        elif name == "Region":
            arrays[name] = pa.array(texts).dictionary_encode()
        elif any("." in text for text in held):
            places = max(len(text.partition(".")[2]) for text in held)
            values = [None if text is None else Decimal(text) for text in texts]
            arrays[name] = pa.array(values, pa.decimal128(12, places))
        else:
            arrays[name] = pa.array([None if text is None else int(text) for text in texts], pa.int32())
    table = pa.table(arrays)
    age = table.schema.get_field_index("Age")
    schema = table.schema.set(age, table.schema.field("Age").with_metadata({"unit": "years"}))
    return table.cast(schema.with_metadata({"survey": "household"}))


def write_typed(path: Path, table: pa.Table) -> Path:
    """Write a file of the format that its name says."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=300, compression="zstd", use_dictionary=["Region"])
        return path
    opener = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    with opener(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table, max_chunksize=300)
    return path


def write_xml(path: Path, lexemes: pa.Table) -> Path:
    """Write lexemes as the household survey in XML."""
    rows = [
        "<Household>" + "".join(f"<{k}>{escape(v)}</{k}>" for k, v in row.items() if v is not None) + "</Household>"
        for row in lexemes.to_pylist()
    ]
    path.write_text("\n".join(["<HouseholdSurvey>", *rows, "</HouseholdSurvey>"]), encoding="utf-8")
    return path


MANY_TYPES: dict[str, pa.Array] = {
    "i8": pa.array([1, None], pa.int8()),
    "u16": pa.array([60_000, None], pa.uint16()),
    "u64": pa.array([2**64 - 1, None], pa.uint64()),
    "f2": pa.array([1.5, None], pa.float16()),
    "f4": pa.array([0.1, None], pa.float32()),
    "d6": pa.array([Decimal("1" * 50 + ".10"), None], pa.decimal256(60, 2)),
    "tn": pa.array([1_000_000_001, None], pa.time64("ns")),
    "ts": pa.array([1, None], pa.timestamp("s")),
    "tns": pa.array([1, None], pa.timestamp("ns")),
    "tz": pa.array([1, None], pa.timestamp("us", tz="Europe/Berlin")),
    "di": pa.array(["a", None]).dictionary_encode(),
    "did": pa.array([7, None]).dictionary_encode(),
    "d64": pa.array([86_400_000, None], pa.date64()),
    "nul": pa.nulls(2),
    "sv": pa.array(["x", None], pa.string_view()),
}
"""Columns of many types of Arrow, with a value and without one."""
