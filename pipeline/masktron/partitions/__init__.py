"""Partitions of points into groups of at least k: arrays in, labels out, no rule known.

Begin with `partitioner`, which cuts a file into parts and partitions each; a module beside it is one way to form
groups, and `cutting` is what those through trees share. Loops over records are in `masktron.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.partitions.centroid import agglomerate
from masktron.partitions.column_kinds import Kinds
from masktron.partitions.crest import crest
from masktron.partitions.cutting import cut_longest
from masktron.partitions.encode import encode_nominal
from masktron.partitions.fuzzy import cluster
from masktron.partitions.generic import partition_generic
from masktron.partitions.kdcut import kd_cut
from masktron.partitions.kdplanes import KdPlanes
from masktron.partitions.mdav import partition
from masktron.partitions.mst import tree_partition
from masktron.partitions.mu_approx import approx_partition
from masktron.partitions.partitioner import Partitioner
from masktron.partitions.t_closeness import close_partition
from masktron.partitions.univariate import optimal_univariate

ALL: tuple[Callable[..., Any], ...] = (
    partition,
    encode_nominal,
    optimal_univariate,
    kd_cut,
    KdPlanes,
    Partitioner,
    cut_longest,
    tree_partition,
    close_partition,
    approx_partition,
    partition_generic,
    Kinds,
    agglomerate,
    crest,
    cluster,
)
"""The entry of every module."""
