"""Workbooks: what cells mean, what is kept of them, what is refused; and the jobs on them."""

from __future__ import annotations

import datetime
import random
import re
import time
import zipfile
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xlsxwriter

import masktron
from cli_runner import write_rules
from made_columns import cells_of, dataset_of, release_of
from masktron.errors import DocumentError, UsageError, ViolationError
from masktron.sources.dataset import Dataset
from masktron.sources.opening import open_source
from masktron.sources.tables import office_files
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.descriptions import descriptions_lost
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_format import TableFormat
from masktron.sources.tables.table_source import TableSource
from masktron.sources.tables.table_view import TableRequest
from masktron.sources.tables.workbooks import OdsFormat, XlsxFormat
from masktron.sources.variables import UNTYPED, Typed, Variable
from ods_files import write_ods
from refusals import refused
from sample_tables import require_masked_as_xml

FORMATS: list[TableFormat] = [XlsxFormat(), OdsFormat()]
BOTH = pytest.mark.parametrize("made", FORMATS, ids=lambda made: made.name)
type Cells = Sequence[Sequence[object]]


def workbook(path: Path, rows: Cells, *, top: int = 0, left: int = 0, **how: Any) -> Path:
    """Write rows with XlsxWriter; dates and times get a format of their kind."""
    with xlsxwriter.Workbook(path, how) as book:
        sheet = book.add_worksheet("Survey")
        fill(book, sheet, rows, top, left)
    return path


def fill(book: Any, sheet: Any, rows: Cells, top: int = 0, left: int = 0) -> None:
    for at, row in enumerate(rows, start=top):
        for beside, value in enumerate(row, start=left):
            if isinstance(value, bool):
                sheet.write_boolean(at, beside, value)
            elif isinstance(value, datetime.datetime):
                sheet.write_datetime(at, beside, value, book.add_format({"num_format": "dd.mm.yyyy hh:mm"}))
            elif isinstance(value, datetime.date):
                sheet.write_datetime(at, beside, value, book.add_format({"num_format": "dd.mm.yyyy"}))
            elif isinstance(value, tuple):
                sheet.write_number(at, beside, value[0], book.add_format({"num_format": value[1]}))
            elif isinstance(value, int | float):
                sheet.write_number(at, beside, value)
            elif value is not None:
                sheet.write_string(at, beside, str(value))


def read(path: Path, **options: str) -> Dataset:
    """Read a file."""
    made = next(one for one in FORMATS if path.suffix == f".{one.name}")
    source = TableSource(path, made, TableRequest(options))
    assert source.layout.fields
    return source.table


def column(table: Dataset, name: str) -> list[str | None]:
    found: list[str | None] = cells_of(table)[name].to_pylist()
    return found


def table_of(**columns: tuple[list[str | None], pa.DataType | None]) -> Dataset:
    names = xml_names(columns, "a test")
    variables = tuple(
        Variable(name, name, typed=Typed(text=True) if kind == pa.string() else UNTYPED, stored=kind)
        for name, (_, kind) in columns.items()
    )
    cells = {
        name: pa.array(texts, type=pa.string()) for name, (texts, _) in zip(names, columns.values(), strict=True)
    }
    return dataset_of(variables, pa.table(cells))


def test_cells_are_read_as_what_they_are(tmp_path: Path) -> None:
    day, moment = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 3, 4, 5, 6)
    rows = [
        ["n", "t", "b", "d", "m", "w"],
        [1.0, "1", True, day, moment, 7],
        [0.1, "true", False, day, moment, "007"],
        [1e15, "  a ", True, None, None, True],
        [-2.5, "0", None, day, moment, "true"],
        [12345678901234567890, "x\ny", True, day, moment, "1"],
    ]
    table = read(workbook(tmp_path / "a.xlsx", rows))
    assert column(table, "n") == ["1", "0.1", "1000000000000000", "-2.5", "12345678901234570000"]
    assert column(table, "t") == ["1", "true", "  a ", "0", "x\ny"]
    assert column(table, "b") == ["true", "false", "true", None, "true"]
    assert column(table, "d") == ["2020-02-29", "2020-02-29", None, "2020-02-29", "2020-02-29"]
    assert column(table, "m")[0] == "2020-02-03T04:05:06"
    assert column(table, "w") == ["7", "007", "true", "true", "1"]
    assert table.format_state.kinds["w"].tolist() == ["n", "t", "b", "t", "t"]
    assert [variable.typed.text for variable in table.variables] == [False, True, False, False, False, False]
    assert table.columns["n"].variable.typed.bits == 53


