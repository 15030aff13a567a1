"""Rules of a file in another language: the same verdicts on files, what has no spelling, and what a command says."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
import yaml
from lxml import etree

import masktron
from cli_runner import Runner
from masktron.errors import RulebookError, UsageError
from masktron.jobs.rules import run_rules
from masktron.jobs.rules_written import run_rules_written
from masktron.rulebook_text.rule_changes import without
from paths import ROOT
from refusals import refused
from schema_files import conforms

PLAIN = """\
income_sum: wage + other == income  # wage and other income add up to income
age_range: age in 16..110
warn soft: hours <= 80
minors: if age < 16 then status in {"pupil", "none"}
tax: abs(tax - 0.2 * income) <= 0.5
share: wage / income <= 1
"""
DATA = """\
wage,other,income,age,hours,status,tax
10,5,15,20,40,none,3
10,5,16,12,90,worker,3.2
,5,16,12,,pupil,
0,0,0,120,80,,0
x,1,,15,,none,1
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "edits.rules"
    path.write_text(PLAIN, encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    path.write_text(DATA, encoding="utf-8")
    return path


def failed(data: Path, rules: Path, original: Path | None = None) -> dict[str, int | None]:
    result = masktron.validate(data, rules, original=original)
    return {rule.id: rule.failed for rule in result.rules}


def test_plain_rules_and_their_schematron_have_the_same_verdicts(rules: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "edits.sch"
    result = run_rules_written(rules, "schematron", data, out)
    assert not result.losses
    assert failed(data, out) == failed(data, rules)
    again = tmp_path / "again.rules"
    run_rules_written(out, "plain", data, again)
    assert again.read_text(encoding="utf-8").splitlines()[1:] == PLAIN.splitlines()


def damaged(data: Path, out: Path) -> Path:
    """Write a file in which values are wrong or lacking, so that rules fail."""
    tree = etree.parse(data)
    random = Random(3)
    for one in [*tree.iter(etree.Element)]:
        if len(one) or one.text is None or random.random() > 0.1:
            continue
        if random.random() < 0.5:
            one.getparent().remove(one)
        else:
            one.text = random.choice(("0", "-5", "123456", "x"))
    tree.write(out)
    return out


@pytest.mark.parametrize("name", ["household", "persons", "business", "establishments"])
def test_our_rulebooks_have_the_same_verdicts_in_plain_text(name: str, tmp_path: Path) -> None:
    original, out = ROOT / "sample_xml" / f"{name}.xml", tmp_path / "edits.rules"
    rulebook = ROOT / "rules" / f"{name}.sch"
    result = run_rules_written(rulebook, "plain", original, out)
    before, after = failed(original, rulebook, original), failed(original, out)
    assert after == {name: before[name] for name in after}
    assert len(after) + len(result.losses) == len(before)
    data = damaged(original, tmp_path / "damaged.xml")
    before, after = failed(data, rulebook, original), failed(data, out)
    differing = {name for name in after if after[name] != before[name]}
    told = {note.partition(":")[0] for note in result.notes}
    assert differing <= told
    assert sum(bool(count) for count in after.values()) > len(after) / 2


def test_validate_reads_what_is_written_for_it(rules: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "edits.yaml"
    run_rules_written(rules, "validate-yaml", None, out)
    content = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert content["options"] == {"lin.eq.eps": 0, "lin.ineq.eps": 0}
    assert content["rules"][0] == {
        "expr": "wage + other == income",
        "name": "income_sum",
        "label": "wage and other income add up to income",
    }
    assert content["rules"][2]["meta"] == {"severity": "warning"}
    assert failed(data, out) == failed(data, rules)


def test_tolerances_of_validate_are_written_out(tmp_path: Path) -> None:
    rules = tmp_path / "edits.yaml"
    rules.write_text("rules:\n- expr: a + b == c\n  name: total\n", encoding="utf-8")
    text = run_rules_written(rules, "plain").text
    assert "total: abs(a + b - c) <= " in text


def test_what_has_no_spelling_is_said_with_its_reason(tmp_path: Path) -> None:
    rules = tmp_path / "edits.rules"
    rules.write_text("before: lag(a) <= a\nafter: a >= 0\n", encoding="utf-8")
    result = run_rules_written(rules, "validate-yaml")
    (loss,) = result.losses
    assert loss.startswith("before (line 1): ")
    assert f"# not carried over: {loss}" in result.text
    assert [one["name"] for one in yaml.safe_load(result.text)["rules"]] == ["after"]


def test_the_command_prints_rules_or_writes_them(run: Runner, rules: Path, tmp_path: Path) -> None:
    told_of = run("rules", rules, "--to", "plain")
    assert told_of.code == 0
    assert told_of.out.splitlines()[1:] == PLAIN.splitlines()
    out, told = tmp_path / "edits.sch", tmp_path / "told.json"
    told_of = run("rules", rules, "--to", "schematron", "--out", out, "--json", told)
    assert told_of.code == 0
    assert f"written: {out}" in told_of.out.replace("\n", "")
    conforms(json.loads(told.read_text(encoding="utf-8")), "rules")


def test_plain_rules_are_listed_and_changed_in_an_editor(rules: Path) -> None:
    found = run_rules(rules).rules
    assert [(one.number, one.id, one.kind, one.line, one.soft) for one in found][2] == (3, "soft", "plain", 3, True)
    assert found[0].test == "wage + other == income"
    with refused(RulebookError, "not-in-place"):
        run_rules(rules, lambda read: without(read, "soft"))
    assert rules.read_text(encoding="utf-8") == PLAIN


def test_schematron_is_not_written_as_schematron() -> None:
    with refused(UsageError, "setting-not-usable"):
        run_rules_written(ROOT / "rules" / "eia.sch", "schematron")


def test_explain_shows_plain_rules_as_they_are_written(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "d.csv").write_text("form,region,wage,total\nLTD,a,1,3\nSOLE,a,2,3\n", encoding="utf-8")
    (tmp_path / "edits.rules").write_text(
        'forms: form in {"LTD", "SOLE"}\nsums: sum(wage) by region == total\n', encoding="utf-8"
    )
    said = " ".join(run("explain", tmp_path / "edits.rules", "--data", tmp_path / "d.csv").out.split())
    assert "form one of LTD, SOLE or nothing" in said
    assert "sums: it sums or averages over the file: sum(wage) by region == total" in said


@pytest.mark.parametrize("rule", ["info a: x > 1", "warn a: x > 1", "a: count(x) > 1", "a: x in {1, 3..5}"])
def test_what_is_written_for_r_is_read_again(rule: str, tmp_path: Path) -> None:
    edits, again, data = (tmp_path / name for name in ("edits.rules", "rules.yaml", "d.csv"))
    edits.write_text(rule, encoding="utf-8")
    data.write_text("x\n1\n2\n3\n", encoding="utf-8")
    assert not run_rules_written(edits, "validate-yaml", out=again).losses
    one, two = (masktron.validate(data, rules).rules[0] for rules in (edits, again))
    assert (one.fired, one.failed, one.soft) == (two.fired, two.failed, two.soft)


def test_what_r_counts_otherwise_is_not_written_for_it(tmp_path: Path) -> None:
    edits = tmp_path / "edits.rules"
    edits.write_text("u: is_unique(x)", encoding="utf-8")
    (loss,) = run_rules_written(edits, "validate-yaml").losses
    assert "missing values are the same" in loss


def test_rules_get_names_of_their_own(tmp_path: Path) -> None:
    rules, back = tmp_path / "rules.sch", tmp_path / "back.rules"
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
        '<assert id="R_1" test="a &gt; 1">x</assert><assert id="R 1" test="a &gt; 2" flag="info">y</assert>'
        "</rule></pattern></schema>",
        encoding="utf-8",
    )
    text = run_rules_written(rules, "plain", out=back).text
    assert "R_1: " in text
    assert "info R-1: " in text


@pytest.mark.parametrize(
    "test", ["number(z) = number(z) or not(number(b) = number(b))", "z = z or count(b) &gt; 3", "z = z or z = 1"]
)
def test_a_test_like_ours_is_not_taken_for_it(test: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.sch"
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
        f'<assert id="a" test="{test}">x</assert></rule></pattern></schema>',
        encoding="utf-8",
    )
    assert "a: TRUE" not in run_rules_written(rules, "plain").text
