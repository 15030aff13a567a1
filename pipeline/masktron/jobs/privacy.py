"""What a user should know of single records in a masked file, in notes without a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from masktron.counts import counted
from masktron.masking import MaskedBlock
from masktron.masking.disclosure.exposure import DOMINANT
from masktron.measures.unchanged import published_as_it_was
from masktron.sources.records import Column


def privacy_notes(
    blocks: Sequence[MaskedBlock], original: Mapping[str, Column], masked: Mapping[str, Column]
) -> tuple[str, ...]:
    """Say what is published as it was, which fields lost all values, and which groups one weight rules.

    Parameters
    ----------
    blocks : sequence of MaskedBlock
    original, masked : mapping of str to Column
        The same records in the same order.
    """
    return tuple(note for block in blocks for note in _notes(block, original, masked))


def _notes(masked: MaskedBlock, original: Mapping[str, Column], written: Mapping[str, Column]) -> Iterator[str]:
    names, exposure, groups = masked.block.variables, masked.exposure, masked.grouping.groups
    if count := int(exposure.dominated.sum()):
        yield (
            f"{', '.join(names)}: one record holds more than {100 * DOMINANT:g} % of the weight in {count} of "
            f"{counted(groups, 'group')}, whose aggregates are nearly its values"
        )
    for name in names:
        where = exposure.determined.get(name)
        unmasked = ", ".join(masked.block.conditions)
        whole = published_as_it_was(original[name], written[name])
        if where is not None and whole:
            yield f"{name} is fixed by the unmasked {unmasked}: it is published as it was"
        elif where is not None:
            yield (
                f"{name} is fixed by the unmasked {unmasked} in {int(where.sum())} of "
                f"{counted(groups, 'group')}: it is published there as it was"
            )
        elif whole and masked.block.drawn:
            yield f"{name} is published as it was, in every record"
        elif whole:
            yield f"{name} is published as it was: the records of each group had one value of it from the start"
        if original[name].present.any() and not written[name].present.any():
            yield f"{name} has lost all its values: no group has a pattern of missing values that keeps them"
