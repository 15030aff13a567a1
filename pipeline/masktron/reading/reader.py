"""From the tree of an expression to what it says of a record.

The reader knows the node in focus: the record, one of its fields, the document root, or nodes of other records. A
path is followed step by step from there; a step that leads where nothing can be said any more makes the whole path
`Unknown`, with its source and the fields that it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from math import isfinite

from masktron.errors import RulebookError
from masktron.reading.nodes import (
    And,
    Arithmetic,
    Boolean,
    Call,
    Cast,
    Castable,
    Comparison,
    ComparisonOperator,
    ContextRecord,
    Expression,
    FieldRef,
    If,
    Negative,
    Not,
    Number,
    Or,
    OtherDocument,
    OtherField,
    OtherNodes,
    Quantified,
    Sequence,
    Span,
    Text,
    Unknown,
    VariableReference,
    fields_of,
)
from masktron.rulebook.context_paths import names_of
from masktron.rulebook.expressions import tree
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.spacing import as_written, without_predicates
from masktron.rulebook.expressions.words import STANDARD_NAMESPACES

_COMPARISONS: Mapping[str, tuple[ComparisonOperator, bool]] = {
    **{sign: (sign, True) for sign in tree.GENERAL_SIGNS},
    **{name: (sign, False) for name, sign in tree.GENERAL_OF_VALUE.items()},
}
_BESIDE = frozenset({"preceding-sibling", "following-sibling"})
_OUTSIDE_AXES = tree.SIDEWAYS | {"ancestor", "ancestor-or-self"}
_OUTSIDE_CALLS = frozenset({"key", "id", "root", "collection", "doc", "document", "idref"})
_TYPES = STANDARD_NAMESPACES["xs"]
_MAX_CASES = 4096


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression is read against.

    Attributes
    ----------
    focus : ContextRecord, FieldRef, OtherNodes or OtherField
        The context node: the record, a field of it, nodes outside the record (the root or other records).
    variables : mapping of str to Expression
        Values of the variables in scope.
    namespaces : tuple of (prefix, uri)
        Of the rulebook.
    record_names : frozenset of str
        Local names that record elements have.
    base : same as focus
        What ``current()`` is.
    """

    focus: Expression = field(default_factory=ContextRecord)
    variables: Mapping[str, Expression] = field(default_factory=dict)
    namespaces: tuple[tuple[str, str], ...] = ()
    record_names: frozenset[str] = frozenset()
    base: Expression = field(default_factory=ContextRecord)

    def at(self, focus: Expression) -> Scope:
        """Return the scope inside an expression, with another context node."""
        return replace(self, focus=focus)

    def starting_at(self, focus: Expression) -> Scope:
        """Return the scope of expressions that are evaluated at a node."""
        return replace(self, focus=focus, base=focus)

    def bind(self, name: str, value: Expression) -> Scope:
        """Return the scope with one more variable."""
        return replace(self, variables={**self.variables, name: value})


ROOT = OtherNodes("/", None, "", None)
"""Focus of expressions that are evaluated at the document root."""


def read(source: str, scope: Scope) -> Expression:
    """Say what an expression reads and asks.

    Parameters
    ----------
    source : str
    scope : Scope

    Raises
    ------
    RulebookError
        The expression is not XPath, or nested too deeply.
    """
    node = parsed(source, scope.namespaces)
    try:
        return read_node(node, scope)
    except RecursionError as error:
        shown = repr(f"{source.strip()[:60]} ...")
        raise RulebookError.of("xpath-error", expression=shown, reason="it is nested too deeply") from error


def read_node(node: tree.Expression, scope: Scope) -> Expression:
    """Say what part of an expression reads and asks; `Unknown` where that cannot be said."""
    found = _known(node, scope)
    return unknown(node, scope) if found is None else found


