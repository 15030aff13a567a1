"""The records that stand for a group before the rules: one for each combination of its unmasked fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import variables_of
from masktron.constraints import Linear
from masktron.grouping.records import Grouping, codes_of
from masktron.kernels import distinct
from masktron.masking.views import Views
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

    def __init__(self, views: Views, block: Block, grouping: Grouping, limits: Collection[str]) -> None:
        self._views = views
        self._block = block
        self._codes = {name: distinct.codes_of(views.columns[name].lexemes) for name in block.conditions}
        self._grouping = grouping
        self.first = grouping.first
        self._varying = {name: grouping.varying(own[:, None]) for name, own in self._codes.items()}
        self.loose = frozenset(
            name for name in limits if self._varying[name].any() or self._codes[name].max(initial=-1) >= FEW
        )
        self._others, self._starts = self._rest()

    @property
    def alike(self) -> NDArray[np.bool_]:
        """Groups whose records agree in all unmasked fields but the loose ones, shape (groups,)."""
        fine = np.ones(self._grouping.groups, dtype=np.bool_)
        for name, varying in self._varying.items():
            if name not in self.loose:
                fine &= ~varying
        return fine

    def kinds(self, groups: NDArray[np.intp]) -> list[NDArray[np.int32]]:
        """Return codes of the unmasked fields of some groups, without the loose ones."""
        return [own[self.first[groups]] for name, own in self._codes.items() if name not in self.loose]

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

    def within_limits(
        self, groups: NDArray[np.intp], targets: Mapping[str, NDArray[np.float64]]
    ) -> dict[str, NDArray[np.float64]]:
        """Move the targets of groups to the tightest limits that their records set to single masked fields.

        Parameters
        ----------
        groups : ndarray of intp, shape (m,)
        targets : mapping of field name to ndarray of float64, shape (m,)
        """
        moved = dict(targets)
        records = np.isin(self._grouping.labels, groups)
        for form in self._views.forms(self._block):
            for atom in form[0] if len(form) == 1 else ():
                if not isinstance(atom, Linear) or atom.relation == "=":
                    continue
                masked = [(name, factor) for name, factor in atom.terms if name in targets]
                if len(masked) == 1 and not variables_of(atom).isdisjoint(self.loose):
                    ((name, factor),) = masked
                    own = self._limits(atom, name, records)[groups]
                    moved[name] = (np.minimum if factor > 0 else np.maximum)(moved[name], own)
        return moved

    def _limits(self, atom: Linear, masked: str, records: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the tightest limit of each group in an inequality with one masked field, shape (groups,)."""
        left, factor = np.full(int(records.sum()), float(atom.bound)), 0.0
        for name, coefficient in atom.terms:
            if name == masked:
                factor = float(coefficient)
            else:
                left -= float(coefficient) * self._views.seen[name][records]
        limits = np.full(self._grouping.groups, np.inf if factor > 0 else -np.inf)
        tightest = np.minimum if factor > 0 else np.maximum
        tightest.at(limits, self._grouping.labels[records], left / factor)
        return limits

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
