"""Which order the members of a unit stand in when units are put side by side: by fields, unless a rule reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.job import Job
from masktron.problems.problem import Field, Known, Sentence, Setting
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import TOP, LevelPath
from masktron.sources.wide.member_rows import FILE_ORDER, MemberOrder
from masktron.sources.wide.wide_source import WideSource
from masktron.step_kinds import steps_of
from masktron.unrolling.by_composition import unroll_each
from masktron.unrolling.unit_steps import FieldOfLevel
from masktron.unrolling.unrolled import Unrolled

OF_THE_FILE = "file"
"""In the place of fields: members stand as in the file."""
_LOOKS = (
    frozenset({"role", "relation", "relationship", "relationtohead", "rel", "position"}),
    frozenset({"sex", "gender"}),
    frozenset({"age", "birthyear", "yearofbirth", "birth"}),
)
"""Names of fields that members are sorted by unasked, in this order: role, sex and age."""
_WORD = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+")
_WRITTEN = frozenset({Role.QUASI_IDENTIFIER, Role.UNTOUCHED, Role.RECORD_ID})


@dataclass(frozen=True, slots=True)
class MemberOrdering:
    """The wide records of a nested file in the order of members that its rules allow.

    Attributes
    ----------
    source : WideSource
    unrolled : Unrolled
    notes : tuple of Sentence
        By what members of each kind are sorted, and which rules keep those of others in the order of the file.
    """

    source: WideSource
    unrolled: Unrolled
    notes: tuple[Sentence, ...]


def ordered_members(job: Job, config: Config, known: MemberOrder | None = None) -> MemberOrdering:
    """Return the wide records of a nested file, with members in canonical order.

    Members of a kind of whose order a rule speaks stay in the order of the file. Theorem: a rule that is unrolled for
    the wide records in this order holds of a unit where it holds of its wide record. Proof: by that of
    `masktron.unrolling.unit_steps` its value does not change where members of other kinds change places.

    Parameters
    ----------
    job : Job
    config : Config
    known : MemberOrder, optional
        That of the original, of which the records are those that treatments have made.

    Raises
    ------
    UsageError
        Members are to be sorted by a field that is not there, that is masked or removed, or that no member has.
    """
    source = WideSource(job.source)
    if known is not None:
        order = known
    else:
        order = _asked(source, config) if config.member_order is not None else _by_looks(source.dataset, config)
    inexact = _inexact(source.dataset)
    given_up: dict[LevelPath, tuple[int, ...]] = {}
    while True:
        source = source.in_order(order)
        unrolled = unroll_each(job.rulebook, source.wide, source.levels.layout, inexact)
        kept = {path: checks for path, checks in unrolled.sequences.items() if path in order.keys}
        if not kept:
            return MemberOrdering(source, unrolled, tuple(_notes(job, order, given_up)))
        given_up |= kept
        order = order.without(frozenset(kept))


def _notes(job: Job, order: MemberOrder, given_up: Mapping[LevelPath, Sequence[int]]) -> list[str]:
    """Say which order members stand in."""
    told = []
    for path, _ in job.source.tree.levels() if job.source.tree is not None else ():
        kind = "/".join(path)
        if keys := order.keys.get(path):
            by = ", ".join(key.field for key in keys)
            told.append(f"{kind}: members of different units are put side by side by {by}, then as the file has them")
        elif path in given_up:
            named = ", ".join(dict.fromkeys(job.rulebook.checks[check].id for check in given_up[path]))
            told.append(
                f"{kind}: members of different units are put side by side in the order of the file, of which {named} "
                "speaks"
            )
        elif path != TOP:
            told.append(f"{kind}: members of different units are put side by side in the order of the file")
    return told


def _asked(source: WideSource, config: Config) -> MemberOrder:
    """Return the order by the fields that the settings name."""
    named = config.member_order or ()
    if named == (OF_THE_FILE,):
        return FILE_ORDER
    names = source.levels.names
    fields: dict[LevelPath, list[str]] = {}
    for name in named:
        if name not in names:
            raise UsageError.of(
                "unknown-name", source.path, name=Field(name), known=Known(name, tuple(names)), kind="field"
            )
        path, field = names[name]
        if path == TOP:
            raise UsageError.of(
                "field-not-usable",
                source.path,
                setting=Setting("--member-order"),
                field=Field(name),
                reason="which is no field of members",
            )
        if not _is_written(config, name):
            raise UsageError.of(
                "role-does-not-fit",
                source.path,
                setting=Setting("--member-order"),
                field=Field(name),
                role="untouched",
                reason="which is not written as it is, so nobody else would find the same order",
            )
        fields.setdefault(path, []).append(field.name)
    return MemberOrder.by_fields(source.dataset, fields, _orders(source, config))


def _by_looks(dataset: Dataset, config: Config) -> MemberOrder:
    """Return the order by fields that are called like a role, a sex and an age, and are written as they are."""
    found: dict[LevelPath, list[str]] = {}
    for wanted in _LOOKS:
        for name, (path, field) in dataset.tree.names.items():
            if path != TOP and wanted & _words(field.name) and _is_written(config, name):
                found.setdefault(path, []).append(field.name)
    return MemberOrder.by_fields(dataset, found, {})


def _orders(source: WideSource, config: Config) -> dict[FieldOfLevel, tuple[str, ...]]:
    names = source.levels.names
    known = {name: names[name] for name in config.ordinal if name in names}
    return {(path, field.name): config.ordinal[name] for name, (path, field) in known.items()}


def _is_written(config: Config, name: str) -> bool:
    """Whether a field is certainly written as it is: numbers without a role are masked, texts need one."""
    return config.roles.get(name) in _WRITTEN and name not in _treated(config)


def _treated(config: Config) -> frozenset[str]:
    """Return the fields that treatments may change, so that nobody finds an order by them."""
    named = steps_of(config)
    unnamed = config.roles if any(not own for own in named.values()) else ()
    return frozenset(name for own in (*named.values(), unnamed) for name in own)


def _words(name: str) -> set[str]:
    words = [word.lower() for word in _WORD.findall(name)]
    return {*words, "".join(words)}


def _inexact(dataset: Dataset) -> frozenset[FieldOfLevel]:
    """Return the fields of which sums depend on their order, as their numbers are no integers."""
    return frozenset(
        (path, name)
        for path, table in dataset.levels.items()
        for name, column in table.columns.items()
        if column.decimals
    )
