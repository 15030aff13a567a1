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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields, replace
from enum import Enum
from numbers import Integral
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Self,
    SupportsIndex,
    TypeAliasType,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    overload,
)

from masktron.addresses import file_path
from masktron.errors import UsageError
from masktron.problems.problem import Known, Problem, Setting, SettingName

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
    """A value that a setting cannot have: a problem that lacks the name of the setting.

    Parameters
    ----------
    code : str
    *keys : str
        Where in the setting it is: names of its tables.
    **references
        What `Problem` takes, without ``name``.
    """

    def __init__(self, code: str, /, *keys: str, **references: object) -> None:
        super().__init__(code)
        self.problem, self.keys = Problem(code).naming(**references), keys

    def of_setting(self, name: str) -> Problem:
        """Return the problem of a setting."""
        return self.problem.naming(name=SettingName(name, self.keys))

    def within(self, key: str) -> Self:
        """Return it as one of a table in which the value stands."""
        self.keys = (key, *self.keys)
        return self


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
        What a message adds where options of a table give a name two values.
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
        What the setting is about: ``reading``, ``fields``, ``judging``, ``treating``, ``way``, ``masking``,
        ``running``.
    page : str
        The page of the documentation about it.
    local : bool
        Whether it says how a run works on this machine: no manifest has it, and no later run takes it over.
    confidential : bool
        Whether it is a secret: no file of settings and no later run has it.
    own_place : bool
        Whether the manifest has it in a place of its own.
    decides : {"values", "order", "nothing"}
        What it decides of the bytes that are written, beyond what is refused.
    spared_by_tune : bool
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
    optional : bool
        Whether it may be None: by the type of the field.
    like : Declared or None
        Says what this leaves open.
    """

    help: str = ""
    panel: str = ""
    default: Any = ...
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
    twice: str = ""
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
    own_place: bool = False
    decides: str = "values"
    spared_by_tune: bool = False
    trust: Trust = HARMLESS
    reads: str = ""
    writes: bool = False
    options: type | None = None
    variable: str = ""
    off: str = ""
    other: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    needed: bool = False
    optional: bool = False
    like: Declared | None = None

    @property
    def required(self) -> bool:
        """Whether a value has to be given."""
        return self.default is ... and self.factory is None

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
            except UsageError:
                raise
            except ValueError:
                bare = one.removesuffix("%").rstrip()
                hint = f"for example {option} {self.example}" if bare == one else f"write {option} {bare}, without %"
                raise UsageError.of(
                    "bad-value",
                    name=Setting(option),
                    expected=f"of the form {self.metavar}",
                    given=repr(one),
                    hint=hint,
                ) from None
            if found.get(key, value) != value:
                both = (Setting(option, (text,)) for text in (f"{key}={found[key]}", one))
                raise UsageError.of("given-twice", one=next(both), other=next(both), why=self.twice)
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
        chosen = not self.choices or value in self.choices
        require(chosen, f"one of {', '.join(map(str, self.choices))}", value, self.why)
        enough = self.least is None or value is None or value >= self.least
        require(enough, f"at least {self.least}", value, self.why)
        return value

    def otherwise(self, other: Declared) -> Declared:
        """Return what this says; what it leaves open, as the other says it."""
        own = {name: getattr(self, name) for name, value in _LEFT_OPEN.items() if getattr(self, name) != value}
        return replace(other, **own)


_LEFT_OPEN: Mapping[str, Any] = {one.name: getattr(Declared(), one.name) for one in fields(Declared)}
"""What a declaration has where it says nothing."""


def _field_of[**P](made: Callable[P, Declared]) -> Callable[P, Any]:
    def setting(*args: P.args, **kwargs: P.kwargs) -> Any:
        said = made(*args, **kwargs)
        default = {"default": said.default} if said.factory is None else {"default_factory": said.factory}
        return field(
            **({} if said.required else default), kw_only=said.kw_only, repr=said.repr, metadata={_KEY: said}
        )

    return setting


setting = _field_of(Declared)
"""A field of `Settings`; the arguments are those of `Declared`."""


# mypy would give inherited fields of a frozen class the types that they take, not those that they store
@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(setting, field))
class Settings:
    """A frozen dataclass whose fields are declared, and that checks what it is given.

    All have these methods, as compiling some for each of the commands would take longer than the help.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False, kw_only=True, match_args=False)(cls)
        for one in fields(cls):
            if one.name in inspect.get_annotations(cls) and _KEY in one.metadata:
                _complete(one, vars(sys.modules[cls.__module__]))
        cls.__signature__ = signature_of(fields(cls))

    def __init__(self, *args: Any, **given: Any) -> None:
        own, kind = fields(self), type(self).__name__
        positional = [one.name for one in own if not one.kw_only]
        if twice := given.keys() & {*positional[: len(args)]}:
            raise TypeError(f"{kind}() is given {', '.join(sorted(twice))} twice")
        given |= dict(zip(positional, args, strict=False))
        if len(args) > len(positional):
            raise TypeError(f"{kind}() takes {len(positional)} arguments by position, not {len(args)}")
        strange = given.keys() - {one.name for one in own}
        lacking = [one.name for one in own if one.name not in given and usual(one) is MISSING]
        if strange or lacking:
            raise TypeError(
                f"{kind}() needs {', '.join(lacking)}" if lacking else f"{kind}() does not take {sorted(strange)}"
            )
        for one in own:
            vars(self)[one.name] = _checked(one, given[one.name] if one.name in given else usual(one))
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check what fields say together."""

    @classmethod
    def parts(cls, section: str, given: Any, absent: Collection[str] = ()) -> dict[str, Any]:
        """Read a table of settings that holds values of some fields.

        Parameters
        ----------
        section : str
            Its name, for messages.
        given : mapping
        absent : collection of str
            Fields for which None stands for no value.

        Raises
        ------
        WrongValue
        """
        known = {one.name: one for one in fields(cls)}
        require(isinstance(given, Mapping), f"a table of settings ({', '.join(known)})", given)
        found = {}
        for name, value in given.items():
            if name not in known:
                raise WrongValue("unknown-name", str(name), known=Known(str(name), tuple(known)), kind="setting")
            if value is None and name in absent:
                continue
            if value is None:
                raise WrongValue("bad-value", name, expected="a value, or left out", given="empty")
            found[name] = part_of(name, _taken, known[name], value)
        return found

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        same = [one.name for one in fields(self) if one.compare]
        return type(other) is type(self) and all(getattr(self, name) == getattr(other, name) for name in same)

    __hash__ = None  # type: ignore[assignment]  # fields may be tables

    def __repr__(self) -> str:
        shown = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr]
        return f"{type(self).__name__}({', '.join(shown)})"


def usual(one: Field[Any]) -> Any:
    """Return what a field has that nobody gives."""
    return one.default if one.default_factory is MISSING else one.default_factory()


def signature_of(taken: Iterable[Field[Any]]) -> inspect.Signature:
    """Return the signature of what takes some fields, those by position first."""
    ways = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    nothing = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(
                one.name,
                ways[bool(one.kw_only)],
                default=nothing if usual(one) is MISSING else usual(one),
                annotation=one.type,
            )
            for one in sorted(taken, key=lambda one: bool(one.kw_only))
        ]
    )


def declared_in(kind: type[Settings]) -> dict[str, Declared]:
    """Return what each field of a class declares, by name; fields without a declaration are left out."""
    return {one.name: one.metadata[_KEY] for one in fields(kind) if _KEY in one.metadata}


def _complete(one: Field[Any], known: dict[str, Any]) -> None:
    """Let a field say what its annotation says."""
    said: Declared = one.metadata[_KEY]
    said = said if said.like is None else said.otherwise(said.like)
    plain = eval(str(one.type), known)  # noqa: S307 -- what the module says
    if isinstance(plain, TypeAliasType):
        plain = plain.__value__
    if get_origin(plain) is Annotated:
        plain, by_type = get_args(plain)
        said = said.otherwise(by_type)
    given: tuple[Any, ...] = ()
    if get_origin(plain) is Taken:
        plain, given = get_args(plain)[0], get_args(get_args(plain)[1])
        one.type = re.sub(r"\b(?:\w+\.)+", "", inspect.formatannotation(plain))
    kinds = [*alternatives(plain)]
    main = [one for one in kinds if one is not NoneType]
    by_kind = _said_by_kind(main[0] if len(main) == 1 else None)
    said = said.otherwise(replace(by_kind, read=str) if str in given else by_kind)
    one.metadata = MappingProxyType({_KEY: replace(said, optional=True) if NoneType in kinds else said})


def alternatives(annotation: Any) -> Iterator[Any]:
    """Yield the types that an annotation admits, with what stands behind names of types."""
    if isinstance(annotation, TypeAliasType):
        yield from alternatives(annotation.__value__)
    elif get_origin(annotation) in (Union, UnionType):
        for one in get_args(annotation):
            yield from alternatives(one)
    else:
        yield annotation


def part_of[**P, R](key: object, read: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Read a part of a table; an error names it."""
    try:
        return read(*args, **kwargs)
    except WrongValue as wrong:
        raise wrong.within(str(key)) from None


