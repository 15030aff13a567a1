"""A problem as data: its code, and what it is about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from dataclasses import fields as fields_of
from importlib import import_module
from numbers import Integral, Real
from os import PathLike
from typing import Any, Protocol, Self


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the data.

    Attributes
    ----------
    name : str
        As settings and rules have it.
    single : str
        What a sentence calls it where it stands alone, if not by its name: one of the fields of a household.
    """

    name: str
    single: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by its id; `single` as of `Field`."""

    name: str
    single: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting, as the options or the keywords that give it.

    Attributes
    ----------
    option : str
        Its long option: ``--role``.
    values : tuple of str
        What it is given, each as the command line takes it: ``AGE=identifier``.
    offered : bool
        Whether it may help against the problem just as it stands, so that pages have a button for it.
    """

    option: str
    values: tuple[str, ...] = ()
    offered: bool = False


@dataclass(frozen=True, slots=True)
class SettingName:
    """A setting by its name, as files of settings and keywords have it, and where in it.

    Attributes
    ----------
    name : str
    keys : tuple of str
        Names of the tables within it.
    """

    name: str
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join([self.name, *self.keys])


@dataclass(frozen=True, slots=True)
class Term:
    """A word of settings and tables for which pages have others: ``pil``, ``grouping rules``.

    Attributes
    ----------
    term : str
    """

    term: str

    def __str__(self) -> str:
        return self.term


@dataclass(frozen=True, slots=True)
class Known:
    """Names that there are, where a name is none of them: a sentence proposes the closest, or lists all.

    Attributes
    ----------
    name : str
    names : tuple of str
    """

    name: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a problem is: the parts that are known.

    Attributes
    ----------
    source : str
        A file, an address, a rule's origin.
    line, column, record : int
        Counted from 1; 0 where it is not known.
    field, rule : Field, Rule or None
    """

    source: str = ""
    line: int = 0
    column: int = 0
    record: int = 0
    field: Field | None = None
    rule: Rule | None = None

    def __str__(self) -> str:
        file = ":".join([self.source, *(str(at) for at in (self.line, self.column) if at)]).removeprefix(":")
        parts = [file, f"record {self.record}" if self.record else ""]
        parts += [f"field {self.field.single or self.field.name}"] if self.field else []
        parts += [f"rule {self.rule.single or self.rule.name}"] if self.rule else []
        return ", ".join(filter(None, parts))


class Names(Protocol):
    """What a field or rule is called elsewhere."""

    def __call__[T: (Field, Rule)](self, one: T, /) -> T:
        """Return it with other names."""


@dataclass(frozen=True, slots=True, init=False)
class Problem:
    """What went wrong, or is worth knowing.

    Attributes
    ----------
    code : str
        Names its sentences in `masktron.problems.texts`, and its entry in the list of codes.
    place : Place
        Whoever makes a problem may give a path.
    references : mapping of str to object
        What the sentences name: `Field`, `Rule`, `Setting`, `Problem`, numbers, plain names, and sequences of these.
        Whoever makes a problem gives them as keywords.
    further : tuple of Problem
        What else can be done: their hints follow its own.
    """

    code: str
    place: Place
    references: Mapping[str, Any] = field(hash=False)
    further: tuple[Problem, ...] = ()

    def __init__(self, code: str, /, place: Place | str | PathLike[str] = "", **references: object) -> None:
        self._set(code=code, place=_place(place), references=references, further=())

    def _set(self, **attributes: Any) -> None:
        if references := attributes.get("references"):  # the same, however they are listed
            listed = {name: tuple(one) if isinstance(one, list) else one for name, one in references.items()}
            attributes["references"] = listed
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def _with(self, **attributes: object) -> Self:
        changed = copy(self)
        changed._set(**attributes)
        return changed

    def __str__(self) -> str:
        # whoever puts it into another text loses what it names, but never shows how it is made
        return str(import_module("masktron.problems.wording").sentence(self))

    def naming(self, **references: object) -> Problem:
        """Return it with more references, or others."""
        return self._with(references={**self.references, **references})

    def parts(self) -> Iterator[object]:
        """All that it names, one by one, those of problems within it too."""
        for value in self.references.values():
            yield from _parts(value)

    def about(self) -> tuple[str, ...]:
        """Names of settings and fields that it speaks of, for a form that has an input for each."""
        found: dict[str, None] = {}
        for one in (*self.parts(), self.place.field):
            if isinstance(one, Setting) and not one.offered:
                keys = (value.partition("=")[0] for value in one.values if "=" in value)
                found |= dict.fromkeys((*keys, one.option.lstrip("-").replace("-", "_")))
            elif isinstance(one, SettingName):
                found |= dict.fromkeys((*one.keys, one.name))
            elif isinstance(one, Field):
                found[one.name] = None
        return tuple(found)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data; `from_dict` reads it."""
        name = "note" if isinstance(self, Note) else "code"
        told = {name: self.code, "references": _plain(self.references)}
        place = {one.name: getattr(self.place, one.name) for one in fields_of(self.place)}
        known = {name: part for name, part in place.items() if part}
        more = {"place": known, "further": self.further}
        return told | {name: _plain(part) for name, part in more.items() if part}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Problem:
        """Return the problem that `as_dict` has written."""
        place, references = (
            {name: _read(one) for name, one in told.get(part, {}).items()} for part in ("place", "references")
        )
        made = Note(told["note"]) if "note" in told else Problem(told["code"])
        return made._with(place=Place(**place), references=references, further=_read(told.get("further", [])))

    def at(self, place: Place | str | PathLike[str]) -> Problem:
        """Return it at another place."""
        return self._with(place=_place(place))

    def then(self, *further: Problem) -> Problem:
        """Return it with more that can be done."""
        return self._with(further=(*self.further, *further))

    def renamed(self, names: Names | None = None, source: Callable[[str], str] = str) -> Problem:
        """Return it with other names of fields and rules, and of files where `source` has others."""
        names = names or _unchanged
        place, references = (
            {name: _renamed(one, names, source) for name, one in part.items()}
            for part in ({one.name: getattr(self.place, one.name) for one in fields_of(Place)}, self.references)
        )
        return self._with(place=Place(**place), references=references, further=_renamed(self.further, names, source))

    def without_known(self) -> Self:
        """Return it without the names that there are: those of a file without a header are values of a record."""
        references = {name: _without_known(one) for name, one in self.references.items()}
        return self._with(references=references, further=tuple(one.without_known() for one in self.further))


