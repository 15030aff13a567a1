"""What an engine reads of the records of a slice, by its own parser and with its own functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa
from lxml import etree

from masktron.child_process import RefusedError
from masktron.judge.across.paths import PrefixedNames
from masktron.judge.across.selection import Aggregate, Key, Predicate, RecordSource
from masktron.judge.findings import Verdict
from masktron.judge.programs import Guard, Program, compile_program
from masktron.judge.report_reader import Events
from masktron.judge.rewriting import reads_documents
from masktron.judge.stylesheet import DIALECTS, CheckSelection, EngineName, stylesheet
from masktron.rulebook.expressions.words import XSL
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout
from masktron.sources.xml.slices import Frame, framed_test

SUMS = frozenset({"sum", "avg", "min", "max"})
type ReadAs = Literal["text", "normal", "number", "there"]


@dataclass(frozen=True, slots=True, order=True)
class Wanted:
    """What is read of a field: its text, that without superfluous white space, its number, or whether it is there.

    Attributes
    ----------
    at : int
        Position of the field in the layout.
    """

    at: int
    kind: ReadAs


@dataclass(slots=True, eq=False)
class FieldValues:
    """What was read of some records, in the order of the file.

    Attributes
    ----------
    columns : dict of Wanted to pyarrow.Array
        Texts, null where the field is absent; numbers, NaN where it is none; truth values.
    holds : dict of Predicate to pyarrow.Array
        Whether a condition holds on each record.
    errors : set of Predicate
        Conditions that were a dynamic error somewhere.
    """

    records: int = 0
    columns: dict[Wanted, pa.Array] = field(default_factory=dict)
    holds: dict[Predicate, pa.Array] = field(default_factory=dict)
    errors: set[Predicate] = field(default_factory=set)

    @classmethod
    def joined(cls, parts: Sequence[FieldValues]) -> FieldValues:
        """Put the records of some parts one behind the other."""
        return cls(
            sum(part.records for part in parts),
            {one: pa.concat_arrays([part.columns[one] for part in parts]) for one in parts[0].columns},
            {one: pa.concat_arrays([part.holds[one] for part in parts]) for one in parts[0].holds},
            set().union(*(part.errors for part in parts)),
        )


def wanted_of(aggregates: Iterable[Aggregate], source: RecordSource) -> tuple[Wanted, ...]:
    """Return what has to be read of the records of a source."""
    found: set[Wanted] = set()
    for aggregate in aggregates:
        selection = aggregate.selection
        if source == "file":
            found |= {part for join in selection.joins for part in _parts(join.own)}
        if source != selection.source:
            continue
        found |= {part for join in selection.joins for part in _parts(join.other)}
        if selection.target is not None:
            found.add(Wanted(selection.target, "text" if aggregate.fold in ("distinct", "node") else "there"))
            if aggregate.fold in SUMS:
                found.add(Wanted(selection.target, "number"))
    return tuple(sorted(found))


def _parts(key: Key) -> Iterable[Wanted]:
    return (Wanted(at, reads_of(key)) for at in key.fields)


def reads_of(key: Key) -> ReadAs:
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
        wanted: Sequence[Wanted],
        predicates: Sequence[Predicate],
        conditions: Rulebook,
    ) -> None:
        self._frame = frame
        self._names = PrefixedNames(layout)
        self._wanted = wanted
        self._predicates = predicates
        test, prefixes = framed_test(frame, layout)
        self._guard = Guard(test, tuple(prefixes.items()))
        # libxml2 writes numbers with 15 digits: what it reads is asked for itself
        self._asked = [one for one in wanted if one.kind == "number" and engine == "libxml2"]
        written = [one for one in wanted if one not in self._asked]
        self._written = written
        self._values = compile_program(_stylesheet(self._names, written, engine), engine)
        self._conditions = self._compiled(conditions, layout, engine) if predicates else None
        self._numbers: dict[Wanted, Callable[[Any], Any]] = {
            one: etree.XPath(f"number({self._names.of(one.at)})", namespaces=self._names.prefixes or None)
            for one in self._asked
        }

    @staticmethod
    def _compiled(conditions: Rulebook, layout: Layout, engine: EngineName) -> Program:
        checks = frozenset(range(len(conditions.checks)))
        return program_of(conditions, layout, engine, CheckSelection(checks))

    def __call__(self, records: bytes) -> FieldValues:
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
            found.columns[wanted] = pa.array(map(number, nodes), pa.float64())
        if self._conditions is not None:
            self._judge(found, Events.of(self._conditions.run_parsed(document)))
        if any(len(column) != found.records for column in found.columns.values()):
            raise RefusedError("a slice with another number of records than it has")
        return found

    def _read(self, text: str) -> FieldValues:
        """Read what the stylesheet wrote: first numbers of all records, then all texts, one behind the other."""
        head, _, body = text.partition("\n")
        words, width = head.split(" ")[:-1], 1 + sum(len(_WORDS[one.kind]) for one in self._written)
        if not {*words[::width]} <= {"0"}:
            raise RefusedError("a record with a field that is more than text")
        found = FieldValues(len(words) // width)
        lengths: dict[Wanted, list[int]] = {}
        there: dict[Wanted, Sequence[str]] = {}
        at = 1
        for one in self._written:
            own = dict(zip(_WORDS[one.kind], (words[at + k :: width] for k in range(width)), strict=False))
            at += len(own)
            if not {*own.get("count", ())} <= {"0", "1"}:
                raise RefusedError("a record that has a field twice")
            if one.kind == "there":
                found.columns[one] = pa.array([count == "1" for count in own["count"]], pa.bool_())
            elif one.kind == "number":
                found.columns[one] = pa.array(map(float, own["number"]), pa.float64())
            else:
                lengths[one] = list(map(int, own["length"]))
                there[one] = own.get("count", ["1"] * found.records)
        ends = list(accumulate(chain.from_iterable(zip(*lengths.values(), strict=True)), initial=0))
        texts = [body[begin:end] for begin, end in pairwise(ends)]
        if ends[-1] != len(body) or len(words) != found.records * width:
            raise RefusedError("what an engine wrote is not what it was asked for")
        for k, one in enumerate(lengths):
            own_texts = zip(texts[k :: len(lengths)], there[one], strict=True)
            found.columns[one] = pa.array((text if count == "1" else None for text, count in own_texts), pa.string())
        return found

    def _judge(self, found: FieldValues, events: Events) -> None:
        if events.records != found.records:
            raise RefusedError("conditions that saw another number of records")
        for number, predicate in enumerate(self._predicates):
            own = events.check == number
            holds = np.zeros(found.records, dtype=np.bool_)
            holds[events.record[own & (events.verdict == Verdict.HOLDS)]] = True
            found.holds[predicate] = pa.array(holds)
            if (own & ((events.verdict == Verdict.ERROR) | (events.verdict == Verdict.NOT_FIRED))).any():
                found.errors.add(predicate)


_WORDS: Mapping[ReadAs, tuple[str, ...]] = {
    "text": ("count", "length"),
    "normal": ("length",),
    "number": ("number",),
    "there": ("count",),
}
"""The words that are written of a field, before all texts."""


def _stylesheet(names: PrefixedNames, wanted: Sequence[Wanted], engine: EngineName) -> str:
    """Return the stylesheet that writes the values of all records, the lengths of texts before all texts.

    Saxon reads the same number from a text in XPath 1.0 mode and in later versions.
    """
    words, texts = ["count(*/* | */@*)", "' '"], ["''", "''"]
    for one in wanted:
        path = names.of(one.at)
        shown = f"normalize-space({path})" if one.kind == "normal" else path
        written = {"count": f"count({path})", "length": f"string-length({shown})", "number": f"number({path})"}
        words += [part for word in _WORDS[one.kind] for part in (written[word], "' '")]
        texts += [shown] if one.kind in ("text", "normal") else []
    declared = " ".join(f"xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in names.prefixes.items())
    loops = [
        f'<m-xsl:for-each select="{names.path}"><m-xsl:value-of select={quoteattr(f"concat({', '.join(parts)})")}/>'
        "</m-xsl:for-each>"
        for parts in (words, texts)
    ]
    return (
        f'<m-xsl:stylesheet version="{DIALECTS[engine].xslt}" xmlns:m-xsl="{XSL}" {declared}>'
        '<m-xsl:output method="text" encoding="UTF-8"/>'
        f'<m-xsl:template match="/">{"<m-xsl:text>&#10;</m-xsl:text>".join(loops)}</m-xsl:template>'
        "</m-xsl:stylesheet>"
    )


def program_of(rulebook: Rulebook, layout: Layout, engine: EngineName, selection: CheckSelection) -> Program:
    """Compile checks that ask for no document.

    Raises
    ------
    EngineError
        The engine does not take an expression.
    RefusedError
        One of them asks for the original.
    """
    text = stylesheet(rulebook, layout, engine, selection)
    if reads_documents(text):
        raise RefusedError("it reads the original in a way that is no aggregate")
    return compile_program(text, engine)
