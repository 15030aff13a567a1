"""Motifs of governing rules: IF ... THEN, either-or, exclusion, combinations, filters.

They are adversarial: on the border of an antecedent the consequent changes by much, so that averages over groups
which are blind to it break the rule. Antecedents may be rarer than k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from pairs.builder import Builder
from pairs.motifs import CENT
from pairs.rules import Atom, Between, Cases, Compare, OneOf, Raw, always, combined, literal, place
from pairs.values import STAYING, Kind, Variable

type Mask = list[bool]


def antecedent(b: Builder, *, without: Sequence[str] = ()) -> tuple[tuple[Atom, ...], Mask] | None:
    """Choose a condition on one field, and which records meet it: fewer than k of them in half of the cases."""
    kinds: tuple[Kind, ...] = ("integer", "money") if b.chance(0.65) else ("text",)
    variable = b.pick(kinds, fixed=b.chance(0.4), without=without, fresh=0.2)
    if variable is None:
        return None
    wanted = b.rng.randint(1, max(1, min(b.k - 1, b.n // 4))) if b.chance(0.5) else b.rng.randint(b.n // 5, b.n // 2)
    return on_text(b, variable, wanted) if variable.kind == "text" else on_number(b, variable, wanted)


def on_text(b: Builder, variable: Variable, wanted: int) -> tuple[tuple[Atom, ...], Mask] | None:
    counts = {value: variable.values.count(value) for value in variable.values}
    if len(counts) < 2:
        return None
    closest = min(sorted(map(str, counts)), key=lambda value: abs(counts[value] - wanted))
    mask = [value == closest for value in variable.values]
    return (Compare(place(variable.name), "=", f"'{closest}'"),), mask


def on_number(b: Builder, variable: Variable, wanted: int) -> tuple[tuple[Atom, ...], Mask] | None:
    ranked = sorted(variable.numbers)
    name = place(variable.name)
    way = b.rng.random()
    atom: Atom
    if way < 0.4:
        limit = ranked[wanted]
        atom, mask = Compare(name, "<", literal(limit)), [value < limit for value in variable.numbers]
    elif way < 0.8:
        limit = ranked[-1 - wanted]
        atom, mask = Compare(name, ">", literal(limit)), [value > limit for value in variable.numbers]
    else:
        start = b.rng.randint(0, b.n - wanted - 1)
        low, high = ranked[start], ranked[start + wanted - 1]
        atom = Between(variable.name, literal(low), literal(high))
        mask = [low <= value <= high for value in variable.numbers]
    return ((atom,), mask) if 0 < sum(mask) < b.n else None


def if_then(b: Builder) -> bool:
    """A new field whose values an antecedent governs, with another rule for all other records now and then."""
    chosen = antecedent(b)
    if chosen is None or not b.room():
        return False
    condition, mask = chosen
    name = f"V{len(b.variables) + 1}"
    kind: Kind = "integer" if b.chance(0.7) else "money"
    values = b.draw(kind, b.rng.choice(("positive", "signed")))
    makers: tuple[Callable[..., Cases | None], ...] = (_zero, _capped, _above, _copied, _summed, _outside)
    then = b.rng.choice(makers)(b, name, kind, values, mask)
    if then is None:
        return False
    otherwise = None
    if b.chance(0.25):
        rest = [not applies for applies in mask]
        otherwise = b.rng.choice((_capped, _above, _copied, _summed))(b, name, kind, values, rest)
    assert b.add(kind, values).name == name
    b.rule("if-then", "governing", then, condition, otherwise)
    return True


def _step(kind: Kind) -> Fraction:
    return CENT if kind == "money" else Fraction(1)


def _fill(values: list[Fraction], mask: Mask, new: Callable[[int], Fraction]) -> None:
    for record, applies in enumerate(mask):
        if applies:
            values[record] = new(record)


def _zero(b: Builder, name: str, kind: Kind, values: list[Fraction], mask: Mask) -> Cases:
    """Nothing, where all others have something."""
    for record, value in enumerate(values):
        if value == 0:
            values[record] = _step(kind)
    _fill(values, mask, lambda _: Fraction(0))
    return always(Compare(place(name), "=", "0"))


def _capped(b: Builder, name: str, kind: Kind, values: list[Fraction], mask: Mask) -> Cases:
    """At most what a third of the records have."""
    cap = sorted(values)[b.n // 3]
    _fill(values, mask, lambda record: min(values[record], cap - b.rng.randint(0, 3) * _step(kind)))
    return always(Compare(place(name), "<=", literal(cap)))


def _above(b: Builder, name: str, kind: Kind, values: list[Fraction], mask: Mask) -> Cases | None:
    """At least as much as another field has."""
    others = b.found((kind,))
    if not others:
        return None
    other = b.rng.choice(others)
    gap = b.rng.choice((0, 0, 5, 50))
    _fill(values, mask, lambda record: other.numbers[record] + b.rng.randint(0, gap) * _step(kind))
    return always(Compare(place(name), ">=", place(other.name)))


def _copied(b: Builder, name: str, kind: Kind, values: list[Fraction], mask: Mask) -> Cases | None:
    """The same as another field, or twice as much."""
    others = b.found((kind,))
    if not others:
        return None
    other, factor = b.rng.choice(others), 2 if kind == "integer" and b.chance(0.3) else 1
    _fill(values, mask, lambda record: factor * other.numbers[record])
    return always(Compare(place(name), "=", combined([(factor, other.name)])))


def _summed(b: Builder, name: str, kind: Kind, values: list[Fraction], mask: Mask) -> Cases | None:
    """The sum or the difference of two other fields."""
    others = b.found(("integer",))
    if kind != "integer" or len(others) < 2:
        return None
    first, second = b.rng.sample(others, 2)
    sign = b.rng.choice((1, 1, -1))
    _fill(values, mask, lambda record: first.numbers[record] + sign * second.numbers[record])
    return always(Compare(combined([(1, first.name), (sign, second.name)]), "=", place(name)))


def _outside(b: Builder, name: str, kind: Kind, values: list[Fraction], mask: Mask) -> Cases:
    """Outside an interval, on either side of it."""
    ranked = sorted(values)
    low, high = ranked[b.n // 3], ranked[2 * b.n // 3]
    if low == high:
        high = low + 10 * _step(kind)
    _fill(
        values,
        mask,
        lambda record: values[record] if not low < values[record] < high else (low if b.chance(0.5) else high),
    )
    return ((Compare(place(name), "<=", literal(low)),), (Compare(place(name), ">=", literal(high)),))


def caps(b: Builder) -> bool:
    """Two or three rules with nested or overlapping antecedents that cap one new field."""
    if not b.room():
        return False
    kind: Kind = "integer"
    name = f"V{len(b.variables) + 1}"
    values = b.draw(kind, b.rng.choice(("wide", "positive", "signed")))
    ranked = sorted(values)
    chosen = [antecedent(b) for _ in range(b.rng.choice((2, 2, 3)))]
    if name in b.variables:  # an antecedent took a new field
        name = f"V{len(b.variables) + 1}"
    if not b.room():
        return False
    made: list[tuple[tuple[Atom, ...], Fraction]] = []
    for share, found in zip((0.5, 0.3, 0.15), chosen, strict=False):
        if found is None:
            continue
        condition, mask = found
        cap = ranked[int(share * b.n)]
        _fill(values, mask, lambda record, cap=cap: min(values[record], cap))  # type: ignore[misc]
        made.append((condition, cap))
    if not made:
        return False
    assert b.add(kind, values).name == name
    for condition, cap in made:
        b.rule("if-then", "governing", always(Compare(place(name), "<=", literal(cap))), condition)
    return True


def fitted(b: Builder) -> bool:
    """A bound that holds under a condition only, read off fields that are there."""
    for _ in range(8):
        chosen = antecedent(b)
        if chosen is None:
            continue
        condition, mask = chosen
        used = [name for atom in condition for name in b.variables if place(name) in atom.sources[0]]
        variable = b.pick(("integer", "money"), fixed=b.chance(0.15), without=used, fresh=0)
        if variable is None or not _has_masked(b, [*used, variable.name]):
            continue
        inside = [value for value, applies in zip(variable.numbers, mask, strict=True) if applies]
        name = place(variable.name)
        if max(inside) < max(variable.numbers):
            b.rule("if-then", "governing", always(Compare(name, "<=", literal(max(inside)))), condition)
            return True
        if min(inside) > min(variable.numbers):
            b.rule("if-then", "governing", always(Compare(name, ">=", literal(min(inside)))), condition)
            return True
    return False


def _has_masked(b: Builder, names: Sequence[str]) -> bool:
    return any(b.variables[name].masked for name in names)


def either_or(b: Builder) -> bool:
    """Two or three bounds, of which each record keeps at least one."""
    names: list[Variable] = []
    for _ in range(b.rng.choice((1, 1, 2))):
        variable = b.pick(("integer", "money"), without=[v.name for v in names], fresh=0.2)
        if variable is None:
            return False
        names.append(variable)
    if not b.room():
        return False
    limits = [sorted(variable.numbers)[b.rng.randint(b.n // 3, b.n // 2)] for variable in names]
    values = b.draw("integer", "wide")
    cap = sorted(values)[b.n // 3]
    for record in b.records:
        if all(v.numbers[record] > limit for v, limit in zip(names, limits, strict=True)):
            values[record] = min(values[record], cap)
    last = b.add("integer", values)
    bounds = [*zip(names, limits, strict=True), (last, cap)]
    b.rule("either-or", "governing", tuple((Compare(place(v.name), "<=", literal(limit)),) for v, limit in bounds))
    return True


def exclusion(b: Builder) -> bool:
    """Of two fields, one is zero."""
    first = b.pick(("integer", "money"), fits=lambda v: 0 in v.values, fresh=0.2)
    if first is None:
        if not b.room(2):
            return False
        first = b.new_number("integer", "wide")
    if not b.room():
        return False
    values = b.draw(first.kind, "positive")
    _fill(values, [value != 0 for value in first.values], lambda _: Fraction(0))
    second = b.add(first.kind, values)
    one, other = Compare(place(first.name), "=", "0"), Compare(place(second.name), "=", "0")
    b.rule("exclusion", "governing", ((one,), (other,)))
    return True


def combination(b: Builder) -> bool:
    """A new category whose allowed values depend on another's."""
    first = b.pick(("text",), fixed=b.chance(0.4), fresh=0.3)
    if first is None or not b.room():
        return False
    codes = ("p", "q", "r", "s")
    allowed = {
        value: sorted(b.rng.sample(codes, b.rng.randint(1, 2))) for value in sorted(set(map(str, first.values)))
    }
    second = b.add("text", [b.rng.choice(allowed[str(value)]) for value in first.values])
    if b.chance(0.6):
        cases = tuple(
            (Compare(place(first.name), "=", f"'{value}'"), _one_of(second.name, options))
            for value, options in allowed.items()
        )
        b.rule("combination", "values", cases)
        return True
    for value, options in sorted(allowed.items(), key=lambda item: len(item[1]))[:2]:
        condition = (Compare(place(first.name), "=", f"'{value}'"),)
        b.rule("if-then", "governing", always(_one_of(second.name, options)), condition)
    return True


