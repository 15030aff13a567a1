"""What an audit has found."""

from __future__ import annotations

from dataclasses import dataclass, field

from masktron.problems.problem import Sentence


@dataclass(slots=True)
class Findings:
    """What came out; each text without a value of a record."""

    problems: list[Sentence] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    not_checked: list[Sentence] = field(default_factory=list)
    notes: list[Sentence] = field(default_factory=list)

    def add(self, other: Findings) -> None:
        """Take over what another audit has found."""
        self.problems += other.problems
        self.checked += other.checked
        self.not_checked += other.not_checked
        self.notes += other.notes
