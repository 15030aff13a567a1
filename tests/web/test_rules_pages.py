"""The pages of rules: uploaded, listed, changed, tried out and suggested, each as the command line does it."""

from __future__ import annotations

import html
import shlex
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from masktron.jobs.rules import run_rules
from masktron.problems.problem import Place, Rule
from masktron.rulebook_text.rule_changes import with_parts
from masktron.rulebook_text.rule_entries import rules_in
from masktron.web.runs.one_run import CommandRun, RunState, latest_run, runs_of
from masktron.web.runs.run_queue import _Working
from masktron.web.store.projects import Project
from paths import ROOT
from told_results import explained, failed, suggested, told
from web_client import Office, codes_at, codes_of, csrf_of, sample_of, sent, undone
from web_runs import described, laid_run

SCHEMATRON = "http://purl.oclc.org/dsdl/schematron"
OWN = f"""<schema xmlns="{SCHEMATRON}">
  <pattern>
    <rule context="Record">
      <!-- a comment -->
      <assert id="sum" test="A + B = C">A {{literally}} <value-of select="A"/></assert>
      <assert id="low" test="A &lt; 5">A is high</assert>
    </rule>
  </pattern>
</schema>
"""


@pytest.fixture
def own(office: Office, client: TestClient) -> tuple[Project, str]:
    """A project with rules of its own, and no data."""
    where = sent(client, "/", "new", name="own").headers["location"]
    project = office.store.get(where.rpartition("/")[2])
    assert project is not None
    project.write({"rules.sch": OWN.encode()}, said="rules")
    return project, where


def upload(client: TestClient, where: str, name: str, content: bytes) -> Any:
    token = csrf_of(client, f"{where}/rules")
    return client.post(f"{where}/rules/upload", data={"csrf": token}, files={"file": (name, content)})


def the_run(project: Project, step: str = "rules") -> CommandRun:
    run = latest_run(project, step)
    assert run is not None
    return run


def text_of(answer: Any) -> str:
    return html.unescape(answer.text)


def typed(client: TestClient, where: str, rule: str, action: str, **fields: str) -> Any:
    """Send the editor as a browser does, with all that it shows."""
    path = f"{where}/rules/edit/{rule}"
    page = client.get(path).text
    stamp = page.split('name="stamp" value="')[1].split('"')[0]
    return sent(client, path, action, **{"stamp": stamp, **fields})


def test_an_uploaded_rulebook_is_kept_byte_for_byte_and_checked(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    content = (ROOT / "rules" / "household.sch").read_bytes()
    answer = upload(client, where, "my rules.sch", content)
    assert answer.headers["location"] == f"{where}/rules"
    assert (project.folder / "rules.sch").read_bytes() == content and project.uploads() == {}
    assert the_run(project).command["arguments"][:2] == ["explain", "runs/0001-rules/rules.sch"]
    text = text_of(client.get(f"{where}/rules"))
    assert "takes in patterns.sch, which is not here" in text
    patterns = (ROOT / "rules" / "patterns.sch").read_bytes()
    assert upload(client, where, "patterns.sch", patterns).status_code == 303
    assert (project.folder / "patterns.sch").read_bytes() == patterns
    assert (project.folder / "rules.sch").read_bytes() == content
    assert "which is not here" not in client.get(f"{where}/rules").text
    assert undone(client, f"{where}/rules").status_code == 303
    assert not (project.folder / "patterns.sch").exists()


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.sch", b"<schema", "not-well-formed"),
        ("a.sch", b"<a/>", "not-a-rulebook"),
        ("a.csv", b"A,B\n1,2\n", "not-well-formed"),
        ("edits.rules", b"age >= 16\n", "not-supported"),
        ("a.sch", OWN.replace("<pattern>", '<include href="sub/x.sch"/><pattern>', 1).encode(), "includes-elsewhere"),
        ("a.sch", OWN.replace("<pattern>", '<include href="../x.sch"/><pattern>', 1).encode(), "includes-elsewhere"),
    ],
)
def test_what_is_no_rulebook_is_refused_at_its_field(
    client: TestClient, own: tuple[Project, str], name: str, content: bytes, code: str
) -> None:
    project, where = own
    answer = upload(client, where, name, content)
    assert (answer.status_code, codes_at(answer)) == (422, {"file": code})
    assert project.rulebook == OWN and project.uploads() == {} and runs_of(project) == []


