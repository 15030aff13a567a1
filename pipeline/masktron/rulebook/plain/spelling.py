"""Trees of plain rules, written: as a rule of plain text, or as one that R's package validate reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from masktron.rulebook.plain import tree
from masktron.rulebook.plain.functions import SPELLINGS
from masktron.rulebook.plain.tree import WORDS, Node, PlainRule

_NAME = re.compile(r"(?:[^\W\d]|\.(?!\d|\.))[\w.]*")
_NAME_OF_RULE = re.compile(r"[^\W\d][\w.-]*")
_RESERVED = frozenset({"if", "then", "else", "by", "in", "and", "or", "not", "true", "false", "na"})
_RESERVED_IN_R = frozenset(
    {"repeat", "while", "function", "for", "next", "break", "TRUE", "FALSE", "NULL", "Inf", "NaN"}
)
_IN_R: Mapping[str, str] = {function: of_r for of_r, function in SPELLINGS.items()}
_CONDITION, _OR, _AND, _NOT, _COMPARED, _SUM, _PRODUCT, _REMAINDER, _SIGNED, _POWER, _ATOM = range(11)
"""How closely what is written binds, the loosest first."""
_OPERATORS: Mapping[str, int] = MappingProxyType(
    {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%%": _REMAINDER, "^": _POWER}
)


class UnspelledError(ValueError):
    """What a language cannot say; the text says why."""


def spelled_rule(rule: PlainRule) -> str:
    """Write a rule in a line of plain text: its severity, its name, what must hold, and what it says.

    Raises
    ------
    UnspelledError
        Plain text cannot say it.
    """
    said = " ".join((rule.label or rule.description).split())
    comment = f"  # {said}" if said and said != rule.written else ""
    return f"{WORDS[rule.severity]}{name_of_rule(rule.name)}: {spelled(rule.node)}{comment}"


def name_of_rule(name: str) -> str:
    """Return a name that plain text reads as that of a rule."""
    return name if _NAME_OF_RULE.fullmatch(name) else "_" * (not name[:1].isalpha()) + re.sub(r"[^\w.-]", "-", name)


def spelled(node: Node, *, in_r: bool = False) -> str:
    """Write a condition.

    Parameters
    ----------
    node : Node
    in_r : bool
        As R does.

    Raises
    ------
    UnspelledError
        The language cannot say it.
    """
    return _Spelling(in_r).text(node)


class _Spelling:
    def __init__(self, in_r: bool) -> None:
        self._in_r = in_r

    def text(self, node: Node, needed: int = _CONDITION) -> str:
        """Write a node; in brackets where what is around it binds more closely."""
        text, binding = self._written(node)
        return text if binding >= needed else f"({text})"

    def _written(self, node: Node) -> tuple[str, int]:  # noqa: PLR0911, PLR0912 -- one branch per node
        match node:
            case tree.Number(text):
                return text, _ATOM
            case tree.Text(value):
                return self._quoted(value), _ATOM
            case tree.Truth(value):
                return "NA" if value is None else str(value).upper(), _ATOM
            case tree.Name(name):
                return self._name(name), _ATOM
            case tree.Negative(of):
                return f"-{self.text(of, _SIGNED)}", _SIGNED
            case tree.Arithmetic("^", left, right):
                return f"{self.text(left, _ATOM)}^{self.text(right, _SIGNED)}", _POWER
            case tree.Arithmetic(operator, left, right):
                own = _OPERATORS[operator]
                return f"{self.text(left, own)} {operator} {self.text(right, own + 1)}", own
            case tree.Compared(operator, left, right):
                return f"{self.text(left, _SUM)} {operator} {self.text(right, _SUM)}", _COMPARED
            case tree.In():
                return self._membership(node, without=False)
            case tree.Not(tree.In() as of) if not of.decided and not self._in_r:
                return self._membership(of, without=True)
            case tree.Not(of):
                sign = "!" if self._in_r or isinstance(of, tree.Call | tree.Name) else "not "
                return f"{sign}{self.text(of, _NOT)}", _NOT
            case tree.Joined(operator, parts):
                own = _OR if operator == "or" else _AND
                sign = {"or": "|", "and": "&"}[operator] if self._in_r else operator
                return f" {sign} ".join(self.text(part, _NOT) for part in parts), own
            case tree.If():
                return self._conditional(node), _CONDITION
            case tree.Call():
                return self._call(node)
            case tree.Range(low, high):
                return self._range(low, high), _ATOM

    def _conditional(self, node: tree.If) -> str:
        condition, then = self.text(node.condition), self.text(node.then, _OR)
        last = "" if node.otherwise is None else f" else {self.text(node.otherwise)}"
        if self._in_r:
            return f"if ({condition}) {then}{last}"
        # a bracket right behind 'if' could be that of R, which holds all of the condition
        condition = f"({condition})" if condition.startswith("(") else condition
        return f"if {condition} then {then}{last}"

    def _membership(self, node: tree.In, *, without: bool) -> tuple[str, int]:
        if self._in_r:
            return self._membership_in_r(node)
        sign = "%in%" if node.decided else "not in" if without else "in"
        alone = len(node.options) == 1 and isinstance(node.options[0], tree.Range)
        options = ", ".join(map(self.text, node.options))
        return f"{self.text(node.value, _SUM)} {sign} {options if alone else f'{{{options}}}'}", _COMPARED

    def _membership_in_r(self, node: tree.In) -> tuple[str, int]:
        ranges = [one for one in node.options if isinstance(one, tree.Range)]
        listed = ", ".join(self.text(one) for one in node.options if not isinstance(one, tree.Range))
        if ranges and node.decided:
            raise UnspelledError("R has no range with %in%: write !is.na(x) & x >= a & x <= b")
        value, sign = self.text(node.value, _ATOM), "%in%" if node.decided else "%vin%"
        each = [f"in_range({value}, min={self.text(one.low)}, max={self.text(one.high)})" for one in ranges]
        each += [f"{value} {sign} c({listed})"] if listed or not ranges else []
        return " | ".join(each), _OR if len(each) > 1 else _COMPARED

    def _range(self, low: Node, high: Node) -> str:
        one, other = self.text(low), self.text(high)
        return f"{one} .. {other}" if one.endswith(".") or other.startswith(".") else f"{one}..{other}"

    def _call(self, node: tree.Call) -> tuple[str, int]:
        arguments = [*map(self.text, node.arguments)]
        name = node.function
        if name == "matches" and node.remove_missing:
            return f"grepl({arguments[1]}, {arguments[0]})", _ATOM
        if self._in_r:
            return self._call_in_r(node, arguments)
        if node.remove_missing:
            arguments.append("na.rm=TRUE")
        by = [self._name(one.name) for one in node.by]
        grouped = "" if not by else f" by {by[0]}" if len(by) == 1 else f" by ({', '.join(by)})"
        return f"{name}({', '.join(arguments)}){grouped}", _POWER if by else _ATOM

    def _call_in_r(self, node: tree.Call, arguments: Sequence[str]) -> tuple[str, int]:
        match node.function:
            case "matches":
                raise UnspelledError("R says that a missing text does not match, and this rule is undecided then")
            case "is_unique" if not node.remove_missing:
                raise UnspelledError("R says that missing values are the same, and this rule is undecided then")
            case "lag":
                raise UnspelledError("validate has no value of the record before")
            case "round":
                return f"floor({self.text(node.arguments[0], _SUM)} + 0.5)", _ATOM
            case "count" if node.by:
                raise UnspelledError("validate has no count by group")
            case "count":
                return (f"sum(!is.na({arguments[0]}))" if arguments else "nrow(.)"), _ATOM
            case "sum" | "mean" | "min" | "max" if len(node.by) > 1:
                raise UnspelledError("validate tallies by one field")
            case "sum" | "mean" | "min" | "max" as function:
                of = [*arguments, *(f"by={self._name(one.name)}" for one in node.by)]
                of += ["na.rm=TRUE"] if node.remove_missing else []
                return f"{function}{'_by' if node.by else ''}({', '.join(of)})", _ATOM
        return f"{_IN_R.get(node.function, node.function)}({', '.join(arguments)})", _ATOM

    def _name(self, name: str) -> str:
        reserved = name.lower() in _RESERVED or (self._in_r and name in _RESERVED_IN_R)
        if _NAME.fullmatch(name) and not reserved:
            return name
        if "`" in name or _lines(name) != 1:
            raise UnspelledError(f"no rule can name the field {name!r}")
        return f"`{name}`"

    def _quoted(self, value: str) -> str:
        if _lines(value) > 1 or ('"' in value and "'" in value):
            raise UnspelledError("a text with both quotation marks, or of several lines, cannot be written")
        value = value.replace("\\", "\\\\") if self._in_r else value
        return f"'{value}'" if '"' in value else f'"{value}"'


def _lines(text: str) -> int:
    return len(f"{text}.".splitlines()) if text else 0
