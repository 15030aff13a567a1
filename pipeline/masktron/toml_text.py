"""Plain data as TOML, and the text of a TOML file of which some values are changed while every comment stays.

The standard library reads TOML and does not write it. What is cut here into statements has been read by it before, so
that strings, brackets and comments are all there is to tell apart.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

type TomlPath = tuple[str, ...]
"""Names from the root to a value or a table: ``("params", "c")``."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(table: Mapping[str, Any]) -> str:
    """Return a table as a file of TOML: its values first, then each table in it under its own head.

    Parameters
    ----------
    table : mapping of str to value
        Texts, numbers, true or false, None (``"auto"``), lists, and mappings of these.
    """
    lines = [f"{toml_key(name)} = {toml_value(value)}" for name, value in table.items() if not _is_table(value)]
    for name, inner in table.items():
        if _is_table(inner):
            lines += ["", f"[{toml_key(name)}]"]
            lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in inner.items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def toml_key(key: str) -> str:
    """Return a key, in quotes where it needs them."""
    return key if _BARE.fullmatch(key) else _text(key)


def toml_value(value: Any) -> str:
    """Return a value; None is ``"auto"``, as parameters of methods have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(one)}" for key, one in value.items()) + " }"
    return '"auto"' if value is None else repr(value)


def _text(text: str) -> str:
    r"""Return a basic string of TOML: that of JSON, without surrogates and with DEL as an escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True, slots=True)
class TomlStatement:
    """One statement, or a line that has none.

    Attributes
    ----------
    text : str
        As it stands in the file, with the end of its last line.
    table : TomlPath
        The table under whose header it stands.
    path : TomlPath
        What it sets, or the table that it begins; empty for a line that is blank or a comment.
    header : bool
        Whether it begins a table.
    value : tuple of (int, int)
        Where in the text the value begins and ends.
    inner : tuple of str
        Comments within the value.
    trailing : str
        The comment behind it, if there is one.
    """

    text: str
    table: TomlPath = ()
    path: TomlPath = ()
    header: bool = False
    value: tuple[int, int] = (0, 0)
    inner: tuple[str, ...] = ()
    trailing: str = ""

    @property
    def is_comment(self) -> bool:
        """Whether it is a line with a comment and nothing else."""
        return not self.path and bool(self.trailing)

    def with_value(self, value: str) -> list[TomlStatement]:
        """Return it with another value; comments within the former one stand on lines before it."""
        start, end = self.value
        made = replace(self, text=self.text[:start] + value + self.text[end:], value=(start, start + len(value)))
        return [*_comments(self.inner), replace(made, inner=())]

    def without_value(self) -> list[TomlStatement]:
        """Return the comments that stand in and behind it."""
        return _comments((*self.inner, self.trailing) if self.trailing else self.inner)


