"""A survey of households with their persons, made like EU-SILC; it obeys reproduction/nested_survey/survey.sch."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NESTED_SETTINGS: Final = Path(__file__).parent / "nested_survey"
"""Rules and settings."""
PERSONS: Final = 100_000
_SEED: Final = 23
_KINDS: Final = ("single", "couple", "parent", "family", "old single", "old couple", "shared")
_SHARES: Final = (22, 18, 7, 30, 10, 9, 4)
_REGIONS: Final = ("North", "South", "East", "West", "Capital")


@dataclass(slots=True)
class _Person:
    """A person, with income in whole currency units a year."""

    role: str
    age: int
    sex: int
    parent: int = 0
    status: str = "child"
    education: int = 0
    wage: int = 0
    self_employed: int = 0
    unemployment: int = 0
    pension: int = 0

    @property
    def income(self) -> int:
        return self.wage + self.self_employed + self.unemployment + self.pension


def write_households(path: Path, persons: int = PERSONS, seed: int = _SEED) -> Path:
    """Write a survey of at least so many persons.

    Parameters
    ----------
    path : Path
    persons, seed : int
    """
    dice = random.Random(seed)  # noqa: S311 - a made survey
    written = at = 0
    with path.open("w", encoding="utf-8") as out:
        out.write("<Survey>\n")
        while written < persons:
            at += 1
            members = _members(dice)
            written += len(members)
            out.write(_household(dice, at, members))
        out.write("</Survey>\n")
    return path


def _members(dice: random.Random) -> list[_Person]:
    (kind,) = dice.choices(_KINDS, _SHARES)
    old = kind.startswith("old")
    head = _Person("head", dice.randint(66, 92) if old else dice.randint(22, 65), dice.choice((1, 2)))
    members = [head]
    if kind in ("couple", "family", "old couple"):
        age = min(max(head.age + dice.randint(-6, 6), 20), 95)
        members.append(_Person("partner", age, 3 - head.sex))
    if kind in ("parent", "family"):
        (children,) = dice.choices((1, 2, 3, 4), (45, 40, 12, 3))
        youngest = min(one.age for one in members)
        for _ in range(children):
            age = dice.randint(0, max(min(youngest - 16, 24), 1)) if youngest > 16 else 0
            members.append(_Person("child", age, dice.choice((1, 2)), parent=1))
    if kind == "shared":
        members += [
            _Person("other", dice.randint(18, 40), dice.choice((1, 2))) for _ in range(dice.choice((1, 1, 2)))
        ]
    for one in members:
        _work(dice, one)
    return members


def _work(dice: random.Random, one: _Person) -> None:
    """Give a person what it lives on."""
    if one.age < 16:
        return
    one.education = 1 + min(dice.choices((0, 1, 2, 3), (15, 45, 30, 10))[0], 0 if one.age < 18 else 3)
    if one.age >= 66:
        one.status = "retired"
    elif one.age < 25 and dice.random() < 0.6:
        one.status = "student"
    else:
        (one.status,) = dice.choices(("employed", "self-employed", "unemployed", "home"), (72, 10, 8, 10))
    level = (0.6, 0.8, 1.0, 1.5, 2.0)[one.education]
    if one.status == "employed":
        one.wage = _amount(dice, 24_000 * level)
    elif one.status == "self-employed":
        one.self_employed = _amount(dice, 20_000 * level)
    elif one.status == "unemployed":
        one.unemployment = _amount(dice, 9_000)
    elif one.status == "retired":
        one.pension = _amount(dice, 14_000 * level)
    elif one.status == "student" and dice.random() < 0.4:
        one.wage = _amount(dice, 4_000)


def _amount(dice: random.Random, median: float) -> int:
    """Draw of the logistic distribution on the scale of logarithms."""
    u = min(max(dice.random(), 0.0005), 0.9995)
    return max(round(median * (u / (1 - u)) ** 0.3), 1)


def _household(dice: random.Random, at: int, members: list[_Person]) -> str:
    tenure = dice.choices(("own", "rent"), (65, 35))[0]
    minors = sum(one.age < 18 for one in members)
    family = 1_200 * minors + dice.randint(0, 400) if minors and dice.random() < 0.9 else 0
    earned = sum(one.income for one in members)
    housing = _amount(dice, 1_500) if tenure == "rent" and earned < 20_000 else 0
    gross = earned + family + housing
    tax = round(earned * min(0.08 + earned / 400_000, 0.4))
    tenths = 10 + sum(5 if one.age >= 14 else 3 for one in members[1:])
    weight = dice.choice((180, 205, 240, 260, 310))
    fields = {
        "Region": dice.choices(_REGIONS, (25, 20, 20, 20, 15))[0],
        "Tenure": tenure,
        "Weight": weight,
        "Size": len(members),
        "FamilyAllowance": family,
        "HousingAllowance": housing,
        "Gross": gross,
        "Tax": tax,
        "Disposable": gross - tax,
        "EquivalentSize": f"{tenths // 10}.{tenths % 10}",
        "Equivalised": (2 * 10 * (gross - tax) + tenths) // (2 * tenths),
    }
    own = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
    persons = "".join(_person(number, one) for number, one in enumerate(members, start=1))
    return f'<Household id="{at}">{own}{persons}</Household>\n'


def _person(number: int, one: _Person) -> str:
    fields = {
        "Role": one.role,
        "Age": one.age,
        "Sex": one.sex,
        "Parent": one.parent or None,
        "Education": one.education or None,
        "Status": one.status,
        "Wage": one.wage,
        "SelfEmployment": one.self_employed,
        "Unemployment": one.unemployment,
        "Pension": one.pension,
        "Income": one.income,
    }
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items() if value is not None)
    return f'<Person n="{number}">{inner}</Person>'
