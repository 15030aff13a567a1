"""Codes for missing values are numbers where they look like some, however a file writes them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from cli_runner import write_data, write_rules
from masktron.config import ReadOptions
from masktron.sources import column
from masktron.sources.column import Status
from masktron.sources.opening import open_source
from masktron.sources.tables.column_strings import column_of
from masktron.sources.variables import MissingCodes, Typed, Variable
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import survey_plain

WRITTEN = ("9998", "9998.0", "09998", "+9998", "9.998e3", " 9998 ", "9998.5", "9997", "-9998", "x", "9998x")
CODED = [True] * 6 + [False] * 5


def coded(path: Path, codes: set[str], reading: ReadOptions | None = None, name: str = "A") -> list[bool]:
    records = open_source(path, reading=reading or ReadOptions()).records(missing={name: frozenset(codes)})
    return [status == Status.CODE for status in records.columns[name].status]


def test_in_xml_and_in_large_xml(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", [{"A": one, "B": at} for at, one in enumerate(WRITTEN)])
    assert coded(data, {"9998"}) == CODED
    found = survey_plain(data)
    assert found is not None
    layout, _, plain = found
    records = read_records(data, layout, plain=plain, missing={"*": frozenset({"9998.00"})})
    assert [status == Status.CODE for status in records.columns["A"].status] == CODED
    assert records.columns["A"].decimals == 1


@pytest.mark.parametrize("many", [1, 1000])
def test_in_tables(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column, "_MANY", many)
    cells = pa.chunked_array([list(WRITTEN)])
    own = column_of(Variable.named("A"), cells, frozenset({"9998"}))
    assert [status == Status.CODE for status in own.status] == CODED
    # what is a text by its type is compared as one
    text = column_of(Variable("A", "A", typed=Typed(text=True)), cells, frozenset({"9998"}))
    assert [at for at, status in enumerate(text.status) if status == Status.CODE] == [0, 5]


def test_with_a_decimal_comma(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("A;B\n9998,0;1\n9998;2\n9998,01;3\n1,5;4\n")
    reading = ReadOptions(options={"decimal": "comma"})
    assert coded(tmp_path / "d.csv", {"9998"}, reading) == [True, True, False, False]


def test_doubles_do_not_decide(tmp_path: Path) -> None:
    near = "9007199254740993"  # its nearest double is that of the code
    (tmp_path / "d.csv").write_text(f"A,B\n9007199254740992,1\n{near},2\n{near}.0,3\n")
    assert coded(tmp_path / "d.csv", {"9007199254740992"}) == [True, False, False]
    assert "1e-99999999999999999999" not in MissingCodes(["0"])
    assert "x" in MissingCodes(["x", "1e-99999999999999999999"])


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3), st.decimals(-5, 5, places=2))
def test_as_fractions_have_it(code: object, other: object) -> None:
    for lexeme in (str(other), f"{other}0", str(code)):
        assert (lexeme in MissingCodes([str(code)])) == (Fraction(lexeme) == Fraction(str(code)))


def test_what_no_record_has_is_told(tmp_path: Path) -> None:
    rows = [{"A": f"{10 + at}.0" if at % 5 else "9998.0", "B": 3 * at + 1} for at in range(40)]
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", "B >= 0")
    missing = {"A": [9998, 9999], "B": [-1]}
    told = "codes for missing values that no record has: 9999 of A, -1 of B"
    described = masktron.describe(data, missing=missing)
    fields = {one.name: one for one in described.fields}
    assert (fields["A"].missing, fields["A"].unmet_codes, fields["B"].unmet_codes) == (8, ("9999",), ("-1",))
    assert told in described.notes
    assert told in masktron.explain(rules, data, missing=missing, k=3).notes
    result = masktron.mask(data, rules, tmp_path / "out.xml", k=3, missing=missing)
    assert told in result.notes
    assert (tmp_path / "out.xml").read_text().count("<A>9998.0</A>") == 8
    # one for all fields is told where no field has it
    everywhere = masktron.describe(data, missing={"*": [9998, -5]})
    assert "codes for missing values that no record has: -5 of all fields" in everywhere.notes
    assert not any("no record has" in one for one in masktron.describe(data, missing={"A": [9998]}).notes)


def test_a_frame_of_texts_compares_texts() -> None:
    frame = pd.DataFrame({"A": ["9998.0", "9998", "b"] * 10, "B": range(30)})
    found = {one.name: one for one in masktron.describe(frame, missing={"A": ["9998"]}).fields}
    assert found["A"].missing == 10


def test_the_streamed_reading_agrees(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"A": [9998.0, 1.5, None] * 20, "B": ["9998.0", "9998", "c"] * 20}), tmp_path / "d.parquet"
    )
    found = {one.name: one for one in masktron.describe(tmp_path / "d.parquet", missing={"*": [9998]}).fields}
    assert (found["A"].missing, found["B"].missing) == (40, 20)
