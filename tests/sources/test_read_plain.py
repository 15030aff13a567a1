"""The fast survey and the batches say what the exact survey, libxml2 and expat say of the same file."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from unittest import mock
from xml.parsers.expat import ExpatError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from examples import FULL, examples, parts, spread
from flat_files import BROKEN, NAMES, flat_files
from masktron.errors import DocumentError, MasktronError
from masktron.kernels import ready
from masktron.sources.columns import Cell
from masktron.sources.record_layout import Field, Layout
from masktron.sources.xml import flatness as establishing
from masktron.sources.xml import prefix as prefix_module
from masktron.sources.xml import wellformed
from masktron.sources.xml.blocks import Name, PlainFile
from masktron.sources.xml.layout import survey_exactly
from masktron.sources.xml.microdata import record_lines
from masktron.sources.xml.parser import opened
from masktron.sources.xml.plain import iter_batches, survey, survey_file, survey_plain
from masktron.sources.xml.prefix import NotPlain, Paths, first_record
from masktron.sources.xml.wellformed import worth_columns
from refusals import refused

PREFIXES = st.one_of(st.integers(50, 700), st.just(1 << 20))
BLOCKS = st.one_of(st.integers(1, 64), st.just(1 << 20))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plain")


def written(folder: Path, data: bytes) -> Path:
    path = folder / "data.xml"
    path.write_bytes(data)
    return path


def surveyed(path: Path, *, block: int, prefix: int):
    """Survey with so many bytes to find the record element in: what comes later must not come unseen."""
    with mock.patch.object(prefix_module, "_PREFIX", prefix):
        return survey_plain(path, block=block)


def content(element: etree._Element) -> str | None:
    """Text of a field whose only children are comments and instructions; None if there are elements or attributes."""
    if element.attrib or any(isinstance(child.tag, str) for child in element):
        return None
    return "".join(element.xpath("text()"))


def assert_cells_are_those_of_libxml2(path: Path, layout: Layout, batches) -> int:
    """Every cell and every record that is called plain is read by libxml2 as the batch says; returns how many."""
    root = etree.parse(path, etree.XMLParser(resolve_entities=False)).getroot()
    records = root.findall("/".join([".", *layout.record_path[1:]]))
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


@examples(20, full=150)
@given(file=flat_files(), block=BLOCKS, prefix=PREFIXES, rows=st.integers(1, 9))
def test_flat_files_are_surveyed_and_read_alike(folder, file, block, prefix, rows):
    path = written(folder, file.data)
    expected = survey_exactly(path)
    found = surveyed(path, block=block, prefix=prefix)
    assert expected[1].flat
    if found is None:
        assert prefix < len(file.data)
        found = survey_plain(path, block=block)
    assert found is not None
    assert found[:2] == expected
    batches = list(iter_batches(path, found[0], found[2], block=block, rows=rows))
    assert all(1 <= len(batch) <= rows for batch in batches)
    assert_cells_are_those_of_libxml2(path, found[0], batches)


@examples(20, full=150)
@given(file=flat_files(wild=True), block=BLOCKS, prefix=PREFIXES)
def test_the_survey_of_any_file_is_that_of_expat_or_none(folder, file, block, prefix):
    path = written(folder, file.data)
    found = surveyed(path, block=block, prefix=prefix)
    try:
        expected = survey_exactly(path)
    except MasktronError:
        assert found is None
        return
    assert found is None or found[:2] == expected
    if prefix > len(file.data):
        assert (found is not None) == expected[1].flat


@pytest.mark.full
@examples(25, full=100)
@given(file=flat_files(broken=True), block=BLOCKS, prefix=PREFIXES)
def test_a_broken_file_is_left_to_the_exact_way(folder, file, block, prefix):
    path = written(folder, file.data)
    found = surveyed(path, block=block, prefix=prefix)
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
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
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


@pytest.mark.full
@examples(20, full=200)
@given(file=flat_files(wild=True), block=BLOCKS, rows=st.integers(1, 9))
def test_records_of_any_kind_are_read_or_called_odd(folder, file, block, rows):
    path = written(folder, file.data)
    try:
        layout, plain = by_hand(path, file.record, file.default)
    except MasktronError:  # a record inside a record; two paths
        return
    batches = list(iter_batches(path, layout, plain, block=block, rows=rows))
    assert_cells_are_those_of_libxml2(path, layout, batches)


CP1252 = "<?xml version='1.0' encoding='cp1252'?>"
PLAIN_RECORDS = "<R id='{0}'><V1>{0}</V1><V2/></R>\r\n"


def document(*inside: str, root: str = "<D xmlns:p='u'>", head: str = "", count: int = 3) -> bytes:
    """Some plain records, what is to be tried, and some more."""
    around = "".join(PLAIN_RECORDS.format(i) for i in range(count))
    return f"{head}{root}\n{around}{''.join(inside)}{around}</D>\n".encode()


WHOLE = {
    "comments and instructions": document("<!-- <R> </D> --><?pi <R>?>\n<!---->"),
    "late fields": document("<R zz='1'><V9>1</V9><p:V10/></R>", "<R id='1'><V2>1</V2><V3>2</V3></R>"),
    "late field in an odd record": document("<R><!-- c --><V9>1</V9></R>", "<R><V9>1</V9></R>"),
    "late field in a redeclared namespace": document("<R><q:W xmlns:q='u'>1</q:W></R>", "<R><p:W>1</p:W></R>"),
    "redeclared, then the same prefix": document("<R xmlns:p='z'><p:W>1</p:W></R>", root="<D xmlns:p='z'>"),
    "prefix that only records declare": document("<R xmlns:q='w'><q:W>1</q:W></R>" * 4),
    "xml:lang": document("<R xml:lang='en'><V1>1</V1></R>" * 4),
    "no end of line at all": document("<R/>").replace(b"\r\n", b"").replace(b"\n", b""),
    "lone carriage returns": document("<R>\r<V1\r>1</V1\r>\r</R\r>\r\r"),
    "doctype without declarations": document(head="<!DOCTYPE D>"),
    "doctype with a comment": document(head="<!-- <D><R/> --><!DOCTYPE  D  >\n<?x?>"),
    "byte order mark": b"\xef\xbb\xbf" + document("<R><V1>\xe9</V1></R>"),
    "character cut by blocks": document("<R><V1>\u20ac\U0001d11e\xe9</V1></R>" * 9),
    "deep records": document().replace(b"<D xmlns:p='u'>", b"<D><A><B>").replace(b"</D>", b"</B></A></D>"),
    "self-closing records": document("<R/><R id='/>'/><R\n/>"),
    "record with CDATA around an end tag": document("<R><V1><![CDATA[</V1></R></D>]]></V1></R>"),
    "signs in attributes": document("<R id='/>'><V1>1</V1></R>", "<R id='&lt;/R>'/>", '<R id="=\'>"></R>'),
    "records that begin alike": document("<R><R1>1</R1><R2/></R>"),
    "name that begins like another": document("<R><V11>1</V11><V>2</V><V1>3</V1></R>" * 3),
    "single bytes": '<?xml version="1.0" encoding="koi8-r"?><D><R><ж>ж</ж></R><R/><R/></D>'.encode("koi8-r"),
}
NOT_FLAT = {
    "repeated field": document("<R><V1>1</V1><V1>2</V1></R>"),
    "repeated, with another prefix": document("<R><p:W>1</p:W><q:W>2</q:W></R>", root="<D xmlns:p='u' xmlns:q='u'>"),
    "record in a record": document("<R><R><V1>1</V1></R></R>"),
    "child in a field": document("<R><V1>1<c/></V1></R>"),
    "attribute of a field": document("<R><V1 a='1'>1</V1></R>"),
    "text between fields": document("<R>x<V1>1</V1></R>"),
    "text between records": document("x"),
    "reference between records": document("&#120;"),
    "sibling": document("<Q/>"),
    "sibling at the end": document().replace(b"</D>", b"<Q/></D>"),
    "name that goes on": document("<RR/>"),
    "two parents": b"<D><A>" + b"<R><V>1</V></R>" * 4 + b"</A><A>" + b"<R><V>1</V></R>" * 4 + b"</A></D>",
    "too few": b"<D><R><V>1</V></R><R/></D>",
    "utf-16": document().decode().encode("utf-16"),
    "records that declare their own namespace": document("<R xmlns='u'/>"),
    "some records in a namespace": b"<D>" + b"<R xmlns='u'/>" * 3 + b"<R/>" * 3 + b"</D>",
    "some records in another": b"<D xmlns='d'>" + b"<R xmlns='u'/>" * 3 + b"<R/></D>",
    "other record element": document("<p:R/>"),
}
REFUSED = {
    **{f"broken {text!r}": document(f"<R>{text}</R>") for text in BROKEN},
    **{f"broken at the end {text!r}": document().replace(b"</D>", f"<R>{text}</R></D>".encode()) for text in BROKEN},
    "cut": document()[:-12],
    "cut before the end": document()[:-2],
    "no end": document()[:-6],
    "second root": document() + b"<D/>",
    "text behind": document() + b"x",
    "doctype with an entity": document("<R><V1>&e;</V1></R>", head="<!DOCTYPE D [<!ENTITY e 'x'>]>"),
    "doctype elsewhere": document(head="<!DOCTYPE D SYSTEM 'http://localhost/d'>"),
    "xml 1.1": document(head="<?xml version='1.1'?>"),
    "wrong encoding": b'<?xml version="1.0" encoding="ascii"?>' + document("<R><V1>\xe9</V1></R>"),
    "latin-1 without a word": document("<R><V1>\xe9</V1></R>").decode().encode("latin-1"),
    "hole in an encoding": document("<R><V1>@</V1></R>", head=CP1252).replace(b"@", b"\x81"),
    "surrogate": document("<R><V1>@</V1></R>").replace(b"@", b"\xed\xa0\x80"),
    "overlong": document("<R><V1>@</V1></R>").replace(b"@", b"\xc0\x80"),
    "beyond unicode": document("<R><V1>@</V1></R>").replace(b"@", b"\xf4\x90\x80\x80"),
    "half a character at the end of a value": document("<R><V1>@</V1></R>").replace(b"@", b"\xe2\x82"),
    "nul": document("<R><V1>\0</V1></R>"),
    "nul between": document("\0"),
    "undeclared prefix, late": document("<R><n:V1>1</n:V1></R>"),
    "undeclared prefix of an attribute": document("<R n:id='1'/>"),
    "prefix declared in the record before": document("<R xmlns:n='w'><n:V>1</n:V></R><R><n:V>1</n:V></R>"),
    "one attribute by two prefixes": document("<R p:id='1' q:id='2'/>", root="<D xmlns:p='u' xmlns:q='u'>"),
    "deeper than the limit": document("<R>" + "<a>" * 201 + "</a>" * 201 + "</R>"),
    "attributes that touch": document("<R id='1'V1='2'/>"),
    "tag that ends in a slash": document("<R/ >"),
    "two hyphens": document("<!-- a -- b -->"),
    "instruction with a prefix between records": document("<?p:i x?>"),
    "instruction with a prefix between comments": document("<!-- --><?p:i x?><!-- -->"),
    "noncharacters": document("<R><V1>\ufffe</V1></R>"),
    "noncharacter in an attribute": document("<R id='\uffff'/>"),
    "end tag of another field": document("<R><V1>1</V2></R>", "<R><V2>1</V1></R>"),
    "end tag of another record": document("<R><V1>1</V1></Q>"),
}


def prefixes(path: Path) -> list[int]:
    """The whole file, and the smallest part in which the record element is found."""
    size = path.stat().st_size
    for prefix in range(1, size):
        with mock.patch.object(prefix_module, "_PREFIX", prefix), suppress(NotPlain, MasktronError, ExpatError):
            with opened(path) as (stream, encoding):
                first_record(path, stream, encoding, None, ())
            return [prefix, size]
    return [size]


EVERY_BLOCK = (*range(1, 80), 1000, 1 << 20)
SOME_BLOCKS = EVERY_BLOCK if FULL else (*range(1, 4), 7, 31, 64, 1 << 20)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", parts(WHOLE, 5))
def test_plain_enough(name, tmp_path):
    path = written(tmp_path, WHOLE[name])
    expected = survey_exactly(path)
    assert expected[1].flat
    for block, prefix in itertools.product(SOME_BLOCKS, prefixes(path)):
        found = surveyed(path, block=block, prefix=prefix)
        assert found is not None
        assert found[:2] == expected
        batches = list(iter_batches(path, found[0], found[2], block=block, rows=4))
        assert_cells_are_those_of_libxml2(path, found[0], batches)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", spread(NOT_FLAT, every=2))
def test_not_plain(name, tmp_path):
    path = written(tmp_path, NOT_FLAT[name])
    with suppress(DocumentError):  # nothing may tell which element is the record
        survey_exactly(path)
    for block, prefix in itertools.product(EVERY_BLOCK[::5], prefixes(path)):
        assert surveyed(path, block=block, prefix=prefix) is None


class _Accepting:
    """A parser that finds nothing wrong."""

    def feed(self, _data: bytes) -> None: ...

    def close(self) -> None: ...


@pytest.mark.few(6)
@pytest.mark.parametrize("name", spread(REFUSED, every=3))
def test_refused_by_both_and_by_what_does_not_trust_libxml2(name, tmp_path, monkeypatch):
    path = written(tmp_path, REFUSED[name])
    with pytest.raises(MasktronError):
        survey_exactly(path)
    for parser, blocks in ((establishing.deaf_parser, SOME_BLOCKS[3::4]), (_Accepting, (7, 1 << 20))):
        monkeypatch.setattr(establishing, "deaf_parser", parser)
        for block, prefix in itertools.product(blocks, prefixes(path)):
            assert surveyed(path, block=block, prefix=prefix) is None


def test_few_records_are_odd_where_few_need_be(tmp_path):
    path = written(tmp_path, document("<R><V1>a&amp;b</V1><V2>1</V2></R>", "<R><!-- --><V2>1</V2></R>"))
    layout, _, plain = survey_plain(path)
    (batch,) = iter_batches(path, layout, plain)
    assert batch.odd.tolist() == [False] * 4 + [True] + [False] * 3
    assert [cells.status[3] for cells in batch.cells] == [Cell.ABSENT, Cell.ODD, Cell.TEXT]
    assert [cells.status[2] for cells in batch.cells] == [Cell.TEXT, Cell.TEXT, Cell.EMPTY]


def test_what_a_record_declares_ends_with_it(tmp_path):
    late = ("<R xmlns:p='w'><V1>1</V1></R>", "<R><p:W>1</p:W></R>", "<R><p:W>2</p:W></R>")
    path = written(tmp_path, document(*late))
    layout, _, plain = survey_plain(path)
    (batch,) = iter_batches(path, layout, plain)
    assert batch.odd.tolist() == [False] * 3 + [True] + [False] * 5
    assert layout.fields[-1].tag == "{u}W"
    assert batch.cells[-1].status.tolist() == [0, 0, 0, Cell.ODD, Cell.TEXT, Cell.TEXT, 0, 0, 0]


def test_hints_and_the_record_option_decide_alike(tmp_path):
    nested = b"<D><H>" + b"<P><A>1</A></P>" * 5 + b"</H></D>"
    path = written(tmp_path, nested)
    for record, hints in ((None, ()), (None, ("P",)), ("P", ()), ("H", ()), (None, ("H",)), ("nope", ())):
        try:
            expected = survey_exactly(path, record=record, hints=hints)
        except MasktronError:
            assert survey_plain(path, record=record, hints=hints) is None
            continue
        found = survey_plain(path, record=record, hints=hints)
        assert found is None or found[:2] == expected
        assert (found is not None) == expected[1].flat


def test_another_element_that_repeats_at_the_end_decides_with_the_exact_way(tmp_path):
    path = written(tmp_path, document().replace(b"</D>", b"<Q><V>1</V></Q><Q><V>1</V></Q></D>"))
    assert survey_plain(path) is None
    with refused(DocumentError, "record-unclear"):
        survey_exactly(path)


def test_a_file_that_changes_is_not_read_on(tmp_path):
    path = written(tmp_path, document())
    layout, _, plain = survey_plain(path)
    batches = iter_batches(path, layout, plain, block=50)
    next(batches)
    path.write_bytes(document().replace(b"<V1>", b"<V9>"))
    os.utime(path, ns=(1, 1))
    with refused(DocumentError, "file-changed"):
        list(batches)
    with refused(DocumentError, "file-changed"):
        list(iter_batches(path, layout, plain))


def test_a_file_in_a_shared_folder_is_the_same_on_each_machine(tmp_path, monkeypatch):
    """Each has its own number for the device, as NFS and overlays do; node, size and time are those of the file."""
    path = written(tmp_path, document())
    layout, _, plain = survey_plain(path)

    def elsewhere(descriptor):
        found = list(os.fstat(descriptor))
        found[2] += 1
        return os.stat_result(found, {"st_mtime_ns": os.fstat(descriptor).st_mtime_ns})

    monkeypatch.setattr(wellformed, "os", mock.Mock(fstat=elsewhere))
    assert sum(len(batch.starts) for batch in iter_batches(path, layout, plain)) == plain.records


def test_large_files_are_surveyed_by_the_kernel_and_small_ones_are_not(tmp_path, monkeypatch):
    path = written(tmp_path, document(count=50))
    told: list[str] = []
    assert survey_file(path)[2] is None
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 1000)
    layout, shape, plain, *_ = survey_file(path, progress=lambda stage, done: told.append(stage))
    assert plain is not None
    assert plain.records == 100
    assert (layout, shape) == survey_exactly(path) == survey(path)
    assert told == []


@pytest.mark.parametrize("kept", [False, True])
def test_the_user_is_told_of_kernels_that_have_to_be_compiled(tmp_path, monkeypatch, kept):
    path = written(tmp_path, document(count=50))
    told: list[str] = []
    monkeypatch.setattr("masktron.sources.xml.wellformed.SMALLEST", 1000)
    monkeypatch.setattr(ready, "kernels_ready", lambda: False)
    monkeypatch.setattr(ready, "kernels_kept", lambda: kept)
    monkeypatch.setattr(ready, "compile_kernels", lambda: told.append("done"))
    survey_file(path, progress=lambda stage, done: told.append(stage))
    assert told == (
        ["compiling, once", "done"] if kept else ["compiling, in each run, as no folder is closed to others"]
    )


def test_a_missing_file_is_the_error_of_the_exact_way(tmp_path):
    with refused(DocumentError, "cannot-read"):
        survey_file(tmp_path / "none.xml")
    assert survey_plain(tmp_path / "none.xml") is None


def test_small_files_do_not_load_the_compiler(tmp_path):
    path = written(tmp_path, document())
    code = (
        "import sys; from masktron.sources.xml.plain import survey; "
        f"survey({str(path)!r}); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_what_is_too_long_to_carry_goes_the_exact_way(tmp_path, monkeypatch):
    path = written(tmp_path, document("<R><V1>" + "1" * 500 + "</V1></R>"))
    assert survey_plain(path, block=100) is not None
    monkeypatch.setattr(establishing, "_LONGEST", 400)
    assert survey_plain(path, block=100) is None


def test_names_without_end_go_the_exact_way(tmp_path, monkeypatch):
    path = written(tmp_path, document(*(f"<R><W{i}/></R>" for i in range(20))))
    assert survey_plain(path) is not None
    monkeypatch.setattr(establishing, "MOST_NAMES", 10)
    assert survey_plain(path) is None


def test_a_file_of_many_short_records_is_worth_columns(tmp_path, monkeypatch):
    monkeypatch.setattr("masktron.sources.xml.wellformed.MANY_RECORDS", 40)
    few, many = (tmp_path / f"{name}.xml" for name in ("few", "many"))
    for path, count in ((few, 39), (many, 40)):
        path.write_text(f"<Data>{'<Record><A>1</A></Record>' * count}</Data>\n")
    assert not worth_columns(few)
    assert worth_columns(many)
    assert survey_file(few)[2] is None
    assert survey_file(many)[2] is not None
    (tmp_path / "one.xml").write_text("<Data/>")
    assert not worth_columns(tmp_path / "one.xml")
