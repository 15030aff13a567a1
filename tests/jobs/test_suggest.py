"""Rules that files suggest: planted ones with their exceptions; the written rulebook in every engine; ugly names."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from cli_runner import Runner
from examples import examples
from masktron.errors import DocumentError, UsageError
from masktron.jobs import suggest as module
from masktron.jobs.job import open_job
from masktron.jobs.revalidate import Asking
from masktron.jobs.suggest import accepted_ids
from masktron.progress import no_progress
from masktron.proposals.candidate import UNIQUE
from masktron.proposals.suggesting import suggested_rules
from masktron.results import Proposal, SuggestResult
from paths import ROOT, SHARED_DATA
from refusals import refused
from schema_files import conforms

CENSUS = SHARED_DATA / "census.csv"
SIZE = 300


def survey(seed: int = 3, size: int = SIZE) -> pd.DataFrame:
    """Records with a total, an order, a condition, codes, a key, a multiple, and values that are missing."""
    rng = np.random.default_rng(seed)
    status = rng.choice(["emp", "ret", "none"], size)
    wages = np.where(status == "emp", rng.integers(1, 90_000, size), 0)
    other = np.where(rng.random(size) < 0.3, 0, rng.integers(1, 9000, size))
    monthly = rng.integers(1, 2000, size)
    tax = np.where(rng.random(size) < 0.5, 0, (wages + other) // 5)
    return pd.DataFrame(
        {
            "Id": [f"R{at:04}" for at in range(size)],
            "Status": status,
            "Wages": wages,
            "Other": other,
            "Income": wages + other,
            "Tax": tax,
            "Net": wages + other - tax,
            "Monthly": monthly,
            "Annual": 12 * monthly,
            "Hours": np.where(status == "emp", rng.integers(1, 60, size).astype(float), np.nan),
            "Rate": np.round(rng.random(size) * 40, 2),
        }
    )


def by_id(result: SuggestResult) -> dict[str, Proposal]:
    return {one.id: one for one in result.proposals}


def engines_agree(data: Path, rules: Path) -> None:
    """Ask libxml2 and Saxon about every rule and every record."""
    job = open_job(data, rules)
    decided = replace(job.evaluate(None, no_progress), engine="ours")
    engines, _ = Asking(job, None, no_progress).second_opinions(decided, range(len(job.rulebook.checks)))
    assert [engine.engine.split()[0] for engine in engines] == ["libxml2", "SaxonC-HE"]
    assert all(engine.agrees for engine in engines)


@pytest.fixture(scope="module")
def suggested(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, SuggestResult]:
    folder = tmp_path_factory.mktemp("suggested")
    frame = survey()
    frame.loc[[4, 17], "Income"] += 1
    frame.to_csv(folder / "survey.csv", index=False)
    return folder / "survey.csv", folder / "r.sch", masktron.suggest(
        folder / "survey.csv", folder / "r.sch", accept="all"
    )  # fmt: skip


def test_planted_rules_are_proposed_with_their_exceptions(suggested: tuple[Path, Path, SuggestResult]) -> None:
    found = by_id(suggested[2])
    assert found["total-Income"].form == "Other + Wages = Income"
    assert (found["total-Income"].exceptions, found["total-Income"].first) == (2, (5, 18))
    assert found["multiple-Monthly-Annual"].form == "Annual = 12 * Monthly"
    assert found["multiple-Monthly-Annual"].strength == "strong"
    assert found["unique-Id"].form == "Id occurs once"
    assert found["if-Status-Wages-above-zero"].form == "Wages > 0 or Status != 'emp'"
    assert found["if-Status-Wages-zero"].records == int((survey()["Status"] != "emp").sum())
    assert found["if-Status-Hours-missing"].test.endswith("normalize-space(Hours) = ''")
    assert found["codes-Status"].form == "Status in {emp, none, ret}"
    assert found["not-negative-Rate"].form == "Rate >= 0"
    assert found["required-Wages"].follows_from
    assert not found["required-Wages"].accepted
    assert [one.number for one in suggested[2].proposals] == list(range(1, len(found) + 1))
    levels = [one.strength for one in suggested[2].proposals if not one.follows_from]
    assert levels == sorted(levels, key=["strong", "fair", "guess"].index)


@pytest.mark.full
@examples(4, full=100)
@given(seed=st.integers(0, 2**32 - 1), wrong=st.integers(0, 9))
def test_engines_count_as_the_search_does(seed: int, wrong: int) -> None:
    rng = np.random.default_rng(seed)
    made = survey(seed, 200)
    made.loc[rng.choice(200, wrong, replace=False), "Annual"] += 1
    made.loc[rng.choice(200, wrong, replace=False), "Rate"] = np.nan
    result = masktron.suggest(made)
    assert not [note for note in result.notes if "count otherwise" in note]
    assert by_id(result)["multiple-Monthly-Annual"].exceptions == wrong
    assert ("required-Rate" in by_id(result)) == (not wrong)


def test_what_engines_count_otherwise_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = suggested_rules

    def miscounting(*arguments: Any) -> Any:
        rules, notes = found(*arguments)
        return tuple(replace(one, fails=~one.fails) if one.kind == UNIQUE else one for one in rules), notes

    monkeypatch.setattr(module, "suggested_rules", miscounting)
    result = masktron.suggest(survey(size=80))
    assert "unique-Id" not in by_id(result)
    assert [note for note in result.notes if "count otherwise" in note and "unique-Id" in note]


def test_orders_and_equal_fields() -> None:
    rng = np.random.default_rng(12)
    low = rng.integers(1, 1000, 200)
    high = low + rng.integers(0, 500, 200) * (rng.random(200) < 0.8)
    top = high + rng.integers(0, 500, 200) * (rng.random(200) < 0.8)
    made = pd.DataFrame({"Low": low, "High": high, "Top": top, "Same": low, "Far": rng.integers(5000, 9000, 200)})
    forms = {one.form for one in masktron.suggest(made).proposals if one.kind in ("order", "equal")}
    assert "Low = Same" in forms
    assert "High <= Top" in forms
    assert {"Low <= High", "Same <= High"} & forms
    assert not {"Low <= Top", "Top <= Far", "High <= Far"} & forms  # from two others, or from the ranges


def with_errors(size: int = 2000) -> pd.DataFrame:
    """Records with a few errors, and codes for missing values that nobody declared."""
    rng = np.random.default_rng(4)
    age, big = rng.integers(16, 95, size), rng.integers(1, 5000, size)
    worked = np.minimum(age, rng.integers(0, 60, size))
    employed = rng.choice([1, 2], size)
    wage = np.where(employed == 1, rng.integers(800, 9000, size), 0)
    rent = np.where(rng.random(size) < 0.4, -9, rng.integers(200, 3000, size))
    age[7], big[9], employed[[3, 11]], wage[[3, 11]] = -57, 900_000, 2, 500
    codes = {"Rent": rent, "Education": rng.choice([1, 2, 3, 4, 99], size)}
    made = {"Age": age, "Worked": worked, "Employed": employed, "Wage": wage, "Big": big, **codes}
    return pd.DataFrame({**made, "Profit": rng.normal(3000, 1300, size).round().astype(int)})


@pytest.mark.full
def test_errors_are_exceptions_and_no_law(tmp_path: Path) -> None:
    frame = with_errors()
    result = masktron.suggest(frame, tmp_path / "r.sch", accept="all")
    found = {one.form: (one.exceptions, one.strength) for one in result.proposals}
    assert found["Age >= 0"] == (1, "fair")
    assert found["Worked <= Age"] == (1, "fair")
    assert found["Employed != 2 or Wage = 0 or Employed missing"] == (2, "fair")
    assert found["Big <= 5000"] == (1, "guess")
    assert found["-5000 <= Profit <= 10000"] == (0, "guess")  # a distribution that crosses 0 has no sign
    assert not [form for form in found if "Age >= -" in form or "Rent >= -" in form or form == "Profit >= 0"]
    failed = {rule.id: rule.failed for rule in masktron.validate(frame, tmp_path / "r.sch").rules}
    assert failed == {one.id: one.exceptions for one in result.proposals if one.accepted}


def test_codes_for_missing_values_that_nobody_declared_are_set_aside() -> None:
    result = masktron.suggest(with_errors())
    found = by_id(result)
    assert (found["not-negative-Rent"].context, found["not-negative-Rent"].exceptions) == (
        "Record[number(Rent) != -9]",
        0,
    )
    assert found["codes-Education"].test.count("=") == 4
    said = [note for note in result.notes if "'missing'" in note]
    assert len(said) == 2
    assert 'missing={"Rent": ["-9"]}' in said[0]


@pytest.mark.few(1)
@pytest.mark.parametrize(("parts", "wrong"), [(10, 0), (12, 0.01), (20, 0.02)])
def test_totals_of_many_parts(parts: int, wrong: float) -> None:
    rng = np.random.default_rng(parts)
    size = 600
    made = {f"P{at}": rng.integers(1, 900, size) * (rng.random(size) < 0.6) for at in range(parts)}
    total = np.sum([*made.values()], axis=0)
    broken = rng.random(size) < wrong
    result = masktron.suggest(pd.DataFrame({**made, "T": total + broken, "X": rng.integers(1, 9000, size)}))
    (one,) = [one for one in result.proposals if one.kind == "total"]
    assert (set(one.fields), one.fields[-1], one.exceptions) == ({*made, "T"}, "T", int(broken.sum()))
    few = masktron.suggest(pd.DataFrame({**made, "T": total}).head(parts))
    assert any("totals of four parts or more were not looked for" in note for note in few.notes)


def test_bounds_are_round_and_no_extreme_values(suggested: tuple[Path, Path, SuggestResult]) -> None:
    frame, found = survey(), by_id(suggested[2])
    for field in ("Wages", "Other", "Tax", "Monthly"):
        bound = int(found[f"range-{field}"].form.split()[-1])
        assert bound > frame[field].max()
        assert set(str(bound)[1:]) <= {"0"}
        assert str(bound)[0] in "125"


def test_the_written_rulebook_says_what_was_accepted_in_every_engine(
    suggested: tuple[Path, Path, SuggestResult],
) -> None:
    data, rules, result = suggested
    validated = masktron.validate(data, rules)
    counts = {rule.id: rule.failed for rule in validated.rules}
    assert counts == {one.id: one.exceptions for one in result.proposals if one.accepted}
    assert set(counts) == set(result.accepted)
    assert len(counts) > 25
    engines_agree(data, rules)
    explained = masktron.explain(rules)
    assert not [rule.id for rule in explained.rules if rule.kind == "opaque"]
    assert not explained.preflight.contradictions
    assert {rule.id: rule.form for rule in explained.rules} == {
        one.id: one.form for one in result.proposals if one.accepted
    }


def test_nothing_is_written_that_was_not_accepted(tmp_path: Path, run: Runner) -> None:
    survey(size=60).iloc[:, :7].to_csv(tmp_path / "d.csv", index=False)
    listed = run("suggest", tmp_path / "d.csv", "--json", tmp_path / "s.json")
    assert listed.code == 0
    assert "CONFIDENTIAL" in listed.out
    assert "nothing is written" in listed.out
    assert {path.name for path in tmp_path.iterdir()} == {"d.csv", "s.json"}
    assert stat.S_IMODE((tmp_path / "s.json").stat().st_mode) == 0o600
    content = json.loads((tmp_path / "s.json").read_text())
    conforms(content, "suggest")
    ids = [one["id"] for one in content["proposals"]]
    done = run("suggest", tmp_path / "d.csv", "--accept", f"2-3,1,{ids[6]}", "-o", tmp_path / "r.sch")
    assert done.code == 0
    assert "4 rules" in done.out
    written = masktron.explain(tmp_path / "r.sch")
    assert {rule.id for rule in written.rules} == {*ids[:3], ids[6]}
    wrong = run("suggest", tmp_path / "d.csv", "--accept", "999", "-o", tmp_path / "no.sch")
    wrong.refuses(2, "bad-value")
    assert not (tmp_path / "no.sch").exists()
    assert run("suggest", tmp_path / "d.csv", "--accept", "all").code == 2
    assert run("suggest", tmp_path / "d.csv", "--accept", "1", "-o", tmp_path / "d.csv").code == 2
    assert run("suggest", tmp_path / "d.csv", "--role", "Nobody=record-id").code == 2
    assert run("suggest", tmp_path / "nothing.csv").code == 4


def test_what_is_accepted_is_named(suggested: tuple[Path, Path, SuggestResult]) -> None:
    proposals = suggested[2].proposals
    ids = [one.id for one in proposals]
    assert accepted_ids(proposals, ["2", "4-6", ids[0]]) == {ids[0], ids[1], *ids[3:6]}
    assert accepted_ids(proposals, ["all"]) == {one.id for one in proposals if not one.follows_from}
    assert accepted_ids(proposals, [str(len(ids))]) == {ids[-1]}  # what follows from others, where it is asked for
    for wrong in ("0", str(len(ids) + 1), "3-2", "total-Nothing", "1-", "-1", "1.5"):
        with pytest.raises(UsageError):
            accepted_ids(proposals, [wrong])


@pytest.mark.full
@examples(6, full=200)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_files_suggest_no_relation_between_fields(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.integers(0, 10**4, 120) for name in "ABCDEF"} | {"C": rng.integers(0, 2, 120)})
    frame["Code"] = rng.choice(["x", "y"], 120)
    frame["Gap"] = np.where(rng.random(120) < 0.3, np.nan, rng.integers(1, 50, 120).astype(float))
    kinds = {one.kind for one in masktron.suggest(frame).proposals}
    assert not kinds & {"total", "multiple", "equal", "order", "if-then"}
    assert {"codes", "not-negative", "required"} <= kinds


def test_hostile_names_and_values_are_written_as_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    values = ["<a>&amp;", "it's", 'say "so"', "]]>", "--", "{x}", "é\u2028"]
    a, b = rng.integers(1, 1000, (2, 140))
    frame = pd.DataFrame(
        {
            "a<b & c": a,
            "div": b,
            "x'y\"z": a + b,
            "and-or": np.where(np.arange(140) % 7 == 2, 0, a),
            "or": values * 20,
        }
    )
    frame["or"] = values * 20
    result = masktron.suggest(frame, tmp_path / "r.sch", accept="all")
    forms = [one.form for one in result.proposals if one.kind == "total"]
    assert len(forms) == 1
    assert {one.kind for one in result.proposals} >= {"total", "codes", "range", "if-then"}
    validated = masktron.validate(frame, tmp_path / "r.sch")
    assert validated.valid
    assert len(validated.rules) == len(result.accepted)
    frame.to_csv(tmp_path / "d.csv", index=False)
    engines_agree(tmp_path / "d.csv", tmp_path / "r.sch")
    both = frame.assign(**{"or": ['it\'s "so"', *values[1:]] * 20})
    assert "codes-or" not in by_id(masktron.suggest(both))  # XPath 1.0 has no literal for it


@pytest.mark.parametrize("others", [{"B": range(40)}, {}])
def test_a_euro_sign_in_a_name_stops_nothing(tmp_path: Path, others: dict[str, Any]) -> None:
    frame = pd.DataFrame({"Miete (€)": [100 + n * n for n in range(40)], **others})
    frame.to_csv(tmp_path / "d.csv", index=False)
    tests = [one.test for one in masktron.suggest(tmp_path / "d.csv").proposals]
    assert "Miete_x0020__x0028__x20AC__x0029_ >= 0" in tests


def test_missing_codes_and_labels(tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    a, b = rng.integers(1, 1000, (2, 200))
    total = a + b
    a[::10], total[5] = -9, 1
    kept = total.copy()
    frame = pd.DataFrame({"A": a, "B": b, "T": kept, "S": rng.choice(["1", "2", "NA"], 200)})
    codes = {"A": [-9], "S": ["NA"]}
    result = masktron.suggest(frame, tmp_path / "r.sch", accept="all", missing=codes, nominal=["S"])
    found = by_id(result)
    assert found["total-T"].context == "Record[number(A) != -9]"
    assert (found["total-T"].records, found["total-T"].exceptions, found["total-T"].first) == (180, 1, (6,))
    assert (found["codes-S"].context, found["codes-S"].test) == ("Record[S != 'NA']", "S = '1' or S = '2'")
    assert "required-A" not in found
    failed = {rule.id: rule.failed for rule in masktron.validate(frame, tmp_path / "r.sch").rules}
    assert failed == {one.id: one.exceptions for one in result.proposals if one.accepted}


def test_a_text_that_means_missing_in_numbers(tmp_path: Path) -> None:
    """The code is said to be none of the values, as the text that it is."""
    rows = [f"{at},{'NA' if at % 5 == 0 else 3 * at}" for at in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["A,B", *rows, ""]))
    for codes in (["NA"], {"B": ["NA", "-9"]}):
        found = masktron.suggest(tmp_path / "d.csv", missing=codes)
        (required,) = [one for one in found.proposals if one.id == "required-A"]
        assert not required.exceptions
        assert not any(one.id == "required-B" for one in found.proposals)


def test_records_in_a_namespace_and_attributes(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    rows = "".join(
        f'<r id="k{at}"><A>{a}</A><B>{b}</B><T>{a + b}</T></r>\n'
        for at, (a, b) in enumerate(rng.integers(1, 999, (80, 2)).tolist())
    )
    (tmp_path / "d.xml").write_text(f'<all xmlns="urn:x">{rows}</all>')
    result = masktron.suggest(tmp_path / "d.xml", tmp_path / "r.sch", accept=["all"])
    found = by_id(result)
    assert found["total-T"].test == "d:A + d:B = number(d:T)"
    assert found["unique-id"].test == "not(@id = preceding-sibling::*/@id)"
    assert masktron.validate(tmp_path / "d.xml", tmp_path / "r.sch").valid


def test_the_same_file_suggests_the_same(suggested: tuple[Path, Path, SuggestResult]) -> None:
    data, _, result = suggested
    again = masktron.suggest(data)
    assert [(one.number, one.id, one.test) for one in again.proposals] == [
        (one.number, one.id, one.test) for one in result.proposals
    ]


def test_what_cannot_suggest_anything(tmp_path: Path) -> None:
    (tmp_path / "nested.xml").write_text("<D>" + "<R><A>1</A><P><Q>1</Q></P></R>" * 3 + "</D>")
    with refused(DocumentError, "records-not-flat"):
        masktron.suggest(tmp_path / "nested.xml")
    with refused(DocumentError, "no-records"):
        masktron.suggest(pd.DataFrame({"A": []}))
    few = masktron.suggest(pd.DataFrame({"A": [1, 2, 3]}))
    assert few.proposals == ()
    assert "nothing was found" in few.notes
    arguments: Any = {"accept": 5}
    with refused(UsageError, "bad-value", name="accept"):
        masktron.suggest(pd.DataFrame({"A": [1]}), **arguments)


@pytest.mark.skipif(not CENSUS.exists(), reason="the Census file is not here")
@pytest.mark.full
def test_the_census_file_suggests_its_totals() -> None:
    result = masktron.suggest(CENSUS)
    assert [one.form for one in result.proposals if one.kind == "total"] == ["PEARNVAL + POTHVAL = PTOTVAL"]


@pytest.mark.full
def test_the_household_sample_suggests_its_rules() -> None:
    forms = {one.form for one in masktron.suggest(ROOT / "sample_xml" / "household.xml").proposals}
    assert {
        "Adults + Children = Size",
        "Property + SelfEmp + Transfers + Wages = Income or Property missing",
        "NetIncome <= Income",
        "Id occurs once",
        "Rent in {-9, 0} or Tenure not in {FREE, MORT, OWN}",
        "SelfEmp = 0 or Status not in {EMP, RET, UNEMP}",
    } <= forms


def test_accepted_rules_are_written_in_plain_text(tmp_path: Path) -> None:
    data, out = tmp_path / "survey.csv", tmp_path / "edits.rules"
    frame = survey()
    frame.loc[[4, 17], "Income"] += 1
    frame["Wages"] = frame["Wages"].astype("Int64")
    frame.loc[7, "Wages"] = pd.NA
    frame.to_csv(data, index=False)
    result = masktron.suggest(data, out, accept="all")
    proposals = by_id(result)
    assert proposals["total-Income"].plain == "Wages + Other == Income"
    written = out.read_text(encoding="utf-8").splitlines()
    assert written[1].startswith(("total-", "unique-", "equal-", "multiple-"))
    judged = {rule.id: rule.failed for rule in masktron.validate(data, out).rules}
    assert {*judged} == {*result.accepted}
    assert judged == {name: proposals[name].exceptions for name in judged}
    assert sum(bool(one.plain) for one in result.proposals) >= 0.9 * len(result.proposals)


def test_what_plain_rules_cannot_say_is_left_out_and_told(tmp_path: Path) -> None:
    data, out = tmp_path / "survey.csv", tmp_path / "edits.rules"
    pd.DataFrame({"Kind": ["a", "b", "c", "a"] * 75, "Two": ["x\u2028y", "z"] * 150, "No": range(300)}).to_csv(
        data, index=False
    )
    result = masktron.suggest(data, out, accept="all")
    left = [note for note in map(str, result.notes) if "plain rules cannot say" in note]
    assert bool(left) == any(not one.plain for one in result.proposals if not one.follows_from)
    assert {*result.accepted} == {one.id for one in result.proposals if one.plain and not one.follows_from}
