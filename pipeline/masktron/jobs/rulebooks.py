"""Where jobs get their rulebooks from: a rule language beside Schematron is entered here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from masktron.errors import RulebookError
from masktron.problems.problem import Field, Known, Place, Problem, Rule
from masktron.rulebook.plain.compiled import compiled, rulebook
from masktron.rulebook.plain.conditions import Records
from masktron.rulebook.plain.reading import read_plain, several
from masktron.rulebook.plain.tree import Name, PlainRules, walk
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.names import column_name
from masktron.sources.source import Source

PLAIN = (".rules", ".txt", ".r")
"""How names of files end that have rules in plain text."""
_MOST_BYTES = 10_000_000


def open_rulebook(rules: Path, phase: str | None = None, records: Records | None = None) -> Rulebook:
    """Read a rulebook; its documents are not bound yet, see `masktron.jobs.documents.bound`.

    Parameters
    ----------
    rules : Path
    phase : str, optional
    records : Records, optional
        What the file calls what rules in plain text speak of; else they are on the records of a table.

    Raises
    ------
    RulebookError
    """
    if not is_plain(rules):
        return read_rules(rules, phase=phase)
    known = records or Records()
    plain = plain_rules(rules)
    _require_known(plain, known, str(rules))
    return rulebook(compiled(plain, known, str(rules)), known, rules)


def is_plain(rules: Path) -> bool:
    """Tell whether a file has rules in plain text."""
    return rules.suffix.lower() in PLAIN


def plain_rules(path: Path) -> PlainRules:
    """Read rules in plain text.

    Raises
    ------
    RulebookError
        The file cannot be read, or its rules cannot.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise RulebookError.of("cannot-open", path, reason=error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RulebookError.of("plain-encoding", Place(str(path), line)) from error
    if len(content) > _MOST_BYTES:
        raise RulebookError.of("not-supported", path, construct="rules of more than 10 MB", instead="split the file")
    return read_plain(text, str(path))


def records_of(source: Source, missing: Mapping[str, frozenset[str]]) -> Records:
    """Return what a file calls what rules in plain text speak of.

    Parameters
    ----------
    source : Source
    missing : mapping of str to frozenset of str
        Codes that mean 'missing', by field, ``*`` for all, beside those that the file declares.
    """
    spaces = dict.fromkeys(
        tag[1:].partition("}")[0]
        for tag in (*source.layout.record_path, *(one.tag for one in source.layout.fields))
        if tag.startswith("{")
    )
    prefixes = {uri: f"d{at}" if at else "d" for at, uri in enumerate(spaces)}

    def named(tag: str) -> str:
        uri, _, local = tag.rpartition("}")
        return f"{prefixes[uri[1:]]}:{local}" if uri else local

    fields: dict[str, str] = {}
    for one in source.layout.fields:
        path = f"@{named(one.tag)}" if one.attribute else named(one.tag)
        for name in (one.name, column_name(one.name), one.name.removeprefix("@")):
            fields.setdefault(name, path)
    codes = {name: frozenset(values) for name, values in missing.items()}
    for variable in source.variables:
        codes[variable.name] = codes.get(variable.name, frozenset()) | {*variable.missing}
    return Records(
        record=named(source.layout.record_tag),
        above=tuple(map(named, source.layout.record_path[:-1])),
        fields=fields,
        codes=codes,
        namespaces={prefix: uri for uri, prefix in prefixes.items()},
    )


def _require_known(plain: PlainRules, records: Records, where: str) -> None:
    """Refuse rules that name what the file does not have."""
    if not records.fields:
        return
    wrong = [*_unknown(plain, records, where)]
    if wrong:
        raise RulebookError(several(wrong, where))


def _unknown(plain: PlainRules, records: Records, where: str) -> Iterator[Problem]:
    for rule in plain.rules:
        for one in walk(rule.node):
            if isinstance(one, Name) and one.name not in records.fields:
                place = Place(where, *rule.place(one.span.start), rule=Rule(rule.name))
                known = Known(one.name, tuple(records.fields))
                yield Problem("unknown-name", place, kind="field", name=Field(one.name), known=known)


def documents_of_all_phases(rulebook: Rulebook) -> tuple[str, ...]:
    """Return what the rules of any phase read; those of the one in use where another cannot be read."""
    try:
        return rulebook.documents if is_plain(rulebook.path) else open_rulebook(rulebook.path, phase="#ALL").documents
    except RulebookError:  # of a phase that is not the one in use, and can tell no names
        return rulebook.documents
