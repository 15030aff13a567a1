"""The household survey: plain elements, incomes with losses, three spellings of a missing value."""

from __future__ import annotations

from draws import Draws, cents, readings
from names import FIRST, LAST
from survey import Record, Shape

SHAPE = Shape("HouseholdSurvey", "Household")
FIRST_ID = 100_007
OCCUPATIONS = ("0210", "1120", "2411", "2512", "3322", "4110", "5223", "6121", "7115", "8322", "9112")
AGES = {"EMP": (18, 67), "SELF": (22, 74), "RET": (55, 95), "UNEMP": (18, 64)}


def household(draws: Draws, serial: int) -> Record:
    """Draw one household that obeys rules/household.sch."""
    status = draws.choose({"EMP": 0.55, "RET": 0.23, "SELF": 0.13, "UNEMP": 0.09})
    age = draws.peaked(*AGES[status])
    adults = draws.choose({1: 0.34, 2: 0.50, 3: 0.12, 4: 0.04})
    children = draws.choose({0: 0.48, 1: 0.22, 2: 0.21, 3: 0.07, 4: 0.02}) if age < 58 else 0
    return {
        "Id": str(FIRST_ID + 7 * serial),
        "Name": f"{draws.pick(FIRST)} {draws.pick(LAST)}",
        "Region": draws.choose({"NO": 0.18, "EA": 0.21, "SO": 0.24, "WE": 0.22, "CE": 0.15}),
        "Status": status,
        "Occupation": draws.pick(OCCUPATIONS) if status in ("EMP", "SELF") else None,
        "Weight": f"{draws.lognormal(9500, 0.35, 60000) / 1000:.3f}",
        "Age": str(age),
        "Adults": str(adults),
        "Children": str(children),
        "Size": str(adults + children),
        **_incomes(draws, status, adults, children),
        **_pay(draws, status),
        **_housing(draws),
        **_spending(draws),
    }


def _incomes(draws: Draws, status: str, adults: int, children: int) -> Record:
    partner = draws.lognormal(21_000, 0.5, 120_000) if adults > 1 and draws.chance(0.55) else 0
    wages, own, transfers = partner, 0, 2_400 * children
    match status:
        case "EMP":
            wages += draws.lognormal(31_000, 0.5, 180_000)
        case "SELF":
            own = draws.lognormal(17_000, 0.9, 190_000)
        case "RET":
            transfers += draws.lognormal(21_000, 0.35, 70_000)
        case _:
            transfers += draws.lognormal(11_000, 0.3, 40_000)
    asset = 0 if draws.chance(0.5) else draws.lognormal(900, 1.1, 60_000)
    if status == "SELF" and draws.chance(0.09):
        own = -draws.integer(1_000, 15_000)
        if draws.chance(0.35):
            wages = transfers = asset = 0
    unasked = status in ("EMP", "RET") and draws.chance(0.07)
    income = wages + own + transfers + (0 if unasked else asset)
    tax = _tax(income)
    return {
        "Wages": str(wages),
        "SelfEmp": str(own),
        "Property": None if unasked else str(asset),
        "Transfers": str(transfers),
        "Income": str(income),
        "Tax": str(tax),
        "NetIncome": str(income - tax + (draws.integer(-1, 1) if tax else 0)),
    }


def _tax(income: int) -> int:
    return max(0, round(0.24 * (min(income, 50_000) - 12_000) + 0.4 * max(0, income - 50_000)))


def _pay(draws: Draws, status: str) -> Record:
    if status != "EMP":
        return {"HourlyWage": None, "Hours": None, "WeeklyPay": None}
    hours = draws.choose({38: 0.35, 40: 0.25, 20: 0.1, 0: 0.3}) or draws.peaked(6, 64)
    wage = draws.lognormal(1_750, 0.4, 9_900)
    while not _pay_holds(wage, hours):
        wage += 1
    if draws.chance(0.05):
        return {"HourlyWage": "", "Hours": "", "WeeklyPay": cents(wage * hours)}
    return {"HourlyWage": cents(wage), "Hours": str(hours), "WeeklyPay": cents(wage * hours)}


def _pay_holds(wage: int, hours: int) -> bool:
    """Whether the product holds in doubles: the rule is an equality without tolerance."""
    texts = cents(wage), str(hours), cents(wage * hours)
    return all(factor * other == result for factor, other, result in readings(*texts))


def _housing(draws: Draws) -> Record:
    tenure = draws.choose({"OWN": 0.31, "MORT": 0.31, "RENT": 0.31, "FREE": 0.07})
    rent = draws.lognormal(72_000, 0.35, 400_000) if tenure == "RENT" else 0
    energy = draws.lognormal(13_000, 0.45, 90_000)
    unknown = tenure == "RENT" and draws.chance(0.09)
    return {
        "Tenure": tenure,
        "Rent": "-9" if unknown else cents(rent),
        "Energy": cents(energy),
        "Housing": "-9" if unknown else cents(rent + energy),
    }


def _spending(draws: Draws) -> Record:
    """Draw four variables of which at most one is missing, so that no pattern of missing values is rare."""
    gap = draws.uniform()
    return {
        "Food": cents(draws.lognormal(41_000, 0.4, 250_000)),
        "Transport": "" if gap < 0.05 else cents(draws.lognormal(19_000, 0.7, 250_000)),
        "Leisure": None if 0.05 <= gap < 0.09 else str(0 if draws.chance(0.2) else draws.lognormal(140, 0.8, 4_000)),
        "Savings": "-9"
        if 0.09 <= gap < 0.16
        else str(0 if draws.chance(0.3) else draws.lognormal(6_500, 1.3, 400_000)),
    }
