"""Figures that have to be reached, and how near."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reproduction.edit_constraints import RELEASED, S1, S2, Curve
from reproduction.mdav_table import Loss
from reproduction.measured import DOCUMENTED, GROUPED, WHOLE

PRINTED_WITHIN, STUDY_WITHIN = 1.5, 1.0
"""Points of SCORE from the paper at its own k, and from the study of its readings."""
SAME_DIGITS = 0.0005
STUDY = {
    S1.name: dict(zip(RELEASED, (38.89, 38.20, 38.00, 38.49), strict=True)),
    S2.name: dict(zip(RELEASED, (34.39, 35.00, 35.77, 36.25), strict=True)),
}
"""SCORE in the documented reading, by k, as the study of 990 readings found it."""
STUDY_GROUPED = {4: 34.6, 6: 35.3}
"""SCORE of S2 with DBRL by block and ID by ranks."""
STUDY_LINKED, STUDY_WHOLE = (91.0, 97.0), (53.0, 59.0)
"""Range of DBRL, and of SCORE, with all variables known."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A figure beside the one that it should be near."""

    what: str
    reference: float
    ours: float
    within: float

    @property
    def reached(self) -> bool:
        """Whether it is near enough."""
        return abs(self.ours - self.reference) <= self.within

    @property
    def ratio(self) -> float:
        """Ours divided by the reference."""
        return self.ours / self.reference


def printed_marks(curves: Iterable[Curve]) -> Iterator[Mark]:
    """SCORE at the k at which the paper has its minimum."""
    for curve in curves:
        one = curve.scenario
        yield Mark(
            f"SCORE of {one.name}, k = {one.at}", one.printed, DOCUMENTED.score(curve.at(one.at)), PRINTED_WITHIN
        )


def study_marks(aware: Curve, blind: Curve) -> Iterator[Mark]:
    """What the study of the paper's readings found, for three of them."""
    for curve in (aware, blind):
        for k, reference in STUDY[curve.scenario.name].items():
            what = f"SCORE of {curve.scenario.name}, k = {k}: {DOCUMENTED.name}"
            yield Mark(what, reference, DOCUMENTED.score(curve.at(k)), STUDY_WITHIN)
    for k, reference in STUDY_GROUPED.items():
        yield Mark(f"SCORE of S2, k = {k}: {GROUPED.name}", reference, GROUPED.score(blind.at(k)), STUDY_WITHIN)
    least, most = blind.range(WHOLE.linked, 6, 10)
    yield Mark("DBRL of S2, all 13 variables known, least for k = 6 to 10", STUDY_LINKED[0], least, STUDY_WITHIN)
    yield Mark("DBRL of S2, all 13 variables known, most for k = 6 to 10", STUDY_LINKED[1], most, STUDY_WITHIN)
    scores = [WHOLE.score(curve.at(k)) for curve in (aware, blind) for k in RELEASED]
    yield Mark(f"SCORE, least of k = {_sizes()}: {WHOLE.name}", STUDY_WHOLE[0], min(scores), STUDY_WITHIN)
    yield Mark(f"SCORE, most of k = {_sizes()}: {WHOLE.name}", STUDY_WHOLE[1], max(scores), STUDY_WITHIN)


def mdav_marks(losses: Iterable[Loss]) -> Iterator[Mark]:
    """Information loss of MDAV, to the digits that are printed."""
    for one in losses:
        yield Mark(f"100 SSE/SST of {one.file}, k = {one.k}", one.printed, one.ours, SAME_DIGITS)


def _sizes() -> str:
    return ", ".join(map(str, RELEASED))
