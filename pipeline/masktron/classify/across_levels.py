"""Rules that reach across the levels of a nested file: each says its own, and none is taken for a rule on one record.

A class is read off a form in which each field of a record has one value. What stands in records within the record, or
more than once, has none: there is no such form for a rule that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from masktron.classify.edit import Edit
from masktron.constraints import OpaqueEdit
from masktron.rulebook.analysis import with_lets
from masktron.rulebook.context_paths import NamedPath, SoughtName, context_paths
from masktron.rulebook.expressions.tree import ANY
from masktron.rulebook.schema import Pattern, Rule, Rulebook
from masktron.sources.names import Vocabulary
from masktron.sources.record_layout import Layout

_FAR = ("//", "descendant")
"""With one of them, a name is looked for in all levels."""


@dataclass(frozen=True, slots=True)
class LevelNames:
    """The names of a file whose records are no rows of single values; those of attributes begin with ``@``.

    Attributes
    ----------
    unit : str
        Local name of the record.
    single : frozenset of str
        Fields that stand in the record itself, once at most, with a text alone.
    inner : frozenset of str
        All that stands in it otherwise, at any depth.
    """

    unit: str
    single: frozenset[str]
    inner: frozenset[str]

    @classmethod
    def of(cls, layout: Layout, single: frozenset[str], words: Vocabulary) -> LevelNames:
        """Find them among the names of a file."""
        depth = len(layout.record_path)
        fields = {(f.tag.rpartition("}")[2], f.attribute) for f in layout.fields if f.name in single}
        unit = layout.record_tag.rpartition("}")[2]
        below = {
            ("@" * attribute + path[-1][1])
            for attribute, paths in ((False, words.elements), (True, words.attributes))
            for path in paths
            if len(path) > depth and path[depth - 1][1] == unit
            if len(path) > depth + 1 or (path[-1][1], attribute) not in fields
        }
        return cls(unit, frozenset("@" * attribute + name for name, attribute in fields), frozenset(below))


def crossing(rulebook: Rulebook, names: LevelNames) -> dict[int, str]:
    """Return the checks that read records within records, or fire on them, by index, each with why it is one.

    Parameters
    ----------
    rulebook : Rulebook
    names : LevelNames
    """
    found = {}
    for pattern in rulebook.patterns:
        for at, rule in enumerate(pattern.rules):
            for check in rule.checks:
                if reason := _reason(rulebook, rule, _texts(rulebook, pattern, at, check.test), names):
                    found[check.index] = reason
    return found


def names_read(rulebook: Rulebook, check: int, names: LevelNames) -> tuple[str, ...]:
    """Return the local names of the file that a check asks for."""
    for pattern in rulebook.patterns:
        for at, rule in enumerate(pattern.rules):
            for own in rule.checks:
                if own.index == check:
                    texts = _texts(rulebook, pattern, at, own.test)
                    return tuple(
                        sorted({_shown(one) for one in _read(rulebook, texts)} & (names.single | names.inner))
                    )
    return ()


def without_other_levels(rulebook: Rulebook, edits: Sequence[Edit], names: LevelNames) -> tuple[Edit, ...]:
    """Make opaque what reads records within records, or fires on them; all other edits stay as they are.

    Parameters
    ----------
    rulebook : Rulebook
    edits : sequence of Edit
        Of `masktron.classify.classify`, which takes each field of a record for a single value.
    names : LevelNames
    """
    found = list(edits)
    for check, reason in crossing(rulebook, names).items():
        variables = names_read(rulebook, check, names)
        found[check] = replace(edits[check], constraint=OpaqueEdit(reason, variables), variables=variables, lints=())
    return tuple(found)


def _reason(rulebook: Rulebook, rule: Rule, texts: Sequence[str], names: LevelNames) -> str:
    """Say why a rule reaches across levels; nothing where it does not."""
    shared = names.inner & names.single
    if on := [one for path in _paths(rulebook, rule.context) if (one := _fires_below(path, names))]:
        return f"across levels: it fires on {on[0]}, and the record is {names.unit}"
    read = [_shown(one) for one in _read(rulebook, texts)]
    far = any(sign in text for text in texts for sign in _FAR)
    below = [name for name in read if name in names.inner - shared or (far and name in shared)]
    if not below:
        return ""
    return f"across levels: it reads {', '.join(dict.fromkeys(below))}, no single values of a {names.unit}"


def _fires_below(path: NamedPath, names: LevelNames) -> str:
    """Name what a context fires on that is not the record, nor a single field of it."""
    if path.steps is None:
        return "nodes that no path of names tells"
    if not path.steps:
        return ""
    name = path.steps[-1][1]
    shown = _shown(name)
    above = path.steps[-2][1].local if len(path.steps) > 1 and path.steps[-1][0] == "child" else ""
    elsewhere = shown in names.inner and not (shown in names.single and above == names.unit)
    return "any element" if name.local == ANY else shown if elsewhere else ""


def _texts(rulebook: Rulebook, pattern: Pattern, at: int, test: str) -> list[str]:
    """Return the expressions that a check is made of: test, context, contexts before it on such nodes, variables."""
    rule = pattern.rules[at]
    own = {_last(path) for path in _paths(rulebook, rule.context)}
    earlier = [
        one.context
        for one in pattern.rules[:at]
        if not own.isdisjoint({_last(path) for path in _paths(rulebook, one.context)})
    ]
    return list(with_lets([test, rule.context, *earlier], [*rulebook.lets, *pattern.lets, *rule.lets]))


def _last(path: NamedPath) -> str:
    return _shown(path.steps[-1][1]) if path.steps else ""


def _read(rulebook: Rulebook, texts: Iterable[str]) -> Iterator[SoughtName]:
    for text in texts:
        for path in _paths(rulebook, text):
            yield from path.names


def _paths(rulebook: Rulebook, text: str) -> tuple[NamedPath, ...]:
    return context_paths(text, rulebook.namespaces)


def _shown(name: SoughtName) -> str:
    return "@" * name.attribute + name.local
