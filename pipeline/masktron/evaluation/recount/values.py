"""What an engine reads of the records of a slice, by its own parser and with its own functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import numpy as np
from lxml import etree

from masktron.evaluation.across.selection import Aggregate, Key, Predicate, Source
from masktron.evaluation.crew import RefusedError
from masktron.evaluation.engines import Guard, Program, compile_program
from masktron.evaluation.findings import Verdict
from masktron.evaluation.runner import Events
from masktron.evaluation.stylesheet import EngineName, Selection, stylesheet
from masktron.evaluation.stylesheet_scope import ORIGINAL, ORIGINAL_URI
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook, XPathVersion
from masktron.read.schematron_compile import XSL
from masktron.read.slices import Frame, framed_test

SUMS = frozenset({"sum", "avg", "min", "max"})
type Reads = Literal["text", "normal", "number"]
_WORD = re.compile(r"(\S+) ")


@dataclass(frozen=True, slots=True, order=True)
class Wanted:
    """What is read of a field: its text, that without superfluous white space, or its number.

    Attributes
    ----------
    at : int
        Position of the field in the layout.
    """

    at: int
    kind: Reads


@dataclass(slots=True, eq=False)
class Values:
    """What was read of some records, in the order of the file.

    Attributes
    ----------
    columns : dict of Wanted to list
        Texts, None where the field is absent; numbers, NaN where it is none.
    holds : dict of Predicate to bytearray
        1 for each record on which a condition holds.
    errors : set of Predicate
        Conditions that were a dynamic error somewhere.
    """

    records: int = 0
    columns: dict[Wanted, list[Any]] = field(default_factory=dict)
    holds: dict[Predicate, bytearray] = field(default_factory=dict)
    errors: set[Predicate] = field(default_factory=set)

    def add(self, more: Values) -> None:
        """Put the records that follow behind these."""
        self.records += more.records
        for wanted, column in more.columns.items():
            self.columns.setdefault(wanted, []).extend(column)
        for predicate, holds in more.holds.items():
            self.holds.setdefault(predicate, bytearray()).extend(holds)
        self.errors |= more.errors


def wanted_of(aggregates: Iterable[Aggregate], source: Source) -> tuple[Wanted, ...]:
    """Return what has to be read of the records of a source."""
    found: set[Wanted] = set()
    for aggregate in aggregates:
        selection = aggregate.selection
        if source == "file":
            found |= {part for _, own in selection.join for part in _parts(own)}
        if source != selection.source:
            continue
        found |= {part for other, _ in selection.join for part in _parts(other)}
        if selection.target is not None:
            found.add(Wanted(selection.target, "text"))
            if aggregate.fold in SUMS:
                found.add(Wanted(selection.target, "number"))
    return tuple(sorted(found))


def _parts(key: Key) -> Iterable[Wanted]:
    return (Wanted(at, reads_of(key)) for at in key.fields)


def reads_of(key: Key) -> Reads:
    """Return what a key needs of its fields."""
    return key.kind if key.kind in ("normal", "number") else "text"


class Reader:
    """Reads slices of one file for one engine.

    Parameters
    ----------
    conditions : Rulebook
        One check for each of the `predicates`.

    Raises
    ------
    EngineError
        The engine does not take a condition.
    RefusedError
        A condition reads the original.
    """

    def __init__(
        self,
        frame: Frame,
        layout: Layout,
        engine: EngineName,
        version: XPathVersion,
        wanted: Sequence[Wanted],
        predicates: Sequence[Predicate],
        conditions: Rulebook,
    ) -> None:
        self._frame = frame
        self._names = Names(layout)
        self._wanted = wanted
        self._predicates = predicates
        test, prefixes = framed_test(frame, layout)
        self._guard = Guard(test, tuple(prefixes.items()))
        # libxml2 writes numbers with 15 digits: what it reads is asked for itself
        self._asked = [one for one in wanted if one.kind == "number" and engine == "libxml2"]
        written = [one for one in wanted if one not in self._asked]
        self._written = written
        self._values = compile_program(_stylesheet(self._names, written, engine, version), engine)
        self._conditions = self._compiled(conditions, layout, engine) if predicates else None
        self._numbers: dict[Wanted, Callable[[Any], Any]] = {
            one: etree.XPath(f"number({self._names.of(one.at)})", namespaces=self._names.prefixes or None)
            for one in self._asked
        }

    @staticmethod
    def _compiled(conditions: Rulebook, layout: Layout, engine: EngineName) -> Program:
        checks = frozenset(range(len(conditions.checks)))
        return program_of(conditions, layout, engine, Selection(checks))

    def __call__(self, records: bytes) -> Values:
        """Read the records of a slice.

        Raises
        ------
        EngineError, NotFramedError
            The engine stopped, or the slice is not what it should be.
        RefusedError
            A record is not flat.
        """
        document = self._values.parse(self._frame.document(records), self._frame.encoding, self._guard)
        found = self._read(self._values.run_parsed(document))
        for wanted, number in self._numbers.items():
            nodes = document.xpath(self._names.path, namespaces=self._names.prefixes or None)
            found.columns[wanted] = [number(node) for node in nodes]
        if self._conditions is not None:
            self._judge(found, Events.of(self._conditions.run_parsed(document)))
        if any(len(column) != found.records for column in found.columns.values()):
            raise RefusedError("a slice with another number of records than it has")
        return found

    def _read(self, text: str) -> Values:
        """Read what the stylesheet wrote; texts come with their lengths, since they may hold anything."""
        columns: dict[Wanted, list[Any]] = {one: [] for one in self._written}
        taken = [(columns[one].append, one.kind) for one in self._written]
        at = records = 0
        while at < len(text):
            inside, at = _word(text, at)
            if inside != "0":
                raise RefusedError("a record with a field that is more than text")
            for append, kind in taken:
                present = "1"
                if kind == "text":
                    present, at = _word(text, at)
                    if present not in ("0", "1"):
                        raise RefusedError("a record that has a field twice")
                word, at = _word(text, at)
                if kind == "number":
                    append(float(word))
                    continue
                end = at + int(word)
                append(text[at:end] if present == "1" else None)
                at = end
            records += 1
        return Values(records, columns)

    def _judge(self, found: Values, events: Events) -> None:
        if events.records != found.records:
            raise RefusedError("conditions that saw another number of records")
        for number, predicate in enumerate(self._predicates):
            own = events.check == number
            holds = np.zeros(found.records, dtype=np.uint8)
            holds[events.record[own & (events.verdict == Verdict.HOLDS)]] = 1
            found.holds[predicate] = bytearray(holds.tobytes())
            if (own & ((events.verdict == Verdict.ERROR) | (events.verdict == Verdict.NOT_FIRED))).any():
                found.errors.add(predicate)


def _word(text: str, at: int) -> tuple[str, int]:
    found = _WORD.match(text, at)
    if found is None:
        raise RefusedError("what an engine wrote is not what it was asked for")
    return found[1], found.end()


class Names:
    """Paths of the records and of their fields, with prefixes for their namespaces."""

    def __init__(self, layout: Layout) -> None:
        self.prefixes: dict[str, str] = {}
        self._layout = layout
        self.path = "".join(f"/{self._name(tag)}" for tag in layout.record_path)
        self._fields = [("@" if one.attribute else "") + self._name(one.tag) for one in layout.fields]

    def of(self, at: int) -> str:
        """Return the path of a field from its record."""
        return self._fields[at]

    def _name(self, tag: str) -> str:
        uri, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
        if not uri:
            return local
        prefix = next((p for p, u in self.prefixes.items() if u == uri), f"m-v{len(self.prefixes)}")
        self.prefixes[prefix] = uri
        return f"{prefix}:{local}"


def _stylesheet(names: Names, wanted: Sequence[Wanted], engine: EngineName, version: XPathVersion) -> str:
    """Return the stylesheet that writes the values of each record, each text behind its length."""
    parts = ["count(*/* | */@*)", "' '"]
    for one in wanted:
        path = names.of(one.at)
        if one.kind == "text":
            parts += [f"count({path})", "' '", f"string-length({path})", "' '", path]
        elif one.kind == "normal":
            parts += [f"string-length(normalize-space({path}))", "' '", f"normalize-space({path})"]
        else:
            parts += [f"number({path})", "' '"]
    declared = " ".join(f"xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in names.prefixes.items())
    saxon = engine == "saxon"
    mode = ' version="1.0"' if saxon and version == "1.0" else ""
    return (
        f'<m-xsl:stylesheet version="{"3.0" if saxon else "1.0"}" xmlns:m-xsl="{XSL}" {declared}>'
        '<m-xsl:output method="text" encoding="UTF-8"/>'
        f'<m-xsl:template match="/"{mode}><m-xsl:for-each select="{names.path}">'
        f"<m-xsl:value-of select={quoteattr(f'concat({", ".join(parts)})')}/>"
        "</m-xsl:for-each></m-xsl:template></m-xsl:stylesheet>"
    )


def program_of(rulebook: Rulebook, layout: Layout, engine: EngineName, selection: Selection) -> Program:
    """Compile checks that ask for no document.

    Raises
    ------
    EngineError
        The engine does not take an expression.
    RefusedError
        One of them asks for the original.
    """
    text = stylesheet(rulebook, layout, engine, selection)
    if f"${ORIGINAL}" in text or ORIGINAL_URI in text:
        raise RefusedError("it reads the original in a way that is no aggregate")
    return compile_program(text, engine)
