"""What fields and rules of lowered records are called in the nested file that these were made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from masktron.problems.problem import Field, Note, Problem, Rule, Sentence
from masktron.problems.wording import sentence


@dataclass(frozen=True, slots=True)
class LevelName:
    """What a field or rule of lowered records is called.

    Attributes
    ----------
    level : str
        The name that it has by its level, the same one at all positions.
    single : str
        What it is called where it stands alone.
    """

    level: str
    single: str


@dataclass(frozen=True, slots=True)
class LevelNames:
    """The names of the fields and rules of a file by level; those of flat files are called as they are.

    Attributes
    ----------
    known : mapping of str to LevelName
        Of fields and rules that have other names in lowered records.
    """

    known: Mapping[str, LevelName] = field(default_factory=dict)

    def name(self, name: str) -> str:
        """Return the name that a field or rule has by its level."""
        return self.known[name].level if name in self.known else name

    def names(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names that fields or rules have by their levels, once each."""
        return tuple(dict.fromkeys(map(self.name, names)))

    def called[T: (Field, Rule)](self, one: T) -> T:
        """Return a field or rule of a problem with the names that it has by its level."""
        known = self.known.get(one.name)
        return one if known is None else type(one)(known.level, known.single)

    def field(self, name: str) -> Field:
        """Return a field for a sentence."""
        return self.called(Field(name))

    def shown(self, names: str) -> str:
        """Return what a result calls a field or rule, or several with commas between: one alone by its position."""
        several = names.split(", ")
        if self.known.keys().isdisjoint(several):
            return names
        return sentence(Note("{names}", names=tuple(map(self.field, several))))

    def sentence(self, one: Sentence) -> Sentence:
        """Return a sentence that names fields and rules by level."""
        return one.renamed(self.called) if isinstance(one, Problem) else one

    def by_level[T](self, rows: Iterable[T], name: Callable[[T], str] = str) -> dict[str, list[T]]:
        """Return rows by the names that their fields have by level, in their order."""
        found: dict[str, list[T]] = {}
        for row in rows:
            found.setdefault(self.name(name(row)), []).append(row)
        return found


AS_THEY_ARE = LevelNames()
"""Those of a flat file."""
