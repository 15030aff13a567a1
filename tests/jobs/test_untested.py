"""A rule that is asked of nothing holds of nothing: every command says so, and a hard one stops it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import SCHEMATRON, Runner, numbers, write_data, write_rules
from examples import spread
from masktron.errors import RulebookError, UsageError, ViolationError
from masktron.jobs import job as opening
from masktron.jobs.job import Job
from masktron.judge.findings import Evaluation
from masktron.problems.problem import Problem, Rule
from masktron.results import Tested as Counted
from masktron.results import Untested
from masktron.rulebook.schema import Rulebook
from refusals import code_of, plain, refused

ROLES = {"Id": "record-id", "Sex": "untouched"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [{"Id": at, "Sex": at % 2 + 1, **row} for at, row in enumerate(numbers(30))]
    return write_data(tmp_path / "data.xml", rows)


def rulebook(path: Path, *rules: tuple[str, str, str], together: bool = False, extra: str = "") -> Path:
    """Write rules ``(id, context, test)``, each in a pattern of its own or all in one."""
    texts = [
        f'<rule context="{context}"><assert id="{name}" test="{test}">m</assert></rule>'
        for name, context, test in rules
    ]
    body = "".join(texts) if together else "</pattern><pattern>".join(texts)
    path.write_text(f'<schema xmlns="{SCHEMATRON}">{extra}<pattern>{body}</pattern></schema>')
    return path


GOOD = ("good", "Record", "A + B = T")


def untested(data: Path, rules: Path, rule: str, **settings: Any) -> Untested:
    found = next(one for one in masktron.validate(data, rules, **settings).rules if one.id == rule).untested
    assert found is not None
    assert found.problem.references["rule"] == Rule(rule)
    return found


def why(found: Untested) -> dict[str, dict[str, Any]]:
    """Return the references of each reason, by its code."""
    reasons = found.problem.references["reasons"]
    inner = [each for one in reasons for each in one.references.get("reasons", ())]
    return {
        one.code: {name: plain(value) for name, value in one.references.items()}
        for one in (*reasons, *inner)
        if isinstance(one, Problem)
    }


def test_a_misspelt_context_stops_mask_before_it_breaks_the_sum(data: Path, tmp_path: Path, run: Runner) -> None:
    rules = rulebook(tmp_path / "r.sch", ("sum", "record", "A + B = T"), ("age", "Record", "A >= 0"))
    out = tmp_path / "out.xml"
    masking = ("mask", data, "-r", rules, "--out", out, "--role", "Id=record-id", "--nominal", "Sex")
    for command in (masking, ("validate", data, "-r", rules), ("check", data, "-r", rules)):
        outcome = run(*command)
        assert outcome.code == 3
        said = " ".join((outcome.out + outcome.err).split())
        assert f"{rules}:1" in said
        assert "did you mean Record?" in said
        assert "--allow-unfired sum" in said
    assert not out.exists()
    outcome = run(*masking, "--allow-unfired", "sum")
    assert outcome.code == 0
    assert "Rules: green. Every rule that was tested holds" in " ".join(outcome.out.split())
    assert "1 of 2 rules tested; not tested: sum" in outcome.out
    # what the stop has spared: nothing has kept the sum
    rules = write_rules(tmp_path / "sum.sch", "A + B = T")
    assert masktron.validate(out, rules).violations > 0


@pytest.mark.parametrize(
    ("context", "code", "name"),
    spread(
        [
            ("record", "unknown-name", "record"),
            ("RECORD", "unknown-name", "RECORD"),
            ("Record/@Id", "name-differs", "Id"),
            ("/Record", "no-node-matches", None),
            ("Data/T", "no-node-matches", None),
            ("Record[Sexx = 1]", "unknown-name", "Sexx"),
            ("record|rec", "unknown-name", "record"),
            ("Record[Sex = 3]", "no-node-matches", ""),
            ("record|Record[Sex = 3]", "no-node-matches", ""),
            ("comment()", "no-node-matches", ""),
        ],
        every=2,
    ),
)
def test_why_a_context_matches_nothing(data: Path, tmp_path: Path, context: str, code: str, name: str | None) -> None:
    """A name, or a path that leads nowhere, is misspelt; values may be others."""
    rules, misnamed = rulebook(tmp_path / "r.sch", GOOD, ("idle", context, "true()")), name != ""
    found = untested(data, rules, "idle")
    assert why(found)["fires-on-nothing"]["context"] == f"context {context}"
    assert why(found)[code].get("name", "") == (name or "")
    assert found.misnamed is misnamed
    assert masktron.validate(data, rules).exit_code == (3 if misnamed else 1)
    with refused(RulebookError if misnamed else ViolationError, "rule-untested", rule="idle"):
        masktron.mask(data, rules, tmp_path / "out.xml", roles=ROLES)


@pytest.mark.parametrize(
    "context", ["Record", "//Record", "/Data/Record", "Data//A", "*", "/", "/Data", "record | Record", "@*|Record/A"]
)
def test_a_context_that_matches_is_tested(data: Path, tmp_path: Path, context: str) -> None:
    result = masktron.validate(data, rulebook(tmp_path / "r.sch", ("idle", context, "true()")))
    assert result.valid
    assert result.tested == Counted(1, (), ())


def test_names_in_another_namespace(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", numbers(6))
    ns = '<ns prefix="p" uri="urn:p"/>'
    rules = rulebook(tmp_path / "r.sch", GOOD, ("idle", "p:Record", "true()"), extra=ns)
    found = untested(data, rules, "idle")
    differs = {"name": "Record", "there": "in no namespace", "asked": "in the namespace urn:p"}
    assert differs.items() <= why(found)["name-differs"].items()
    assert found.misnamed
    data.write_text(data.read_text().replace("<Data>", '<Data xmlns="urn:p">'))
    found = untested(data, rulebook(tmp_path / "r.sch", GOOD, extra=ns), "good")
    differs = {"name": "Record", "there": "in the namespace urn:p", "asked": "without a prefix"}
    assert differs.items() <= why(found)["name-differs"].items()
    assert 'p:Record, and <ns prefix="p" uri="urn:p"/>' in found.hint
    # the context has its prefix, the fields of the test have none: false or true in silence
    silent = rulebook(tmp_path / "r.sch", ("silent", "p:Record", "not(A &lt; 0)"), extra=ns)
    found = untested(data, silent, "silent")
    assert why(found)["name-differs"]["name"] == "A"
    assert "fires-on-nothing" not in why(found)
    assert found.misnamed
    with refused(RulebookError, "rule-untested", rule="silent"):
        masktron.mask(data, silent, tmp_path / "out.xml")


def test_a_rule_behind_one_that_takes_all_its_nodes(data: Path, tmp_path: Path) -> None:
    wide, narrow = ("wide", "Record[A >= 0]", "true()"), ("narrow", "Record[Sex = 1]", "A >= 0")
    rules = rulebook(tmp_path / "r.sch", ("none", "Record[Sex = 7]", "true()"), wide, narrow, together=True)
    found = untested(data, rules, "narrow")
    assert why(found)["nodes-taken"]["taker"] == "the rule with context Record[A >= 0] in line 1"
    assert not found.misnamed
    assert "no-node-matches" in why(untested(data, rules, "none"))
    halves = (
        ("one", "Record[Sex = 1]", "true()"),
        ("two", "Record[Sex = 2]", "true()"),
        ("rest", "Record", "A >= 0"),
    )
    found = untested(data, rulebook(tmp_path / "r.sch", *halves, together=True), "rest")
    assert why(found)["nodes-taken"]["taker"] == "the earlier rules of its pattern"
    assert masktron.validate(data, rulebook(tmp_path / "r.sch", wide, narrow)).valid


def visiting(path: Path, *rules: str) -> Path:
    path.write_text(f'<schema xmlns="{SCHEMATRON}"><pattern>{"".join(rules)}</pattern></schema>')
    return path


def test_of_a_rule_that_visits_other_nodes_nothing_is_claimed(data: Path, tmp_path: Path) -> None:
    """The context that is evaluated has the conditions of earlier rules in it; users see the one that they wrote."""
    first = '<rule context="Record[Id >= 0]"><assert id="first" test="A + B = T"/></rule>'
    second = '<rule context="Record" visit-each="A"><assert id="second" test=". >= 0"/></rule>'
    rules = visiting(tmp_path / "r.sch", first, second)
    found = untested(data, rules, "second")
    assert why(found)["fires-on-nothing"]["context"] == "context Record, visit-each A"
    assert not found.misnamed
    (_, explained) = masktron.explain(rules, data=data).rules
    assert explained.context == "Record"
    # what an earlier rule asks for in vain is no fault of the one that visits
    first = '<rule context="Record[Nothing = 1]"><assert id="first" test="A + B = T"/></rule>'
    rules = visiting(tmp_path / "r.sch", first, second)
    found = masktron.validate(data, rules).rules
    assert [(rule.untested is None, rule.fired) for rule in found] == [(False, 0), (True, 30)]
    masktron.mask(data, rules, tmp_path / "out.xml", roles=ROLES, allow_unfired=["first"], k=3)
    rules = visiting(
        tmp_path / "r.sch", '<rule context="Record" visit-each="a"><assert id="r" test=". >= 0"/></rule>'
    )
    found = untested(data, rules, "r")
    assert why(found)["fires-on-nothing"]["context"] == "context Record, visit-each a"
    assert why(found)["unknown-name"]["name"] == "a"
    assert found.misnamed


def test_the_part_of_a_phase_is_named(data: Path, tmp_path: Path) -> None:
    rules = tmp_path / "r.sch"
    rules.write_text(
        f'<schema xmlns="{SCHEMATRON}"><phase id="p" from="//Record[Id = 99]"><active pattern="one"/></phase>'
        '<pattern id="one"><rule context="A"><assert id="r" test=". >= 0"/></rule></pattern></schema>'
    )
    reasons = why(untested(data, rules, "r", phase="p"))
    assert reasons["fires-on-nothing"]["context"] == "context A, in the part of the file that the phase takes"


def test_a_field_that_no_record_of_this_release_has_may_be_allowed(data: Path, tmp_path: Path) -> None:
    rules = rulebook(tmp_path / "r.sch", GOOD, ("optional", "Record", "not(Bonus) or Bonus &lt; A"))
    assert masktron.validate(data, rules, allow_unfired=["optional"]).valid
    result = masktron.mask(data, rules, tmp_path / "out.xml", roles=ROLES, allow_unfired=["optional"])
    assert result.valid
    assert result.tested == Counted(2, ("optional",), ())


@pytest.mark.parametrize(
    ("test", "tested"),
    [
        ("every $x in (A, B) satisfies $x instance of element() and number($x) >= 0", True),
        ("(number(A) treat as xs:double) >= 0", True),
        ("map{'low': 1}?low &lt;= number(A) + 1", True),
        ("let $low := 0 return number(A) >= $low", True),
        ("not(matches(Sexx, '[a-z]'))", False),
        ("not(some $x in (Aa, B) satisfies $x instance of xs:integer)", False),
    ],
)
def test_what_is_no_name_of_a_field(data: Path, tmp_path: Path, test: str, tested: bool) -> None:
    rules = rulebook(tmp_path / "r.sch", ("only", "Record", test))
    rules.write_text(rules.read_text().replace("<schema ", '<schema queryBinding="xslt3" '))
    result = masktron.validate(data, rules)
    assert result.violations == 0
    assert (not result.tested.untested) is tested, result.notes


def test_soft_rules_warn(data: Path, tmp_path: Path) -> None:
    rules = rulebook(tmp_path / "r.sch", GOOD, ("idle", "record", "true()"))
    rules.write_text(rules.read_text().replace('id="idle"', 'id="idle" role="warning"'))
    result = masktron.validate(data, rules)
    assert result.valid
    assert any("rule idle" in note and "(soft)" in note for note in result.notes)
    assert masktron.mask(data, rules, tmp_path / "out.xml", roles=ROLES).tested.untested == ("idle",)


def test_what_is_allowed(data: Path, tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = rulebook(tmp_path / "r.sch", GOOD, ("idle", "record", "true()"), ("never", "Record[Sex=3]", "true()"))
    assert run("validate", data, "-r", rules, "--allow-unfired", "idle", "--allow-unfired", "never").code == 0
    assert run("validate", data, "-r", rules, "--allow-unfired", "*").code == 0
    assert run("validate", data, "-r", rules, "--allow-unfired", "idle").code == 1
    outcome = run("validate", data, "-r", rules, "--allow-unfired", "idel")
    outcome.refuses(2, "unknown-name", name="idel")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "masktron.toml").write_text('allow_unfired = ["idle", "never"]\n')
    assert run("validate", data, "-r", rules).code == 0
    assert run("check", data, "-r", rules, "--config", "masktron.toml").code == 0
    with pytest.raises(UsageError, match="allow_unfired must be a list of rule ids"):
        masktron.validate(data, rules, allow_unfired="idle")


def test_what_masking_empties_is_said_and_known_to_check(tmp_path: Path) -> None:
    # one record in another range: a group's mean leaves it
    rows = [{"Id": at, "A": 1 if at else 90, "B": at} for at in range(12)]
    data = write_data(tmp_path / "d.xml", rows)
    rules = rulebook(tmp_path / "r.sch", ("old", "Record[A > 80]", "B >= 0"), ("b", "Record", "B >= 0"))
    out = tmp_path / "out.xml"
    result = masktron.mask(data, rules, out, roles={"Id": "record-id"}, numeric=["A"], k=3)
    assert result.valid
    assert result.tested.untested == ("old",)
    assert any("rule old" in note and "1 node of the original" in note for note in result.notes)
    manifest = tmp_path / "out.manifest.json"
    checked = masktron.check(out, rules, original=data, manifest=manifest)
    assert checked.complies
    assert any("rule old" in line for line in checked.not_checked)
    assert masktron.check(out, rules).exit_code == 1
    rules.write_text(rules.read_text() + "<!-- another -->")
    assert not masktron.check(out, rules, original=data, manifest=manifest).complies


@pytest.mark.full
def test_the_figures_of_a_rulebook(data: Path, tmp_path: Path) -> None:
    rules = rulebook(
        tmp_path / "r.sch",
        GOOD,
        ("rare", "Record[Id &lt; 4]", "A >= 0"),
        ("five", "Record[Id &lt; 5]", "A >= 0"),
        ("root", "/Data", "count(Record) > 1"),
        ("top", "/", "Data"),
        ("none", "Record[Id &lt; 0]", "A >= 0"),
    )
    tested = masktron.validate(data, rules, allow_unfired=["none"]).tested
    assert str(tested) == "5 of 6 rules tested, 1 of them on fewer than 5 records: rare; not tested: none"
    assert tested.as_dict() == {"rules": 6, "tested": 5, "untested": ["none"], "few": ["rare"]}
    explained = masktron.explain(rules, data, roles=ROLES)
    assert explained.tested == tested
    assert "5 of 6 rules tested" in repr(explained)
    assert code_of(str(explained.obstacle)) == "rule-untested"
    assert masktron.explain(rules, data, roles=ROLES, allow_unfired=["none"]).obstacle is None
    few = write_data(tmp_path / "few.xml", numbers(3))
    assert masktron.validate(few, write_rules(tmp_path / "few.sch", "A >= 0")).tested == Counted(1, (), ())


def test_rules_of_other_phases_are_not_in_play(data: Path, tmp_path: Path) -> None:
    rules = rulebook(tmp_path / "r.sch", GOOD, ("idle", "record", "true()"))
    text = rules.read_text().replace(
        "<pattern>", '<phase id="p"><active pattern="one"/></phase><pattern id="one">', 1
    )
    rules.write_text(text)
    assert masktron.validate(data, rules).exit_code == 3
    assert masktron.validate(data, rules, phase="p").tested == Counted(1, (), ())


def test_records_that_are_not_flat(tmp_path: Path) -> None:
    data = tmp_path / "d.xml"
    data.write_text("<Data><Rec><Person><Age>3</Age></Person></Rec><Rec><Person><Age>4</Age></Person></Rec></Data>")
    rules = rulebook(
        tmp_path / "r.sch",
        ("deep", "Person", "Age > 0"),
        ("path", "Rec", "Person/Age > 0"),
        ("wrong", "Rec/Age", "true()"),
        ("typo", "Rec", "not(Person/Agee &lt; 0)"),
    )
    result = masktron.validate(data, rules)
    assert result.tested.untested == ("wrong", "typo")
    assert "no-node-matches" in why(untested(data, rules, "wrong"))
    assert "did you mean Age?" in untested(data, rules, "typo").hint


def test_all_misspelt_names_of_a_rulebook_are_told_at_once(data: Path, tmp_path: Path, run: Runner) -> None:
    rules = rulebook(
        tmp_path / "r.sch",
        GOOD,
        ("both", "Record", "Aa &lt; 0 and Sexx = 1 and A &lt; 9"),
        ("one", "Record", "Bb &lt; 5"),
        ("where", "Recrd[@Idd and Sexy]", "Aa = 1"),
    )
    told = ("Aa and Sexx", "A?; did you mean Sex?", "Bb", "'Recrd'", "'Idd'", "'Sexy'", "--allow-unfired where")
    given = ("--role", "Id=record-id", "--nominal", "Sex")
    for code, words in (
        (3, ("validate", data, "-r", rules)),
        (3, ("check", data, "-r", rules)),
        (3, ("mask", data, "-r", rules, "--out", tmp_path / "out.xml", *given)),
        (0, ("explain", rules, "--data", data, *given)),
    ):
        outcome = run(*words)
        assert outcome.code == code, outcome
        said = " ".join((outcome.out + outcome.err).split())
        assert [line for line in told if line not in said] == [], words
        assert "the file has no field" not in said, "nothing is told twice"
        places = [said.index(f"rule {name} ") for name in ("both", "one", "where")]
        assert places == sorted(places)
    assert not (tmp_path / "out.xml").exists()


def test_reports_say_it(data: Path, tmp_path: Path, run: Runner) -> None:
    rules = rulebook(tmp_path / "r.sch", GOOD, ("idle", "record", "true()"))
    junit, result = tmp_path / "j.xml", tmp_path / "r.json"
    assert run("validate", data, "-r", rules, "--junit", junit, "--json", result, "--release-safe").code == 3
    assert 'failures="1" errors="0" skipped="0"' in junit.read_text()
    assert '<failure type="not-tested" message="rule idle' in junit.read_text()
    content = json.loads(result.read_text())
    assert not content["valid"]
    assert content["tested"] == {"rules": 2, "tested": 1, "untested": ["idle"], "few": []}
    untested = content["rules"][1]["untested"]
    assert (untested["misnamed"], untested["allowed"]) == (True, False)
    assert content["rules"][0]["untested"] is None


@pytest.mark.parametrize("binding", ["", ' queryBinding="xslt2"'])
def test_slips_of_other_languages_are_told_with_the_rule(data: Path, tmp_path: Path, binding: str) -> None:
    rules = rulebook(tmp_path / "r.sch", GOOD, ("slip", "Record", "A == B"))
    rules.write_text(rules.read_text().replace("<schema", f"<schema{binding}"))
    with refused(RulebookError, "xpath-error", where=f"{rules}:1, rule slip", reason="xpath-slip"):
        masktron.validate(data, rules)


def test_a_condition_that_no_record_satisfies(tmp_path: Path) -> None:
    rows = [{"Sex": f"0{at % 2 + 1}", **row} for at, row in enumerate(numbers(12))]
    data = write_data(tmp_path / "d.xml", rows)
    rules = rulebook(
        tmp_path / "r.sch",
        ("quoted", "Record", "not(Sex = '1') or A + B = T + 1"),
        ("fine", "Record", "not(Sex = '01') or A + B = T"),
        ("number", "Record", "not(Sex = 1) or A + B = T"),
        ("plain", "Record", "A + B = T"),
    )
    result = masktron.validate(data, rules)
    assert result.valid
    told = [note for note in result.notes if "satisfies its IF" in note]
    assert len(told) == 1
    assert told[0].startswith(f"{rules}:1: the rule 'quoted' fires, but no record satisfies its IF")
    assert "'1' is not '01'" in told[0]


def test_looking_for_a_reason_grows_with_the_rules_and_not_with_their_pairs(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty contexts of one pattern that nobody satisfies: each is evaluated alone, and behind no other."""
    contexts = [("good", "Record[A]", "A + B = T"), *((f"c{i}", f"Record[Sex = {i + 5}]", "A") for i in range(40))]
    rules = rulebook(tmp_path / "r.sch", *contexts, together=True)
    evaluated: list[int] = []
    real = Job.evaluate

    def counted(job: Job, *arguments: Any, **options: Any) -> Evaluation:
        evaluated.append(len(job.rulebook.patterns))
        return real(job, *arguments, **options)

    monkeypatch.setattr(Job, "evaluate", counted)
    result = masktron.validate(data, rules, allow_unfired=["*"])
    assert len(result.tested.untested) == 40
    assert evaluated == [1, 40]


