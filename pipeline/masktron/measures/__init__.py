"""Measures: what masking cost and what risk is left. Arrays in, numbers out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.measures.achieved_k import achieved_k
from masktron.measures.category_shares import category_shares
from masktron.measures.information_loss import information_loss
from masktron.measures.linkage import linkage
from masktron.measures.propensity import pmse, pmse_cart
from masktron.measures.unchanged import unchanged
from masktron.measures.weighted_totals import weighted_totals

ALL: tuple[Callable[..., Any], ...] = (
    information_loss,
    linkage,
    achieved_k,
    weighted_totals,
    category_shares,
    unchanged,
    pmse,
    pmse_cart,
)
"""Every measure, one for each module."""

__all__ = [
    "ALL",
    "achieved_k",
    "category_shares",
    "information_loss",
    "linkage",
    "pmse",
    "pmse_cart",
    "unchanged",
    "weighted_totals",
]
