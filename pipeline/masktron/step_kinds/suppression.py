"""Local suppression: cells of keys are left out until k records share each combination."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from masktron.serialised import Serialised, read_plain, told_by_key
from masktron.step_kinds.base import Treatment, settings_of


@dataclass(frozen=True, slots=True)
class SharedKeys(Serialised):
    """At least k records share each combination of keys as it is written.

    Attributes
    ----------
    k : int
    subsets : int or None
        Size of the subsets of keys of which that is said; None for all keys together.
    missing_matches : bool
        Whether a missing value counts as every value.
    """

    kind: ClassVar[str] = "shared-keys"
    k: int
    subsets: int | None = None
    missing_matches: bool = False

    @property
    def says(self) -> str:
        """The promise in one sentence."""
        keys = "all keys" if self.subsets is None else f"any {self.subsets} keys"
        gaps = "matches every value" if self.missing_matches else "is a value of its own"
        return f"at least {self.k} records share each combination of {keys} as written, where a missing value {gaps}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data: the kind and the parameters."""
        return {"kind": self.kind, **told_by_key(self)}


@dataclass(frozen=True, slots=True)
class Suppressed(Treatment):
    """Keys of which cells were left out.

    Attributes
    ----------
    fields : tuple of str
        The keys.
    also : tuple of str
        Fields that are no keys and may be left out beside one, as rules demand it.
    contract : SharedKeys
        What holds of the keys as they are written.
    cells : mapping of str to (int, int)
        Of each field: cells that were left out, and cells that there were.
    says : str
        What it cost, in one sentence.
    """

    kind = "suppression"
    asked_by = ("key_k", "keys")
    order = "suppress cells of keys"
    outcome = "left out in some records"
    named_as = ""
    broken = "with keys suppressed"
    helps = "suppress fewer cells: recode {fields:and} ([[--recode]]), or leave out [[--key-k]]"
    draws = after_judging = True

    fields: tuple[str, ...]
    also: tuple[str, ...]
    contract: SharedKeys
    cells: Mapping[str, tuple[int, int]] = MappingProxyType({})
    says: str = ""

    @classmethod
    def fields_of(cls, config: Any) -> tuple[str, ...]:
        """Return the keys that settings name; where they name none, others are seen when it is taken."""
        return tuple(dict.fromkeys((*config.quasi_identifiers, *_with_role(config.roles, "quasi-identifier"))))

    @property
    def changed(self) -> tuple[str, ...]:
        """The keys, and what rules tie to them."""
        return (*self.fields, *self.also)

    def told(self, *, outcome: bool) -> Iterator[tuple[str, str]]:
        """Say how many cells of each field were left out."""
        if not outcome:
            yield ", ".join(self.changed), f"k = {self.contract.k}"
            return
        for name, (gone, there) in self.cells.items():
            share = f"{100 * gone / max(there, 1):.2g} %"
            demanded = ", as rules demand" if name in self.also else ""
            yield name, f"k = {self.contract.k}: {gone:,} of {there:,} cells ({share}){demanded}"

    def wide(self, names: Callable[[Iterable[str]], tuple[str, ...]]) -> Iterator[Suppressed]:
        """Yield what was suppressed in the record at each position, with the fields of the records around it."""
        places = {
            name: [(wide.removesuffix(name.rpartition("/")[2]), wide) for wide in names([name])]
            for name in self.changed
        }
        known = dict.fromkeys(place for own in places.values() for place, _ in own)
        for place in known:
            if any(other != place and other.startswith(place) for other in known):
                continue

            def here(fields: Iterable[str], place: str = place) -> tuple[str, ...]:
                return tuple(wide for name in fields for around, wide in places[name] if place.startswith(around))

            yield replace(self, fields=here(self.fields), also=here(self.also))

    def on_level(self, level: str) -> Suppressed:
        """Say of which records it speaks."""
        return replace(self, says=f"of {level}, {self.says}")

    @classmethod
    def read(cls, plain: Any, place: str) -> Suppressed:
        """Read it, with a promise that this version knows."""
        if read_plain(Mapping[str, Any], plain.get("contract"), f"{place}.contract").get("kind") != SharedKeys.kind:
            raise ValueError("what holds of suppressed keys is of no kind that this version knows")
        return super(Suppressed, cls).read(plain, place)

    def require_sense(self) -> None:
        """Refuse a promise of nothing, and cells of other fields than the keys."""
        contract, counts = self.contract, [*self.cells.values()]
        if contract.k < 1 or (contract.subsets is not None and contract.subsets < 1):
            raise ValueError("k or the size of subsets of keys is out of range")
        if not self.fields:
            raise ValueError("keys were suppressed, and none is named")
        if any(len(one) != 2 or min(one) < 0 for one in counts) or not {*self.cells} <= {*self.fields, *self.also}:
            raise ValueError("numbers of suppressed cells are not those of the keys")

    @classmethod
    def compared(
        cls, done: Sequence[Suppressed], config: Mapping[str, Any], *, nested: bool
    ) -> tuple[object, object]:
        """Compare what is promised; of nested files the same of each level, of the keys of all levels."""
        named = _named_keys(config)
        all_of_them = [{name for one in done for name in one.fields}] if nested and done else []
        for keys in all_of_them or [{*one.fields} for one in done]:
            if left_out := sorted(named - keys):
                raise ValueError(
                    f"its 'treatments' do not have {left_out[0]}, a quasi-identifier of its 'config', among the keys "
                    "that k records share"
                )
        shared = [one.contract for one in done]
        said, k = settings_of(config, "keys"), config.get("key_k")
        asked = [] if k is None else [SharedKeys(k, said.get("subsets"), said.get("missing_matches", False))]
        return asked, list(dict.fromkeys(shared)) if nested else shared


def _with_role(roles: Mapping[str, Any], role: str) -> list[str]:
    return [name for name, one in roles.items() if one == role]


def _named_keys(config: Mapping[str, Any]) -> set[str]:
    """Return the quasi-identifiers that settings name; where they name none, all that is written is one."""
    roles, marked = settings_of(config, "roles"), config.get("quasi_identifiers", [])
    if not isinstance(marked, list):
        raise TypeError("'quasi_identifiers' is not a list")
    return {*marked}.difference(_with_role(roles, "identifier")) | {*_with_role(roles, "quasi-identifier")}
