"""Methods that draw given what stays of the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from enum import Enum
from typing import ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.errors import UsageError
from masktron.methods.base import Drawn, RandomMethod, RecordContext, in_parts, rows_of
from masktron.methods.parameters import CONDITIONS, kept_columns, nominal_columns, parameter, require_positions
from masktron.partitions.column_kinds import Kinds
from masktron.synthesis.conditions import LEAST_LEVEL, Conditions
from masktron.synthesis.exchanging import BrokenRules

CELL = 30
"""Records that every cell has at least in which a method draws by itself."""
ROOM = 2
"""Records together have at least that many for each of their variables and for each record of a group: figures of
barely more records than variables would be those of single records."""


class Conditioning(Enum):
    """What a method does with fields that stay as they are."""

    TREES = "trees"
    """It draws in the leaves of trees that ask about them."""
    REGRESSION = "regression"
    """It draws from regressions on them."""
    EXACT = "exact"
    """It does, and keeps the figures of these regressions exactly."""
    NUMBERS = "numbers"
    """It draws given the numbers, within cells of like categories."""
    CELLS = "cells"
    """It draws within cells of records whose fields, like what is drawn, are alike."""


class ConditionedMethod(RandomMethod):
    """A method that draws given what stays.

    Parameters
    ----------
    conditions : sequence of int, optional
        Columns that stay as they are, given which the others are drawn. None in an array by default; in a file, all
        fields that are written as they are but keys and weights.
    nominal : sequence of int
        Columns of an array that hold codes of categories; the others are numbers. In a file, fields are declared so.
    strata : sequence of int
        See `Method`.

    Attributes
    ----------
    conditioning : Conditioning
        What it does with what stays.
    """

    conditioning: ClassVar[Conditioning]

    # in a file, kinds are declared for the file; an array says nothing of its columns
    nominal: Sequence[int] = parameter(
        "Columns with codes of categories; in a file, declare the fields nominal.", default=(), kw_only=True
    )
    # auto is none for arrays, of which nobody says what is published
    conditions: Iterable[int] | None = parameter(
        "Fields that stay as they are, given which the others are drawn; auto for all that are written as they are.",
        default=None,
        stays=True,
        kw_only=True,
    )

    @override
    def check(self) -> Self:
        super().check()
        require_positions(self.nominal)
        return self

    @override
    def _given(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        nominal = nominal_columns(self.nominal, context.kinds)
        # strata have one value each, so that they tell nothing
        named = {*(() if self.conditions is None else self.conditions), *self.strata}
        kept = kept_columns(named, values.shape[1], self.parameters[CONDITIONS])
        if not self.categories and (wrong := np.flatnonzero(nominal & ~kept)).size:
            raise UsageError.of("categories-not-drawn", method=self.name, column=int(wrong[0]))
        conditions = Conditions(values[:, kept], nominal[kept], max(context.k, LEAST_LEVEL))
        own = replace(
            context,
            kinds=Kinds.of_codes(nominal[~kept]),
            known=None if context.known is None else context.known[:, ~kept],
            broken=None if context.broken is None else _of_columns(context.broken, values, ~kept),
            conditions=conditions,
        )
        drawn = self._without(kept).drawn_given(values[:, ~kept], generator, own)
        made = values.copy()
        made[:, ~kept] = drawn.values
        return replace(drawn, values=made)

    def drawn_given(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Draw what does not stay, within cells where the method asks for them."""
        given = context.conditions
        if given is None or not given or self.conditioning not in (Conditioning.NUMBERS, Conditioning.CELLS):
            return self._mask(values, generator, context)
        parting = given if self.conditioning is Conditioning.CELLS else given.chosen(given.nominal)
        rest = replace(context, conditions=None if parting is given else given.chosen(~given.nominal))
        if not parting:
            return self._mask(values, generator, rest)
        labels = parting.cells(values, context.kinds.of("nominal"), self.cell(values.shape[1], context.k), generator)
        cells = rows_of(labels)
        drawn = in_parts(
            cells,
            lambda _, rows: self._mask(values[rows], generator, rest.part(rows)),
            lambda runs: self.told(runs, context.classes),
            "cells",
        )
        said = (
            f"values are drawn in {len(cells)} cells of records with like conditions"
            if len(cells) > 1
            else "conditions explain too little to part records into cells: values are drawn as if there were none"
        )
        return replace(drawn, notes=(said, *drawn.notes))

    def levels(self, conditions: Conditions, variables: int, k: int) -> list[Labels]:
        """Return which categories among the conditions are told apart: the level of each, by column of categories."""
        if self.conditioning in (Conditioning.REGRESSION, Conditioning.EXACT):
            return conditions.regressed()
        trees = self.conditioning is Conditioning.TREES
        return conditions.pooled(int(getattr(self, "k", k)) if trees else self.cell(variables, k))

    def regressors(self, conditions: Conditions) -> int:
        """Return the columns of a regression on conditions, where the method draws from one."""
        if self.conditioning is Conditioning.NUMBERS:
            return int((~conditions.nominal).sum())
        regresses = self.conditioning in (Conditioning.REGRESSION, Conditioning.EXACT)
        return conditions.regressors().shape[1] if regresses else 0

    def cell(self, variables: int, k: int) -> int:
        """Return the fewest records of a cell in which so many variables are drawn, where groups have k."""
        return max(CELL, self.least(variables), ROOM * (variables + 1), ROOM * int(getattr(self, "k", k)))

    def _without(self, kept: NDArray[np.bool_]) -> Self:
        """Return the method for an array without some columns: the positions of others count fewer.

        Raises
        ------
        UsageError
            One of its parameters names such a column.
        """
        if not kept.any():
            return self
        inner, places = copy(self), (np.cumsum(~kept) - 1).tolist()
        columns = range(len(kept))
        for one in self.parameters.values():
            named = getattr(self, one.name)
            if one.kind != "fields" or one.name in ConditionedMethod.parameters or named is None:
                continue
            if both := [at for at in named if at in columns and kept[at]]:
                raise one.error(both[0], "columns that are no conditions")
            setattr(inner, one.name, tuple(places[at] if at in columns else at for at in named))
        return inner


def _of_columns(broken: BrokenRules, values: Floats, drawn: NDArray[np.bool_]) -> BrokenRules:
    """Return what judges the drawn columns alone: the others are as they were."""

    def count(made: Floats, positions: NDArray[np.intp]) -> NDArray[np.intp]:
        whole = values[positions]
        whole[:, drawn] = made
        return broken.count(whole, positions)

    return BrokenRules(broken.read[drawn], count)
