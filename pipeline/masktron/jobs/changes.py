"""What has changed since a former run: the file, its fields, the rules, the program."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Kind, Role
from masktron.counts import counted
from masktron.jobs.documents import digests
from masktron.jobs.fields_by_level import HeldField, levels_of_file
from masktron.jobs.job import Job
from masktron.jobs.registered import has_entry
from masktron.jobs.repeatable import declared_codes, field_traits, rule_digests, tables_of_levels
from masktron.problems.problem import Field, Note, Sentence
from masktron.results import ChangeResult
from masktron.roles import ranks
from masktron.sources.opening import format_of
from masktron.sources.variables import Variable
from masktron.versions import EFFECTS, versions
from masktron.write.former_run import FormerField, FormerRun

KINDS = MappingProxyType(
    {
        "record": True,
        "format": False,
        "table": True,
        "field-gone": True,
        "new-field": True,
        "type": True,
        "role": True,
        "kind": True,
        "missing-code": True,
        "order": True,
        "new-category": False,
        "missing-values": False,
        "negative": False,
        "rule-gone": True,
        "new-rule": True,
        "other-rule": True,
        "document": True,
        "register": True,
        "version": False,
    }
)
"""Kinds of changes, and whether they stand in the way of a run unless somebody accepts them."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedFile:
    """A file and its rules, beside those of a former run.

    Attributes
    ----------
    job : Job
    fields : mapping of str to HeldField
        Read with the missing codes of `config`; of a nested file by level, of a flat one with no level.
    variables : tuple of Variable
        What the file says of them.
    config : Config
        The settings of this run, completed by what the file says.
    """

    job: Job
    fields: Mapping[str, HeldField]
    variables: tuple[Variable, ...]
    config: Config


@dataclass(frozen=True, slots=True)
class SaidNow:
    """What the user says for this run: that is told, and stands not in the way.

    Attributes
    ----------
    fields : collection of str
        Fields of which it is said what they are.
    tables : collection of str
        Levels of which the table was named.
    accepted : collection of str
        Kinds of changes that do not stand in the way.
    """

    fields: Collection[str] = ()
    tables: Collection[str] = ()
    accepted: Collection[str] = ()


def changes_of(former: FormerRun, file: ComparedFile, said: SaidNow) -> tuple[ChangeResult, ...]:
    """Compare a file and its rules with those of a former run."""
    found = [
        *_of_layout(former, file),
        *_of_tables(former, file, said.tables),
        *_of_fields(former, file, said.fields),
        *_of_rules(former, file.job),
        *_of_register(former, file.config),
        *_of_versions(former),
    ]
    return tuple(
        ChangeResult(kind, place, what, stands and kind not in said.accepted) for kind, place, what, stands in found
    )


type _Change = tuple[str, str, Sentence, bool]


def _change(kind: str, place: str, what: Sentence) -> _Change:
    return kind, place, what, KINDS[kind]


def _with(what: str, hint: Note) -> Note:
    return Note("{what}; {hint}", what=what, hint=hint)


def _of_layout(former: FormerRun, file: ComparedFile) -> Iterator[_Change]:
    source = file.job.source
    now = format_of(source.path, file.config.reading)
    if now != former.format:
        yield _change("format", "", f"the file was of the format {former.format}, and is {now}")
    record = source.layout.record_tag
    if record != former.record:
        yield _change("record", "", f"records were called {former.record}, and are {record}")
    levels = levels_of_file(source)
    inner, own = former.levels[1:], levels[1:]
    for level in inner:
        if level not in own:
            yield _change("record", level, "the file has no such records any more")
    for level in own:
        if level not in inner:
            yield _change("record", level, "the last file had no such records")


def _of_tables(former: FormerRun, file: ComparedFile, named: Collection[str]) -> Iterator[_Change]:
    """Tables of other formats, and those of the last run beside others: new households with the persons of before."""
    now = tables_of_levels(file.job.source, file.config.reading)
    top = next(iter(now), "")
    before = {name: table for name, table in former.tables.items() if name in now}
    same = [name for name, table in before.items() if now[name][1] == table.digest]
    for name, table in before.items():
        kind = now[name][0]
        if kind != table.format and name != top:
            yield _change("format", name, f"the table was of the format {table.format}, and is {kind}")
    for name in same if len(same) < len(now) else ():
        others = ", ".join(other for other in now if other not in same)
        what = f"it is the table of the last run, and that of {others} is another one"
        hint = Note("[[--table {name}=FILE]] names the one that belongs to it, or this one if it does", name=name)
        yield "table", name, what if name == top else _with(what, hint), name != top and name not in named


def _of_fields(former: FormerRun, file: ComparedFile, said: Collection[str]) -> Iterator[_Change]:
    config = file.config
    codes = declared_codes(file.variables, config)
    for name in former.fields:
        if name not in file.fields:
            yield _change("field-gone", name, "the file does not have it any more, or no value of it")
    for name, field in file.fields.items():
        before = former.fields.get(name)
        if before is not None:
            yield from _of_settings(name, before, config, codes(name), name in said)
            yield from _of_field(name, before, field, config)
        elif config.roles.get(name) is None and config.kind_of(name) is None:
            yield _change(
                "new-field",
                name,
                Note("nobody said what it is: [[--role {field}=untouched]], for example", field=Field(name)),
            )


