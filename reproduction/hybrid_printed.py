"""Tables 1 to 5 of hybrid-microaggregation-2010, as printed, with the rows under the names that they should have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

STATISTICS = (
    "mean of X1", "mean of X2", "variance of X1", "variance of X2", "covariance of Y1, X1", "covariance of Y1, X2",
    "covariance of Y2, X1", "covariance of Y2, X2", "third moment of X1", "fourth moment of X1", "third moment of X2",
    "fourth moment of X2",
)  # fmt: skip
"""In the order of the rows; the papers' labels of the last four are in another order, which no file bears out."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What is printed of a file.

    Attributes
    ----------
    name, table : str
        The file, and where its samples are compared with MS.
    x, y : tuple of str
        Confidential and kept variables.
    alphas : mapping from str to (share, k)
        Shares of MS, and the k that is compared with them.
    ms : mapping from str to tuple of float
        Variations of MS by alpha, in the order of `STATISTICS`.
    hybrid : mapping from int to tuple of float
        Those of R-microhybrid by k.
    matches : mapping from int to (float, float)
        Per cent of correct matches of R-microhybrid and of plain microaggregation, by k.
    ms_matches : mapping from str to float
    """

    name: str
    table: str
    x: tuple[str, str]
    y: tuple[str, str]
    alphas: Mapping[str, tuple[tuple[float, float], int]]
    ms: Mapping[str, tuple[float, ...]]
    hybrid: Mapping[int, tuple[float, ...]]
    matches: Mapping[int, tuple[float, float]]
    ms_matches: Mapping[str, float]


SHARES = {"alpha 1": (0.9, 0.9), "alpha 2": (0.8, 0.3), "alpha 3": (0.0, 0.0)}

CENSUS = Printed(
    "census",
    "2",
    ("FICA", "FEDTAX"),
    ("INTVAL", "POTHVAL"),
    {name: (share, k) for (name, share), k in zip(SHARES.items(), (22, 23, 24), strict=True)},
    {
        "alpha 1": (.0168, .0203, .0694, .0625, .2097, .1722, .3600, .2437, 3.4807, .1990, .5597, .1830),
        "alpha 2": (.0175, .0215, .0747, .0770, .2584, .2522, .4364, .3223, 5.1872, .2303, .6987, .2458),
        "alpha 3": (.0584, .0699, .1253, .1188, .5267, .4723, 1.2375, 1.2618, 62.6002, .5332, 1.9927, .4939),
    },
    {
        7: (.0012, .0017, .0042, .0063, .0084, .0070, .0144, .0220, .1940, .0108, .0404, .0202),
        10: (.0016, .0024, .0074, .0110, .0126, .0137, .0247, .0261, .2377, .0200, .0853, .0412),
        15: (.0023, .0033, .0101, .0151, .0206, .0219, .0488, .0407, .3057, .0236, .1059, .0473),
        20: (.0035, .0052, .0151, .0230, .0464, .0507, .0584, .0513, .6841, .0376, .1066, .0517),
        22: (.0029, .0048, .0131, .0200, .0293, .0346, .0595, .0736, .5501, .0309, .1192, .0600),
        23: (.0036, .0056, .0155, .0246, .0333, .0524, .0870, .2937, .8345, .0345, .2022, .0901),
        24: (.0048, .0066, .0199, .0347, .0443, .0488, .1619, .1637, .5509, .0427, .2412, .1165),
    },
    {7: (3.30, 11.11), 10: (2.00, 7.69), 15: (1.00, 5.00), 20: (0.40, 3.70), 22: (0.20, 3.52), 23: (0.10, 3.43),
     24: (0.00, 2.87)},
    {"alpha 1": 0.2, "alpha 2": 0.1, "alpha 3": 0.0},
)  # fmt: skip

EIA = Printed(
    "eia",
    "3",
    ("INDREVENUE", "INDSALES"),
    ("TOTREVENUE", "TOTSALES"),
    {name: (share, k) for (name, share), k in zip(SHARES.items(), (80, 90, 120), strict=True)},
    {
        "alpha 1": (.0129, .0118, .0195, .0172, .0128, .0132, .0116, .0112, .0691, .0807, .0532, .0552),
        "alpha 2": (.0150, .0231, .0276, .0164, .0204, .0204, .0300, .0289, .0860, .0949, .0695, .0695),
        "alpha 3": (.0444, .0378, .0919, .0812, .0670, .0641, .0608, .0599, .3225, .3493, .2482, .2668),
    },
    {
        10: (.0047, .0035, .0311, .0154, .0174, .0116, .0131, .0090, .0929, .1683, .0363, .0570),
        15: (.0079, .0060, .0408, .0262, .0232, .0159, .0190, .0135, .0975, .1604, .0627, .1005),
        20: (.0080, .0060, .0426, .0297, .0238, .0177, .0201, .0159, .1200, .2126, .0728, .1145),
        80: (.0147, .0113, .0705, .0435, .0363, .0344, .0303, .0297, .1838, .2854, .1259, .1978),
        90: (.0150, .0123, .0732, .0559, .0424, .0387, .0378, .0330, .1964, .3379, .1381, .2272),
        120: (.0165, .0155, .0849, .0665, .0509, .0443, .0442, .0391, .2170, .3671, .1520, .2390),
    },
    {10: (7.80, 7.50), 15: (4.50, 5.06), 20: (3.30, 3.76), 80: (0.60, 0.93), 90: (0.40, 0.83), 120: (0.00, 0.64)},
    {"alpha 1": 0.6, "alpha 2": 0.4, "alpha 3": 0.0},
)  # fmt: skip

FILES = (CENSUS, EIA)
