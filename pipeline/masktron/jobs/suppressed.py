"""Local suppression on the records of a file: which cells of keys are left out, as far as the rules let them be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.constraints import OpaqueEdit
from masktron.counts import counted
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.jobs.cell_rules import CellRules, CodedFile
from masktron.jobs.keys_known import needs_keys
from masktron.jobs.reweighted import require_kept
from masktron.jobs.run import Run
from masktron.problems.problem import Field, Problem, Rule, Setting
from masktron.progress import Told, untold
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Check, Rulebook
from masktron.shell_words import shell_word
from masktron.sources.record_layout import Layout
from masktron.step_kinds import SharedKeys, Suppressed, perturbed_fields, recodings_in, reweighted_in
from masktron.treatments.allowing import (
    Allowed,
    Consequences,
    allowed_by_all,
    allowed_fields,
    asked_once,
    hidden_from_rules,
)
from masktron.treatments.suppression import LocalSuppression, NoWayError, local_suppression

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
    def of(cls, opened: Run, names: Sequence[str]) -> FormerRules:
        """Take the rules that read some of the keys.

        Parameters
        ----------
        opened : Run
            As earlier treatments leave it.
        names : sequence of str
            The keys.
        """
        before = opened.original
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


def _asked(opened: Run, before: Run) -> Iterator[int]:
    """Yield rules of the original that are not asked of treated records, read no drawn and no removed field.

    What is published of a drawn field is not what such a rule spoke of, and a removed one nobody has.
    """
    lost = {rule.index for rule in opened.account.rules if rule.fate == "lost"}
    drawn = {*perturbed_fields(opened.account.treatments), *before.removed}
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


_MOST_ALSO = 8
"""Fields that may be suppressed as consequences."""
_MOST_VALUES = 64
"""Values of such a field: of one with more, too many would have to be tried."""
_GIVEN = 2
"""Texts, no value among them, up to which a field has one value: whoever sees that it is missing knows it."""


def suppress_keys(run: Run, told: Told = untold) -> Run:
    """Leave out cells of keys, in the records as earlier steps leave them.

    Parameters
    ----------
    run : Run
    told : Told
        Told how far the search is.

    Raises
    ------
    UsageError
        There is no key, or importance is given to a field that is none.
    InfeasibleError
        The rules leave no way, or a key would be suppressed in every record.
    """
    config, kept = run.config, run.kept
    where = str(run.job.source.path)
    names = _keys(run)
    contract = SharedKeys(config.key_k or 0, config.keys.get("subsets"), config.keys.get("missing_matches", False))
    asked = {one.name: float(config.keys.get("importance", {}).get(one.name, 1)) for one in run.fields}
    run, streams = run.streams([contract.as_dict(), [[name, asked[name]] for name in names]])
    columns = {name: kept.columns[name] for name in names}
    rules = CellRules.of(run.job, run.originals.released, names, list(kept.columns))
    order = streams.generator("consequences").permutation(len(kept))
    allowed, also = _allowed(rules, run, names, order)
    try:
        found = local_suppression(
            [column.numbered() for column in columns.values()],
            contract.k,
            streams.generator("suppression"),
            subsets=contract.subsets,
            importance=[asked[name] for name in names],
            allowed=allowed,
            missing_matches=contract.missing_matches,
            names=names,
            told=told,
        )
    except InfeasibleError as error:
        error.at(where)
        error.facts = error.facts or (RefusalFacts("suppression", conditions=tuple(names)),)
        error.then(*_kept_by_rules(error, rules, run))
        raise
    cells = {name: found.cells[:, at] for at, name in enumerate(names)}
    rows = np.flatnonzero(found.cells.any(axis=1))
    if isinstance(allowed, Consequences) and len(rows):
        with_them = np.zeros((len(kept), len(also)), dtype=np.bool_)
        with_them[rows] = allowed.also(rows, found.cells[rows])
        cells |= {name: with_them[:, at] for at, name in enumerate(also)}
    for name, own in cells.items():
        if own.any() and not (kept.columns[name].numbered()[~own] >= 0).any():
            raise InfeasibleError.of(
                "keys-stay-rare",
                where,
                reason="one field would be missing in every record",
                keys=(Field(name),),
                k=contract.k,
                facts=[RefusalFacts("suppression", conditions=(name,))],
            )
    gone = {
        name: (int(own.sum()), int((kept.columns[name].numbered() >= 0).sum()))
        for name, own in cells.items()
        if name not in run.fixed
    }
    treatment = Suppressed(tuple(names), tuple(also), contract, gone, _says(found, contract.k))
    require_kept(reweighted_in(run.account.treatments), treatment, where)
    keep = np.flatnonzero(run.originals.keep)
    columns = {name: run.records.columns[name].without(keep[own]) for name, own in cells.items() if own.any()}
    return run.after(columns, treatment)


def _keys(original: Run) -> list[str]:
    """Return the quasi-identifiers; a weight is one of them where it was recoded, so that others can share it."""
    config = original.config
    known = original.keys
    recoded = recodings_in(original.account.treatments)
    names = [name for name in known.names if name != known.weight or name in recoded]
    where = str(original.job.source.path)
    if not names:
        raise needs_keys(Setting("--key-k", (str(config.key_k),)), where)
    masked = original.masked
    if both := [name for name in names if name in masked]:
        raise UsageError.of(
            "role-does-not-fit",
            where,
            setting="the list of quasi-identifiers",
            field=Field(both[0]),
            role="quasi-identifier",
            reason="which is masked, so it cannot be suppressed",
        )
    for name in config.keys.get("importance", {}):
        if name not in names:
            raise UsageError.of(
                "field-not-usable",
                where,
                setting="keys.importance",
                field=Field(name),
                reason="which is no quasi-identifier",
            )
    if (size := config.keys.get("subsets", 0)) > len(names):
        raise UsageError.of(
            "bad-value",
            where,
            name="keys.subsets",
            expected=f"at most {len(names)}, the number of keys ({', '.join(names)})",
            given=size,
        )
    return names


def _kept_by_rules(error: InfeasibleError, rules: CellRules, original: Run) -> Iterator[Problem]:
    """Say which rules keep keys from being left out, where that is why there is no way."""
    if isinstance(error, NoWayError) and rules.groups:
        stay = original.fixed.union([original.config.weight or ""])
        names = [name for name in error.forbidden if name not in stay]
        file = CodedFile.of(original.kept, list(dict.fromkeys((*names, *rules.read))))
        checks = original.job.rulebook.checks
        found = {name: [checks[at].id for at in rules.broken_without(name, file)] for name in names}
        before = original.original
        if any(found.values()):
            yield may_be_missing(before.job.rulebook, before.job.source.layout, found)


def _says(found: LocalSuppression, k: int) -> str:
    return (
        f"{found.says}; {counted(found.at_risk, 'record')} shared a combination of keys with fewer than k = {k} "
        f"({found.combinations_before:,} combinations before, {found.combinations:,} now)"
    )


def _allowed(
    rules: CellRules, original: Run, names: Sequence[str], order: NDArray[np.intp]
) -> tuple[Allowed | None, list[str]]:
    """Return what allows cells to be suppressed (None: everything may), and fields that may go with them.

    The weight is never suppressed, and neither are fields of the records around.
    """
    stay = original.fixed.union([original.config.weight or ""])
    former = FormerRules.of(original, names)
    if not rules.groups and not former.rules.groups:
        return _but(stay, names, len(original.kept)) if stay.intersection(names) else None, []
    read = list(dict.fromkeys((*rules.read, *former.rules.read)))
    roles = {fact.name: fact.role for fact in original.fields}
    file = CodedFile.of(original.kept, list(dict.fromkeys((*names, *read))))
    also = [
        name
        for name in read
        if name not in stay.union(names)
        and roles.get(name) is Role.UNTOUCHED
        and len(file.texts[name]) <= _MOST_VALUES + 1
    ][:_MOST_ALSO]
    fields = [*names, *also]
    free = [np.full(len(original.kept), name not in stay and len(file.texts[name]) > _GIVEN) for name in fields]
    if former.rules.groups:
        asked: list[Allowed] = [_by_former_rules(rules, former, fields, file)]
    else:
        asked = [_by_rules(part, fields, file) for part in rules.parts(fields)]
    both = allowed_by_all(allowed_fields(free), *asked)
    if not also:
        return both, []
    codes = file.matrix(fields)
    return Consequences(both, codes[:, : len(names)], codes[:, len(names) :] >= 0, [1.0] * len(also), order), also


def _by_former_rules(rules: CellRules, former: FormerRules, fields: Sequence[str], file: CodedFile) -> Allowed:
    """Return what allows cells by all rules, with those of the original that are not asked of the treated records.

    What these say depends on the original record, so that nothing is asked once for several.
    """
    codes = file.matrix(fields)

    def stand(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return rules.judged(records, np.where(which, np.int32(-1), codes[records]), fields, file)

    def admissible(records: NDArray[np.intp], proposed: NDArray[np.int32]) -> NDArray[np.bool_]:
        fine = rules.judged(records, proposed, fields, file)
        fine[fine] = former.judged(records[fine], proposed[fine], fields)
        return fine

    hidden = hidden_from_rules(codes, admissible, values=[len(file.texts[name]) - 1 for name in fields])
    return allowed_by_all(stand, hidden)


def _by_rules(rules: CellRules, fields: Sequence[str], file: CodedFile) -> Allowed:
    """Return what allows cells to be suppressed by some of the rules: these hold and give no cell away.

    The answer depends on what these rules read, and is asked for once for records that are alike in that.
    """
    places = np.array([fields.index(name) if name in fields else -1 for name in rules.read])
    codes = file.matrix(rules.read)

    def judged(records: NDArray[np.intp], proposed: NDArray[np.int32]) -> NDArray[np.bool_]:
        return rules.judged(records, proposed, rules.read, file)

    def stand(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return judged(records, np.where(which, np.int32(-1), codes[records]))

    hidden = hidden_from_rules(codes, judged, values=[len(file.texts[name]) - 1 for name in rules.read])
    once = asked_once(codes, allowed_by_all(stand, hidden))

    def allowed(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return once(records, which[:, places] & (places >= 0))

    return allowed


def _but(stay: Collection[str], names: Sequence[str], records: int) -> Allowed:
    """Return what allows every cell to be suppressed but those of some fields."""
    return allowed_fields([np.full(records, name not in stay) for name in names])


_LONGEST = 300
"""Characters of a test up to which its change is written out."""
_MOST = 8
"""Rules whose change is written out."""


def may_be_missing(rulebook: Rulebook, layout: Layout, rules: Mapping[str, Sequence[str]]) -> Problem:
    """Say which rules keep which fields from being left out, and what changes that.

    Parameters
    ----------
    rulebook : Rulebook
        As the user wrote it, which is the one to change.
    layout : Layout
    rules : mapping of str to sequence of str
        By field, the ids of the rules that some records break without it.
    """
    fields: dict[str, list[str]] = {}
    for field, ids in rules.items():
        for name in ids:
            fields.setdefault(name, []).append(field)
    changes = [
        _changed(rulebook, check, read)
        for pattern in rulebook.patterns
        for rule in pattern.rules
        for check in rule.checks
        if (read := [name for name in fields.get(check.id, ()) if _plain(layout, name, rule.context)])
    ]
    more = [f"and {counted(len(changes) - _MOST, 'further rule')} in the same way"] if len(changes) > _MOST else []
    kept = tuple(Field(name) for name, ids in rules.items() if ids)
    return Problem("rules-need-keys", fields=kept, rules=tuple(map(Rule, fields)), changes=(*changes[:_MOST], *more))


def _changed(rulebook: Rulebook, check: Check, fields: Sequence[str]) -> str:
    """Say how a rule asks nothing of a record that lacks one of the fields; a report fires where its test is true."""
    asserts = check.kind == "assert"
    before = "".join(f"not({name}) or " if asserts else f"{name} and " for name in fields)
    where = f"where {' or '.join(fields)} may be missing"
    if len(test := f"{before}({check.test})") > _LONGEST:
        return f"{where}, write {before}( ) around the test of {check.id}"
    words = (shell_word(word) for word in (rulebook.path.name, check.id, test))
    return f"{where}: `{'masktron rules {} --change {} --test {}'.format(*words)}`"


def _plain(layout: Layout, field: str, context: str) -> bool:
    """Tell whether a rule on such a context reads a field by its name alone."""
    fact = layout.field(field)
    names = fact is not None and fact.tag == field and not fact.attribute
    return names and context.rpartition("/")[2].strip() == layout.record_tag
