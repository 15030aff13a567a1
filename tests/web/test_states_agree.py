"""The way, the pages and their forms speak of the same run; what depends on other data or settings is not done."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import pytest
from starlette.testclient import TestClient

from made_up_map import made_up_map
from masktron.web.handlers.project_pages import WayStep, onward, way_of
from masktron.web.runs.one_run import CommandRun, InRun, InRunOf, RunState, latest_run
from masktron.web.store.projects import Project
from web_client import Office, codes_of, sent
from web_runs import MASKED, described, laid_run, text_field

RULES = InRun("rules.sch")
CONTENT = b"A,B\n1,2\n"


@pytest.fixture
def project(office: Office) -> Project:
    found = office.store.make("a survey")
    for name in ("a.csv", "b.csv"):
        (found.files / name).write_bytes(CONTENT)
    found.choose_data("a.csv")
    found.write({"rules.sch": b"<schema/>"}, said="Rules")
    return found


def step(project: Project, name: str) -> WayStep:
    return next(one for one in way_of(project) if one.name == name)


def page(client: TestClient, project: Project, name: str) -> str:
    answer = client.get(f"/projects/{project.identity}/{name}")
    assert answer.status_code == 200
    return answer.text


def k_is(project: Project, k: int) -> None:
    project.settings.update({"k": k}, said=f"k is {k}")


def masked(project: Project, records: int = 11) -> CommandRun:
    files = {
        "mask.json": {**MASKED, "records_out": records}, "masked.csv": CONTENT, "masked.manifest.json": "{}",
        "about.html": "x", "internal.html": "y",
    }  # fmt: skip
    return laid_run(project, "mask", ["mask", "files/a.csv", "--rules", RULES], files)


def tried(project: Project) -> CommandRun:
    project.settings.update({"method": "mdav"}, said="taken")
    config = project.settings.config
    candidate = {
        "method": config.method, "k": config.k, "grouping": config.grouping, "aggregator": None, "params": {},
        "figures": {"linkage": 5.0, "pil": 2.0}, "state": "measured", "within_limits": True, "reasons": [],
        "same_as": None,
    }  # fmt: skip
    found = {**made_up_map(), "candidates": [candidate], "utility": "pil", "recommended": 0, "front": [0]}
    return laid_run(project, "choose", ["tune", "files/a.csv", "--rules", RULES], {"tune.json": found})


def test_what_was_chosen_for_other_data_is_not_done(project: Project) -> None:
    tried(project)
    assert step(project, "choose").state.done
    k_is(project, 7)  # the way that was taken is another one, and the figures still hold
    assert step(project, "choose").state.says == "take one of the ways that were tried"
    project.undo()
    project.choose_data("b.csv")
    assert (step(project, "choose").state.done, step(project, "choose").state.says) == (
        False,
        "data, rules or settings have changed since",
    )


def test_after_an_undo_all_speak_of_the_run_that_holds_again(client: TestClient, project: Project) -> None:
    k_is(project, 3)
    first = masked(project)
    k_is(project, 5)
    second = masked(project, records=7)
    for run in (second, first):
        assert step(project, "mask").state.says == "masked"
        assert f"/runs/{run.name}" in page(client, project, "mask")
        release = page(client, project, "release")
        assert f'value="{run.name}"' in release
        other = first if run is second else second
        assert f"/runs/{other.name}" not in page(client, project, "mask") + release
        assert "have changed since" not in page(client, project, "mask") + release
        project.undo()
    assert step(project, "mask").state.says != "masked"
    assert f"/runs/{second.name}" in page(client, project, "mask"), "of none that holds, the latest is shown"


def test_a_check_of_what_was_masked_with_other_settings_makes_no_release_done(project: Project) -> None:
    made = masked(project)
    check = {
        "job": "check", "sha256": hashlib.sha256(CONTENT).hexdigest(), "complies": True, "checked": [],
        "not_checked": [], "problems": [], "rules": [],
    }  # fmt: skip
    words = ["check", InRunOf(made, "masked.csv"), "--rules", RULES, "--original", "files/a.csv"]
    laid_run(project, "check", words, {"check.json": check})
    assert step(project, "release").state.done
    k_is(project, 9)
    assert not step(project, "release").state.done


def test_only_what_was_written_from_the_masked_file_is_offered_beside_it(
    client: TestClient, project: Project
) -> None:
    older = masked(project)
    converted = {"job": "convert", "losses": []}
    words = ["convert", InRunOf(older, "masked.csv"), "--out", InRun("masked.sav")]
    made = laid_run(project, "convert", words, {"masked.sav": b"x", "convert.json": converted})
    assert "masked.sav" in page(client, project, "release")
    masked(project)
    assert "masked.sav" not in page(client, project, "release")
    answer = sent(client, f"/projects/{project.identity}/release", "check", run=made.name)
    assert (answer.status_code, codes_of(answer)) == (422, {"page-outdated"})


def test_another_format_is_written_from_a_file_that_is_read_as_settings_say(
    client: TestClient, project: Project
) -> None:
    settings = {"format": "csv", "record": "row", "format_options": {"delimiter": ";"}}
    project.settings.update(settings, said="x")
    masked(project)
    assert sent(client, f"/projects/{project.identity}/release", "convert", format="xml").status_code == 303
    run = latest_run(project, "convert")
    assert run is not None
    assert {"--format=csv", "--record=row", "--format-option=delimiter=;"} <= {*run.command["arguments"]}


def test_an_upload_that_a_run_needs_stays(office: Office, client: TestClient, project: Project) -> None:
    (project.files / "areas.xml").write_text("<a/>")
    project.settings.update({"documents": {"areas": "files/areas.xml"}}, said="x")
    where = f"/projects/{project.identity}/data"
    run = office.parts.queue.start(project, "mask", ["mask", "files/a.csv"])
    for name in ("a.csv", "areas.xml"):
        answer = sent(client, where, "remove", file=name)
        assert (answer.status_code, codes_of(answer), run.name in answer.text) == (422, {"run-under-way"}, True)
    assert sent(client, where, "remove", file="b.csv").status_code == 303
    office.parts.queue.cancel(run)
    reading = office.parts.queue.start(project, "describe", ["describe", "files/a.csv"])
    assert sent(client, where, "remove", file="a.csv").status_code == 303
    assert reading.state is RunState.CANCELLED
    assert set(project.uploads()) == {"areas.xml"}


def test_undo_waits_for_whoever_changes_the_project(project: Project) -> None:
    undoing = threading.Thread(target=project.undo)
    with project.lock():
        undoing.start()
        undoing.join(0.3)
        assert undoing.is_alive() and project.has_rules
    undoing.join(10)
    assert not project.has_rules


def test_drafts_of_another_rule_are_not_told_of_this_one(client: TestClient, project: Project) -> None:
    rules = b"""<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="record">