def soft_rule(path: Path, extra: str = "") -> Path:
    """Write a rulebook with one soft rule on a misspelt field."""
    rule = '<rule context="Record"><assert id="soft" role="warning" test="Aa > 3">m</assert></rule>'
    path.write_text(
        f'<schema xmlns="{SCHEMATRON}"><pattern>{rule}</pattern>{extra}</schema>'.replace("> 3", "&gt; 3")
    )
    return path


def test_a_check_that_tests_no_rule_proves_nothing(data: Path, tmp_path: Path, run: Runner) -> None:
    rules = soft_rule(tmp_path / "r.sch")
    outcome = run("check", data, "-r", rules)
    assert outcome.code == 1
    assert "no rule was tested" in outcome.out
    assert "0 of 1 rule tested; not tested: soft" in outcome.out
    # the same where the other rule lacks its document, which may be so
    reading = "<assert id='nace' test=\"A = document('nace.xml')//c\">m</assert>"
    soft_rule(rules, f'<pattern><rule context="Record">{reading}</rule></pattern>')
    result = masktron.check(data, rules, allow_unfired=["nace"])
    assert not result.complies
    assert any("no rule was tested" in problem for problem in result.problems)
    # every rule of the rulebook counts, also one that nobody could evaluate
    assert str(result.tested) == "0 of 2 rules tested; not tested: soft, nace"
    assert result.as_dict()["tested"]["rules"] == 2


