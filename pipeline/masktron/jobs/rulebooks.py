"""Where jobs get their rulebooks from: a rule language beside Schematron is entered here, and nowhere else."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from masktron.errors import RulebookError
from masktron.resources import NO_RULES
from masktron.rulebook.plain.compiled import compiled
from masktron.rulebook.plain.conditions import Records
from masktron.rulebook.plain.slips import require_readable
from masktron.rulebook.plain.tree import Kind, PlainRules
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.expressions import compile_all
from masktron.rulebook.schematron.reader import read_rules
from masktron.rules_given import OF_VALIDATE, GivenRules, is_plain, text_of_rules
from masktron.scratch import private_folder
from masktron.sources.column import Status
from masktron.sources.level_tree import Level, LevelPath, Tree
from masktron.sources.record_layout import Field as LayoutField
from masktron.sources.record_layout import column_name
from masktron.sources.source import Source


def open_rulebook(
    rules: Path,
    phase: str | None = None,
    levels: Sequence[Records] = (Records(),),
    loose: Collection[str] = (),
) -> Rulebook:
    """Read a rulebook; its documents are not bound yet, see `masktron.jobs.documents.bound`.

    Parameters
    ----------
    rules : Path
    phase : str, optional
    levels : sequence of Records
        What the file calls what rules in plain text speak of, as `levels_of` says it; else they are on a table.
    loose : collection of str
        Rules in plain text that may name fields which the file lacks, ``*`` for all.

    Raises
    ------
    RulebookError
    """
    if not is_plain(rules):
        return read_rules(rules, phase=phase)
    found = compiled(_plain_rules(rules), levels, rules, loose)
    compile_all(found)
    return found


def read_translated(content: bytes, called: Path) -> Rulebook:
    """Read a rulebook that masktron has written for recoded fields, from the bytes that are to be published.

    Parameters
    ----------
    content : bytes
    called : Path
        What messages call it.
    """
    with private_folder() as folder:
        path = folder / "rules.sch"
        path.write_bytes(content)
        return read_rules(path, called=called)


def plain_rules(path: Path) -> PlainRules:
    """Read rules in plain text.

    Raises
    ------
    RulebookError
        The file cannot be read, or its rules cannot.
    """
    found = _plain_rules(path)
    require_readable(found.wrong, str(path))
    return found


def _plain_rules(path: Path) -> PlainRules:
    from masktron.rulebook.plain.reading import read_plain  # noqa: PLC0415 -- loads lark
    from masktron.rulebook.validate_files import read_validate  # noqa: PLC0415 -- loads PyYAML

    if isinstance(path, GivenRules):
        return read_plain(path.text, str(path), missing_fails=path.missing_fails, places=path.places)
    of_validate = path.suffix.lower() in OF_VALIDATE
    found = read_validate(path, text_of_rules) if of_validate else read_plain(text_of_rules(path), str(path))
    if not (found.rules or found.wrong) and path != NO_RULES:
        raise RulebookError.of("plain-empty", path)
    return found


def levels_of(
    source: Source, missing: Mapping[str, frozenset[str]], removed: Collection[str] = ()
) -> tuple[Records, ...]:
    """Return what a file calls what rules in plain text speak of: of each of its levels, each before those within it.

    Parameters
    ----------
    source : Source
    missing : mapping of str to frozenset of str
        Codes that mean 'missing', by field, ``*`` for all, beside those that the file declares.
    removed : collection of str
        Fields that its records have had.
    """
    gone = {spelling: name for name in removed for spelling in _spellings(name)}
    tree = source.tree or Tree(Level("", source.layout.record_tag, source.layout.fields), source.layout)
    names = _Names(tree)
    codes = {name: frozenset(values) for name, values in missing.items()}
    for variable in source.variables:
        codes[variable.name] = codes.get(variable.name, frozenset()) | {*variable.missing}
    return tuple(
        Records(
            record="/".join(map(names, (tree.layout.record_tag, *tree.tags(path)))),
            above=tuple(map(names, tree.layout.record_path[:-1])),
            fields={**gone, **_fields(tree, path, names)},
            codes=_codes(tree, path, codes),
            kinds_of=partial(_kinds_of, source, missing),
            within=dict(_within(level, "", names)),
            namespaces=names.prefixes,
        )
        for path, level in tree.levels()
    )


class _Names:
    """Clark names as XPath writes them, with prefixes for all namespaces of a file."""

    def __init__(self, tree: Tree) -> None:
        tags = (*tree.layout.record_path, *(tag for path, _ in tree.levels() for tag in tree.tags(path)))
        tags += tuple(one.tag for _, level in tree.levels() for one in level.fields)
        spaces = dict.fromkeys(tag[1:].partition("}")[0] for tag in tags if tag.startswith("{"))
        self.prefixes = {f"d{at}" if at else "d": uri for at, uri in enumerate(spaces)}
        self._prefix = {uri: prefix for prefix, uri in self.prefixes.items()}

    def __call__(self, tag: str) -> str:
        uri, _, local = tag.rpartition("}")
        return f"{self._prefix[uri[1:]]}:{local}" if uri else local

    def field(self, one: LayoutField) -> str:
        """Return the path of a field from its record."""
        return f"@{self(one.tag)}" if one.attribute else self(one.tag)


def _fields(tree: Tree, path: LevelPath, names: _Names) -> dict[str, str]:
    """Return the paths of all fields that a record sees by their names, those of records around it last."""
    found: dict[str, str] = {}
    for up in range(len(path) + 1):
        level = tree.level(path[: len(path) - up])
        for name, one in _named(level):
            found.setdefault(name, "../" * up + names.field(one))
            if level.name:
                found.setdefault(f"{level.name}.{name}", "../" * up + names.field(one))
    return found


def _codes(tree: Tree, path: LevelPath, given: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return the codes of all fields by all their names, those of a record itself before those around it."""
    found = {"*": given.get("*", frozenset())}

    def add(level: Level, prefix: str) -> None:
        for name, one in _named(level):
            each = (*_spellings(one.name), *(f"{level.name}.{own}" for own in _spellings(one.name)))
            if said := frozenset[str]().union(*(given.get(own, ()) for own in each)):
                found.setdefault(f"{prefix}{name}", said)

    for up in range(len(path) + 1):
        add(tree.level(path[: len(path) - up]), "")
    for _, level in tree.levels():
        add(level, f"{level.name}.")
    return found


