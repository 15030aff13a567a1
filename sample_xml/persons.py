"""The household survey with persons: records in records, roles in a household, incomes that add up over levels."""

from __future__ import annotations

from draws import Draws, cents
from names import FIRST, LAST
from survey import Record, Shape, Unit

SHAPE = Shape("PersonSurvey", "Household", member="Person")
FIRST_ID = 300_017
_TIMES = {1: 42, 2: 62, 3: 50, 4: 46}
_SIZES = tuple(size for size, times in _TIMES.items() for _ in range(times))
_STRIDE = 73
"""Has no divisor in common with the number of sizes: of each 200 households, as many have a size as `_TIMES` says."""
_AGES = {"EMP": (18, 66), "SELF": (22, 70), "RET": (56, 94), "UNEMP": (18, 63)}


def persons(draws: Draws, serial: int) -> Unit:
    """Draw one household that obeys rules/persons.sch; of each 200 the persons are 500."""
    roles = _roles(draws, _SIZES[serial * _STRIDE % len(_SIZES)])
    alone, of_two = len(roles) == 1, "partner" in roles and "other" not in roles
    members: list[Record] = []
    for number, role in enumerate(roles, 1):
        members.append(_person(draws, str(number), role, members, 0.12 if alone or of_two else 0.0))
    children = roles.count("child")
    own = {
        "@id": str(FIRST_ID + 9 * serial),
        "Region": draws.choose({"NO": 0.18, "EA": 0.21, "SO": 0.24, "WE": 0.22, "CE": 0.15}),
        "Weight": f"{draws.lognormal(9500, 0.35, 60000) / 1000:.3f}",
        "Size": str(len(roles)),
        "Children": str(children),
        "Earners": str(sum(member["Status"] in ("EMP", "SELF") for member in members)),
        **_budget(draws, members, 2_400 * children),
        **_housing(draws),
        "Savings": "-9" if draws.chance(0.08) else str(draws.lognormal(6_500, 1.3, 400_000)),
    }
    return Unit(own, tuple(members))


def _roles(draws: Draws, size: int) -> list[str]:
    """Draw who lives in a household: a head, then a partner, then children; others last."""
    if size == 1:
        return ["head"]
    if size == 2:
        return ["head", draws.choose({"partner": 0.74, "child": 0.16, "other": 0.10})]
    partner = ["partner"] if size > 3 or draws.chance(0.85) else []
    others = ["other"] if size == 3 and partner and draws.chance(0.14) else []
    children = ["child"] * (size - 1 - len(partner) - len(others))
    return ["head", *partner, *children, *others]


def _person(draws: Draws, number: str, role: str, members: list[Record], own: float) -> Record:
    """Draw a person, given those before in the household, and how many work on their own account."""
    status, age = _life(draws, role, members, own)
    same = members and role != "other"
    return {
        "@no": number,
        "Name": f"{draws.pick(FIRST)} {str(members[0]['Name']).rpartition(' ')[2] if same else draws.pick(LAST)}",
        "Role": role,
        "Sex": draws.pick(("f", "m")),
        "Age": str(age),
        "Status": status,
        **_incomes(draws, status),
        "Hours": _hours(draws) if status == "EMP" else None,
    }


def _life(draws: Draws, role: str, members: list[Record], own: float) -> tuple[str, int]:
    """Draw the status and the age of a person; children are 16 years younger than the head at least."""
    head = members[0] if members else None
    if head is None:
        status = draws.choose({"EMP": 0.70 - own, "RET": 0.20, "SELF": own, "UNEMP": 0.10})
        return status, draws.peaked(*_AGES[status])
    age_of_head = int(head["Age"] or 0)
    match role:
        case "child":
            age = draws.peaked(min(24, max(0, age_of_head - 42)), min(24, age_of_head - 16))
            return ("STUD" if age >= 6 else "NONE"), age
        case "partner":
            age = min(94, max(18, age_of_head + draws.peaked(-9, 9)))
            if age >= 62:
                return "RET", age
            own = 0.0 if head["Status"] == "SELF" else own
            return draws.choose({"EMP": 0.82 - own, "SELF": own, "UNEMP": 0.18}), age
        case _:
            status = draws.choose({"RET": 0.6, "EMP": 0.4})
            return status, draws.peaked(*_AGES[status])


def _incomes(draws: Draws, status: str) -> Record:
    """Draw what a person has; who goes to school, or is too young to, has nothing."""
    wages = own = benefits = 0
    match status:
        case "EMP":
            wages = draws.lognormal(29_000, 0.5, 180_000)
        case "SELF":
            own = -draws.integer(500, 9_000) if draws.chance(0.07) else draws.lognormal(17_000, 0.9, 190_000)
        case "RET":
            benefits = draws.lognormal(19_000, 0.35, 70_000)
        case "UNEMP":
            benefits = draws.lognormal(10_000, 0.3, 40_000)
    return {
        "Wages": str(wages),
        "SelfEmp": str(own),
        "Benefits": str(benefits),
        "Income": str(wages + own + benefits),
    }


def _hours(draws: Draws) -> str:
    hours = draws.choose({38: 0.4, 40: 0.3, 30: 0.15, 20: 0.15})
    return "" if draws.chance(0.04) else str(hours)


def _budget(draws: Draws, members: list[Record], allowance: int) -> Record:
    total = allowance + sum(int(member["Income"] or 0) for member in members)
    tax = max(0, round(0.22 * (total - 12_000)))
    return {
        "Allowance": str(allowance),
        "Total": str(total),
        "Tax": str(tax),
        "NetIncome": str(total - tax + (draws.integer(-1, 1) if tax else 0)),
    }


def _housing(draws: Draws) -> Record:
    tenure = draws.choose({"OWN": 0.58, "RENT": 0.42})
    rent = draws.lognormal(72_000, 0.35, 400_000) if tenure == "RENT" else 0
    energy = draws.lognormal(13_000, 0.45, 90_000)
    unknown = tenure == "RENT" and draws.chance(0.09)
    return {
        "Tenure": tenure,
        "Rent": "-9" if unknown else cents(rent),
        "Energy": cents(energy),
        "Housing": "-9" if unknown else cents(rent + energy),
    }
