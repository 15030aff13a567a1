"""Paths and keys to what they mean: nodes of the record at hand, or a selection of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from masktron.judge.across.paths import Map, PathStep, Spot, step_of
from masktron.judge.across.selection import (
    POSITION,
    Join,
    Key,
    NotAcross,
    Predicate,
    RecordSource,
    Selection,
    Sign,
    Word,
)
from masktron.rulebook.context_match import may_be_positional
from masktron.rulebook.expressions.tree import (
    GENERAL_OF_VALUE,
    GENERAL_SIGNS,
    MIRRORED,
    Call,
    Comparison,
    Connective,
    ContextItem,
    Expression,
    Filter,
    Literal,
    Path,
    Root,
    Step,
    Variable,
    parts_of,
    walk,
)
from masktron.rulebook.schema import XPathVersion

_KINDS = {"string": "string", "normalize-space": "normal", "number": "number"}
_SIBLINGS: Mapping[str, Sign] = {"preceding-sibling": "<", "following-sibling": ">"}
_BESIDE: Mapping[str, Sign] = {"preceding": "<", "following": ">"}
SIGNS: Mapping[str, Sign] = {**{sign: sign for sign in GENERAL_SIGNS}, **GENERAL_OF_VALUE}


@dataclass(frozen=True, slots=True)
class RecordNode:
    """A node of the record at hand or above it; `other` of the record that a condition is about."""

    spot: Spot
    other: bool = False
    source: RecordSource = "file"


type Operand = RecordNode | Selection | Key
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
    beside : frozenset of str
        Names of documents that are not the original: nothing is gathered there.
    variables : mapping of str to Operand or None
        None for those that are local to a record, or not understood.
    shared : frozenset of str
        Variables that are the same for all records, so that conditions on other records may read them.
    scope : int
        Position of the pattern; -1 outside all patterns.
    focus : RecordNode, optional
        The context item, where that is no node of the record at hand.
    """

    version: XPathVersion
    maps: Mapping[RecordSource, Map]
    base: Spot
    beside: frozenset[str] = frozenset()
    variables: Mapping[str, Operand | None] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    scope: int = -1
    focus: RecordNode | None = None

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
            return self.key(expression)[0]
        return self.nodes(expression)

    def known(self, expression: Expression) -> Operand | None:
        """Return what an expression stands for; None where that is not understood."""
        try:
            return self.value(expression)
        except NotAcross:
            return None

    def selection(self, expression: Expression) -> Selection | None:
        """Return the other records that an expression selects; None where it is something else."""
        value = self.known(expression)
        return value if isinstance(value, Selection) else None

    def nodes(self, expression: Expression) -> Operand:  # noqa: PLR0911, PLR0912 -- one branch per kind of path
        """Return the nodes of a path.

        Raises
        ------
        NotAcross
            It is no path, or leads to nodes that are not understood.
        """
        match expression:
            case Root():
                return RecordNode(Spot(0))
            case Path(first=first, hops=hops):
                state = self.nodes(first)
                for hop in hops:
                    state = self._step(state, hop.to, gap=hop.deep)
                return state
            case Filter(base=base, predicates=predicates):
                if any(map(may_be_positional, predicates)):
                    raise NotAcross("a condition that may be a position among nodes of several steps")
                return self._filtered(self.nodes(base), predicates)
            case Variable(name=name):
                known = self.variables.get(name)
                if known is None:
                    raise NotAcross(f"${name} is not known to select nodes of other records")
                return known
            case Call(standard="document" | "doc", arguments=(where, *_)):
                if isinstance(where, Literal) and where.value in self.beside:
                    raise NotAcross("another document than the original")
                if "original" not in self.maps:
                    raise NotAcross("the original is not read as a table")
                return RecordNode(Spot(0), source="original")
            case Call(standard="current"):
                return RecordNode(self.base)
            case ContextItem():
                return self.focus or RecordNode(self.base)
            case _:
                return self._step(self.focus or RecordNode(self.base), expression, gap=False)

    def _step(self, state: Operand, expression: Expression, *, gap: bool) -> RecordNode | Selection:
        step, predicates = step_of(expression, gap=gap)
        match state:
            case Key():
                raise NotAcross("a step from a text")
            case Selection():
                reached: RecordNode | Selection = self._inside(state, step)
            case RecordNode():
                reached = self._from_node(state, step)
        return self._filtered(reached, predicates, beside=step.axis in (*_SIBLINGS, *_BESIDE))

    def _filtered(
        self, state: Operand, predicates: tuple[Expression, ...], *, beside: bool = False
    ) -> RecordNode | Selection:
        for predicate in predicates:
            if not isinstance(state, Selection):
                raise NotAcross("a condition on nodes of the record at hand")
            nth = _position(predicate)
            if not nth:
                state = self.where(state, predicate)
            elif state.nth or state.target is not None or (state.order is not None and not beside):
                raise NotAcross("a position among fields, or among records in another order")
            else:
                state = replace(state, nth=nth)
        if isinstance(state, Key):
            raise NotAcross("a text where nodes are asked for")
        return state

    def _inside(self, selection: Selection, step: PathStep) -> Selection:
        map_ = self.maps[selection.source]
        to = map_.walk(Spot(map_.record.level, selection.target), step)
        if to.level != map_.record.level:
            raise NotAcross("a path that leaves the records again")
        if to.field is None and selection.target is not None:
            raise NotAcross("a step back from a field")
        return replace(selection, target=to.field)

    def _from_node(self, node: RecordNode, step: PathStep) -> RecordNode | Selection:
        map_ = self.maps[node.source]
        if step.axis in _SIBLINGS:
            if node.spot != map_.record or step.gap:
                raise NotAcross(f"the axis {step.axis} from another node than a record")
            beside = any(not name.startswith("@") for name in map_.outside)
            if step.tag != map_.layout.record_tag and (step.tag != "*" or beside):
                raise NotAcross(f"{step.axis}::{step.tag}, which is not all records")
            return self._reached(node, None, _SIBLINGS[step.axis])
        if step.axis in _BESIDE:
            return self._reached(node, self._beside(node.spot, step, map_), _BESIDE[step.axis])
        if step.axis == "ancestor":
            path = map_.layout.record_path
            levels = [i + 1 for i, tag in enumerate(path[: node.spot.level]) if tag == step.tag]
            to = Spot(step.only([one for one in levels if node.spot.field is not None or one < node.spot.level]))
        else:
            to = map_.walk(node.spot, step)
        if node.spot.level < map_.record.level == to.level:
            return Selection(node.source, to.field, self.version)
        return replace(node, spot=to)

    def _reached(self, node: RecordNode, target: int | None, sign: Sign) -> Selection:
        if node.other:
            raise NotAcross("what stands beside another record")
        return Selection(node.source, target, self.version, joins=(Join(POSITION, sign, POSITION),))

    def _beside(self, spot: Spot, step: PathStep, map_: Map) -> int | None:
        if spot.level != map_.record.level or step.gap or step.tag in map_.outside:
            raise NotAcross(f"the axis {step.axis}")
        if step.tag == map_.layout.record_tag:
            return None
        at = step.only([i for i, f in enumerate(map_.layout.fields) if not f.attribute and f.tag == step.tag])
        if spot.field not in (None, at):
            raise NotAcross(f"{step.axis}::{step.tag} may be in the record at hand")
        return at

    def where(self, selection: Selection, condition: Expression, name: str = "") -> Selection:
        """Return the nodes of a selection on which a condition holds.

        Parameters
        ----------
        name : str
            Of the variable that stands for each of the nodes; without it they are the context item.

        Raises
        ------
        NotAcross
        """
        if selection.nth:
            raise NotAcross("a condition on a record that is chosen by its position")
        node = RecordNode(Spot(self.maps[selection.source].record.level, selection.target), True, selection.source)
        within = self.bind(name, node) if name else replace(self, focus=node)
        for part in _conjuncts(condition):
            joined = within._other(part) or within._join(part)
            if joined is None:
                predicate = within._alone(part, selection.target, name)
                selection = replace(selection, where=(*selection.where, predicate))
            elif POSITION in (joined.other, joined.own) and selection.source != "file":
                raise NotAcross("the position of records of another file")
            else:
                selection = selection.joined(joined)
        return selection

    def _alone(self, part: Expression, target: int | None, name: str) -> Predicate:
        """Return a condition that reads the other record alone."""
        for one in walk(part):
            if isinstance(one, Call) and one.standard == "current":
                raise NotAcross("a condition with current() that is no plain comparison")
            if isinstance(one, Variable) and one.name not in (*self.shared, name):
                raise NotAcross(f"a condition with ${one.name} that is no plain comparison")
        if name and not _reads_only(part, name):
            raise NotAcross(f"a condition on ${name} that is no plain comparison")
        if not name and may_be_positional(part):
            raise NotAcross("a condition that may be a position")
        return Predicate(part.text, target, self.scope, name)

    def _other(self, part: Expression) -> Join | None:
        """Return that another record is meant, or one before: ``generate-id() != generate-id(current())``."""
        match part:
            case Comparison(
                sign="!=",
                left=Call(standard="generate-id", arguments=one),
                right=Call(standard="generate-id", arguments=two),
            ):
                sides, sign = [*(one or [ContextItem("", 0, 0)]), *(two or [ContextItem("", 0, 0)])], "!="
            case Call(standard="not", arguments=(Comparison(sign="is", left=left, right=right),)):
                sides, sign = [left, right], "!="
            case Comparison(sign="<<" | ">>" as order, left=left, right=right):
                sides, sign = [left, right], order[:1]
            case _:
                return None
        nodes = [self.nodes(side) for side in sides]
        record = self.maps["file"].record
        others = [isinstance(node, RecordNode) and node.spot == record and node.other for node in nodes]
        mine = [node == RecordNode(record) for node in nodes]
        if not (any(others) and any(mine)):
            return None
        return Join(POSITION, SIGNS[sign] if others[0] else MIRRORED[sign], POSITION)

    def _join(self, part: Expression) -> Join | None:
        if not (isinstance(part, Comparison) and part.sign in SIGNS):
            return None
        try:
            sides = [self.key(side) for side in (part.left, part.right)]
        except NotAcross:
            return None
        if sides[0][1] == sides[1][1]:
            return None
        (other, is_other), (own, _) = sides
        sign = SIGNS[part.sign]
        return self._compared(other, sign, own) if is_other else self._compared(own, MIRRORED[sign], other)

    def _compared(self, other: Key, sign: Sign, own: Key) -> Join | None:
        """Return a comparison of two keys, as texts or as numbers; None where it is neither for sure."""
        numbers = [key.kind == "number" for key in (other, own)]
        if self.version == "1.0" and (any(numbers) or sign not in ("=", "!=")):
            # XPath 1.0 reads a node as number where it is compared with one, or ordered
            if any(key.kind not in ("number", "node") for key in (other, own)):
                return None
            other, own = replace(other, kind="number"), replace(own, kind="number")
        elif any(numbers) and not all(numbers):
            return None
        if sign == "!=" and other.kind == "number":
            return None
        return Join(other, sign, own)

    def key(self, expression: Expression) -> tuple[Key, bool]:
        """Return the key that an expression is, and whether it is one of another record.

        Raises
        ------
        NotAcross
            It is something else.
        """
        if not isinstance(expression, Call) or expression.standard in ("", "current"):
            return self._node(self.nodes(expression))
        name, arguments = expression.standard, expression.arguments
        if name == "concat":
            return self._concat(arguments)
        if name not in _KINDS or len(arguments) > 1:
            raise NotAcross(f"{name}(), which is no key")
        key, other = self.key(arguments[0]) if arguments else self._node(self.focus or RecordNode(self.base))
        if key.kind != "node":
            raise NotAcross("a key of a key")
        return replace(key, kind=_KINDS[name]), other  # type: ignore[arg-type]

    def _node(self, value: Operand) -> tuple[Key, bool]:
        match value:
            case Key():
                return value, False
            case Selection():
                raise NotAcross("a comparison with all records")
            case RecordNode(spot=Spot(field=None)):
                raise NotAcross("a record is compared, not a field")
            case RecordNode(spot=Spot(field=int(at)), other=other):
                return Key("node", (at,)), other
        raise AssertionError(value)

    def _concat(self, arguments: tuple[Expression, ...]) -> tuple[Key, bool]:
        parts: list[int | Word] = []
        sides: set[bool] = set()
        for argument in arguments:
            if isinstance(argument, Literal) and isinstance(argument.value, str):
                parts.append(Word(argument.value))
                continue
            key, other = self.key(argument)
            if key.kind not in ("node", "string"):
                raise NotAcross("a concat() of more than fields")
            parts += key.parts
            sides.add(other)
        if len(sides) != 1:
            raise NotAcross("a concat() of two records")
        return Key("concat", tuple(parts)), sides.pop()


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Connective) and expression.sign == "and":
        for operand in expression.operands:
            yield from _conjuncts(operand)
    else:
        yield expression


def _position(predicate: Expression) -> int:
    """Return which node a predicate chooses, -1 for the last; 0 where it is no position."""
    match predicate:
        case Literal(value=int(nth)) if nth > 0:
            return nth
        case Call(standard="last"):
            return -1
        case Comparison(sign="=" | "eq", left=Call(standard="position"), right=nth):
            return _position(nth)
    return 0


def _reads_only(expression: Expression, name: str) -> bool:
    """Whether all paths of an expression begin at a variable."""
    match expression:
        case Path(first=Variable(name=first)):
            return first == name
        case Root() | Step() | ContextItem() | Path() | Call(arguments=()):
            return False
        case _:
            return all(_reads_only(part, name) for part in parts_of(expression))
