"""The business survey with local units: a namespace, a seat and its branches, accounts that add up over levels."""

from __future__ import annotations

from draws import Draws
from survey import Record, Shape, Unit

SHAPE = Shape("EstablishmentSurvey", "Enterprise", "e", "urn:example:establishment-survey", "LocalUnit")
FIRST_ID = 700_001
REGIONS = ("NO", "EA", "SO", "WE", "CE")
_TIMES = {1: 18, 2: 12, 3: 7, 4: 3}
_SIZES = tuple(size for size, times in _TIMES.items() for _ in range(times))
_STRIDE = 17
"""Has no divisor in common with the number of sizes."""


def establishments(draws: Draws, serial: int) -> Unit:
    """Draw one enterprise that obeys rules/establishments.sch; of each 40 the local units are 75."""
    opened = 2020 - draws.lognormal(14, 0.8, 90)
    units = [_local_unit(draws, number, opened) for number in range(1, 1 + _SIZES[serial * _STRIDE % len(_SIZES)])]
    own = {
        "@id": str(FIRST_ID + 13 * serial),
        "Region": units[0]["Region"],
        "Sector": draws.choose({"C": 0.3, "G": 0.45, "I": 0.25}),
        "Weight": f"{draws.lognormal(4200, 0.6, 40000) / 1000:.3f}",
        "LocalUnits": str(len(units)),
        **{name: str(sum(int(unit[name] or 0) for unit in units)) for name in ("Staff", "Turnover", "Wages")},
        "Capex": "-9" if draws.chance(0.08) else str(draws.lognormal(14_000, 1.3, 900_000)),
    }
    return Unit(own, tuple(units))


def _local_unit(draws: Draws, number: int, opened: int) -> Record:
    staff = 1 + draws.lognormal(6, 0.9, 300)
    turnover = staff * draws.lognormal(78_000, 0.4, 400_000)
    return {
        "@no": str(number),
        "Kind": "SEAT" if number == 1 else "BRANCH",
        "Region": draws.pick(REGIONS),
        "Opened": str(opened if number == 1 else min(2024, opened + draws.integer(0, 12))),
        "Staff": str(staff),
        "Turnover": str(turnover),
        "Wages": str(round(turnover * draws.uniform(0.15, 0.5))),
        "Energy": None if draws.chance(0.1) else str(staff * draws.lognormal(520, 0.6, 9_000)),
    }
