"""Opaque edits: evaluated exactly, but not understood."""

from __future__ import annotations

from collections.abc import Sequence

from masktron.constraints import OpaqueEdit


def opaque_edit(reasons: Sequence[str], variables: tuple[str, ...]) -> OpaqueEdit:
    """Say why a rule has no normal form."""
    return OpaqueEdit("; ".join(dict.fromkeys(reasons)) or "it has no normal form", variables)
