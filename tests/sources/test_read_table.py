"""Large files are read into the very columns of small ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples import examples
from flat_files import flat_files
from masktron.sources.dataset import Dataset
from masktron.sources.xml import plain as plain_module
from masktron.sources.xml import table as module
from masktron.sources.xml.layout import survey_exactly
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import survey_plain

CODES = {"V1": frozenset({"1", "abc"}), "*": frozenset({"", "x]y"})}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("table")


def same(one: Dataset, other: Dataset) -> None:
    assert one.layout == other.layout
    assert one.lines.tolist() == other.lines.tolist()
    for name, column in one.columns.items():
        second = other.columns[name]
        assert column.variable == second.variable
        assert column.lexemes.tolist() == second.lexemes.tolist(), name
        assert column.status.tolist() == second.status.tolist(), name
        assert column.status.dtype == second.status.dtype
        assert np.array_equal(column.values, second.values, equal_nan=True), name
        assert column.decimals == second.decimals, name


@settings(examples(25, full=150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(file=flat_files(), codes=st.sampled_from([{}, CODES]))
def test_generated_files(folder: Path, file: object, codes: dict[str, frozenset[str]]) -> None:
    path = folder / "data.xml"
    path.write_bytes(file.data)  # type: ignore[attr-defined]
    found = survey_plain(path)
    if found is None:
        return
    layout, _, plain = found
    same(read_records(path, layout, missing=codes, plain=plain), read_records(path, layout, missing=codes))


LEXEMES = (
    *("1", "-2.50", " 3 ", "05", "+5", "1e3", "1.5E-3", "INF", "NaN", "-", ".", "5.", ".5", "-0", "1_000"),
    *(
        "123456789012345678",
        "1234567890123456789",
        "0.1234567890123456789",
        "9" * 400,
        "1e400",
        "٣",
        "\xa07",
        "",
        " \t",
    ),
)


@pytest.mark.parametrize("rows", [1, 7, 65_536])
def test_every_spelling_of_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    path = tmp_path / "data.xml"
    cells = [*LEXEMES, *reversed(LEXEMES), "a &amp; b", "x&#13;y", "c\rd\r\ne", "5&#32;"]
    written = "".join(f'<R id="{i}&lt;\'"><V>{cell}</V>{"<W/>" * (i % 2)}</R>\n' for i, cell in enumerate(cells))
    path.write_bytes(f"<D>\n{written}</D>".encode())
    layout, _ = survey_exactly(path)
    found = survey_plain(path)
    assert found is not None
    batches = plain_module.iter_batches
    monkeypatch.setattr(module, "iter_batches", lambda *given: batches(*given, rows=rows))
    codes = {"V": frozenset({"-", "5"})}
    with monkeypatch.context() as patch:
        patch.setattr("masktron.sources.xml.microdata.record_lines", None)
        table = read_records(path, layout, missing=codes, plain=found[2])
    same(table, read_records(path, layout, missing=codes))


@pytest.mark.parametrize("markup", ["1<!-- 2 -->3", "<![CDATA[4]]>", "<?p i?>"])
def test_markup_in_a_cell_is_read_in_the_other_way(tmp_path: Path, markup: str) -> None:
    path = tmp_path / "data.xml"
    path.write_text(f"<D>{'<R><V>1</V></R>' * 4}<R><V>{markup}</V></R></D>")
    found = survey_plain(path)
    assert found is not None
    layout, _, plain = found
    assert module.read_table(path, layout, plain, {"V": frozenset()}, None) is None  # type: ignore[arg-type]
    same(read_records(path, layout, plain=plain), read_records(path, layout))
