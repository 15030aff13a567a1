"""A masked file and its original, brought side by side: record by record, field by field."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Kind, Role
from masktron.errors import DocumentError, UsageError
from masktron.jobs.column_memory import arrays_of_run, read_columns
from masktron.jobs.common import shown_path
from masktron.jobs.described import completed
from masktron.jobs.given_away import read_off_concerns, read_off_notes, with_read_off
from masktron.jobs.keys_known import KnownKeys, known_keys, unmasked_fields, without_mark
from masktron.jobs.lowering.level_treatments import described_as_wide
from masktron.jobs.lowering.wide_settings import fields_as_wide
from masktron.jobs.ordering import RELEASED, WRITTEN
from masktron.kernels.cores import usable_cores
from masktron.large_arrays import kept
from masktron.measures.assessed import Assessed, ColumnsOnDemand, ReadRecords
from masktron.problems.problem import Field as Named
from masktron.problems.problem import Known, Note, Place, Problem, Sentence, fields
from masktron.progress import Progress, told_as
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.source import Source
from masktron.sources.wide.wide_pair import wide_pair
from masktron.verify.declared_steps import left_by_steps
from masktron.verify.pairing import NOTHING_STATED, UNMASKED, Stated, paired
from masktron.write.manifest import DescribedRelease
from masktron.write.nested_release import NestedRelease

_KEPT = 1 << 25
"""Bytes of columns in another order that are kept when they have been made."""
_CELL = 4
"""Bytes of a cell, without its text."""


def compare(
    masked: Source,
    original: Source,
    *,
    described: DescribedRelease | None,
    config: Config,
    known: Mapping[str, float],
    progress: Progress,
    class_field: str | None = None,
    stated: Stated = NOTHING_STATED,
) -> tuple[Assessed, tuple[Sentence, ...]]:
    """Read both files and put each masked record beside its own original.

    With a manifest its fields, kinds, weight, missing codes, left-out records and order count. Without one the
    settings say which fields are not masked, and `paired` which records belong together, if anything does.

    Parameters
    ----------
    masked, original : Source
    described : DescribedRelease or None
    config : Config
    known : mapping of str to float
        Figures that somebody has counted already.
    progress : callable
    class_field : str, optional
        A field of the original that sorts records into classes.
    stated : Stated
        What is said of the order of records, where there is no manifest.

    Returns
    -------
    Assessed
    notes : tuple of str
        What was taken for granted.

    Raises
    ------
    UsageError
        The files do not belong together, or a field that was named is not there.
    DocumentError
        A file cannot be read, has no flat records, or no record at all.
    """
    told: tuple[str, ...] = ()
    described = None if described is None else described_as_wide(described)
    config = fields_as_wide(config, original, roles_alone=described is not None)
    if described is None:
        config, told = completed(config, original)
    missing = config.missing if described is None else described.missing
    released, source = (_read(one, missing, config.memory, progress) for one in (masked, original))
    untreated = whole = source
    if described is not None:
        source = whole = left_by_steps(described.treatments, untreated, released, None)
    fields = _declared(released, source, config) if described is None else _as_described(released, source, described)
    pairing = paired(released, source, described, config.roles, stated)
    if described is not None:
        of_rows = [step for step in described.treatments if not step.computed]
        source = left_by_steps(of_rows, whole, released, pairing.rows)
    rows, back = np.sort(pairing.rows), np.argsort(pairing.rows)
    before = ReorderedColumns({name: source.columns[name] for name in fields.names}, rows)
    shown = released.columns
    after = ReorderedColumns(
        {
            name: shown[name] if name in shown else Column.absent(source.columns[name].variable, len(released))
            for name in fields.names
        },
        back,
    )
    classes = None if class_field is None else _known(source, class_field).taken(rows).numbered(held=True)
    with arrays_of_run(len(released), len(after), config.memory):
        codes = {name: kept(column.numbered()) for name, column in after.items()}
    weights = None if fields.weight is None else _weights(source, fields.weight, rows)
    weights_before = weights
    if fields.weight is not None and untreated.columns[fields.weight] is not source.columns[fields.weight]:
        weights_before = _weights(untreated, fields.weight, rows)
    roles = _roles(source, described, config)
    in_both = {name: role for name, role in roles.items() if name in shown}
    telling = _telling(source, roles)
    keys = _keys(roles, described, config, telling)
    told_keys = keys.of(ReorderedColumns(shown, back), weights)
    if described is not None:
        told_keys = with_read_off(
            told_keys,
            described.treatments,
            ReorderedColumns(whole.columns, rows),
            ReorderedColumns(shown, back),
            in_order=bool((pairing.rows == rows).all()),
        )
    assessed = Assessed(
        original=before,
        masked=after,
        numeric=fields.numeric,
        codes=codes,
        weights=weights,
        classes=classes,
        blocks=() if described is None else described.blocks,
        solved=frozenset(() if described is None else (name for name, *_ in described.solved)),
        known=known,
        workers=config.workers or usable_cores(),
        paired=pairing.known,
        known_exactly=unmasked_fields(in_both).classes(ReorderedColumns(source.columns, rows)),
        rows=rows,
        everything=ReorderedColumns(source.columns, rows),
        unmasked=tuple(name for name in source.columns if in_both.get(name) in RELEASED),
        keys=told_keys,
        keys_before=lambda: keys.of(ReorderedColumns(untreated.columns, rows), weights),
        weights_before=weights_before,
        read=ReadRecords.of(
            untreated.columns,
            len(untreated),
            None if fields.weight is None else untreated.columns[fields.weight].values,
        ),
        relations=() if described is None else described.relations,
    )
    read = (Note("{says}; {hint}", says=one.says, hint=one.hint) for one in read_off_concerns(told_keys))
    paired_how = [pairing.note] if pairing.note else []
    return assessed, (*told, *paired_how, *fields.notes, *read, *read_off_notes(told_keys))


def _roles(source: Dataset, described: DescribedRelease | None, config: Config) -> dict[str, Role]:
    """Return the roles of fields by the manifest, or by the settings where there is none."""
    if described is None:
        return {name: config.roles.get(name, Role.CONFIDENTIAL) for name in source.columns}
    return {name: Role(role) for name, role in described.roles.items()}


def _telling(source: Dataset, roles: Mapping[str, Role]) -> set[str]:
    """Name the fields written as they were whose text differs in every record."""
    written = (name for name, role in roles.items() if role in WRITTEN and name in source.columns)
    return {name for name in written if len(source) > 1 and source.columns[name].tells_apart}


def _keys(
    roles: Mapping[str, Role], described: DescribedRelease | None, config: Config, telling: Collection[str]
) -> KnownKeys:
    """Return the quasi-identifiers: as the settings name them, else as the manifest does, else what is unmasked."""
    named = {name for name, role in config.roles.items() if role is Role.QUASI_IDENTIFIER}
    if described is None:
        return known_keys(roles, config.quasi_identifiers, telling)
    if not named and not config.quasi_identifiers:
        return known_keys(roles, described.quasi_identifiers, telling)
    return known_keys(without_mark(roles), {*named, *config.quasi_identifiers}, telling)


class ReorderedColumns(ColumnsOnDemand):
    """Columns with some of their cells, in the order of their positions: each is made when it is asked for.

    Those that were made last are kept as far as they are small, so that a large file is not in memory in two orders.

    Parameters
    ----------
    columns : mapping of str to Column
        Of n records.
    which : ndarray of intp, shape (m,)
    """

    def __init__(self, columns: Mapping[str, Column], which: NDArray[np.intp]) -> None:
        self._columns = columns
        records = len(next(iter(columns.values()))) if columns else 0
        self._which = None if np.array_equal(which, np.arange(records)) else which
        self._most = max(1, _KEPT // max(1, _CELL * len(which)))
        self._made: dict[str, Column] = {}

    def __getitem__(self, name: str) -> Column:
        if self._which is None:
            return self._columns[name]
        made = self._made.get(name)
        if made is None:
            made = self._columns[name].taken(self._which)
            self._made = dict([*self._made.items(), (name, made)][-self._most :])
        return made

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return the values of one column alone."""
        if (made := self._made.get(name)) is not None:
            return made.values
        values = self._columns[name].values
        return values if self._which is None else values[self._which]

    def of(self, names: Iterable[str]) -> ReorderedColumns:
        """Return some of the columns, in the same order."""
        found = copy(self)
        found._columns = {name: self._columns[name] for name in names}
        found._made = {name: made for name, made in self._made.items() if name in found._columns}
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def some_columns(columns: Mapping[str, Column], names: Iterable[str]) -> Mapping[str, Column]:
    """Return some columns; those in another order are not made yet."""
    if isinstance(columns, ReorderedColumns):
        return columns.of(names)
    return {name: columns[name] for name in names}


