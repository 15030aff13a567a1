"""How each figure of `masktron.figures` is computed from two files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.figures import OF_KEYS_ALONE as RISKS_OF_KEYS
from masktron.figures import Figure, figure_of
from masktron.measures.achieved_k import achieved_k
from masktron.measures.assessed import Assessed, numbers_of
from masktron.measures.classes import biases_of_fields, class_chi_square
from masktron.measures.correlation_change import correlation_change_of_fields
from masktron.measures.differencing import Differencing
from masktron.measures.dominance import p_percent
from masktron.measures.homogeneity import homogeneity
from masktron.measures.il1s import il1s_of_fields
from masktron.measures.information_loss import loss_of_fields
from masktron.measures.interval_disclosure import deviations_of_fields, ranks_of_fields
from masktron.measures.keys.diversity import l_diversity
from masktron.measures.keys.key_file import KeyFile
from masktron.measures.keys.key_loss import key_loss
from masktron.measures.linkage import TREE_FROM, linkage_of_fields
from masktron.measures.linkage_variants import groups_of_fields, knowledge_of_fields, second, second_of_fields
from masktron.measures.pil import pil_of_fields
from masktron.measures.propensity import CART_RECORDS, LEAF, Pmse, Terms, pmse, pmse_cart
from masktron.measures.revealed import Revealed, revealed
from masktron.measures.score import DisclosureRisk, score
from masktron.measures.strongest_link import strongest_linkage
from masktron.measures.subdomains import subdomains_of_fields
from masktron.measures.true_cells import true_cells_of_fields
from masktron.measures.unchanged import same_cells
from masktron.progress import Told, untold

MOST_KNOWN = 6
"""Numbers that the best informed intruder of `linkage_knowledge` knows, as in constrained microaggregation (2009)."""


REGRESSED = 100_000
"""Respondents of a larger file that regressions are fitted to, drawn with a fixed seed."""

SAMPLED: Mapping[str, int] = MappingProxyType(
    {"pmse": REGRESSED, "pmse_ratio": REGRESSED, "pmse_cubic": REGRESSED, "pmse_tree": CART_RECORDS}
)
"""Respondents that a figure is computed from at most."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The value of a figure that may be estimated from a sample of records.

    Attributes
    ----------
    value : float
    interval : tuple of float, or None
        Interval of 95 per cent; None where all records were looked at.
    """

    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Worst:
    """The value of a figure that is looked at field by field, and the field where it is worst."""

    value: float
    field: str


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure and its value.

    Attributes
    ----------
    figure : Figure
    value : float
        NaN where the files have nothing of what it is about.
    field : str
        Where it is worst, for figures that are looked at field by field; else empty.
    interval : tuple of float, or None
        Interval of 95 per cent, for figures that are estimated from a sample of records.
    """

    figure: Figure
    value: float
    field: str = ""
    interval: tuple[float, float] | None = None


def measure(names: Iterable[str], files: Assessed, told: Told = untold) -> tuple[Measured, ...]:
    """Compute some figures.

    Parameters
    ----------
    names : iterable of str
        Of `masktron.figures.FIGURES`; what they need has to be known of the files.
    files : Assessed
    told : callable, optional
        Told of the figures that are computed, and of how many there are.

    Raises
    ------
    UsageError
        A value is infinite.
    """
    found = []
    names = tuple(names)
    for position, name in enumerate(names):
        told(position, len(names))
        value = files.known[name] if name in files.known else COMPUTED[name](files)
        match value:
            case Worst():
                found.append(Measured(figure_of(name), value.value, value.field))
            case Estimate():
                found.append(Measured(figure_of(name), value.value, interval=value.interval))
            case _:
                found.append(Measured(figure_of(name), value))
    told(len(names), len(names))
    return tuple(found)


def unpaired(names: Iterable[str], files: Assessed) -> tuple[str, ...]:
    """Name the figures that need to know which record belongs to which, where nobody does.

    Weights are those of the original, so with them every figure does.
    """
    return tuple(name for name in names if not files.paired and (figure_of(name).paired or files.weights is not None))


def _of_numbers[Value](function: Callable[[Assessed], Value]) -> Callable[[Assessed], Value | float]:
    """Say nothing where there is no number, instead of what a measure says of no column."""
    return lambda files: function(files) if files.numeric else math.nan


def _of_cells(function: Callable[[Assessed], float]) -> Callable[[Assessed], float]:
    """Say nothing where no cell has a number in both files: what became missing has not kept its information."""
    return _of_numbers(lambda files: function(files) if _share_a_cell(files) else math.nan)


def _share_a_cell(files: Assessed) -> bool:
    return any(not (np.isnan(before) | np.isnan(after)).all() for before, after in files.pairs)


def _linkage_groups(files: Assessed) -> float:
    blocks = files.numeric_blocks
    return files.by_field(groups_of_fields, groups=blocks, workers=files.workers) if blocks else math.nan


def _linkage_knowledge(files: Assessed) -> float:
    known = min(len(files.numeric), MOST_KNOWN)
    return files.by_field(knowledge_of_fields, known=known, workers=files.workers)


