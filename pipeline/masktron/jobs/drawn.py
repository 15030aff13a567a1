"""What a run says of values that were drawn record by record: how far settling moved them, and who kept his."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from masktron.counts import counted
from masktron.problems.problem import Field, Note, Sentence, fields
from masktron.report.sentences import both_parts
from masktron.results import BlockResult, DrawResult, MomentResult

AS_DRAWN = ("rounded", "mode")
"""Exits of drawn records whose values are the first draw, but for rounding; *mode* where all are categories."""
ANEW = ("redrawn", "prototype")
"""Exits of those that have values of another draw, or of a group."""


def parts_notes(method: str, blocks: Sequence[BlockResult]) -> Iterator[str]:
    """Say which fields a method did not draw: blocks with categories are masked by groups."""
    if said := both_parts(blocks):
        yield f"{method} draws numbers alone, and no block that holds categories: {said}"


def draw_notes(draw: DrawResult, blocks: Sequence[BlockResult], *, records: int, k: int) -> Iterator[Sentence]:
    """Say what settle took away from what a method keeps, and how many records came out as they went in.

    Parameters
    ----------
    draw : DrawResult
    blocks : sequence of BlockResult
    records : int
        Of the written file.
    k : int
    """
    exits = Counter[str]()
    for block in blocks:
        if block.drawn:
            exits.update(block.exits)
    anew = sum(exits[name] for name in ANEW)
    moved = exits.total() - anew - sum(exits[name] for name in AS_DRAWN)
    if moved or anew:
        told = (
            f"{moved} drawn records of a block were moved by more than rounding to keep the rules",
            f"{anew} took another draw or the prototype of a group, for the rules or so as not to come out as they "
            "went in",
        )
        who = ", and ".join(text for text, count in zip(told, (moved, anew), strict=True) if count)
        yield Note(
            "{who}; {effect:;}, so that what the method keeps holds only so far", who=who, effect=_effect(draw)
        )
    if beyond := [one for one in draw.moments if one.beyond]:
        yield Note(
            "drawn beyond what the type or the format of the column can hold, and written as values that fit: "
            "{beyond}; a wider column keeps the draws as they are",
            beyond=[Note("{many} of {field}", many=one.beyond, field=Field(one.name)) for one in beyond],
        )
    if draw.unmoved:
        yield _unmoved(draw, records, k, grouped=not all(block.drawn for block in blocks))


def _effect(draw: DrawResult) -> list[Note]:
    """The mean, the variance and the correlation that are farthest from those of the draw or the original."""
    far = max(draw.moments, key=_step, default=None)
    said = [
        Note(
            "that moved means by up to {step:.2g} standard deviations{field}",
            step=0.0 if far is None else _step(far),
            field=Note(" ({field})", field=Field(far.name)) if far is not None and _step(far) else "",
        )
    ]
    if (worst := draw.variance_written) is not None:
        said.append(
            Note(
                "the variance farthest from the original's is that of {field}, {written} times as large ({drawn} as "
                "drawn)",
                field=Field(worst.name),
                written=_ratio(worst.variance_written),
                drawn=_ratio(worst.variance_drawn),
            )
        )
    if (pair := draw.worst_written) is not None:
        said.append(
            Note(
                "the correlation farthest from it is that of {fields:and}, {written:.2f} for {original:.2f} in the "
                "original ({drawn:.2f} as drawn)",
                fields=fields(pair.fields),
                written=pair.written,
                original=pair.original,
                drawn=pair.drawn,
            )
        )
    return said


def _step(moment: MomentResult) -> float:
    """How far settling moved a mean, in standard deviations of the original; 0 where it has none."""
    moved = abs(moment.mean_written - moment.mean_drawn)
    return moved if moved > 0 else 0.0


def _ratio(ratio: float) -> str:
    """Two decimals, or where these say nothing, two digits."""
    return f"{ratio:.2f}" if 0.1 <= ratio < 1000 else f"{ratio:.2g}"


def _unmoved(draw: DrawResult, records: int, k: int, *, grouped: bool) -> str:
    by = draw.unmoved_by
    reasons = (
        (by.untouched, "had nothing to replace"),
        (by.drawn, "drew the values that they had" + (", or have them from their group" if grouped else "")),
        (by.given_back, "drew others and got their own back when the rules were kept"),
    )
    said = (
        f"{draw.unmoved} of {counted(records, 'record')} "
        f"{'comes out as it' if draw.unmoved == 1 else 'come out as they'} went in, in all masked fields: "
        f"{', '.join(f'{count} {reason}' for count, reason in reasons if count)}"
    )
    if by.rare:
        said += (
            f"; {by.rare} of those that were to be replaced are like fewer than k = {k} records of the original: "
            "look at them before the file is released"
        )
    return said
