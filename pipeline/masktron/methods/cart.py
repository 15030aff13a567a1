"""Sequential trees: every variable is drawn in the leaves of a tree on the ones before it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, override

import numpy as np

from masktron.arrays import Floats
from masktron.contracts import MethodContract, ModelDrawn
from masktron.methods.base import Drawn, GroupedMethod, RecordContext, require_records
from masktron.methods.conditioned import ConditionedMethod, Conditioning
from masktron.methods.parameters import parameter
from masktron.synthesis.cart import draw_trees


class CartMethod(GroupedMethod, ConditionedMethod):
    """Synthetic records from classification and regression trees, one variable after another.

    Parameters
    ----------
    k : int
        Fewest records in a leaf, at least 2.
    order : sequence of int, optional
        Columns to draw first, in this order; the others follow as they stand. Without conditions, the
        first is drawn from its values alone. A total that stands after its parts is computed from them.
    smooth : bool
        Whether numbers are drawn from a kernel density of their leaf, within or near its range. Values that k records
        share stay as they are. Without it each number is a respondent's own, as in the source.
    conditions, nominal, strata : sequence of int
        See `conditioned.ConditionedMethod`. Trees ask about conditions as about variables drawn before.
    random_state : int, RandomState instance or None
        Seed of the estimator.

    Notes
    -----
    Source: Reiter (2005), Using CART to generate partially synthetic, public use microdata. Without `smooth`, an
    intruder who knows a respondent's values looks them up field by field, and so tells who took part: on Census the
    area under the ROC curve is 0.97, and 0.54 with `smooth`. The nearest published record hides it (0.57 and 0.56).
    """

    name: ClassVar[str] = "cart"
    title: ClassVar[str] = "Sequential trees (CART)"
    says: ClassVar[str] = (
        "Draws each variable in the leaves of a tree, of k records or more. The tree asks about the fields that stay "
        "and the variables drawn before."
    )
    when: ClassVar[str] = "Distributions are far from normal, or categories and numbers are drawn together."
    source: ClassVar[str] = "Reiter 2005; Oganian and Domingo-Ferrer 2012, section 4"
    attacker: ClassVar[str] = (
        "Numbers come from a density around values of a leaf. With smooth=false they are respondents' own, and tell "
        "who took part. Whoever knows the fields that stay of a respondent learns what k such records or more have "
        "in common. Somebody with the secret who guesses the trees computes from which record each value comes."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "the distribution of each variable in expectation: its zeros, peaks and range",
        "nearly: how that differs by conditions, as far as leaves tell records apart",
        "linear relations that every record satisfies, to rounding",
        "columns with one value",
    )
    loses: ClassVar[tuple[str, ...]] = (
        "relations within a leaf, and differences between categories of fewer than k records",
        "relations with unmasked fields that are not conditions",
    )
    conditioning: ClassVar[Conditioning] = Conditioning.TREES
    categories: ClassVar[bool] = True

    order: Iterable[int] | None = parameter(
        "Variables to draw first, in this order; the others follow as they stand.", default=None
    )
    smooth: bool = parameter(
        "Draw numbers from a density of the leaf. Without it they are respondents' own values and tell who took "
        "part.",
        default=True,
    )

    @property
    def contract(self) -> MethodContract:
        """All values are drawn from a model."""
        return ModelDrawn()

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Draw records; see `Method.mask`."""
        n, p = values.shape
        require_records(n, self.least(p), self.name)
        order = [] if self.order is None else list(self.order)
        if len(set(order)) < len(order) or not set(order) <= set(range(p)):
            raise self.parameters["order"].error(order, f"different ones of the {p} variables")
        made = draw_trees(
            values,
            generator,
            k=int(self.k),
            nominal=context.kinds.of("nominal"),
            order=order,
            smooth=self.smooth,
            conditions=context.conditions,
        )
        return Drawn(made)
