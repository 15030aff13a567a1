"""What kind of values a field of members has, told from all members and not from those of one position."""

from __future__ import annotations

from masktron.codes import looks_like_codes
from masktron.config import Config, Role
from masktron.sources.records import Column
from masktron.sources.source import Source
from masktron.sources.wide.wide_source import WideSource


def with_kinds_of_levels(config: Config, source: Source) -> Config:
    """Declare as numeric, at each position, what is numeric over all members of a level.

    Few households have a sixth person, and few different wages these have; that makes wages no codes.

    Parameters
    ----------
    config : Config
        Settings of the wide records.
    source : Source
        Any other than of wide records has the settings as they are.
    """
    if not isinstance(source, WideSource):
        return config
    declared = {*config.nominal, *config.ordinal, *config.numeric}
    found = [
        name
        for (path, field), leaves in source.wide.by_field().items()
        if len(names := [leaf.name for leaf in leaves if source.layout.field(leaf.name) is not None]) > 1
        and not declared.intersection(names)
        and all(config.roles.get(name, Role.CONFIDENTIAL) is Role.CONFIDENTIAL for name in names)
        and _has_quantities(source.tables.tables[path].records.columns[field.name])
        for name in names
    ]
    return config.updated(numeric=(*config.numeric, *found))


def _has_quantities(column: Column) -> bool:
    """Whether a field has numbers alone, and does not look like one of codes."""
    return column.numeric and not looks_like_codes(column)
