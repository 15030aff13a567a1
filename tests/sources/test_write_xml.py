"""The masked file is the source with other values: the oracle is the same file generated from the new values."""

from __future__ import annotations

import codecs
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from cli_runner import write_file
from examples import examples
from made_columns import new_column
from masktron.errors import DocumentError, UsageError
from masktron.sources.column import Column
from masktron.sources.xml import outline as left_out_module
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.new_texts import escaped, writable
from masktron.sources.xml.outline import left_out, namespaces_of, outline_notes
from masktron.sources.xml.plain import detect_layout, survey, survey_plain
from masktron.sources.xml.writer import write_masked
from refusals import refused

FIELDS = ("@id", "@n:w", "A", "B", "n:C", "D")
NAMES = ("@id", "@w", "A", "B", "C", "D")
ENCODINGS = ("UTF-8", "UTF-16", "ISO-8859-1", "windows-1252", "US-ASCII")


def _build(rows, *, encoding="UTF-8", end="\n", nested=False, mark=False, spell=None) -> bytes:
    """Write records as a careful human would, without a library; ``spell`` writes the text of a field."""
    spell = spell or _escaped
    pad = "  " if end else ""
    deep = end + pad * (2 if nested else 1)
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n'
    text += '<n:Data xmlns:n="urn:n" xmlns="urn:d" year="2024">'
    text += f"{end}{pad}<List>" if nested else ""
    for row in rows:
        text += f"{deep}<Record"
        for name, lexeme in zip(FIELDS[:2], row[:2], strict=True):
            text += "" if lexeme is None else f" {name[1:]}={_quoted(lexeme)}"
        present = [(n, lexeme) for n, lexeme in zip(FIELDS[2:], row[2:], strict=True) if lexeme is not None]
        text += ">" if present else "/>"
        for name, lexeme in present:
            text += f"{deep}{pad}" + (f"<{name}>{spell(lexeme)}</{name}>" if lexeme else f"<{name}/>")
        text += f"{deep}</Record>" if present else ""
    text += f"{end}{pad}</List>" if nested else ""
    text += f"{end}</n:Data>\n"
    codec = {"UTF-16": "utf-16-be"}.get(encoding, encoding)
    prefix = codecs.BOM_UTF16_BE if encoding == "UTF-16" else codecs.BOM_UTF8 if mark else b""
    return prefix + text.encode(codec, errors="xmlcharrefreplace")


def _escaped(text: str) -> str:
    return escape(text, {"\r": "&#13;"})


def _as_cdata(text: str) -> str:
    return "".join(f"<![CDATA[{c}]]>" if c not in "]\r" and c.isascii() else f"&#x{ord(c):x};" for c in text)


def _with_remarks(text: str) -> str:
    return "".join(f"<!-- {i} --><?p {i}?>{_escaped(c)}" for i, c in enumerate(text))


def _quoted(text: str) -> str:
    return '"' + quoteattr(text + "'")[1:-2].replace('"', "&quot;") + '"'


LEXEMES = st.sampled_from(["1", "-2.50", "", " ", " 7\n", "é", "a<&>\"'b", "]]>", "€", "\r", "\U0001f600", "x\ty"])
LEXEMES |= st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=4)
ROW = st.tuples(*[st.none() | LEXEMES] * 6)
FULL = st.tuples(*[LEXEMES] * 6)
STYLE = st.fixed_dictionaries(
    {"encoding": st.sampled_from(ENCODINGS), "end": st.sampled_from(["", "\n"]), "nested": st.booleans()}
)


def _write(source: bytes, change=None, **options) -> tuple[bytes, int]:
    """Write with new columns: by trees, and from the bytes of the source where it is plain, which is the same."""
    with tempfile.TemporaryDirectory() as folder:
        path, target = Path(folder, "in.xml"), Path(folder, "out.xml")
        path.write_bytes(source)
        layout, shape = survey(path)
        assert shape.flat
        count = write_masked(path, target, layout, change or {}, **options)
        assert path.read_bytes() == source
        written = target.read_bytes()
        if (found := survey_plain(path)) is not None:
            assert write_masked(path, target, layout, change or {}, plain=found[2], **options) == count
            assert target.read_bytes() == written
        return written, count


def _coded(values) -> Column:
    """Texts of cells, each distinct one once, in reverse order."""
    texts = list(dict.fromkeys(values))[::-1]
    codes = [texts.index(value) for value in values]
    return new_column(np.array(texts, dtype=object), np.array(codes, dtype=np.intp))


def _columns(rows) -> dict[str, Column]:
    return {name: _coded([row[j] for row in rows]) for j, name in enumerate(NAMES)}


