"""What a setting or an option says of itself, once.

A class of settings, of parameters or of what a command takes has an annotated field for each, with a `Declared` in
its metadata. Help and the command line, files of settings, keyword arguments, pages, manifests and repeated runs are
made of these; no list of settings is kept by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from masktron.errors import UsageError

_KEY = "declared"
IN, HOW, LIMITS, OUTPUT = PANELS = ("What goes in", "How it is done", "Limits", "Output")
"""Where the help has an option."""


class Shape(Enum):
    """What a setting is, in a file of settings and in Python, and so how options give it."""

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


HARMLESS = Trust()
"""A file that was found may set it, and nobody needs to know."""
NAMED_ONLY = Trust(named_only=True)


@dataclass(frozen=True, slots=True)
class Declared:
    """What a field says of itself.

    Attributes
    ----------
    help : str
        One sentence for whoever uses it.
    panel : str
        Where the help has the option; empty for arguments and for what has no option.
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
        Reads a text of the command line; of a table, that of a value. ValueError says what it must be.
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
        All values that there are.
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
    option: str | None = None
    short: str = ""
    metavar: str = ""
    shown: str = ""
    form: Shape = Shape.VALUE
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


def _metadata_of[**P](made: Callable[P, Declared]) -> Callable[P, dict[str, Declared]]:
    def metadata(*args: P.args, **kwargs: P.kwargs) -> dict[str, Declared]:
        return {_KEY: made(*args, **kwargs)}

    return metadata


declared = _metadata_of(Declared)
"""The metadata of a field; the arguments are those of `Declared`."""


def declared_in(kind: type) -> dict[str, Declared]:
    """Return what each field of a class declares, by name; fields without a declaration are left out."""
    return {one.name: one.metadata[_KEY] for one in attrs.fields(kind) if _KEY in one.metadata}


def checked(_: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
    """Let fields with a declaration say their names where a value is wrong; for ``attrs.define``."""
    return [
        one.evolve(converter=partial(_converted, one)) if _KEY in one.metadata and not _inherited(one) else one
        for one in fields
    ]


def _inherited(one: Any) -> bool:
    return bool(one.inherited)


def _converted(one: attrs.Attribute[Any], value: Any) -> Any:
    """Convert and check the value of a field."""
    try:
        converted: Any = one.converter
        return one.metadata[_KEY].checked(value if converted is None else converted(value))
    except WrongValue as wrong:
        error = UsageError(f"{one.name}{wrong.what}", hint=wrong.hint.replace("{name}", one.name))
        error.setting = one.name
        raise error from None


def names(kind: type, wanted: Callable[[Declared], object]) -> frozenset[str]:
    """Return the names of the fields whose declarations are wanted."""
    return frozenset(name for name, one in declared_in(kind).items() if wanted(one))


def about(kind: type, *topics: str) -> frozenset[str]:
    """Return the names of the settings that are about something: see `Declared.topic`."""
    return names(kind, lambda one: one.topic in topics)


def integer(text: str) -> int:
    """Read a text that is an integer."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"it must be an integer, not {text!r}") from None


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
