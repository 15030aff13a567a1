"""Paths and keys to what they mean: nodes of the record at hand, or a selection of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from masktron.evaluation.across.paths import Map, NotAcross, Path, PathReader, PathStep, Spot
from masktron.evaluation.across.selection import Key, Predicate, Reach, RecordSource, Selection, Word
from masktron.rulebook.context_match import may_be_positional
from masktron.rulebook.expressions.tree import Call, Comparison, Connective, Expression, Literal, Variable, walk
from masktron.rulebook.schema import XPathVersion

_KINDS = {"string": "string", "normalize-space": "normal", "number": "number"}
_SIBLINGS: Mapping[str, Reach] = {"preceding-sibling": "before", "following-sibling": "after"}
_BESIDE: Mapping[str, Reach] = {"preceding": "before", "following": "after"}


@dataclass(frozen=True, slots=True)
class Own:
    """A node of the record at hand, or above it."""

    spot: Spot


type Operand = Own | Selection | Key
"""What a variable stands for."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an expression is read in.

    Attributes
    ----------
    version : {"1.0", "2.0", "3.0", "3.1"}
    maps : mapping of source to Map
        Where the file and the original lead.
    base : Spot
        The node at which the rule fires.
    variables : mapping of str to Operand or None
        None for those that are local to a record, or not understood.
    shared : frozenset of str
        Variables that are the same for all records, so that conditions on other records may read them.
    scope : int
        Position of the pattern; -1 outside all patterns.
    """

    version: XPathVersion
    reader: PathReader
    maps: Mapping[RecordSource, Map]
    base: Spot
    variables: Mapping[str, Operand | None] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    scope: int = -1

    @property
    def record(self) -> Spot:
        """Where the records of the file stand."""
        return self.maps["file"].record

    def bind(self, name: str, value: Operand | None) -> Surroundings:
        """Return these with one more variable."""
        return replace(self, variables={**self.variables, name: value}, shared=self.shared - {name})

    def value(self, expression: Expression) -> Operand:
        """Return what an expression stands for.

        Raises
        ------
        NotAcross
        """
        if isinstance(expression, Call) and expression.standard in (*_KINDS, "concat"):
            key, own = self.key(expression, None)
            if not own:
                raise NotAcross("a text of another record")
            return key
        return self.nodes(self.reader.read(expression), None)

    def nodes(self, path: Path, focus: Spot | None) -> Own | Selection | Key:
        """Return the nodes of a path; `focus` is the place in another record where a condition stands."""
        source: RecordSource = "original" if path.origin == "document" else "file"
        state: Own | Selection | Key
        match path.origin:
            case "focus":
                state = Own(focus or self.base)
            case "current":
                state = Own(self.base)
            case "variable":
                known = self.variables.get(path.name)
                if known is None:
                    raise NotAcross(f"${path.name} is not known to select nodes of other records")
                state = known
            case _:
                state = Own(Spot(0))
        if source not in self.maps:
            raise NotAcross("the original is not read as a table")
        for step in path.steps:
            state = self._step(state, step, source)
        return state

    def _step(self, state: Operand, step: PathStep, source: RecordSource) -> Own | Selection:
        if isinstance(state, Key):
            raise NotAcross("a step from a text")
        map_ = self.maps[state.source if isinstance(state, Selection) else source]
        if isinstance(state, Selection):
            reached: Own | Selection = self._inside(state, step, map_)
        else:
            reached = self._from_own(state, step, map_, source)
        for predicate in step.predicates:
            if not isinstance(reached, Selection):
                raise NotAcross("a condition on nodes of the record at hand")
            reached = self._where(reached, predicate, map_)
        return reached

    def _inside(self, selection: Selection, step: PathStep, map_: Map) -> Selection:
        spot = Spot(map_.record.level, selection.target)
        to = _single(map_.walk([spot], step), step)
        if to.level != map_.record.level:
            raise NotAcross("a path that leaves the records again")
        if to.field is None and selection.target is not None:
            raise NotAcross("a step back from a field")
        return replace(selection, target=to.field)

    def _from_own(self, own: Own, step: PathStep, map_: Map, source: RecordSource) -> Own | Selection:
        reach = _SIBLINGS.get(step.axis)
        if reach is not None:
            if own.spot != map_.record or step.gap:
                raise NotAcross(f"the axis {step.axis} from another node than a record")
            beside = any(not name.startswith("@") for name in map_.outside)
            if step.tag != map_.layout.record_tag and (step.tag != "*" or beside):
                raise NotAcross(f"{step.axis}::{step.tag}, which is not all records")
            return Selection(source, None, self.version, reach)
        reach = _BESIDE.get(step.axis)
        if reach is not None:
            return self._beside(own, step, map_, reach)
        if step.axis == "ancestor":
            path = map_.layout.record_path
            levels = [i + 1 for i, tag in enumerate(path[: own.spot.level]) if tag == step.tag]
            levels = [level for level in levels if own.spot.field is not None or level < own.spot.level]
            return Own(Spot(_only(levels, f"ancestor::{step.tag}")))
        to = _single(map_.walk([own.spot], step), step)
        if own.spot.level < map_.record.level == to.level:
            return Selection(source, to.field, self.version)
        return Own(to)

    def _beside(self, own: Own, step: PathStep, map_: Map, reach: Reach) -> Selection:
        if own.spot.level != map_.record.level or step.gap or step.tag in map_.outside:
            raise NotAcross(f"the axis {step.axis}")
        if step.tag == map_.layout.record_tag:
            return Selection("file", None, self.version, reach)
        found = [i for i, f in enumerate(map_.layout.fields) if not f.attribute and f.tag == step.tag]
        at = _only(found, f"{step.axis}::{step.tag}")
        if own.spot.field not in (None, at):
            raise NotAcross(f"{step.axis}::{step.tag} may be in the record at hand")
        return Selection("file", at, self.version, reach)

    def _where(self, selection: Selection, predicate: Expression, map_: Map) -> Selection:
        for part in _conjuncts(predicate):
            selection = self._condition(selection, part, Spot(map_.record.level, selection.target))
        return selection

    def _condition(self, selection: Selection, part: Expression, focus: Spot) -> Selection:
        if self._is_other(part, focus):
            if selection.reach != "all":
                raise NotAcross("a condition that leaves out the record at hand twice")
            return replace(selection, reach="others")
        joined = self._join(part, focus)
        if joined is not None:
            return replace(selection, join=(*selection.join, joined))
        for one in walk(part):
            if isinstance(one, Call) and one.standard == "current":
                raise NotAcross("a condition with current() that is not a plain equality")
            if isinstance(one, Variable) and one.name not in self.shared:
                raise NotAcross(f"a condition with ${one.name} that is not a plain equality")
        if may_be_positional(part):
            raise NotAcross("a condition that may be a position")
        return replace(selection, where=(*selection.where, Predicate(part.text, focus.field, self.scope)))

    def _is_other(self, part: Expression, focus: Spot) -> bool:
        """Whether a condition is that another node is meant: ``generate-id() != generate-id(current())``."""
        if focus != self.base or focus != self.record:
            return False
        match part:
            case Comparison(
                sign="!=",
                left=Call(standard="generate-id", arguments=one),
                right=Call(standard="generate-id", arguments=other),
            ):
                origins = [self._origin(side[0]) if side else "focus" for side in (one, other)]
            case Call(standard="not", arguments=(Comparison(sign="is", left=left, right=right),)):
                origins = [self._origin(left), self._origin(right)]
            case _:
                return False
        return sorted(origins) == ["current", "focus"]

    def _origin(self, expression: Expression) -> str:
        path = self.reader.read(expression)
        return "" if path.steps else path.origin

    def _join(self, part: Expression, focus: Spot) -> tuple[Key, Key] | None:
        if not (isinstance(part, Comparison) and part.sign in ("=", "eq")):
            return None
        try:
            keys = [self.key(side, focus) for side in (part.left, part.right)]
        except NotAcross:
            return None
        other = [key for key, own in keys if not own]
        mine = [key for key, own in keys if own]
        if len(other) != 1 or not self.comparable(other[0], mine[0]):
            return None
        if "number" in (other[0].kind, mine[0].kind):
            # XPath 1.0 reads a node as number where it is compared with one
            return replace(other[0], kind="number"), replace(mine[0], kind="number")
        return other[0], mine[0]

    def comparable(self, one: Key, two: Key) -> bool:
        """Whether two keys are compared as texts, or both as numbers."""
        numbers = [key.kind == "number" for key in (one, two)]
        if self.version == "1.0" and any(numbers):
            return all(key.kind in ("number", "node") for key in (one, two))
        return numbers[0] == numbers[1]

    def key(self, expression: Expression, focus: Spot | None) -> tuple[Key, bool]:
        """Return the key that an expression is, and whether it is one of the record at hand.

        Raises
        ------
        NotAcross
            It is something else.
        """
        if not isinstance(expression, Call) or expression.standard in ("", "current"):
            return self._node(expression, focus)
        name, arguments = expression.standard, expression.arguments
        if name == "concat":
            return self._concat(arguments, focus)
        if name not in _KINDS or len(arguments) > 1:
            raise NotAcross(f"{name}(), which is no key")
        if arguments:
            key, own = self.key(arguments[0], focus)
        else:
            key, own = self._spot(Own(focus or self.base), own=focus is None)
        if key.kind != "node":
            raise NotAcross("a key of a key")
        return replace(key, kind=_KINDS[name]), own  # type: ignore[arg-type]

    def _node(self, expression: Expression, focus: Spot | None) -> tuple[Key, bool]:
        path = self.reader.read(expression)
        own = focus is None or path.origin in ("current", "variable")
        value = self.nodes(path, None if own else focus)
        if isinstance(value, Key):
            return value, True
        if isinstance(value, Selection):
            raise NotAcross("a comparison with all records")
        return self._spot(value, own=own)

    def _spot(self, value: Own, *, own: bool) -> tuple[Key, bool]:
        if value.spot.field is None:
            raise NotAcross("a record is compared, not a field")
        return Key("node", (value.spot.field,)), own

    def _concat(self, arguments: tuple[Expression, ...], focus: Spot | None) -> tuple[Key, bool]:
        parts: list[int | Word] = []
        sides: set[bool] = set()
        for argument in arguments:
            if isinstance(argument, Literal) and isinstance(argument.value, str):
                parts.append(Word(argument.value))
                continue
            key, own = self.key(argument, focus)
            if key.kind not in ("node", "string"):
                raise NotAcross("a concat() of more than fields")
            parts += key.parts
            sides.add(own)
        if len(sides) != 1:
            raise NotAcross("a concat() of two records")
        return Key("concat", tuple(parts)), sides.pop()


def _conjuncts(expression: Expression) -> list[Expression]:
    if isinstance(expression, Connective) and expression.sign == "and":
        return [part for operand in expression.operands for part in _conjuncts(operand)]
    return [expression]


def _single(spots: list[Spot], step: PathStep) -> Spot:
    return _only(spots, f"{step.axis}::{step.tag}")


def _only[T](found: list[T], what: str) -> T:
    if len(found) != 1:
        raise NotAcross(f"{what} leads to {'no' if not found else 'more than one'} place of the records")
    return found[0]
