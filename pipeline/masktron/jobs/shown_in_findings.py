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

USUAL_RECORD_ID = "@id"
"""Field that names the records in reports, where the file has it and no other is asked for or declared."""


def record_id_fields(
    source: Source, record_id: str | None, levels: LevelSettings, roles: Mapping[str, Role]
) -> dict[LevelPath, Field]:
    """Return the field that names the records of each level that has one.

    Of the records of the file that is the one which is asked for. Where none is, and of members, it is the key of the
    level, if that is one column; else the first field that is declared as a record id, else as an identifier, else
    ``@id``.

    Parameters
    ----------
    source : Source
    record_id : str or None
        The one that is asked for.
    levels : mapping of str to LevelSetting
    roles : mapping of str to Role

    Raises
    ------
    UsageError
        The records have no field that is called `record_id`.
    """
    found: dict[LevelPath, Field] = {}
    if record_id is not None:
        found[TOP] = _asked(source, record_id)
    tree = source.tree
    there = {} if tree is None else dict(tree.levels())
    for level, path in level_paths(levels).items():
        # a column that names the record above is no field of its own
        own = [
            field for name in levels[level].key if path in there and (field := there[path].field(name)) is not None
        ]
        if len(own) == 1:
            found.setdefault(path, own[0])
    for role in (Role.RECORD_ID, Role.IDENTIFIER):
        for name in (name for name, own in roles.items() if own is role):
            own_field = source.layout.field(name)
            place = (TOP, own_field) if own_field is not None else None if tree is None else tree.named(name)
            if place is not None:
                found.setdefault(*place)
    usual = {
        TOP: source.layout.field(USUAL_RECORD_ID),
        **{path: one.field(USUAL_RECORD_ID) for path, one in there.items()},
    }
    return {**{path: field for path, field in usual.items() if field is not None}, **found}


def shown_of(job: Job, record_ids: Mapping[LevelPath, Field]) -> Shown:
    """Return what findings show: what names records, the fields that the check reads, and which member it is."""
    tree, record_id = job.source.tree, record_ids.get(TOP)
    names = {name for edit in job.edits for name in edit.variables}
    known = {name: (TOP, field) for name in names if (field := job.source.layout.field(name)) is not None}
    if tree is not None:
        members = ((name, tree.named(name)) for name in names.difference(known))
        known |= {name: place for name, place in members if place is not None}
    fields = {name: replace(field, name=name) for name, (_, field) in known.items()}
    read = tuple(tuple(fields[name] for name in edit.variables if name in fields) for edit in job.edits)
    if tree is None or not tree.top.children:
        return Shown(record_id, read)
    tags = {path: tree.tags(path) for path, _ in tree.levels()}
    below = {name: tags[path] for name, (path, _) in known.items() if path}
    levels = {tags[path]: ShownLevel(level.name, record_ids.get(path)) for path, level in tree.levels() if path}
    return Shown(record_id, read, below, levels)


def _asked(source: Source, record_id: str) -> Field:
    field = source.layout.field(record_id)
    if field is None:
        raise UsageError(
            f"the record id {record_id!r} is not a field of the records",
            where=str(source.path),
            hint=did_you_mean(record_id, [field.name for field in source.layout.fields]),
        )
    return field
