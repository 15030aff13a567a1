"""Values drawn anew: those that the probabilities of a manifest allow, as often as chance explains.

Units (records, or households that are drawn as one) of a stratum to which the rules admit the same values are a
group. In it, a value is drawn by the shares s of the weight of the units that have each value, by one of two laws:

*By a share*: with probability a the value is drawn anew from s, else it stays. a is the same for all groups, but no
more than (1 - stay) / (1 - min s), and such that the share of all units is expected to change (Gouweleeuw et al.,
1998).
*By a matrix* P: a value j is drawn by P, and then the published value by P(true | j), with s as the prior, so that
published shares are expected to be s.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Indices
from masktron.counts import counted
from masktron.sources.dataset import Dataset
from masktron.step_kinds import Postrandomised
from masktron.verify.cells import combinations_of, hidden_records, numbered, units_of
from masktron.verify.findings import Findings
from masktron.verify.record_rules import RecordRules
from masktron.verify.release import Release

_ROUNDED = 1e-9


class CannotBeDrawnError(Exception):
    """No law draws values as a manifest says."""


def verify(step: Postrandomised, release: Release) -> Findings:
    """Test whether values were drawn by the probabilities of a manifest, among those that the rules admit.

    Cells of some fields may have been suppressed afterwards.
    """
    found, names, how, rules = Findings(), step.fields, step.settings, release.rules
    cannot = f"the values of {', '.join(names)} cannot have been drawn anew"
    pair = release.pair(names, [*how.within, step.weight, how.household], "drawn anew", cannot, found)
    if pair is None:
        return found
    before, released = pair
    if rules is None:
        found.not_checked.append(f"draws of {', '.join(names)}: need the rulebook of the manifest")
        return found
    reading = rules.reading(names, before.columns, step.let_go)
    read = {name for one in reading for name in one}.difference(names)
    household = () if how.household is None else (how.household,)
    if depends := sorted({*read, *how.within, *household}.intersection(release.unknown)):
        found.not_checked.append(
            f"draws of {', '.join(names)}: they depend on {', '.join(depends)}, changed before, of which cells are "
            "suppressed"
        )
        return found
    try:
        drawn = _units(step, before, released, release.suppressed)
        admitted = _admitted(drawn, rules, reading, before, names)
        deviations = [
            *draw_deviations(
                drawn.was,
                drawn.now,
                combinations_of([drawn.strata, admitted], len(admitted)),
                change=how.change,
                stay=how.stay,
                matrix=np.array(step.matrix) if step.matrix else None,
                weights=drawn.weights,
                hidden=drawn.hidden,
            )
        ]
    except CannotBeDrawnError as error:
        found.problems.append(f"{cannot}: {error}")
        return found
    said = f"of the values of {', '.join(names)}, which are drawn anew,"
    if drawn.torn:
        found.problems.append(f"{said} those of {counted(drawn.torn, 'household')} differ within it")
    unit = "record" if how.household is None else "household"
    found.problems += [f"{said} {one.told(unit)}" for one in deviations]
    found.checked.append(f"values of {', '.join(names)}, drawn anew, by the probabilities of the manifest")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """The u units of n records.

    Attributes
    ----------
    of_record : ndarray of intp, shape (n,)
    first : ndarray of intp, shape (u,)
        The first record of each.
    was, now : ndarray of intp, shape (u, fields)
        Values as numbers, those of a matrix in its order; -1 where missing.
    strata : ndarray of intp, shape (u,)
    weights : ndarray of float64, shape (u,)
    hidden : ndarray of bool, shape (u,)
        Of which no record shows what was drawn.
    torn : int
        Units of which records show different values.
    """

    of_record: Indices
    first: Indices
    was: NDArray[np.intp]
    now: NDArray[np.intp]
    strata: Indices
    weights: Floats
    hidden: NDArray[np.bool_]
    torn: int


def _units(step: Postrandomised, before: Dataset, released: Dataset, suppressed: Collection[str]) -> _Units:
    """Put records together to what is drawn as one."""
    names, how, n = step.fields, step.settings, len(before)
    pairs = [numbered([before.columns[name], released.columns[name]], step.values) for name in names]
    was, now = (np.column_stack([pair[at] for pair in pairs]) for at in (0, 1))
    if step.values and was.max(initial=-1) >= len(step.values):
        raise CannotBeDrawnError("the matrix has no row for a value of the original")
    weights = np.ones(n) if step.weight is None else before.columns[step.weight].values
    if not (weights > 0).all():
        raise CannotBeDrawnError(f"{step.weight} is not above 0 in each record")
    of_record = units_of(before, how.household)
    first = np.unique(of_record, return_index=True)[1]
    strata = combinations_of([before.columns[name].numbered() for name in how.within], n)
    for of, one in ((names, was), (how.within, strata[:, None])):
        if several := len(np.unique(of_record[(one != one[first][of_record]).any(axis=1)])):
            households = f"{counted(several, 'household')} of {len(first):,}"
            raise CannotBeDrawnError(f"{households} have more than one value of {', '.join(of)}")
    shown = np.flatnonzero(~hidden_records(names, [*was.T], [*now.T], suppressed))
    seen, at = np.unique(of_record[shown], return_index=True)
    shows = first.copy()
    shows[seen] = shown[at]
    unlike = (now[shown] != now[shows][of_record[shown]]).any(axis=1)
    return _Units(
        of_record,
        first,
        was[first],
        now[shows],
        strata[first],
        np.bincount(of_record, weights, len(first)),
        ~np.isin(np.arange(len(first)), seen),
        len(np.unique(of_record[shown[unlike]])),
    )


def _admitted(
    drawn: _Units,
    rules: RecordRules,
    reading: dict[tuple[str, ...], list[int]],
    before: Dataset,
    names: Sequence[str],
) -> Indices:
    """Number the units by the values that the rules admit in all their records; -1 where a value is missing."""
    complete = np.flatnonzero((drawn.was >= 0).all(axis=1))
    value = combinations_of([*drawn.was[complete].T], len(complete))
    one_of_each = drawn.first[complete[np.unique(value, return_index=True)[1]]]
    texts = (before.columns[name].lexemes_of(one_of_each).tolist() for name in names)
    records = np.flatnonzero(np.isin(drawn.of_record, complete))
    units = np.unique(drawn.of_record[records], return_inverse=True)[1]
    admitted = rules.admitted(reading, before.taken(records), names, [*zip(*texts, strict=True)]).of_units(units)
    if refused := int((~admitted.sets[admitted.which, value]).sum()):
        raise CannotBeDrawnError(f"the rules refuse what {counted(refused, 'record')} had before")
    found = np.full(len(drawn.was), -1, dtype=np.intp)
    found[complete] = admitted.which
    return found


@dataclass(frozen=True, slots=True)
class Deviation:
    """Where a written file is not what a law draws but once in very many times.

    Attributes
    ----------
    kind : str
        ``missing``: units of which a value went missing, or came from nowhere. ``excluded``: units with a combination
        that they cannot be given. ``changed``: units that have another value than before. ``frequency``: units with
        one combination.
    found : int
    least, most : int
        What is allowed.
    """

    kind: str
    found: int
    least: int = 0
    most: int = 0

    def told(self, unit: str) -> str:
        """Say it, without a value."""
        units, by_chance = counted(self.found, unit), f"{self.least:,} to {self.most:,} would be by chance"
        match self.kind:
            case "missing":
                return f"those of {units} are missing where the original has one, or the other way round"
            case "excluded":
                return f"those of {units} cannot be drawn there"
            case "changed":
                return f"{units} have another one than before; {by_chance}"
            case _:
                return f"one stands in {units}; {by_chance}"


def draw_deviations(
    was: NDArray[np.intp],
    now: NDArray[np.intp],
    group: Indices,
    *,
    change: float | None = None,
    stay: float = 0.0,
    matrix: Floats | None = None,
    weights: Floats | None = None,
    hidden: NDArray[np.bool_] | None = None,
    error: float = 1e-6,
) -> Iterator[Deviation]:
    """Compare written values with what a law draws: the contract of PRAM.

    Parameters
    ----------
    was, now : ndarray of intp, shape (n, fields)
        Values of the original and of the written file, numbered alike; -1 where missing.
    group : ndarray of intp, shape (n,)
        The same for units of a stratum to which the rules admit the same values. Any number where a value is missing.
    change, stay : float
        Share of the units that is expected to change, and probability with which every value stays at least.
    matrix : ndarray of float64, shape (c, c), optional
        In the place of `change`: probabilities of drawn values (columns) given true ones (rows).
    weights : ndarray of float64, shape (n,), optional
    hidden : ndarray of bool, shape (n,), optional
        Units of which a value was suppressed afterwards: whatever was drawn there may be what is lacking.
    error : float
        Probability, at most, that chance alone makes a file that was drawn by the law look otherwise.

    Raises
    ------
    CannotBeDrawnError
        So large a share cannot change.

    Notes
    -----
    The number of units that change, and that of units with each combination, are sums of independent draws with
    unlike probabilities. What is hidden may be of any kind, so that each number has a range, of which one has to be
    within the bounds. Beyond 1 from the mean, their tails are at most those of the binomial distribution with the
    same number of draws and the same mean (Hoeffding 1956, On the distribution of the number of successes in
    independent trials, Theorem 4): its quantiles bound them. `error` is divided among the tests and their two sides.
    """
    n = len(was)
    old, new = np.split(combinations_of([*np.concatenate([was, now]).T], 2 * n), 2)
    complete, shown = (was >= 0).all(axis=1), np.ones(n, dtype=np.bool_) if hidden is None else ~hidden
    lacking = shown & ((was < 0) != (now < 0)).any(axis=1)
    if lacking.any():
        yield Deviation("missing", int(lacking.sum()))
    groups = _groups(old, group, np.flatnonzero(complete), np.ones(n) if weights is None else weights)
    if matrix is None:
        laws = _by_share(groups, change or 0.0, stay)
    else:
        value_of = dict(zip(old[complete].tolist(), was[complete, 0].tolist(), strict=True))
        laws = [_by_matrix(matrix[[value_of[value] for value in one.values.tolist()]], one.shares) for one in groups]
    excluded = int((shown & ~complete & ~lacking & (old != new)).sum())
    draws, mean, lost = np.zeros((3, int(old.max(initial=-1)) + 1))
    several, expected, unseen = 0, 0.0, 0
    for one, law in zip(groups, laws, strict=True):
        seen = one.rows[shown[one.rows]]
        place = np.minimum(np.searchsorted(one.values, new[seen]), len(one.values) - 1)
        chance = law[np.searchsorted(one.values, old[seen]), place]
        excluded += int(((one.values[place] != new[seen]) | (chance <= 0)).sum())
        draws[one.values] += len(one.rows)
        mean[one.values] += one.counts @ law
        lost[one.values] += len(one.rows) - len(seen)
        if len(one.values) > 1:
            several += len(one.rows)
            expected += float(one.counts @ (1 - np.diag(law)))
            unseen += len(one.rows) - len(seen)
    if excluded:
        yield Deviation("excluded", excluded)
    values = np.unique(old[complete])
    each = error / (2 * (1 + len(values)))
    least, most = success_bounds(several, expected, each)
    changed = int((shown & complete & (old != new)).sum())
    if not least - unseen <= changed <= most:
        yield Deviation("changed", changed, least, most)
    written = np.bincount(new[shown & complete], minlength=len(draws))
    for value in values.tolist():
        least, most = success_bounds(int(draws[value]), float(mean[value]), each)
        if not least - lost[value] <= written[value] <= most:
            yield Deviation("frequency", int(written[value]), least, most)


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Units of a stratum to which the rules admit the same values.

    Attributes
    ----------
    rows : ndarray of intp
    values : ndarray of intp, shape (c,)
        Those that its units have, rising.
    counts, shares : ndarray of float64, shape (c,)
        Units with each of them, and their share of the weight.
    """

    rows: Indices
    values: Indices
    counts: Floats
    shares: Floats


