"""What the prototype of a group may look like: its patterns of missing values, targets and categories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from masktron.masking.block.group_aggregates import Aggregates
from masktron.masking.file_values import FileValues
from masktron.masking.record_rules import RecordRules
from masktron.plan import Block
from masktron.settle.candidate_search import MAX_CONTEXTS, PrototypePattern
from masktron.settle.lattice import Lexemes
from masktron.settle.record_texts import RecordTexts


@dataclass(frozen=True, slots=True, eq=False)
class GroupPatterns:
    """The patterns of the groups of one block.

    Attributes
    ----------
    rules : RecordRules
    block : Block
    aggregates : Aggregates
    box : mapping of field name to (float, float)
        Least and largest original number.
    satisfied : sequence of ndarray of bool, shape (n, disjuncts)
        Which disjuncts of each rule of the block the records satisfy.
    """

    rules: RecordRules
    block: Block
    aggregates: Aggregates
    box: Mapping[str, tuple[float, float]]
    satisfied: Sequence[NDArray[np.bool_]]
    _texts: RecordTexts = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_texts", RecordTexts(self.rules.file.columns))

    @classmethod
    def of(cls, rules: RecordRules, block: Block, aggregates: Aggregates) -> GroupPatterns:
        """Collect what the patterns of all groups need."""
        numbers = {name: values for name in block.variables if (values := _known(rules.file, name)).size}
        box = {name: (float(values.min()), float(values.max())) for name, values in numbers.items()}
        satisfied = [rules.satisfied_by(form) for form in rules.forms(block)]
        return cls(rules, block, aggregates, box, satisfied)

    def group(self, group: int, members: NDArray[np.intp]) -> list[PrototypePattern]:
        """Return the patterns of a group, those of most records first, among equals those that come first.

        A pattern with a field of which one record alone has a value would publish this value, since there is nothing
        to average; such patterns come after all others.
        """
        contexts = self._contexts(members)
        missing = self.aggregates.missing[members]
        if (missing == missing[0]).all():
            return [self._pattern(group, members, members, contexts)]
        patterns, first, which = np.unique(missing, axis=0, return_index=True, return_inverse=True)
        weights = self._weights(members)
        single = (missing == 0).sum(axis=0) == 1
        alone = ((patterns == 0) & single).any(axis=1)
        heaviest = np.lexsort((first, -np.bincount(which.ravel(), weights, len(patterns)), alone))
        return [self._pattern(group, members, members[which.ravel() == at], contexts) for at in heaviest.tolist()]

    def _pattern(
        self,
        group: int,
        members: NDArray[np.intp],
        own: NDArray[np.intp],
        contexts: Sequence[Lexemes],
    ) -> PrototypePattern:
        file, names = self.rules.file, self.block.variables
        present = {name: bool(self.aggregates.missing[own[0], at] == 0) for at, name in enumerate(names)}
        numbers = [name for name in names if present[name] and name in file.numeric]
        target = self._aggregate(self.aggregates.targets, group, members, numbers)
        categories = [name for name in names if present[name] and name not in file.numeric]
        return PrototypePattern(
            kept={name: file.columns[name].lexeme(own[0]) for name in names if not present[name]},
            target=target,
            centre=self._aggregate(self.aggregates.centres, group, members, numbers),
            combinations=self._combinations(group, members, categories),
            options={name: self._options(self._donors(group, members, name), name) for name in categories},
            contexts=contexts,
            counts=_Counts(self.block.checks, self.satisfied, own),
            box={name: _widened(self.box[name], target[name]) for name in numbers},
        )

    def _aggregate(
        self, aggregates: NDArray[np.float64], group: int, members: NDArray[np.intp], numbers: Sequence[str]
    ) -> dict[str, float]:
        """The aggregates of a group; where patterns differ, the means of what its records have."""
        at = {name: position for position, name in enumerate(self.block.variables)}
        if not self.aggregates.pooled[group]:
            return {name: float(aggregates[group, at[name]]) for name in numbers}
        return {name: self._mean(members, name) for name in numbers}

    def _donors(self, group: int, members: NDArray[np.intp], name: str) -> NDArray[np.intp]:
        """Records whose categories of a field a group may have."""
        if not self.aggregates.drawn or self.aggregates.middles is None:
            return members
        return self.aggregates.middles[group, [self.block.variables.index(name)]]

    def _mean(self, members: NDArray[np.intp], name: str) -> float:
        values = self.rules.file.values_of(name, members)
        known = ~np.isnan(values)
        return float(np.average(values[known], weights=self._weights(members)[known]))

    def _weights(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """Weights of records, all 1 where theirs are zero."""
        weights = self.rules.file.weights
        return np.ones(len(members)) if weights is None or not weights[members].all() else weights[members]

    def _options(self, members: NDArray[np.intp], name: str) -> dict[str, float]:
        """The categories of a field in the group, the heaviest first; each costs the share of the others."""
        column, weights = self.rules.file.columns[name], self._weights(members)
        total: dict[str, float] = {}
        held = column.holds(members)
        for text, weight in zip(column.lexemes_of(members[held]).tolist(), weights[held].tolist(), strict=True):
            total[text] = total.get(text, 0.0) + weight
        whole = sum(total.values())
        return {text: 1.0 - own / whole for text, own in sorted(total.items(), key=lambda entry: -entry[1])}

    def _combinations(self, group: int, members: NDArray[np.intp], categories: Sequence[str]) -> list[dict[str, str]]:
        """The middles of the categories, then the combinations that records of the group have, the heaviest first."""
        columns = [self.rules.file.columns[name] for name in categories]
        total: dict[tuple[str, ...], float] = {self._middle(group, members, categories): np.inf}
        members = members[:0] if self.aggregates.drawn else members
        weights = self._weights(members)
        for column in columns:
            held = column.holds(members)
            members, weights = members[held], weights[held]
        lexemes = [column.lexemes_of(members).tolist() for column in columns]
        for at, weight in enumerate(weights.tolist()):
            texts = tuple(str(own[at]) for own in lexemes)
            total[texts] = total.get(texts, 0.0) + weight
        ranked = sorted(total.items(), key=lambda entry: -entry[1])
        return [dict(zip(categories, texts, strict=True)) for texts, _ in ranked]

    def _middle(self, group: int, members: NDArray[np.intp], categories: Sequence[str]) -> tuple[str, ...]:
        """The mode or median of each category; where patterns differ, the mode of what is there."""
        if self.aggregates.pooled[group] or self.aggregates.middles is None:
            return tuple(next(iter(self._options(members, name))) for name in categories)
        at = {
            name: int(self.aggregates.middles[group, position]) for position, name in enumerate(self.block.variables)
        }
        return tuple(str(self.rules.file.columns[name].lexeme(at[name])) for name in categories)

    def _contexts(self, members: NDArray[np.intp]) -> list[dict[str, str | None]]:
        names = self.block.conditions
        fields = [self._texts.of(name, members) for name in names]
        seen: dict[tuple[str | None, ...], None] = {}
        for at in range(len(members)):
            seen.setdefault(tuple(lexemes[at] for lexemes in fields))
            if len(seen) == MAX_CONTEXTS:
                break
        return [dict(zip(names, texts, strict=True)) for texts in seen]


class _Counts(Mapping[int, Sequence[int]]):
    """How many of some records satisfy each disjunct of a rule; few rules are ever asked for."""

    def __init__(
        self, checks: Sequence[int], satisfied: Sequence[NDArray[np.bool_]], records: NDArray[np.intp]
    ) -> None:
        self._checks, self._satisfied, self._records = checks, satisfied, records
        self._found: dict[int, list[int]] = {}

    def __getitem__(self, check: int) -> list[int]:
        if check not in self._found:
            try:
                at = self._checks.index(check)
            except ValueError:
                raise KeyError(check) from None
            self._found[check] = self._satisfied[at][self._records].sum(axis=0).tolist()
        return self._found[check]

    def __iter__(self) -> Iterator[int]:
        return iter(self._checks)

    def __len__(self) -> int:
        return len(self._checks)


def _known(file: FileValues, name: str) -> NDArray[np.float64]:
    values = file.values[name]
    return values[~np.isnan(values)] if name in file.numeric else np.empty(0)


def _widened(box: tuple[float, float], target: float) -> tuple[float, float]:
    return min(box[0], target), max(box[1], target)
