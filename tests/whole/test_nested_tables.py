"""Households and persons in tables: what nested XML gives, cell by cell; files that appear together or not at all."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import masktron
from masktron.write import atomic
from nested_survey import ROLES, made
from nested_tables import ONE, TWO, Unit, levels, tables_of, units_of_one, units_of_two, units_of_xml
from refusals import refused

SETTINGS: dict[str, Any] = {
    "k": 3, "secret": bytes(range(16, 48)), "rare_units": "exclude", "max_observed_share": 100,
}  # fmt: skip


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("survey")
    data, _ = made(folder, 1, gaps=0.1)
    tables_of(data, folder)
    return folder


def mask(folder: Path, data: str, out: Path, said: Any = None, **others: Any) -> masktron.MaskResult:
    more = {} if said is None else {"levels": levels(said, folder)}
    return masktron.mask(folder / data, folder / "rules.sch", out, **{"roles": ROLES, **SETTINGS, **more, **others})


def plain(units: list[Unit]) -> list[Any]:
    """Return households without their numbers, in no order."""
    return sorted((own[1:], members) for own, members in units)


@pytest.mark.few(1)
@pytest.mark.parametrize("role", ["record-id", "identifier"])
def test_three_ways_to_write_one_survey_give_the_same(survey: Path, tmp_path: Path, role: str) -> None:
    roles = {"roles": {**ROLES, "@id": role}}
    results = [
        mask(survey, "survey.xml", tmp_path / "a.xml", **roles),
        mask(survey, "households.csv", tmp_path / "b.csv", TWO, **roles),
        mask(survey, "flat.csv", tmp_path / "c.csv", ONE, **roles),
    ]
    assert results[1].tables == {"Person": str(tmp_path / "b.Person.csv")}
    nested = units_of_xml(tmp_path / "a.xml")
    two = units_of_two(tmp_path / "b.csv", tmp_path / "b.Person.csv")
    one = units_of_one(tmp_path / "c.csv")
    if role == "record-id":
        assert nested == two == one
        assert len({own[0] for own, _ in nested}) == len(nested)
    else:
        assert plain(nested) == plain(two) == plain(one)
        for units in (two, one):  # numbers of the release, in its order: they tell nothing
            assert [own[0] for own, _ in units] == [str(at + 1) for at in range(len(units))]
    answers = [[(rule.id, rule.fired, rule.failed) for rule in result.rules] for result in results]
    assert answers[0] == answers[1] == answers[2]
    engines = [[(one.engine, one.records, one.violations, one.agrees) for one in found.engines] for found in results]
    assert engines[0] == engines[1] == engines[2]
    assert len(engines[0]) >= 2
    assert all(agrees for *_, agrees in engines[0])
    figures = [[(figure.name, figure.value) for figure in result.figures] for result in results]
    assert figures[0] == figures[1] == figures[2]
    for out, before, said in (("b.csv", "households.csv", TWO), ("c.csv", "flat.csv", ONE)):
        manifest = tmp_path / f"{out[0]}.manifest.json"
        checked = masktron.check(tmp_path / out, survey / "rules.sch", manifest=manifest, original=survey / before)
        assert list(checked.problems) == [], said
        assert checked.min_group is not None
        assert checked.min_group >= 3
        assert "unmasked fields cell by cell" in " ".join(checked.checked)


@pytest.mark.full
def test_rows_of_a_household_need_not_stand_together(survey: Path, tmp_path: Path) -> None:
    head, *rows = (survey / "flat.csv").read_text(encoding="utf-8").splitlines()
    random.Random(3).shuffle(rows)
    (tmp_path / "flat.csv").write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    (tmp_path / "rules.sch").write_bytes((survey / "rules.sch").read_bytes())
    result = mask(tmp_path, "flat.csv", tmp_path / "c.csv", ONE)
    assert len(units_of_one(tmp_path / "c.csv")) == result.records_out


def test_a_released_table_that_was_changed_does_not_comply(survey: Path, tmp_path: Path) -> None:
    mask(survey, "households.csv", tmp_path / "b.csv", TWO)
    persons, manifest = tmp_path / "b.Person.csv", tmp_path / "b.manifest.json"
    said = json.loads(manifest.read_text(encoding="utf-8"))
    digests = [
        (name, sha256((tmp_path / file).read_bytes()).hexdigest())
        for name, file in (("Household", "b.csv"), ("Person", "b.Person.csv"))
    ]
    assert said["output"]["tables"] == {"Person": {"path": str(persons), "sha256": digests[1][1]}}
    assert said["output"]["sha256"] == sha256("".join(f"{a} {b}\n" for a, b in digests).encode()).hexdigest()
    assert said["original"]["tables"]["Person"]["path"] == str(survey / "persons.csv")
    text = persons.read_text(encoding="utf-8")
    persons.write_text(text.replace(",spouse,", ",other,", 1), encoding="utf-8")
    found = masktron.check(
        tmp_path / "b.csv", survey / "rules.sch", manifest=manifest, original=survey / "households.csv"
    )
    assert any("SHA-256 differs" in one for one in found.problems)
    assert any("Role of the second Person differs from the original in 1 record" in one for one in found.problems)


def failing(at: int, real: Callable[..., None]) -> Callable[..., None]:
    count = 0

    def publish(*given: Any, **options: Any) -> None:
        nonlocal count
        count += 1
        if count == at:
            raise masktron.DocumentError("the disk is gone")
        real(*given, **options)

    return publish


@pytest.mark.few(1)
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("at", [2, 3])
def test_a_table_that_cannot_get_its_name_takes_the_others_back(
    survey: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool, at: int
) -> None:
    """The manifest comes first, then the tables, one after the other."""
    outputs = (tmp_path / "b.csv", tmp_path / "b.Person.csv")
    for out in outputs if before else ():
        out.write_text(f"former {out.name}", encoding="utf-8")
    monkeypatch.setattr(atomic, "_publish", failing(at, atomic._publish))
    with pytest.raises(masktron.DocumentError, match="the disk is gone"):
        mask(survey, "households.csv", outputs[0], TWO)
    for out in outputs:
        assert out.exists() == before
        assert not before or out.read_text(encoding="utf-8") == f"former {out.name}"
    assert {path.name for path in tmp_path.iterdir()} <= {"b.csv", "b.Person.csv", "b.manifest.json"}


def test_a_broken_rule_leaves_no_table(survey: Path, tmp_path: Path) -> None:
    text = (survey / "rules.sch").read_text(encoding="utf-8")
    (tmp_path / "rules.sch").write_text(text.replace("= Total", "&gt; Total"), encoding="utf-8")
    with pytest.raises(masktron.ViolationError, match="total"):
        masktron.mask(
            survey / "households.csv", tmp_path / "rules.sch", tmp_path / "b.csv", roles=ROLES,
            levels=levels(TWO, survey), **SETTINGS,
        )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["rules.sch"]


@pytest.mark.parametrize("role", [None, "confidential"])
def test_what_joins_tables_has_to_have_a_role(survey: Path, tmp_path: Path, role: str | None) -> None:
    roles = {name: said for name, said in {**ROLES, "@id": role}.items() if said is not None}
    with refused(masktron.UsageError, "role-does-not-fit", field="@id"):
        mask(survey, "households.csv", tmp_path / "b.csv", TWO, roles=roles)
    assert list(tmp_path.iterdir()) == []
