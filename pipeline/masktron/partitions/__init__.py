"""Partitions of points into groups of at least k: arrays in, labels out, no rule known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.partitions import fuzzy
from masktron.partitions.encode import encode_nominal
from masktron.partitions.kdcut import kd_cut
from masktron.partitions.mdav import partition
from masktron.partitions.partitioner import Partitioner
from masktron.partitions.univariate import optimal_univariate

ALL: tuple[Callable[..., Any], ...] = (
    partition,
    encode_nominal,
    optimal_univariate,
    kd_cut,
    Partitioner,
    fuzzy.partition,
)
"""The entry of every module."""
