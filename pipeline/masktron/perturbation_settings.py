"""How keys are to be perturbed, as settings say it: PRAM by ``change:0.1`` or ``sex.csv``, and record swapping."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from masktron.declared import Settings, WrongValue, declared_in, part_of, require, setting
from masktron.errors import UsageError
from masktron.problems.problem import Setting
from masktron.setting_values import Fields, File, Names, fields, is_number, table, ways_of, wrong_part

TOGETHER = "+"
"""Between the names of fields of which combinations are drawn."""
WAYS = (
    "change:0.1 (the share of the records that is expected to change), or the file of a matrix as sex.csv; behind "
    "it stay:0.5 (every value stays with that probability at least), within:REGION (values are drawn among records "
    "alike in that), household:HOUSEHOLD (records that share that number are drawn as one) and alone:keep (a value "
    "that no other one can take the place of stays), with commas between"
)
_KEEP = "keep"
_MOST_IMPORTANT = 1e6  # costs of cells are added up, so that a cell of 1 beside one of 1e300 would cost nothing
_LEAST_CHANGE = 1e-6  # one record of a million: a smaller share is a slip, and protects nobody


@dataclass(frozen=True, slots=True)
class PramSettings:
    """PRAM of a field, or of several together; manifests have the matrix itself, beside the other settings.

    Attributes
    ----------
    change : float or None
        Share of the records that is expected to change, from 1e-6 and below 1; None with a matrix.
    stay : float
        Probability with which every value stays at least, from 0 and below 1.
    matrix : Path or None
        Transition probabilities as CSV.
    within : tuple of str
        Fields: values are drawn among records that are alike in them.
    alone : bool
        Whether a value may stay where no other record, to which the rules admit the same, has another one.
    household : str or None
        The field whose value the records of a household share: these are drawn as one, and have one value.
    """

    KEYS: ClassVar[str] = "change stay within alone household"

    change: float | None = None
    stay: float = 0.0
    matrix: Path | None = None
    within: tuple[str, ...] = ()
    alone: bool = False
    household: str | None = None


def together(name: str) -> tuple[str, ...]:
    """Return the fields that are drawn together, by what stands for them in settings: ``REGION``, ``AGE+STATUS``."""
    return tuple(part.strip() for part in name.split(TOGETHER))


def pram_settings(setting: str, text: str) -> PramSettings:
    """Read how a field is to be drawn anew.

    Parameters
    ----------
    setting : str
        The name of the setting, for messages: ``pram.REGION``.
    text : str

    Raises
    ------
    UsageError
        It says none of `WAYS`.
    """
    found: dict[str, Any] = {}
    for part in text.split(","):
        word, colon, said = (one.strip() for one in part.partition(":"))
        name = word if colon and word in _WORDS else "matrix"
        if name in found:
            raise _wrong(setting, f"{name} once", text, "keep one of them")
        if name == "matrix" and (_is_number(part) or not part.strip() or found):
            raise _wrong(setting, "a way to draw values anew", part.strip())
        found[name] = Path(part.strip()) if name == "matrix" else _WORDS[name](setting, said)
    if ("change" in found) == ("matrix" in found) or ("matrix" in found and "stay" in found):
        raise _wrong(setting, "either change or a matrix, which has its own diagonal", text)
    return PramSettings(**found)


def located_pram(text: str, folder: Path) -> str:
    """Return the same with the file of a matrix as it is found from another folder.

    Parameters
    ----------
    text : str
        That `pram_settings` reads.
    folder : Path
        Where the path of the file starts.
    """
    return _with_matrix(text, lambda path: (folder / path).as_posix())


def short_pram(text: str) -> str:
    """Return the same with the bare name of the file of a matrix, for names and sentences."""
    return _with_matrix(text, lambda path: path.name)


def pram_relative_to(text: str, folder: Path) -> str:
    """Return the same with the file of a matrix as a path that starts at a folder: what `located_pram` undoes."""
    return _with_matrix(text, lambda path: Path(os.path.relpath(path, folder)).as_posix())


def _with_matrix(text: str, named: Callable[[Path], str]) -> str:
    """Return the same with the file of a matrix named otherwise."""
    if pram_settings("pram", text).matrix is None:
        return text
    path, comma, rest = text.partition(",")
    return f"{named(Path(path.strip()))}{comma}{rest}"


def matrix_files(pram: Mapping[str, str]) -> dict[str, Path]:
    """Return the files of matrices, by the names that messages have for them.

    Parameters
    ----------
    pram : mapping of str to str
        How fields are drawn anew, by their names.
    """
    return {f"the matrix of {name}": path for name, path in matrices_named(pram)}


def matrices_named(pram: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Return the files of matrices in settings that `pram_settings` reads, each with what is drawn anew."""
    found = [(name, pram_settings(f"pram.{name}", text).matrix) for name, text in pram.items()]
    return [(name, path) for name, path in found if path is not None]


def moved_matrices(pram: Mapping[str, str], moved: Callable[[str, Path], Path]) -> dict[str, str]:
    """Return settings that `pram_settings` reads with other files: `moved` gets each with what is drawn anew."""
    return {name: _with_matrix(text, partial(_moved_text, moved, name)) for name, text in pram.items()}


