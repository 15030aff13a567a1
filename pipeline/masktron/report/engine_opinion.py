"""What an engine says of a masked file, in the same words on every surface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def engine_opinion(engine: Mapping[str, Any]) -> str:
    """Return what an engine says of the rules that it judged: that they hold, or not.

    Parameters
    ----------
    engine : mapping
        As `EngineResult.as_dict` gives it; results of earlier versions may not count violations.
    """
    if not engine["agrees"]:
        return "does not agree"
    return "finds the same violations" if engine.get("violations", 0) else "agrees"
