"""How a file in CSV is written: what the user says of it, what is found, and how its numbers are spelled."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.scratch import name_to_be
from masktron.sources.tables.table_format import Options

OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "delimiter": "what stands between cells: one character, or tab, comma, semicolon, bar, space; found",
        "quote": 'what quotes cells, or none; "',
        "escape": "what stands before a quote in a quoted cell; double: quotes are doubled; double",
        "encoding": "such as cp1252 or utf-16; UTF-8, or what a byte order mark says",
        "header": "yes or no: whether the first line has the names of columns, else they are V1, V2, ...; yes",
        "null": "texts that mean that there is no value, with commas between, such as NA,NULL; the empty cell always",
        "decimal": "the decimal point of numbers: point or comma; point",
        "grouping": "what stands between groups of three digits: one character, or space, comma, point; none",
        "texts": "columns of codes that look like numbers, with commas between, such as NACE,POSTCODE; none",
    }
)
CANDIDATES = ",;\t|"
"""What may be found to stand between cells."""
ENDINGS = {1: "\n", 2: "\r\n", 3: "\r"}
_SPELLED = {
    "tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|", "space": " ", "point": ".",
    "double": '"',
}  # fmt: skip
_NAMED = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "blank"}
_BY_SUFFIX = {".tsv": "\t", ".tab": "\t", ".psv": "|"}
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a file is written.

    Attributes
    ----------
    delimiter : str
        One character; empty where it has to be found.
    quote : str
        One character; empty where cells are never quoted.
    escape : str
        One character; empty where quotes are doubled.
    codec : str
        As Python calls it; empty where the file says it by its first bytes, and else is in UTF-8.
    mark : bytes
        The byte order mark.
    compression : str
        ``gzip``, ``zstd`` or empty.
    header : bool or None
        Whether the first record has names; None where nobody says so.
    null : tuple of str
        Texts that mean that there is no value, beside the empty one; the first is written.
    decimal, grouping : str
        What numbers have where a lexeme has a point, and between groups of three digits; empty for none.
    texts : tuple of str
        Columns whose cells are texts, also where they look like numbers: they stay as they are.
    ending : str
        What ends lines.
    """

    delimiter: str = ""
    quote: str = '"'
    escape: str = ""
    codec: str = ""
    mark: bytes = b""
    compression: str = ""
    header: bool | None = None
    null: tuple[str, ...] = ()
    decimal: str = "."
    grouping: str = ""
    texts: tuple[str, ...] = ()
    ending: str = "\n"

    @property
    def has_names(self) -> bool:
        """Whether the first record has names."""
        return self.header is not False

    @property
    def no_value(self) -> str:
        """What is written where there is no value."""
        return self.null[0] if self.null else ""

    def of_column(self, column: str) -> Self:
        """Return the dialect of a column: one of texts has no numbers of its own."""
        return replace(self, decimal=".", grouping="") if column in self.texts else self

    @property
    def own_numbers(self) -> bool:
        """Whether numbers are written otherwise than lexemes are."""
        return bool(self.decimal != "." or self.grouping)

    @property
    def peculiarities(self) -> Iterator[str]:
        """What a file has otherwise than a new one that nobody says anything of, in words."""
        if self.delimiter != ",":
            yield f"{named(self.delimiter)} between cells"
        if self.quote != '"' or self.escape:
            yield "how cells are quoted"
        if self.codec not in ("", "utf-8"):
            yield f"the encoding {self.codec}"
        if self.mark:
            yield "the byte order mark"
        if self.ending != "\n":
            yield f"lines that end with {'CRLF' if self.ending == '\r\n' else 'CR'}"
        if not self.has_names:
            yield "no line of names"
        if self.null:
            yield "the texts for no value"
        if self.decimal != ".":
            yield "the decimal comma"
        if self.grouping:
            yield "groups of digits"

    @property
    def as_options(self) -> dict[str, str]:
        """How the file is written, by the names and values of the options that would say it; these four always."""
        named_marks = {
            mark: name for name, mark in _SPELLED.items() if name not in ("\\t", "pipe", "double", "point")
        }
        said = {
            "encoding": self.codec or "utf-8",
            "delimiter": named_marks.get(self.delimiter, self.delimiter),
            "quote": self.quote or "none",
            "decimal": "comma" if self.decimal == "," else "point",
        }
        others = {
            "escape": self.escape,
            "grouping": {**named_marks, ".": "point"}.get(self.grouping, self.grouping),
            "header": "" if self.has_names else "no",
            "null": ",".join(self.null),
            "texts": ",".join(self.texts),
        }
        return said | {name: own for name, own in others.items() if own}

    @property
    def codes(self) -> tuple[int, int, int]:
        """Delimiter, quote and escape as the kernels have them."""
        return ord(self.delimiter), _byte(self.quote), _byte(self.escape)


