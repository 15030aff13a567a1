"""What a setting or an option says of itself, once.

A class of settings or of what a command takes is a `Settings`, with an annotated field for each, which `setting`
declares. Help and the command line, files of settings, keyword arguments, pages, manifests and repeated runs are made
of these; no list of settings is kept by hand. What the annotation says need not be declared: how a value is checked
and read, its choices, and whether options give a table, a list or a switch.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import partial
from numbers import Integral
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    SupportsIndex,
    TypeAliasType,
    dataclass_transform,
    get_args,
    get_origin,
    overload,
)

import attrs
from attrs.converters import optional

from masktron.errors import UsageError

if TYPE_CHECKING:
    from dataclasses import replace as evolve  # which checks the changes, as attrs would with its own decorator
else:
    from attrs import evolve

__all__ = [
    "HARMLESS",
    "HOW",
    "IN",
    "LIMITS",
    "NAMED_ONLY",
    "OUTPUT",
    "PANELS",
    "Declared",
    "Integer",
    "MaybeInteger",
    "Settings",
    "Shape",
    "Taken",
    "Trust",
    "WrongValue",
    "about",
    "declared_in",
    "evolve",
    "integer",
    "names",
    "number",
    "require",
    "setting",
    "switch",
    "text",
    "with_commas",
]

_KEY = "declared"
IN, HOW, LIMITS, OUTPUT = PANELS = ("What goes in", "How it is done", "Limits", "Output")
"""Where the help has an option."""


class Shape(Enum):
    """What a setting is, in a file of settings and in Python, and so how options give it."""

    BY_TYPE = "by type"
    """What the type of the field says."""
    VALUE = "value"
    """One value."""
    SWITCH = "switch"
    """True or false: an option without a value."""
    LIST = "list"
    """An option that is repeated."""
    TABLE = "table"
    """An option of the form NAME=VALUE that is repeated."""
    LISTS = "table of lists"
    """The same, with several values for a name."""


class WrongValue(Exception):  # noqa: N818 -- it never reaches a user
    """A value that a setting cannot have.

    Parameters
    ----------
    what : str
        What is said right behind the name of the setting.
    hint : str
        What to do; ``{name}`` in it stands for the name.
    """

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what, self.hint = what, hint


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What a file that the user did not name may do with a setting: see `masktron.trust`.

    Attributes
    ----------
    named_only : bool
        Nothing. The setting decides where a run works, what it writes or which secret it reads.
    files : callable or None
        From a value and a function, the same value with other files. The function gets each file that the value names
        and its place below the setting, such as ``codes.xml``. They have to lie in the folder of the file that names
        them.
    instead : str
        The option that names such a file instead, with ``{}`` for the place, or for the level that has the setting.
    weakens : callable or None
        From a value, the part that relaxes what a result is judged by; something false where no part does.
    levels : type or None
        Declares what each table in the value may hold.
    named_parts : tuple of str
        Entries of the value, a table, that are as `named_only`.
    """

    named_only: bool = False
    files: Callable[[Any, Callable[[str, Path], Path]], Any] | None = None
    instead: str = ""
    weakens: Callable[[Any], Any] | None = None
    levels: type | None = None
    named_parts: tuple[str, ...] = ()


class Taken[Stored, Given]:
    """The type of a field that takes more than it stores: a text for a path, for example."""

    if TYPE_CHECKING:

        @overload
        def __get__(self, settings: None, kind: Any = None) -> Self: ...
        @overload
        def __get__(self, settings: object, kind: Any = None) -> Stored: ...
        def __get__(self, settings: object, kind: Any = None) -> Any: ...
        def __set__(self, settings: Any, value: Given) -> None: ...


HARMLESS = Trust()
"""A file that was found may set it, and nobody needs to know."""
NAMED_ONLY = Trust(named_only=True)


