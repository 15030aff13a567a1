"""Sentences of problems, for whoever reads them.

A template names references in braces: ``{field}``; ``{records:record}`` counts (``1 record``, ``2 records``),
``{n:entry/entries}``, too; ``{names:or}`` and ``{names:and}`` list, ``{names:lines}`` has one on each line, with what
follows ``lines`` behind it, ``{names:;}`` has semicolons between, ``{names:with}`` the word, ``{records:is|are}``
chooses by number, ``{settings:call}`` has settings as one command or call has them, ``{text!r}`` quotes, and
``{hint?}`` may lack; ``{problems:each}`` has each problem on a line, with its place and hint. The hints of problems
that it names follow its own, but of ``{problem:alone}``. In double brackets stands what
a user gives: ``[[--role {field}=identifier]]`` is an option at a terminal and a keyword in Python,
``roles={"AGE": "identifier"}``; where its reference lists several, it is given for each. Or there stands a page of
the documentation: ``[[docs/workers.md]]``.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
from masktron.problems.problem import Field, Known, Note, Problem, Rule, Setting, Term
from masktron.problems.readers import Reader, reader
from masktron.shell_words import shell_word

_STANDS_FOR = re.compile(r"[A-Z]{2}")
"""In a value of a template: a word that stands for what a user knows."""
_NAMED = re.compile(r"\[\[((?:-|docs/)[^ \]]+)(?: (.+?))?\]\]")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")

_FROM_THE_RIGHT = frozenset({"role", "missing"})
"""Options in whose values the last sign of equality parts the name of a field from the rest."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What a problem says: what is wrong, and what can be done, which may be nothing.

    Attributes
    ----------
    what : str
    hints : tuple of str
        Its own, those of the problems that it names, and of what else can be done; each once.
    settings : tuple of Setting
        All that its sentences name, in their order.
    pages : tuple of str
        Pages of the documentation that they name.
    """

    what: str
    hints: tuple[str, ...]
    settings: tuple[Setting, ...] = field(default=(), compare=False)
    pages: tuple[str, ...] = field(default=(), compare=False)

    @property
    def hint(self) -> str:
        """What can be done, in one sentence."""
        return "; ".join(self.hints)

    @property
    def given(self) -> tuple[Setting, ...]:
        """What the hint gives, with values that can be taken as they stand there."""
        return tuple(one for one in self.settings if one.offered)


def worded(problem: Problem) -> Wording:
    """Return the sentences of a problem, for whoever reads now: see `masktron.problems.readers`.

    Raises
    ------
    KeyError
        No text has its code, or the text names what the problem does not have.
    """
    words = _Words(problem.references)
    what, hint = map(words.of, (problem.code, "") if isinstance(problem, Note) else texts()[problem.code])
    further = [*map(worded, problem.further)]
    others = [*words.others, *further]
    hints = [hint, *(each for one in words.others for each in one.hints)]
    hints += [each for one in further for each in one.hints or (one.what,)]
    settings = dict.fromkeys([*words.settings, *(each for one in others for each in one.settings)])
    pages = [*words.pages, *(each for one in others for each in one.pages)]
    return Wording(what, tuple(dict.fromkeys(filter(None, hints))), tuple(settings), tuple(pages))


def sentence(problem: Problem | str) -> str:
    """Return what a note says, in one sentence."""
    if isinstance(problem, str):
        return problem
    said = worded(problem)
    return "; ".join(filter(None, (said.what, said.hint)))


def complaint(problem: Problem) -> str:
    """Return what an error shows: its place, what is wrong, its code, and on a second line what can be done."""
    said = worded(problem)
    place, code = str(problem.place), "" if isinstance(problem, Note) else f" [{problem.code}]"
    hint = f"\n  -> {said.hint}" if said.hint else ""
    return f"{place}: {said.what}{code}{hint}" if place else f"{said.what}{code}{hint}"


def spelled(template: str, **references: object) -> str:
    """Return a part of a table, with what a user gives in double brackets as templates of problems have it."""
    return _Words(references).of(template)


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


def options_of(problem: Problem) -> list[str]:
    """Return the options that a problem is about, the place first, if that is one."""
    source = problem.place.source
    place = [source.partition(" ")[0]] if source.startswith("-") else []
    return [*place, *(one.option for one in worded(problem).settings)]


def names_in(template: str) -> set[str]:
    """Return the names of the references that a template has."""
    return {name.removesuffix("?") for _, name, _, _ in Formatter().parse(template) if name}


def needed_in(template: str) -> set[str]:
    """Return the names of the references that a template cannot do without."""
    return {name for _, name, _, _ in Formatter().parse(template) if name and not name.endswith("?")}


def options_in(template: str) -> set[str]:
    """Return the options that a template has."""
    return {name for name, _ in _NAMED.findall(template) if name.startswith("-")}


class _Words:
    def __init__(self, references: Mapping[str, Any]) -> None:
        self.references, self.reader = references, reader()
        self.settings: list[Setting] = []
        self.pages: list[str] = []
        self.others: list[Wording] = []

    def of(self, template: str) -> str:
        pieces, at = [], 0
        for found in _NAMED.finditer(template):
            pieces += [self._formatted(template[at : found.start()]), self._given(found[1], found[2])]
            at = found.end()
        return "".join([*pieces, self._formatted(template[at:])])

    def _given(self, option: str, value: str | None) -> str:
        if option.startswith("docs/"):
            self.pages.append(option)
            return option
        if value is None:
            return self._spelled(Setting(option))
        known = {name: _plain(one) for name, one in self.references.items()}
        several = [name for name in sorted(names_in(value)) if isinstance(known[name], list)]
        each = [{several[0]: one} for one in known[several[0]]] if several else [{}]
        words = (_Words({**known, **one}) for one in each)
        ready = not _STANDS_FOR.search(re.sub(r"\{.*?\}", "", value))
        return self._spelled(Setting(option, tuple(dict.fromkeys(one.of(value) for one in words)), ready))

    def _spelled(self, setting: Setting) -> str:
        self.settings.append(setting)
        if self.reader is Reader.BROWSER:
            return str(_forms().in_form(setting))
        if self.reader is Reader.PYTHON:
            return keyword_argument(setting.option, setting.values)
        return " ".join(f"{setting.option} {shell_word(one)}" for one in setting.values) or setting.option

    def _formatted(self, template: str) -> str:
        pieces = []
        for text, name, spec, conversion in Formatter().parse(template):
            pieces.append(text)
            if name:
                value = self.references.get(name[:-1]) if name.endswith("?") else self.references[name]
                if spec == "alone" and isinstance(value, Problem):
                    pieces.append(worded(value).what)
                elif spec == "each" and isinstance(value, tuple):
                    each = (
                        f"{one.place}: {sentence(one)}" if isinstance(one, Problem) else str(one) for one in value
                    )
                    pieces += [f"\n     {one}" for one in each]
                else:
                    pieces.append(self._reference(value, spec or "", conversion or ""))
        return "".join(pieces)

    def _reference(self, value: Any, spec: str, conversion: str) -> str:
        several = self._listed(value) if isinstance(value, tuple | list) else [self._shown(value)]
        several = [*map(repr, several)] if conversion == "r" else several
        number = len(several) if isinstance(value, tuple | list) else value
        if "|" in spec:
            return spec.partition("|")[0 if number == 1 else 2]
        if spec in ("and", "or"):
            return f" {spec} ".join(filter(None, [", ".join(several[:-1]), *several[-1:]]))
        between = {";": "; ", "with": " with ", "call": " " if self.reader is Reader.TERMINAL else ", "}
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
                self.others.append(worded(value))
                shown = self.others[-1].what
            case Field() if self.reader is Reader.BROWSER:
                shown = str(_forms().column_name(value.single or value.name))
            case Field() | Rule():
                shown = value.single or value.name
            case Term():
                shown = str(_forms().term_words(value)) if self.reader is Reader.BROWSER else value.term
            case Setting():
                shown = self._spelled(value)
            case Known():
                shown = did_you_mean(value.name, value.names)
            case _:
                shown = "" if value is None else str(value)
        return shown


def _forms() -> ModuleType:
    """Return what says how pages call things: they stand above whoever words a problem."""
    return import_module("masktron.web.given_words")


def _plain(value: Any) -> Any:
    """Return a reference as settings have it: fields and rules by their names."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value.name if isinstance(value, Field | Rule) else value


