"""The page Protect keys: what settings it writes, what is tried before, hierarchies, and the bytes of a run."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from cli_runner import Runner
from masktron.errors import UsageError
from masktron.problems.problem import Place, Setting, SettingName
from masktron.web.pages.project_hierarchies import hierarchy_name
from masktron.web.runs.one_run import InRun, latest_run, runs_of
from masktron.web.store.projects import Project
from refusals import refused
from told_results import keys_tried
from web_client import Office, codes_at, codes_of, csrf_of, forms_of, undone
from web_runs import MASKED, described, laid_run, state_of, tell_error, text_field

RULES = b"""<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="adult" test="not(AGE &lt; 16)">16 or older</assert>
<assert id="parts" test="B &lt;= A">B is a part of A</assert></rule></pattern></schema>
"""
CLASSES = b"N1;N;*\nN2;N;*\nS1;S;*\n"
ROWS = [(16 + at % 30, ("N1", "N2", "S1")[at % 3], 100 + 7 * at, 10 + at % 5) for at in range(60)]
ROLES = {"AGE": "quasi-identifier", "REGION": "quasi-identifier", "A": "confidential", "B": "confidential"}


@pytest.fixture
def project(office: Office) -> Project:
    found = office.store.make("a survey")
    lines = [",".join(map(str, row)) for row in ROWS]
    (found.files / "a.csv").write_text("AGE,REGION,A,B\n" + "\n".join(lines) + "\n")
    found.choose_data("a.csv")
    found.write({"rules.sch": RULES}, said="Rules")
    found.settings.update({"roles": ROLES, "k": 3}, said="roles")
    fields = ({"name": "AGE"}, text_field("REGION", "N1", "N2", "S1"), {"name": "A"}, {"name": "B"})
    laid_run(found, "describe", ["describe", "files/a.csv"], {"describe.json": described(*fields)})
    return found


path, posted = forms_of("protect")


def table(project: Project) -> dict[str, Any]:
    return {name: one for name, one in project.settings.table.items() if name not in ("roles", "k")}


def classes(project: Project) -> None:
    project.write({"REGION.hierarchy.csv": CLASSES}, said="classes")


def uploaded(client: TestClient, project: Project, content: bytes, name: str = "region.csv") -> Any:
    token = csrf_of(client, path(project))
    where = path(project, "/hierarchy/REGION/upload")
    return client.post(where, data={"csrf": token}, files={"file": (name, content)})


def measured(project: Project) -> None:
    files = {"keys.json": keys_tried("AGE", "REGION")}
    laid_run(project, "keys", ["keys", "files/a.csv", "--rules", InRun("rules.sch")], files)


def test_what_is_chosen_is_written_measured_and_can_be_undone(client: TestClient, project: Project) -> None:
    classes(project)
    assert not state_of(project, "protect").done
    chosen = {"way__AGE": "width", "recode__AGE": "5", "way__REGION": "hierarchy", "recode__REGION": "1"}
    more = {"key_k": "3", "subsets": "2", "importance__AGE": "2,5", "importance__REGION": "1"}
    assert posted(client, project, "save", **chosen, **more).status_code == 303
    assert table(project) == {
        "recode": {"AGE": "width:5", "REGION": "REGION.hierarchy.csv:1"},
        "keys": {"k": 3, "subsets": 2, "importance": {"AGE": 2.5}},
    }
    assert project.settings.config.key_k == 3
    run = latest_run(project, "keys")
    assert run is not None and "REGION.hierarchy.csv" in run.copies
    assert run.command["arguments"][:4] == ["keys", "files/a.csv", "--rules", f"runs/{run.name}/rules.sch"]
    said = state_of(project, "protect")
    assert said.done and said.says == "2 fields are recoded, keys are shared by 3 records"
    shown = client.get(path(project)).text
    assert '<option value="width" selected>' in shown and 'value="2.5"' in shown
    assert posted(client, project, "save", way__AGE="", way__REGION="").status_code == 303
    assert table(project) == {}
    undone(client, f"/projects/{project.identity}/history")
    assert table(project)["recode"]["AGE"] == "width:5"


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("fields", "at", "code"),
    [
        ({"way.AGE": "width", "recode.AGE": "wide"}, "recode.AGE", "bad-value"),
        ({"way.AGE": "breaks", "recode.AGE": "5"}, "recode.AGE", "bad-value"),
        ({"way.AGE": "tails", "recode.AGE": "/etc/passwd:1"}, "recode.AGE", "file-outside-project"),
        ({"way.AGE": "tails", "recode.AGE": "../../x.hierarchy.csv"}, "recode.AGE", "file-outside-project"),
        ({"way.AGE": "hierarchy", "recode.AGE": "1"}, "recode.AGE", "earlier-step-missing"),
        ({"way.REGION": "hierarchy", "recode.REGION": "3"}, "recode.REGION", "bad-value"),
        ({"way.AGE": "else"}, "way.AGE", "bad-value"),
        ({"key_k": "1"}, "key_k", "bad-value"),
        ({"key_k": "few"}, "key_k", "bad-value"),
        ({"key_k": "0"}, "key_k", "bad-value"),
        ({"pram.AGE": "1.5"}, "pram.AGE", "bad-value"),
        ({"pram.AGE": "few"}, "pram.AGE", "bad-value"),
        ({"pram.AGE": "0.1,/etc/passwd"}, "pram.AGE", "bad-value"),
        ({"pram.AGE": "0.1,within:REGIO"}, "pram.AGE", "unknown-name"),
        ({"pram.AGE": "0.1,household:HH"}, "pram.AGE", "unknown-name"),
        ({"swap.regions": "REGION, TOWN"}, "swap.regions", "unknown-name"),
        ({"swap.regions": "", "swap.rate": "0.1"}, "swap.regions", "bad-value"),
        ({"swap.regions": "REGION", "swap.rate": "2"}, "swap.rate", "bad-value"),
        ({"swap.regions": "REGION", "swap.k": "1"}, "swap.k", "bad-value"),
        ({"swap.regions": "REGION", "swap.similar": "A,NONE"}, "swap.similar", "unknown-name"),
        ({"swap.regions": "REGION", "swap.least_regions": "0"}, "swap.least_regions", "bad-value"),
        ({"key_k": "3", "importance.AGE": "0"}, "importance.AGE", "bad-value"),
    ],
)
def test_what_cannot_be_is_said_at_its_field_and_nothing_is_written(
    client: TestClient, project: Project, fields: dict[str, str], at: str, code: str
) -> None:
    classes(project)
    before = project.settings.text
    answer = posted(client, project, "save", **fields)
    assert (answer.status_code, codes_at(answer)) == (422, {at: code})
    assert project.settings.text == before and latest_run(project, "keys") is None


def test_settings_name_no_hierarchy_outside_the_project(project: Project) -> None:
    for how in ("/etc/passwd", "../x.hierarchy.csv:1", "files/x.hierarchy.csv", ".hierarchy.csv", "x.csv:2"):
        with refused(UsageError, "file-outside-project", setting="recode.AGE"):
            project.settings.replace(f'[recode]\nAGE = "{how}"\n', said="x")


def test_what_is_typed_is_tried_and_not_saved(client: TestClient, project: Project) -> None:
    before = project.settings.text
    answer = posted(client, project, "try", script="1", way__AGE="width", recode__AGE="10", key_k="3")
    run = latest_run(project, "keys-draft")
    assert run is not None and answer.status_code == 200 and f"?draft={run.name}&amp;again=1" in answer.text
    typed = tomllib.loads((run.folder / "masktron.toml").read_text())
    assert typed["recode"] == {"AGE": "width:10"} and typed["keys"] == {"k": 3}
    assert project.settings.text == before
    wrong = posted(client, project, "try", script="1", way__AGE="width", recode__AGE="")
    assert wrong.status_code == 200 and codes_of(wrong) == {"bad-value"} and "hx-get" not in wrong.text
    # without a script the page is loaded again
    assert "?draft=" in posted(client, project, "try", key_k="3").headers["location"]


def test_what_was_tried_is_shown_before_and_after(client: TestClient, project: Project) -> None:
    measured(project)
    text = " ".join(client.get(path(project)).text.split())
    assert "Masking would stop" in text and state_of(project, "protect").problem
    assert '<td class="number">9</td><td class="number">1</td>' in text
    assert '<th scope="row">15-19</th><td class="number">8</td>' in text
    assert "AGE &gt;= 16" in text and "it reads all records" in text and "left out for k = 3: 2 of 60" in text
    assert "AGE 80 %, REGION 20 %" in text
    # the page Roles has the risk as well, and who lets a rule go does so with a tick
    assert "AGE 80 %, REGION 20 %" in client.get(f"/projects/{project.identity}/roles").text
    assert 'name="allow_lost" value="adult"' in text
    posted(client, project, "save", allow_lost="adult")
    assert table(project) == {"allow_lost": ["adult"]}


def test_an_error_of_a_trial_names_no_folder_of_a_run(client: TestClient, project: Project) -> None:
    words = ["keys", "files/a.csv", "--rules", InRun("rules.sch")]
    run = laid_run(project, "keys", words)
    file = f"runs/{run.name}/AGE.hierarchy.csv"
    about = SettingName("recode", ("AGE",))
    tell_error(run, UsageError.of("bad-value", Place(file, 3), name=about, expected="x", given="y"))
    answer = client.get(path(project))
    assert codes_at(answer) == {"recode.AGE": "bad-value"}
    assert "<code>AGE.hierarchy.csv:3</code>" in answer.text and file not in answer.text


def test_a_hierarchy_is_uploaded_looked_through_and_edited(client: TestClient, project: Project) -> None:
    own = path(project, "/hierarchy/REGION")
    assert uploaded(client, project, b"\xef\xbb\xbf" + CLASSES.replace(b";", b"\t")).status_code == 303
    kept = project.folder / "REGION.hierarchy.csv"
    assert kept.read_bytes() == CLASSES and "region.csv" not in project.uploads()
    measured(project)
    text = " ".join(client.get(own).text.split())
    assert '<th scope="row">N1</th><td class="number">20</td>' in text and 'name="cell.2.1"' in text
    assert "1 value of the data has no row" in text and "W9" in text
    stamp = hashlib.sha256(CLASSES).hexdigest()[:16]
    changed = {"stamp": stamp, "cell.0.1": "North", "cell.1.1": "North", "gone": "2", "more": "W9;West;*\n"}
    assert client.post(own, data={"csrf": csrf_of(client, own), "action": "save", **changed}).status_code == 303
    assert kept.read_bytes() == b"N1;North;*\nN2;North;*\nW9;West;*\n"
    # the other window shows what is not there any more
    again = client.post(own, data={"csrf": csrf_of(client, own), "action": "save", **changed})
    assert (again.status_code, codes_of(again)) == (422, {"page-outdated"})
    assert project.history.changes()[-1].said == "Hierarchy of REGION edited"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"N1\nN2\n", None),
        (b"N1;N\nN2\n", None),
        (b"N1;\nN2;N\n", None),
        (b"\xff\xfe;\n", "not-utf-8"),
        (b"N1;A;X\nN2;A;Y\n", None),
        (b"N1;N\n" * 500_000, "wrong-upload"),
    ],
)
def test_what_is_no_hierarchy_is_not_kept(
    client: TestClient, project: Project, content: bytes, code: str | None
) -> None:
    answer = uploaded(client, project, content)
    assert answer.status_code == 422 and codes_at(answer).keys() == {"file"}
    assert code in (None, codes_at(answer)["file"])
    assert not list(project.folder.glob("*.csv")) and list(project.uploads()) == ["a.csv"]


def test_cells_that_are_not_there_are_refused(client: TestClient, project: Project) -> None:
    classes(project)
    own, stamp = path(project, "/hierarchy/REGION"), hashlib.sha256(CLASSES).hexdigest()[:16]
    for name in ("cell.9.1", "cell.0.0", "cell.0.3", "cell.x.1", "cell.-1.1"):
        typed = {"csrf": csrf_of(client, own), "action": "save", "stamp": stamp, name: "x"}
        assert client.post(own, data=typed).status_code == 422, name
    assert client.get(path(project, "/hierarchy/NOWHERE")).status_code == 404
    assert client.get(path(project, "/hierarchy/..%2Frules")).status_code == 404
    assert (project.folder / "REGION.hierarchy.csv").read_bytes() == CLASSES


def test_a_hierarchy_in_use_stays(client: TestClient, project: Project) -> None:
    classes(project)
    project.settings.update({"recode": {"REGION": "REGION.hierarchy.csv:1"}}, said="x")
    assert codes_of(posted(client, project, "remove", more="/hierarchy/REGION")) == {"hierarchy-in-use"}
    project.settings.update({"recode": None}, said="x")
    assert posted(client, project, "remove", more="/hierarchy/REGION").status_code == 303
    assert not (project.folder / "REGION.hierarchy.csv").exists()


def test_a_proposal_is_taken(client: TestClient, project: Project) -> None:
    assert posted(client, project, "propose", more="/hierarchy/AGE", width="--json=x").status_code == 303
    run = latest_run(project, "hierarchy")
    assert run is not None and run.command["arguments"][2:6] == [
        "--field=AGE", "--out", f"runs/{run.name}/proposed.hierarchy.csv", "--width=--json=x",
    ]  # fmt: skip
    told = {"job": "hierarchy", "field": "AGE", "values": 2, "classes": [1]}
    files = {"proposed.hierarchy.csv": "16;*\n17;*\n", "hierarchy.json": told}
    run = laid_run(project, "hierarchy", ["hierarchy", "files/a.csv", "--field=AGE"], files)
    assert "Take it and look through it" in client.get(path(project, "/hierarchy/AGE")).text
    assert "Take it and look" not in client.get(path(project, "/hierarchy/REGION")).text
    assert posted(client, project, "take", more="/hierarchy/REGION", run=run.name).status_code == 422
    assert posted(client, project, "take", more="/hierarchy/AGE", run=run.name).status_code == 303
    assert (project.folder / "AGE.hierarchy.csv").read_bytes() == b"16;*\n17;*\n"


def test_each_field_has_a_file_of_its_own() -> None:
    fields = ["a:b", "a_b", "a.b", "@a", "A", "x" * 300, "x" * 299 + "y", "ä", "a/b", "..", "a_x3a_b"]
    names = [hierarchy_name(one) for one in fields]
    assert len(set(names)) == len(names) and all(len(one) < 130 and one.isascii() for one in names)
    assert not any("/" in one or one.startswith(".") for one in names)


def test_the_web_and_a_shell_give_the_same_bytes(
    client: TestClient, project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    classes(project)
    ways = {"way__AGE": "width", "recode__AGE": "10", "way__REGION": "hierarchy", "recode__REGION": "1"}
    posted(client, project, "save", **ways, key_k="3")
    where = f"/projects/{project.identity}/mask"
    assert client.post(where, data={"csrf": csrf_of(client, where), "action": "mask"}).status_code == 303
    run = latest_run(project, "mask")
    assert run is not None
    # the settings that the page offers say something else from now on
    project.write({"REGION.hierarchy.csv": b"N1;X;*\nN2;X;*\nS1;X;*\n"}, said="other")
    monkeypatch.chdir(project.folder)
    words = [one for one in run.command["arguments"] if "html" not in one]
    outcome = Runner(capsys)(*words)
    assert outcome.code == 0, outcome.err
    files = f"/projects/{project.identity}/runs/{run.name}/files"
    for name in ("masktron.toml", "REGION.hierarchy.csv", "rules.sch", "masked.manifest.json"):
        answer = client.get(f"{files}/{name}")
        assert answer.status_code == 200, name
        (tmp_path / name).write_bytes(answer.content)
    (tmp_path / "data.csv").write_bytes((project.files / "a.csv").read_bytes())
    # what leaves waits for the check
    assert client.get(f"{files}/masked.csv").status_code == client.get(f"{files}/masked.rules.sch").status_code == 303
    monkeypatch.chdir(tmp_path)
    shell = Runner(capsys)(
        "mask", "data.csv", "--rules", "rules.sch", "--config", "masktron.toml", "--secret", "masked.manifest.json",
        "--out", "own.csv",
    )  # fmt: skip
    assert shell.code == 0, shell.err
    for mine, theirs in (("own.csv", "masked.csv"), ("own.rules.sch", "masked.rules.sch")):
        assert (
            hashlib.sha256((tmp_path / mine).read_bytes()).digest()
            == hashlib.sha256((run.folder / theirs).read_bytes()).digest()
        )
    written = (tmp_path / "own.csv").read_text()
    assert "10-19,N," in written and "N1" not in written
    assert [one.name for one in runs_of(project) if one.step == "mask"] == [run.name]


def test_settings_name_no_file_of_a_matrix(project: Project) -> None:
    for path in ("/etc/passwd", "../other.csv", "m.csv,within:AGE"):
        with refused(UsageError, "not-in-projects", setting="pram.REGION"):
            project.settings.update({"pram": {"REGION": path}}, said="x")
    project.settings.update({"pram": {"REGION": "change:0.1"}}, said="x")


def test_draws_and_swaps_are_written_and_shown_as_they_were_typed(client: TestClient, project: Project) -> None:
    before = {"AGE+A": "stay:0.5, change : 0.2", "REGION": "change:0.3"}
    roles = {**ROLES, "A": "quasi-identifier", "B": "quasi-identifier"}
    project.settings.update({"pram": {**before}, "roles": roles}, said="x")
    shown = client.get(path(project)).text
    assert 'name="swap.keys" type="text" value=""' in shown
    assert 'name="pram.AGE+A" type="text" value="0.2,stay:0.5"' in shown and 'value="0.3"' in shown
    typed = {"pram.AGE+A": "0.2,stay:0.5", "pram.REGION": "0.1,alone:keep", "swap.regions": " B,B ",
             "swap.k": "2", "swap.rate": "0,02", "swap.similar": "AGE", "swap.required": "0"}  # fmt: skip
    answer = posted(client, project, "save", **typed)
    assert answer.status_code == 303, answer.text
    # what nobody has changed stays as somebody has written it; an empty field is left out
    assert table(project) == {
        "pram": {"AGE+A": before["AGE+A"], "REGION": "change:0.1,alone:keep"},
        "swap": {"regions": ["B"], "k": 2, "rate": 0.02, "similar": ["AGE"], "required": 0},
    }
    assert state_of(project, "protect").says == "AGE+A, REGION drawn anew, B swapped"
    said = project.history.changes()[-1].said
    assert "REGION drawn anew by change:0.1,alone:keep; B swapped" in said
    again = client.get(path(project)).text
    assert (
        'name="swap.rate" type="text" value="0.02"' in again and 'name="swap.required" type="text" value="0"' in again
    )
    assert posted(client, project, "save").status_code == 303 and table(project) == {}


COMMA: dict[str, Any] = {"name": "Town_x002C__x0020_code", "column": "Town, code"}


def test_names_with_commas_are_typed_in_quotation_marks_and_shown_so(client: TestClient, project: Project) -> None:
    fields = ({"name": "AGE"}, text_field("REGION", "N1", "N2"), {**text_field("X", "t1", "t2"), **COMMA})
    laid_run(project, "describe", ["describe", "files/a.csv"], {"describe.json": described(*fields)})
    text = client.get(path(project)).text
    assert "A name with commas of its own stands in quotation marks" in text
    typed = {"swap.regions": 'REGION, "Town, code"', "swap.keys": "AGE", "swap.similar": '"Town, code"'}
    assert posted(client, project, "save", **typed, **{"swap.household": "Town, code"}).status_code == 303
    names = {"regions": ["REGION", COMMA["name"]], "keys": ["AGE"], "similar": [COMMA["name"]]}
    assert table(project) == {"swap": {**names, "household": COMMA["name"]}}
    again = client.get(path(project)).text
    assert 'name="swap.regions" type="text" value="REGION, &#34;Town, code&#34;"' in again
    assert 'name="swap.household" type="text" value="Town, code"' in again
    # what is shown can be saved as it is
    assert (
        posted(client, project, "save", **typed, **{"swap.household": "Town, code", "swap.k": "2"}).status_code == 303
    )
    assert table(project)["swap"] == {**names, "household": COMMA["name"], "k": 2}
    wrong = posted(client, project, "save", **{"swap.regions": '"Town, code'})
    assert (wrong.status_code, codes_at(wrong)) == (422, {"swap.regions": "bad-value"})


def test_what_draws_come_to_is_told_before_anything_is_masked(
    client: TestClient, project: Project, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = {"pram__AGE": "0.2", "swap__regions": "REGION", "swap__keys": "A", "swap__k": "2"}
    project.settings.update({"roles": {**ROLES, "A": "quasi-identifier"}}, said="roles")
    assert posted(client, project, "save", **typed, way__AGE="width", recode__AGE="10").status_code == 303
    monkeypatch.chdir(project.folder)
    words = ["keys", "files/a.csv", "--rules", "rules.sch", "--config", "masktron.toml", "--json", "../keys.json"]
    outcome = run(*words)
    assert outcome.code == 0, outcome.err
    result = json.loads(Path("../keys.json").read_text())
    laid_run(project, "keys", ["keys", "files/a.csv", "--rules", InRun("rules.sch")], {"keys.json": result})
    text = " ".join(client.get(path(project)).text.split())
    assert "It can be done." in text and "take published values as true" in text
    # one record in five: 12 of 60, as it was asked for
    assert "<strong>AGE</strong>: drawn anew (PRAM), change 0.2; 20 % of 60 records expected" in text
    assert "a published value is true with a probability of at most" in text and "odds rise at most" in text
    assert "<strong>REGION</strong>: exchanged between records, records rare among fewer than 2 by A" in text
    assert "these are draws of a trial" in text
    # other draws make what was measured out of date
    assert "settings have changed since this was measured" not in text
    project.settings.update({"pram": {"AGE": "change:0.1"}}, said="x")
    assert "settings have changed since this was measured" in client.get(path(project)).text


def test_results_and_release_say_that_published_values_are_taken_as_true(
    client: TestClient, project: Project
) -> None:
    done = [{"kind": "pram", "field": "REGION", "how": "change 0.1; odds rise at most 8.8 times"}]
    sentence = "take published values as true"
    for treatments in ([], done):
        result = {**MASKED, "treatments": treatments, "keys": keys_tried("AGE", "REGION")["keys"], "fates": []}
        files = {"mask.json": result, "masked.csv": "A\n1\n", "about.html": "x", "internal.html": "y",
                 "masked.manifest.json": "{}"}  # fmt: skip
        laid_run(project, "mask", ["mask", "files/a.csv", "--rules", InRun("rules.sch")], files)
        for page in ("mask", "release"):
            text = client.get(f"/projects/{project.identity}/{page}").text
            assert (sentence in text) == bool(treatments), page
            assert ("; odds rise at most 8.8 times" in text) == bool(treatments), page


def test_both_estimates_are_shown(client: TestClient, project: Project) -> None:
    measured(project)
    said = "by the weights, 2.5 by a log-linear model"
    assert said in client.get(path(project)).text
    result = {**MASKED, "treatments": [], "keys": keys_tried("AGE", "REGION")["keys"], "fates": []}
    files = {"mask.json": result, "masked.csv": "A\n1\n", "about.html": "x", "internal.html": "y",
             "masked.manifest.json": "{}"}  # fmt: skip
    laid_run(project, "mask", ["mask", "files/a.csv", "--rules", InRun("rules.sch")], files)
    assert said in client.get(f"/projects/{project.identity}/mask").text


def test_an_error_of_swapping_stands_at_its_regions(client: TestClient, project: Project) -> None:
    error = UsageError.of("bad-value", name=Setting("--swap"), expected="x", given="y")
    laid_run(project, "keys", ["keys", "files/a.csv", "--rules", InRun("rules.sch")], code=2, error=error)
    assert codes_at(client.get(path(project))) == {"swap.regions": "bad-value"}


def test_rules_that_ask_nothing_any_more_are_counted(client: TestClient, project: Project) -> None:
    tried = keys_tried("AGE", "REGION")
    idle = {
        "rule": "hours", "fate": "vacuous", "before": "AGE < 40 or B > 3", "after": "AGE in {35+}", "fields": ["AGE"],
        "reason": "it asks nothing any more of any class of AGE",
    }  # fmt: skip
    for fates, said in (
        (tried["fates"], ""),
        ([*tried["fates"], idle], "1 rule asks nothing any more of any class, and finds no error there."),
        ([idle, {**idle, "rule": "b"}], "2 rules ask nothing any more of any class, and find no error there."),
    ):
        project.settings.update({"recode": {"AGE": "width:5"}}, said="x")
        laid_run(
            project, "keys", ["keys", "files/a.csv", "--rules", InRun("rules.sch")],
            {"keys.json": {**tried, "fates": fates}},
        )  # fmt: skip
        text = " ".join(client.get(path(project)).text.split())
        assert (said in text) if said else ("asks nothing any more of any class, and" not in text)
    assert '<span class="mark bad">vacuous</span>' in text