def test_a_rulebook_that_is_not_changed_in_place_is_still_used(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    content = f"<!DOCTYPE schema>{OWN}".encode()
    assert upload(client, where, "a.sch", content).status_code == 303
    assert project.rulebook.encode() == content
    told(the_run(project), explained([{"id": "sum", "origin": "runs/0001-rules/rules.sch:5"}]), "explain.json")
    text = text_of(client.get(f"{where}/rules"))
    assert "cannot be changed here" in text and "sum" in text
    answer = client.get(f"{where}/rules/edit/1")
    assert answer.status_code == 422 and "it has a document type" in answer.text


def test_each_rule_shows_what_is_known_of_it(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    assert sent(client, f"{where}/rules", "check").status_code == 303
    found = [
        {
            "id": "sum", "form": "A + B = C", "context": "Record", "test": "A + B = C", "fired": 1000, "failed": 7,
            "origin": "runs/0001-rules/rules.sch:5",
        },
        {
            "id": "low", "class": "opaque", "reason": "<b>why</b>", "context": "Record", "test": "A < 5",
            "lints": ["look here"], "origin": "runs/0001-rules/rules.sch:6",
        },
        {"id": "elsewhere", "test": "X", "origin": "runs/0001-rules/rules.sch:2 (from runs/0001-rules/part.sch:9)"},
        {"id": "included", "test": "Y", "origin": "runs/0001-rules/part.sch:9"},
    ]  # fmt: skip
    contradiction = {"rules": ["sum", "low"], "numbers_only": False}
    assert "It waits for its turn" in client.get(f"{where}/rules").text
    told(the_run(project), explained(found, contradictions=[contradiction]), "explain.json")
    text = client.get(f"{where}/rules").text
    assert "7 of 1,000 fail" in text and "&lt;b&gt;why" in text and "<b>why" not in text
    assert "Contradiction: no record can obey it together with low." in text and "look here" in text
    assert "it stands in part.sch:9" in text and "runs/0001-rules/part.sch" not in text
    doubted = client.get(f"{where}/rules?show=doubts").text
    assert 'id="rule-1"' in doubted and "included" not in doubted
    # once the rules have changed, no count is shown for what it is not
    project.write({"rules.sch": OWN.replace("A + B = C", "A + B = D").encode()}, said="x")
    text = client.get(f"{where}/rules").text
    assert "7 of 1,000 fail" not in text and "have changed since" in text and "look here" in text


def test_an_error_of_the_rulebook_is_told(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    sent(client, f"{where}/rules", "check")
    failed(the_run(project), "runs/0001-rules/rules.sch:5", reason="<i>")
    answer = client.get(f"{where}/rules")
    assert codes_of(answer) == {"bad-value"} and "&lt;i&gt;" in answer.text and "<i>" not in answer.text
    assert "they cannot be read" in client.get(where).text


def test_long_rulebooks_are_paged(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    rules = "".join(f'<assert id="r{number}" test="A">m</assert>' for number in range(120))
    text = f'<schema xmlns="{SCHEMATRON}"><pattern><rule context="R">{rules}</rule></pattern></schema>'
    project.write({"rules.sch": text.encode()}, said="x")
    pages = [client.get(f"{where}/rules?page={page}").text for page in ("1", "2", "3", "99", "-1", "x")]
    firsts = [[name for name in ("r0", "r49", "r50", "r100", "r119") if f"<h2>{name}</h2>" in page] for page in pages]
    assert firsts == [["r0", "r49"], ["r50"], ["r100", "r119"], ["r100", "r119"], ["r0", "r49"], ["r0", "r49"]]


def test_a_rule_is_changed_as_the_command_in_the_history_does(
    client: TestClient, own: tuple[Project, str], tmp_path: Path
) -> None:
    project, where = own
    page = text_of(client.get(f"{where}/rules/edit/1"))
    assert "A {{literally}} {A}" in page and "It is that of low, too" in page
    fields = {"id": "sum", "context": "Record", "test": "A + B < C & 'x'", "message": "--help {B}"}
    assert typed(client, where, "1", "save", **fields).headers["location"] == f"{where}/rules"
    expected = with_parts(rules_in(OWN.encode()), "sum", fields)
    assert project.rulebook.encode() == expected != OWN.encode()
    assert b"<!-- a comment -->" in expected
    last = project.history.undoable()
    assert last is not None and last.said.startswith("Rule sum changed: test, message (masktron rules rules.sch ")
    words = shlex.split(last.said.partition("(masktron ")[2][:-1])
    assert words[:3] == ["rules", "rules.sch", "--change=sum"]
    (tmp_path / "rules.sch").write_text(OWN)
    parts = dict(word.removeprefix("--").split("=", 1) for word in words[3:])
    run_rules(tmp_path / "rules.sch", lambda rules: with_parts(rules, "sum", parts))
    assert (tmp_path / "rules.sch").read_bytes() == expected


def test_a_rule_becomes_a_warning_and_is_one_no_more(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    shown = {"id": "sum", "context": "Record", "test": "A + B = C", "message": "A {{literally}} {A}"}
    assert "checked" not in client.get(f"{where}/rules/edit/1").text.split('id="soft"')[1].partition(">")[0]
    typed(client, where, "1", "save", **shown, soft="1", soft_shown="1")
    assert project.rulebook == OWN.replace('<assert id="sum"', '<assert role="warning" id="sum"')
    last = project.history.undoable()
    assert last is not None and last.said == (
        "Rule sum changed: a warning from now on (masktron rules rules.sch --change=sum --soft)"
    )
    assert "checked" in client.get(f"{where}/rules/edit/1").text.split('id="soft"')[1].partition(">")[0]
    typed(client, where, "1", "save", **shown, soft_shown="1")
    assert project.rulebook == OWN


def test_what_was_typed_comes_back_with_the_problem_at_its_field(
    client: TestClient, own: tuple[Project, str]
) -> None:
    project, where = own
    fields = {"id": "low", "context": "Record[<>]", "test": "A", "message": "m"}
    answer = typed(client, where, "1", "save", **fields)
    assert (answer.status_code, codes_at(answer)) == (422, {"id": "name-taken"})
    assert 'value="Record[&lt;&gt;]"' in answer.text
    answer = typed(client, where, "1", "check", **{**fields, "id": "x", "message": "{"})
    assert (answer.status_code, codes_at(answer)) == (422, {"message": "message-braces"})
    assert project.rulebook == OWN and runs_of(project) == []


def test_a_change_of_somebody_else_is_not_overwritten(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    stamp = client.get(f"{where}/rules/edit/1").text.split('name="stamp" value="')[1].split('"')[0]
    other = OWN.replace("A + B = C", "A + B = E")
    project.write({"rules.sch": other.encode()}, said="another")
    fields = {"id": "sum", "context": "Record", "test": "mine", "message": "m", "stamp": stamp}
    answer = sent(client, f"{where}/rules/edit/1", "save", **fields)
    assert (answer.status_code, codes_of(answer)) == (422, {"page-outdated"}) and "mine" in answer.text
    for action in ("remove", "up", "down"):
        assert sent(client, f"{where}/rules/edit/1", action, stamp=stamp).status_code == 422
    assert project.rulebook == other


def test_rules_are_made_removed_and_moved(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own

    def ids() -> list[str]:
        return [one.id for one in rules_in(project.rulebook.encode()).entries]

    typed(client, where, "1", "down")
    assert ids() == ["low", "sum"]
    typed(client, where, "new", "save", id="new", context="Record", test="A > 1", message="m")
    assert ids() == ["low", "sum", "new"]
    typed(client, where, "1", "remove")
    assert ids() == ["sum", "new"]
    answer = typed(client, where, "1", "up")
    assert answer.status_code == 422 and "sum" in answer.text
    for rule in ("0", "3", "x", "-1", "9" * 30):
        assert client.get(f"{where}/rules/edit/{rule}").status_code == 404
    for _ in range(3):
        undone(client, f"{where}/rules")
    assert project.rulebook == OWN


def test_a_new_rule_is_asked_of_what_most_rules_are_asked_of(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    said = "number(A) = number(A)"
    rules = "".join(
        f'<pattern><rule context="{one}"><assert test="{said}">a</assert></rule></pattern>'
        for one in ("Person[A]", "Person[A]", "Person[A]", "Household", "Person", "Person")
    )
    text = f'<schema xmlns="http://purl.oclc.org/dsdl/schematron">{rules}</schema>'
    project.write({"rules.sch": text.encode()}, said="rules")
    assert 'name="context" type="text" value="Person"' in client.get(f"{where}/rules/edit/new").text


def test_the_first_rule_makes_a_rulebook(office: Office, client: TestClient) -> None:
    where = sent(client, "/", "new", name="empty").headers["location"]
    project = office.store.get(where.rpartition("/")[2])
    assert project is not None
    assert "There are no rules as yet" in client.get(f"{where}/rules").text
    typed(client, where, "new", "save", id="", context="R", test="A", message="m {A}")
    (entry,) = rules_in(project.rulebook.encode()).entries
    assert (entry.context, entry.test, entry.message) == ("R", "A", "m {A}")


def test_what_is_typed_is_tried_out_alone_and_beside_the_others(
    office: Office, client: TestClient, own: tuple[Project, str]
) -> None:
    project, where = own
    project.settings.update({"k": 7, "allow": ["low"]}, said="x")
    fields = {"id": "sum", "context": "Record", "test": "A + B = 2 * C", "message": "m"}
    answer = typed(client, where, "1", "check", script="1", **fields)
    assert answer.status_code == 200 and "<html" not in answer.text
    assert f"{where}/rules/edit/1?draft=0001-draft" in text_of(answer)
    draft, whole = the_run(project, "draft"), the_run(project, "draft-whole")
    assert (draft.folder / "rules.sch").read_bytes() == with_parts(rules_in(OWN.encode()), "sum", fields)
    assert (draft.folder / "masktron.toml").read_text() == "k = 7\n"
    assert "allow" in (whole.folder / "masktron.toml").read_text()
    assert project.rulebook == OWN
    # who types on has the former ones ended, and those that are over go
    typed(client, where, "1", "check", script="1", **{**fields, "test": "A +"})
    assert draft.state is RunState.CANCELLED and whole.state is RunState.CANCELLED
    typed(client, where, "1", "check", script="1", **fields)
    assert not draft.folder.exists() and [one.step for one in runs_of(project)].count("draft") == 2
    draft, whole = the_run(project, "draft"), the_run(project, "draft-whole")
    assert "draft" not in client.get(where).text and "draft" not in client.get(f"{where}/history").text
    page = f"{where}/rules/edit/1?draft={draft.name}"
    assert "Looking at the rule" in client.get(page).text
    fact = {
        "id": "sum",
        "form": "A + B = 2 C",
        "context": "Record",
        "test": "A + B = 2 * C",
        "fired": 10,
        "failed": 3,
    }
    told(draft, explained([{**fact, "origin": "x/rules.sch:5"}]), "explain.json")
    text = text_of(client.get(page))
    assert "3 of 10 records fail" in text and "Comparing it with the other rules" in text
    assert "A + B = 2 * C</textarea>" in text  # without script, what was typed is there
    found = explained([{**fact, "origin": "x/rules.sch:5"}], always=["sum"])
    told(whole, found, "explain.json")
    text = text_of(client.get(page))
    assert "it asks nothing" in text and "Comparing" not in text


def test_an_error_of_a_draft_stands_below_its_test(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    fields = {"id": "sum", "context": "Record", "test": "A +", "message": "m"}
    answer = typed(client, where, "1", "check", **fields)
    assert answer.status_code == 303
    failed(the_run(project, "draft"), Place("runs/0001-draft/rules.sch", 5))
    text = text_of(client.get(answer.headers["location"]))
    assert "<code>rules.sch:5</code>" in text
    assert text.index('id="test"') < text.index('data-code="bad-value"') < text.index('id="message"')
    answer = typed(client, where, "1", "check", script="1", **{**fields, "message": "{"})
    assert answer.status_code == 200 and codes_of(answer) == {"message-braces"}


def test_a_draft_waits_for_no_long_run_and_for_no_former_draft(
    office: Office, client: TestClient, own: tuple[Project, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, where = own
    queue = office.parts.queue
    begun: list[str] = []

    def begin(run: CommandRun) -> None:
        begun.append(run.name)
        queue._working[run.folder] = _Working(run, None)

    monkeypatch.setattr(queue, "_begin", begin)
    monkeypatch.setattr(queue, "_is_over", lambda _: False)
    queue.start(project, "mask", ["sleep"])
    typed(client, where, "1", "check", script="1", id="sum", context="Record", test="A", message="m")
    queue.beat()
    assert begun == ["0001-mask", "0002-draft"]  # the other draft waits for the one that is quick
    monkeypatch.setattr(CommandRun, "is_held", property(lambda run: run.name in begun))
    typed(client, where, "1", "check", script="1", id="sum", context="Record", test="B", message="m")
    queue.beat()
    assert begun == ["0001-mask", "0002-draft", "0004-draft"]


def test_proposals_are_accepted_one_by_one(office: Office, client: TestClient) -> None:
    project, where = sample_of(office, client)
    page = f"{where}/rules/suggested"
    before = project.rulebook
    assert sent(client, page, "look").status_code == 303
    run = the_run(project, "suggest")
    assert "It waits for its turn" in client.get(page).text
    proposals = [
        {},
        {"test": "B >= 0", "message": "<b>B</b> {B}", "evidence": "<i>", "exceptions": 2, "first": [3, 9]},
        {"test": "Property >= 0", "strength": "guess"},
        {"test": "C >= 0", "follows_from": ["p1"]},
    ]
    told(run, suggested(*proposals), "suggest.json")
    text = client.get(page).text
    assert "checked" not in text.split("<main")[1] and text.count('name="accept"') == 3
    assert "among your rules already" in text and "<i>" not in text
    assert "2 break it" in text and "follow from others" in text
    answer = sent(client, page, "accept", run=run.name)
    assert answer.status_code == 422 and project.rulebook == before
    assert sent(client, page, "accept", run="0009-suggest", accept="1").status_code == 422
    answer = sent(client, page, "accept", run=run.name, accept="2")
    assert answer.headers["location"] == f"{where}/rules"
    assert [one.id for one in rules_in(project.rulebook.encode()).entries][-1] == "p2"
    assert "&lt;b&gt;B&lt;/b&gt; <value-of" in project.rulebook
    last = project.history.undoable()
    assert last is not None and f"--suggested=runs/{run.name}/suggest.json --accept=2)" in last.said
    project.undo()
    assert project.rulebook == before


def test_proposals_of_other_data_are_not_accepted(office: Office, client: TestClient) -> None:
    project, where = sample_of(office, client)
    page = f"{where}/rules/suggested"
    sent(client, page, "look")
    run = told(the_run(project, "suggest"), suggested({}), "suggest.json")
    (project.files / "other.csv").write_text("A\n1\n")
    project.choose_data("other.csv")
    assert "Accept" not in client.get(page).text
    assert sent(client, page, "accept", run=run.name, accept="1").status_code == 422


def read_data(project: Project) -> None:
    """Lay down what reading the data has found: two fields, one with a blank."""
    (project.files / "d.csv").write_text("A,davon Kinder\n1,2\n")
    project.choose_data("d.csv")
    fields = described({"name": "A"}, {"name": "davon_x0020_Kinder", "column": "davon Kinder"})
    laid_run(project, "describe", ["describe", "files/d.csv"], {"describe.json": {**fields, "record": "/Data/Row"}})


def test_a_new_rule_knows_records_and_fields(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    project.write({"rules.sch": None}, said="none")
    read_data(project)
    page = client.get(f"{where}/rules/edit/new").text
    assert 'value="Row"' in page and 'data-inserts="davon_x0020_Kinder"' in page and "davon Kinder</span>" in page
    project.write({"rules.sch": OWN.encode()}, said="rules")
    assert 'value="Record"' in client.get(f"{where}/rules/edit/new").text


def test_what_is_not_typed_as_yet_is_no_mistake_of_a_rule(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    read_data(project)
    answer = typed(client, where, "new", "check", script="1", context="", test="A < 3", message="", id="")
    assert "Looking at the rule" in answer.text and 'class="error"' not in answer.text
    draft = (the_run(project, "draft").folder / "rules.sch").read_text()
    assert 'context="Record"' in draft and 'test="A &lt; 3"' in draft
    # nothing to be asked is one, and what is saved has to be whole
    assert (
        "test must be a text, not empty" in typed(client, where, "new", "check", script="1", test="", message="").text
    )
    assert typed(client, where, "new", "save", context="Record", test="A", message="").status_code == 422


def test_a_blank_in_a_name_is_explained(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    read_data(project)
    answer = typed(client, where, "new", "check", context="Record", test="davon Kinder > A", message="m", id="")
    failed(the_run(project, "draft"), "rules.sch:3")
    text = client.get(answer.headers["location"]).text
    assert "write davon_x0020_Kinder for “davon Kinder”" in text


def test_a_rule_that_cannot_be_read_is_marked_and_the_others_keep_what_is_known(
    client: TestClient, own: tuple[Project, str]
) -> None:
    project, where = own
    sent(client, f"{where}/rules", "check")
    rule = {"id": "sum", "context": "Record", "test": "A + B = C", "fired": 1000, "failed": 7}
    told(the_run(project), explained([{**rule, "origin": "runs/0001-rules/rules.sch:5"}]), "explain.json")
    wrong = OWN.replace('id="low" test="A &lt; 5"', 'test="A &lt; &lt; 5"')
    project.write({"rules.sch": wrong.encode()}, said="wrong")
    sent(client, f"{where}/rules", "check")
    assert "being checked" in client.get(where).text
    run = the_run(project)
    failed(run, Place(f"runs/{run.name}/rules.sch", 6, rule=Rule("rule-2")), reason="look at it")
    text = client.get(f"{where}/rules").text
    cards = {
        card.partition('id="')[2].partition('"')[0]: card for card in text.split("<li class=")[1:] if "rule-" in card
    }
    assert "<h2>rule-2</h2>" in cards["rule-2"] and "look at it" in cards["rule-2"]
    assert "7 of 1,000 fail" in cards["rule-1"] and "look at it" not in cards["rule-1"]
    assert "<code>rules.sch:6, rule rule-2</code>" in text and 'href="?page=1#rule-2">rule-2</a>' in text
    assert "they cannot be read" in client.get(where).text


def test_an_error_of_other_data_is_not_told_of_these(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    read_data(project)
    page = f"{where}/rules/suggested"
    sent(client, page, "look")
    failed(the_run(project, "suggest"), "files/d.csv")
    assert codes_of(client.get(page)) == {"bad-value"}
    (project.files / "other.csv").write_text("A\n1\n")
    project.choose_data("other.csv")
    answer = client.get(page)
    assert codes_of(answer) == set() and "Look at the data" in answer.text


def test_what_the_survey_knows_takes_the_place_of_a_guess(office: Office, client: TestClient) -> None:
    project, where = sample_of(office, client)
    page = f"{where}/rules/suggested"
    sent(client, page, "look")
    guess = {
        "test": "AGE >= -2 and AGE <= 200", "message": "AGE {AGE} is not at least -2 and at most 200.",
        "strength": "guess", "id": "range-AGE",
    }  # fmt: skip
    other = {"test": "B >= 0", "kind": "not-negative", "id": "not-negative-B"}
    run = told(the_run(project, "suggest"), suggested(guess, other), "suggest.json")
    text = client.get(page).text
    assert 'name="bound.1.0" type="text" value="-2"' in text and 'name="bound.1.1" type="text" value="200"' in text
    assert "bound.2" not in text
    wrong = sent(client, page, "accept", run=run.name, accept="1", **{"bound.1.1": "12O"})
    assert (wrong.status_code, codes_at(wrong)) == (422, {"bound.1.1": "bad-value"})
    bounds = {"bound.1.0": "0", "bound.1.1": "120,5"}
    assert sent(client, page, "accept", run=run.name, accept="1", **bounds).status_code == 303
    rule = rules_in(project.rulebook.encode()).entries[-1]
    assert (rule.id, rule.test) == ("range-AGE", "AGE >= 0 and AGE <= 120.5")
    assert rule.message == "AGE {AGE} is not at least 0 and at most 120.5."
    last = project.history.undoable()
    assert last is not None
    assert "--accept=1; masktron rules rules.sch --change=range-AGE '--test=AGE >= 0 and AGE <= 120.5'" in last.said


def test_a_message_names_fields_as_the_file_does(client: TestClient, own: tuple[Project, str]) -> None:
    project, where = own
    (project.files / "d.csv").write_text("of them,A\n1,2\n")
    project.choose_data("d.csv")
    result = described({"name": "of_x0020_them", "column": "of them"}, {"name": "A"})
    laid_run(project, "describe", ["describe", "files/d.csv"], {"describe.json": result})
    typed(client, where, "new", "save", id="x", context="R", test="A", message="more { of them } than {A} or {B C}")
    assert "more {of_x0020_them} than {A} or {B C}" in " ".join(
        one.message for one in rules_in(project.rulebook.encode()).entries
    )
