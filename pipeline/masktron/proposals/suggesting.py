"""The search for rules that records suggest: what is found of each kind, strong ones first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np

from masktron.config import Config, Role
from masktron.progress import Progress, no_progress
from masktron.proposals import candidate
from masktron.proposals.additive import FEWEST_OF_A_PART, Additive, SumSearch
from masktron.proposals.candidate import (
    CODES,
    EQUAL,
    KINDS,
    LEVELS,
    MULTIPLE,
    NOT_NEGATIVE,
    ORDER,
    TOTAL,
    UNIQUE,
    FieldPaths,
    FieldState,
    ShownValue,
    SuggestedRule,
    and_said,
    known,
)
from masktron.proposals.governed import governed
from masktron.proposals.profiles import FieldProfile, aligned, profiles_of
from masktron.proposals.single_field import names_records, single_field
from masktron.sources.dataset import Dataset
from masktron.sources.variables import Variable

FEWEST_RECORDS = 20
FEWEST_THAT_REACH_IT = 3
"""Records in which both are the same, from which an order is more than a guess, and may have exceptions."""
MOST_BY_CHANCE = 0.9
"""Share of records that would agree at random: where nearly all would, sizes differ and there is no rule."""
_SAMPLE = 500


def orders(
    fields: Sequence[FieldProfile], paths: FieldPaths, implied: Collection[tuple[str, str]] = ()
) -> Iterator[SuggestedRule]:
    """Yield ``A <= B`` for quantities that obey it in all records that have both but errors, shortest chains alone.

    Neither a comparison that follows from two others nor one that the ranges of both fields imply is proposed.

    Parameters
    ----------
    fields : sequence of FieldProfile
        Quantities.
    paths : FieldPaths
    implied : collection of (str, str)
        Pairs of fields whose order follows from something else.
    """
    places = max((field.places for field in fields), default=0)
    known_fields = [(f, v) for f, v in zip(fields, aligned(list(fields), places), strict=True) if v is not None]
    found = {}
    for (lesser, low), (greater, high) in permutations(known_fields, 2):
        both = lesser.present & greater.present
        rows = np.flatnonzero(both)
        few = rows[:: max(1, len(rows) // _SAMPLE)]
        if len(rows) < FEWEST_RECORDS or (low[few] > high[few]).mean() > candidate.MOST_EXCEPTIONS:
            continue
        fails, some = both & (low > high), both & ((low != 0) | (high != 0))
        if not candidate.errors((high - low)[some]):
            continue
        rows = np.flatnonzero(both & ~fails)
        if low[rows].max() <= high[rows].min() or (low[rows] == high[rows]).all():
            continue
        share = candidate.agreeing(rows, lambda one, other, a=low, b=high: int((a[one] <= b[other]).sum()))  # type: ignore[misc]
        expected = candidate.expected(len(fields) * (len(fields) - 1), len(rows), int(fails.sum()), share)
        same = int(((low == high) & (low != 0))[rows].sum())
        if fails.any() and same < FEWEST_THAT_REACH_IT:
            continue
        if share <= MOST_BY_CHANCE and expected <= candidate.PLAUSIBLE:
            found[lesser.name, greater.name] = (lesser, greater, both, fails, same, share, expected)
    for (low_name, high_name), (lesser, greater, both, fails, same, share, expected) in found.items():
        names = {field.name for field in fields} - {low_name, high_name}
        if (low_name, high_name) in implied or any(
            (low_name, name) in found and (name, high_name) in found for name in names
        ):
            continue
        one, two = paths[low_name], paths[high_name]
        yield SuggestedRule(
            ORDER,
            (low_name, high_name),
            f"order-{low_name}-{high_name}",
            (*known(one, lesser), *known(two, greater)),
            f"number({one}) <= number({two})",
            (f"{low_name} ", ShownValue(one), f" is above {high_name} ", ShownValue(two), "."),
            both,
            fails,
            "guess" if same < FEWEST_THAT_REACH_IT else candidate.strength(expected, int(fails.sum())),
            f"{int((both & ~fails).sum()):,} records obey it, in {same:,} of them both are the same and not 0; put "
            f"together at random, {100 * share:.0f} % of records would",
            expected,
        )


type Implication = tuple[FieldState, FieldState]

_CONTRARY = {"zero": "above-zero", "above-zero": "zero", "missing": "there", "there": "missing"}


def leaner(
    candidates: Sequence[SuggestedRule], given: Iterable[Implication], natural: Collection[str]
) -> tuple[list[SuggestedRule], int]:
    """Leave out the candidates of which every step is a chain of steps of others.

    Theorem: what is left out follows from what is left and from `given`, in every record in which the fields have
    values. Proof: one candidate is left out at a time, and each of its steps is then a path of steps that hold; the
    relation "there is a path" does not get smaller by that, as the steps of the candidate are such paths.

    Parameters
    ----------
    candidates : sequence of SuggestedRule
        The last are left out first.
    given : iterable of Implication
        Steps that hold anyway, such as those of a total without negative parts.
    natural : collection of str
        Fields that hold no number below 0, so that they are above 0 where they are not 0.

    Returns
    -------
    list of SuggestedRule
    int
        How many were left out.
    """
    from_given = {step for one in given for step in _both_ways(one, natural)}
    kept = list(candidates)
    ways = {id(one): {step for own in one.steps for step in _both_ways(own, natural)} for one in kept}
    counted: dict[Implication, int] = dict.fromkeys(from_given, 1)
    after: dict[FieldState, set[FieldState]] = {}
    for steps in (from_given, *ways.values()):
        for step in steps:
            counted[step] = counted.get(step, 0) + (steps is not from_given)
            after.setdefault(step[0], set()).add(step[1])
    for one in reversed(candidates):
        if not one.steps:
            continue
        for step in ways[id(one)]:
            counted[step] -= 1
            if not counted[step]:
                after[step[0]].discard(step[1])
        if all(_leads(after, *step) for step in one.steps):
            kept = [other for other in kept if other is not one]
            continue
        for step in ways[id(one)]:
            counted[step] += 1
            after[step[0]].add(step[1])
    return kept, len(candidates) - len(kept)


def exhausted(rules: Iterable[SuggestedRule], codes: Mapping[str, frozenset[str]]) -> Iterator[Implication]:
    """Yield what rules on the codes of a field say together: IF not B THEN C.

    Theorem: where A has one of its codes, each of which asks for B or for C, a record without B has C. Proof: its
    code is none of those that ask for B, and so one of those that ask for C.

    Parameters
    ----------
    rules : iterable of SuggestedRule
        With the codes of one field as IF.
    codes : mapping of str to frozenset of str
        All codes of a field that always has one, as steps name them.
    """
    asked = [(one.steps[0][0][0], {state for (_, state), _ in one.steps}, one.steps[0][1]) for one in rules]
    for name, first, one in asked:
        contrary = _CONTRARY.get(one[1])
        for other, second, two in asked:
            if name == other and contrary is not None and name in codes and first | second >= codes[name]:
                yield (one[0], contrary), two


def _both_ways(step: Implication, natural: Collection[str]) -> Iterator[Implication]:
    """Yield a step and what it says the other way round: IF not B THEN not A."""
    yield step
    (one, first), (two, second) = step
    contrary = (_CONTRARY.get(second), _CONTRARY.get(first))
    if contrary[0] is None or contrary[1] is None:
        return
    sized = {name for name, what in step if what in ("zero", "above-zero")}
    if all(name in natural for name in sized):
        yield (two, contrary[0]), (one, contrary[1])


def _leads(after: dict[FieldState, set[FieldState]], start: FieldState, end: FieldState) -> bool:
    """Whether steps lead from one to another."""
    seen, left = {start}, [start]
    while left:
        for reached in after.get(left.pop(), ()):
            if reached == end:
                return True
            if reached not in seen:
                seen.add(reached)
                left.append(reached)
    return False


EXACT_SUM = 1 << 53
"""Engines add whole numbers up to here without rounding."""


def suggested_rules(
    records: Dataset,
    config: Config,
    variables: Mapping[str, Variable],
    progress: Progress = no_progress,
) -> tuple[tuple[SuggestedRule, ...], tuple[str, ...]]:
    """Return the rules that records suggest, and what was not looked for.

    Parameters
    ----------
    records : Dataset
    config : Config
        With what is declared of the fields.
    variables : mapping of str to Variable
        What the file says of its fields, by name.
    progress : callable

    Returns
    -------
    tuple of SuggestedRule
        Strong ones first; among equally strong ones by kind, then in the order of the file.
    tuple of str
        Notes.
    """
    paths = FieldPaths(records.layout)
    progress("looking at each field", 0)
    profiles = list(profiles_of(records, config, variables).values())
    asked = [field for field in profiles if field.role is not Role.IDENTIFIER]
    found = [candidate for field in profiles for candidate in single_field(field, paths)]
    named = {one.fields[0] for one in found if one.kind == UNIQUE}
    asked = [field for field in asked if not (field.name in named and names_records(field))]
    quantities = [field for field in asked if field.quantity]
    progress("looking for totals", 0)
    sums = SumSearch([field for field in asked if field.exact is not None and field.numeric and _adds(field)])
    additive = [_total(sums, one, paths) for one in sums.find()]
    found += [one for one in additive if one is not None]
    progress("looking for orders and conditions", 0)
    natural = {one.fields[0] for one in found if one.kind == NOT_NEGATIVE}
    parts = set(_parts(additive, natural))
    ordered = list(orders(quantities, paths, parts))
    found += ordered
    below = parts.union(tuple(one.fields) for one in ordered)
    given = [((high, "zero"), (low, "zero")) for low, high in below if low in natural]
    listed = {one.fields[0] for one in found if one.kind == CODES and not one.guards}
    codes = {field.name: frozenset(f"={text}" for text in field.texts) for field in asked if field.name in listed}
    conditional = list(governed(asked, paths))
    kept = _leaner(conditional, given, natural, codes)
    found += kept
    fewer = len(conditional) - len(kept)
    places = {field.name: at for at, field in enumerate(profiles)}
    found.sort(key=lambda one: (*_by_strength(one), *(places[name] for name in one.fields)))
    return tuple(found), tuple(_notes(sums, profiles, fewer))


def _by_strength(one: SuggestedRule) -> tuple[int, int]:
    return LEVELS.index(one.strength), KINDS.index(one.kind)


def _leaner(
    rules: Sequence[SuggestedRule],
    given: Sequence[Implication],
    natural: Collection[str],
    codes: Mapping[str, frozenset[str]],
) -> list[SuggestedRule]:
    """Leave out what follows from others; conditions on codes are kept before those on zeros that say the same."""
    rules = sorted(rules, key=_by_strength)
    coded = [one for one in rules if one.steps[0][0][1].startswith("=")]
    kept, _ = leaner(coded, given, natural)
    known_steps = [*given, *(step for one in kept for step in one.steps), *exhausted(kept, codes)]
    others, _ = leaner([one for one in rules if one not in coded], known_steps, natural)
    return [*kept, *others]


def _parts(totals: Sequence[SuggestedRule | None], natural: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield part and total of totals without negative parts: there, no part is above the total."""
    for one in totals:
        if one is not None and one.kind == TOTAL and all(name in natural for name in one.fields) and not one.guards:
            yield from ((part, one.fields[-1]) for part in one.fields[:-1])


