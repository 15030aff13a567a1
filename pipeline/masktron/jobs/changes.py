"""What has changed since a former run: the file, its fields, the rules, the program."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Kind, Role
from masktron.counts import counted
from masktron.jobs.documents import digests
from masktron.jobs.job import Job
from masktron.jobs.registered import has_entry
from masktron.jobs.repeatable import declared_codes, field_traits, rule_digests
from masktron.results import ChangeResult
from masktron.roles import ranks
from masktron.sources.opening import format_of
from masktron.sources.records import Column, Records
from masktron.sources.source import Source
from masktron.versions import EFFECTS, versions
from masktron.write.former_run import FormerField, FormerRun

KINDS = MappingProxyType(
    {
        "record": True,
        "format": False,
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


def changes_of(
    former: FormerRun, job: Job, records: Records, config: Config, *, said: Collection[str], accepted: Collection[str]
) -> tuple[ChangeResult, ...]:
    """Compare a file and its rules with those of a former run.

    Parameters
    ----------
    former : FormerRun
    job : Job
    records : Records
        Read with the missing codes of `config`.
    config : Config
        The settings of this run, completed by what the file says.
    said : collection of str
        Fields of which the user says for this run what they are: that is told, and stands not in the way.
    accepted : collection of str
        Kinds of changes that do not stand in the way.
    """
    found = [
        *_of_layout(former, job, config),
        *_of_fields(former, job.source, records, config, said),
        *_of_rules(former, job),
        *_of_register(former, config),
        *_of_versions(former),
    ]
    return tuple(
        ChangeResult(kind, place, what, stands and kind not in accepted) for kind, place, what, stands in found
    )


type _Change = tuple[str, str, str, bool]


def _change(kind: str, place: str, what: str) -> _Change:
    return kind, place, what, KINDS[kind]


def _of_layout(former: FormerRun, job: Job, config: Config) -> Iterator[_Change]:
    now = format_of(job.source.path, config.reading)
    if now != former.format:
        yield _change("format", "", f"the file was of the format {former.format}, and is {now}")
    record = job.source.layout.record_tag
    if record != former.record:
        yield _change("record", "", f"records were called {former.record}, and are {record}")


def _of_fields(
    former: FormerRun, source: Source, records: Records, config: Config, said: Collection[str]
) -> Iterator[_Change]:
    codes = declared_codes(source, config)
    for name in former.fields:
        if name not in records.columns:
            yield _change("field-gone", name, "the file does not have it any more, or no value of it")
    for name, column in records.columns.items():
        before = former.fields.get(name)
        if before is not None:
            yield from _of_settings(name, before, config, codes(name), name in said)
            yield from _of_field(name, before, column, config)
        elif config.roles.get(name) is None and config.kind_of(name) is None:
            yield _change("new-field", name, f"nobody said what it is: --role {name}=untouched, for example")


def _of_field(name: str, before: FormerField, column: Column, config: Config) -> Iterator[_Change]:
    traits = field_traits(column)
    masked = before.role in (Role.CONFIDENTIAL, Role.WEIGHT)
    counted = masked and before.kind == Kind.NUMBER
    if traits["type"] != before.type:
        what = f"it held {before.type}, and holds {traits['type']}"
        yield "type", name, what, masked and (counted or before.type == "nothing") and traits["type"] != "nothing"
    elif counted and (texts := column.present & ~column.is_number).any():
        yield _change(
            "missing-code",
            name,
            f"a text among numbers {_where(texts)}; --missing {name}=CODE, if that is a code for missing values",
        )
    if traits["gaps"] and not before.gaps and traits["type"] != "nothing":
        yield _change("missing-values", name, f"no value {_where(~column.present)}, and none lacked one before")
    if traits["negative"] and not before.negative and before.type == "numbers":
        yield _change(
            "negative",
            name,
            f"a negative number {_where(column.values < 0)}, and there was none before; --missing {name}=CODE, if "
            "that is a code for missing values",
        )
    if before.categories is not None:
        yield from _of_categories(name, before.categories, column, config)


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


def _of_categories(name: str, before: Collection[str], column: Column, config: Config) -> Iterator[_Change]:
    order = config.ordinal.get(name)
    if order:
        lacking = column.present & np.isnan(ranks(column, order))
        if lacking.any():
            what = f"a value that its order lacks {_where(lacking)}: --ordinal {name}=LOW,MID,HIGH"
            yield _change("order", name, what)
    others = {*column.texts()}.difference(before)
    new = column.where(np.array([text in others for text in column.lexicon.objects()], dtype=np.bool_))
    new &= column.present
    if new.any():
        distinct = len(others)
        number = counted(distinct, "category", "categories")
        yield _change("new-category", name, f"{number} that the last file did not have, {_where(new)}")


def _where(which: NDArray[np.bool_]) -> str:
    """Count records, and name the first one."""
    at = np.flatnonzero(which)
    return f"in record {at[0] + 1}" if len(at) == 1 else f"in {len(at):,} records, first in record {at[0] + 1}"


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
        yield _change("register", former.entry, "the last run was entered in a register, and this run has none")
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