def _one_of(name: str, options: Sequence[str]) -> OneOf:
    return OneOf(name, tuple(f"'{option}'" for option in options), text=True)


def skip(b: Builder) -> bool:
    """A filter: under a condition, a new field is left out."""
    chosen = antecedent(b)
    if chosen is None or not b.room():
        return False
    condition, mask = chosen
    if math.fsum(mask) > 0.7 * b.n:
        return False
    variable = b.new_number(b.rng.choice(("integer", "money")))
    variable.filtered = True
    variable.gaps = {record: "absent" for record, applies in enumerate(mask) if applies}
    name = place(variable.name)
    present = always(Raw(name, f"exists({name})")) if b.chance(0.4) else None
    b.rule("filter", "governing", always(Raw(f"not({name})", f"empty({name})")), condition, present)
    return True


def conditioned(b: Builder) -> bool:
    """A bound on a masked field that an unmasked field sets, or a total with an unmasked part."""
    fixed = [variable for variable in b.variables.values() if variable.role in STAYING]
    if not fixed:
        return False
    variable = b.rng.choice(fixed)
    if variable.kind == "text":
        found = on_text(b, variable, b.rng.randint(2, b.n // 2))
        other = b.pick(("integer", "money"), fresh=0.3)
        if found is None or other is None:
            return False
        condition, mask = found
        inside = [value for value, applies in zip(other.numbers, mask, strict=True) if applies]
        b.rule("if-then", "governing", always(Compare(place(other.name), "<=", literal(max(inside)))), condition)
        return True
    other = b.pick(("integer",), fresh=0.3)
    if other is None:
        return False
    most = max(a - c for a, c in zip(other.numbers, variable.numbers, strict=True))
    right = f"{place(variable.name)} + {literal(most)}" if most >= 0 else f"{place(variable.name)} - {literal(-most)}"
    b.rule("inequality", "linear", always(Compare(place(other.name), "<=", right)))
    return True


GOVERNING: tuple[tuple[Callable[[Builder], bool], int], ...] = (
    (if_then, 14),
    (caps, 5),
    (fitted, 8),
    (either_or, 5),
    (exclusion, 4),
    (combination, 4),
    (skip, 3),
    (conditioned, 12),
)