def test_a_misspelt_minus_is_told_once_and_how_to_write_it(data: Path, tmp_path: Path, run: Runner) -> None:
    rules = write_rules(tmp_path / "r.sch", "number(T-A) = B", "Aa > 3 and Bb > 3")
    text = "write T - A with blanks"
    for words in (("validate", data, "-r", rules), ("check", data, "-r", rules), ("explain", rules, "--data", data)):
        said = " ".join(run(*words).out.split())
        assert text in said
        assert "T-A is one name" not in said
        assert "Aa and Bb" in said
        assert "the file has no field" not in said, "and no field is told twice"
    outcome = run("mask", data, "-r", rules, "-o", tmp_path / "out.xml", "--role", "Id=record-id", "--nominal", "Sex")
    assert (outcome.code, text in outcome.err) == (3, True)
    # every problem that would stop `mask` has a line of its own
    lines = run("explain", rules, "--data", data).out.split("mask would stop:")[1].strip().split("\n")
    assert [line.strip().startswith("rule R2") for line in lines] == [False, True, False]


def test_without_records_nothing_is_said_of_fields_and_engines(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "e.xml").write_text("<Data></Data>")
    rules = write_rules(tmp_path / "r.sch", "A + B = T", "T-A >= 0")
    for command in ("validate", "check"):
        outcome = run(command, tmp_path / "e.xml", "-r", rules, "--record", "Record", "--allow-empty")
        assert outcome.code == 0
        assert "no field" not in outcome.out
        assert "one name" not in outcome.out
        assert "0 records, for" not in outcome.out


