"""Motifs: ways in which rules and the fields in them come to a file.

A motif either makes a field so that its rule holds, record by record, or reads a bound off fields that are there.
It returns whether it added a rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from pairs.builder import Builder
from pairs.rules import Balance, Between, Cases, Compare, OneOf, Raw, always, combined, literal, place
from pairs.values import (
    MAX_DIGITS,
    NUMBERS,
    Kind,
    Variable,
    adds_up,
    multiplies_up,
    readings,
    significant_digits,
)

CENT = Fraction(1, 100)
TRIES = 300


def total(b: Builder) -> bool:
    """A total of parts, which may be totals themselves or parts of another total."""
    kind: Kind = "integer" if b.chance(0.65) else "money"
    count = b.rng.choice((2, 2, 2, 3, 4))
    old = b.found((kind,), fixed=b.chance(0.03))
    wholes = {edit.variables[-1] for edit in b.edits if edit.label == "total"}
    # Totals of totals and totals that share parts are the hard ones, so a part is rather an old field than a new one.
    wanted = min(len(old), b.rng.choice((0, 1, 1, 2, 2, count)))
    shared = sorted(b.rng.sample(old, len(old)), key=lambda v: v.name not in wholes or b.chance(0.4))[:wanted]
    if kind == "money" and len(shared) == count:
        shared.pop()
    if not b.room(count - len(shared) + 1):
        return False
    parts = [*shared, *(b.new_number(kind) for _ in range(count - len(shared)))]
    signs = [1, *(-1 if b.chance(0.15) else b.rng.choice((1, 1, 1, 1, 2)) for _ in parts[1:])]
    if kind == "money":
        signs = [max(-1, min(1, sign)) for sign in signs]
        _redraw(b, parts[-1], lambda record: adds_up(_terms(signs, parts, record), _sum(signs, parts, record)))
    values = [_sum(signs, parts, record) for record in b.records]
    whole = b.add(kind, values)
    left = combined(list(zip(signs, [part.name for part in parts], strict=True)))
    if kind == "money" and not all(adds_up(_terms(signs, parts, i), values[i]) for i in b.records):
        b.rule("balance", "linear", always(Balance(f"{left} - {place(whole.name)}", "0.005")))
    else:
        b.rule("total", "linear", always(Compare(left, "=", place(whole.name), exact_order=kind == "money")))
    return True


def chain(b: Builder) -> bool:
    """A total, the total of that and another part, and now and then a total that shares a part with the first."""
    if not b.room(5):
        return False
    parts = [b.new_number("integer") for _ in range(3)]
    first = _add_total(b, parts[:2])
    _add_total(b, [first, parts[2]])
    if b.room() and b.chance(0.5):
        _add_total(b, parts[1:])
    return True


def crosstab(b: Builder) -> bool:
    """A table with its margins: every cell in two totals, and the grand total reached in two ways."""
    if not b.room(9):
        return False
    cells = [[b.new_number("integer", b.rng.choice(("count", "wide", "signed"))) for _ in range(2)] for _ in range(2)]
    rows = [_add_total(b, row) for row in cells]
    columns = [_add_total(b, list(column)) for column in zip(*cells, strict=True)]
    grand = _add_total(b, rows)
    b.rule("total", "linear", always(Compare(combined([(1, c.name) for c in columns]), "=", place(grand.name))))
    return True


def _add_total(b: Builder, parts: list[Variable]) -> Variable:
    ones = [1] * len(parts)
    whole = b.add("integer", [_sum(ones, parts, record) for record in b.records])
    left = combined([(1, part.name) for part in parts])
    b.rule("total", "linear", always(Compare(left, "=", place(whole.name))))
    return whole


def _sum(signs: Sequence[int], parts: Sequence[Variable], record: int) -> Fraction:
    return sum((sign * value for sign, value in _terms(signs, parts, record)), Fraction(0))


def _terms(signs: Sequence[int], parts: Sequence[Variable], record: int) -> list[tuple[int, Fraction]]:
    return [(sign, _number(part, record)) for sign, part in zip(signs, parts, strict=True)]


def _number(variable: Variable, record: int) -> Fraction:
    value = variable.values[record]
    assert isinstance(value, Fraction)
    return value


def _redraw(b: Builder, variable: Variable, fits: Callable[[int], bool]) -> None:
    """Draw the values of a field that no rule reads yet until each record fits, as far as that is possible."""
    for record in b.records:
        for _ in range(TRIES):
            if fits(record):
                break
            step = b.rng.randint(1, 40)
            value = _number(variable, record)
            unit = {"money": CENT, "ratio": Fraction(1, 10**9)}.get(variable.kind, Fraction(1))
            variable.values[record] = value + (step * unit if value >= 0 else -step * unit)


def balance(b: Builder) -> bool:
    """A total that may be off by rounding."""
    count = b.rng.choice((1, 2, 2, 3))
    parts: list[Variable] = []
    for _ in range(count):
        part = b.pick(("integer", "money"), without=[p.name for p in parts], fresh=0.35)
        if part is None:
            return False
        parts.append(part)
    if not b.room():
        return False
    sums = [sum((_number(part, record) for part in parts), Fraction(0)) for record in b.records]
    if any(part.kind == "money" for part in parts):
        values = [Fraction(round(value)) for value in sums]
        half = any(abs(value - whole) == Fraction(1, 2) for value, whole in zip(sums, values, strict=True))
        tolerance = Fraction(51, 100) if half else Fraction(1, 2)
    else:
        tolerance = Fraction(b.rng.choice((1, 2, 5)))
        values = [value + b.rng.randint(-int(tolerance), int(tolerance)) for value in sums]
    whole = b.add("integer", values)
    difference = combined([(1, part.name) for part in parts] + [(-1, whole.name)])
    b.rule("balance", "linear", always(Balance(difference, literal(tolerance))))
    return True


def product(b: Builder) -> bool:
    """A product of two or three factors, which is then a field itself."""
    first: Kind = b.rng.choice(("ratio", "ratio", "money", "integer"))
    if not b.room(2):
        return False
    rate = b.new_number(first)
    count = b.pick(("integer",), without=[rate.name], fresh=0.3)
    if count is None or not b.room():
        return False
    factors = [rate, count]
    if first == "integer" and b.chance(0.3) and (third := b.pick(("integer",), without=[rate.name, count.name])):
        factors.append(third)
    if not b.room() or any(_digits(factors, record) > MAX_DIGITS for record in b.records):
        return False

    def numbers(record: int) -> list[Fraction]:
        return [_number(factor, record) for factor in factors]

    if first != "integer":
        _redraw(b, rate, lambda record: multiplies_up(numbers(record), _product(numbers(record))))
    values = [_product(numbers(record)) for record in b.records]
    if not all(multiplies_up(numbers(record), values[record]) for record in b.records):
        return False
    result = b.add(first, values)
    left = " * ".join(place(factor.name) for factor in factors)
    b.rule("product", "product", always(Compare(left, "=", place(result.name), exact_order=True)))
    return True


def _product(factors: Sequence[Fraction]) -> Fraction:
    return math.prod(factors, start=Fraction(1))


def _digits(factors: Sequence[Variable], record: int) -> int:
    return sum(significant_digits(_number(factor, record)) for factor in factors)


def ratio(b: Builder) -> bool:
    """A quotient: as the double division gives it, or rounded and kept within a tolerance."""
    bottom = b.pick(("integer", "money"), fits=_positive, fresh=0.4)
    if bottom is None:
        if not b.room(2):
            return False
        bottom = b.new_number("integer", "positive")
    if b.chance(0.4) and b.room(2):
        return _exact_ratio(b, bottom)
    top = b.pick(("integer", "money"), without=[bottom.name])
    if top is None or not b.room():
        return False
    names = place(top.name), place(bottom.name)
    unit = Fraction(1, 10**8)
    values = [round(_number(top, i) / _number(bottom, i) / unit) * unit for i in b.records]
    off = max(abs(values[i] * _number(bottom, i) - _number(top, i)) for i in b.records)
    result = b.add("ratio", values)
    tolerance = Fraction(math.ceil(off * 100) + 1, 100)
    b.rule("ratio", "product", always(Balance(f"{place(result.name)} * {names[1]} - {names[0]}", literal(tolerance))))
    return True


def _positive(variable: Variable) -> bool:
    return min(variable.numbers) > 0


def _exact_ratio(b: Builder, bottom: Variable) -> bool:
    """A quotient whose shortest decimal is the same double to all engines; the dividend is drawn until it has one."""
    top = b.new_number("integer", b.rng.choice(("wide", "signed")))
    _redraw(b, top, lambda record: _quotient(top, bottom, record) is not None)
    values = [_quotient(top, bottom, record) for record in b.records]
    known = [value for value in values if value is not None]
    if len(known) < b.n:
        return False
    result = b.add("ratio", known)
    left = f"{place(top.name)} div {place(bottom.name)}"
    b.rule("ratio", "product", always(Compare(left, "=", place(result.name), exact_order=True)))
    return True


def _quotient(top: Variable, bottom: Variable, record: int) -> Fraction | None:
    above, below = readings(_number(top, record)), readings(_number(bottom, record))
    quotient = Fraction(repr(above[0] / below[0]))
    return quotient if readings(quotient) == (above[0] / below[0], above[1] / below[1]) else None


def ratio_bound(b: Builder) -> bool:
    """A quotient under a limit that the file comes close to."""
    bottom = b.pick(("integer", "money"), fixed=b.chance(0.2), fits=_positive)
    if bottom is None or (top := b.pick(("integer", "money"), without=[bottom.name])) is None:
        return False
    most = max(_number(top, i) / _number(bottom, i) for i in b.records)
    limit = literal(Fraction(math.floor(most * 100) + 2, 100))
    if b.chance(0.5):
        atom = Compare(f"{place(top.name)} div {place(bottom.name)}", "<=", limit)
    else:
        atom = Compare(place(top.name), "<=", f"{limit} * {place(bottom.name)}")
    b.rule("ratio bound", "product" if "div" in atom.left else "linear", always(atom))
    return True


def order(b: Builder) -> bool:
    """A field that is never above another, and often equal to it."""
    upper = b.pick(("integer", "money"), fixed=b.chance(0.15))
    if upper is None or not b.room():
        return False
    unit = CENT if upper.kind == "money" else Fraction(1)
    spread = max(1, round((max(upper.numbers) - min(upper.numbers)) / unit / 3))
    values = [value - (0 if b.chance(0.3) else b.rng.randint(0, spread)) * unit for value in upper.numbers]
    lower = b.add(upper.kind, values)
    b.rule("order", "governing", always(Compare(place(lower.name), "<=", place(upper.name))))
    return True


def inequality(b: Builder) -> bool:
    """A linear combination under a limit that some record touches, or nearly."""
    terms: list[tuple[int, str]] = []
    used: list[Variable] = []
    for position in range(b.rng.choice((2, 2, 3))):
        variable = b.pick(("integer", "money"), fixed=b.chance(0.15), without=[v.name for v in used])
        if variable is None:
            return False
        terms.append((b.rng.choice((1, 1, 2, 3)) if not position else b.rng.choice((-2, -1, 1, 1)), variable.name))
        used.append(variable)
    most = max(_sum([sign for sign, _ in terms], used, record) for record in b.records)
    if any(variable.kind == "money" for variable in used):
        most += CENT
    elif b.chance(0.4):
        most += b.rng.randint(1, 100)
    b.rule("inequality", "linear", always(Compare(combined(terms), "<=", literal(most))))
    return True


def value_range(b: Builder) -> bool:
    """An interval, often as tight as the file."""
    variable = b.pick(NUMBERS, fresh=0.1)
    if variable is None:
        return False
    low, high = min(variable.numbers), max(variable.numbers)
    if variable.kind == "ratio":
        low, high = Fraction(math.floor(low * 100), 100), Fraction(math.ceil(high * 100), 100)
    elif b.chance(0.4):
        low, high = low - b.rng.randint(0, 10), high + b.rng.randint(0, 1000)
    way = b.rng.random()
    name = place(variable.name)
    if low >= 0 and way < 0.35:
        cases: Cases = always(Compare(name, ">=", "0"))
    elif way < 0.5:
        cases = always(Compare(name, "<=", literal(high)))
    else:
        cases = always(Between(variable.name, literal(low), literal(high)))
    b.rule("range", "values", cases)
    return True


def value_set(b: Builder) -> bool:
    """All values that a category, or a number with few values, may have."""
    few = b.found(("text", "integer"))
    few = [variable for variable in few if len(set(variable.values)) <= 12]
    if not few:
        if not b.room():
            return False
        few = [b.new_text() if b.chance(0.5) else b.new_number("integer", "codes")]
    variable = b.rng.choice(few)
    text = variable.kind == "text"
    values = sorted({f"'{value}'" if text else literal(value) for value in variable.values})  # type: ignore[arg-type]
    b.rule("set", "values", always(OneOf(variable.name, tuple(values), text)))
    return True


def integrality(b: Builder) -> bool:
    """A whole number, or a multiple of ten."""
    if b.chance(0.2) and b.room():
        variable = b.add("integer", [10 * value for value in b.draw("integer", "positive")])
        b.rule("multiple", "values", always(Compare(f"{place(variable.name)} mod 10", "=", "0", exact_order=True)))
        return True
    found = b.pick(("integer",), fresh=0.1)
    if found is None:
        return False
    name = place(found.name)
    spelling = b.rng.choice((f"floor({name})", f"round({name})", f"ceiling({name})"))
    b.rule("integrality", "values", always(Compare(name, "=", spelling, exact_order=True)))
    return True


def pattern(b: Builder) -> bool:
    """A category of fixed length."""
    variable = b.pick(("text",), fits=lambda v: len({len(str(value)) for value in v.values}) == 1)
    if variable is None:
        return False
    length, name = len(str(variable.values[0])), place(variable.name)
    atom = Raw(f"string-length({name}) = {length}", f"matches({name}, '^[A-Za-z]{{{length}}}$')")
    b.rule("pattern", "values", always(atom))
    return True


def domain(b: Builder) -> bool:
    """A field that takes values of the original only."""
    variable = b.pick((*NUMBERS, "text"), fresh=0.05)
    if variable is None:
        return False
    name = variable.name
    old = f"{place(name)} = document('data.xml')//Record/{place(name)}"
    new = b.rng.choice((old, f"{place(name)} = doc('data.xml')//{place(name)}"))
    b.rule("domain", "domain", always(Raw(old, new)))
    return True


def unique_key(b: Builder) -> bool:
    """A key that no two records share."""
    keys = [variable for variable in b.variables.values() if variable.role == "record-id"]
    if not keys or any(edit.label == "unique key" for edit in b.edits):
        return False
    b.rule("unique key", "cross-record", always(Compare(place(keys[0].name), "=", place(keys[0].name))))
    return True


def file_total(b: Builder) -> bool:
    """A total over the file that is to stay: exactly, within a tolerance, or under a bound."""
    variable = b.pick(("integer", "money"), fits=lambda v: not v.gaps, fresh=0.2)
    if variable is None:
        return False
    variable.filtered = True  # an empty field would make the sum no number
    amount = sum(variable.numbers, Fraction(0))
    left = f"sum(Record/{place(variable.name)})"
    way = b.rng.random()
    if way < 0.4 and variable.kind == "integer" and b.n >= 8 * b.k:
        atoms: tuple[Compare | Balance, ...] = (Compare(left, "=", literal(amount), exact_order=True),)
    elif way < 0.7:
        unit = Fraction(1) if variable.kind == "integer" else CENT
        atoms = (Balance(f"{left} - {literal(amount)}", literal(unit * b.k * b.rng.randint(1, 20))),)
    else:
        atoms = (Compare(left, "<=", literal(amount + b.rng.randint(0, 1 + int(abs(amount)) // 50))),)
    b.rule("file total", "cross-record", always(*atoms))
    return True


def file_count(b: Builder) -> bool:
    """How many records have a property: exactly, where no masked field decides it; else a share of them at least."""
    fixed = [variable for variable in b.variables.values() if variable.role == "untouched" and not variable.gaps]
    if fixed and b.chance(0.6):
        variable = b.rng.choice(fixed)
        value = b.rng.choice(variable.values)
        count = variable.values.count(value)
        text = f"'{value}'" if isinstance(value, str) else literal(value)
        atom = Compare(f"count(Record[{place(variable.name)} = {text}])", "=", str(count))
    else:
        found = b.pick(("integer", "money"), fits=lambda v: not v.gaps, fresh=0.2)
        if found is None:
            return False
        found.filtered = True
        # Values high up in the file would be lost to any aggregate; a fifth of the way up, some group stays above.
        low = sorted(found.numbers)[b.n // 5]
        atom = Compare(f"count(Record[{place(found.name)} >= {literal(low)}])", ">=", "1")
    b.rule("file count", "cross-record", always(atom))
    return True


PLAIN: tuple[tuple[Callable[[Builder], bool], int], ...] = (
    (total, 20),
    (chain, 6),
    (crosstab, 5),
    (balance, 8),
    (product, 8),
    (ratio, 5),
    (ratio_bound, 4),
    (order, 8),
    (inequality, 9),
    (value_range, 10),
    (value_set, 5),
    (integrality, 3),
    (pattern, 1),
    (domain, 2),
    (unique_key, 4),
    (file_total, 1),
    (file_count, 1),
)