def _groups(old: Indices, group: Indices, complete: Indices, weights: Floats) -> list[_Group]:
    order = complete[np.argsort(group[complete], kind="stable")]
    found = []
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else ():
        values, which = np.unique(old[rows], return_inverse=True)
        weight = np.bincount(which, weights[rows])
        found.append(_Group(rows, values, np.bincount(which).astype(np.float64), weight / weight.sum()))
    return found


def _by_share(groups: Sequence[_Group], change: float, stay: float) -> list[Floats]:
    """Return the probability of each written value (column) given the true one (row), in each group."""
    from scipy.optimize import brentq  # noqa: PLC0415 -- most runs do without

    slopes = np.array([one.counts @ (1 - one.shares) for one in groups])
    caps = np.array([min(1.0, (1 - stay) / (1 - min(one.shares))) if len(one.values) > 1 else 0.0 for one in groups])
    wanted = change * sum(len(one.rows) for one in groups)

    def beyond(redrawn: float) -> float:
        return float(slopes @ np.minimum(redrawn, caps)) - wanted

    if beyond(1) < -_ROUNDED * wanted:
        raise CannotBeDrawnError(f"{100 * change:g} % of the values cannot change")
    redrawn = np.minimum(brentq(beyond, 0, 1, xtol=1e-15), caps) if beyond(1) > 0 else caps
    return [
        (1 - a) * np.eye(len(one.shares)) + a * one.shares[None, :]
        for a, one in zip(redrawn.tolist(), groups, strict=True)
    ]


