"""The page Choose: what it asks of tune, the map so far and in the end, and what taking a candidate writes."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import replace
from typing import Any

import pytest
from lxml import html
from starlette.testclient import TestClient

from masktron.config import config_from
from masktron.jobs.search.asked import tune_settings_from
from masktron.jobs.search.choosing import choose_candidate
from masktron.jobs.search.grid import settings_of
from masktron.problems.problem import Field, Note
from masktron.problems.readers import RESULT_READER, Reader, reading
from masktron.results import TuneCandidate, TuneResult
from masktron.web.pages.choose_step import BUDGETS
from masktron.web.runs import run_process
from masktron.web.runs.one_run import InRun, latest_run, prepared_run
from masktron.web.store.projects import Project
from web_client import codes_at, codes_of, forms_of
from web_runs import laid_run, state_of

FORM = {"budget": "10m", "k": "3, 5, 10, 20", "limits.linkage": ""}
WORDS = ["tune", "files/a.csv", "--rules", InRun("rules.sch")]
CANDIDATES = (
    TuneCandidate("mdav", {}, 5, "rules", None, "measured", 40, 1, False, {"linkage": 90.0, "pil": 10.0}, {}, False,
                  ("linkage is 90, the limit 50",)),
    TuneCandidate("noise", {"c": 0.3}, 5, "rules", None, "measured", 40, 3, True, {"linkage": 20.0, "pil": 30.0}, {},
                  True, concerns=("a is below 0", "b moves")),
    TuneCandidate("mdav", {}, 5, "all", "median", "measured", 40, 1, False, {"linkage": 15.0, "pil": 40.0}, {}, True),
    TuneCandidate("ipso", {}, 5, "rules", None, "refused", reasons=("too few records",)),
    TuneCandidate("mdav", {}, 3, "all", state="unreached", reasons=("not tried so far",)),
)  # fmt: skip
MAP = TuneResult(
    "a.csv",
    "rules.sch",
    40,
    None,
    "linkage",
    "pil",
    {"linkage": 50.0},
    CANDIDATES,
    (2, 1),
    1,
    "noise loses least",
    {},
)


path, posted = forms_of("choose")


def tried(project: Project) -> None:
    laid_run(project, "choose", WORDS, {"tune.json": MAP.as_dict(), "map.svg": "<svg/>", "map.html": "x"})


def test_the_form_is_what_tune_is_asked(client: TestClient, project: Project) -> None:
    fields = {**FORM, "k": "4,6", "methods": ["mdav", "noise"], "limits.linkage": "40"}
    assert posted(client, project, "begin", fields).status_code == 303
    table = project.settings.table
    assert table["limits"] == {"linkage": 40}
    asked = tune_settings_from(table["tune"])
    assert (asked.methods, asked.k, asked.budget) == (("mdav", "noise"), (4, 6), 600.0)
    run = latest_run(project, "choose")
    assert run is not None
    assert run.shown_command == (
        "masktron tune files/a.csv --rules runs/0001-choose/rules.sch --out tune --json runs/0001-choose/tune.json "
        "--map runs/0001-choose/map.svg --html runs/0001-choose/map.html --config runs/0001-choose/masktron.toml"
    )
    assert codes_of(posted(client, project, "begin", FORM)) == {"run-under-way"}
    page = client.get(path(project)).text
    assert "waits for its turn" in page and "Try ways to mask" not in page


@pytest.mark.parametrize("budget", BUDGETS)
def test_tune_takes_every_budget(budget: str) -> None:
    assert tune_settings_from({"budget": budget}).budget >= 120


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"budget": "1y"}, "budget"),
        ({"k": "3;5"}, "k"),
        ({"k": "1"}, "k"),
        ({"methods": ["mdav", "magic"]}, "methods"),
        ({"limits.linkage": "x"}, "limits.linkage"),
    ],
)
def test_errors_stand_at_their_field(client: TestClient, project: Project, fields: dict[str, Any], at: str) -> None:
    answer = posted(client, project, "begin", {**FORM, **fields})
    assert answer.status_code == 422 and codes_at(answer) == {at: "bad-value"}
    assert latest_run(project, "choose") is None and project.settings.text == ""


def test_what_was_found_is_shown_and_taken(client: TestClient, project: Project) -> None:
    project.settings.update({"k": 9, "limits": {"linkage": 50}}, said="x")
    tried(project)
    page = client.get(path(project)).text
    assert (
        "Recommended: noise, k = 5, by fields that rules tie, c = 0.3" in page and "Why: noise loses least." in page
    )
    assert page.count('name="candidate"') == 4  # those with figures, and the recommended one on top
    many = '<details><summary>2<span class="unseen"> of number 1</span></summary>a is below 0; b moves</details>'
    assert many in page
    assert all(one in page for one in ("not possible here", "not tried", "outside a limit", "too few records"))
    assert not state_of(project, "choose").done
    picture = client.get(f"/projects/{project.identity}/runs/0001-choose/picture/map.svg")
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in picture.headers["content-security-policy"]
    assert client.get(f"/projects/{project.identity}/runs/0001-choose/picture/tune.json").status_code == 404
    for number, candidate in enumerate(CANDIDATES[:3]):
        before = project.settings.config
        answer = posted(client, project, "take", {"run": "0001-choose", "candidate": str(number)})
        assert answer.status_code == 303
        assert project.settings.config == settings_of(candidate, before)
        with reading(Reader.BROWSER):
            assert candidate.name in project.history.changes()[-1].said
        after = client.get(path(project)).text
        assert "have changed since" not in after and "in the settings" in after
        assert state_of(project, "choose").done == bool(candidate.within_limits)
        assert ("which is outside a limit" in after) == (not candidate.within_limits)
    assert config_from(
        {"k": 5, "method": "mdav", "grouping": "all", "aggregator": "median", "limits": {"linkage": 50}}
    )
    assert project.settings.config.aggregator == "median" and project.settings.table["limits"] == {"linkage": 50}


@pytest.mark.parametrize("candidate", ["3", "4", "5", "-1", "x", ""])
def test_what_has_no_figures_is_not_taken(client: TestClient, project: Project, candidate: str) -> None:
    tried(project)
    answer = posted(client, project, "take", {"run": "0001-choose", "candidate": candidate})
    assert answer.status_code == 422 and project.settings.text == ""


def test_rows_are_sorted_by_links(client: TestClient, project: Project) -> None:
    tried(project)

    def order(query: str) -> list[int]:
        page = client.get(path(project) + query).text
        return [int(one.partition('"')[0]) for one in page.split('<tr id="candidate-')[1:]]

    assert order("") == [0, 1, 2, 3, 4]
    assert order("?sort=risk") == [2, 1, 0, 3, 4]
    assert order("?sort=loss") == [0, 1, 2, 3, 4]
    assert order("?sort=x&page=zz") == [0, 1, 2, 3, 4]


def test_the_map_fills_while_the_run_goes_on(client: TestClient, project: Project) -> None:
    assert posted(client, project, "begin", FORM).status_code == 303
    run = latest_run(project, "choose")
    assert run is not None
    (project.folder / "tune").mkdir()
    kept = project.folder / "tune" / "tune.json"
    kept.write_text(json.dumps(MAP.as_dict()))
    os.utime(kept, (time.time() - 60, time.time() - 60))
    assert "The map" not in client.get(path(project)).text  # of another run
    (run.folder / run_process.PROCESS).write_text(json.dumps({"pid": 1, "began": time.time() - 30}))
    lock = run_process.locked(run.folder)
    assert lock is not None
    try:
        assert "The map" not in client.get(path(project)).text
        os.utime(kept)
        (run.folder / "map.svg").write_text("<svg/>")
        page = client.get(path(project)).text
        assert "The map, so far" in page and "map.svg?" in page and "Recommended" not in page
    finally:
        os.close(lock)


def test_the_form_is_part_of_what_is_swapped_when_it_ends(client: TestClient, project: Project) -> None:
    tried(project)
    page = html.fromstring(client.get(path(project)).text)
    (swapped,) = page.xpath("//div[@id='trying']")
    assert swapped.xpath(".//button[text()='Try ways to mask']") and swapped.xpath(".//input[@id='k']")


def test_the_recommended_way_is_taken_where_it_is_named(client: TestClient, project: Project) -> None:
    tried(project)
    page = html.fromstring(client.get(path(project)).text)
    (button,) = page.xpath("//button[text()='Take what is recommended']")
    assert button.getparent().xpath("./input[@name='candidate']/@value") == ["1"]
    assert posted(client, project, "take", {"run": "0001-choose", "candidate": "1"}).status_code == 303
    assert "Take what is recommended" not in client.get(path(project)).text


def test_what_nobody_has_taken_is_not_green(client: TestClient, project: Project) -> None:
    tried(project)  # its first candidate is what masking does without settings
    page = html.fromstring(client.get(path(project)).text)
    (chosen,) = page.xpath("//p[@id='chosen']")
    assert "As long as you take none: mdav" in chosen.text_content() and "risk of 90.0" in chosen.text_content()
    assert "good" not in chosen.get("class") and not page.xpath("//section[@id='map']//p[@class='next']")
    assert not state_of(project, "choose").done
    posted(client, project, "take", {"run": "0001-choose", "candidate": "2"})
    (chosen,) = html.fromstring(client.get(path(project)).text).xpath("//p[@id='chosen']")
    assert "In the settings now: mdav" in chosen.text_content() and "good" not in chosen.get("class")
    posted(client, project, "take", {"run": "0001-choose", "candidate": "1"})
    assert "good" in html.fromstring(client.get(path(project)).text).xpath("//p[@id='chosen']/@class")[0]


def test_the_picture_has_an_address_of_its_own_whenever_it_is_drawn(client: TestClient, project: Project) -> None:
    tried(project)
    run = latest_run(project, "choose")
    assert run is not None
    seen = html.fromstring(client.get(path(project)).text).xpath("//img[@class='map']/@src")
    os.utime(run.folder / "map.svg", (1, 1))
    assert html.fromstring(client.get(path(project)).text).xpath("//img[@class='map']/@src") != seen


def test_no_more_time_is_left_than_was_given(client: TestClient, project: Project) -> None:
    project.settings.update({"tune": {"budget": "2m"}}, said="x")
    run = prepared_run(project, "choose", WORDS)
    (run.folder / run_process.PROCESS).write_text(json.dumps({"pid": 1, "began": time.time() - 60}))
    said = {"at": 1, "stage": "trying", "done": 4, "size": 49, "unit": "runs", "seconds": 60, "left": 990}
    (run.folder / run_process.PROGRESS).write_text(json.dumps(said) + "\n")
    lock = run_process.locked(run.folder)
    assert lock is not None
    try:
        left = re.search(r"(\d+):(\d\d) left", client.get(path(project)).text)
    finally:
        os.close(lock)
    assert left is not None and 60 * int(left[1]) + int(left[2]) <= 60


def test_words_of_the_command_name_fields(
    client: TestClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RESULT_READER, Reader.BROWSER.value)  # as of the process that pages start
    unlimited = choose_candidate(CANDIDATES[:3], "linkage", "pil", {})
    assert "[[--limit {limit}]]" in unlimited.why.code
    found = replace(
        MAP, why=unlimited.why, notes=(Note("give [[--budget 1h]] for {field}", field=Field("a_x0020_b")),)
    )
    laid_run(project, "choose", WORDS, {"tune.json": found.for_reader()})
    page = client.get(path(project)).text
    assert "--limit" not in page and "set one, for example “Records that an intruder finds again, at most" in page
    assert "give “How long it may take: 1h” on the page Choose for a b" in page


def test_a_way_that_treats_keys_is_taken_with_its_treatment(client: TestClient, project: Project) -> None:
    figures = {"linkage": 15.0, "pil": 40.0}
    measured = TuneCandidate("mdav", {}, 5, "rules", None, "measured", 40, 1, False, figures, {}, True)
    ways: tuple[tuple[dict[str, str], int | None], ...] = (({"B": "width:5"}, None), ({"B": "width:9"}, 3), ({}, 2))
    candidates = tuple(replace(measured, recode=recode, key_k=key_k) for recode, key_k in ways)
    found = replace(MAP, candidates=candidates, front=(), recommended=None)
    laid_run(project, "choose", WORDS, {"tune.json": found.as_dict(), "map.svg": "<svg/>", "map.html": "x"})
    project.settings.update({"keys": {"k": 4, "subsets": 2}}, said="x")
    for number in (1, 2):
        before = project.settings.config
        posted(client, project, "take", {"run": "0001-choose", "candidate": str(number)})
        config = project.settings.config
        wanted = settings_of(candidates[number], before)
        assert (dict(config.recode), config.key_k, config.keys) == (dict(wanted.recode), wanted.key_k, {"subsets": 2})
    posted(client, project, "take", {"run": "0001-choose", "candidate": "0"})
    config = project.settings.config
    assert (dict(config.recode), config.key_k, config.keys) == ({"B": "width:5"}, None, {})
    assert "B width:5" in project.history.changes()[-1].said
    assert not state_of(project, "choose").done, "with other treatments, the ways would have other figures"


def test_a_way_that_draws_and_swaps_keys_is_shown_and_taken(client: TestClient, project: Project) -> None:
    figures = {"linkage": 15.0, "pil": 40.0}
    measured = TuneCandidate("mdav", {}, 5, "rules", None, "measured", 40, 1, False, figures, {}, True)
    drawn = replace(measured, pram={"B": "change:0.2"}, swap={"regions": ("A",), "keys": ("B",), "rate": 0.1})
    other = replace(measured, swap={"regions": ("A",), "rate": 0.2}, key_k=2)
    found = replace(MAP, candidates=(drawn, other, measured), front=(), recommended=None)
    laid_run(project, "choose", WORDS, {"tune.json": found.as_dict(), "map.svg": "<svg/>", "map.html": "x"})
    project.settings.update({"swap": {"regions": ["A"], "keys": ["C"]}}, said="x")
    page = client.get(path(project)).text
    assert "pram B change:0.2, swap A rate 0.1" in page and "swap A rate 0.2, key k = 2" in page
    for number, candidate in enumerate(found.candidates):
        before = project.settings.config
        answer = posted(client, project, "take", {"run": "0001-choose", "candidate": str(number)})
        assert answer.status_code == 303
        config, wanted = project.settings.config, settings_of(candidate, before)
        assert (config.pram, config.swap, config.key_k) == (wanted.pram, wanted.swap, wanted.key_k)
        assert html.fromstring(client.get(path(project)).text).xpath("//tr[.//strong[.='in the settings']]/@id") == [
            f"candidate-{number}"
        ]