def _known(node: tree.Expression, scope: Scope) -> Expression | None:  # noqa: PLR0911, PLR0912 -- one branch per kind
    match node:
        case tree.Literal(value=value):
            return _literal(value)
        case tree.Variable(name=name):
            return scope.variables.get(name, VariableReference(name))
        case tree.Negation(sign=sign, operand=operand):
            found = read_node(operand, scope)
            return Negative(found) if sign == "-" else found
        case tree.Arithmetic(sign=operation, operands=operands):
            return reduce(lambda left, right: Arithmetic(operation, left, right), _all(operands, scope))
        case tree.Connective(sign=sign, operands=operands):
            parts = tuple(_all(operands, scope))
            return And(parts) if sign == "and" else Or(parts)
        case tree.Comparison() if _is_chained(node):
            return None  # whether this is an expression at all depends on the version of XPath
        case tree.Comparison(sign=sign, left=left, right=right) if sign in _COMPARISONS:
            operator, general = _COMPARISONS[sign]
            return Comparison(operator, read_node(left, scope), read_node(right, scope), general)
        case tree.NodeSet(sign="|", operands=operands):
            return _union(_flat(_all(operands, scope)))
        case tree.Sequence(items=items):
            return Sequence(_flat(_all(items, scope)))
        case tree.Concatenation(operands=operands):
            return Call("concat", tuple(_all(operands, scope)))
        case tree.Range(low=low, high=high):
            return Span(read_node(low, scope), read_node(high, scope))
        case tree.If(condition=condition, then=then, otherwise=otherwise):
            return If(*_all((condition, then, otherwise), scope))
        case tree.Typed(kind="treat", operand=operand):
            return read_node(operand, scope)
        case tree.Typed(kind="cast", operand=operand, type=tree.TypeName(local=local, space=space)):
            return Cast(local, read_node(operand, scope)) if space == _TYPES else None
        case tree.Typed(kind="castable", operand=operand, type=tree.TypeName(local=local, space=space) as target):
            optional = target.occurrence == "?"
            return Castable(local, read_node(operand, scope), optional) if space == _TYPES else None
        case tree.Binding():
            return _binding(node, scope)
        case tree.SimpleMap(items=items, to=to):
            each = read_node(items, scope)
            return _from_each(each, to, scope) if isinstance(each, FieldRef | ContextRecord) else None
        case tree.Call():
            return _call(node, scope)
        case tree.Root():
            return ROOT
        case tree.Path(first=first, hops=hops):
            return _path(read_node(first, scope), hops, scope)
        case tree.Step() | tree.ContextItem():
            return _step(scope.focus, "/", node, scope)
        case tree.Filter(base=base, predicates=predicates):
            return _filtered(read_node(base, scope), predicates, as_written(node), scope)
        case _:
            return None


def _is_chained(node: tree.Comparison) -> bool:
    """Whether an operand is a comparison without parentheses."""
    return any(isinstance(one, tree.Comparison) and one.start == one.left.start for one in (node.left, node.right))


def _all(nodes: Iterable[tree.Expression], scope: Scope) -> list[Expression]:
    return [read_node(node, scope) for node in nodes]


def _literal(value: str | int | Decimal | float) -> Expression | None:
    match value:
        case str():
            return Text(value)
        case float():
            return Number(Fraction(repr(value))) if isfinite(value) else None
        case _:
            return Number(Fraction(value))


def _flat(parts: Iterable[Expression]) -> tuple[Expression, ...]:
    items: list[Expression] = []
    for part in parts:
        items.extend(part.items if isinstance(part, Sequence) else (part,))
    return tuple(items)


def _union(items: tuple[Expression, ...]) -> Expression | None:
    beside = {item.field for item in items if isinstance(item, OtherNodes) and item.field is not None}
    if not all(isinstance(item, FieldRef) for item in items) and len(beside) < len(items):
        return None
    return Sequence(tuple(dict.fromkeys(items)), union=True)


def _call(call: tree.Call, scope: Scope) -> Expression | None:  # noqa: PLR0911 -- one per function
    arguments = tuple(_all(call.arguments, scope))
    if call.space == _TYPES:
        return Cast(call.name, *arguments) if len(arguments) == 1 else None
    if not call.standard and not call.prefix:
        return None
    match _name_of(call), arguments:
        case (("true" | "false") as name, ()):
            return Boolean(name == "true")
        case "not", (operand,):
            return Not(operand)
        case "current", ():
            return scope.base
        case (("document" | "doc"), (Text(value=uri), *_)):
            return OtherDocument(uri)
        case (("number" | "string" | "normalize-space" | "string-length" | "data") as name, ()):
            return Call(name, (scope.focus,)) if isinstance(scope.focus, FieldRef | OtherField) else None
        case (("position" | "last" | "name" | "local-name" | "node-name" | "root" | "key" | "collection"), _):
            return None
        case (("document" | "doc"), _):
            return None
        case name, _:
            return Call(name, arguments)


