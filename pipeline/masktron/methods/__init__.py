"""Masking methods, one module each: what they need, promise and preserve, and what they do to arrays."""

from __future__ import annotations

from masktron.errors import UsageError
from masktron.methods.base import Method
from masktron.methods.fuzzy import Fuzzy
from masktron.methods.mdav import Mdav

ALL: tuple[type[Method], ...] = (
    Mdav,
    Fuzzy,
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
