"""The weights of records that are left out, spread over the records of their class that are released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.counts import counted
from masktron.errors import InfeasibleError, UsageError
from masktron.jobs.treating import Treating
from masktron.perturbation_settings import together
from masktron.recodings import exact_number
from masktron.sources.lexical import parse_number
from masktron.sources.lexicon import Lexicon
from masktron.sources.records import Column, Records, Status
from masktron.write.treatments import Reweighted

_MORE_DIGITS = 4
"""Digits behind the point that a new weight has beyond those of the file."""

type _Class = tuple[str | None, ...]


def spread_weights(state: Treating) -> Treating:
    """Give the weights of records left out to those of the same class that are released.

    Each weight of a class is multiplied by the total of all its records, divided by that of the released ones, so
    that weighted counts by class are those of the original (Särndal, Swensson and Wretman 1992, section 15.6, the
    response homogeneity groups).

    Raises
    ------
    UsageError
        There is no weight, or a field is not written as it is.
    InfeasibleError
        No record of a class is released.
    """
    original = state.original
    config, keep = original.config, original.originals.keep
    if not config.reweight or keep.all():
        return state
    where = str(original.job.source.path)
    weight = next((fact.name for fact in original.fields if fact.role is Role.WEIGHT), None)
    if weight is None:
        raise UsageError("reweight: no field is the weight", where=where, hint="name it: --role FIELD=weight")
    _require_shown(state, weight)
    try:
        factors = factors_of(state.records, keep, weight, config.reweight)
    except InfeasibleError as error:
        error.where = where
        raise
    done = Reweighted(weight, config.reweight, factors, state.records.columns[weight].decimals + _MORE_DIGITS)
    return state.after({weight: reweighted_column(state.records, done)}, done)


def _require_shown(state: Treating, weight: str) -> None:
    """Refuse fields by which classes cannot be seen in the released file: the weights would tell them."""
    config, where = state.original.config, str(state.original.job.source.path)
    state.require_written("reweight", config.reweight)
    if weight in config.recode:
        raise UsageError(
            f"reweight: {weight} is recoded as well",
            where=where,
            hint=f"leave --recode {weight} out, or leave --reweight out",
        )
    drawn = {name for several in config.pram for name in together(several)} | {*config.swap.get("regions", ())}
    suppressed = {fact.name for fact in state.original.fields if fact.role is Role.QUASI_IDENTIFIER}
    changed = drawn | (suppressed if config.key_k is not None else set())
    if told := [name for name in config.reweight if name in changed]:
        raise UsageError(
            f"reweight: values of {', '.join(told)} are drawn anew, swapped or left out, and the weights of a class "
            "would tell them",
            where=where,
            hint="name other fields, such as a coarser region",
        )


def factors_of(
    records: Records, keep: NDArray[np.bool_], weight: str, within: Sequence[str]
) -> Mapping[_Class, Fraction]:
    """Return by what the weights of each class are multiplied, where it is not 1.

    Parameters
    ----------
    records : Records
        All of them, with n rows.
    keep : ndarray of bool, shape (n,)
        Those that are released.
    weight : str
    within : sequence of str
        Records that are alike in these fields are a class; what is missing is a value like any other.

    Raises
    ------
    InfeasibleError
        No record of a class is released, or none with a weight.
    """
    own = [exact_number(str(text)) if there else None for text, there in _texts(records.columns[weight])]
    classes = _classes(records, within)
    everything: dict[_Class, Fraction] = {}
    released: dict[_Class, Fraction] = {}
    for key, code, kept in zip(classes, records.columns[weight].codes.tolist(), keep.tolist(), strict=True):
        if (value := own[code]) is not None and value > 0:  # others are wrong, and left out
            everything[key] = everything.get(key, Fraction(0)) + value
            if kept:
                released[key] = released.get(key, Fraction(0)) + value
    if lost := [key for key in everything if not released.get(key)]:
        raise InfeasibleError(
            f"reweight: {counted(len(lost), 'class', 'classes')} of {', '.join(within)} would have no record left "
            "that could take the weight of those left out",
            hint="name fewer fields, or coarser ones; or correct these records: masktron validate lists them",
        )
    return {key: total / released[key] for key, total in everything.items() if total != released[key]}


def reweighted_column(records: Records, done: Reweighted) -> Column:
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
        new.append(texts[code] if value is None else _decimal(value * factors[factor], done.decimals))
    codes = column.codes.copy()
    codes[rows] = len(texts) + inverse
    return replace(
        column,
        codes=codes,
        lexicon=Lexicon.of([*texts, *new]),
        states=np.concatenate([column.states, np.full(len(new), Status.PRESENT, dtype=column.states.dtype)]),
        numbers=np.concatenate([column.numbers, np.array([parse_number(text) for text in new], dtype=np.float64)]),
        decimals=done.decimals,
    )


def untrue_weights(done: Reweighted, records: Records, keep: NDArray[np.bool_]) -> Iterator[str]:
    """Say where the factors of a manifest are not those that the original has."""
    try:
        found = factors_of(records, keep, done.field, done.within)
    except InfeasibleError as error:
        yield f"the weights {done.field} cannot have been spread as the manifest says: {error.what}"
        return
    if found != done.factors:
        yield f"the weights {done.field} were spread by other factors than the original has"


def spread_how(done: Reweighted) -> str:
    """Say how weights were spread, without a value of a record."""
    most = max((float(factor) for factor in done.factors.values()), default=1.0)
    return (
        f"the weights of records left out are spread over those of the same {', '.join(done.within)}: "
        f"times {most:.4g} at most"
    )


def _texts(column: Column) -> Iterator[tuple[object, bool]]:
    """Yield each text of a column, and whether it is a value."""
    return zip(column.lexicon.objects(), (column.states == Status.PRESENT).tolist(), strict=True)


def _classes(records: Records, within: Sequence[str]) -> list[_Class]:
    """Return the class of each record: its values in some fields, None where one is missing."""
    fields = []
    for name in within:
        texts = [str(text).strip() if there else None for text, there in _texts(records.columns[name])]
        fields.append([texts[code] for code in records.columns[name].codes.tolist()])
    return [*zip(*fields, strict=True)]


def _decimal(value: Fraction, digits: int) -> str:
    """Write a number with so many digits behind the point, without zeros at the end."""
    with localcontext(prec=60):
        number = Decimal(value.numerator) / Decimal(value.denominator)
        written = f"{number.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_EVEN):f}"
    return written.rstrip("0").rstrip(".") if "." in written else written
