"""The tokenizer by itself: where it stops and why; what it reads is compared with parsers in test_read_plain.py."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.kernels.scanner import (
    ALIEN,
    END,
    FULL,
    LOOK_BEFORE,
    LOOK_RECORD,
    MORE,
    UNKNOWN,
    line_breaks,
    skip_element,
)
from masktron.sources.xml.blocks import Found, Name, ScanTable, joined

NAMES = (Name(b"V", False, 0), Name(b"W", False, 1), Name(b"a", True, 2), Name(b"no", False, -1))
NOTHING = np.empty(0, dtype=np.uint8)


def scan(text: str | bytes, *, rows: int = 8, learn: bool = False) -> tuple[ScanTable, Found]:
    table = ScanTable(b"R", NAMES, 3, rows)
    data, size = joined(NOTHING, text.encode() if isinstance(text, str) else text, table.padding)
    return table, table.scan(data, size, 1, learn=learn)


@pytest.mark.parametrize(
    ("text", "look"),
    [("a]]b]", 0), ("&amp;&lt;", 0), ("a]]>b", LOOK_RECORD), ("&nope;", LOOK_RECORD), ("\x01", LOOK_RECORD)],
)
def test_what_a_parser_has_to_look_at(text, look):
    assert scan(f"<R><V>{text}</V></R><R/>")[0].look[:2].tolist() == [look, 0]


REASONS = {
    "</D>": (0, END),
    "<R/></D>": (1, END),
    " \n</D>": (0, END),
    "<!-- -- --><?x?></D>": (0, END),
    "x<R/>": (0, ALIEN),
    "<R/>x<R/>": (1, ALIEN),
    "<Q/>": (0, ALIEN),
    "<RR/>": (0, ALIEN),
    "<R.a/>": (0, ALIEN),
    "<![CDATA[ ]]><R/>": (0, ALIEN),
    "<!DOCTYPE x><R/>": (0, ALIEN),
    "&#32;<R/>": (0, ALIEN),
    "\v<R/>": (0, ALIEN),
    "": (0, MORE),
    "<R/>" * 8: (8, MORE),
    "<R/>" * 9: (8, FULL),
    "<R/>" * 8 + "</D>": (8, END),
}


@pytest.mark.parametrize("text", REASONS)
def test_why_it_stops(text):
    _, found = scan(text)
    assert (found.rows, found.reason) == REASONS[text]
    assert found.at == 4 * found.rows


def test_it_stops_at_every_byte_with_what_is_whole():
    text = b"\r\n<!-- <R> --><R a='/>'>\r<V>1</V\n><W b='>'><R/></W></R>\n<R><!-- </R> --></R></D>"
    ends = [text.index(b"</R>\n") + 4, text.rindex(b"</D>")]
    for size in range(len(text) + 1):
        table, found = scan(text[:size])
        assert found.rows == sum(end <= size for end in ends)
        assert found.at == ([0, *ends][found.rows])
        assert found.reason == (END if size > ends[1] + 1 else MORE)
        assert table.lines[: found.rows].tolist() == [2, 5][: found.rows]
        assert table.look[: found.rows].tolist() == [LOOK_RECORD | LOOK_BEFORE, LOOK_RECORD][: found.rows]


@pytest.mark.parametrize(
    ("text", "name", "attribute"),
    [("<R><X>1</X></R>", "X", False), ("<R><p:X/></R>", "p:X", False), ("<R p:x='1'><V/></R>", "p:x", True)],
)
def test_an_unknown_name_is_told_once_the_record_is_whole(text, name, attribute):
    table, found = scan(text + "<R/>", learn=True)
    assert (found.rows, found.reason, found.at) == (1, UNKNOWN, len(text))
    assert text[found.name_start : found.name_stop] == name
    assert found.is_attribute == attribute
    assert bool(table.odd[0])
    assert scan(text[:-1], learn=True)[1][:4] == (0, 0, 1, MORE)


@pytest.mark.parametrize("text", ["<R xmlns='u'/>", "<R xmlns:p='u'><X/></R>", "<R><no/></R>"])
def test_declarations_and_names_that_are_known_to_be_odd_do_not_stop_it(text):
    assert scan(text, learn=True)[1].reason == MORE


def test_line_ends():
    data = np.frombuffer(b"a\r\nb\n\nc\r\rd\r\n", dtype=np.uint8).copy()
    assert line_breaks(data, 0, len(data)) == 6
    assert line_breaks(data, 4, 5) == 1


def test_elements_are_skipped_whole():
    whole = b"<a b='</a>'><a/><!-- </a> --><![CDATA[</a>]]><?x </a>?><c d=\">\"><a>1</a></c></a >"
    data, _ = joined(NOTHING, whole + b"<a>", 64)
    assert skip_element(data, len(whole) + 3, 0) == len(whole)
    assert all(skip_element(data, size, 0) == -1 for size in range(len(whole)))
