"""What masked fields hold: numbers as `mask` writes them, and gaps that some record of the group had.

**Numbers.** A text tells more than its number where there are several ways to write it: ``41.0``, ``041``, or
``41.1001`` where all values are integers. So a number that the original does not have is written plainly, without a
digit that says nothing: integers stay integers, and of decimals no number has more than `FINER` digits more than
the original. Where all numbers of the file have as many digits as the original, zeros at the end are among them.
Fields with more than `LONG` digits, or in rules that multiply, may have any.

**Gaps.** Records of a group have the same gaps. These are those of one of its records, as the original has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.classify.forms import form_of, variables_of_atom
from masktron.constraints import Polynomial, Product
from masktron.counts import counted
from masktron.problems.problem import Field, Note
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.verify.cells import combinations_of
from masktron.verify.findings import Findings
from masktron.verify.release import Release
from masktron.write.manifest import DescribedRelease

FINER = 2
"""Fraction digits that keeping a rule may add."""
LONG = 6
"""Fields with more fraction digits than this are written by significant digits."""

_PLAIN = re.compile(r"(?!-0(?:\.0*)?$)-?(?:0|[1-9][0-9]*)(?:\.([0-9]+))?")

type _Cells = NDArray[np.bool_]


def verify(release: Release, source: Dataset) -> Findings:
    """Test what masked fields hold, given the records of the original as the steps before masking leave them."""
    found, described, rows = Findings(), release.described, release.rows
    names = [name for name in described.masked if name in release.released.columns and name in source.columns]
    if rows is None or not names:
        return found
    order = np.argsort(rows)  # so that the first record is that of the original
    now = {name: release.released.columns[name].taken(order) for name in names}
    had = {name: source.columns[name].present[rows[order]] for name in names}
    for name, what, cells in [*_written(release, source, now), *_gaps(release.described, had, now)]:
        if cells.any():
            first = int(np.argmax(cells))
            said = "the masked field {field} {what}, in {cells:record}, first in record {first} of the original{text}"
            text = f": {written}" if (written := now[name].lexeme(first)) else ""
            where = {"cells": int(cells.sum()), "first": int(rows[order[first]]) + 1, "text": text}
            found.problems.append(Note(said, field=Field(name), what=what, **where))
    found.checked.append(f"how the values of {counted(len(names), 'masked field')} are written, and their gaps")
    return found


def _written(release: Release, source: Dataset, now: Mapping[str, Column]) -> Iterator[tuple[str, str, _Cells]]:
    """Yield the cells that hold what is not written so."""
    atoms = [atom for edit in release.edits for disjunct in form_of(edit.constraint) for atom in disjunct]
    products = (atom for atom in atoms if isinstance(atom, Product | Polynomial))
    multiplied = {name for atom in products for name in variables_of_atom(atom)}
    of_field = {wide: (one.level, one.name) for one in release.described.nested.fields for wide in one.wide}
    fields: dict[Any, list[str]] = {}
    for name in now:
        fields.setdefault(of_field.get(name, name), []).append(name)
    for names in fields.values():
        own = [source.columns[name] for name in names]
        if not all(one.numeric or not one.present.any() for one in own):
            continue
        decimals = max(one.decimals for one in own)
        largest = max(float(np.nanmax(np.abs(one.values), initial=0.0)) for one in own)
        kept = all(one.typed.keeps(largest, decimals) for one in (*own, *(now[name] for name in names)))
        free = decimals > LONG or not kept or not multiplied.isdisjoint(names)
        for name in names:
            odd = now[name].where(_odd(now[name], own, decimals, free=free))
            if name not in release.described.declared.drawn:  # of these it is told that what was drawn is no number
                yield name, "holds a text where the original has numbers", odd & ~now[name].is_number
            yield name, "holds a number that mask does not write so", odd & now[name].is_number


def _odd(now: Column, own: Sequence[Column], decimals: int, *, free: bool) -> _Cells:
    """Tell which texts of a masked column are neither in the original nor plain numbers of its grid, shape (m,).

    Parameters
    ----------
    now : Column
    own : sequence of Column
        The field in the original, of nested files at all positions of members.
    decimals : int
        Fraction digits of the original.
    free : bool
        Whether a number may have any.
    """
    most = decimals + FINER if decimals else 0
    which = np.flatnonzero(now.used & (now.states == Status.PRESENT))
    plain = {str(text): _PLAIN.fullmatch(str(text)) for text in now.lexicon.some(which)}
    padded = all(len(one[1] or "") >= decimals for one in plain.values() if one is not None)
    strange = {
        text
        for text, one in plain.items()
        if one is None
        or (not free and len(one[1] or "") > most)
        or (one[1] and text.endswith("0") and not (padded and len(one[1]) == decimals))
    }
    odd = np.zeros(len(now.lexicon), dtype=np.bool_)
    if strange:
        strange.difference_update(*(one.each_text() for one in own))
        odd[which] = [str(text) in strange for text in now.lexicon.some(which)]
    return odd


def _gaps(
    described: DescribedRelease, had: Mapping[str, _Cells], now: Mapping[str, Column]
) -> Iterator[tuple[str, str, _Cells]]:
    """Yield the cells whose gap, or value, no record of the group had."""
    solved = {name for name, *_ in described.solved}
    alike = (described.whole_record_k or 0) >= described.k  # in all blocks
    for block in [described.masked] if alike else described.blocks:
        shared = [name for name in block if name in now and name not in described.declared.drawn]
        codes = [now[name].numbered() for name in shared if name not in solved]
        groups = combinations_of(codes, len(next(iter(now.values()))))
        for name in shared if codes else ():
            has = now[name].present
            lacking, having = (np.bincount(groups, one)[groups] > 0 for one in (~had[name], had[name]))
            yield name, "has no value where all of the group have one", ~has & ~lacking
            yield name, "has a value where nobody of the group has one", has & ~having
