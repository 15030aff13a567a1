"""A written file of which a cell is another one than was meant is not published, in whatever format."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import masktron
from cli_runner import write_data, write_rules
from made_columns import column_of_cells
from masktron.errors import ViolationError
from masktron.sources.column import written_alike
from masktron.sources.lexicon import Lexicon
from masktron.sources.source import Source
from masktron.sources.variables import Typed
from refusals import refused

ROWS = [{"A": a, "B": 2 * a, "note": f"n{a}", "code": "7" if a == 5 else f"0{a}"} for a in range(1, 9)]


def another_note(path: Path) -> None:
    """Exchange a cell that is not masked."""
    if path.read_bytes().startswith(b"PAR1"):
        table = pq.read_table(path)
        notes = ["n0" if note == "n3" else note for note in table["note"].to_pylist()]
        pq.write_table(table.set_column(2, "note", pa.array(notes)), path)
    else:
        path.write_bytes(path.read_bytes().replace(b"n3", b"n0"))


def another_number(path: Path) -> None:
    """Raise the masked numbers of a record, so that its rule holds."""
    if path.read_bytes().startswith(b"PAR1"):
        table = pq.read_table(path)
        for at, name in enumerate("AB"):
            values = table[name].to_pylist()
            table = table.set_column(at, name, pa.array([values[0] * 2, *values[1:]], table[name].type))
        pq.write_table(table, path)
        return
    path.write_bytes(re.sub(rb"(?<=[>\n])[0-9](?=[<,])", b"7", path.read_bytes(), count=1))


def no_note(path: Path) -> None:
    """Leave out a field that is not masked, in every record."""
    if path.read_bytes().startswith(b"PAR1"):
        table = pq.read_table(path)
        pq.write_table(table.set_column(2, "note", pa.nulls(len(table), pa.string())), path)
    else:
        path.write_bytes(re.sub(rb"<note>n[0-9]</note>|(?<=,)n[0-9]", b"", path.read_bytes()))


def respelled(path: Path) -> None:
    """Write a text that looks like a number as another text that denotes the same one."""
    if path.read_bytes().startswith(b"PAR1"):
        table = pq.read_table(path)
        codes = ["007" if code == "7" else code for code in table["code"].to_pylist()]
        pq.write_table(table.set_column(3, "code", pa.array(codes)), path)
    else:
        path.write_bytes(re.sub(rb"(?<=[>,])7(?=</code>|\r?\n)", b"007", path.read_bytes()))


@pytest.mark.parametrize("suffix", [".csv", ".xml", ".parquet"])
@pytest.mark.parametrize("spoil", [another_note, another_number, no_note, respelled])
def test_a_cell_that_is_not_as_it_was_meant(
    suffix: str, spoil: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, rules = write_data(tmp_path / "d.xml", ROWS), write_rules(tmp_path / "r.sch", "A >= 0")
    if suffix != ".xml":
        data = Path(masktron.convert(data, tmp_path / f"d{suffix}").output)
    settings: dict[str, Any] = {
        "k": 4,
        "roles": {"note": "untouched", "code": "untouched"},
        "secret": bytes(range(32)),
    }
    masktron.mask(data, rules, out=tmp_path / f"right{suffix}", **settings)
    usual = Source.write

    def spoiled(own: Source, target: Path, *args: Any, **more: Any) -> int:
        count = usual(own, target, *args, **more)
        spoil(target)
        return count

    monkeypatch.setattr(Source, "write", spoiled)
    with refused(ViolationError, "self-check-failed"):
        masktron.mask(data, rules, out=tmp_path / f"wrong{suffix}", **settings)
    assert not (tmp_path / f"wrong{suffix}").exists()


def test_numbers_may_be_spelled_otherwise_and_nothing_else() -> None:
    meant = ["1.50", "1.50", "12345678901234567890.1", "a", None, "", "a"]
    found = ["1.5", "1.51", "12345678901234567890.2", "a", None, None, "A"]
    column = column_of_cells(found)
    alike = partial(written_alike, Lexicon.of(meant), np.arange(len(meant)))
    assert alike(column, respelled=True).tolist() == [True, False, False, True, True, False, False]
    exactly = [False, False, False, True, True, False, False]
    assert alike(column, respelled=False).tolist() == exactly
    assert (
        alike(replace(column, variable=replace(column.variable, typed=Typed(text=True))), respelled=True).tolist()
        == exactly
    )