@given(FULL, st.lists(ROW, max_size=5), STYLE, st.booleans())
def test_no_change_gives_the_same_bytes(first, rest, style, mark):
    source = _build([first, *rest], mark=mark and style["encoding"] == "UTF-8", **style)
    assert _write(source) == (source, 1 + len(rest))


@pytest.mark.parametrize("spell", [_as_cdata, _with_remarks])
@given(rows=st.lists(ROW, min_size=1, max_size=4), style=STYLE)
def test_other_spellings_become_plain_text(spell, rows, style):
    assert _canonical(_write(_build(rows, spell=spell, **style))[0]) == _canonical(_build(rows, **style))


@given(FULL, FULL, st.lists(st.tuples(ROW, ROW), max_size=5), STYLE, st.sets(st.sampled_from(NAMES)))
def test_new_values_give_the_file_made_from_them(first, new_first, rest, style, masked):
    old = [first, *(pair[0] for pair in rest)]
    new = [
        tuple(after if name in masked else before for name, before, after in zip(NAMES, *pair, strict=True))
        for pair in [(first, new_first), *rest]
    ]
    change = {name: column for name, column in _columns(new).items() if name in masked}
    written, _ = _write(_build(old, **style), change)
    assert _canonical(written) == _canonical(_build(new, **style))
    assert _read_back(written) == _read_back(_build(new, **style)) == [list(row) for row in new]


def _canonical(text: bytes) -> bytes:
    """Attributes in one order: a new one stands last, which XML does not tell apart."""
    return etree.tostring(etree.fromstring(text), method="c14n")


def _read_back(text: bytes) -> list[list[str | None]]:
    with tempfile.TemporaryDirectory() as folder:
        path = write_file(Path(folder, "in.xml"), text)
        columns = read_records(path, detect_layout(path)).columns
    # an XML parser makes a space of a tab or line end that is not escaped; quoteattr escapes them
    cells = [columns[name].lexemes.tolist() for name in NAMES]
    return [list(row) for row in zip(*cells, strict=True)]


@examples(10, full=100)
@given(FULL, st.lists(ROW, max_size=6), STYLE, st.data())
def test_records_are_left_out_and_reordered(first, rest, style, data):
    rows = [first, *rest]
    order = data.draw(st.permutations(range(len(rows))))
    keep = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    source = _build(rows, **style)
    for permutation in (list(range(len(rows))), order):
        expected = [rows[i] for i in permutation if keep[i]]
        written, count = _write(source, keep=np.array(keep), order=np.array(permutation, dtype=np.intp))
        assert count == len(expected)
        if expected:
            assert written == _build(expected, **style)
    streamed, count = _write(source, keep=np.array(keep))
    expected = [row for row, wanted in zip(rows, keep, strict=True) if wanted]
    assert count == len(expected)
    if expected:
        assert streamed == _build(expected, **style)
    else:
        assert b"Record" not in streamed.replace(b"\0", b"")


@given(FULL, st.lists(ROW, max_size=5), STYLE, st.sets(st.sampled_from(NAMES), min_size=1))
def test_removed_fields_are_gone_from_every_record(first, rest, style, removed):
    rows = [first, *rest]
    expected = [tuple(None if n in removed else v for n, v in zip(NAMES, r, strict=True)) for r in rows]
    assert _write(_build(rows, **style), removed=removed)[0] == _build(expected, **style)


SECRETS = """<!-- secret 0 --><?secret secret?>
<!DOCTYPE secret>
<d:Data xmlns:d="d" xmlns:x="x" xmlns:secret="e" xmlns:q="secret" year="2009" x:base="p:1" xmlns:p="kept">
  <!-- secret 1 -->
  <Set of="secret 10" x:of="secret 11" xmlns:z="urn:secret12" xmlns:x="x">
  <d:Record id="1" xmlns:y="urn:secret13"><!-- secret 2 -->
    <A xmlns:y="urn:secret14">1<!-- secret 3 -->2<?secret 4?><![CDATA[<3]]>&#52;</A><?secret 5?>
    <secret:B xmlns:secret="d" xmlns:d="urn:secret15">5</secret:B><!-- secret 6 -->
  </d:Record>
  <?secret 7?>
  <d:Record/>
  <secret:Record xmlns:secret="d"><A xmlns="">7</A><y:C xmlns:y="only-here">8</y:C></secret:Record>
  <!-- secret 8 -->
  </Set>
</d:Data>
<!-- secret 9 --><?secret kept?>"""


