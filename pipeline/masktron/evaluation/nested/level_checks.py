"""Which checks look at records of one level alone: they are evaluated on its table, as if that were a flat file.

Theorem: a table of a level is a flat file whose records have the fields of the level. A check says the same of a
record there and in the nested file where its context selects records or fields of that level only, and where neither
it nor a context before it names what else stands in these records: no records of other levels, and, where there are
some in them, no node but by name. What reads the records around one is refused by the compiler of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from masktron.errors import RulebookError
from masktron.rulebook.analysis import context_of
from masktron.rulebook.schema import Let, Pattern, Rulebook
from masktron.sources.level_tree import Level, LevelPath, Tree
from masktron.xpath.context_match import ContextPath
from masktron.xpath.tokens import parse

_BEYOND_NAMES = frozenset([".", "*", "//", "descendant", "descendant-or-self", "node", "text", "self"])


def checks_by_level(rulebook: Rulebook, tree: Tree) -> dict[LevelPath, list[int]]:
    """Return the checks that may be evaluated on the table of one level.

    Parameters
    ----------
    rulebook : Rulebook
        Of the nested file.
    tree : Tree
    """
    placing = _Placing(rulebook, tree)
    found: dict[LevelPath, list[int]] = {}
    for pattern in rulebook.patterns:
        for check, path in placing.of(pattern):
            found.setdefault(path, []).append(check)
    return found


class _Placing:
    def __init__(self, rulebook: Rulebook, tree: Tree) -> None:
        self._rulebook = rulebook
        self._spaces = dict(rulebook.namespaces)
        self._levels = dict(tree.levels())
        self._records = {level.name for level in self._levels.values()}

    def of(self, pattern: Pattern) -> Iterator[tuple[int, LevelPath]]:
        before: list[str] = []
        lets = [*self._rulebook.lets, *pattern.lets]
        for rule in pattern.rules:
            paths = context_of(self._rulebook, rule.context)
            if paths is None:
                return
            before += [text for path in paths for step in path.steps for text in step.predicates]
            at = self._level(paths)
            if at is None:
                continue
            for check in rule.checks:
                if all(self._stays(text, at) for text in (*before, *_values([*lets, *rule.lets]), check.test)):
                    yield check.index, at

    def _level(self, paths: Sequence[ContextPath]) -> LevelPath | None:
        """Return the only level of which paths may select records or fields."""
        found: set[LevelPath] = set()
        for path in paths:
            name = path.steps[-1].plain_name if path.steps else None
            if name is None:
                return None
            local, attribute = name.rpartition(":")[2], path.steps[-1].kind == "attribute"
            found |= {at for at, level in self._levels.items() if _has(level, local, attribute=attribute)}
        return found.pop() if len(found) == 1 else None

    def _stays(self, text: str, at: LevelPath) -> bool:
        """Whether an expression names no records, and nothing but by name where there are some in the level."""
        try:
            waiting: list[Any] = [parse(text, self._spaces)]
        except RulebookError:
            return False
        leaf = not self._levels[at].children
        while waiting:
            token = waiting.pop()
            parts = list(token)
            if token.symbol == "(name)" and str(token.value) in self._records:
                return False
            if not leaf and token.symbol in _BEYOND_NAMES and (token.symbol != "*" or not parts):
                return False
            waiting += parts
        return True


def _has(level: Level, local: str, *, attribute: bool) -> bool:
    fields = {(f.tag.rpartition("}")[2], f.attribute) for f in level.fields}
    return (local, attribute) in fields or (not attribute and level.name == local)


def _values(lets: Sequence[Let]) -> Iterator[str]:
    yield from (let.value for let in lets)
