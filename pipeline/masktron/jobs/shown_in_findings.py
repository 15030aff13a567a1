"""What findings show of the records of a job: the fields that name them, and those that rules read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from masktron.config import Role, did_you_mean
from masktron.errors import UsageError
from masktron.evaluation.shown_fields import Shown, ShownLevel
from masktron.jobs.job import Job
from masktron.level_settings import LevelSettings, level_paths
from masktron.sources.level_tree import TOP, LevelPath
from masktron.sources.records import Field
from masktron.sources.source import Source

USUAL_KEY = "@id"
"""Field that names the records in reports, where the file has it and no other is asked for or declared."""


def key_fields(
    source: Source, key: str | None, levels: LevelSettings, roles: Mapping[str, Role]
) -> dict[LevelPath, Field]:
    """Return the field that names the records of each level that has one.

    Of the records of the file that is the one which is asked for. Where none is, and of members, it is the key of the
    level, if that is one column; else the first field that is declared as a key, else as an identifier, else ``@id``.

    Parameters
    ----------
    source : Source
    key : str or None
        The one that is asked for.
    levels : mapping of str to LevelSetting
    roles : mapping of str to Role

    Raises
    ------
    UsageError
        The records have no field that is called `key`.
    """
    found: dict[LevelPath, Field] = {}
    if key is not None:
        found[TOP] = _asked(source, key)
    tree = source.tree
    there = {} if tree is None else dict(tree.levels())
    for level, path in level_paths(levels).items():
        # a column that names the record above is no field of its own
        own = [
            field for name in levels[level].key if path in there and (field := there[path].field(name)) is not None
        ]
        if len(own) == 1:
            found.setdefault(path, own[0])
    for role in (Role.KEY, Role.IDENTIFIER):
        for name in (name for name, own in roles.items() if own is role):
            own_field = source.layout.field(name)
            place = (TOP, own_field) if own_field is not None else None if tree is None else tree.named(name)
            if place is not None:
                found.setdefault(*place)
    usual = {TOP: source.layout.field(USUAL_KEY), **{path: one.field(USUAL_KEY) for path, one in there.items()}}
    return {**{path: field for path, field in usual.items() if field is not None}, **found}


def shown_of(job: Job, keys: Mapping[LevelPath, Field]) -> Shown:
    """Return what findings show: the keys, the fields that the check reads, and which member it is."""
    tree, key = job.source.tree, keys.get(TOP)
    names = {name for edit in job.edits for name in edit.variables}
    known = {name: (TOP, field) for name in names if (field := job.source.layout.field(name)) is not None}
    if tree is not None:
        members = ((name, tree.named(name)) for name in names.difference(known))
        known |= {name: place for name, place in members if place is not None}
    fields = {name: replace(field, name=name) for name, (_, field) in known.items()}
    read = tuple(tuple(fields[name] for name in edit.variables if name in fields) for edit in job.edits)
    if tree is None or not tree.top.children:
        return Shown(key, read)
    tags = {path: tree.tags(path) for path, _ in tree.levels()}
    below = {name: tags[path] for name, (path, _) in known.items() if path}
    levels = {tags[path]: ShownLevel(level.name, keys.get(path)) for path, level in tree.levels() if path}
    return Shown(key, read, below, levels)


def _asked(source: Source, key: str) -> Field:
    field = source.layout.field(key)
    if field is None:
        raise UsageError(
            f"the key {key!r} is no field of the records",
            where=str(source.path),
            hint=did_you_mean(key, [field.name for field in source.layout.fields]),
        )
    return field