def moment_of_serial(serial: float, *, since_1904: bool) -> str:
    """Return the date or time that a number of days is, to the millisecond."""
    days, rest = divmod(round(Fraction(serial) * 86_400_000), 86_400_000)
    start = datetime.datetime(1904, 1, 1) if since_1904 else datetime.datetime(1899, 12, 31 if days < 60 else 30)
    clock = datetime.timedelta(milliseconds=rest)
    moment = (
        (start + datetime.timedelta(days) + clock).isoformat()
        if days
        else str((datetime.datetime.min + clock).time())
    )
    return (moment.rstrip("0") if "." in moment else moment).removesuffix("T00:00:00" if days else "")


@pytest.mark.parametrize("since_1904", [False, True])
def test_any_moment_is_read(tmp_path: Path, *, since_1904: bool) -> None:
    """Rounding to milliseconds, the day that never was, both systems of dates."""
    chance = random.Random(7)
    serials = [chance.uniform(61, 60000) for _ in range(300)] + [chance.uniform(0, 1) for _ in range(50)]
    serials = [float(f"{one:.16G}") for one in serials]  # as XlsxWriter writes it
    serials += [1, 59, 59.5, 61, 2000000, 0.5]
    rows = [["x"], *([(one, "yyyy-mm-dd hh:mm:ss.000")] for one in serials)]
    table = read(workbook(tmp_path / "a.xlsx", rows, date_1904=since_1904))
    assert column(table, "x") == [moment_of_serial(one, since_1904=since_1904) for one in serials]
    kept = np.flatnonzero(np.array(serials) != 59.5)  # XlsxWriter takes noon of this day for the day that never was
    cells = cells_of(table).take(pa.array(kept))
    XlsxFormat().write(tmp_path / "b.xlsx", release_of(table, cells, kept))
    assert cells_of(read(tmp_path / "b.xlsx")).equals(cells)


def test_dates_count_from_1904_also_in_files_of_excel_for_mac(tmp_path: Path) -> None:
    """calamine takes an extension of the same local name for the setting of the workbook."""
    path = workbook(tmp_path / "a.xlsx", [["d"], [datetime.date(1971, 1, 1)]], date_1904=True)
    extension = (
        b'<extLst><ext uri="{79F54976-1DA5-4618-B147-4CDE4B953A38}" '
        b'xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main">'
        b'<x14:workbookPr defaultImageDpi="32767"/></ext></extLst></workbook>'
    )
    path = replaced_part(path, "xl/workbook.xml", partial(replaced, b"</workbook>", extension))
    assert column(read(path), "d") == ["1971-01-01"]


def test_what_is_created_comes_back(tmp_path: Path) -> None:
    table = table_of(
        n=(["0.30000000000000004", "-5", None], pa.float64()),
        i=(["9007199254740991", "0", "7"], pa.int64()),
        too_long=(["9007199254740993", "0", "7"], pa.int64()),
        t=(["1", " a  b ", "_x0041_ <&>"], pa.string()),
        codes=(["007", "1", None], None),
        b=(["true", None, "false"], pa.bool_()),
        d=(["1900-03-01", "9999-12-31", None], pa.date32()),
        m=(["2020-01-01T23:59:59.999", "2020-01-01T00:00:01", None], pa.timestamp("ms")),
        old=(["1815-06-18", None, "2020-01-01"], pa.date32()),
    )
    path = tmp_path / "a.xlsx"
    XlsxFormat().write(path, Release.new(table))
    back = read(path)
    assert cells_of(back).equals(cells_of(table))
    kinds = {name: "".join(sorted(set(found.tolist()) - {""})) for name, found in back.format_state.kinds.items()}
    assert kinds == dict(zip(["n", "i", "too_long", "t", "codes", "b", "d", "m", "old"], "nntttbddt", strict=True))
    assert list(descriptions_lost(table, back)) == ["types of columns, which become text: too_long, old"]


