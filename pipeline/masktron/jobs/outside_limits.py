"""What helps where a masked file is outside its limits, in words: first for the figures that are outside."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Mapping
from decimal import Decimal

import numpy as np

from masktron.config import Role
from masktron.counts import counted
from masktron.figures import OF_KEYS_ALONE, figure_of
from masktron.jobs.prepared import Prepared
from masktron.results import KeyRisk
from masktron.sources.records import Column

DIVERSITY = "l_diversity"
KEY_K = 3
"""Records that share each combination of keys where nobody asks for more."""


def what_helps(run: Prepared, keys: KeyRisk | None, over: Collection[str]) -> str:
    """Say what changes the figures that are outside their limits, and nothing that cannot change them.

    Parameters
    ----------
    run : Prepared
    keys : KeyRisk or None
        Of the masked file.
    over : collection of str
        Names of the figures.
    """
    said = _of_keys(run, keys, over) if keys is not None else []
    masked = {*run.plan.by_role(Role.CONFIDENTIAL)}
    if DIVERSITY in over:
        said.append("local suppression makes records alike, and their masked values need not differ")
    if keys is None or not masked.isdisjoint(keys.fields) or not {*OF_KEYS_ALONE}.issuperset(over):
        said.append("another k, --grouping all or other roles change figures of masked fields")
    return "; ".join([*filter(None, said), "or give another limit"])


def _of_keys(run: Prepared, keys: KeyRisk, over: Collection[str]) -> list[str]:
    """Say what changes figures of keys."""
    own = [name for name in over if "keys" in figure_of(name).needs and figure_of(name).group == "risk"]
    if not own:
        return []
    weight = _of_weight(run, keys, own)
    return [weight] if _by_weight_alone(run, keys, own) else [_of_others(run, keys, own), weight]


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


def _of_others(run: Prepared, keys: KeyRisk, over: Collection[str]) -> str:
    """Say how keys are treated, and where that is tried."""
    named = (
        ""
        if keys.stated
        else "no quasi-identifier is named, so that all unmasked fields count: name what others may know (--role "
        "FIELD=quasi-identifier); "
    )
    return (
        f"{named}{', '.join(over)} {'is' if len(over) == 1 else 'are'} of the keys {', '.join(keys.fields)} as they "
        "are written: write some in classes (--recode FIELD=width:10, or a hierarchy, --recode FIELD=FILE.csv)"
        f"{_by_suppression(run, over)}, or leave a field out (--role FIELD=identifier); masktron keys tries this and "
        f"writes nothing, masktron recode{_diversity(run, over)} finds the classes that lose least"
    )


def _by_suppression(run: Prepared, over: Collection[str]) -> str:
    """Say what leaving out cells does: it makes records alike, and promises nothing of the values beside them."""
    if set(over) == {DIVERSITY} or run.config.key_k is not None:
        return ""
    k = fewest_alike(run.config.limits)
    return f", leave out cells until {k} records are alike (--key-k {k})"


def _diversity(run: Prepared, over: Collection[str]) -> str:
    """Say with which limit classes are looked for where the values beside the keys are too few."""
    return f" with --limit {DIVERSITY}={run.config.limits[DIVERSITY]:g}" if DIVERSITY in over else ""


def _of_weight(run: Prepared, keys: KeyRisk, over: Collection[str]) -> str:
    """Say what the weight does to figures of keys: it is a key where it is written."""
    without = keys.below_without_weight
    if keys.weight is None or without is None or keys.below == without:
        return ""
    k, alike = next((k, n) for k, n in keys.below.items() if n != without[k])
    recoded = keys.weight in run.config.recode
    how = "breaks:0:mean" if recoded else weight_classes(run.untreated.kept.columns[keys.weight], run.config.k)
    alone = "the weight alone breaks this: " if _by_weight_alone(run, keys, over) else ""
    return (
        f"{alone}the weight {keys.weight} is written and counts as a key, which --key-k never leaves out: by it, "
        f"{counted(alike, 'record')} in the place of {without[k]:,} share their keys with fewer than {k}. Write the "
        f"means of {'fewer' if recoded else 'a few'} classes with many records each (--recode "
        f"{shlex.quote(f'{keys.weight}={how}')}), or leave the field out: "
        f"--role {shlex.quote(f'{keys.weight}=identifier')}"
    )


def _by_weight_alone(run: Prepared, keys: KeyRisk, over: Collection[str]) -> bool:
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
