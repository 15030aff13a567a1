"""The masked nested file: the source again, with new values in some fields of some levels."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.progress import Told, untold
from masktron.sources.level_tree import Level, LevelPath, Tree
from masktron.sources.records import Coded
from masktron.sources.xml.layout import confirm_tree
from masktron.sources.xml.nested import changed_file
from masktron.sources.xml.nested_edits import NestedEdits, nested_edits
from masktron.sources.xml.new_texts import check_replacements
from masktron.sources.xml.writer import check_choice, write_parsed

NOTHING: Mapping[LevelPath, Collection[str]] = MappingProxyType({})


def write_nested(
    source: Path,
    target: Path,
    tree: Tree,
    replacements: Mapping[LevelPath, Mapping[str, Coded]],
    *,
    removed: Mapping[LevelPath, Collection[str]] = NOTHING,
    keep: NDArray[np.bool_] | None = None,
    order: NDArray[np.intp] | None = None,
    told: Told = untold,
) -> int:
    """Write a copy of a nested file with new lexemes in some fields of some levels.

    Which records stand in which, their order within the unit, and that of fields and records in a record stay. All
    else is as `masktron.sources.xml.writer.write_masked` has it: white space is that of the first record of each
    level that holds an element, comments and instructions are left out, CDATA sections and references become text.

    Parameters
    ----------
    source : Path
    target : Path
        Written directly: give it a path from `masktron.write.atomic.atomic_path`.
    tree : Tree
        Of the source.
    replacements : mapping of tuple of str to mapping of str to Coded
        By level, then by the name of a field within the level: lexemes of all records of the level, in the order of
        the source; None where a record shall not have the field. A value where there was none is inserted.
    removed : mapping of tuple of str to collection of str
        Fields that no record of a level keeps.
    keep : ndarray of bool, shape (n,), optional
        Units that are written, with all that is in them; without it, all.
    order : ndarray of intp, shape (n,), optional
        Permutation: positions of units in the source in the order in which they are written, `keep` applied after it.
    told : callable, optional
        Told of the units that are written or left out, and of how many there are.

    Returns
    -------
    int
        Number of units written.

    Raises
    ------
    DocumentError
        The source cannot be parsed or has changed, or a lexeme has characters that XML forbids.
    UsageError
        An unknown level or field, or an array that does not have one entry for each record.
    """
    confirm_tree(source, tree)
    units = tree.top.count
    _check_names(tree, replacements, removed)
    check_choice(units, keep, order)
    _check_texts(tree, replacements)
    kept = np.ones(units, dtype=np.bool_) if keep is None else keep
    edits = nested_edits(source, tree, replacements, removed)
    write_parsed(source, target, edits, kept, order, told)
    _check_all_written(source, edits)
    told(units, units)
    return int(kept.sum())


def _check_names(
    tree: Tree,
    replacements: Mapping[LevelPath, Mapping[str, Coded]],
    removed: Mapping[LevelPath, Collection[str]],
) -> None:
    known = dict(tree.levels())
    for path in (*replacements, *removed):
        if path not in known:
            names = ", ".join(tree.shown(one) for one in known)
            raise UsageError(f"the file has no level {'/'.join(path)!r}", hint=f"its levels are {names}")
    for path, level in known.items():
        new, gone = replacements.get(path, {}), removed.get(path, ())
        for name in (*new, *gone):
            if level.field(name) is None:
                raise _unknown(level, name)
        for name in new:
            if name in gone:
                raise UsageError(f"the field {name!r} of {level.name} is both replaced and removed")


def _unknown(level: Level, name: str) -> UsageError:
    own = ", ".join(f.name for f in level.fields) or "none"
    return UsageError(f"a {level.name} has no field {name!r}", hint=f"its fields are {own}")


def _check_texts(tree: Tree, replacements: Mapping[LevelPath, Mapping[str, Coded]]) -> None:
    for path, level in tree.levels():
        layout = tree.layout_of(path)
        shown = {f.name: "/".join((*path, f.name)) for f in level.fields}
        named = replace(layout, fields=tuple(replace(f, name=shown[f.name]) for f in level.fields))
        new = {shown[name]: coded for name, coded in replacements.get(path, {}).items()}
        check_replacements(named, new, level.count)


def _check_all_written(source: Path, edits: NestedEdits) -> None:
    """Refuse a file that has become another one since it was looked at.

    Raises
    ------
    DocumentError
    """
    for one in edits.levels.values():
        if one.done != one.level.count:
            raise changed_file(source, 0, f"it has {one.done:,} {one.level.name}, and had {one.level.count:,}")
