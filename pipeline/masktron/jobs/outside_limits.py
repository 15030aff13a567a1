"""What helps where a masked file is outside its limits, in words: first for the figures that are outside."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal

import numpy as np

from masktron.config import Role
from masktron.figures import OF_KEYS_ALONE, figure_of
from masktron.jobs.run import Run
from masktron.problems.problem import Field, Note, Problem
from masktron.results import KeyRisk
from masktron.sources.column import Column

DIVERSITY = "l_diversity"
KEY_K = 3
"""Records that share each combination of keys where nobody asks for more."""


_RARE_KEYS = (
    "name only what others may know ([[--role FIELD=quasi-identifier]]), write keys in wider classes "
    "([[--recode FIELD=width:10]]), suppress cells ([[--key-k {k}]]), or remove a field "
    "([[--role FIELD=identifier]]); masktron keys tries this without writing, and masktron recode finds the classes "
    "that lose least"
)
_KEYS_TELL_VALUES = (
    "for l_diversity write keys in wider classes: masktron recode with [[--limit l_diversity={limit}]] finds those "
    "that lose least; suppression makes records alike, and promises nothing of the values beside the keys"
)
_WEIGHT_IS_A_KEY = (
    "because the weight {weight} counts as a key, {alike:record} instead of {without:,} share their keys with fewer "
    "than {k}: write the means of few classes ([[--recode {weight}={how}]]), or remove it "
    "([[--role {weight}=identifier]])"
)


def what_helps(run: Run, keys: KeyRisk | None, over: Collection[str]) -> Iterator[Problem]:
    """Say what changes figures that are outside their limits, and nothing that cannot change them.

    Parameters
    ----------
    run : Run
    keys : KeyRisk or None
        Of the masked file.
    over : collection of str
        Names of the figures.
    """
    own = [name for name in over if "keys" in figure_of(name).needs and figure_of(name).group == "risk"]
    masked = {*run.plan.by_role(Role.CONFIDENTIAL)}
    if keys is None or not masked.isdisjoint(keys.fields) or not {*OF_KEYS_ALONE}.issuperset(over):
        yield Note("another k, [[--grouping all]] or other roles change figures of masked fields")
    if keys is None or not own:
        return
    weight = _of_weight(run, keys)
    if weight is not None:
        yield weight
    if weight is None or not _by_weight_alone(run, keys, own):
        if {*own} - {DIVERSITY}:
            yield Note(_RARE_KEYS, k=fewest_alike(run.config.limits))
        if DIVERSITY in own:
            yield Note(_KEYS_TELL_VALUES, limit=f"{run.config.limits[DIVERSITY]:g}")


def fewest_alike(limits: Mapping[str, float]) -> int:
    """Return how many records are to share each combination of keys: what a limit asks for, else `KEY_K`."""
    return max(2, math.ceil(limits.get("key_k", KEY_K)))


def weight_classes(column: Column, k: int) -> str:
    """Return how a weight is recoded to the means of two classes at a round number, or of one.

    Parameters
    ----------
    column : Column
    k : int
        A class of fewer records has no mean.

    Returns
    -------
    str
        ``breaks:0,100:mean``: the number is 1, 2 or 5 by a power of ten that cuts nearest to the middle.
    """
    values = column.values[column.is_number]
    rounds = [Decimal(step).scaleb(power) for power in range(-6, 15) for step in (1, 2, 5)]
    below = np.searchsorted(np.sort(values), [float(one) for one in rounds])
    fewer = np.minimum(below, len(values) - below)
    best = int(np.argmax(fewer))
    return f"breaks:0,{rounds[best]:f}:mean" if fewer[best] >= k else "breaks:0:mean"


def _of_weight(run: Run, keys: KeyRisk) -> Problem | None:
    """Say what the weight does to figures of keys: it is a key where it is written."""
    without = keys.below_without_weight
    if keys.weight is None or without is None or keys.below == without:
        return None
    k, alike = next((k, n) for k, n in keys.below.items() if n != without[k])
    recoded = keys.weight in run.config.recode
    how = "breaks:0:mean" if recoded else weight_classes(run.original.kept.columns[keys.weight], run.config.k)
    weight, others = Field(keys.weight), without[k]
    return Note(_WEIGHT_IS_A_KEY, weight=weight, alike=alike, without=others, k=int(k), how=how)


def _by_weight_alone(run: Run, keys: KeyRisk, over: Collection[str]) -> bool:
    """Tell whether the other keys by themselves are known to keep the limits."""
    return all(_kept_without_weight(name, run.config.limits[name], keys) for name in over)


def _kept_without_weight(name: str, bound: float, keys: KeyRisk) -> bool:
    without = keys.below_without_weight or {}
    match name:
        case "key_k":
            return any(int(k) >= bound and not few for k, few in without.items())
        case "key_uniques":
            return bool(without) and without["2"] <= bound
        case _:
            return False
