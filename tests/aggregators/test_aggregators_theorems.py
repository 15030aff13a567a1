"""Every declaration of every aggregator: what is claimed holds on random groups, what is refused can break."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples, spread
from masktron.aggregators import ALL, AUTOMATIC, Aggregator, GroupContext, ObservedAggregator, variables_of
from masktron.constraints import (
    Atom,
    InDomain,
    Lexical,
    Linear,
    Member,
    Missing,
    Monomial,
    Polynomial,
    Present,
    Product,
    Range,
    Relation,
    Untranslated,
    Whole,
)
from masktron.errors import UsageError

type Record = dict[str, Fraction | None]
type Group = list[tuple[Record, int]]

TOLERANCE = Fraction(1, 10**9)
"""For the geometric mean, which goes through logs; values and coefficients here are below 20."""

PREDICATES: dict[str, Callable[[dict[str, Fraction]], bool]] = {
    "odd": lambda r: r["x"] % 2 == 1,
    "x is even": lambda r: r["x"] % 2 == 0,
    "x + y is even": lambda r: (r["x"] + r["y"]) % 2 == 0,
    "x + z is even": lambda r: (r["x"] + r["z"]) % 2 == 0,
}
DOMAIN = frozenset({Fraction(1), Fraction(2), Fraction(4)})


def holds(atom: Atom, record: Record, tolerance: Fraction = Fraction(0)) -> bool:
    """Evaluate an atom exactly, or within a tolerance of every comparison."""
    present = {name: number for name in variables_of(atom) if (number := record[name]) is not None}
    match atom:
        case Missing() | Present():
            return bool(present) == isinstance(atom, Present)
        case Linear() | Product() | Polynomial():
            return len(present) == len(variables_of(atom)) and _compares(atom, present, tolerance)
        case Lexical(test=test) | Untranslated(test=test):
            return all(v.denominator == 1 for v in present.values()) and PREDICATES[test](present)
    return bool(present) and _holds_for_value(atom, next(iter(present.values())), tolerance)


def _holds_for_value(atom: Atom, x: Fraction, tolerance: Fraction) -> bool:
    match atom:
        case Range(low=low, high=high, low_open=low_open, high_open=high_open):
            above = low is None or related(low, "<" if low_open else "<=", x, tolerance)
            return above and (high is None or related(x, "<" if high_open else "<=", high, tolerance))
        case Member(values=members, negated=negated):
            return any(abs(x - Fraction(m)) <= tolerance for m in members) != negated
        case Whole():
            return abs(x - round(x)) <= tolerance
        case InDomain():
            return any(abs(x - m) <= tolerance for m in DOMAIN)
    raise AssertionError(atom)


def _compares(atom: Linear | Product | Polynomial, record: dict[str, Fraction], tolerance: Fraction) -> bool:
    if isinstance(atom, Linear):
        total = sum((c * record[v] for v, c in atom.terms), Fraction(0))
        return related(total, atom.relation, atom.bound, tolerance)
    if isinstance(atom, Polynomial):
        return related(
            sum((value(m, record) for m in atom.terms), Fraction(0)), atom.relation, Fraction(0), tolerance
        )
    if any(record[v] == 0 and p < 0 for m in (*atom.left, atom.right) for v, p in m.powers):
        return False
    total = sum((value(m, record) for m in atom.left), Fraction(0))
    return related(total, atom.relation, value(atom.right, record), tolerance)


def value(monomial: Monomial, record: dict[str, Fraction]) -> Fraction:
    result = monomial.coefficient
    for name, power in monomial.powers:
        result *= record[name] ** power
    return result


def related(left: Fraction, relation: Relation, right: Fraction, tolerance: Fraction) -> bool:
    if relation == "=":
        return abs(left - right) <= tolerance
    return left < right or (left - right <= tolerance and (tolerance > 0 or relation == "<="))


def prototypes(aggregator: Aggregator, groups: list[Group], names: list[str]) -> list[Record]:
    """Aggregate groups in one call; the arithmetic mean is exact here, and `aggregate` must be next to it."""
    records = [record for group in groups for record, _ in group]
    cells = np.array([[as_float(record[v]) for v in names] for record in records])
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    weights = np.array([float(w) for group in groups for _, w in group])
    result = aggregator.aggregate(cells, labels, weights)
    if isinstance(aggregator, ObservedAggregator):
        chosen = aggregator.choose(cells, labels, weights)
        return [{v: records[i][v] for v, i in zip(names, row, strict=True)} for row in chosen.tolist()]
    found: list[Record] = [
        {v: None if np.isnan(x) else Fraction(x) for v, x in zip(names, row, strict=True)} for row in result.tolist()
    ]
    if aggregator.name != "mean":
        return found
    exact: list[Record] = [{v: exact_mean(group, v) for v in names} for group in groups]
    for got, want in zip(found, exact, strict=True):
        for name in names:
            assert as_float(got[name]) == pytest.approx(as_float(want[name]), rel=1e-15, abs=0, nan_ok=True)
    return exact


def as_float(number: Fraction | None) -> float:
    return math.nan if number is None else float(number)


def exact_mean(group: Group, name: str) -> Fraction | None:
    numbers = [(number, w) for record, w in group if (number := record[name]) is not None]
    if not numbers:
        return None
    return sum((number * w for number, w in numbers), Fraction(0)) / sum(w for _, w in numbers)


@dataclass(frozen=True)
class Case:
    """An atom, what is known of the groups, and who keeps it, by the letters of NAMES.

    ``cautious``: who refuses it though it may well hold, or is hard to break by chance.
    """

    atom: Atom
    keeps: str
    signs: str = "free"
    constant: str = ""
    cautious: str = ""
    grid: tuple[Fraction | None, ...] = ()

    @property
    def names(self) -> list[str]:
        return sorted(variables_of(self.atom))

    @property
    def context(self) -> GroupContext:
        varying = frozenset(self.names) - frozenset(self.constant)
        every = frozenset(self.names)
        return GroupContext(
            replaced=varying,
            constant=frozenset(self.constant),
            one_signed=varying if self.signs == "one" else frozenset(),
            nonnegative=every if self.signs == "nonnegative" else frozenset(),
            positive=every if self.signs == "positive" else frozenset(),
        )

    def pools(self) -> list[list[Record]]:
        """Records that satisfy the atom, parted by what a group must share."""
        floor = {"positive": Fraction(1, 4), "nonnegative": Fraction(0)}.get(self.signs)
        allowed = [v for v in self.grid or GRID if v is None or floor is None or v >= floor]
        parted: dict[tuple[object, ...], list[Record]] = {}
        for combination in itertools.product(allowed, repeat=len(self.names)):
            record = dict(zip(self.names, combination, strict=True))
            if not holds(self.atom, record):
                continue
            key: list[object] = [record[name] for name in self.constant]
            key += [v is None for v in combination]
            if self.signs == "one":
                key += [v is not None and (v > 0) - (v < 0) for v in combination]
            parted.setdefault(tuple(key), []).append(record)
        return list(parted.values())

    def __str__(self) -> str:
        return f"{show(self.atom)}, {self.signs}" + (f", {self.constant} constant" if self.constant else "")


def show(atom: Atom) -> str:  # noqa: PLR0911 -- one branch per kind of atom
    match atom:
        case Linear(terms=terms, relation=relation, bound=bound):
            return f"{'+'.join(f'{c}{v}' for v, c in terms)}{relation}{bound}"
        case Product(left=left, relation=relation, right=right):
            return f"{'+'.join(map(show_monomial, left))}{relation}{show_monomial(right)}"
        case Range():
            low, high = "(" if atom.low_open else "[", ")" if atom.high_open else "]"
            return f"x in {low}{atom.low},{atom.high}{high}"
        case Member():
            return f"x {'not ' * atom.negated}in {','.join(map(str, sorted(atom.values)))}"
        case Lexical(test=test) | Untranslated(test=test):
            return test
        case Polynomial(terms=monomials, relation=relation):
            return f"{'+'.join(map(show_monomial, monomials))}{relation}0"
    return type(atom).__name__


def show_monomial(monomial: Monomial) -> str:
    return f"{monomial.coefficient}" + "".join(f"{v}^{p}" for v, p in monomial.powers)


def grid(*values: int | str) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, values))


GRID = grid(-2, -1, 0, "1/4", "1/2", 1, 2, 3, 4)
NAMES = {
    "M": "mean",
    "G": "geometric_mean",
    "D": "median",
    "O": "mode",
    "I": "medoid",
    "C": "convex_median",
    "B": "boolean_max_min",
    "N": "minimum",
    "L": "lower_quartile",
    "U": "upper_quartile",
    "X": "maximum",
}


def linear(relation: Relation, bound: int, **terms: int) -> Linear:
    return Linear(tuple((v, Fraction(c)) for v, c in sorted(terms.items())), relation, Fraction(bound))


def mono(coefficient: int = 1, **powers: int) -> Monomial:
    return Monomial(Fraction(coefficient), tuple(sorted(powers.items())))


def product(left: Monomial | tuple[Monomial, ...], relation: Relation, right: Monomial) -> Product:
    return Product(left if isinstance(left, tuple) else (left,), relation, right)


def polynomial(relation: Relation, *terms: Monomial) -> Polynomial:
    return Polynomial(terms, relation)


def member(*values: int, negated: bool = False) -> Member:
    return Member("x", frozenset(map(Fraction, values)), negated)


WITH_MISSING = (None, *GRID)
CASES = [
    # Linear, three variables
    Case(linear("=", 0, x=1, y=1, z=-1), "MI"),
    Case(linear("=", 0, x=1, y=1, z=-1), "MI", "positive"),
    Case(linear("=", 0, x=1, y=1, z=-1), "MI", "nonnegative"),
    Case(linear("<=", 0, x=1, y=1, z=-1), "MGIN", "positive", grid=grid("1/4", 2, 3, 4), cautious="L"),
    Case(linear("<=", 0, x=1, y=1, z=-1), "MGIN", "nonnegative"),
    Case(linear("<", 0, x=1, y=1, z=-1), "MGIN", "nonnegative", cautious="L"),
    Case(linear("<=", 0, x=1, y=1, z=-1), "MIN", "one", grid=grid(-9, -4, -1, 1, 4, 9)),
    Case(linear("<=", 0, x=1, y=-1, z=-1), "MIX", "positive"),
    Case(linear("<=", 4, x=1, y=1, z=1), "MGINL", "positive", grid=grid("1/4", 1, "7/4")),
    # Linear, two variables
    Case(linear("<=", 0, x=1, y=-1), "MDIBNLUX"),
    Case(linear("<=", 0, x=1, y=-1), "MGDIBNLUX", "one"),
    Case(linear("<", 0, x=1, y=-1), "MGDIBNLUX", "one"),
    Case(linear("<=", 0, x=1, y=-1), "MGDIBNLUX", "nonnegative"),
    Case(linear("<", 0, x=2, y=-3), "MDIBNLUX"),
    Case(linear("<", 0, x=-1, y=-1), "MGIUX", "one"),
    Case(linear("=", 1, x=1, y=-2), "MDOICBNLUX"),
    Case(linear("=", 1, x=1, y=-2), "MDOICBNLUX", "positive"),
    Case(linear("=", 0, x=1, y=-2), "MGDOICBNLUX", "one"),
    Case(linear("=", 0, x=1, y=-2), "MGDOICBNLUX", "nonnegative"),
    Case(linear("=", 0, x=1, y=2), "MGOI", "one"),
    Case(linear("=", 2, x=1, y=1), "MOI"),
    Case(linear("<=", 2, x=1, y=1), "MDIBNL", cautious="C"),
    Case(linear("<", 2, x=1, y=1), "MDIBNL"),
    Case(linear("<=", 2, x=1, y=1), "MGDIBNL", "positive", grid=grid("1/4", "1/2", "3/2"), cautious="C"),
    Case(linear("<=", 2, x=1, y=1), "MDIBNL", "one", grid=grid(-9, -1, 1, 3, 11), cautious="C"),
    Case(linear("<=", -2, x=-1, y=-1), "MIUX", "positive"),
    Case(linear("<=", -1, x=1, y=-1), "MGDIBNLUX", "positive", cautious="C"),
    Case(linear("<=", 1, x=1, y=-1), "MDIBNLUX", "positive"),
    Case(linear("<=", 0, x=1, y=-1), "MGDOICBNLUX", "nonnegative", constant="y"),
    # Linear, with a constant of the group
    Case(linear("<=", 0, x=1, y=-1, z=1), "MDIBNLUX", constant="z"),
    Case(linear("=", 0, x=1, y=-1, z=1), "MDOICBNLUX", constant="z"),
    Case(linear("=", 0, x=1, y=-1, z=1), "MDOICBNLUX", "positive", constant="z"),
    Case(linear("<=", 3, x=1, z=1), "MDOICBNLUX", constant="z"),
    Case(linear("<=", 3, x=1, z=1), "MGDOICBNLUX", "one", constant="z"),
    Case(linear("=", 3, x=1, z=1), "MGDOICBNLUX", "one", constant="z"),
    # One variable
    Case(Range("x", Fraction(-1), Fraction(2)), "MDOICBNLUX"),
    Case(Range("x", Fraction(-1), Fraction(2)), "MGDOICBNLUX", "one"),
    Case(Range("x", Fraction(0), Fraction(3), low_open=True, high_open=True), "MGDOICBNLUX", "nonnegative"),
    Case(Range("x", Fraction(0), None), "MGDOICBNLUX", "nonnegative"),
    Case(Range("x", Fraction(1), Fraction(1)), "MGDOICBNLUX", "one"),
    Case(Range("x", None, Fraction(2), high_open=True), "MGDOICBNLUX", "one"),
    Case(member(1, 2), "DOICBNLUX", "positive"),
    Case(member(1, 4), "DOICBNLUX", "positive"),
    Case(member(2), "MGDOICBNLUX", "positive"),
    Case(member(2, negated=True), "DOICBNLUX", "positive"),
    Case(Whole("x"), "DOICBNLUX", "positive"),
    Case(Lexical("x", "odd"), "DOICBNLUX", "positive"),
    Case(InDomain("x", "original", "//x"), "DOICBNLUX", "positive"),
    Case(Missing("x"), "MGDOICBNLUX", grid=WITH_MISSING),
    Case(Present("x"), "MGDOICBNLUX", "one", grid=GRID),
    Case(Present("x"), "MDOICBNLUX"),
    Case(Untranslated(("x",), "x is even"), "DOICBNLUX", "positive"),
    # Several variables, no normal form
    Case(Untranslated(("x", "y"), "x + y is even"), "I", "positive"),
    Case(Untranslated(("x", "z"), "x + z is even"), "DOICBNLUX", "positive", constant="z"),
    # Products: equalities
    Case(product(mono(x=1, y=1), "=", mono(z=1)), "I"),
    Case(product(mono(x=1, y=1), "=", mono(z=1)), "GI", "positive"),
    Case(product(mono(x=1, y=1), "=", mono(z=1)), "GI", "one"),
    Case(product(mono(x=1, y=1), "=", mono(z=1)), "GI", "nonnegative"),
    Case(product(mono(x=1, y=-1), "=", mono(z=1)), "GI", "one"),
    Case(product(mono(x=1, y=-1), "=", mono(z=1)), "I", "nonnegative", cautious="G"),
    Case(product(mono(x=1, y=1), "=", mono()), "GOI", "positive"),
    Case(product(mono(x=2), "=", mono(y=1)), "GDOICBNLUX", "positive"),
    Case(product(mono(x=2), "=", mono(y=1)), "I"),
    Case(product((mono(x=1, y=1), mono(x=1)), "=", mono(z=1)), "I", "positive"),
    Case(
        product((mono(x=2), mono(x=1)), "=", mono(y=1)),
        "DICBNLUX",
        "positive",
        cautious="O",
        grid=grid(1, 2, 3, 6, 12),
    ),
    Case(product(mono(x=1, z=1), "=", mono(y=1)), "MI", constant="z", cautious="O"),
    Case(product(mono(x=1, z=1), "=", mono(y=1)), "MGDOICBNLUX", "positive", constant="z"),
    # Products: inequalities of two monomials
    Case(product(mono(x=1, y=1), "<=", mono(z=1)), "GIN", "positive"),
    Case(product(mono(x=1, y=1), "<", mono(z=1)), "GI", "nonnegative", cautious="N"),
    Case(product(mono(x=1, y=1), "<=", mono(z=1)), "GI", "one"),
    Case(product(mono(x=1, y=1), "<=", mono(4)), "GDIBNL", "positive"),
    Case(product(mono(2), "<=", mono(x=1, y=1)), "MGIUX", "positive"),
    Case(product(mono(2), "<=", mono(x=1, y=1)), "GI", "one", cautious="M"),
    Case(product(mono(2), "<", mono(x=1, y=1)), "MGIUX", "positive"),
    Case(product(mono(1), "<=", mono(x=1, y=1)), "I", cautious="X"),
    Case(product(mono(x=2), "<=", mono(y=1)), "MI", cautious="UX"),
    Case(product(mono(x=2), "<=", mono(y=1)), "MGDIBNLUX", "positive"),
    Case(product(mono(x=3), "<=", mono(y=1)), "I", cautious="DBNLUX"),
    Case(product(mono(x=3), "<", mono(y=1)), "MGDIBNLUX", "positive"),
    Case(product(mono(y=1), "<=", mono(x=2)), "GDIBNLUX", "positive"),
    Case(product(mono(x=2), "<=", mono(y=1, z=1)), "MGIX", "positive"),
    Case(product(mono(x=2, y=-1), "<=", mono(z=1)), "MGIX", "positive"),
    Case(product(mono(x=1, y=-1), "<=", mono(2)), "MGDIBNLUX", "positive"),
    Case(product(mono(x=1, y=-2), "<=", mono(2)), "GDIBNLUX", "positive"),
    # Products: sums on the left
    Case(product((mono(x=2), mono(y=2)), "<=", mono(4)), "MI"),
    Case(
        product((mono(x=2), mono(y=2)), "<=", mono(4)),
        "MGDIBNL",
        "positive",
        grid=grid("1/4", 1, "7/4"),
        cautious="C",
    ),
    Case(product((mono(x=2), mono(y=2)), "<=", mono(4)), "MGI", "nonnegative", cautious="DBNLC"),
    Case(product((mono(x=-1), mono(y=-1)), "<=", mono(3)), "MGIUX", "positive"),
    Case(product((mono(x=1, y=1), mono(z=1)), "<=", mono(4)), "GI", "nonnegative", cautious="NL"),
    Case(product((mono(x=1, y=1), mono(z=1)), "<", mono(4)), "GINL", "positive"),
    Case(product((mono(x=1, y=1), mono(z=1)), "<=", mono(4)), "I", "one", grid=grid(-9, -1, 1, 5, 13)),
    Case(product((mono(x=1, y=-1), mono(z=1)), "<=", mono(4)), "GIN", "positive", cautious="L"),
    Case(
        product((mono(x=2), mono(y=1)), "<=", mono(z=1)),
        "MGIN",
        "positive",
        grid=grid("1/4", 2, 3, 5, 6),
        cautious="L",
    ),
    # Sums of products
    Case(polynomial("=", mono(x=1, y=1), mono(-1, y=1), mono(-1, z=1)), "I", "positive"),
    Case(
        polynomial("<=", mono(x=1, y=1), mono(-1, x=1), mono(-1, y=1)),
        "I",
        "nonnegative",
        cautious="DBNL",
        grid=grid(0, 1, 9, 20),
    ),
    Case(polynomial("<", mono(x=2), mono(-1, z=1), mono(-1)), "DOICBNLUX", constant="z", cautious="M"),
]
INDEX = st.integers(0, 9999)
MEMBER = st.tuples(INDEX, st.integers(0, 3))
"""A record of the pool, and its weight."""
PAIRS = [(case, aggregator) for case in CASES for aggregator in ALL]


POOLS: dict[str, list[list[Record]]] = {}


def pools_of(case: Case) -> list[list[Record]]:
    """Pools of a case, made once: no collection of tests waits for them."""
    if str(case) not in POOLS:
        POOLS[str(case)] = case.pools()
    return POOLS[str(case)]


def name_of(part: Case | Aggregator) -> str:
    return part.name if isinstance(part, Aggregator) else str(part)


def claimed(case: Case, aggregator: Aggregator) -> bool:
    return any(NAMES[letter] == aggregator.name for letter in case.keeps)


def cautious(case: Case, aggregator: Aggregator) -> bool:
    return any(NAMES[letter] == aggregator.name for letter in case.cautious)


def tolerance_of(aggregator: Aggregator) -> Fraction:
    return TOLERANCE if aggregator.name == "geometric_mean" else Fraction(0)


@pytest.mark.parametrize("aggregator", ALL, ids=name_of)
def test_declaration_is_as_in_the_table(aggregator: Aggregator) -> None:
    declared = {str(case): aggregator.preserves(case.atom, case.context) for case in CASES}
    assert declared == {str(case): claimed(case, aggregator) for case in CASES}


@pytest.mark.parametrize(
    ("case", "aggregator"), spread((p for p in PAIRS if claimed(*p) and p[1] in AUTOMATIC), every=4), ids=name_of
)
@examples(1, full=12)
@given(drawn=st.lists(st.tuples(INDEX, st.lists(MEMBER, min_size=1, max_size=7)), min_size=1, max_size=8))
def test_what_is_claimed_holds(
    case: Case, aggregator: Aggregator, drawn: list[tuple[int, list[tuple[int, int]]]]
) -> None:
    pools = pools_of(case)
    groups: list[Group] = []
    for which, members in drawn:
        pool = pools[which % len(pools)]
        weightless = not any(weight for _, weight in members)
        groups.append([(pool[i % len(pool)], weight + weightless) for i, weight in members])
    for group, prototype in zip(groups, prototypes(aggregator, groups, case.names), strict=True):
        prototype |= {v: group[0][0][v] for v in case.constant}
        assert holds(case.atom, prototype, tolerance_of(aggregator)), (group, prototype)


@pytest.mark.parametrize("aggregator", ALL, ids=name_of)
def test_what_an_aggregator_claims_holds_in_some_groups(aggregator: Aggregator) -> None:
    claims = [case for case in CASES if claimed(case, aggregator)]
    assert len(claims) > 20
    for case in claims:
        fail_if_broken(case, aggregator, 40)


@pytest.mark.full
@pytest.mark.parametrize(("case", "aggregator"), [p for p in PAIRS if claimed(*p)], ids=name_of)
def test_what_is_claimed_holds_in_many_groups(case: Case, aggregator: Aggregator) -> None:
    fail_if_broken(case, aggregator, 10_000)


def fail_if_broken(case: Case, aggregator: Aggregator, count: int) -> None:
    """Draw groups of 1 to 9 records from what satisfies a case, some of them without weight."""
    rng = np.random.default_rng(20091)
    pools = pools_of(case)
    groups: list[Group] = []
    for _ in range(count):
        pool = pools[rng.integers(len(pools))]
        size = int(rng.integers(1, 10))
        weights = rng.integers(0, 4, size)
        weights[0] += not weights.any()
        groups.append([(pool[i], int(w)) for i, w in zip(rng.integers(len(pool), size=size), weights, strict=True)])
    for group, prototype in zip(groups, prototypes(aggregator, groups, case.names), strict=True):
        prototype |= {v: group[0][0][v] for v in case.constant}
        assert holds(case.atom, prototype, tolerance_of(aggregator)), (case, group, prototype)


@pytest.mark.parametrize(
    ("case", "aggregator"),
    spread((p for p in PAIRS if not claimed(*p) and not cautious(*p)), every=4),
    ids=name_of,
)
def test_what_is_refused_can_break(case: Case, aggregator: Aggregator) -> None:
    rng = np.random.default_rng(20090)
    pools = pools_of(case)
    for count in (10, *[100] * 60):
        groups: list[Group] = []
        for _ in range(count):
            pool = pools[rng.integers(len(pools))]
            picked = rng.integers(len(pool), size=rng.integers(2, 6))
            groups.append([(pool[i], int(rng.integers(1, 4))) for i in picked])
        try:
            found = prototypes(aggregator, groups, case.names)
        except UsageError:
            return
        for group, prototype in zip(groups, found, strict=True):
            prototype |= {v: group[0][0][v] for v in case.constant}
            if not holds(case.atom, prototype, tolerance_of(aggregator)):
                return
    pytest.fail("no group breaks it: the aggregator refuses needlessly")


@pytest.mark.parametrize("aggregator", ALL, ids=lambda a: a.name)
def test_variables_that_are_neither_replaced_nor_constant(aggregator: Aggregator) -> None:
    atom = linear("<=", 0, x=1, y=-1)
    free = GroupContext(replaced=frozenset("x"), positive=frozenset("xy"))
    assert not aggregator.preserves(atom, free)
    assert aggregator.preserves(atom, GroupContext(replaced=frozenset("z")))


@pytest.mark.parametrize("aggregator", ALL, ids=lambda a: a.name)
def test_text_survives_only_where_cells_are_taken(aggregator: Aggregator) -> None:
    context = GroupContext(replaced=frozenset("x"), positive=frozenset("x"))
    assert aggregator.preserves(Member("x", frozenset({"5"})), context) == aggregator.observed
