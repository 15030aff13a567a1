"""What single findings tell together: by field, by region of the file, by record. Confidential."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from masktron.report.pages.plain_reader import PlainData

_EXAMPLES = 3
"""Findings of each rule that a page shows."""
_WORST = 20
"""Records that a page shows as the worst."""


@dataclass(frozen=True, slots=True)
class FindingExample:
    """One finding in the words of a page; record and line from 1, the record empty outside all records."""

    rule: str
    severity: str
    record: str
    record_id: str
    line: str
    values: str
    message: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class WorstRecord:
    """A record that breaks several rules."""

    record: int
    record_id: str
    rules: tuple[str, ...]


@dataclass(slots=True)
class FindingsSummary:
    """Findings taken one by one, and what they tell together.

    Attributes
    ----------
    fields : Counter of str
        Findings by field that their rule reads.
    records : mapping of str to array
        Positions (from 0) of the failing records, by rule.
    examples : list of FindingExample
        The first ones of each rule.
    truncated : bool
        Whether some findings were not listed, so that only the first ones of each rule count.
    """

    fields: Counter[str] = field(default_factory=Counter)
    records: dict[str, array[int]] = field(default_factory=dict)
    examples: list[FindingExample] = field(default_factory=list)
    record_ids: dict[int, str] = field(default_factory=dict)
    truncated: bool = False
    _seen: Counter[str] = field(default_factory=Counter)

    def add(self, example: FindingExample, names: Iterable[str]) -> None:
        """Take a finding, and the names of the fields that its rule reads."""
        self.fields.update(names)
        self._seen[example.rule] += 1
        if self._seen[example.rule] <= _EXAMPLES:
            self.examples.append(example)
        if example.record:
            position = int(example.record) - 1
            self.records.setdefault(example.rule, array("q")).append(position)
            if example.record_id:
                self.record_ids[position] = example.record_id

    @classmethod
    def of(cls, findings: Iterable[PlainData], counts: dict[str, int]) -> FindingsSummary:
        """Take the findings of a result as ``--json`` lists them, and how many there are of each rule."""
        found = cls()
        for one in findings:
            values = one.part("values")
            example = FindingExample(
                one.text("rule"),
                one.text("severity"),
                "" if one.optional_count("record") is None else str(one.count("record")),
                one.text("record_id"),
                str(one.count("line")),
                values_told(dict(values.items()), dict(one.part("more").items()) if one.has("more") else {}),
                one.text("message"),
                one.text("member"),
            )
            found.add(example, (name for name, _ in values.items()))
        found.truncated = any(found._seen[rule] < count for rule, count in counts.items())
        return found

    @property
    def failing(self) -> NDArray[np.int64]:
        """Positions of the records that break a rule, each once."""
        return np.unique(self._all) if self.records else np.empty(0, np.int64)

    def by_region(self, records: int, regions: int) -> NDArray[np.int64]:
        """Count failing records by part of the file, shape (regions,); parts are as equal as they can be."""
        edges = np.linspace(0, records, regions + 1)
        counts: NDArray[np.int64] = np.histogram(self.failing, edges)[0]
        return counts

    @property
    def worst(self) -> tuple[WorstRecord, ...]:
        """The records that break the most rules, at least two; in the order of the file where they are as bad."""
        if not self.records:
            return ()
        places, times = np.unique(
            np.concatenate([np.unique(np.frombuffer(own, np.int64)) for own in self.records.values()]),
            return_counts=True,
        )
        order = np.lexsort((places, -times))[:_WORST]
        wanted = [int(places[at]) for at in order if times[at] > 1]
        rules: dict[int, list[str]] = {position: [] for position in wanted}
        for rule, own in self.records.items():
            here = np.frombuffer(own, np.int64)
            for position in np.intersect1d(here, wanted).tolist():
                rules[position].append(rule)
        return tuple(WorstRecord(at + 1, self.record_ids.get(at, ""), tuple(rules[at])) for at in wanted)

    @property
    def _all(self) -> NDArray[np.int64]:
        return np.concatenate([np.frombuffer(own, np.int64) for own in self.records.values()])


def values_told(values: dict[str, object], more: dict[str, object] | None = None) -> str:
    """Return the values of a finding on one line: ``V1 = 5, V7 absent, Age = 40 | 38 (3 more)``."""
    beyond = more or {}
    return ", ".join(
        f"{name} absent"
        if value is None
        else f"{name} = {' | '.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        + (f" ({beyond[name]} more)" if name in beyond else "")
        for name, value in values.items()
    )
