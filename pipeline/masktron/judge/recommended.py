"""XPath 1.0 by its Recommendation: libxml2's verdicts, and ours on what it reads or writes otherwise.

libxml2 evaluates everything. Where a check makes numbers of nodes, the records that hold a value which it misreads
are evaluated again with conversions of ours (`masktron.judge.conversions`), which take a multiple of the time;
where it makes numbers of other texts, or texts of numbers, all records are. What libxml2 said of these is kept beside
the verdicts, for a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from lxml import etree

from masktron.judge.conversions import converted
from masktron.judge.programs import Documents, Program, misread, misreads
from masktron.judge.report_reader import Events, document_with, records_of
from masktron.judge.rewriting import Reads, Type
from masktron.rulebook.analysis import once, readers
from masktron.rulebook.expressions.words import variables
from masktron.rulebook.schema import Let, Rulebook, ValueOf
from masktron.sources.record_layout import Layout
from masktron.sources.xml.parser import parse_text

type CorrectedCompiler = Callable[[frozenset[int], bool], Program]
"""Compiles checks with conversions of ours, for verdicts or for a report."""


@dataclass(frozen=True, slots=True)
class _Known:
    """Types of variables, and what libxml2 can get wrong in them."""

    types: dict[str, Type]
    reads: dict[str, Reads]
    namespaces: tuple[tuple[str, str], ...]

    def of(self, expression: str, *, written: bool = False) -> Reads:
        """Return what libxml2 can get wrong in an expression, its variables included."""
        own = converted(expression, self.types, self.namespaces, written=written).reads
        return max([own, *(self.reads.get(name, Reads.NOTHING) for name in variables(expression))])

    def bind(self, lets: Iterable[Let]) -> _Known:
        known = _Known(dict(self.types), dict(self.reads), self.namespaces)
        for let in lets:
            reads = known.of(let.value)
            known.types[let.name] = converted(let.value, known.types, self.namespaces).type
            known.reads[let.name] = reads
        return known


@once
def reads_of(rulebook: Rulebook, shown: bool = False) -> tuple[Reads, ...]:
    """Return what libxml2 can get wrong of each check: in its test, its variables, its context and earlier ones.

    Checks in later versions of XPath are nothing that it reads.

    Parameters
    ----------
    shown : bool
        Whether messages count too.
    """
    found = {}
    outer = _Known({}, {}, rulebook.namespaces).bind(rulebook.lets)
    for pattern in rulebook.patterns:
        middle = outer.bind(pattern.lets)
        before = Reads.NOTHING
        for rule in pattern.rules:
            before = max(before, middle.of(rule.context))
            inner = middle.bind(rule.lets)
            for check in rule.checks:
                parts = (part.select for part in check.message if isinstance(part, ValueOf) and not part.is_name)
                told = [inner.of(part, written=True) for part in parts] if shown else []
                own = max([before, inner.of(check.test), *told])
                found[check.index] = own if pattern.version == "1.0" else Reads.NOTHING
    return tuple(found[index] for index in range(len(rulebook.checks)))


@dataclass(slots=True)
class Correction:
    """Evaluates again what libxml2 may have got wrong.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    checks : frozenset of int
    whole : bool
        Whether the checks look beyond one record.
    documents : Documents or None
    make : callable
    """

    rulebook: Rulebook
    layout: Layout
    checks: frozenset[int]
    whole: bool
    documents: Documents | None
    make: CorrectedCompiler
    _programs: dict[tuple[frozenset[int], bool], Program] = field(default_factory=dict)
    _reads: dict[bool, tuple[Reads, ...]] = field(default_factory=dict)
    _misread: bool | None = None
    _readers: frozenset[int] | None = None

    def events(self, root: etree._Element, plain: Events) -> Events:
        """Return what happens in a document, from what libxml2 says.

        Raises
        ------
        EngineError
        """
        checks, rows = self._asked(root, report=False)
        if not checks:
            return plain
        if rows is None:
            again = Events.of(self._program(checks, report=False).run(root))
            at = again.record
        else:
            records = records_of(root, self.layout)
            part = document_with((records[row] for row in rows), self.layout)
            again = Events.of(self._program(checks, report=False).run(part))
            at = np.array(rows, dtype=np.int64)[again.record]
        replaced = np.isin(plain.check, list(checks))
        if rows is not None:
            replaced &= np.isin(plain.record, rows)
        return plain.replaced(replaced, Events(plain.records, at, again.check, again.verdict))

    def report(self, root: etree._Element) -> str | None:
        """Return what fails in a document, with messages; None where libxml2 can be trusted with it.

        Raises
        ------
        EngineError
        """
        if not self._asked(root, report=True)[0]:
            return None
        return self._program(self.checks, report=True).run(root)

    def _asked(self, root: etree._Element, *, report: bool) -> tuple[frozenset[int], list[int] | None]:
        """Return the checks to evaluate again, and the records; None for the whole document."""
        if report not in self._reads:
            self._reads[report] = reads_of(self.rulebook, report)
        reads = self._reads[report]
        more = frozenset(check for check in self.checks if reads[check] is Reads.MORE)
        nodes = frozenset(check for check in self.checks if reads[check] is Reads.NODES)
        beside = nodes & self._of_documents()
        if beside and self._documents_misread():
            more |= beside
            nodes -= beside
        if not nodes:
            return more, None
        if self.whole:
            return (more | nodes if misreads(root) else more), None
        records = records_of(root, self.layout)
        if records and any(misread(value) for above in records[0].iterancestors() for value in above.values()):
            return more | nodes, None
        rows = [row for row, record in enumerate(records) if misreads(record)]
        if more or not rows:
            return (more | nodes if rows else more), None
        return nodes, rows

    def _of_documents(self) -> frozenset[int]:
        """Return the checks that may read a document."""
        if self.documents is None:
            return frozenset()
        if self._readers is None:
            self._readers = frozenset(readers(self.rulebook))
        return self._readers

    def _documents_misread(self) -> bool:
        """Whether libxml2 misreads a value in a document that rules read."""
        if self._misread is None:
            texts = {} if self.documents is None else self.documents.texts()
            self._misread = any(misreads(parse_text(text().encode())) for text in texts.values())
        return self._misread

    def _program(self, checks: frozenset[int], *, report: bool) -> Program:
        key = checks, report
        if key not in self._programs:
            self._programs[key] = self.make(checks, report)
        return self._programs[key]
