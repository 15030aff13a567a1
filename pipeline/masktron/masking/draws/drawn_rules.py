"""How many rules drawn values break, by the forms: what a method that exchanges values asks before settling.

The answer plans. Engines judge what is written, on the rules' own expressions, whatever it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats
from masktron.classify.forms import variables_of
from masktron.constraints import Form
from masktron.masking.inputs import MaskingInputs
from masktron.masking.record_rules import RecordRules, held_disjuncts
from masktron.plan import Block
from masktron.sources.records import OnDemand
from masktron.synthesis.exchanging import BrokenRules


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRules:
    """The rules of some blocks, for records with drawn numbers in the place of their own.

    Attributes
    ----------
    rules : RecordRules
    fields : tuple of str
        What is drawn, in the order of columns; kept fields among them are as they were.
    forms : tuple of Form
        Of the rules that every original record satisfies in doubles, and that read drawn numbers and no drawn
        category.
    """

    rules: RecordRules
    fields: tuple[str, ...]
    forms: tuple[Form, ...]

    @classmethod
    def of(cls, inputs: MaskingInputs, blocks: Sequence[Block], fields: Sequence[str]) -> Self:
        """Collect the rules of blocks."""
        rules, file = inputs.rules, inputs.file
        drawn = frozenset(fields)
        forms = dict.fromkeys(
            form
            for block in blocks
            for form in rules.forms(block)
            if (read := drawn.intersection(variables_of(form))) and read <= file.numeric
        )
        return cls(rules, tuple(fields), tuple(form for form in forms if rules.satisfied_by(form).any(axis=1).all()))

    def among(self, records: NDArray[np.intp], beside: int = 0) -> BrokenRules | None:
        """Return what judges some of the records by their positions among these; None where no rule does.

        It takes values with some columns beside those of the fields, at which it does not look.
        """
        if not self.forms:
            return None

        def count(values: Floats, positions: NDArray[np.intp]) -> NDArray[np.intp]:
            return self._count(values, records[positions])

        read = {name for form in self.forms for name in variables_of(form)}
        read_at = np.array([*(name in read for name in self.fields), *[False] * beside])
        return BrokenRules(read_at, count)

    def _count(self, values: Floats, records: NDArray[np.intp]) -> NDArray[np.intp]:
        file = self.rules.file
        names = {name for form in self.forms for name in variables_of(form)}
        columns = {name: file.columns[name].taken(records) for name in names}
        numbers = {name: column.as_read() for name, column in columns.items()}
        for at, name in enumerate(self.fields):
            if name in names and name in file.numeric:
                rounded = np.round(values[:, at], file.columns[name].decimals)
                numbers[name] = np.where(columns[name].present, rounded, numbers[name])
        texts = OnDemand.lexemes(columns)
        count = np.zeros(len(records), dtype=np.intp)
        for form in self.forms:
            count += ~held_disjuncts(form, len(records), numbers, texts, self.rules.domains).any(axis=1)
        return count