def said_dialect(options: Options) -> CsvDialect:
    """Return what the user says.

    Raises
    ------
    UsageError
        An option has no such value, or two contradict each other.
    """
    quote = "" if options.get("quote") == "none" else _mark(options, "quote", '"')
    escape = "" if options.get("escape", "double") == "double" else _mark(options, "escape", "")
    dialect = CsvDialect(
        delimiter=_mark(options, "delimiter", ""),
        quote=quote,
        escape=escape,
        codec=_codec(options.get("encoding", "")),
        header=_header(options),
        null=tuple(options["null"].split(",")) if "null" in options else (),
        decimal=_point(options),
        grouping=_group(options),
        texts=tuple(name.strip() for name in options["texts"].split(",")) if "texts" in options else (),
    )
    used = [mark for mark in (dialect.delimiter, dialect.quote, dialect.escape) if mark]
    if len(used) != len(set(used)):
        raise UsageError.of(
            "bad-value",
            name="the delimiter",
            expected="another character than quote and escape",
            given=repr(dialect.delimiter),
        )
    if dialect.decimal == dialect.grouping:
        raise UsageError.of(
            "bad-value",
            name="the option grouping",
            expected="another mark than decimal",
            given=repr(dialect.grouping),
        )
    in_numbers = [mark for mark in (dialect.decimal, dialect.grouping) if mark]
    if not (dialect.quote or dialect.escape) and dialect.delimiter in in_numbers:
        raise UsageError.of(
            "bad-value",
            name="the delimiter",
            expected="no mark within numbers where no cell is quoted",
            given=repr(dialect.delimiter),
        )
    return dialect


def suffix_delimiter(path: Path) -> str:
    """Return what a name says of the delimiter; empty where it says nothing."""
    return _BY_SUFFIX.get(_suffixes(path)[0], "")


def suffix_compression(path: Path) -> str:
    """Return what a name says of the compression; empty for none."""
    return _COMPRESSED.get(_suffixes(path)[1], "")


def named(mark: str) -> str:
    """Return a delimiter as a sentence names it."""
    return _NAMED.get(mark, repr(mark))


def _suffixes(path: Path) -> tuple[str, str]:
    name = name_to_be(path).lower()
    packed = Path(name).suffix if Path(name).suffix in _COMPRESSED else ""
    return Path(name.removesuffix(packed)).suffix, packed


def _byte(mark: str) -> int:
    return ord(mark) if mark else -1


def _mark(options: Options, name: str, default: str) -> str:
    if name not in options:
        return default
    mark = _SPELLED.get(options[name], options[name]) if name == "delimiter" else options[name]
    wrong = len(mark) != 1 or not mark.isascii() or mark.isalnum() or not (mark.isprintable() or mark == "\t")
    if wrong or (name != "delimiter" and mark in " \t"):
        raise UsageError.of(
            "bad-value", name=f"the option {name}", expected=OPTIONS[name].rpartition(";")[0], given=repr(mark)
        )
    return mark


def _header(options: Options) -> bool | None:
    said = options.get("header")
    if said not in (None, "yes", "no"):
        raise UsageError.of("bad-value", name="the option header", expected="yes or no", given=repr(said))
    return None if said is None else said == "yes"


def _point(options: Options) -> str:
    said = options.get("decimal", ".")
    mark = _SPELLED.get(said, said)
    if mark not in (".", ","):
        raise UsageError.of("bad-value", name="the option decimal", expected="point or comma", given=repr(said))
    return mark


