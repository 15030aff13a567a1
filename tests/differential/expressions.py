"""Random expressions: typed so that most mean something, over the operators and functions that data edits use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from differential.data import Column, Table
from differential.tree import Expr, Kind, expr, leaf

type Node = Literal["record", "field", "attribute", "document"]
type Maker = Callable[["Words"], Expr]

_NUMERIC = frozenset({"integer", "decimal", "amount", "odd"})
_PATTERNS = (
    "^[0-9]+$",
    "[a-c]",
    "^-?\\d+(\\.\\d+)?$",
    "^A",
    "b$",
    "\\s",
    "^.{1,3}$",
    "^$",
    "^(a|b|1)$",
    "[^0-9.]",
    "\\p{L}",
)
_TYPES = ("xs:integer", "xs:decimal", "xs:double", "xs:date", "xs:string", "xs:boolean", "xs:nonNegativeInteger")


@dataclass(frozen=True, slots=True)
class Words:
    """What the generator of one expression knows.

    Attributes
    ----------
    node : str
        Where the expression is evaluated.
    own : Column, optional
        The field that is the context node.
    lets : mapping of str to kind
        Variables in scope, the numeric ones of `for` among them.
    depth : int
        How many levels may still be opened.
    wild : float
        Share of operands that are taken without a guard, so that dynamic errors arise.
    """

    rng: Random
    table: Table
    version: str
    node: Node = "record"
    own: Column | None = None
    lets: Mapping[str, Kind] | None = None
    depth: int = 3
    wild: float = 0.1
    current: str = ""
    """In a predicate: the way from ``current()`` to the record, if it is an element."""
    featured: tuple[Maker, ...] = ()
    """What this file has more of than others, so that everything is had often by some."""
    context: bool = False
    """Whether this is a predicate of a context, where ``current()`` is not written."""

    @property
    def two(self) -> bool:
        """Whether XPath 2 or later is written."""
        return self.version != "1.0"

    def deeper(self) -> Words:
        """Return the words for an operand."""
        return replace(self, depth=self.depth - 1)

    def boolean(self) -> Expr:
        """Return a condition."""
        return self._pick(_BOOLEANS, _BOOLEANS_2, _FLAT_BOOLEANS)

    def number(self) -> Expr:
        """Return a number."""
        return self._pick(_NUMBERS, _NUMBERS_2, _FLAT_NUMBERS)

    def string(self) -> Expr:
        """Return a string."""
        return self._pick(_STRINGS, _STRINGS_2, _FLAT_STRINGS)

    def items(self) -> Expr:
        """Return a sequence, in XPath 2 and later."""
        featured = [maker for maker in self.featured if maker in _ITEMS]
        return self.rng.choice(featured if featured and self.rng.random() < 0.5 else _ITEMS)(self.deeper())

    def _pick(self, both: tuple[Maker, ...], later: tuple[Maker, ...], flat: tuple[Maker, ...]) -> Expr:
        if self.depth <= 0 or self.rng.random() < 0.08:
            return self.rng.choice(flat)(self)
        choices = later if self.two and self.rng.random() < 0.45 else both
        featured = [maker for maker in self.featured if maker in both or (self.two and maker in later)]
        if featured and self.rng.random() < 0.3:
            choices = tuple(featured)
        made = self.rng.choice(choices)(self.deeper())
        if made.labels and made.labels[0].startswith("3.1:") and self.version != "3.1":
            return self.rng.choice(both)(self.deeper())
        return made

    # fields

    def column(self, *kinds: str) -> Column:
        """Return a field, of one of the kinds if there is one."""
        wanted = [c for c in self.table.columns if c.kind in kinds]
        return self.rng.choice(wanted or list(self.table.columns))

    def name(self, column: Column) -> str:
        """Return the name test of a field."""
        if column.attribute:
            return f"@{column.name}"
        return column.name if self.table.naming == "none" else f"d:{column.name}"

    def field(self, *kinds: str) -> Expr:
        """Return a path to a field."""
        if self.node == "document":
            return expr("nodes", "//", f"//{self.name(self.column(*kinds))}")
        if self.own is not None and self.rng.random() < 0.5:
            return expr("nodes", ".", ".")
        column = self.column(*kinds)
        name = self.name(column)
        if self.current and self.rng.random() < 0.3:
            return expr("nodes", "current", f"{self.current}{name}")
        up = "" if self.node == "record" else "../"
        roll = self.rng.random()
        if roll < 0.8:
            return expr("nodes", "../" if up else ("@" if column.attribute else "child"), f"{up}{name}")
        if roll > 0.97:
            current = {"record": "current()/", "field": "current()/../"}.get(self.node, "")
            current = "" if self.current or self.context else current
            inner = replace(self, node="field", own=column, depth=min(self.depth, 1), current=current).boolean()
            return expr("nodes", "[predicate]", f"{up}{name}[", inner, "]")
        return self._other_path(column, name, up)

    def _other_path(self, column: Column, name: str, up: str) -> Expr:
        place = self.rng.choice(("1", "last()", "position() = 1", "2"))
        paths = [("./", f"./{up}{name}"), ("[position]", f"{up}{name}[{place}]")]
        if not column.attribute:
            paths += [
                ("child::", f"{up}child::{name}"),
                ("*[name()] name", f"{up}*[name() = '{name}']"),
                ("*[local-name()] local-name", f"{up}*[local-name() = '{column.name}']"),
                ("text()", f"{up}{name}/text()"),
            ]
        label, path = self.rng.choice(paths)
        return expr("nodes", label, path)

    def guarded(self) -> Expr:
        """Return a field as a number: by `number()` mostly, since text is an error in XPath 2."""
        path = self.field(*_NUMERIC)
        if self.two and self.rng.random() < self.wild:
            return replace(path, kind="number")
        if not self.two and self.rng.random() < 0.5:
            return replace(path, kind="number")
        if path.text == "." and self.rng.random() < 0.5:
            return expr("number", "number()", "number()")
        return expr("number", "number", "number(", path, ")")

    def constant(self) -> Expr:
        """Return a number near the data."""
        column = self.column(*_NUMERIC)
        value = self.rng.choice(self.table.lexemes(column.name) or ("1",))
        try:
            number = float(value)
        except ValueError:
            number = float(self.rng.randint(0, 5))
        if not -1e15 < number < 1e15:
            number = 1.0
        plain = value.strip() if value.strip().lstrip("-").replace(".", "", 1).isdecimal() and value.isascii() else ""
        roll = self.rng.random()
        if roll < 0.5 and plain and len(plain) < 16:
            text = plain
        elif roll < 0.9:
            text = str(round(number) + self.rng.choice((-1, 0, 0, 1)))
        else:
            text = self.rng.choice(("0", "1", "0.5", "100", "0.1", "3", ".5", "2.", "0.30", "9007199254740993"))
        if self.two and self.rng.random() < 0.06:
            return expr("number", "double-literal", self.rng.choice(("1e0", "1.5e1", "2E0", "1e-1")))
        label = "decimal-literal" if "." in text else "integer-literal"
        return expr("number", label, f"({text})" if text.startswith("-") else text)

    def literal(self) -> Expr:
        """Return a string near the data."""
        column = self.column("text", "category", "date")
        text = self.rng.choice(self.table.lexemes(column.name) or ("a",))
        if self.rng.random() < 0.3:
            text = text[: self.rng.randint(0, len(text))]
        if "'" in text or "\r" in text or "\t" in text or "\n" in text:
            text = "a"
        return expr("string", "string-literal", f"'{text}'")

    def variable(self, kind: Kind) -> Expr | None:
        """Return a variable of a kind, if there is one."""
        names = [name for name, have in (self.lets or {}).items() if have == kind]
        return expr(kind, "let", f"${self.rng.choice(names)}") if names else None

    def bind(self, name: str, kind: Kind) -> Words:
        """Return the words in which a variable is known."""
        return replace(self, lets={**(self.lets or {}), name: kind})


def _binary(kind: Kind, operators: tuple[str, ...], left: str, right: str | None = None) -> Maker:
    def make(w: Words) -> Expr:
        operator = w.rng.choice(operators)
        first, second = getattr(w, left)(), getattr(w, right or left)()
        if w.rng.random() < 0.25:
            first, second = second, first
        return expr(kind, operator, _bracketed(first, w), f" {operator} ", _bracketed(second, w))

    return make


def _bracketed(operand: Expr, w: Words) -> Expr:
    simple = len(operand.parts) == 1 or (operand.text.endswith(")") and operand.parts[0] in ("number(", "("))
    if simple or (operand.kind == "number" and w.rng.random() < 0.15):
        return operand
    return replace(operand, parts=("(", *operand.parts, ")"))


def _call(kind: Kind, name: str, *arguments: str, label: str = "") -> Maker:
    def make(w: Words) -> Expr:
        parts: list[str | Expr] = [f"{name}("]
        for i, argument in enumerate(arguments):
            parts += [", "] if i else []
            parts.append(getattr(w, argument)() if argument.isidentifier() else argument.strip())
        return expr(kind, label or name, *parts, ")")

    return make


_SIX = ("=", "!=", "<", "<=", ">", ">=")
_VALUE = ("eq", "ne", "lt", "le", "gt", "ge")


def _with_field(w: Words) -> Expr:
    """A general comparison of a field as it stands."""
    operator = w.rng.choice(_SIX)
    field = w.field(*_NUMERIC) if w.rng.random() < 0.7 else w.field()
    roll = w.rng.random()
    other = w.field(*_NUMERIC) if roll < 0.3 else w.constant() if roll < 0.7 else w.literal()
    pair = [field, other] if w.rng.random() < 0.8 else [other, field]
    return expr("boolean", f"{operator} {operator}field", pair[0], f" {operator} ", pair[1])


def _with_boolean(w: Words) -> Expr:
    operator = w.rng.choice(("=", "!="))
    other = w.field() if w.rng.random() < 0.4 and not w.two else w.boolean()
    return expr("boolean", f"{operator} {operator}boolean", "(", w.boolean(), f") {operator} (", other, ")")


def _set_of_values(w: Words) -> Expr:
    column = w.column("category", "integer")
    values = sorted({v for v in w.table.lexemes(column.name) if v and v.isascii() and "'" not in v})[:4] or ["1"]
    field = w.field(column.kind)
    if w.two:
        quoted = ", ".join(f"'{v}'" for v in values)
        if w.rng.random() < 0.3 and all(v.isdigit() for v in values):
            quoted = ", ".join(values)
            field = expr("number", "number", "number(", field, ")")
        return expr("boolean", "= ,", field, f" = ({quoted})")
    tests = " or ".join(f"{field.text} = '{v}'" for v in values)
    return expr("boolean", "= or", tests)


def _not(w: Words) -> Expr:
    return expr("boolean", "not", "not(", w.boolean(), ")")


def _truth_of_number(w: Words) -> Expr:
    return expr("boolean", "boolean", "boolean(", w.number(), ")")


def _let_or(kind: Kind, other: str) -> Maker:
    return lambda w: w.variable(kind) or getattr(w, other)()


def _nodes_truth(w: Words) -> Expr:
    field = w.field()
    return (
        expr("boolean", "boolean", "boolean(", field, ")") if w.rng.random() < 0.5 else replace(field, kind="boolean")
    )


def _parent(w: Words) -> Expr:
    if w.node in ("record", "document"):
        return _nodes_truth(w)
    return expr("boolean", "../*", w.rng.choice(("../*", "count(../*) > 3", "name(..) != 'Data'", "../@*")))


def _blank(w: Words) -> Expr:
    return expr("boolean", "normalize-space = string-literal", "normalize-space(", w.field(), ") = ''")


_BOOLEANS: tuple[Maker, ...] = (
    _with_field,
    _with_field,
    _with_field,
    _binary("boolean", _SIX, "guarded", "constant"),
    _binary("boolean", _SIX, "guarded", "constant"),
    _binary("boolean", _SIX, "guarded"),
    _binary("boolean", _SIX, "number"),
    _binary("boolean", _SIX, "number", "constant"),
    _binary("boolean", ("=", "!="), "string"),
    _with_boolean,
    _binary("boolean", ("and",), "boolean"),
    _binary("boolean", ("or",), "boolean"),
    _binary("boolean", ("and", "or"), "boolean"),
    _not,
    _not,
    _nodes_truth,
    _truth_of_number,
    _call("boolean", "boolean", "string"),
    _call("boolean", "contains", "string", "literal"),
    _call("boolean", "starts-with", "string", "literal"),
    _set_of_values,
    _parent,
    _blank,
    _let_or("boolean", "boolean"),
    _let_or("boolean", "boolean"),
)


def _if(kind: Kind) -> Maker:
    def make(w: Words) -> Expr:
        one, two = getattr(w, kind)(), getattr(w, kind)()
        return expr(kind, "if", "(if (", w.boolean(), ") then ", one, " else ", two, ")")

    return make


def _quantified(w: Words) -> Expr:
    word = w.rng.choice(("some", "every"))
    inner = w.bind("x", "number")
    if w.rng.random() < 0.4:
        bounds = expr("items", "to", f"{w.rng.randint(0, 2)} to {w.rng.randint(2, 5)}")
    else:
        bounds = expr("items", ",", "(", w.guarded(), ", ", w.guarded(), ", ", w.constant(), ")")
    operator = w.rng.choice(_SIX)
    test = expr("boolean", operator, f"$x {operator} ", inner.number())
    return expr("boolean", word, f"({word} $x in ", bounds, " satisfies ", test, ")")


def _quantified_fields(w: Words) -> Expr:
    word = w.rng.choice(("some", "every"))
    operator = w.rng.choice(_SIX)
    paths = expr("items", ",", "(", w.field(*_NUMERIC), ", ", w.field(*_NUMERIC), ")")
    condition = expr("boolean", f"{operator} number", f"number($f) {operator} ", w.constant())
    return expr("boolean", word, f"({word} $f in ", paths, " satisfies ", condition, ")")


def _castable(w: Words) -> Expr:
    kind = w.rng.choice(_TYPES)
    optional = "?" if w.rng.random() < 0.3 else ""
    return expr("boolean", f"castable {kind}", w.field(), f" castable as {kind}{optional}")


def _value_comparison(w: Words) -> Expr:
    operator = w.rng.choice(_VALUE)
    if w.rng.random() < 0.6:
        return expr("boolean", operator, "(", w.number(), f") {operator} (", w.number(), ")")
    if w.rng.random() < 0.5:
        return expr("boolean", operator, "(", w.string(), f") {operator} (", w.string(), ")")
    return expr("boolean", operator, w.field(), f" {operator} ", w.literal())


def _matches(w: Words) -> Expr:
    flags = ", 'i'" if w.rng.random() < 0.15 else ""
    return expr("boolean", "matches", "matches(", w.string(), f", '{w.rng.choice(_PATTERNS)}'{flags})")


def _instance(w: Words) -> Expr:
    kind = w.rng.choice(("xs:integer", "xs:decimal", "xs:double", "xs:string", "xs:anyAtomicType", "node()"))
    subject = w.rng.choice((w.number, w.field, w.string))()
    return expr("boolean", "instance-of", "(", subject, f") instance of {kind}{w.rng.choice(('', '?', '*', '+'))}")


def _node_order(w: Words) -> Expr:
    operator = w.rng.choice(("is", "<<", ">>"))
    return expr("boolean", operator, "(", w.field(), f")[1] {operator} (", w.field(), ")[1]")


def _sequence_comparison(w: Words) -> Expr:
    operator = w.rng.choice(_SIX)
    return expr("boolean", f"{operator} {operator}sequence", w.items(), f" {operator} ", w.items())


def _dates(w: Words) -> Expr:
    operator = w.rng.choice((*_SIX, *_VALUE))
    field = w.field("date")
    guard = expr("boolean", "castable xs:date", field, " castable as xs:date")
    compared = expr("boolean", f"{operator} xs:date", "xs:date(", field, f") {operator} xs:date('2011-06-15')")
    return expr("boolean", "if", "(if (", guard, ") then ", compared, " else ", w.boolean(), ")")


def _let_31(w: Words) -> Expr:
    return expr("boolean", "3.1:let", "(let $y := ", w.number(), " return ", w.bind("y", "number").boolean(), ")")


_BOOLEANS_2: tuple[Maker, ...] = (
    _value_comparison,
    _value_comparison,
    _value_comparison,
    _quantified,
    _quantified,
    _quantified_fields,
    _castable,
    _castable,
    _if("boolean"),
    _matches,
    _matches,
    _instance,
    _node_order,
    _sequence_comparison,
    _dates,
    _call("boolean", "ends-with", "string", "literal"),
    _call("boolean", "exists", "field"),
    _call("boolean", "exists", "items"),
    _call("boolean", "empty", "field"),
    _call("boolean", "empty", "items"),
    _call("boolean", "deep-equal", "items", "items"),
    lambda w: expr("boolean", "boolean", "boolean(", _set_operation(w), ")"),
    _let_31,
    _call("boolean", "contains-token", "field", "literal", label="3.1:contains-token"),
)


def _bare_field(w: Words) -> Expr:
    return _nodes_truth(w) if w.rng.random() < 0.4 else _with_field(w)


_FLAT_BOOLEANS: tuple[Maker, ...] = (
    _bare_field,
    _bare_field,
    _bare_field,
    _binary("boolean", _SIX, "guarded", "constant"),
    lambda w: w.variable("boolean") or _with_field(w),
    lambda w: leaf("boolean", *((t := w.rng.choice(("true", "false"))) + "()", t)),
)


def _minus(w: Words) -> Expr:
    return expr("number", "unary-", "-", _bracketed(w.number(), w))


def _plus(w: Words) -> Expr:
    return expr("number", "unary+", "+", _bracketed(w.number(), w))


def _of_boolean(w: Words) -> Expr:
    return expr("number", "number boolean-to-number", "number(", w.boolean(), ")")


def _count(w: Words) -> Expr:
    paths = (
        ("*", "../*", "@*", "node()") if w.node != "record" else ("*", "@*", "*[. = '']", "*[not(text())]", "text()")
    )
    if w.rng.random() < 0.4:
        return expr("number", "count", f"count({w.rng.choice(paths)})")
    return expr("number", "count", "count(", w.field(), ")")


def _union(w: Words) -> Expr:
    return expr("nodes", "|", w.field(*_NUMERIC), " | ", w.field(*_NUMERIC))


def _count_union(w: Words) -> Expr:
    return expr("number", "count", "count(", _union(w), ")")


def _sum(w: Words) -> Expr:
    roll = w.rng.random()
    if roll < 0.3:
        return expr("number", "sum", "sum(", _union(w), ")")
    if w.two:
        return expr("number", "sum", "sum((", w.guarded(), ", ", w.guarded(), ", ", w.number(), "))")
    return expr("number", "sum", "sum(", w.field(*_NUMERIC), ")")


def _siblings(w: Words) -> Expr:
    if w.own is None or w.own.attribute or w.node != "field":
        return _count(w)
    axis = w.rng.choice(("following-sibling", "preceding-sibling"))
    return expr("number", f"{axis} count", f"count({axis}::*)")


_NUMBERS: tuple[Maker, ...] = (
    lambda w: w.guarded(),
    lambda w: w.guarded(),
    lambda w: w.guarded(),
    _binary("number", ("+",), "number"),
    _binary("number", ("-",), "number"),
    _binary("number", ("+", "-", "*"), "guarded", "constant"),
    _binary("number", ("*",), "number"),
    _binary("number", ("div",), "number"),
    _binary("number", ("div",), "guarded", "constant"),
    _binary("number", ("mod",), "number"),
    _binary("number", ("mod",), "guarded", "constant"),
    _minus,
    _call("number", "floor", "number"),
    _call("number", "ceiling", "number"),
    _call("number", "round", "number"),
    _call("number", "string-length", "string"),
    _call("number", "number", "string", label="number number(string)"),
    _of_boolean,
    _count,
    _count_union,
    _sum,
    _siblings,
    lambda w: w.variable("number") or w.guarded(),
    lambda w: w.variable("number") or w.constant(),
)


def _aggregate(name: str) -> Maker:
    def make(w: Words) -> Expr:
        return expr("number", name, f"{name}((", w.guarded(), ", ", w.guarded(), ", ", w.number(), "))")

    return make


def _cast(w: Words) -> Expr:
    """A conversion, mostly guarded by a test that it succeeds."""
    kind = w.rng.choice(("xs:integer", "xs:decimal", "xs:double"))
    field = w.field(*_NUMERIC)
    form = w.rng.choice(("function", "cast"))
    parts = (f"{kind}(", field, ")") if form == "function" else ("(", field, f" cast as {kind})")
    made = expr("number", f"{kind} {'cast' if form == 'cast' else 'constructor'}", *parts)
    if w.rng.random() < w.wild:
        return made
    guard = expr("boolean", f"castable {kind}", field, f" castable as {kind}")
    return expr("number", "if", "(if (", guard, ") then ", made, " else ", w.constant(), ")")


def _rounded(w: Words) -> Expr:
    name = w.rng.choice(("round", "round-half-to-even"))
    if name == "round" and w.version != "3.1":
        name = "round-half-to-even"
    places = w.rng.choice((0, 1, 2, 2, -1))
    return expr("number", f"{name} {name}(,)", f"{name}(", w.number(), f", {places})")


def _sum_of_for(w: Words) -> Expr:
    inner = w.bind("x", "number")
    names = expr("items", ",", "(", w.field(*_NUMERIC), ", ", w.field(*_NUMERIC), ")")
    return expr("number", "for sum", "sum(for $z in ", names, " return number($z) + ", inner.constant(), ")")


def _math(w: Words) -> Expr:
    name = w.rng.choice(("math:sqrt", "math:exp", "math:log", "math:log10"))
    return expr("number", f"3.1:{name}", f"{name}(", w.guarded(), ")")


_NUMBERS_2: tuple[Maker, ...] = (
    _binary("number", ("idiv",), "guarded", "constant"),
    _binary("number", ("idiv",), "number"),
    _call("number", "abs", "number"),
    _call("number", "abs", "number"),
    _aggregate("min"),
    _aggregate("max"),
    _aggregate("avg"),
    _cast,
    _cast,
    _cast,
    _rounded,
    _sum_of_for,
    _if("number"),
    _plus,
    _call("number", "compare", "string", "string"),
    _call("number", "count", "items"),
    lambda w: (
        expr("number", "[position]sequence", w.items(), f"[{w.rng.randint(1, 2)}] ! number(.)")
        if w.version == "3.1"
        else expr("number", "[position]sequence number", "number(", w.items(), f"[{w.rng.randint(1, 2)}])")
    ),
    _math,
    _call("number", "math:pow", "guarded", "constant", label="3.1:math:pow"),
)
_FLAT_NUMBERS: tuple[Maker, ...] = (
    lambda w: w.guarded(),
    lambda w: w.guarded(),
    lambda w: w.constant(),
    lambda w: w.variable("number") or w.guarded(),
)


def _field_string(w: Words) -> Expr:
    field = w.field()
    if w.rng.random() < 0.3:
        return replace(field, kind="string")
    return expr("string", "string", "string(", field, ")")


def _substring(w: Words) -> Expr:
    start = w.rng.choice(("1", "2", "0", "-1", "1.5", "3"))
    length = w.rng.choice(("", ", 1", ", 2", ", 2.5"))
    return expr("string", "substring", "substring(", w.string(), f", {start}{length})")


def _translate(w: Words) -> Expr:
    pair = w.rng.choice((("abc", "ABC"), ("0123456789", ""), (" ", "_"), ("aé", "e"), (".,-", "")))
    return expr("string", "translate", "translate(", w.string(), f", '{pair[0]}', '{pair[1]}')")


def _concat(w: Words) -> Expr:
    return expr("string", "concat", "concat(", w.string(), ", ", w.string(), ")")


def _named(w: Words) -> Expr:
    name = w.rng.choice(("name", "local-name", "namespace-uri"))
    return expr("string", name, f"{name}(", w.field(), ")" if not w.two else "[1])")


def _number_text(w: Words) -> Expr:
    return expr("string", "string string(number)", "string(", w.number(), ")")


def _boolean_text(w: Words) -> Expr:
    return expr("string", "string string(boolean)", "string(", w.boolean(), ")")


_STRINGS: tuple[Maker, ...] = (
    _field_string,
    _field_string,
    _field_string,
    lambda w: w.literal(),
    _call("string", "normalize-space", "string"),
    _call("string", "substring-before", "string", "literal"),
    _call("string", "substring-after", "string", "literal"),
    _substring,
    _substring,
    _translate,
    _concat,
    _named,
    _number_text,
    _boolean_text,
    lambda w: w.variable("string") or w.literal(),
)
_STRINGS_2: tuple[Maker, ...] = (
    _call("string", "upper-case", "string"),
    _call("string", "lower-case", "string"),
    lambda w: expr(
        "string", "replace", "replace(", w.string(), f", '{w.rng.choice(('a', '[0-9]', ' +', 'b$'))}', 'z')"
    ),
    lambda w: expr("string", "string-join", "string-join((", w.string(), ", ", w.string(), "), '-')"),
    lambda w: expr("string", "tokenize", "(tokenize(", w.string(), ", '[ .]'), '')[1]"),
    _if("string"),
    lambda w: expr("string", "cast xs:string", "xs:string(", w.number(), ")"),
    lambda w: expr("string", "3.1:||", "(", w.string(), " || ", w.string(), ")"),
    lambda w: expr("string", "3.1:=>", "(", w.string(), " => normalize-space())"),
)
_FLAT_STRINGS: tuple[Maker, ...] = (
    _field_string,
    _field_string,
    lambda w: w.literal(),
    lambda w: w.variable("string") or w.literal(),
)


def _set_operation(w: Words) -> Expr:
    operator = w.rng.choice(("union", "intersect", "except", "|"))
    return expr("items", operator, "(", w.field(), f" {operator} ", w.field(), ")")


_ITEMS: tuple[Maker, ...] = (
    lambda w: expr("items", ",", "(", w.field(), ", ", w.field(), ")"),
    lambda w: expr("items", ",", "(", w.guarded(), ", ", w.guarded(), ")"),
    lambda w: expr("items", ",", "(", w.string(), ", ", w.literal(), ")"),
    lambda w: expr("items", ",", "(", w.constant(), ", ", w.constant(), ", ", w.number(), ")"),
    lambda w: expr("items", "to", f"({w.rng.randint(0, 2)} to {w.rng.randint(1, 4)})"),
    _set_operation,
    _set_operation,
    lambda w: expr("items", "distinct-values", "distinct-values((", w.string(), ", ", w.string(), "))"),
    lambda w: expr("items", "index-of", "index-of((", w.string(), ", ", w.literal(), "), ", w.literal(), ")"),
    lambda w: expr("items", "for", "(for $q in (", w.field(), ", ", w.field(), ") return string($q))"),
    lambda w: expr("items", "subsequence", "subsequence((", w.field(), ", ", w.field(), "), 2)"),
    lambda w: expr("items", "reverse", "reverse((", w.guarded(), ", ", w.constant(), "))"),
    lambda w: expr("items", "insert-before", "insert-before((", w.guarded(), "), 1, ", w.constant(), ")"),
    lambda w: expr("items", "remove", "remove((", w.string(), ", ", w.string(), "), 1)"),
    lambda w: expr("items", "[predicate]sequence", "(", w.field(), ", ", w.field(), ")[. != '']"),
    lambda w: expr("items", "data", "data(", w.field(), ")"),
    lambda w: expr("items", "()", "()"),
)


def feature(rng: Random) -> tuple[Maker, ...]:
    """Choose some makers that a file shall have more of."""
    makers = (
        *_BOOLEANS,
        *_BOOLEANS_2,
        *_BOOLEANS_2,
        *_NUMBERS,
        *_NUMBERS_2,
        *_NUMBERS_2,
        *_STRINGS,
        *_STRINGS_2,
        *_ITEMS,
    )
    return tuple(rng.sample(makers, 6))