@dataclass(frozen=True, slots=True)
class Declared:
    """What a field says of itself; in `Annotated`, what all fields of a type say that do not say otherwise.

    Attributes
    ----------
    help : str
        One sentence for whoever uses it.
    panel : str
        Where the help has the option; empty for arguments and for what has no option.
    default, factory : value, callable
        The value where none is given, or what makes it.
    converter : callable or None
        From a value that somebody gives, the one that is stored; a `WrongValue` says what it must be. By the type of
        the field when None.
    kw_only : bool
        Whether Python gives it by its name alone.
    init : bool
        Whether Python gives it at all; else the command line alone.
    repr : bool
    option : str or None
        Its long spelling; from the name of the field when None, none where it is empty.
    short : str
        Another spelling, such as ``-k``.
    metavar : str
        What stands for its value, with its form: ``FIELD=ROLE``.
    shown : str
        What the help says of the default.
    form : Shape
    read : callable
        Reads a text of the command line; of a table, that of a value. ValueError says what it must be. By the type of
        the field where it is `str`.
    collect : callable or None
        Reads all texts of a repeated option, given its spelling; by its form when None.
    flags : mapping of str to (str, str)
        For a value the option without a value that stands for it, and its help.
    parts : mapping of str to (str, str, str)
        Other entries of a table that have an option: what stands for the value, its help, and the default in words.
    merge : callable or None
        From the former value and the one that options give, the new one. When None, tables are joined, and all else
        is replaced.
    example : str
        Of an option of a table, for messages.
    twice : str
        What to do where options of a table give a name two values.
    right : bool
        Whether the last equals sign ends the name.
    stripped : bool
        Whether blanks around names and values do not count, and no value is empty.
    choices : tuple of str
        All values that there are; those of a `Literal`.
    least : int or None
        The least value.
    why : str
        Why it is the least one, for messages.
    commands : str
        Names of the commands that have the option.
    topic : str
        What the setting is about: ``reading``, ``fields``, ``judging``, ``treating``, ``way``, ``running``.
    page : str
        The page of the documentation about it.
    local : bool
        Whether it says how a run works on this machine: no manifest has it, and no later run takes it over.
    confidential : bool
        Whether it is a secret: no file of settings and no later run has it.
    apart : bool
        Whether the manifest has it in a place of its own.
    decides : {"values", "order", "nothing"}
        What it decides of the bytes that are written, beyond what is refused.
    tuned : bool
        Whether it decides no figure of a candidate of `tune`, or does so by what is known of the candidate anyway.
    trust : Trust
    reads : str
        What messages call the file that it names, where that is read.
    writes : bool
        Whether it names a file that is written.
    options : type or None
        A class whose fields are options, of which it takes those that are given.
    variable : str
        Variable of the environment that stands for the option.
    off : str
        The option that switches it off.
    other : mapping of str to (str, str)
        By command, its help and what that says of the default, where they are others.
    needed : bool
        Whether the command line needs it, though it has a default.
    """

    help: str = ""
    panel: str = ""
    default: Any = attrs.NOTHING
    factory: Callable[[], Any] | None = None
    converter: Callable[[Any], Any] | None = None
    kw_only: bool = True
    init: bool = True
    repr: bool = True
    option: str | None = None
    short: str = ""
    metavar: str = ""
    shown: str = ""
    form: Shape = Shape.BY_TYPE
    read: Callable[[str], Any] = str
    collect: Callable[[str, Sequence[str]], Any] | None = None
    flags: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    merge: Callable[[Any, Any], Any] | None = None
    example: str = ""
    twice: str = "keep one of them"
    right: bool = False
    stripped: bool = False
    choices: tuple[str, ...] = ()
    least: int | None = None
    why: str = ""
    commands: str = ""
    topic: str = ""
    page: str = ""
    local: bool = False
    confidential: bool = False
    apart: bool = False
    decides: str = "values"
    tuned: bool = False
    trust: Trust = HARMLESS
    reads: str = ""
    writes: bool = False
    options: type | None = None
    variable: str = ""
    off: str = ""
    other: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    needed: bool = False

    @property
    def required(self) -> bool:
        """Whether a value has to be given."""
        return self.default is attrs.NOTHING and self.factory is None

    def spelled(self, name: str) -> str:
        """Return the long spelling of the option of a field; empty where it has none."""
        return f"--{name.replace('_', '-')}" if self.option is None else self.option

    def collected(self, name: str, texts: Sequence[str]) -> Any:
        """Return what the texts of a repeated option give.

        Raises
        ------
        UsageError
        """
        option = self.spelled(name)
        if self.collect is not None:
            return self.collect(option, texts)
        if self.form is Shape.LIST:
            return [*texts]
        found: dict[str, Any] = {}
        for one in texts:
            key, equals, text = one.rpartition("=") if self.right else one.partition("=")
            if self.stripped:
                key, text = key.strip(), text.strip()
            try:
                if not (equals and key and (text or not self.stripped)):
                    raise ValueError  # noqa: TRY301 -- told below, as what cannot be read
                value = self.read(text)
            except ValueError:
                what = f"{option} {one!r} is not of the form {self.metavar}"
                raise UsageError(what, hint=f"for example {option} {self.example}") from None
            if found.get(key, value) != value:
                raise UsageError(f"{option} gives {key!r} twice", hint=self.twice)
            found[key] = value
        return found

    def merged(self, former: Any, given: Any) -> Any:
        """Return what a setting is where options give some of it."""
        if self.merge is not None:
            return self.merge(former, given)
        return {**former, **given} if isinstance(given, Mapping) and isinstance(former, Mapping) else given

    def checked(self, value: Any) -> Any:
        """Return a value that is one of the choices, and not below the least one.

        Raises
        ------
        WrongValue
        """
        if self.choices and value not in self.choices:
            raise WrongValue(f" must be one of {', '.join(self.choices)}, not {value!r}", self.why)
        if self.least is not None and value is not None and value < self.least:
            raise WrongValue(f" must be at least {self.least}, not {value}", self.why)
        return value

    def otherwise(self, other: Declared) -> Declared:
        """Return what this says; what it leaves open, as the other says it."""
        usual = {one.name: getattr(_NOTHING_SAID, one.name) for one in fields(Declared)}
        own = {name: getattr(self, name) for name, value in usual.items() if getattr(self, name) != value}
        return replace(other, **own)


