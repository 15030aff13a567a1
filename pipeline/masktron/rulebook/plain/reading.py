"""Rules in plain text, read: a rule on each line, with its name before it and what it says behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from math import prod

from masktron.problems.problem import Problem
from masktron.rulebook.plain import tree
from masktron.rulebook.plain.functions import TALLIES, misused
from masktron.rulebook.plain.grammar import parse
from masktron.rulebook.plain.slips import PlainSyntaxError
from masktron.rulebook.plain.tree import SEVERITIES, Node, PlainRule, PlainRules, mapped, walk

_OPERATOR = r"(?![-+*/^%<>=!&|]|(?:in|and|or|not|by)(?![\w.]))"
_SEVERITY = rf"(?P<severity>{'|'.join(SEVERITIES)})\s+{_OPERATOR}"
_BEGIN = re.compile(rf"\s*(?:{_SEVERITY})?(?:(?P<name>[^\W\d][\w.-]*)\s*:(?!=))?\s*")
DEFINED = re.compile(r"\s*(?P<severity>)(?P<name>[^\W\d][\w.]*)\s*:=\s*")
_QUOTED = re.compile("""'[^']*'|"[^"]*"|`[^`]*`""")
_CODE = re.compile(rf"""(?:[^"'`#]|{_QUOTED.pattern}|["'`].*)*""")
LINE = re.compile(r"\r\n|\r|\n")
"""What ends a line."""
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MOST_RULES = 1_000
"""Rules that one may stand for, by the fields of its groups."""
_MOST_PARTS = 10_000
"""Parts of one rule, with what its names stand for."""
_OF_FIELDS = ("missing", "is_unique", *TALLIES)
"""Functions that take names of fields alone."""
_IF = re.compile(r"(?<![\w.])if\s*$", re.IGNORECASE)
_GOES_ON = re.compile(r"(?:[+\-*/^=<>&|,!]|%%|%v?in%|(?<![\w.])(?:and|or|not|if|then|else|in|by))\s*$", re.IGNORECASE)
_CONTINUES = re.compile(r"\s*(?:(?:and|or|then|else)(?![\w.])|[&|=<>*/])", re.IGNORECASE)


type Places = tuple[tuple[int, int], ...]
"""Line and column of each sign of a text, from 1."""


def read_plain(text: str, where: str, *, missing_fails: bool = False, places: Sequence[Places] = ()) -> PlainRules:
    """Read the rules of a text; those that cannot be read are named in it.

    Parameters
    ----------
    text : str
    where : str
        The file, for messages.
    missing_fails : bool
        As of `PlainRules`.
    places : sequence of Places
        Where the signs of each line of the text stand in a file that has them otherwise.
    """
    found = statements(text)
    return rules_of((_placed(one, places) for one in found) if places else found, where, missing_fails=missing_fails)


def _placed(one: PlainRule, places: Sequence[Places]) -> PlainRule:
    there = ((places[line - 1], at) for line, at in one.places)
    moved = (signs[min(at, len(signs)) - 1] for signs, at in there)
    return replace(one, line=places[one.line - 1][0][0], places=tuple(moved))


def places_of(value: str, text: str, begin: int, end: int, line: int) -> Places:
    """Return the places of the signs of a value: in this order, they stand in a part of a text, from a line on."""
    at = seen = begin
    found = []
    for sign in value:
        to = at if sign.isspace() else max(text.find(sign, at, end), at)
        line += text.count("\n", seen, to)
        found.append((line, to - text.rfind("\n", 0, to)))
        seen, at = to, to + 1
    return tuple(found)


def statements(text: str, first_line: int = 1) -> Iterator[PlainRule]:
    """Yield the rules and definitions of a text; what is not complete goes on in the next line."""
    for code, comment, places in _lines(text, first_line):
        begin = DEFINED.match(code) or _BEGIN.match(code)
        if begin is None:
            raise AssertionError
        yield PlainRule(
            name=begin["name"] or "",
            node=tree.Truth(None),
            line=places[0][0],
            text=code[begin.end() :],
            label=comment,
            severity=SEVERITIES.get(begin["severity"] or "", "error"),
            places=places[begin.end() :],
            defines=":=" in begin[0],
        )


def named(text: str) -> bool:
    """Tell whether a text is what may stand before a rule or a definition: its name, with a severity or without."""
    begin = _BEGIN.fullmatch(text)
    return bool(begin and begin["name"]) or DEFINED.fullmatch(f"{text}:=") is not None