def test_cells_that_are_not_changed_keep_their_type(tmp_path: Path) -> None:
    table = table_of(a=(["1", "2", "3"], pa.int64()), b=(["2020-01-01", None, "2021-01-01"], pa.date32()))
    path, out = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    XlsxFormat().write(path, Release.new(table))
    original = read(path)
    cells = cells_of(original).take([2, 0]).set_column(0, "a", pa.chunked_array([["3", "1.5"]], pa.string()))
    XlsxFormat().write(out, release_of(original, cells, np.array([2, 0])))
    back = read(out)
    assert cells_of(back).equals(cells)
    assert back.format_state.kinds["a"].tolist() == ["n", "n"]
    assert back.format_state.kinds["b"].tolist() == ["d", "d"]
    wrong = cells_of(original).set_column(0, "a", pa.chunked_array([["1", "2", "x"]], pa.string()))
    with refused(UsageError, "new-value-does-not-fit", field="a"):
        XlsxFormat().write(out, release_of(original, wrong, np.arange(3)))


def test_types_of_mixed_cells_are_kept_and_number_formats_are_not(tmp_path: Path) -> None:
    day = datetime.date(2020, 2, 29)
    rows = [["a", "b", "d"], [7, (1.5, '0.00"Smith"'), day], ["7", (2.25, "0.00"), day], [True, 3, None]]
    original = read(workbook(tmp_path / "a.xlsx", rows, date_1904=True))
    assert any("number formats" in note for note in original.notes)
    out = tmp_path / "b.xlsx"
    XlsxFormat().write(out, release_of(original, cells_of(original).take([1, 0, 2]), np.array([1, 0, 2])))
    back = read(out)
    assert back.format_state.kinds["a"].tolist() == ["t", "n", "b"]
    assert column(back, "b") == ["2.25", "1.5", "3"]
    assert column(back, "d") == ["2020-02-29", "2020-02-29", None]
    with zipfile.ZipFile(out) as archive:
        assert "Smith" not in archive.read("xl/styles.xml").decode()


def test_an_opendocument_spreadsheet_is_read(tmp_path: Path) -> None:
    day, moment = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 3, 4, 5, 6)
    rows = [
        ["n", "t", "b", "d", "m", "w"],
        [0.1, " a  b ", True, day, moment, 7],
        [-5, "1", False, None, moment, "7"],
    ]
    write_ods(tmp_path / "a.ods", rows)
    table = read(tmp_path / "a.ods")
    assert cells_of(table).to_pydict() == {
        "n": ["0.1", "-5"],
        "t": [" a  b ", "1"],
        "b": ["true", "false"],
        "d": ["2020-02-29", None],
        "m": ["2020-02-03T04:05:06"] * 2,
        "w": ["7", "7"],
    }
    kinds = {name: "".join(found.tolist()) for name, found in table.format_state.kinds.items()}
    assert kinds == {"n": "nn", "t": "tt", "b": "bb", "d": "d", "m": "dd", "w": "nt"}


def test_an_opendocument_spreadsheet_is_refused_as_output_before_a_run(tmp_path: Path) -> None:
    data, out = tmp_path / "none.csv", tmp_path / "out.ods"
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    frame = pd.DataFrame({"A": [1]})
    for run in (
        lambda: masktron.convert(data, out),
        lambda: masktron.mask(data, rules, out),
        lambda: masktron.mask(data.with_suffix(".ods"), rules, out),
        lambda: masktron.mask(frame, rules, out),
    ):
        with refused(UsageError, "output-name", names=("out.xlsx", "out.csv")):
            run()
        assert not out.exists()


@pytest.mark.parametrize("out", ["out.xlsx", "out.csv"])
def test_an_opendocument_spreadsheet_is_released_in_another_format(tmp_path: Path, out: str) -> None:
    day = datetime.date(2020, 2, 29)
    rows = [["A", "AGE", "D"], *([at * 7 % 40, 20 + at % 50, day] for at in range(60))]
    write_ods(tmp_path / "a.ods", rows)
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    how = {"k": 3, "roles": {"AGE": "quasi-identifier", "D": "untouched"}, "recode": {"AGE": "breaks:0,40"}}
    result = masktron.mask(tmp_path / "a.ods", rules, tmp_path / out, order="keep", **how)
    assert "masktron does not write .ods files: a release is xlsx or csv" in result.notes
    fields = open_source(tmp_path / out).records().columns
    assert fields["D"].lexemes.tolist() == ["2020-02-29"] * 60
    assert set(fields["AGE"].lexemes.tolist()) == {"0-39", "40+"}
    checked = masktron.check(tmp_path / out, rules, original=tmp_path / "a.ods", manifest=result.manifest)
    assert checked.complies, checked.problems