class TomlText:
    """A text whose values can be changed.

    Parameters
    ----------
    text : str
        Valid TOML, with line feeds alone.
    """

    def __init__(self, text: str) -> None:
        self._parts = list(_statements(text if text.endswith("\n") or not text else f"{text}\n"))

    def __str__(self) -> str:
        return "".join(one.text for one in self._parts)

    def has(self, path: TomlPath) -> bool:
        """Tell whether there is a statement that gives what a path names its value, and no table for it."""
        return any(one.path == path and not one.header for one in self._parts)

    def statements(self) -> Iterator[tuple[int, int, TomlStatement]]:
        """Yield where each statement begins, as a sign of the text from 0 and as a line from 1, and the statement."""
        at, line = 0, 1
        for one in self._parts:
            yield at, line, one
            at, line = at + len(one.text), line + one.text.count("\n")

    def line_of(self, path: TomlPath) -> int:
        """Return the line, from 1, that sets what a path names, or the nearest table around it."""
        for length in range(len(path), 0, -1):
            for _, line, one in self.statements():
                if one.path[:length] == path[:length]:
                    return line
        return 1

    def put(self, path: TomlPath, value: str) -> None:
        """Give what a path names another value, where it stands; else on a line of its own.

        A key of a table is put there under its header, or beside keys with dots; else the table is begun before all
        others.
        """
        for at, one in enumerate(self._parts):
            if one.path == path and not one.header:
                self._parts[at : at + 1] = one.with_value(value)
                return
        *table, name = path
        own = [at for at, one in enumerate(self._parts) if one.path and one.table == tuple(table)]
        dotted = [
            at for at, one in enumerate(self._parts)
            if not one.header and not one.table and table and one.path[:-1] == tuple(table)
        ]  # fmt: skip
        if own:
            self._insert(own[-1] + 1, f"{toml_key(name)} = {value}\n", tuple(table))
        elif dotted:
            self._insert(dotted[-1] + 1, f"{'.'.join(map(toml_key, path))} = {value}\n", ())
        else:
            self._begin(tuple(table), f"{toml_key(name)} = {value}\n")

    def assign(self, name: str, former: object, wanted: object) -> None:
        """Give a name at the root another value, table or nothing, on the lines that are there.

        Parameters
        ----------
        name : str
        former : value
            What the text says of it now; None for nothing.
        wanted : value
            None, and a table of nothing, take it out.
        """
        if wanted is None or wanted == {}:
            self.remove((name,))
        elif not isinstance(wanted, Mapping) or self.has((name,)):
            if former is None or toml_value(former) != toml_value(wanted):
                self.put((name,), toml_value(wanted))
        else:
            there = former if isinstance(former, Mapping) else {}
            for key in there.keys() - wanted.keys():
                self.remove((name, key))
            for key, value in wanted.items():
                if key not in there or toml_value(there[key]) != toml_value(value):
                    self.put((name, key), toml_value(value))

    def remove(self, path: TomlPath) -> None:
        """Take out what a path names, and all that is in it."""
        for at in reversed(range(len(self._parts))):
            one = self._parts[at]
            if one.path[: len(path)] == path:
                self._parts[at : at + 1] = one.without_value()

    def _insert(self, at: int, line: str, table: TomlPath) -> None:
        made = next(_statements(line))
        self._parts.insert(at, replace(made, table=table, path=(*table, *made.path)))

    def _begin(self, table: TomlPath, line: str) -> None:
        """Put a line before the first table, with a header where it is in one."""
        headers = [at for at, one in enumerate(self._parts) if one.header]
        at = headers[0] if headers else len(self._parts)
        while headers and at and self._parts[at - 1].is_comment:  # it is about that table
            at -= 1
        header = [f"[{'.'.join(map(toml_key, table))}]\n"] if table else []
        before = ["\n"] if header and at and self._parts[at - 1].text.strip() else []
        after = ["\n"] if headers else []
        self._parts[at:at] = list(_statements("".join([*before, *header, line, *after])))


def _comments(comments: tuple[str, ...]) -> list[TomlStatement]:
    return [TomlStatement(f"{one}\n", trailing=one) for one in comments]


def _statements(text: str) -> Iterator[TomlStatement]:
    """Cut a text into statements, and lines that have none."""
    table: TomlPath = ()
    start = 0
    while start < len(text):
        end, equals, inner, behind = _end(text, start)
        code = text[start:behind].rstrip()
        own, trailing = text[start:end], text[behind:end].strip()
        start = end
        if not code:
            yield TomlStatement(own, trailing=trailing)
        elif equals is None:
            table = _path(code)
            yield TomlStatement(own, table, table, True, (0, 0), inner, trailing)
        else:
            begun = equals + len(code[equals:]) - len(code[equals:].lstrip())
            path = (*table, *_path(f"{code[:equals]} 0"))
            yield TomlStatement(own, table, path, False, (begun, len(code)), inner, trailing)


def _end(text: str, start: int) -> tuple[int, int | None, tuple[str, ...], int]:
    """Return where a statement ends, what follows its key there, the comments within, and where its code ends."""
    at, depth = start, 0
    equals: int | None = None
    inner: list[str] = []
    while at < len(text):
        match text[at]:
            case "#":
                line = text.index("\n", at)
                if not depth:
                    return line + 1, equals, tuple(inner), at
                inner.append(text[at:line].rstrip())
                at = line
            case '"' | "'":
                at = _string_end(text, at)
            case "[" | "{":
                depth += 1
                at += 1
            case "]" | "}":
                depth -= 1
                at += 1
            case "=" if not depth and equals is None:
                at += 1
                equals = at - start
            case "\n" if not depth:
                return at + 1, equals, tuple(inner), at
            case _:
                at += 1
    return at, equals, tuple(inner), at


def _string_end(text: str, at: int) -> int:
    """Return where a string ends that begins here."""
    quote = text[at]
    mark = quote * 3 if text.startswith(quote * 3, at) else quote
    at += len(mark)
    while not text.startswith(mark, at):
        at += 2 if quote == '"' and text[at] == "\\" else 1
    at += len(mark)
    # a string of several lines may have up to two quotes before those that end it
    while len(mark) > 1 and at < len(text) and text[at] == quote:
        at += 1
    return at


def _path(statement: str) -> TomlPath:
    """Return the names in a statement, as the standard library reads them."""
    found: Any = tomllib.loads(statement)
    names = []
    while found:
        ((name, found),) = found.items()
        names.append(name)
        found = found[0] if isinstance(found, list) else found
    return tuple(names)