@dataclass(frozen=True, slots=True)
class _Fields:
    """Which fields are compared, and how; in the order of the original."""

    names: tuple[str, ...]
    numeric: tuple[str, ...]
    weight: str | None
    notes: tuple[Sentence, ...]


def _read(source: Source, missing: Mapping[str, frozenset[str]], memory: int | None, progress: Progress) -> Dataset:
    progress(f"surveying {source.path.name}", 0)
    shape = source.shape
    if not shape.flat:
        raise DocumentError.of("records-not-flat", Place(str(source.path), shape.line), reason=shape.reason)
    told = told_as(progress, f"reading {source.path.name}")
    records = read_columns(source, missing=missing, memory=memory, told=told)
    if not len(records):
        raise DocumentError.of("no-records", source.path, path=shown_path(source.layout))
    return records


def as_wide_records(released: Source, original: Source, how: NestedRelease) -> tuple[Source, Source]:
    """Return both files as tables: of nested ones the units with all their members, or the members alone."""
    found, beside = wide_pair(released, original, how.member_order, how.protect, how.sums)
    return found, original if beside is None else beside


def require_described(masked: Source, original: Source, described: DescribedRelease) -> None:
    """Refuse a manifest of other files: who is who would be wrong, and so would be every figure.

    Raises
    ------
    UsageError
        One of them is another file.
    DocumentError
        One of them cannot be read.
    """
    for source, digest, what in (
        (masked, described.output, "masked file"),
        (original, described.original, "original"),
    ):
        try:
            found = source.digest
        except OSError as error:
            raise DocumentError.of("cannot-read", source.path, file=what, reason=error.strerror) from error
        if found != digest:
            raise UsageError.of("not-of-one-run", source.path, reason=f"the {what} has another SHA-256")