def _name_of(call: tree.Call) -> str:
    return call.standard or f"{call.prefix}:{call.name}"


# --- variables ---------------------------------------------------------------------------------------------------


def _items(expression: Expression) -> tuple[Expression, ...] | None:
    """Items of an explicit sequence; None where they are not known."""
    match expression:
        case Sequence(items=items):
            return items
        case Span(low=Number(value=low), high=Number(value=high)) if high - low < _MAX_CASES:
            return tuple(Number(Fraction(value)) for value in range(int(low), int(high) + 1))
        case Span() | Unknown() | VariableReference():
            return None
        case _:
            return (expression,)


def _binding(node: tree.Binding, scope: Scope) -> Expression | None:
    if node.kind == "let":
        for name, value in node.bound:
            scope = scope.bind(name, read_node(value, scope))
        return read_node(node.body, scope)
    combinations = _combinations(node, scope)
    if combinations is None:
        return None
    if node.kind == "for":
        known = all(isinstance(value, Number | Text) for values, _ in combinations for value in values)
        return Sequence(_flat(read_node(node.body, inner) for _, inner in combinations)) if known else None
    every = node.kind == "every"
    cases = []
    for values, inner in combinations:
        body = read_node(node.body, inner)
        for extra in values[:0:-1]:
            body = Quantified(every, ((extra, body),))
        cases.append((values[0], body))
    return Quantified(every, tuple(cases))


def _combinations(node: tree.Binding, scope: Scope) -> list[tuple[tuple[Expression, ...], Scope]] | None:
    """Every combination of the values of the range variables, with the scope that it makes."""
    combinations: list[tuple[tuple[Expression, ...], Scope]] = [((), scope)]
    for name, domain in node.bound:
        grown = []
        for values, inner in combinations:
            items = _items(read_node(domain, inner))
            if items is None or len(combinations) * len(items) > _MAX_CASES:
                return None
            grown += [((*values, item), inner.bind(name, item)) for item in items]
        combinations = grown
    return combinations


# --- paths -------------------------------------------------------------------------------------------------------


def _path(found: Expression | None, hops: Iterable[tree.Hop], scope: Scope) -> Expression | None:
    """Follow a path from where it begins."""
    for hop in hops:
        if found is None:
            return None
        found = _step(found, "//" if hop.deep else "/", hop.to, scope)
    return found


def _step(  # noqa: PLR0911 -- one branch per kind of node and step
    node: Expression, separator: str, to: tree.Expression, scope: Scope
) -> Expression | None:
    if isinstance(node, OtherDocument):
        node = OtherNodes(f"document('{node.uri}')", node.uri, "", None)
    match node, to:
        case ((FieldRef() | ContextRecord()), tree.Call()):
            return _from_each(node, to, scope)
        case ContextRecord(), tree.Step():
            return _from_record(to, scope)
        case FieldRef(), tree.Step(predicates=()):
            return _from_field(node, to, scope)
        case OtherField(name="."), tree.Step(predicates=()):
            return _from_other(to)
        case ((ContextRecord() | FieldRef() | OtherField(name=".")), tree.ContextItem()):
            return node
        case OtherNodes(), tree.Call():
            return _applied(node, to, scope)
        case OtherNodes(), (tree.Step() | tree.ContextItem()):
            return _extend(node, separator, to, scope)
        case _:
            return None


def _from_each(node: FieldRef | ContextRecord, to: tree.Expression, scope: Scope) -> Expression:
    """``A/f()`` and ``A ! (...)``: from a field that may not be there, the empty sequence where it is not."""
    found = read_node(to, scope.at(node))
    if isinstance(node, ContextRecord) or node in (scope.focus, scope.base, found):
        return found
    return If(Call("exists", (node,)), found, Sequence(()))


