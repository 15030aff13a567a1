"""What has changed since a former run: the file, its fields, the rules, the program."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Kind, Role
from masktron.counts import counted
from masktron.jobs.fields_by_level import HeldField
from masktron.jobs.register.registration import has_entry
from masktron.jobs.rerun.facts import FieldTraits, FormerRun, RunFacts
from masktron.problems.problem import Field, Note, Sentence
from masktron.results import ChangeResult
from masktron.roles import ranks
from masktron.versions import EFFECTS

_FIELD = ("--role", "--missing", "--nominal", "--ordinal", "--numeric")
_RULES = ("--rules", "--document")
KINDS: Mapping[str, tuple[str, ...] | None] = MappingProxyType(
    {
        "record": (),
        "format": None,
        "table": ("--table",),
        "field-gone": (),
        "new-field": _FIELD,
        "type": _FIELD,
        "role": _FIELD,
        "kind": _FIELD,
        "missing-code": _FIELD,
        "order": _FIELD,
        "new-category": None,
        "missing-values": None,
        "negative": None,
        "rule-gone": _RULES,
        "new-rule": _RULES,
        "other-rule": _RULES,
        "document": _RULES,
        "register": ("--register",),
        "version": None,
    }
)
"""Kinds of changes, with the options that say what is right: such a change stands in the way of a run unless somebody
accepts it. None for those that do not."""
_SAID: Mapping[str, tuple[str, str]] = {
    "format": ("format", "the file was of the format {was}, and is {now}"),
    "record": ("record", "records were called {was}, and are {now}"),
    "levels-": ("record", "the file has no such records any more"),
    "levels+": ("record", "the last file had no such records"),
    "rules-": ("rule-gone", "the rulebook does not have it any more"),
    "rules+": ("new-rule", "the rulebook did not have it"),
    "rules": ("other-rule", "its test, its context, or what it reads is another one"),
    "documents-": ("document", "no rule reads it any more"),
    "documents+": ("document", "rules read it now"),
    "documents": ("document", "it holds something else"),
    "versions-": ("version", "{was} then, none now; may differ: {effect}"),
    "versions+": ("version", "none then, {now} now; may differ: {effect}"),
    "versions": ("version", "{was} then, {now} now; may differ: {effect}"),
}
"""The kind of a change, and what is said of it, by the fact: of one with several entries, where one is gone (-), new
(+) or another one."""


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


type _Change = tuple[str, str, Sentence, bool]
"""Kind, place, sentence, and whether it may stand in the way."""


def changes_of(
    former: FormerRun, now: RunFacts, fields: Mapping[str, HeldField], config: Config, said: SaidNow
) -> tuple[ChangeResult, ...]:
    """Compare a file and its rules with those of a former run.

    Parameters
    ----------
    former : FormerRun
    now : RunFacts
    fields : mapping of str to HeldField
        What the fields hold.
    config : Config
        The settings of this run, completed by what the file says.
    said : SaidNow
    """
    before = former.facts
    found = [
        *_of_entries(before, now),
        *_of_tables(before, now, said.tables),
        *_of_fields(before, now, fields, config, said.fields),
        *_of_register(former, config),
    ]
    kinds = [*KINDS]
    found.sort(key=lambda one: kinds.index(one[0]))
    return tuple(
        ChangeResult(kind, place, what, stands and KINDS[kind] is not None and kind not in said.accepted)
        for kind, place, what, stands in found
    )


def _of_entries(before: RunFacts, now: RunFacts) -> Iterator[_Change]:
    """What is another text, gone or new."""
    for fact in dict.fromkeys(one.rstrip("+-") for one in _SAID):
        was, own = (_entries(getattr(one, fact)) for one in (before, now))
        for place in {**was, **own}:
            if was.get(place) != own.get(place):
                kind, what = _SAID[fact + ("-" if place not in own else "+" if place not in was else "")]
                effect = EFFECTS.get(place, "anything")
                yield kind, place, what.format(was=was.get(place), now=own.get(place), effect=effect), True


def _entries(fact: str | tuple[str, ...] | Mapping[str, str]) -> Mapping[str, str]:
    if isinstance(fact, Mapping):
        return fact
    # the first level is what a record is
    return {"": fact} if isinstance(fact, str) else {name: name for name in fact[1:]}


def _of_tables(before: RunFacts, now: RunFacts, named: Collection[str]) -> Iterator[_Change]:
    """Tables of other formats, and those of the last run beside others: new households with the persons of before."""
    top = next(iter(now.tables), "")
    both = {name: (table, now.tables[name]) for name, table in before.tables.items() if name in now.tables}
    for name, (table, own) in both.items():
        if own.format != table.format and name != top:
            yield "format", name, f"the table was of the format {table.format}, and is {own.format}", True
    same = [name for name, (table, own) in both.items() if own.sha256 == table.sha256]
    for name in same if len(same) < len(now.tables) else ():
        others = ", ".join(other for other in now.tables if other not in same)
        what = f"it is the table of the last run, and that of {others} is another one"
        hint = Note("[[--table {name}=FILE]] names the one that belongs to it, or this one if it does", name=name)
        yield "table", name, what if name == top else _with(what, hint), name != top and name not in named


def _of_fields(
    before: RunFacts, now: RunFacts, fields: Mapping[str, HeldField], config: Config, said: Collection[str]
) -> Iterator[_Change]:
    former = {one.name: one for one in before.fields}
    for name in (one for one in former if one not in fields):
        yield "field-gone", name, "the file does not have it any more, or no value of it", True
    for own in now.fields:
        if (was := former.get(own.name)) is not None:
            yield from _of_settings(was, own, answered=own.name in said)
            yield from _of_values(was, own, fields[own.name], config.ordinal.get(own.name))
        elif own.role is None and own.kind is None:
            what = Note("nobody said what it is: [[--role {field}=untouched]], for example", field=Field(own.name))
            yield "new-field", own.name, what, True


def _of_settings(was: FieldTraits, now: FieldTraits, *, answered: bool) -> Iterator[_Change]:
    """What settings, and the file itself, say of a field."""
    if now.role not in (None, was.role):
        yield "role", now.name, f"its role was {was.role}, and is {now.role}", not answered
    elif now.kind not in (None, was.kind) and was.role == Role.CONFIDENTIAL:
        yield "kind", now.name, f"it was masked as {was.kind}, and is {now.kind}", not answered
    for some, others, what in ((now.codes, was.codes, "now, and did not"), (was.codes, now.codes, "no more")):
        if these := {*some}.difference(others):
            number = counted(len(these), "code means", "codes mean")
            yield "missing-code", now.name, f"{number} 'missing' {what}", not answered


def _of_values(
    was: FieldTraits, now: FieldTraits, held: HeldField, order: tuple[str, ...] | None
) -> Iterator[_Change]:
    """What a field holds."""
    column, name = held.column, now.name
    masked = was.role in (Role.CONFIDENTIAL, Role.WEIGHT)
    numbers = masked and was.kind == Kind.NUMBER
    if_code = Note("[[--missing {field}=CODE]], if that is a code for missing values", field=Field(name))
    if now.type != was.type:
        stands = masked and (numbers or was.type == "nothing") and now.type != "nothing"
        yield "type", name, f"it held {was.type}, and holds {now.type}", stands
    elif numbers and (texts := column.present & ~column.is_number).any():
        yield "missing-code", name, _with(f"a text among numbers {_where(texts, held)}", if_code), True
    if now.gaps and not was.gaps and now.type != "nothing":
        yield "missing-values", name, f"no value {_where(~column.present, held)}, and none lacked one before", True
    if now.negative and not was.negative and was.type == "numbers":
        below = _where(column.values < 0, held)
        yield "negative", name, _with(f"a negative number {below}, and there was none before", if_code), True
    if was.categories is None:
        return
    if order and (lacking := column.present & np.isnan(ranks(column, order))).any():
        hint = Note("[[--ordinal {field}=LOW,MID,HIGH]]", field=Field(name))
        yield "order", name, _with(f"a value that its order lacks {_where(lacking, held)}", hint), True
    others = {*column.texts()}.difference(was.categories)
    new = (
        column.where(np.array([text in others for text in column.lexicon.objects()], dtype=np.bool_)) & column.present
    )
    if new.any():
        number = counted(len(others), "category", "categories")
        yield "new-category", name, f"{number} that the last file did not have, {_where(new, held)}", True


def _with(what: str, hint: Note) -> Note:
    return Note("{what}; {hint}", what=what, hint=hint)


def _where(which: NDArray[np.bool_], field: HeldField) -> str:
    """Count records, and name the first one; of a nested file by its level and line."""
    at = np.flatnonzero(which)
    if not field.level:
        return f"in record {at[0] + 1}" if len(at) == 1 else f"in {len(at):,} records, first in record {at[0] + 1}"
    line = int(field.lines[at[0]])
    one = len(at) == 1
    return f"in a {field.level}, line {line}" if one else f"in {len(at):,} of {field.level}, first in line {line}"


def _of_register(former: FormerRun, config: Config) -> Iterator[_Change]:
    """Whether the register knows the last run; who restores an older copy of it restores its count as well."""
    if former.entry is None:
        return
    if config.register is None:
        path = "" if former.register is None else f" {former.register.path.as_posix()}"
        what = f"the last run was entered in the register{path}, and this run names none"
        yield "register", former.entry, what, True
    elif not has_entry(config.register, former.entry):
        what = (
            f"{config.register.path.as_posix()} lacks this entry of the last run: it is an older copy, or another "
            "register, and does not recognise what has been released"
        )
        yield "register", former.entry, what, True