def _moved_text(moved: Callable[[str, Path], Path], name: str, path: Path) -> str:
    return moved(name, path).as_posix()


def _share(setting: str, word: str, text: str, *, least: float) -> float:
    if not _is_number(text) or not least <= float(text) < 1:
        expected = f"{word}: and a number from {least:g}, below 1"
        raise _wrong(setting, expected, f"{word}:{text}", f"such as {word}:0.1")
    return float(text)


def _names(setting: str, text: str) -> tuple[str, ...]:
    names = together(text)
    if not all(names):
        raise _wrong(setting, "within: and names of fields", f"within:{text}", "such as within:REGION+SEX")
    return names


def _kept(setting: str, text: str) -> bool:
    if text != _KEEP:
        raise _wrong(setting, f"alone:{_KEEP}", f"alone:{text}", "leave it out where such values are to be refused")
    return True


def _household(setting: str, text: str) -> str:
    if not text:
        raise _wrong(setting, "household: and the name of a field", "household:", "such as household:HOUSEHOLD")
    return text


def _wrong(setting: str, expected: str, text: str, hint: str = f"write {WAYS}") -> UsageError:
    return wrong_part(setting, expected, text, hint)


_WORDS: Mapping[str, Callable[[str, str], Any]] = {
    "change": lambda setting, text: _share(setting, "change", text, least=_LEAST_CHANGE),
    "stay": lambda setting, text: _share(setting, "stay", text, least=0),
    "within": _names,
    "alone": _kept,
    "household": _household,
}


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def pram(given: Mapping[str, File]) -> dict[str, str]:
    """Read how fields are drawn anew, each once."""
    found = ways_of(given, WAYS, pram_settings, "pram")
    drawn = [one for key in found for one in together(key)]
    for key in found:
        require(all(together(key)), "a table of fields, such as AGE, or AGE+STATUS", key)
    again = next((one for one in drawn if drawn.count(one) > 1), "")
    require(not again, "a table that draws each field once, alone or with others", given)
    return found


def _regions(given: Any) -> tuple[str, ...]:
    listed = given if isinstance(given, list | tuple) else ()
    require(len({*listed}) == len(listed), "a list that has each region once", given)
    return fields(given)


def _rate(given: Any) -> float:
    require(is_number(given) and 0 <= given <= 1, "a number from 0 to 1", given)
    return float(given)


class SwapSettings(Settings):
    """Targeted record swapping, as ``[swap]`` of settings says it.

    Attributes
    ----------
    regions : tuple of str
        Fields from coarse to fine, which move together; at least one.
    household : str or None
        The field whose value the records of a household share; None where each record moves alone.
    keys : tuple of str
        What makes a record rare in its region; the other quasi-identifiers where none is named.
    k : int
        Rare is who shares keys with fewer than k records of the region, itself included; at least 2.
    similar : tuple of str
        Fields that agree in a pair, the most important first.
    required : int or None
        How many of them agree at least; all when None.
    rate : float
        Share of the units that is swapped at least, from 0 to 1.
    least_regions : int
        Other regions from which a partner is drawn, at least.
    """

    regions: Names = setting(converter=_regions)
    household: str | None = setting(default=None)
    keys: Names = setting(default=())
    k: int = setting(default=3, least=2)
    similar: Names = setting(default=())
    required: int | None = setting(default=None, least=0)
    rate: float = setting(default=0.0, converter=_rate)
    least_regions: int = setting(default=2, least=1)


SWAP_NAMES = (*declared_in(SwapSettings),)


def swap(given: Mapping[str, Fields | str | float | None]) -> dict[str, Any]:
    """Read how records are swapped."""
    found = SwapSettings.parts("swap", given, absent=["required"])
    if found and not found.get("regions"):
        raise WrongValue(
            "needs-setting",
            next(iter(found)),
            needed="the fields to swap, from coarse to fine",
            setting=Setting("--swap", ("COUNTY,MUNICIPALITY",)),
        )
    return found


def _importance(given: Any) -> dict[str, float]:
    example = "importance = {AGE = 2}; the larger, the rarer it is suppressed"
    least, most = 1 / _MOST_IMPORTANT, _MOST_IMPORTANT
    for key, cost in table(given, "FIELD = number", example).items():
        fine = isinstance(key, str) and is_number(cost) and least <= cost <= most
        part_of(key, require, fine, f"a number from {least:g} to {most:g}", cost, example)
    return {key: float(cost) for key, cost in given.items()}


class KeySettings(Settings):
    """How cells of keys are suppressed, as ``[keys]`` of settings says it: see `masktron.config.Config`."""

    k: int | None = setting(default=None, least=1)
    subsets: int | None = setting(default=None, least=1)
    importance: Mapping[str, float] = setting(factory=dict, converter=_importance)
    missing_matches: bool = setting(default=False)


def keys(given: Mapping[str, int | bool | Mapping[str, float]]) -> dict[str, Any]:
    """Read how keys are suppressed."""
    return KeySettings.parts("keys", given)
