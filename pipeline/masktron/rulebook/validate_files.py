"""Files of R's package validate: rules as R writes them, or each with what is known of it, in YAML.

R is never evaluated, and YAML is read as texts, lists and mappings of texts alone. A file may begin with a header,
between lines of three dashes, that includes other files and sets options.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from masktron.errors import RulebookError
from masktron.problems.problem import Known, Place, Problem
from masktron.rulebook.plain import tree
from masktron.rulebook.plain.reading import DEFINED, LINE, places_of, rules_of, statements
from masktron.rulebook.plain.tree import SEVERITIES, Node, PlainRule, PlainRules, mapped

_DASHES = re.compile(r"---\s*")
_COMMENTS = r"(?:\s*(?:#.*)?\n)*"
_IN_YAML = re.compile(rf"{_COMMENTS}(?:rules|options|include)\s*:(?:\s|$)")
_IN_YAML_FILE = re.compile(rf"{_COMMENTS}(?:[\w.]+\s*:(?!=)|-\s)")
_ROOT = ("rules", "include", "options")
_RULE = ("expr", "name", "label", "description", "meta", "created", "origin", "language", "severity")
_OPTIONS = ("raise", "lin.eq.eps", "lin.ineq.eps", "na.value", "sequential", "na.condition")
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,2})?"
_MOST, _DEEPEST, _MOST_FILES = 1_000_000, 10, 100


def read_validate(path: Path, text_of: Callable[[Path], str]) -> PlainRules:
    """Read rules of the package validate.

    Parameters
    ----------
    path : Path
    text_of : callable
        What reads the file, and those that it includes.

    Raises
    ------
    RulebookError
        A file cannot be read, or it includes one outside of its folder.
    """
    files = _Files(path, text_of)
    found = _named([*files.statements(path, ())])
    tolerance = (files.tolerance("lin.eq.eps"), files.tolerance("lin.ineq.eps"))
    files.option("na.condition", "false", "false|no", "FALSE")
    missing_fails = files.option("na.value", "NA", r"\.?na|false|no", "NA or FALSE") in ("false", "no")
    read = rules_of(found, str(path), missing_fails=missing_fails)
    each = (replace(one, node=mapped(one.node, _as_in_r), tolerance=tolerance) for one in read.rules)
    return replace(read, rules=tuple(each))


def _named(found: Sequence[PlainRule]) -> Iterator[PlainRule]:
    """Name rules that have no name, or one that another rule has, as validate does."""
    taken: Counter[str] = Counter()
    for at, one in enumerate(found, start=1):
        name = one.name or f"V{at:0{len(str(len(found)))}d}"
        taken[name] += not one.defines
        again = "" if one.defines or taken[name] == 1 else f".{taken[name] - 1}"
        yield replace(one, name=f"{name}{again}")


def _as_in_r(node: Node) -> Node:
    """Return a node with what R means by it: backslashes are doubled, and a missing value is unique by itself."""
    match node:
        case tree.Text(value):
            return replace(node, value=value.replace("\\\\", "\\"))
        case tree.Call("is_unique"):
            return replace(node, remove_missing=True)
    return node


class _Files:
    """A file and those that it includes, each once, before it."""

    def __init__(self, path: Path, text_of: Callable[[Path], str]) -> None:
        self._top, self._folder, self._text_of = path, Path(os.path.realpath(path.parent)), text_of
        self._read: set[Path] = set()
        self._yaml, self._options = _Yaml("", str(path)), dict[str, Any]()

    def statements(self, path: Path, above: tuple[Path, ...]) -> Iterator[PlainRule]:
        """Yield what is written in a file, and before it in those that it includes; `above` are those around it."""
        self._read.add(Path(os.path.realpath(path)))
        own: list[PlainRule] = []
        in_yaml = _IN_YAML_FILE if path.suffix.lower() in (".yaml", ".yml") else _IN_YAML
        for first, block in _blocks(self._text_of(path)):
            if not in_yaml.match(block):
                own += statements(block, first)
                continue
            read = _Yaml("\n" * (first - 1) + block, str(path))
            root = read.entries(read.root(), _ROOT, "key")
            for included in read.items(root.get("include")):
                yield from self._included(path, read, included, (*above, Path(os.path.realpath(path))))
            own += [_statement(read, one) for one in read.items(root.get("rules"))]
            if path == self._top and "options" in root:
                self._yaml, self._options = read, read.entries(root["options"], _OPTIONS, "option")
        yield from (replace(one, file=str(path)) for one in own)

    def _included(self, path: Path, read: _Yaml, node: Any, above: tuple[Path, ...]) -> Iterator[PlainRule]:
        name = read.text(node).replace("\0", "?")
        target = Path(os.path.realpath(path.parent / name))
        reason = "it includes itself" if target in above else ""
        if not target.is_relative_to(self._folder):
            reason = "it is outside the folder of the rulebook"
        elif len(self._read) > _MOST_FILES:
            reason = f"there are more than {_MOST_FILES} files"
        if reason:
            raise read.wrong(node, Problem("plain-include", name=name, reason=reason))
        if target not in self._read:
            yield from self.statements(path.parent / name, above)

    def option(self, name: str, default: str, shape: str, expected: str) -> str:
        """Return what an option is set to, in small letters."""
        node = self._options.get(name)
        given = default if node is None else self._yaml.text(node)
        if not re.fullmatch(shape, given, re.IGNORECASE):
            raise self._yaml.wrong(node, Problem("bad-value", name=name, expected=expected, given=given))
        return given.lower()

    def tolerance(self, name: str) -> str:
        """Return by how much two sides may differ, as XPath writes it; nothing for 0."""
        number = Decimal(self.option(name, "1e-8", _NUMBER, "a number from 0 on"))
        return format(number, "f") if number else ""


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield what stands between lines of dashes, each with the number of its first line."""
    lines = LINE.split(text)
    ends = [0, *(at for at, line in enumerate(lines, start=1) if _DASHES.fullmatch(line)), len(lines) + 1]
    for start, end in pairwise(ends):
        if any(line.strip() for line in lines[start : end - 1]):
            yield start + 1, "\n".join(lines[start : end - 1]) + "\n"


