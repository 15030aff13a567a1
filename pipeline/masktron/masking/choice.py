"""A masked block, and which of the aggregators that keep its rules masks it: the one that loses least.

Every candidate is carried out: groups, prototypes, rounding, repair. What counts is the loss of the prototypes as
they would be written. Two things stand before it.

- A candidate for which no group prototype is found falls out.
- A medoid is a record of the file, published whole; so is any other prototype that copies one
  (`disclosure.exposure` beside this file). It can lose less than a mean that had to be moved far to obey the rules,
  but a smaller loss must not be bought by publishing records. So only candidates are compared whose share of
  records in groups that copy one is within `COPIED_MARGIN` of the least share among all. The margin is there
  because a few groups more or less are chance, and a candidate that loses several times as much for the sake of one
  group in a hundred serves nobody. Measured from the least share, not pair by pair, the comparison is independent
  of the order.

Settling is what takes time, so a candidate that cannot win by more than `WORTHWHILE` is not settled. Theorem: no
prototypes of a partition lose less than the arithmetic means of its groups. Proof: in each group and variable, the
sum of squared deviations from a constant is least for the mean, and the loss adds these sums over groups and
variables, with weights that do not depend on the prototypes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.errors import InfeasibleError, RefusalFacts
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.disclosure.exposure import Exposure, exposure_of
from masktron.masking.file_values import FileValues
from masktron.masking.inputs import MaskingInputs
from masktron.masking.per_record import refuse_torn
from masktron.measures.base import FieldPairs
from masktron.measures.information_loss import loss_of_fields
from masktron.plan import Block
from masktron.problems.problem import fields
from masktron.settle.prototypes import Settled, numbers_of


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one candidate of a block.

    Attributes
    ----------
    aggregator : str
    information_loss : float or None
        100 SSE/SST of its prototypes over the numeric variables of the block; None where it was not settled.
    copied_share : float or None
        Share of the records in groups that copy one of their records, 0 to 1; None where it was not settled.
    verdict : str
        Taken, or why not.
    solved : tuple of str
        Variables that it solves in each record.
    """

    aggregator: str
    information_loss: float | None
    copied_share: float | None
    verdict: str
    solved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MaskedBlock:
    """A block with its groups and prototypes.

    Attributes
    ----------
    block : Block
        With the chosen candidate in use.
    grouping : RecordGroups
        Of the records that were given to mask.
    settled : Settled
    exposure : Exposure
        What the prototypes publish of single records.
    trials : tuple of Trial
        One for each candidate of the block, in its order; none where there is only one.
    aims : ndarray of float64, shape (groups, p), or None
        What a method drew, where each record is a group of its own.
    """

    block: Block
    grouping: RecordGroups
    settled: Settled
    exposure: Exposure
    trials: tuple[Trial, ...] = ()
    aims: NDArray[np.float64] | None = None

    def lexemes(self, position: int) -> NDArray[np.object_]:
        """Masked lexemes of the variable at a position of the block, record by record."""
        return self.settled.column(position, self.grouping.labels).objects()


COPIED_MARGIN = 0.01
"""Share of the records by which candidates may differ in copied records and are still compared by loss."""
WORTHWHILE = 0.01
"""Part of the loss that a further candidate has to be able to save."""

type GroupBlock = Callable[[Block], RecordGroups]
"""Groups for the candidate that a block has in use."""
type SettleBlock = Callable[[MaskingInputs, Block, RecordGroups], Settled]


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    """A candidate that was settled."""

    block: Block
    grouping: RecordGroups
    settled: Settled
    exposure: Exposure
    loss: float
    copied: float
    mixed: float


