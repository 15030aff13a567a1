"""Random flat files: fields, lexemes near what rules ask for, and the many ways in which XML spells a text."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal
from xml.sax.saxutils import escape

type FieldKind = Literal["integer", "decimal", "amount", "category", "text", "date", "odd"]
type Spelling = Literal["plain", "reference", "cdata", "comment", "instruction", "return", "attribute", "split"]
type Naming = Literal["none", "default", "prefix"]

URI = "urn:example:data"
ODD = (
    *("1e3", "1E3", "1e-2", "1e", "+5", "INF", "-INF", "NaN", "+INF", "inf", " 5 ", "05", "5.", ".5", "-.5", "-0"),
    *("-0.0", "0.0", ".", "-", "+", "--1", "- 5", "5 5", "1,5", "0x10", "١٢", "\u00a05", "5\t", "1_000"),
    *(
        "12345678901234567890",
        "999999999999999999",
        "9007199254740993",
        "-9223372036854775808",
        "9223372036854775807",
    ),
    *("1.14", "1.36", "0.1", "0.30", "1.10", "0.00000000000000000001", "123456789.123456789", "00000000000000000001"),
    *("true", "false", "", " ", "5e", "1.5E2", "-1e400", "1e400", "2.50", "1.000000000000000000001"),
)
_CATEGORIES = (("a", "b", "c"), ("1", "2", "3", "9"), ("M", "F", ""), ("x", "X", "é"), ("A01", "A02", "B01"))
_WORDS = (
    "",
    "abc",
    "ABC",
    "a b",
    " a  b ",
    "Zoë",
    "a&b",
    "<x>",
    "10 km",
    "a\tb",
    "日本",
    "aa",
    "b",
    "'",
    '"',
    "ab",
    "\U0001f600",
)
_NAMES = ("V1", "V2", "V3", "V4", "V5", "V6", "V7", "V8")
_ODD_NAMES = ("div", "V-1", "and", "V.2", "Größe", "text", "count", "mod", "_x", "if", "V11", "for")


@dataclass(frozen=True, slots=True)
class Column:
    """A field of the file: its local name, as element or attribute."""

    name: str
    attribute: bool
    kind: FieldKind


@dataclass(frozen=True, slots=True)
class Cell:
    """One occurrence of a field in a record."""

    column: str
    lexeme: str
    spelling: Spelling = "plain"


@dataclass(frozen=True, slots=True)
class Row:
    """A record: its cells in document order, and what stands between them."""

    cells: tuple[Cell, ...]
    inside: str = ""
    """Comment, instruction or text before the first element."""
    before: str = ""
    """What stands before the record; never an element."""


@dataclass(frozen=True, slots=True)
class Table:
    """A flat file.

    Attributes
    ----------
    naming : str
        Whether the elements are in no namespace, in a default one or in a prefixed one.
    encoding : str
        Python codec; the declaration names it.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    naming: Naming = "none"
    encoding: str = "UTF-8"
    mark: bool = False
    """Whether UTF-8 has a byte order mark."""

    @property
    def text(self) -> str:
        """The document."""
        tag = "d:" if self.naming == "prefix" else ""
        space = {"none": "", "default": f' xmlns="{URI}"', "prefix": f' xmlns:d="{URI}"'}[self.naming]
        rows = "".join(_record(row, self.columns, tag) for row in self.rows)
        return f'<?xml version="1.0" encoding="{self.encoding}"?>\n<{tag}Data{space}>{rows}\n</{tag}Data>\n'

    @property
    def document(self) -> bytes:
        """The bytes of the file."""
        return (b"\xef\xbb\xbf" if self.mark else b"") + self.text.encode(self.encoding)

    def lexemes(self, column: str) -> tuple[str, ...]:
        """Return what stands in a field, in document order."""
        return tuple(cell.lexeme for row in self.rows for cell in row.cells if cell.column == column)


def _record(row: Row, columns: tuple[Column, ...], tag: str) -> str:
    attributes = {c.name for c in columns if c.attribute}
    head = "".join(f' {c.column}="{_attribute(c)}"' for c in row.cells if c.column in attributes)
    body = "".join(_element(c, tag) for c in row.cells if c.column not in attributes)
    return f"{row.before}\n<{tag}Record{head}>{row.inside}{body}</{tag}Record>"


