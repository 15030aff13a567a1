"""The compiled survey of nested files says what expat says, and its batches hold what expat reads."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_runner import write_file
from examples import examples
from masktron.errors import DocumentError
from masktron.sources.columns import Cell
from masktron.sources.dataset import Dataset
from masktron.sources.flat_records import UnitBatch
from masktron.sources.level_tree import LevelPath, Tree
from masktron.sources.xml import nested as nested_reading
from masktron.sources.xml.layout import survey_levels
from masktron.sources.xml.nested import fill_levels, read_levels
from masktron.sources.xml.nested_units import NestedUnits, iter_units, survey_nested
from nested_files import nested_files
from refusals import refused

HEAD = '<?xml version="1.0"?>\n'


def households(*units: str) -> str:
    return f"{HEAD}<Survey>\n{chr(10).join(units)}\n</Survey>\n"


PLAIN = "<H id='1'><Size>2</Size>\n <P nr='1'><Age>3</Age></P>\n <P><Age/><S b='1'/></P><Car/></H>"

USUAL = "<H id='1'><Size>2</Size><P nr='1'><Age>3</Age></P><P/></H>"


@pytest.fixture
def write(tmp_path: Path):
    return partial(write_file, tmp_path / "data.xml")


def cells_agree(batch: UnitBatch, tables: Dataset, seen: dict[tuple[str, ...], int]) -> None:
    """Compare the records of a batch with those of expat."""
    assert not batch.odd.any()
    for path, rows in batch.levels.items():
        table = tables.levels[path]
        first, above = seen.get(path, 0), seen.get(path[:-1], 0)
        part = slice(first, first + len(rows))
        np.testing.assert_array_equal(rows.lines, table.lines[part])
        np.testing.assert_array_equal(rows.parent + (above if path else first), table.parent[part])
        for field, cells in zip(batch.tree.level(path).fields, rows.cells, strict=True):
            wanted = table.columns[field.name].lexemes_of(np.arange(len(table)))[part]
            for at, text in enumerate(wanted):
                status = cells.status[at]
                assert (text is None) == (status == Cell.ABSENT)
                if status in (Cell.TEXT, Cell.EMPTY):
                    own = batch.buffer[cells.start[at] : cells.stop[at]].tobytes() if status == Cell.TEXT else b""
                    assert own.decode(batch.codec) == text
    for path, rows in batch.levels.items():
        seen[path] = seen.get(path, 0) + len(rows)


def no_codes(tree: Tree) -> dict[tuple[LevelPath, str], frozenset[str]]:
    return {(at, field.name): frozenset() for at, level in tree.levels() for field in level.fields}


def tables_agree(found: Dataset | None, wanted: Dataset, *, odd: bool = False) -> None:
    """Compare tables that were filled from batches with those of expat; with odd units, expat reads the file."""
    if odd:
        assert found is None
    if found is None:
        return
    assert found.levels.keys() == wanted.levels.keys()
    for path, table in found.levels.items():
        other = wanted.levels[path]
        np.testing.assert_array_equal(table.parent, other.parent)
        np.testing.assert_array_equal(table.lines, other.lines)
        assert table.level == other.level
        for name, column in table.columns.items():
            known, rows = other.columns[name], np.arange(len(table))
            assert column.lexemes_of(rows).tolist() == known.lexemes_of(rows).tolist()
            np.testing.assert_array_equal(column.states[column.codes], known.states[known.codes])
            np.testing.assert_array_equal(column.values, known.values)
            assert column.decimals == known.decimals


def compared(path: Path, *, block: int = 1 << 20) -> bool:
    """Compare survey and batches with expat; return whether the compiled survey took the file."""
    found = survey_nested(path, block=block)
    if found is None:
        return False
    layout, shape, tree, nested = found
    exact = survey_levels(path)
    assert (layout, shape, tree) == exact
    assert shape.single == exact[1].single
    tables = read_levels(path, tree)
    batches = list(iter_units(path, tree, nested, block=max(block, 64)))
    assert sum(map(len, batches)) == tree.top.count == nested.units
    tables_agree(fill_levels(path, tree, nested, no_codes(tree)), tables, odd=any(one.odd.any() for one in batches))
    seen: dict[tuple[str, ...], int] = {}
    for batch in batches:
        if batch.odd.any():
            break
        cells_agree(batch, tables, seen)
    return True


def test_a_plain_file(write) -> None:
    assert compared(write(households(*[PLAIN] * 50)), block=100)


@given(nested_files(), st.sampled_from([64, 333, 1 << 20]))
@examples(40, full=400)
def test_survey_and_batches_are_those_of_expat(text: str, block: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "data.xml"
        path.write_text(text, encoding="utf-8")
        compared(path, block=block)


@pytest.mark.few(8)
@pytest.mark.parametrize(
    "unit",
    [
        "<H><Size><![CDATA[2]]></Size><P/><P/></H>",
        "<H><P nr='&#49;'><Age>&lt;3</Age></P></H>",
        "<H><!-- a remark --><Size>1</Size></H>",
        "<H><P><Age>1</Age><New>2</New></P><Other x='1'/></H>",
        "<H\n id='4'\n><Size\n>1</Size\n></H\n>",
        "<H><P nr='2'/><Size>1</Size></H>",
        "<H/>",
        "<H xmlns:q='urn:q'><Size>1</Size></H>",
    ],
)
@pytest.mark.parametrize("at", [0, 1, 3, 40])
def test_a_unit_that_is_otherwise(write, unit: str, at: int) -> None:
    units = [PLAIN] * 45
    units.insert(at, unit)
    path = write(households(*units))
    assert compared(path, block=200)
    assert compared(path)


@pytest.mark.parametrize(
    ("unit", "error"),
    [
        ("<H>text<Size>1</Size></H>", None),
        ("<H><Size>1</Size><Size>2</Size></H>", None),
        ("<H><Size a='1'>1</Size></H>", None),
        ("<H><Size>1<Part/></Size></H>", None),
        ("<H><P>text</P></H>", None),
        ("<Other/>", None),
        ("<H><Size>1</P></H>", DocumentError),
        ("<H><q:Size>1</q:Size></H>", DocumentError),
        ("<H id='1' id='2'/>", DocumentError),
        ("<H><P>&nobody;</P></H>", DocumentError),
    ],
)
def test_what_is_no_tree_is_left_to_expat(write, unit: str, error: type[Exception] | None) -> None:
    path = write(households(*[PLAIN] * 40, unit, PLAIN))
    assert survey_nested(path) is None
    if error is None:
        assert survey_levels(path)[2] is None or "Size" in unit
    else:
        with pytest.raises(error):
            survey_levels(path)


def test_tables_are_filled_from_several_batches(write, monkeypatch: pytest.MonkeyPatch) -> None:
    units = [PLAIN, "<H><Size>1.50</Size><P nr='NA'><Age>x</Age><S/></P></H>", "<H id='a&amp;b'/>", USUAL]
    path = write(households(*units * 30))
    _, _, tree, nested = survey_nested(path)
    monkeypatch.setattr(nested_reading, "iter_units", partial(iter_units, block=300))
    codes = {place: frozenset({"NA"}) for place in no_codes(tree)}
    found = fill_levels(path, tree, nested, codes)
    assert found is not None
    tables_agree(found, read_levels(path, tree, missing={"*": frozenset({"NA"})}))
    assert len(found.levels["P", "S"]) == 60


def test_a_kind_that_is_repeated_late_and_never_in_the_first_units(write) -> None:
    few = "<H><Size>1</Size><P><Age>1</Age></P></H>"
    path = write(households(*[few] * 30, "<H><P><Age>2</Age></P>\n<P><Age>3</Age></P></H>", few))
    assert compared(path, block=70)
    tree = survey_nested(path, block=70)[2]
    assert (tree.level(("P",)).least, tree.level(("P",)).most, tree.level(("P",)).count) == (1, 2, 33)


def test_elements_in_another_order_are_marked(write) -> None:
    other = "<H><P nr='1'><Age>3</Age></P><Size>2</Size></H>"
    path = write(households(*[USUAL, other] * 20))
    _, _, tree, nested = survey_nested(path)
    (batch,) = iter_units(path, tree, nested)
    np.testing.assert_array_equal(batch.mixed, [False, True] * 20)


def test_a_file_in_latin_1(write) -> None:
    text = households(*[PLAIN.replace(">3<", ">é<")] * 9).replace('"1.0"', '"1.0" encoding="ISO-8859-1"')
    assert compared(write(text.encode("iso-8859-1")))


def test_a_unit_with_more_records_than_rows_is_odd(write) -> None:
    large = f"<H>{'<P><Age>1</Age></P>' * 30}</H>"
    path = write(households(*[USUAL] * 5, large, USUAL))
    _, _, tree, nested = survey_nested(path)
    batches = list(iter_units(path, tree, nested, rows=10))
    odd = np.concatenate([batch.odd for batch in batches])
    np.testing.assert_array_equal(np.flatnonzero(odd), [5])
    assert len(odd) == 7


def test_a_file_that_changes_is_refused(write) -> None:
    path = write(households(*[PLAIN] * 9))
    _, _, tree, nested = survey_nested(path)
    units = NestedUnits(path, tree, nested)
    units.require_unchanged()
    path.write_text(households(*[PLAIN] * 8), encoding="utf-8")
    with refused(DocumentError, "file-changed"):
        list(units.batches())
    with refused(DocumentError, "file-changed"):
        units.require_unchanged()
