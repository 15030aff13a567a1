"""The best full-domain recoding of keys, what it must reach, and what it loses: a search over the lattice of levels.

A record that breaks what is demanded counts as if all its keys were suppressed, as in the sources. Local suppression
takes less; so a recoding that leaves records to suppress loses at most what is said here.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_value
from masktron.errors import InfeasibleError, UsageError
from masktron.problems.problem import Note, fields
from masktron.treatments.roll_up import KeyGroups, LeveledKey, key_groups

type _Floats = NDArray[np.float64]


class RecodingLoss(Protocol):
    """A measure of loss at a node of the lattice of levels."""

    def of_keys(self) -> Sequence[_Floats] | None:
        """Return the loss by each key at each of its levels with nothing suppressed; None where it is no such sum."""

    def at(self, groups: KeyGroups, left: NDArray[np.int64]) -> float:
        """Return the loss at a node, where `left` records of each combination break what is demanded."""

    def least(self, groups: KeyGroups) -> float:
        """Return what is lost here with nothing suppressed, and so at least at every node above."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyByKeyLoss:
    """A loss that is the sum of what each key loses in each record.

    Attributes
    ----------
    kept : tuple of ndarray of float64, shape (height + 1,) each
        For each key and level, the loss in all records together with nothing suppressed.
    labels : tuple of tuple of ndarray of float64
        For each key and level, by label, what suppression of one cell adds to it; the last entry is a missing value.
    """

    kept: tuple[_Floats, ...]
    labels: tuple[tuple[_Floats, ...], ...]

    def of_keys(self) -> Sequence[_Floats]:
        """Return `kept`."""
        return self.kept

    def at(self, groups: KeyGroups, left: NDArray[np.int64]) -> float:
        """Return the loss of the levels, and of suppression of what is left."""
        loss = self.least(groups)
        rows = np.flatnonzero(left)
        if len(rows):
            for codes, level, labels in zip(groups.codes, groups.levels, self.labels, strict=True):
                # whole numbers by label first: the sum does not depend on the order of the combinations
                cells = np.bincount(codes[rows] % len(labels[level]), left[rows], len(labels[level]))
                loss += float((cells * labels[level]).sum())
        return loss

    def least(self, groups: KeyGroups) -> float:
        """Return the loss of the levels."""
        return float(sum(kept[level] for kept, level in zip(self.kept, groups.levels, strict=True)))


def precision(keys: Sequence[LeveledKey]) -> KeyByKeyLoss:
    """Return the loss of precision: the mean of level by height over cells, 1 where a cell is suppressed.

    Parameters
    ----------
    keys : sequence of LeveledKey
        Their importance weighs the mean.

    Notes
    -----
    Source: Sweeney (2002), Achieving k-anonymity privacy protection using generalization and suppression, Prec; the
    loss is 1 - Prec.
    """
    n, total = max(1, len(keys[0])), sum(key.importance for key in keys)
    kept: list[_Floats] = []
    labels: list[tuple[_Floats, ...]] = []
    for key in keys:
        share = np.arange(key.height + 1) / max(1, key.height)
        kept.append(key.importance / total * share)
        more = key.importance / total * (1 - share) / n
        labels.append(
            tuple(np.full(int(own.max(initial=-1)) + 2, one) for own, one in zip(key.labels, more, strict=True))
        )
    return KeyByKeyLoss(tuple(kept), tuple(labels))


def entropy(keys: Sequence[LeveledKey]) -> KeyByKeyLoss:
    """Return non-uniform entropy: the mean of ``log(f(label) / f(value))`` over cells, by what suppressing all loses.

    f is the number of records with the value or with the label, n (those that have any) where a cell is suppressed.

    Parameters
    ----------
    keys : sequence of LeveledKey
        Their importance weighs the sums.

    Notes
    -----
    Missing values lose nothing. Where no key has two values, nothing can be lost, and the loss is 0.

    Source: Gionis and Tassa (2009), k-anonymization with minimal loss of information, non-uniform entropy; de Waal
    and Willenborg (1999), Information loss through global recoding and local suppression. It is the default of ARX.
    """
    kept: list[_Floats] = []
    labels: list[tuple[_Floats, ...]] = []
    whole = 0.0
    for key in keys:
        counts = np.bincount(key.codes[key.codes >= 0], minlength=len(key.labels[0]))
        n, used = int(counts.sum()), counts > 0
        rarity = _logs(counts)
        levels: list[float] = []
        by_label: list[_Floats] = []
        for own in key.labels:
            frequency = np.bincount(own, counts, int(own.max(initial=-1)) + 1)
            levels.append(key.importance * float((counts * (_logs(frequency)[own] - rarity))[used].sum()))
            by_label.append(key.importance * np.append(np.log(max(1, n)) - _logs(frequency), 0.0))
        kept.append(np.array(levels))
        labels.append(tuple(by_label))
        whole += key.importance * float((counts * (np.log(max(1, n)) - rarity))[used].sum())
    whole = whole or 1.0
    return KeyByKeyLoss(
        tuple(one / whole for one in kept), tuple(tuple(one / whole for one in levels) for levels in labels)
    )


