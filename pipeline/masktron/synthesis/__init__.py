"""Drawn values for records: arrays in, arrays out, no rule known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from masktron.synthesis.clusters import joined
from masktron.synthesis.em import expect
from masktron.synthesis.mixture import fit_mixture
from masktron.synthesis.model_based import synthesise
from masktron.synthesis.starts import starts
from masktron.synthesis.within import draw_normal

ALL: tuple[Callable[..., Any], ...] = (
    joined,
    expect,
    fit_mixture,
    synthesise,
    starts,
    draw_normal,
)  # fmt: skip
"""The entry of every module."""