def _kinds_of(source: Source, missing: Mapping[str, frozenset[str]], names: Collection[str]) -> dict[str, Kind]:
    """Return what fields of a flat file hold: numbers where all that is there are numbers."""
    if source.tree is not None:
        return {}
    fields = {name: one.name for one in source.layout.fields for name in _spellings(one.name)}
    columns = source.records(missing=missing, only={fields[name] for name in names if name in fields}).columns
    found: dict[str, Kind] = {}
    for name in names:
        if name in fields:
            column = columns[fields[name]]
            there = column.used & (column.states == Status.PRESENT)
            found[name] = "text" if np.isnan(column.numbers[there]).any() else "number"
    return found


def _within(level: Level, above: str, names: _Names) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the names of records within a record, and of their fields."""
    for child in level.children:
        path = f"{above}{names(child.tag)}"
        yield child.name, (path, "")
        # a dictionary keeps the last of a name
        yield from ((f"{child.name}.{name}", (path, names.field(one))) for name, one in reversed([*_named(child)]))
        yield from _within(child, f"{path}/", names)


def _named(level: Level) -> Iterator[tuple[str, LayoutField]]:
    """Yield the fields of a level by their names; what one is called fully comes before what others may be called."""
    spelled = [(_spellings(one.name), one) for one in level.fields]
    for at in range(3):
        yield from ((names[at], one) for names, one in spelled if len(names) > at)


def _spellings(name: str) -> tuple[str, ...]:
    """Return what rules may call a field: as other settings do, as its column, and an attribute without its sign."""
    return tuple(dict.fromkeys((name, column_name(name), name.removeprefix("@"))))


def documents_of_all_phases(rulebook: Rulebook) -> tuple[str, ...]:
    """Return what the rules of any phase read; those of the one in use where another cannot be read."""
    try:
        return rulebook.documents if is_plain(rulebook.path) else open_rulebook(rulebook.path, phase="#ALL").documents
    except RulebookError:  # of a phase that is not the one in use, and can tell no names
        return rulebook.documents
