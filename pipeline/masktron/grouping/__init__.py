"""Admissible groups: records that share what an aggregator needs to keep the rules, and mixed groups for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.grouping.alike import group_alike
from masktron.grouping.company import nearest_company
from masktron.grouping.disjuncts import Disjuncts
from masktron.grouping.exchange import exchange_records
from masktron.grouping.fitting import Fitting
from masktron.grouping.members import Members
from masktron.grouping.mixed import Groups
from masktron.grouping.records import group_records

ALL: tuple[Callable[..., Any], ...] = (
    Members, Disjuncts, nearest_company, exchange_records, group_alike, Fitting, Groups, group_records,
)  # fmt: skip
"""The entry of every module."""
