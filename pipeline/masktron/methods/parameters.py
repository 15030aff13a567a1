"""Parameters of methods: fields of their classes that say what they are, as settings do (`masktron.declared`)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Literal, Self, dataclass_transform, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from masktron.declared import alternatives
from masktron.errors import UsageError
from masktron.partitions.column_kinds import Kinds
from masktron.problems.problem import Note, Setting

type ParameterKind = Literal["integer", "number", "numbers", "choice", "flag", "fields"]

_KEY = "parameter"
_KINDS: Mapping[Any, ParameterKind] = {
    int: "integer",
    float: "number",
    bool: "flag",
    str: "choice",
    **dict.fromkeys((Iterable[int], Sequence[int]), "fields"),
    **dict.fromkeys((Iterable[float], Sequence[float]), "numbers"),
}
"""What the annotation of a field makes of its parameter; a Literal is a choice."""
CONDITIONS, STRATA, KEEP = "conditions", "strata", "keep"
"""Names of parameters that several methods share."""


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
    help : str
        What it does, in one sentence.
    choices : tuple of str
        Values of a choice.
    optional : bool
        Whether None may stand for it, spelled ``auto`` on the command line.
    least, most : float
        The least and the largest number.
    above : float
        What a number must exceed.
    stays : bool
        Whether the fields that it names are written as they are.
    """

    name: str
    kind: ParameterKind
    help: str
    choices: tuple[str, ...] = ()
    optional: bool = False
    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    stays: bool = False

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
            raise self.error(text) from None

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
            raise self.error(value)

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
        if self.above > -math.inf:
            yield f"above {self.above:g}"
        if self.least > -math.inf:
            yield f"from {self.least:g}"
        if self.most < math.inf:
            yield f"to {self.most:g}"

    def _within(self, value: float) -> bool:
        return self.least <= value <= self.most and value > self.above

    def error(self, value: object, expected: str = "") -> UsageError:
        """Return the error of a value that it cannot be: what `admits` says, or what else is expected."""
        expected, given = expected or self.admits, repr(value)
        return UsageError.of("bad-value", name=self.name, expected=expected, given=given, hint=self.help)


def _is_number(value: object) -> bool:
    # numbers of numpy register with numbers.Real, but bool does as well
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return False
    try:
        return math.isfinite(float(value))
    except (OverflowError, TypeError):  # an integer beyond all doubles; an array of several numbers
        return False


def parameter[T](
    sentence: str,
    *,
    default: T,
    choices: Sequence[str] = (),
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
    stays: bool = False,
    kw_only: bool = False,
) -> T:
    """Declare a parameter: the value of a field of a class of `Parametrised`. The annotation says its kind.

    Parameters
    ----------
    sentence : str
        What it does.
    default : value
    choices : sequence of str
        Where the annotation is str; a Literal says them itself.
    least, most, above, stays
        See `Parameter`.
    kw_only : bool
        Whether Python takes it by name alone. Users see such parameters behind the others, those of all methods last.
    """
    said = {"help": sentence, "choices": tuple(choices), "least": least, "most": most, "above": above, "stays": stays}
    return field(default=default, kw_only=kw_only, metadata={_KEY: said})


@dataclass_transform(eq_default=False, field_specifiers=(parameter, field))
class Parametrised:
    """A class whose fields are parameters. Subclasses add some, or give another default to one that they inherit.

    Attributes
    ----------
    parameters : mapping of str to Parameter
        By name, in the order in which users see them.
    """

    parameters: ClassVar[Mapping[str, Parameter]] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        """Make a dataclass of it, and read its parameters off its fields."""
        super().__init_subclass__()
        own = inspect.get_annotations(cls, eval_str=True)
        made: Any = dataclass(eq=False, repr=False)(cls)
        known = {
            name: one for base in reversed(cls.__bases__) for name, one in getattr(base, "parameters", {}).items()
        }
        for one in fields(made):
            if one.name in own and _KEY in one.metadata:
                known[one.name] = Parameter(one.name, **(one.metadata[_KEY] | _read_off(own[one.name])))
        first = [one.name for one in fields(made) if not one.kw_only]
        last = [one.name for one in fields(made) if one.kw_only]
        cls.parameters = MappingProxyType({name: known[name] for name in (*first, *reversed(last)) if name in known})

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.parameters)
        return f"{type(self).__name__}({said})"

    def check(self) -> Self:
        """Refuse parameters that are wrong; return the method itself.

        Raises
        ------
        UsageError
            Naming the parameter.
        """
        for name, one in self.parameters.items():
            one.check(getattr(self, name))
        return self


def _read_off(annotation: Any) -> dict[str, Any]:
    """Return what an annotation says of a parameter."""
    kinds = [*alternatives(annotation)]
    *_, main = (one for one in kinds if one is not NoneType)
    optional = NoneType in kinds
    if get_origin(main) is Literal:
        return {"kind": "choice", "choices": get_args(main), "optional": optional}
    return {"kind": _KINDS[main], "optional": optional}


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
            raise UsageError.of(
                "bad-value", name=name, given=repr(position), expected=f"a column from 0 to {variables - 1}"
            )
        found[int(position)] = True
    return found


def kept_columns(positions: Iterable[int], variables: int, named_by: Parameter) -> NDArray[np.bool_]:
    """Tell which columns are kept, as `columns_at` does.

    Raises
    ------
    UsageError
        A position is none, or all are kept.
    """
    kept = columns_at(positions, variables, named_by.name)
    if kept.all():
        raise UsageError.of(
            "bad-value",
            name=named_by.name,
            hint=named_by.help,
            expected="some of the variables, as others are to be masked",
            given="all",
        )
    return kept


def require_positions(columns: Sequence[int], name: str = "nominal") -> None:
    """Refuse what are no positions of columns.

    Raises
    ------
    UsageError
    """
    if not all(isinstance(column, int | np.integer) and column >= 0 for column in columns):
        hint = Note("for fields of a file, give {setting}", setting=Setting(f"--{name}", ("FIELD",)))
        given = repr(tuple(columns))
        raise UsageError.of("bad-value", name=name, expected="positions of columns from 0", given=given, hint=hint)


def nominal_columns(columns: Sequence[int], declared: Kinds) -> NDArray[np.bool_]:
    """Return which columns hold categories: those at some positions, and those that are declared.

    Raises
    ------
    UsageError
        There is no such column.
    """
    return declared.of("nominal") | columns_at(columns, declared.columns, "nominal")