def _statement(read: _Yaml, node: Any) -> PlainRule:
    entries = read.entries(node, _RULE, "key of a rule")
    if "expr" not in entries:
        raise read.wrong(node, Problem("plain-yaml", reason="this rule has no expr"))
    expr, meta = entries.pop("expr"), read.entries(entries.pop("meta", None))
    entries |= {key: one for key, one in meta.items() if key == "severity"}
    said = {key: read.text(one).strip() for key, one in entries.items()}
    severity = read.require(said.get("severity", "error"), SEVERITIES, "severity", entries.get("severity"))
    text = read.text(expr)
    defined = DEFINED.match(text)
    begin = defined.end() if defined else 0
    name = re.sub(r"^(?=[\d.-])", "X", re.sub(r"[^\w.-]", ".", said.get("name", "")))
    return PlainRule(
        name=defined["name"] if defined else name,
        node=tree.Truth(None),
        line=expr.start_mark.line + 1,
        text=text[begin:],
        label=" ".join(said.get("label", "").split()),
        description=said.get("description", ""),
        severity=SEVERITIES[severity],
        places=read.places(expr)[begin:],
        defines=defined is not None,
    )


class _Yaml:
    """A text in YAML, as nodes that know their places."""

    def __init__(self, text: str, where: str) -> None:
        self._text, self._where = text, where

    def root(self) -> Any:
        """Return the outermost node: none is an alias, a value of R or of Python, or too deep."""
        if len(self._text) > _MOST:
            construct, instead = "YAML of more than 1 MB", "split the file"
            raise self.wrong(None, Problem("not-supported", construct=construct, instead=instead))
        depth = 0
        try:
            for event in yaml.parse(self._text, yaml.SafeLoader):
                depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
                tag = getattr(event, "tag", None) or ""
                if isinstance(event, yaml.AliasEvent) or tag.startswith("!") or depth > _DEEPEST:
                    reason = f"it has an alias, a tag or more than {_DEEPEST} levels"
                    raise self.wrong(event, Problem("plain-yaml", reason=reason))
            return yaml.compose(self._text, yaml.SafeLoader)
        except yaml.YAMLError as error:
            reason = getattr(error, "problem", "") or getattr(error, "reason", "")
            problem = Problem("plain-yaml", reason=reason)
            raise RulebookError(problem.at(self._place(getattr(error, "problem_mark", None)))) from None

    def _place(self, mark: Any) -> Place:
        return Place(self._where, mark.line + 1, mark.column + 1) if mark else Place(self._where)

    def wrong(self, node: Any, problem: Problem) -> RulebookError:
        """Return the error for a node."""
        return RulebookError(problem.at(self._place(getattr(node, "start_mark", None))))

    def text(self, node: Any) -> str:
        """Return a text; nothing else is one."""
        if not isinstance(node, yaml.ScalarNode):
            raise self.wrong(node, Problem("plain-yaml", reason="here a text is needed"))
        return str(node.value)

    def items(self, node: Any) -> Sequence[Any]:
        """Return the nodes of a list; a text is a list of one, and none is none."""
        if isinstance(node, yaml.MappingNode):
            raise self.wrong(node, Problem("plain-yaml", reason="here a list is needed, each of its lines after -"))
        return [] if node is None or not node.value else [node] if isinstance(node.value, str) else node.value

    def require(self, name: str, known: Collection[str], kind: str, node: Any) -> str:
        """Return a name that is known."""
        if name not in known:
            raise self.wrong(node, Problem("unknown-name", kind=kind, name=name, known=Known(name, tuple(known))))
        return name

    def entries(self, node: Any, known: Collection[str] = (), kind: str = "") -> dict[str, Any]:
        """Return the nodes of a mapping by their keys, all of which are known, where any are; none is empty."""
        if node is not None and not isinstance(node, yaml.MappingNode):
            raise self.wrong(node, Problem("plain-yaml", reason="here KEY: VALUE is needed"))
        keys = [(key, self.text(key), value) for key, value in (node.value if node else ())]
        return {self.require(name, known or (name,), kind, key): value for key, name, value in keys}

    def places(self, node: Any) -> tuple[tuple[int, int], ...]:
        """Return the line and column of each sign of a text."""
        begin = node.start_mark.index
        begin = self._text.index("\n", begin) if node.style in ("|", ">") else begin
        return places_of(node.value, self._text, begin, node.end_mark.index, node.start_mark.line + 1)
