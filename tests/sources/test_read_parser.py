"""One clear error, with line and column, for every file that is not plain well-formed XML."""

from __future__ import annotations

import codecs
import os

import pytest

from cli_runner import write_file
from masktron.errors import DocumentError, RulebookError
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.parser import parse_tree
from masktron.sources.xml.plain import survey
from refusals import refused

BOMB = b"""<!DOCTYPE Data [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><Data><Record><V1>&c;</V1></Record></Data>"""
REFUSED = {
    "truncated": (b"<Data>\n<Record><V1>1</V1>", "not-well-formed", "2:19"),
    "truncated in a tag": (b"<Data>\n<Record", "not-well-formed", "2:1"),
    "truncated in a comment": (b"<Data/>\n<!-- x", "not-well-formed", "2:1"),
    "two roots": (b"<Data/>\n<Data/>", "not-well-formed", "2:1"),
    "text behind the root": (b"<Data/>\n x", "not-well-formed", "2:2"),
    "nul behind the root": (b"<Data/>\n\0", "not-well-formed", "2:1"),
    "mismatched": (b"<Data>\n <V1>1</V2></Data>", "not-well-formed", "2:9"),
    "latin-1 as utf-8": (b'<?xml version="1.0" encoding="utf-8"?>\n<Data>\xe9</Data>', "xml-declaration", "2:7"),
    "latin-1 undeclared": (b"<Data>\n\xe9</Data>", "xml-declaration", "2:1"),
    "overlong": (b"<Data>\xc0\x80</Data>", "xml-declaration", "1:7"),
    "surrogate in utf-8": (b"<Data>\xed\xa0\x80</Data>", "xml-declaration", "1:7"),
    "ascii": (b"<?xml version='1.0' encoding='us-ascii'?><Data>\xe9</Data>", "xml-declaration", "1:48"),
    "undefined in cp1252": (
        b"<?xml version='1.0' encoding='windows-1252'?><Data>\x81</Data>",
        "not-well-formed",
        "1:52",
    ),
    "nul": (b"<Data>1\0</Data>", "not-well-formed", "1:8"),
    "control character": (b"<Data>\n1\x01</Data>", "not-well-formed", "2:2"),
    "control reference": (b"<Data>&#1;</Data>", "not-well-formed", "1:7"),
    "entity bomb": (BOMB, "document-type", "1:16"),
    "external entity": (
        b'<!DOCTYPE Data [<!ENTITY x SYSTEM "file:///etc/hostname">]>\n<Data>&x;</Data>',
        "document-type",
        "1:16",
    ),
    "external subset": (b'<!DOCTYPE Data SYSTEM "x.dtd"><Data>&x;</Data>', "document-type", "1:30"),
    "public subset": (b'<!DOCTYPE Data PUBLIC "p" "x.dtd"><Data/>', "document-type", "1:34"),
    "default attribute": (b"<!DOCTYPE Data [<!ATTLIST Data a CDATA 'v'>]><Data/>", "document-type", "1:16"),
    "undefined entity": (b"<Data>\n &x;</Data>", "not-well-formed", "2:2"),
    "unbound prefix": (b"<Data>\n<p:V1/></Data>", "not-well-formed", "2:1"),
    "attribute twice": (b"<Data a='1' a='2'/>", "not-well-formed", "1:13"),
    "late declaration": (b"\n<?xml version='1.0'?><Data/>", "not-well-formed", "2:1"),
    "plain text": (b"V1 V2\n1 2\n", "not-well-formed", "1:1"),
    "CSV": (b"V1,V2\n1,2\n", "other-format", ""),
    "white space": (b" \n", "not-well-formed", "2:1"),
    "gzip": (b"\x1f\x8b\x08\x00", "unreadable-format", ""),
    "empty": (b"", "empty-file", ""),
    "utf-16 declared utf-8": (
        '<?xml version="1.0" encoding="UTF-8"?><Data/>'.encode("utf-16"),
        "xml-declaration",
        "1:1",
    ),
    "utf-8 declared utf-16": (b'<?xml version="1.0" encoding="UTF-16"?><Data/>', "xml-declaration", "1:1"),
    "utf-8 mark, latin-1 declared": (
        b'\xef\xbb\xbf<?xml version="1.0" encoding="ISO-8859-1"?><Data/>',
        "xml-declaration",
        "1:1",
    ),
    "odd utf-16": ("<Data/>".encode("utf-16") + b"\0", "not-well-formed", "1:9"),
    "lone surrogate": (
        codecs.BOM_UTF16_LE + "<Data>".encode("utf-16-le") + b"\0\xd8" + "y</Data>".encode("utf-16-le"),
        "xml-declaration",
        "1:1",
    ),
    "utf-32": ("<Data/>".encode("utf-32"), "xml-declaration", "1:1"),
    "unknown encoding": (b"<?xml version='1.0' encoding='klingon'?><Data/>", "xml-declaration", "1:1"),
    "read in two ways": (b"<?xml version='1.0' encoding='shift_jis'?><Data/>", "xml-declaration", "1:1"),
    "not an encoding": (b"<?xml version='1.0' encoding='rot13'?><Data/>", "xml-declaration", "1:1"),
    "xml 1.1": (b"<?xml version='1.1'?><Data/>", "xml-declaration", "1:1"),
    "too deep": (b"<a>" * 300 + b"</a>" * 300, "not-microdata", "1:"),
    "too long": (b"<Data>\n" + b"x" * 10_500_000 + b"</Data>", "not-microdata", "2:"),
}