@pytest.mark.parametrize(
    ("above", "below", "told", "header"),
    [
        ([["Survey of 2020"]], [["a", "b"], [1, 2]], "A3:B4", 3),
        ([["Survey of 2020"], ["by us"]], [["a", "b"], [1, 2], [3, 4]], "A4:B6", 4),
        ([["Survey of 2020"], []], [["of us"], ["a", "b"], [1, 2], [3, 4]], "A5:B7", 5),
        ([["a", "b"], [1, 2], [3, 4]], [["source: us"]], "A1:B3", 1),
        ([["a", "b", "c"]], [[1, 2], [3, 4], [None, None], ["end"]], "A3:B4", "none"),
    ],
)
def test_the_hint_names_the_table_and_its_header(
    tmp_path: Path, above: Cells, below: Cells, told: str, header: int | str
) -> None:
    path = workbook(tmp_path / "a.xlsx", [*above, [], *below])
    row = next(at for at, cells in enumerate([*above, []], start=1) if not cells)
    with refused(DocumentError, "row-empty", row=row, range=told, header=header):
        read(path)
    columns = cells_of(read(path, range=told, header=str(header))).to_pydict()
    assert list(columns) == (["A", "B"] if header == "none" else ["a", "b"])
    assert set(columns.popitem()[1]) <= {"2", "4"}


@pytest.mark.parametrize(
    ("rows", "header"), [([["Survey"], ["a", "b"], [1, 2]], 2), ([["a", None], [1, 2], [3, 4]], "none")]
)
def test_the_hint_names_the_row_of_names(tmp_path: Path, rows: Cells, header: int | str) -> None:
    path = workbook(tmp_path / "a.xlsx", rows)
    with refused(DocumentError, "column-not-named", cell="B1", header=header):
        read(path)
    assert read(path, header=str(header))


@pytest.mark.parametrize("options", [{"header": "3"}, {"range": "A3:B4"}])
def test_cells_outside_the_table_are_counted(tmp_path: Path, options: dict[str, str]) -> None:
    path = workbook(tmp_path / "a.xlsx", [["Survey", "of 2020"], [], ["a", "b"], [1, 2]])
    assert "cells outside the table are not written: 2" in read(path, **options).notes
    path = workbook(tmp_path / "b.xlsx", [["a", "b"], [1, 2]])
    assert not any("outside" in note for note in read(path).notes)


@pytest.mark.parametrize(
    ("cells", "header", "expected"),
    [
        ("B3:D5", "none", {"B": [None, None, None], "C": ["a", "1", "3"], "D": ["b", "2", "4"]}),
        ("A1:C5", "none", {"A": [None] * 5, "B": [None] * 5, "C": [None, None, "a", "1", "3"]}),
        ("C1:D5", "3", {"a": ["1", "3"], "b": ["2", "4"]}),
        ("C1:F9", "3", {"a": ["1", "3"], "b": ["2", "4"]}),
    ],
)
def test_a_range_may_begin_where_nothing_stands(
    tmp_path: Path, cells: str, header: str, expected: dict[str, list[str | None]]
) -> None:
    path = workbook(tmp_path / "a.xlsx", [["a", "b"], [1, 2], [3, 4]], top=2, left=2)
    assert cells_of(read(path, range=cells, header=header)).to_pydict() == expected
    with refused(DocumentError, "column-not-named", cell="B3"):
        read(path, range="B3:D5")