def _filtered(
    nodes: Expression, predicates: tuple[tree.Expression, ...], source: str, scope: Scope
) -> Expression | None:
    """``(path)[predicate]`` or ``$nodes[predicate]``, on nodes outside the record."""
    if not isinstance(nodes, OtherNodes):
        return None
    return replace(nodes, source=source, where=(*nodes.where, *_where(predicates, scope)))


def _where(predicates: Iterable[tree.Expression], scope: Scope) -> tuple[Expression, ...]:
    return tuple(_all(predicates, scope.at(OtherField("."))))


def _named(step: tree.Step) -> FieldRef | None:
    """Read a name test; None where it is a wildcard or a kind of node."""
    test = step.test
    if isinstance(test, tree.KindTest) or test.local == tree.ANY:
        return None
    return FieldRef(f"@{test.local}" if step.axis == "attribute" else test.local, test.space)


def _from_record(step: tree.Step, scope: Scope) -> Expression | None:
    if step.axis == "self":
        return None if step.predicates else ContextRecord()
    if step.axis == "parent" or step.axis in _OUTSIDE_AXES:
        path = without_predicates(step)
        return OtherNodes(as_written(step), None, path, _outside_field(step, scope), _where(step.predicates, scope))
    if step.axis not in ("child", "descendant", "attribute", "descendant-or-self"):
        return None
    found = _named(step)
    if found is None:
        return _by_local_name(step)
    return found if all(map(_is_first, step.predicates)) else None


def _is_first(predicate: tree.Expression) -> bool:
    """Whether a predicate is ``[1]``, which changes nothing where a field occurs once."""
    return isinstance(predicate, tree.Literal) and isinstance(predicate.value, int) and predicate.value == 1


def _by_local_name(step: tree.Step) -> FieldRef | None:
    """``*[local-name() = 'V1']``: a field in any namespace."""
    match step.test, step.predicates:
        case (
            tree.NameTest(local=tree.ANY, space=tree.ANY),
            (
                tree.Comparison(
                    sign="=" | "eq", left=tree.Call(arguments=()) as call, right=tree.Literal(value=str(name))
                )
                | tree.Comparison(
                    sign="=" | "eq", left=tree.Literal(value=str(name)), right=tree.Call(arguments=()) as call
                ),
            ),
        ) if call.standard == "local-name":
            return FieldRef(f"@{name}" if step.axis == "attribute" else name, "*")
        case _:
            return None


def _from_field(node: FieldRef, step: tree.Step, scope: Scope) -> Expression | None:
    match step.axis, step.test:
        case "self", _:
            return node
        case "parent", _:
            # up from a field that may not be there leads nowhere, not to the record
            return ContextRecord() if node in (scope.focus, scope.base) else None
        case "child", tree.KindTest(kind="text"):
            return replace(node, text=True)
        case _:
            return None


def _from_other(step: tree.Step) -> Expression | None:
    if step.axis == "self":
        return OtherField(".")
    found = _named(step) if step.axis in ("child", "attribute", "descendant") else None
    return OtherField(found.name) if found else None


def _outside_field(step: tree.Step, scope: Scope) -> str | None:
    found = _named(step)
    return found.name if found and found.name not in scope.record_names else None


def _extend(nodes: OtherNodes, separator: str, to: tree.Step | tree.ContextItem, scope: Scope) -> Expression | None:
    """Take one more step outside the record; None where a field that is read on the way would be forgotten."""
    name, where = nodes.field, tuple[Expression, ...]()
    if isinstance(to, tree.Step):
        if to.axis == "parent" and nodes.field is not None:
            return None
        if to.test != tree.KindTest("text"):
            name = _outside_field(to, scope)
        where = _where(to.predicates, scope)
    separator = separator if nodes.path or nodes.document or nodes.source == "/" else ""
    source = f"{'' if nodes.source == '/' else nodes.source}{separator}{as_written(to)}"
    path = f"{nodes.path}{separator}{without_predicates(to)}"
    return OtherNodes(source, nodes.document, path, name, (*nodes.where, *where))