def _attribute(cell: Cell) -> str:
    text = escape(cell.lexeme, {'"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})
    return _referenced(text) if cell.spelling == "reference" else text


def _element(cell: Cell, tag: str) -> str:
    name = f"{tag}{cell.column}"
    text = escape(cell.lexeme, {"\r": "&#13;"})
    half = len(cell.lexeme) // 2
    first, last = escape(cell.lexeme[:half]), escape(cell.lexeme[half:])
    attribute = ""
    match cell.spelling:
        case "reference":
            text = _referenced(text)
        case "cdata":
            text = f"<![CDATA[{cell.lexeme}]]>"
        case "comment":
            text = f"{first}<!-- 7 -->{last}"
        case "instruction":
            text = f"{first}<?p 7?>{last}"
        case "return":
            text = f"{text}\r\n"
        case "attribute":
            attribute = ' unit="7"'
        case "split":
            text = f"{first}<![CDATA[{cell.lexeme[half:]}]]>"
        case "plain":
            return f"<{name}>{text}</{name}>" if text else f"<{name}/>"
    return f"<{name}{attribute}>{text}</{name}>"


def _referenced(text: str) -> str:
    """Spell the first character that is not part of a reference as one."""
    return f"&#{ord(text[0])};{text[1:]}" if text and text[0] != "&" else text


def make_table(rng: Random) -> Table:
    """Return a random file of 2 to 8 fields and 20 to 60 records."""
    naming: Naming = rng.choices(("none", "default", "prefix"), (7, 2, 2))[0]
    encoding = rng.choices(("UTF-8", "ISO-8859-1", "UTF-16"), (92, 4, 4))[0]
    names = list(_NAMES[: rng.randint(2, 8)])
    for i in range(len(names)):
        if rng.random() < 0.08:
            names[i] = rng.choice(_ODD_NAMES)
    kinds: tuple[FieldKind, ...] = ("integer", "decimal", "amount", "category", "text", "date", "odd")
    columns = tuple(
        Column(name, rng.random() < 0.15, rng.choices(kinds, (30, 18, 12, 12, 12, 6, 10))[0])
        for name in dict.fromkeys(names)
    )
    rows = _rows(rng, columns, rng.randint(20, 60))
    table = Table(columns, rows, naming, encoding, mark=encoding == "UTF-8" and rng.random() < 0.05)
    latin = encoding != "ISO-8859-1" or all(ord(c) < 256 for c in table.text)
    return table if latin else Table(columns, rows, naming)


def _rows(rng: Random, columns: tuple[Column, ...], count: int) -> tuple[Row, ...]:
    pools = {c.name: pool(rng, c.kind) for c in columns}
    absent = {c.name: rng.choice((0.0, 0.0, 0.05, 0.3)) for c in columns}
    empty = {c.name: rng.choice((0.0, 0.0, 0.04, 0.2)) for c in columns}
    late = {c.name: rng.randint(1, count // 2) if rng.random() < 0.1 else 0 for c in columns}
    odd = rng.choice((0.0, 0.0, 0.02, 0.06))
    spelled = rng.choice((0.0, 0.0, 0.02, 0.08))
    # the rest of the files is flat
    repeated = rng.choice((0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.03))
    mixed = rng.random() < 0.1
    rows: list[Row] = []
    for i in range(count):
        cells: list[Cell] = []
        for c in columns:
            if i < late[c.name] or rng.random() < absent[c.name]:
                continue
            for _ in range(2 if not c.attribute and rng.random() < repeated else 1):
                lexeme = "" if rng.random() < empty[c.name] else rng.choice(pools[c.name])
                if rng.random() < odd:
                    lexeme = rng.choice(ODD)
                cells.append(Cell(c.name, lexeme, _spelling(rng, mixed=mixed) if rng.random() < spelled else "plain"))
        if rng.random() < spelled / 4:
            rng.shuffle(cells)
        inside = (
            rng.choice(("<!-- c -->", "<?p x?>", " ", "5" if mixed else "\n")) if rng.random() < spelled / 4 else ""
        )
        before = rng.choice(("<!-- <Record/> -->", "<?p x?>", " ")) if rng.random() < spelled / 4 else ""
        rows.append(Row(tuple(cells), inside, before))
    return tuple(rows)


def _spelling(rng: Random, *, mixed: bool) -> Spelling:
    chosen: Spelling = rng.choice(("reference", "cdata", "comment", "instruction", "return", "attribute", "split"))
    return "reference" if chosen == "attribute" and not mixed else chosen


def pool(rng: Random, kind: FieldKind) -> tuple[str, ...]:
    """Return the lexemes of a field, few enough that values repeat."""
    if kind == "category":
        return rng.choice(_CATEGORIES)
    if kind == "text":
        return _WORDS
    high = rng.choice((3, 10, 100, 7500))
    low = rng.choice((0, 0, 1, -high))
    digits = rng.choice((1, 2, 2, 5))
    makers = {
        "integer": lambda: str(rng.randint(low, high)),
        "decimal": lambda: f"{rng.uniform(-5, 20):.{digits}f}",
        "amount": lambda: rng.choice((f"{rng.randint(0, 40) / 4:.2f}", str(rng.randint(0, 9)))),
        "date": lambda: f"20{rng.randint(10, 13)}-{rng.randint(1, 13):02d}-{rng.randint(1, 29):02d}",
        "odd": lambda: rng.choice(ODD),
    }
    return tuple(makers[kind]() for _ in range(12))
