"""Local suppression on the records of a file: which cells of keys are left out, as far as the rules let them be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from masktron.classify import Edit
from masktron.config import Role, did_you_mean
from masktron.constraints import OpaqueEdit
from masktron.counts import counted
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.evaluation.exact import BatchEvaluator, EngineChoice
from masktron.evaluation.findings import Verdict
from masktron.evaluation.programs import Original
from masktron.jobs.keys_known import NO_KEYS, keys_of_run
from masktron.jobs.ordering import identifying
from masktron.jobs.prepared import Opened
from masktron.jobs.randomness import rules_in_one_form
from masktron.measures.keys.combinations import combined
from masktron.rulebook.locality import locality
from masktron.sources.records import Coded, Column, Records
from masktron.sources.xml.microdata import chunk_document
from masktron.streams import Streams
from masktron.treatments.allowing import Allowed, Consequences, allowed_by_all, hidden_from_rules
from masktron.treatments.suppression import LocalSuppression, local_suppression
from masktron.treatments.suppression_check import SharedKeys
from masktron.write.treatments import Suppressed, Treatment

_MOST_ALSO = 8
"""Fields that may be suppressed as consequences."""
_MOST_VALUES = 64
"""Values of such a field: of one with more, too many would have to be tried."""
_AT_ONCE = 2_000
"""Records that engines judge in one document."""


def suppressed_cells(
    original: Opened, key: bytes, done: Sequence[Treatment] = ()
) -> tuple[dict[str, Coded], Suppressed]:
    """Choose the cells of keys that are left out, and return the fields without them.

    Parameters
    ----------
    original : Opened
        As earlier treatments leave it.
    key : bytes
        Of the release.
    done : sequence of Treatment
        Those earlier ones.

    Returns
    -------
    cells : dict of str to Coded
        The treated fields, for all records of `original`.
    treatment : Suppressed

    Raises
    ------
    UsageError
        There is no key, or importance is given to a field that is none.
    InfeasibleError
        The rules leave no way, or a key would be suppressed in every record.
    """
    config, kept = original.config, original.kept
    where = str(original.job.source.path)
    names = _keys(original)
    contract = SharedKeys(config.key_k or 0, config.keys.get("subsets"), config.keys.get("missing_matches", False))
    asked = {one.name: float(config.keys.get("importance", {}).get(one.name, 1)) for one in original.fields}
    generator = Streams(key, *_bound(original, names, asked, contract, done)).generator("suppression")
    columns = {name: kept.columns[name] for name in names}
    rules = _Rules.of(original, names)
    allowed, also = _allowed(rules, kept, names)
    try:
        found = local_suppression(
            [column.numbered() for column in columns.values()],
            contract.k,
            generator,
            subsets=contract.subsets,
            importance=[asked[name] for name in names],
            allowed=allowed,
            missing_matches=contract.missing_matches,
            names=names,
        )
    except InfeasibleError as error:
        facts = [RefusalFacts("keys", conditions=tuple(names))]
        raise InfeasibleError(error.what, where=where, hint=error.hint, facts=facts) from error
    cells = {name: found.cells[:, at] for at, name in enumerate(names)}
    rows = np.flatnonzero(found.cells.any(axis=1))
    if isinstance(allowed, Consequences) and len(rows):
        with_them = np.zeros((len(kept), len(also)), dtype=np.bool_)
        with_them[rows] = allowed.also(rows, found.cells[rows])
        cells |= {name: with_them[:, at] for at, name in enumerate(also)}
    for name, own in cells.items():
        if own.any() and not (kept.columns[name].numbered()[~own] >= 0).any():
            raise InfeasibleError(
                f"{name} would be suppressed in every record, so that k = {contract.k} share each combination",
                where=where,
                hint=f"recode keys into fewer classes (--recode), or leave the field out: --role {name}=identifier",
                facts=[RefusalFacts("keys", conditions=(name,))],
            )
    told = {name: (int(own.sum()), int((kept.columns[name].numbered() >= 0).sum())) for name, own in cells.items()}
    treatment = Suppressed(tuple(names), tuple(also), contract, told, _says(found, contract.k))
    keep = np.flatnonzero(original.originals.keep)
    return {
        name: _without(original.records.columns[name], keep[own]) for name, own in cells.items() if own.any()
    }, treatment


def _keys(original: Opened) -> list[str]:
    """Return the quasi-identifiers but for the weight."""
    config = original.config
    known = keys_of_run(original.fields, config, identifying(original.kept, original.fields))
    names = [name for name in known.names if name != known.weight]
    where = str(original.job.source.path)
    if not names:
        raise UsageError(
            f"suppressing keys (--key-k {config.key_k}) needs {NO_KEYS}",
            where=where,
            hint="name what others may know: --quasi-identifier FIELD, or --role FIELD=quasi-identifier",
        )
    masked = {fact.name for fact in original.fields if fact.role is Role.CONFIDENTIAL}
    if both := [name for name in names if name in masked]:
        raise UsageError(
            f"{both[0]} is a quasi-identifier and masked, and what is masked is not suppressed",
            where=where,
            hint=f"let it be written as it is: --role {both[0]}=quasi-identifier",
        )
    for name in config.keys.get("importance", {}):
        if name not in names:
            raise UsageError(
                f"keys.importance.{name}: the field is no quasi-identifier",
                where=where,
                hint=did_you_mean(name, names) or f"keys are {', '.join(names)}",
            )
    return names


def _bound(
    original: Opened, names: Sequence[str], cost: dict[str, float], contract: SharedKeys, done: Sequence[Treatment]
) -> tuple[str, ...]:
    """Return what the draws depend on besides the key: the original, its rules and the settings."""
    before = original if original.treated is None else original.treated.original
    digest = before.job.source.digest
    settings = [contract.as_dict(), [[name, cost[name]] for name in names], [one.as_dict() for one in done]]
    rules = rules_in_one_form(original.job, digest)
    return (digest, *(sha256(json.dumps(one).encode()).hexdigest() for one in (rules, settings)))


def _says(found: LocalSuppression, k: int) -> str:
    return (
        f"{found.says}; {counted(found.at_risk, 'record')} shared a combination of keys with fewer than k = {k} "
        f"({found.combinations_before:,} combinations before, {found.combinations:,} now)"
    )


def _without(column: Column, rows: NDArray[np.intp]) -> Coded:
    """Return the cells of a column, some of them left out."""
    texts = np.append(column.lexicon.objects(), np.array([None], dtype=np.object_))
    codes = column.codes.astype(np.intp)
    codes[rows] = len(texts) - 1
    return Coded(texts, codes)


@dataclass(frozen=True, slots=True, eq=False)
class _Rules:
    """What judges records with other cells in some fields, by the rules that look at single records and read keys.

    Rules that read the same fields are asked together, of each combination of values of these fields once: most rules
    read few, so that there are few combinations even where all completions of all keys are tried.
    """

    original: Opened
    parts: tuple[_RulesOfFields, ...]

    @classmethod
    def of(cls, original: Opened, names: Sequence[str]) -> _Rules:
        job, keys = original.job, frozenset(names)
        far = locality(job.rulebook, job.source.layout)
        released = {*original.originals.released}
        parts: dict[tuple[str, ...], list[Edit]] = {}
        for edit in job.edits:
            opaque = isinstance(edit.constraint, OpaqueEdit)
            asked = not far[edit.check.index] and edit.check.index not in released
            if asked and (opaque or keys.intersection(edit.variables)):
                read = tuple(name for name in original.kept.columns if opaque or name in edit.variables)
                parts.setdefault(read, []).append(edit)
        return cls(original, tuple(_RulesOfFields.of(original, read, edits) for read, edits in parts.items()))

    @property
    def read(self) -> tuple[str, ...]:
        """Fields of which their verdict depends, in the order of the file."""
        used = {name for part in self.parts for name in part.read}
        return tuple(name for name in self.original.kept.columns if name in used)

    def judged(
        self, records: NDArray[np.intp], codes: NDArray[np.int32], names: Sequence[str], file: _CodedFile
    ) -> NDArray[np.bool_]:
        """Tell which records obey the rules with these codes in some fields, shape (r,).

        Parameters
        ----------
        records : ndarray of intp, shape (r,)
        codes : ndarray of int32, shape (r, m)
            Of `names`; -1 where a cell is left out.
        """
        places = {name: at for at, name in enumerate(names)}
        fine = np.ones(len(records), dtype=np.bool_)
        for part in self.parts:
            rows = [codes[:, places[name]] if name in places else file.codes[name][records] for name in part.read]
            fine &= part.judged(np.column_stack(rows).astype(np.int32), file)
        return fine


@dataclass(frozen=True, slots=True, eq=False)
class _RulesOfFields:
    """Rules that read the same fields, and what is known of combinations of their values.

    Attributes
    ----------
    read : tuple of str
        The fields.
    checks : list of int
    known : dict of bytes to bool
        Whether a row of codes obeys all of them.
    """

    original: Opened
    read: tuple[str, ...]
    checks: list[int]
    engines: tuple[BatchEvaluator, ...]
    known: dict[bytes, bool]

    @classmethod
    def of(cls, original: Opened, read: tuple[str, ...], edits: Sequence[Edit]) -> _RulesOfFields:
        job = original.job
        choices: tuple[EngineChoice, ...] = ("unaided", "auto") if job.rulebook.version == "1.0" else ("auto",)
        document = Original(job.source.document_path.absolute(), known=True)
        checks = [edit.check.index for edit in edits]
        engines = tuple(
            BatchEvaluator(job.rulebook, job.source.layout, checks=checks, original=document, engine=choice)
            for choice in choices
        )
        return cls(original, read, checks, engines, {})

    def judged(self, rows: NDArray[np.int32], file: _CodedFile) -> NDArray[np.bool_]:
        """Tell which rows of codes of the fields, shape (r, len(read)), obey the rules."""
        numbers, bound = combined(list(rows.T), len(rows))
        one_of = np.full(bound, -1, dtype=np.intp)
        one_of[numbers] = np.arange(len(rows))
        there = np.flatnonzero(one_of >= 0)
        distinct = rows[one_of[there]]
        asked = [row.tobytes() for row in distinct]
        new = [at for at, one in enumerate(asked) if one not in self.known]
        for start in range(0, len(new), _AT_ONCE):
            part = new[start : start + _AT_ONCE]
            fine = self._obey(distinct[part], file)
            self.known.update((asked[at], bool(one)) for at, one in zip(part, fine, strict=True))
        obeyed = np.zeros(bound, dtype=np.bool_)
        obeyed[there] = [self.known[one] for one in asked]
        return obeyed[numbers]

    def _obey(self, rows: NDArray[np.int32], file: _CodedFile) -> NDArray[np.bool_]:
        document = chunk_document(
            self.original.job.source.layout,
            [
                {name: file.texts[name][code] for name, code in zip(self.read, row, strict=True)}
                for row in rows.tolist()
            ],
        )
        fine = np.ones(len(rows), dtype=np.bool_)
        for engine in self.engines:
            fine &= (engine.verdicts(document)[:, self.checks] < Verdict.FAILS).all(axis=1)
        return fine


@dataclass(frozen=True, slots=True, eq=False)
class _CodedFile:
    """Fields as codes, and the texts of these; code -1, the last text, is none."""

    codes: dict[str, NDArray[np.int32]]
    texts: dict[str, NDArray[np.object_]]

    @classmethod
    def of(cls, records: Records, names: Sequence[str]) -> _CodedFile:
        codes = {name: records.columns[name].numbered() for name in names}
        texts = {}
        for name, own in codes.items():
            texts[name] = np.full(int(own.max(initial=-1)) + 2, None, dtype=np.object_)
            texts[name][own] = records.columns[name].lexemes
        return cls(codes, texts)

    def matrix(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return fields side by side, shape (n, m)."""
        return np.column_stack([self.codes[name] for name in names]).astype(np.int32)


def _allowed(rules: _Rules, kept: Records, names: Sequence[str]) -> tuple[Allowed | None, list[str]]:
    """Return what allows cells to be suppressed (None: everything may), and fields that may go with them."""
    if not rules.parts:
        return None, []
    roles = {fact.name: fact.role for fact in rules.original.fields}
    file = _CodedFile.of(kept, list(dict.fromkeys((*names, *rules.read))))
    also = [
        name
        for name in rules.read
        if name not in names and roles.get(name) is Role.UNTOUCHED and len(file.texts[name]) <= _MOST_VALUES + 1
    ][:_MOST_ALSO]
    fields = [*names, *also]
    codes = file.matrix(fields)

    def stand(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return rules.judged(records, np.where(which, np.int32(-1), codes[records]), fields, file)

    def admissible(records: NDArray[np.intp], proposed: NDArray[np.int32]) -> NDArray[np.bool_]:
        return rules.judged(records, proposed, fields, file)

    hidden = hidden_from_rules(codes, admissible, values=[len(file.texts[name]) - 1 for name in fields])
    both = allowed_by_all(stand, hidden)
    if not also:
        return both, []
    return Consequences(both, codes[:, len(names) :] >= 0, [1.0] * len(also)), also
