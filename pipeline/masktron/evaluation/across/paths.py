"""Location paths as tokens, and where in a flat file they lead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from masktron.sources.records import Layout
from masktron.xpath.lexer import tokenize
from masktron.xpath.namespaces import FUNCTIONS_NAMESPACE

type PathOrigin = Literal["focus", "root", "current", "document", "variable"]
_FORWARD = frozenset({"child", "attribute", "descendant", "descendant-or-self", "self"})
_AXES = _FORWARD | {"preceding-sibling", "following-sibling", "preceding", "following", "parent", "ancestor"}


class NotAcross(Exception):  # noqa: N818 - an outcome, not an error: the check goes to an engine as it is
    """An expression has no evaluation as an aggregate; the text says why."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step; ``gap`` where ``//`` stands before it, ``tag`` a Clark name or ``*``."""

    axis: str
    tag: str
    gap: bool = False
    predicates: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """A path as written; ``name`` is that of the variable it starts with."""

    origin: PathOrigin
    steps: tuple[PathStep, ...] = ()
    name: str = ""


def bare(token: Any) -> Any:
    """Return what stands in parentheses."""
    while token.symbol == "(" and len(token) == 1:
        token = token[0]
    return token


def called(token: Any) -> tuple[str, list[Any]] | None:
    """Return name and arguments of a call of a standard function."""
    if token.symbol in (":", "Q{") and len(token) == 2 and token[1].label == "function":
        if token.namespace != FUNCTIONS_NAMESPACE:
            return None
        token = token[1]
    return (str(token.symbol), list(token)) if token.label in ("function", "external function") else None


def extent(token: Any, source: str) -> tuple[int, int]:
    """Return where an expression stands in its source."""
    parts = list(token.iter())
    start = min(part.span[0] for part in parts)
    end = max(part.span[1] for part in parts)
    lexemes = tokenize(source)
    opened = {part.span[1] for part in parts if part.label in ("function", "external function", "kind test")}
    depth = 0
    last = end
    for at, lexeme in enumerate(lexemes):
        if lexeme.start < start:
            continue
        if lexeme.start >= last and depth == 0 and not (at and lexemes[at - 1].end in opened and lexeme.text == "("):
            break
        if lexeme.kind == "symbol":
            depth += (lexeme.text in "([{") - (lexeme.text in ")]}")
        last = max(last, lexeme.end)
    return start, last


