"""Which checks look only inside one record, so that a few records at a time are enough to decide them.

Nothing is local unless it is known to be: what the grammar or this module does not understand needs the whole
document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from masktron.errors import RulebookError
from masktron.rulebook.analysis import context_of, once
from masktron.rulebook.schema import Check, Let, Pattern, Rule, Rulebook, ValueOf
from masktron.sources.records import Layout
from masktron.xpath.context_match import ContextPath, Step
from masktron.xpath.namespaces import with_standard
from masktron.xpath.tokens import parse

_AT_ROOT = -1
"""Level of the document node: lets of patterns and of the schema are evaluated there."""
_CHILD_SYMBOLS = frozenset({"(name)", "*", "@", "child", "attribute", "descendant"})
_KIND_TESTS = frozenset({"text", "node", "comment", "processing-instruction", "element", "attribute"})
_STAYING = frozenset({".", "self", "descendant-or-self"})
_LEAVING = frozenset({"ancestor", "ancestor-or-self", "preceding", "following", "namespace"})
_SIBLINGS = frozenset({"following-sibling", "preceding-sibling"})
_WORDS = (
    "and or = != < <= > >= eq ne lt le gt ge is << >> + - * div mod idiv | union intersect except , to || if "
    "(string) (integer) (decimal) (float)"
)
OPERATORS = frozenset(_WORDS.split())
TYPED = frozenset({"instance", "castable", "cast", "treat"})
BINDERS = frozenset({"for", "some", "every", "let"})
_FUNCTION_WORDS = (
    "position last count local-name namespace-uri name string concat starts-with contains substring-before "
    "substring-after substring string-length normalize-space translate boolean not true false number sum floor "
    "ceiling round generate-id format-number abs round-half-to-even codepoints-to-string string-to-codepoints "
    "compare codepoint-equal string-join upper-case lower-case ends-with matches replace tokenize index-of empty "
    "exists distinct-values insert-before remove reverse subsequence unordered zero-or-one one-or-more "
    "exactly-one deep-equal avg max min head tail sort data node-name nilled has-children innermost outermost "
    "format-integer format-date format-dateTime format-time dateTime years-from-duration months-from-duration "
    "days-from-duration hours-from-duration minutes-from-duration seconds-from-duration year-from-dateTime "
    "month-from-dateTime day-from-dateTime hours-from-dateTime minutes-from-dateTime seconds-from-dateTime "
    "year-from-date month-from-date day-from-date hours-from-time minutes-from-time seconds-from-time "
    "error contains-token pi exp exp10 log log10 pow sqrt sin cos tan asin acos atan atan2 document doc"
)
FUNCTIONS = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class _Leaves(Exception):  # noqa: N818 - an outcome, not an error
    reason: str


@dataclass(frozen=True, slots=True)
class _Walk:
    """One walk over the token tree of an expression; ``level`` is a lower bound, 0 for the record itself."""

    start: int
    lets: Mapping[str, str]
    bound: set[str] = field(default_factory=set)

    def __call__(self, token: Any, level: int) -> int:
        """Return the lowest level at which the nodes of the value may stand."""
        symbol, parts = token.symbol, list(token)
        if symbol == ":" and parts and _is_function(parts[1]):
            return self(parts[1], level)
        if symbol in ("/", "//", "!"):
            if len(parts) < 2:
                raise _Leaves("an absolute path")
            return self(parts[1], self(parts[0], level))
        if symbol == "[" and token.label != "array":
            at = self(parts[0], level)
            self(parts[1], at)
            return at
        if _is_function(token):
            return self._call(symbol, parts, level, cast=token.label == "constructor function")
        if symbol == "$":
            return self._variable(str(parts[0].value))
        return self._other(token, symbol, parts, level)

    def _other(self, token: Any, symbol: str, parts: list[Any], level: int) -> int:  # noqa: PLR0911
        if symbol in BINDERS:
            return self._bind(parts, level)
        if symbol in TYPED:
            return self(parts[0], level)
        if symbol == "=>":
            return min(self(parts[0], level), self._call(parts[1].symbol, [*parts[1:2], *parts[2]][1:], level))
        if symbol in (":", "Q{") or (symbol in _CHILD_SYMBOLS | _KIND_TESTS and token.label != "operator"):
            return self._below(level)
        if symbol in _STAYING:
            return self._here(level)
        if symbol in _LEAVING:
            raise _Leaves(f"the axis {symbol}")
        if symbol in ("..", "parent"):
            if level < 1:
                raise _Leaves("a step to the parent of the record")
            return level - 1
        if symbol in _SIBLINGS:
            if level < 1:
                raise _Leaves(f"the axis {symbol}")
            return level
        if symbol in OPERATORS or (symbol == "(" and len(parts) < 2):
            return min((self(part, level) for part in _operands(token)), default=0)
        raise _Leaves(f"'{symbol}', which is not analysed")

    def _below(self, level: int) -> int:
        return self._here(level) + 1

    def _here(self, level: int) -> int:
        if level < 0:
            raise _Leaves("a variable of the schema or pattern that reads the document")
        return level

    def _call(self, name: str, arguments: list[Any], level: int, *, cast: bool = False) -> int:
        if name == "current":
            return self._here(self.start)
        if not cast and name not in FUNCTIONS:
            raise _Leaves(f"the function {name}()")
        if not arguments and name not in ("true", "false", "pi", "error"):
            self._here(level)
        for argument in arguments:
            self(argument, level)
        return 0

    def _variable(self, name: str) -> int:
        if name not in self.bound and self.lets.get(name, "it is not known"):
            raise _Leaves(f"${name}: {self.lets.get(name, 'it is not known')}")
        return 0

    def _bind(self, parts: list[Any], level: int) -> int:
        for part in parts[:-1]:
            if part.symbol == "$" and len(part) == 1:
                self.bound.add(str(part[0].value))
            else:
                self(part, level)
        return min(self(parts[-1], level), 0)


def _operands(token: Any) -> list[Any]:
    """Return the operands of a chain of one operator, as long as a list of codes may be."""
    last: list[Any] = []
    while len(token) == 2 and (token[0].symbol, token[0].label, len(token[0])) == (token.symbol, token.label, 2):
        last.append(token[1])
        token = token[0]
    return [*token, *reversed(last)]


def _is_function(token: Any) -> bool:
    return token.label in ("function", "external function", "constructor function") and (
        token.symbol not in _KIND_TESTS
    )


def why_not_local(
    expression: str,
    namespaces: tuple[tuple[str, str], ...] = (),
    depth: int = 0,
    lets: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return what takes an expression out of its record, or the empty string.

    Parameters
    ----------
    expression : str
    namespaces : tuple of (prefix, uri)
    depth : int
        How many levels below the record, at least, it is evaluated; -1 for the document node.
    lets : mapping of str to str
        The same answer for each variable in scope.
    """
    try:
        token = parse(expression, with_standard(namespaces))
    except RulebookError:
        return "the expression is not understood"
    try:
        _Walk(depth, lets)(token, depth)
    except _Leaves as leaves:
        return leaves.reason
    return ""