def rules_of(found: Iterable[PlainRule], where: str, *, missing_fails: bool = False) -> PlainRules:
    """Read the conditions of rules, with what is defined before them; parameters as of `read_plain`."""
    written = [*found]
    named_by_hand = {one.name for one in written}
    rules: list[PlainRule] = []
    wrong: list[Problem] = []
    taken: dict[str, int] = {}
    defined: dict[Node, Node] = {}
    unread = set[str]()
    for rule in written:
        try:
            meaning = parse(rule.text)
            if any(isinstance(part, tree.Name) and part.name in unread for part in walk(meaning)):
                continue  # nobody knows what it means until that can be read
            meaning = _put(meaning, defined)
            _require_readable(rule, meaning)
            if rule.defines:
                defined[tree.Name(rule.name)] = meaning
                continue
            each = [*_each(meaning)]
            numbered = (f"rule-{at}" for at in count(len(rules) + 1))
            name = rule.name or next(own for own in numbered if own not in named_by_hand)
            names = [name] if len(each) == 1 else [f"{name}.{at}" for at in range(1, len(each) + 1)]
            for own in dict.fromkeys((name, *names)):
                _require_free(own, taken)
                taken[own] = rule.line
            rules += [replace(rule, name=own, node=node) for own, node in zip(names, each, strict=True)]
        except PlainSyntaxError as error:
            wrong.append(rule.wrong(error.problem, error.at, where))
            unread |= {rule.name} if rule.defines else set()
        except RecursionError:
            wrong.append(rule.wrong(Problem("plain-too-deep"), 0, where))
    return PlainRules(tuple(rules), missing_fails, tuple(wrong), tuple(one for one in written if one.defines))


def _lines(text: str, first: int) -> Iterator[tuple[str, str, Places]]:
    """Yield rules, their comments, and the places of their signs; what is not complete goes on in the next line."""
    pieces: list[tuple[int, str]] = []
    comments: list[str] = []
    for number, line in enumerate(LINE.split(text), start=first):
        code, comment = without_comment(line)
        if not code.strip():
            continue
        if pieces and not _goes_on("\n".join(piece for _, piece in pieces), code):
            yield _line(pieces, comments)
            pieces, comments = [], []
        pieces.append((number, code))
        comments += [comment] if comment else []
    if pieces:
        yield _line(pieces, comments)


def _line(pieces: Sequence[tuple[int, str]], comments: Sequence[str]) -> tuple[str, str, Places]:
    text = "\n".join(code for _, code in pieces)
    places = [(number, at) for number, code in pieces for at in range(1, len(code) + 2)]
    return text, " ".join(comments), tuple(places[: len(text)])


def without_comment(line: str) -> tuple[str, str]:
    """Return a line without its comment, and the comment; a # within quotation marks begins none."""
    code = _CODE.match(line)[0]  # type: ignore[index]  # it matches everything
    return code, line[len(code) + 1 :].strip()


def _goes_on(text: str, line: str) -> bool:
    """Tell whether a rule goes on in a line: a bracket is open, a side is missing, or it is the if (A) of R alone."""
    begins = _BEGIN.match(line)
    if DEFINED.match(line) or (begins and begins["name"]):
        return False
    bare = _QUOTED.sub("_", text).rstrip()
    open_, last = [], 0
    for at, sign in enumerate(bare):
        if sign in "([{":
            open_.append(at)
        elif sign in ")]}" and open_:
            last = open_.pop()
    alone = bare.endswith(")") and _IF.search(bare[:last])
    return bool(open_ or alone or _GOES_ON.search(bare) or _CONTINUES.match(line))


def _require_free(name: str, taken: Mapping[str, int]) -> None:
    if name in taken:
        raise PlainSyntaxError(Problem("name-taken", kind="rule", name=name, first=f"in line {taken[name]}"), 0)


def _require_readable(rule: PlainRule, meaning: Node) -> None:
    """Require that a rule is no longer than engines read, and has no signs that XML cannot hold."""
    if next(islice(walk(meaning), _MOST_PARTS, None), None) is not None:
        raise PlainSyntaxError(Problem("plain-too-long"), 0)
    if sign := _CONTROL.search(f"{rule.text}{rule.label}{rule.description}"):
        raise PlainSyntaxError(Problem("plain-sign", sign=sign[0]), min(sign.start(), len(rule.text)))


def _put(node: Node, instead: Mapping[Node, Node]) -> Node:
    """Return a rule with what stands instead of some of its names and groups."""

    def meant(one: Node) -> Node:
        return replace(instead.get(one, one), at=one.at) if isinstance(one, tree.Name | tree.Call) else one

    return mapped(node, meant) if instead else node


def _each(node: Node) -> Iterator[Node]:
    """Yield a rule once for each field of a group that it names, and of each pair of two groups."""
    groups = [one for one in walk(node) if isinstance(one, tree.Call) and one.function == "var_group"]
    if prod(len(one.arguments) for one in {*groups}) > _MOST_RULES:
        raise PlainSyntaxError(Problem("plain-too-long"), 0)
    for field in groups[0].arguments if groups else ():
        yield from _each(_put(node, {groups[0]: field}))
    if not groups:
        yield _with_names(node)


def _with_names(node: Node) -> Node:
    """Return a rule in which names, and nothing that was put for them, stand where only names may stand."""
    for part in walk(node):
        match part:
            case tree.Call(function, arguments) if function in _OF_FIELDS and not _are_names(arguments):
                raise misused(function, part.at)
            case tree.Call(by=by) if not _are_names(by):
                raise PlainSyntaxError(Problem("plain-by"), part.at)
    return node


def _are_names(nodes: Iterable[Node]) -> bool:
    return all(isinstance(one, tree.Name) for one in nodes)