def test_soft_rules_are_told_apart(data: Path, tmp_path: Path, run: Runner) -> None:
    checks = (
        '<assert id="hard" test="A &lt; 0">m</assert><assert id="idle" test="Nope = 1">m</assert>'
        '<report id="soft" flag="info" test="A &lt; 5000">m</report>'
    )
    rules = tmp_path / "r.sch"
    rules.write_text(
        f'<schema xmlns="{SCHEMATRON}"><pattern><rule context="Record">{checks}</rule></pattern></schema>'
    )
    assert "not tested: idle; 30 warnings of soft rules" in run("validate", data, "-r", rules).out
    assert "violations, 30 warnings of soft rules; does not comply" in run("check", data, "-r", rules).out
    assert "no record satisfies all of hard, soft (soft)" in run("explain", rules).out


def test_what_an_untested_rule_finds_is_in_no_count(data: Path, tmp_path: Path, run: Runner) -> None:
    rules = rulebook(tmp_path / "r.sch", GOOD, ("bad", "Record", "0.4 * Tt &gt;= A"))
    report = tmp_path / "report.json"
    run("validate", data, "-r", rules, "--json", report)
    validated = json.loads(report.read_text())
    checked = masktron.check(data, rules)
    explained = masktron.explain(rules, data)
    for found in (validated, checked.as_dict()):
        assert (found["violations"], [rule["failed"] for rule in found["rules"]]) == (0, [0, None])
    assert [rule.failed for rule in explained.rules] == [0, None]
    assert any(said.endswith("for 1 of 2 rules") for said in checked.checked)
    # the table of `explain` shows it as that of `validate` does
    row = next(line for line in run("explain", rules, "--data", data).out.splitlines() if line.startswith("bad "))
    assert row.split()[-2] == "-"
    # somebody who says that it may be so hears of it
    allowed = masktron.check(data, rules, allow_unfired=["bad"])
    assert (allowed.violations, allowed.complies) == (30, False)


