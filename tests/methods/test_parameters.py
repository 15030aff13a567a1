"""A parameter of a method is a field of its class: a made-up one is found wherever parameters are."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal, override

import numpy as np
import pytest
from sklearn.base import clone

from cli_runner import Runner
from masktron import methods
from masktron.contracts import MethodContract, ModelDrawn
from masktron.errors import UsageError
from masktron.estimators import Masker
from masktron.methods.base import Drawn, GroupedMethod, KeepingMethod, RecordContext
from masktron.methods.chosen import chosen
from masktron.methods.conditioned import ConditionedMethod, Conditioning
from masktron.methods.parameters import Parameter, Parametrised, parameter
from refusals import refused

type Alias = Literal["a", "b"]


class MadeUpMethod(GroupedMethod, KeepingMethod, ConditionedMethod):
    """A method with a parameter of its own, beside all that methods share."""

    name: ClassVar[str] = "made_up"
    title = says = when = source = attacker = "a test"
    preserves: ClassVar[tuple[str, ...]] = ()
    conditioning: ClassVar[Conditioning] = Conditioning.CELLS
    k: int = 7
    shift: float = parameter("How far values move.", default=0.5, above=0, most=2)

    @property
    def contract(self) -> MethodContract:
        return ModelDrawn()

    @override
    def _mask(self, values: Any, generator: np.random.Generator, context: RecordContext) -> Drawn:
        return Drawn(values + self.shift)


class MadeUp(Masker, MadeUpMethod):
    """The same for scikit-learn."""


def test_one_field_is_found_everywhere(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "ALL", (*methods.ALL, MadeUpMethod))
    assert "How far values move." in run("methods", "made_up").out
    (listed,) = json.loads(run("methods", "made_up", "--json", "-").out)["methods"]
    assert [one["name"] for one in listed["parameters"]] == [
        *("k", "shift", "keep"),
        *("conditions", "nominal", "strata"),
    ]
    assert {name for name, one in MadeUpMethod.parameters.items() if one.stays} == {"keep", "conditions", "strata"}
    assert (listed["parameters"][1]["default"], listed["parameters"][1]["admits"]) == (0.5, "a number above 0 to 2")
    method: Any = chosen("made_up", {"shift": "1.5"}, 3).method
    assert (method.k, method.shift) == (3, 1.5)
    with refused(UsageError, "bad-value", name="shift", expected="a number above 0 to 2", given="0.0"):
        chosen("made_up", {"shift": 0.0}, 3)
    estimator = clone(MadeUp(shift=1.0))
    assert (estimator.shift, estimator.k) == (1.0, 7)
    assert {*estimator.get_params()} == {*MadeUpMethod.parameters, "random_state"}
    assert [*inspect.signature(MadeUp).parameters][:2] == ["k", "shift"]
    assert (estimator.fit_transform([[1.0], [2.0]]) == [[2.0], [3.0]]).all()


def test_the_annotation_says_the_kind() -> None:
    class Kinds(Parametrised):
        whole: int = parameter("A.", default=1)
        part: float | None = parameter("A.", default=None)
        switch: bool = parameter("A.", default=False)
        alias: Alias | None = parameter("A.", default="a")
        text: str = parameter("A.", default="x", choices=["x", "y"])
        some: Iterable[int] | None = parameter("A.", default=None)
        shares: float | Sequence[float] = parameter("A.", default=0.5)
        free: int = 0

    assert [(one.name, one.kind, one.optional, one.choices) for one in Kinds.parameters.values()] == [
        ("whole", "integer", False, ()),
        ("part", "number", True, ()),
        ("switch", "flag", False, ()),
        ("alias", "choice", True, ("a", "b")),
        ("text", "choice", False, ("x", "y")),
        ("some", "fields", True, ()),
        ("shares", "numbers", False, ()),
    ]


class Shifted(Parametrised):
    shift: float = parameter("A.", default=0.5)


class Halved(Parametrised):
    half: bool = parameter("A.", default=True, kw_only=True)


class Joined(Halved, Shifted):
    def __post_init__(self) -> None:
        self.doubled = 2 * self.shift


def test_a_class_without_fields_of_its_own_takes_those_of_all_its_bases() -> None:
    assert Joined(3.0, half=False).doubled == 6.0
    assert repr(Joined(3.0)) == "Joined(shift=3.0, half=True)"


def test_a_default_alone_keeps_what_was_declared() -> None:
    declared = GroupedMethod.parameters["k"]
    assert isinstance(declared, Parameter)
    assert MadeUpMethod.parameters["k"] is declared
    assert "k" not in ConditionedMethod.parameters
    assert (MadeUpMethod().k, MadeUpMethod(3).k) == (7, 3)