def _logs(counts: NDArray[Any]) -> _Floats:
    found: _Floats = np.log(np.maximum(counts, 1))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Discernibility:
    """From how many records each cannot be told: the sum of the sizes of their combinations, n where suppressed.

    It is divided by n^2. The importance of fields does not enter.

    Notes
    -----
    Source: Bayardo and Agrawal (2005), Data privacy through optimal k-anonymization, discernibility metric. Sums of
    squares grow when combinations are put together: what is lost with nothing suppressed bounds all nodes above.
    """

    def of_keys(self) -> None:
        """Return None: no key has a share of its own."""
        return

    def at(self, groups: KeyGroups, left: NDArray[np.int64]) -> float:
        """Return the loss, with what is left suppressed."""
        n = int(groups.sizes.sum())
        return int(((groups.sizes - left) * groups.sizes + left * n).sum()) / max(1, n) ** 2

    def least(self, groups: KeyGroups) -> float:
        """Return the loss with nothing suppressed."""
        return self.at(groups, np.zeros(len(groups), dtype=np.int64))


def discernibility(keys: Sequence[LeveledKey]) -> Discernibility:
    """Return the measure of discernibility, which needs to know nothing of the keys."""
    del keys
    return Discernibility()


LOSSES: Mapping[str, Callable[[Sequence[LeveledKey]], RecodingLoss]] = {
    "entropy": entropy,
    "precision": precision,
    "discernibility": discernibility,
}
"""By name; the first is taken where none is named."""


_SLACK = 1e-12
"""By which share a mean of risks may lie above its limit: the order in which combinations are added up changes it."""


@dataclass(frozen=True, slots=True)
class KeyDemands:
    """What keys must reach. Every demand is monotone: a node above one that reaches it does so, too.

    Attributes
    ----------
    k : int
        Records that share each combination, at least.
    suppressed : int
        Records that may break `k` or `diversity`: they are left to local suppression.
    diversity : mapping of str to int
        For confidential fields, how many different values each combination has beside it, at least (distinct
        l-diversity). A record without a value of the field does not break it.
    mean_risk : float or None
        Mean individual risk of all records, at most, from 0 to 1; those that are left to suppress count as they are.

    Raises
    ------
    UsageError
        A number is out of its range.

    Notes
    -----
    Why all are monotone. A recoding puts combinations together. Let f be the records of a combination, F the sum of
    their weights, p = min(1, f / F).

    - k and l: f and the number of different values of a union are no smaller than those of its parts, so that who
      breaks neither before breaks neither after. So the records that break one are ever fewer.
    - Risk: the records of a combination have together the risk S(f, p) = E(p / (p + (1 - p) V)), with V of the
      distribution Beta(f, 1) (`individual_risk`: the integral of f v^(f-1) p / (p + (1 - p) v)). It falls in
      v and rises in p, and V rises with f: so S falls in f and rises in p. The p of a union is no larger than the
      larger p of its parts (f / F of a union lies between theirs), and its f no smaller than that part's: its S is at
      most that part's S, and so at most the sum.

    Source: Machanavajjhala et al. (2007), monotonicity of l-diversity; El Emam et al. (2009), with suppression.
    """

    k: int
    suppressed: int = 0
    diversity: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    mean_risk: float | None = None

    def __post_init__(self) -> None:
        if self.k < 1 or any(least < 1 for least in self.diversity.values()):
            raise UsageError.of("bad-value", name="k and l of keys", expected="1 or more", given="less")
        require_value(self.suppressed >= 0, "suppressed", "0 or more", self.suppressed)
        require_value(
            self.mean_risk is None or 0 < self.mean_risk <= 1, "mean_risk", "above 0 and at most 1", self.mean_risk
        )

    def left(self, groups: KeyGroups) -> NDArray[np.int64]:
        """Count the records of each combination that break k or l, shape (d,)."""
        small = groups.sizes < self.k
        left = np.where(small, groups.sizes, 0)
        if not self.diversity:
            return left
        names = list(groups.diverse)
        alike = np.zeros((len(groups), len(names)), dtype=np.bool_)
        for name, least in self.diversity.items():
            alike[:, names.index(name)] = groups.diverse[name].different(len(groups)) < least
        for at, pattern in enumerate(groups.patterns):
            breaks = ~small & (alike & pattern).any(axis=1)
            left += np.where(breaks, groups.having[:, at], 0)
        return left

    def hold(self, groups: KeyGroups, left: NDArray[np.int64]) -> bool:
        """Tell whether a node reaches them, given what `left` counts there."""
        if int(left.sum()) > self.suppressed:
            return False
        return self.mean_risk is None or groups.mean_risk <= self.mean_risk * (1 + _SLACK)


