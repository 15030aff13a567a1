"""Sequential trees: every variable is drawn in the leaves of a tree on the ones before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, override

import numpy as np

from masktron.arrays import Floats
from masktron.errors import UsageError
from masktron.methods.base import Drawn, K, Method, RecordContext, require_records
from masktron.methods.contracts import MethodContract, ModelDrawn
from masktron.methods.parameters import NOMINAL, Parameter, nominal_columns, require_positions
from masktron.synthesis.cart import draw_trees

ORDER = Parameter(
    "order", "fields", "Variables to draw first, in this order; the others follow as they stand.", optional=True
)
SMOOTH = Parameter(
    "smooth", "flag", "Draw numbers from a density of the leaf, so that few are the true value of a respondent."
)
TRUE_VALUES = (
    "cart draws values of the leaves: each number that is not computed from others is the true value of some "
    "respondent; --param smooth=true draws from a density instead"
)


@dataclass(eq=False)
class CartMethod(Method):
    """Fully synthetic records from classification and regression trees, one variable after another.

    Parameters
    ----------
    k : int
        Fewest records in a leaf, at least 2.
    order : sequence of int, optional
        Columns to draw first, in this order; the others follow as they stand. The first is drawn from its values
        alone. A total that stands after its parts is computed from them.
    smooth : bool
        Whether numbers are drawn from a kernel density of their leaf, within its range. Values that k records share
        stay as they are.
    nominal : sequence of int
        Columns of an array that hold codes of categories; the others are numbers. In a file, fields are declared so.
    random_state : int, RandomState instance or None
        Seed of the estimator.

    Notes
    -----
    Source: Reiter (2005), Using CART to generate partially synthetic, public use microdata. Without `smooth` a drawn
    value is somebody's true value; which of his other values go with it is drawn as well.
    """

    name: ClassVar[str] = "cart"
    title: ClassVar[str] = "Sequential trees (CART)"
    says: ClassVar[str] = "Draws each variable in the leaves, of k records or more, of a tree on the ones before it."
    when: ClassVar[str] = "Distributions are far from normal, or categories and numbers are drawn together."
    source: ClassVar[str] = "Reiter 2005; Oganian and Domingo-Ferrer 2012, section 4"
    attacker: ClassVar[str] = (
        "Every value is one that some respondent has, and so published, unless smooth=true; whose it is, is not. "
        "With the key, whoever guesses the trees computes from which record of a leaf each value was taken."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "the distribution of each variable in expectation: its zeros, peaks and range",
        "linear relations that every record satisfies, to rounding",
        "columns with one value",
    )
    parameters: ClassVar[tuple[Parameter, ...]] = (K, ORDER, SMOOTH, NOMINAL)
    categories: ClassVar[bool] = True

    k: int = 5
    order: Iterable[int] | None = None
    smooth: bool = False
    nominal: Sequence[int] = ()
    random_state: Any = None

    @override
    def check(self) -> Self:
        super().check()
        require_positions(self.nominal)
        return self

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
            raise UsageError(f"order must name different ones of the {p} variables, not {order}", hint=ORDER.says)
        kinds = nominal_columns(self.nominal, context.kinds)
        drawn = draw_trees(values, generator, k=int(self.k), nominal=kinds, order=order, smooth=self.smooth)
        return Drawn(drawn, notes=() if self.smooth else (TRUE_VALUES,))
