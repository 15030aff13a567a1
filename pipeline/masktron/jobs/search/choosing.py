"""The Pareto front and the recommendation: arithmetic on figures, which knows no file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from masktron.counts import counted
from masktron.figures import figure_of
from masktron.problems.problem import Note, Sentence, Term
from masktron.results import SpreadResult, TuneCandidate

_FINALISTS = 5
"""Candidates of a sample that are run on all records."""
_NEXT = 2
"""Candidates within the limits of which one should be so on all records, too."""
_GROUPED_ALIKE = "[[--grouping all]]"
_STEPS: Mapping[str, tuple[str, ...]] = {
    "risk": ("larger groups ([[--k 20,50]])", _GROUPED_ALIKE, "methods that draw ([[--methods]])"),
    "contract": ("larger groups ([[--k 20,50]])", _GROUPED_ALIKE),
    "utility": ("smaller groups ([[--k 3]])", "other methods ([[--methods]])"),
}
"""What to try so that a figure comes within its limit, by what the figure is about."""
_OF_KEYS = (
    "let tune try {other} treatments of keys ([[--recode FIELD=width:10]], [[--key-k 3]]; a weight that is "
    "written is a key as well: [[--recode W=breaks:0,100:mean]]), or leave a field out ([[--role FIELD=identifier]])"
)
_FEW = 3
"""Candidates and figures that a sentence names; more are counted."""
NEAR_UNMASKED = 90.0
"""Per cent of `linkage` or `unchanged` from which a candidate leaves the file nearly as it was."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What is recommended, and why.

    Attributes
    ----------
    front : tuple of int
        Positions of candidates, from the least risk to the most.
    recommended : int or None
    why : Sentence
    best : int or None
        The best candidate so far, which nothing may recommend yet: the search goes on with it.
    """

    front: tuple[int, ...]
    recommended: int | None
    why: Sentence
    best: int | None = None


def near_unmasked(figures: Mapping[str, float]) -> tuple[Note, ...]:
    """Name the figures by which a candidate leaves the file nearly as it was.

    Parameters
    ----------
    figures : mapping of str to float
        The most of each over the seeds.

    Returns
    -------
    tuple of Note
        One each: ``linkage is 96.9: the file is nearly as it was``.
    """
    return tuple(
        Note("{figure} is {value:.6g}: the file is nearly as it was", figure=Term(name), value=figures[name])
        for name in ("linkage", "unchanged")
        if figures.get(name, math.nan) >= NEAR_UNMASKED
    )


def broken_limits(spread: Mapping[str, SpreadResult], limits: Mapping[str, float]) -> tuple[Note, ...]:
    """Name the limits that a candidate breaks in some run, with the worst figure.

    Parameters
    ----------
    spread : mapping of str to SpreadResult
        Its figures over the seeds.
    limits : mapping of str to float

    Returns
    -------
    tuple of Note
        One each: ``linkage is 61.2, the limit 50``.
    """
    return tuple(
        Note("{figure} is {value:.6g}, the limit {limit:g}", figure=Term(name), value=value, limit=limits[name])
        for name, value in _outside(spread, limits)
    )


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
    candidates: Sequence[TuneCandidate],
    risk: str,
    utility: str,
    limits: Mapping[str, float],
    *,
    finished: bool = True,
) -> Recommendation:
    """Choose among the candidates that were measured on all records.

    A candidate may be recommended if a limit says how much risk is acceptable, it is within all limits, the search is
    finished, and it does not leave the file nearly as it was (`NEAR_UNMASKED`). Of these, the one with the fewest
    concerns is recommended; of equal ones the one of least loss, then of least risk, then the first.

    Parameters
    ----------
    candidates : sequence of TuneCandidate
        Their `within_limits` is known where they have figures.
    risk, utility : str
    limits : mapping of str to float
    finished : bool
        Whether all runs that were to be made have been made.

    Returns
    -------
    Recommendation
    """
    points = points_of(candidates, risk, utility, "measured")
    front = pareto(points) or pareto(points_of(candidates, risk, utility, "sampled"))
    measured = {at: point for at, point in points.items() if not any(map(math.isnan, point))}
    within = _ranked(candidates, measured)
    ranked = [at for at in within if not _is_near(candidates[at])]
    best = ranked[0] if ranked else None
    missed = sum(one.state == "unreached" for one in candidates)
    why: Sentence
    if missed or not finished:
        why = _unfinished(missed, len(candidates))
    elif not measured:
        why = _nothing(candidates, risk, utility)
    elif all(figure_of(name).group == "utility" for name in limits):
        why = Note(
            "no limit says how much risk is acceptable: set one, for example [[--limit {limit}]]",
            limit=_example(risk, measured, ranked),
        )
    elif not within:
        why = _none_within(candidates, measured, limits)
    elif best is None:
        why = Note(
            "every candidate within the limits leaves the file nearly as it was (linkage or unchanged of "
            "{near:g} % or more): set a stricter limit, for example [[--limit linkage={half:g}]]",
            near=NEAR_UNMASKED,
            half=NEAR_UNMASKED / 2,
        )
    else:
        return Recommendation(front, best, _chosen(candidates, measured, ranked, risk, utility, limits), best)
    return Recommendation(front, None, why, best)


def _ranked(candidates: Sequence[TuneCandidate], points: Mapping[int, tuple[float, float]]) -> list[int]:
    """Return the candidates within the limits: those near the unmasked file last, others by concerns, loss, risk."""
    within = (at for at in points if candidates[at].within_limits)

    def place(at: int) -> tuple[bool, int, float, float, int]:
        one = candidates[at]
        return _is_near(one), len(one.concerns), points[at][1], points[at][0], at

    return sorted(within, key=place)


def _is_near(candidate: TuneCandidate) -> bool:
    return bool(near_unmasked({name: own.most for name, own in candidate.spread.items()}))


def _unfinished(missed: int, of: int) -> Sentence:
    some = f"{missed} of {of} candidates were not tried" if missed else "some runs are missing"
    return Note(
        "the search is not finished ({some}): run it again, with a larger [[--budget]] if it ended", some=some
    )


def _example(risk: str, measured: Mapping[int, tuple[float, float]], ranked: Sequence[int]) -> str:
    """Return a limit to paste that half of the candidates keep."""
    values = sorted(measured[at][0] for at in ranked or measured)
    middle = values[len(values) // 2]  # less is better, also of figures of which more is
    step = 10.0 ** (math.floor(math.log10(abs(middle))) - 1) if middle else 1.0
    bound = math.ceil(middle / step - 1e-9) * step
    return f"{risk}={_less(risk, bound):.3g}"


def _chosen(
    candidates: Sequence[TuneCandidate],
    measured: Mapping[int, tuple[float, float]],
    ranked: Sequence[int],
    risk: str,
    utility: str,
    limits: Mapping[str, float],
) -> Note:
    """Say why the first of some candidates is recommended."""
    best, *others = ranked
    concerns = len(candidates[best].concerns)
    alike = [at for at in others if len(candidates[at].concerns) == concerns]
    cheaper = [at for at in measured if measured[at][1] < measured[best][1]]
    beyond = [at for at in cheaper if not candidates[at].within_limits]
    more = [at for at in cheaper if at in others]
    said: list[Sentence] = []
    if beyond:
        broken = Counter(name for at in beyond for name, _ in _outside(candidates[at].spread, limits))
        names = [Term(name) for name, _ in broken.most_common()]
        said.append(Note("{cheaper} {names:or}", cheaper=_cheaper(len(beyond), "break"), names=names))
    if more:
        said.append(f"{_cheaper(len(more), 'raise')} more concerns")
    whole = " run on all records" if any(one.state == "sampled" for one in candidates) else ""
    among = f"of the {len(ranked)} candidates{whole}" if others else f"the only candidate{whole}"
    loses = ("has the fewest concerns " if more else "loses least ") if others else "is "
    first = Note(
        "{best} {loses}{among} within {limits} ({figures}{concerns})",
        best=candidates[best].called,
        loses=loses,
        among=among,
        limits=[_limit(name, bound) for name, bound in limits.items()],
        figures=[_figure(name, candidates[best].figures[name]) for name in (risk, utility)],
        concerns=f", {counted(concerns, 'concern')}" if concerns else "",
    )
    return Note("{parts:;}", parts=[first, *_drawn(candidates, best, alike, utility), *said])


def _drawn(candidates: Sequence[TuneCandidate], best: int, others: Sequence[int], utility: str) -> Iterator[Sentence]:
    """Say what the seeds leave open: one alone, or a range over them that is wider than the gap to the next.

    Parameters
    ----------
    candidates : sequence of TuneCandidate
    best : int
    others : sequence of int
        Those to which it was preferred for its loss, the next first.
    utility : str
    """
    own = candidates[best]
    if own.differs and own.seeds == 1:
        yield "it was run with one seed only"
    if not others:
        return
    following = candidates[others[0]]
    gap = _less(utility, following.figures[utility]) - _less(utility, own.figures[utility])
    spreads = [(one, one.spread[utility]) for one in (own, following)]
    wide = next(((one, spread) for one, spread in spreads if spread.most - spread.least > gap), None)
    if wide is None:
        return
    told = "the range of the next, {next}, over its seeds ({ranges}) is wider than the gap of {gap:.3g}"
    if wide[0] is own:
        told = "its range over the seeds ({ranges}) is wider than the gap of {gap:.3g} to the next, {next}"
    ranges = Note("{figure} {least:.4g} to {most:.4g}", figure=Term(utility), least=wide[1].least, most=wide[1].most)
    yield Note(told, next=following.called, ranges=ranges, gap=gap)


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
    within = _ranked(candidates, known)
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


def _nothing(candidates: Sequence[TuneCandidate], risk: str, utility: str) -> Sentence:
    if any(one.state in ("measured", "sampled") for one in candidates):
        if any(one.state == "measured" for one in candidates):
            return Note(
                "no candidate has both {risk} and {utility}: the file has nothing of what they are about",
                risk=Term(risk),
                utility=Term(utility),
            )
        return "no candidate was measured on all records"
    if any(one.state == "ended" for one in candidates):
        return Note(
            "no candidate was measured, for want of time or memory: {reasons:;}; fewer workers need less memory, and "
            "a longer rule timeout gives engines more time",
            reasons=_reasons(candidates, "ended"),
        )
    return Note(
        "no candidate is admitted: {reasons:;}; mask [[--on-refusal suggest]], with the settings of one, tries "
        "what may help",
        reasons=_reasons(candidates, "refused"),
    )


def _reasons(candidates: Sequence[TuneCandidate], state: str) -> list[Sentence]:
    told = Counter(reason for one in candidates if one.state == state for reason in one.reasons)
    more = len(told) - _FEW
    return [*(reason for reason, _ in told.most_common(_FEW)), *([f"and {more} more reasons"] if more > 0 else [])]


def _none_within(
    candidates: Sequence[TuneCandidate], measured: Mapping[int, tuple[float, float]], limits: Mapping[str, float]
) -> Sentence:
    broken = Counter(name for at in measured for name, _ in _outside(candidates[at].spread, limits))
    excludes = [
        Note(
            "{limit} excludes {count} of {all}{best}",
            limit=_limit(name, limits[name]),
            count="all" if (every := count == len(measured)) else count,
            all=len(measured),
            best=f" (the best has {_best(candidates, measured, name):.4g})" if every else "",
        )
        for name, count in broken.most_common()
    ]
    nearest = min(measured, key=lambda at: (_excess(candidates[at].spread, limits), at))
    gaps = [_gap(name, value, limits[name]) for name, value in _outside(candidates[nearest].spread, limits)]
    treated = any(not candidates[at].treatment.is_none for at in measured)
    return Note(
        "no candidate is within all limits: {excludes:;}; nearest comes {nearest} ({gaps}); to go on, "
        "{steps:;}; or give another limit",
        excludes=excludes,
        nearest=candidates[nearest].called,
        gaps=gaps,
        steps=[
            *_next_steps(broken, treated=treated, by_rules=any(candidates[at].grouping != "all" for at in measured))
        ],
    )


def _gap(name: str, value: float, bound: float) -> Note:
    """Say how far a figure is from its limit."""
    if math.isnan(value):
        return Note("{figure} has no value", figure=Term(name))
    side = "over" if value > bound else "short"
    return Note("{told} is {gap:.3g} {side}", told=_figure(name, value), gap=abs(value - bound), side=side)


def _figure(name: str, value: float) -> Note:
    return Note("{figure} {value:.4g}", figure=Term(name), value=value)


def _next_steps(broken: Iterable[str], *, treated: bool, by_rules: bool) -> Iterator[Note]:
    """Say what may bring figures within their limits, by what they are about.

    Parameters
    ----------
    broken : iterable of str
        Names of figures.
    treated : bool
        Whether a candidate treats keys.
    by_rules : bool
        Whether a candidate groups records otherwise than over all fields together.
    """
    by_subject: dict[str, list[Term]] = {}
    for name in broken:
        figure = figure_of(name)
        about = "keys" if "keys" in figure.needs and figure.group == "risk" else figure.group
        by_subject.setdefault(about, []).append(Term(name))
    for subject, names in by_subject.items():
        if subject == "keys":
            yield Note(f"for {{names}} {_OF_KEYS}", names=names, other="coarser" if treated else "some")
        else:
            ways = [Note(way) for way in _STEPS[subject] if by_rules or way != _GROUPED_ALIKE]
            yield Note("for {names} try {ways:or}", names=names, ways=ways)


def _best(candidates: Sequence[TuneCandidate], measured: Mapping[int, tuple[float, float]], name: str) -> float:
    values = [candidates[at].figures.get(name, math.nan) for at in measured]
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return math.nan
    return min(known) if figure_of(name).better == "lower" else max(known)


def _limit(name: str, bound: float) -> Note:
    side = "most" if figure_of(name).better == "lower" else "least"
    return Note("{figure} at {side} {bound:g}", figure=Term(name), side=side, bound=bound)


def _cheaper(count: int, verb: str) -> str:
    return f"the one that loses less {verb}s" if count == 1 else f"the {count} that lose less {verb}"


def _less(name: str, value: float) -> float:
    return value if figure_of(name).better == "lower" else -value
