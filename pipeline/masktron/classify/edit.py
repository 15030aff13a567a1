"""What classification yields for each check."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from masktron.constraints import (
    Constraint,
    CrossRecordEdit,
    DomainEdit,
    GoverningEdit,
    LinearEdit,
    OpaqueEdit,
    ProductEdit,
    ValueEdit,
)
from masktron.problems.problem import Note, Rule, Sentence
from masktron.reading.nodes import Expression, FieldRef, OtherField, OtherNodes, Unknown, walk
from masktron.rulebook.context_paths import SoughtName
from masktron.rulebook.expressions.tree import ANY
from masktron.rulebook.schema import Check


@dataclass(frozen=True, slots=True)
class MissingStep:
    """A name that a rule asks for in records of a level of which none has it.

    Attributes
    ----------
    path : tuple of str
        Names of the levels below the top level, as `masktron.sources.level_tree.Tree` has them.
    name : SoughtName
    """

    path: tuple[str, ...]
    name: SoughtName


type RuleClass = Literal["linear", "product", "values", "governing", "domain", "cross-record", "opaque"]
"""Classes of rules, as users know them."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A check, understood.

    Attributes
    ----------
    check : Check
    pattern : str
        Identifier of its pattern.
    constraint : Constraint
    variables : tuple of str
        Every field that the rule reads: in the test, in predicates of contexts, in contexts of earlier rules, in
        variables. Sorted.
    lints : tuple of Note or str
    asked : tuple of SoughtName
        Names that its test and its context ask for in the file at hand, with their namespaces; those of earlier
        contexts, and rules that read another document, are left out.
    said : str
        In a nested file, what a rule across its levels says in mathematics; empty where the constraint says it.
    fires_on : str
        In a nested file, the quantifiers over the records at which it fires; empty for the units.
    around : tuple of str
        Variables of the constraint that are of records around those.
    missing : tuple of MissingStep
        In a nested file, what its test and its context ask for where it is not.
    """

    check: Check
    pattern: str
    constraint: Constraint
    variables: tuple[str, ...]
    lints: tuple[Sentence, ...]
    asked: tuple[SoughtName, ...] = ()
    said: str = ""
    fires_on: str = ""
    around: tuple[str, ...] = ()
    missing: tuple[MissingStep, ...] = ()

    @property
    def doubts(self) -> tuple[Sentence, ...]:
        """The lints, each with the id of the rule."""
        return tuple(Note("{rule}: {lint}", rule=Rule(self.check.id), lint=lint) for lint in self.lints)

    @property
    def name(self) -> RuleClass:  # noqa: PLR0911 -- one branch per class
        """Name of the class, as users know it."""
        match self.constraint:
            case LinearEdit():
                return "linear"
            case ProductEdit():
                return "product"
            case ValueEdit():
                return "values"
            case GoverningEdit():
                return "governing"
            case DomainEdit():
                return "domain"
            case CrossRecordEdit():
                return "cross-record"
            case OpaqueEdit():
                return "opaque"


def asked_by(expressions: Iterable[Expression]) -> tuple[SoughtName, ...]:
    """Return the names that expressions ask for; none where they read another document, whose names are its own."""
    found: dict[SoughtName, None] = {}
    for expression in expressions:
        for node in walk(expression):
            match node:
                case OtherNodes(document=str()) | Unknown(elsewhere=True):
                    return ()
                case FieldRef(name=name, namespace=space):
                    found[_name(name, space)] = None
                case OtherField(name=name) | OtherNodes(field=str(name)):
                    found[_name(name, ANY)] = None
                case Unknown(asked=names):
                    found |= {_name(name, ANY): None for name in names}
                case _:
                    pass
    return tuple(name for name in found if name.local not in (".", ANY))


def _name(field: str, space: str) -> SoughtName:
    return SoughtName(field.removeprefix("@").rpartition("}")[2], space, field.startswith("@"))


def reading_removed(edits: Iterable[Edit], removed: Collection[str]) -> dict[int, str]:
    """Return the rules that read removed identifiers, by index of the check, with the reason why none is asked.

    Parameters
    ----------
    edits : iterable of Edit
    removed : collection of str
        Fields that the masked file does not have.
    """
    gone = {edit.check.index: sorted({*removed}.intersection(edit.variables)) for edit in edits}
    return {index: f"reads the removed identifier {', '.join(names)}" for index, names in gone.items() if names}
