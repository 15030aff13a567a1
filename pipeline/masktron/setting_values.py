"""Values of settings, as a file, an option or Python gives them, in the one form that the program has for them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from masktron.addresses import AddressPath, hidden, is_address, is_any_address, path_of, typed_path
from masktron.declared import Declared, Taken, WrongValue, integer, part_of, require
from masktron.errors import UsageError
from masktron.figures import NAMES
from masktron.problems.problem import Known, Note, Setting, SettingName
from masktron.processes import MOST_SECONDS
from masktron.release_secret import former_units, secret_from
from masktron.thresholds import thresholds

type Codes = str | int | Collection[str | int]
"""Values that mean 'missing', as the file shows them."""
type Fields = list[str] | tuple[str, ...]
type File = str | PathLike[str]
type Param = str | int | float | bool | tuple[str | int | float, ...] | None
"""Value of a parameter of a method; None stands for ``auto``."""

ALL_FIELDS = "*"
WHOLE = "whole"
"""In the place of the size of units: none are cut."""
LEAST_MEMORY = 400_000_000
"""Bytes: what masktron takes with little data, and some."""
SEE_METHODS = "`masktron methods` lists the methods, `masktron methods NAME` their parameters"
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?i?B)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Register:
    """The register of releases: which originals have been released.

    Attributes
    ----------
    path : Path
        A file to which every release adds a line; it is made where it is not there.
    salt : Path
        The secret without which the register tells nothing of a record: ``PATH.salt`` unless somebody says otherwise.
    """

    path: Path
    salt: Path

    @property
    def count(self) -> Path:
        """The file ``PATH.count``: how many lines the register has, and the hash of the last one."""
        return self.path.with_name(f"{self.path.name}.count")

    @property
    def files(self) -> dict[str, Path]:
        """All of them by the names that messages have for them: no output may overwrite them."""
        return {
            "the register of releases": self.path,
            "the salt of the register": self.salt,
            "the count of the register": self.count,
        }

    def moved(self, moved: Callable[[str, Path], Path]) -> Register:
        """Return the register with other files."""
        return Register(moved("path", self.path), moved("salt", self.salt))


class SecretOfRun(bytes):
    """A secret that a file holds, and the size of units of the run whose manifest that is; None for another file."""

    units: int | None = None


def is_number(value: object) -> bool:
    """Whether a value is a finite number, as large as a float may be."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


type Names = Annotated[Taken[tuple[str, ...], Fields], Declared(metavar="FIELD", converter=fields)]
type RuleIds = Annotated[Taken[tuple[str, ...], Fields], Declared(metavar="RULE-ID", converter=rules)]
type FilePath = Annotated[Taken[Path, File], Declared(converter=path)]
type MaybeFilePath = Annotated[Taken[Path | None, File | None], Declared(converter=path)]
type Place = Annotated[Taken[Path, File], Declared(converter=place, read=typed_place)]
type MaybePlace = Annotated[Taken[Path | None, File | None], Declared(converter=place, read=typed_place)]
type FormatOptions = Annotated[
    Taken[Mapping[str, str], Mapping[str, Any]], Declared(metavar="NAME=VALUE", converter=format_options)
]


def share(given: float) -> float:
    """Read a number from 0 to 100, in per cent."""
    fine = is_number(given) and 0 <= given <= 100
    require(fine, "a number from 0 to 100 (per cent)", given)
    return given


def seconds(given: float) -> float:
    """Read a time that an engine may take."""
    fine = is_number(given) and 0 < given <= MOST_SECONDS
    require(fine, f"a number of seconds above 0, at most {MOST_SECONDS:g}", given)
    return given


def method(given: str) -> str:
    """Read the name of a method; `mask` knows which there are."""
    require(isinstance(given, str) and given, "a name", given, SEE_METHODS)
    return given


def typed_place(text: str) -> Path:
    """Read the name of a file, or the address of a table in a database."""
    try:
        return typed_path(text)
    except UsageError as error:
        raise ValueError(f"{error.what}; {error.hint}" if error.hint else error.what) from None


def path(given: File) -> Path:
    """Read the name of a file."""
    if not isinstance(given, str | PathLike):
        raise WrongValue("bad-value", expected="the path of a file", given=f"of type {type(given).__name__}")
    name = os.fspath(given)
    require(name, "the name of a file", given)
    if isinstance(given, str) and is_any_address(given):
        raise WrongValue("bad-value", expected="the path of a file", given=f"the address {hidden(given)}")
    return given if isinstance(given, Path) else Path(name if isinstance(name, str) else os.fsdecode(name))


def place(given: File) -> Path:
    """Read the path of microdata, which may be the address of a table in a database."""
    if isinstance(given, AddressPath):
        return given
    require(given != "", "the name of a file", given)
    if isinstance(given, str):
        return path_of(given)
    found = path(given)
    if is_address(str(found)):
        hint = "give it as a text: a path has no double slashes"
        raise WrongValue("bad-value", expected="a path", given="an address", hint=hint)
    return found


