"""A method from settings: the name and the parameters that a user gave, as texts or as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from masktron.errors import UsageError
from masktron.methods import method_named
from masktron.methods.base import Method
from masktron.methods.parameters import Parameter
from masktron.problems.problem import Known, Note, Setting

CLASS = ("class", "classes")
"""Names under which the fields with the class of each record are given."""
CLASS_FIELDS = Parameter(
    CLASS[0], "fields", "Fields that hold the class of each record, which is confidential and not masked."
)
"""What methods that need a class ask for besides their own parameters."""
ELSEWHERE = {
    "k": (Setting("-k"),),
    "random_state": (Setting("--secret", ("FILE",)), Setting("--seed", ("NUMBER",))),
}
"""What is no parameter here, since it stands for a whole run."""


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The method of a run.

    Attributes
    ----------
    method : Method
        With its parameters, checked.
    class_fields : tuple of str
        Fields with the class of each record, in the order given; none for methods that need no class.
    """

    method: Method
    class_fields: tuple[str, ...] = ()


def chosen(name: str, params: Mapping[str, object], k: int) -> Chosen:
    """Build a method from settings.

    Parameters
    ----------
    name : str
    params : mapping of str to value
        By name of the parameter. Texts are read as on the command line, whatever the parameter; other values are
        taken as they are. ``class`` (or ``classes``) names the class fields, for methods that need a class.
    k : int
        Smallest group, for methods that form groups.

    Returns
    -------
    Chosen

    Raises
    ------
    UsageError
        There is no such method or parameter, a value is none that the parameter can have, or the class is missing.
    """
    kind = method_named(name)
    own = kind.parameters
    values = {key: _value(own[key], value) for key, value in params.items() if key in own and key not in ELSEWHERE}
    given = {key: value for key, value in params.items() if key in ELSEWHERE or key not in own}
    if "k" in own:
        values["k"] = k
    method = kind(**values)  # some need a class only with some of their parameters
    class_fields = _class_fields(method, given)
    _require_known(method, [key for key in given if not (method.needs_class and key in CLASS)])
    method.check()
    method.require_class(given=bool(class_fields))
    return Chosen(method, class_fields)


def _value(parameter: Parameter, value: object) -> Any:
    if isinstance(value, str):
        value = parameter.read(value)
    parameter.check(value)
    if parameter.kind == "integer" and isinstance(value, float):
        value = int(value)
    if parameter.kind == "fields" and not _names(value):
        raise parameter.error(value)
    return value


def _names(value: object) -> bool:
    """Whether a value is a sequence of different names, or None for what the method takes by itself."""
    return value is None or (
        isinstance(value, list | tuple)
        and all(isinstance(name, str) and name for name in value)
        and len({*value}) == len(value)
    )


def _class_fields(method: Method, given: Mapping[str, object]) -> tuple[str, ...]:
    named = [key for key in CLASS if key in given]
    if not named or not method.needs_class:
        return ()
    if len(named) > 1:
        raise CLASS_FIELDS.error({key: given[key] for key in named}, "given once")
    value = given[named[0]]
    fields = tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value
    if not fields or not _names(fields):
        raise CLASS_FIELDS.error(value, "names of fields, each once, as class=REGION,SEX")
    assert isinstance(fields, list | tuple)  # noqa: S101 -- names are
    return tuple(fields)


def _require_known(method: Method, others: list[str]) -> None:
    """Refuse parameters that the method does not have."""
    for key in others:
        if key in ELSEWHERE:
            setting = ELSEWHERE[key]
            raise UsageError.of(
                "unknown-name",
                name=key,
                kind="parameter",
                known=Note("use {setting:or} instead", setting=setting),
                asked_by=f" for {method.name}, as it is a setting of the whole run",
            )
        known = [name for name in method.parameters if name not in ELSEWHERE]
        if method.needs_class:
            known.append(CLASS[0])
        raise UsageError.of(
            "unknown-name",
            kind="parameter",
            name=key,
            asked_by=f" for {method.name}",
            known=Known(key, tuple(known)),
            more=f"; `masktron methods {method.name}` explains each parameter",
        )
