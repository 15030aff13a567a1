"""The stages of one block: prototypes that are found for many groups at once, and what is left, group by group.

Groups of one *kind* ask the same: the same fields have values, their categories and their unmasked fields are the
same, and most of their records satisfy the same disjuncts. They differ in their aggregates, which are columns.

1. Aggregates: what stands for each group before the rules are asked (`patterns`).
2. Patterns: what a prototype may look like, by missing values and categories (`patterns`).
3. Candidates for many groups at once: rounded, on the lattice around, projected on a case (`cases`).
4. Candidates for single groups that are left, the best first (`group_searches`).
5. Each candidate is judged in every context of its group; the first that is accepted is the prototype (`settle`).
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import variables_of
from masktron.arrays import FloatColumns, Floats
from masktron.classify.forms import satisfied
from masktron.constraints import InDomain, Untranslated
from masktron.grouping.members import codes_of
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.block.group_searches import GroupSearches
from masktron.masking.block.patterns import Aggregates, GroupPatterns
from masktron.masking.groups.strata import limits_of
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import Judging, RecordRules, Written, taken
from masktron.plan import Block
from masktron.progress import Told, untold
from masktron.settle.bulk import Bulk, Offers, aimed
from masktron.settle.candidate_search import NEAR, CandidateSearch, PrototypePattern
from masktron.settle.case_projection import CaseProjection
from masktron.settle.decimals import Decimals, Spelled
from masktron.settle.lattice import Search
from masktron.settle.prototypes import PrototypeTable, Settled, numbers_of, settle
from masktron.sources.lexical import reads_alike

FEW = 64
"""Values of a field that only sets limits, up to which groups of each are looked at apart."""


class GroupContexts:
    """The contexts of all groups of a block.

    Attributes
    ----------
    first : ndarray of intp, shape (groups,)
        First record of each group.
    loose : frozenset of str
        Unmasked fields that only set limits and differ from record to record. A prototype is looked for without
        them, and judged beside all records of its group.
    """

    def __init__(self, rules: RecordRules, block: Block, grouping: RecordGroups, limits: Collection[str]) -> None:
        self._rules = rules
        self._file = rules.file
        self._block = block
        self._codes = {name: rules.file.columns[name].numbered() for name in block.conditions}
        self._grouping = grouping
        self.first = grouping.first
        self._varying = {name: grouping.varying(own[:, None]) for name, own in self._codes.items()}
        self.loose = frozenset(
            name for name in limits if self._varying[name].any() or self._codes[name].max(initial=-1) >= FEW
        )
        self._others, self._starts = self._rest()
        self._largest: dict[tuple[tuple[str, float], ...], NDArray[np.float64]] = {}

    @property
    def uniform(self) -> NDArray[np.bool_]:
        """Groups whose records agree in all unmasked fields but the loose ones, shape (groups,)."""
        fine = np.ones(self._grouping.groups, dtype=np.bool_)
        for name, varying in self._varying.items():
            if name not in self.loose:
                fine &= ~varying
        return fine

    def kinds(self, groups: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Return codes of what the unmasked fields of some groups say in the rules, without the loose ones.

        That is their values where they stand beside masked fields, else the truth of what is said of them: what is
        left of the rules is the same in groups that agree in these.
        """
        rules, records = self._rules, self.first[groups]
        atoms = dict.fromkeys(a for form in rules.forms(self._block) for conjunction in form for a in conjunction)
        beside: set[str] = set()
        codes: list[NDArray[np.intp]] = []
        for atom in atoms:
            names = variables_of(atom)
            if not names <= self._codes.keys() or isinstance(atom, InDomain | Untranslated):
                beside |= names & self._codes.keys()
            elif names:
                holding = satisfied(atom, rules.file.seen, rules.file.texts, domains=rules.domains)
                codes.append(holding[records].astype(np.intp))
        return [*codes, *(self._codes[name][records].astype(np.intp) for name in sorted(beside - self.loose))]

    def others(self, groups: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the further records that stand for groups.

        Parameters
        ----------
        groups : ndarray of intp, shape (m,)

        Returns
        -------
        which : ndarray of intp, shape (r,)
            Position in `groups`.
        records : ndarray of intp, shape (r,)
        """
        counts = self._starts[groups + 1] - self._starts[groups]
        which = np.repeat(np.arange(len(groups)), counts)
        inside = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        return which, self._others[self._starts[groups][which] + inside]

    def largest(self, terms: tuple[tuple[str, float], ...], groups: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the largest value that a sum over unmasked fields has in each of some groups, shape (m,).

        Parameters
        ----------
        terms : tuple of (str, float)
            Fields and their coefficients.
        groups : ndarray of intp, shape (m,)
        """
        if terms not in self._largest:
            found = np.full(self._grouping.groups, -np.inf)
            total = sum((factor * self._file.seen[name] for name, factor in terms), np.zeros(self._file.n))
            np.maximum.at(found, self._grouping.labels, total)
            self._largest[terms] = found
        return self._largest[terms][groups]

    def _rest(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return a record of each combination of a group but the first, sorted by group, and where they start."""
        labels, groups = self._grouping.labels, self._grouping.groups
        if not any(varying.any() for varying in self._varying.values()):
            return np.empty(0, dtype=np.intp), np.zeros(groups + 1, dtype=np.intp)
        pairs = codes_of(np.stack([labels, *self._codes.values()], axis=1))
        records = np.unique(pairs, return_index=True)[1].astype(np.intp)
        records = records[records != self.first[labels[records]]]
        records = records[np.lexsort((records, labels[records]))]
        starts = np.concatenate([[0], np.cumsum(np.bincount(labels[records], minlength=groups))])
        return records, starts.astype(np.intp)


MAX_RANKS = 4
"""Cases that are tried for one target."""


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedTargets:
    """Targets projected on one case.

    Attributes
    ----------
    bulk : Bulk
        How to look around them.
    points : mapping of field name to ndarray of float64, shape (m,)
    distances : ndarray of float64, shape (m,)
        Squared, from the targets, in units of the fields' spreads; infinite where there is no point.
    """

    bulk: Bulk
    points: FloatColumns
    distances: NDArray[np.float64]

    def upto(self, most: float) -> ProjectedTargets:
        """Return the same without points that are farther."""
        return replace(self, distances=np.where(self.distances <= most, self.distances, np.inf))

    def take(self, which: NDArray[np.intp]) -> ProjectedTargets:
        """Return some of the targets."""
        return ProjectedTargets(
            self.bulk, {n: values[which] for n, values in self.points.items()}, self.distances[which]
        )


def by_distance(projected: Sequence[ProjectedTargets]) -> Iterator[list[ProjectedTargets]]:
    """Yield for each target its nearest point alone, then the next, `MAX_RANKS` at most; of equal ones the first."""
    if projected:
        order = np.argsort([one.distances for one in projected], axis=0, kind="stable")
        for best in order[:MAX_RANKS]:
            yield [
                replace(one, distances=np.where(best == at, one.distances, np.inf))
                for at, one in enumerate(projected)
            ]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One disjunct of every rule, for groups of one kind."""

    bulk: Bulk
    nearest: CaseProjection
    contexts: GroupContexts

    def project(self, groups: NDArray[np.intp], targets: FloatColumns, *, wide: bool) -> ProjectedTargets:
        """Project the targets of some groups; see `CaseProjection.project`."""
        asked = {
            condition: terms for condition in self.nearest.conditions if (terms := self.nearest.others(condition))
        }
        others = {condition: self.contexts.largest(terms, groups) for condition, terms in asked.items()}
        points, found = self.nearest.project(targets, others, wide=wide)
        distances = self.bulk.search.distances(points, targets)
        return ProjectedTargets(self.bulk, points, np.where(found, distances, np.inf))


class DisjunctCases:
    """The cases of groups of one kind.

    Parameters
    ----------
    search : CandidateSearch
    pattern : PrototypePattern
        Of the groups.
    targets : mapping of field name to ndarray of float64, shape (m,)
    contexts : GroupContexts
    """

    def __init__(
        self, search: CandidateSearch, pattern: PrototypePattern, targets: FloatColumns, contexts: GroupContexts
    ) -> None:
        self._search = search
        self._pattern = pattern
        self._sizes = {name: float(np.abs(values).max()) for name, values in targets.items()}
        self._contexts = contexts
        self._others = search.choices(pattern)

    @property
    def several(self) -> bool:
        """Whether a rule leaves a choice."""
        return bool(self._others)

    @functools.cached_property
    def likeliest(self) -> list[Case]:
        """The case that most records satisfy, where it can be projected on."""
        return list(self._made([{}]))

    @functools.cached_property
    def all(self) -> list[Case]:
        """That, and those in which one rule takes another disjunct."""
        return [*self.likeliest, *self._made(self._others)]

    def _made(self, choices: Sequence[Mapping[int, int]]) -> Iterator[Case]:
        for positions in choices:
            case = self._search.likeliest(self._pattern, positions)
            bulk = None if case is None else Bulk.of(case)
            if case is not None and bulk is not None:
                conditions = self._search.asked(self._pattern, positions)
                nearest = CaseProjection.of(case, conditions, self._sizes)
                if nearest is not None:
                    yield Case(bulk, nearest, self._contexts)


AROUND = ((0, 6), (6, 44))
"""Points of the lattice that are judged at once, for groups whose rounded aggregate was refused: which, how many."""


@dataclass(frozen=True, slots=True, eq=False)
class _Kind:
    """Groups that ask the same, with what their prototypes aim at.

    Attributes
    ----------
    groups : ndarray of intp, shape (m,)
    pattern : PrototypePattern
        Of all of them, but for the target.
    targets : mapping of field name to ndarray of float64, shape (m,)
    """

    groups: NDArray[np.intp]
    pattern: PrototypePattern
    targets: FloatColumns

    def take(self, rows: NDArray[np.intp]) -> _Kind:
        """Return some of the groups, by their positions."""
        return _Kind(self.groups[rows], self.pattern, {name: own[rows] for name, own in self.targets.items()})

    @property
    def texts(self) -> dict[str, Written]:
        """What all prototypes have in the fields without a number."""
        return {**self.pattern.kept, **self.pattern.combinations[0]}


class JointSearch:
    """Finds prototypes of a block for all groups of a kind at once.

    Parameters
    ----------
    rules : RecordRules
    block : Block
    grouping : RecordGroups
    judging : Judging
    pooled : ndarray of bool, shape (groups,)
        Groups that are left to the search of single groups.
    told : callable
        Hears how many groups have a prototype.

    Attributes
    ----------
    table : PrototypeTable
    """

    def __init__(
        self,
        rules: RecordRules,
        block: Block,
        grouping: RecordGroups,
        judging: Judging,
        pooled: NDArray[np.bool_],
        told: Told = untold,
    ):
        self._file = rules.file
        self._block = block
        self._grouping = grouping
        self._judging = judging
        self._told = told
        self._contexts = GroupContexts(rules, block, grouping, limits_of(rules, block))
        self._open = ~pooled & self._contexts.uniform
        self.table = PrototypeTable.empty(grouping.groups, len(block.variables))

    def observed(self, aggregates: Aggregates) -> None:
        """Take observed values where an aggregator chose some and the rules accept them."""
        if aggregates.exit is None or aggregates.choices is None:
            return
        groups = np.flatnonzero(self._open)
        made: dict[str, Written] = {
            name: self._file.columns[name].lexemes_of(aggregates.choices[groups, position])
            for position, name in enumerate(self._block.variables)
        }
        rows = np.flatnonzero(self._judged(made, groups))
        self._take(groups[rows], made, rows, aggregates.exit)

    def aggregates(self, patterns: GroupPatterns, search: CandidateSearch) -> None:
        """Round the aggregates, and look around them where the rules refuse that."""
        for groups in self._kinds(patterns):
            kind = self._kind(groups, patterns)
            if not kind.targets:
                stage = "mode" if kind.pattern.options else "rounded"
                self._accept(kind, Offers(np.arange(len(groups)), {}), stage)
                continue
            case = search.likeliest(kind.pattern)
            if case is None:
                continue
            bulk = Bulk.of(case)
            if bulk is None:
                self._listed(kind, case)
                continue
            if search.derived:
                centres = self._columns(patterns.aggregates.centres, groups, kind.pattern)
                kind = replace(kind, targets=aimed(kind.targets, centres, case))
            left = self._near(kind, bulk, "rounded", "lattice")
            if left.size:
                self._project(kind.take(left), search)

    def _listed(self, kind: _Kind, search: Search) -> None:
        """Take the nearest of the values that a rule names, where a prototype has nothing else.

        The search of single groups does the rest. It begins with the same value, unless it is far or engines read it
        differently.
        """
        (name, *others) = kind.targets
        among = search.grids[name].among
        if others or not among:
            return
        target = kind.targets[name]
        values = np.array([float(number) for number, _ in among])
        texts = np.array([text for _, text in among], dtype=np.object_)
        alike = np.array([reads_alike(text) for _, text in among], dtype=np.bool_)
        above = np.clip(np.searchsorted(values, target), min(1, len(values) - 1), len(values) - 1)
        below = np.maximum(above - 1, 0)
        nearest = np.where(target - values[below] <= values[above] - target, below, above)
        near = np.square((values[nearest] - target) / search.scale[name]) <= NEAR
        rows = np.flatnonzero(near & alike[nearest])
        made: dict[str, Written] = {**kind.texts, name: texts[nearest]}
        fine = rows[self._judged({other: taken(own, rows) for other, own in made.items()}, kind.groups[rows])]
        self._take(kind.groups[fine], made, fine, "rounded")

    def _project(self, kind: _Kind, search: CandidateSearch) -> None:
        """Look around the nearest points that satisfy the rules.

        Points that leave room for rounding come first: around others, half of what is rounded breaks a rule.
        """
        cases = DisjunctCases(search, kind.pattern, kind.targets, self._contexts)
        for wide in (True, False):
            kind = kind.take(self._nearest(kind, cases, wide=wide))
            if not kind.groups.size:
                break

    def _nearest(self, kind: _Kind, cases: DisjunctCases, *, wide: bool) -> NDArray[np.intp]:
        """Try the likeliest case, and for groups that are far from it, or refused there, all; return what is left."""
        likeliest = [case.project(kind.groups, kind.targets, wide=wide) for case in cases.likeliest]
        left = self._offered(kind, [one.upto(NEAR if cases.several else np.inf) for one in likeliest])
        if cases.several and left.size:
            far = kind.take(left)
            every = [case.project(far.groups, far.targets, wide=wide) for case in cases.all]
            there = np.arange(len(left))
            for chosen in by_distance(every):
                if not there.size:
                    break
                there = there[self._offered(far.take(there), [one.take(there) for one in chosen])]
            left = left[there]
        return left

    def _offered(self, kind: _Kind, projected: Sequence[ProjectedTargets]) -> NDArray[np.intp]:
        """Look around projected targets; return the positions of groups without a prototype."""
        left = np.ones(len(kind.groups), dtype=np.bool_)
        for one in projected:
            rows = np.flatnonzero(np.isfinite(one.distances) & left)
            if rows.size:
                again = self._near(replace(kind, targets=one.points).take(rows), one.bulk, "projected", "projected")
                left[np.delete(rows, again)] = False
        return np.flatnonzero(left)

    def _near(self, kind: _Kind, bulk: Bulk, here: str, around: str) -> NDArray[np.intp]:
        """Try the rounded targets and the points around them; return the positions of groups without a prototype."""
        left = self._accept(kind, bulk.rounded(kind.targets), here, bulk)
        for first, most in AROUND:
            if not left.size:
                break
            rest = kind.take(left)
            left = left[self._accept(rest, bulk.around(rest.targets, first, most), around, bulk)]
        return left

    def _accept(self, kind: _Kind, offers: Offers, stage: str, bulk: Bulk | None = None) -> NDArray[np.intp]:
        """Take the first candidate of each group that is accepted; return the positions of groups without one."""
        spelled = {} if bulk is None else {n: d.spelled(bulk.search.grids[n]) for n, d in offers.numbers.items()}
        made: dict[str, Written] = {**kind.texts, **spelled}
        fine = self._first_fine(made, kind.groups, offers.owners)
        owners, at = np.unique(offers.owners[fine], return_index=True)
        self._take(kind.groups[owners], made, fine[at], stage, offers.numbers)
        return np.setdiff1d(np.arange(len(kind.groups)), owners)

    def _first_fine(
        self, made: Mapping[str, Written], groups: NDArray[np.intp], owners: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return the candidates that are accepted, ascending: the first of each group, and others where it is not."""
        first = np.diff(owners, prepend=-1) > 0
        fine = np.zeros(len(owners), dtype=np.bool_)
        for asked in (first, ~first):
            done = np.isin(owners, owners[fine])
            rows = np.flatnonzero(asked & ~done)
            fine[rows] = self._judged({name: taken(own, rows) for name, own in made.items()}, groups[owners[rows]])
        return np.flatnonzero(fine)

    def _take(
        self,
        groups: NDArray[np.intp],
        made: Mapping[str, Written],
        rows: NDArray[np.intp],
        stage: str,
        numbers: Mapping[str, Decimals] | None = None,
    ) -> None:
        """Take candidates, by their rows, as the prototypes of groups; `numbers` of what is known as numbers."""
        table, known = self.table, numbers or {}
        for position, name in enumerate(self._block.variables):
            own = taken(made[name], rows)
            texts = own.texts() if isinstance(own, Spelled) else own
            if not isinstance(texts, np.ndarray):
                texts = np.array([texts], dtype=np.object_)
            table.lexemes[groups, position] = texts
            table.numbers[groups, position] = known[name].doubles()[rows] if name in known else numbers_of(texts)
        table.close(groups, stage)
        self._told(table.found, len(table.done))

    def _kind(self, groups: NDArray[np.intp], patterns: GroupPatterns) -> _Kind:
        """Return what groups of a kind ask, without what their loose limits ask: that is left to the judge."""
        pattern = patterns.group(int(groups[0]), self._grouping.members[int(groups[0])])[0]
        loose = self._contexts.loose
        contexts = [{name: text for name, text in one.items() if name not in loose} for one in pattern.contexts]
        pattern = replace(pattern, contexts=contexts[:1] if loose else contexts, solved=loose)
        return _Kind(groups, pattern, self._columns(patterns.aggregates.targets, groups, pattern))

    def _columns(self, table: Floats, groups: NDArray[np.intp], pattern: PrototypePattern) -> dict[str, Floats]:
        at = {name: position for position, name in enumerate(self._block.variables)}
        return {name: table[groups, at[name]] for name in pattern.target}

    def _judged(self, made: Mapping[str, Written], groups: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Judge candidates, each in every context of its group; shape (rows,), as are the groups."""
        fine = self._judging.many(made, self._contexts.first[groups])
        rows = np.flatnonzero(fine)
        which, records = self._contexts.others(groups[rows])
        again = self._judging.many({name: taken(own, rows[which]) for name, own in made.items()}, records)
        fine[rows[which[~again]]] = False
        return fine

    def _kinds(self, patterns: GroupPatterns) -> Iterator[NDArray[np.intp]]:
        """Yield the groups of each kind."""
        groups = np.flatnonzero(self._open & ~self.table.done)
        if not groups.size:
            return
        aggregates = patterns.aggregates
        columns = [*aggregates.missing[self._contexts.first[groups]].T, *self._contexts.kinds(groups)]
        for position, name in enumerate(self._block.variables):
            if name not in self._file.numeric and aggregates.middles is not None:
                own = self._file.columns[name].numbered()
                columns.append(own[aggregates.middles[groups, position]])
        labels = self._grouping.labels
        for holding in patterns.satisfied:
            if holding.shape[1] > 1:
                counts = [np.bincount(labels, own, self._grouping.groups)[groups] for own in holding.T]
                columns.append(np.argmax(counts, axis=0))
        kinds = codes_of(np.stack(columns, axis=1))
        order = np.argsort(kinds, kind="stable")
        edges = np.flatnonzero(np.diff(kinds[order])) + 1
        yield from (groups[own] for own in np.split(order, edges))


def settle_block(inputs: MaskingInputs, block: Block, grouping: RecordGroups, told: Told = untold) -> Settled:
    """Find the prototypes of one block; `told` hears how many groups have one."""
    told(0, grouping.groups)
    searches = GroupSearches(inputs, block, grouping)
    judging = Judging(inputs.rules, block)
    table = None
    if not block.solved:  # what follows in each record is completed group by group
        joint = JointSearch(inputs.rules, block, grouping, judging, searches.aggregates.pooled, told)
        joint.observed(searches.aggregates)
        joint.aggregates(searches.patterns, searches.of(0))
        table = joint.table
    return settle(searches.records, searches.candidates, judging, table, conflict=searches.conflict, told=told)