def _applied(nodes: OtherNodes, call: tree.Call, scope: Scope) -> Expression | None:
    """``//Record/number(V1)`` and ``//V1/number()``: a function of each node, or of one field of it."""
    match call.arguments:
        case () | (tree.ContextItem(),):
            inner: Expression | None = nodes
        case (tree.Step() as step,):
            inner = _extend(nodes, "/", step, scope)
        case _:
            return None
    if inner is None:
        return None
    return Cast(call.name, inner) if call.space == _TYPES else Call(_name_of(call), (inner,))


# --- what is unknown ---------------------------------------------------------------------------------------------


def unknown(node: tree.Expression, scope: Scope) -> Unknown:  # noqa: PLR0912 -- one branch per kind of node
    """Say what can be read by an expression of which nothing else is said."""
    parts = list(tree.walk(node))
    in_field, at_record = isinstance(scope.focus, FieldRef), isinstance(scope.focus, ContextRecord)
    filtered = any(
        isinstance(part, tree.Filter) or (isinstance(part, tree.Step) and part.predicates) for part in parts
    )
    leaves = not in_field or any(map(_leads_away, parts))  # what stands in a field is no field of the record
    names: set[str] = set()
    everything, outside = False, isinstance(scope.focus, OtherNodes)
    for part in parts:
        match part:
            case tree.Variable(name=name):
                value = scope.variables.get(name)
                outside |= isinstance(value, OtherNodes)
                names |= fields_of(value) if value is not None else set()
            case tree.Step(axis="attribute", test=tree.NameTest(local=local)) if local != tree.ANY and not in_field:
                names.add(f"@{local}")
            case tree.Step(axis="attribute"):
                everything = True  # attributes of fields are in no column
            case tree.ContextItem():
                everything |= at_record and not filtered
            case tree.Step(axis="parent", test=tree.KindTest()):
                pass
            case tree.Step(axis=axis, test=test):
                # which fields stand before and behind, only the record itself can tell
                beside = in_field and axis in _BESIDE
                everything |= beside or _takes_any(test)
                outside |= axis in _OUTSIDE_AXES and not beside
                if isinstance(test, tree.NameTest) and test.local not in scope.record_names | {tree.ANY}:
                    names.update({test.local} if leaves else ())
            case tree.Root():
                outside = True
            case tree.Call(standard="position" | "last"):
                outside |= not filtered
            case tree.Call(standard="name" | "local-name"):
                everything = True
            case tree.Call(standard=standard):
                outside |= standard in _OUTSIDE_CALLS
            case _:
                pass
    if isinstance(scope.focus, FieldRef):
        names.add(scope.focus.name)  # nothing is found from a field that is not there
    named, sought = tuple(sorted(names)), {name.local for name in names_of(node)}
    asked = tuple(name for name in named if name.lstrip("@") in sought)
    elsewhere = any(map(tree.is_document, parts))
    return Unknown(_plain_source(node, scope), named, everything, outside, asked, elsewhere)


def _takes_any(test: tree.NameTest | tree.KindTest) -> bool:
    if isinstance(test, tree.KindTest):
        return test.kind not in ("text", "comment", "processing-instruction")
    return test.local == tree.ANY


def _leads_away(part: tree.Expression) -> bool:
    """Whether a part of an expression leads from a field to others."""
    match part:
        case tree.Step(axis=axis):
            return axis == "parent" or axis in _OUTSIDE_AXES
        case tree.Call(standard=standard):
            return standard in _OUTSIDE_CALLS
        case _:
            return isinstance(part, tree.Root)


def _plain_source(node: tree.Expression, scope: Scope) -> str:
    """Return the source without namespace prefixes, and from the record where the focus is a field."""
    source = as_written(node, without={prefix for prefix, _ in scope.namespaces} - STANDARD_NAMESPACES.keys())
    if not isinstance(scope.focus, FieldRef):
        return source
    # what is no path has no such spelling in XPath 1.0
    name = f"{scope.focus.name}/text()" if scope.focus.text else scope.focus.name
    first = node.first if isinstance(node, tree.Path) else node
    relative = isinstance(first, tree.Step | tree.ContextItem) and not source.startswith("(")
    return f"{name}/{source}" if relative else f"{name} ! ({source})"