def keyword_argument(option: str, values: Sequence[str]) -> str:
    """Return an option that is given values as a keyword argument of `masktron.mask` and the others.

    Parameters
    ----------
    option : str
    values : sequence of str
        Each as the command line takes it; none where only the keyword is meant.

    Examples
    --------
    >>> keyword_argument("--role", ["NAME=identifier", "ID=identifier"])
    'roles={"NAME": "identifier", "ID": "identifier"}'
    """
    name = option.lstrip("-")
    if name not in keywords():
        return " ".join([option, *values])
    keyword, form = keywords()[name]
    if form.name == "SWITCH" or not values:
        return keyword if form.name == "SWITCH" else f"{keyword}="
    pairs = [value.rpartition("=") if name in _FROM_THE_RIGHT else value.partition("=") for value in values]
    mapping = form.name in ("TABLE", "LISTS") and all(equals for _, equals, _ in pairs)
    if mapping and form.name == "TABLE":
        return f"{keyword}={{{', '.join(f'{_text(key)}: {_value(value)}' for key, _, value in pairs)}}}"
    if mapping:
        return f"{keyword}={{{', '.join(f'{_text(key)}: {_list(value.split(","))}' for key, _, value in pairs)}}}"
    return f"{keyword}={_value(values[-1]) if form.name == 'VALUE' else _list(values)}"


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _value(text: str) -> str:
    if _NUMBER.fullmatch(text) or text in ("SECONDS", "NUMBER"):
        return text
    return text.capitalize() if text in ("true", "false") else _text(text)


def _text(text: str) -> str:
    plain = text.isprintable() and not {'"', "\\"} & {*text}
    return f'"{text}"' if plain else repr(text)


@cache
def keywords() -> Mapping[str, tuple[str, Enum]]:
    """Return the keyword of each option, without its dashes, and the form in which it takes values."""
    # commands stand above whoever words a problem, and say what they take
    found: Mapping[str, tuple[str, Enum]] = import_module("masktron.commands.offered").keywords()
    return found
