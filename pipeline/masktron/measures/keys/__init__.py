"""The risk of what is known to others: keys (quasi-identifiers), and what they tell of a record.

Begin with `combinations`: how many records share a combination of keys. `individual_risk` and `log_linear` say from
that how likely a record is found, `suda` which few values do it; `diversity` what whoever
finds the group of a record learns of its confidential values; `key_loss` what it costs to treat keys. Columns are
codes: integers from 0, -1 where missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.measures.keys.combinations import key_frequencies
from masktron.measures.keys.diversity import l_diversity
from masktron.measures.keys.individual_risk import (
    global_risk,
    household_risk,
    individual_risk,
    population_uniques,
)
from masktron.measures.keys.key_loss import key_loss
from masktron.measures.keys.log_linear import log_linear_risk
from masktron.measures.keys.read_off import read_off
from masktron.measures.keys.suda import suda

ALL: tuple[Callable[..., Any], ...] = (
    key_frequencies,
    individual_risk,
    household_risk,
    global_risk,
    population_uniques,
    log_linear_risk,
    suda,
    l_diversity,
    key_loss,
    read_off,
)
"""Every measure of keys."""

__all__ = [
    "ALL",
    "global_risk",
    "household_risk",
    "individual_risk",
    "key_frequencies",
    "key_loss",
    "l_diversity",
    "log_linear_risk",
    "population_uniques",
    "read_off",
    "suda",
]
