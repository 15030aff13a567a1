"""What every masking method declares, and what it does to arrays.

A method knows no rules. It partitions points, or draws values for records; `masktron.masking` asks it for that within
the strata that the rules make, and settles what comes out. `masktron.estimators` makes a transformer of scikit-learn
of each. Constructors therefore store their arguments as they are, and `check` refuses what is wrong.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.contracts import IdenticalGroups, MethodContract
from masktron.errors import InfeasibleError, UsageError
from masktron.kernels.groups import weighted_means
from masktron.methods.parameters import (
    KEEP,
    STRATA,
    Parametrised,
    kept_columns,
    parameter,
)
from masktron.partitions.column_kinds import Kinds
from masktron.partitions.mdav import standardise
from masktron.problems.problem import Note, Sentence
from masktron.synthesis.conditions import LEAST_LEVEL, Conditions
from masktron.synthesis.exchanging import BrokenRules


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What a method made of some records.

    Attributes
    ----------
    values : ndarray of float64, shape (n, p)
        Row i belongs to the respondent of row i.
    labels : ndarray of intp, shape (n,), or None
        Groups that the values were made for, 0 to g - 1; None where there are none.
    notes : tuple of str
        What the user has to know of this run, one sentence each: components that were regularised, larger groups.
    marked : ndarray of bool, shape (n, p), or None
        Values that were to be replaced, for methods that replace some values alone.
    runs : tuple of ndarray of intp, shape (n,)
        Groups of each run, numbered as labels are, for methods whose notes are those of `Method.told`: who draws the
        parts of a file one by one asks it again for the whole.
    """

    values: Floats
    labels: Labels | None = None
    notes: tuple[Sentence, ...] = ()
    marked: NDArray[np.bool_] | None = None
    runs: tuple[Labels, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RecordContext:
    """What is known of records beside their numbers; a method reads what it needs.

    Attributes
    ----------
    classes : ndarray of intp, shape (n, c)
        Codes of c class attributes of each record, from 0; none where no class was given.
    kinds : Kinds
        What the columns are.
    shares : ndarray of float64, or None
        Shares of the classes in the whole file; see `Partitioning.partition`.
    known : ndarray of bool, shape (n, p), or None
        Values that exist; None where all do. In the place of others stands a mean, which is nobody's value.
    broken : BrokenRules or None
        Tells how many rules drawn records break, as far as rules are understood, for methods that can draw what
        breaks none; whatever it says, what is drawn is settled.
    conditions : Conditions or None
        What stays of the records, given which a method draws; None where nothing does.
    k : int
        Fewest records of a group in the run, which a method that has no k asks for.
    """

    classes: Labels
    kinds: Kinds
    shares: Floats | None = None
    known: NDArray[np.bool_] | None = None
    broken: BrokenRules | None = None
    conditions: Conditions | None = None
    k: int = LEAST_LEVEL

    def part(self, records: Labels) -> Self:
        """Return what is known of some of the records."""
        broken = self.broken
        if broken is not None:
            count = broken.count
            broken = replace(broken, count=lambda values, positions: count(values, records[positions]))
        return replace(
            self,
            classes=self.classes[records],
            known=None if self.known is None else self.known[records],
            broken=broken,
            conditions=None if self.conditions is None else self.conditions.part(records),
        )

    @classmethod
    def of(
        cls, values: Floats, classes: Labels | None, kinds: Kinds | None = None, shares: Floats | None = None
    ) -> Self:
        """Make it for records, shape (n, p): without classes or kinds there are none, and all columns are numbers."""
        codes = np.empty((len(values), 0), dtype=np.intp) if classes is None else np.asarray(classes)
        columns = codes[:, None] if codes.ndim == 1 else codes
        return cls(columns, Kinds.numbers(values.shape[1]) if kinds is None else kinds, shares)


class Method(Parametrised, ABC):
    """A masking method.

    Parameters
    ----------
    strata : sequence of int
        Columns that stay as they are, and part the records: each part is masked as if it were all.

    Attributes
    ----------
    name : str
        What ``--method`` takes.
    title, says, when, source : str
        What it is called, what it does and when to choose it, in one sentence each; paper, section and equation.
    attacker : str
        What somebody can compute who has the program, the rulebook, the settings and the published file, but neither
        the original nor the manifest; where it draws, also what the secret of the release would give him.
    preserves : tuple of str
        What stays as it was, and how exactly; before settle moves a value.
    loses : tuple of str
        What does not stay, where somebody might count on it, with a figure.
    parameters : mapping of str to Parameter
        See `Parametrised`.
    needs_class : bool
        Whether it asks for a class of each record: an attribute that is confidential and is not masked.
    categories : bool
        Whether it draws categories as well as numbers.
    orders : bool
        Whether it draws ordered categories as well as numbers.
    exchanges : bool
        Whether it asks what exists and what breaks rules, as it exchanges values of records.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    says: ClassVar[str]
    when: ClassVar[str]
    source: ClassVar[str]
    attacker: ClassVar[str]
    preserves: ClassVar[tuple[str, ...]]
    loses: ClassVar[tuple[str, ...]] = ()
    needs_class: ClassVar[bool] = False
    categories: ClassVar[bool] = False
    orders: ClassVar[bool] = False
    exchanges: ClassVar[bool] = False
    strata: Iterable[int] = parameter(
        "Fields whose values part the records: each part is masked by itself.", default=(), stays=True, kw_only=True
    )

    @property
    @abstractmethod
    def contract(self) -> MethodContract:
        """What it promises with its parameters."""

    def require_class(self, *, given: bool) -> None:
        """Refuse to go on without the class that the method needs.

        Raises
        ------
        UsageError
        """
        if self.needs_class and not given:
            how = Note("its field: [[--param class=FIELD]]; in Python, give y to fit or fit_transform")
            raise UsageError.of("needs-setting", name=self.name, needed="the class of each record", setting=how)

    def least(self, variables: int) -> int:
        """Return the fewest records, with that many variables, that it can mask together."""
        del variables
        return int(getattr(self, "k", 2))

    def told(self, runs: Sequence[Labels], classes: Labels) -> tuple[str, ...]:
        """Say what the user has to know of the groups that values were drawn for.

        Parameters
        ----------
        runs : sequence of ndarray of intp, shape (n,)
            Groups of each run; see `Drawn`.
        classes : ndarray of intp, shape (n, c)

        Returns
        -------
        tuple of str
            A sentence each.
        """
        del runs, classes
        return ()

    def mask(
        self,
        values: Floats,
        generator: np.random.Generator,
        *,
        classes: Labels | None = None,
        nominal: NDArray[np.bool_] | None = None,
        known: NDArray[np.bool_] | None = None,
        broken: BrokenRules | None = None,
        k: int = LEAST_LEVEL,
    ) -> Drawn:
        """Mask the records of an array.

        Parameters
        ----------
        values : ndarray of float64, shape (n, p)
            Finite, but that conditions may be missing; categories as codes.
        generator : numpy.random.Generator
            All randomness comes from it. A method that has none does not touch it.
        classes : ndarray of intp, shape (n, c), optional
            Codes of c class attributes of each record, from 0; for methods that need a class.
        nominal : ndarray of bool, shape (p,), optional
            Columns that hold codes of categories; for methods that draw. None where all are numbers.
        known : ndarray of bool, shape (n, p), optional
            Values that exist; all by default. Only methods that exchange values ask.
        broken : BrokenRules, optional
            See `RecordContext`.
        k : int
            See `RecordContext`.

        Returns
        -------
        Drawn
            Conditions and strata in their columns, as they were.

        Raises
        ------
        UsageError
            The method needs a class, and there is none.
        InfeasibleError
            There are too few records, or what the method promises cannot be had, with the reason.
        """
        self.require_class(given=classes is not None)
        kinds = None if nominal is None else Kinds.of_codes(nominal)
        context = replace(RecordContext.of(values, classes, kinds), known=known, broken=broken, k=k)
        parting = kept_columns(self.strata, values.shape[1], self.parameters[STRATA])
        if not parting.any():
            return self._given(values, generator, context)
        strata = rows_of(np.unique(values[:, parting], axis=0, return_inverse=True)[1].ravel())
        drawn = in_parts(
            strata,
            lambda _, rows: self._given(values[rows], generator, context.part(rows)),
            lambda runs: self.told(runs, context.classes),
        )
        drawn.values[:, parting] = values[:, parting]
        return drawn

    def _given(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Mask the records of one stratum; see `mask`."""
        return self._mask(values, generator, context)

    @abstractmethod
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Mask the records of an array; see `mask`."""


class GroupedMethod(Method):
    """A method that forms groups of k records.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2; `mask` takes it from ``-k``.
    """

    k: int = parameter("Smallest number of records in a group; 3 to 10 are usual.", default=5, least=2)


class KeepingMethod(Method):
    """A method whose noise or draws are orthogonal to some fields in every group.

    Parameters
    ----------
    keep : sequence of int
        Columns that stay as they are (Y of the papers); may be empty.
    """

    keep: Iterable[int] = parameter(
        "Numbers that stay as they are, and whose covariances with masked ones are kept.",
        default=(),
        stays=True,
        kw_only=True,
    )

    def kept(self, variables: int) -> NDArray[np.bool_]:
        """Tell which columns are kept; see `kept_columns`."""
        return kept_columns(self.keep, variables, self.parameters[KEEP])


class RandomMethod(Method):
    """A method that draws random numbers.

    Parameters
    ----------
    random_state : int, RandomState or None
        Seed of the estimator; nothing else uses it.
    """

    random_state: Any = field(default=None, kw_only=True)


class Partitioning(GroupedMethod):
    """A method whose records share one prototype in each group; the rules decide which aggregate that is."""

    attacker: ClassVar[str] = (
        "Nothing is drawn, so there is no secret that would undo it; but whoever knows the records of all others "
        "runs it with guesses of the one that he lacks, and sees which give the published file, whatever k is. Where "
        "the mean is published, the other members of a group together know the value of the last."
    )

    @property
    def contract(self) -> MethodContract:
        """Identical groups of at least k."""
        return IdenticalGroups(int(self.k))

    def notes(self, labels: Labels, classes: Labels | None) -> tuple[str, ...]:
        """Say what the user has to know of the groups as they are in the end.

        Parameters
        ----------
        labels : ndarray of intp, shape (n,)
            Of all records of the file.
        classes : ndarray of intp, shape (n, c), or None

        Returns
        -------
        tuple of str
            A sentence each.
        """
        del labels, classes
        return ()

    def prototypes(
        self, values: Floats, points: Floats, labels: Labels, weights: Floats | None = None
    ) -> Floats | None:
        """Return the prototypes of groups, where a method has its own; None where the rules choose an aggregate.

        Parameters
        ----------
        values : ndarray of float64, shape (n, p)
            What is aggregated.
        points : ndarray of float64, shape (n, d)
            What the records were grouped by.
        labels : ndarray of intp, shape (n,)
            Groups of at least k, 0 to g - 1.
        weights : ndarray of float64, shape (n,), optional
            Of the records in the aggregate: not negative, with a positive sum in every group.

        Returns
        -------
        ndarray of float64, shape (g, p), or None
        """
        del values, points, labels, weights
        return None

    def partition(
        self,
        points: Floats,
        *,
        classes: Labels | None = None,
        shares: Floats | None = None,
        kinds: Kinds | None = None,
    ) -> Labels:
        """Partition points into groups of at least k.

        Parameters
        ----------
        points : ndarray of float64, shape (n, d)
            Standardised coordinates, n >= k.
        classes : ndarray of intp, shape (n, c), optional
        shares : ndarray of float64, shape (classes,), optional
            Shares of the classes among the records of the whole file, where these are a part of it; those of these
            records when not given. With several class attributes, of their combinations.
        kinds : Kinds, optional
            What the columns are; numbers when not given. A method that measures distances alone does not ask.

        Returns
        -------
        ndarray of intp, shape (n,)
            Labels 0 to g - 1.

        Raises
        ------
        UsageError
            The method needs a class, and there is none.
        """
        self.require_class(given=classes is not None)
        return self._partition(points, RecordContext.of(points, classes, kinds, shares))

    @abstractmethod
    def _partition(self, points: Floats, context: RecordContext) -> Labels:
        """Partition points into groups of at least k; see `partition`."""

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Replace the records of each group by their mean."""
        require_records(len(values), self.least(values.shape[1]), self.name)
        labels = self._partition(standardise(values), context)
        return Drawn(group_means(values, labels)[labels], labels)


def require_records(n: int, least: int, name: str) -> None:
    """Refuse too few records.

    Raises
    ------
    InfeasibleError
    """
    if n < least:
        raise InfeasibleError.of("too-few-records", what=name, least=least, records=n)


def group_means(values: Floats, labels: Labels) -> Floats:
    """Return the mean of each group, shape (g, p): within the range of the group, whatever its size or scale."""
    order = np.argsort(labels, kind="stable")
    return weighted_means(values[order], np.ones(len(values)), np.bincount(labels))


def in_parts(
    parts: Sequence[Labels],
    draw: Callable[[int, Labels], Drawn],
    told: Callable[[tuple[Labels, ...]], tuple[str, ...]],
    called: str = "parts",
) -> Drawn:
    """Join what is drawn for the records of each part by themselves.

    Parameters
    ----------
    parts : sequence of ndarray of intp
        Positions of the records of each part, ascending; every record is in one.
    draw : callable
        Takes the number of a part and the positions of its records, ascending; returns what was drawn for them.
    told : callable
        Returns notes for the groups of each run; see `Method.told`: one of a single part is none of the file.
    called : str
        What the parts are called.

    Returns
    -------
    Drawn
        Groups of different parts have different labels. A note says in how many of several parts it is so.
    """
    made = [draw(number, rows) for number, rows in enumerate(parts)]
    if len(parts) == 1:
        return made[0]
    n, p = sum(map(len, parts)), made[0].values.shape[1]
    values, marked = np.empty((n, p)), np.zeros((n, p), dtype=np.bool_)
    for rows, one in zip(parts, made, strict=True):
        values[rows] = one.values
        marked[rows] = False if one.marked is None else one.marked
    labels = None if any(one.labels is None for one in made) else _numbered(parts, [one.labels for one in made])
    runs = tuple(_numbered(parts, run) for run in zip(*(one.runs for one in made), strict=True))
    counts = Counter(note for one in made if not one.runs for note in one.notes)
    notes = tuple(f"{note} (in {count} of {len(parts)} {called})" for note, count in counts.items())
    drew = marked if any(one.marked is not None for one in made) else None
    return Drawn(values, labels, (*notes, *(told(runs) if runs else ())), drew, runs)


def rows_of(labels: Labels) -> list[Labels]:
    """Return the positions of the records of each label, 0 to g - 1."""
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])


def _numbered(parts: Sequence[Labels], groups: Iterable[Labels | None]) -> Labels:
    """Number groups of parts one part after the other, shape (n,)."""
    labels, count = np.empty(sum(map(len, parts)), dtype=np.intp), 0
    for rows, own in zip(parts, groups, strict=True):
        assert own is not None  # noqa: S101 -- all parts have groups
        labels[rows] = count + own
        count += int(own.max()) + 1
    return labels
