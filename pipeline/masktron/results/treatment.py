"""What was done to fields before they were masked, and what became of the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masktron.serialised import Serialised

if TYPE_CHECKING:
    from masktron.translation import TranslatedRule


@dataclass(frozen=True, slots=True)
class TreatmentResult(Serialised):
    """One treatment, in the order in which they are done.

    Attributes
    ----------
    kind : str
        ``recoding``, for example.
    field : str
    how : str
        In words, without the name of a file.
    """

    kind: str
    field: str
    how: str


@dataclass(frozen=True, slots=True)
class RuleFate(Serialised):
    """What became of a rule that reads recoded or removed fields.

    Attributes
    ----------
    rule : str
        Its id.
    fate : str
        ``exact``, ``implied``, ``weakened``, ``vacuous``, ``removed`` or ``lost``: see docs/recoding.md.
    before, after : str
        The rule in mathematics; empty where it is not asked any more.
    reason : str
        Why it is lost or removed, with which other rules it is asked, or that it asks nothing any more; else empty.
    fields : tuple of str
        The recoded fields that it reads.
    """

    rule: str
    fate: str
    before: str
    after: str
    reason: str
    fields: tuple[str, ...]

    @classmethod
    def of(cls, rule: TranslatedRule) -> RuleFate:
        """Put what became of a rule into a result."""
        return cls(rule.id, rule.fate, rule.old, rule.new, rule.reason, rule.fields)
