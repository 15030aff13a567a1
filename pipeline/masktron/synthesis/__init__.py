"""Drawn values for records: arrays in, arrays out, no rule known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ALL: tuple[Callable[..., Any], ...] = ()
"""The entry of every module."""