def _as_described(released: Dataset, source: Dataset, described: DescribedRelease) -> _Fields:
    """Fields as the manifest has them."""
    lost = sorted({*described.masked, *(() if described.weight is None else (described.weight,))} - {*source.columns})
    if lost:
        reason = Problem(
            "unknown-name", name=Named(lost[0]), known=Known(lost[0], tuple(source.columns)), kind="field"
        )
        raise UsageError.of("not-of-one-run", source.path, reason=reason)
    solved = dict.fromkeys(name for name, *_ in described.solved)
    notes: list[Sentence] = [
        Note(
            "{solved}: left out of block_k, as other fields give it in each record; masktron check, which has the "
            "rulebook, counts it where they do not",
            solved=fields(solved),
        )
    ]
    return _Fields(described.masked, described.numeric, described.weight, tuple(notes if solved else ()))


def _declared(released: Dataset, source: Dataset, config: Config) -> _Fields:
    """All fields of both files that the settings do not keep from masking, by what they hold."""
    for name in (*config.roles, *config.nominal, *config.ordinal, *config.numeric, *config.quasi_identifiers):
        _known(source, name)
    common = [name for name in source.columns if name in released.columns]
    # those of the original count, whether or not they were released
    weights = [name for name in source.columns if config.roles.get(name) is Role.WEIGHT]
    if len(weights) > 1:
        raise UsageError.of("bad-value", name="the role weight", expected="of one field", given=fields(weights))
    names = [
        name
        for name in common
        if config.roles.get(name) not in UNMASKED
        and (source.columns[name].present.any() or released.columns[name].present.any())
    ]
    if not names:
        reason = "they have no field with values in common that could have been masked"
        raise UsageError.of("not-of-one-run", released.path, reason=reason)
    numeric = [
        name
        for name in names
        if config.kind_of(name) in (None, Kind.NUMBER)
        and source.columns[name].numeric
        and not _texts(released.columns[name])
    ]
    kept = [name for name in common if name not in names]
    gone = [name for name in source.columns if name not in released.columns]
    new = [name for name in released.columns if name not in source.columns]
    notes: list[Sentence] = [
        Note(
            "compared without a manifest: {names}; leave out a field that was not masked with "
            "[[--role FIELD=untouched]]",
            names=fields(names),
        ),
    ]
    left = {
        "the settings keep them from masking": kept,
        "only the original has them": gone,
        "only the masked file has them": new,
    }
    notes += [
        Note("not compared, since {why}: {others}", why=why, others=fields(others))
        for why, others in left.items()
        if others
    ]
    return _Fields(tuple(names), tuple(numeric), weights[0] if weights else None, tuple(notes))


def _texts(column: Column) -> bool:
    return bool((column.present & ~column.is_number).any())


def _known(source: Dataset, name: str) -> Column:
    if name not in source.columns:
        known = Known(name, tuple(source.columns))
        raise UsageError.of("unknown-name", source.path, name=Named(name), known=known, kind="field")
    return source.columns[name]


def _weights(source: Dataset, name: str, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    values: NDArray[np.float64] = source.columns[name].values[rows]
    if not (values > 0).all():
        raise DocumentError.of("bad-weights", source.path, field=Named(name))
    return values