def test_a_sheet_and_a_range_are_chosen(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        fill(book, book.add_worksheet("Notes"), [["read me"]])
        sheet = book.add_worksheet("2019 Survey")
        fill(book, sheet, [["a", "b"], [1, 2], [3, 4]], 3, 2)
        fill(book, sheet, [["source: nobody"]], 8, 2)
        book.define_name("Table", "='2019 Survey'!$C$4:$D$6")
        book.define_name("Outside", "='[other.xlsx]S'!$C$4:$D$6")
    with refused(DocumentError, "row-empty", range="C4:D6", header=4):
        read(path, sheet="2019 Survey")
    for options in (
        {"sheet": "2", "range": "C4:D6"},
        {"range": "Table"},
        {"sheet": "2019 Survey", "range": "C1:D6", "header": "4"},
    ):
        table = read(path, **options)
        assert column(table, "b") == ["2", "4"]
        assert "other sheets are not written: Notes" in table.notes
        assert table.lines[0] == 5
        out = tmp_path / "b.xlsx"
        XlsxFormat().write(out, release_of(table, cells_of(table).slice(0, 1), np.array([0])))
        again = read(out, **options)
        assert column(again, "b") == ["2"]
    with refused(UsageError, "unknown-name", kind="sheet", name="Survey"):
        read(path, sheet="Survey")
    for name, value in (("range", "Tabel"), ("header", "first")):
        with refused(UsageError, "bad-value", name=name, given=value):
            read(path, **{name: value})


def test_a_field_that_the_sheet_does_not_have_may_be_on_another(tmp_path: Path) -> None:
    path, rules = tmp_path / "a.xlsx", tmp_path / "a.rules"
    with xlsxwriter.Workbook(path) as book:
        fill(book, book.add_worksheet("Read me"), [["note"], ["text"]])
        fill(book, book.add_worksheet("My data"), [["a", "b"], [1, 2], [3, 4]])
    rules.write_text("a <= b\nb >= 0\n")
    written = write_rules(tmp_path / "a.sch", "a <= b")
    for ask in (
        lambda **how: masktron.validate(path, rules, **how),
        lambda **how: masktron.describe(path, roles={"a": "identifier"}, **how),
        lambda **how: masktron.mask(path, rules, out=tmp_path / "o.xlsx", roles={"a": "identifier"}, **how),
        lambda **how: masktron.mask(path, written, out=tmp_path / "o.xlsx", nominal=["note"], **how),
    ):
        with pytest.raises(masktron.MasktronError) as caught:
            ask()
        assert "the sheet that is read is Read me; others are My data" in caught.value.hint
        assert "sheet" in caught.value.hint
        with pytest.raises(masktron.MasktronError) as caught:
            ask(format_options={"sheet": "Read me"})
        assert "My data" not in str(caught.value.hint)


def test_columns_without_names_are_called_by_their_letters(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [[1, 2], [3, 4]])
    with refused(DocumentError, "column-not-named", cell="A1", header="none"):
        read(path)
    table = read(path, header="none")
    assert cells_of(table).to_pydict() == {"A": ["1", "3"], "B": ["2", "4"]}
    XlsxFormat().write(tmp_path / "b.xlsx", release_of(table, cells_of(table), np.arange(2)))
    assert cells_of(read(tmp_path / "b.xlsx", header="none")).equals(cells_of(table))


def test_what_is_beside_the_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("S")
        fill(book, sheet, [["a", "b"], [1, 2], [3, 4]])
        sheet.write_formula(1, 1, "=A2*2", None, 2)
        sheet.set_row(2, None, None, {"hidden": True})
        sheet.merge_range(3, 0, 3, 1, 5)
        book.add_worksheet("T")
    notes = " ".join(read(path).notes)
    assert column(read(path), "a") == ["1", "3", "5"]
    for part in ("other sheets are not written: T", "in columns B", "1 merged cells", "1 hidden rows"):
        assert part in notes


@pytest.mark.parametrize(
    ("rows", "code", "references"),
    [
        ([["a", None, "c"], [1, 2, 3]], "column-not-named", {}),
        ([["a", "a"], [1, 2]], "name-taken", {"name": "a"}),
        ([["a"], [1], [None], [2]], "row-empty", {}),
        ([["a"], [(60, "yyyy-mm-dd")]], "cell-not-readable", {"cell": "A2"}),
        ([["a"], [(-1, "yyyy-mm-dd")]], "cell-not-readable", {"cell": "A2"}),
        ([["a"], [(1.25, "[h]:mm")]], "cell-not-readable", {"cell": "A2"}),
        ([["a"], [0], [(0.99999999999, "hh:mm:ss")]], "cell-not-readable", {"cell": "A3"}),
        ([[]], "sheet-empty", {}),
    ],
)
def test_what_has_no_meaning_is_refused(tmp_path: Path, rows: Cells, code: str, references: dict[str, Any]) -> None:
    path = workbook(tmp_path / "a.xlsx", rows)
    with refused(DocumentError, code, **references) as caught:
        read(path)
    assert str(path) in caught.value.where


@pytest.mark.parametrize(("formula", "shown"), [("=NA()", "#N/A"), ("=1/0", "#DIV/0!")])
def test_errors_are_refused_with_their_address(tmp_path: Path, formula: str, shown: str) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("S")
        fill(book, sheet, [["a"], [1]])
        sheet.write_formula(1, 0, formula, None, shown)
    with refused(DocumentError, "cell-not-readable", where=f"{path}, sheet 'S'", cell="A2", detail="an error"):
        read(path)


@pytest.mark.parametrize("value", ["", "<v></v>", "<v/>"])
def test_a_formula_that_was_never_computed_is_refused(tmp_path: Path, value: str) -> None:
    made = workbook(tmp_path / "a.xlsx", [["a", "b"], [1, 2], [3, 4]])
    part, cell = "xl/worksheets/sheet1.xml", b'<c r="B3"><v>4</v></c>'
    formula = f'<c r="B3"><f>B2+1</f>{value}</c>'.encode()
    path = replaced_part(made, part, lambda text: text.replace(cell, formula))
    detail = "a formula whose value was never computed"
    with refused(DocumentError, "cell-not-readable", where=f"{path}, sheet 'Survey'", cell="B3", detail=detail):
        read(path)
    assert cells_of(read(path, range="A1:A3")).to_pydict() == {"a": ["1", "3"]}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (b'<c r="B3" t="str"><f>A3</f><v></v></c>', None),
        (b'<c r="B3" t="d"><v>2020-02-29</v></c>', "2020-02-29"),
        (b'<c r="B3" t="d"><v>2020-02-29T04:05:06</v></c>', "2020-02-29T04:05:06"),
        (b'<c r="B3" t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r></is></c>', "ab"),
    ],
)
def test_rare_cells_have_a_value(tmp_path: Path, cell: bytes, expected: str | None) -> None:
    made = workbook(tmp_path / "a.xlsx", [["a", "b"], [1, 2], [3, 4]])
    path = replaced_part(made, "xl/worksheets/sheet1.xml", partial(replaced, b'<c r="B3"><v>4</v></c>', cell))
    assert column(read(path), "b") == ["2", expected]


