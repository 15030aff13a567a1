"""The rules beside the records to mask: their forms, which disjuncts each record satisfies, and what judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import FloatColumns
from masktron.classify import Edit
from masktron.classify.forms import form_of, satisfied
from masktron.constraints import Form, InDomain
from masktron.evaluation.domains import domain_values
from masktron.evaluation.exact import BatchEvaluator, EngineChoice
from masktron.evaluation.programs import Original
from masktron.masking.file_values import FileValues
from masktron.plan import Block, Plan
from masktron.rulebook.schema import Rulebook


@dataclass(frozen=True, slots=True, eq=False)
class RecordRules:
    """What the rules ask of the records to mask.

    Attributes
    ----------
    file : FileValues
    rulebook : Rulebook
    edits : mapping of int to Edit
        By the index of the check.
    over_file : tuple of int
        Rules over several records that read a masked field.
    domains : mapping of InDomain to frozenset of str
        Texts that the original holds where a rule asks for a value of it.
    original : Path
        What ``document()`` in the rules means; numbers outside the records are read from it.
    """

    file: FileValues
    rulebook: Rulebook
    edits: Mapping[int, Edit]
    over_file: tuple[int, ...]
    domains: Mapping[InDomain, frozenset[str]]
    original: Path
    _document: Original
    _satisfied: dict[Form, NDArray[np.bool_]] = field(default_factory=dict, init=False, repr=False)
    _engines: dict[EngineChoice, BatchEvaluator] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls, file: FileValues, plan: Plan, edits: Sequence[Edit], rulebook: Rulebook, original: Path
    ) -> RecordRules:
        """Collect what the rules ask."""
        return cls(
            file=file,
            rulebook=rulebook,
            edits={edit.check.index: edit for edit in edits},
            over_file=tuple(index for index, _ in plan.over_file),
            domains=domain_values([form_of(edit.constraint) for edit in edits], rulebook, original),
            original=original,
            _document=Original(original, known=True),  # the records were read from it
        )

    def part(self, records: NDArray[np.intp], fields: frozenset[str] | None = None) -> RecordRules:
        """Return the same for some of the records, in ascending order, and some of their fields; all by default."""
        return replace(self, file=self.file.part(records, fields))

    def forms(self, block: Block) -> list[Form]:
        """Return the forms of the rules of a block."""
        return [form_of(self.edits[check].constraint) for check in block.checks]

    def engine(self, checks: tuple[int, ...], choice: EngineChoice) -> BatchEvaluator:
        """Return what judges some checks; kept until others are asked for, as all candidates of a block need it."""
        if any(engine.checks != frozenset(checks) for engine in self._engines.values()):
            self._engines.clear()
        if choice not in self._engines:
            self._engines[choice] = BatchEvaluator(
                self.rulebook, self.file.layout, checks=checks, original=self._document, engine=choice
            )
        return self._engines[choice]

    def satisfied_by(self, form: Form) -> NDArray[np.bool_]:
        """Which disjuncts each record satisfies, shape (n, disjuncts); found once, for groups and for prototypes."""
        if form not in self._satisfied:
            file = self.file
            self._satisfied[form] = held_disjuncts(form, file.n, file.seen, file.texts, self.domains)
        return self._satisfied[form]


def held_disjuncts(
    form: Form,
    count: int,
    numbers: FloatColumns,
    texts: Mapping[str, NDArray[np.object_]],
    domains: Mapping[InDomain, frozenset[str]],
) -> NDArray[np.bool_]:
    """Tell which disjuncts of a form some records satisfy, given their fields; shape (count, disjuncts)."""
    holding = np.ones((count, len(form)), dtype=np.bool_)
    for position, conjunction in enumerate(form):
        for atom in conjunction:
            holding[:, position] &= satisfied(atom, numbers, texts, domains=domains)
    return holding
