"""Drawn values for records: arrays in, arrays out, no rule known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.synthesis.microperturbation import microperturb

ALL: tuple[Callable[..., Any], ...] = (microperturb,)
"""The entry of every module."""
