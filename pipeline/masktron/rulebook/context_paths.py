"""What a rule's context asks for by name: which elements and attributes, and where they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from masktron.rulebook.analysis import once
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import (
    ANY,
    AXES,
    SIDEWAYS,
    Expression,
    Filter,
    Hop,
    NameTest,
    Opaque,
    Path,
    Root,
    Step,
    alternatives,
    is_document,
    outside_predicates,
    parts_of,
    walk,
)
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import ContextNames, NameStep, Vocabulary


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


@once
def context_names(rulebook: Rulebook) -> ContextNames:
    """Return what the contexts of rules call elements."""
    spaces = rulebook.namespaces
    rules = [rule for pattern in rulebook.patterns for rule in pattern.rules]
    texts = [
        *(let.value for let in rulebook.lets),
        *(let.value for pattern in rulebook.patterns for let in pattern.lets),
        *(rule.context for rule in rules),
        *(let.value for rule in rules for let in rule.lets),
        *(check.test for check in rulebook.checks),
    ]
    parts = [part for text in texts if (tree := understood(text, spaces)) for part in walk(tree)]
    contexts = [tree for rule in rules if (tree := understood(rule.context, spaces))]
    parents = Counter(pair for part in parts for pair in _pairs(part))
    for rule in rules:  # what a rule on a single name reads may be its children
        on = _element(understood(rule.context, spaces))
        tests = [tree for check in rule.checks if (tree := understood(check.test, spaces))] if on else []
        parents.update((on, child) for test in tests for child in _begins(test))
    names = (_element(one) for context in contexts for one in outside_predicates(context))
    paths = [_name_steps(path) for rule in rules for path in context_paths(rule.context, spaces)]
    beside = (_element(one, SIDEWAYS) for one in parts)
    return ContextNames(
        tuple(dict.fromkeys(filter(None, names))),
        tuple(filter(None, paths)),
        tuple(parents.most_common()),
        tuple(dict.fromkeys(filter(None, beside))),
    )


def _element(part: Expression | None, axes: Collection[str] = AXES - {"attribute"}) -> str:
    """Return the local name of the elements that a step on one of some axes asks for; empty for all else."""
    match part:
        case Step(axis=axis, test=NameTest(local=local)) if axis in axes and local != ANY:
            return local
        case _:
            return ""


def _pairs(part: Expression) -> Iterator[tuple[str, str]]:
    """Yield the names of parent and child in a path."""
    if isinstance(part, Path):
        for above, hop in pairwise((Hop(False, part.first), *part.hops)):
            names = _element(above.to), _element(hop.to, {"child"})
            if all(names) and not hop.deep:
                yield names


def _begins(expression: Expression) -> Iterator[str]:
    """Yield the names of children with which relative paths in an expression begin."""
    match expression:
        case Path(first=first):
            yield from _begins(first)
        case Filter(base=base):
            yield from _begins(base)
        case Step():
            yield from filter(None, [_element(expression, {"child"})])
        case _:
            for part in parts_of(expression):
                yield from _begins(part)


def _name_steps(path: NamedPath) -> tuple[bool, tuple[NameStep, ...]] | None:
    """Return the elements of a path; None where one of them may have any name."""
    steps = [step for step in path.steps or () if not step[1].attribute]
    if not steps or any(ANY in (test.local, test.space) for _, test in steps):
        return None
    return steps[0][0] == "root", tuple((test.space, test.local) for _, test in steps)
