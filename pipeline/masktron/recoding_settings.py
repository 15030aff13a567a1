"""How a field is to be recoded, as settings say it: ``age.csv:2``, ``width:5``, ``top:90:median``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Literal

from masktron.errors import UsageError
from masktron.problems.problem import Known, Note
from masktron.setting_values import File, setting_name, ways_of, wrong_part

type Statistic = Literal["mean", "median"]

_EXAMPLES = {
    one.partition(":")[0]: one for one in ("width:5", "breaks:0,15,25,65", "round:100", "top:90", "bottom:16")
}
WAYS = (
    f"a hierarchy as age.csv or age.csv:2, {', '.join(_EXAMPLES.values())}, or both tails as bottom:16,top:90; "
    "behind a tail :median in the place of its mean, behind breaks :mean or :median for the numbers of classes"
)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_WORD = re.compile(r"[A-Za-z_]+")
_LEVELLED = re.compile(r"(.+):([0-9]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FromHierarchy:
    """Labels of a level of a hierarchy.

    Attributes
    ----------
    path : Path
    level : int
        From 1, the first above the values themselves.
    """

    path: Path
    level: int = 1


@dataclass(frozen=True, slots=True)
class Widths:
    """Classes of one width, whose bounds are its multiples.

    Attributes
    ----------
    width : Fraction
        Above 0.
    """

    width: Fraction


@dataclass(frozen=True, slots=True)
class Breaks:
    """Classes between bounds: closed below and open above, the last without an upper end.

    Attributes
    ----------
    breaks : tuple of Fraction, shape (m,)
        Rising.
    statistic : "mean", "median" or None
        The number that is written for the values of a class; a label of the interval when None.
    """

    breaks: tuple[Fraction, ...]
    statistic: Statistic | None = None


@dataclass(frozen=True, slots=True)
class Multiples:
    """The nearest multiple of a base.

    Attributes
    ----------
    base : Fraction
        Above 0.
    """

    base: Fraction


@dataclass(frozen=True, slots=True)
class CodedTails:
    """One number for all at or beyond a bound.

    Attributes
    ----------
    bottom, top : tuple of (Fraction, "mean" or "median"), or None
        The bound, and what is written for the tail.
    """

    bottom: tuple[Fraction, Statistic] | None = None
    top: tuple[Fraction, Statistic] | None = None


type How = FromHierarchy | Widths | Breaks | Multiples | CodedTails


def gives_numbers(how: How) -> bool:
    """Tell whether a field of numbers is one after it is recoded, and not one of labels."""
    return isinstance(how, Multiples) or averages(how)


def averages(how: How) -> bool:
    """Tell whether means or medians of values are written, which are refused where fewer than k records have them."""
    return isinstance(how, CodedTails) or (isinstance(how, Breaks) and how.statistic is not None)


def how_of(setting: str, text: str) -> How:
    """Read how a field is to be recoded.

    Parameters
    ----------
    setting : str
        The name of the setting, for messages: ``recode.AGE``.
    text : str

    Raises
    ------
    UsageError
        It says none of `WAYS`.
    """
    kind, colon, rest = (part.strip() for part in text.partition(":"))
    if kind in ("top", "bottom"):
        return _tails(setting, text)
    if kind in _KINDS:
        return _KINDS[kind](setting, rest)
    path, level = (found[1], int(found[2])) if (found := _LEVELLED.fullmatch(text.strip())) else (text.strip(), 1)
    if colon and _WORD.fullmatch(kind):
        raise UsageError.of(
            "unknown-name",
            kind="recoding",
            name=kind,
            known=Known(kind, (*_EXAMPLES, "a hierarchy such as age.csv:2")),
            asked_by=Note(" in {setting}", setting=setting_name(setting)),
        )
    if not path:
        raise _wrong(setting, "a way to recode", text)
    if level < 1:
        raise _wrong(setting, "a level of a hierarchy from 1", text, "level 0 is the values themselves")
    return FromHierarchy(Path(path), level)


def recode(given: Mapping[str, File]) -> dict[str, str]:
    """Read how fields are recoded."""
    return ways_of(given, WAYS, how_of, "recode")


def _widths(setting: str, text: str) -> Widths:
    return Widths(_above_zero(setting, "width", text))


def _multiples(setting: str, text: str) -> Multiples:
    return Multiples(_above_zero(setting, "round", text))


def _breaks(setting: str, text: str) -> Breaks:
    numbers, colon, said = (part.strip() for part in text.partition(":"))
    breaks = tuple(_number(setting, "breaks", part) for part in numbers.split(","))
    if len(breaks) < 2 or any(low >= high for low, high in pairwise(breaks)):
        raise _wrong(setting, "breaks at two rising numbers or more", text, f"such as {_EXAMPLES['breaks']}")
    return Breaks(breaks, _statistic(setting, said, text) if colon else None)


_KINDS: dict[str, Callable[[str, str], How]] = {"width": _widths, "round": _multiples, "breaks": _breaks}


def _tails(setting: str, text: str) -> CodedTails:
    found: dict[str, tuple[Fraction, Statistic]] = {}
    for part in text.split(","):
        side, bound, *said = (one.strip() for one in (part if ":" in part else f"{part}:").split(":"))
        if side not in ("top", "bottom") or len(said) > 1:
            raise _wrong(setting, "a way to recode", text)
        if side in found:
            raise _wrong(setting, f"{side} once", text, "keep one of them")
        found[side] = (_number(setting, side, bound), _statistic(setting, said[0], text) if said else "mean")
    bottom, top = found.get("bottom"), found.get("top")
    if bottom is not None and top is not None and bottom[0] >= top[0]:
        raise _wrong(setting, "a bottom below the top", text, "such as bottom:16,top:90")
    return CodedTails(bottom, top)


def _statistic(setting: str, said: str, text: str) -> Statistic:
    if said == "mean":
        return "mean"
    if said == "median":
        return "median"
    raise _wrong(setting, "a way to recode", text)


def _above_zero(setting: str, kind: str, text: str) -> Fraction:
    number = _number(setting, kind, text)
    if number <= 0:
        raise _wrong(setting, f"{kind} with a number above 0", f"{kind}:{text}", f"such as {_EXAMPLES[kind]}")
    return number


def _number(setting: str, kind: str, text: str) -> Fraction:
    if not _NUMBER.fullmatch(text.strip()):
        expected = f"{kind} with {'numbers' if kind == 'breaks' else 'a number'}"
        raise _wrong(setting, expected, f"{kind}:{text.strip()}", f"such as {_EXAMPLES[kind]}")
    return Fraction(text.strip())


def _wrong(setting: str, expected: str, text: str, hint: str = f"write {WAYS}") -> UsageError:
    return wrong_part(setting, expected, text, hint)


def moved_hierarchies(recode: Mapping[str, str], moved: Callable[[str, Path], Path]) -> dict[str, str]:
    """Return settings that `how_of` reads with other files of hierarchies: `moved` gets each with its field."""
    return {name: _with_file(text, partial(moved, name)) for name, text in recode.items()}


def short_how(text: str) -> str:
    """Return the same with the bare name of the file of a hierarchy, for names and sentences."""
    return _with_file(text, lambda path: Path(path.name))


def relative_to(text: str, folder: Path) -> str:
    """Return the same with the file of a hierarchy as a path that starts at a folder: what `resolved` undoes."""
    return _with_file(text, lambda path: Path(os.path.relpath(path, folder)))


def resolved(text: str, folder: Path) -> str:
    """Return the same with the file of a hierarchy as it is found from another folder.

    Parameters
    ----------
    text : str
        That `how_of` reads.
    folder : Path
        Where the path of the file starts.
    """
    return _with_file(text, lambda path: folder / path)


def _with_file(text: str, named: Callable[[Path], Path]) -> str:
    """Return the same with the file of a hierarchy named otherwise."""
    how = how_of("recode", text)
    return f"{named(how.path).as_posix()}:{how.level}" if isinstance(how, FromHierarchy) else text
