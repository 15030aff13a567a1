"""What does this file hold?"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.codes import apart, kinds_by_file, unmet_codes
from masktron.config import Config, Kind, Role
from masktron.counts import counted
from masktron.errors import DocumentError, UsageError
from masktron.jobs.common import file_notes, shown_path
from masktron.jobs.fields_by_level import completed_by_level, fields_by_level, variables_by_level
from masktron.jobs.following import without_values
from masktron.jobs.lowering.wide_settings import named_as_fields
from masktron.likely_roles import (
    LikelyRole,
    NumberTraits,
    called_like_codes,
    code_reason,
    has_zero_before,
    likely_role,
)
from masktron.problems.problem import Field, Note, Sentence, Setting
from masktron.progress import Progress, no_progress, told_as
from masktron.results import (
    DescribedProblem,
    DescribedRow,
    DescribeResult,
    FieldDescription,
    ValueCount,
    levels_of,
    shown,
)
from masktron.results.describe import ValueType
from masktron.roles import refuse_unknown_fields
from masktron.setting_values import ALL_FIELDS
from masktron.sources.column import Column
from masktron.sources.columns import Batch, Cell
from masktron.sources.flat_records import FlatRecords
from masktron.sources.level_tree import TOP, Tree
from masktron.sources.lexical import XML_SPACE, is_integer, parse_number, xpath1_text
from masktron.sources.opening import format_of, open_source
from masktron.sources.source import Source
from masktron.sources.variables import MissingCodes, Variable, codes_of_field

MOST_DISTINCT = 100_000
"""Different values of a field that are kept."""


class FieldSummary:
    """Counts of the values of a field.

    Parameters
    ----------
    codes : MissingCodes
    text : bool
        The values are texts, also where they look like numbers.

    Attributes
    ----------
    missing, texts, numbers : int
        Records without a value, with a text, and with a number.
    integers, zeros_before : bool
        All values are written as integers; a number has a zero before it that counts for nothing.
    low, high : float
        Least and greatest number; NaN where there is none.
    counts : dict of str to int
        How often each value stands there, without white space around; of the first `MOST_DISTINCT` alone.
    many : bool
        There were more.
    codes_met : set of str
        Lexemes that are codes, as they are written.
    first_text : int
        Position of the first record with a text, from 0; -1 where there is none.
    runs : int
        Stretches of consecutive records with the same value, as `follow` was told.
    rising : bool
        So far each number is larger than that of the record before.
    """

    def __init__(self, codes: MissingCodes, *, text: bool = False) -> None:
        self._codes, self._text = codes, text
        self.missing = self.texts = self.numbers = 0
        self.integers, self.zeros_before = True, False
        self.low = self.high = math.nan
        self.counts: dict[str, int] = {}
        self.many = False
        self.codes_met: set[str] = set()
        self.first_text = -1
        self.runs, self.rising = 0, True
        self._last: tuple[int, float] = (-1, -math.inf)
        self._end: str | None = None

    def add(self, values: Iterable[tuple[str | None, int, int]]) -> None:
        """Count some records.

        Parameters
        ----------
        values : iterable of (str or None, int, int)
            Lexeme, None where there is no element; how many records have it; and the position of the first of them.
        """
        for lexeme, records, first in values:
            text = None if lexeme is None else lexeme.strip(XML_SPACE)
            if not text or text in self._codes:
                self.missing += records
                self.codes_met |= {text} if text else set()
                continue
            self._keep(text, records)
            value = math.nan if self._text else parse_number(text)
            if math.isnan(value):
                self.texts += records
                self.integers = False
                self.first_text = first if self.first_text < 0 else min(self.first_text, first)
                continue
            self.rising = self.rising and records == 1 and first > self._last[0] and value > self._last[1]
            self._last = first, value
            self.numbers += records
            self.low = value if math.isnan(self.low) else min(self.low, value)
            self.high = value if math.isnan(self.high) else max(self.high, value)
            self.integers = self.integers and is_integer(text)
            self.zeros_before = self.zeros_before or has_zero_before(text)

    def follow(self, runs: int, first: str | None, last: str | None) -> None:
        """Count the runs of the next records; one that goes on from those before counts once.

        Parameters
        ----------
        runs : int
        first, last : str or None
            Lexemes of the first and of the last of these records.
        """
        self.runs += runs - (self.runs > 0 and first == self._end)
        self._end = last

    @property
    def traits(self) -> NumberTraits:
        """What the field is like, for `likely_role`; of too many values to be kept, only whether they rise."""
        records = self.missing + self.texts + self.numbers
        rising = self.rising and self.numbers == records
        return NumberTraits(
            records=records,
            distinct=records if rising else 0 if self.many else len(self.counts),
            runs=self.runs,
            whole=self.integers and self.numbers == records,
            rising=rising,
            span=self.high - self.low,
        )

    @property
    def unmet_codes(self) -> tuple[str, ...]:
        """The codes that no record has."""
        return self._codes.unmet(self.codes_met)

    def _keep(self, text: str, records: int) -> None:
        if text in self.counts:
            self.counts[text] += records
        elif len(self.counts) < MOST_DISTINCT:
            self.counts[text] = records
        else:
            self.many = True

    @property
    def type(self) -> ValueType:
        """What the values are written as."""
        if not self.texts and not self.numbers:
            return "empty"
        if self.texts:
            return "mixed" if self.numbers else "text"
        return "integer" if self.integers else "decimal"

    def code_reason(self, name: str) -> str:
        """Say why the numbers look like codes, as `masktron.codes.suspects` has it; nothing where they do not."""
        if self.texts or not self.numbers:
            return ""
        judged = not self.many or self.zeros_before or called_like_codes(name)
        return code_reason(name, self.counts) if judged else ""

    def frequent(self, most: int) -> list[tuple[str, int]]:
        """Return the most frequent values, and of equally frequent ones the first in order; none where many."""
        if self.many:
            return []
        return list(islice(sorted(self.counts.items(), key=lambda one: (-one[1], one[0])), most))


ROWS = 20
MOST_ROWS = 10_000
"""Rows that one result may have."""
NO_ROWS = "no records are shown, though some were asked for: those of a nested file are no rows of one table"
_FREQUENT = 10
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RowRange:
    """Which records are shown: `count` of them, from the one with the number `first` on, from 1.

    Raises
    ------
    UsageError
        There are no such numbers.
    """

    count: int = ROWS
    first: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.count <= MOST_ROWS:
            expected = f"from 0 to {MOST_ROWS}"
            raise UsageError.of("bad-value", name=Setting("--rows"), expected=expected, given=self.count)
        if self.first < 1:
            raise UsageError.of("bad-value", name=Setting("--from"), expected="1 or more", given=self.first)

    def within(self, first: int, count: int) -> range:
        """Return the positions of the rows among `count` records of which the first has the position `first`."""
        low = max(self.first - 1 - first, 0)
        return range(low, max(low, min(self.first - 1 + self.count - first, count)))


@dataclass(slots=True)
class _Read:
    """What was read of a file."""

    summaries: dict[str, FieldSummary]
    rows: list[DescribedRow] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    count: int = 0


def run_describe(
    data: Path,
    *,
    config: Config | None = None,
    rows: RowRange | None = None,
    release_safe: bool = False,
    progress: Progress = no_progress,
) -> DescribeResult:
    """Say what a file holds: its fields, what `mask` would take them for, some records, and what is wrong.

    A large file that its reader streams is read a batch at a time. Others are in memory.

    Parameters
    ----------
    data : Path
    config : Config, optional
        Roles, kinds and missing codes, and how the file is read.
    rows : RowRange, optional
        Which records are shown.
    release_safe : bool
        Leave every value of a record out, of the errors, too.
    progress : callable

    Raises
    ------
    DocumentError, UsageError
        The file cannot be read, has no record, or a setting names a field that it does not have.
    """
    config = config or Config()
    wanted = RowRange(0) if release_safe else rows or RowRange()
    progress(f"surveying {data.name}", 0)
    options = config.reading

    def opened() -> tuple[Source, Tree | None]:
        source = open_source(data, reading=options, progress=progress)
        return source, source.tree

    source, tree = without_values(opened, wanted=release_safe)
    layout, shape, stated = source.layout, source.shape, config.missing
    given = config if tree is None else named_as_fields(config, tree, str(data))
    config, declared = completed_by_level(given, source)
    names = [one.name for one in layout.fields] if tree is None else [*tree.names]
    with source.naming_elsewhere():
        refuse_unknown_fields(config, names, str(data))
    if not shape.flat and tree is None:
        problem = DescribedProblem(
            f"the records are no rows of single values: {shape.reason}",
            "",
            0,
            shape.line,
            "such a file is validated, not masked",
        )
        return DescribeResult(
            shown(data), format_of(data, config.reading), shown_path(layout), source.count or 0, (), (),
            (problem,), (*_notes(source, stated, declared, release_safe=release_safe),), release_safe,
        )  # fmt: skip
    said = variables_by_level(source)
    summaries = _summaries(names, said, config)
    reading = partial(_read, source, summaries, wanted, progress)
    levels = partial(_read_levels, source, summaries, progress)
    read = without_values(reading if tree is None else levels, wanted=release_safe)
    if not read.count:
        raise DocumentError.of("no-records", data, path=shown_path(layout))
    variables = {variable.name: variable for variable in said}
    described: list[FieldDescription] = []
    problems: list[DescribedProblem] = []
    for name in names:
        variable = variables.get(name, Variable(name, name.removeprefix("@")))
        path = TOP if tree is None else tree.names[name][0]
        one = f"{path[-1]} %s of the file" if path else "record %s"
        told, wrong = _described(name, variable, read, config, one, release_safe=release_safe)
        described.append(told if tree is None else replace(told, level=tree.shown(path)))
        if wrong is not None:
            problems.append(wrong)
        problems += () if release_safe else _apart(name, read.summaries[name])
    return DescribeResult(
        data=shown(data),
        format=format_of(data, config.reading),
        record=shown_path(layout),
        records=read.count,
        fields=tuple(described),
        rows=tuple(read.rows),
        problems=tuple(problems),
        notes=(
            *_notes(source, stated, declared, release_safe=release_safe),
            *((NO_ROWS,) if tree is not None and wanted.count and wanted != RowRange() else ()),
            *(one.note for one in _likely_roles(described, read, config, kinds_by_file(config, given))),
            *unmet_codes({name: summary.unmet_codes for name, summary in read.summaries.items()}, stated),
        ),
        release_safe=release_safe,
        levels=levels_of(tree),
    )


def _likely_roles(
    described: Sequence[FieldDescription], read: _Read, config: Config, by_file: Collection[str]
) -> Iterator[LikelyRole]:
    """Yield the fields that would be masked as something else than they seem to be: numbers of records, weights."""
    for one in described:
        asked = config.kind_of(one.name) is None or one.name in by_file
        if one.kind is not None and asked and one.name not in config.roles and one.type in ("integer", "decimal"):
            traits, categories = read.summaries[one.name].traits, one.kind != Kind.NUMBER
            found = likely_role(one.name, traits, categories=categories, nested=bool(one.level))
            if found is not None:
                yield found


def _notes(
    source: Source, missing: Mapping[str, frozenset[str]], declared: Sequence[str], *, release_safe: bool
) -> Iterator[Sentence]:
    found = file_notes(source, missing=missing)
    if release_safe and found:
        yield f"left out, as they may quote the file: {len(found)} notes on how it reads"
    else:
        yield from found
    yield from declared


def _read(source: Source, summaries: dict[str, FieldSummary], wanted: RowRange, progress: Progress) -> _Read:
    flat = source.document.flat if source.count is not None else None
    if flat is not None:
        found = _streamed(flat, deepcopy(summaries), wanted, source, progress)
        if found is not None:
            return found
    return _whole(source, summaries, wanted, progress)


def _read_levels(source: Source, summaries: dict[str, FieldSummary], progress: Progress) -> _Read:
    """Read the fields of all levels of a nested file, each with the records of its own."""
    tables = source.level_records(told=told_as(progress, f"reading {source.path.name}"))
    found = _Read(summaries, count=len(tables.top))
    for name, held in fields_by_level(tables).items():
        _summarise(summaries[name], held.column)
        if (at := summaries[name].first_text) >= 0:
            found.lines[name] = int(held.lines[at])
    return found


def _summaries(names: Sequence[str], variables: Sequence[Variable], config: Config) -> dict[str, FieldSummary]:
    everywhere = config.missing.get(ALL_FIELDS, _NONE)
    texts = {one.name for one in variables if one.typed.text}
    return {
        name: FieldSummary(
            codes_of_field(config.missing.get(name, _NONE) | everywhere, text=name in texts),
            text=name in texts and config.kind_of(name) is not Kind.NUMBER,
        )
        for name in names
    }


def _streamed(
    flat: FlatRecords, summaries: dict[str, FieldSummary], wanted: RowRange, source: Source, progress: Progress
) -> _Read | None:
    """Read batch by batch; None where a record is written so that only a parser of XML reads it."""
    found = _Read(summaries)
    told = told_as(progress, f"reading {source.path.name}")
    for batch in flat.batches():
        if batch.odd.any() or any((cells.status == Cell.ODD).any() for cells in batch.cells):
            return None
        for at, summary in enumerate(found.summaries.values()):
            summary.add(_counted(batch, at))
            _follow(summary, batch.texts(at).codes, batch.texts(at).values)
            if batch.first <= summary.first_text < batch.first + len(batch):
                name = source.layout.fields[at].name
                found.lines.setdefault(name, int(batch.lines[summary.first_text - batch.first]))
        texts = [batch.texts(at) for at in range(len(batch.cells))]
        for row in wanted.within(batch.first, len(batch)):
            values = tuple(one.values[one.codes[row]] if one.codes[row] >= 0 else None for one in texts)
            found.rows.append(DescribedRow(batch.first + row + 1, int(batch.lines[row]), values))
        found.count = batch.first + len(batch)
        told(found.count, source.count or found.count)
    return found


def _counted(batch: Batch, at: int) -> Iterator[tuple[str | None, int, int]]:
    """Yield each distinct lexeme of a field with its count and its first position."""
    texts = batch.texts(at)
    values, firsts, counts = np.unique(texts.codes, return_index=True, return_counts=True)
    for code, first, count in zip(values.tolist(), firsts.tolist(), counts.tolist(), strict=True):
        yield texts.values[code] if code >= 0 else None, count, batch.first + first


def _follow(summary: FieldSummary, codes: NDArray[Any], texts: Sequence[str | None]) -> None:
    """Tell in how many runs the values of consecutive records stand."""
    if not len(codes):
        return
    first, last = (texts[code] if code >= 0 else None for code in codes[[0, -1]].tolist())
    summary.follow(int((np.diff(codes) != 0).sum()) + 1, first, last)


def _whole(source: Source, summaries: dict[str, FieldSummary], wanted: RowRange, progress: Progress) -> _Read:
    found = _Read(summaries)
    records = source.records(told=told_as(progress, f"reading {source.path.name}"))
    found.count = len(records)
    for name, summary in found.summaries.items():
        _summarise(summary, records.columns[name])
        if summary.first_text >= 0:
            found.lines[name] = int(records.lines[summary.first_text])
    for row in wanted.within(0, len(records)):
        values = tuple(column.lexeme(row) for column in records.columns.values())
        found.rows.append(DescribedRow(row + 1, int(records.lines[row]), values))
    return found


def _summarise(summary: FieldSummary, column: Column) -> None:
    """Count the values of a whole column, in the order of the file."""
    distinct, codes = column.ranked()
    texts = distinct.objects().tolist()
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    order = np.argsort(first)
    places = zip(order.tolist(), counts[order].tolist(), first[order].tolist(), strict=True)
    summary.add((texts[place], count, at) for place, count, at in places)
    _follow(summary, codes, texts)


def _described(
    name: str, variable: Variable, read: _Read, config: Config, one: str, *, release_safe: bool
) -> tuple[FieldDescription, DescribedProblem | None]:
    summary = read.summaries[name]
    kind, role, why, problem = _taken(variable, summary, config, read.lines.get(name, 0), one)
    if release_safe and problem is not None and problem.record:  # which record has it is nobody's business
        problem = replace(problem, what=f"the numeric field {name!r} holds a text", record=0, line=0)
    labels = {**variable.labels, **variable.declared_missing, **dict.fromkeys(variable.ranges, "")}
    everywhere = config.missing.get(ALL_FIELDS, _NONE)
    codes = sorted((config.missing.get(name, _NONE) | everywhere) - variable.observed)
    numeric = bool(summary.numbers) and not summary.texts
    listed = not numeric or kind in (Kind.NOMINAL, Kind.ORDINAL) or summary.code_reason(name)
    shows = not release_safe
    return FieldDescription(
        name=name,
        column=variable.column,
        label=variable.label,
        type=summary.type,
        kind=kind,
        why=why,
        role=role,
        labels={code: label for code, label in labels.items() if code not in codes and code not in variable.ranges},
        missing_codes={code: labels.get(code, "") for code in (*codes, *variable.ranges)},
        missing=summary.missing,
        unmet_codes=tuple(
            code
            for code in summary.unmet_codes
            if code in config.missing.get(name, _NONE) and code not in variable.missing
        ),
        distinct=len(summary.counts),
        many=summary.many,
        least=_written(summary.low) if shows and numeric else None,
        greatest=_written(summary.high) if shows and numeric else None,
        frequent=tuple(_frequent(summary, variable.labels)) if shows and listed else (),
    ), problem


def _apart(name: str, summary: FieldSummary) -> Iterator[DescribedProblem]:
    """Say which usual codes stand apart from the other numbers of a field, and are not declared."""
    if summary.texts or summary.many:
        return
    if codes := apart(summary.counts, summary.numbers):
        met = ", ".join(f"{code} in {counted(summary.counts[code], 'record')}" for code in codes)
        what = f"{name!r} has {met}, apart from its other values: it may mean 'missing'"
        hint = Note(
            "[[--missing {field}={codes}]] if so; else it is taken for a value like any other",
            field=Field(name),
            codes=",".join(codes),
        )
        yield DescribedProblem(what, name, 0, 0, hint)


def _written(value: float) -> str | None:
    return None if math.isnan(value) else xpath1_text(value)


def _frequent(summary: FieldSummary, labels: Mapping[str, str]) -> Iterator[ValueCount]:
    for value, count in summary.frequent(_FREQUENT):
        yield ValueCount(value, labels.get(value, ""), count)


type _Taken = tuple[Kind | None, Role | None, str, DescribedProblem | None]


def _taken(variable: Variable, summary: FieldSummary, config: Config, line: int, one: str) -> _Taken:
    """Say what `mask` takes a field for, as `masktron.roles` and `masktron.codes` do, and why."""
    name = variable.name
    role, kind = config.roles.get(name), config.kind_of(name)
    says = None if role is None else f"declared as {role}"
    if summary.type == "empty":
        return None, role or Role.UNTOUCHED, says or "it never holds a value, and is written as it is", None
    unmasked = (Role.IDENTIFIER, Role.RECORD_ID, Role.UNTOUCHED, Role.QUASI_IDENTIFIER)
    if role in unmasked or (role is Role.WEIGHT and not summary.texts):
        return Kind.NUMBER if not summary.texts else Kind.NOMINAL, role, f"declared as {role}: not masked", None
    if kind in (Kind.NOMINAL, Kind.ORDINAL):
        return kind, role or Role.CONFIDENTIAL, f"declared as {kind}", None
    if summary.texts:
        return _text_taken(variable, summary, role, kind, line, one)
    if kind is None and (why := summary.code_reason(name)):
        hint = Note(
            "[[--nominal {field}]], [[--ordinal {field}]] or [[--numeric {field}]]; no need where a rule uses "
            "it as a quantity",
            field=Field(name),
        )
        what = f"{name!r} looks like a field of codes, and is asked about unless a rule treats it as a quantity"
        return None, role or Role.CONFIDENTIAL, why, DescribedProblem(what, name, 0, 0, hint)
    return Kind.NUMBER, role or Role.CONFIDENTIAL, says or ("declared" if kind else "all values are numbers"), None


def _text_taken(
    variable: Variable, summary: FieldSummary, role: Role | None, kind: Kind | None, line: int, one: str
) -> _Taken:
    name, held = variable.name, variable.moments or "text"
    if summary.numbers > summary.texts or kind is Kind.NUMBER:
        what = f"the numeric field {name!r} holds a text in {one % (summary.first_text + 1)}"
        hint = Note(
            "correct it, or declare it as a missing code ([[--missing {field}=CODE]]), or the field as "
            "[[--nominal {field}]]",
            field=Field(name),
        )
        problem = DescribedProblem(what, name, summary.first_text + 1, line, hint)
        return None, role, f"most values are numbers, and {summary.texts} are texts", problem
    if role is Role.CONFIDENTIAL:
        return Kind.NOMINAL, role, f"a {held} that is declared as confidential", None
    hint = Note(
        "[[--role {field}=identifier]], record-id, quasi-identifier, untouched or confidential; or "
        "[[--nominal {field}]], [[--ordinal {field}]]",
        field=Field(name),
    )
    may = "help to find" if variable.moments else "name"
    what = f"the {held} field {name!r} has no role; it may {may} a respondent"
    return None, None, f"a {held} without a role", DescribedProblem(what, name, 0, 0, hint)
