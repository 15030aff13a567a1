"""A made nested survey as tables, households and persons apart or on one row; and what was made of them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from nested_survey import parsed

HOUSEHOLD = ("@id", "Size", "Region", "Total")
PERSON = ("Role", "Age", "Wage", "Benefit", "Income")
type Unit = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Cells of a household behind its number, and those of each of its persons; empty where there is none."""
TWO: Mapping[str, Any] = {
    "Household": {"key": "@id"},
    "Person": {"data": "persons.csv", "parent": "Household", "parent_key": "HID"},
}
ONE: Mapping[str, Any] = {
    "Household": {"key": "@id", "fields": list(HOUSEHOLD)},
    "Person": {"same_table": True},
}


def tables_of(survey: Path, folder: Path) -> tuple[Path, Path, Path]:
    """Write households, persons, and both on the rows of persons; return the three files."""
    households, persons, flat = (folder / f"{name}.csv" for name in ("households", "persons", "flat"))
    units = [_unit(unit) for unit in parsed(survey)]
    _write(households, HOUSEHOLD, [own for own, _ in units])
    _write(persons, ("HID", *PERSON), [(own[0], *one) for own, members in units for one in members])
    _write(flat, (*HOUSEHOLD, *PERSON), [(*own, *one) for own, members in units for one in members])
    return households, persons, flat


def _unit(unit: etree._Element) -> Unit:
    own = (unit.get("id") or "", *(unit.findtext(name) or "" for name in HOUSEHOLD[1:]))
    return own, [tuple(one.findtext(name) or "" for name in PERSON) for one in unit.findall("Person")]


def _write(path: Path, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def levels(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return levels whose tables lie in a folder."""
    return {
        name: {**one, **({"data": folder / one["data"]} if "data" in one else {})} for name, one in settings.items()
    }


def units_of_xml(path: Path) -> list[Unit]:
    """Return the households of a nested file."""
    return [_unit(unit) for unit in parsed(path)]


def units_of_two(households: Path, persons: Path) -> list[Unit]:
    """Return the households of two tables, with the persons that their numbers name."""
    with households.open(newline="", encoding="utf-8") as file:
        found = {row["@id"]: (tuple(row[name] for name in HOUSEHOLD), []) for row in csv.DictReader(file)}
    with persons.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[row["HID"]][1].append(tuple(row[name] for name in PERSON))
    return list(found.values())


def units_of_one(flat: Path) -> list[Unit]:
    """Return the households of one table, whose rows stand together."""
    found: list[Unit] = []
    with flat.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            own = tuple(row[name] for name in HOUSEHOLD)
            if not found or found[-1][0] != own:
                found.append((own, []))
            found[-1][1].append(tuple(row[name] for name in PERSON))
    return found
