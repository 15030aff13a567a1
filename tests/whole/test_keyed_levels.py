"""Generated households with keys: no rule breaks, and k of households and of persons by a count of pandas."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from lxml import etree

import masktron
from masktron.errors import InfeasibleError
from nested_keys import HOUSEHOLD_KEYS, LEVELS, PERSON_KEYS, ROLES, RULES, Survey, made, read_tables, write_rules
from nested_tables import levels

ONE = {"Household": {"key": "HID", "fields": ["HID", "Region", "Size", "Total"]}, "Person": {"same_table": True}}
FIELDS = ["Role", "Sex", "Age", "Income"]
AGES = ("breaks:0,18,65", "breaks:0,10,20,40,60", "width:15", "round:10", "top:60:mean")
REGIONS = ("NNNSSSW", "N" * 20 + "SSW", "NSW", "NNNNNNNNNNNNNNW")


@dataclass(frozen=True)
class Pair:
    """A generated survey with rules and settings."""

    survey: Survey
    rules: Path
    settings: dict[str, Any]
    form: str


def pair(seed: int, folder: Path) -> Pair:
    """Make a survey, some rules, and treatments with or without suppression."""
    rng = random.Random(seed)
    survey = made(seed, rng.randint(40, 120), rng.choice(REGIONS))
    names = [name for rules in RULES.values() for name in rules if rng.random() < 0.7]
    rules = write_rules(folder / "rules.sch", *names, "total")
    settings: dict[str, Any] = {"k": 3, "rare_units": "exclude", "allow_lost": ("*",), "roles": dict(ROLES)}
    if rng.random() < 0.8:
        settings["recode"] = {"Age": rng.choice(AGES)}
        if rng.random() < 0.3:
            settings["recode"]["Size"] = "breaks:1,2"
    if rng.random() < 0.3:
        settings["pram"] = {"Sex": f"change:{rng.choice((0.05, 0.2))}"}
    if rng.random() < 0.3:
        settings["swap"] = {"regions": ["Region"], "similar": ["Size"], "rate": 0.1, "least_regions": 1}
    if rng.random() < 0.7 or not {"recode", "pram", "swap"} & settings.keys():
        settings["key_k"] = rng.choice((2, 3, 5))
    if rng.random() < 0.2:  # a household whose total is wrong
        survey.households.loc[3, "Total"] = "7"
        settings["invalid"] = "exclude"
    return Pair(survey, rules, settings, rng.choice(("xml", "two", "one")))


def released_by(one: Pair, folder: Path) -> tuple[Survey, masktron.MaskResult]:
    """Mask the survey in one of its forms, check the release, and return it."""
    out = folder / ("out.xml" if one.form == "xml" else "out.csv")
    said: dict[str, Any] = {}
    own = {"HID": "identifier", "PID": "untouched"}
    match one.form:
        case "xml":
            data, own = one.survey.write_xml(folder / "survey.xml"), {"@id": "identifier"}
        case "two":
            data, said = one.survey.write_tables(folder), {"levels": levels(LEVELS, folder)}
        case _:
            data, said = folder / "flat.csv", {"levels": ONE}
            one.survey.joined.to_csv(data, index=False)
    settings = {**one.settings, "roles": {**one.settings["roles"], **own}}
    result = masktron.mask(data, one.rules, out, **said, **settings)
    found = masktron.check(out, one.rules, original=data, manifest=folder / "out.manifest.json")
    assert found.complies, found.problems
    return _read(one.form, out), result


def _read(form: str, out: Path) -> Survey:
    match form:
        case "xml":
            return _of_xml(out)
        case "two":
            return read_tables(out, out.with_name("out.Person.csv"))
        case _:
            joined = pd.read_csv(out, dtype=str, keep_default_na=False)
            return Survey(joined.drop_duplicates("HID")[[*ONE["Household"]["fields"]]], joined[["HID", *FIELDS]])


def _of_xml(path: Path) -> Survey:
    units, members = [], []
    for number, unit in enumerate(etree.parse(path).getroot()):
        own = {name: unit.findtext(name) or "" for name in ("Region", "Size", "Total")}
        units.append({"HID": str(number), **own})
        for person in unit.findall("Person"):
            fields = {name: person.findtext(name) or "" for name in ("Role", "Sex", "Age", "Income")}
            members.append({"HID": str(number), **fields})
    return Survey(pd.DataFrame(units), pd.DataFrame(members))


def masked_of(seeds: range, folder: Path) -> int:
    """Mask pairs, and return how many were not refused."""
    done = 0
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        one = pair(seed, place)
        try:
            released, result = released_by(one, place)
        except InfeasibleError:
            assert not (place / "out.csv").exists(), seed
            assert not (place / "out.xml").exists(), seed
            continue
        done += 1
        assert result.violations == 0, seed
        assert (released.persons.groupby("HID").size().to_numpy() > 0).all(), seed
        k = one.settings.get("key_k")
        if k is not None:
            assert released.smallest(HOUSEHOLD_KEYS, persons=False) >= k, seed
            assert released.smallest([*PERSON_KEYS, *HOUSEHOLD_KEYS], persons=True) >= k, seed
    return done


def test_generated_households_keep_rules_and_k(tmp_path: Path) -> None:
    assert masked_of(range(6), tmp_path) >= 4


@pytest.mark.full
def test_a_hundred_generated_files_keep_rules_and_k(tmp_path: Path) -> None:
    assert masked_of(range(100), tmp_path) >= 70
