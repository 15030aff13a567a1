"""Sentences of problems, for whoever reads them.

A template names references in braces: ``{field}``; ``{records:record}`` counts (``1 record``, ``2 records``),
``{n:entry/entries}``, too; ``{names:or}`` and ``{names:and}`` list, ``{names:lines}`` has one on each line, with what
follows ``lines`` behind it, ``{names:;}`` has semicolons between, ``{records:is|are}`` chooses by number,
``{settings:call}`` has settings as one command or call has them, ``{text!r}`` quotes, and
``{hint?}`` may lack. In double brackets stands what
a user gives: ``[[--role {field}=identifier]]`` is an option at a terminal and a keyword in Python,
``roles={"AGE": "identifier"}``; where its reference lists several, it is given for each.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib import import_module
from numbers import Integral, Real
from pkgutil import iter_modules
from string import Formatter
from types import ModuleType
from typing import Any

from masktron.counts import counted
from masktron.problems.problem import Field, FormatOption, Known, Note, Obstacle, Problem, Rule, Setting, Value
from masktron.problems.spelling import keyword_argument
from masktron.shell_words import shell_word

_STANDS_FOR = re.compile(r"[A-Z]{2}")
"""In a value of a template: a word that stands for what a user knows."""
_GIVEN = re.compile(r"\[\[(-[^ \]]+)(?: (.+?))?\]\]")


class Reader(Enum):
    """Who reads it."""

    TERMINAL = "terminal"
    PYTHON = "python"
    BROWSER = "browser"


@dataclass(frozen=True, slots=True)
class Wording:
    """What a problem says: what is wrong, and what can be done, which may be nothing.

    Attributes
    ----------
    what, hint : str
    given : tuple of Setting
        What the hint gives, with values that can be taken as they stand there.
    """

    what: str
    hint: str
    given: tuple[Setting, ...] = field(default=(), compare=False)


_READER: ContextVar[Reader] = ContextVar("reader", default=Reader.TERMINAL)


@contextmanager
def reading(reader: Reader) -> Generator[None]:
    """Let sentences be worded for somebody, where nobody says for whom."""
    former = _READER.set(reader)
    try:
        yield
    finally:
        _READER.reset(former)


def worded(problem: Problem, reader: Reader | None = None, *, release_safe: bool = False) -> Wording:
    """Return the sentences of a problem.

    Parameters
    ----------
    problem : Problem
    reader : Reader, optional
        Else whoever reads now: see `reading`.
    release_safe : bool
        Hide values of the data.

    Raises
    ------
    KeyError
        No text has its code, or the text names what the problem does not have.
    """
    reader = reader or _READER.get()
    words = _Words(problem.references, reader, release_safe)
    what, hint = (problem.code, "") if isinstance(problem, Note) else texts()[problem.code]
    others = [worded(one, reader, release_safe=release_safe) for one in problem.adding()]
    named = len(others) - len(problem.further)
    hints = [words.of(hint), *(one.hint for one in others[:named]), *(one.hint or one.what for one in others[named:])]
    given = dict.fromkeys([*words.given, *(each for one in others for each in one.given)])
    return Wording(words.of(what), "; ".join(filter(None, hints)), tuple(given))


def sentence(problem: Problem | str, reader: Reader | None = None) -> str:
    """Return what a note says, in one sentence."""
    if isinstance(problem, str):
        return problem
    if isinstance(problem, Obstacle):
        return complaint(problem.references["problem"], reader)
    said = worded(problem, reader)
    return "; ".join(filter(None, (said.what, said.hint)))


def complaint(problem: Problem, reader: Reader | None = None) -> str:
    """Return what an error shows: its place, what is wrong, its code, and on a second line what can be done."""
    said = worded(problem, reader)
    place, code = str(problem.place), "" if isinstance(problem, Note) else f" [{problem.code}]"
    hint = f"\n  -> {said.hint}" if said.hint else ""
    return f"{place}: {said.what}{code}{hint}" if place else f"{said.what}{code}{hint}"


def spelled(template: str, **references: object) -> str:
    """Return a part of a table, with what a user gives in double brackets as templates of problems have it."""
    return _Words(references, _READER.get(), release_safe=False).of(template)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the closest of the known names, or lists them all."""
    names = list(known)
    same = [known for known in names if known.casefold() == name.casefold()]
    close = same or difflib.get_close_matches(name, names, n=3)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "known: " + ", ".join(names) if names else ""


@cache
def texts() -> Mapping[str, tuple[str, str]]:
    """Return all templates by code: what is wrong, and what can be done."""
    return {code: text for room in rooms() for code, text in room.TEXTS.items()}


def rooms() -> list[ModuleType]:
    """Return the modules that hold templates."""
    package = import_module("masktron.problems.texts")
    return [import_module(one.name) for one in iter_modules(package.__path__, f"{package.__name__}.")]


def templates(problem: Problem) -> tuple[str, ...]:
    """Return the templates of a problem, and of those within it."""
    own = (problem.code,) if isinstance(problem, Note) else texts()[problem.code]
    return (*own, *(each for one in problem.adding() for each in templates(one)))


