"""The weights of records that are left out, spread over the records of their class that are released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.counts import counted
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.jobs.run import Run
from masktron.problems.problem import Field, Setting, fields
from masktron.recodings import decimal_text, exact_number
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.step_kinds import Reweighted, Suppressed, steps_of

_MORE_DIGITS = 4
"""Digits behind the point that a new weight has beyond those of the file."""

_DIGITS = 15
"""Digits that every double holds."""

type _Class = tuple[str | None, ...]


def require_spreadable(original: Run) -> None:
    """Refuse a weight that is not there, and fields by which classes cannot be seen in the released file.

    Raises
    ------
    UsageError
    """
    config, where = original.config, str(original.job.source.path)
    weight = config.weight
    if weight is None:
        raise UsageError.of(
            "needs-setting",
            where,
            name=Setting("--reweight"),
            needed="a field that is the weight",
            setting=(Setting("--role", ("FIELD=weight",)),),
        )
    original.require_written("reweight", config.reweight)
    if weight in config.recode:
        raise UsageError.of(
            "field-not-usable",
            where,
            setting=Setting("--recode"),
            field=Field(weight),
            reason="a weight that is spread over others",
        )
    drawn = {name for kind, own in steps_of(config).items() if kind.untrue for name in own}
    if told := [name for name in config.reweight if name in drawn]:
        raise UsageError.of(
            "weights-not-spread",
            where,
            fields=fields(told),
            reason="their values are drawn anew or swapped, and the weights would tell the true ones",
        )


def require_kept(spread: Iterable[Reweighted], suppressed: Suppressed, where: str) -> None:
    """Refuse to leave out cells of the fields by which weights were spread: the weights would tell them.

    Raises
    ------
    InfeasibleError
    """
    for one in spread:
        if told := [name for name in one.within if suppressed.cells.get(name, (0, 0))[0]]:
            raise InfeasibleError.of(
                "weights-not-spread",
                where,
                fields=fields(told),
                reason="some of their values are left out where keys are rare, and the weights would tell them",
                facts=[RefusalFacts("keys", conditions=one.within)],
            )


def spread_weights(run: Run) -> Run:
    """Give the weights of records left out to those of the same class that are released.

    Each weight of a class is multiplied by the total of all its records, divided by that of the released ones, so
    that weighted counts by class are those of the original (Särndal, Swensson and Wretman 1992, section 15.6, the
    response homogeneity groups).

    Raises
    ------
    InfeasibleError
        No record of a class is released, or fewer than k of one are left out.
    """
    config, keep, weight = run.config, run.originals.keep, run.config.weight
    if weight is None:
        return run
    try:
        factors = factors_of(run.records, keep, weight, config.reweight)
        _require_several(run, keep, config.k)
    except InfeasibleError as error:
        error.at(run.job.source.path)
        raise
    if not factors:
        return run
    done = Reweighted(weight, config.reweight, factors, _decimals(run.records.columns[weight]))
    return run.after({weight: reweighted_column(run.records, done)}, done)


def _require_several(run: Run, keep: NDArray[np.bool_], k: int) -> None:
    """Refuse a class of which fewer than k records are left out: their weight could be computed from the others."""
    within = run.config.reweight
    gone = Counter(key for key, kept in zip(_classes(run.records, within), keep.tolist(), strict=True) if not kept)
    if few := sum(many < k for many in gone.values()):
        raise InfeasibleError.of(
            "weights-not-spread",
            fields=fields(within),
            reason=f"fewer than k = {k} records of {counted(few, 'class', 'classes')} are left out, so it tells them",
            facts=[RefusalFacts("keys", conditions=within)],
        )


def _decimals(weights: Column) -> int:
    """Return the digits behind the point of new weights: more than there are, and no more than a double holds."""
    largest = np.nanmax(np.abs(weights.numbers), initial=1.0)
    return min(weights.decimals + _MORE_DIGITS, max(_DIGITS - len(str(int(largest))), 0))


def factors_of(
    records: Dataset, keep: NDArray[np.bool_], weight: str, within: Sequence[str]
) -> Mapping[_Class, Fraction]:
    """Return by what the weights of each class are multiplied, where it is not 1.

    Parameters
    ----------
    records : Dataset
        All of them, with n rows.
    keep : ndarray of bool, shape (n,)
        Those that are released.
    weight : str
    within : sequence of str
        Records that are alike in these fields are a class; a code for 'missing' is a value like any other.

    Raises
    ------
    InfeasibleError
        No record of a class is released, or none with a weight.
    """
    column = records.columns[weight]
    present = (column.states == Status.PRESENT).tolist()
    own = [
        exact_number(str(text)) if there else None
        for text, there in zip(column.lexicon.objects(), present, strict=True)
    ]
    classes = _classes(records, within)
    everything: dict[_Class, Fraction] = {}
    released: dict[_Class, Fraction] = {}
    for key, code, kept in zip(classes, column.codes.tolist(), keep.tolist(), strict=True):
        if (value := own[code]) is not None and value > 0:  # others are wrong, and left out
            everything[key] = everything.get(key, Fraction(0)) + value
            if kept:
                released[key] = released.get(key, Fraction(0)) + value
    if lost := [key for key in everything if not released.get(key)]:
        raise InfeasibleError.of(
            "weights-not-spread",
            fields=fields(within),
            reason=f"{counted(len(lost), 'class has', 'classes have')} no record left to take the others' weight",
            facts=[RefusalFacts("keys", conditions=tuple(within))],
        )
    return {key: total / released[key] for key, total in everything.items() if total != released[key]}


def reweighted_column(records: Dataset, done: Reweighted) -> Column:
    """Return the weights of records of an original as a treatment has written them."""
    column = records.columns[done.field]
    numbers = {key: at for at, key in enumerate(done.factors)}
    factors = [*done.factors.values()]
    place = np.array([numbers.get(key, -1) for key in _classes(records, done.within)], dtype=np.int64)
    texts = [*column.lexicon.objects()]
    present = column.states == Status.PRESENT
    rows = np.flatnonzero((place >= 0) & present[column.codes])
    pairs, inverse = np.unique(place[rows] * len(texts) + column.codes[rows], return_inverse=True)
    new = []
    for factor, code in zip(*divmod(pairs, max(len(texts), 1)), strict=True):
        value = exact_number(str(texts[code]))
        new.append(texts[code] if value is None else _written(value * factors[factor], done.decimals))
    return column.with_cells(rows, Column.of_texts(column.variable, new, inverse))


def _classes(records: Dataset, within: Sequence[str]) -> list[_Class]:
    """Return the class of each record: its texts in some fields, whatever means 'missing' there; None if absent."""
    fields = []
    for name in within:
        texts = [None if text is None else str(text).strip() for text in records.columns[name].lexicon.objects()]
        fields.append([texts[code] for code in records.columns[name].codes.tolist()])
    return [*zip(*fields, strict=True)]


def _written(weight: Fraction, digits: int) -> str:
    """Write a weight with so many digits behind the point, without zeros at the end."""
    text = decimal_text(weight, digits)
    return text.rstrip("0").rstrip(".") if digits else text
