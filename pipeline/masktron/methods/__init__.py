"""Masking methods: which records form a group, and in which space they are near."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.methods.alike import group_alike
from masktron.methods.company import nearest_company
from masktron.methods.disjuncts import Disjuncts
from masktron.methods.encode import encode_nominal
from masktron.methods.exchange import exchange_records
from masktron.methods.fitting import Fitting
from masktron.methods.grouping import group_records
from masktron.methods.kdcut import kd_cut
from masktron.methods.mdav import partition
from masktron.methods.members import Members
from masktron.methods.mixed import Groups
from masktron.methods.partitioner import Partitioner
from masktron.methods.univariate import optimal_univariate

ALL: tuple[Callable[..., Any], ...] = (
    partition, Members, encode_nominal, Disjuncts, nearest_company, exchange_records, group_alike, Fitting, Groups,
    group_records, optimal_univariate, kd_cut, Partitioner,
)  # fmt: skip
"""The entry of every module."""
