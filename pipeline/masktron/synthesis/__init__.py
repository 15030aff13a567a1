"""Drawn values for records: arrays in, arrays out, no rule known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.synthesis.moments import exact_normal

ALL: tuple[Callable[..., Any], ...] = (
    exact_normal,
)  # fmt: skip
"""The entry of every module."""
