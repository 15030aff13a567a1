"""Measures: what masking cost and what risk is left. Arrays in, numbers out.

Begin with `figures`, which computes the figures of `masktron.figures` from two files that `assessed` holds side by
side. Every other module is one measure, and a line in `ALL`; `base` refuses files that cannot be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.measures.achieved_k import achieved_k
from masktron.measures.category_shares import category_shares
from masktron.measures.classes import biases, class_chi_square
from masktron.measures.combining import combine
from masktron.measures.correlation_change import correlation_change
from masktron.measures.differencing import differencing
from masktron.measures.dominance import p_percent
from masktron.measures.eta_squared import eta_squared
from masktron.measures.homogeneity import homogeneity
from masktron.measures.il1s import il1s
from masktron.measures.information_loss import information_loss
from masktron.measures.interval_disclosure import by_deviation, by_ranks
from masktron.measures.joined_bins import joined_bins
from masktron.measures.joint_sums import determined_by_sums
from masktron.measures.kept_variation import kept_variation
from masktron.measures.linkage import linkage
from masktron.measures.linkage_variants import by_groups, by_knowledge, group_linkage, second
from masktron.measures.linkage_within import linkage_within
from masktron.measures.moment_shift import moment_shift
from masktron.measures.pil import pil
from masktron.measures.propensity import pmse, pmse_cart
from masktron.measures.revealed import revealed
from masktron.measures.score import disclosure_risk, score
from masktron.measures.strongest_link import strongest_linkage
from masktron.measures.subdomains import subdomains
from masktron.measures.true_cells import true_cells
from masktron.measures.unchanged import unchanged
from masktron.measures.weighted_totals import weighted_totals

ALL: tuple[Callable[..., Any], ...] = (
    information_loss,
    linkage,
    linkage_within,
    strongest_linkage,
    achieved_k,
    weighted_totals,
    category_shares,
    unchanged,
    revealed,
    by_groups,
    by_knowledge,
    second,
    group_linkage,
    by_ranks,
    by_deviation,
    disclosure_risk,
    score,
    true_cells,
    p_percent,
    il1s,
    moment_shift,
    pil,
    subdomains,
    biases,
    correlation_change,
    eta_squared,
    class_chi_square,
    homogeneity,
    pmse,
    pmse_cart,
    combine,
    joined_bins,
    kept_variation,
    differencing,
    determined_by_sums,
)
"""Every measure."""

__all__ = [
    "ALL",
    "achieved_k",
    "biases",
    "category_shares",
    "class_chi_square",
    "combine",
    "correlation_change",
    "determined_by_sums",
    "differencing",
    "disclosure_risk",
    "eta_squared",
    "group_linkage",
    "homogeneity",
    "il1s",
    "information_loss",
    "linkage",
    "moment_shift",
    "pil",
    "pmse",
    "pmse_cart",
    "revealed",
    "score",
    "strongest_linkage",
    "subdomains",
    "true_cells",
    "unchanged",
    "weighted_totals",
]
