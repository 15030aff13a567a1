"""What becomes of each rule of a rulebook when fields are recoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from masktron.rulebook.schema import Rulebook
from masktron.translation.translated_schematron import TranslatedCheck, schematron_of

type Fate = Literal["kept", "exact", "implied", "weakened", "vacuous", "removed", "lost"]


@dataclass(frozen=True, slots=True)
class TranslatedRule:
    """One check and what became of it.

    Attributes
    ----------
    id : str
        That of the check, before and after.
    index : int
        Position of the check in the rulebook that was translated, from 0.
    fate : {"kept", "exact", "implied", "weakened", "vacuous", "removed", "lost"}
        ``kept``: it reads no recoded field and stays as it is written. ``exact``: all values of a class agree on it,
        so that nothing is lost. ``implied``: every value of each class obeys it, and a record without a value does;
        it is not asked any more. ``weakened``: it asks whether values of the classes could obey the old rule.
        ``vacuous``: in each class some value obeys it, whatever the other fields, so that it asks nothing any more of
        any class; at most what has none is asked. ``removed``: it reads a field that the file does
        not have any more, and is not asked. ``lost``: it cannot be translated.
    old, new : str
        The rule before and after, in mathematics, or as written where it has no form; ``new`` is empty where the
        rule is not asked any more.
    test : str
        The XPath of the new rule; empty where it is not asked any more.
    context : str
        The nodes on which it is asked; empty where it is not asked any more.
    reason : str
        Why it is lost or removed, with which other rules it is asked since they say more together, or that it asks
        nothing any more; else empty.
    fields : tuple of str
        The recoded fields that it reads, sorted.
    focus : str
        Where it was asked on nodes below the record and is asked on the record now: the path to them.
    """

    id: str
    index: int
    fate: Fate
    old: str
    new: str
    test: str
    context: str
    reason: str = ""
    fields: tuple[str, ...] = ()
    focus: str = ""

    @property
    def changed(self) -> bool:
        """Whether it is not as it was."""
        return self.fate != "kept"


@dataclass(frozen=True, slots=True)
class Translation:
    """A rulebook for the recoded file.

    Attributes
    ----------
    rulebook : Rulebook
        The rulebook that was translated.
    rules : tuple of TranslatedRule
        One for each check, by index.
    left_out : frozenset of (int, int)
        Rules whose context reads recoded fields, each as the positions of its pattern and of itself there. No check
        that is kept is asked on a node that such a rule could take: it would read the fields as well.
    let_go : frozenset of str
        Ids of rules that records may break: the translated rulebook asks them softly.
    """

    rulebook: Rulebook = field(repr=False)
    rules: tuple[TranslatedRule, ...]
    left_out: frozenset[tuple[int, int]] = frozenset()
    let_go: frozenset[str] = frozenset()

    @property
    def lost(self) -> tuple[TranslatedRule, ...]:
        """The rules that cannot be translated."""
        return tuple(rule for rule in self.rules if rule.fate == "lost")

    @property
    def asked(self) -> tuple[TranslatedRule, ...]:
        """The rules that the translated rulebook asks."""
        return tuple(rule for rule in self.rules if rule.test)

    def schematron(self, title: str, named: Mapping[str, Mapping[str, str]] = MappingProxyType({})) -> bytes:
        """Return the translated rulebook, in UTF-8.

        Patterns, variables and rules that no recoded field concerns are as they were. Each translated check has a
        pattern of its own, whose context is the record, with a comment that says its fate and the old rule. Rules
        that are not asked any more are named in comments. A hard rule that was let go has the role of a
        warning, with a comment, since whoever gets file and rulebook would find the file broken otherwise. What a
        phase left out is left out. Where no rule is left, one stands there that every document obeys, since
        Schematron has no rulebook without a rule.

        Parameters
        ----------
        title : str
        named : mapping of str to mapping of str to str
            By field, what classes are called of which numbers stand in the file: a comment says it.
        """
        written: Mapping[int, TranslatedCheck] = {
            rule.index: TranslatedCheck(rule.fate, rule.old, rule.test, rule.context, rule.reason, rule.focus)
            for rule in self.rules
            if rule.changed
        }
        return schematron_of(self.rulebook, written, self.left_out, title, named, self.let_go)