def _linkage(files: Assessed) -> float:
    return files.by_field(linkage_of_fields, workers=files.workers)


def _strongest_linkage(files: Assessed) -> Estimate | float:
    if not files.original:
        return math.nan
    found = strongest_linkage(files.before, files.after, files.known_exactly, tuple(files.category_pairs))
    return Estimate(found.share, found.interval)


def _linkage_second(files: Assessed) -> float:
    if len(files) < TREE_FROM:
        return files.once(second, workers=files.workers)
    return files.by_field(second_of_fields, workers=files.workers)


def _sole_values(files: Assessed) -> float:
    """A file that publishes no number has no share of them."""
    found = files.by_field(true_cells_of_fields)
    return found.sole if found.cells else math.nan


def _disclosure_risk(files: Assessed) -> float:
    return DisclosureRisk(_linkage(files), files.by_field(ranks_of_fields)).total


def _score(files: Assessed) -> float:
    """A file of which the original has no numbers left has no loss, and so no score."""
    loss = files.by_field(pil_of_fields).total
    return math.nan if math.isnan(loss) else score(loss, _disclosure_risk(files))


def _pmse(files: Assessed, terms: Terms = "squares") -> Pmse | None:
    """What the regression tells; None where it was given up, so that a value would be a guess."""
    found = files.once(pmse, terms=terms, sample=REGRESSED)
    return found if found.converged else None


def _pmse_value(files: Assessed) -> float:
    found = _pmse(files)
    return math.nan if found is None else found.value


def _pmse_ratio(files: Assessed, terms: Terms = "squares") -> float:
    found = _pmse(files, terms)
    return math.nan if found is None else found.ratio


def _pmse_tree(files: Assessed) -> float:
    """A tree that cannot have two leaves sees nothing, whatever was masked."""
    return math.nan if len(files) < LEAF else files.once(pmse_cart).ratio


def _dominance(files: Assessed) -> float:
    """Join the shares of all blocks; contributions are original values, weighted where totals are."""
    weights = 1.0 if files.weights is None else files.weights[:, np.newaxis]
    totals = sensitive = 0.0
    for block, groups in zip(files.blocks, files.groups, strict=True):
        names = [name for name in files.numeric if name in block and not (files.original[name].values < 0).any()]
        values = numbers_of(files.original, names)
        if values.shape[1]:
            found = p_percent(values * weights, groups)
            totals += found.totals
            sensitive += found.totals * found.sensitive
    return sensitive / totals if totals else math.nan


def _by_class(
    function: Callable[[NDArray[np.intp], NDArray[np.int32]], float],
) -> Callable[[Assessed], float | Worst]:
    """Look at the groups of each block."""

    def worst(files: Assessed) -> float | Worst:
        if files.classes is None or not (files.classes >= 0).any():
            return math.nan
        blocks = zip(files.blocks, files.groups, strict=True)
        return _worst({", ".join(block): function(groups, files.classes) for block, groups in blocks})

    return worst


def _medoid_share(files: Assessed) -> float:
    """Refuse to guess: that a group equals a record does not tell whether it was made so."""
    return files.known["medoid_share"]


def _unchanged(files: Assessed) -> float:
    same = present = 0
    for name, column in files.original.items():
        same += int(same_cells(column, files.masked[name])[column.present].sum())
        present += int(column.present.sum())
    return 100.0 * same / present if present else math.nan


def _revealed(files: Assessed) -> float:
    """Join the values of all blocks; rules also read fields that were not masked."""
    original = files.everything or files.original
    found = [
        revealed([name for name in block if name in original], original, files.masked, groups, files.relations)
        for block, groups in zip(files.blocks, files.groups, strict=True)
    ]
    return Revealed(sum(one.cells for one in found), sum(one.revealed for one in found)).share


def _differencing(files: Assessed) -> float | Worst:
    """Join the values of all fields, and name the one of which most is given away."""
    found = {name: one for name, one in files.differenced.items() if one.values}
    if not found:
        return math.nan
    most = max(found, key=lambda name: found[name].share)
    return Worst(Differencing.of_all(found.values()).share, most if found[most].given_away else "")


def _of_keys(function: Callable[[KeyFile], float]) -> Callable[[Assessed], float]:
    """Say nothing where nobody knows which fields others know, or there is no record."""
    return lambda files: function(files.keys) if files.keys is not None and len(files.keys) else math.nan


def _l_diversity(files: Assessed) -> float | Worst:
    """Take the masked field with the fewest values beside a combination of keys; keys themselves tell nothing new."""
    keys = files.keys
    if keys is None:
        return math.nan
    least = {
        name: l_diversity([keys.classes], files.masked[name].numbered(held=True))
        for name in files.masked
        if name not in keys.names
    }
    known = {name: value for name, value in least.items() if not math.isnan(value)}
    if not known:
        return math.nan
    name = min(known, key=known.__getitem__)
    return Worst(known[name], name)


