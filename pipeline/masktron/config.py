"""Settings of a run: from ``masktron.toml``, from options, checked once and never guessed."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from masktron.errors import UsageError


class Role(StrEnum):
    """What a field is to the disclosure-control methodologist, and so what masking does to it."""

    IDENTIFIER = "identifier"
    """Names a respondent: removed, never written."""
    KEY = "key"
    """Links or identifies a record inside the agency: written as it is, never masked."""
    CONFIDENTIAL = "confidential"
    """Masked. The default for numeric fields."""
    WEIGHT = "weight"
    """The survey weight: written as it is, honoured by every aggregator."""
    UNTOUCHED = "untouched"
    """Written as it is."""


type Grouping = Literal["rules", "all"]
type InvalidRecords = Literal["stop", "exclude"]

ALL_FIELDS = "*"


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that decides a run besides the data and the rules.

    Attributes
    ----------
    k : int
        Smallest number of records that share one masked value, at least 2.
    seed : int
        Seed of every random choice.
    roles : mapping of field name to Role
    missing : mapping of field name (or ``*`` for all fields) to the lexemes that mean 'missing'
    grouping : {"rules", "all"}
        ``rules``: one partition of the records per block of variables that share a rule, the other variables in
        groups of `group_size_vars` in file order. ``all``: one partition over all masked variables.
    group_size_vars : int
    keep_missing : bool
        Stop rather than let a record with a rare pattern of missing values take over another's.
    invalid : {"stop", "exclude"}
        What to do with original records that break an edit.
    allow : tuple of str
        Ids of rules that the original and the masked file may break.
    record : str or None
        Name of the record element; found from the file and the rulebook when None.
    phase : str or None
        Schematron phase.
    shuffle : bool
        Write the records in a random order; the permutation goes to the manifest.
    """

    k: int = 5
    seed: int = 0
    roles: Mapping[str, Role] = field(default_factory=dict)
    missing: Mapping[str, frozenset[str]] = field(default_factory=dict)
    grouping: Grouping = "rules"
    group_size_vars: int = 3
    keep_missing: bool = False
    invalid: InvalidRecords = "stop"
    allow: tuple[str, ...] = ()
    record: str | None = None
    phase: str | None = None
    shuffle: bool = False

    def __post_init__(self) -> None:
        _require(isinstance(self.k, int) and not isinstance(self.k, bool), f"k must be an integer, not {self.k!r}")
        _require(
            self.k >= 2,
            f"k must be at least 2, not {self.k}",
            "a group of one record is not masked at all; 3 to 10 are usual",
        )
        _require(
            isinstance(self.seed, int) and not isinstance(self.seed, bool) and self.seed >= 0,
            f"seed must be an integer >= 0, not {self.seed!r}",
        )
        _require(
            isinstance(self.group_size_vars, int) and self.group_size_vars >= 1,
            f"group_size_vars must be at least 1, not {self.group_size_vars!r}",
        )
        _one_of("grouping", self.grouping, ("rules", "all"))
        _one_of("invalid", self.invalid, ("stop", "exclude"))

    def updated(self, **changes: Any) -> Config:
        """Return a copy in which every argument that is not None replaces the setting."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})


def load_config(path: Path) -> Config:
    """Read a TOML file of settings.

    Raises
    ------
    UsageError
        The file is missing or malformed, or it holds an unknown key, role or a value of the wrong type.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the configuration: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise UsageError("the configuration is not UTF-8", where=str(path)) from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not valid TOML: {error}", where=str(path)) from error
    return config_from(table, where=str(path))


def config_from(table: Mapping[str, Any], *, where: str = "") -> Config:
    """Build settings from the parsed table of a configuration file.

    Raises
    ------
    UsageError
        As for `load_config`.
    """
    known = [f.name for f in fields(Config)]
    settings: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            raise UsageError(f"unknown setting {name!r}", where=where, hint=did_you_mean(name, known))
        settings[name] = _CONVERTERS.get(name, lambda value, _: value)(value, where)
    try:
        return Config(**settings)
    except UsageError as error:
        raise UsageError(error.what, where=where, hint=error.hint) from error


def parse_roles(assignments: Iterable[str]) -> dict[str, Role]:
    """Read ``FIELD=ROLE`` options.

    Raises
    ------
    UsageError
        An assignment is not of that form, or the role is unknown.
    """
    roles: dict[str, Role] = {}
    for assignment in assignments:
        name, equals, role = assignment.rpartition("=")
        if not equals or not name:
            raise UsageError(
                f"{assignment!r} is not of the form FIELD=ROLE", hint="for example: --role NAME=identifier"
            )
        roles[name] = _role(role, f"--role {assignment}")
    return roles


def parse_missing(codes: Iterable[str]) -> dict[str, frozenset[str]]:
    """Read ``CODE`` or ``FIELD=CODE`` options."""
    found: dict[str, frozenset[str]] = {}
    for code in codes:
        name, _, lexeme = code.rpartition("=")
        name = name or ALL_FIELDS
        found[name] = found.get(name, frozenset()) | {lexeme}
    return found


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the closest of the known names, or lists them all."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "known: " + ", ".join(names) if names else ""


def _role(text: Any, where: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise UsageError(
            f"unknown role {text!r}",
            where=where,
            hint="the roles are " + ", ".join(role.value for role in Role),
        ) from None


def _roles(value: Any, where: str) -> dict[str, Role]:
    _require(isinstance(value, dict), 'roles must be a table FIELD = "role"', where=where)
    return {name: _role(role, f"{where}: roles.{name}") for name, role in value.items()}


def _missing(value: Any, where: str) -> dict[str, frozenset[str]]:
    if isinstance(value, list):
        value = {ALL_FIELDS: value}
    _require(isinstance(value, dict), "missing must be a list of codes or a table FIELD = [codes]", where=where)
    codes: dict[str, frozenset[str]] = {}
    for name, entry in value.items():
        lexemes = entry if isinstance(entry, list) else [entry]
        _require(
            all(isinstance(lexeme, (str, int, float)) and not isinstance(lexeme, bool) for lexeme in lexemes),
            f"missing.{name} must be a list of codes",
            where=where,
        )
        codes[name] = frozenset(str(lexeme) for lexeme in lexemes)
    return codes


def _strings(value: Any, where: str) -> tuple[str, ...]:
    _require(
        isinstance(value, list) and all(isinstance(item, str) for item in value),
        f"expected a list of strings, not {value!r}",
        where=where,
    )
    return tuple(value)


_CONVERTERS = {"roles": _roles, "missing": _missing, "allow": _strings}


def _require(condition: bool, what: str, hint: str = "", where: str = "") -> None:
    if not condition:
        raise UsageError(what, where=where, hint=hint)


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    _require(value in allowed, f"{name} must be one of {', '.join(allowed)}, not {value!r}")
