"""What fields of settings declare, and what their annotations say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import pytest

import masktron
from masktron.commands import COMMANDS
from masktron.commands.mask import Mask
from masktron.config import Config, config_from
from masktron.declared import HOW, Settings, Shape, Taken, declared_in, setting
from masktron.errors import UsageError
from refusals import refused

type Colour = Literal["red", "blue"]


def lengths(given: Mapping[str, str | int]) -> dict[str, int]:
    """Read a table of lengths."""
    return {name: int(length) for name, length in given.items()}


class Made(Settings):
    """Settings that are made up."""

    place: Path = setting("Where.", kw_only=False)
    size: int = setting("How large.", HOW, default=3, least=2)
    open: bool = setting("Whether it is open.", HOW, default=False)
    colour: Colour | None = setting("Its colour.", HOW, default=None)
    names: tuple[str, ...] = setting("Its names.", HOW, default=())
    length: Taken[Mapping[str, int], Mapping[str, str | int]] = setting("How long.", factory=dict, converter=lengths)
    memory: Taken[int | None, int | str | None] = setting("How much.", HOW, default=None, converter=int)


def test_the_annotation_says_how_options_give_a_value() -> None:
    said = declared_in(Made)
    forms = {name: one.form for name, one in said.items()}
    assert forms == {
        "place": Shape.VALUE, "size": Shape.VALUE, "open": Shape.SWITCH, "colour": Shape.VALUE, "names": Shape.LIST,
        "length": Shape.TABLE, "memory": Shape.VALUE,
    }  # fmt: skip
    assert said["colour"].choices == ("red", "blue")
    assert said["colour"].metavar == "red|blue"
    assert said["place"].read("x") == Path("x")
    assert (said["size"].read("5"), said["memory"].read("4GB")) == (5, "4GB")  # a converter reads texts by itself


def test_fields_convert_and_are_frozen() -> None:
    made = Made(Path("x"), length={"A": "4"}, memory="7")
    assert (made.length, made.memory, made.colour) == ({"A": 4}, 7, None)
    assert replace(made, size=4) == Made(Path("x"), size=4, length={"A": 4}, memory=7)
    with pytest.raises(FrozenInstanceError):
        made.size = 4
    assert str(signature(Made)).startswith("(place: 'Path', *, size: 'int' = 3, open: 'bool' = False,")
    assert "length: 'Mapping[str, int]' = {}" in str(signature(Made))


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({"size": "5"}, "bad-value", {"name": "size", "given": "'5'"}),
        ({"size": 1}, "bad-value", {"name": "size", "expected": "at least 2", "given": "1"}),
        ({"open": 1}, "bad-value", {"name": "open", "expected": "true or false", "given": "1"}),
        ({"colour": "green"}, "bad-value", {"name": "colour", "expected": "one of red, blue"}),
    ],
)
def test_a_wrong_value_is_named(given: Mapping[str, object], code: str, said: dict[str, object]) -> None:
    with refused(UsageError, code, **said):
        Made(Path("x"), **given)


@pytest.mark.parametrize("given", [{}, {"place": Path("x"), "siez": 3}])
def test_fields_that_lack_or_are_unknown_are_refused(given: Mapping[str, object]) -> None:
    with pytest.raises(TypeError, match=r"needs place|does not take"):
        Made(**given)
    with pytest.raises(TypeError, match="1 arguments by position, not 2"):
        Made(Path("x"), 3)


def test_settings_name_commands_that_exist() -> None:
    for name, said in declared_in(Config).items():
        assert {*said.commands.split(), *said.other} <= COMMANDS.keys(), name


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        ({"keys": {"k": None}}, "keys.k"),
        ({"keys": {"missing_matches": None}}, "keys.missing_matches"),
        ({"swap": {"regions": None}}, "swap.regions"),
        ({"swap": {"regions": ["A"], "household": None}}, "swap.household"),
        ({"levels": {"H": {"key": "H"}, "P": {"data": ""}}}, "levels.P.data"),
        ({"levels": {"H": {"key": "H"}, "P": {"data": "p.csv", "numbered": [1]}}}, "levels.P.numbered"),
        ({"levels": {"H": {"key": "H"}, "P": {"data": "p.csv", "numbered": ["P", "P"]}}}, "levels.P.numbered"),
    ],
)
def test_what_is_no_value_is_refused_and_switches_nothing_off(settings: dict[str, Any], setting: str) -> None:
    with refused(UsageError, "bad-value", name=setting):
        config_from(settings, base=Config(key_k=3))


def test_required_may_be_left_open() -> None:
    assert Config(swap={"regions": ["A"], "required": None}).swap == {"regions": ("A",)}


def test_a_command_shows_no_secret() -> None:
    command = Mask("d.csv", "r.sch", seed=987654321).came_from({"seed": 987654321})
    assert "987654321" not in repr(command)


def test_an_argument_is_given_once() -> None:
    with pytest.raises(TypeError, match="data twice"):
        masktron.validate("a.csv", "r.sch", data="b.csv")  # type: ignore[misc]


def test_surplus_arguments_are_counted_and_not_shown() -> None:
    with pytest.raises(TypeError, match="3 arguments by position, not 4") as caught:
        Mask("a.csv", "r.sch", "o.csv", b"secret bytes")  # type: ignore[misc]
    assert "secret" not in str(caught.value)


def test_a_field_stays() -> None:
    config = Config(k=3)
    with pytest.raises(FrozenInstanceError):
        del config.k
    assert config.k == 3


def test_what_to_write_names_the_part_of_a_table() -> None:
    with refused(UsageError, "bad-value", name="swap.k"):
        Config(swap={"regions": ["A"], "k": 2.0})
