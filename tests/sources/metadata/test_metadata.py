"""Descriptions beside a file: DDI-Codebook and Table Schema, read, joined, written, read again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli_runner import Runner
from masktron.config import Kind, ReadOptions
from masktron.errors import DocumentError, UsageError
from masktron.sources.metadata.description_file import WRITERS, Description, described_variables, read_description
from masktron.sources.opening import open_source
from masktron.sources.variables import Typed, Variable
from refusals import refused

SCHEMA = {
    "missingValues": ["", "-9"],
    "fields": [
        {"name": "AREA", "type": "integer", "title": "Area", "categories": [{"value": 1, "label": "North"}, 2]},
        {"name": "SIZE", "type": "string", "categories": ["S", "M", "L"], "categoriesOrdered": True},
        {"name": "annual income", "type": "number", "missingValues": ["", {"value": "x", "label": "refused"}]},
        {"name": "FLAG", "type": "boolean"},
        {"name": "AGE", "type": "integer"},
    ],
}
DDI = """<codeBook xmlns="ddi:codebook:2_6"><stdyDscr><citation><titlStmt><titl> A
survey </titl></titlStmt></citation></stdyDscr><dataDscr>
<var name="AREA" nature="nominal"><labl>Area</labl>
 <catgry><catValu>1</catValu><labl>North</labl></catgry>
 <catgry missing="Y"><catValu>9</catValu><labl>no <emph>answer</emph></labl></catgry></var>
<var name="SIZE" nature="ordinal"><catgry><catValu>S</catValu></catgry><catgry><catValu>L</catValu></catgry>
 <varFormat type="character"/></var>
<var name="W" nature="ratio" wgt="wgt"><invalrng><item VALUE="-1"/></invalrng></var>
<var name="BORN" nature="interval"><varFormat type="numeric" category="date"/></var></dataDscr></codeBook>"""


def read(path: Path, text: str) -> Description:
    path.write_text(text)
    return read_description(path)


def test_a_table_schema_says_labels_kinds_orders_and_codes(tmp_path: Path) -> None:
    area, size, income, flag, age = read(tmp_path / "s.json", json.dumps(SCHEMA)).variables
    assert area == Variable("AREA", "AREA", "Area", {"1": "North"}, {"-9": ""}, Kind.NOMINAL, listed=True)
    assert (size.kind, size.order, size.typed) == (Kind.ORDINAL, ("S", "M", "L"), Typed(text=True))
    assert (income.name, income.kind, income.missing) == ("annual_x0020_income", Kind.NUMBER, {"x": "refused"})
    assert flag.kind is Kind.NOMINAL
    assert age.kind is None


def test_a_codebook_says_the_same_and_the_weight(tmp_path: Path) -> None:
    found = read(tmp_path / "c.xml", DDI)
    area, size, weight, born = found.variables
    assert found.title == "A survey"
    assert (area.label, area.labels, area.missing) == ("Area", {"1": "North"}, {"9": "no answer"})
    assert (area.kind, size.kind, size.order, size.typed.text) == (Kind.NOMINAL, Kind.ORDINAL, ("S", "L"), True)
    assert (weight.weight, weight.kind, weight.missing) == (True, Kind.NUMBER, {"-1": ""})
    assert born.kind is None


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_reads_back(name: str, tmp_path: Path) -> None:
    variables = (
        Variable("AREA", "AREA", "Area <of> it", {"1": "North", "2": "Süd"}, {"9": "no answer"}, Kind.NOMINAL),
        Variable("SIZE", "SIZE", labels={"L": "large"}, kind=Kind.ORDINAL, order=("S", "L"), typed=Typed(text=True)),
        Variable("annual_x0020_income", "annual income", kind=Kind.NUMBER),
    )
    WRITERS[name](tmp_path / "d", Description(variables))
    for variable, again in zip(variables, read_description(tmp_path / "d").variables, strict=True):
        for what in ("name", "column", "label", "missing", "kind", "order", "typed"):
            assert getattr(again, what) == getattr(variable, what), (variable.name, what)
        assert {value: label for value, label in again.labels.items() if label} == variable.labels


@pytest.mark.parametrize(
    "text",
    [
        "<a/>",
        '{"fields": 3}',
        '{"fields": [{}]}',
        '{"fields": [{"name": "A", "type": "object"}]}',
        '{"fields": [',
        '{"resources": []}',
        '<codeBook xmlns="ddi:codebook:2_5"/>',
        DDI.replace('<item VALUE="-1"/>', '<range min="1" max="3"/>'),
        "<codeBook",
    ],
)
def test_what_is_no_description_is_refused(text: str, tmp_path: Path) -> None:
    with refused(DocumentError, "not-well-formed" if text == "<codeBook" else "bad-description") as caught:
        read(tmp_path / "d", text)
    assert str(tmp_path / "d") in caught.value.where


@pytest.mark.parametrize("name", WRITERS)
def test_no_value_of_a_record_is_written(name: str, tmp_path: Path) -> None:
    codes, secret = {"1": "low", "9": "refused"}, {"7654321", "8654321"}
    variable = Variable(
        "A", "A", "", {"1": "low"}, {"9": "refused", "8654321": ""}, Kind.ORDINAL, ("1", "7654321"),
        observed=frozenset(secret), ranges=("8000000 to highest",),
    )  # fmt: skip
    WRITERS[name](tmp_path / "d", Description((variable,)))
    text = (tmp_path / "d").read_text()
    assert not [value for value in secret if value in text]
    (again,) = read_description(tmp_path / "d").variables
    assert again.labels | again.missing == codes
    # laid over the file again, it takes nothing from what the file says
    (joined,) = described_variables([variable], ["A"], Description((again,)), "d")
    assert (joined.order, joined.missing, joined.observed) == (variable.order, variable.missing, variable.observed)
    (told,) = described_variables([variable], ["A"], Description((replace(again, order=("7654321", "1")),)), "d")
    assert (told.order, told.declared_order) == (("7654321", "1"),) * 2


def data(tmp_path: Path) -> Path:
    pq.write_table(
        pa.table({"AREA": [1, 9], "SIZE": ["S", "L"], "W": [1.5, 2.0], "more": [1, 2]}), tmp_path / "d.parquet"
    )
    return tmp_path / "d.parquet"


def test_a_description_is_laid_over_what_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "c.xml").write_text(DDI)
    source = open_source(data(tmp_path), reading=ReadOptions(metadata=tmp_path / "c.xml"))
    named = {variable.name: variable for variable in source.variables}
    assert list(named) == ["AREA", "SIZE", "W", "more"]
    assert (named["AREA"].label, named["AREA"].stored) == ("Area", pa.int64())
    other = open_source(data(tmp_path), reading=ReadOptions(metadata=tmp_path / "o.json"))
    (tmp_path / "o.json").write_text('{"fields": [{"name": "OTHER"}]}')
    with refused(UsageError, "bad-description"):
        _ = other.variables


def test_the_command_writes_it_for_the_fields_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.xml").write_text(DDI)
    run, out = Runner(capsys), tmp_path / "out.json"
    done = run("metadata", data(tmp_path), "--metadata", tmp_path / "c.xml", "--to", "tableschema", "--out", out)
    assert done.code == 0, done.err
    assert [field["name"] for field in json.loads(out.read_text())["fields"]] == ["AREA", "SIZE", "W", "more"]
    assert "of 1 field only the name is known" in done.out
    assert run("metadata", data(tmp_path), "--to", "sdmx", "--out", tmp_path / "x").code == 2
    assert run("metadata", data(tmp_path), "--out", tmp_path / "d.parquet").code == 2
