"""Rules that are lost or let go, asked of the original: others have the rulebook, and may tell cells by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.constraints import OpaqueEdit
from masktron.jobs.cell_rules import CellRules, CodedFile
from masktron.jobs.prepared import Opened
from masktron.rulebook.locality import locality
from masktron.write.treatments import perturbed_fields

_MOST_STANDING = 4
"""Values of the original that stand for a class, when a completion has another class than the record."""


@dataclass(frozen=True, slots=True, eq=False)
class FormerRules:
    """What judges treated records with other cells by rules of the original that are not asked of them any more.

    A class that a completion proposes is possible if one of a few values of it is; the record's own class if its own
    value is. Values that nobody has are not tried, so that a cell is rather taken for given away than not.

    Attributes
    ----------
    rules : CellRules
        Of the original; without groups where there is none.
    original : CodedFile
        The released records as they were.
    treated : CodedFile
        The same records as they are.
    standing : mapping of str to ndarray of int32, shape (values + 1, s)
        Codes of the original for each treated one; the last row is for what is missing.
    """

    rules: CellRules
    original: CodedFile
    treated: CodedFile
    standing: dict[str, NDArray[np.int32]]

    @classmethod
    def of(cls, opened: Opened, names: Sequence[str]) -> FormerRules:
        """Take the rules that read some of the keys.

        Parameters
        ----------
        opened : Opened
            As earlier treatments leave it.
        names : sequence of str
            The keys.
        """
        before = opened if opened.treated is None else opened.treated.original
        fields = list(before.kept.columns)
        every = {edit.check.index for edit in before.job.edits}
        each = [CellRules.of(before.job, every - {index}, names, fields) for index in _asked(opened, before)]
        groups = tuple(group for one in each for group in one.groups)
        used = {name for group in groups for name in group.read}
        rules = CellRules(groups, tuple(name for name in fields if name in used))
        read = list(dict.fromkeys((*names, *rules.read)))
        return cls.on(rules, CodedFile.of(before.kept, read), CodedFile.of(opened.kept, read)).obeyed_by_all()

    @classmethod
    def on(cls, rules: CellRules, original: CodedFile, treated: CodedFile) -> FormerRules:
        """Find which values of the original stand for those of treated fields."""
        standing = {name: _standing(treated.codes[name], own) for name, own in original.codes.items()}
        return cls(rules, original, treated, standing)

    def obeyed_by_all(self) -> FormerRules:
        """Return the same without rules that some released record breaks: they tell nobody anything for certain."""
        names = list(self.original.codes)
        everybody, codes = np.arange(len(self.original.codes[names[0]])), self.original.matrix(names)
        kept = []
        for group in self.rules.groups:
            one = CellRules((group,), group.read)
            if one.judged(everybody, codes, names, self.original).all():
                kept.append(group)
        read = {name for group in kept for name in group.read}
        rules = CellRules(tuple(kept), tuple(name for name in self.rules.read if name in read))
        return FormerRules(rules, self.original, self.treated, self.standing)

    def judged(self, records: NDArray[np.intp], codes: NDArray[np.int32], names: Sequence[str]) -> NDArray[np.bool_]:
        """Tell which records may have obeyed the rules with these codes of treated fields, shape (r,)."""
        if not self.rules.groups:
            return np.ones(len(records), dtype=np.bool_)
        fine = np.zeros(len(records), dtype=np.bool_)
        read = [at for at, name in enumerate(names) if name in self.rules.read]
        tried = max((self.standing[names[at]].shape[1] for at in read), default=1)
        for turn in range(tried):
            left = np.flatnonzero(~fine)
            columns = [self._as_it_was(names[at], records[left], codes[left, at], turn) for at in read]
            if not columns or not len(left):
                break
            proposed = np.column_stack(columns).astype(np.int32)
            fine[left] = self.rules.judged(records[left], proposed, [names[at] for at in read], self.original)
        return fine

    def _as_it_was(
        self, name: str, records: NDArray[np.intp], codes: NDArray[np.int32], turn: int
    ) -> NDArray[np.int32]:
        own = codes == self.treated.codes[name][records]
        some = self.standing[name][codes, turn % self.standing[name].shape[1]]
        return np.where(own, self.original.codes[name][records], some).astype(np.int32)


def _asked(opened: Opened, before: Opened) -> Iterator[int]:
    """Yield rules of the original that are not asked of treated records, read no drawn and no removed field.

    What is published of a drawn field is not what such a rule spoke of, and a removed one nobody has.
    """
    done = opened.treated
    lost = {rule.index for rule in done.rules if rule.fate == "lost"} if done else set()
    drawn = {*(perturbed_fields(done.treatments) if done else ()), *before.removed}
    far = locality(before.job.rulebook, before.job.source.layout)
    for edit in before.job.edits:
        index = edit.check.index
        unknown = isinstance(edit.constraint, OpaqueEdit) and bool(drawn)
        gone = index in lost.union(before.originals.released)
        if gone and not far[index] and not unknown and drawn.isdisjoint(edit.variables):
            yield index


def _standing(treated: NDArray[np.int32], original: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return some codes of the original for each treated code, shape (values + 1, s): spread over those there are."""
    pairs = np.unique(np.column_stack([treated, original]), axis=0)
    pairs = pairs[pairs[:, 0] >= 0]
    values, starts, counts = np.unique(pairs[:, 0], return_index=True, return_counts=True)
    columns = min(_MOST_STANDING, int(counts.max(initial=1)))
    found = np.full((int(treated.max(initial=-1)) + 2, columns), -1, dtype=np.int32)
    for at in range(columns):
        found[values, at] = pairs[starts + at * counts // columns, 1]
    return found
