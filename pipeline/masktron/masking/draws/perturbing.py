"""Values of its own for every record: what a method draws, settled record by record.

Each record is a group of its own for settle: its drawn values are rounded, then the grid around them is searched,
then they are moved to the nearest point that the rules admit, with the record's own unmasked fields, missing values
and disjuncts. What finds nothing near its values is drawn anew, then searched for, and takes the prototype at last
that microaggregation finds for the group of the record. The same happens to a record that would come out as it went
in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats
from masktron.contracts import MarkedReplaced, ValuesExchanged
from masktron.grouping.record_groups import RecordGroups
from masktron.kernels.elementary import decimal_magnitudes
from masktron.masking.block.group_searches import GroupSearches
from masktron.masking.block.joint_search import JointSearch
from masktron.masking.choice import MaskedBlock
from masktron.masking.disclosure.cap import fallen_on
from masktron.masking.disclosure.exposure import Exposure, exposure_of
from masktron.masking.draws.drawing import Drawing
from masktron.masking.file_values import FileValues
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import Judging
from masktron.measures.moment_shift import MomentShift, moment_shift
from masktron.plan import Block
from masktron.problems.problem import Sentence
from masktron.progress import Told, untold
from masktron.settle.grid import LONG, TIED_DIGITS
from masktron.settle.lattice import Prototype
from masktron.settle.prototypes import Settled, settle
from masktron.sources.column import Column
from masktron.sources.variables import Typed

type _Flags = NDArray[np.bool_]


def to_replace(drawing: Drawing) -> _Flags:
    """Which values are drawn: all that a record has, or those that the method marked; shape (n, variables)."""
    marked = drawing.draw(0).marked
    return drawing.known if marked is None else drawing.known & marked


def unchanged_draws(file: FileValues, drawing: Drawing, masked: Sequence[MaskedBlock], prototype: str) -> _Flags:
    """Tell which records got, in every block, a draw that rounds to the values that they had.

    Parameters
    ----------
    file : FileValues
    drawing : Drawing
    masked : sequence of MaskedBlock
        Of its variables, in their order.
    prototype : str
        Exit of records whose values are not drawn, but those of a group.

    Returns
    -------
    ndarray of bool, shape (n,)
        A record counts where each block of which a value of it is to be replaced takes a draw, and one of the draws
        that were made has its own values in the place of all that is to be replaced there; also where nothing is.
    """
    wanted = to_replace(drawing)
    found = np.ones(file.n, dtype=np.bool_)
    same = [_same(file, drawing, drawn.values) | ~wanted for drawn in drawing.made]
    for one in masked:
        columns = drawing.columns(one.block)
        drawn = np.logical_or.reduce([cells[:, columns].all(axis=1) for cells in same])
        found &= (drawn & ~one.settled.left_by(prototype)) | ~wanted[:, columns].any(axis=1)
    return found


def _same(file: FileValues, drawing: Drawing, drawn: Floats) -> _Flags:
    """Which drawn values are those of the original once they are rounded as `settle` rounds; shape (n, variables)."""
    same = np.zeros(drawn.shape, dtype=np.bool_)
    for at, name in enumerate(drawing.variables):
        own = drawing.values[:, at]
        if name in file.numeric:
            same[:, at] = np.abs(drawn[:, at] - own) <= _half_step(file.columns[name], own)
        else:
            holders = file.holders((name,), drawn[:, [at]], np.zeros((file.n, 1), dtype=np.intp))
            same[:, at] = own[holders[:, 0]] == own
    return same


def _half_step(column: Column, own: Floats) -> Floats:
    """Half the distance of neighbouring numbers of a field around its values, with room for rounding errors."""
    places = np.full(len(own), float(-column.decimals))
    if column.decimals > LONG:
        magnitude = decimal_magnitudes(np.maximum(np.abs(own), np.finfo(np.float64).tiny))
        places = (magnitude + 1 - TIED_DIGITS).astype(np.float64)
    half: Floats = np.power(10.0, places) / 2 + 4 * np.spacing(np.abs(own))
    return half


REDRAWS = 3
"""Times that records without an admissible value near theirs are drawn anew."""
PROTOTYPE: Final = "prototype"
"""Exit of records that take the prototype of a group."""


@dataclass(frozen=True, slots=True, eq=False)
class Perturbed:
    """What a method drew for the records of a run, and what became of it.

    Attributes
    ----------
    blocks : tuple of MaskedBlock
    labels : ndarray of intp, shape (n,), or None
        Groups of the method; None where it forms none.
    strata : int
        Parts of the file in which it drew.
    notes : tuple of str
        What the method says of this run.
    numbers : tuple of str
        Drawn variables that are numbers.
    shift : MomentShift
        Of these, in the same order.
    touched : ndarray of bool, shape (n,)
        Records of which a value was to be replaced.
    alike : ndarray of bool, shape (n,)
        Of these, the ones that drew the values that they had, to the grids of the fields.
    rare : ndarray of bool, shape (n,)
        Of the touched, those that came out as they went in, in all drawn variables, where fewer than k records of the
        original are like them: although they were drawn anew, unless the method replaces some values alone.
    parts : ndarray of intp, shape (n,)
        Part of the file in which each record was drawn.
    settled : mapping of str to float
        By number: sum of the squared differences between what was drawn and what is written.
    beyond : mapping of str to int
        By number: drawn values that the type or the format of the column cannot hold, as they are too small or too
        large.
    marked : mapping of str to ndarray of intp
        By variable: records whose values were to be replaced, for methods that replace some values alone.
    """

    blocks: tuple[MaskedBlock, ...]
    labels: NDArray[np.intp] | None
    strata: int
    notes: tuple[Sentence, ...]
    numbers: tuple[str, ...]
    shift: MomentShift
    touched: NDArray[np.bool_]
    alike: NDArray[np.bool_]
    rare: NDArray[np.bool_]
    parts: NDArray[np.intp]
    settled: Mapping[str, float]
    beyond: Mapping[str, int]
    marked: Mapping[str, NDArray[np.intp]]

    @property
    def unmoved(self) -> int:
        """Number of the rare records that came out as they went in: what the contract has."""
        return int(self.rare.sum())


def perturb(
    inputs: MaskingInputs,
    blocks: Sequence[Block],
    drawing: Drawing,
    *,
    fallback: Callable[[Block], MaskedBlock],
    told: Callable[[Block], Told] | None = None,
) -> list[MaskedBlock]:
    """Draw values for the variables of some blocks, and settle them.

    Parameters
    ----------
    inputs : MaskingInputs
    blocks : sequence of Block
        As planned for groups.
    drawing : Drawing
        Of the variables of these blocks, in their order.
    fallback : callable
        Masks a block by groups of at least k; asked only where a record finds no value of its own.
    told : callable, optional
        Returns, for a block, what hears how many of its records are settled.

    Raises
    ------
    InfeasibleError
        The method cannot keep its promise, or a record has no value that the rules admit.
    """
    drawn = [
        _DrawnBlock(
            inputs, block, drawing, functools.partial(fallback, block), untold if told is None else told(block)
        )
        for block in blocks
    ]
    masked = [one.settled() for one in drawn]
    if not isinstance(drawing.method.contract, MarkedReplaced):
        for attempt in range(1, REDRAWS + 2):
            unmoved = _unmoved(inputs, masked)
            if not unmoved.size:
                break
            masked = [one.anew(unmoved, attempt) for one in drawn]
    return masked


def perturbed(inputs: MaskingInputs, drawing: Drawing, masked: Sequence[MaskedBlock]) -> Perturbed:
    """Compare what a method drew with what is written.

    Parameters
    ----------
    inputs : MaskingInputs
    drawing : Drawing
    masked : sequence of MaskedBlock
        Those that `perturb` returned, in the same order, maybe with values that were moved for the sake of totals.
    """
    file, first = inputs.file, drawing.draw(0)
    numbers = tuple(name for name in drawing.variables if name in file.numeric)
    at = [drawing.variables.index(name) for name in numbers]
    known = drawing.known[:, at]
    drawn = np.where(known, first.values[:, at], np.nan)
    written = np.where(known, np.column_stack([*_numbers(masked, numbers), np.empty((file.n, 0))]), np.nan)
    moved = np.nansum(np.square(written - drawn), axis=0)
    if isinstance(drawing.method.contract, ValuesExchanged):
        moved = _from_exchange(drawing.values[:, at], drawn, moved)
    parts = np.empty(file.n, dtype=np.intp)
    parts[drawing.strata.order] = drawing.strata.labels
    touched = to_replace(drawing).any(axis=1)
    rare = np.zeros(file.n, dtype=np.bool_)
    rare[_unmoved(inputs, masked)] = True
    return Perturbed(
        tuple(masked),
        first.labels,
        len(drawing.strata),
        first.notes,
        numbers,
        moment_shift(drawing.values[:, at], drawn, written),
        touched,
        touched & unchanged_draws(file, drawing, masked, PROTOTYPE),
        touched & rare,
        parts,
        dict(zip(numbers, moved.tolist(), strict=True)),
        {name: _beyond(drawn[:, place], file.columns[name].typed) for place, name in enumerate(numbers)},
        {} if first.marked is None else _marked(drawing, first.marked),
    )


def _from_exchange(original: Floats, drawn: Floats, moved: Floats) -> Floats:
    """Return how far values may be from the original's in another order, as a sum of squares; shape (fields,).

    Where the draw is such an order, it is what settling moved. What others give was computed, and lies as far from
    such an order as by rank: then the triangle inequality adds the two.
    """
    found = moved.copy()
    for column, own in enumerate(original.T):
        made = drawn[~np.isnan(own), column]
        apart = float(np.square(np.sort(made) - np.sort(own[~np.isnan(own)])).sum())
        if apart > 0:
            found[column] = (np.sqrt(moved[column]) + np.sqrt(apart)) ** 2
    return found


def _beyond(drawn: Floats, typed: Typed) -> int:
    """Count numbers below the least or above the largest that a column can hold; NaN is neither."""
    low = -np.inf if typed.lower is None else float(typed.lower)
    high = np.inf if typed.upper is None else float(typed.upper)
    return int(((drawn < low) | (drawn > high)).sum())


def _marked(drawing: Drawing, marked: NDArray[np.bool_]) -> dict[str, NDArray[np.intp]]:
    """Records whose values of a variable were to be replaced; what a record does not have is not."""
    own = marked & drawing.known
    return {name: np.flatnonzero(column) for name, column in zip(drawing.variables, own.T, strict=True)}


def _numbers(masked: Sequence[MaskedBlock], names: Sequence[str]) -> Iterator[Floats]:
    for one in masked:
        for position, name in enumerate(one.block.variables):
            if name in names:
                yield one.settled.numbers_at(position)


def _unmoved(inputs: MaskingInputs, masked: Sequence[MaskedBlock]) -> NDArray[np.intp]:
    """Records that hold their own values in all drawn variables, where fewer than k records of the file hold them.

    A record without any value, or with values that k records have in common, is nobody's.
    """
    file = inputs.file
    variables = [name for one in masked for name in one.block.variables]
    codes = np.column_stack([file.columns[name].numbered(held=True) for name in variables])
    same = (codes >= 0).any(axis=1)
    for one in masked:
        for position, name in enumerate(one.block.variables):
            if name in file.numeric:
                own, now = file.values[name], file.without_codes(name, one.settled.numbers_at(position))
                same &= (own == now) | np.isnan(own)
            else:
                same &= file.columns[name].held == one.settled.texts(position)
    records = np.flatnonzero(same)
    if not records.size:
        return records
    _, which, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    return records[counts[which.ravel()[records]] < inputs.k]


class _DrawnBlock:
    """One block while its records are settled."""

    def __init__(
        self,
        inputs: MaskingInputs,
        block: Block,
        drawing: Drawing,
        fallback: Callable[[], MaskedBlock],
        told: Told,
    ) -> None:
        self._inputs = inputs
        self._block = block.drawing(drawing.method.name)
        self._drawing = drawing
        self._fallback = functools.cache(fallback)
        self._told = told
        none = np.zeros(inputs.file.n, dtype=np.bool_)
        self._grouping = RecordGroups(np.arange(inputs.file.n, dtype=np.intp), none, none)
        self._judging = Judging(inputs.rules, self._block)
        self._joint = JointSearch(inputs.rules, self._block, self._grouping, self._judging, none, told)

    def _draws(self, attempt: int) -> Floats:
        return self._drawing.draw(attempt).values[:, self._drawing.columns(self._block)]

    def settled(self) -> MaskedBlock:
        """Settle the first draw; what finds nothing near it is drawn anew."""
        self._told(0, self._inputs.file.n)
        searches = self._search(0)
        for attempt in range(1, REDRAWS + 1):
            if self._joint.table.done.all():
                break
            self._search(attempt)
        return self._finished(searches)

    def anew(self, records: NDArray[np.intp], attempt: int) -> MaskedBlock:
        """Settle some records again, by another draw while there are draws left, then by their prototypes."""
        self._joint.table.done[records] = False
        if attempt > REDRAWS:
            return self._finished(self._searches(0), searching=False)
        return self._finished(self._search(attempt))

    def _searches(self, attempt: int) -> GroupSearches:
        return GroupSearches(self._inputs, self._block, self._grouping, self._draws(attempt))

    def _search(self, attempt: int) -> GroupSearches:
        """Settle all that is open at once by a draw, and return how to search for what is left."""
        searches, table = self._searches(attempt), self._joint.table
        before = table.done.copy()
        self._joint.aggregates(searches.patterns, searches.of(0))
        if attempt:
            table.exits[table.done & ~before] = "redrawn"
        return searches

    def _finished(self, searches: GroupSearches, *, searching: bool = True) -> MaskedBlock:
        """Settle what is left: by what is found near the draw of a record, at last by the prototype of a group."""

        def candidates(record: int) -> Iterator[Prototype]:
            if searching:
                yield from searches.searched(record)
            yield from self._resort(record)

        settled = settle(
            searches.records,
            candidates,
            self._judging,
            self._joint.table,
            conflict=searches.conflict,
            told=self._told,
        )
        exposure = self._exposed(exposure_of(self._inputs, self._block, self._grouping, settled), settled)
        return MaskedBlock(self._block, self._grouping, settled, exposure, aims=self._draws(0))

    def _exposed(self, exposure: Exposure, settled: Settled) -> Exposure:
        """Add what the prototypes that records took publish of somebody: the first record of each group has it."""
        records = np.flatnonzero(settled.left_by(PROTOTYPE))
        if not records.size:
            return exposure
        masked = self._fallback()
        groups, first = np.unique(masked.grouping.labels[records], return_index=True)
        copied = np.zeros(self._inputs.file.n, dtype=np.bool_)
        copied[records[first]] = fallen_on(self._inputs, masked)[groups]
        return exposure.copying(copied)

    def _resort(self, record: int) -> Iterator[Prototype]:
        """The prototype of the group that microaggregation puts a record in."""
        masked = self._fallback()
        labels = masked.grouping.labels
        lexemes = {
            name: masked.settled.own[position][record]
            if position in masked.settled.own
            else masked.settled.written[position][labels[record]]
            for position, name in enumerate(self._block.variables)
        }
        yield Prototype(lexemes, PROTOTYPE)
