"""What somebody has to look at before a masked file is published, a line for each matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from masktron.counts import counted


def concern_lines(concerns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each concern; fields with values below 0 share one, as one rule each helps against all.

    Parameters
    ----------
    concerns : sequence of mapping
        As JSON has them.
    """
    below = [one for one in concerns if one["kind"] == "below-zero"]
    if len(below) > 1:
        fields = ", ".join(f"{one['field']} in {counted(one['records'], 'record')}" for one in below)
        yield (
            f"values below 0, where no original value is: {fields}; where a field cannot be, the rule FIELD >= 0 "
            "keeps it from that, and masktron suggest proposes it"
        )
    for one in concerns:
        if len(below) < 2 or one not in below:
            yield f"{one['says']}; {one['hint']}"
