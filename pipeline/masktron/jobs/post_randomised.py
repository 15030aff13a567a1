"""PRAM on the records of a file: categories are drawn anew among those that the rules admit, and checked for it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from math import isfinite
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role, did_you_mean
from masktron.counts import counted
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.files import read_text
from masktron.jobs.cell_rules import CellRules, CodedFile
from masktron.jobs.job import Job
from masktron.jobs.randomness import key_for_treatments, rules_in_one_form
from masktron.jobs.recoded import weight_of
from masktron.jobs.treating import Treating
from masktron.kernels.distinct import alike
from masktron.perturbation_settings import PramSettings, pram_settings, together
from masktron.sources.lexical import XML_SPACE
from masktron.sources.lexicon import Lexicon
from masktron.sources.records import Column, Records, Status
from masktron.streams import Streams
from masktron.treatments.admissibility import AdmitsCodes, KeyCodes
from masktron.treatments.pram import PramFigures, PramFinding, PramLaw, pram_findings, pram_law, randomised
from masktron.treatments.transition import transition_of_text
from masktron.write.treatments import Postrandomised, Treatment, drawn_in

_NO_CODES: Mapping[str, frozenset[str]] = MappingProxyType({})


def draw_categories(state: Treating, rules: Path) -> Treating:
    """Draw fields anew, one setting after the other.

    Parameters
    ----------
    state : Treating
    rules : Path
        Where the rules stand as they are asked of these records, if they have changed.

    Raises
    ------
    UsageError
        There is no such field, or it is masked; a matrix cannot be used, or so much cannot change.
    InfeasibleError
        The rules leave no choice, or there are too many values.
    """
    config = state.original.config
    if not config.pram:
        return state
    job = state.job(rules)
    for name, text in config.pram.items():
        _require_fields(state, f"pram.{name}", together(name), pram_settings(name, text))
        try:
            state = _drawn(state, job, _treatment(state, name, text))
        except (UsageError, InfeasibleError) as error:
            raise type(error)(
                f"pram.{name}: {error.what}",
                where=error.where or str(job.source.path),
                hint=error.hint,
                facts=[RefusalFacts("keys", conditions=together(name))],
            ) from error
    return state


def _require_fields(state: Treating, setting: str, fields: Sequence[str], how: PramSettings) -> None:
    """Refuse fields that are not there, and those that are masked, removed or the weight."""
    roles = {fact.name: fact.role for fact in state.original.fields}
    where = str(state.original.job.source.path)
    for name in (*fields, *how.within):
        if name not in roles:
            raise UsageError(f"{setting}: there is no field {name!r}", where=where, hint=did_you_mean(name, roles))
        if roles[name] in (Role.CONFIDENTIAL, Role.IDENTIFIER, Role.WEIGHT):
            raise UsageError(
                f"{setting}: {name} has the role {roles[name]}, and values are drawn of fields, and within fields, "
                "that are written as they are",
                where=where,
                hint=f"let it be written: --role {name}=quasi-identifier; or leave it out",
            )


def _treatment(state: Treating, name: str, text: str) -> Postrandomised:
    """Return what is going to be done, with the matrix that it takes."""
    how = pram_settings(f"pram.{name}", text)
    values: tuple[str, ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()
    if how.matrix is not None:
        values, found = transition_of_text(read_text(how.matrix, "transition matrix"), name)
        matrix = tuple(tuple(row) for row in found.tolist())
    weight = weight_of(state.original.config)
    return Postrandomised(together(name), replace(how, matrix=None), values, matrix, weight, state.let_go)


def _drawn(state: Treating, job: Job, treatment: Postrandomised) -> Treating:
    """Draw once, and return what that leaves, with what it protects and changes."""
    kept = state.kept
    found = law_of(kept, treatment, rules_of_law(kept, treatment, job))
    key = state.key or key_for_treatments(state.original.config)
    generator = Streams(key, *_bound(state, job, treatment)).generator("pram")
    made = randomised(found.law, generator, allow_alone=treatment.settings.alone)
    keep = np.flatnonzero(state.original.originals.keep)
    columns = {}
    for name, field, codes in zip(treatment.fields, found.fields, made.codes, strict=True):
        own = state.records.columns[name]
        texts = own.codes.copy()
        texts[keep] = field.written(own.codes[keep], codes)
        columns[name] = replace(own, codes=texts)
    told = {**_plain(made.figures), "changed": made.changed}
    return replace(state.after(columns, replace(treatment, figures=told)), key=key)


def _bound(state: Treating, job: Job, treatment: Postrandomised) -> tuple[str, ...]:
    """Return what the draws depend on besides the key: the original, its rules, its records and the settings."""
    original = state.original
    digest = original.job.source.digest
    settings = [
        [one.as_dict() for one in (*state.treatments, treatment)],
        np.flatnonzero(~original.originals.keep).tolist(),
        [[fact.name, sorted(fact.codes)] for fact in original.fields if fact.name in treatment.fields],
    ]
    rules = rules_in_one_form(job, digest)
    return (digest, *(sha256(json.dumps(one).encode()).hexdigest() for one in (rules, settings)))


def _plain(figures: PramFigures) -> dict[str, float | None]:
    """Return figures as JSON has them: None for what is infinite."""
    return {name: value if isfinite(value) else None for name, value in asdict(figures).items()}


@dataclass(frozen=True, slots=True, eq=False)
class CodedField:
    """The values of a field as codes.

    Attributes
    ----------
    codes : ndarray of intp, shape (n,)
        -1 where missing.
    places : mapping of str to int
        The code of each text.
    texts : ndarray of int32, shape (values,)
        A text of the column for each code; -1 where no record has it.
    """

    codes: KeyCodes
    places: Mapping[str, int]
    texts: NDArray[np.int32]

    def written(self, own: NDArray[np.int32], codes: KeyCodes) -> NDArray[np.int32]:
        """Return which text of the column each record gets, shape (n,), given its own and its code."""
        return np.where(codes == self.codes, own, self.texts[codes]).astype(np.int32)


def _coded(column: Column, missing: frozenset[str], values: Sequence[str]) -> CodedField:
    """Number the values of a column: as a matrix does, or by first appearance."""
    texts = column.lexicon.objects()
    present = (column.states == Status.PRESENT).tolist()
    places = {text: at for at, text in enumerate(values)}
    code_of = np.full(len(texts), -1, dtype=np.intp)
    used, first = np.unique(column.codes, return_index=True)
    for at in used[np.argsort(first)].tolist():
        if present[at] and not _lacks(texts[at], missing):
            if values and texts[at] not in places:
                raise UsageError(
                    f"the matrix has no row for the value {texts[at]!r}", hint="give every value a row and a column"
                )
            code_of[at] = places.setdefault(texts[at], len(places))
    some = np.full(len(places), -1, dtype=np.int32)
    known = used[code_of[used] >= 0]
    some[code_of[known]] = known
    return CodedField(code_of[column.codes], places, some)


def _lacks(text: str, missing: frozenset[str]) -> bool:
    return text.strip(XML_SPACE) in missing


@dataclass(frozen=True, slots=True, eq=False)
class FileLaw:
    """The law of PRAM in a file.

    Attributes
    ----------
    law : PramLaw
    fields : tuple of CodedField
    """

    law: PramLaw
    fields: tuple[CodedField, ...]


def rules_of_law(records: Records, treatment: Postrandomised, job: Job) -> CellRules:
    """Return the rules that say which values are drawn.

    Parameters
    ----------
    records : Records
        Those that are released, as earlier treatments leave them.
    treatment : Postrandomised
    job : Job
        With the rules as they are asked of them.
    """
    released = {check.index for check in job.rulebook.checks if check.id in treatment.let_go}
    return CellRules.of(job, released, treatment.fields, list(records.columns))


def law_of(
    records: Records,
    treatment: Postrandomised,
    rules: CellRules,
    missing: Mapping[str, frozenset[str]] = _NO_CODES,
) -> FileLaw:
    """Find by which probabilities values of a file are drawn.

    Parameters
    ----------
    records : Records
        Those that are released, as earlier treatments leave them.
    treatment : Postrandomised
    rules : CellRules
        As `rules_of_law` says.
    missing : mapping of str to frozenset of str
        What means 'missing', where the records were read without that.

    Raises
    ------
    UsageError, InfeasibleError
        As for `masktron.treatments.pram.pram_law`; or a value is not in the matrix.
    """
    names, how = treatment.fields, treatment.settings
    nothing: frozenset[str] = frozenset()
    coded = tuple(
        _coded(records.columns[name], missing.get(name, nothing), treatment.values if len(names) == 1 else ())
        for name in names
    )
    strata = [records.columns[name].numbered() for name in how.within]
    law = pram_law(
        [one.codes for one in coded],
        change=how.change,
        minimum=how.stay,
        matrix=np.array(treatment.matrix) if treatment.matrix else None,
        admissible=_admissible(rules, records, names, coded),
        strata=alike(strata, len(records))[0] if strata else None,
        weights=None if treatment.weight is None else records.columns[treatment.weight].values,
    )
    return FileLaw(law, coded)


def _admissible(
    rules: CellRules, records: Records, names: Sequence[str], coded: Sequence[CodedField]
) -> AdmitsCodes | None:
    """Return what asks the rules which records may have which values; None where no rule reads the fields."""
    if not rules.edits:
        return None
    file = CodedFile.of(records, list(dict.fromkeys((*names, *rules.read))))
    everybody = np.arange(len(records))
    # the code that the file has for each of a field's own; a value that no record has is never proposed
    own = []
    for name, one in zip(names, coded, strict=True):
        of_value = np.full(len(one.places), -1, dtype=np.int32)
        of_value[one.codes[one.codes >= 0]] = file.codes[name][one.codes >= 0]
        own.append(of_value)

    def admissible(proposed: Sequence[KeyCodes]) -> NDArray[np.bool_]:
        cells = [
            np.where(codes >= 0, of_value[codes], file.codes[name])
            for name, codes, of_value in zip(names, proposed, own, strict=True)
        ]
        return rules.judged(everybody, np.column_stack(cells), names, file)

    return admissible


def drawn_how(treatment: Postrandomised) -> str:
    """Say by which probabilities values were drawn, what changed, and what others can conclude; without a value."""
    told = treatment.figures
    records = int(told["records"] or 0)
    share = 100 / max(records, 1)
    expected, changed = (share * (told[name] or 0) for name in ("expected", "changed"))
    parts = [
        "by a matrix" if treatment.matrix else f"change {treatment.settings.change:g}",
        f"{expected:.3g} % of {counted(records, 'record')} expected to change, {changed:.3g} % have",
        f"a published value is true with a probability of at most {told['confidence']:.3g}",
        f"odds rise at most {told['odds']:.3g} times" if told["odds"] is not None else "no bound on odds",
    ]
    if told["given"]:
        parts.append(f"{counted(int(told['given']), 'record')} stay as the rules leave one value")
    if told["alone"]:
        parts.append(f"{counted(int(told['alone']), 'record')} stay unprotected, as none alike has another value")
    return "; ".join(parts)


# what a released file can be asked


def as_drawn(records: Records, treatments: Sequence[Treatment], released: Records, rows: NDArray[np.intp]) -> Records:
    """Return records of an original with the drawn fields of its release, with which nothing else is compared.

    Parameters
    ----------
    records : Records
        Of the original, as earlier treatments leave them.
    treatments : sequence of Treatment
    released : Records
    rows : ndarray of intp
        The row of the original of each released record.
    """
    columns = dict(records.columns)
    for name in (name for one in drawn_in(treatments) for name in one.fields):
        if name in columns and name in released.columns:
            columns[name] = _with_cells(columns[name], rows, released.columns[name])
    return replace(records, columns=columns)


def _with_cells(column: Column, rows: NDArray[np.intp], other: Column) -> Column:
    """Return a column in which some cells are those of another one."""
    codes = column.codes.copy()
    codes[rows] = other.codes + len(column.states)
    return replace(
        column,
        codes=codes,
        lexicon=Lexicon.of([*column.lexicon.objects().tolist(), *other.lexicon.objects().tolist()]),
        states=np.concatenate([column.states, other.states]),
        numbers=np.concatenate([column.numbers, other.numbers]),
        decimals=max(column.decimals, other.decimals),
    )


def untrue_draws(
    found: FileLaw,
    released: Records,
    names: Sequence[str],
    missing: Mapping[str, frozenset[str]],
    suppressed: Collection[str],
) -> Iterator[str]:
    """Say in which ways a released file is not what the law of PRAM draws.

    Parameters
    ----------
    found : FileLaw
        Of the original.
    released : Records
        In the order of the original.
    names : sequence of str
        The fields that were drawn.
    missing : mapping of str to frozenset of str
        What means 'missing', by field.
    suppressed : collection of str
        Fields of which cells may have been suppressed afterwards.
    """
    written = [
        _as_coded(released.columns[name], one, missing.get(name, frozenset()))
        for name, one in zip(names, found.fields, strict=True)
    ]
    gone = [
        (now < 0) & (one.codes >= 0)
        for name, now, one in zip(names, written, found.fields, strict=True)
        if name in suppressed
    ]
    hidden = np.logical_or.reduce(gone) if gone else None
    for one in pram_findings(found.law, written, hidden=hidden):
        yield f"of the values of {', '.join(names)}, which are drawn anew, {_said(one)}"


def _as_coded(column: Column, field: CodedField, missing: frozenset[str]) -> KeyCodes:
    """Number the values of a released column as those of the original; other ones have further numbers."""
    places = dict(field.places)
    texts = column.lexicon.objects()
    code_of = np.full(len(texts), -1, dtype=np.intp)
    for at in np.flatnonzero(column.used & (column.states == Status.PRESENT)).tolist():
        if not _lacks(texts[at], missing):
            code_of[at] = places.setdefault(texts[at], len(places))
    return code_of[column.codes]


def _said(finding: PramFinding) -> str:
    records = counted(finding.found, "record")
    match finding.kind:
        case "missing":
            return f"those of {records} are missing where the original has one, or the other way round"
        case "excluded":
            return f"those of {records} cannot be drawn there"
        case "changed":
            return f"{records} have another one than before; {finding.least:,} to {finding.most:,} would be by chance"
        case _:
            return f"one stands in {records}; {finding.least:,} to {finding.most:,} would be by chance"
