"""Figures of risk and utility, weighted totals, shares of categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from masktron.serialised import Serialised

if TYPE_CHECKING:
    from masktron.measures.figures import Measured


@dataclass(frozen=True, slots=True)
class TotalResult(Serialised):
    """The weighted total of a masked number, in the records in which it is present.

    Attributes
    ----------
    before, after : float
        In the original and in the masked file; without a weight every record counts once.
    change : float
        Per cent of the magnitude before; NaN where that is 0.
    records : int
        In which it is present, before or after: the smaller number.
    """

    KEYS: ClassVar = "field=name before after change records"
    EXACT: ClassVar = frozenset({"before", "after"})

    name: str
    before: float
    after: float
    change: float
    records: int


@dataclass(frozen=True, slots=True)
class CategoryResult(Serialised):
    """The weighted counts of the categories of a masked field.

    Attributes
    ----------
    kind : str
        ``nominal`` or ``ordinal``.
    distance : float
        Total variation distance between the distributions before and after, per cent; NaN without values.
    before, after : mapping of str to float
        Weights of the records that hold each category, in the original and in the masked file. Confidential.
    """

    KEYS: ClassVar = "field=name kind distance counts"

    name: str
    kind: str
    distance: float
    before: Mapping[str, float] = field(repr=False)
    after: Mapping[str, float] = field(repr=False)

    @property
    def counts(self) -> list[dict[str, Any]]:
        """What it was and is of each category. Confidential."""
        return [
            {"category": category, "before": count, "after": self.after[category]}
            for category, count in self.before.items()
        ]


@dataclass(frozen=True, slots=True)
class FigureResult(Serialised):
    """One figure of risk, utility or contract: see `masktron.figures`.

    Attributes
    ----------
    name : str
    group : str
        ``contract``, ``risk`` or ``utility``.
    value : float
        NaN where the files have nothing of what it is about.
    unit : str
        ``%``, ``records``, or empty.
    better : str
        ``lower`` or ``higher``.
    field : str
        Where it is worst, for figures that are looked at field by field; else empty.
    meaning : str
        What it says and what is usual.
    interval : tuple of float, or None
        Interval of 95 per cent, for figures that are estimated from a sample of records.
    """

    KEYS: ClassVar = "figure=name group value=_nine_digits interval unit better field=_worst meaning"
    EXACT: ClassVar = frozenset({"_nine_digits"})

    name: str
    group: str
    value: float
    unit: str
    better: str
    field: str
    meaning: str
    interval: tuple[float, float] | None = None

    @property
    def _nine_digits(self) -> float:
        """Digits that count, and not decimals: some figures are small by nature."""
        return float(f"{self.value:.9g}")

    @property
    def _worst(self) -> str | None:
        return self.field or None

    @classmethod
    def of(cls, measured: Measured) -> FigureResult:
        """Put a figure into the words of reports."""
        figure = measured.figure
        return cls(
            figure.name,
            figure.group,
            measured.value,
            figure.unit,
            figure.better,
            measured.field,
            figure.meaning,
            measured.interval,
        )
