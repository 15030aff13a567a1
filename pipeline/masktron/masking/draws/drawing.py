"""What a method draws for the records of a file: the strata in which it draws, and the columns that it sees.

A method knows no rules and no missing values. So it is asked stratum by stratum: records with the same pattern of
missing values that satisfy the same disjunct of every rule. Strata that are too small for it join their nearest
neighbour; what a record does not have is filled with the mean of its stratum for the method, or its most frequent
category, and not written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.config import did_you_mean
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.grouping.members import Members, codes_of
from masktron.masking.draws.drawn_rules import DrawnRules
from masktron.masking.file_values import FileValues
from masktron.masking.groups.strata import disjuncts_of
from masktron.masking.inputs import MaskingInputs
from masktron.methods.base import Drawn, Method
from masktron.methods.parameters import KEEP
from masktron.plan import Block, Partition
from masktron.streams import Streams

ROOM = 2
"""A stratum has at least that many records for each of its variables and for each record of a group: figures of
barely more records than variables would be those of single records."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """The records of a file as a method sees them.

    Attributes
    ----------
    method : Method
    streams : Streams
        What the method draws from.
    variables : tuple of str
        Masked fields that are drawn.
    kept : tuple of str
        Unmasked fields that the method looks at and leaves as they are.
    values : ndarray of float64, shape (n, p)
        Numbers, and codes of categories, of the variables and the kept fields; NaN where missing.
    nominal : ndarray of bool, shape (p,)
    classes : ndarray of intp, shape (n, c), or None
    strata : Members
        Records that are drawn together.
    drawn_rules : DrawnRules or None
        What tells a method that exchanges values how many rules records break.
    """

    method: Method
    streams: Streams
    variables: tuple[str, ...]
    kept: tuple[str, ...]
    values: Floats
    nominal: NDArray[np.bool_]
    classes: Labels | None
    strata: Members
    drawn_rules: DrawnRules | None = None
    _made: dict[int, Drawn] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        inputs: MaskingInputs,
        method: Method,
        blocks: Sequence[Block],
        *,
        streams: Streams,
        classes: Labels | None = None,
    ) -> Drawing:
        """Find the strata in which a method draws the variables of some blocks.

        Raises
        ------
        InfeasibleError
            The file has too few records for the method.
        UsageError
            A parameter names a field that is not there, or one without a number in some record; or a field is to be
            kept and masked.
        """
        file = inputs.file
        variables = tuple(name for block in blocks for name in block.variables)
        named = _named(method)
        _refuse_unknown(file, method, named, variables)
        kept = tuple(dict.fromkeys(named.get(KEEP.name, ())))
        fields = (*variables, *kept)
        values = file.coded(fields)
        for name in kept:
            if name not in file.numeric or np.isnan(file.values[name]).any():
                raise UsageError(
                    f"{method.name} looks at {name!r}, which has no number in some record",
                    where=str(file.source),
                    hint="name fields that are numbers in every record",
                )
        nominal = np.array([name not in file.numeric and name not in file.ranks for name in fields])
        least = max(method.least(len(fields)), ROOM * (len(fields) + 1), ROOM * inputs.k)
        least = max(method.least(len(fields)), min(least, file.n))
        if file.n < least:
            raise InfeasibleError(
                f"{method.name} needs {least} records for {len(fields)} variables, and there are {file.n}",
                where=str(file.source),
                hint="mask fewer variables, lower k, or take another method",
                facts=[RefusalFacts("method", tuple(variables), records=file.n)],
            )
        strata = _strata(inputs, blocks, variables, least)
        judging = DrawnRules.of(inputs, blocks, fields) if method.exchanges else None
        placed = _positioned(method, named, fields)
        return cls(placed, streams, variables, kept, values, nominal, classes, strata, judging)

    def draw(self, attempt: int) -> Drawn:
        """Let the method draw all records; once for each attempt.

        Parameters
        ----------
        attempt : int
            Other numbers come out for another one, and the same for the same.

        Raises
        ------
        InfeasibleError
            The method cannot keep its promise in some stratum.
        """
        if attempt not in self._made:
            self._made[attempt] = self._drawn(attempt)
        return self._made[attempt]

    def columns(self, block: Block) -> slice:
        """Return where the variables of a block stand among those that are drawn."""
        start = self.variables.index(block.variables[0])
        return slice(start, start + len(block.variables))

    @property
    def made(self) -> tuple[Drawn, ...]:
        """All draws that were asked for."""
        return tuple(self._made.values())

    def _drawn(self, attempt: int) -> Drawn:
        drawn = np.full((len(self.values), len(self.variables)), np.nan)
        labels = np.full(len(self.values), -1, dtype=np.intp)
        marked: NDArray[np.bool_] | None = None
        notes: dict[str, int] = {}
        runs: list[list[tuple[NDArray[np.intp], Labels]]] = []
        groups = 0
        for number, records in enumerate(self.strata):
            part = self._part(records, self.streams.generator("draw", number, attempt))
            drawn[records] = part.values[:, : len(self.variables)]
            if part.labels is not None:
                labels[records] = groups + part.labels
                groups += int(part.labels.max()) + 1
            if part.marked is not None:
                marked = np.zeros(drawn.shape, dtype=np.bool_) if marked is None else marked
                marked[records] = part.marked[:, : len(self.variables)]
            if part.runs:
                runs.append([(records, own) for own in part.runs])
            else:
                notes.update({note: notes.get(note, 0) + 1 for note in part.notes})
        several = len(self.strata) > 1
        told = (
            f"{note} (in {count} of {len(self.strata)} strata)" if several else note for note, count in notes.items()
        )
        grouped = labels if groups and labels.min() >= 0 else None
        return Drawn(drawn, grouped, (*told, *self._told(runs)), marked)

    def _told(self, parts: Sequence[Sequence[tuple[NDArray[np.intp], Labels]]]) -> tuple[str, ...]:
        """Let the method speak of the groups of all strata: one of a single class is no file of a single class."""
        if not parts or self.classes is None:
            return ()
        runs = []
        for strata in zip(*parts, strict=True):
            labels, groups = np.empty(len(self.values), dtype=np.intp), 0
            for records, own in strata:
                labels[records] = groups + own
                groups += int(own.max()) + 1
            runs.append(labels)
        return self.method.told(runs, self.classes)

    def _part(self, records: NDArray[np.intp], generator: np.random.Generator) -> Drawn:
        values = _filled(self.values[records], self.nominal)
        classes = None if self.classes is None else self.classes[records]
        nominal = self.nominal if self.method.categories and self.nominal.any() else None
        if self.drawn_rules is None:
            return self.method.mask(values, generator, classes=classes, nominal=nominal)
        known = ~np.isnan(self.values[records])
        broken = self.drawn_rules.among(records)
        return self.method.mask(values, generator, classes=classes, nominal=nominal, known=known, broken=broken)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which of the drawn values are written: those of fields that the record has, shape (n, variables)."""
        known: NDArray[np.bool_] = ~np.isnan(self.values[:, : len(self.variables)])
        return known


