"""A survey of households as agencies have it: keys, numbers, a household number and a weight, and rules on them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

RECORDS = 4580
"""As many as `testdata` of sdcMicro has."""
FIELDS = (
    *(
        "urbrur",
        "roof",
        "walls",
        "water",
        "electcon",
        "relat",
        "sex",
        "age",
        "hhcivil",
        "expend",
        "income",
        "savings",
    ),
    *("ori_hid", "sampling_weight"),
)
HEAD, SPOUSE, CHILD = 1, 2, 3
"""Codes of `relat`."""
NEVER, MARRIED, WIDOWED = 1, 2, 4
"""Codes of `hhcivil`."""
ROLES = {"sampling_weight": "weight", "ori_hid": "identifier"}
CHECKS = (
    ("urbrur-code", "urbrur = 1 or urbrur = 2", "urban or rural"),
    ("sex-code", "sex = 1 or sex = 2", "one of the codes of sex"),
    ("relat-code", "relat >= 1 and relat <= 9", "one of the codes of relat"),
    ("age-range", "age >= 0 and age <= 95", "age from 0 to 95"),
    ("head-age", "relat != 1 or age >= 15", "whoever heads a household is at least 15"),
    ("child-civil", "age >= 15 or hhcivil = 1", "a child is not married"),
    ("spouse-civil", "relat != 2 or hhcivil = 2", "a spouse is married"),
    ("income-positive", "income >= 0", "no income is below 0"),
    ("expend-positive", "expend >= 0", "no expenditure is below 0"),
    ("savings-positive", "savings >= 0", "no savings are below 0"),
    ("savings-income", "savings <= 10 * income", "savings are at most ten times the income"),
    ("child-income", "age >= 15 or income = 0", "a child has no income"),
)
"""Id, condition and message of each rule."""


def survey_rows(records: int = RECORDS, seed: int = 1) -> list[dict[str, int]]:
    """Return records of households: the members of one stand together and share house, number and weight."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, int]] = []
    household = 0
    while len(rows) < records:
        household += 1
        urban = int(rng.choice([1, 2], p=[0.15, 0.85]))
        shared = {
            "urbrur": urban,
            "roof": int(rng.choice([2, 4, 5, 6, 9], p=[0.3, 0.55, 0.05, 0.05, 0.05])),
            "walls": int(rng.choice([2, 3, 9], p=[0.1, 0.86, 0.04])),
            "water": int(rng.choice(np.arange(1, 10), p=[0.1, 0.2, 0.35, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05])),
            "electcon": int(rng.choice([1, 2, 3], p=[0.6, 0.35, 0.05])),
            "ori_hid": household,
            "sampling_weight": int(rng.choice([100, 250, 500])),
        }
        rows.extend(shared | _member(rng, at) for at in range(1 + int(rng.poisson(3.2))))
    return [{name: row[name] for name in FIELDS} for row in rows[:records]]


def _member(rng: np.random.Generator, at: int) -> dict[str, int]:
    """Draw one member of a household: the head, the spouse, then children and others."""
    relat = (HEAD, SPOUSE)[at] if at < 2 else int(rng.choice(np.arange(3, 10), p=[0.7, *[0.05] * 6]))
    adult = relat in (HEAD, SPOUSE)
    age = int(np.clip(rng.normal(42, 14), 16, 95)) if adult else int(np.clip(rng.gamma(1.6, 10), 0, 95))
    if relat == SPOUSE:
        civil = MARRIED
    elif age < 15:
        civil = NEVER
    else:
        civil = int(rng.choice([NEVER, MARRIED, 3, WIDOWED], p=[0.45, 0.4, 0.05, 0.1]))
    income = 0 if age < 15 else int(rng.lognormal(16.5, 0.9))
    return {
        "relat": relat,
        "sex": int(rng.integers(1, 3)),
        "age": age,
        "hhcivil": civil,
        "expend": int(rng.lognormal(16.8, 0.8)),
        "income": income,
        "savings": min(int(rng.lognormal(13.5, 1.2)), 10 * income),
    }


def write_survey(path: Path, records: int = RECORDS, seed: int = 1) -> Path:
    """Write the survey as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(survey_rows(records, seed))
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def write_rulebook(path: Path) -> Path:
    """Write the rules on the survey."""
    checks = "\n".join(
        f'      <sch:assert id="{one}" test="{escape(test)}">{said}</sch:assert>' for one, test, said in CHECKS
    )
    path.write_text(
        '<sch:schema xmlns:sch="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt">\n'
        f'  <sch:pattern>\n    <sch:rule context="record">\n{checks}\n    </sch:rule>\n  </sch:pattern>\n'
        "</sch:schema>\n",
        encoding="utf-8",
    )
    return path
