"""Post-randomisation (PRAM): values are drawn anew by known probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from masktron.counts import counted
from masktron.errors import UsageError
from masktron.perturbation_settings import TOGETHER, PramSettings, pram_settings, together
from masktron.step_kinds.base import Pair, Treatment, settings_of


@dataclass(frozen=True, slots=True)
class Postrandomised(Treatment):
    """A field, or several together, of which values were drawn anew.

    Attributes
    ----------
    fields : tuple of str
    settings : PramSettings
        Its matrix is that of `matrix`, and no file.
    values : tuple of str
        To which rows and columns of the matrix belong; empty where a share was asked for.
    matrix : tuple of tuple of float
    weight : str or None
        The field by which expected frequencies are weighted.
    let_go : tuple of str
        Rules that were not asked.
    figures : mapping of str to number
        What the law protects and changes: see `masktron.treatments.pram.PramFigures`.
    """

    kind = "pram"
    asked_by = ("pram",)
    order = "draw anew"
    outcome = "drawn anew (PRAM)"
    named_as = "drawn anew"
    broken = "with values drawn anew"
    helps = "leave {fields:and} out of [[--pram]]"
    draws = untrue = True

    fields: tuple[str, ...]
    settings: PramSettings
    values: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    weight: str | None
    let_go: tuple[str, ...]
    figures: Mapping[str, float | None] = MappingProxyType({})

    @classmethod
    def fields_of(cls, config: Any) -> tuple[str, ...]:
        """Return the fields of the setting, each by itself."""
        return tuple(one for several in config.pram for one in together(several))

    @classmethod
    def renamed(cls, said: Mapping[str, str], names: Callable[[str], Sequence[str]]) -> dict[str, str]:
        """Return how fields are drawn that are called otherwise; those of one member are drawn together."""
        return {
            TOGETHER.join(one): how
            for several, how in said.items()
            for one in zip(*map(names, together(several)), strict=False)
        }

    @property
    def changed(self) -> tuple[str, ...]:
        """The fields."""
        return self.fields

    def told(self, *, outcome: bool) -> Iterator[tuple[str, str]]:
        """Say by which probabilities values were drawn, what changed, and what others can conclude."""
        how, told = self.settings, self.figures
        parts = ["by a matrix" if self.matrix else f"change {how.change:g}"]
        if not outcome:
            parts += [f"within {', '.join(how.within)}"] if how.within else []
            parts += [f"the records of a household ({how.household}) as one"] if how.household is not None else []
        else:
            records, unit = int(told["records"] or 0), "record" if how.household is None else "household"
            expected, changed = (100 / max(records, 1) * (told[name] or 0) for name in ("expected", "changed"))
            parts += [
                f"{expected:.3g} % of {counted(records, unit)} expected to change, {changed:.3g} % have",
                f"a published value is true with a probability of at most {told['confidence']:.3g}",
                f"odds rise at most {told['odds']:.3g} times" if told["odds"] is not None else "no bound on odds",
            ]
            if told["given"]:
                parts.append(f"{counted(int(told['given']), unit)} stay as the rules leave one value")
            if told["alone"]:
                parts.append(f"{counted(int(told['alone']), unit)} stay unprotected, as none alike has another value")
        yield ", ".join(self.fields), "; ".join(parts)

    def wide(self, names: Callable[[Iterable[str]], tuple[str, ...]]) -> Iterator[Postrandomised]:
        """Yield the same draws of all wide fields."""
        yield replace(self, fields=names(self.fields))

    @property
    def protection(self) -> dict[str, float]:
        """What it says of itself, of the records or households that have a value."""
        told = self.figures
        units, odds = max(1.0, told["records"] or 0), told["odds"]
        return {
            "pram_changed": 100 * (told["changed"] or 0) / units,
            "pram_confidence": 100 * (told["confidence"] or 0),
            "pram_odds": math.inf if odds is None else odds,
            "pram_stays": 100 * ((told["given"] or 0) + (told["alone"] or 0)) / units,
        }

    def require_sense(self) -> None:
        """Refuse a matrix that is none, beside a share or without any."""
        square = {len(self.matrix), *map(len, self.matrix)} == {len(self.values)}
        numbers = [self.settings.stay, *chain.from_iterable(self.matrix)]
        share = self.settings.change is not None
        if not self.fields or share == bool(self.values) or not square or any(map(math.isnan, numbers)):
            raise ValueError("values were drawn anew, and it is not said how")

    @classmethod
    def compared(cls, done: Sequence[Postrandomised], config: Mapping[str, Any], *, nested: bool) -> Pair:
        """Compare how fields are drawn; a manifest has the matrix and not its file."""
        said = settings_of(config, "pram", str)
        try:
            asked = {
                together(name): replace(pram_settings(f"pram.{name}", how), matrix=None) for name, how in said.items()
            }
        except UsageError as error:
            raise ValueError(error.what) from error
        return asked, {one.fields: one.settings for one in done}