@pytest.mark.parametrize("error", [DocumentError, RulebookError])
@pytest.mark.parametrize("name", REFUSED)
def test_tree_refuses(name, error, tmp_path):
    content, code, place = REFUSED[name]
    path = write_file(tmp_path / "file.xml", content)
    if error is RulebookError and code in {"other-format", "unreadable-format"}:
        code = "not-xml"
    with refused(error, code) as caught:
        parse_tree(path, error)
    assert caught.value.where.startswith(f"{path}:{place}" if place else str(path))
    assert caught.value.hint


@pytest.mark.parametrize("name", [n for n in REFUSED if n != "too long"])
def test_survey_refuses(name, tmp_path):
    content, code, place = REFUSED[name]
    path = write_file(tmp_path / "file.xml", content)
    with refused(DocumentError, code) as caught:
        survey(path)
    assert caught.value.where.startswith(f"{path}:{place}" if place else str(path))


def test_too_long_a_value_is_refused_in_columns(tmp_path):
    path = write_file(tmp_path / "file.xml", b"<Data><Record><V1>" + b"x" * 10_500_000 + b"</V1></Record></Data>")
    layout, _ = survey(path)
    with refused(DocumentError, "not-microdata"):
        read_records(path, layout)


def test_missing_file(tmp_path):
    with refused(DocumentError, "cannot-read") as caught:
        parse_tree(tmp_path / "no.xml")
    assert caught.value.where == str(tmp_path / "no.xml")


def test_directory(tmp_path):
    with refused(DocumentError, "cannot-read"):
        parse_tree(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path):
    path = write_file(tmp_path / "file.xml", b"<Data/>")
    path.chmod(0)
    with refused(DocumentError, "cannot-read", reason="Permission denied"):
        parse_tree(path)


def test_impossible_name():
    with refused(DocumentError, "cannot-read"):
        parse_tree("a\0b.xml")


def test_a_file_name_is_never_taken_for_an_address(tmp_path):
    path = write_file(tmp_path / "a#b%20?c=http:.xml", b"<Data/>")
    assert parse_tree(path).getroot().tag == "Data"
    with refused(DocumentError, "cannot-read"):
        parse_tree("http://localhost:1/data.xml")


def test_bare_document_type_is_fine(tmp_path):
    path = write_file(tmp_path / "file.xml", b"<!DOCTYPE Data>\n<Data>&lt;&#65;</Data>")
    assert parse_tree(path).getroot().text == "<A"


TEXT = "<Data>\n<Record><V1>é5</V1></Record></Data>"
ENCODED = {
    "plain": TEXT.encode(),
    "mark": codecs.BOM_UTF8 + TEXT.encode(),
    "utf8 without hyphen": f"<?xml version='1.0' encoding='utf8'?>{TEXT}".encode(),
    "utf-16": TEXT.encode("utf-16"),
    "utf-16 declared": f"<?xml version='1.0' encoding='UTF-16'?>{TEXT}".encode("utf-16"),
    "utf-16-be": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    "utf-16-le, no mark": f"<?xml version='1.0' encoding='UTF-16LE'?>{TEXT}".encode("utf-16-le"),
    "utf-16-be, no mark": f"<?xml version='1.0' encoding='UTF-16BE'?>{TEXT}".encode("utf-16-be"),
    "latin-1": f'<?xml version="1.0" encoding="ISO-8859-1"?>{TEXT}'.encode("latin-1"),
    "latin-9": f'<?xml version="1.0" encoding="iso-8859-15" standalone="yes" ?>{TEXT}'.encode("iso-8859-15"),
    "windows": f'<?xml version="1.0" encoding="windows-1252"?>{TEXT}'.encode("cp1252"),
}


@pytest.mark.parametrize("name", ENCODED)
def test_encodings_are_read(name, tmp_path):
    path = write_file(tmp_path / "file.xml", ENCODED[name])
    assert parse_tree(path).findtext("Record/V1") == "é5"
    layout, shape = survey(path)
    assert shape.flat
    records = read_records(path, layout)
    assert records.columns["V1"].lexemes.tolist() == ["é5"]
    assert records.lines.tolist() == [2]


@pytest.mark.full
def test_every_supported_single_byte_encoding_is_read_alike(tmp_path):
    path = tmp_path / "file.xml"
    names = [f"iso-8859-{i}" for i in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16)]
    names += [f"windows-125{i}" for i in range(8)] + ["koi8-r", "koi8-u"]
    for name in names:
        for byte in range(0xA0, 0x100):
            try:
                expected = bytes([byte]).decode(name)
            except UnicodeDecodeError:
                continue
            path.write_bytes(f"<?xml version='1.0' encoding='{name}'?><a>".encode() + bytes([byte]) + b"</a>")
            assert parse_tree(path).getroot().text == expected, (name, byte)