def _taken(one: Field[Any], value: Any) -> Any:
    """Return the value of a field as it is stored."""
    said: Declared | None = one.metadata.get(_KEY)
    if said is None or (said.optional and value is None):
        return value
    return said.checked(value if said.converter is None else said.converter(value))


def _checked(one: Field[Any], value: Any) -> Any:
    """Return the value of a field as it is stored; an error names the field."""
    try:
        return _taken(one, value)
    except WrongValue as wrong:
        raise UsageError(wrong.of_setting(one.name)) from None


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
        return Declared(form=Shape.LIST, read=file_path if inner[0] is Path else str)
    return _BY_KIND.get(kind, Declared(form=Shape.VALUE))


def names(kind: type, wanted: Callable[[Declared], object]) -> frozenset[str]:
    """Return the names of the fields whose declarations are wanted."""
    return frozenset(name for name, one in declared_in(kind).items() if wanted(one))


def about(kind: type, *topics: str) -> frozenset[str]:
    """Return the names of the settings that are about something: see `Declared.topic`."""
    return names(kind, lambda one: one.topic in topics)


def require(condition: object, expected: str, given: object, hint: object = None) -> None:
    """Refuse a value that is not what a setting must be.

    Raises
    ------
    WrongValue
    """
    if not condition:
        raise WrongValue("bad-value", expected=expected, given=repr(given), hint=hint)


