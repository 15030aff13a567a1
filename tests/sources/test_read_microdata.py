"""Columns, chunks and line numbers against a plain reading of the same text."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from lxml import etree

from cli_runner import write_file
from examples import examples, parts
from masktron.errors import DocumentError
from masktron.sources.column import Status
from masktron.sources.record_layout import Layout
from masktron.sources.xml.microdata import chunk_document, iter_chunks, read_records, record_lines
from masktron.sources.xml.plain import detect_layout, survey
from refusals import refused


@pytest.fixture
def write(tmp_path):
    return partial(write_file, tmp_path / "data.xml")


def _read(path, **options):
    return read_records(path, detect_layout(path), **options)


def test_kinds_of_cells(write):
    records = _read(
        write(
            "<D><R><A>1.50</A><B>x</B></R><R><A/><B> </B></R><R><A>-9</A><B>-9</B></R>"
            "<R/><R><A> 2 </A><B>NA</B></R><R><A>&#x31;<![CDATA[2]]><!-- 3 --><?p 4?>5</A></R></D>"
        ),
        missing={"*": frozenset({"-9"}), "B": frozenset({"NA"})},
    )
    a, b = records.columns["A"], records.columns["B"]
    assert a.lexemes.tolist() == ["1.50", "", "-9", None, " 2 ", "125"]
    present, absent, empty, code = Status.PRESENT, Status.ABSENT, Status.EMPTY, Status.CODE
    assert a.status.tolist() == [present, empty, code, absent, present, present]
    assert b.status.tolist() == [present, empty, code, absent, code, absent]
    np.testing.assert_array_equal(a.values, [1.5, math.nan, math.nan, math.nan, 2, 125])
    assert a.decimals == 2
    assert a.numeric
    assert not b.numeric
    assert (a.status.dtype, a.values.dtype, a.lexemes.dtype) == (np.uint8, np.float64, object)


def test_attributes_and_namespaces(write):
    records = _read(write("<D xmlns='u'><R id='1'><n:A xmlns:n='v'>2</n:A></R><R n:x='3' xmlns:n='v'/></D>"))
    assert {name: c.lexemes.tolist() for name, c in records.columns.items()} == {
        "@id": ["1", None],
        "@x": [None, "3"],
        "A": ["2", None],
    }


@pytest.mark.parametrize("text", ["<D/>", "<D></D>", "<!-- c --><D xmlns='u'/>"])
def test_no_records(text, write):
    path = write(text)
    assert len(_read(path)) == 0
    assert list(iter_chunks(path, detect_layout(path))) == []


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ("<R>\n<A>1</A><A>2</A></R>", ", field A"),
        ("<R>\n<A><X/></A></R>", ", field A"),
        ("<R>\nx<A>1</A></R>", ""),
        ("<R>\n<A>1</A>x</R>", ""),
    ],
)
def test_what_is_not_flat_is_never_guessed(record, field, write):
    path = write(f"<D>\n<R><A>1</A></R>\n{record}<R/></D>")
    with refused(DocumentError, "records-not-flat", where=f"{path}:3, record 2{field}"):
        _read(path)


def test_fields_that_the_layout_does_not_know_are_refused(write):
    layout = detect_layout(write("<D><R><A>1</A></R></D>"))
    for text, name in (("<D><R><B>1</B></R></D>", "B"), ("<D><R b='1'/></D>", "b")):
        path = write(text)
        with refused(DocumentError, "records-not-flat", where=f"{path}:1, record 1, field {name}"):
            read_records(path, layout)


def test_a_file_that_breaks_at_its_end_yields_no_chunk(write):
    good = "<D>" + "<R><A>1</A></R>" * 20_000
    layout = detect_layout(write(good + "</D>"))
    chunks = iter_chunks(write(good + "\n</D"), layout, 10)
    with refused(DocumentError, "not-well-formed") as caught:
        next(chunks)
    assert caught.value.where.endswith(":2:1")


LINE_ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}


@pytest.mark.parametrize("name", parts(["crlf", "lf", "cr"], 1))
def test_lines_are_true_past_65_535(name, write):
    end = LINE_ENDS[name]
    head = f"<?xml version='1.0'?>{end}<D>{end}{end}"
    one = f"<R{end} id='1'>{end}<A>1</A><!--{end}--><B>2</B>{end}</R>{end}"
    path = write(head + one * 14_000 + "<R/></D>")
    expected = 4 + 5 * np.arange(14_001)
    assert expected[-1] > 70_000
    layout = detect_layout(path)
    np.testing.assert_array_equal(record_lines(path, layout), expected)
    np.testing.assert_array_equal(read_records(path, layout).lines, expected)
    chunks = list(iter_chunks(path, layout, 4000))
    np.testing.assert_array_equal(np.concatenate([c.lines for c in chunks]), expected)


def test_lines_count_only_elements_on_the_record_path(write):
    path = write("<D>\n<R><R>1</R></R>\n<X><R/></X>\n<R/></D>")
    assert record_lines(path, detect_layout(path, hints={"R"}, record=None)).tolist() == [2, 4]


def test_lines_are_not_misled_by_other_branches(write):
    path = write("<D>\n<L><R/></L>\n<X><Y/><R/></X>\n<L><Y><R/></Y><R/></L><R/></D>")
    assert record_lines(path, Layout(("D", "L", "R"), ())).tolist() == [2, 4]


@pytest.mark.parametrize("size", [1, 2, 3, 5000])
def test_chunks_hold_whole_records_below_their_ancestors(size, write):
    text = (
        "<n:D xmlns:n='urn:u' xmlns='urn:v' y='2024'><!-- c -->\n"
        "<L a='1'><R><A>1<X k='2'>t</X></A><A>2</A></R><!-- between --><R id='2'/></L>\n"
        "<H/><L a='2'><R><!-- in --><n:B/></R></L><L/><L a='3'><R><R/></R></L></n:D>"
    )
    path = write(text)
    layout = detect_layout(path, hints={"R"})
    whole = etree.fromstring(text.encode())
    expected = [
        [(a.tag, dict(a.attrib)) for a in r.iterancestors()] + [etree.tostring(r, with_tail=False, method="c14n")]
        for r in whole.findall("{urn:v}L/{urn:v}R")
    ]
    found, first = [], 0
    for chunk in iter_chunks(path, layout, size):
        records = chunk.root.findall("{urn:v}L/{urn:v}R")
        assert chunk.first == first
        assert len(records) == len(chunk.lines) <= size
        assert chunk.root.nsmap == whole.nsmap
        assert chunk.root.getroottree().xpath("count(/*/*/*)") == len(records)
        first += len(records)
        found += [
            [(a.tag, dict(a.attrib)) for a in r.iterancestors()] + [etree.tostring(r, with_tail=False, method="c14n")]
            for r in records
        ]
    assert found == expected


def test_a_chunk_keeps_one_copy_of_each_parent(write):
    path = write("<D>" + "<L><M><R/><R/></M><M><R/></M></L>" * 2 + "</D>")
    (chunk,) = iter_chunks(path, detect_layout(path, record="R"))
    assert etree.tostring(chunk.root).decode() == "<D>" + "<L><M><R/><R/></M><M><R/></M></L>" * 2 + "</D>"


MEASURE = """
import pathlib, resource, sys
from masktron.sources.xml.plain import detect_layout
from masktron.sources.xml.microdata import iter_chunks, read_records
path, count = sys.argv[1], int(sys.argv[2])
layout = detect_layout(path)
status = pathlib.Path("/proc/self/status")  # on Linux, ru_maxrss also counts the process that forked this one