def memory(size: int | str) -> int:
    """Read a number of bytes: an integer, or a text such as ``4GB``, ``512MB`` or ``1.5 GiB``."""
    write = f"write it as 4GB or 512MB; the least is {LEAST_MEMORY // 10**6}MB"
    if isinstance(size, str):
        found = _SIZE.fullmatch(size.strip())
        if found is None:
            raise WrongValue("bad-value", expected="a number of bytes with its unit", given=repr(size), hint=write)
        bytes_ = int(Fraction(found[1]) * _UNITS[found[2].upper()])
    else:
        bytes_ = integer(size)
    require(bytes_ >= LEAST_MEMORY, f"at least {LEAST_MEMORY // 10**6} MB", size, write)
    return bytes_


def units(given: int | str) -> int:
    """Read a number of records, or ``whole`` for 0."""
    return 0 if given == WHOLE else integer(given)  # type: ignore[arg-type]  # which refuses other texts


def units_given(text: str) -> int | str:
    """Read a text that is a number of records, or ``whole``."""
    try:
        return text if text == WHOLE else int(text)
    except ValueError:
        raise ValueError(f"it must be an integer or 'whole', not {text!r}") from None


def secret(given: bytes | File) -> bytes:
    """Read a secret: its bytes, or the file that holds it."""
    found = SecretOfRun(secret_from(path(given) if isinstance(given, str) else given))
    if isinstance(given, str | PathLike):
        found.units = former_units(given)
    return found


def field_name(given: object) -> str:
    """Read the name of a field."""
    require(isinstance(given, str), "names of fields", given)
    return str(given)


def table(given: Any, of: str, hint: str = "") -> Mapping[Any, Any]:
    """Return a table; refuse anything else, and say what it should be of."""
    require(isinstance(given, Mapping), f"a table {of}", given, hint)
    checked: Mapping[Any, Any] = given
    return checked


def fields(given: Fields) -> tuple[str, ...]:
    """Read names of fields, each once."""
    require(isinstance(given, list | tuple), "a list of fields", given, 'for example ["REGION"]')
    return tuple(dict.fromkeys(map(field_name, given)))


def member_order(given: Fields | str) -> tuple[str, ...]:
    """Read the fields by which members are ordered."""
    found = fields([given] if isinstance(given, str) else given)
    require(found, "one field or more", given, '"file" stands for the order of the file')
    return found


def rules(given: Fields) -> tuple[str, ...]:
    """Read ids of rules."""
    fine = isinstance(given, list | tuple) and all(isinstance(one, str) for one in given)
    require(fine, "a list of rule ids", given, 'for example ["income-sum"]')
    return tuple(given)


def _codes(values: Any) -> list[str]:
    """Read a list of codes as the file shows them."""
    listed = isinstance(values, list | tuple | set | frozenset)
    require(
        listed and all(isinstance(code, str | int | float) and not isinstance(code, bool) for code in values),
        "a list of codes",
        values,
        "a code is a text or an integer",
    )
    for code in values:
        if isinstance(code, float):
            hint = f'a file may show this number in several ways: put it into quotes as the file has it, "{code}"'
            raise WrongValue("bad-value", expected="a list of texts and integers", given=code, hint=hint)
    return [str(code).strip() for code in values]


def missing(given: Mapping[str, Codes] | Collection[str | int]) -> dict[str, frozenset[str]]:
    """Read codes for missing values, of each field or of all."""
    several = (list, tuple, set, frozenset)
    table: Any = {ALL_FIELDS: given} if isinstance(given, several) else given
    require(
        isinstance(table, Mapping), "a list of codes, or a table (in Python a dict) of codes for each field", given
    )
    return {
        field_name(one): frozenset(part_of(one, _codes, said if isinstance(said, several) else [said]))
        for one, said in table.items()
    }


def orders(given: Mapping[str, Collection[str | int]] | Fields) -> dict[str, tuple[str, ...]]:
    """Read the values of ordered fields, from low to high."""
    table = dict.fromkeys(map(field_name, given), ()) if isinstance(given, list | tuple) else given
    expected = "a list of fields, or a table (in Python a dict) of values from low to high for each"
    require(isinstance(table, Mapping), expected, given)
    return {field_name(one): part_of(one, _order, values) for one, values in table.items()}


def _order(given: Any) -> tuple[str, ...]:
    require(isinstance(given, list | tuple), "a list of values", given)
    values = _codes(given)
    require(len({*values}) == len(values), "a list that has each value once", given)
    require(
        not values or (len(values) > 1 and "" not in values),
        "a list of at least two values, from the lowest to the highest, none of them empty",
        given,
        "for numbers in their own order give the field without values",
    )
    return tuple(values)


def params(given: Mapping[str, Param | list[str | int | float]]) -> dict[str, Param]:
    """Read parameters of a method."""
    for key in table(given, "NAME = value", SEE_METHODS):
        require(isinstance(key, str) and key, "a table of names of parameters", key)
    return {key: part_of(key, _param, value) for key, value in given.items()}