def integer(given: SupportsIndex) -> int:
    """Read an integer, also one of numpy."""
    value: Any = given
    if not isinstance(value, bool) and isinstance(value, Integral):
        return int(value)
    hint = None
    if isinstance(value, float) and value.is_integer():
        hint = f"write {value:.0f}"
    elif isinstance(value, str) and value.isascii() and value.isdecimal():
        hint = f"write {value.lstrip('0') or 0}"
    raise WrongValue("bad-value", expected="an integer", given=repr(given), hint=hint)


def switch(given: bool) -> bool:
    """Read true or false."""
    require(isinstance(given, bool), "true or false", given)
    return given


def text(given: str) -> str:
    """Read a name."""
    require(isinstance(given, str), "a name", given)
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
        sign = " without %" if text.endswith("%") else ""
        raise ValueError(f"it must be a number{sign}, not {text!r}") from None


def with_commas(option: str, texts: Iterable[str]) -> list[str]:
    """Read names with commas between, in one text or in several."""
    del option
    return [one.strip() for text in texts for one in text.split(",") if one.strip()]


_BY_KIND: Mapping[Any, Declared] = {
    bool: Declared(converter=switch, form=Shape.SWITCH),
    int: Declared(metavar="N", converter=integer, form=Shape.VALUE, read=_integer),
    float: Declared(form=Shape.VALUE, read=number),
    str: Declared(converter=text, form=Shape.VALUE),
    Path: Declared(metavar="FILE", form=Shape.VALUE, read=file_path),
}
"""What fields of a type say."""
