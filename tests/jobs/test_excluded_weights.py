"""A record whose weight breaks a rule is left out before weights are required; one that stays needs a weight."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import masktron
from cli_runner import Runner, numbers, write_data, write_rules
from masktron.errors import DocumentError, MasktronError
from paths import SCHEMAS
from refusals import refused

RULES = ("A + B = T", "W > 0", "T >= 0")


def survey(tmp_path: Path, weights: dict[int, object], *, rules: tuple[str, ...] = RULES) -> tuple[Path, Path]:
    rows = [{**row, "AGE": 20 + at % 40, "W": weights.get(at, 2.5 + at % 3)} for at, row in enumerate(numbers())]
    return write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", *rules)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"recode": {"AGE": "bottom:30,top:50", "W": "breaks:0,3:mean"}, "key_k": 3},
        {"recode": {"AGE": "breaks:0,40:mean"}},
        {"unit_records": 60},
    ],
    ids=["plain", "recoded weight", "tails by weight", "units"],
)
def test_a_record_is_left_out_whose_weight_breaks_a_rule(tmp_path: Path, more: dict[str, Any]) -> None:
    data, rules = survey(tmp_path, {5: 0, 9: -1, 11: None}, rules=(*RULES[:1], "W > 0 and W", RULES[2]))
    roles = {"AGE": "quasi-identifier", "W": "weight"}
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles=roles, invalid="exclude", **more)
    assert (result.records_in, result.records_out) == (40, 37)
    checked = masktron.check(tmp_path / "m.xml", rules, original=data, manifest=tmp_path / "m.manifest.json")
    assert checked.complies, checked.problems


def test_what_stops_is_the_rule_first_and_the_weight_of_a_record_that_stays(tmp_path: Path) -> None:
    roles = {"AGE": "quasi-identifier", "W": "weight"}
    data, rules = survey(tmp_path, {5: 0})
    with refused(MasktronError, "original-breaks-rules", records=1, total=40):
        masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles=roles)
    data, rules = survey(tmp_path, {5: 0, 7: 0}, rules=("A + B = T", "W > 0 or A != B + 100000", "T >= 0"))
    with refused(DocumentError, "bad-weights", field="W", where=f"{data}:7, record 6"):
        masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles=roles, invalid="exclude")


def weighted(tmp_path: Path, broken: int) -> tuple[list[dict[str, Any]], Path, Path]:
    """Return 200 records, of which the first ones break a rule and weigh much, and the files."""
    rows: list[dict[str, Any]] = [
        {**row, "C": f"c{at % 3}", "W": 9.25 if at < broken else 1.5 + at % 4} for at, row in enumerate(numbers(200))
    ]
    for row in rows[:broken]:
        row["A"] += 1
    return rows, write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", *RULES)


@pytest.mark.full
def test_totals_before_are_those_of_the_file_that_was_read(tmp_path: Path) -> None:
    rows, data, rules = weighted(tmp_path, 12)
    out, share = tmp_path / "m.xml", 100 * 12 * 9.25 / math.fsum(row["W"] for row in rows)
    result = masktron.mask(
        data, rules, out, k=3, roles={"W": "weight"}, nominal=["C"], invalid="exclude", order="keep"
    )
    totals = {one.name: one for one in result.totals}
    for name in "ABT":
        assert totals[name].before == math.fsum(row["W"] * row[name] for row in rows)
        assert totals[name].records == 188
        lost = 100 * math.fsum(row["W"] * row[name] for row in rows[:12]) / totals[name].before
        # the mean keeps totals of the kept records but for rounding
        assert totals[name].change == pytest.approx(-lost, abs=0.2)
    expected: Counter[str] = Counter()
    for row in rows:
        expected[row["C"]] += row["W"]
    assert dict(result.categories[0].before) == pytest.approx(dict(expected), rel=1e-15)
    assert result.missing_weight == pytest.approx(share, rel=1e-12)
    note = next(one for one in result.notes if "left out" in one)
    assert note.startswith(f"12 records were left out, with {share:.1f} % of the weight W; totals")
    jsonschema.validate(result.as_dict(), json.loads((SCHEMAS / "mask.schema.json").read_text(encoding="utf-8")))
    # assess says the same of the files
    moved = {one.name: one.value for one in result.figures}
    assessed = masktron.assess(out, data, manifest=tmp_path / "m.manifest.json", measures=["total_change"])
    assert assessed.figures[0].value == moved["total_change"] > 5
    with pytest.raises(MasktronError, match="total_change"):
        masktron.mask(
            data,
            rules,
            out,
            k=3,
            roles={"W": "weight", "C": "record-id"},
            invalid="exclude",
            limits={"total_change": 2},
        )


def test_a_left_out_record_without_a_usable_weight_counts_in_no_total(tmp_path: Path) -> None:
    data, rules = survey(tmp_path, {5: 0, 9: -1, 11: None}, rules=(*RULES[:1], "W > 0 and W", RULES[2]))
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles={"W": "weight"}, invalid="exclude")
    total = math.fsum(
        (2.5 + at % 3) * float(str(row["T"])) for at, row in enumerate(numbers()) if at not in (5, 9, 11)
    )
    assert next(one.before for one in result.totals if one.name == "T") == pytest.approx(total, rel=1e-15)
    assert result.missing_weight == 0


def test_totals_of_levels_count_units_that_were_left_out(tmp_path: Path) -> None:
    units = [(at, 2.0 + at % 2, [30 + at, 3 * at]) for at in range(24)]
    body = "".join(
        f"<Household><W>{weight}</W><Total>{sum(own) + (at < 4)}</Total>"
        + "".join(f"<Person><Income>{one}</Income></Person>" for one in own)
        + "</Household>"
        for at, weight, own in units
    )
    data = tmp_path / "d.xml"
    data.write_text(f"<Survey>{body}</Survey>", encoding="utf-8")
    rules = write_rules(tmp_path / "r.sch", "sum(Person/Income) = Total", context="Household")
    out = tmp_path / "m.xml"
    result = masktron.mask(
        data, rules, out, k=3, roles={"W": "weight"}, invalid="exclude", max_observed_share=100, order="keep"
    )
    read = math.fsum(weight * sum(own) for _, weight, own in units)
    lost = 100 * math.fsum(weight * sum(own) for _, weight, own in units[:4]) / read
    assert next(one.before for one in result.totals if one.name == "Income") == pytest.approx(read, rel=1e-12)
    assessed = masktron.assess(out, data, manifest=tmp_path / "m.manifest.json")
    for levels in (result.levels, assessed.levels):
        person = next(one for one in levels if one.level == "Household/Person")
        change = next(one.value for one in person.figures if one.name == "total_change")
        assert change == pytest.approx(lost, abs=2)


@pytest.mark.few(1)
@pytest.mark.parametrize("broken", [9, 12])
def test_the_page_for_others_says_what_totals_lack(tmp_path: Path, run: Runner, broken: int) -> None:
    rows, data, rules = weighted(tmp_path, broken)
    share = 100 * broken * 9.25 / math.fsum(row["W"] for row in rows)
    page = tmp_path / "about.html"
    given = ("mask", data, "--rules", rules, "--out", tmp_path / "m.xml", "-k", "3", "--invalid", "exclude")
    done = run(*given, "--role", "W=weight", "--role", "C=record-id", "--html-public", page)
    assert done.code == 0, done.err
    told = " ".join(page.read_text(encoding="utf-8").split())
    assert f"{broken} records that broke a rule were left out." in told
    assert (f"They had {share:.1f} % of the survey weight." in told) is (broken >= 10)
    assert "it does not add up to the population" in told
