"""PRAM in whole runs: what is written, which rules hold, what check finds, and every refusal."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lxml import etree

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.config import Config
from masktron.errors import DocumentError, InfeasibleError, UsageError
from masktron.settings_file import load_config
from plain_rows import read_rows, write_csv
from refusals import code_of, plain, problem_of, refused
from schema_files import conforms

N = 400
_RNG = np.random.default_rng(7)
_AGES = _RNG.choice([16, 20, 25, 30, 40, 50, 65, 70], N)
ROWS: list[dict[str, object]] = [
    {
        "AGE": int(age),
        "REGION": "nesw"[at * at % 7 % 4],
        "STATUS": "retired" if age >= 65 and at % 3 else ("works", "school")[at % 5 % 2],
        "A": 100 + 13 * at % 70,
        "B": 10 + at % 9,
    }
    for at, age in enumerate(_AGES)
]
RULES = ("B <= A", "not(STATUS = 'retired') or AGE >= 65")
ROLES = {"AGE": "untouched", "REGION": "untouched"}
CHANGE = {"STATUS": "change:0.2"}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rules(tmp_path / "r.sch", *RULES)


def settings(**more: Any) -> dict[str, Any]:
    return {"k": 3, "order": "keep", "roles": ROLES, "pram": CHANGE, **more}


def forged(path: Path, out: Path, rows: dict[int, dict[str, str]]) -> Path:
    """Write a released CSV file with other texts in some records."""
    pd.DataFrame([{**row, **rows.get(at, {})} for at, row in enumerate(read_rows(path))]).to_csv(out, index=False)
    return out


def changed(written: list[dict[str, str]], name: str) -> list[int]:
    return [at for at, (was, now) in enumerate(zip(ROWS, written, strict=True)) if str(was[name]) != now[name]]


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", [".xml", ".csv"])
def test_values_are_drawn_among_what_rules_admit_and_check_tests_the_law(
    tmp_path: Path, rules: Path, suffix: str
) -> None:
    data = write_data(tmp_path / "d.xml", ROWS) if suffix == ".xml" else write_csv(tmp_path / "d.csv", ROWS)
    out, manifest = tmp_path / f"m{suffix}", tmp_path / "m.manifest.json"
    result = masktron.mask(data, rules, out, **settings())
    assert result.valid
    conforms(result.as_dict(), "mask")
    conforms(json.loads(manifest.read_text()), "manifest")
    written = read_rows(out)
    if suffix == ".xml":  # an engine that asked nothing of the draws
        tree = etree.parse(out)
        assert tree.xpath("count(//Record[not(not(STATUS = 'retired') or AGE >= 65)])") == 0
        assert tree.xpath("count(//Record[B > A])") == 0
    assert not [row for row in written if row["STATUS"] == "retired" and int(row["AGE"]) < 65]
    assert 40 <= len(changed(written, "STATUS")) <= 130  # of 400, 80 expected
    assert not changed(written, "AGE")
    assert not changed(written, "REGION")
    # expected frequencies are those of the file, with who may be retired and who not
    for old in (False, True):
        before = Counter(str(row["STATUS"]) for row in ROWS if (int(str(row["AGE"])) >= 65) is old)
        after = Counter(row["STATUS"] for row in written if (int(row["AGE"]) >= 65) is old)
        assert before.keys() == after.keys()
        assert max(abs(before[one] - after[one]) for one in before) <= 5 * (before.total() * 0.2 * 0.8) ** 0.5
    (told,) = result.treatments
    assert (told.kind, told.field) == ("pram", "STATUS")
    assert f"20 % of 400 records expected to change, {len(changed(written, 'STATUS')) / 4:.3g} % have" in told.how
    found = masktron.check(out, rules, manifest=manifest, original=data)
    assert found.complies, found.problems
    assert "values of STATUS, drawn anew, by the probabilities of the manifest" in found.checked
    assert "2 unmasked fields cell by cell" in found.checked
    alone = masktron.check(out, rules, manifest=manifest)
    assert "values of STATUS, drawn anew: need the original" in alone.not_checked
    assert masktron.assess(out, data, manifest=manifest).records == N
    masktron.write_report(manifest, html_public=tmp_path / "page.html", html=tmp_path / "own.html")
    public = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (
        "Not true in some records, as far as the rules admit it: STATUS (drawn anew by known probabilities" in public
    )
    assert "Written as they were, in every record: AGE, REGION." in public
    own = (tmp_path / "own.html").read_text(encoding="utf-8")
    assert re.search(r"STATUS</t[hd]>\s*<td[^>]*>pram</td>", own)


@pytest.mark.full
def test_what_is_not_promised_of_draws_is_said(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", *RULES, "count(../Record[STATUS = 'works']) >= 1")
    data, roles = write_csv(tmp_path / "d.csv", ROWS), {**ROLES, "REGION": "quasi-identifier"}
    notes = masktron.mask(data, rules, tmp_path / "m.csv", **settings(roles=roles, key_k=3)).notes
    said = [note for note in notes if "docs/pram.md" in note]
    assert [note.partition(":")[0] for note in said] == [
        "k = 3 counts STATUS as drawn",
        "the rule R3 reads drawn fields across records",
    ]
    plain = masktron.mask(data, write_rules(tmp_path / "s.sch", *RULES), tmp_path / "n.csv", **settings())
    assert not [note for note in plain.notes if "docs/pram.md" in note]


def test_nothing_is_drawn_that_rules_exclude_together_in_a_class(tmp_path: Path) -> None:
    """A pupil of 15-19 is 15, and has no licence: no rule says that alone."""
    rules = write_rules(
        tmp_path / "r.sch", "not(STATUS = 'pupil') or AGE <= 15", "not(LICENCE = 'yes') or AGE >= 16", "A >= 0"
    )
    rows = [
        {
            "AGE": (age := 12 + at % 13),
            "STATUS": "pupil" if age <= 15 and at % 5 else "works",
            "LICENCE": "yes" if age >= 16 and at % 3 else "no",
            "A": 3 * at % 50,
        }
        for at in range(390)
    ]
    data, out = write_csv(tmp_path / "d.csv", rows), tmp_path / "m.csv"
    roles = dict.fromkeys(["AGE", "STATUS", "LICENCE"], "untouched")
    result = masktron.mask(
        data, rules, out, k=3, order="keep", roles=roles, recode={"AGE": "width:5"}, pram={"LICENCE": "change:0.3"}
    )
    assert [fate.reason for fate in result.fates] == ["", "asked together with R1"]
    written = read_rows(out)
    assert any(one["LICENCE"] != row["LICENCE"] for one, row in zip(written, rows, strict=True))
    assert {one["LICENCE"] for one in written if one["AGE"] == "15-19" and one["STATUS"] == "pupil"} == {"no"}
    assert masktron.check(out, rules, manifest=tmp_path / "m.manifest.json", original=data).complies


def households() -> list[dict[str, object]]:
    """One to three records of a household share a region; who is young lives in one of two."""
    rows, draw = list[dict[str, object]](), np.random.default_rng(3)
    while len(rows) < N:
        young, size = bool(draw.random() < 0.2), int(draw.integers(1, 4))
        region = "ne"[draw.integers(2)] if young else "nesw"[draw.integers(4)]
        for member in range(size):
            age = 20 if young and member == size - 1 else 40 + int(draw.integers(30))
            rows.append({"HH": f"h{len(rows) - member}", "REGION": region, "AGE": age, "A": 100 + len(rows) * 7 % 90})
    return rows


@pytest.mark.full
def test_records_of_a_household_are_drawn_as_one_among_what_rules_admit_in_all_of_them(tmp_path: Path) -> None:
    rules, rows = write_rules(tmp_path / "r.sch", "AGE > 30 or REGION = 'n' or REGION = 'e'", "A >= 0"), households()
    data, out, manifest = write_csv(tmp_path / "d.csv", rows), tmp_path / "m.csv", tmp_path / "m.manifest.json"
    roles = {"HH": "identifier", "REGION": "untouched", "AGE": "untouched"}
    pram = {"REGION": "change:0.4,household:HH"}
    result = masktron.mask(data, rules, out, k=3, order="keep", roles=roles, pram=pram, secret=bytes(range(32)))
    (told,) = (one.how for one in result.treatments)
    many = len({str(row["HH"]) for row in rows})
    assert f"of {many} households expected to change" in told
    written = pd.DataFrame(read_rows(out)).assign(HH=[row["HH"] for row in rows], WAS=[row["REGION"] for row in rows])
    assert (written.groupby("HH")["REGION"].nunique() == 1).all()
    each = written.groupby("HH").first()
    assert 0.3 < (each["REGION"] != each["WAS"]).mean() < 0.5
    young = written.loc[written["AGE"] == "20", "HH"]
    assert set(written.loc[written["HH"].isin(young), "REGION"]) == {"n", "e"}  # also of those who are not young
    assert masktron.check(out, rules, manifest=manifest, original=data).complies
    masktron.write_report(manifest, html_public=tmp_path / "page.html")
    assert "40 % of the households expected to change" in " ".join((tmp_path / "page.html").read_text().split())
    several = next(at for at, row in enumerate(rows) if rows[at + 1]["HH"] == row["HH"])
    other = "n" if written["REGION"][several] == "e" else "e"
    false = forged(out, tmp_path / "f.csv", {several: {"REGION": other}})
    (problem,) = [
        one for one in masktron.check(false, rules, manifest=manifest, original=data).problems if "drawn anew" in one
    ]
    assert "those of 1 household differ within it" in problem


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("change:0.3,household:REGION", "field-not-usable"),
        ("change:0.3,household:NOBODY", "unknown-name"),
        ("change:0.3,household:", "bad-value"),
        ("change:0.3,household:AGE", "household-differs"),
        ("change:0.3,within:AGE,household:HH", "household-differs"),
    ],
)
def test_households_that_cannot_be_drawn_as_one_are_refused(tmp_path: Path, how: str, code: str) -> None:
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    data = write_csv(tmp_path / "d.csv", households())
    roles = dict.fromkeys(["HH", "REGION", "AGE"], "untouched")
    with pytest.raises((UsageError, DocumentError)) as caught:
        masktron.mask(data, rules, tmp_path / "m.csv", k=3, roles=roles, pram={"REGION": how})
    assert not code or code_of(caught.value) == code
    assert not (tmp_path / "m.csv").exists()


def test_check_finds_what_was_not_drawn_by_the_law(tmp_path: Path, rules: Path) -> None:
    data, out, manifest = write_csv(tmp_path / "d.csv", ROWS), tmp_path / "m.csv", tmp_path / "m.manifest.json"
    masktron.mask(data, rules, out, **settings())

    def problems(rows: dict[int, dict[str, str]]) -> str:
        other = forged(out, tmp_path / "forged.csv", rows)
        return "; ".join(masktron.check(other, rules, manifest=manifest, original=data).problems)

    assert "those of 1 record cannot be drawn there" in problems({0: {"STATUS": "unknown"}})
    assert "those of 1 record are missing where the original has one" in problems({3: {"STATUS": ""}})
    assert "REGION differs from the original in 1 record" in problems({0: {"REGION": "x"}})
    as_before = {at: {"STATUS": str(row["STATUS"])} for at, row in enumerate(ROWS)}
    assert "0 records have another one than before; " in problems(as_before)
    described = json.loads(manifest.read_text())
    config, (done,) = described["config"], described["treatments"]
    ((field, how),) = config["pram"].items()
    for named, text, why in (
        ({"within": ["NO"]}, "within:NO", "there is no field 'NO'"),
        ({"weight": "NO"}, "", "there is no field 'NO'"),
        ({"household": "NO"}, "household:NO", "there is no field 'NO'"),
        ({"household": "REGION"}, "household:REGION", "3 households of 3 have more than one value of STATUS"),
    ):
        pram = {field: ",".join(filter(None, (how, text)))}  # or treatments that settings do not ask for are refused
        (tmp_path / "e.json").write_text(
            json.dumps({**described, "config": {**config, "pram": pram}, "treatments": [{**done, **named}]})
        )
        found = masktron.check(out, rules, manifest=tmp_path / "e.json", original=data)
        told = f"the values of STATUS cannot have been drawn anew: {why}"
        assert any(one.startswith(told) for one in found.problems)
    young = [at for at, row in enumerate(ROWS) if int(str(row["AGE"])) < 65]
    assert "; one stands in " in problems({at: {"STATUS": "works"} for at in young}).replace("anew, one", "anew; one")


@pytest.mark.full
def test_the_key_of_the_release_repeats_the_draws_whatever_the_workers(tmp_path: Path, rules: Path) -> None:
    data, first = write_csv(tmp_path / "d.csv", ROWS), tmp_path / "m.csv"
    masktron.mask(data, rules, first, **settings())
    key = tmp_path / "m.manifest.json"
    drawn = {}
    for name, more in {
        "same": {"secret": key, "workers": 2},
        "other settings": {"secret": key, "pram": {"STATUS": "change:0.21"}},
        "other key": {},
    }.items():
        masktron.mask(data, rules, tmp_path / f"{name}.csv", **settings(**more))
        drawn[name] = changed(read_rows(tmp_path / f"{name}.csv"), "STATUS")
    assert first.read_bytes() == (tmp_path / "same.csv").read_bytes()
    before = changed(read_rows(first), "STATUS")
    assert before == drawn["same"]
    for name in ("other settings", "other key"):  # unrelated numbers, not the same ones with another bound
        assert len(set(before).intersection(drawn[name])) < 0.6 * len(before)
    again = masktron.rerun(key, data, tmp_path / "r.csv")
    assert again.same_bytes


@pytest.mark.full
def test_recoded_drawn_and_suppressed_together_and_check_ignores_what_is_suppressed(
    tmp_path: Path, rules: Path
) -> None:
    rows = [{**row, "REGION": "x"} if at in (5, 11) else row for at, row in enumerate(ROWS)]
    data, out, manifest = write_csv(tmp_path / "d.csv", rows), tmp_path / "m.csv", tmp_path / "m.manifest.json"
    roles = {"AGE": "quasi-identifier", "STATUS": "quasi-identifier", "REGION": "quasi-identifier"}
    pram = {"REGION": "change:0.1", "STATUS": "change:0.1"}
    result = masktron.mask(
        data, rules, out, **settings(recode={"AGE": "breaks:0,25,65"}, roles=roles, pram=pram, key_k=8)
    )
    assert [one.kind for one in result.treatments][:3] == ["recoding", "pram", "pram"]
    written = read_rows(out)
    assert {row["AGE"] for row in written} <= {"0-24", "25-64", "65+", ""}
    shared = Counter((row["AGE"], row["REGION"], row["STATUS"]) for row in written)
    assert min(shared.values()) >= 8
    assert any(row["REGION"] == "" for row in written)
    assert not [row for row in written if row["STATUS"] == "retired" and row["AGE"] not in ("65+", "")]
    for book in (rules, tmp_path / "m.rules.sch"):
        found = masktron.check(out, book, manifest=manifest, original=data)
        assert found.complies, found.problems
    assert not [one for one in found.not_checked if "drawn" in one]
    young = next(at for at, row in enumerate(written) if row["AGE"] == "25-64" and row["STATUS"] == "works")
    other = forged(out, tmp_path / "forged.csv", {young: {"STATUS": "pensioner"}})
    assert any(
        "cannot be drawn there" in one
        for one in masktron.check(other, rules, manifest=manifest, original=data).problems
    )


@pytest.mark.full
def test_a_matrix_fields_together_strata_and_what_is_missing(tmp_path: Path, rules: Path) -> None:
    rows = [{**row, "REGION": ("", "?", row["REGION"])[at % 9 if at % 9 < 2 else 2]} for at, row in enumerate(ROWS)]
    data = write_data(tmp_path / "d.xml", rows)
    (tmp_path / "m.csv").write_text("\n".join([",n,e,s,w", "n,.7,.3,0,0", "e,.3,.7,0,0", "s,0,0,1,0", "w,0,0,0,1"]))
    out, others = tmp_path / "m.xml", {"AGE": "untouched", "STATUS": "untouched"}
    masktron.mask(
        data, rules, out,
        **settings(pram={"REGION": str(tmp_path / "m.csv")}, missing={"REGION": ["?"]}, roles=others),
    )  # fmt: skip
    moves = Counter((str(was["REGION"]), now["REGION"]) for was, now in zip(rows, read_rows(out), strict=True))
    assert moves["n", "e"] > 5
    assert moves["e", "n"] > 5
    assert {pair for pair in moves if pair[0] != pair[1]} == {("n", "e"), ("e", "n")}
    (tmp_path / "m.csv").unlink()  # the manifest has it
    manifest = tmp_path / "m.manifest.json"
    assert masktron.check(out, rules, manifest=manifest, original=data).complies
    data, out = write_csv(tmp_path / "e.csv", ROWS), tmp_path / "n.csv"
    roles = {"AGE": "untouched"}
    masktron.mask(
        data, rules, out, **settings(pram={"REGION+STATUS": "change:0.1,within:AGE,alone:keep"}, roles=roles)
    )
    for age in set(_AGES.tolist()):
        own = {(row["REGION"], row["STATUS"]) for row in ROWS if row["AGE"] == age}
        assert {(row["REGION"], row["STATUS"]) for row in read_rows(out) if row["AGE"] == str(age)} <= own
    assert masktron.check(out, rules, manifest=tmp_path / "n.manifest.json", original=data).complies


def test_records_that_are_left_out_take_no_part(tmp_path: Path, rules: Path) -> None:
    rows = [{**row, "STATUS": "retired", "AGE": 20} if at == 9 else row for at, row in enumerate(ROWS)]
    data, out = write_csv(tmp_path / "d.csv", rows), tmp_path / "m.csv"
    masktron.mask(data, rules, out, **settings(invalid="exclude", order="random"))
    assert len(read_rows(out)) == N - 1
    assert masktron.check(out, rules, manifest=tmp_path / "m.manifest.json", original=data).complies


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"pram": {"NO": "change:0.1"}}, ""),
        ({"pram": {"A": "change:0.1"}, "roles": {"A": "confidential"}}, ""),
        ({"pram": {"A": "change:0.1"}, "numeric": ["A"]}, ""),
        (
            {"pram": {"AGE": "change:0.1"}, "roles": {**ROLES, "AGE": "record-id"}},
            "",
        ),
        ({"pram": {"STATUS": "change:0.1,within:B"}}, "role-does-not-fit"),
        ({"pram": {"STATUS": "change:0.1,within:C"}}, "unknown-name"),
        ({"pram": {"STATUS": "change:0.1,within:STATUS"}}, "field-not-usable"),
        ({"recode": {"REGION": "width:5"}}, "recoding-needs-numbers"),
        ({"allow_lost": ("no-rule",)}, "unknown-name"),
        ({"pram": {"STATUS": "0.1"}}, "bad-value"),
        ({"pram": {"STATUS": "change:1"}}, "bad-value"),
        ({"pram": {"STATUS": "change:1e-300"}}, "bad-value"),
        ({"pram": {"STATUS": "stay:0.5"}}, "bad-value"),
        ({"pram": {"STATUS": "change:0.1,change:0.2"}}, "bad-value"),
        ({"pram": {"STATUS": "change:0.1,alone:no"}}, "bad-value"),
        ({"pram": {"STATUS": "change:0.9"}}, "pram-share-too-large"),
        ({"pram": {"STATUS": "none.csv"}}, ""),
        ({"pram": {"STATUS": "change:0.1", "STATUS+AGE": "change:0.1"}}, "bad-value"),
        ({"resume": True, "secret": None}, "needs-setting"),
        ({"seed": 7}, "weak-seed"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_for_is_refused(tmp_path: Path, rules: Path, given: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        masktron.mask(write_csv(tmp_path / "d.csv", ROWS), rules, tmp_path / "m.csv", **settings(**given))
    assert not code or code_of(caught.value) == code
    assert not (tmp_path / "m.csv").exists()


@pytest.mark.parametrize("option", ["--out", "--rules-out", "--json", "--html"])
def test_no_output_takes_the_place_of_a_matrix(tmp_path: Path, rules: Path, run: Runner, option: str) -> None:
    matrix = tmp_path / "sex.csv"
    matrix.write_text(",works,school\nworks,.8,.2\nschool,.2,.8\n")
    before = matrix.read_bytes()
    words = ["mask", write_csv(tmp_path / "d.csv", ROWS), "--rules", rules, "-k", 3, "--pram", f"STATUS={matrix}"]
    words += ["--recode", "AGE=width:20", option, matrix]
    ended = run(*words, *([] if option == "--out" else ["--out", tmp_path / "m.csv"]))
    ended.refuses(2, "would-overwrite", taken="the matrix of STATUS")
    assert matrix.read_bytes() == before
    assert not (tmp_path / "m.csv").exists()


def test_where_rules_leave_no_choice_it_is_said_for_how_many(tmp_path: Path) -> None:
    strict = write_rules(
        tmp_path / "s.sch", "B <= A", "(AGE >= 40 and STATUS = 'old') or (AGE < 40 and STATUS = 'young')"
    )
    rows = [{**row, "STATUS": "old" if int(str(row["AGE"])) >= 40 else "young"} for row in ROWS]
    data = write_csv(tmp_path / "d.csv", rows)
    with refused(UsageError, "pram-share-too-large", most=0, where=f"{data}, field STATUS"):
        masktron.mask(data, strict, tmp_path / "m.csv", **settings())
    # together with what governs it, it can be drawn
    roles = {"REGION": "untouched"}
    masktron.mask(data, strict, tmp_path / "m.csv", **settings(pram={"AGE+STATUS": "change:0.2"}, roles=roles))
    assert changed(read_rows(tmp_path / "m.csv"), "AGE")
    # one record alone has a value of its group
    rare = [
        {**row, "STATUS": "retired", "AGE": 65} if at == 0 else {**row, "STATUS": "works", "AGE": 40}
        for at, row in enumerate(ROWS)
    ]
    rare = [{**row, "STATUS": "school"} if at < 200 and at else row for at, row in enumerate(rare)]
    data = write_csv(tmp_path / "e.csv", rare)
    with refused(InfeasibleError, "pram-no-choice", alone=1, records=400):
        masktron.mask(data, write_rules(tmp_path / "t.sch", *RULES), tmp_path / "n.csv", **settings())
    assert not (tmp_path / "n.csv").exists()


def test_a_rule_across_records_that_does_not_hold_any_more_refuses(tmp_path: Path) -> None:
    count = sum(row["STATUS"] == "works" for row in ROWS)
    across = write_rules(tmp_path / "a.sch", "B <= A", f"count(../Record[STATUS = 'works']) = {count}")
    data = write_data(tmp_path / "d.xml", ROWS)
    for _ in range(3):  # by chance the count may be as it was
        try:
            masktron.mask(data, across, tmp_path / "m.xml", **settings())
        except InfeasibleError as error:
            assert (code_of(error), "STATUS" in plain(problem_of(error).references["fields"])) == (
                "steps-break-rules",
                True,
            )
            return
    pytest.fail("three draws kept a count")


def test_options_and_settings_say_the_same(tmp_path: Path, rules: Path, run: Runner) -> None:
    data = write_csv(tmp_path / "d.csv", ROWS)
    (tmp_path / "sex.csv").write_text(",a\na,1\n")
    (tmp_path / "masktron.toml").write_text('[pram]\nSTATUS = "change:0.2"\nSEX = "sex.csv,within:REGION"\n')
    assert load_config(tmp_path / "masktron.toml").pram == {
        "STATUS": "change:0.2", "SEX": f"{tmp_path.as_posix()}/sex.csv,within:REGION"
    }  # fmt: skip
    assert Config(pram=CHANGE).roles == {"STATUS": "quasi-identifier"}
    asked = (data, "--rules", rules, "--out", tmp_path / "m.csv", "-k", 3)
    roles = ("--role", "AGE=untouched", "--role", "REGION=untouched")
    outcome = run("mask", *asked, *roles, "--pram", "STATUS=change:0.2")
    assert outcome.code == 0, outcome.err
    assert "treatment 1, pram of STATUS: change 0.2; 20 % of 400 records expected to change" in outcome.out
    outcome = run("mask", *asked, *roles, "--pram", "STATUS=0.2")
    outcome.refuses(2, "bad-value")
    outcome = run("mask", *asked, *roles, "--pram", "STATUS")
    outcome.refuses(2, "bad-value", expected="of the form FIELD=HOW")
