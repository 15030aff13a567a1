"""Which checks look only inside one record, and which read the order of the records.

Nothing is local unless it is known to be: what the grammar or this module does not understand needs the whole
document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from masktron.rulebook.analysis import context_of, once, with_lets
from masktron.rulebook.context_match import ContextPath, ContextStep
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import (
    SIDEWAYS,
    Binding,
    Call,
    Comparison,
    ContextItem,
    Expression,
    Filter,
    Literal,
    Opaque,
    Path,
    Root,
    SimpleMap,
    Step,
    Typed,
    Variable,
    parts_of,
    walk,
)
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE, STANDARD_NAMESPACES
from masktron.rulebook.schema import Check, Let, Pattern, Rule, Rulebook, ValueOf
from masktron.sources.record_layout import Layout

_AT_ROOT = -1
"""Level of the document node: lets of patterns and of the schema are evaluated there."""
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
_FUNCTIONS = frozenset(_FUNCTION_WORDS.split())
_SPACES = frozenset({FUNCTIONS_NAMESPACE, STANDARD_NAMESPACES["math"]})


@dataclass(frozen=True, slots=True)
class _Leaves(Exception):  # noqa: N818 - an outcome, not an error
    reason: str


@dataclass(frozen=True, slots=True)
class _Walk:
    """One walk over an expression; ``level`` is a lower bound, 0 for the record itself."""

    start: int
    lets: Mapping[str, str]
    bound: frozenset[str] = frozenset()

    def __call__(self, expression: Expression, level: int) -> int:  # noqa: PLR0911, PLR0912 -- one branch per construct
        """Return the lowest level at which the nodes of the value may stand."""
        match expression:
            case Root():
                raise _Leaves("an absolute path")
            case Path(first=first, hops=hops):
                at = self(first, level)
                for hop in hops:
                    at = self(hop.to, at)
                return at
            case SimpleMap(items=items, to=to):
                return self(to, self(items, level))
            case Step(predicates=predicates):
                return self._filtered(self._step(expression, level), predicates)
            case Filter(base=base, predicates=predicates):
                return self._filtered(self(base, level), predicates)
            case ContextItem():
                return self._here(level)
            case Call():
                return self._call(expression, level)
            case Variable(name=name):
                if name not in self.bound and self.lets.get(name, "it is not known"):
                    raise _Leaves(f"${name}: {self.lets.get(name, 'it is not known')}")
                return 0
            case Binding(bound=bound, body=body):
                inner = self
                for name, value in bound:
                    inner(value, level)
                    inner = replace(inner, bound=inner.bound | {name})
                return min(inner(body, level), 0)
            case Typed(operand=operand):
                return self(operand, level)
            case Opaque(symbol=symbol):
                raise _Leaves(f"'{symbol}', which is not analysed")
            case _:
                return min((self(part, level) for part in parts_of(expression)), default=0)

    def _filtered(self, at: int, predicates: Iterable[Expression]) -> int:
        for predicate in predicates:
            self(predicate, at)
        return at

    def _step(self, step: Step, level: int) -> int:
        match step.axis:
            case "child" | "attribute" | "descendant":
                return self._here(level) + 1
            case "self" | "descendant-or-self":
                return self._here(level)
            case "parent":
                if level < 1:
                    raise _Leaves("a step to the parent of the record")
                return level - 1
            case "following-sibling" | "preceding-sibling" if level > 0:
                return level
            case axis:
                raise _Leaves(f"the axis {axis}")

    def _here(self, level: int) -> int:
        if level < 0:
            raise _Leaves("a variable of the schema or pattern that reads the document")
        return level

    def _call(self, call: Call, level: int) -> int:
        if call.standard == "current":
            return self._here(self.start)
        if not (call.name in _FUNCTIONS and call.space in _SPACES) and call.space != STANDARD_NAMESPACES["xs"]:
            raise _Leaves(f"the function {call.name}()")
        if not call.arguments and call.name not in ("true", "false", "pi", "error"):
            self._here(level)
        for argument in call.arguments:
            self(argument, level)
        return 0


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
    tree = understood(expression, namespaces)
    if tree is None:
        return "the expression is not understood"
    try:
        _Walk(depth, lets)(tree, depth)
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
        return (_named(last) or "*") if last else "/"

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
            tag = _named(step)
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
            for predicate in step.predicates:
                _Walk(level, lets)(predicate, level)
        if level < 0:
            raise _Leaves("it selects nodes outside the records")
        if all(anchor in self.outside for anchor in anchors):
            raise _Leaves(f"the file has '{anchors[-1]}' outside its records too")
        return level


def _named(step: ContextStep) -> str:
    """Return the Clark name of the nodes that a step matches, behind ``@`` of attributes; empty if they have many."""
    return f"@{step.tag}" if step.tag and step.kind == "attribute" else step.tag


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    return "*" in one or "*" in other or bool(one & other)


_IN_ORDER = frozenset(
    {"position", "last", "head", "tail", "subsequence", "reverse", "remove", "insert-before", "index-of"}
    | {"fold-left", "fold-right", "for-each-pair"}
)


def reads_order(rulebook: Rulebook, layout: Layout) -> tuple[str, ...]:
    """Return for each check what in it reads the order of records; the empty string where nothing does.

    Axes to siblings, positions and functions of sequences are looked for in tests, contexts and variables that leave
    the record. That the first of several nodes becomes a number is not seen here.
    """
    reasons = locality(rulebook, layout)
    found: list[str] = []
    for pattern in rulebook.patterns:
        contexts = tuple(rule.context for rule in pattern.rules)
        for rule in pattern.rules:
            lets = (*rulebook.lets, *pattern.lets, *rule.lets)
            found += [_read(check, rule, contexts, lets, rulebook, reasons[check.index]) for check in rule.checks]
    return tuple(found)


def in_order_by(text: str, namespaces: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """Return what in an expression depends on the order of nodes, in its own words and each once.

    Axes come last. An expression that cannot be read has nothing.
    """
    tree = understood(text, namespaces)
    words = dict.fromkeys(() if tree is None else _words(tree))
    return tuple(sorted(words, key=lambda word: word in SIDEWAYS))


def _read(
    check: Check, rule: Rule, contexts: tuple[str, ...], lets: tuple[Let, ...], rulebook: Rulebook, reason: str
) -> str:
    """Name the first thing that reads the order, or nothing."""
    if not reason:
        return ""
    # an earlier rule of the pattern takes nodes away from this one
    texts = (*with_lets((check.test, rule.context), lets), *contexts)
    return next((word for text in texts for word in in_order_by(text, rulebook.namespaces)), "")


def _words(expression: Expression) -> Iterator[str]:
    for one in walk(expression):
        match one:
            case Step(axis=axis) if axis in SIDEWAYS:
                yield axis
            case Call(name=name) if name in _IN_ORDER:
                yield f"{name}()"
            case Opaque(symbol="#", parts=(function, _)) if function.text in _IN_ORDER:
                yield f"{function}()"
            case Comparison(sign="<<" | ">>" as sign):
                yield sign
        if isinstance(one, Step | Filter):
            positions = (part for part in one.predicates if isinstance(part, Literal))
            yield from (f"[{part.value}]" for part in positions if not isinstance(part.value, str))