def test_a_threshold_admits_nothing_of_an_untested_rule(data: Path, tmp_path: Path) -> None:
    rules = soft_rule(tmp_path / "r.sch")
    found = masktron.validate(data, rules, max_failures={"soft": "100%"})
    (soft,) = [rule for rule in found.rules if rule.untested]
    assert (soft.failed, soft.passes, found.warnings) == (None, False, 0)


NESTED = (
    "<S>"
    + "".join(
        f"<H><Id>{at}</Id><Total>{at + 3}</Total><Size>2</Size><P n='1'><Age>{20 + at % 9}</Age><Pay>{at}</Pay></P>"
        f"<P n='2'><Age>{30 + at % 7}</Age><Pay>3</Pay></P></H>"
        for at in range(12)
    )
    + "</S>"
)


@pytest.mark.parametrize(
    ("context", "test", "name", "level", "hint"),
    [
        ("P", "not(Agee &gt; 99)", "Agee", "record", "did you mean Age?"),
        ("P", "not(@m = 3)", "@m", "record", "known: n"),
        ("H", "not(Pay &lt; 0)", "Pay", "H", "write P/Pay, or give the rule the context P"),
        ("P", "not(Total &lt; 0)", "Total", "P", "write ../Total, or give the rule"),
        ("P", "not(../Pay &lt; 0)", "Pay", "H", "write P/Pay"),
        ("H", "not(sum(P/Total) &gt; Total)", "Total", "P", "write ../Total"),
        ("H", "not(P[Size = 3]/Age &gt; 99)", "Size", "P", "write ../Size"),
        ("P[Size = 2]", "Age &gt; 0", "Size", "P", "write ../Size"),
    ],
)
def test_a_name_that_a_level_of_a_nested_file_does_not_have_is_not_tested(
    tmp_path: Path, context: str, test: str, name: str, level: str, hint: str
) -> None:
    data = tmp_path / "data.xml"
    rules = rulebook(tmp_path / "r.sch", ("good", "P", "Age &gt; 0"), ("bad", context, test))
    data.write_text(NESTED)
    assert masktron.validate(data, rules).exit_code == 3
    found = untested(data, rules, "bad")
    assert why(found)["reads-unknown"] == {"names": (name,), "level": level}
    assert hint in found.hint
    with refused(RulebookError, "rule-untested", rule="bad"):
        masktron.mask(data, rules, tmp_path / "out.xml", k=3, roles={"Id": "record-id"})
    assert not (tmp_path / "out.xml").exists()