def test_what_could_carry_original_values_is_dropped():
    source = SECRETS.encode()
    written, _ = _write(source)
    assert b"secret" not in written
    head = b'<d:Data xmlns:d="d" xmlns:x="x" xmlns:p="kept" xmlns:ns0="only-here" year="2009" x:base="p:1">\n  '
    assert written.startswith(head + b'<Set>\n  <d:Record id="1">\n')
    assert written.endswith(b"</Set>\n</d:Data>\n")
    assert b"<A>12&lt;34</A>" in written
    assert b"<d:Record>\n    <A>7</A>\n    <ns0:C>8</ns0:C>\n  </d:Record>" in written
    assert written.count(b"xmlns") == 4
    assert b"secret" not in _write(source, order=np.array([1, 0, 2]), keep=np.array([True, False, True]))[0]
    assert b"secret" not in _write(source, keep=np.zeros(3, dtype=bool))[0]


def test_what_was_dropped_is_counted(tmp_path):
    path = write_file(tmp_path / "in.xml", SECRETS)
    layout = detect_layout(path)
    counts = left_out(path, layout)
    assert counts == {
        "comments": 7,
        "processing_instructions": 5,
        "document_types": 1,
        "namespace_declarations": 11,
        "attributes": 2,
    }
    first, second = outline_notes(layout, counts)
    assert first == (
        "left out, since nobody knows what they tell: 7 comments, 5 processing instructions, 1 document type, 11 "
        "namespace declarations, 2 attributes of elements around the records"
    )
    assert second == "released as they are, the attributes of the root: year, base; look at what they tell"
    path.write_text("<D home='C:\\\\smith'><R><A>1</A></R></D>")
    assert list(outline_notes(detect_layout(path), left_out(path, detect_layout(path)))) == [
        "released as they are, the attributes of the root: home (a path or an address); look at what they tell"
    ]


@pytest.mark.parametrize("remark", ["", "<!-- 1 -->", "<?p 1?>", "<R xmlns:s='s'><A>1</A></R>"])
def test_what_is_counted_in_a_plain_file(remark, tmp_path):
    path = tmp_path / "in.xml"
    path.write_text("<!-- 1 --><D xmlns:s='s'>" + "<R><A>1</A></R>" * 4 + remark + "<R><A>1</A></R></D>")
    layout, _, plain = survey_plain(path)
    assert _write(path.read_bytes())[0] == b"<D>" + b"<R><A>1</A></R>" * (5 + (remark[:2] == "<R")) + b"</D>\n"
    counts = left_out(path, layout, plain)
    assert counts == left_out(path, layout)
    assert counts["comments"] == 1 + (remark[:2] == "<!")
    assert counts["processing_instructions"] == (remark[:2] == "<?")
    assert counts["namespace_declarations"] == 1 + (remark[:2] == "<R")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('<D xmlns="u"><R xmlns=""><A>1</A></R></D>', '<ns0:D xmlns:ns0="u"><R><A>1</A></R></ns0:D>\n'),
        (
            '<D xmlns="u"><R xmlns:smith="u" smith:id="1"><A xmlns:n="u">1</A></R></D>',
            '<D xmlns="u" xmlns:ns0="u"><R ns0:id="1"><A>1</A></R></D>\n',
        ),
        ('<D><smith:R xmlns:smith="u"><A/></smith:R></D>', '<D xmlns:ns0="u"><ns0:R><A/></ns0:R></D>\n'),
        ('<D xmlns:ns0="v"><R xmlns="u" xml:lang="fr"/></D>', '<D xmlns:ns1="u"><ns1:R xml:lang="fr"/></D>\n'),
    ],
)
def test_namespaces_of_records_are_declared_on_the_root(source, expected, tmp_path):
    written, _ = _write(source.encode())
    layouts = []
    for name, text in (("in.xml", source.encode()), ("out.xml", written)):
        (tmp_path / name).write_bytes(text)
        layouts.append(detect_layout(tmp_path / name))
    assert layouts[0].record_path == layouts[1].record_path
    assert set(layouts[0].fields) == set(layouts[1].fields)
    assert dict(layouts[1].nsmap) == namespaces_of(layouts[0])
    assert written.decode() == expected


def test_the_standalone_declaration_stays():
    source = b"<?xml version='1.0' encoding='utf-8'   standalone='yes'?>\n<D><R><A>1</A></R></D>\n"
    assert _write(source)[0] == source


@pytest.mark.parametrize("source", [b"<D/>\n", b'<n:D xmlns:n="u" a="1"/>\n'])
def test_no_records(source):
    assert _write(source) == (source, 0)


@pytest.mark.full
def test_records_across_chunks_and_blocks():
    rows = [(str(i), None, "x" * (i % 50), str(i), None, "y" if i % 7 else None) for i in range(12_000)]
    rows[0] = ("0", "w", "a", "b", "c", "d")
    source = _build(rows)
    assert _write(source) == (source, 12_000)
    new = [(*row[:3], "masked", *row[4:]) for row in rows]
    assert _write(source, {"B": _columns(new)["B"]})[0] == _build(new)


