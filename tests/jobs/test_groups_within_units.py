"""Members that are alike others of their own unit only, counted by a judge without arrays."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import masktron
from masktron.jobs.concerns import units_behind

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Household">
<assert id="total" test="sum(Person/Wage) = Total">The total is the sum of wages.</assert>
</rule></pattern></schema>"""


@pytest.mark.parametrize("seed", range(6))
def test_units_behind_groups_are_those_that_counting_finds(seed: int) -> None:
    dice = random.Random(seed)
    n = dice.randint(1, 60)
    groups = [dice.randint(0, n // 4) for _ in range(n)]
    units = [dice.randint(0, dice.choice((1, n // 3))) for _ in range(n)]
    groups = [sorted(set(groups)).index(one) for one in groups]
    within, but_one = units_behind(np.array(groups), np.array(units))
    for at in range(n):
        own = Counter(unit for group, unit in zip(groups, units, strict=True) if group == groups[at])
        size, most = sum(own.values()), max(own.values())
        assert within[at] == (size > 1 and len(own) == 1)
        assert but_one[at] == (most == size - 1 and most > 1)


def survey(folder: Path, apart: int) -> tuple[Path, Path]:
    """Write 40 households of three persons, whose wages are near each other or as far as those of others."""
    dice, households = random.Random(5), []
    for at in range(40):
        base = dice.randint(5000, 90000)
        wages = [base + dice.randint(0, apart) for _ in range(3)]
        persons = "".join(f"<Person><Age>{dice.randint(20, 70)}</Age><Wage>{wage}</Wage></Person>" for wage in wages)
        households.append(f'<Household id="h{at}"><Total>{sum(wages)}</Total>{persons}</Household>')
    data, rules = folder / "survey.xml", folder / "rules.sch"
    data.write_text(f"<Survey>{''.join(households)}</Survey>", encoding="utf-8")
    rules.write_text(RULES, encoding="utf-8")
    return data, rules


def test_persons_who_are_alike_because_they_live_together_are_told(tmp_path: Path) -> None:
    data, rules = survey(tmp_path, 9)
    roles = {"@id": "identifier", "Age": "quasi-identifier"}
    settings = {"k": 3, "roles": roles, "numeric": ["Wage"], "secret": bytes(range(16, 48))}
    result = masktron.mask(data, rules, tmp_path / "r.xml", protect="Person", **settings)
    [concern] = [one for one in result.concerns if one.kind == "within-unit"]
    assert concern.records > 100
    assert concern.of == 120
    assert "of 120 Persons, " in concern.says
    assert "alike others of the same Household only" in concern.says
    whole = masktron.mask(data, rules, tmp_path / "w.xml", **settings)
    assert not [one for one in whole.concerns if one.kind == "within-unit"]


def test_persons_whose_likes_live_elsewhere_are_not_told(tmp_path: Path) -> None:
    data, rules = survey(tmp_path, 9)
    text = data.read_text(encoding="utf-8")
    head, *parts = text.split("<Wage>")
    data.write_text(
        head + "".join(f"<Wage>{100 * (at % 3)}{part[part.index('<') :]}" for at, part in enumerate(parts))
    )
    rules.write_text(RULES.replace("sum(Person/Wage) = Total", "not(Person/Wage &lt; 0)"), encoding="utf-8")
    roles = {"@id": "identifier", "Age": "quasi-identifier", "Total": "untouched"}
    result = masktron.mask(
        data,
        rules,
        tmp_path / "r.xml",
        k=3,
        roles=roles,
        numeric=["Wage"],
        protect="Person",
        secret=bytes(range(16, 48)),
    )
    assert not [one for one in result.concerns if one.kind == "within-unit"]
