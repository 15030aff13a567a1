"""The XPath 1.0 of rules that the data suggest, spelled so that libxml2 and Saxon read it alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from masktron.proposals.profiles import FieldProfile
from masktron.reading.plain_text import decimal_text
from masktron.sources.lexical import parse_number
from masktron.sources.record_layout import Layout


class FieldPaths:
    """What rules call the record and its fields.

    Parameters
    ----------
    layout : Layout
    """

    def __init__(self, layout: Layout) -> None:
        spaces = dict.fromkeys(
            tag[1:].partition("}")[0]
            for tag in (layout.record_tag, *(field.tag for field in layout.fields))
            if tag.startswith("{")
        )
        self.namespaces: Mapping[str, str] = {
            f"d{number}" if number else "d": space for number, space in enumerate(spaces)
        }
        self._prefixes = {space: prefix for prefix, space in self.namespaces.items()}
        self._paths = {
            field.name: f"{'@' if field.attribute else ''}{self._name(field.tag)}" for field in layout.fields
        }
        self.record = self._name(layout.record_tag)

    def _name(self, tag: str) -> str:
        if not tag.startswith("{"):
            return tag
        space, _, local = tag[1:].partition("}")
        return f"{self._prefixes[space]}:{local}"

    def __getitem__(self, field: str) -> str:
        return self._paths[field]


def literal(text: str) -> str | None:
    """Write a text as XPath 1.0 does; None where it holds both kinds of quotes, for which that has no literal."""
    if "'" not in text:
        return f"'{text}'"
    return None if '"' in text else f'"{text}"'


def decimal(value: Fraction) -> str:
    """Write a number that has a finite decimal."""
    return decimal_text(value)


def known(path: str, field: FieldProfile) -> tuple[str, ...]:
    """Return the conditions under which a field holds a number that is no code; none where every record has one."""
    if field.complete:
        return ()
    return known_number(path, field.codes, gaps=_gaps(field))


def known_number(path: str, codes: Iterable[str], *, gaps: bool) -> tuple[str, ...]:
    """Return the conditions under which a field holds a number that is no code.

    Parameters
    ----------
    path : str
    codes : iterable of str
        Lexemes that mean 'missing'.
    gaps : bool
        Some record may lack the number.
    """
    numbers = sorted({Fraction(code.strip()) for code in codes if parse_number(code) == parse_number(code)})
    said = [f"number({path}) = number({path})"] if gaps else []
    return (*said, *(f"number({path}) != {decimal(number)}" for number in numbers))


def _gaps(field: FieldProfile) -> bool:
    """Whether a record lacks the number: an absent or empty element, or a code that is a text."""
    return field.absent or any(parse_number(code) != parse_number(code) for code in field.codes)


def held(path: str, field: FieldProfile) -> tuple[str, ...]:
    """Return the conditions under which a field holds a text that is no code; none where every record has one."""
    if field.complete:
        return ()
    said = [f"normalize-space({path}) != ''"] if field.absent else []
    codes = (literal(code) for code in field.codes)
    return (*said, *(f"{path} != {code}" for code in codes if code is not None))


def is_missing(path: str, field: FieldProfile) -> str:
    """Write that a field holds no value: it is not there, is empty, or holds a code."""
    codes = [code for code in map(literal, field.codes) if code is not None]
    said = [f"normalize-space({path}) = ''"] if field.absent or not codes else []
    return " or ".join([*said, *(f"{path} = {code}" for code in codes)])


def is_one_of(path: str, field: FieldProfile, values: Sequence[str]) -> str | None:
    """Write that a field has one of some values, as numbers where that is safe; None where XPath cannot write one."""
    if field.by_number and all(parse_number(value) == parse_number(value) for value in values):
        return " or ".join(f"number({path}) = {decimal(Fraction(v.strip()))}" for v in _once(values))
    written = [literal(value) for value in values]
    if None in written:
        return None
    return " or ".join(f"{path} = {value}" for value in written)


def _once(values: Iterable[str]) -> list[str]:
    """Leave out other spellings of the same number."""
    return list({Fraction(value.strip()): value for value in values}.values())


def and_said(parts: Sequence[str]) -> str:
    """Put words together: ``A, B and C``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
