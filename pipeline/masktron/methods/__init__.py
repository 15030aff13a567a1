"""Masking methods, one module each: what they need, promise and preserve, and what they do to arrays."""

from __future__ import annotations

from masktron.config import did_you_mean
from masktron.errors import UsageError
from masktron.methods.base import Method
from masktron.methods.camp_crest import CampCrest
from masktron.methods.cart import Cart
from masktron.methods.crest import Crest
from masktron.methods.fuzzy import Fuzzy
from masktron.methods.hierarchical import Hierarchical
from masktron.methods.hybrid_micro import HybridMicro
from masktron.methods.ipso import Ipso
from masktron.methods.latent_class import LatentClass
from masktron.methods.mdav import Mdav
from masktron.methods.mdav_generic import MdavGeneric
from masktron.methods.microhybrid import Microhybrid
from masktron.methods.model_hybrid import ModelHybrid
from masktron.methods.mst import Mst
from masktron.methods.mu_approx import MuApprox
from masktron.methods.muralidhar_sarathy import MuralidharSarathy
from masktron.methods.noise import Noise
from masktron.methods.sequential import Sequential
from masktron.methods.t_closeness import TCloseness
from masktron.methods.univariate import Univariate

ALL: tuple[type[Method], ...] = (
    Mdav,
    MdavGeneric,
    Univariate,
    MuApprox,
    Mst,
    TCloseness,
    Crest,
    Fuzzy,
    CampCrest,
    Noise,
    Ipso,
    Microhybrid,
    MuralidharSarathy,
    HybridMicro,
    ModelHybrid,
    LatentClass,
    Sequential,
    Cart,
    Hierarchical,
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
    hint = did_you_mean(name, [method.name for method in ALL])
    raise UsageError(f"there is no method {name!r}", hint=f"`masktron methods` explains all; {hint}")