def _adds(field: FieldProfile) -> bool:
    """Whether a field may be a part of a total: numbers of persons are few, and look like codes."""
    return field.quantity or (field.coded and field.by_number and not field.variable.labels)


def _total(sums: SumSearch, one: Additive, paths: FieldPaths) -> SuggestedRule | None:
    """Spell a relation: exactly in whole numbers, else with a tolerance of half a unit of the last digit."""
    fields = [sums.fields[at] for at in one.relation.fields]
    parts = [(fields[at], factor) for at, (_, factor) in enumerate(one.relation.parts)]
    total, times = fields[-1], one.relation.total[1]
    largest = sum(abs(factor) * _largest(field, sums.places) for field, factor in parts)
    if max(largest, times * _largest(total, sums.places)) >= EXACT_SUM:
        return None
    left = " + ".join(_times(paths[field.name], factor) for field, factor in parts)
    right = _times(paths[total.name], times)
    if sums.places and any(field.places for field in fields):
        tolerance = f"0.{'0' * max(field.places for field in fields)}5"
        minus = " - ".join(_times(paths[field.name], factor) for field, factor in parts)
        test = f"{left} - {right} <= {tolerance} and {right} - {minus} <= {tolerance}"
    elif len(parts) == 1 and parts[0][1] == 1:
        test = f"number({left}) = number({right})"
    else:
        test = f"{left} = number({right})" if times == 1 else f"{left} = {right}"
    kind = TOTAL
    says: tuple[str | ShownValue, ...] = (" do not add up to ",)
    if len(parts) == 1:
        kind = EQUAL if parts[0][1] == 1 else MULTIPLE
        says = (" is not ",) if kind == EQUAL else (f" times {parts[0][1]} is not ",)
    elif times != 1 or any(factor != 1 for _, factor in parts):
        factors = ", ".join(str(factor) for _, factor in parts)
        says = (f", times {factors}, do not add up to {'' if times == 1 else f'{times} times '}",)
    fails, telling = int(one.fails.sum()), one.telling
    what = "in which it is not 0" if len(parts) == 1 else "in which two parts or more are not 0"
    return SuggestedRule(
        kind,
        tuple(field.name for field in fields),
        f"{kind.name}-{total.name}" if kind == TOTAL else f"{kind.name}-{fields[0].name}-{total.name}",
        tuple(guard for field in fields for guard in known(paths[field.name], field)),
        test,
        (
            *_listed([field.name for field, _ in parts], paths),
            *says,
            f"{total.name} ",
            ShownValue(paths[total.name]),
            ".",
        ),
        one.applies,
        one.fails,
        candidate.strength(one.expected, fails),
        f"it holds in {telling:,} records {what}; put together at random, {_one_in(one.share)} would agree",
        one.expected,
    )


