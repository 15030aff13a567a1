"""Made households with persons in XML and in tables, with keys of both, and rules on and across the levels."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

LEVELS: dict[str, Any] = {
    "Household": {"key": "HID"},
    "Person": {"data": "persons.csv", "parent": "Household", "parent_key": "HID"},
}
ROLES = {
    "Income": "confidential", "Total": "confidential", "Region": "quasi-identifier", "Size": "quasi-identifier",
    "Role": "untouched", "Sex": "quasi-identifier", "Age": "quasi-identifier",
}  # fmt: skip
HOUSEHOLD_KEYS, PERSON_KEYS = ["Region", "Size"], ["Age", "Sex"]
RULES = {
    "Household": {
        "size": "count(Person) = Size",
        "total": "sum(Person/Income) = Total",
        "one-head": "count(Person[Role = 'head']) = 1",
        "old-child": "not(Person[Role = 'child' and Age > 17])",
        "region": "not(Region) or Region = 'N' or Region = 'S' or Region = 'W'",
    },
    "Person": {
        "age": "not(Age) or Age >= 0 and Age <= 110",
        "child-income": "not(Age) or Age >= 15 or Income = 0",
        "alone": "../Size > 1 or not(Age) or Age >= 18",
        "head-age": "Role != 'head' or not(Age) or Age >= 18",
        "income": "Income >= 0",
        "far": "not(../Region = 'W') or not(Age) or Age <= 90",
    },
}


@dataclass(frozen=True)
class Survey:
    """Households with persons, as two tables.

    Attributes
    ----------
    households, persons : DataFrame of str
    """

    households: pd.DataFrame
    persons: pd.DataFrame

    @property
    def joined(self) -> pd.DataFrame:
        """The persons with the fields of their household."""
        return self.persons.merge(self.households, on="HID")

    def smallest(self, keys: list[str], *, persons: bool) -> int:
        """Count the records that share a combination of keys, at least, where a missing value is one of its own."""
        table = self.joined if persons else self.households
        return int(table.groupby(keys).size().min())

    def write_tables(self, folder: Path) -> Path:
        """Write both tables, and return that of the households."""
        self.households.to_csv(folder / "households.csv", index=False)
        self.persons.to_csv(folder / "persons.csv", index=False)
        return folder / "households.csv"

    def write_xml(self, path: Path) -> Path:
        """Write the nested document; an empty text is no element."""
        inside = {str(key): own for key, own in self.persons.groupby("HID")}
        lines = ["<Survey>"]
        for household in self.households.to_dict("records"):
            lines.append(f'<Household id="{household["HID"]}">{_elements(household, ("Region", "Size", "Total"))}')
            people = (
                _elements(person, ("Role", "Sex", "Age", "Income"))
                for person in inside[household["HID"]].to_dict("records")
            )
            lines += [*(f"<Person>{person}</Person>" for person in people), "</Household>"]
        path.write_text("\n".join([*lines, "</Survey>"]), encoding="utf-8")
        return path


def _elements(record: dict[Any, Any], names: tuple[str, ...]) -> str:
    return "".join(f"<{name}>{record[name]}</{name}>" for name in names if record[name] != "")


def read_tables(households: Path, persons: Path) -> Survey:
    """Read tables as texts."""
    return Survey(*(pd.read_csv(path, dtype=str, keep_default_na=False) for path in (households, persons)))


def made(seed: int, households: int, regions: str = "NNNSSSW") -> Survey:
    """Make a survey that obeys all `RULES`."""
    rng = random.Random(seed)
    units, members = [], []
    for number in range(1, households + 1):
        size = rng.choice((1, 1, 2, 2, 3))
        own = [_person(rng, at, size) for at in range(size)]
        members += [{"HID": str(number), "PID": str(at + 1), **person} for at, person in enumerate(own)]
        total = sum(int(person["Income"]) for person in own)
        units.append({"HID": str(number), "Region": rng.choice(regions), "Size": str(size), "Total": str(total)})
    return Survey(pd.DataFrame(units), pd.DataFrame(members))


def _person(rng: random.Random, at: int, size: int) -> dict[str, str]:
    role = ("head", "spouse", "child")[at]
    age = rng.randint(0, 17) if role == "child" else rng.randint(18, 85)
    income = 0 if age < 15 else rng.randint(1000, 5000)
    return {"Role": role, "Sex": rng.choice("mf"), "Age": str(age), "Income": str(income)}


def write_rules(path: Path, *names: str) -> Path:
    """Write the rules that are named, all by default."""
    patterns = []
    for context, rules in RULES.items():
        own = {name: test for name, test in rules.items() if not names or name in names}
        tests = "".join(
            f'<assert id="{name}" test="{test.replace("<", "&lt;").replace(">", "&gt;")}">{name}</assert>'
            for name, test in own.items()
        )
        patterns.append(f'<pattern><rule context="{context}">{tests}</rule></pattern>' if own else "")
    text = f'<schema xmlns="http://purl.oclc.org/dsdl/schematron">{"".join(patterns)}</schema>'
    path.write_text(text, encoding="utf-8")
    return path