@pytest.mark.parametrize(
    ("cell", "detail"),
    [
        (b'<c r="B3" t="b"><v>maybe</v></c>', "a value that is neither true nor false, in a cell of truth values"),
        (b'<c r="B3" t="b"><v>false</v></c>', "a value that is neither true nor false, in a cell of truth values"),
        (b'<c r="B3" t="d"><v>2026-W03</v></c>', "a number or text that is not a date, in a date format"),
    ],
)
def test_rare_cells_without_a_value_are_refused(tmp_path: Path, cell: bytes, detail: str) -> None:
    made = workbook(tmp_path / "a.xlsx", [["a", "b"], [1, 2], [3, 4]])
    path = replaced_part(made, "xl/worksheets/sheet1.xml", partial(replaced, b'<c r="B3"><v>4</v></c>', cell))
    with refused(DocumentError, "cell-not-readable", cell="B3", detail=detail):
        read(path)


def test_comments_in_the_xml_are_no_cells(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["a"], [1]])
    path = replaced_part(path, "xl/worksheets/sheet1.xml", partial(replaced, b'<c r="A2">', b'<!-- 1 --><c r="A2">'))
    assert column(read(path), "a") == ["1"]


def test_what_is_no_number_among_numbers_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["a", "b"], [1, "inf"], [2, "NaN"]])
    assert column(read(path), "b") == ["inf", "NaN"]
    for value in (b"<v>INF</v>", b"<v>NaN</v>"):
        odd = replaced_part(path, "xl/worksheets/sheet1.xml", partial(replaced, b"<v>2</v>", value))
        with refused(DocumentError, "cell-not-readable", cell="A3"):
            read(odd)


@pytest.mark.parametrize(
    ("cell", "detail"),
    [
        ('table:formula="of:=NA()" office:value-type="string" calcext:value-type="error"', "an error"),
        ('table:formula="of:=1/0" office:value-type="float" office:value="0" calcext:value-type="error"', "an error"),
        ('office:value-type="unheard" office:value="0"', "a value of the unknown type 'unheard'"),
        ('table:formula="of:=1+1"', "a formula whose value was never computed"),
        ('office:value-type="time" office:time-value="PT26H05M06S"', "a length of time"),
        ('office:value-type="date" office:date-value="2020-02-30"', "a number or text that is not a date"),
        ('office:value-type="date" office:date-value="2020-02-03T04:05:06Z"', "a number or text that is not a date"),
        ('office:value-type="date" office:date-value="2026-W03"', "a number or text that is not a date"),
        ('office:value-type="boolean" office:boolean-value="maybe"', "a value that is neither true nor false"),
        ('office:value-type="boolean" office:boolean-value="1"', "a value that is neither true nor false"),
    ],
)
def test_cells_of_opendocument_without_a_value_are_refused(tmp_path: Path, cell: str, detail: str) -> None:
    write_ods(tmp_path / "a.ods", [["a", "b"], [1, 2.5], [3, 4]])

    def change(text: bytes) -> bytes:
        start = text.index(b"<table:table-cell", text.index(b'office:value="1"') + 1)
        return text[:start] + f"<table:table-cell {cell} ".encode() + text[text.index(b">", start) :]

    path = replaced_part(tmp_path / "a.ods", "content.xml", change)
    with refused(DocumentError, "cell-not-readable", cell="B2") as caught:
        read(path)
    assert detail in str(caught.value)


