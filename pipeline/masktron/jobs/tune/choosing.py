"""The Pareto front and the recommendation: arithmetic on figures, which knows no file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from masktron.figures import figure_of
from masktron.results import SpreadResult, TuneCandidate

_FINALISTS = 5
"""Candidates of a sample that are run on all records."""
_NEXT = 2
"""Candidates within the limits of which one should be so on all records, too."""
_STEPS: Mapping[str, str] = {
    "keys": "let tune try {other} treatments of keys (--recode FIELD=width:10, --key-k 3; a weight that is written "
    "is a key as well: --recode W=breaks:0,100:mean), or leave a field out (--role FIELD=identifier)",
    "risk": "try larger groups (-k 20,50), --grouping all or methods that draw (--methods)",
    "contract": "try larger groups (-k 20,50) or --grouping all",
    "utility": "try smaller groups (-k 3) or other methods (--methods)",
}
"""What may bring a figure within its limit, by what the figure is about."""
_FEW = 3
"""Candidates and figures that a sentence names; more are counted."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What is recommended, and why.

    Attributes
    ----------
    front : tuple of int
        Positions of candidates, from the least risk to the most.
    recommended : int or None
    why : str
    """

    front: tuple[int, ...]
    recommended: int | None
    why: str


def broken_limits(spread: Mapping[str, SpreadResult], limits: Mapping[str, float]) -> tuple[str, ...]:
    """Name the limits that a candidate breaks in some run, with the worst figure.

    Parameters
    ----------
    spread : mapping of str to SpreadResult
        Its figures over the seeds.
    limits : mapping of str to float

    Returns
    -------
    tuple of str
        A sentence each: ``linkage is 61.2, the limit 50``.
    """
    return tuple(f"{name} is {value:.6g}, the limit {limits[name]:g}" for name, value in _outside(spread, limits))


def _outside(spread: Mapping[str, SpreadResult], limits: Mapping[str, float]) -> list[tuple[str, float]]:
    found = []
    for name, bound in limits.items():
        own = spread.get(name)
        figure = figure_of(name)
        ends = (math.nan,) if own is None else (own.least, own.most)
        worst = max(ends) if figure.better == "lower" else min(ends)
        # NaN meets no limit
        if any(not figure.meets(end, bound) for end in ends):
            found.append((name, worst))
    return found


def pareto(points: Mapping[int, tuple[float, float]]) -> tuple[int, ...]:
    """Return the points that no other beats: none is as good in both coordinates and better in one.

    Parameters
    ----------
    points : mapping of int to (float, float)
        Risk and loss, of which less is better; those with a NaN are on no front.

    Returns
    -------
    tuple of int
        From the least risk to the most; of equal points the first.
    """
    front: list[int] = []
    least = math.inf
    known = {at: point for at, point in points.items() if not any(map(math.isnan, point))}
    for at in sorted(known, key=lambda at: (*known[at], at)):
        if known[at][1] < least:
            front.append(at)
            least = known[at][1]
    return tuple(front)


def points_of(
    candidates: Sequence[TuneCandidate], risk: str, utility: str, state: str
) -> dict[int, tuple[float, float]]:
    """Return the places of candidates of one state on the map, less being better in both coordinates."""
    return {
        at: (_less(risk, one.figures[risk]), _less(utility, one.figures[utility]))
        for at, one in enumerate(candidates)
        if one.state == state and risk in one.figures and utility in one.figures
    }


def choose_candidate(
    candidates: Sequence[TuneCandidate], risk: str, utility: str, limits: Mapping[str, float], seeds: int = 1
) -> Recommendation:
    """Choose among the candidates that were measured on all records.

    With limits: the least loss among those within all of them; of equal ones the one of less risk, then the first.
    Without any, nobody has said how much risk is acceptable: the least sum of risk and loss, where both are per cent.

    Parameters
    ----------
    candidates : sequence of TuneCandidate
        Their `within_limits` is known where they have figures.
    risk, utility : str
    limits : mapping of str to float
    seeds : int
        Runs that each candidate that draws was to have.

    Returns
    -------
    Recommendation
    """
    points = points_of(candidates, risk, utility, "measured")
    front = pareto(points) or pareto(points_of(candidates, risk, utility, "sampled"))
    measured = {at: point for at, point in points.items() if not any(map(math.isnan, point))}
    if not measured:
        return Recommendation(front, None, _nothing(candidates, risk, utility))
    if not limits:
        return _without_limits(candidates, measured, front, risk, utility, seeds)
    within = [at for at in measured if candidates[at].within_limits]
    if not within:
        return Recommendation(front, None, _none_within(candidates, measured, limits))
    best, *others = sorted(within, key=lambda at: (measured[at][1], measured[at][0], at))
    said = _said(candidates[best], risk, utility)
    named = ", ".join(_limit(name, bound) for name, bound in limits.items())
    cheaper = [at for at in measured if measured[at][1] < measured[best][1]]
    beyond = ""
    if cheaper:
        broken = Counter(
            name for at in cheaper for name, _ in _outside(candidates[at].spread, limits)
        )  # each breaks one at least
        beyond = f"; {_cheaper(len(cheaper))} {' or '.join(name for name, _ in broken.most_common())}"
    whole = " run on all records" if any(one.state == "sampled" for one in candidates) else ""
    among = f"of the {len(within)} candidates{whole}" if len(within) > 1 else f"the only candidate{whole}"
    loses = "loses least " if len(within) > 1 else "is "
    drawn = _drawn(candidates, best, others, (utility,), seeds)
    return Recommendation(
        front, best, f"{candidates[best].name} {loses}{among} within {named} ({said}){drawn}{beyond}"
    )


def _drawn(
    candidates: Sequence[TuneCandidate], best: int, others: Sequence[int], decisive: Sequence[str], seeds: int
) -> str:
    """Say what the seeds leave open: few of them, or a range over them that is wider than the gap to the next.

    Parameters
    ----------
    candidates : sequence of TuneCandidate
    best : int
    others : sequence of int
        Those that it was preferred to, the next first.
    decisive : sequence of str
        Figures by whose sum it was preferred.
    seeds : int
        Runs that it was to have.
    """
    own = candidates[best]
    few = ""
    if own.differs and (own.seeds < seeds or own.seeds == 1):
        many = "one seed" if own.seeds == 1 else f"{own.seeds} of {seeds} seeds"
        few = f"; it was run with {many} only" + (", as the budget ended" if own.seeds < seeds else "")
    if not others:
        return few
    following = candidates[others[0]]
    gap = math.fsum(_less(name, following.figures[name]) - _less(name, own.figures[name]) for name in decisive)
    wide = next((one for one in (own, following) if _width(one, decisive) > gap), None)
    if wide is None:
        return few
    ranges = ", ".join(f"{name} {wide.spread[name].least:.4g} to {wide.spread[name].most:.4g}" for name in decisive)
    name = following.name
    if wide is own:
        return f"{few}; its range over the seeds ({ranges}) is wider than the gap of {gap:.3g} to the next, {name}"
    return f"{few}; the range of the next, {name}, over its seeds ({ranges}) is wider than the gap of {gap:.3g}"


def _width(candidate: TuneCandidate, names: Sequence[str]) -> float:
    """Return the range of a sum of figures over the seeds, rather too wide: the sum of their ranges."""
    return math.fsum(candidate.spread[name].most - candidate.spread[name].least for name in names)


def finalists(
    candidates: Sequence[TuneCandidate],
    risk: str,
    utility: str,
    limits: Mapping[str, float],
    *,
    again: bool = False,
) -> list[int]:
    """Return the candidates of a sample that are worth a run on all records, the most promising first.

    Parameters
    ----------
    candidates : sequence of TuneCandidate
    risk, utility : str
    limits : mapping of str to float
    again : bool
        The first ones did not keep the limits: return the next.

    Returns
    -------
    list of int
    """
    points = points_of(candidates, risk, utility, "sampled")
    known = {at: point for at, point in points.items() if not any(map(math.isnan, point))}
    by_loss = sorted(known, key=lambda at: (known[at][1], known[at][0], at))
    within = [at for at in by_loss if candidates[at].within_limits]
    # on all records, limits that are broken by little may hold
    near = sorted(
        (at for at in by_loss if not candidates[at].within_limits),
        key=lambda at: (_excess(candidates[at].spread, limits), at),
    )
    if again:
        return [*within, *near][:_NEXT]
    by_sum = sorted(known, key=lambda at: (sum(known[at]), at))
    front = sorted(pareto(points), key=lambda at: (sum(known[at]), at))
    best = [*within[:_NEXT], *near[:1]] if limits else by_sum[:1]
    return list(dict.fromkeys([*best, *front]))[:_FINALISTS]


def _excess(spread: Mapping[str, SpreadResult], limits: Mapping[str, float]) -> float:
    """Return by how much the limits are broken: the sum of the shares of them."""
    return math.fsum(
        math.inf if math.isnan(value) else abs(value - limits[name]) / max(abs(limits[name]), 1e-9)
        for name, value in _outside(spread, limits)
    )


def _without_limits(
    candidates: Sequence[TuneCandidate],
    measured: Mapping[int, tuple[float, float]],
    front: tuple[int, ...],
    risk: str,
    utility: str,
    seeds: int,
) -> Recommendation:
    ask = f"set a limit, such as --limit {risk}=NUMBER"
    if not figure_of(risk).unit == figure_of(utility).unit == "%":
        return Recommendation(
            front, None, f"no limit says how much risk is acceptable, and {risk} and {utility} have no sum: {ask}"
        )
    best, *others = sorted(measured, key=lambda at: (sum(measured[at]), *measured[at], at))
    return Recommendation(
        front,
        best,
        f"no limit says how much risk is acceptable, so that risk and loss count alike: {candidates[best].name} has "
        f"the least sum of both ({_said(candidates[best], risk, utility)})"
        f"{_drawn(candidates, best, others, (risk, utility), seeds)}; to decide on a release, {ask}",
    )


def _nothing(candidates: Sequence[TuneCandidate], risk: str, utility: str) -> str:
    if any(one.state in ("measured", "sampled") for one in candidates):
        if any(one.state == "measured" for one in candidates):
            return f"no candidate has both {risk} and {utility}: the file has nothing of what they are about"
        return "the budget ended before a candidate was measured on all records"
    if any(one.state == "unreached" for one in candidates):
        return "the budget ended before a candidate was measured"
    if any(one.state == "ended" for one in candidates):
        return (
            f"no candidate was measured, for want of time or memory: {_reasons(candidates, 'ended')}; fewer workers "
            "need less memory, and a longer rule timeout gives engines more time"
        )
    return (
        f"no candidate is admitted: {_reasons(candidates, 'refused')}; mask --on-refusal suggest, with the settings "
        "of one, tries what may help"
    )


def _reasons(candidates: Sequence[TuneCandidate], state: str) -> str:
    told = Counter(reason for one in candidates if one.state == state for reason in one.reasons)
    shown = "; ".join(reason for reason, _ in told.most_common(_FEW))
    more = len(told) - _FEW
    return f"{shown}; and {more} more reasons" if more > 0 else shown


def _none_within(
    candidates: Sequence[TuneCandidate], measured: Mapping[int, tuple[float, float]], limits: Mapping[str, float]
) -> str:
    broken = Counter(name for at in measured for name, _ in _outside(candidates[at].spread, limits))
    excludes = "; ".join(
        f"{_limit(name, limits[name])} excludes {'all' if count == len(measured) else count} of {len(measured)}"
        + (f" (the best has {_best(candidates, measured, name):.4g})" if count == len(measured) else "")
        for name, count in broken.most_common()
    )
    nearest = min(measured, key=lambda at: (_excess(candidates[at].spread, limits), at))
    gaps = ", ".join(_gap(name, value, limits[name]) for name, value in _outside(candidates[nearest].spread, limits))
    treated = any(not candidates[at].treatment.is_none for at in measured)
    return (
        f"no candidate is within all limits: {excludes}; nearest comes {candidates[nearest].name} ({gaps}); to go "
        f"on, {'; '.join(_next_steps(broken, treated=treated))}; or give another limit"
    )


def _gap(name: str, value: float, bound: float) -> str:
    """Say how far a figure is from its limit."""
    if math.isnan(value):
        return f"{name} has no value"
    return f"{name} {value:.4g} is {abs(value - bound):.3g} {'over' if value > bound else 'short'}"


def _next_steps(broken: Iterable[str], *, treated: bool) -> Iterator[str]:
    """Say what may bring figures within their limits, by what they are about.

    Parameters
    ----------
    broken : iterable of str
        Names of figures.
    treated : bool
        Whether a candidate treats keys.
    """
    by_steps: dict[str, list[str]] = {}
    for name in broken:
        figure = figure_of(name)
        about = "keys" if "keys" in figure.needs and figure.group == "risk" else figure.group
        by_steps.setdefault(_STEPS[about].format(other="coarser" if treated else "some"), []).append(name)
    for steps, names in by_steps.items():
        yield f"for {', '.join(names)} {steps}"


def _best(candidates: Sequence[TuneCandidate], measured: Mapping[int, tuple[float, float]], name: str) -> float:
    values = [candidates[at].figures.get(name, math.nan) for at in measured]
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return math.nan
    return min(known) if figure_of(name).better == "lower" else max(known)


def _limit(name: str, bound: float) -> str:
    return f"{name} at {'most' if figure_of(name).better == 'lower' else 'least'} {bound:g}"


def _cheaper(count: int) -> str:
    return "the one that loses less breaks" if count == 1 else f"the {count} that lose less break"


def _said(candidate: TuneCandidate, risk: str, utility: str) -> str:
    return ", ".join(f"{name} {candidate.figures[name]:.4g}" for name in (risk, utility))


def _less(name: str, value: float) -> float:
    return value if figure_of(name).better == "lower" else -value