def tell():
    if status.exists():
        print(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")))
    else:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

assert sum(len(c.root[0]) for c in iter_chunks(path, layout, 500)) == count
tell()
assert len(read_records(path, layout)) == count
tell()
"""


@pytest.mark.full
def test_trees_do_not_grow_with_the_file(write):
    """Neither in chunks, nor in columns after them: memory once taken counts for what follows."""
    peaks = []
    for count in (3_000, 40_000):
        path = write("<D><L>\n" + "<!-- c --><R>\n<A>1</A><B>2</B>\n</R>\n" * count + "</L></D>")
        command = [sys.executable, "-c", MEASURE, str(path), str(count)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        peaks.append([int(peak) for peak in said])
    for few, many in zip(*peaks, strict=True):
        assert many < 1.3 * few


def test_large_records_survive_the_borders_of_blocks(write):
    rows = [{"A": "x" * (i % 997), "B": str(i) if i % 3 else None} for i in range(3000)]
    text = "<D>\n" + "".join(
        f"  <R>\n    <A>{r['A']}</A>" + (f"<B>{r['B']}</B>" if r["B"] else "") + "\n  </R>\n" for r in rows
    )
    records = _read(write(text + "</D>"))
    for name in ("A", "B"):
        assert records.columns[name].lexemes.tolist() == [r[name] for r in rows]


SOUND = b"""<?xml version="1.0" encoding="UTF-8"?>
<Data xmlns="urn:d" y="1">
  <Record id="1"><A>1.5</A><B>x&amp;y</B></Record>
  <Record id="2"><A/><!-- c --><B><![CDATA[ <z> ]]></B></Record>
  <Record id="3"><B>\xc3\xa9</B></Record>
</Data>
"""
CHANGE = st.tuples(st.integers(0, len(SOUND)), st.integers(0, 12), st.binary(max_size=3) | st.just(b"<A>"))


@settings(examples(6, full=100), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.lists(CHANGE, min_size=1, max_size=3))
def test_a_damaged_file_is_refused_or_read_as_libxml2_reads_it(changes):
    damaged = SOUND
    for position, length, insert in changes:
        damaged = damaged[:position] + insert + damaged[position + length :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.xml")
        path.write_bytes(damaged)
        try:
            layout, shape = survey(path)
            read = {name: c.lexemes.tolist() for name, c in read_records(path, layout).columns.items()}
        except DocumentError:
            reject()
    assume(shape.flat)
    root = etree.fromstring(damaged)
    records = root.findall("/".join(layout.record_path[1:]))
    for f in layout.fields:
        found = [r.get(f.tag) if f.attribute else r.find(f.tag) for r in records]
        assert read[f.name] == [v if v is None or f.attribute else "".join(v.itertext()) for v in found]


def test_chunk_document_is_what_iter_chunks_gives(write):
    path = write("<n:D xmlns:n='urn:u' y='1'><L><R i='1'><n:A>1</n:A><B/></R><R><B> x&lt;</B></R></L></n:D>")
    layout, shape = survey(path)
    assert shape.flat
    records = read_records(path, layout)
    rows = [{name: c.lexemes[i] for name, c in records.columns.items()} for i in range(len(records))]
    (chunk,) = iter_chunks(path, layout)
    built = chunk_document(layout, rows)
    assert etree.tostring(built, method="c14n") == etree.tostring(chunk.root, method="c14n")
    assert len(chunk_document(layout, [])[0]) == 0