def options_of(problem: Problem) -> list[str]:
    """Return the options that a problem is about or that its hint gives, the place first, if that is one."""
    source = problem.place.source
    place = source.partition(" ")[0] if source.startswith("-") else ""
    named = [one.option for one in problem.parts() if isinstance(one, Setting)]
    return [place, *named, *(option for one in templates(problem) for option in sorted(options_in(one)))]


def names_in(template: str) -> set[str]:
    """Return the names of the references that a template has."""
    return {name.removesuffix("?") for _, name, _, _ in Formatter().parse(template) if name}


def needed_in(template: str) -> set[str]:
    """Return the names of the references that a template cannot do without."""
    return {name for _, name, _, _ in Formatter().parse(template) if name and not name.endswith("?")}


def options_in(template: str) -> set[str]:
    """Return the options that a template has."""
    return {option for option, _ in _GIVEN.findall(template)}


class _Words:
    def __init__(self, references: Mapping[str, Any], reader: Reader, release_safe: bool) -> None:
        self.references, self.reader, self.release_safe = references, reader, release_safe
        self.given: list[Setting] = []

    def of(self, template: str) -> str:
        pieces, at = [], 0
        for found in _GIVEN.finditer(template):
            pieces += [self._formatted(template[at : found.start()]), self._given(found[1], found[2])]
            at = found.end()
        return "".join([*pieces, self._formatted(template[at:])])

    def _given(self, option: str, value: str | None) -> str:
        if value is None:
            return self._spelled(Setting(option))
        known = {name: _plain(one) for name, one in self.references.items()}
        several = [name for name in sorted(names_in(value)) if isinstance(known[name], list)]
        each = [{several[0]: one} for one in known[several[0]]] if several else [{}]
        words = (_Words({**known, **one}, self.reader, self.release_safe) for one in each)
        setting = Setting(option, tuple(dict.fromkeys(one.of(value) for one in words)))
        self.given += [] if _STANDS_FOR.search(re.sub(r"\{.*?\}", "", value)) else [setting]
        return self._spelled(setting)

    def _spelled(self, setting: Setting) -> str:
        if self.reader is Reader.BROWSER:
            # pages stand above whoever words a problem, and say what their forms call it
            return str(import_module("masktron.web.given_words").in_form(setting))
        if self.reader is Reader.PYTHON:
            return keyword_argument(setting.option, setting.values)
        return " ".join(f"{setting.option} {shell_word(one)}" for one in setting.values) or setting.option

    def _formatted(self, template: str) -> str:
        pieces = []
        for text, name, spec, conversion in Formatter().parse(template):
            pieces.append(text)
            if name:
                value = self.references.get(name[:-1]) if name.endswith("?") else self.references[name]
                pieces.append(self._reference(value, spec or "", conversion or ""))
        return "".join(pieces)

    def _reference(self, value: Any, spec: str, conversion: str) -> str:
        if isinstance(value, Value):
            value = "(hidden)" if self.release_safe else value.value
            spec = "" if self.release_safe else spec
        several = self._listed(value) if isinstance(value, tuple | list) else [self._shown(value)]
        several = [*map(repr, several)] if conversion == "r" else several
        number = len(several) if isinstance(value, tuple | list) else value
        if "|" in spec:
            return spec.partition("|")[0 if number == 1 else 2]
        if spec in ("and", "or"):
            return f" {spec} ".join(filter(None, [", ".join(several[:-1]), *several[-1:]]))
        between = {";": "; ", "call": " " if self.reader is Reader.TERMINAL else ", "}
        if spec in between:
            return between[spec].join(several)
        if spec.startswith("lines"):
            return "\n     ".join(f"{one}{spec[5:]}" for one in several)
        noun = len(spec) > 1 and spec[0].isalpha()
        if noun and isinstance(number, Integral):
            return counted(int(number), *spec.split("/"))
        # whatever is in the place of a number, it is shown: no rare error fails while it is worded
        return format(value, spec) if isinstance(value, Real) and not noun else ", ".join(several)

    def _listed(self, several: Sequence[Any]) -> list[str]:
        """Say each once, but numbers: fields of one level at several positions by its name alone."""
        names = Counter(one.name for one in several if isinstance(one, Field | Rule))
        several = [type(one)(one.name) if names[getattr(one, "name", "")] > 1 else one for one in several]
        numbers = all(isinstance(one, int | float) for one in several)
        return [self._shown(one) for one in (several if numbers else dict.fromkeys(several))]

    def _shown(self, value: Any) -> str:
        match value:
            case Problem():
                shown = worded(value, self.reader, release_safe=self.release_safe).what
            case Field() | Rule():
                shown = value.single or value.name
            case Value():
                shown = "(hidden)" if self.release_safe else str(value.value)
            case Setting():
                shown = self._spelled(value)
            case FormatOption():
                self.given.append(Setting("--format-option", (f"{value.name}={value.value}",)))
                shown = self._spelled(self.given[-1])
            case Known():
                shown = did_you_mean(value.name, value.names)
            case _:
                shown = "" if value is None else str(value)
        return shown


def _plain(value: Any) -> Any:
    """Return a reference as settings have it: fields and rules by their names."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value.name if isinstance(value, Field | Rule) else value
