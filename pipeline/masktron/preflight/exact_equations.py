"""Linear equations over the rationals, solved exactly near an approximate solution."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction


def solve_near[K: Hashable](
    equations: Iterable[tuple[Mapping[K, Fraction], Fraction]], guess: Mapping[K, Fraction]
) -> dict[K, Fraction]:
    """Solve equations exactly; what they leave free takes its value from a guess.

    Parameters
    ----------
    equations : iterable of (coefficients, right-hand side)
        Taken in this order; an equation that contradicts those before it is left out, so the caller has to test the
        result against what it needs.
    guess : mapping of unknown to Fraction
        A value for every unknown.

    Returns
    -------
    dict of unknown to Fraction
    """
    solved: dict[K, tuple[dict[K, Fraction], Fraction]] = {}
    for coefficients, bound in equations:
        right = bound
        left = {name: value for name, value in coefficients.items() if value}
        for pivot, (terms, constant) in solved.items():
            if factor := left.pop(pivot, None):
                _add(left, terms, -factor)
                right = right - factor * constant
        if not left:
            continue
        new = next(iter(left))
        scale = left.pop(new)
        row = {name: value / scale for name, value in left.items()}
        level = right / scale
        for pivot, (terms, constant) in solved.items():
            if factor := terms.pop(new, None):
                _add(terms, row, -factor)
                solved[pivot] = (terms, constant - factor * level)
        solved[new] = (row, level)
    values = dict(guess)
    for pivot, (terms, constant) in solved.items():
        values[pivot] = constant - sum((c * guess[name] for name, c in terms.items()), Fraction(0))
    return values


def _add[K: Hashable](target: dict[K, Fraction], terms: Mapping[K, Fraction], factor: Fraction) -> None:
    """Add a multiple of some terms, in place."""
    for name, value in terms.items():
        total = target.get(name, Fraction(0)) + factor * value
        if total:
            target[name] = total
        else:
            target.pop(name, None)
