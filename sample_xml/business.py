"""The business survey: a namespace, the key as an attribute, quarters, costs, losses, dormant enterprises."""

from __future__ import annotations

from draws import Draws, cents, readings
from names import LAST, LEGAL, TRADE
from survey import Record, Shape

SHAPE = Shape("BusinessSurvey", "Enterprise", "b", "urn:example:business-survey")
FIRST_ID = 500_011
NACE = {
    "C": ("10.71", "16.10", "25.62"),
    "F": ("41.20", "43.91"),
    "G": ("46.73", "47.11", "47.76"),
    "H": ("49.41", "52.29"),
    "I": ("55.10", "56.10"),
    "J": ("58.29", "62.01"),
}
SECTORS = {
    "LTD": {"C": 0.26, "F": 0.16, "G": 0.28, "H": 0.10, "I": 0.10, "J": 0.10},
    "PART": {"C": 0.25, "F": 0.20, "G": 0.30, "I": 0.15, "J": 0.10},
    "SOLE": {"C": 0.24, "F": 0.22, "G": 0.36, "I": 0.18},
}


def business(draws: Draws, serial: int) -> Record:
    """Draw one enterprise that obeys rules/business.sch."""
    form = draws.choose({"LTD": 0.58, "PART": 0.16, "SOLE": 0.26})
    sector = draws.choose(SECTORS[form])
    full, part = _staff(draws, form)
    return {
        "@id": str(FIRST_ID + 11 * serial),
        "Name": f"{draws.pick(LAST)} {draws.pick(TRADE[sector])} {LEGAL[form]}".strip(),
        "Region": draws.choose({"NO": 0.2, "EA": 0.2, "SO": 0.25, "WE": 0.2, "CE": 0.15}),
        "Sector": sector,
        "Nace": draws.pick(NACE[sector]),
        "Form": form,
        "Weight": f"{draws.lognormal(4200, 0.6, 40000) / 1000:.3f}",
        "Founded": str(2023 - draws.lognormal(14, 0.8, 120)),
        "VatRate": draws.choose({"20": 0.68, "10": 0.17, "5": 0.09, "0": 0.06}),
        "FullTime": str(full),
        "PartTime": str(part),
        "Staff": str(full + part),
        **_accounts(draws, sector, full, part),
        **_main_product(draws),
        **_energy(draws, full + part),
        **_plans(draws),
    }


def _staff(draws: Draws, form: str) -> tuple[int, int]:
    match form:
        case "SOLE":
            employees = draws.choose({0: 0.45, 1: 0.2, 2: 0.13, 3: 0.1, 4: 0.07, 6: 0.03, 9: 0.02})
        case "PART":
            employees = draws.integer(1, 18)
        case _:
            employees = 1 + draws.lognormal(11, 1.1, 900)
    full = round(employees * draws.uniform(0.4, 1.0))
    return full, employees - full


def _accounts(draws: Draws, sector: str, full: int, part: int) -> Record:
    dormant = draws.chance(0.004)
    turnover = 0 if dormant else (1 + full + part) * draws.lognormal(78_000, 0.4, 400_000)
    quarters = _quarters(draws, turnover)
    no_purchases = dormant or (sector in ("H", "J") and draws.chance(0.35))
    purchases = 0 if no_purchases else round(turnover * draws.uniform(0.2, 0.55))
    pay = draws.lognormal(25_000, 0.2, 60_000)
    wages = full * pay + part * round(0.4 * pay)
    social = round(wages * draws.uniform(0.18, 0.34))
    other = draws.integer(500, 4_000) if dormant else round(turnover * draws.uniform(0.22, 0.4))
    costs = purchases + wages + social + other
    return {
        **{f"Q{i}": str(quarter) for i, quarter in enumerate(quarters, 1)},
        "Turnover": str(turnover),
        "Purchases": str(purchases),
        "Wages": str(wages),
        "Social": str(social),
        "Other": str(other),
        "Costs": str(costs),
        "Profit": str(turnover - costs + draws.integer(-1, 1)),
    }


def _quarters(draws: Draws, turnover: int) -> tuple[int, int, int, int]:
    shares = [draws.uniform(0.7, 1.3) for _ in range(4)]
    first, second, third = (round(turnover * share / sum(shares)) for share in shares[:3])
    return first, second, third, turnover - first - second - third


def _main_product(draws: Draws) -> Record:
    price = draws.lognormal(2_600, 0.9, 90_000)
    quantity = draws.lognormal(900, 1.0, 40_000)
    while not all(p * q == s for p, q, s in readings(cents(price), str(quantity), cents(price * quantity))):
        price += 1
    return {"Price": cents(price), "Quantity": str(quantity), "Sales": cents(price * quantity)}


def _energy(draws: Draws, employees: int) -> Record:
    power = (2 + employees) * draws.lognormal(52_000, 0.6, 900_000)
    fuels = 0 if draws.chance(0.2) else (1 + employees) * draws.lognormal(21_000, 0.8, 600_000)
    while not all(p + f == e for p, f, e in readings(cents(power), cents(fuels), cents(power + fuels))):
        power += 1
    unknown = draws.chance(0.03)
    return {
        "Power": cents(power),
        "Fuels": "" if unknown else cents(fuels),
        "Energy": "" if unknown else cents(power + fuels),
    }


def _plans(draws: Draws) -> Record:
    """Draw three variables of which at most one is missing, so that no pattern of missing values is rare."""
    gap = draws.uniform()
    change = draws.lognormal(4_000, 1.2, 300_000)
    invested = 0 if draws.chance(0.3) else draws.lognormal(1_400_000, 1.3, 90_000_000)
    research = 0 if draws.chance(0.75) else draws.lognormal(9_000, 1.0, 500_000)
    return {
        "Capex": "-9" if gap < 0.06 else cents(invested),
        "Research": None if 0.06 <= gap < 0.17 else str(research),
        "Stocks": str(-change if draws.chance(0.45) else change),
    }