_NOTHING_SAID = Declared()


def _field_of[**P](made: Callable[P, Declared]) -> Callable[P, Any]:
    def setting(*args: P.args, **kwargs: P.kwargs) -> Any:
        said = made(*args, **kwargs)
        default = said.default if said.factory is None else attrs.Factory(said.factory)
        return attrs.field(default=default, kw_only=said.kw_only, repr=said.repr, metadata={_KEY: said})

    return setting


setting = _field_of(Declared)
"""A field of `Settings`; the arguments are those of `Declared`."""


# mypy would give inherited fields of a frozen class the types that they take, not those that they store
@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(setting, attrs.field))
class Settings:
    """A class whose fields are declared."""

    # what attrs and mypy look for

    __attrs_attrs__: ClassVar[Any]

    def __init_subclass__(cls, *, eq: bool = False) -> None:
        attrs.define(cls, frozen=True, slots=False, eq=eq, repr=eq, field_transformer=_completed)


def declared_in(kind: type) -> dict[str, Declared]:
    """Return what each field of a class declares, by name; fields without a declaration are left out."""
    return {one.name: one.metadata[_KEY] for one in attrs.fields(kind) if _KEY in one.metadata}


def _completed(kind: type, all_fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
    """Let fields say what their annotations say, and their names where a value is wrong; for ``attrs.define``."""
    return [one if _inherited(one) else _complete(one, vars(sys.modules[kind.__module__])) for one in all_fields]


def _inherited(one: Any) -> bool:
    return bool(one.inherited)


def _complete(one: attrs.Attribute[Any], known: dict[str, Any]) -> attrs.Attribute[Any]:
    if _KEY not in one.metadata:
        return one.evolve(kw_only=True)
    said, plain, shown = one.metadata[_KEY], eval(str(one.type), known), one.type  # noqa: S307 -- what the module says
    if isinstance(plain, TypeAliasType):
        plain = plain.__value__
    if get_origin(plain) is Annotated:
        plain, by_type = get_args(plain)
        said = said.otherwise(by_type)
    given: tuple[Any, ...] = ()
    if get_origin(plain) is Taken:
        plain, given = get_args(plain)[0], get_args(get_args(plain)[1])
        shown = re.sub(r"\b(?:\w+\.)+", "", inspect.formatannotation(plain))
    kinds = {one for one in get_args(plain) if one is not NoneType} if isinstance(plain, UnionType) else {plain}
    by_kind = _said_by_kind(kinds.pop() if len(kinds) == 1 else None)
    said = said.otherwise(replace(by_kind, read=str) if str in given else by_kind)
    if said.converter is not None and isinstance(plain, UnionType) and NoneType in get_args(plain):
        said = replace(said, converter=optional(said.converter))
    return one.evolve(type=shown, metadata={_KEY: said}, converter=partial(_converted, one.name, said))


def _converted(name: str, said: Declared, value: Any) -> Any:
    """Convert and check the value of a field."""
    try:
        return said.checked(value if said.converter is None else said.converter(value))
    except WrongValue as wrong:
        error = UsageError(f"{name}{wrong.what}", hint=wrong.hint.replace("{name}", name))
        error.setting = name
        raise error from None


def _said_by_kind(kind: Any) -> Declared:
    if isinstance(kind, TypeAliasType):
        return _said_by_kind(kind.__value__)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return Declared(choices=inner, metavar="|".join(inner), form=Shape.VALUE)
    if origin is Mapping:
        several = get_origin(inner[1]) in (tuple, frozenset)
        return Declared(form=Shape.LISTS if several else Shape.TABLE, read=_said_by_kind(inner[1]).read)
    if origin in (tuple, list, Sequence):
        return Declared(form=Shape.LIST, read=Path if inner[0] is Path else str)
    return _BY_KIND.get(kind, Declared(form=Shape.VALUE))


def names(kind: type, wanted: Callable[[Declared], object]) -> frozenset[str]:
    """Return the names of the fields whose declarations are wanted."""
    return frozenset(name for name, one in declared_in(kind).items() if wanted(one))


def about(kind: type, *topics: str) -> frozenset[str]:
    """Return the names of the settings that are about something: see `Declared.topic`."""
    return names(kind, lambda one: one.topic in topics)


def require(condition: object, what: str, hint: str = "") -> None:
    """Refuse a value; see `WrongValue`.

    Raises
    ------
    WrongValue
    """
    if not condition:
        raise WrongValue(what, hint)


def integer(given: SupportsIndex) -> int:
    """Read an integer, also one of numpy."""
    value: Any = given
    if not isinstance(value, bool) and isinstance(value, Integral):
        return int(value)
    whole = (isinstance(value, float) and value.is_integer()) or (isinstance(value, str) and value.isdecimal())
    write = f"write {{name}} = {int(value)}" if whole and isinstance(value, float | str) else ""
    raise WrongValue(f" must be an integer, not {given!r}", write)


def switch(given: bool) -> bool:
    """Read true or false."""
    require(isinstance(given, bool), f" must be true or false, not {given!r}")
    return given


def text(given: str) -> str:
    """Read a name."""
    require(isinstance(given, str), f" must be a name, not {given!r}")
    return given


def _integer(text: str) -> int:
    """Read a text that is an integer."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"it must be an integer, not {text!r}") from None


type Integer = Taken[int, SupportsIndex]
type MaybeInteger = Taken[int | None, SupportsIndex | None]


def number(text: str) -> float:
    """Read a text that is a number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"it must be a number, not {text!r}") from None


def with_commas(option: str, texts: Iterable[str]) -> list[str]:
    """Read names with commas between, in one text or in several."""
    del option
    return [one.strip() for text in texts for one in text.split(",") if one.strip()]


_BY_KIND: Mapping[Any, Declared] = {
    bool: Declared(converter=switch, form=Shape.SWITCH),
    int: Declared(metavar="N", converter=integer, form=Shape.VALUE, read=_integer),
    float: Declared(form=Shape.VALUE, read=number),
    str: Declared(converter=text, form=Shape.VALUE),
    Path: Declared(metavar="FILE", form=Shape.VALUE, read=Path),
}
"""What fields of a type say."""
