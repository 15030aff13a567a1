"""One pass of exchanges between groups, compiled: what `masktron.grouping.exchange` does in Python, step for step.

Every sum runs over dimensions, members, rules and columns in order, as there, so that both decide alike to the last
bit. The members of a group stand in ascending order in a stretch of `pool`; a group that outgrows its stretch moves
to the end of the pool.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import is_compiled, kernel, part


class Rules(NamedTuple):
    """Disjuncts as in `masktron.grouping.disjuncts.Disjuncts`; `starts` ends with the number of columns."""

    holds: NDArray[np.bool_]
    starts: NDArray[np.int64]
    owners: NDArray[np.int64]
    values: NDArray[np.float64]
    limits: NDArray[np.float64]


class ExchangeGroups(NamedTuple):
    """What an exchange changes.

    Attributes
    ----------
    labels : ndarray of int64, shape (n,)
        Group of each record.
    sizes, begins, room : ndarray of int64, shape (groups,)
        Members of each group, where they begin in the pool, and for how many there is room.
    centres : ndarray of float64, shape (groups, d)
    own : ndarray of float64, shape (n,)
        Squared distance of each record to the centre of its group.
    counts : ndarray of int64, shape (groups, columns)
        Members that satisfy each disjunct.
    lacks : ndarray of int64, shape (groups,)
        Members in the way of shared disjuncts.
    changed : ndarray of bool, shape (groups,)
    """

    labels: NDArray[np.int64]
    sizes: NDArray[np.int64]
    begins: NDArray[np.int64]
    room: NDArray[np.int64]
    centres: NDArray[np.float64]
    own: NDArray[np.float64]
    counts: NDArray[np.int64]
    lacks: NDArray[np.int64]
    changed: NDArray[np.bool_]


class ExchangeScratch(NamedTuple):
    """Changes that help a record, by partner (-1 for a move) and group, and the members of two groups after one."""

    partners: NDArray[np.int64]
    homes: NDArray[np.int64]
    costs: NDArray[np.float64]
    members: NDArray[np.int64]
    sizes: NDArray[np.int64]


def exchange_ready() -> bool:
    """Tell whether compiled code is at hand; without it, the first call takes some seconds longer."""
    return is_compiled(exchange_pass)


def compile_exchange() -> None:
    """Compile the kernel, on two groups of one record."""
    points, records, none = np.zeros((2, 1)), np.arange(2), np.zeros((2, 0))
    rules = Rules(np.ones((2, 1), np.bool_), records, records[:0], none, none)
    ones, still = np.ones(2, np.int64), np.zeros(2, np.bool_)
    groups = ExchangeGroups(records, ones, records, ones, points, np.zeros(2), np.ones((2, 1), np.int64), ones, still)
    exchange_pass(points, rules, groups, records, records, np.zeros((2, 2), np.int32), still, 1, False, 1.0, 1)


@part
def _measure(
    points: NDArray[np.float64], rules: Rules, groups: ExchangeGroups, pool: NDArray[np.int64], group: int
) -> None:
    begin, size = groups.begins[group], groups.sizes[group]
    for at in range(points.shape[1]):
        total = points[pool[begin], at]
        for place in range(begin + 1, begin + size):
            total += points[pool[place], at]
        groups.centres[group, at] = total / size
    for column in range(rules.holds.shape[1]):
        count = 0
        for place in range(begin, begin + size):
            count += rules.holds[pool[place], column]
        groups.counts[group, column] = count
    for place in range(begin, begin + size):
        groups.own[pool[place]] = _squared(points, pool[place], groups.centres, group)
    groups.lacks[group] = _lack(rules, groups.counts[group], size)


@part
def _squared(one: NDArray[np.float64], i: int, other: NDArray[np.float64], j: int) -> float:
    total = 0.0
    for at in range(one.shape[1]):
        difference = one[i, at] - other[j, at]
        total += difference * difference
    return total


@part
def _lack(rules: Rules, counts: NDArray[np.int64], size: int) -> int:
    lack = 0
    for rule in range(len(rules.starts) - 1):
        most = counts[rules.starts[rule]]
        for column in range(rules.starts[rule] + 1, rules.starts[rule + 1]):
            most = max(most, counts[column])
        lack += size - most
    return lack


@part
def _lack_with(rules: Rules, groups: ExchangeGroups, group: int, size: int, leaving: int, joining: int) -> int:
    """Lack of a group after a record has left and another has joined; -1 for none."""
    lack = 0
    for rule in range(len(rules.starts) - 1):
        most = -1
        for column in range(rules.starts[rule], rules.starts[rule + 1]):
            count = groups.counts[group, column]
            if leaving >= 0:
                count -= rules.holds[leaving, column]
            if joining >= 0:
                count += rules.holds[joining, column]
            most = max(most, count)
        lack += size - most
    return lack


@part
def _admissible(rules: Rules, members: NDArray[np.int64]) -> bool:
    """Tell whether a member keeps the bounds of shared disjuncts of every rule in the place of all."""
    columns = rules.holds.shape[1]
    shared, kept = np.empty(columns, np.bool_), np.empty(columns, np.bool_)
    for column in range(columns):
        shared[column] = True
        for member in members:
            shared[column] &= rules.holds[member, column]
    lowest = np.empty(len(rules.owners))
    for bound in range(len(rules.owners)):
        lowest[bound] = np.inf
        for member in members:
            limit = rules.limits[member, bound]
            if limit < lowest[bound] or np.isnan(limit):
                lowest[bound] = limit
    for member in members:
        for column in range(columns):
            kept[column] = shared[column]
        for bound in range(len(rules.owners)):
            if not rules.values[member, bound] <= lowest[bound]:
                kept[rules.owners[bound]] = False
        fine = True
        for rule in range(len(rules.starts) - 1):
            found = False
            for column in range(rules.starts[rule], rules.starts[rule + 1]):
                found |= kept[column]
            fine &= found
        if fine:
            return True
    return False


@part
def _loses(
    rules: Rules, groups: ExchangeGroups, pool: NDArray[np.int64], group: int, members: NDArray[np.int64]
) -> bool:
    """Tell whether a group with bounds is admissible, but not with other members."""
    if _admissible(rules, members):
        return False
    begin = groups.begins[group]
    return bool(_admissible(rules, pool[begin : begin + groups.sizes[group]]))


@part
def _changed(
    groups: ExchangeGroups,
    pool: NDArray[np.int64],
    group: int,
    leaving: int,
    joining: int,
    members: NDArray[np.int64],
) -> int:
    """Write the members of a group after a change in ascending order, -1 for none; return how many there are."""
    size = 0
    begin = groups.begins[group]
    for place in range(begin, begin + groups.sizes[group]):
        member = pool[place]
        if member == leaving:
            continue
        if 0 <= joining < member:
            members[size] = joining
            size += 1
            joining = -1
        members[size] = member
        size += 1
    if joining >= 0:
        members[size] = joining
        size += 1
    return size


@part
def _replace(
    points: NDArray[np.float64],
    rules: Rules,
    groups: ExchangeGroups,
    pool: NDArray[np.int64],
    group: int,
    members: NDArray[np.int64],
) -> None:
    begin = groups.begins[group]
    for place in range(len(members)):
        pool[begin + place] = members[place]
        groups.labels[members[place]] = group
    groups.sizes[group] = len(members)
    groups.changed[group] = True
    _measure(points, rules, groups, pool, group)


@part
def _at_least(pool: NDArray[np.int64], needed: int) -> NDArray[np.int64]:
    if needed <= len(pool):
        return pool
    larger = np.empty(max(needed, len(pool) + len(pool) // 4), np.int64)
    for place in range(len(pool)):
        larger[place] = pool[place]
    return larger


@part
def _work(most: int) -> ExchangeScratch:
    pairs = np.empty((2, most), np.int64)
    return ExchangeScratch(pairs[0], pairs[1], np.empty(most), np.empty((2, most), np.int64), np.empty(2, np.int64))


@part
def _others(
    near: NDArray[np.int32],
    own: int,
    anew: bool,
    active: NDArray[np.bool_],
    changed: NDArray[np.bool_],
    others: NDArray[np.int64],
) -> int:
    """Write near groups without the record's own; where not anew, only those that changed. Return how many."""
    found = 0
    for group in near:
        if group != own and found < len(near) - 1:
            others[found] = group
            found += 1
    if anew:
        return found
    kept = 0
    for place in range(found):
        if active[others[place]] or changed[others[place]]:
            others[kept] = others[place]
            kept += 1
    return kept


