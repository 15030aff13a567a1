"""Commands as functions of Python: keywords are the fields of a command, and messages name them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, replace
from functools import wraps
from typing import Any, Protocol

from masktron.commands import COMMANDS
from masktron.commands.base import Command, Plain
from masktron.commands.offered import own_declared
from masktron.config import Config, config_from
from masktron.declared import declared_in, signature_of, usual
from masktron.errors import MasktronError, UsageError
from masktron.problems.problem import Known, Problem, SettingName
from masktron.problems.readers import Reader, reading
from masktron.problems.wording import sentence
from masktron.processes import rules_within
from masktron.serialised import Serialised

_DATA = frozenset({"problem", "findings"})
"""Attributes of results that stay as they are: a problem that has its sentences beside it, and values of the data."""


class _Runs[R](Protocol):
    def run(self) -> R: ...


def function[**P, R](command: Callable[P, _Runs[R]]) -> Callable[P, R]:
    """Make a function of a command: it takes its fields and settings, and returns its result.

    Parameters
    ----------
    command : type of Plain
    """
    kind: Any = command
    own, settings = sorted(_own_fields(kind), key=lambda one: bool(one.kw_only)), keywords_of(kind)

    @wraps(kind.__init__)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            made = _made(kind, args, kwargs, settings)
            # files that it writes name options of the command line, whoever has them written
            with rules_within(getattr(made, "rule_timeout", None)), reading(Reader.TERMINAL):
                result: R = made.run()
        except MasktronError as error:
            if error.refusal is not None:
                error.refusal = _worded(error.refusal)
            raise
        return _worded(result)

    listed = COMMANDS[kind.name]
    shown: Any = called
    shown.__name__ = shown.__qualname__ = "write_report" if kind.name == "report" else kind.name
    shown.__module__ = "masktron"
    shown.__doc__ = _documented(kind, listed.summary, own, settings)
    shown.__signature__ = signature_of([*own, *settings])
    return called


def _own_fields(kind: type[Plain]) -> list[Field[Any]]:
    """Return the fields of a command that are no settings, and that Python gives."""
    own = own_declared(kind)
    return [one for one in fields(kind) if one.name in own and own[one.name].init]


def keywords_of(kind: type[Plain]) -> list[Field[Any]]:
    """Return what a function takes beside the fields of its command: settings, and where they come from."""
    if not issubclass(kind, Command):
        return []
    said = declared_in(Config)
    taken = {name for name, one in said.items() if kind.takes_all or kind.name in one.commands.split()}
    given = ["config"] if kind.takes_file else []
    return [one for one in fields(kind) if one.name in taken or one.name in given]


def _made(kind: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], settings: list[Field[Any]]) -> _Runs[Any]:
    """Return the command that a call means.

    Raises
    ------
    UsageError
        It has no such keyword, or a setting is wrong.
    """
    own = {one.name: one for one in _own_fields(kind)}
    known = {one.name for one in settings}
    if getattr(kind, "takes_others", False):
        known |= declared_in(Config).keys()
    if unknown := [name for name in kwargs if name not in own.keys() | known]:
        tables = {name: declared_in(one.options) for name, one in declared_in(kind).items() if one.options}
        inside = next((name for name, one in tables.items() if unknown[0] in one), "")
        name, taken = unknown[0], tuple(sorted(own.keys() | known))
        if inside:
            raise UsageError.of(
                "unknown-name",
                name=SettingName(name),
                asked_by=f" outside {inside}",
                kind="setting",
                known=f'{inside}={{"{name}": ...}}',
            )
        if name in declared_in(Config):
            raise UsageError.of(
                "setting-not-usable", name=SettingName(name), reason=f"{kind.name} takes no such setting"
            )
        raise UsageError.of("unknown-name", name=SettingName(name), known=Known(name, taken), kind="setting")
    needed = [name for name, one in own.items() if usual(one) is MISSING]
    if lacking := [name for name in needed[len(args) :] if name not in kwargs]:
        raise TypeError(f"{kind.name}() needs {', '.join(lacking)}")
    parts = {name: value for name, value in kwargs.items() if name in own}
    if not issubclass(kind, Command):
        made: _Runs[Any] = kind(*args, **parts)
        return made
    base = kwargs.get("config")
    if base is not None and not isinstance(base, Config):
        path = repr(base) if isinstance(base, str) else "path"
        hint = f"config=masktron.load_config({path}), masktron.Config(k=5), or settings by name: k=5"
        raise UsageError.of(
            "bad-value", name="config", expected="a Config", given=f"of type {type(base).__name__}", hint=hint
        )
    given = {name: value for name, value in kwargs.items() if name in known - {"config"}}
    config = config_from(given, base=base)
    settled: _Runs[Any] = kind.with_settings(config, *args, **parts, config=base).came_from(given)
    return settled


def _documented(kind: type[Plain], summary: str, own: list[Field[Any]], settings: list[Field[Any]]) -> str:
    """Return a docstring in numpydoc's form: what a command does and takes, and what its class says of the rest."""
    text = inspect.cleandoc(kind.__doc__ or "")
    body = re.split(r"^(?=\w+\n-{3,}$)", text.partition("\n\n")[2], maxsplit=1, flags=re.MULTILINE)
    sections = [("Parameters", own), ("Other Parameters", settings)]
    parts = [summary, body[0].strip()]
    for title, taken in sections:
        lines = [f"{one.name} : {one.type}\n    {_help_of(one)}" for one in taken]
        parts += ["\n".join([title, "-" * len(title), *lines])] if lines else []
    return "\n\n".join(part for part in [*parts, *body[1:]] if part)


def _help_of(one: Field[Any]) -> str:
    said = one.metadata.get("declared")
    return said.help if said is not None else "Settings that those given by name override."


def _worded[T](said: T) -> T:
    """Return a result, or a part of one, whose sentences are worded for somebody in Python."""
    shown: Any = said
    match said:
        case Problem():
            shown = sentence(said)
        case tuple():
            shown = tuple(map(_worded, said))
        case Serialised():
            own: Any = said
            parts = {one.name: getattr(said, one.name) for one in fields(own) if one.init and one.name not in _DATA}
            shown = replace(own, **{name: _worded(one) for name, one in parts.items()})
    return shown  # type: ignore[no-any-return]
