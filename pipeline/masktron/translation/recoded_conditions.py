"""Classes in the place of one field: from the tree of a rule to the tree of its translation.

Theorem (soundness): where a record satisfies the tree, the record with the field recoded satisfies its translation.
Proof: let the field have the value v, of class c. If v has no class, the record is the same, its field is none of the
labels, and the tree is asked as it is. Else the field has the label of c, of which the translation asks the
disjunction of what the tree says for the values of c (`put`), and v is one of them. Where c is an interval, each
condition is replaced by one that holds wherever it does for some number of a cell; the tree has no negation above a
condition, so that it then holds, too.

Theorem (no stronger rule is sound): where the values of all classes are listed, a recoded record that satisfies the
translation comes from a record that satisfies the tree. Proof: the disjunct that holds was made from such a value.
Values of a class are left out only where another one of the class satisfies the tree whenever they do (`growth`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import groupby

from masktron.classify.kinds import kind_of
from masktron.classify.truth import decide, in_range, undecidable
from masktron.constraints import Range
from masktron.reading.nodes import (
    Arithmetic,
    Call,
    Comparison,
    ComparisonOperator,
    Expression,
    FieldRef,
    Number,
    Text,
    walk,
)
from masktron.reading.plain_text import decimal_text, source_of
from masktron.recodings import Recoding, Rounded, Tails, ValueClass
from masktron.rulebook.schema import XPathVersion
from masktron.translation.put_values import (
    Changes,
    cells,
    changes_of,
    compared,
    growth,
    is_decimal,
    number_in,
    one_of,
    put,
    reads,
    reads_alone,
)
from masktron.translation.recoded_spelling import LostError
from masktron.translation.truth_trees import (
    ALWAYS,
    NEVER,
    Both,
    Claim,
    Either,
    OneOf,
    TruthTree,
    both,
    branch,
    either,
    leaves,
    replaced,
)


@dataclass(frozen=True, slots=True)
class _Bound:
    """``other <= field`` or, ``above``, ``field <= other``; ``open_``: not equal."""

    above: bool
    other: Expression
    open_: bool


def with_joined_bounds(tree: TruthTree, field: str, version: XPathVersion) -> TruthTree:
    """Add to each conjunction what two of its conditions on a field say together without it.

    This is the step of Fourier and Motzkin for conditions that have the field alone on one side. Both sides of the
    result are computed as they were, so that what is true of the numbers of an engine stays true of them.

    Parameters
    ----------
    tree : TruthTree
    field : str
    version : str
    """
    match tree:
        case Either(parts=parts):
            return either(with_joined_bounds(part, field, version) for part in parts)
        case Both(parts=parts):
            inner = [with_joined_bounds(part, field, version) for part in parts]
            bounds = [bound for part in parts if isinstance(part, Claim) for bound in _bounds(part, field, version)]
            joined = [
                Claim(Comparison("<" if low.open_ or high.open_ else "<=", low.other, high.other))
                for low in bounds
                if not low.above
                for high in bounds
                if high.above and high.other != low.other
            ]
            return both((*inner, *joined))
        case _:
            return tree


def _bounds(claim: Claim, field: str, version: XPathVersion) -> list[_Bound]:
    found = compared(claim, field, version)
    if found is None or claim.negated:
        return []
    match found.left:
        case FieldRef() | Call(name="number", arguments=(FieldRef(),)):
            pass
        case _:
            return []
    other = found.right
    if version != "1.0" and kind_of(other) == "node":
        other = Call("number", (other,))
    match found.operator:
        case "=":
            return [_Bound(above, other, open_=False) for above in (False, True)]
        case "<" | "<=":
            return [_Bound(above=True, other=other, open_=found.operator == "<")]
        case ">" | ">=":
            return [_Bound(above=False, other=other, open_=found.operator == ">")]
        case _:
            return []


MOST_TRIED = 50_000
"""A rule that takes more values in the place of a field than this is lost."""
_WIDER = 1 + Fraction(1, 10**6)
"""Doubles have no half of 0.2: a sum with it may be rounded to the wrong side by less than this, up to 10^9 bases."""
_NO_VALUE = (None, "", "?")
"""What stands where a number is missing: nothing, an empty text, a text."""


@dataclass(frozen=True, slots=True)
class RecodedTree:
    """A rule after one field was recoded.

    Attributes
    ----------
    tree : TruthTree
    exact : bool
        Whether all values of each class agree on the rule before.
    asked : mapping of str to TruthTree
        What is asked of each class, by label; empty where the tree does not read the field, or numbers are rounded.
    before, now : frozenset of TruthTree
        What the tree asks of records that have a value in the field, and what its translation asks of them: one tree
        for each sort of values, and for each class. What has no class counts where it stays as it was: numbers
        between two tails.
    """

    tree: TruthTree
    exact: bool
    asked: Mapping[str, TruthTree] = field(default_factory=dict)
    before: frozenset[TruthTree] = frozenset()
    now: frozenset[TruthTree] = frozenset()


def recoded(tree: TruthTree, recoding: Recoding, version: XPathVersion, *, as_intervals: bool = False) -> RecodedTree:
    """Translate the tree of a rule to records in which one field is recoded.

    Parameters
    ----------
    tree : TruthTree
    recoding : Recoding
    version : str
    as_intervals : bool
        Whether a class of listed numbers is taken for the interval from the least to the greatest: what comes out is
        shorter, and may ask less.

    Returns
    -------
    RecodedTree

    Raises
    ------
    LostError
        The rule reads the field in a way that classes cannot answer.
    """
    mine = [claim for claim in _claims(tree) if reads(claim, recoding.field)]
    if not mine:
        return RecodedTree(tree, exact=True, before=frozenset({tree}), now=frozenset({tree}))
    found = _Recoded(tree, recoding, version, mine)
    if isinstance(recoding, Rounded):
        return found.rounded(recoding)
    classes = recoding.classes or ()
    between = found.asked_of(recoding.between) if isinstance(recoding, Tails) else frozenset[TruthTree]()
    return found.classed([_as_interval(one, recoding.field) for one in classes] if as_intervals else classes, between)


def open_classes(tree: TruthTree, recoding: Recoding, version: XPathVersion) -> frozenset[str]:
    """Return the classes of a field whose values do not agree on a tree.

    Parameters
    ----------
    tree : TruthTree
        Before fields are recoded.
    recoding : Recoding
    version : str

    Returns
    -------
    frozenset of str
        Their labels; all, where that cannot be told. Rounded numbers count as one class without a label.
    """
    labels = frozenset(one.label for one in recoding.classes or ()) or frozenset({""})
    try:
        mine = [claim for claim in _claims(tree) if reads(claim, recoding.field)]
        if not mine or isinstance(recoding, Rounded):
            return labels if mine else frozenset()
        return _Recoded(tree, recoding, version, mine).open_among(recoding.classes or ())
    except LostError:
        return labels


def _as_interval(one: ValueClass, field: str) -> ValueClass:
    numbers = [number_in(value) for value in one.values or ()]
    known = [number for number in numbers if number is not None]
    if len(known) < max(2, len(numbers)):
        return one
    return ValueClass(one.label, interval=Range(field, min(known), max(known)))


def _claims(tree: TruthTree) -> list[Claim]:
    return list(dict.fromkeys(leaf for leaf in leaves(tree) if isinstance(leaf, Claim)))


@dataclass(frozen=True, slots=True)
class _Residual:
    """What a tree asks of the other fields, given the class, and what it asks given one of its values."""

    tree: TruthTree
    agreed: bool
    shapes: frozenset[TruthTree]


class _Recoded:
    def __init__(self, tree: TruthTree, recoding: Recoding, version: XPathVersion, mine: Sequence[Claim]) -> None:
        self._tree, self._field, self._version = tree, recoding.field, version
        self._mine = frozenset(mine)
        self._alone = frozenset(claim for claim in mine if reads_alone(claim, recoding.field))
        self._left = MOST_TRIED
        self._ref = _reference(mine, recoding.field)
        self._changes: Callable[[Claim], Changes | None] = cache(lambda c: changes_of(c.expression, version))
        self._said = cache(self._decided)
        for claim in self._alone:
            if problem := undecidable(source_of(claim.expression), version):
                raise LostError(problem)

    # --- classes --------------------------------------------------------------------------------------------

    def open_among(self, classes: Sequence[ValueClass]) -> frozenset[str]:
        """The labels of classes whose values do not agree."""
        return frozenset(one.label for one in classes if not self._residual(one).agreed)

    def classed(self, classes: Sequence[ValueClass], between: frozenset[TruthTree]) -> RecodedTree:
        """Join what is asked of each class, of numbers between tails and of what has no class."""
        residuals = [(one, self._residual(one)) for one in classes]
        exact = all(residual.agreed for _, residual in residuals)
        asked = {one.label: residual.tree for one, residual in residuals}
        before = frozenset(shape for _, residual in residuals for shape in residual.shapes)
        tree = self._joined(residuals, all_of_them=between <= {ALWAYS})
        return RecodedTree(tree, exact, asked, before | between, between.union(asked.values()))

    def asked_of(self, numbers: Range) -> frozenset[TruthTree]:
        """What is asked of numbers that stay as they are."""
        return frozenset(self._surely(cell) for cell, _ in self._cut(numbers))

    def _joined(self, residuals: Sequence[tuple[ValueClass, _Residual]], *, all_of_them: bool) -> TruthTree:
        """Join what is asked of classes; `all_of_them`: nothing is asked of values that stay as they are."""
        if residuals and all(residual.tree == ALWAYS for _, residual in residuals):
            surely = all(ALWAYS in residual.shapes for _, residual in residuals)  # some number of each class obeys
            if self._unsure and not surely and all(o.values is None and not self._is_own(o) for o, _ in residuals):
                raise self._untold()
            if all_of_them and self._holds_missing():
                return ALWAYS
        own = [(one, residual.tree) for one, residual in residuals if not self._as_before(one, residual.tree)]
        asked: dict[TruthTree, set[str]] = {}
        for one, found in own:
            asked.setdefault(found, set()).add(one.label)
        branches = either(both((OneOf(self._ref, frozenset(labels)), found)) for found, labels in asked.items())
        if not own:
            return self._tree
        if self._version != "1.0":
            labels = frozenset(one.label for one, _ in own)
            return branch(OneOf(self._ref, labels), branches, self._tree)
        guarded = frozenset(one.label for one, found in own if found != ALWAYS and not self._refused(one))
        rest = both((OneOf(self._ref, guarded, negated=True), self._tree)) if guarded else self._tree
        return either((branches, rest))

    def _untold(self) -> LostError:
        return LostError(f"what it asks of {self._field}, classes of numbers do not tell")

    def _is_own(self, one: ValueClass) -> bool:
        """Whether the label of a class is one of its values."""
        if one.values is not None:
            return one.label in one.values
        number = number_in(one.label)
        return number is not None and one.interval is not None and in_range(one.interval, number)

    def _as_before(self, one: ValueClass, residual: TruthTree) -> bool:
        """Whether the tree itself says of the label what is asked of the class, without an error in XPath 2.0."""
        if one.values == frozenset({one.label}):
            return True
        if self._mine != self._alone or (self._version != "1.0" and residual != ALWAYS):
            return False
        return self._shape(one.label) == residual

    def _refused(self, one: ValueClass) -> bool:
        """Whether the tree says no more of the label, as if it were a value, than what is asked of the class."""
        number = number_in(one.label)
        return self._is_own(one) or all(
            not self._said(claim, one.label) if claim in self._alone else self._never(claim, number)
            for claim in self._mine
        )

    def _never(self, claim: Claim, number: Fraction | None) -> bool:
        """Whether a comparison of numbers is false since one of them is a text."""
        found = compared(claim, self._field, self._version)
        return number is None and found is not None and not claim.negated and found.operator != "!="

    def _residual(self, one: ValueClass) -> _Residual:
        if one.values is not None:
            return self._of_values(sorted(one.values))
        return self._of_numbers(one.interval or Range(self._field, None, None))

    def _of_values(self, values: Sequence[str]) -> _Residual:
        """What some of the values lets the tree ask."""
        shapes: dict[TruthTree, list[str]] = {}
        for value in values:
            self._spend()
            shapes.setdefault(self._shape(value), []).append(value)
        found: list[TruthTree] = []
        for shape, own in shapes.items():
            mixed = [claim for claim in _claims(shape) if claim in self._mine]
            chosen = own[:1] if not mixed else self._ends(mixed, own)
            found += [self._put(shape, value) for value in chosen]
        agreed = len(shapes) == 1 and (len(values) == 1 or not self._mine & set(_claims(next(iter(shapes)))))
        return _Residual(either(found), agreed, frozenset(shapes))

    def _shape(self, at: str | Range | None) -> TruthTree:
        """The tree with what is known of conditions on the field alone, at a value or in a cell.

        What is not known may hold.
        """

        def change(claim: Claim) -> TruthTree:
            if claim not in self._alone:
                return claim
            said = self._said_in(claim, at) if isinstance(at, Range) else self._said(claim, at)
            return NEVER if said is False else ALWAYS

        return replaced(self._tree, change)

    def _surely(self, cell: Range) -> TruthTree:
        """The tree with what is known of conditions on the field alone in a cell; what is not known stays."""

        def change(claim: Claim) -> TruthTree:
            said = self._said_in(claim, cell) if claim in self._alone else None
            return claim if said is None else ALWAYS if said else NEVER

        return replaced(self._tree, change)

    def _put(self, shape: TruthTree, value: str) -> TruthTree:
        def change(claim: Claim) -> TruthTree:
            if claim not in self._mine:
                return claim
            self._spend()
            return put(claim, self._field, Text(value), self._version)

        return replaced(shape, change)

    def _ends(self, mixed: Sequence[Claim], values: list[str]) -> list[str]:
        """Choose values of which one satisfies all conditions wherever any other one does."""
        numbers = {value: number for value in values if (number := number_in(value)) is not None}
        texts = [value for value in values if value not in numbers]
        ways = {self._way(claim) for claim in mixed}
        if not numbers or None in ways or len(ways) > 1 or (ways == {"either"} and len(mixed) > 1):
            return values
        least, most = min(numbers, key=lambda v: numbers[v]), max(numbers, key=lambda v: numbers[v])
        chosen = {"rising": [most], "falling": [least]}.get(ways.pop() or "", [least, most])
        return [*dict.fromkeys(chosen), *texts]

    def _way(self, claim: Claim) -> str | None:
        """Whether a condition becomes true as the field grows, false, or one of the two."""
        found = compared(claim, self._field, self._version)
        if found is None or found.operator in ("=", "!="):
            return None
        way = growth(found.left, self._field)
        if way in (None, "either"):
            return way
        return "rising" if (way == "rising") == ((found.operator in (">", ">=")) is not claim.negated) else "falling"

    # --- intervals ------------------------------------------------------------------------------------------

    def _of_numbers(self, numbers: Range) -> _Residual:
        parts = list(self._cut(numbers))
        found = [self._within(shape, self._ends_of(cell)) for cell, shape in parts]
        mixed = any(claim in self._mine for _, shape in parts for claim in _claims(shape))
        agreed = len(set(found)) == 1 and not mixed and not self._unsure
        return _Residual(either(found), agreed, frozenset(self._surely(cell) for cell, _ in parts))

    @property
    def _unsure(self) -> bool:
        """Whether some condition asks what numbers alone do not tell."""
        return any((changes := self._changes(claim)) is None or changes.unsure for claim in self._alone)

    def _cut(self, numbers: Range) -> Iterator[tuple[Range, TruthTree]]:
        known = [changes for claim in self._alone if (changes := self._changes(claim)) is not None]
        for cell in cells(numbers, (point for changes in known for point in changes.at)):
            self._spend()
            yield cell, self._shape(cell)

    def _said_in(self, claim: Claim, cell: Range) -> bool | None:
        changes = self._changes(claim)
        if changes is None or (cell.low == cell.high and cell.low in changes.unsure):
            return None
        return self._said(claim, decimal_text(one_of(cell)))

    def _ends_of(self, cell: Range) -> _Ends:
        low, high = (
            None if end is None or not is_decimal(end) else Text(decimal_text(end)) for end in (cell.low, cell.high)
        )
        return _Ends(() if low is None else (low,), () if high is None else (high,))

    def _within(self, shape: TruthTree, ends: _Ends) -> TruthTree:
        def change(claim: Claim) -> TruthTree:
            if claim not in self._mine:
                return claim
            self._spend()
            return self._possible(claim, ends)

        return replaced(with_joined_bounds(shape, self._field, self._version), change)

    def _possible(self, claim: Claim, ends: _Ends) -> TruthTree:
        """Return what holds wherever a condition does for some number between two ends.

        A condition ``f(x) <= g`` with a rising f holds for some x up to b only where ``f(b) <= g`` or its like does:
        f takes its least and its greatest value at the ends.
        """
        found = compared(claim, self._field, self._version)
        way = None if found is None else growth(found.left, self._field)
        if found is None or way is None:
            raise LostError(f"{source_of(claim.expression)} is not solved for {self._field} between two numbers")
        textual = kind_of(found.right) == "node" and isinstance(found.left, FieldRef)
        if ends.low == ends.high and ends.low and not (textual and found.operator in ("=", "!=")):
            return put(claim, self._field, ends.low[0], self._version, numeric=True)
        if (found.operator == "=") is claim.negated and found.operator in ("=", "!="):
            return ALWAYS  # some other number will do
        if found.operator in ("=", "!="):
            if claim.negated:
                return ALWAYS  # not(A != x), which also holds where A is missing
            return self._between(found, way, ends)
        rising = (found.operator in (">", ">=")) is not claim.negated
        return either(
            self._at(claim, ends.high if (direction == "rising") == rising else ends.low)
            for direction in (("rising", "falling") if way == "either" else (way,))
        )

    def _between(self, found: Comparison, way: str, ends: _Ends) -> TruthTree:
        options: list[TruthTree] = []
        for direction in ("rising", "falling") if way == "either" else (way,):
            least, most = (ends.low, ends.high) if direction == "rising" else (ends.high, ends.low)
            options.append(both((self._at(_as(found, "<="), least), self._at(_as(found, ">="), most))))
        return either(options)

    def _at(self, claim: Claim, ends: Iterable[Text | Arithmetic]) -> TruthTree:
        """The condition at each of some ends; always, where there is none."""
        return both(put(claim, self._field, end, self._version, numeric=True) for end in ends)

    # --- rounding -------------------------------------------------------------------------------------------

    def rounded(self, recoding: Rounded) -> RecodedTree:
        """Join what is asked of the numbers around a written one.

        The tree itself, asked of the written number, implies this: the number may be its own original. So it is
        asked as well, for what is no number.
        """
        half = recoding.base / 2
        if not is_decimal(half):
            raise LostError(f"half of {decimal_text(recoding.base)} has no decimal")
        reach = Number(half if _is_dyadic(recoding.base) else half * _WIDER)
        below, above = Arithmetic("-", self._ref, reach), Arithmetic("+", self._ref, reach)
        parts: list[tuple[Range, TruthTree]] = []
        for cell, shape in self._cut(Range(self._field, None, None)):
            ends = self._ends_of(cell)
            parts.append((cell, self._within(shape, _Ends((*ends.low, below), (*ends.high, above)))))
        before, now = frozenset(self._surely(cell) for cell, _ in parts), frozenset(tree for _, tree in parts)
        runs = [(list(cells_), found) for found, cells_ in groupby(parts, key=lambda part: part[1])]
        if len(runs) == 1 and (not self._alone or (runs[0][1] == ALWAYS and self._holds_missing())):
            return RecodedTree(runs[0][1], exact=False, before=before, now=now)
        if self._unsure and len(runs) == 1 and runs[0][1] == ALWAYS:
            raise self._untold()
        found = [both((*self._near(run[0][0], run[-1][0], half), tree)) for run, tree in runs]
        missing = not self._unsure and all(self._shape(value) == NEVER for value in _NO_VALUE)
        tree = either(found if missing else [*found, self._tree])
        return RecodedTree(tree, exact=False, before=before, now=now)

    def _near(self, first: Range, last: Range, half: Fraction) -> Iterator[TruthTree]:
        """The written numbers that have a number of some cells within half a base."""
        bounded = False
        for end, open_, operator, shift in (
            (first.low, first.low_open, ">", -half),
            (last.high, last.high_open, "<", half),
        ):
            if end is not None and is_decimal(end):
                bounded = True
                relation: ComparisonOperator = operator if open_ else f"{operator}="  # type: ignore[assignment]
                yield Claim(Comparison(relation, self._ref, Number(end + shift)))
        if not bounded:
            yield Claim(Comparison("=", Arithmetic("*", self._ref, Number(Fraction(0))), Number(Fraction(0))))

    # --- what engines say -----------------------------------------------------------------------------------

    def _holds_missing(self) -> bool:
        """Whether the tree holds wherever the field is absent or empty."""
        return all(self._shape(value) == ALWAYS for value in _NO_VALUE[:2])

    def _decided(self, claim: Claim, value: str | None) -> bool:
        """Whether a condition on the field alone holds of a value.

        What stops with an error in XPath 2.0 and later is false, and so, here, is not its negation: the tree is
        true of a record only if others decide.
        """
        source = source_of(claim.expression)
        return decide(f"not({source})" if claim.negated else source, self._version, {self._field: value})

    def _spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise LostError(f"it takes more than {MOST_TRIED} values in the place of fields")


@dataclass(frozen=True, slots=True)
class _Ends:
    """Numbers that none of a cell is below, and none above."""

    low: tuple[Text | Arithmetic, ...]
    high: tuple[Text | Arithmetic, ...]


def _is_dyadic(base: Fraction) -> bool:
    """Whether doubles hold half a base exactly."""
    return base.denominator & (base.denominator - 1) == 0


def _as(found: Comparison, operator: ComparisonOperator) -> Claim:
    return Claim(Comparison(operator, found.left, found.right, found.general))


def _reference(claims: Iterable[Claim], field: str) -> FieldRef:
    """Return how rules name a field, without the step to its text."""
    nodes = (node for claim in claims for node in walk(claim.expression))
    found = {FieldRef(n.name, n.namespace) for n in nodes if isinstance(n, FieldRef) and n.name == field}
    if len(found) != 1:
        raise LostError(f"it reads {field} in several ways" if found else f"it reads {field} in a way unknown here")
    return found.pop()
