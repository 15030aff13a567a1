"""Masking methods, one module each: what they need, promise and preserve, and what they do to arrays."""

from __future__ import annotations

from masktron.errors import UsageError
from masktron.methods.base import Method
from masktron.methods.cart import Cart
from masktron.methods.hierarchical import Hierarchical
from masktron.methods.mdav import Mdav
from masktron.methods.sequential import Sequential

ALL: tuple[type[Method], ...] = (
    Mdav,
    Sequential,
    Cart,
    Hierarchical,
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
