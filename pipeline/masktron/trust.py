"""What files may do that the user did not name: settings found in the working folder, and manifests of others.

Each setting declares it: see `masktron.declared.Declared`. A field without a declaration is no setting: no file and
no keyword can set it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

from masktron.addresses import AddressPath, is_address, is_inside
from masktron.declared import Trust, declared_in

PARTS_OF_FILES = frozenset({"query", "range", "sheet", "table"})
"""Options of formats that choose what is read of a file: `TableFormat.choosing` of all formats."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that settings name.

    Attributes
    ----------
    setting : tuple of str
        The names that lead to it: ``("documents", "codes.xml")``.
    path : Path
    option : str
        The option that names it instead.
    """

    setting: tuple[str, ...]
    path: Path
    option: str


FORMAT_OPTIONS = Trust(
    weakens=lambda options: {name: said for name, said in options.items() if name in PARTS_OF_FILES},
    named_parts=("query",),
)
"""How a file is read. A query runs with the rights of the user; a table, sheet or range may leave records out."""


def trust_of(kind: type) -> dict[str, Trust]:
    """Return what a file that nobody named may do with each setting of a class."""
    return {name: one.trust for name, one in declared_in(kind).items()}


def named_only_in(table: Mapping[str, Any], kind: type) -> Iterator[tuple[str, ...]]:
    """Yield the settings in a table that only a file which the user named may have, as names from the root."""
    for name, trust in trust_of(kind).items():
        if name not in table:
            continue
        if trust.named_only:
            yield (name,)
        if isinstance(table[name], Mapping):
            yield from ((name, part) for part in trust.named_parts if part in table[name])
        if trust.levels is not None and isinstance(table[name], Mapping):
            for level, said in table[name].items():
                inner = said if isinstance(said, Mapping) else {}
                yield from ((name, level, *rest) for rest in named_only_in(inner, trust.levels))


def without_named_only(table: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """Return settings of a file that the user did not name without those of `named_only_in`."""
    left = deepcopy(dict(table))
    for *way, name in list(named_only_in(left, kind)):
        reduce(lambda inner, one: inner[one], way, left).pop(name)
    return left


def files_read(settings: Any) -> list[ReadFile]:
    """Return the files that settings name for a command to read."""
    found: list[ReadFile] = []

    def kept(one: ReadFile) -> Path:
        found.append(one)
        return one.path

    relocated(settings, kept)
    return found


def relocated[T](settings: T, moved: Callable[[ReadFile], Path], within: tuple[str, ...] = ()) -> T:
    """Return settings that name other files.

    Parameters
    ----------
    settings : dataclass
    moved : callable
        From a file that the settings name, the one to name instead.
    within : tuple of str
        The names that lead to these settings.
    """
    held: Any = settings
    changes: dict[str, Any] = {}
    for name, trust in trust_of(type(held)).items():
        value, way, option = getattr(held, name), (*within, name), trust.instead
        if trust.files is not None:
            changes[name] = trust.files(value, partial(_moved, moved, way, option))
        if trust.levels is not None:
            changes[name] = {level: relocated(one, moved, (*way, level)) for level, one in value.items()}
    changed: T = replace(held, **changes)
    return changed


def _moved(moved: Callable[[ReadFile], Path], way: tuple[str, ...], option: str, place: str, path: Path) -> Path:
    setting = (*way, place) if place else way
    return moved(ReadFile(setting, path, option.format(place or "".join(way[-2:-1]))))


def one_file(path: Path | None, moved: Callable[[str, Path], Path]) -> Path | None:
    """Move the file of a setting that names one: see `Trust.files`."""
    return None if path is None else moved("", path)


def weakened_in(settings: Any) -> dict[str, Any]:
    """Return the parts of settings that relax what a result is judged by, by the names of the settings."""
    found = {
        name: trust.weakens(getattr(settings, name))
        for name, trust in trust_of(type(settings)).items()
        if trust.weakens is not None
    }
    for name, trust in trust_of(type(settings)).items():
        if trust.levels is not None:
            inner = {level: weakened_in(one) for level, one in getattr(settings, name).items()}
            found[name] = {level: parts for level, parts in inner.items() if parts}
    return {name: part for name, part in found.items() if part}


def file_beside(named: Path, *beside: Path) -> Path | None:
    """Return a file that a manifest names, where it lies in the folder of a file that the user named; else None.

    Parameters
    ----------
    named : Path
        As the manifest has it: a path from the working folder, or from the folder of a file in `beside`. Where it has
        moved, a file of the same name stands for it. Tables of databases are never taken from a manifest.
    *beside : Path
        Files that the user named.
    """
    if is_address(str(named)):
        return None
    folders = [one.parent for one in beside if not isinstance(one, AddressPath)]
    places = ((place, folder) for folder in folders for place in (named, folder / named, folder / named.name))
    # unlike Path.is_file, os.path.isfile raises nothing for a name that is too long
    inside = (place for place, folder in places if is_inside(place, folder) and os.path.isfile(place))  # noqa: PTH113
    return next(inside, None)