@once
def locality(rulebook: Rulebook, layout: Layout, outside: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return for each check why it needs the whole document; the empty string where single records suffice.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    outside : frozenset of str
        Clark names of the elements (``@`` before attributes) that the file has outside its records.
    """
    scope = _Scope(rulebook, layout, outside)
    return tuple(reason for pattern in rulebook.patterns for reason in scope.pattern(pattern))


def locality_within(rulebook: Rulebook, layout: Layout, outside: Callable[[], Collection[str]]) -> tuple[str, ...]:
    """Return the locality of each check in a file; it is asked what stands outside only where that matters."""
    reasons = locality(rulebook, layout)
    return reasons if all(reasons) else locality(rulebook, layout, frozenset(outside()))


class _Scope:
    def __init__(self, rulebook: Rulebook, layout: Layout, outside: frozenset[str]) -> None:
        self.rulebook = rulebook
        self.namespaces = rulebook.namespaces
        self.prefixes = dict(rulebook.namespaces)
        self.layout = layout
        self.above = frozenset(layout.record_path[:-1])
        self.outside = outside
        self.lets = self.extend({}, rulebook.lets, _AT_ROOT)

    def extend(self, lets: Mapping[str, str], more: tuple[Let, ...], depth: int) -> dict[str, str]:
        known = dict(lets)
        for let in more:
            known[let.name] = why_not_local(let.value, self.namespaces, depth, known)
        return known

    def pattern(self, pattern: Pattern) -> Iterator[str]:
        """Yield the reason for each check; a rule also depends on those before it that can match the same nodes."""
        lets = self.extend(self.lets, pattern.lets, _AT_ROOT)
        before: list[tuple[frozenset[str], str]] = []
        for rule in pattern.rules:
            paths = context_of(self.rulebook, rule.context)
            targets = frozenset({"*"}) if paths is None else frozenset(self.target(p) for p in paths)
            reason, depth = self.context(rule, paths, lets)
            earlier = next((why for there, why in before if why and _overlap(there, targets)), "")
            before.append((targets, reason))
            reason = reason or (earlier and f"an earlier rule of the pattern: {earlier}")
            inner = self.extend(lets, rule.lets, depth)
            for check in rule.checks:
                yield reason or self.check(check, depth, inner)

    def check(self, check: Check, depth: int, lets: Mapping[str, str]) -> str:
        """Return why the test of a check, or what its message shows, needs the whole document."""
        reason = why_not_local(check.test, self.namespaces, depth, lets)
        shown = (
            why_not_local(p.select, self.namespaces, depth, lets) for p in check.message if isinstance(p, ValueOf)
        )
        message = next(filter(None, shown), "")
        return reason or (message and f"its message: {message}")

    def target(self, path: ContextPath) -> str:
        """Return the Clark name of the nodes that a path matches, ``*`` if they have many."""
        last = path.steps[-1] if path.steps else None
        return (self.clark(last) or "*") if last else "/"

    def clark(self, step: Step) -> str:
        name = step.plain_name
        if name is None:
            return ""
        prefix, colon, local = name.rpartition(":")
        tag = f"{{{self.prefixes.get(prefix, '')}}}{local}" if colon else local
        return f"@{tag}" if step.kind == "attribute" else tag

    def context(self, rule: Rule, paths: tuple[ContextPath, ...] | None, lets: Mapping[str, str]) -> tuple[str, int]:
        if paths is None:
            return "the context is not a plain path", 0
        depths = []
        for path in paths:
            try:
                depths.append(self.path(path, lets))
            except _Leaves as leaves:
                return f"the context {rule.context!r}: {leaves.reason}", 0
        return "", min(depths)

    def path(self, path: ContextPath, lets: Mapping[str, str]) -> int:
        """Return how deep below the record the nodes stand at least that a context selects."""
        level = _AT_ROOT
        anchors: list[str] = []
        for step in path.steps:
            tag = self.clark(step)
            if level < 0 and tag in self.above:
                if tag == self.layout.record_tag or step.predicates:
                    raise _Leaves(f"'{step.test}' is or may be above the records")
                continue
            if level < 0 and not tag:
                raise _Leaves(f"'{step.test}' may match outside the records")
            level = 0 if level < 0 and tag == self.layout.record_tag else max(level, 0) + 1
            if tag:
                anchors.append(tag)
            if level == 0 and step.positional:
                raise _Leaves("the position of a record")
            self.predicates(step, level, lets)
        if level < 0:
            raise _Leaves("it selects nodes outside the records")
        if all(anchor in self.outside for anchor in anchors):
            raise _Leaves(f"the file has '{anchors[-1]}' outside its records too")
        return level

    def predicates(self, step: Step, level: int, lets: Mapping[str, str]) -> None:
        for predicate in step.predicates:
            reason = why_not_local(predicate, self.namespaces, level, lets)
            if reason:
                raise _Leaves(reason)


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    return "*" in one or "*" in other or bool(one & other)
