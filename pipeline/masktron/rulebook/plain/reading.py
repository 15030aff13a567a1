"""Rules in plain text, read: a rule on each line, with its name before it and what it says behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from masktron.errors import RulebookError
from masktron.problems.problem import Place, Problem, Rule
from masktron.rulebook.plain.grammar import parse
from masktron.rulebook.plain.slips import PlainSyntaxError, several
from masktron.rulebook.plain.tree import (
    Arithmetic,
    Call,
    Compared,
    If,
    In,
    Joined,
    Missing,
    Name,
    Negative,
    Node,
    Not,
    PlainRule,
    PlainRules,
    Range,
    Severity,
    Truth,
    walk,
)

_SEVERITIES: Mapping[str, Severity] = {
    "warn": "warning",
    "warning": "warning",
    "info": "information",
    "error": "error",
}
_BEGIN = re.compile(rf"\s*(?:(?P<severity>{'|'.join(_SEVERITIES)})\s+)?(?:(?P<name>[^\W\d][\w.-]*)\s*:(?!=))?\s*")
_DEFINED = re.compile(r"\s*(?P<severity>)(?P<name>[^\W\d][\w.]*)\s*:=\s*")
_OPEN, _CLOSE = "([{", ")]}"
_GOES_ON = re.compile(r"(?:[+\-*/^=<>&|,!]|%%|%v?in%|(?<![\w.])(?:and|or|not|if|then|else|in|by))\s*$", re.IGNORECASE)
_CONTINUES = re.compile(r"\s*(?:(?:and|or|then|else)(?![\w.])|[&|=<>*/])", re.IGNORECASE)


type _Places = tuple[tuple[int, int], ...]


def read_plain(text: str, where: str, *, missing_fails: bool = False, first_line: int = 1) -> PlainRules:
    """Read the rules of a text.

    Parameters
    ----------
    text : str
    where : str
        The file, for messages.
    missing_fails : bool
        As of `PlainRules`.
    first_line : int
        The number of its first line in the file.

    Raises
    ------
    RulebookError
        Rules cannot be read: all of them, each with its place and what was probably meant.
    """
    rules: list[PlainRule] = []
    wrong: list[Problem] = []
    taken: dict[str, int] = {}
    defined: dict[str, tuple[Node, ...]] = {}
    for code, comment, places in _lines(text, first_line):
        begin = _DEFINED.match(code) or _BEGIN.match(code)
        if begin is None:
            raise AssertionError
        name, said = begin["name"] or "", code[begin.end() :]
        rule = PlainRule(
            name, Truth(None), places[0][0], " ".join(said.split()), comment, places=places[begin.end() :]
        )
        try:
            if ":=" in begin[0]:
                defined[name] = _meaning(said, defined)
                continue
            found = [*_each(parse(said), defined)]
            name = name or f"rule-{len(rules) + 1}"
            _require_free(name, taken)
            taken[name] = rule.line
            names = [name] if len(found) == 1 else [f"{name}.{at}" for at in range(1, len(found) + 1)]
            severity = _SEVERITIES.get(begin["severity"] or "", "error")
            rules += [
                replace(rule, name=each, node=node, severity=severity)
                for each, node in zip(names, found, strict=True)
            ]
        except PlainSyntaxError as error:
            place = Place(where, *rule.place(error.at), rule=Rule(name) if name else None)
            wrong.append(error.problem.at(place))
    if wrong:
        raise RulebookError(several(wrong, where))
    return PlainRules(tuple(rules), missing_fails)


def _lines(text: str, first: int) -> Iterator[tuple[str, str, _Places]]:
    """Yield rules, their comments, and the places of their signs; what is not complete goes on in the next line."""
    pieces: list[tuple[int, str]] = []
    comments: list[str] = []
    depth = 0
    lines = text.splitlines()
    for number, line in enumerate(lines, start=first):
        code, comment = _without_comment(line)
        if not code.strip():
            comments += [comment] if comment and pieces else []
        else:
            depth += sum(code.count(one) for one in _OPEN) - sum(code.count(one) for one in _CLOSE)
            pieces.append((number, code))
            comments += [comment] if comment else []
        following = next((_without_comment(one)[0] for one in lines[number - first + 1 :] if one.strip()), "")
        begins = _BEGIN.match(following)
        named = bool(_DEFINED.match(following) or (begins and begins["name"]))
        unfinished = depth > 0 or _GOES_ON.search(code) or _CONTINUES.match(following)
        if pieces and not (following and unfinished and not named):
            yield _line(pieces, " ".join(comments))
            pieces, comments, depth = [], [], 0


def _line(pieces: Sequence[tuple[int, str]], comment: str) -> tuple[str, str, _Places]:
    text = "\n".join(code for _, code in pieces)
    places = [(number, at) for number, code in pieces for at in range(1, len(code) + 2)]
    return text, comment, tuple(places[: len(text)])


def _without_comment(line: str) -> tuple[str, str]:
    """Return a line without its comment, and the comment; a # within quotation marks begins none."""
    quote = ""
    for at, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'`":
            quote = sign
        elif sign == "#":
            return line[:at], line[at + 1 :].strip()
    return line, ""


