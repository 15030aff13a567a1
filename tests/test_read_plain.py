"""The fast survey and the batches say what the exact survey, libxml2 and expat say of the same file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from flat_files import BROKEN, NAMES, flat_files
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from masktron.errors import DocumentError, MasktronError
from masktron.read import plain as plain_module
from masktron.read.blocks import Name, PlainFile
from masktron.read.columns import Cell
from masktron.read.layout import survey, survey_exactly
from masktron.read.microdata import record_lines
from masktron.read.plain import iter_batches, survey_file, survey_plain
from masktron.read.prefix import Paths
from masktron.read.parser import opened
from masktron.read.records import Field, Layout

BLOCKS = st.one_of(st.integers(1, 64), st.just(1 << 20))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plain")


def written(folder: Path, data: bytes) -> Path:
    path = folder / "data.xml"
    path.write_bytes(data)
    return path


def content(element: etree._Element) -> str | None:
    """Text of a field whose only children are comments and instructions; None if there are elements or attributes."""
    if element.attrib or any(isinstance(child.tag, str) for child in element):
        return None
    return "".join(element.xpath("text()"))


def assert_cells_are_those_of_libxml2(path: Path, layout: Layout, batches) -> int:
    """Every cell and every record that is called plain is read by libxml2 as the batch says; returns how many."""
    root = etree.parse(path, etree.XMLParser(resolve_entities=False)).getroot()
    records = root.findall("/".join(["."] + list(layout.record_path[1:])))
    plain, row = 0, 0
    for batch in batches:
        assert batch.first == row
        data = path.read_bytes()
        assert batch.buffer.tobytes() == data[batch.offset : batch.offset + len(batch.buffer)]
        for at in range(len(batch)):
            record = records[row]
            row += 1
            declarations = "".join(f' xmlns{":" if p else ""}{p or ""}="{u}"' for p, u in root.nsmap.items())
            raw = batch.record(at).decode(batch.codec)
            alone = etree.fromstring(f"<x{declarations}>{raw}</x>".replace("\r\n", "\n").replace("\r", "\n"))
            assert etree.tostring(alone[0], with_tail=False) == etree.tostring(record, with_tail=False)
            if batch.odd[at]:
                assert all(cells.status[at] == Cell.ODD for cells in batch.cells)
                continue
            assert not (record.text or "").strip() and not any((child.tail or "").strip() for child in record)
            assert all(isinstance(child.tag, str) for child in record)
            for field, cells in zip(layout.fields, batch.cells, strict=True):
                found = record.findall(field.tag)
                texts = [content(e) for e in found]
                if field.attribute:
                    texts = [record.get(field.tag)] if field.tag in record.attrib else []
                lexeme = batch.buffer[cells.start[at] : cells.stop[at]].tobytes().decode(batch.codec)
                match Cell(cells.status[at]):
                    case Cell.ABSENT:
                        assert texts == []
                    case Cell.EMPTY:
                        assert texts == [""] and lexeme == ""
                        plain += 1
                    case Cell.TEXT:
                        assert texts == [lexeme] and lexeme
                        plain += 1
            assert {child.tag for child in record} <= {f.tag for f in layout.fields if not f.attribute}
            assert set(record.attrib) <= {f.tag for f in layout.fields if f.attribute}
    assert row == len(records)
    assert np.concatenate([b.lines for b in batches] or [[]]).tolist() == record_lines(path, layout).tolist()
    return plain


@settings(max_examples=300)
@given(file=flat_files(), block=BLOCKS, rows=st.integers(1, 9))
def test_flat_files_are_surveyed_and_read_alike(folder, file, block, rows):
    path = written(folder, file.data)
    expected = survey_exactly(path)
    found = survey_plain(path, block=block)
    assert expected[1].flat
    assert found is not None
    assert found[:2] == expected
    batches = list(iter_batches(path, found[0], found[2], block=block, rows=rows))
    assert all(1 <= len(batch) <= rows for batch in batches)
    assert_cells_are_those_of_libxml2(path, found[0], batches)


@settings(max_examples=300)
@given(file=flat_files(wild=True), block=BLOCKS)
def test_the_survey_of_any_file_is_that_of_expat_or_none(folder, file, block):
    path = written(folder, file.data)
    found = survey_plain(path, block=block)
    try:
        expected = survey_exactly(path)
    except MasktronError:
        assert found is None
        return
    if found is None:
        assert not expected[1].flat or expected[0].record_path[-1].rpartition("}")[2] != file.record[-1]
    else:
        assert found[:2] == expected


@settings(max_examples=200)
@given(file=flat_files(broken=True), block=BLOCKS)
def test_a_broken_file_is_left_to_the_exact_way(folder, file, block):
    path = written(folder, file.data)
    found = survey_plain(path, block=block)
    try:
        expected = survey_exactly(path)
    except MasktronError:
        assert found is None
    else:
        assert found is None or found[:2] == expected


def by_hand(path: Path, record: str, default: str) -> tuple[Layout, PlainFile]:
    """A layout with all the names that there can be, for files that are not flat as well."""
    uris = {"p": "u", "q": "u", "": default}

    def clark(name: str, attribute: bool) -> str:
        prefix, _, local = name.rpartition(":")
        uri = "" if attribute and not prefix else uris[prefix]
        return f"{{{uri}}}{local}" if uri else local

    raw = [(name, False) for name in NAMES] + [("id", True), ("p:id", True), ("q:id", True), ("V1", True)]
    tags = list(dict.fromkeys((clark(name, attribute), attribute) for name, attribute in raw))
    fields = tuple(Field(f"f{i}", tag, attribute) for i, (tag, attribute) in enumerate(tags))
    exact, _ = survey_exactly(path, record=clark(record, False))
    layout = Layout(exact.record_path, fields, encoding=exact.encoding)
    with opened(path) as (stream, encoding):
        walk = Paths(path, encoding)
        walk.feed(stream.read())
        status = os.fstat(stream.fileno())
        stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    node = walk.at(exact.record_path)
    names = tuple(Name(n.encode(encoding.codec), a, tags.index((clark(n, a), a))) for n, a in raw)
    plain = PlainFile(
        codec=encoding.codec,
        start=walk.places[node.path],
        line=node.line,
        records=node.count,
        record=record.encode(encoding.codec),
        names=names,
        stamp=stamp,
    )
    return layout, plain


@settings(max_examples=400)
@given(file=flat_files(wild=True), block=BLOCKS, rows=st.integers(1, 9))
def test_records_of_any_kind_are_read_or_called_odd(folder, file, block, rows):
    path = written(folder, file.data)
    try:
        layout, plain = by_hand(path, file.record, file.default)
    except MasktronError:  # a record inside a record; two paths
        return
    batches = list(iter_batches(path, layout, plain, block=block, rows=rows))
    assert_cells_are_those_of_libxml2(path, layout, batches)