def _named(method: Method) -> dict[str, tuple[str, ...]]:
    """Return the fields that parameters of a method name, by parameter."""
    given = {one.name: getattr(method, one.name) for one in method.parameters if one.kind == "fields"}
    return {parameter: tuple(names) for parameter, names in given.items() if names is not None}


def _refuse_unknown(
    file: FileValues, method: Method, named: Mapping[str, Sequence[str]], variables: Sequence[str]
) -> None:
    """Refuse a field that a parameter names and the method cannot see, or must not keep.

    Raises
    ------
    UsageError
    """
    for parameter, names in named.items():
        for name in names:
            if name not in file.columns:
                raise UsageError(
                    f"{parameter} of {method.name} names {name!r}, a field that the file does not have",
                    where=str(file.source),
                    hint=did_you_mean(name, file.columns),
                )
            if parameter == KEEP.name and name in file.masked:
                raise UsageError(
                    f"{parameter} of {method.name} names {name!r}, which is masked: it would be published as it was",
                    where=str(file.source),
                    hint=f"--role {name}=untouched says so; or leave it out of {parameter}",
                )
            if parameter != KEEP.name and name not in file.masked:
                raise UsageError(
                    f"{parameter} of {method.name} names {name!r}, which is not masked",
                    where=str(file.source),
                    hint=f"--role {name}=confidential; or leave it out of {parameter}",
                )
            if name in file.masked and name not in variables:
                raise UsageError(
                    f"{parameter} of {method.name} names {name!r}, which is masked by groups for its categories",
                    where=str(file.source),
                    hint="name numbers, or take a method that masks categories",
                )


