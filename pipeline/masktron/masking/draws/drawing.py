"""What a method draws for the records of a file: the strata in which it draws, and the columns that it sees.

A method knows no rules and no missing values. So it is asked stratum by stratum: records with the same pattern of
missing values that satisfy the same disjunct of every rule. Strata that are too small for it join their nearest
neighbour, but never across the strata that the user asked for; what a record does not have is filled with the mean of
its stratum for the method, or its most frequent category, and not written. A method that draws given what stays sees
the fields that are written as they are beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.classify.forms import variables_of
from masktron.constraints import Form
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.grouping.members import Members, codes_of
from masktron.masking.file_values import FileValues
from masktron.masking.groups.strata import disjuncts_of, named_fields, refuse_unknown
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import RecordRules, held_disjuncts
from masktron.methods.base import Drawn, Method, in_parts
from masktron.methods.conditioned import ROOM, ConditionedMethod, Conditioning
from masktron.methods.parameters import CONDITIONS, KEEP, STRATA
from masktron.plan import Block, Partition
from masktron.problems.problem import Field, Note, Sentence, fields
from masktron.sources.column import OnDemand
from masktron.streams import Streams
from masktron.synthesis.conditions import EXPLAINED, LEAST_LEVEL, MOST, RECORDS, Conditions
from masktron.synthesis.exchanging import BrokenRules

_GIVES_AWAY = f"more than {100 * EXPLAINED:g} % of the variance of what is drawn could be computed from it"
FEW = 20
"""Different whole numbers up to which an unmasked field stands for categories."""


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
    values : ndarray of float64, shape (n, p)
        Numbers, and codes of categories, of the variables, then of fields that the method keeps, then of conditions;
        NaN where missing.
    nominal : ndarray of bool, shape (p,)
    given : int
        How many of the last columns are conditions.
    said : tuple of str
        What there is to say of conditions.
    k : int
        Fewest records of a group in the run.
    classes : ndarray of intp, shape (n, c), or None
    strata : Members
        Records that are drawn together.
    drawn_rules : DrawnRules or None
        What tells a method that exchanges values how many rules records break.
    """

    method: Method
    streams: Streams
    variables: tuple[str, ...]
    values: Floats
    nominal: NDArray[np.bool_]
    given: int
    said: tuple[Sentence, ...]
    k: int
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
        parting: Labels | None = None,
    ) -> Drawing:
        """Find the strata in which a method draws the variables of some blocks.

        Parameters
        ----------
        inputs : MaskingInputs
        method : Method
        blocks : sequence of Block
        streams : Streams
        classes : ndarray of intp, shape (n, c), optional
        parting : ndarray of intp, shape (n,), optional
            Codes of the strata that the user asked for.

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
        named = named_fields(method)
        refuse_unknown(file, method, named, variables)
        kept = tuple(dict.fromkeys(named.get(KEEP, ())))
        fields = (*variables, *kept)
        for name in kept:
            if name not in file.numeric or np.isnan(file.values[name]).any():
                raise UsageError.of(
                    "field-not-usable",
                    file.source,
                    setting=f"the parameter {KEEP} of {method.name}",
                    field=Field(name),
                    reason="which has no number in some record",
                )
        values = file.coded(fields)
        nominal = np.array([name not in file.numeric and name not in file.ranks for name in fields])
        given, conditions, said = _conditions(file, method, values, nominal, streams, inputs.k)
        least = max(method.least(len(fields)), ROOM * (len(fields) + 1), ROOM * inputs.k)
        if isinstance(method, ConditionedMethod) and (count := method.regressors(conditions)):
            least = max(least, RECORDS * (len(fields) + count))
        least = max(method.least(len(fields)), min(least, file.n))
        if file.n < least:
            raise InfeasibleError.of(
                "too-few-records",
                file.source,
                records=file.n,
                what=f"{method.name} of {len(fields)} fields",
                least=least,
                facts=[RefusalFacts("method", tuple(variables), records=file.n)],
            )
        strata = _strata(inputs, method, blocks, variables, least, parting)
        judging = DrawnRules.of(inputs, blocks, fields) if method.exchanges else None
        said = (*said, *_said(method, given, conditions, len(fields), inputs.k, strata))
        placed = _positioned(method, {**named, CONDITIONS: given, STRATA: ()}, (*fields, *given))
        return cls(
            placed,
            streams,
            variables,
            np.concatenate([values, conditions.values], axis=1),
            np.concatenate([nominal, conditions.nominal]),
            len(given),
            said,
            inputs.k,
            classes,
            strata,
            judging,
        )

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
        def draw(number: int, records: Labels) -> Drawn:
            return self._part(records, self.streams.generator("draw", number, attempt))

        def told(runs: tuple[Labels, ...]) -> tuple[str, ...]:
            return () if self.classes is None else self.method.told(runs, self.classes)

        made = in_parts(self.strata, draw, told)
        written = slice(len(self.variables))
        marked = None if made.marked is None else made.marked[:, written]
        return Drawn(made.values[:, written], made.labels, (*self.said, *made.notes), marked)

    def _part(self, records: NDArray[np.intp], generator: np.random.Generator) -> Drawn:
        own = self.values.shape[1] - self.given
        values = self.values[records]
        values[:, :own] = _filled(values[:, :own], self.nominal[:own])
        classes = None if self.classes is None else self.classes[records]
        nominal = self.nominal if self.nominal.any() else None
        if self.drawn_rules is None:
            return self.method.mask(values, generator, classes=classes, nominal=nominal, k=self.k)
        known = ~np.isnan(self.values[records])
        broken = self.drawn_rules.among(records, self.given)
        return self.method.mask(
            values, generator, classes=classes, nominal=nominal, known=known, broken=broken, k=self.k
        )

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which of the drawn values are written: those of fields that the record has, shape (n, variables)."""
        known: NDArray[np.bool_] = ~np.isnan(self.values[:, : len(self.variables)])
        return known