@kernel
def exchange_pass(  # noqa: PLR0912 -- an inner function would be called with all arrays for each record
    points: NDArray[np.float64],
    rules: Rules,
    groups: ExchangeGroups,
    pool: NDArray[np.int64],
    records: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    active: NDArray[np.bool_],
    k: int,
    repair: bool,
    gain: float,
    trials: int,
) -> NDArray[np.int64]:
    """Look at some records in order, and carry out the best move or exchange of each.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
    rules : Rules
    groups : ExchangeGroups
        Changed in place.
    pool : ndarray of int64
        Members of all groups, each in ascending order; as the last pass returned it.
    records : ndarray of int64, shape (m,)
    neighbours : ndarray of int32, shape (m, near + 1)
        Groups near each record, in ascending order; all but its own are looked at, or else the first `near`.
    active : ndarray of bool, shape (groups,)
        Without repair, only changes that involve one of these or a changed group are looked at.
    k : int
    repair : bool
    gain : float
        Least reduction of the sum of squares, where nothing is to be repaired.
    trials : int
        Changes of one record whose bounds are checked.

    Returns
    -------
    ndarray of int64
        The pool, which may have grown.
    """
    used = 0
    for group in range(len(groups.sizes)):
        used = max(used, groups.begins[group] + groups.room[group])
    others = np.empty(neighbours.shape[1], np.int64)
    work = _work(1024)
    for position in range(len(records)):
        record = int(records[position])
        own = int(groups.labels[record])
        if repair and groups.lacks[own] == 0:
            continue
        anew = repair or active[own] or groups.changed[own]
        found = _others(neighbours[position], own, anew, active, groups.changed, others)
        if not found:
            continue
        needed = found + groups.sizes[own] + 1
        for place in range(found):
            needed += groups.sizes[others[place]]
        if needed > len(work.partners):
            work = _work(2 * needed)
        good = _worth(points, rules, groups, pool, record, others[:found], k, repair, gain, work)
        for _ in range(min(trials, good)):
            best = 0
            for place in range(1, good):
                if work.costs[place] < work.costs[best]:
                    best = place
            partner, home = int(work.partners[best]), int(work.homes[best])
            pair, leaving, joining = (own, home), (record, partner), (partner, record)
            fine = True
            # both sides in one place, so that what is called is compiled once
            for side in range(2):
                group = pair[side]
                size = _changed(groups, pool, group, leaving[side], joining[side], work.members[side])
                work.sizes[side] = size
                if fine and len(rules.owners) and _loses(rules, groups, pool, group, work.members[side, :size]):
                    fine = False
            if not fine:
                good -= 1
                for place in range(best, good):
                    work.partners[place], work.homes[place] = work.partners[place + 1], work.homes[place + 1]
                    work.costs[place] = work.costs[place + 1]
                continue
            if work.sizes[1] > groups.room[home]:
                groups.begins[home], groups.room[home] = used, 2 * work.sizes[1]
                used += 2 * work.sizes[1]
                pool = _at_least(pool, used)
            for side in range(2):
                _replace(points, rules, groups, pool, pair[side], work.members[side, : work.sizes[side]])
            break
    return pool