<assert id="sum" test="A &lt; B">m</assert></rule></pattern></schema>"""
    project.write({"rules.sch": rules}, said="x")
    drafts = {"draft": b"A &lt;= B", "draft-whole": b"A &lt; 77"}
    made = {}
    for kind, test in drafts.items():
        made[kind] = laid_run(project, kind, ["explain", RULES])
        (made[kind].folder / "rules.sch").write_bytes(rules.replace(b"A &lt; B", test))
        laid_run(project, "mask", ["mask"])  # so that the one draft does not follow the other
    text = page(client, project, f"rules/edit/1?draft={made['draft'].name}")
    assert "A &lt;= B" in text and "A &lt; 77" not in text
    assert "A &lt; 77" in page(client, project, f"rules/edit/1?draft={made['draft-whole'].name}")


def test_the_way_has_eight_steps_and_each_has_its_page_and_its_state(project: Project) -> None:
    way = way_of(project)
    assert ", ".join(one.title for one in way) == "Data, Rules, Validate, Roles, Protect keys, Choose, Mask, Release"
    assert [one.page is not None and one.page.state is not None and one.page.path == one.name for one in way] == (
        [True] * len(way)
    )
    assert [one.name for one in way if one.is_next] == ["data"]


def read(project: Project, *fields: Any, problems: Any = ()) -> None:
    laid_run(
        project, "describe", ["describe", "files/a.csv"], {"describe.json": described(*fields, problems=problems)}
    )


def test_roles_are_not_done_while_fields_are_to_be_decided(client: TestClient, project: Project) -> None:
    names = [f"F{at}" for at in range(8)]
    asked = [{"field": name, "what": "few whole numbers", "hint": ""} for name in names]
    fields = [{"name": name, "kind": None, "distinct": 4} for name in names]
    read(project, {"name": "A"}, *fields, problems=asked)
    state = step(project, "roles").state
    assert (state.done, state.says) == (False, "8 fields to decide: codes or amounts")
    assert "fields to decide (8)" in page(client, project, "roles")
    assert '<p class="verdict good">Every text field' not in page(client, project, "roles")
    project.settings.update({"numeric": names}, said="amounts")
    assert (step(project, "roles").state.done, step(project, "roles").state.says) == (
        True,
        "9 of 9 fields are masked",
    )


@pytest.mark.parametrize("name", ["rules", "validate", "roles", "protect", "choose", "mask", "release"])
def test_next_never_leads_back(client: TestClient, project: Project, name: str) -> None:
    read(project, {"name": "A"}, text_field("B", "x"))  # Roles is open, and Validate was not run
    masked(project)
    way = way_of(project)
    at = [one.name for one in way].index(name)
    done = [one.state.done for one in way]
    assert not done[2] and not done[3] and done[6] and not done[7]
    wanted = [("Still open", way[2].title)] if at > 2 else []
    wanted += (
        [("Next", next(one.title for one in way[at + 1 :] if not one.state.done))] if done[at] and at < 7 else []
    )
    assert [(word, one.title) for word, one in onward(way, name)] == wanted
    shown = page(client, project, name)
    assert [word for word in ("Still open", "Next") if f'<p class="next">{word}: ' in shown] == [w for w, _ in wanted]


def test_what_is_done_with_a_problem_is_told_as_a_problem(client: TestClient, project: Project) -> None:
    laid_run(project, "mask", ["mask", "files/a.csv", "--rules", RULES],
             {"mask.json": {**MASKED, "concerns": [{"kind": "within-unit", "field": "", "records": 1, "of": 9,
                                                    "says": "one", "hint": "two", "rule": None}]}})  # fmt: skip
    assert (step(project, "mask").state.done, step(project, "mask").state.problem) == (True, True)
    shown = client.get(f"/projects/{project.identity}").text
    assert shown.count('<span class="mark bad">problem</span>') == 1
    assert '<span class="mark bad">done</span>' not in shown


def test_the_map_of_choose_is_named_only_where_it_has_what_was_masked(client: TestClient, project: Project) -> None:
    risk = {"figure": "disclosure_risk", "group": "risk", "value": 40.0, "unit": "%", "meaning": "x"}
    figures = [{**risk, "figure": "linkage", "value": 12.5}, risk]
    project.settings.update({"method": "mdav"}, said="taken")

    def shown() -> str:
        laid_run(
            project, "mask", ["mask", "files/a.csv", "--rules", RULES], {"mask.json": {**MASKED, "figures": figures}}
        )
        return page(client, project, "mask").partition('id="how"')[0]

    assert "map of Choose" not in shown(), "nothing was tried"
    config = project.settings.config
    candidate = {
        "method": config.method, "k": config.k, "grouping": config.grouping, "aggregator": None, "params": {},
        "figures": {"disclosure_risk": 41.0, "pil": 2.0}, "state": "measured", "within_limits": True, "reasons": [],
        "same_as": None, "draws": False,
    }  # fmt: skip
    found = {**made_up_map(), "candidates": [candidate], "risk": "disclosure_risk", "utility": "pil"}
    found |= {"recommended": None, "front": [0]}
    words = ["tune", "files/a.csv", "--rules", RULES]
    laid_run(project, "choose", words, {"tune.json": found})
    assert shown().count("on the map of Choose 41 %") == 1 and "other draws" not in shown()
    laid_run(project, "choose", words, {"tune.json": {**found, "candidates": [{**candidate, "draws": True}]}})
    assert "on the map of Choose 41 %, by other draws" in shown()
    k_is(project, 9)
    assert "map of Choose" not in shown(), "it has another way to mask"
