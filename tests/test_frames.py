"""Frames of other libraries than pandas: what comes back is of the kind and the types that went in."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pytest

import masktron
from cli_runner import numbers, write_rules
from examples import parts
from made_columns import cells_of, column_of_cells, release_of
from masktron.errors import UsageError, ViolationError
from masktron.jobs.originals import InvalidOriginalError
from masktron.sources.dataset import Dataset
from masktron.sources.frame_path import FramePath
from masktron.sources.opening import open_source
from masktron.sources.tables.frames import ArrowFrameFormat, standing_for
from refusals import refused

ROLES = {"day": "untouched", "kind": "untouched", "annual_x0020_income": "confidential", "name": "identifier"}


def _records() -> pa.Table:
    rows = pd.DataFrame(numbers())
    n = len(rows)
    days = [None, *(datetime.date(2024, 1, 1) + datetime.timedelta(days=at) for at in range(n - 1))]
    return pa.table(
        {
            "A": pa.array(rows["A"], pa.int16()),
            "B": pa.array(rows["B"], pa.int32()),
            "T": pa.array(rows["T"], pa.int64()),
            "name": [f"name {at}" for at in range(n)],
            "annual income": pa.array([Decimal(at * 25 + 5).scaleb(-2) for at in range(n)], pa.decimal128(9, 2)),
            "day": pa.array(days),
            "kind": pa.array(["x", "y"] * (n // 2)),
        }
    )


def _polars(records: pa.Table) -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame(records).with_columns(
        polars.col("kind").cast(polars.Enum(["z", "y", "x"])), polars.col("day").cast(polars.Datetime("ms"))
    )


def _relation(records: pa.Table) -> Any:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("records", records)
    connection.execute(
        "CREATE TABLE kept AS SELECT * REPLACE (\"T\"::HUGEINT AS \"T\", kind::ENUM ('x', 'y') AS kind) FROM records"
    )
    return connection.table("kept")


def _types(frame: Any) -> Any:
    if isinstance(frame, pa.Table):
        return frame.schema
    return frame.schema if hasattr(frame, "schema") else dict(zip(frame.columns, frame.types, strict=True))


FRAMES: list[Callable[[pa.Table], Any]] = [lambda records: records, _polars, _relation]
IDS = ["pyarrow", "polars", "duckdb"]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rules(tmp_path / "rules.sch", "A + B = T")


@pytest.mark.few(1)
@pytest.mark.parametrize("made", FRAMES, ids=IDS)
def test_what_comes_back_is_of_the_kind_that_went_in(made: Any, rules: Path, tmp_path: Path) -> None:
    frame = made(_records())
    settings: Any = {"k": 4, "roles": ROLES, "order": "keep", "seed": 3}
    result = masktron.mask(frame, rules, **settings)
    assert type(result.data) is type(frame)
    before, after = _types(frame), _types(result.data)
    assert [name for name in ([*before.names] if isinstance(before, pa.Schema) else before) if name != "name"] == (
        [*after.names] if isinstance(after, pa.Schema) else [*after]
    )
    for name in ("A", "T", "annual income", "day", "kind"):
        one, other = (kinds.field(name) if isinstance(kinds, pa.Schema) else kinds[name] for kinds in (before, after))
        assert one == other, name
    old, new = pa.table(frame).to_pandas(), pa.table(result.data).to_pandas()
    assert new["day"].equals(old["day"])
    assert new["kind"].astype(str).tolist() == old["kind"].astype(str).tolist()
    assert (new["A"] + new["B"] == new["T"].astype(int)).all()
    assert not new["A"].equals(old["A"])
    assert (new.groupby(list("AB")).size() >= 4).all()
    assert masktron.validate(result.data, rules).valid
    assert (result.output, result.manifest) == ("", "")
    assert "'annual income' is annual_x0020_income" in " ".join(result.notes)
    # a file of the same records is masked alike
    path, out = tmp_path / "in.arrow", tmp_path / "out.arrow"
    with pa.ipc.new_file(str(path), pa.table(frame).schema) as writer:
        writer.write_table(pa.table(frame))
    masktron.mask(path, rules, out, **settings)
    with pa.ipc.open_file(str(out)) as reader:
        assert reader.read_all().to_pandas()["A"].tolist() == new["A"].tolist()
    kept = masktron.mask(frame, rules, tmp_path / "kept.arrow", **settings)
    assert pa.table(kept.data).equals(pa.table(result.data))
    assert (tmp_path / "kept.arrow").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("made", FRAMES, ids=IDS)
def test_all_jobs_take_them_and_name_no_temporary_file(made: Any, rules: Path) -> None:
    frame = made(_records())
    masked = masktron.mask(frame, rules, k=4, roles=ROLES, order="keep").data
    texts = [
        repr(masktron.validate(frame, rules, original=frame)),
        repr(masktron.explain(rules, frame, original=frame, k=4)),
        repr(masktron.check(masked, rules, original=frame)),
        repr(masktron.assess(masked, frame, measures=["unchanged"], same_order=True, roles=ROLES)),
    ]
    assert "data frame" in texts[0]
    broken = pa.table(frame).set_column(0, "A", pa.array([1] * len(numbers()), pa.int16()))
    with pytest.raises(InvalidOriginalError) as caught:
        masktron.mask(broken, rules, k=4, roles=ROLES)
    assert caught.value.result.data == "data frame"
    texts.append(str(caught.value))
    with refused(UsageError, "no-role", fields=("name",)) as unnamed:
        masktron.mask(frame, rules, k=4, roles={"kind": "untouched", "day": "untouched"})
    texts.append(str(unnamed.value))
    assert not [text for text in texts if "masktron-" in text]


def test_frames_of_several_libraries_are_compared(rules: Path) -> None:
    records = _records()
    masked = masktron.mask(_polars(records), rules, k=4, roles=ROLES, order="keep").data
    result = masktron.assess(masked, records, measures=["unchanged"], same_order=True, roles={"A": "confidential"})
    assert 0 <= result["unchanged"] < 100


def test_what_is_no_frame_is_refused(rules: Path) -> None:
    polars = pytest.importorskip("polars")
    for given, says in (
        (polars.LazyFrame({"A": [1]}), "data must be a path or a data frame, not of type LazyFrame"),
        (polars.Series([1]), "data frame: a Series cannot be read as a table"),
        (
            polars.DataFrame({"A": polars.Series([1], dtype=polars.Int128)}),
            "data frame: a DataFrame cannot be read",
        ),
        (polars.DataFrame, "not of type type"),
        (pa.table({"A": [[1]]}), "data frame: A holds values of type list"),
        (pa.table({"A": [float("inf")]}), "data frame, record 1: A holds an infinite number"),
    ):
        with pytest.raises(masktron.MasktronError) as caught:
            masktron.validate(given, rules)
        assert says in str(caught.value)
    records = _records()
    for call in (
        lambda: masktron.validate(records, rules, format="csv"),
        lambda: masktron.validate("d.xml", rules, original=records, format="csv"),
        lambda: masktron.mask(pd.DataFrame(numbers()), rules, format="csv"),
        lambda: masktron.mask(records, rules, format="csv"),
        lambda: masktron.explain(rules, records, format="csv"),
        lambda: masktron.check(records, rules, format="csv"),
    ):
        with refused(UsageError, "setting-not-usable"):
            call()
    with refused(UsageError, "setting-not-usable"):
        masktron.check(records, rules, manifest="m.json")
    for name in ("m", "m.dat", "m.json"):
        with refused(UsageError, "output-name"):
            masktron.mask(records, rules, name)


def test_a_library_that_holds_something_else_is_found_out() -> None:
    polars = pytest.importorskip("polars")

    class Rounding(polars.DataFrame):  # type: ignore[misc]
        def __init__(self, given: Any) -> None:
            super().__init__(given)
            self._df = self.with_columns(polars.col("A").round(1))._df

    Rounding.__module__ = "polars.rounding"

    def released(frame: Any) -> Any:
        path = standing_for(frame)
        table = ArrowFrameFormat().read(path, {})
        ArrowFrameFormat().write(path, release_of(table, cells_of(table), np.arange(2), frozenset("A")))
        return path.frame

    held = Rounding({"A": [1.25, 2.0]})
    held._df = polars.DataFrame({"A": [1.25, 2.0]})._df
    with refused(ViolationError, "not-as-verified"):
        released(held)
    np.testing.assert_array_equal(released(polars.DataFrame({"A": [1.25, 2.0]}))["A"].to_numpy(), [1.25, 2.0])


def test_readers_and_batches_come_back_as_tables(rules: Path) -> None:
    records = _records()
    reader = pa.RecordBatchReader.from_batches(records.schema, records.to_batches())
    masked = masktron.mask(reader, rules, k=4, roles=ROLES, order="keep", seed=3).data
    assert isinstance(masked, pa.Table)
    assert masked.equals(masktron.mask(records, rules, k=4, roles=ROLES, order="keep", seed=3).data)


def test_metadata_of_frames_are_kept_with_fields_as_they_were_and_a_note_says_so(rules: Path, tmp_path: Path) -> None:
    columns = {name: [row[name] for row in numbers()] for name in "ABT"} | {"kind": ["x", "y"] * 20}
    plain = pa.table(columns)
    fields = [field.with_metadata({"unit": "euro"}) for field in plain.schema]
    table = plain.cast(pa.schema(fields, {"survey": "2026"}))
    frame = pd.DataFrame(columns)
    frame.attrs["survey"] = "2026"
    settings: Any = {"k": 4, "roles": {"kind": "untouched"}, "order": "keep"}
    masked = masktron.mask(table, rules, **settings)
    assert [field.metadata for field in masked.data.schema] == [None, None, None, {b"unit": b"euro"}]
    assert masked.data.schema.metadata == {b"survey": b"2026"}
    assert {
        "what the data frame says of itself under survey is copied as it is",
        "what the data frame says of its fields under unit is copied as it is for each field that is released "
        "unchanged and with all records, and left out for the others",
    } <= set(masked.notes)
    assert (
        "the attributes of the data frame are copied as they are: survey"
        in masktron.mask(frame, rules, **settings).notes
    )
    written = masktron.mask(table, rules, tmp_path / "m.parquet", **settings)
    assert not any("copied" in note for note in written.notes)
    assert {
        f"the file does not hold what the data frame says of {said}"
        for said in ("itself under survey", "its fields under unit")
    } <= set(written.notes)
    of_pandas = masktron.mask(frame.set_index(frame.index + 1), rules, tmp_path / "n.csv", **settings).notes
    assert "the file does not hold the index of the data frame" in of_pandas
    assert "the file does not hold the attributes of the data frame: survey" in of_pandas


@pytest.mark.full
@pytest.mark.parametrize("made", parts([lambda records: records.to_pandas(), FRAMES[0]], 1), ids=["pandas", "arrow"])
def test_a_frame_is_written_in_any_format_and_is_what_the_file_holds(made: Any, rules: Path, tmp_path: Path) -> None:
    frame = made(_records().drop_columns(["day"]))
    settings: Any = {"k": 4, "roles": {name: ROLES[name] for name in ROLES if name != "day"}, "order": "keep"}
    alone = masktron.mask(frame, rules, **settings).data
    for suffix in ("csv", "parquet", "xml", "sqlite"):
        out = tmp_path / f"{suffix}.{suffix}"
        result = masktron.mask(frame, rules, out, **settings)
        assert result.data.equals(alone), suffix
        own, found = (open_source(path).records().columns for path in (standing_for(alone), out))
        assert own.keys() == found.keys()
        assert all(own[name].lexemes.tolist() == found[name].lexemes.tolist() for name in own), suffix
        told = " ".join(result.notes)
        assert ("the file does not hold what the data frame says: types of columns: A" in told) == (suffix == "csv")


def test_a_file_that_cannot_hold_a_frame_does_not_appear(rules: Path, tmp_path: Path) -> None:
    frame = pd.DataFrame(numbers()).assign(kind=["x", ""] * 20)
    settings: Any = {"k": 4, "roles": {"kind": "untouched"}}
    with refused(UsageError, "cannot-hold", where="field kind"):
        masktron.mask(frame, rules, tmp_path / "m.csv", **settings)
    assert [path.name for path in tmp_path.iterdir()] == ["rules.sch"]
    kept = masktron.mask(frame.assign(kind=pd.Categorical(frame["kind"])), rules, tmp_path / "m.xml", **settings)
    assert "the file does not hold what the data frame says: kinds of variables: kind" in " ".join(kept.notes)


def test_integers_that_no_double_holds_are_texts_in_a_file_of_doubles(rules: Path, tmp_path: Path) -> None:
    serial = [2**53 + 1 + number for number in range(40)]
    frame = pd.DataFrame(numbers()).assign(serial=serial)
    done = masktron.mask(frame, rules, tmp_path / "m.sav", k=4, roles={"serial": "untouched"}, order="keep")
    assert open_source(tmp_path / "m.sav").records().columns["serial"].lexemes.tolist() == list(map(str, serial))
    said = "the file does not hold what the data frame says: types of columns, which become text: serial"
    assert any(note.startswith(said) for note in done.notes)


def test_frames_stand_for_themselves_alone(tmp_path: Path) -> None:
    records = _records()
    one, same, other = (standing_for(frame) for frame in (records, records.slice(0), records.slice(1)))
    assert (one.samefile(same), one.samefile(other), one.samefile(tmp_path)) == (True, False, False)
    assert not (one.exists() or one.is_file() or isinstance(one.with_name("x"), FramePath))


def test_a_file_that_holds_something_else_than_the_frame_does_not_appear(
    rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another(table: Dataset, _: int | None) -> Dataset:
        return table.with_columns({"kind": column_of_cells(["y"] * len(table), name="kind")})

    monkeypatch.setattr("masktron.sources.tables.frame_source.with_types", another)
    frame = pd.DataFrame(numbers()).assign(kind=["x", "y"] * 20)
    with refused(ViolationError, "self-check-failed"):
        masktron.mask(frame, rules, tmp_path / "m.csv", k=4, roles={"kind": "untouched"})
    assert [path.name for path in tmp_path.iterdir()] == ["rules.sch"]
