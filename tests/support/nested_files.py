"""Nested files at random, and what libxml2 sees in them: an oracle that shares nothing with the survey."""

from __future__ import annotations

from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st
from lxml import etree

SCHEMA = {
    "H": (["id"], ["Size", "Income"], ["P", "Car", "Head"]),
    "P": (["nr"], ["Age", "Sex"], ["Spell"]),
    "Spell": (["from", "to"], [], []),
    "Car": ([], ["Plate"], []),
    "Head": ([], ["Age", "Note"], []),
}
"""Attributes, simple children and kinds of records of each element; `Head` stands in a household at most once."""
VALUES = st.sampled_from(["1", "20.50", " 3 ", "", "-9", 'a <b> & "c"', "é", "x]]>y", "two\nlines", "ς"])
SPACES = st.sampled_from(["", "", "\n  ", " ", "\t\n"])
REMARKS = st.sampled_from(["", "", "", "<!-- Age -->", "<?p i?>"])


@st.composite
def nested_files(draw: Callable[..., object], *, remarks: bool = True, prefix: str = "") -> str:
    """Draw the text of a file with households, without a declaration."""

    def draw_space() -> str:
        return draw(SPACES) + (draw(REMARKS) if remarks else "") + draw(SPACES)

    def written(text: str) -> str:
        way = draw(st.integers(0, 3))
        if way == 0 and "]]>" not in text:
            return f"<![CDATA[{text}]]>"
        if way == 1 and text and remarks:
            return escape(text[:1]) + "<!-- 7 -->" + escape(text[1:])
        return "".join(f"&#{ord(c)};" for c in text) if way == 2 else escape(text)

    def record(name: str) -> str:
        attributes, leaves, kinds = SCHEMA[name]
        given = [f" {one}={quoteattr(draw(VALUES), {chr(10): '&#10;'})}" for one in attributes if draw(st.booleans())]
        inner = [f"<{prefix}{one}>{written(draw(VALUES))}</{prefix}{one}>" for one in leaves if draw(st.booleans())]
        for kind in kinds:
            inner += [record(kind) for _ in range(draw(st.integers(0, 1 if kind == "Head" else 2)))]
        order = draw(st.permutations(inner))
        body = "".join(draw_space() + one for one in order) + draw_space()
        return f"<{prefix}{name}{''.join(given)}>{body}</{prefix}{name}>"

    units = [record("H") for _ in range(draw(st.integers(2, 5)))]
    space = f' xmlns:{prefix[:-1]}="urn:n"' if prefix else ""
    return f"<{prefix}D{space} a='1'>{''.join(draw_space() + one for one in units)}{draw_space()}</{prefix}D>"


type Cells = dict[str, str]
type Row = tuple[int, Cells]
type Tables = dict[tuple[str, ...], list[Row]]


def _levels(root: etree._Element) -> set[tuple[str, ...]]:
    """Return the paths of elements that hold something, and of those that are repeated and always empty."""
    held, many, words = set(), set(), set()
    for one in root.iter("*"):
        path = path_of(one)
        if len(one.findall("*")) or one.attrib:
            held.add(path)
        if one.getnext() is not None and path in {path_of(other) for other in one.itersiblings("*")}:
            many.add(path)
        if "".join(map(str, one.xpath("text()"))).strip():
            words.add(path)
    return held | (many - words)


def path_of(element: etree._Element) -> tuple[str, ...]:
    """Return local names from below the root down."""
    names = [etree.QName(one).localname for one in (element, *element.iterancestors())]
    return tuple(reversed(names))[1:]


def tables_of(text: bytes) -> Tables:
    """Return the rows of each level as libxml2 reads the file: the row of the parent, and the cells."""
    root = etree.fromstring(text)
    levels = _levels(root) | {path_of(one) for one in root.iterchildren("*")}
    found: Tables = {path[1:]: [] for path in sorted(levels) if path}
    rows: dict[etree._Element, int] = {}
    for one in root.iter("*"):
        path = path_of(one)
        if path in levels and path:
            parent = one.getparent()
            table = found[path[1:]]
            rows[one] = len(table)
            above = rows[parent] if len(path) > 1 and parent is not None else len(table)
            cells = {"@" + str(name): str(value) for name, value in one.attrib.items()}
            cells |= {
                etree.QName(leaf).localname: "".join(map(str, leaf.xpath("text()")))
                for leaf in one.iterchildren("*")
                if path_of(leaf) not in levels
            }
            table.append((above, cells))
    return found
