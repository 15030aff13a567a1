"""Parquet and Arrow files: read as Python has their values, written like they were, masked as their XML twin is."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from arrow_files_made import household, write_typed, write_xml
from examples import examples
from made_columns import cells_of, dataset_of, release_of
from masktron.config import Kind
from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Field
from masktron.sources.dataset import Dataset
from masktron.sources.known_formats import format_of_name, table_format
from masktron.sources.source import Source
from masktron.sources.tables.descriptions import descriptions_lost
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_format import TableFormat
from masktron.sources.tables.table_source import TableSource
from masktron.sources.variables import Variable
from paths import RULES
from refusals import refused
from sample_settings import untreated
from typed_texts import column_texts

ENDS = [".parquet", ".feather"]


def _format(path: Path) -> TableFormat:
    name = format_of_name(path)
    assert name is not None
    return table_format(name)


def _read(path: Path) -> Dataset:
    """A file, whose lexemes are those that values of Python have."""
    source: Source = TableSource(path, _format(path))
    assert isinstance(source, TableSource)
    stored = _stored(path)
    assert stored.column_names == [variable.column for variable in source.variables]
    texts = [[text for chunk in column.chunks for text in column_texts(chunk)] for column in stored.columns]
    assert texts == [column.to_pylist() for column in cells_of(source.table).columns]
    return source.table


def _written(path: Path, cells: pa.Table | None = None, rows: list[int] | None = None) -> Path:
    """The file that is written from another."""
    form, table = _format(path), _read(path)
    taken = np.arange(len(table)) if rows is None else np.array(rows, dtype=np.intp)
    if cells is None:
        cells = pa.table({name: cells_of(table)[name].take(pa.array(taken)) for name in cells_of(table).column_names})
    out = path.with_name(f"out{path.suffix}")
    form.write(out, release_of(table, cells, taken))
    return out


def _stored(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            return file.read()
    with path.open("rb") as stream:
        magic = stream.read(6)
    opened = pa.ipc.open_file if magic == b"ARROW1" else pa.ipc.open_stream
    with opened(str(path)) as reader:
        return reader.read_all()


TYPED = pa.table(
    {
        "i": pa.array([1, None, 3, 4, 5], pa.int16()),
        "f": pa.array([0.1, float("nan"), None, -0.0, 1e300]),
        "d": pa.array([Decimal("1.50"), None, Decimal("-2.25"), None, Decimal(0)], pa.decimal128(9, 2)),
        "b": pa.array([True, None, False, True, True]),
        "t": pa.array(["007", "", " x ", None, "1e3"]),
        "c": pa.array(["lo", "hi", None, "lo", "lo"]).dictionary_encode(),
        "day": pa.array([datetime.date(2024, 2, 29), None, None, None, datetime.date(1, 1, 1)]),
        "at": pa.array([0, None, 10**18, -1, 1], pa.timestamp("ns", tz="Europe/Rome")),
        "none": pa.nulls(5),
        "annual income": pa.array([1, 2, 3, 4, 5], pa.uint64()),
    }
)


@pytest.mark.parametrize("end", ENDS)
def test_a_file_without_changed_cells_comes_back_equal(end: str, tmp_path: Path) -> None:
    schema = TYPED.schema.set(0, TYPED.schema.field(0).with_metadata({"label": "a number"}))
    table = TYPED.cast(schema.with_metadata({"source": "survey"}))
    path = write_typed(tmp_path / f"in{end}", table) if end == ".feather" else tmp_path / "in.parquet"
    if end == ".parquet":
        pq.write_table(table, path)
    out = _stored(_written(path))
    assert out.schema.equals(_stored(path).schema, check_metadata=True)
    assert [str(column.to_pylist()) for column in out.columns] == [str(one.to_pylist()) for one in table.columns]
    some = _stored(_written(path, rows=[4, 0]))
    assert some["i"].to_pylist() == [5, 1]
    assert some.schema.equals(_stored(path).schema)
    assert some.schema.metadata == _stored(path).schema.metadata
    found = _read(path)
    assert [variable.name for variable in found.variables][-1] == "annual_x0020_income"
    assert found.columns["c"].variable.kind is found.columns["b"].variable.kind is Kind.NOMINAL
    assert found.columns["t"].variable.kind is None


def test_a_parquet_file_is_written_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    schema = pa.schema([("a", pa.int32()), ("b", pa.string()), ("c.d", pa.float64()), ("e", pa.int64())])
    settings: dict[str, Any] = {
        "compression": {"a": "zstd", "b": "gzip", "c.d": "none", "e": "lz4"},
        "use_dictionary": ["b"],
        "column_encoding": {"c.d": "BYTE_STREAM_SPLIT", "e": "DELTA_BINARY_PACKED"},
        "write_statistics": ["a", "b"],
        "store_schema": False,
        "version": "1.0",
    }
    sizes = [3, 1, 4, 2]
    with pq.ParquetWriter(path, schema, **settings) as writer:
        for size in sizes:
            writer.write_table(pa.table([list(range(size)), ["x"] * size, [0.5] * size, [7] * size], schema=schema))

    def way(file: Path) -> list[Any]:
        meta = pq.read_metadata(file)
        groups = [meta.row_group(at) for at in range(meta.num_row_groups)]
        columns = [groups[0].column(at) for at in range(4)]
        shown = [(one.compression, one.encodings, one.is_stats_set, one.physical_type) for one in columns]
        return [shown, meta.format_version, meta.metadata, [group.num_rows for group in groups]]

    assert way(_written(path)) == way(path)
    assert way(path)[3] == sizes
    assert way(_written(path, rows=[1, 2, 3, 4, 5]))[3] == [3, 1, 1]


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_arrow_file_is_written_as_it_was(codec: str | None, stream: bool, tmp_path: Path) -> None:
    path = tmp_path / "in.arrow"
    table = pa.table({"a": [1, 2] * 5000, "b": pa.array(["x", "y"] * 5000).dictionary_encode()})
    opener = pa.ipc.new_stream if stream else pa.ipc.new_file
    sizes = [3000, 1000, 4000, 2000]
    with opener(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        for at, size in enumerate(sizes):
            writer.write_batch(table.slice(sum(sizes[:at]), size).combine_chunks().to_batches()[0])
    out = _written(path)
    assert out.read_bytes()[:6] == path.read_bytes()[:6]
    assert abs(out.stat().st_size - path.stat().st_size) < 2000
    way = _read(out).format_state.way
    assert (way.blocks, way.settings) == (tuple(sizes), {"stream": stream, "compression": codec})
    assert _stored(out).equals(table)


def test_categories_of_a_stream_may_change_from_block_to_block(tmp_path: Path) -> None:
    path = tmp_path / "in.arrow"
    blocks = [pa.record_batch({"c": pa.array(texts).dictionary_encode()}) for texts in (["a", "b"], ["c", "a"])]
    with pa.ipc.new_stream(str(path), blocks[0].schema) as writer:
        for block in blocks:
            writer.write_batch(block)
    assert cells_of(_read(path))["c"].to_pylist() == ["a", "b", "c", "a"]
    assert _stored(_written(path, rows=[3, 2, 1]))["c"].to_pylist() == ["a", "c", "b"]
    feather = tmp_path / "in.feather"
    pa.feather.write_feather(
        pa.table({"c": pa.chunked_array([b.column(0) for b in blocks]).unify_dictionaries()}), feather
    )
    assert _stored(_written(feather, rows=[2, 0]))["c"].to_pylist() == ["c", "a"]  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
def test_ordered_categories_are_ordinal_in_their_order(end: str, tmp_path: Path) -> None:
    codes = pa.array([1, 0, None, 3], pa.int8())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["low", "mid", "never", "high"]), ordered=True)
    path = write_typed(tmp_path / f"in{end}", pa.table({"Region": column}))
    variable = _read(path).columns["Region"].variable
    assert (variable.kind, variable.order) == (Kind.ORDINAL, ("low", "mid", "never", "high"))
    cells = pa.table({"Region": ["high", "low", "low", None]})
    out = _stored(_written(path, cells))["Region"]
    assert out.to_pylist() == ["high", "low", "low", None]
    assert out.type == column.type
    # what no released record has is no category, whether the original had it or not
    assert out.chunk(0).dictionary.to_pylist() == ["low", "high"]
    assert not list(_read(path).columns["Region"].variable.declared_order)
    new = tmp_path / f"new{end}"
    _format(new).write(new, Release.new(_read(path)))
    assert _read(new).columns["Region"].variable.order == ("low", "mid", "never", "high")
    assert not list(descriptions_lost(_read(path), _read(new)))
    texts = dataset_of((Variable("Region", "Region", kind=Kind.NOMINAL, label="where"),), cells)
    _format(new).write(new, Release.new(texts))
    assert list(descriptions_lost(texts, _read(new))) == ["labels of variables: Region", "kinds of variables: Region"]


def test_the_metadata_of_pandas_follow_what_is_released(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"n": ["x", "y", "z"], "A": pd.Series([1, None, 3], dtype="Int8").to_numpy(), "B": [1.5, 2.5, 3.5]},
        index=pd.Index(["p", "q", "r"], name=None),
    ).astype({"A": "Int8"})
    path = tmp_path / "in.parquet"
    frame.to_parquet(path)
    table = _read(path)
    assert any("__index_level_0__" in repr(note) for note in table.of_release)
    pd.testing.assert_frame_equal(pd.read_parquet(_written(path)), frame)
    cells = cells_of(table).drop_columns(["n", "__index_level_0__"])
    out = _written(path, cells)
    pd.testing.assert_frame_equal(pd.read_parquet(out), frame.drop(columns="n").reset_index(drop=True))
    described = json.loads(pq.read_schema(out).metadata[b"pandas"])
    assert [one["name"] for one in described["columns"]] == ["A", "B"]
    assert described["index_columns"] == []
    frame.reset_index(drop=True).to_parquet(path)
    assert _read(path).of_release == ()
    left = _written(path, rows=[2, 0])
    pd.testing.assert_frame_equal(pd.read_parquet(left), frame.iloc[[2, 0]].reset_index(drop=True))
    named = tmp_path / "named.parquet"
    frame.set_index("n").to_parquet(named)
    assert any(Field("n") in note.parts() for note in _read(named).of_release)


@pytest.mark.parametrize(
    "said",
    [
        {"columns": [{"field_name": []}], "index_columns": []},
        {"columns": [{"name": {}}], "index_columns": []},
        {"columns": [], "index_columns": [[1]]},
        {"columns": [], "index_columns": [{"kind": "range", "stop": 10**40}]},
    ],
)
def test_metadata_of_pandas_in_another_form_are_no_description(said: dict[str, Any], tmp_path: Path) -> None:
    path, metadata = tmp_path / "in.parquet", {"pandas": json.dumps(said)}
    pq.write_table(pa.table({"a": [1, 2]}).replace_schema_metadata(metadata), path)
    assert _read(path).of_release == ("what the file says of itself under pandas is copied as it is",)
    assert _stored(_written(path, rows=[1])).schema.metadata == {b"pandas": metadata["pandas"].encode()}


def test_other_metadata_are_copied_and_named(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({"author": "me", "sums": "1"}), path)
    assert _read(path).of_release == ("what the file says of itself under author, sums is copied as it is",)
    frame = pd.DataFrame({"a": [1]})
    frame.attrs["source"] = "a register"
    pq.write_table(pa.Table.from_pandas(frame), path)
    assert _read(path).of_release == ("what the file says of itself under pandas (attributes) is copied as it is",)


@pytest.mark.parametrize("end", ENDS)
def test_metadata_of_a_field_stay_only_where_it_is_released_as_it_is(end: str, tmp_path: Path) -> None:
    """Those of others may tell values that are not released: polars lists the categories of an Enum there."""
    texts, said = ["x", "RARE", "x"], {"_PL_ENUM_VALUES2": "4;RARE1;x"}
    schema = pa.schema([pa.field(name, pa.string(), metadata=said) for name in "AB"])
    path = write_typed(tmp_path / f"in{end}", pa.table([texts, texts], schema=schema))
    assert any("_PL_ENUM_VALUES2" in str(note) for note in _read(path).of_release)
    some = _written(path, pa.table({"A": ["x", None, "x"], "B": texts}))
    assert [field.metadata for field in _stored(some).schema] == [None, _stored(path).schema.field("B").metadata]
    fewer = _written(path, rows=[0, 2])
    assert [field.metadata for field in _stored(fewer).schema] == [None, None]
    assert b"RARE" not in fewer.read_bytes()


@pytest.mark.parametrize("end", ENDS)
def test_the_categories_of_a_release_are_those_of_its_records(end: str, tmp_path: Path) -> None:
    """Whatever the original had: else those that are gone would tell what rare records it had."""
    path, known = tmp_path / f"in{end}", ["z", "rare", "x", "unused"]
    write = pq.write_table if end == ".parquet" else pa.feather.write_feather
    for texts in (["x", "rare", "x", "z"], ["x", "z", "x", "z"]):
        column = pd.Categorical(texts, categories=known, ordered=True)
        write(pa.Table.from_pandas(pd.DataFrame({"A": column, "B": column})), path)
        released = _stored(_written(path, pa.table({"A": ["z", "x", "x", "x"], "B": texts})))
        assert released["A"].chunk(0).dictionary.to_pylist() == ["z", "x"]
        # nothing is to be seen of a column that is as it was
        assert released["B"].chunk(0).dictionary.to_pylist() == known
        described = json.loads(released.schema.metadata[b"pandas"])
        assert [one["metadata"]["num_categories"] for one in described["columns"]] == [2, 4]
        assert _stored(_written(path, rows=[0, 3]))["B"].chunk(0).dictionary.to_pylist() == ["z", "x"]


def _damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    at = data.index(b"a text that is looked for")
    data[at + 2] = 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize("end", [".parquet", ".arrow"])
def test_damaged_files_are_refused_in_one_sentence(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"in{end}"
    table = pa.table({"t": ["a text that is looked for", "b"]})
    if end == ".parquet":
        pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
    else:
        pa.feather.write_feather(table, path, compression="uncompressed")
    whole = path.read_bytes()
    for data in (b"", b"P", whole[: len(whole) // 2], whole[:-9] + whole[-8:], b"<a/>" * 99, whole[8:]):
        path.write_bytes(data)
        with refused(DocumentError, "file-damaged", where=path, format=_format(path).name.capitalize()):
            _format(path).read(path, {})
    path.write_bytes(whole)
    _damaged(path)
    with refused(DocumentError, "value-not-readable", field="t") as caught:
        _format(path).read(path, {})
    assert "looked" not in str(caught.value)
    with refused(DocumentError, "file-damaged", detail="No such file or directory"):
        _format(path).read(tmp_path / f"none{end}", {})


def test_what_has_a_name_is_refused_by_it(tmp_path: Path) -> None:
    path = tmp_path / "old.feather"
    path.write_bytes(b"FEA1\0\0\0\0")
    with refused(DocumentError, "file-not-supported", detail="Feather version 1"):
        _format(path).read(path, {})
    path = tmp_path / "secret.parquet"
    path.write_bytes(b"PARE" + b"\0" * 20 + b"PARE")
    with refused(DocumentError, "file-not-supported", detail="an encrypted Parquet file"):
        _format(path).read(path, {})
    for end in ENDS:
        path = tmp_path / f"in{end}"
        cases: list[tuple[pa.Table, str, dict[str, Any]]] = [
            (pa.table({"a": [[1]]}), "column-not-readable", {"field": "a"}),
            (pa.table({}), "file-damaged", {"detail": "it has no columns"}),
            (pa.table({"a": [b"x"]}), "column-not-readable", {"field": "a"}),
            (pa.table({"a": [1.0, None, np.inf]}), "value-not-readable", {"where": f"{path}, record 3"}),
            (pa.table({"": [1]}), "column-without-name", {"column": 1}),
            (pa.table([[1], [2]], ["a", "a"]), "name-taken", {"name": "a"}),
        ]
        for table, code, references in cases:
            write_typed(path, table) if end == ".feather" else pq.write_table(table, path)
            with refused(DocumentError, code, **references):
                _format(path).read(path, {})


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    scaled = pa.table({"a": pa.array([Decimal("1E+3")], pa.decimal128(5, -3))})
    path = write_typed(tmp_path / "in.feather", scaled)
    table = _read(path)
    assert cells_of(table)["a"].to_pylist() == ["1000"]
    with refused(UsageError, "cannot-hold", format="Parquet"):
        _format(Path("x.parquet")).write(tmp_path / "out.parquet", Release.new(table))
    with refused(UsageError, "no-column-left"):
        _format(path).write(tmp_path / "out.feather", release_of(table, pa.table({}), np.arange(1)))


def test_categories_of_any_kind_of_text_are_written_to_parquet(tmp_path: Path) -> None:
    kind = pa.dictionary(pa.uint32(), pa.string_view())
    categories = pa.DictionaryArray.from_arrays(
        pa.array([1, 0, None], pa.uint32()), pa.array(["x", "y"], pa.string_view())
    )
    path = write_typed(tmp_path / "in.arrow", pa.table({"a": pa.chunked_array([categories], kind)}))
    new = tmp_path / "new.parquet"
    _format(new).write(new, Release.new(_read(path)))
    assert _stored(new)["a"].to_pylist() == ["y", "x", None]


@pytest.mark.few(1)
@pytest.mark.parametrize("end", ENDS)
def test_tables_without_records(end: str, tmp_path: Path) -> None:
    path = write_typed(tmp_path / f"in{end}", household().slice(0, 0))
    out = _stored(_written(path))
    assert out.schema.equals(household().schema, check_metadata=True)
    rules = RULES / "household.sch"
    settings: Any = {"original": path, "documents": {"household.xml": path}}
    with refused(DocumentError, "no-records"):
        masktron.validate(path, rules, **settings)
    assert masktron.validate(path, rules, **settings, allow_empty=True, allow_unfired=["*"]).records == 0


@pytest.mark.full
@pytest.mark.parametrize("end", ENDS)
def test_the_sample_is_judged_and_masked_as_its_twin(end: str, tmp_path: Path) -> None:
    rules, config = RULES / "household.sch", untreated("household")
    sample = household() if end == ".parquet" else household().slice(0, 150)
    path = write_typed(tmp_path / f"in{end}", sample)
    twin = write_xml(tmp_path / "twin.xml", cells_of(_read(path)))
    counts = [
        [
            (rule.id, rule.fired, rule.failed)
            for rule in masktron.validate(
                one, rules, original=one, documents={"household.xml": one}, allow_unfired=["*"]
            ).rules
        ]
        for one in (path, twin)
    ]
    assert counts[0] == counts[1]
    assert len(counts[0]) > 10
    write_typed(path, household().slice(0, 150))
    write_xml(twin, cells_of(_read(path)))
    typed, plain = tmp_path / f"out{end}", tmp_path / "plain.xml"
    results = [
        masktron.mask(one, rules, to, config=config, seed=7, allow_unfired=["*"], documents={"household.xml": one})
        for one, to in ((path, typed), (twin, plain))
    ]
    assert results[0].information_loss == pytest.approx(results[1].information_loss, abs=1e-9)
    before, after = _stored(path), _stored(typed)
    kept = pa.schema([field for field in before.schema if field.name != "Name"], before.schema.metadata)
    assert after.schema.equals(kept)
    assert after.schema.metadata == kept.metadata
    assert after.schema.field("Age").metadata is None  # it is masked
    masked = pd.read_xml(plain, dtype="str")
    for name in after.column_names:
        own = [None if value is None else str(value) for value in after[name].to_pylist()]
        other = [None if value != value else value for value in masked[name].tolist()]  # noqa: PLR0124
        if pa.types.is_decimal(after[name].type):
            assert [v and Decimal(v) for v in own] == [v and Decimal(v) for v in other], name
        else:
            assert own == other, name
    checked = masktron.check(
        typed,
        rules,
        original=path,
        manifest=tmp_path / "out.manifest.json",
        documents={"household.xml": path},
        allow_unfired=["*"],
    )
    assert checked.complies, checked.problems


_CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
_KINDS: dict[Any, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32, allow_infinity=False),
    pa.float64(): st.floats(allow_infinity=False),
    pa.decimal128(20, 3): st.integers(-(10**20) + 1, 10**20 - 1).map(lambda n: Decimal(n).scaleb(-3)),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(_CHARACTERS),
    pa.dictionary(pa.int32(), pa.string()): st.sampled_from(["a", "b", "", "1"]),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", tz="UTC"): st.datetimes(timezones=st.just(datetime.UTC)),
    pa.null(): st.none(),
}


@st.composite
def _tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 6))
    names = draw(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=5, unique=True))
    columns = {}
    for name in names:
        kind = draw(st.sampled_from(list(_KINDS)))
        values = draw(st.lists(st.none() | _KINDS[kind], min_size=rows, max_size=rows))
        columns[name] = pa.array(values, type=kind)
    return pa.table(columns)


@pytest.mark.parametrize("end", ENDS)
@given(table=_tables(), data=st.data())
@examples(10, full=500)
def test_random_tables(
    end: str, table: pa.Table, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("random")
    path = folder / f"in{end}"
    write_typed(path, table) if end == ".feather" else pq.write_table(table, path, row_group_size=4)
    stored = _stored(path)
    before = _read(path)
    rows = data.draw(st.permutations(range(len(table))))
    out = _stored(_written(path, rows=rows))
    assert out.schema.equals(stored.schema, check_metadata=True)
    assert str(out.to_pydict()) == str(stored.take(pa.array(rows, pa.int64())).to_pydict())
    new = folder / f"new{end}"
    _format(new).write(new, Release.new(before))
    assert cells_of(_read(new)).to_pydict() == cells_of(before).to_pydict()
    assert [field.type for field in _stored(new).schema] == [field.type for field in stored.schema]
