"""The records that stand for a group before the rules: one for each combination of its unmasked fields."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import variables_of
from masktron.classify.forms import satisfied
from masktron.constraints import InDomain, Untranslated
from masktron.grouping.members import codes_of
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.record_rules import RecordRules
from masktron.plan import Block

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