def _positioned(method: Method, named: Mapping[str, Sequence[str]], fields: Sequence[str]) -> Method:
    """Return a method whose parameters name columns by position, as its arrays have them."""
    placed = copy(method)
    for parameter, names in named.items():
        setattr(placed, parameter, tuple(fields.index(name) for name in names))
    return placed


def _filled(values: Floats, nominal: NDArray[np.bool_]) -> Floats:
    """Put the mean of what is present in the place of missing values, zero where nothing is.

    Nominal columns take their most frequent code, the lowest of several: between codes there is no category.
    """
    missing = np.isnan(values)
    if not missing.any():
        return values
    counts = (~missing).sum(axis=0)
    fillings = np.where(missing, 0.0, values).sum(axis=0) / np.maximum(counts, 1)
    for column in np.flatnonzero(nominal & (counts > 0)).tolist():
        codes, frequencies = np.unique(values[~missing[:, column], column], return_counts=True)
        fillings[column] = codes[frequencies.argmax()]
    return np.where(missing, fillings, values)


def _strata(inputs: MaskingInputs, blocks: Sequence[Block], variables: Sequence[str], least: int) -> Members:
    """Return the strata: the smallest joins its nearest neighbour until none is too small."""
    pattern = codes_of(inputs.file.missing(variables))
    cells = disjuncts_of(inputs.rules, Partition(tuple(blocks))).cells()
    labels = codes_of(np.column_stack([pattern, cells]))
    points = inputs.file.points(variables)
    points = np.where(np.isnan(points), 0.0, points)
    sizes = np.bincount(labels).astype(np.intp)
    sums = np.stack([np.bincount(labels, column) for column in points.T], axis=1)
    first = np.zeros(len(sizes), dtype=np.intp)
    first[labels[::-1]] = pattern[::-1]
    into = np.arange(len(sizes))
    for smallest, other in _joins(sizes, sums, first, least):
        into[into == smallest] = other
    return Members.of(codes_of(into[labels][:, None]))


def _joins(sizes: NDArray[np.intp], sums: Floats, pattern: NDArray[np.intp], least: int) -> Iterator[tuple[int, int]]:
    """Yield which stratum joins which: those of one pattern of missing values first, among them the nearest."""
    sizes, sums = sizes.copy(), sums.copy()
    there = np.ones(len(sizes), dtype=np.bool_)
    while there.sum() > 1:
        open_ = np.flatnonzero(there)
        smallest = int(open_[sizes[open_].argmin()])
        if sizes[smallest] >= least:
            return
        others = open_[open_ != smallest]
        alike = others[pattern[others] == pattern[smallest]]
        others = alike if alike.size else others
        gaps = sums[others] / sizes[others, None] - sums[smallest] / sizes[smallest]
        other = int(others[np.einsum("nd,nd->n", gaps, gaps).argmin()])
        sizes[other] += sizes[smallest]
        sums[other] += sums[smallest]
        there[smallest] = False
        yield smallest, other