def _group(options: Options) -> str:
    said = options.get("grouping", "")
    mark = "" if said == "none" else _SPELLED.get(said, said)
    if len(mark) > 1 or mark.isalnum() or mark in tuple('+-\r\n\t"') or (mark and ord(mark) < 32):
        raise UsageError.of(
            "bad-value",
            name="the option grouping",
            expected="space, comma, point or one other character",
            given=repr(said),
        )
    return mark


def _codec(said: str) -> str:
    if not said:
        return ""
    try:
        name = codecs.lookup(said).name
        "".encode(name)
    except (LookupError, ValueError):
        raise UsageError.of(
            "bad-value",
            name="the option encoding",
            expected="a known one, such as cp1252, iso8859-15 or utf-16",
            given=repr(said),
        ) from None
    return "utf-8" if name == "utf-8-sig" else name


_SPACE = r"[ \t\r\n]*"
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_NUMBER = rf"^{_SPACE}[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+){_EXPONENT}{_SPACE}$"
_GROUPS = re.compile(r"(?<=[0-9])(?=(?:[0-9]{3})+(?![0-9]))")


def to_lexemes(cells: pa.ChunkedArray, dialect: CsvDialect) -> pa.ChunkedArray:
    """Return cells in which numbers have a point and no groups; what is no number stays as it is."""
    if not dialect.own_numbers:
        return cells
    written = pc.match_substring_regex(cells, _written(dialect))
    plain = pc.replace_substring(cells, dialect.grouping, "") if dialect.grouping else cells
    if dialect.decimal != ".":
        plain = pc.replace_substring(plain, dialect.decimal, ".")
    return pc.if_else(written, plain, cells)


def ambiguous(cells: pa.ChunkedArray, dialect: CsvDialect) -> NDArray[np.bool_]:
    """Mask of cells that are numbers with a point, though the point of this file is another, shape (n,)."""
    point = pc.match_substring_regex(cells, _NUMBER)
    own = pc.match_substring_regex(cells, _written(dialect))
    found: NDArray[np.bool_] = pc.fill_null(pc.and_not(point, own), False).to_numpy().astype(np.bool_)
    return found


def has_groups(cells: pa.ChunkedArray, dialect: CsvDialect) -> bool:
    """Whether a number of a column has groups of digits."""
    if not dialect.grouping:
        return False
    grouped = pc.and_(pc.match_substring(cells, dialect.grouping), pc.match_substring_regex(cells, _written(dialect)))
    return bool(pc.any(grouped).as_py())


def from_lexemes(lexemes: pa.Array, dialect: CsvDialect, *, groups: bool) -> pa.Array:
    """Return lexemes as a file has them: numbers with its decimal point and, where wanted, groups of digits."""
    if not dialect.own_numbers:
        return lexemes
    number = pc.match_substring_regex(lexemes, _NUMBER)
    if not groups:
        own = pc.replace_substring(lexemes, ".", dialect.decimal)
        return pc.if_else(number, own, lexemes)
    texts = [
        _grouped(text, dialect) if is_number else text
        for text, is_number in zip(lexemes.to_pylist(), number.to_pylist(), strict=True)
    ]
    return pa.array(texts, type=pa.string())


def _grouped(text: str, dialect: CsvDialect) -> str:
    whole, point, rest = text.partition(".")
    if not point:
        found = re.match(rf"{_SPACE}[+-]?[0-9]+", text)
        end = 0 if found is None else found.end()
        whole, rest = text[:end], text[end:]
    return _GROUPS.sub(dialect.grouping.replace("\\", r"\\"), whole) + (dialect.decimal if point else "") + rest


def _written(dialect: CsvDialect) -> str:
    """Return the pattern of numbers as the file writes them."""
    point, group = re.escape(dialect.decimal), re.escape(dialect.grouping)
    whole = rf"(?:[0-9]+|[0-9]{{1,3}}(?:{group}[0-9]{{3}})+)" if group else "[0-9]+"
    return rf"^{_SPACE}[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+){_EXPONENT}{_SPACE}$"