def _of_field(name: str, before: FormerField, field: HeldField, config: Config) -> Iterator[_Change]:
    column = field.column
    traits = field_traits(column)
    masked = before.role in (Role.CONFIDENTIAL, Role.WEIGHT)
    counted = masked and before.kind == Kind.NUMBER
    if_code = Note("[[--missing {field}=CODE]], if that is a code for missing values", field=Field(name))
    if traits["type"] != before.type:
        what = f"it held {before.type}, and holds {traits['type']}"
        yield "type", name, what, masked and (counted or before.type == "nothing") and traits["type"] != "nothing"
    elif counted and (texts := column.present & ~column.is_number).any():
        yield _change("missing-code", name, _with(f"a text among numbers {_where(texts, field)}", if_code))
    if traits["gaps"] and not before.gaps and traits["type"] != "nothing":
        lacking = _where(~column.present, field)
        yield _change("missing-values", name, f"no value {lacking}, and none lacked one before")
    if traits["negative"] and not before.negative and before.type == "numbers":
        below = _where(column.values < 0, field)
        yield _change("negative", name, _with(f"a negative number {below}, and there was none before", if_code))
    if before.categories is not None:
        yield from _of_categories(name, before.categories, field, config)


def _of_settings(
    name: str, before: FormerField, config: Config, codes: frozenset[str], said: bool
) -> Iterator[_Change]:
    """What settings, and the file itself, say of a field."""
    role, kind = config.roles.get(name), config.kind_of(name)
    if role is not None and role != before.role:
        yield "role", name, f"its role was {before.role}, and is {role}", not said
    elif kind is not None and kind != before.kind and before.role == Role.CONFIDENTIAL:
        yield "kind", name, f"it was masked as {before.kind}, and is {kind}", not said
    for these, what in ((codes - before.codes, "now, and did not"), (before.codes - codes, "no more")):
        if these:
            number = counted(len(these), "code means", "codes mean")
            yield "missing-code", name, f"{number} 'missing' {what}", not said


def _of_categories(name: str, before: Collection[str], field: HeldField, config: Config) -> Iterator[_Change]:
    column = field.column
    order = config.ordinal.get(name)
    if order:
        lacking = column.present & np.isnan(ranks(column, order))
        if lacking.any():
            what = f"a value that its order lacks {_where(lacking, field)}"
            yield _change("order", name, _with(what, Note("[[--ordinal {field}=LOW,MID,HIGH]]", field=Field(name))))
    others = {*column.texts()}.difference(before)
    new = column.where(np.array([text in others for text in column.lexicon.objects()], dtype=np.bool_))
    new &= column.present
    if new.any():
        distinct = len(others)
        number = counted(distinct, "category", "categories")
        yield _change("new-category", name, f"{number} that the last file did not have, {_where(new, field)}")


def _where(which: NDArray[np.bool_], field: HeldField) -> str:
    """Count records, and name the first one; of a nested file by its level and line."""
    at = np.flatnonzero(which)
    if not field.level:
        return f"in record {at[0] + 1}" if len(at) == 1 else f"in {len(at):,} records, first in record {at[0] + 1}"
    line = int(field.lines[at[0]])
    one = len(at) == 1
    return f"in a {field.level}, line {line}" if one else f"in {len(at):,} of {field.level}, first in line {line}"


def _of_rules(former: FormerRun, job: Job) -> Iterator[_Change]:
    now = rule_digests(job.rulebook)
    for rule, digest in former.digests.items():
        if rule not in now:
            yield _change("rule-gone", rule, "the rulebook does not have it any more")
        elif now[rule] != digest:
            yield _change("other-rule", rule, "its test, its context, or what it reads is another one")
    for rule in now:
        if rule not in former.digests:
            yield _change("new-rule", rule, "the rulebook did not have it")
    yield from _of_documents(former, digests(job.rulebook, job.source.digest), job.source.digest)


def _of_documents(former: FormerRun, now: Mapping[str, str], original: str) -> Iterator[_Change]:
    before = former.described.documents
    for name in {**before, **now}:
        was, own = before.get(name), now.get(name)
        if (was == former.described.original and own == original) or was == own:
            continue
        gone = "rules read it now" if was is None else "no rule reads it any more"
        yield _change("document", name, "it holds something else" if was and own else gone)


def _of_register(former: FormerRun, config: Config) -> Iterator[_Change]:
    """Whether the register knows the last run; who restores an older copy of it restores its count as well."""
    if former.entry is None:
        return
    if config.register is None:
        path = "" if former.register is None else f" {former.register.path.as_posix()}"
        what = f"the last run was entered in the register{path}, and this run names none"
        yield _change("register", former.entry, what)
    elif not has_entry(config.register, former.entry):
        yield _change(
            "register",
            former.entry,
            f"{config.register.path.as_posix()} lacks this entry of the last run: it is an older copy, or another "
            "register, and does not recognise what has been released",
        )


def _of_versions(former: FormerRun) -> Iterator[_Change]:
    now = versions()
    for name in {**former.versions, **now}:
        was, own = former.versions.get(name, "none"), now.get(name, "none")
        if was != own:
            yield _change("version", name, f"{was} then, {own} now; may differ: {EFFECTS.get(name, 'anything')}")
