"""Recodings applied value by value, and what engines say of rules on whole records: the oracle of translations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import cast

from lxml import etree

from masktron.classify import classify
from masktron.reading.plain_text import decimal_text
from masktron.recodings import Recoding, Rounded
from masktron.rulebook.schema import Rulebook
from masktron.translation import Translation, translated
from record_oracles import element, saxon_says

type Cells = Mapping[str, str | None]


def label_of(recoding: Recoding, lexeme: str | None) -> str | None:
    """Say what is written for a lexeme; what is no number stays, and so does what has no class."""
    if lexeme is None:
        return None
    try:
        number = Fraction(lexeme.strip())
    except ValueError:
        number = None
    if isinstance(recoding, Rounded):
        return lexeme if number is None else decimal_text(round(number / recoding.base) * recoding.base)
    for one in recoding.classes or ():
        if one.values is not None and lexeme in one.values:
            return one.label
        interval = one.interval
        if interval is None or number is None:
            continue
        above = interval.low is None or number >= interval.low
        below = interval.high is None or (number < interval.high if interval.high_open else number <= interval.high)
        if above and below:
            return one.label
    return lexeme


def recoded_record(record: Cells, recodings: Mapping[str, Recoding]) -> dict[str, str | None]:
    return {n: label_of(recodings[n], v) if n in recodings else v for n, v in record.items()}


def translation_of(
    rules: Rulebook,
    recodings: Mapping[str, Recoding],
    *,
    apart: bool = False,
    masked: Sequence[str] = (),
    removed: Sequence[str] = (),
) -> Translation:
    """Translate rules; `apart`, where none follows from others, each by itself."""
    let_go = [check.id for check in rules.checks] if apart else ()
    return translated(rules, classify(rules), recodings, let_go=let_go, masked=masked, removed=removed)


def says(test: str, record: Cells, version: str) -> bool:
    """What libxml2 says of a test on a record, or Saxon; an error is no."""
    if version == "1.0":
        return bool(_compiled(f"boolean({test})")(_parsed(tuple(record.items()))))
    return bool(saxon_says(test, record))


_compiled = cache(etree.XPath)


@cache
def _parsed(record: tuple[tuple[str, str | None], ...]) -> etree._Element:
    return element(dict(record))


def _document(record: Cells) -> etree._Element:
    root = etree.Element("Records")
    root.append(element(record))
    return root


def obeyed(rules: Rulebook, record: Cells) -> list[bool]:
    """What libxml2 says of each check of a rulebook on one record, node by node, in the order of the pattern."""
    root = _document(record)
    found = []
    for pattern in rules.patterns:
        taken: set[etree._Element] = set()
        for rule in pattern.rules:
            matched = cast("list[etree._Element]", _compiled(f"//{rule.context}")(root))
            nodes = [node for node in matched if node not in taken]
            taken.update(nodes)
            for check in rule.checks:
                asked = _compiled(f"boolean({check.test})")
                found.append(all(bool(asked(node)) is (check.kind == "assert") for node in nodes))
    return found
