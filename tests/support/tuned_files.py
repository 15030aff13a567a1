"""Small files, rules and settings on which candidates are tried."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cli_runner import SCHEMATRON, write_data


def rows_of(n: int, *, category: bool = False) -> list[dict[str, object]]:
    """Records with A + B = T, a skewed C that is sometimes not stated, and a nominal field where that is wanted."""
    rng = np.random.default_rng(7)
    a, b = rng.integers(0, 500, n), rng.integers(0, 300, n)
    c = np.exp(rng.normal(6, 1, n)).round(1)
    return [
        {"A": int(a[i]), "B": int(b[i]), "T": int(a[i] + b[i]), "C": -9 if i % 9 == 8 else float(c[i])}
        | ({"G": "xyz"[i % 3]} if category else {})
        for i in range(n)
    ]


def write_pair(
    folder: Path, n: int = 60, *, suffix: str = ".xml", category: bool = False, test: str = "A + B = T"
) -> tuple[Path, Path]:
    """Write records in a format, and a rulebook that they obey."""
    rows, data, rules = rows_of(n, category=category), folder / f"data{suffix}", folder / "rules.sch"
    if suffix == ".xml":
        write_data(data, rows)
    elif suffix == ".csv":
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(rows), data)
    rules.write_text(
        f'<schema xmlns="{SCHEMATRON}"><pattern><rule context="Record"><assert id="sum" test="{test}">m</assert>'
        '<assert id="sign" test="A &gt;= 0 and B &gt;= 0">m</assert></rule></pattern></schema>',
        encoding="utf-8",
    )
    return data, rules
