"""What kind of values a field of members has is told from all of them, wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from masktron.config import config_from
from masktron.errors import UsageError
from masktron.jobs.concerns import likely_notes
from masktron.jobs.opening import open_original
from masktron.problems.wording import sentence
from masktron.progress import no_progress
from refusals import refused

pytestmark = pytest.mark.usefixtures("at_terminal")

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Person">
<assert id="wage" test="Wage &gt;= 0">Wages are not negative.</assert></rule></pattern></schema>"""


def survey(folder: Path, wages: list[list[int]]) -> tuple[Path, Path]:
    """Write households, given the wages of the persons of each."""
    households = "".join(
        f"<Household>{''.join(f'<Person><Wage>{wage}</Wage></Person>' for wage in own)}</Household>" for own in wages
    )
    data, rules = folder / "survey.xml", folder / "rules.sch"
    data.write_text(f"<Survey>{households}</Survey>", encoding="utf-8")
    rules.write_text(RULES, encoding="utf-8")
    return data, rules


def test_few_wages_at_one_position_are_no_codes(tmp_path: Path) -> None:
    data, rules = survey(tmp_path, [[100 + at, at % 2] for at in range(30)])
    result = masktron.mask(data, rules, tmp_path / "out.xml", k=3)
    assert result.valid


def test_few_wages_at_all_positions_may_be_codes(tmp_path: Path) -> None:
    data, rules = survey(tmp_path, [[at % 3, at % 2] for at in range(30)])
    with refused(UsageError, "likely-codes"):
        masktron.mask(data, rules, tmp_path / "out.xml", k=3)


def test_what_is_declared_stays(tmp_path: Path) -> None:
    data, rules = survey(tmp_path, [[100 + at, at % 2] for at in range(30)])
    result = masktron.mask(data, rules, tmp_path / "out.xml", k=3, nominal=["Wage"])
    assert result.valid
    assert {one.aggregator for one in result.blocks}.isdisjoint({"mean"})


@pytest.mark.parametrize("said", [{}, {"Person/Weight": "weight"}, {"Person/Weight": "untouched"}])
def test_the_weight_of_persons_is_told_by_its_name(tmp_path: Path, said: dict[str, str]) -> None:
    """Though all its values are amounts at every position, and households have a weight of their own."""
    data, rules = survey(tmp_path, [[100 * (7 * at % 11), 10 * at] for at in range(30)])
    text = data.read_text(encoding="utf-8").replace("<Household>", "<Household><Weight>2</Weight>")
    for at in range(60):
        text = text.replace("</Wage></", f"</Wage><Weight>{10 + at}.5</Weight></", 1)
    data.write_text(text, encoding="utf-8")
    config = config_from({"k": 3, "roles": {"Household/Weight": "weight", **said}})
    told = " ".join(map(sentence, likely_notes(open_original(data, rules, config, no_progress).likely)))
    found = "Person/Weight is masked as an amount, and is called like a survey weight: --role Person/Weight=weight"
    assert (found in told) == (not said)
