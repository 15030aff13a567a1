"""Rows of texts in files, for tests that compare records one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read the cells of an XML or CSV file as texts; what is missing is empty."""
    frame = pd.read_xml(path, dtype=str) if path.suffix == ".xml" else pd.read_csv(path, dtype=str)
    return [{str(name): str(text) for name, text in row.items()} for row in frame.fillna("").to_dict("records")]
