"""Rules that keep a key from being left out, and how they read where it may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from masktron.counts import counted
from masktron.rulebook.schema import Check, Rulebook
from masktron.shell_words import shell_word
from masktron.sources.records import Layout

_LONGEST = 300
"""Characters of a test up to which its change is written out."""
_MOST = 8
"""Rules whose change is written out."""


def may_be_missing(rulebook: Rulebook, layout: Layout, rules: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Say for a hint, a line each, which rules keep which field from being left out, and what changes that.

    Parameters
    ----------
    rulebook : Rulebook
        As the user wrote it, which is the one to change.
    layout : Layout
    rules : mapping of str to sequence of str
        By field, the ids of the rules that some records break without it.
    """
    fields: dict[str, list[str]] = {}
    for field, ids in rules.items():
        if ids:
            kept = counted(len(ids), "rule keeps", "rules keep")
            yield f"{kept} {field} from being left out: {', '.join(ids)}"
        for name in ids:
            fields.setdefault(name, []).append(field)
    changes = [
        _changed(rulebook, check, read)
        for pattern in rulebook.patterns
        for rule in pattern.rules
        for check in rule.checks
        if (read := [name for name in fields.get(check.id, ()) if _plain(layout, name, rule.context)])
    ]
    if len(changes) > 1:
        yield "it may take all of these changes together:"
    yield from changes[:_MOST]
    if len(changes) > _MOST:
        yield f"and {counted(len(changes) - _MOST, 'further rule')} in the same way"


def _changed(rulebook: Rulebook, check: Check, fields: Sequence[str]) -> str:
    """Say how a rule asks nothing of a record that lacks one of the fields; a report fires where its test is true."""
    asserts = check.kind == "assert"
    before = "".join(f"not({name}) or " if asserts else f"{name} and " for name in fields)
    where = f"where {' or '.join(fields)} may be missing"
    if len(test := f"{before}({check.test})") > _LONGEST:
        return f"{where}, write {before}( ) around the test of {check.id}"
    command = f"masktron rules {shell_word(rulebook.path.name)} --change {shell_word(check.id)}"
    return f"{where}: {command} --test {shell_word(test)}"


def _plain(layout: Layout, field: str, context: str) -> bool:
    """Tell whether a rule on such a context reads a field by its name alone."""
    fact = layout.field(field)
    names = fact is not None and fact.tag == field and not fact.attribute
    return names and context.rpartition("/")[2].strip() == layout.record_tag
