"""Parameters of methods: declared once, read from texts, checked, and explained to the user."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.partitions.column_kinds import Kinds

type ParameterKind = Literal["integer", "number", "numbers", "choice", "flag", "fields"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a method.

    Attributes
    ----------
    name : str
        As in the constructor of the method.
    kind : {"integer", "number", "numbers", "choice", "flag", "fields"}
        ``fields`` are names of fields on the command line, where ``none`` stands for no field, and positions of
        columns in Python. ``numbers`` are one number, or one for each masked variable.
    says : str
        What it does, in one sentence.
    low, high : float
        Bounds of a number, themselves admitted unless `above_low`.
    choices : tuple of str
        Values of a choice.
    optional : bool
        Whether None may stand for it, spelled ``auto`` on the command line.
    above_low : bool
        Whether `low` itself is not admitted.
    """

    name: str
    kind: ParameterKind
    says: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    optional: bool = False
    above_low: bool = False

    def read(self, text: str) -> Any:
        """Return the value that a text of the command line stands for.

        Raises
        ------
        UsageError
            It stands for none.
        """
        if self.optional and text == "auto":
            return None
        try:
            match self.kind:
                case "integer":
                    return int(text)
                case "number":
                    return float(text)
                case "flag":
                    return {"true": True, "false": False}[text.lower()]
                case "fields" | "numbers":
                    parts = (part.strip() for part in text.split(",") if text != "none")
                    return tuple(parts if self.kind == "fields" else map(float, parts))
                case "choice":
                    return text
        except (ValueError, KeyError):
            raise self._wrong(text) from None

    def check(self, value: Any) -> None:
        """Refuse a value that the parameter cannot have.

        Raises
        ------
        UsageError
        """
        if value is None and self.optional:
            return
        match self.kind:
            case "integer":
                fine = _is_number(value) and value == int(value) and self._within(value)
            case "number":
                fine = _is_number(value) and self._within(value)
            case "numbers":
                numbers = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
                fine = bool(numbers) and all(_is_number(number) and self._within(number) for number in numbers)
            case "choice":
                fine = value in self.choices
            case "flag":
                fine = isinstance(value, bool)
            case "fields":
                fine = isinstance(value, Iterable) and not isinstance(value, str)
        if not fine:
            raise self._wrong(value)

    @property
    def admits(self) -> str:
        """What it may be, in words."""
        match self.kind:
            case "choice":
                words = " or ".join(self.choices)
            case "flag":
                words = "true or false"
            case "fields":
                words = "names of fields, separated by commas, or none"
            case "numbers":
                words = " ".join(("numbers", *self._bounds(), "separated by commas, one or one for each variable"))
            case _:
                words = " ".join(("a whole number" if self.kind == "integer" else "a number", *self._bounds()))
        return f"{words}, or auto" if self.optional else words

    def _bounds(self) -> Iterable[str]:
        if self.low > -math.inf:
            yield f"{'above' if self.above_low else 'from'} {self.low:g}"
        if self.high < math.inf:
            yield f"to {self.high:g}"

    def _within(self, value: float) -> bool:
        return self.low <= value <= self.high and not (self.above_low and value == self.low)

    def _wrong(self, value: object) -> UsageError:
        return UsageError(f"{self.name} must be {self.admits}, not {value!r}", hint=self.says)


def _is_number(value: object) -> bool:
    # numbers of numpy register with numbers.Real, but bool does as well
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return False
    try:
        return math.isfinite(float(value))
    except (OverflowError, TypeError):  # an integer beyond all doubles; an array of several numbers
        return False


CONDITIONS = Parameter(
    "conditions",
    "fields",
    "Fields that stay as they are, given which the others are drawn; auto for all that are written as they are.",
    optional=True,
)
"""Conditions of methods that draw; `auto` is none for arrays, of which nobody says what is published."""
STRATA = Parameter("strata", "fields", "Fields whose values part the records: each part is masked by itself.")
"""What every method takes."""
KEEP = Parameter("keep", "fields", "Numbers that stay as they are, and whose covariances with masked ones are kept.")
"""The parameter of methods whose noise or draws are orthogonal to some fields in every group."""
WRITTEN = (CONDITIONS.name, STRATA.name, KEEP.name)
"""Names of parameters that name fields which are written as they are."""


def columns_at(positions: Iterable[int], variables: int, name: str) -> NDArray[np.bool_]:
    """Tell which columns stand at some positions, counted from 0; shape (variables,).

    Parameters
    ----------
    positions : iterable of int
    variables : int
    name : str
        Of the parameter, for the message.

    Raises
    ------
    UsageError
        A position is none.
    """
    found = np.zeros(variables, dtype=np.bool_)
    for position in positions:
        if not _is_number(position) or position not in range(variables):
            raise UsageError(f"{name} names column {position!r} of {variables}", hint="positions count from 0")
        found[int(position)] = True
    return found


def kept_columns(positions: Iterable[int], variables: int, parameter: Parameter = KEEP) -> NDArray[np.bool_]:
    """Tell which columns are kept, as `columns_at` does.

    Raises
    ------
    UsageError
        A position is none, or all are kept.
    """
    kept = columns_at(positions, variables, parameter.name)
    if kept.all():
        raise UsageError("all variables are kept, so there is nothing to mask", hint=parameter.says)
    return kept


NOMINAL = Parameter("nominal", "fields", "Columns with codes of categories; in a file, declare the fields nominal.")
"""In a file, kinds are declared for the file; an array says nothing of its columns."""


def require_positions(columns: Sequence[int]) -> None:
    """Refuse what are no positions of columns.

    Raises
    ------
    UsageError
    """
    if not all(isinstance(column, int | np.integer) and column >= 0 for column in columns):
        raise UsageError(
            f"nominal must be positions of columns from 0, not {tuple(columns)!r}",
            hint="fields of a file are declared with --nominal FIELD, for every method",
        )


def nominal_columns(columns: Sequence[int], declared: Kinds) -> NDArray[np.bool_]:
    """Return which columns hold categories: those at some positions, and those that are declared.

    Raises
    ------
    UsageError
        There is no such column.
    """
    nominal = declared.of("nominal")
    if beyond := sorted(column for column in columns if column >= len(nominal)):
        raise UsageError(f"there is no column {beyond[0]} among {len(nominal)}", hint="columns are counted from 0")
    nominal[list(columns)] = True
    return nominal