def _param(value: Any) -> Param:
    if isinstance(value, list | tuple) and all(isinstance(v, str) or is_number(v) for v in value):
        return tuple(value)
    require(
        value is None or isinstance(value, str | bool | int) or is_number(value),
        "a text, a number, true, false or a list of names or numbers",
        value,
        SEE_METHODS,
    )
    checked: Param = value
    return checked


def limits(given: Mapping[str, float]) -> dict[str, float]:
    """Read bounds of figures."""
    for key, bound in table(given, "NAME = number").items():
        if key not in NAMES:
            raise WrongValue("unknown-name", str(key), known=Known(str(key), tuple(NAMES)), kind="setting")
        part_of(key, require, is_number(bound) and bound >= 0, "a number of at least 0", bound)
    return {key: float(bound) for key, bound in given.items()}


def failures(given: Mapping[str, int | str]) -> dict[str, str]:
    """Read how many failures rules may have."""
    return {rule: str(bound) for rule, bound in thresholds(given).items()}


def documents(given: Mapping[str, File]) -> dict[str, Path]:
    """Read the files of documents that rules read."""
    for key in table(given, "NAME = file"):
        require(isinstance(key, str), "a table of names that stand in document()", key)
    # a manifest may name the address of a table, which nobody reads
    return {key: part_of(key, path, Path(one) if isinstance(one, str) and one else one) for key, one in given.items()}


def register(given: Register | Mapping[str, File] | File) -> Register:
    """Read where the register of releases lies."""
    if isinstance(given, Register):
        return given
    table = {"path": given} if isinstance(given, str | PathLike) else given
    require(
        isinstance(table, Mapping) and "path" in table and {*table} <= {"path", "salt"},
        "a table with path, the name of a file, and salt where that lies elsewhere",
        given,
        'for example { path = "releases.jsonl" }',
    )
    lines, salt = part_of("path", path, table["path"]), table.get("salt")
    return Register(lines, lines.with_name(f"{lines.name}.salt") if salt is None else part_of("salt", path, salt))


def joined_register(former: Register | None, given: Mapping[str, File]) -> Mapping[str, File]:
    """Return the register that options name, where settings have named one before."""
    if "path" not in given and former is None:
        raise UsageError.of(
            "needs-setting", name="--salt", setting=Setting("--register", ("FILE",)), needed="another option"
        )
    if former is None or Path(given.get("path", former.path)) != former.path:
        return given
    return {"path": former.path, "salt": former.salt, **given}


def format_options(given: Mapping[str, Any]) -> dict[str, str]:
    """Read what a format is told."""
    found = {}
    for key, said in table(given, "NAME = value").items():
        known = isinstance(key, str) and isinstance(said, str | int | float | bool)
        part_of(key, require, known, "a text", said)
        found[key] = str(said).lower() if isinstance(said, bool) else str(said)
    return found


def ways_of(given: Any, ways: str, read: Callable[[str, str], object], setting: str) -> dict[str, str]:
    """Read a table FIELD = how, given what reads how."""
    found = {}
    for key, said in table(given, "FIELD = how", f"write {ways}").items():
        text = isinstance(said, str | PathLike)
        part_of(field_name(key), require, text, "a text", said, f"write {ways}")
        read(f"{setting}.{field_name(key)}", str(said))
        found[key] = str(said)
    return found


def wrong_part(setting: str, expected: str, text: str, hint: str) -> UsageError:
    """Return the error of a text that says no way to treat a field; `setting` is such as ``recode.AGE``."""
    return UsageError.of("bad-value", name=setting_name(setting), expected=expected, given=repr(text), hint=hint)


def setting_name(setting: str) -> SettingName:
    """Return the name of a setting, or of a part of one: ``recode.AGE``."""
    name, _, key = setting.partition(".")
    return SettingName(name, (key,) if key else ())


def missing_given(option: str, texts: Sequence[str]) -> dict[str, list[str]]:
    """Read ``CODE`` or ``FIELD=CODE`` options."""
    del option
    found: dict[str, list[str]] = {}
    for one in texts:
        field, _, code = one.rpartition("=")
        found.setdefault(field or ALL_FIELDS, []).append(code)
    return found


def orders_given(option: str, texts: Sequence[str]) -> dict[str, Sequence[str]]:
    """Read ``FIELD`` (numbers in their order) or ``FIELD=LOW,MID,HIGH`` options."""
    found: dict[str, Sequence[str]] = {}
    for one in texts:
        field, equals, values = one.partition("=")
        if not field:
            example = Note("for example [[--ordinal SIZE=small,medium,large]]")
            raise UsageError.of(
                "bad-value", name=Setting(option), expected="of the form FIELD=LOW,...", given=repr(one), hint=example
            )
        found[field] = values.split(",") if equals else ()
    return found


def joined_codes(
    former: Mapping[str, frozenset[str]], given: Mapping[str, Iterable[str]]
) -> dict[str, frozenset[str]]:
    """Return codes for missing values of settings and of options together."""
    return {key: former.get(key, frozenset()).union(given.get(key, ())) for key in (*former, *given)}