def _by_matrix(matrix: Floats, shares: Floats) -> Floats:
    """Return the probability of each written value given the true one, where a value is drawn and then undone.

    Parameters
    ----------
    matrix : ndarray of float64, shape (c, m)
        The rows of the values of a group.
    shares : ndarray of float64, shape (c,)
    """
    joint = shares[:, None] * matrix
    drawn = joint.sum(axis=0)
    true = joint[:, drawn > 0] / drawn[drawn > 0]
    return np.asarray(matrix[:, drawn > 0] @ true.T)


def success_bounds(trials: int, mean: float, error: float) -> tuple[int, int]:
    """Return the least and the most successes of unlike draws, but for a probability of at most `error` each side."""
    return _least(trials, mean, error), trials - _least(trials, trials - mean, error)


def _least(trials: int, mean: float, error: float) -> int:
    """Return the least number of successes, up to the mean less 1, that is not below the quantile of `error`."""
    from scipy.special import betainc  # noqa: PLC0415 -- most runs do without

    below = range(max(0, floor(mean - 1) + 1))

    def is_likely(successes: int) -> bool:
        # P(X <= s) is the regularised incomplete beta function I_{1-p}(n - s, s + 1)
        return bool(betainc(trials - successes, successes + 1, max(0.0, 1 - mean / trials)) > error)

    return bisect_left(below, True, key=is_likely)
