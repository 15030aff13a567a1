"""The tokenizer by itself: what it understands, what it calls odd, and what it asks a parser to look at."""

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
from masktron.sources.columns import Cell
from masktron.sources.xml.blocks import Found, Name, ScanTable, joined

NAMES = (Name(b"V", False, 0), Name(b"W", False, 1), Name(b"a", True, 2), Name(b"no", False, -1))
A, E, T, O = Cell.ABSENT, Cell.EMPTY, Cell.TEXT, Cell.ODD  # noqa: E741
NOTHING = np.empty(0, dtype=np.uint8)


def scan(text: str | bytes, *, rows: int = 8, learn: bool = False) -> tuple[ScanTable, Found]:
    table = ScanTable(b"R", NAMES, 3, rows)
    data, size = joined(NOTHING, text.encode() if isinstance(text, str) else text, table.padding)
    return table, table.scan(data, size, 1, learn=learn)


CELLS = {
    "<V>1</V><W>2</W>": (T, T, False),
    "<W>2</W><V>1</V>": (T, T, False),
    "<V/><W ></W\n>": (E, E, False),
    "<V\t/>": (E, A, False),
    "<V> </V>": (T, A, False),
    "<V>a]]b]</V>": (T, A, False),
    "<V>a>b</V>": (T, A, False),
    "<V>é</V>": (T, A, False),
    "<V>\t\n</V>": (T, A, False),
    "<V>&amp;&lt;&gt;&quot;&apos;</V>": (O, A, False),
    "<V>a\rb</V>": (O, A, False),
    "<V>a\r\nb</V><W>1</W>": (O, T, False),
    "<V>&#65;</V>": (O, A, True),
    "<V>&nope;</V>": (O, A, True),
    "<V>&ampx</V>": (O, A, True),
    "<V>&amp;&nope;</V>": (O, A, True),
    "<V>&lx;</V>": (O, A, True),
    "<V>&aposs;</V>": (O, A, True),
    "<V>&quo;</V>": (O, A, True),
    "<V>\x01</V>": (O, A, True),
    "<V>a]]>b</V>": (T, A, True),
    "<V>1</V><V>2</V>": (O, A, True),
    "<V>1<!-- --></V><W>2</W>": (O, T, True),
    "<V><![CDATA[</V>]]></V><W>2</W>": (O, T, True),
    "<V b='>'>1</V><W>2</W>": (O, T, True),
    "<V><R>1</R></V><W>2</W>": (O, T, True),
    "<V><V>1</V></V><W>2</W>": (O, T, True),
    "<V><V/></V><W>2</W>": (O, T, True),
}


@pytest.mark.parametrize("text", CELLS)
def test_cells(text):
    first, second, look = CELLS[text]
    table, found = scan(f"<R>{text}</R><R/>")
    assert (found.rows, found.reason) == (2, MORE)
    assert table.odd[:2].tolist() == [False, False]
    assert table.status[:, 0].tolist() == [first, second, A]
    assert table.look[:2].tolist() == [LOOK_RECORD if look else 0, 0]
    assert table.stops[0] == len(f"<R>{text}</R>".encode())
    assert table.starts[1] == table.stops[0]


ATTRIBUTES = {
    'a="1"': (T, False),
    "a='1'": (T, False),
    'a=""': (E, False),
    "a='>'": (T, False),
    "a='\"'": (T, False),
    "a='é'": (T, False),
    'a="&amp;"': (O, False),
    'a="&#65;"': (O, True),
    'a="\t"': (O, False),
    'a="\n"': (O, False),
    'a="\r\n"': (O, False),
}


@pytest.mark.parametrize("text", ATTRIBUTES)
def test_attributes(text):
    kind, look = ATTRIBUTES[text]
    for form in (f"<R {text}/>", f"<R\n{text} ></R>", f"<R {text}><V>1</V></R>"):
        table, found = scan(form + "\n<R/>")
        assert found.rows == 2
        assert not table.odd[:2].any()
        assert table.status[2, :2].tolist() == [kind, A]
        assert table.look[0] == (LOOK_RECORD if look else 0)


ODD = (
    *("<R>x<V>1</V></R>", "<R><V>1</V>x</R>", "<R><!-- --><V>1</V></R>", "<R><?p?></R>", "<R><![CDATA[ ]]></R>"),
    *("<R xmlns='u'/>", "<R xmlns:p='u'><V>1</V></R>", "<R><V xmlns='u'>1</V></R>", "<R><V><c xmlns='u'/></V></R>"),
    *("<R><no>1</no></R>", "<R><X>1</X></R>", "<R b='1'/>", "<R><R/></R>", "<R><R><V>1</V></R></R>", "<R>&#32;</R>"),
    *("<R a='1'a='2'/>", "<R a='1' a='2'/>", "<R a = '1'/>", "<R a='<'/>", "<R a='\x01'/>", "<R><V>1</V>\0</R>"),
    *("<R><VV>1</VV></R>", "<R><V.a/></R>", "<R><p:V/></R>"),
)


@pytest.mark.parametrize("text", ODD)
def test_records_that_are_odd_as_a_whole(text):
    table, found = scan(text + "\n<R><V>1</V></R>")
    assert (found.rows, found.reason, found.line) == (2, MORE, 2)
    assert table.odd[:2].tolist() == [True, False]
    assert table.look[:2].tolist() == [LOOK_RECORD, 0]
    assert table.status[:, 0].tolist() == [O, O, O]
    assert (table.starts[0], table.stops[0]) == (0, len(text))


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
