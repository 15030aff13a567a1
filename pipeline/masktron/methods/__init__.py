"""Masking methods, one module each: what they need, promise and preserve, and what they do to arrays.

Begin with `base.Method`, the base class; `mdav` is the shortest example. A new method is a module, and a line in
`ALL` or, where its groups share a prototype, in `partitionings.PARTITIONINGS`; `masktron.estimators` has a class for
each. What methods compute is in `masktron.partitions` and `masktron.synthesis`.
"""

from __future__ import annotations

from masktron.errors import UsageError
from masktron.methods.base import Method
from masktron.methods.camp_crest import CampCrestMethod
from masktron.methods.cart import CartMethod
from masktron.methods.hierarchical import HierarchicalMethod
from masktron.methods.hybrid_micro import HybridMicroMethod
from masktron.methods.ipso import IpsoMethod
from masktron.methods.latent_class import LatentClassMethod
from masktron.methods.microhybrid import MicrohybridMethod
from masktron.methods.model_hybrid import ModelHybridMethod
from masktron.methods.muralidhar_sarathy import MuralidharSarathyMethod
from masktron.methods.noise import NoiseMethod
from masktron.methods.partitionings import PARTITIONINGS
from masktron.methods.rank_swapping import RankSwappingMethod
from masktron.methods.sequential import SequentialMethod
from masktron.methods.shuffling import ShufflingMethod
from masktron.problems.problem import Known

ALL: tuple[type[Method], ...] = (
    *PARTITIONINGS,
    CampCrestMethod,
    NoiseMethod,
    IpsoMethod,
    MicrohybridMethod,
    MuralidharSarathyMethod,
    HybridMicroMethod,
    ModelHybridMethod,
    LatentClassMethod,
    SequentialMethod,
    CartMethod,
    HierarchicalMethod,
    RankSwappingMethod,
    ShufflingMethod,
)
"""Every method; the first is the default."""


def method_named(name: str) -> type[Method]:
    """Return the method of a name.

    Raises
    ------
    UsageError
        There is none.
    """
    for method in ALL:
        if method.name == name:
            return method
    raise UsageError.of(
        "unknown-name",
        name=name,
        known=Known(name, tuple(method.name for method in ALL)),
        kind="method",
        more="; `masktron methods` explains each method",
    )
