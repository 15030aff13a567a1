"""Candidates that follow from others step by step: IF A THEN B and IF B THEN C leave nothing to IF A THEN C."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from masktron.proposals.candidate import FieldState, SuggestedRule

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
