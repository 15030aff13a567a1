"""What masktron can tell of a masked file in figures: their names, and what each means to a reader new to the field.

How a figure is computed stands in `masktron.measures.figures`, under the same name. This module has the words alone,
so that settings, messages and tables need not load any measure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

type Group = Literal["contract", "risk", "utility"]
type Better = Literal["lower", "higher"]
type Need = Literal["manifest", "class"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a masked file.

    Attributes
    ----------
    name : str
        For tables, JSON, limits and options.
    group : {"contract", "risk", "utility"}
        What masking promised; what an intruder may learn; what the data are still good for.
    better : {"lower", "higher"}
        A limit is the most that a figure may be where lower is better, and else the least.
    meaning : str
        What it says and what is usual, without a formula. It is shown to people who decide on a release.
    unit : str
        ``%``, ``records``, or empty for a bare number.
    needs : tuple of {"manifest", "class"}
        What has to be known besides the two files: the manifest, and which field is the class.
    quick : bool
        Whether `mask` computes it unasked: a few seconds for a million records.
    """

    name: str
    group: Group
    better: Better
    meaning: str
    unit: str = "%"
    needs: tuple[Need, ...] = ()
    quick: bool = False

    def meets(self, value: float, bound: float) -> bool:
        """Whether a value is within a limit; a figure that does not exist (NaN) meets none."""
        return value <= bound if self.better == "lower" else value >= bound


FIGURES: tuple[Figure, ...] = (
    Figure(
        "block_k",
        "contract",
        "higher",
        "Fields that were masked together form a block; in every block, each combination of values is shared by at "
        "least this many records. It has to be the k that was asked for, or more; 3 to 10 are usual.",
        unit="records",
        needs=("manifest",),
        quick=True,
    ),
    Figure(
        "medoid_share",
        "contract",
        "lower",
        "Of 100 groups of records, this many show the values of one real respondent, because no average obeyed the "
        "rules. 0 to 1 is usual.",
        needs=("manifest",),
        quick=True,
    ),
    Figure(
        "whole_record_k",
        "risk",
        "higher",
        "Every record is like at least this many records, itself included, in all masked fields at once. 1 means "
        "that some record is like no other: usual where fields were masked block by block. One partition of all "
        "fields (--grouping all) gives k or more.",
        unit="records",
        quick=True,
    ),
    Figure(
        "linkage",
        "risk",
        "lower",
        "The worst case: somebody holds all original numbers, and picks for each masked record the respondent who is "
        "most like it. Of 100 picks, this many are right. More than 90 is usual where fields were masked block by "
        "block; where whole records come in groups of k, it is at most 100 divided by k.",
        quick=True,
    ),
    Figure(
        "unchanged",
        "risk",
        "lower",
        "Of 100 values, this many are published exactly as the respondent gave them. A few are usual for amounts of "
        "money; most for small counts such as children, where neighbours are equal anyway.",
        quick=True,
    ),
    Figure(
        "information_loss",
        "utility",
        "lower",
        "How much of the differences between respondents is lost in the numbers. 0: nothing has moved; 100: as if "
        "everybody had the average. 1 to 15 is usual for groups of 3 to 10 records, more where many fields share "
        "one partition.",
        quick=True,
    ),
    Figure(
        "total_change",
        "utility",
        "lower",
        "How far the total of a field over all respondents (all wages, say) has moved, up or down; this is the field "
        "where it has moved most. Survey weights count where they are known. Averages keep totals, so less than 0.5 "
        "is usual; medians move them further.",
        quick=True,
    ),
    Figure(
        "category_change",
        "utility",
        "lower",
        "How far the shares of the categories of a field have moved: of 100 respondents, this many would have to "
        "change category to get the old shares back; this is the field where it is most. Less than 10 is usual. Rare "
        "categories are the first to get lost.",
        quick=True,
    ),
)
"""Every figure, in the order of tables: contract, risk, utility."""

NAMES: tuple[str, ...] = tuple(figure.name for figure in FIGURES)


def figure_of(name: str) -> Figure:
    """Return the figure of this name.

    Raises
    ------
    KeyError
        There is none; names that a user gives are checked first.
    """
    for figure in FIGURES:
        if figure.name == name:
            return figure
    raise KeyError(name)
