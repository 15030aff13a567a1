"""Record swapping: records that are rare in their region change places with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from masktron.counts import counted
from masktron.errors import UsageError
from masktron.perturbation_settings import SwapSettings
from masktron.step_kinds.base import Pair, Treatment, settings_of

_UNSAID = "records were swapped, and it is not said how"


@dataclass(frozen=True, slots=True)
class Swapped(Treatment):
    """Regions that records, or households, have exchanged in pairs.

    Attributes
    ----------
    settings : SwapSettings
        With the keys that were taken.
    pairs : int
        How many.
    let_go : tuple of str
        Rules that were not asked.
    figures : mapping of str to number or list
        See `masktron.treatments.record_swapping.RecordSwaps`, and for ``levels`` its `LevelFigures`.
    """

    kind = "swapping"
    asked_by = ("swap",)
    order = "swap"
    outcome = "exchanged between records"
    named_as = "swapped"
    broken = "with records swapped"
    helps = "leave out [[--swap]]"
    draws = untrue = True

    settings: SwapSettings
    pairs: int
    let_go: tuple[str, ...]
    figures: Mapping[str, Any] = MappingProxyType({})

    @classmethod
    def fields_of(cls, config: Any) -> tuple[str, ...]:
        """Return the regions, from coarse to fine."""
        return tuple(config.swap.get("regions", ()))

    @classmethod
    def renamed(cls, said: Mapping[str, Any], names: Callable[[str], Sequence[str]]) -> dict[str, Any]:
        """Return how records are swapped whose regions, and what is compared, are called otherwise."""
        listed = (list, tuple)
        return {
            name: tuple(one for each in how for one in names(each)) if isinstance(how, listed) else how
            for name, how in said.items()
        }

    @property
    def changed(self) -> tuple[str, ...]:
        """The regions."""
        return self.fields

    @property
    def fields(self) -> tuple[str, ...]:
        """The regions, from coarse to fine."""
        return self.settings.regions

    def told(self, *, outcome: bool) -> Iterator[tuple[str, str]]:
        """Say who changed places, who could not, and what an intruder still finds."""
        yield ", ".join(self.fields), self._outcome() if outcome else self._asked()

    def _asked(self) -> str:
        how = self.settings
        moved = "records" if how.household is None else f"households ({how.household})"
        rare = f", rare among fewer than {how.k} by {', '.join(how.keys)}" if how.keys else ""
        return f"{counted(self.pairs, 'pair')} of {moved}{rare}"

    def _outcome(self) -> str:
        told, how = self.figures, self.settings
        units = "record" if how.household is None else "household"
        rare = f"rare among fewer than {how.k} by {', '.join(how.keys)}" if how.keys else "drawn from all"
        pairs = f"{told['targeted']:,} for the risk and {told['at_random']:,} for a rate of {how.rate:g}"
        parts = [f"{units}s {rare}; of {counted(told['units'], units)} {counted(self.pairs, 'pair')}, {pairs}"]
        parts += [
            f"{name}: {level['at_risk']:,} at risk, of which {level['stayed']:,} stayed; of {level['rare']:,} that "
            f"are rare now, {level['rare_at_home']:,} are where the file says"
            for name, level in zip(how.regions, told["levels"], strict=True)
        ]
        if told["without_region"]:
            parts.append(f"{told['without_region']:,} have no region and were not looked at")
        return "; ".join(parts)

    def wide(self, names: Callable[[Iterable[str]], tuple[str, ...]]) -> Iterator[Swapped]:
        """Yield the same swaps of all wide fields."""
        yield replace(self, settings=replace(self.settings, regions=names(self.fields)))

    @property
    def protection(self) -> dict[str, float]:
        """What it says of itself, of levels with several regions: all know who lives in a single one."""
        told = self.figures
        shares = [
            100 * level["rare_at_home"] / level["rare"]
            for level in told["levels"]
            if level["rare"] and level["regions"] > 1
        ]
        moved = {"swap_moved": 100 * 2 * self.pairs / max(1, told["units"])}
        return {**moved, **({"swap_at_home": max(shares)} if shares else {})}

    @classmethod
    def read(cls, plain: Any, place: str) -> Swapped:
        """Read it, with settings that settings of a run can have."""
        try:
            return super(Swapped, cls).read(plain, place)
        except UsageError as error:
            raise ValueError(_UNSAID) from error

    def require_sense(self) -> None:
        """Refuse swaps of no region, and less than no pair."""
        if not self.fields or self.pairs < 0:
            raise ValueError(_UNSAID)

    @classmethod
    def compared(cls, done: Sequence[Swapped], config: Mapping[str, Any], *, nested: bool) -> Pair:
        """Compare all settings; a manifest names the keys that were taken where settings leave them open."""
        made, said = [one.settings for one in done], settings_of(config, "swap")
        if not said:
            return [], made
        parts: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in said.items()}
        asked = SwapSettings(**parts)
        return [asked if asked.keys or not made else replace(asked, keys=made[0].keys)], made