@pytest.mark.parametrize(
    ("context", "test"),
    [
        ("H", "not(*/Pay &lt; 0)"),
        ("H", "not(.//Pay &lt; 0)"),
        ("*[Pay]", "not(Pay &lt; 0)"),
        ("H | P", "not(Pay &lt; 0)"),
        ("P", "not(ancestor::*/Total &lt; 0)"),
        ("H/*", "not(@n = 3)"),
        ("P", "../Total &gt;= 0 and ../P/Age &gt; 0"),
    ],
)
def test_a_name_that_some_level_has_where_it_is_asked_for_is_tested(tmp_path: Path, context: str, test: str) -> None:
    data, rules = tmp_path / "data.xml", rulebook(tmp_path / "r.sch", ("ok", context, test))
    data.write_text(NESTED)
    result = masktron.validate(data, rules)
    assert [one.untested for one in result.rules] == [None]


def test_a_wrong_level_is_told_of_the_masked_file_too_and_a_removed_field_is_not(tmp_path: Path) -> None:
    data, out = tmp_path / "data.xml", tmp_path / "out.xml"
    data.write_text(NESTED)
    good = rulebook(tmp_path / "good.sch", ("age", "P", "Age &gt; 0"), ("n", "P", "not(@n = 3)"))
    masktron.mask(
        data, good, out, k=3, roles={"Id": "identifier", "@n": "identifier", "Age": "untouched"}, numeric=["Size"]
    )
    assert masktron.check(out, good, original=data).exit_code == 0
    bad = rulebook(tmp_path / "bad.sch", ("age", "P", "Age &gt; 0"), ("pay", "H", "not(Pay &lt; 0)"))
    for manifest in (None, tmp_path / "out.manifest.json"):
        found = masktron.check(out, bad, original=data, manifest=manifest)
        assert [one.id for one in found.rules if one.untested is not None] == ["pay"]
        assert found.exit_code == 3