MOST_NODES = 5_000_000
"""Nodes of a lattice that are searched."""
_KEPT = 150_000_000
"""Bytes of combinations that are kept for nodes above."""
_MOST_KEPT = 400
"""Nodes whose combinations are kept."""
_WORTH = 0.8
"""Combinations that are worth keeping, as a share of those of the values themselves."""
_TIED = 1e-12
"""Losses that differ by less than this are one: rounding makes as much."""
_UNKNOWN, _REACHED, _BROKEN = 0, 1, 2

type Levels = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RecodedNode:
    """A node that was looked at, and reaches what is demanded.

    Attributes
    ----------
    levels : tuple of int
        The level of each key.
    loss : float
    left : int
        Records that break k or l there, and are left to suppress.
    smallest : int
        Records of the combination that has fewest.
    combinations : int
        Different ones.
    """

    levels: Levels
    loss: float
    left: int
    smallest: int
    combinations: int

    @property
    def rank(self) -> tuple[float, int, Levels]:
        """By what nodes are compared: loss, then the sum of levels, then levels from the first key on."""
        return round(self.loss / _TIED) * _TIED, sum(self.levels), self.levels


@dataclass(frozen=True, slots=True)
class RecodingSearch:
    """What was found.

    Attributes
    ----------
    best : RecodedNode
        No node that reaches what is demanded loses less.
    minimal : tuple of RecodedNode
        Nodes that reach it such that none below does, by rising loss; empty where they were not asked for.
    nodes : int
        Of the lattice.
    looked_at : int
        Nodes the combinations of which were counted.
    """

    best: RecodedNode
    minimal: tuple[RecodedNode, ...]
    nodes: int
    looked_at: int


def search_recodings(
    keys: Sequence[LeveledKey],
    demands: KeyDemands,
    loss: RecodingLoss,
    *,
    weights: NDArray[np.float64] | None = None,
    confidential: Mapping[str, NDArray[np.integer[Any]]] | None = None,
    accepted: Callable[[KeyGroups], bool] | None = None,
    minimal: bool = True,
) -> RecodingSearch:
    """Find the levels of keys that lose least and reach what is demanded.

    Parameters
    ----------
    keys : sequence of LeveledKey
    demands : KeyDemands
        All monotone; so they prune the lattice.
    loss : RecodingLoss
    weights : ndarray of float64, shape (n,), optional
    confidential : mapping of str to ndarray of int, shape (n,) each, optional
        Codes of the fields of ``demands.diversity``.
    accepted : callable, optional
        A further demand, which need not be monotone: it is tested at each node that is not ruled out, and prunes
        nothing.
    minimal : bool
        Find all minimal nodes, too. Without that, nodes that cannot lose less than the best so far are left
        out.

    Returns
    -------
    RecodingSearch
        The same with every order of records. Of equal losses the one with the smaller sum of levels is the best, then
        the one with lower levels from the first key on.

    Raises
    ------
    InfeasibleError
        Not even the highest levels reach what is demanded, or no node is accepted.
    UsageError
        There are more than 5,000,000 nodes, there is no record, a field of the demands is not given, or columns do
        not go together.

    Notes
    -----
    Whether a node reaches the demands is found along paths from low nodes to high ones by halving, and what is found
    is told of all nodes above, or below (predictive tagging). Where loss bounds the search, nodes are left out whose
    loss with nothing suppressed, which only grows upwards, is above the best so far. Combinations of a node are put
    together from those of a node below.

    Source: Kohlmayer, Prasser, Eckert, Kemper and Kuhn (2012), Flash: efficient, stable and optimal k-anonymity,
    algorithms 1 to 3; El Emam et al. (2009) for the demands with suppression.
    """
    if not keys or not len(keys[0]):
        raise UsageError.of("bad-arrays", detail="there is no key, or no record, to recode")
    if missing := sorted(set(demands.diversity) - set(confidential or {})):
        raise UsageError.of("bad-arrays", detail=f"{len(missing)} fields of the demands have no values")
    nodes = math.prod(key.height + 1 for key in keys)
    if nodes > MOST_NODES:
        raise UsageError.of(
            "too-many-values", number=nodes, things="ways to put levels of keys together", most=MOST_NODES
        )
    wanted = {name: (confidential or {})[name] for name in demands.diversity}
    lattice = _Lattice(keys, demands, loss, key_groups(keys, weights, wanted), accepted, bounded=not minimal)
    lattice.classify()
    best = lattice.cheapest()
    if best is None:
        raise _out_of_reach(keys, demands, lattice)
    found = sorted(lattice.minimal(), key=lambda node: node.rank) if minimal else []
    return RecodingSearch(best, tuple(found), nodes, lattice.looked_at)


