"""The closed union of constraint types: what an edit rule says, whatever its spelling.

A rule is brought to a *form*: a disjunction of conjunctions of *atoms*. The form decides the class of the rule
and how its variables are masked; whether a record obeys the rule is always decided by evaluating the original
expression, never by the form.

Coefficients and bounds are exact rationals. Variables are field names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

type Relation = Literal["=", "<=", "<"]


@dataclass(frozen=True, slots=True)
class Linear:
    """``sum(coefficient * variable) relation bound`` over at least two variables, sorted by name."""

    terms: tuple[tuple[str, Fraction], ...]
    relation: Relation
    bound: Fraction


@dataclass(frozen=True, slots=True)
class Monomial:
    """``coefficient * product(variable ** power)``; powers are non-zero integers, sorted by name."""

    coefficient: Fraction
    powers: tuple[tuple[str, int], ...]

    @property
    def linear(self) -> bool:
        """Whether it has neither several variables nor a power."""
        return not self.powers or (len(self.powers) == 1 and self.powers[0][1] == 1)

    def at(self, values: Mapping[str, Fraction]) -> Fraction | None:
        """Return its value; None where it takes a division by zero."""
        result = self.coefficient
        for name, power in self.powers:
            if power < 0 and not values[name]:
                return None
            result *= values[name] if power == 1 else values[name] ** power
        return result


@dataclass(frozen=True, slots=True)
class Product:
    """``sum(left) relation right``: monomials, at least one of them not linear; coefficients are positive.

    With one monomial on the left it is a monomial equality or inequality; with several and ``<=`` it is a
    posynomial bounded by a monomial; with several and ``=`` no aggregator keeps it.
    """

    left: tuple[Monomial, ...]
    relation: Relation
    right: Monomial


@dataclass(frozen=True, slots=True)
class Polynomial:
    """``sum(terms) relation 0``, where neither `Linear` nor `Product` fits; coefficients have their signs.

    The coefficients of the variables are coprime integers. Terms come by falling degree, then by name, the constant
    (a monomial without powers) last; an equality begins with a positive one.
    """

    terms: tuple[Monomial, ...]
    relation: Relation


@dataclass(frozen=True, slots=True)
class Range:
    """An interval for one variable; ``None`` is unbounded. A point has ``low == high`` and no open end.

    Unbounded on both sides it says that the value is a number.
    """

    variable: str
    low: Fraction | None
    high: Fraction | None
    low_open: bool = False
    high_open: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """The value is one of a set (or, negated, none of it): numbers as rationals, anything else as text.

    Negated, a set of texts also admits the absence of the field; a set of numbers still asks for a number.
    """

    variable: str
    values: frozenset[Fraction] | frozenset[str]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Whole:
    """The value is an integer; ``lexical``: and is written as ``xs:integer`` has it, so that ``1.0`` is not."""

    variable: str
    lexical: bool = False


@dataclass(frozen=True, slots=True)
class Lexical:
    """Any other condition on the value of ONE variable: a pattern, a length, a remainder. ``test`` is shown.

    ``version`` is the XPath version in which ``test`` decides, on a record with the field as a child.
    """

    variable: str
    test: str
    version: str = "1.0"


@dataclass(frozen=True, slots=True)
class Missing:
    """The field is absent, empty or not a number."""

    variable: str


@dataclass(frozen=True, slots=True)
class Present:
    """The field is there (not absent; it may be empty), or, negated, it is not."""

    variable: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InDomain:
    """The value occurs among the values of ``path`` in the document ``source``."""

    variable: str
    source: str
    path: str


@dataclass(frozen=True, slots=True)
class Untranslated:
    """A condition on several variables that has no normal form; ``test`` is its source, for display.

    ``version`` is the XPath version in which ``test`` decides on a record of plain fields; empty where the record
    alone does not decide.
    """

    variables: tuple[str, ...]
    test: str
    version: str = ""


type Atom = (
    Linear | Product | Polynomial | Range | Member | Whole | Lexical | Missing | Present | InDomain | Untranslated
)
type Form = tuple[tuple[Atom, ...], ...]
"""A disjunction of conjunctions. ``((),)`` is always true, ``()`` never."""


@dataclass(frozen=True, slots=True)
class LinearEdit:
    """EC-LC: linear equality, inequality, or balance with tolerance."""

    form: Form


@dataclass(frozen=True, slots=True)
class ProductEdit:
    """EC-NLC: monomials (products, quotients, powers) and sums of them."""

    form: Form


@dataclass(frozen=True, slots=True)
class ValueEdit:
    """EC-PV: range, set, integrality, pattern, and sets of allowed combinations."""

    form: Form


@dataclass(frozen=True, slots=True)
class GoverningEdit:
    """EC-GV: an order between variables, or IF ... THEN."""

    form: Form


@dataclass(frozen=True, slots=True)
class DomainEdit:
    """Values must exist in the original file."""

    form: Form


@dataclass(frozen=True, slots=True)
class Tally:
    """A figure over records of the file, or one that stands outside of them.

    Attributes
    ----------
    function : {"sum", "avg", "count", "outside"}
        ``outside`` is a number that stands outside the records, such as a control total.
    field : str
        The field that is summed or counted; empty where records are counted; the path of a number outside.
    where : Form
        Which records count, in terms of their own fields; ``((),)`` for all.
    by : tuple of str
        Fields in which those records agree with the record at hand.
    """

    function: Literal["sum", "avg", "count", "outside"]
    field: str
    where: Form = ((),)
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TallyBound:
    """``sum(coefficient * tally) relation bound``."""

    terms: tuple[tuple[Tally, Fraction], ...]
    relation: Relation
    bound: Fraction


type CrossRecordKind = Literal["unique", "count", "total", "other"]


@dataclass(frozen=True, slots=True)
class CrossRecordEdit:
    """A condition on more than one record.

    Attributes
    ----------
    key : tuple of str
        Fields whose combination occurs once, for a unique key.
    bounds : tuple of TallyBound
        What a count or total asks, as far as it is understood: necessary conditions.
    """

    kind: CrossRecordKind
    variables: tuple[str, ...]
    reason: str
    key: tuple[str, ...] = ()
    bounds: tuple[TallyBound, ...] = ()


@dataclass(frozen=True, slots=True)
class OpaqueEdit:
    """Evaluated exactly, but not understood; ``reason`` says why. ``variables`` are all that it may read."""

    reason: str
    variables: tuple[str, ...]


type Constraint = LinearEdit | ProductEdit | ValueEdit | GoverningEdit | DomainEdit | CrossRecordEdit | OpaqueEdit
