"""The plan on trial: rules as they are written and as they are rewritten, on a document of some records of the file.

For each part of an expression that is replaced, a probe asks the engine whether it equals its replacement, at every
node where the rule fires; and all verdicts of both have to be the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.judge.across.planned import Planned
from masktron.judge.across.recognise import Hole
from masktron.judge.across.rewrite import TextPlace, filled
from masktron.judge.across.selection import Aggregate, RecordSource
from masktron.judge.findings import Verdict
from masktron.judge.programs import Documents, Original, compile_program
from masktron.judge.recount.aggregates import (
    Recounted,
    attributes_of,
    carrying,
    carrying_guard,
    classes_of,
    recounted,
)
from masktron.judge.recount.field_values import FieldValues, Reader, program_of, wanted_of
from masktron.judge.report_reader import Events
from masktron.judge.stylesheet import CheckSelection, EngineName, stylesheet
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import Binding, Variable, walk
from masktron.rulebook.schema import Let, Rule, Rulebook, ValueOf
from masktron.sources.record_layout import Layout
from masktron.sources.xml.parser import Encoding
from masktron.sources.xml.slices import Frame

SPREAD = 120
"""Records of the sample that are spread evenly over the file."""
_FEW = 6
"""Records more for everything that few of the others may have."""
_PROBE = "m.probe"


@dataclass(frozen=True, slots=True)
class Kin:
    """A file with the layout of its records.

    Attributes
    ----------
    outside : frozenset of str
        Names of what it has outside its records.
    """

    frame: Frame
    layout: Layout
    outside: frozenset[str]


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a sample.

    Attributes
    ----------
    objections : mapping of int to str
        Why the plan of a check is wrong.
    untried : mapping of int to str
        Checks with which nothing can be tried on the sample, with the reason.
    """

    objections: Mapping[int, str]
    untried: Mapping[int, str]


def positions_of(planned: Planned, tables: Mapping[RecordSource, FieldValues]) -> dict[RecordSource, list[int]]:
    """Return which records of the file and of the original make a sample in which everything happens.

    Some are spread evenly; some have an empty, absent or oddly spaced value, or fulfil a condition, or do not; and
    some have the keys of others.
    """
    chosen: dict[RecordSource, dict[int, None]] = {}
    for source, table in tables.items():
        few = min(table.records, SPREAD)
        own = dict.fromkeys(np.unique(np.linspace(0, max(table.records - 1, 0), few).astype(np.intp)).tolist())
        for column in table.columns.values():
            own.update(dict.fromkeys(_odd(column)))
        for holds in table.holds.values():
            own.update(dict.fromkeys([*_first(holds), *_first(pc.invert(holds))]))
        chosen[source] = own
    for aggregate in planned.aggregates:
        chosen[aggregate.selection.source].update(dict.fromkeys(_mates(aggregate, tables, chosen["file"])))
    return {source: sorted(own) for source, own in chosen.items()}


def _odd(column: pa.Array) -> list[int]:
    """Return some records whose value is absent, empty or no number, and some whose text has space around it."""
    if not pa.types.is_string(column.type):
        return _first(pc.is_nan(column) if pa.types.is_floating(column.type) else pc.invert(column))
    spaced = pc.not_equal(column, pc.utf8_trim_whitespace(column))
    return [*_first(pc.or_(pc.is_null(column), pc.fill_null(pc.equal(column, ""), False))), *_first(spaced)]


def _first(which: pa.BooleanArray) -> list[int]:
    found: list[int] = pc.indices_nonzero(which)[:_FEW].to_pylist()
    return found


def _mates(aggregate: Aggregate, tables: Mapping[RecordSource, FieldValues], sample: Iterable[int]) -> list[int]:
    """Return records with the keys of every second record of the sample."""
    if not aggregate.selection.equal:
        return []
    own, others = classes_of(tables, aggregate.selection)
    asked = {own[at]: at for at in list(sample)[::2] if own[at] >= 0}
    found = []
    for at, key in enumerate(others):
        if key in asked and asked[key] != at:
            found.append(at)
            del asked[key]
    return found


