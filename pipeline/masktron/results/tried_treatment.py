"""What a candidate of `tune` does to keys before other fields are masked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from masktron.perturbation_settings import short_pram
from masktron.problems.problem import Field, Note
from masktron.problems.wording import sentence
from masktron.recoding_settings import short_how


@dataclass(frozen=True, slots=True)
class KeyTreatment:
    """Treatments of keys, as settings say them.

    Attributes
    ----------
    recode : mapping of str to str
        How keys are recoded.
    pram : mapping of str to str
        How values are drawn anew, in the order in which fields are drawn.
    swap : mapping of str to value
        How records exchange regions; nothing is swapped where it is empty. Several names are a tuple.
    key_k : int or None
        Records that share each combination of keys, by local suppression; None where nothing is suppressed.
    """

    recode: Mapping[str, str] = field(default_factory=dict)
    pram: Mapping[str, str] = field(default_factory=dict)
    swap: Mapping[str, Any] = field(default_factory=dict)
    key_k: int | None = None

    def __post_init__(self) -> None:
        same = {name: tuple(one) if isinstance(one, list) else one for name, one in self.swap.items()}
        object.__setattr__(self, "swap", same)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> KeyTreatment:
        """Build one of the plain data of a candidate; maps of earlier versions lack some of it.

        Raises
        ------
        TypeError
            They are no treatment.
        """
        recode, pram, swap = ({**data.get(name, {})} for name in ("recode", "pram", "swap"))
        regions, rate, key_k = swap.get("regions", []), swap.get("rate", 0.0), data.get("key_k")
        texts = (*recode.values(), *pram.values(), *(regions if isinstance(regions, list | tuple) else [None]))
        if any(not isinstance(text, str) for text in texts) or bool(swap) != bool(regions):
            raise TypeError("how a field is treated is not a text")
        if not isinstance(rate, int | float) or not isinstance(key_k, int | None):
            raise TypeError("how records are treated is not a number")
        return cls(recode, pram, swap, key_k)

    @property
    def is_none(self) -> bool:
        """Whether keys are written as they are."""
        return not self.recode and not self.draws

    @property
    def perturbs(self) -> bool:
        """Whether values are drawn anew or swapped, so that what is written may not be true."""
        return bool(self.pram or self.swap)

    @property
    def draws(self) -> bool:
        """Whether it takes random numbers."""
        return self.perturbs or self.key_k is not None

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is done to each key, and to all of them, in a few words; of a file, its name alone."""
        return (
            *(Note("{key} {how}", key=Field(name), how=short_how(how)) for name, how in self.recode.items()),
            *(Note("pram {keys} {how}", keys=Field(name), how=short_pram(how)) for name, how in self.pram.items()),
            *_swapped(self.swap),
            *([] if self.key_k is None else [Note("key k = {k}", k=self.key_k)]),
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """The same as texts."""
        return tuple(map(sentence, self.notes))

    @property
    def short_texts(self) -> tuple[str, ...]:
        """The same with what is long at the end, where it may be cut."""
        own = [] if self.key_k is None else [f"key k = {self.key_k}"]
        return (*own, *(text for text in self.texts if text not in own))


def _swapped(swap: Mapping[str, Any]) -> list[Note]:
    if not swap:
        return []
    regions = Field("+".join(swap["regions"]))
    return [Note("swap {regions} rate {rate:g}", regions=regions, rate=swap.get("rate", 0.0))]
