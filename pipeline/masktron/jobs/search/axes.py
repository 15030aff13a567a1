"""Ways to treat keys that a user wants tried: tables of lists, or options that may be repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from masktron.config import Config
from masktron.declared import declared_in
from masktron.errors import UsageError
from masktron.perturbation_settings import PramSettings, located_pram, pram_settings
from masktron.recoding_settings import how_of, resolved

type Ways = dict[str, tuple[str, ...]]
"""For each field the ways that are tried."""


def recode_ways(value: object) -> Ways:
    """Read the ways to recode each field.

    Raises
    ------
    UsageError
        It is neither a table of lists nor a list of texts ``FIELD=HOW``, or one of them is no way to recode.
    """
    found = _ways("recode", value, 'AGE = ["width:5", "width:10"]', how_of)
    return {name: tuple(dict.fromkeys(resolved(how, Path()) for how in own)) for name, own in found.items()}


def pram_ways(value: object) -> Ways:
    """Read the ways to draw each field anew, or several together; of two that say the same, the first.

    Raises
    ------
    UsageError
        As for `recode_ways`.
    """
    found = _ways("pram", value, 'REGION = ["change:0.1", "change:0.2"]', pram_settings)
    return {name: unlike_pram(located_pram(how, Path()) for how in own) for name, own in found.items()}


def unlike_pram[Way: (str, str | None)](ways: Iterable[Way]) -> tuple[Way, ...]:
    """Return ways to draw a field anew without those that say the same as an earlier one; None draws nothing."""
    found: dict[PramSettings | None, Way] = {}
    for how in ways:
        found.setdefault(None if how is None else pram_settings("pram", how), how)
    return tuple(found.values())


def swap_rates(value: object) -> tuple[float, ...]:
    """Read the rates at which records are swapped: numbers, or a text with commas between them.

    Raises
    ------
    UsageError
        One of them is no number from 0 to 1.
    """
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(_rate(part) for part in parts))


def _rate(value: object) -> float:
    try:
        found = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
    except (ValueError, OverflowError):
        found = -1.0
    if not 0 <= found <= 1:
        expected = "numbers from 0 to 1 such as 0.02,0.1"
        raise UsageError.of("bad-value", name="swap_rate", expected=expected, given=repr(value))
    return found


def _ways(
    name: str,
    value: object,
    example: str,
    read: Callable[[str, str], object],
) -> Ways:
    """Read a table of lists, or options ``FIELD=HOW``; require that each is a way."""
    found = _assigned(name, value) if isinstance(value, list | tuple) else _tabled(name, value, example)
    for field, own in found.items():
        if not own or not all(isinstance(how, str) for how in own):
            expected = f"a list of ways such as {example.partition('=')[2].strip()}"
            raise UsageError.of("bad-value", name=f"{name}.{field}", expected=expected, given=repr(list(own)))
        for how in own:
            read(f"{name}.{field}", how)
    return found


def _assigned(name: str, value: Sequence[object]) -> Ways:
    found: Ways = {}
    for assignment in value:
        if not isinstance(assignment, str):
            raise UsageError.of("bad-value", name=name, expected="texts FIELD=HOW", given=repr(assignment))
        for field, how in declared_in(Config)[name].collected(name, [assignment]).items():
            found[field] = (*found.get(field, ()), how)
    return found


def _tabled(name: str, value: object, example: str) -> Ways:
    if not isinstance(value, Mapping):
        expected = f"a table such as {example}"
        raise UsageError.of("bad-value", name=f"tune.{name}", expected=expected, given=repr(value))
    found: Ways = {}
    for field, ways in value.items():
        own = [ways] if isinstance(ways, str) else ways
        if not isinstance(own, list | tuple):
            raise UsageError.of("bad-value", name=f"{name}.{field}", expected="a list", given=repr(own))
        found[str(field)] = tuple(own)
    return found