@pytest.mark.parametrize(
    "body",
    [
        "<R>\n<A>1</A><A>2</A></R>",
        "<R>\n<A><X>2</X></A></R>",
        "<R>\n<A u='1'>2</A></R>",
        "<R>\nx<A>2</A></R>",
        "\n<T>99</T>",
    ],
)
def test_what_is_not_flat_is_refused(body, tmp_path):
    path = write_file(tmp_path / "in.xml", f"<D>\n<R><A>1</A></R><R/>{body}</D>")
    with refused(DocumentError, "records-not-flat", where=f"{path}:3"):
        write_masked(path, tmp_path / "out.xml", detect_layout(path), {})
    assert not (tmp_path / "out.xml").exists()


@pytest.mark.parametrize(
    ("arguments", "error", "code"),
    [
        ({"replacements": {"X": _coded(["1", "2"])}}, UsageError, "unknown-name"),
        ({"replacements": {"A": _coded(["1"])}}, UsageError, "bad-arrays"),
        ({"replacements": {"A": _coded(["1", "2"])}, "removed": ["A"]}, UsageError, "bad-arrays"),
        ({"keep": np.array([True])}, UsageError, "bad-arrays"),
        ({"order": np.array([0, 0])}, UsageError, "bad-arrays"),
        ({"replacements": {"A": _coded(["1", "\x01"])}}, DocumentError, "cannot-hold"),
        ({"replacements": {"A": _coded(["\ud800", "1"])}}, DocumentError, "cannot-hold"),
        ({"replacements": {"A": new_column(["1"], np.array([0, 1]))}}, UsageError, "bad-arrays"),
    ],
)
def test_wrong_arguments(arguments, error, code, tmp_path):
    path = write_file(tmp_path / "in.xml", "<D><R><A>1</A></R><R/></D>")
    with refused(error, code):
        write_masked(path, tmp_path / "out.xml", detect_layout(path), **{"replacements": {}, **arguments})


def test_the_first_record_with_a_wrong_text_is_named(tmp_path):
    path = write_file(tmp_path / "in.xml", "<D>" + "<R><A>1</A><B>2</B></R>" * 3 + "</D>")
    wrong = {"A": _coded(["1", "2", "\x02"]), "B": _coded(["1", "\x03", "\x01"])}
    for columns in (wrong, dict(reversed(wrong.items()))):
        with refused(DocumentError, "cannot-hold", where="record 2, field B"):
            write_masked(path, tmp_path / "out.xml", detect_layout(path), columns)
    wrong["A"] = _coded(["1", "\x02", "1"])
    with refused(DocumentError, "cannot-hold", where="record 2, field A"):
        write_masked(path, tmp_path / "out.xml", detect_layout(path), dict(reversed(wrong.items())))
    unused = new_column(np.array(["\x01", "5"], dtype=object), np.ones(3, dtype=np.intp))
    assert write_masked(path, tmp_path / "out.xml", detect_layout(path), {"A": unused}) == 3


def test_a_character_is_refused_if_libxml2_refuses_it_and_written_as_libxml2_does():
    element = etree.Element("x")
    for start in range(0, 0x110000, 0x1000):
        accepted = []
        for character in map(chr, range(start, start + 0x1000)):
            try:
                element.text = character
            except ValueError:
                assert not writable(np.array([character], dtype=object)), ascii(character)
            else:
                accepted.append(character)
        text = "".join(accepted)
        assert writable(np.array([text], dtype=object))
        element.text = text
        element.set("a", text)
        written = f'<x a="{escaped(text, attribute=True)}">{escaped(text, attribute=False)}</x>'
        assert etree.tostring(element, encoding="unicode") == (written if text else '<x a=""/>')


def test_a_source_that_changed_meanwhile_is_refused(tmp_path):
    path = write_file(tmp_path / "in.xml", "<D><R><A>1</A></R></D>")
    layout = detect_layout(path)
    path.write_text("<D><R><A>1</A><NAME>Smith</NAME></R></D>")
    with refused(DocumentError, "file-changed"):
        write_masked(path, tmp_path / "out.xml", layout, {})


@pytest.mark.parametrize("block", [1, 2, 3, 7, 100])
def test_signs_of_what_is_left_out_may_stand_in_two_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(left_out_module, "_BLOCK", block)
    path = tmp_path / "d.xml"
    for sign in ("<!", "<?", "xmlns"):
        for before in range(6):
            path.write_text(f"<!{'x' * before}{sign}x<x")
            assert left_out_module._has_signs(path, 2)
            assert not left_out_module._has_signs(path, before + 3)
