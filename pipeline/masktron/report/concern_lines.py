"""What somebody has to look at before a masked file is published, a line for each matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from masktron.counts import counted

_SHARING = 3
"""From so many concerns of one kind, with one remedy, they share a line."""
_NAMED = 5
"""Fields that such a line names; more are counted."""


def concern_lines(concerns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each concern; several of one kind that one remedy helps share one; as `concern_remedies`."""
    yield from (f"{what}; {hint}" for what, hint in concern_remedies(concerns))


def concern_remedies(concerns: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield what each concern is, and its remedy; several of one kind that one remedy helps are one.

    Parameters
    ----------
    concerns : sequence of mapping
        As JSON has them; of one kind, the worst first.
    """
    below = [one for one in concerns if one["kind"] == "below-zero"]
    if len(below) > 1:
        fields = ", ".join(f"{one['field']} in {counted(one['records'], 'record')}" for one in below)
        yield (
            f"values below 0, where no original value is: {fields}",
            "where a field cannot be, the rule FIELD >= 0 keeps it from that, and masktron suggest proposes it",
        )
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in concerns:
        if len(below) < 2 or one not in below:
            alike.setdefault((one["kind"], one["hint"]), []).append(one)
    for (_, hint), several in alike.items():
        if len(several) < _SHARING:
            yield from ((one["says"], hint) for one in several)
            continue
        names = [one["field"] for one in several[1:]]
        more = [counted(len(names) - _NAMED, "other")] if len(names) > _NAMED else []
        yield f"{several[0]['says']}; likewise {', '.join([*names[:_NAMED], *more])}", hint