class Note(Problem):
    """What a result says of itself: its template stands where it arises, since no program asks for its code.

    Parameters
    ----------
    template : str
        As those of `masktron.problems.texts`.
    **references
        As of `Problem`.
    """

    __slots__ = ()

    def __init__(self, template: str, /, **references: object) -> None:
        super().__init__(template)
        self._set(references=references)


def format_option(name: str, value: str) -> Setting:
    """Return an option of a format that may help: in the table ``format_options`` of settings, too."""
    return Setting("--format-option", (f"{name}={value}",), offered=True)


type Sentence = Problem | str
"""What a result says of itself: as data where it names fields or options, which readers have other words for."""


def fields(names: Iterable[str]) -> tuple[Field, ...]:
    """Return fields by their names."""
    return tuple(map(Field, names))


def rules(ids: Iterable[str]) -> tuple[Rule, ...]:
    """Return rules by their ids."""
    return tuple(map(Rule, ids))


def _unchanged[T: (Field, Rule)](one: T, /) -> T:
    return one


def _place(place: Place | str | PathLike[str]) -> Place:
    return place if isinstance(place, Place) else Place(str(place))


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, Problem):
        yield from value.parts()
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            yield from _parts(one)
    else:
        yield value


_KINDS: Mapping[str, type[Any]] = {
    "field": Field,
    "rule": Rule,
    "option": Setting,
    "setting": SettingName,
    "term": Term,
    "known": Known,
}
"""References by the key that plain data have for their first attribute; others have their own names."""
_KEYS = {kind: key for key, kind in _KINDS.items()}


def _plain(value: Any) -> Any:
    match value:
        case Problem():
            shown: Any = value.as_dict()
        case Mapping():
            shown = {name: _plain(one) for name, one in value.items()}
        case tuple() | list():
            shown = [_plain(one) for one in value]
        case _ if key := _KEYS.get(type(value)):
            first, *rest = (one.name for one in fields_of(value))
            named = {key: getattr(value, first), **{name: getattr(value, name) for name in rest}}
            shown = {name: _plain(one) for name, one in named.items() if one or name == key}
        case None | bool():
            shown = value
        case Integral():
            shown = int(value)
        case Real() if math.isfinite(value):
            shown = float(value)
        case _:
            shown = str(value)
    return shown


def _read(value: Any) -> Any:
    """Return references that `_plain` has written."""
    if isinstance(value, list):
        return tuple(map(_read, value))
    if not isinstance(value, Mapping):
        return value
    if "code" in value or "note" in value:
        return Problem.from_dict(value)
    key = next((key for key in _KINDS if key in value), "")
    return _KINDS[key](value[key], **{name: _read(one) for name, one in value.items() if name != key})


def _without_known(value: Any) -> Any:
    match value:
        case Problem():
            return value.without_known()
        case Known():
            return Known(value.name)
        case tuple() | list():
            return tuple(map(_without_known, value))
        case _:
            return value


def _renamed(value: Any, names: Names, source: Callable[[str], str]) -> Any:
    def key(name: str) -> str:
        return names(Field(name)).name

    match value:
        case Problem():
            renamed: Any = value.renamed(names, source)
        case Field():
            renamed = names(value)
        case Rule():
            renamed = names(value)
        case Setting():
            given = (one.partition("=") for one in value.values)
            renamed = replace(value, values=tuple(dict.fromkeys(key(name) + "".join(rest) for name, *rest in given)))
        case SettingName():
            renamed = replace(value, keys=tuple(map(key, value.keys)))
        case Known():
            renamed = Known(key(value.name), tuple(dict.fromkeys(map(key, value.names))))
        case tuple() | list():
            renamed = tuple(_renamed(one, names, source) for one in value)
        case str():
            renamed = source(value)  # what a system says of a file has its name, too
        case _:
            renamed = value
    return renamed