def choose(inputs: MaskingInputs, block: Block, *, group: GroupBlock, settle: SettleBlock) -> MaskedBlock:
    """Try the candidates of a block and take the best.

    Parameters
    ----------
    inputs : MaskingInputs
    block : Block
    group : callable
        Partitions the records for a candidate; may raise InfeasibleError.
    settle : callable
        Finds the prototypes; may raise InfeasibleError.

    Raises
    ------
    InfeasibleError
        No candidate has prototypes for all groups: what stopped the first, and the others where that is different.
    """
    if len(block.candidates) == 1:
        grouping = group(block)
        settled = settle(inputs, block, grouping)
        return MaskedBlock(block, grouping, settled, exposure_of(inputs, block, grouping, settled))
    options = [block.choosing(position) for position in range(len(block.candidates))]
    attempts: dict[int, _Attempt] = {}
    verdicts: dict[int, str] = {}
    failures: dict[str, InfeasibleError] = {}
    for option in options:
        if option.solved and _kept(attempt for attempt in attempts.values() if not attempt.block.solved):
            verdicts[option.chosen] = "not needed: groups can share all variables"
            continue
        try:
            if len(options) > 1 and options[-1].solved and not option.solved:
                refuse_torn(inputs.rules, option, inputs.k)
            grouping = group(option)
            # Solved variables are not constant in a group, so that its means bound nothing.
            least = _least_loss(inputs.file, option, grouping) if attempts and not option.solved else 0.0
            if any(_beyond_reach(attempt, least) for attempt in attempts.values()):
                verdicts[option.chosen] = f"not settled: its groups lose at least {least:.3f} %"
                continue
            attempt = _attempt(inputs, option, grouping, settle(inputs, option, grouping))
            _refuse_useless(attempt)
            attempts[option.chosen] = attempt
        except InfeasibleError as error:
            failures.setdefault(option.aggregator, error)
            verdicts[option.chosen] = f"impossible: {error.what}"
    if not attempts:
        raise _joined(failures)
    best = _best(attempts, verdicts)
    trials = (_trial(option, attempts.get(option.chosen), verdicts[option.chosen]) for option in options)
    return MaskedBlock(best.block, best.grouping, best.settled, best.exposure, tuple(trials))


def _kept(attempts: Iterable[_Attempt]) -> bool:
    """Whether some candidate keeps the rules without more than a few copied records and mixed groups."""
    return any(max(attempt.copied, attempt.mixed) <= COPIED_MARGIN for attempt in attempts)


def _refuse_useless(attempt: _Attempt) -> None:
    """Refuse what is solved per record at a loss of more than everything.

    One value for all records would lose 100 %. What follows can lose any amount: a quotient is as large as its
    divisor is small.
    """
    if attempt.block.solved and not attempt.loss <= 100.0:
        raise InfeasibleError.of(
            "unmasked-in-the-way",
            fields=fields(one.variable for one in attempt.block.solved),
            conditions=fields(attempt.block.conditions),
            rules="the rules",
            reason=f"solved in each record, they lose {attempt.loss:.3g} %, more than one value for all records",
            facts=[RefusalFacts("solved-loss", attempt.block.variables, attempt.block.conditions)],
        )


def _best(attempts: Mapping[int, _Attempt], verdicts: dict[int, str]) -> _Attempt:
    """Return the attempt to take, and add the verdicts on all of them."""
    fewest = min(attempt.copied for attempt in attempts.values())
    open_ = {at: attempt for at, attempt in attempts.items() if attempt.copied <= fewest + COPIED_MARGIN}
    best = min(open_, key=lambda at: open_[at].loss)  # of equal ones the first
    for at in attempts:
        verdicts[at] = "publishes more records whole"
    for at, attempt in open_.items():
        verdicts[at] = "loses more" if attempt.loss > open_[best].loss else "loses as much"
    verdicts[best] = "taken"
    return open_[best]


def _trial(option: Block, attempt: _Attempt | None, verdict: str) -> Trial:
    loss, copied = (None, None) if attempt is None else (attempt.loss, attempt.copied)
    return Trial(option.aggregator, loss, copied, verdict, tuple(one.variable for one in option.solved))


