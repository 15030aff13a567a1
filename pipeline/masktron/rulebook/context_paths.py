"""What a rule's context asks for by name: which elements and attributes, and where they stand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from masktron.errors import RulebookError
from masktron.sources.names import NameStep, Vocabulary
from masktron.xpath.focus import axis_of, name_test, predicates_of, spine
from masktron.xpath.tokens import parse

ANY = "*"
"""Stands for any namespace or any name."""
_TYPED = ("cast", "castable", "treat", "instance")


@dataclass(frozen=True, slots=True)
class SoughtName:
    """A name that an expression asks for.

    Attributes
    ----------
    local : str
        Local name, or `ANY`.
    space : str
        Its namespace: empty for none, or `ANY`.
    attribute : bool
    """

    local: str
    space: str
    attribute: bool = False

    def fits(self, step: NameStep) -> bool:
        """Whether an element or attribute has it."""
        return self.local in (ANY, step[1]) and self.space in (ANY, step[0])

    def occurs(self, words: Vocabulary) -> bool:
        """Whether the file has such an element or attribute anywhere."""
        paths = words.attributes if self.attribute else words.elements
        return any(self.fits(path[-1]) for path in paths)


@dataclass(frozen=True, slots=True)
class NamedPath:
    """One alternative of a context.

    Attributes
    ----------
    names : tuple of SoughtName
        All that it asks for, those in predicates too.
    steps : tuple of (str, SoughtName), or None
        The path without predicates, each step with how far it is below the one before: ``child`` or ``descendant``;
        the first one at any depth unless it is ``root``. None where the path is not of this form.
    """

    names: tuple[SoughtName, ...]
    steps: tuple[tuple[Literal["root", "child", "descendant"], SoughtName], ...] | None

    def matches(self, words: Vocabulary) -> bool:
        """Whether some node of the file stands where the path leads, whatever its predicates ask."""
        if not self.steps:
            return True
        paths = words.attributes if self.steps[-1][1].attribute else words.elements
        return any(_leads(self.steps, path) for path in paths)


def context_paths(context: str, namespaces: Mapping[str, str]) -> tuple[NamedPath, ...]:
    """Read the alternatives of a context; none where it cannot be read."""
    try:
        token = parse(context, namespaces)
    except RulebookError:
        return ()
    while token.symbol == "(" and len(token) == 1:
        token = token[0]
    alternatives = spine(token, token.symbol) if token.symbol in ("|", "union") else [token]
    return tuple(NamedPath(tuple(dict.fromkeys(_names(one))), _steps(one)) for one in alternatives)


def names_in(source: str) -> frozenset[str]:
    """Return the local names that an expression without prefixes asks for; none where it cannot be read."""
    try:
        return frozenset(name.local for name in _names(parse(source)))
    except RulebookError:
        return frozenset()


def _steps(token: Any) -> tuple[tuple[Literal["root", "child", "descendant"], SoughtName], ...] | None:
    """Read a path of names; None for everything else, as functions and other axes are."""
    found: list[tuple[Literal["root", "child", "descendant"], SoughtName]] = []
    while token is not None:
        step, far, above = token, "descendant", None
        if token.symbol in ("/", "//"):
            if not len(token):
                return None if found else ()
            step, above = token[len(token) - 1], token[0] if len(token) == 2 else None
            far = "descendant" if token.symbol == "//" else "child" if above is not None else "root"
        axis, test = axis_of(predicates_of(step)[0])
        local, space = name_test(test)
        if local is None or axis not in ("child", "attribute") or (found and axis == "attribute"):
            return None
        found.insert(0, (far, SoughtName(local, space, axis == "attribute")))  # type: ignore[arg-type]
        token = above
    return tuple(found)


def _leads(steps: Collection[tuple[str, SoughtName]], path: tuple[NameStep, ...]) -> bool:
    """Whether a path ends at the last step."""
    *above, (far, name) = steps
    if not path or not name.fits(path[-1]):
        return False
    if not above:
        return far != "root" or len(path) == 1
    rest = path[:-1]
    shorter = range(len(rest), 0, -1) if far == "descendant" else (len(rest),)
    return any(_leads(above, rest[:length]) for length in shorter)


def _names(token: Any) -> Iterator[SoughtName]:
    """Yield the names of elements and attributes in an expression; names in other documents are not asked for."""
    if token.symbol in ("$", "?", "document", "doc"):
        return
    if token.symbol in ("@", "attribute") and len(token) == 1:
        local, space = name_test(token[0])
        if local not in (None, ANY):
            yield SoughtName(str(local), space, attribute=True)
        return
    if token.symbol in ("/", "//") and any(part.symbol in ("document", "doc") for part in token.iter()):
        return
    local, space = name_test(token)
    if local is not None:
        if local != ANY:
            yield SoughtName(local, space)
        return
    parts = list(token)
    for part in parts[:1] if token.symbol in _TYPED else parts:
        yield from _names(part)
