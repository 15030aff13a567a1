"""What a kind of step before masking declares of itself, once for all who have to know it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from masktron.serialised import read_plain, told_by_key

type Pair = tuple[object, object]
"""What was asked for, and what was done."""


class Treatment(ABC):
    """What one step did, as a manifest says it; a class of it is a kind of step.

    Attributes
    ----------
    kind : str
        As manifests and results call it.
    asked_by : tuple of str
        Settings: the first asks for the step, others say how, and the last is named where a manifest differs.
    order : str
        What the step does, before the names of fields: "swap".
    outcome : str
        What became of a field: "exchanged between records".
    named_as : str
        What becomes of the fields that the setting names, which are keys by that; empty where it names none.
    broken : str
        How rules may have been broken; empty where the step asks all of them.
    helps : str
        What keeps such rules, with the fields as ``{fields}``.
    draws : bool
        Whether it takes random numbers.
    of_keys : bool
        Whether keys are written otherwise than they were, on any level; else weights, and of flat files alone.
    asks_rules : bool
        Whether it asks the rules that look at one record.
    untrue : bool
        Whether a record may be written with a value that is not its own.
    computed : bool
        Whether what it leaves follows from the original alone.
    after_judging : bool
        Whether it has to see whether the rules hold of what earlier steps leave.
    """

    __slots__ = ()
    kind: ClassVar[str]
    asked_by: ClassVar[tuple[str, ...]]
    order: ClassVar[str]
    outcome: ClassVar[str]
    named_as: ClassVar[str]
    broken: ClassVar[str]
    helps: ClassVar[str]
    draws: ClassVar[bool] = False
    of_keys: ClassVar[bool] = True
    asks_rules: ClassVar[bool] = True
    untrue: ClassVar[bool] = False
    computed: ClassVar[bool] = False
    after_judging: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if forgotten := [name for name in Treatment.__annotations__ if not hasattr(cls, name)]:
            raise TypeError(f"{cls.__name__} does not declare {', '.join(forgotten)}")

    # what settings ask for

    @classmethod
    def asked(cls, config: Any) -> bool:
        """Tell whether settings, a `Config`, ask for such a step."""
        return bool(getattr(config, cls.asked_by[0]))

    @classmethod
    @abstractmethod
    def fields_of(cls, config: Any) -> tuple[str, ...]:
        """Return the fields that it may change, as far as settings that ask for it name them."""

    @classmethod
    def renamed(cls, said: Any, names: Callable[[str], Sequence[str]]) -> Any:
        """Return its first setting with each field called otherwise, or in several fields."""
        return said

    # what was done

    @property
    @abstractmethod
    def changed(self) -> tuple[str, ...]:
        """The fields that it may have changed."""

    @abstractmethod
    def told(self, *, outcome: bool) -> Iterator[tuple[str, str]]:
        """Yield fields and what was done to them, without a value; as it was asked for, or with what came of it."""

    @abstractmethod
    def wide(self, names: Callable[[Iterable[str]], tuple[str, ...]]) -> Iterator[Treatment]:
        """Yield what it comes to in wide records, given what fields of levels are called there."""

    def on_level(self, level: str) -> Self:
        """Return what was done to the records of a level, which its words have to name."""
        return self

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields from which what it leaves can be computed."""
        return self.changed

    @property
    def protection(self) -> dict[str, float]:
        """What was protected, by the names of `masktron.results.tune.PROTECTION`."""
        return {}

    # as a manifest has it

    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `read` builds it again, with no other file; parts of ``settings`` by themselves."""
        found = {"kind": self.kind}
        for name, value in told_by_key(self, exact=True).items():
            found |= value if name == "settings" else {name: value}
        return found

    @classmethod
    def read(cls, plain: Any, place: str) -> Self:
        """Read what a manifest says, without the figures of what came of it.

        Raises
        ------
        ValueError
            Something is missing, of the wrong type, or nonsense.
        """
        found: Self = read_plain(cls, {**plain, "settings": plain, "figures": {}, "says": ""}, place)
        found.require_sense()
        return found

    @abstractmethod
    def require_sense(self) -> None:
        """Refuse what no run can have done.

        Raises
        ------
        ValueError
        """

    @classmethod
    @abstractmethod
    def compared(cls, done: Sequence[Self], config: Mapping[str, Any], *, nested: bool) -> Pair:
        """Return what the settings of a manifest ask for and what was done, which are equal unless one is forged.

        Raises
        ------
        ValueError
            Settings are nonsense.
        """


def settings_of(config: Mapping[str, Any], name: str, kind: Any = Any) -> Mapping[str, Any]:
    """Return a table of the settings of a manifest; former versions lack some."""
    found: Mapping[str, Any] = read_plain(Mapping[str, kind], config.get(name, {}), f"config.{name}")
    return found