def _beyond_reach(attempt: _Attempt, least: float) -> bool:
    """Whether a candidate that loses at least so much cannot beat an attempt by a worthwhile part.

    The attempt has to be one that no number of copied records puts out of the comparison.
    """
    return attempt.copied <= COPIED_MARGIN and least >= (1.0 - WORTHWHILE) * attempt.loss


def _attempt(inputs: MaskingInputs, option: Block, grouping: RecordGroups, settled: Settled) -> _Attempt:
    exposure = exposure_of(inputs, option, grouping, settled)
    copied = float(grouping.sizes[exposure.copied].sum()) / inputs.file.n
    mixed = float(grouping.sizes[grouping.mixed].sum()) / inputs.file.n
    loss = _loss(inputs.file, option, grouping, settled)
    return _Attempt(option, grouping, settled, exposure, loss, copied, mixed)


type _Masking = Callable[[int, NDArray[np.float64]], NDArray[np.float64]]
"""Returns the masked numbers of the variable at a position of the block, given the original ones, shape (n,)."""


def _lost(file: FileValues, block: Block, masking: _Masking) -> float:
    """Information loss over the numeric variables of a block, of which one is in memory at a time."""

    def columns(position: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        original = file.values[block.variables[position]]
        return original, masking(position, original)

    numeric = [position for position, name in enumerate(block.variables) if name in file.numeric]
    return loss_of_fields(FieldPairs(columns, numeric, file.n))


def _loss(file: FileValues, block: Block, grouping: RecordGroups, settled: Settled) -> float:
    """Information loss of the prototypes as written.

    A value that a record loses to another pattern of missing values counts as if the mean of the file had replaced
    it: the measure leaves such cells out, so that losing them would pay.
    """

    def masked(position: int, original: NDArray[np.float64]) -> NDArray[np.float64]:
        return _filled(_written(file, block.variables[position], settled, position, grouping), original)

    return _lost(file, block, masked)


def _written(
    file: FileValues, name: str, settled: Settled, position: int, grouping: RecordGroups
) -> NDArray[np.float64]:
    """Numbers of a variable as written, record by record; NaN where missing."""
    if position in settled.own:
        return file.without_codes(name, numbers_of(settled.own[position].objects()))
    numbers: NDArray[np.float64] = file.without_codes(name, settled.numbers_at(position))[grouping.labels]
    return numbers


def _filled(masked: NDArray[np.float64], original: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put the mean of the present values of a column where masking left nothing of a value."""
    lost = np.isnan(masked) & ~np.isnan(original)
    if not lost.any():
        return masked
    return np.where(lost, _means(original, np.zeros(len(original), dtype=np.intp)), masked)


def _means(values: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Plain means of a column by group, of what is present, NaN where nothing is; shape (groups,).

    Weights do not count here, as they do not in the measure.
    """
    present = ~np.isnan(values)
    filled = np.where(present, values, 0.0)
    power = np.frexp(np.abs(filled).max(initial=0.0))[1]  # by powers of two, so that no sum overflows
    sums = np.bincount(labels, np.ldexp(filled, -power))
    counts = np.bincount(labels, present, minlength=len(sums))
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    restored: NDArray[np.float64] = np.ldexp(means, power)
    return restored


def _least_loss(file: FileValues, block: Block, grouping: RecordGroups) -> float:
    """Loss of the means of the groups: that of any prototypes of this partition is no smaller."""
    labels = grouping.labels
    return _lost(file, block, lambda _, original: _means(original, labels)[labels])


def _joined(failures: dict[str, InfeasibleError]) -> InfeasibleError:
    """Return the first error, with what helps the other candidates."""
    first, *others = failures.values()
    facts = dict.fromkeys(fact for error in failures.values() for fact in error.facts)
    more = {one.problem.code: one.problem for one in others if one.problem.code != first.problem.code}
    first.then(*more.values())
    first.facts = tuple(facts)
    return first
