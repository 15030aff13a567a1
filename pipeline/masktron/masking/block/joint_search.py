"""The prototypes that are found for many groups at once; what is left is hunted group by group.

Groups of one *kind* ask the same: the same fields have values, their categories and their unmasked fields are the
same, and most of their records satisfy the same disjuncts. They differ in their aggregates, which are columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import FloatColumns
from masktron.grouping.members import codes_of
from masktron.grouping.record_groups import RecordGroups
from masktron.kernels import distinct
from masktron.masking.block.cases import DisjunctCases, ProjectedTargets, by_distance
from masktron.masking.block.group_contexts import GroupContexts
from masktron.masking.block.patterns import GroupPatterns
from masktron.masking.groups.strata import limits_of
from masktron.masking.judging import Judging, Written, taken
from masktron.masking.views import Views
from masktron.plan import Block
from masktron.progress import Told, untold
from masktron.settle.bulk import Bulk, Offers, aimed
from masktron.settle.candidate_search import NEAR, CandidateSearch, PrototypePattern
from masktron.settle.lattice import Search
from masktron.settle.prototypes import Begun, numbers_of
from masktron.sources.lexical import reads_alike

AROUND = ((0, 6), (6, 44))
"""Points of the lattice that are judged at once, for groups whose rounded aggregate was refused: which, how many."""


class JointSearch:
    """Finds prototypes of a block for all groups of a kind at once."""

    def __init__(
        self,
        views: Views,
        block: Block,
        grouping: RecordGroups,
        judging: Judging,
        beyond: NDArray[np.bool_],
        told: Told = untold,
    ):
        self._views = views
        self._block = block
        self._grouping = grouping
        self._judging = judging
        self._told = told
        self._contexts = GroupContexts(views, block, grouping, limits_of(views, block))
        self.begun = Begun.empty(grouping.groups, len(block.variables))
        self._open = ~beyond & self._contexts.alike

    def observed(self, choices: NDArray[np.intp], stage: str) -> None:
        """Take observed values where the rules accept them, records `choices` of shape (groups, p)."""
        groups = np.flatnonzero(self._open)
        made: dict[str, Written] = {
            name: self._views.columns[name].lexemes[choices[groups, position]]
            for position, name in enumerate(self._block.variables)
        }
        fine = self._judged(made, groups)
        for position, name in enumerate(self._block.variables):
            own = made[name]
            if isinstance(own, np.ndarray):
                self.begun.lexemes[groups[fine], position] = own[fine]
        self._finish(groups[fine], stage)

    def aggregates(self, cases: GroupPatterns, hunt: CandidateSearch) -> None:
        """Round the aggregates, and look around them where the rules refuse that."""
        for groups in self._kinds(cases):
            pattern = self._without_limits(cases.group(int(groups[0]), self._grouping.members[int(groups[0])])[0])
            if not pattern.target:
                stage = "mode" if pattern.options else "rounded"
                self._accept(groups, Offers(np.arange(len(groups)), {}), pattern, stage)
                continue
            case = hunt.likeliest(pattern)
            bulk = None if case is None else Bulk.of(*case)
            if case is not None and bulk is None:
                self._listed(groups, case[0], pattern, cases)
            if case is None or bulk is None:
                continue
            targets, centres = (self._columns(table, groups, pattern) for table in (cases.targets, cases.centres))
            if hunt.derived:
                targets = aimed(targets, centres, *case)
            left = self._near(groups, bulk, pattern, targets, "rounded", "lattice")
            if left.size:
                own = {name: values[left] for name, values in targets.items()}
                self._project(groups[left], pattern, hunt, own)

    def _listed(
        self, groups: NDArray[np.intp], search: Search, pattern: PrototypePattern, cases: GroupPatterns
    ) -> None:
        """Take the nearest of the values that a rule names, where a prototype has nothing else.

        Hunts do the rest. They begin with the same value, unless it is far or engines read it differently.
        """
        (name, *others) = pattern.target
        among = search.grids[name].among
        if others or not among:
            return
        target = self._columns(cases.targets, groups, pattern)[name]
        values = np.array([float(number) for number, _ in among])
        texts = np.array([text for _, text in among], dtype=np.object_)
        alike = np.array([reads_alike(text) for _, text in among], dtype=np.bool_)
        above = np.clip(np.searchsorted(values, target), min(1, len(values) - 1), len(values) - 1)
        below = np.maximum(above - 1, 0)
        nearest = np.where(target - values[below] <= values[above] - target, below, above)
        near = np.square((values[nearest] - target) / search.scale[name]) <= NEAR
        rows = np.flatnonzero(near & alike[nearest])
        chosen = texts[nearest[rows]]
        made: dict[str, Written] = {**pattern.kept, **pattern.combinations[0], name: chosen}
        fine = self._judged(made, groups[rows])
        own = groups[rows[fine]]
        for position, variable in enumerate(self._block.variables):
            text = made[variable]
            self.begun.lexemes[own, position] = chosen[fine] if variable == name else np.array([text], np.object_)
        self._finish(own, "rounded")

    def _project(
        self, groups: NDArray[np.intp], pattern: PrototypePattern, hunt: CandidateSearch, targets: FloatColumns
    ) -> None:
        """Look around the nearest points that satisfy the rules.

        Points that leave room for rounding come first: around others, half of what is rounded breaks a rule.
        """
        cases = DisjunctCases(hunt, pattern, targets, self._contexts)
        for wide in (True, False):
            left = self._nearest(groups, pattern, cases, targets, wide=wide)
            groups, targets = groups[left], {name: values[left] for name, values in targets.items()}
            if not groups.size:
                break

    def _nearest(
        self,
        groups: NDArray[np.intp],
        pattern: PrototypePattern,
        cases: DisjunctCases,
        targets: FloatColumns,
        *,
        wide: bool,
    ) -> NDArray[np.intp]:
        """Try the likeliest case, and for groups that are far from it, or refused there, all; return what is left."""
        likeliest = [case.project(groups, targets, wide=wide) for case in cases.likeliest]
        near = [one.upto(NEAR if cases.several else np.inf) for one in likeliest]
        left = self._offered(groups, pattern, near)
        if cases.several and left.size:
            own = {name: values[left] for name, values in targets.items()}
            every = [case.project(groups[left], own, wide=wide) for case in cases.all]
            there = np.arange(len(left))
            for chosen in by_distance(every):
                if not there.size:
                    break
                there = there[self._offered(groups[left[there]], pattern, [one.take(there) for one in chosen])]
            left = left[there]
        return left

    def _offered(
        self, groups: NDArray[np.intp], pattern: PrototypePattern, projected: Sequence[ProjectedTargets]
    ) -> NDArray[np.intp]:
        """Look around projected targets; return the positions of groups without a prototype."""
        left = np.ones(len(groups), dtype=np.bool_)
        for one in projected:
            rows = np.flatnonzero(np.isfinite(one.distances) & left)
            if rows.size:
                moved = {name: values[rows] for name, values in one.points.items()}
                again = self._near(groups[rows], one.bulk, pattern, moved, "projected", "projected")
                left[np.delete(rows, again)] = False
        return np.flatnonzero(left)

    def _near(
        self,
        groups: NDArray[np.intp],
        bulk: Bulk,
        pattern: PrototypePattern,
        targets: FloatColumns,
        here: str,
        around: str,
    ) -> NDArray[np.intp]:
        """Try the rounded targets and the points around them; return the positions of groups without a prototype."""
        left = self._accept(groups, bulk.rounded(targets), pattern, here, bulk)
        for first, most in AROUND:
            if not left.size:
                break
            own = {name: values[left] for name, values in targets.items()}
            again = self._accept(groups[left], bulk.around(own, first, most), pattern, around, bulk)
            left = left[again]
        return left

    def _accept(
        self,
        groups: NDArray[np.intp],
        offers: Offers,
        pattern: PrototypePattern,
        stage: str,
        bulk: Bulk | None = None,
    ) -> NDArray[np.intp]:
        """Take the first candidate of each group that is accepted; return the positions of groups without one."""
        spelled = {} if bulk is None else {n: d.spelled(bulk.search.grids[n]) for n, d in offers.numbers.items()}
        texts = {**pattern.kept, **pattern.combinations[0]}
        made: dict[str, Written] = {**texts, **spelled}
        fine = self._first_fine(made, groups, offers.owners)
        owners, at = np.unique(offers.owners[fine], return_index=True)
        chosen, own = fine[at], groups[owners]
        for position, name in enumerate(self._block.variables):
            if name in spelled:
                self.begun.lexemes[own, position] = spelled[name].take(chosen).texts()
                self.begun.numbers[own, position] = offers.numbers[name].doubles()[chosen]
            else:
                text = np.array([texts[name]], dtype=np.object_)
                self.begun.lexemes[own, position] = text
                self.begun.numbers[own, position] = numbers_of(text)
        self._take(own, stage)
        return np.setdiff1d(np.arange(len(groups)), owners)

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

    def _finish(self, groups: NDArray[np.intp], stage: str) -> None:
        self.begun.numbers[groups] = numbers_of(self.begun.lexemes[groups])
        self._take(groups, stage)

    def _take(self, groups: NDArray[np.intp], stage: str) -> None:
        self.begun.done[groups] = True
        self.begun.exits[groups] = stage
        self._told(int(self.begun.done.sum()), len(self.begun.done))

    def _columns(
        self, table: NDArray[np.float64], groups: NDArray[np.intp], pattern: PrototypePattern
    ) -> dict[str, NDArray[np.float64]]:
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

    def _without_limits(self, pattern: PrototypePattern) -> PrototypePattern:
        """Leave what the loose limits ask to the judge."""
        loose = self._contexts.loose
        contexts = [{name: text for name, text in one.items() if name not in loose} for one in pattern.contexts]
        return replace(pattern, contexts=contexts[:1] if loose else contexts, solved=loose)

    def _kinds(self, cases: GroupPatterns) -> Iterator[NDArray[np.intp]]:
        """Yield the groups of each kind."""
        groups = np.flatnonzero(self._open & ~self.begun.done)
        if not groups.size:
            return
        columns = [*cases.codes[self._contexts.first[groups]].T, *self._contexts.kinds(groups)]
        for position, name in enumerate(self._block.variables):
            if name not in self._views.numeric and cases.middles is not None:
                columns.append(distinct.codes_of(self._views.columns[name].lexemes)[cases.middles[groups, position]])
        labels = self._grouping.labels
        for satisfied in cases.satisfied:
            if satisfied.shape[1] > 1:
                counts = [np.bincount(labels, own, self._grouping.groups)[groups] for own in satisfied.T]
                columns.append(np.argmax(counts, axis=0))
        kinds = codes_of(np.stack(columns, axis=1))
        order = np.argsort(kinds, kind="stable")
        edges = np.flatnonzero(np.diff(kinds[order])) + 1
        for own in np.split(order, edges):
            yield groups[own]