def _conditions(
    file: FileValues, method: Method, values: Floats, nominal: NDArray[np.bool_], streams: Streams, k: int
) -> tuple[tuple[str, ...], Conditions, tuple[Sentence, ...]]:
    """Return the fields given which a method draws, what they hold, and what there is to say of them.

    Where nobody has named them, these are all that are written as they are, but keys, weights, and what would give
    away what is drawn.
    """
    if not isinstance(method, ConditionedMethod):
        return (), Conditions.none(file.n), ()
    names: tuple[str, ...] = tuple(map(str, file.written if method.conditions is None else method.conditions))
    if method.conditions is None:
        names = tuple(name for name in names if file.tells_alike(name) and name not in map(str, method.strata))
    categories = [name not in file.numeric or file.in_categories(name, FEW) for name in names]
    values_of = file.coded(names) if names else np.empty((file.n, 0))
    found = Conditions(values_of, np.array(categories, dtype=np.bool_), max(k, LEAST_LEVEL))
    telling = found.telling(values, nominal, streams.generator("conditions")) if names else []
    if method.conditions is not None:
        return names, found, tuple(Note("{field}: {why}", field=Field(names[at]), why=_GIVES_AWAY) for at in telling)
    numbers = np.flatnonzero(~found.nominal)[min(MOST, file.n // RECORDS) // 2 :].tolist()
    left = [at for at in range(len(names)) if at not in telling and at not in numbers]
    if method.conditioning is Conditioning.EXACT:
        found = found.clipped(k)
    said: tuple[Sentence, ...] = ()
    if telling:
        given_away = fields(names[at] for at in telling)
        said = (Note("values are not drawn given {names}: {why}", names=given_away, why=_GIVES_AWAY),)
    return tuple(names[at] for at in left), found.chosen(left), said


def _said(
    method: Method, names: Sequence[str], conditions: Conditions, variables: int, k: int, strata: Members
) -> Iterator[Sentence]:
    """Say given which fields values are drawn, and what is told apart of them, stratum by stratum."""
    if not isinstance(method, ConditionedMethod) or not names:
        return
    n = len(conditions.values)
    telling, together = np.zeros(len(names)), np.zeros(len(names))
    for rows in strata:
        part = conditions.part(rows)
        shares, tell = part.together(method.levels(part, variables, k))
        telling += len(rows) * tell / n
        together += len(rows) * shares / n
    if whole := [name for name, share in zip(names, telling.tolist(), strict=True) if share > 1 - 0.5 / n]:
        yield Note("values are drawn given {names}", names=fields(whole))
    for name, share, rare in zip(names, telling.tolist(), together.tolist(), strict=True):
        if name not in whole:
            told = "values are drawn given {field} in {share:.1f} % of the records; in others it is too uniform"
            yield Note(told, field=Field(name), share=100 * share)
        if rare:
            yield Note(
                "of {field}, categories that are too rare are not told apart from others: they hold {share:.1f} % of "
                "the records",
                field=Field(name),
                share=100 * rare,
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


def _strata(
    inputs: MaskingInputs,
    method: Method,
    blocks: Sequence[Block],
    variables: Sequence[str],
    least: int,
    parting: Labels | None,
) -> Members:
    """Return the strata: the smallest joins its nearest neighbour until none is too small."""
    pattern = codes_of(inputs.file.missing(variables))
    cells = disjuncts_of(inputs.rules, Partition(tuple(blocks))).cells()
    labels = codes_of(np.column_stack([pattern, cells]))
    points = inputs.file.points(variables)
    points = np.where(np.isnan(points), 0.0, points)
    asked = np.zeros(len(labels), dtype=np.intp) if parting is None else parting
    found, count = np.empty(len(labels), dtype=np.intp), 0
    for rows in Members.of(asked):
        if len(rows) < least:
            raise InfeasibleError.of(
                "small-stratum",
                inputs.file.source,
                fields=tuple(Field(str(name)) for name in method.strata),
                records=len(rows),
                user=method.name,
                least=least,
                facts=[RefusalFacts("method", tuple(variables), records=len(rows))],
            )
        found[rows] = count + _joined(codes_of(labels[rows][:, None]), points[rows], pattern[rows], least)
        count = int(found[rows].max()) + 1
    return Members.of(found)


def _joined(labels: Labels, points: Floats, pattern: Labels, least: int) -> Labels:
    """Number records of one asked stratum by the strata that are large enough."""
    sizes = np.bincount(labels).astype(np.intp)
    sums = np.stack([np.bincount(labels, column) for column in points.T], axis=1)
    first = np.zeros(len(sizes), dtype=np.intp)
    first[labels[::-1]] = pattern[::-1]
    into = np.arange(len(sizes))
    for smallest, other in _joins(sizes, sums, first, least):
        into[into == smallest] = other
    return codes_of(into[labels][:, None])


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


@dataclass(frozen=True, slots=True, eq=False)
class DrawnRules:
    """The rules of some blocks, for records with drawn numbers in the place of their own.

    Attributes
    ----------
    rules : RecordRules
    fields : tuple of str
        What is drawn, in the order of columns; kept fields among them are as they were.
    forms : tuple of Form
        Of the rules that every original record satisfies in doubles, and that read drawn numbers and no drawn
        category.
    """

    rules: RecordRules
    fields: tuple[str, ...]
    forms: tuple[Form, ...]

    @classmethod
    def of(cls, inputs: MaskingInputs, blocks: Sequence[Block], fields: Sequence[str]) -> Self:
        """Collect the rules of blocks."""
        rules, file = inputs.rules, inputs.file
        drawn = frozenset(fields)
        forms = dict.fromkeys(
            form
            for block in blocks
            for form in rules.forms(block)
            if (read := drawn.intersection(variables_of(form))) and read <= file.numeric
        )
        return cls(rules, tuple(fields), tuple(form for form in forms if rules.satisfied_by(form).any(axis=1).all()))

    def among(self, records: NDArray[np.intp], beside: int = 0) -> BrokenRules | None:
        """Return what judges some of the records by their positions among these; None where no rule does.

        It takes values with some columns beside those of the fields, at which it does not look.
        """
        if not self.forms:
            return None

        def count(values: Floats, positions: NDArray[np.intp]) -> NDArray[np.intp]:
            return self._count(values, records[positions])

        read = {name for form in self.forms for name in variables_of(form)}
        read_at = np.array([*(name in read for name in self.fields), *[False] * beside])
        return BrokenRules(read_at, count)

    def _count(self, values: Floats, records: NDArray[np.intp]) -> NDArray[np.intp]:
        file = self.rules.file
        names = {name for form in self.forms for name in variables_of(form)}
        columns = {name: file.columns[name].taken(records) for name in names}
        numbers = {name: column.as_read() for name, column in columns.items()}
        for at, name in enumerate(self.fields):
            if name in names and name in file.numeric:
                rounded = np.round(values[:, at], file.columns[name].decimals)
                numbers[name] = np.where(columns[name].present, rounded, numbers[name])
        texts = OnDemand.lexemes(columns)
        count = np.zeros(len(records), dtype=np.intp)
        for form in self.forms:
            count += ~held_disjuncts(form, len(records), numbers, texts, self.rules.domains).any(axis=1)
        return count