def proved(
    planned: Planned,
    engine: EngineName,
    files: Mapping[RecordSource, Kin],
    records: Mapping[RecordSource, Sequence[bytes]],
) -> Tried:
    """Try the plan on a sample.

    Parameters
    ----------
    files : mapping of source to Kin
    records : mapping of source to sequence of bytes
        The sample: every third record of the file stands in it twice.

    Raises
    ------
    EngineError, NotFramedError, RefusedError
        The engine cannot judge the sample.
    """
    bodies = {source: [*own, *own[::3]] if source == "file" else list(own) for source, own in records.items()}
    trial = _Trial(planned, engine, files, {source: b"".join(own) for source, own in bodies.items()})
    return trial.tried()


class _Trial:
    def __init__(
        self,
        planned: Planned,
        engine: EngineName,
        files: Mapping[RecordSource, Kin],
        bodies: Mapping[RecordSource, bytes],
    ) -> None:
        self._planned = planned
        self._engine: EngineName = engine
        self._file = files["file"]
        tables = {source: self._read(source, files[source], body) for source, body in bodies.items()}
        self._found = recounted(planned, tables, engine)
        self._records = tables["file"].records
        attributes = attributes_of(planned, self._found, 0, self._records)
        self._document = carrying(self._file.frame, bodies["file"], attributes)
        self._guard = carrying_guard(self._file.frame, self._file.layout, self._records)
        self._layout = planned.carrying(self._found.columns)
        self._documents: Documents | None = None
        if planned.original.documents:
            beside = files.get("original", self._file)
            body = bodies.get("original", bodies["file"])
            text = _text(beside.frame.document(body), beside.frame.encoding)
            original = Original(beside.frame.path, known=True, text=text)
            self._documents = Documents.of(planned.original, original)

    def _read(self, source: RecordSource, kin: Kin, body: bytes) -> FieldValues:
        planned = self._planned
        wanted = wanted_of(planned.aggregates, source)
        reader = Reader(
            kin.frame,
            kin.layout,
            self._engine,
            wanted,
            planned.predicates[source],
            planned.conditions(source),
        )
        return reader(body)

    def tried(self) -> Tried:
        """Judge the sample."""
        planned, found = self._planned, self._found
        able = frozenset(c for c in planned.checks if planned.used(c) <= found.known)
        untried = {c: f"not tried on a sample: {found.why(planned.used(c))}" for c in planned.checks - able}
        written = self._events(planned.original, able)
        inside, outside = able - planned.outside, able & planned.outside
        book = planned.with_values(found.constants, found.known)
        rewritten = self._events(book, inside) | self._around(book, outside)
        probes = self._events(_probing(planned, found, able), able)
        said = {}
        for check in sorted(able):
            if any(verdict != Verdict.HOLDS for _, verdict in probes[check]):
                said[check] = "a part of it that was computed apart is not what the engine makes of it in a sample"
            elif written[check] != rewritten[check]:
                said[check] = "it is not what it is as written, in a sample"
        return Tried(said, untried)

    def _events(self, book: Rulebook, checks: Collection[int]) -> dict[int, list[tuple[int, int]]]:
        """Return record and verdict of each node, by check."""
        if not checks:
            return {}
        text = stylesheet(book, self._layout, self._engine, CheckSelection(frozenset(checks), whole=True))
        program = compile_program(text, self._engine, self._documents)
        return _by_check(Events.of(program.run_bytes(self._document, self._file.frame.encoding, self._guard)), checks)

    def _around(self, book: Rulebook, checks: frozenset[int]) -> dict[int, list[tuple[int, int]]]:
        if not checks:
            return {}
        frame = self._file.frame
        program = program_of(book, self._layout, self._engine, CheckSelection(checks, whole=True))
        guard = carrying_guard(frame, self._file.layout, 0)
        return _by_check(Events.of(program.run_bytes(frame.document(b""), frame.encoding, guard)), checks)