def test_the_same_release_has_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(a=(["1", "2"], pa.int64()), d=(["2020-01-01", None], pa.date32()))
    written = []
    for at, moment in enumerate((1.0e9, 2.0e9)):
        monkeypatch.setattr("time.time", lambda now=moment: now)
        monkeypatch.setattr("time.localtime", lambda *_, now=moment: time.gmtime(now))
        XlsxFormat().write(tmp_path / f"{at}.xlsx", Release.new(table))
        written.append((tmp_path / f"{at}.xlsx").read_bytes())
    assert written[0] == written[1]


def test_a_workbook_that_reads_back_otherwise_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, rules, out = tmp_path / "a.xlsx", write_rules(tmp_path / "r.sch", "A >= 0"), tmp_path / "b.xlsx"
    workbook(data, [["A", "T"], *([at, f"t{at}"] for at in range(20))])
    wrong = xlsxwriter.worksheet.Worksheet.write_string
    monkeypatch.setattr(
        xlsxwriter.worksheet.Worksheet, "write_string", lambda page, *given: wrong(page, *given[:2], given[2].upper())
    )
    with refused(ViolationError, "self-check-failed"):
        masktron.mask(data, rules, out, k=3, roles={"T": "untouched"})
    assert not out.exists()


def test_what_no_sheet_can_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    for table, detail in (
        (
            dataset_of((Variable("a", "a"),), pa.table({"a": pa.array(["1"] * office_files.MOST_ROWS)})),
            "1,048,577 rows: it ends at row 1,048,576",
        ),
        (
            dataset_of(
                tuple(Variable(f"v{at}", f"v{at}") for at in range(office_files.MOST_COLUMNS + 1)),
                pa.table({f"v{at}": pa.array(["1"]) for at in range(office_files.MOST_COLUMNS + 1)}),
            ),
            "16,385 columns: it ends at column 16,384",
        ),
        (table_of(a=(["x" * 32768], None)), "more than 32,767 characters in cell A2"),
        (
            table_of(a=(["1", None, "2"], None)),
            "a record without any value: its row would be empty, where a table ends",
        ),
    ):
        with refused(UsageError, "cannot-hold", format="a sheet", detail=detail):
            XlsxFormat().write(path, Release.new(table))
        assert not path.exists()


def test_files_that_are_no_workbooks_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    for content in (b"", b"\0\1\2", b"PK\3\4 and nothing more"):
        path.write_bytes(content)
        with refused(DocumentError, "file-damaged", where=path, format="an Excel workbook"):
            read(path)
    with refused(DocumentError, "cannot-read"):
        read(tmp_path / "none.xlsx")


def replaced_part(path: Path, part: str, change: Callable[[bytes], bytes]) -> Path:
    out = path.with_name(f"changed{path.suffix}")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == part else old.read(name))
    return out


def replaced(before: bytes, after: bytes, text: bytes) -> bytes:
    return text.replace(before, after)


@pytest.mark.few(1)
@BOTH
def test_a_workbook_that_would_fill_the_memory_is_refused(tmp_path: Path, made: TableFormat) -> None:
    path = tmp_path / f"a.{made.name}"
    {"xlsx": workbook, "ods": write_ods}[made.name](path, [["a"], [1]])
    part = "xl/worksheets/sheet1.xml" if made.name == "xlsx" else "content.xml"
    bomb = replaced_part(path, part, lambda text: text + b" " * (65 << 20))
    with refused(DocumentError, "unpacks-too-large"):
        read(bomb)
    entities = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    declared = replaced_part(path, part, lambda text: text.replace(b"?>", b"?>" + entities, 1))
    with refused(DocumentError, "file-damaged", detail="a part of it has a document type, which no workbook has"):
        read(declared)