def _largest(field: FieldProfile, places: int) -> int:
    return 0 if field.exact is None else int(np.abs(field.exact).max(initial=0)) * 10 ** (places - field.places)


def _times(path: str, factor: int) -> str:
    return path if factor == 1 else f"{factor} * {path}"


def _listed(names: Sequence[str], paths: FieldPaths) -> Iterator[str | ShownValue]:
    """Yield names with their values, put together as words are."""
    words = and_said([f"{name} \0" for name in names]).split("\0")
    for at, word in enumerate(words):
        yield word
        if at < len(names):
            yield ShownValue(paths[names[at]])


def _one_in(share: float) -> str:
    return f"1 of {round(1 / share):,}" if share < 0.5 else f"{100 * share:.0f} %"


def _notes(sums: SumSearch, profiles: Sequence[FieldProfile], fewer: int) -> Iterator[str]:
    if len(sums.fields) > 3 and (
        untried := [field.name for at, field in enumerate(sums.fields) if at in sums.untried]
    ):
        few = "fewer records have a value in all of the same fields than there are such fields"
        yield f"totals of four parts or more were not looked for among {', '.join(untried)}: {few}"
    if sums.left_out:
        yield f"too many digits to be added exactly, so no totals are looked for: {', '.join(sums.left_out)}"
    unread = [field.name for field in profiles if field.column.numeric and not field.numeric and not field.coded]
    if unread:
        yield f"exponents or plus signs, which XPath 1.0 does not read as numbers: no rule on {', '.join(unread)}"
    if fewer:
        yield f"{fewer} rules IF ... THEN that follow from others, or from lists of codes, are not listed"
    rare = FEWEST_OF_A_PART
    yield f"a part of a total that is not 0 in fewer than {rare} records, and records that lack a part, are not seen"
    yield (
        "not looked for: products, constants beside fields, rules with several conditions, sums on both sides of a "
        "total, factors where a total has three parts or more"
    )