@pytest.mark.parametrize("test", ["100 * A / B &lt; 5", "A/B = 1", "A = 1 or (B div 2) = A/B"])
def test_a_field_inside_a_field_was_meant_as_a_division(data: Path, tmp_path: Path, test: str) -> None:
    rules = rulebook(tmp_path / "r.sch", GOOD, ("share", "Record", test))
    found = untested(data, rules, "share")
    assert found.misnamed
    assert why(found)["reads-unknown"]["names"] == ("A/B",)
    assert "write A div B to divide" in found.hint


@pytest.mark.parametrize("test", ["../Record/A &gt; 0", "//Record/A or A", "A/text() or A = 0", "not(A/self::B)"])
def test_other_paths_are_no_divisions(data: Path, tmp_path: Path, test: str) -> None:
    rules = rulebook(tmp_path / "r.sch", ("share", "Record", test))
    assert masktron.validate(data, rules).rules[0].untested is None


def test_a_text_without_quotes_is_told_from_a_misspelt_field(data: Path, tmp_path: Path) -> None:
    rules = rulebook(tmp_path / "r.sch", ("text", "Record", "A = North or B = 1"), ("field", "Record", "A + Bb = T"))
    assert "write 'North' if it is a text" in untested(data, rules, "text").hint
    assert "a text" not in untested(data, rules, "field").hint