def test_a_text_of_no_characters_is_no_value(tmp_path: Path) -> None:
    table = table_of(a=(["1", ""], None), b=(["", "x"], pa.string()), c=(["1", "2"], None))
    XlsxFormat().write(tmp_path / "a.xlsx", Release.new(table))
    assert cells_of(read(tmp_path / "a.xlsx")).to_pydict() == {
        "a": ["1", None],
        "b": [None, "x"],
        "c": ["1", "2"],
    }


def test_an_error_that_excel_writes_into_opendocument_as_0_is_refused(tmp_path: Path) -> None:
    write_ods(tmp_path / "a.ods", [["a"], [7]])
    error = (
        b'<table:table-cell table:formula="of:=#N/A" office:value-type="float" office:value="0">'
        b"<office:annotation><text:p>why?</text:p></office:annotation><text:p>#N/A</text:p>"
    )
    path = replaced_part(
        tmp_path / "a.ods",
        "content.xml",
        lambda text: re.sub(rb"<table:table-cell[^>]*>\s*<text:p>7</text:p>", error, text),
    )
    with refused(DocumentError, "cell-not-readable", cell="A2", detail="an error"):
        read(path)


def test_an_encrypted_opendocument_spreadsheet_is_named(tmp_path: Path) -> None:
    write_ods(tmp_path / "a.ods", [["a"], [1]])
    encrypted = b"<manifest:encryption-data/></manifest:manifest>"
    path = replaced_part(
        tmp_path / "a.ods", "META-INF/manifest.xml", partial(replaced, b"</manifest:manifest>", encrypted)
    )
    with refused(DocumentError, "file-not-supported", detail="an encrypted workbook"):
        read(path)


def test_a_named_range_of_opendocument_is_read(tmp_path: Path) -> None:
    write_ods(tmp_path / "a.ods", [["survey"], [None], ["a", "b"], [1, 2]])
    names = (
        b'<table:named-expressions><table:named-range table:name="Cells" table:base-cell-address="$Data.$A$1" '
        b'table:cell-range-address="$Data.$A$3:.$B$4"/></table:named-expressions></office:spreadsheet>'
    )
    path = replaced_part(tmp_path / "a.ods", "content.xml", partial(replaced, b"</office:spreadsheet>", names))
    assert cells_of(read(path, range="Cells")).to_pydict() == {"a": ["1"], "b": ["2"]}


def test_cells_that_are_repeated_are_no_way_to_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.ods"
    write_ods(path, [["a"], [1]])
    many = replaced_part(
        path,
        "content.xml",
        lambda text: text.replace(
            b"<table:table-cell office", b'<table:table-cell table:number-columns-repeated="99999999" office', 1
        ),
    )
    with refused(DocumentError, "file-not-supported"):
        read(many)


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "a.xlsx", [["a"], [1]])
    monkeypatch.setitem(__import__("sys").modules, "fastexcel", None)
    with refused(UsageError, "package-missing", what="an Excel workbook", package=("fastexcel",), extra="excel"):
        read(path)


@pytest.mark.full
def test_the_sample_is_masked_as_its_twin_in_xml_is(tmp_path: Path) -> None:
    require_masked_as_xml(tmp_path, XlsxFormat())


def with_part(path: Path, part: str, before: bytes, after: bytes) -> None:
    """Write a workbook anew with other bytes in a part."""
    with zipfile.ZipFile(path) as archive:
        parts = {one.filename: archive.read(one) for one in archive.infolist()}
    assert before in parts[part]
    parts[part] = parts[part].replace(before, after)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, octets in parts.items():
            archive.writestr(name, octets)


def test_what_calamine_leaves_out_of_a_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.ods"
    write_ods(path, [["a", "b"], ["bXd", "y"]])
    assert open_source(path).records().columns["a"].lexemes.tolist() == ["bXd"]
    for inside in (b"<text:tab/>", b"<text:line-break/>", b"<text:note><text:p>f</text:p></text:note>"):
        write_ods(path, [["a", "b"], ["bXd", "y"]])
        with_part(path, "content.xml", b">bXd<", b">b" + inside + b"d<")
        with refused(DocumentError, "cell-not-readable"):
            open_source(path).records()


def test_rows_of_one_number_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.xlsx"
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_excel(path, index=False, engine="xlsxwriter")
    with_part(path, "xl/worksheets/sheet1.xml", b'<row r="3"', b'<row r="2"')
    with refused(DocumentError, "file-damaged"):
        open_source(path).records()
