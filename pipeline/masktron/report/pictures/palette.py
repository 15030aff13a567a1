"""Colours of pictures and pages: calm, and told apart by those who see red and green alike."""

from __future__ import annotations

from types import MappingProxyType

INK = "#1d2733"
MUTED = "#55616e"
LINE = "#d3dae1"
PAPER = "#fefefe"
BEFORE = "#8a98a7"
AFTER = "#1a6e93"
WARN = "#b4470f"
SOFT = "#c9a227"

VARIABLES = MappingProxyType(
    {
        INK: "--ink",
        MUTED: "--muted",
        LINE: "--line",
        PAPER: "--paper",
        BEFORE: "--before",
        AFTER: "--after",
        WARN: "--warn",
        SOFT: "--soft",
    }
)
"""The variable of the style sheet that stands for each colour on a page, by the colour on white paper."""