@dataclass(frozen=True, slots=True)
class PathReader:
    """Reads the paths of one rulebook; names get the namespaces of its prefixes."""

    namespaces: Mapping[str, str] = field(default_factory=dict)
    beside: frozenset[str] = frozenset()
    """Names of documents that are not the original: nothing is gathered there."""

    def read(self, token: Any) -> Path:  # noqa: PLR0911 -- one branch per kind of token
        """Return the path that a token is.

        Raises
        ------
        NotAcross
            It is no path, or of a kind that is not analysed.
        """
        token = bare(token)
        match token.symbol:
            case "/" | "//":
                gap = token.symbol == "//"
                if not len(token):
                    return Path("root")
                if len(token) == 1:
                    return self._joined(Path("root"), token[0], gap=gap)
                return self._joined(self.read(token[0]), token[1], gap=gap)
            case "[" if token.label == "array":
                raise NotAcross("an array")
            case "[":
                path = self.read(token[0])
                if not path.steps:
                    return replace(path, steps=(PathStep("self", "*", predicates=(token[1],)),))
                last = replace(path.steps[-1], predicates=(*path.steps[-1].predicates, token[1]))
                return replace(path, steps=(*path.steps[:-1], last))
            case ".":
                return Path("focus")
            case "$":
                return Path("variable", name=str(token[0].value))
            case _:
                call = called(token)
                if call is not None and call[0] in ("document", "doc"):
                    if str(call[1][0].value) in self.beside:
                        raise NotAcross("another document than the original")
                    return Path("document")
                if call is not None and call[0] == "current":
                    return Path("current")
                return Path("focus", (self.step(token),))

    def _joined(self, path: Path, token: Any, *, gap: bool) -> Path:
        return replace(path, steps=(*path.steps, replace(self.step(token), gap=gap)))

    def step(self, token: Any) -> PathStep:
        """Return the step that a token is."""
        token = bare(token)
        match token.symbol:
            case "[" if token.label == "array":
                raise NotAcross("an array")
            case "[":
                inner = self.step(token[0])
                return replace(inner, predicates=(*inner.predicates, token[1]))
            case ".":
                return PathStep("self", "*")
            case ".." if not len(token):
                return PathStep("parent", "*")
            case "@":
                return PathStep("attribute", self.tag(token[0]))
            case "(name)" | ":" | "*" if called(token) is None and token.label != "operator":
                return PathStep("child", self.tag(token))
            case symbol if symbol in _AXES and len(token) == 1:
                return PathStep(symbol, self.tag(token[0]))
            case _:
                raise NotAcross(f"'{token.symbol}' is no plain step")

    def tag(self, token: Any) -> str:
        """Return the Clark name of a name test, or ``*``."""
        if token.symbol == "*":
            return "*"
        if token.symbol == "(name)":
            return str(token.value)
        if token.symbol == ":" and len(token) == 2 and token[1].symbol == "(name)":
            uri = self.namespaces.get(str(token[0].value), "")
            return f"{{{uri}}}{token[1].value}" if uri else str(token[1].value)
        raise NotAcross("a node test that is no name")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a path leads: a level of the record path (``level`` 0 is the document), and a field below the record."""

    level: int
    field: int | None = None


@dataclass(frozen=True, slots=True)
class Map:
    """A flat file, to walk on by names.

    Attributes
    ----------
    outside : frozenset of str
        Clark names of elements beside the records, ``@`` before those of attributes.
    """

    layout: Layout
    outside: frozenset[str] = frozenset()

    @property
    def record(self) -> Spot:
        """Where the records stand."""
        return Spot(len(self.layout.record_path))

    def walk(self, spots: Iterator[Spot] | list[Spot], step: PathStep) -> list[Spot]:
        """Return where a step leads from some places, each one once.

        Raises
        ------
        NotAcross
            It may lead to nodes beside the records too.
        """
        found: dict[Spot, None] = {}
        for spot in spots:
            for start in self._below(spot) if step.gap else [spot]:
                for reached in self._one(start, step):
                    found[reached] = None
        return list(found)

    def _below(self, spot: Spot) -> Iterator[Spot]:
        yield spot
        if spot.field is not None:
            return
        for level in range(spot.level + 1, self.record.level + 1):
            yield Spot(level)
        yield from (Spot(self.record.level, i) for i, f in enumerate(self.layout.fields) if not f.attribute)

    def _one(self, spot: Spot, step: PathStep) -> list[Spot]:
        match step.axis:
            case "child":
                return self._children(spot, step)
            case "descendant":
                return [s for start in self._below(spot) for s in self._children(start, step)]
            case "attribute":
                return self._attributes(spot, step)
            case "parent":
                return self._parent(spot, step)
            case "self" | "descendant-or-self" if step.tag == "*":
                return [spot] if step.axis == "self" else list(self._below(spot))
            case _:
                raise NotAcross(f"the axis {step.axis}")

    def _children(self, spot: Spot, step: PathStep) -> list[Spot]:
        if spot.field is not None:
            return []
        if spot.level < self.record.level:
            tag = self.layout.record_path[spot.level]
            beside = self.outside if step.tag == "*" or (step.gap or step.axis == "descendant") else frozenset()
            if step.tag in beside or (step.tag == "*" and any(not name.startswith("@") for name in beside)):
                raise NotAcross(f"'{step.tag}' stands beside the records too")
            return [Spot(spot.level + 1)] if step.tag in ("*", tag) else []
        if step.tag == "*":
            raise NotAcross("all fields of a record")
        return [
            Spot(spot.level, i) for i, f in enumerate(self.layout.fields) if not f.attribute and f.tag == step.tag
        ]

    def _attributes(self, spot: Spot, step: PathStep) -> list[Spot]:
        if step.tag == "*":
            raise NotAcross("all attributes")
        if step.gap and f"@{step.tag}" in self.outside:
            raise NotAcross(f"'@{step.tag}' stands outside the records too")
        if spot.field is not None or spot.level < self.record.level:
            return []
        return [Spot(spot.level, i) for i, f in enumerate(self.layout.fields) if f.attribute and f.tag == step.tag]

    def _parent(self, spot: Spot, step: PathStep) -> list[Spot]:
        above = Spot(spot.level) if spot.field is not None else Spot(spot.level - 1)
        if above.level < 1 or step.tag not in ("*", self.layout.record_path[above.level - 1]):
            return []
        return [above]