def _by_check(events: Events, checks: Collection[int]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {check: [] for check in checks}
    rows = zip(events.check.tolist(), events.record.tolist(), events.verdict.tolist(), strict=True)
    for check, record, verdict in rows:
        found[check].append((record, verdict))
    return {check: sorted(own) for check, own in found.items()}


def _text(document: bytes, encoding: Encoding) -> str:
    return document[len(encoding.bom) :].decode(encoding.codec)[len(encoding.declaration) :]


def _probing(planned: Planned, found: Recounted, checks: Collection[int]) -> Rulebook:
    """Return the rulebook with a probe in the place of each test: it holds where all replacements are right.

    What stands in a variable is compared beside it, in its own scope, by one more variable.
    """
    probe = _Probe(planned, found)
    book = planned.original
    lets, seen = probe.lets(book.lets, ())
    patterns = []
    for p, pattern in enumerate(book.patterns):
        own, more = probe.lets(pattern.lets, (p,))
        rules = tuple(probe.rule(rule, (p, r), (*seen, *more), checks) for r, rule in enumerate(pattern.rules))
        patterns.append(replace(pattern, lets=own, rules=rules))
    return replace(book, lets=lets, patterns=tuple(patterns))


@dataclass(frozen=True, slots=True)
class _Probe:
    planned: Planned
    found: Recounted

    def equal(self, expression: str, place: TextPlace) -> list[str]:
        """Return the comparisons for an expression."""
        known = self.found.known
        holes = [hole for hole in self.planned.holes.get(place, ()) if known.issuperset(hole.aggregates)]

        def text_of(aggregate: Aggregate) -> str:
            return self.planned.text_of(aggregate, place, self.found.constants)

        if any(self._reads_bound(expression, hole) for hole in holes):
            # a part has no value outside the expression that binds its variable
            return [f"deep-equal(data(({expression})), data(({filled(expression, holes, text_of)})))"]
        return [self._same(expression[hole.start : hole.end], hole, hole.written(text_of)) for hole in holes]

    def _reads_bound(self, expression: str, hole: Hole) -> bool:
        """Whether a part of an expression reads a variable that the expression itself binds."""
        parts = list(walk(parsed(expression, self.planned.original.namespaces)))
        bound = {name for part in parts if isinstance(part, Binding) for name, _ in part.bound}
        inside = (part for part in parts if hole.start <= part.start < hole.end)
        return any(isinstance(part, Variable) and part.name in bound for part in inside)

    def _same(self, written: str, hole: Hole, text: str) -> str:
        kind = "boolean" if len(hole.aggregates) > 1 else hole.aggregates[0].type
        later = hole.aggregates[0].version != "1.0"
        if kind == "boolean":
            return f"(boolean({written}) = boolean({text}))"
        if kind == "node":
            strings = f"string({written}) = string({text})"
            return f"({strings} and boolean({written}) = boolean({text}))"
        if later:
            return f"deep-equal(({written}), ({text}))"
        # NaN is the only number that is not itself
        return f"(({written}) = ({text}) or (({written}) != ({written}) and ({text}) != ({text})))"

    def lets(self, lets: Sequence[Let], place: TextPlace) -> tuple[tuple[Let, ...], tuple[str, ...]]:
        """Return variables with probes behind them, and the probes."""
        made: list[Let] = []
        probes: list[str] = []
        for k, let in enumerate(lets):
            made.append(let)
            if equal := self.equal(let.value, (*place, -1 - k)):
                name = ".".join([_PROBE, *map(str, place), str(k)])
                made.append(Let(name, " and ".join(equal), let.origin))
                probes.append(f"${name}")
        return tuple(made), tuple(probes)

    def rule(self, rule: Rule, place: TextPlace, seen: Sequence[str], checks: Collection[int]) -> Rule:
        """Return a rule with probes for its checks."""
        lets, more = self.lets(rule.lets, place)
        probes = []
        for c, check in enumerate(rule.checks):
            equal = [*seen, *more] if check.index in checks else []
            texts = [(check.test, 0)]
            texts += [(part.select, k + 1) for k, part in enumerate(check.message) if isinstance(part, ValueOf)]
            for text, k in texts if check.index in checks else ():
                equal += self.equal(text, (*place, c, k))
            probes.append(replace(check, kind="assert", test=" and ".join(equal) or "true()", message=()))
        return replace(rule, lets=lets, checks=tuple(probes))
