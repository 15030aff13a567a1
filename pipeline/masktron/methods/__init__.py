"""Masking methods, one module each: what they need, promise and preserve, and what they do to arrays."""

from __future__ import annotations

from masktron.errors import UsageError
from masktron.methods.base import Method
from masktron.methods.hybrid_micro import HybridMicro
from masktron.methods.latent_class import LatentClass
from masktron.methods.mdav import Mdav
from masktron.methods.model_hybrid import ModelHybrid

ALL: tuple[type[Method], ...] = (
    Mdav,
    HybridMicro,
    ModelHybrid,
    LatentClass,
)  # fmt: skip
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
    raise UsageError(
        f"there is no method {name!r}", hint=f"one of {', '.join(one.name for one in ALL)}; see `masktron methods`"
    )