def _require_free(name: str, taken: Mapping[str, int]) -> None:
    if name in taken:
        raise PlainSyntaxError(Problem("name-taken", kind="rule", name=name, first=f"in line {taken[name]}"), 0)


def _meaning(text: str, defined: Mapping[str, tuple[Node, ...]]) -> tuple[Node, ...]:
    """Return what a name stands for: a value, or each field of a group."""
    group = re.fullmatch(r"\s*var_group\s*\((.*)\)\s*", text, re.DOTALL)
    if group is None:
        return tuple(_each(parse(text), defined))
    return tuple(Name(one.strip().strip("`")) for one in group[1].split(",") if one.strip())


def _each(node: Node, defined: Mapping[str, tuple[Node, ...]]) -> Iterator[Node]:
    """Yield a rule with what its names stand for: once for each field of a group that it names."""
    groups = {name: each for name, each in defined.items() if len(each) > 1}
    named = next((one.name for one in _names(node) if one.name in groups), None)
    if named is None:
        yield _put(node, {name: each[0] for name, each in defined.items() if len(each) == 1})
        return
    for meaning in groups[named]:
        yield from _each(_put(node, {named: meaning}), defined)


def _names(node: Node) -> Iterator[Name]:

    yield from (one for one in walk(node) if isinstance(one, Name))


def _put(node: Node, meanings: Mapping[str, Node]) -> Node:  # noqa: PLR0911 -- one branch per node
    """Return a tree with other nodes in the places of names."""
    if not meanings:
        return node
    match node:
        case Name(name):
            return meanings.get(name, node)
        case Arithmetic() | Compared():
            return replace(node, left=_put(node.left, meanings), right=_put(node.right, meanings))
        case Range():
            return replace(node, low=_put(node.low, meanings), high=_put(node.high, meanings))
        case Negative() | Not():
            return replace(node, of=_put(node.of, meanings))
        case Missing(of):
            put = _put(of, meanings)
            if not isinstance(put, Name):
                raise PlainSyntaxError(
                    Problem("plain-arguments", name="missing", shape="missing(FIELD)"), node.span.start
                )
            return replace(node, of=put)
        case In():
            return replace(node, value=_put(node.value, meanings))
        case Joined():
            return replace(node, parts=tuple(_put(one, meanings) for one in node.parts))
        case If():
            otherwise = None if node.otherwise is None else _put(node.otherwise, meanings)
            return replace(
                node, condition=_put(node.condition, meanings), then=_put(node.then, meanings), otherwise=otherwise
            )
        case Call():
            return replace(node, arguments=tuple(_put(one, meanings) for one in node.arguments))
    return node