@part
def _worth(
    points: NDArray[np.float64],
    rules: Rules,
    groups: ExchangeGroups,
    pool: NDArray[np.int64],
    record: int,
    others: NDArray[np.int64],
    k: int,
    repair: bool,
    gain: float,
    work: ExchangeScratch,
) -> int:
    """Collect the changes of a record that help, in order: exchanges with members of others, then moves there."""
    own = int(groups.labels[record])
    size = int(groups.sizes[own])
    from_own = _squared(points, record, groups.centres, own)
    good = 0
    for moving in range(2 if size > k else 1):
        for home in others:
            home_size = int(groups.sizes[home])
            there = _squared(points, record, groups.centres, home)
            begin = groups.begins[home]
            for place in range(begin, begin + (1 if moving else home_size)):
                if moving:
                    partner = -1
                    cost = home_size / (home_size + 1) * there - size / (size - 1) * from_own
                else:
                    partner = int(pool[place])
                    apart = _squared(points, partner, points, record)
                    leaving = from_own + groups.own[partner]
                    joining = _squared(points, partner, groups.centres, own) + there
                    cost = joining - leaving - apart / size - apart / home_size
                if not repair and not cost < -gain:
                    continue
                here_lack = _lack_with(rules, groups, own, size - moving, record, partner)
                home_lack = _lack_with(rules, groups, home, home_size + moving, partner, record)
                before = groups.lacks[own] + groups.lacks[home]
                after = here_lack + home_lack
                if (here_lack and not groups.lacks[own]) or (home_lack and not groups.lacks[home]):
                    continue
                if after < before if repair else after <= before:
                    work.partners[good], work.homes[good], work.costs[good] = partner, home, cost
                    good += 1
    return good
