"""Nested surveys every masked number of which is a string of digits that nothing else has, in XML and in tables."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron">
<pattern><rule context="Household">
<assert id="size" test="count(Person) = Size">The size is the number of persons.</assert>
<assert id="total" test="sum(Person/Income) = Total">The total is the sum of incomes.</assert>
<assert id="rent" test="not(Rent &lt; 0)">Rents are not negative.</assert>
</rule></pattern>
<pattern><rule context="Person">
<assert id="income" test="Wage + Benefit = Income">Income is the sum of its parts.</assert>
<assert id="sex" test="Sex = 'f' or Sex = 'm'">A known code.</assert>
</rule></pattern>
</schema>"""
ROLES = {"@id": "identifier", "Size": "untouched", "Sex": "quasi-identifier"}
HOUSEHOLD = ("@id", "Size", "Total", "Rent")
PERSON = ("Sex", "Wage", "Benefit", "Income")
FORMS = ("xml", "two", "one")
"""Nested elements; two tables that a key joins; one table with a row for each person."""


@dataclass(frozen=True, slots=True)
class SecretSurvey:
    """A survey in one form, with its rules and the lexemes that nobody may see."""

    data: Path
    rules: Path
    levels: Mapping[str, Any] | None
    secrets: frozenset[str]
    units: list[tuple[tuple[str, ...], list[tuple[str, ...]]]]


def secret_survey(folder: Path, form: str, seed: int = 1, households: int = 240) -> SecretSurvey:
    """Write households of one and two persons with numbers of eight and nine digits, none of them twice."""
    random = np.random.default_rng(seed)
    drawn = iter(random.choice(np.arange(10**7, 9 * 10**7), size=households * 5, replace=False).tolist())
    units = []
    for at in range(households):
        persons = []
        for _ in range(1 + at % 2):
            wage, benefit = next(drawn), next(drawn)
            persons.append(("fm"[int(random.integers(2))], str(wage), str(benefit), str(wage + benefit)))
        total = sum(int(one[3]) for one in persons)
        units.append(((f"h{at}", str(len(persons)), str(total), str(next(drawn))), persons))
    secrets = {value for own, _ in units for value in own[2:]}
    secrets |= {value for _, persons in units for one in persons for value in one[1:]}
    rules = folder / "rules.sch"
    rules.write_text(RULES, encoding="utf-8")
    data, levels = _written(folder, form, units)
    return SecretSurvey(data, rules, levels, frozenset(secrets), units)


def _written(folder: Path, form: str, units: list[Any]) -> tuple[Path, Mapping[str, Any] | None]:
    if form == "xml":
        texts = []
        for own, persons in units:
            cells = [_elements(HOUSEHOLD[1:], own[1:])]
            cells += [f"<Person>{_elements(PERSON, one)}</Person>" for one in persons]
            texts.append(f'<Household id="{own[0]}">{"".join(cells)}</Household>\n')
        data = folder / "secret.xml"
        data.write_text(f"<Survey>\n{''.join(texts)}</Survey>\n", encoding="utf-8")
        return data, None
    if form == "two":
        data, inner = folder / "secret.csv", folder / "secret-persons.csv"
        _table(data, HOUSEHOLD, [own for own, _ in units])
        _table(inner, ("HID", *PERSON), [(own[0], *one) for own, persons in units for one in persons])
        return data, {"Household": {"key": "@id"}, "Person": {"data": inner, "parent_key": "HID"}}
    data = folder / "secret-rows.csv"
    _table(data, (*HOUSEHOLD, *PERSON), [(*own, *one) for own, persons in units for one in persons])
    return data, {"Household": {"key": "@id", "fields": list(HOUSEHOLD)}, "Person": {"same_table": True}}


def _elements(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    return "".join(f"<{name}>{value}</{name}>" for name, value in zip(names, values, strict=True))


def _table(path: Path, names: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