def _key_loss(files: Assessed) -> float:
    """Say nothing where nobody knows what the keys were; a weight is not treated.

    Users have the file as it is written, so that cells which an intruder reads off are lost to them.
    """
    now = None if files.keys is None else files.keys.as_written or files.keys
    if now is None or not len(now) or (before := files.keys_before()) is None:
        return math.nan
    names = [name for name in before.names if name != before.weight]
    gone = np.full(len(now), -1, dtype=np.int32)
    return key_loss([before.columns[name] for name in names], [now.columns.get(name, gone) for name in names])


def _joint_risk(files: Assessed) -> float:
    keys = _of_keys(lambda own: 100 * own.mean_risk)(files)
    return (_disclosure_risk(files) + files.known.get("global_risk", keys)) / 2


def _correlation_change(files: Assessed) -> float | Worst:
    found = files.by_field(correlation_change_of_fields)
    return math.nan if found.pair is None else Worst(found.largest, ", ".join(files.numeric[at] for at in found.pair))


def _eta_squared_change(files: Assessed) -> float | Worst:
    """Take the pair that changed most; a number that no longer varies has lost all of what was explained."""
    return _worst(
        {
            f"{name}, {by}": abs((0.0 if math.isnan(after.share) else after.share) - before.share)
            for (name, by), (before, after) in files.explained.items()
            if not math.isnan(before.share)
        }
    )


def _worst(values: Mapping[str, float]) -> float | Worst:
    """Take the largest; a field for which there is no value, such as a total that grew from nothing, is worse."""
    if not values:
        return math.nan
    name = max(values, key=lambda one: math.inf if math.isnan(values[one]) else values[one])
    return Worst(values[name], name)


OF_KEYS_ALONE = (*RISKS_OF_KEYS, "key_loss")
"""Figures that depend on keys alone, and on no masked field."""
COMPUTED: Mapping[str, Callable[[Assessed], float | Worst | Estimate]] = MappingProxyType(
    {
        "block_k": lambda files: float(min((np.bincount(own).min() for own in files.groups), default=math.nan)),
        "medoid_share": _medoid_share,
        "whole_record_k": lambda files: float(achieved_k([*files.codes.values()]) if files.codes else len(files)),
        "dominance": _dominance,
        "linkage": _of_numbers(_linkage),
        "strongest_linkage": _strongest_linkage,
        "linkage_second": _of_numbers(_linkage_second),
        "linkage_groups": _linkage_groups,
        "linkage_knowledge": _of_numbers(_linkage_knowledge),
        "interval_ranks": _of_numbers(lambda files: files.by_field(ranks_of_fields)),
        "interval_deviation": _of_numbers(lambda files: files.by_field(deviations_of_fields)),
        "disclosure_risk": _of_numbers(_disclosure_risk),
        "unchanged": _unchanged,
        "revealed": _revealed,
        "sole_values": _of_numbers(_sole_values),
        "differencing": _differencing,
        "key_k": _of_keys(lambda keys: keys.frequencies.smallest),
        "key_uniques": _of_keys(lambda keys: keys.frequencies.below(2)),
        "key_population_uniques": _of_keys(lambda keys: keys.alone_in_population),
        "individual_risk": _of_keys(lambda keys: keys.mean_risk),
        "global_risk": _of_keys(lambda keys: 100 * keys.mean_risk),
        "prosecutor_risk": _of_keys(lambda keys: 100 * float((1 / keys.frequencies.sample).mean())),
        "joint_risk": _of_numbers(_joint_risk),
        "suda_share": _of_keys(lambda keys: keys.uniqueness.share),
        "l_diversity": _l_diversity,
        "homogeneous_groups": _by_class(homogeneity),
        "class_imbalance": _by_class(class_chi_square),
        "information_loss": _of_cells(lambda files: files.by_field(loss_of_fields)),
        "total_change": lambda files: _worst(
            {name: abs(total.change) for name, total in zip(files.numeric, files.totals, strict=True)}
        ),
        "category_change": lambda files: _worst({name: shares.distance for name, shares in files.categories.items()}),
        "il1s": _of_cells(lambda files: files.by_field(il1s_of_fields)),
        "pil": _of_numbers(lambda files: files.by_field(pil_of_fields).total),
        "score": _of_numbers(_score),
        "key_loss": _key_loss,
        "joint_loss": _of_numbers(
            lambda files: (files.by_field(pil_of_fields).total + files.known.get("key_loss", _key_loss(files))) / 2
        ),
        "mean_bias": _of_numbers(lambda files: files.by_field(biases_of_fields).abim),
        "deviation_bias": _of_numbers(lambda files: files.by_field(biases_of_fields).abisd),
        "correlation_change": _correlation_change,
        "eta_squared_change": _eta_squared_change,
        "subdomain_means": _of_numbers(lambda files: files.by_field(subdomains_of_fields).means),
        "subdomain_correlations": _of_numbers(lambda files: files.by_field(subdomains_of_fields).correlations),
        "pmse": _of_numbers(_pmse_value),
        "pmse_ratio": _of_numbers(_pmse_ratio),
        "pmse_cubic": _of_numbers(lambda files: _pmse_ratio(files, "cubic")),
        "pmse_tree": _of_numbers(_pmse_tree),
    }
)
"""The function of each figure, by its name."""
