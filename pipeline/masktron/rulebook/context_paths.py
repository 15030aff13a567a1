"""What a rule's context asks for by name: which elements and attributes, and where they stand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import (
    ANY,
    Expression,
    Hop,
    NameTest,
    Opaque,
    Path,
    Root,
    Step,
    alternatives,
    is_document,
    parts_of,
    walk,
)
from masktron.sources.names import NameStep, Vocabulary


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


type SoughtStep = tuple[Literal["root", "child", "descendant"], SoughtName]


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
    steps: tuple[SoughtStep, ...] | None

    def matches(self, words: Vocabulary) -> bool:
        """Whether some node of the file stands where the path leads, whatever its predicates ask."""
        if not self.steps:
            return True
        paths = words.attributes if self.steps[-1][1].attribute else words.elements
        return any(_leads(self.steps, path) for path in paths)


def context_paths(context: str, namespaces: Iterable[tuple[str, str]]) -> tuple[NamedPath, ...]:
    """Read the alternatives of a context; none where it cannot be read."""
    tree = understood(context, namespaces)
    if tree is None:
        return ()
    return tuple(NamedPath(tuple(dict.fromkeys(names_of(one))), _steps(one)) for one in alternatives(tree))


def _steps(path: Expression) -> tuple[SoughtStep, ...] | None:
    """Read a path of names; None for everything else, as functions and other axes are."""
    match path:
        case Root():
            return ()
        case Path(first=Root(), hops=hops):
            pass
        case Path(first=first, hops=later):
            hops = (Hop(True, first), *later)
        case _:
            hops = (Hop(True, path),)
    found: list[SoughtStep] = []
    for hop in hops:
        match hop.to:
            case Step(axis="child" | "attribute" as axis, test=NameTest(local=local, space=space)):
                if found and found[-1][1].attribute:
                    return None
                far: Literal["root", "child", "descendant"]
                far = "descendant" if hop.deep else "child" if found else "root"
                found.append((far, SoughtName(local, space, axis == "attribute")))
            case _:
                return None
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


def names_of(expression: Expression) -> Iterator[SoughtName]:
    """Yield the names of elements and attributes in an expression; names in other documents are not asked for."""
    match expression:
        case Opaque(symbol="?"):
            return
        case _ if is_document(expression):
            return
        case Path() if any(map(is_document, walk(expression))):
            return
        case Step(axis=axis, test=NameTest(local=local, space=space)) if local != ANY:
            yield SoughtName(local, space, axis == "attribute")
    for part in parts_of(expression):
        yield from names_of(part)