def _out_of_reach(keys: Sequence[LeveledKey], demands: KeyDemands, lattice: _Lattice) -> InfeasibleError:
    top = lattice.groups_at(tuple(key.height for key in keys))
    left = int(demands.left(top).sum())
    what = f"{left} of {len(keys[0])} records break k = {demands.k}"
    what += "".join(f" or l = {least}" for least in {*demands.diversity.values()})
    if demands.mean_risk is not None:
        risk = 100 * max(top.mean_risk, top.modelled.mean)
        what += f", and the mean risk is {risk:.3g} %, where {100 * demands.mean_risk:.3g} % is allowed"
    coarse = fields([key.field for key in keys if not key.height] or [key.field for key in keys])
    suppressed = Note("suppress up to {left:record} ([[--suppressed {left}]]), ", left=left) if left else ""
    return InfeasibleError.of("recoding-out-of-reach", reason=what, suppressed=suppressed, keys=coarse)


@dataclass(slots=True, eq=False)
class _Lattice:
    """The nodes and what is known of them."""

    keys: Sequence[LeveledKey]
    demands: KeyDemands
    loss: RecodingLoss
    ground: KeyGroups
    accepted: Callable[[KeyGroups], bool] | None
    bounded: bool
    looked_at: int = 0
    found: dict[Levels, RecodedNode | None] = field(default_factory=dict)
    best: RecodedNode | None = None
    _state: NDArray[np.uint8] = field(init=False)
    _bound: NDArray[np.float64] = field(init=False)
    _kept: dict[Levels, KeyGroups] = field(default_factory=dict)
    _bytes: int = 0

    def __post_init__(self) -> None:
        shape = tuple(key.height + 1 for key in self.keys)
        self._state = np.full(shape, _UNKNOWN, dtype=np.uint8)
        self._bound = np.zeros(shape)
        by_key = self.loss.of_keys()
        for at, losses in enumerate(by_key or ()):
            self._bound += losses.reshape([-1 if axis == at else 1 for axis in range(len(shape))])

    def groups_at(self, levels: Levels) -> KeyGroups:
        """Return the combinations of a node, from those of the node below that has fewest of them."""
        known = self._kept.get(levels)
        if known is None:
            below = [one for one in self._kept if all(own <= level for own, level in zip(one, levels, strict=True))]
            source = min((self._kept[one] for one in below), key=len, default=self.ground)
            known = source if source.levels == levels else source.rolled_up(self.keys, levels)
            self._keep(known)
        return known

    def _keep(self, groups: KeyGroups) -> None:
        """Keep combinations that save work above, and let the oldest go."""
        if len(groups) > _WORTH * len(self.ground):
            return
        self._kept[groups.levels] = groups
        self._bytes += groups.nbytes
        while len(self._kept) > _MOST_KEPT or self._bytes > _KEPT:
            self._bytes -= self._kept.pop(next(iter(self._kept))).nbytes

    def _ruled_out(self, levels: Levels) -> bool:
        """Tell whether a node surely loses more than the best so far."""
        return self.best is not None and float(self._bound[levels]) > self.best.loss + _TIED

    def _open(self, levels: Levels) -> bool:
        return self._state[levels] == _UNKNOWN and not (self.bounded and self._ruled_out(levels))

    def check(self, levels: Levels) -> bool:
        """Look at a node, and tell what it says of others."""
        self.looked_at += 1
        groups = self.groups_at(levels)
        if self.loss.of_keys() is None:
            above = self._bound[tuple(slice(level, None) for level in levels)]
            np.maximum(above, self.loss.least(groups), out=above)
        left = self.demands.left(groups)
        if not self.demands.hold(groups, left):
            self._state[tuple(slice(level + 1) for level in levels)] = _BROKEN
            return False
        self._state[tuple(slice(level, None) for level in levels)] = _REACHED
        self._value(groups, left)
        return True

    def _value(self, groups: KeyGroups, left: NDArray[np.int64]) -> None:
        """Note the loss of a node that reaches the demands."""
        if self.accepted is not None and not self.accepted(groups):
            self.found[groups.levels] = None
            return
        loss = self.loss.at(groups, left)
        node = RecodedNode(groups.levels, loss, int(left.sum()), int(groups.sizes.min()), len(groups))
        self.found[groups.levels] = node
        if self.best is None or node.rank < self.best.rank:
            self.best = node

    def classify(self) -> None:
        """Find out of every node that is not ruled out whether it reaches the demands."""
        for flat in self._order().tolist():
            start = tuple(int(level) for level in np.unravel_index(flat, self._state.shape))
            waiting = [self._sorted(start)]
            while waiting:
                _, levels = heapq.heappop(waiting)
                if not self._open(levels):
                    continue
                path = self._path(levels)
                low, high = 0, len(path) - 1
                while low <= high:
                    middle = (low + high) // 2
                    if self.check(path[middle]):
                        high = middle - 1
                    else:
                        low = middle + 1
                        for other in self._above(path[middle]):
                            heapq.heappush(waiting, self._sorted(other))

    def _order(self) -> NDArray[np.intp]:
        """Return the positions of all nodes, by the sum of their levels."""
        sums = np.zeros(self._state.shape, dtype=np.int64)
        for at, size in enumerate(sums.shape):
            sums += np.arange(size).reshape([-1 if axis == at else 1 for axis in range(sums.ndim)])
        return np.argsort(sums, axis=None, kind="stable")

    def _sorted(self, levels: Levels) -> tuple[tuple[int, float], Levels]:
        """Return a node behind what it is sorted by: the sum of its levels, and how high they are."""
        shares = (level / max(1, key.height) for level, key in zip(levels, self.keys, strict=True))
        return (sum(levels), sum(shares)), levels

    def _above(self, levels: Levels) -> Iterator[Levels]:
        """Yield the nodes that are next above and not decided."""
        for at, key in enumerate(self.keys):
            if levels[at] < key.height:
                other = (*levels[:at], levels[at] + 1, *levels[at + 1 :])
                if self._open(other):
                    yield other

    def _path(self, levels: Levels) -> list[Levels]:
        """Return a node and undecided ones above it, each next to the one before."""
        path = [levels]
        while (other := min(self._above(path[-1]), key=self._sorted, default=None)) is not None:
            path.append(other)
        return path

    def cheapest(self) -> RecodedNode | None:
        """Value nodes that reach the demands, until none can lose less than the best."""
        reached = np.flatnonzero(self._state == _REACHED)
        for flat in reached[np.argsort(self._bound.ravel()[reached], kind="stable")].tolist():
            levels = tuple(int(level) for level in np.unravel_index(flat, self._state.shape))
            if levels not in self.found and not self._ruled_out(levels):
                self.looked_at += 1
                groups = self.groups_at(levels)
                self._value(groups, self.demands.left(groups))
        return self.best

    def minimal(self) -> list[RecodedNode]:
        """Return the nodes that reach the demands, and are accepted, such that none below does."""
        covered = np.zeros(self._state.shape, dtype=np.bool_)
        least: list[RecodedNode] = []
        for flat in self._order().tolist():
            if self._state.flat[flat] != _REACHED or covered.flat[flat]:
                continue
            levels = tuple(int(level) for level in np.unravel_index(flat, self._state.shape))
            if levels not in self.found:
                self.looked_at += 1
                groups = self.groups_at(levels)
                self._value(groups, self.demands.left(groups))
            node = self.found[levels]
            if node is not None:
                least.append(node)
                covered[tuple(slice(level, None) for level in levels)] = True
        return least
