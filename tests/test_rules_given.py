"""Rules in a file of settings: what they mean, where errors stand, who takes them, and what a manifest keeps."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from random import Random

import pytest

import masktron
from cli_runner import Runner
from masktron.errors import MasktronError, RulebookError, UsageError
from masktron.jobs.rulebooks import plain_rules
from masktron.rules_given import GivenRules, rules_hash, rules_in, table_of
from masktron.settings_file import load_config, rules_of_settings, toml_of
from refusals import problem_of, refused
from schema_files import conforms

SETTINGS = """\
# what the survey asks
k = 3
missing = ["NA"]

[roles]
id = "identifier"
region = "quasi-identifier"

[rules]   # of the questionnaire
income_sum = "wage + other == income"   # the parts are the total
age_range = "age in 16..110"
"warn long" = 'hours <= 60'
parts = ":= var_group(wage, other)"
positive = '''
  parts >=
  0
'''
options_of = "region in {\\"A\\", \\"B\\", 'C'}"
"""
PLAIN = """\
income_sum: wage + other == income   # the parts are the total
age_range: age in 16..110
warn long: hours <= 60
parts := var_group(wage, other)
positive: parts >= 0
options_of: region in {"A", "B", 'C'}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with a survey and its settings."""
    random, rows = Random(1), ["id,region,wage,other,income,age,hours"]
    for at in range(60):
        wage, other = random.randint(1, 90), random.randint(0, 40)
        age, hours = random.randint(16, 80), random.randint(5, 70)
        rows.append(f"{at},{random.choice('ABC')},{wage},{other},{wage + other},{age},{hours}")
    (tmp_path / "d.csv").write_text("\n".join([*rows, ""]))
    (tmp_path / "masktron.toml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def given(text: str) -> GivenRules:
    found = rules_in(toml_of(text, "s.toml").get("rules", {}), text, "s.toml")
    assert found is not None
    return found


def test_they_mean_what_a_file_of_rules_means(folder: Path) -> None:
    (folder / "edits.rules").write_text(PLAIN)
    found, expected = plain_rules(rules_of_settings(Path("masktron.toml"))), plain_rules(Path("edits.rules"))
    for one, other in zip(found.rules, expected.rules, strict=True):
        assert (one.name, one.node, one.label, one.severity, one.written) == (
            other.name, other.node, other.label, other.severity, other.written,
        )  # fmt: skip
    assert [one.line for one in found.rules] == [10, 11, 12, 14, 14, 18]


SPELLED = {
    "basic": '{name} = "{rule}"',
    "literal": "{name} = '{rule}'",
    "crowded": '{name}="{rule}"',
    "indented": '  {name}  =  "{rule}"  # zzz',
    "several lines": '{name} = """\n  wage\n  + {rule}"""',
    "their own lines": "{name} = '''\n{rule}\n'''",
    "quoted": '"warn {name}" = "{rule}"',
    "escapes": r'{name} = "if region == \"A\\t\" then {rule}"',
    "after zzz": '{name} = "wage > 0 or zzz_not > 0 or {rule}"',
}


@pytest.mark.parametrize("spelling", SPELLED)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_an_error_stands_where_it_is_in_the_file(folder: Path, spelling: str, ends: str) -> None:
    rule = SPELLED[spelling].format(name="age_range", rule="zzz + 1 <= 2")
    text = f"k = 3\n[rules]\nfirst = 'age > 0'\n{rule}\nk = 'k > 0'\n"
    (folder / "masktron.toml").write_bytes(text.replace("\n", ends).encode())
    at = text.index("zzz_not" if "zzz_not" in text else "zzz +")
    with pytest.raises(RulebookError) as caught:
        masktron.validate("d.csv", "masktron.toml")
    (first, *_) = caught.value.problem.references.get("problems", (caught.value.problem,))
    assert (first.code, first.references["name"].name) == ("unknown-name", text[at:].split(maxsplit=1)[0])
    place = first.place
    assert (place.source, place.line) == ("masktron.toml", text.count("\n", 0, at) + 1)
    assert place.column == at - text.rfind("\n", 0, at)
    assert place.rule.name == "age_range"


REFUSED = {
    "no-table": ('rules = "edits.rules"', "rules-no-table", {"where": "s.toml:1"}),
    "list": ("k = 3\n[[rules]]\na = 'x > 1'", "rules-no-table", {"where": "s.toml:2"}),
    "number": ("[rules]\na = 'x > 1'\nb = 3", "bad-value", {"where": "s.toml:3", "name": "rules.b", "given": "3"}),
    "dotted": ("[rules]\na.b = 'x > 1'", "bad-value", {"where": "s.toml:2", "name": "rules.a", "given": "a table"}),
    "misspelt table": ("[rules]\na = 'x > 1'\n[rules.option]\nmissing = 'fails'", "bad-value", {"where": "s.toml:3"}),
    "name": ("[rules]\n'a b' = 'x > 1'", "plain-name", {"where": "s.toml:2", "name": "a b"}),
    "no name": ("[rules]\n'' = 'x > 1'", "plain-name", {"where": "s.toml:2", "name": ""}),
    "severity": ("[rules]\n'soft a' = 'x > 1'", "plain-name", {"where": "s.toml:2", "name": "soft a"}),
    "definition": ("[rules]\n'warn a' = ':= x'", "plain-name", {"where": "s.toml:2", "name": "warn a"}),
    "option": (
        "[rules]\na = 'x > 1'\n[rules.options]\nmising = 'fails'", "unknown-name",
        {"where": "s.toml:4", "name": "rules.options.mising", "known": ("missing",)},
    ),
    "value": (
        "[rules]\na = 'x > 1'\noptions = {missing = 'fail'}", "bad-value",
        {"where": "s.toml:3", "name": "rules.options.missing", "given": "'fail'"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_of_rules_is_refused_with_its_line(case: str) -> None:
    text, code, named = REFUSED[case]
    with refused(UsageError, code, **named):
        given(text)


def test_all_that_is_wrong_is_told_at_once(folder: Path, run: Runner) -> None:
    (folder / "masktron.toml").write_text('[rules]\na = 3\n"b c" = "age > 3"\nd = "age > 3"\n')
    run("validate", "d.csv").refuses(2, "plain-several", count=2)
    (folder / "masktron.toml").write_text('[rules]\na = "age im 16..110"\nb = "age > 3"\n"warn b" = "(age > 4"\n')
    outcome = run("validate", "d.csv")
    assert "masktron.toml:2:10, rule a: age and im stand beside each other" in outcome.err
    assert "masktron.toml:4:13, rule b: nothing closes the (" in outcome.err
    (folder / "masktron.toml").write_text('[rules]\nb = "age > 3"\n"warn b" = "age > 4"\n')
    run("validate", "d.csv").refuses(3, "name-taken", first="in line 2", where="masktron.toml:3:13, rule b")
    (folder / "masktron.toml").write_text('[rule]\na = "age > 3"\n')
    outcome = run("validate", "d.csv")
    outcome.refuses(2, "unknown-name", name="rule")
    assert "did you mean rules" in outcome.err


def test_any_name_is_that_of_a_rule(folder: Path) -> None:
    (folder / "s.toml").write_text('[rules]\noptions = "age > 3"\nmissing = "age > 4"\nwarn = "age > 5"\n')
    found = masktron.validate("d.csv", "s.toml")
    assert [(rule.id, rule.soft, rule.origin) for rule in found.rules] == [
        ("options", False, "s.toml:2"), ("missing", False, "s.toml:3"), ("warn", False, "s.toml:4"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("option", "failed", "undecided"), [("", 0, 1), ("undecided", 0, 1), ("fails", 1, None)], ids=str
)
def test_missing_values_do_what_an_option_says(folder: Path, option: str, failed: int, undecided: int | None) -> None:
    (folder / "e.csv").write_text("age,b\n3,1\nNA,1\n")
    options = f"[rules.options]\nmissing = '{option}'\n" if option else ""
    (folder / "s.toml").write_text(f'missing = ["NA"]\n[rules]\na = "age > 1"\n{options}')
    (rule,) = masktron.validate("e.csv", config=load_config("s.toml")).rules
    assert (rule.failed, rule.undecided) == (failed, undecided)


def test_every_command_takes_them_and_the_command_line_wins(folder: Path, run: Runner) -> None:
    """The rule of the settings fails in every record, that of the other file in none."""
    (folder / "masktron.toml").write_text(SETTINGS.replace("age in 16..110", "age < 0"))
    (folder / "edits.rules").write_text("age_range: age in 16..110\n")
    (folder / "settings.toml").write_text("k = 3\n")
    for words, code in (
        (("validate", "d.csv"), 1),
        (("check", "d.csv"), 1),
        (("mask", "d.csv", "--out", "m.csv"), 1),
        (("tune", "d.csv", "--out", "t", "--methods", "mdav", "-k", "3"), 1),
    ):
        outcome = run(*words)
        assert outcome.code == code, outcome
        assert "age_range" in outcome.out + outcome.err
        assert "income_sum" not in run(*words, "--rules", "edits.rules").out
    assert "masktron.toml:11" in run("explain", "d.csv", "--json", "-").out
    assert "masktron.toml:11" in run("explain", "--data", "d.csv", "--json", "-").out
    assert "income_sum" in run("explain").out
    assert "income_sum" not in run("explain", "edits.rules", "--data", "d.csv").out
    assert "income_sum" not in run("explain", "d.csv", "--rules", "edits.rules").out
    (folder / "h.csv").write_text("A,AB\nB,AB\nC,C\n")
    for words, code in (
        (("keys", "d.csv", "--recode", "age=width:10"), 2), (("recode", "d.csv", "--hierarchy", "region=h.csv"), 1)
    ):  # fmt: skip
        assert (run(*words).code, run(*words, "--rules", "edits.rules").code) == (code, 0)
    run("validate", "d.csv", "--config", "settings.toml").refuses(2, "no-rules")
    run("validate", "d.csv", "--rules", "settings.toml").refuses(2, "rules-not-there", where="settings.toml")
    assert run("validate", "d.csv", "--config", "settings.toml", "--rules", "masktron.toml").code == 1
    assert run("describe", "d.csv").code == 0
    assert run("suggest", "d.csv").code == 0


def test_data_without_rules_are_told_from_rules(folder: Path, run: Runner) -> None:
    (folder / "masktron.toml").unlink()
    (folder / "d.xml").write_text("<Data>" + "<R><A>1</A></R>" * 4 + "</Data>")
    for words, where in ((("d.csv",), "d.csv"), (("d.xml",), "d.xml"), (("--data", "d.csv"), "d.csv"), ((), "")):
        run("explain", *words).refuses(2, "no-rules", where=where)
    run("rules").refuses(2, "no-rules")
    (folder / "masktron.toml").write_text('[rules]\na = "A > 0"\n')
    assert "masktron.toml:2" in run("explain", "d.xml", "--json", "-").out
    (folder / "r.xml").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="R">'
        '<assert id="R1" test="A &gt; 0">A</assert></rule></pattern></schema>'
    )
    assert "R1" in run("explain", "r.xml").out
    assert masktron.explain(data="d.xml", config=load_config("masktron.toml")).rules[0].origin == "masktron.toml:2"


@pytest.mark.parametrize("treated", [(), ("--recode", "age=width:10")])
def test_a_manifest_has_them_so_that_the_run_can_be_repeated(
    folder: Path, run: Runner, treated: tuple[str, ...]
) -> None:
    told = ("--html-public", "p.html")
    assert run("mask", "d.csv", "--out", "m.csv", *treated, *told).code == 0
    conforms(json.loads(Path("m.manifest.json").read_text()), "manifest")
    kept = json.loads(Path("m.manifest.json").read_text())["rules"]
    rules = rules_of_settings(Path("masktron.toml"))
    assert kept == {
        "path": "masktron.toml", "sha256": rules_hash(rules), "text": rules.text, "missing": "undecided",
        "lines": [10, 11, 12, 13, 14, 18],
    }  # fmt: skip
    masked, page = Path("m.csv").read_bytes(), Path("p.html").read_text()
    settings = (folder / "masktron.toml").read_text()
    for text, other in ((f"# another line\n{settings}", False), (settings.replace("16..110", "17..110"), True)):
        (folder / "masktron.toml").write_text(text)
        checked = masktron.check("m.csv", "masktron.toml", original="d.csv", manifest="m.manifest.json")
        assert checked.other_rulebook == other, "the lines of rules do not count"
    for gone in (False, True):
        if gone:
            (folder / "masktron.toml").unlink()
        assert run("rerun", "m.manifest.json", "d.csv", "--out", "n.csv").code == 0
        assert Path("n.csv").read_bytes() == masked
        again = json.loads(Path("n.manifest.json").read_text())
        assert again["rules"] == kept
        assert treated or again["result"]["rules"][0]["origin"] == "masktron.toml:10"
    assert run("report", "m.manifest.json", *told).code == 0
    assert Path("p.html").read_text() == page
    assert run("rerun", "n.manifest.json", "d.csv", "--out", "o.csv").code == 0
    assert Path("o.csv").read_bytes() == masked
    (folder / "masktron.toml").write_text(settings.replace("16..110", "17..110"))
    run("rerun", "m.manifest.json", "d.csv", "--out", "n.csv", "--rules", "masktron.toml").refuses(
        4, "changed-since-last-run"
    )


@pytest.mark.parametrize("change", [{"text": "a: age > 0"}, {"missing": "fails"}, {"lines": ["x"]}, {"lines": [1]}])
def test_a_manifest_whose_rules_were_changed_is_refused(folder: Path, change: dict[str, object]) -> None:
    config = load_config("masktron.toml")
    masktron.mask("d.csv", out="m.csv", config=config)
    manifest = json.loads(Path("m.manifest.json").read_text())
    manifest["rules"] |= change
    Path("m.manifest.json").write_text(json.dumps(manifest))
    with refused(UsageError, "not-a-manifest"):
        masktron.rerun("m.manifest.json", "d.csv", "n.csv")
    with refused(UsageError, "not-a-manifest"):
        masktron.write_report("m.manifest.json", html_public="p.html")


def test_rules_of_python_are_kept_too(folder: Path) -> None:
    rules = masktron.rules("wage + other == income", "age in 16..110", missing="fails")
    masktron.mask("d.csv", rules, "m.csv", k=3, roles={"id": "identifier", "region": "quasi-identifier"})
    assert masktron.rerun("m.manifest.json", "d.csv", "n.csv").same_bytes


def test_rules_of_a_file_are_translated_again_by_check(folder: Path) -> None:
    (folder / "edits.rules").write_text(PLAIN)
    roles = {"id": "identifier", "region": "quasi-identifier"}
    masktron.mask("d.csv", "edits.rules", "m.csv", k=3, roles=roles, recode={"age": "width:10"})
    checked = masktron.check("m.csv", "edits.rules", original="d.csv", manifest="m.manifest.json")
    assert checked.complies
    assert any("age was recoded" in note for note in checked.notes)


def test_options_count_for_the_hash() -> None:
    text = "[rules]\na = 'age > 0'\n"
    fails = f"{text}[rules.options]\nmissing = 'fails'\n"
    assert rules_hash(given(text)) == rules_hash(given(f"k = 3\n\n{text}"))
    assert rules_hash(given(text)) != rules_hash(given(fails))
    assert rules_hash(given(text)) != rules_hash(given(text.replace("0", "1")))


def test_they_travel_to_other_processes_and_back_into_a_file() -> None:
    rules = given(f"{SETTINGS}[rules.options]\nmissing = 'fails'\n")
    again = pickle.loads(pickle.dumps(rules))  # noqa: S301 -- its own
    assert (again.text, str(again), again.missing_fails, again.places) == (rules.text, "s.toml", True, rules.places)
    from masktron.toml_text import toml_text

    written = given(toml_text({"rules": table_of(rules)}))
    assert (written.text, written.missing_fails) == (rules.text, True)


def test_tune_writes_them_with_the_settings(folder: Path, run: Runner) -> None:
    tuned = ("tune", "d.csv", "--out", "t", "--methods", "mdav", "-k", "3", "--candidate", "0")
    assert run(*tuned, "--write", "masktron.toml").code == 0
    assert rules_of_settings(Path("masktron.toml")).text == given(SETTINGS).text
    assert run(*tuned, "--write", "new.toml").code == 0
    assert rules_of_settings(Path("new.toml")).text == given(SETTINGS).text


def test_the_command_about_rules_reads_settings(folder: Path, run: Runner) -> None:
    listed = run("rules").out
    assert listed.splitlines()[0] == "masktron.toml: 6 rules"
    assert "the parts are the total" in listed
    assert run("rules", "masktron.toml").out == listed
    run("rules", "masktron.toml", "--change", "age_range", "--test", "x").refuses(3, "not-in-place")
    run("rules", "--to", "plain", "--out", "masktron.toml").refuses(2, "would-overwrite")
    written = run("rules", "masktron.toml", "--to", "plain").out
    assert written.startswith("# from masktron.toml\nincome_sum: wage + other == income  # the parts are the total\n")
    (folder / "e.csv").write_text("wage,other,income,age,hours,region\nNA,1,4,17,20,A\nNA,1,4,17,20,D\n")
    (folder / "edits.rules").write_text(PLAIN)
    for words in (("--data", "e.csv"), ()):
        for rules in ("edits.rules", "masktron.toml"):
            Path("r.sch").unlink(missing_ok=True)
            assert run("rules", rules, "--to", "schematron", *words, "--out", "r.sch").code == 0
            found = masktron.validate("e.csv", "r.sch").rules
            assert [rule.failed for rule in found] == [0, 0, 0, 0, 0, 1], "NA is missing, as the settings say"


def test_what_plain_text_cannot_say_is_told(folder: Path, run: Runner) -> None:
    with (folder / "masktron.toml").open("a") as stream:
        stream.write("[rules.options]\nmissing = 'fails'\n")
    assert "a comparison with a missing value fails in the original" in run("rules", "--to", "plain").out
    (folder / "e.csv").write_text("wage,other,income,age,hours,region\nNA,1,4,17,20,A\n")
    expected = [rule.failed for rule in masktron.validate("e.csv", config=load_config("masktron.toml")).rules]
    assert expected == [1, 0, 0, 1, 0, 0]
    for language, out in (("validate-yaml", "r.yaml"), ("schematron", "r.sch")):
        assert run("rules", "--to", language, "--out", out).code == 0
        found = masktron.validate("e.csv", out, missing=["NA"]).rules
        assert [rule.failed for rule in found] == expected


def test_a_file_that_nobody_named_may_have_rules(folder: Path, run: Runner) -> None:
    """They are no code, read no file, and relax nothing: without them nothing would be judged."""
    outcome = run("check", "d.csv")
    assert outcome.code == 0
    assert "settings from masktron.toml" in outcome.err
    assert "relaxes" not in outcome.out
    (folder / "masktron.toml").write_text("[rules]\na = \"income == document('/etc/passwd')\"\n")
    assert isinstance(run("check", "d.csv").error, MasktronError)
    assert isinstance(problem_of(run("check", "d.csv").error or MasktronError("")).code, str)
