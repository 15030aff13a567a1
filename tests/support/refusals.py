"""Errors by their codes: what tests ask of a refusal, whose sentence one table has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from masktron.errors import MasktronError
from masktron.problems.problem import Field, Known, Problem, Rule, Setting, SettingName

_CODE = re.compile(r"\[([a-z0-9]+(?:-[a-z0-9]+)+)\]$", re.MULTILINE)


@contextmanager
def refused[E: MasktronError](kind: type[E], code: str, /, **references: Any) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error of a kind with a code, that names at least these references.

    Plain names and values stand for `Field` and `Rule`, and tuples of names for tuples of these;
    ``where`` is the place as text.
    """
    with pytest.raises(kind) as caught:
        yield caught
    require_problem(caught.value, code, **references)


def require_problem(error: MasktronError, code: str, /, **references: Any) -> None:
    """Check the code of an error and what it names."""
    assert code_of(error) == code
    where = references.pop("where", None)
    assert where is None or error.where == str(where)
    named = problem_of(error).references
    assert {name: plain(named.get(name)) for name in references} == references


class Refusal:
    """A row of a table of refusals: the kind and code of the error, what is done, and what the error names."""

    def __init__(self, kind: type[MasktronError], code: str, call: Callable[..., object], /, **named: Any) -> None:
        self.kind, self.code, self.call, self.named = kind, code, call, named

    def __str__(self) -> str:
        return self.code

    def check(self, *given: Any) -> None:
        """Do it, with what the test has made, and expect the error."""
        with refused(self.kind, self.code, **self.named):
            self.call(*given)


def problem_of(error: MasktronError) -> Problem:
    """Return the problem of an error."""
    assert error.problem is not None, f"an error without a code: {error}"
    return error.problem


def code_of(shown: MasktronError | str) -> str:
    """Return the code of an error, or the one that a command shows at the end of a line."""
    if isinstance(shown, MasktronError):
        return problem_of(shown).code
    found = _CODE.findall(shown)
    assert len(found) == 1, shown
    return str(found[0])


def plain(value: Any) -> Any:
    """Return a reference without its kind."""
    if isinstance(value, tuple | list):
        return tuple(map(plain, value))
    match value:
        case Field() | Rule():
            shown: Any = value.name
        case Setting():
            shown = " ".join([value.option, *value.values])
        case SettingName():
            shown = str(value)
        case Known():
            shown = value.names
        case Problem():
            shown = value.code
        case _:
            shown = value
    return shown