def test_plain_rules_on_a_field_that_was_left_out_can_be_allowed(tmp_path: Path) -> None:
    """Who receives a file without its identifiers has the rules that read them, in plain text as in Schematron."""
    data, rules = tmp_path / "d.csv", tmp_path / "rules.txt"
    data.write_text("a,b\n1,2\n2,3\n")
    rules.write_text('a < b\nname != "" | a > 0\n')
    with pytest.raises(RulebookError) as raised:
        masktron.validate(data, rules)
    assert 'allow_unfired=["V2"]' in str(raised.value)
    for loose in ("V2", "*"):
        for judge in (masktron.validate, masktron.check):
            result = judge(data, rules, allow_unfired=[loose])
            assert [rule.untested is not None for rule in result.rules] == [False, True]
        assert masktron.validate(data, rules, allow_unfired=[loose]).valid
    with pytest.raises(RulebookError):
        masktron.validate(data, rules, allow_unfired=["V1"])


def test_a_misspelt_field_of_a_rule_across_records_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tests nothing, and to find that out in a whole document may take hours."""
    asked: list[str] = []
    real = opening.verdicts

    def looking(rulebook: Rulebook, *given: Any, **options: Any) -> Any:
        asked.extend(check.test for check in rulebook.checks)
        return real(rulebook, *given, **options)

    monkeypatch.setattr(opening, "verdicts", looking)
    monkeypatch.setattr("masktron.jobs.common._WORTH", 0)
    data = write_data(tmp_path / "d.xml", [{"A": at, "B": at} for at in range(9)])
    rules = write_rules(tmp_path / "r.sch", "sum(preceding-sibling::Record/C) = 0", "A = B")
    result = masktron.validate(data, rules)
    assert asked == ["true()", "A = B"]
    assert [rule.untested is not None for rule in result.rules] == [True, False]
    assert not [note for note in result.notes if "looks through" in str(note)]
