"""The page Mask: settings that its form writes, the command that it starts, results and errors in plain words."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from masktron.errors import InfeasibleError, MasktronError, OutsideLimitsError, ViolationError
from masktron.figures import figure_of
from masktron.methods import ALL
from masktron.problems.problem import Problem, Rule, SettingName, fields
from masktron.problems.wording import texts
from masktron.web.pages import mask_step
from masktron.web.pages.form_values import further_controls
from masktron.web.pages.mask_step import masked_name
from masktron.web.pages.method_words import LIMITS, METHOD_WORDS, limit_label
from masktron.web.runs.one_run import InRun, latest_run
from masktron.web.store.projects import Project
from refusals import code_of
from web_client import Office, codes_at, codes_of, forms_of
from web_runs import MASKED, laid_run, state_of

FORM = {"method": "mdav", "k": "5", "grouping": "rules", "invalid": "stop", "params": ""}
WORDS = ["mask", "files/a.csv", "--rules", InRun("rules.sch")]


path, posted = forms_of("mask")


MADE = {
    "made-unfired": ("{rule} fires on nothing", "[[--allow-unfired {rule}]]"),
    "made-rare": (
        "few of them",
        "[[--rare-units exclude]], [[-k {k}]], [[--limit linkage={k}]], else [[-k NUMBER]]",
    ),
}


Invalid = type("InvalidOriginalError", (ViolationError,), {})
"""By its name, as JSON has it."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors whose hints give settings."""
    known = {**texts(), **MADE}
    monkeypatch.setattr("masktron.problems.wording.texts", lambda: known)


def failed(project: Project, code: int, **error: str) -> None:
    laid_run(project, "mask", [*WORDS], code=code, error=error)


def test_every_method_has_words() -> None:
    assert list(METHOD_WORDS) == [one.name for one in ALL]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ("files/A.CSV", "masked.csv"),
        ("files/a.b.csv.gz", "masked.csv.gz"),
        ("files/a.xml", "masked.xml"),
        ("files/a.dat", "masked.xml"),
        ("files/a.sas7bdat", "masked.xpt"),
        ("files/a.ods", "masked.xlsx"),
    ],
)
def test_the_masked_file_has_the_format_of_the_data(data: str, name: str) -> None:
    assert masked_name(data) == name


def test_the_form_writes_settings_and_starts_the_command(client: TestClient, project: Project) -> None:
    fields = {
        **FORM,
        "k": "7",
        "invalid": "exclude",
        "limits.linkage": "20,5",
        "method": "noise",
        "params": "c = 0.3",
    }
    assert posted(client, project, "mask", fields).status_code == 303
    assert project.settings.table == {
        "k": 7, "method": "noise", "invalid": "exclude", "params": {"c": 0.3}, "limits": {"linkage": 20.5},
    }  # fmt: skip
    run = latest_run(project, "mask")
    assert run is not None
    assert run.shown_command == (
        "masktron mask files/a.csv --rules runs/0001-mask/rules.sch --out runs/0001-mask/masked.csv --json "
        "runs/0001-mask/mask.json --html runs/0001-mask/internal.html --html-public runs/0001-mask/about.html "
        "--config runs/0001-mask/masktron.toml"
    )
    page = client.get(path(project)).text
    assert "waits for its turn" in page and run.shown_command in page
    assert posted(client, project, "cancel", {}).status_code == 303
    assert run.is_cancelled


def test_what_a_form_sends_as_it_was_makes_no_result_old(client: TestClient, project: Project) -> None:
    words = ["explain", InRun("rules.sch"), "--data", "files/a.csv", "--config", InRun("masktron.toml")]
    rule = {"id": "sum", "form": "A + B = T", "class": "linear", "block": ["A", "B"], "candidates": ["mean"]}
    plan = {"rules": [{**rule, "why": "mean keeps sum"}], "obstacle": None, "notes": []}
    laid_run(project, "plan", words, {"plan.json": plan})
    entries = len(project.history.changes())
    assert posted(client, project, "mask", {**FORM, "limits.linkage": ""}).status_code == 303
    assert project.settings.table == {} and len(project.history.changes()) == entries
    text = client.get(path(project)).text
    assert "<strong>A, B</strong>" in text and "have changed since" not in text


def test_the_plan_is_asked_of_explain(client: TestClient, project: Project) -> None:
    assert posted(client, project, "plan", FORM).status_code == 303
    run = latest_run(project, "plan")
    assert run is not None and run.command["arguments"][:4] == [
        "explain",
        "runs/0001-plan/rules.sch",
        "--data",
        "files/a.csv",
    ]
    rule = {"id": "sum", "form": "A + B = T", "class": "linear", "candidates": ["mean"], "aggregator": None}
    rules = [{**rule, "block": ["A", "B"], "why": "mean keeps sum"}, {**rule, "block": None, "why": "reads no field"}]
    plan = {"job": "explain", "rules": rules, "obstacle": "the text field NAME has no role", "notes": ["look"]}
    laid_run(project, "plan", ["explain", InRun("rules.sch"), "--data", "files/a.csv"], {"plan.json": plan})
    page = client.get(path(project)).text
    assert all(one in page for one in ("A, B", "A + B = T", "mean keeps sum", "the text field NAME has no role"))
    project.settings.update({"k": 9}, said="k")
    assert "mean keeps sum" not in client.get(path(project)).text


@pytest.mark.parametrize(
    ("at", "text"),
    [
        ("k", "1"), ("k", "five"), ("k", "٣"), ("method", "magic"), ("grouping", "x"), ("limits.linkage", "low"),
        ("limits.pil", "-1"), ("limits.pil", "nan"), ("params", "c 0.3"), ("max_observed_share", "abc"),
    ],
)  # fmt: skip
def test_errors_stand_at_their_field(client: TestClient, project: Project, at: str, text: str) -> None:
    answer = posted(client, project, "mask", {**FORM, at: text})
    assert (answer.status_code, codes_at(answer)) == (422, {at: "bad-value"})
    assert text in answer.text
    assert latest_run(project, "mask") is None and project.settings.text == ""


def test_without_data_nothing_is_started_and_without_rules_none_are_named(
    client: TestClient, office: Office, project: Project
) -> None:
    other = office.store.make("empty")
    assert codes_of(posted(client, other, "mask", FORM)) == {"earlier-step-missing"}
    project.write({"rules.sch": None}, said="gone")
    assert codes_of(posted(client, project, "mask", FORM)) == set()
    run = latest_run(project, "mask")
    assert run is not None
    assert "--rules" not in run.command["arguments"]


def test_a_result_is_told_in_sentences(client: TestClient, project: Project) -> None:
    project.settings.update({"limits": {"linkage": 20}}, said="x")
    laid_run(project, "mask", WORDS, {"mask.json": MASKED, "internal.html": "x", "masked.csv": "A\n1\n"})
    page = client.get(path(project)).text
    for said in ("Rules: green. Every rule holds.", "Protection: amber. No limit is set.", "12.5 %", "a note"):
        assert said in page
    assert "1 records were left out" in page and "found again" in page
    assert "/report/internal.html" in page and "--secret runs/0001-mask/masked.manifest.json" in page
    assert state_of(project, "mask").done
    project.settings.update({"tune": {"budget": "2m"}}, said="x")
    assert state_of(project, "mask").done  # of no matter to mask
    project.settings.update({"k": 9}, said="x")
    assert not state_of(project, "mask").done and "have changed since" in client.get(path(project)).text


@pytest.mark.parametrize(
    ("settings", "error", "button", "after"),
    [
        ({}, Invalid.of("made-rare", k=3), "Leave out the records", {"invalid": "exclude"}),
        ({"k": 20}, InfeasibleError.of("made-rare", k=3), "Take smaller groups, of 10", {"k": 10}),
        ({}, OutsideLimitsError.of("made-rare", k=3), "Mask whole records together", {"grouping": "all"}),
        ({}, ViolationError.of("made-unfired", rule=Rule("R1")), "Go on although", {"allow_unfired": ["*"]}),
        ({}, InfeasibleError.of("made-rare", k=3), "Leave these out", {"rare_units": "exclude"}),
        ({"k": 9}, InfeasibleError.of("made-rare", k=3), "Smallest group (k): 3, and mask", {"k": 3}),
        ({"k": 9}, InfeasibleError.of("made-rare", k=3), "at most (per cent): 3, and mask", {"limits.linkage": 3}),
    ],
)
@pytest.mark.usefixtures("made")
def test_what_stopped_it_has_a_button_that_helps(
    client: TestClient, project: Project, settings: dict[str, Any], error: MasktronError, button: str,
    after: dict[str, Any],
) -> None:  # fmt: skip
    project.settings.update({"grouping": "rules", **settings}, said="x")
    laid_run(project, "mask", [*WORDS], code=error.exit_code, error=error)
    answer = client.get(path(project))
    page = answer.text
    assert "Nothing was published" in page and codes_of(answer) == {code_of(error)} and button in page
    assert state_of(project, "mask").problem
    form = page.partition(button)[0].rpartition("<form")[2]
    (name, value) = next(iter(after.items()))
    sent = value[0] if isinstance(value, list) else value
    assert f'name="{name}" value="{sent}"' in form
    assert posted(client, project, "mask", {name: str(sent)}).status_code == 303
    after = {"limits": {"linkage": 3}} if name == "limits.linkage" else after
    assert project.settings.table == {"grouping": "rules", **settings, **after}
    run = latest_run(project, "mask")
    assert run is not None and run.number == 2


def test_an_error_of_k_stands_at_k(client: TestClient, project: Project) -> None:
    error = InfeasibleError.of("bad-value", name=SettingName("k"), expected="12", given=5)
    laid_run(project, "mask", [*WORDS], code=5, error=error)
    assert codes_at(client.get(path(project))) == {"k": "bad-value"}
    project.settings.update({"k": 3}, said="x")
    assert codes_at(client.get(path(project))) == {}  # that was another k


def test_records_that_were_released_before_need_a_reason(client: TestClient, project: Project) -> None:
    assert 'name="again"' not in client.get(path(project)).text
    failed(project, 5, kind="ReleasedBeforeError", what="this original was released on 2026-01-01")
    page = client.get(path(project)).text
    assert 'name="again"' in page and "Take smaller groups" not in page
    assert posted(client, project, "mask", {**FORM, "again": "--secret x"}).status_code == 303
    run = latest_run(project, "mask")
    assert run is not None and run.command["arguments"][-3] == "--again=--secret x"


def test_fields_without_a_role_lead_to_roles(client: TestClient, project: Project) -> None:
    told = {"what": "", "where": "", "hint": "", "kind": "UsageError", "exit_code": 2}
    error = {**told, **Problem("no-role", fields=fields(["NAME"]), dates="").as_dict()}
    laid_run(project, "mask", [*WORDS], code=2, error=error)
    page = client.get(path(project)).text
    assert 'roles?show=open">Say what these fields are' in page
    assert page.count("NAME has no role") == 1


DRAWN = {"variables": ["A"], "aggregator": "drawn"}
GROUPED = {"variables": ["B"], "aggregator": "mode"}


@pytest.mark.parametrize(
    ("draw", "blocks", "said"),
    [
        (None, [GROUPED], "records share their values of a block of fields"),
        ({"smallest": 5}, [DRAWN], "records from which values were drawn; they share none"),
        ({"smallest": 5}, [DRAWN, GROUPED], "or share those of a block that was not drawn"),
        ({"smallest": None}, [DRAWN, GROUPED], "records share their values of a block that was not drawn"),
        ({"smallest": None}, [DRAWN], None),
    ],
)
def test_groups_that_share_values_and_those_that_values_are_drawn_from_are_told_apart(
    client: TestClient, project: Project, draw: Any, blocks: list[Any], said: str | None
) -> None:
    laid_run(project, "mask", WORDS, {"mask.json": {**MASKED, "draw": draw, "blocks": blocks}})
    page = client.get(path(project)).text
    assert ("<dt>Smallest group</dt>" in page) == (said is not None)
    assert said is None or said in page


def test_the_figures_of_the_map_come_back_under_their_names(client: TestClient, project: Project) -> None:
    axes = [
        {"figure": "disclosure_risk", "group": "risk", "value": 30.1, "unit": "%", "meaning": ""},
        {"figure": "pil", "group": "utility", "value": 37.6, "unit": "%", "meaning": ""},
    ]
    masked = {**MASKED, "figures": axes, "information_loss": 110.0}
    laid_run(project, "mask", WORDS, {"mask.json": masked})
    tiles = client.get(path(project)).text.partition('<dl class="facts">')[2].partition("</dl>")[0]
    assert '<dt>Disclosure risk</dt><dd class="value">30.1 %</dd>' in tiles
    assert '<dt>Probabilistic information loss</dt><dd class="value">37.6 %</dd>' in tiles
    assert "110" not in tiles  # squared changes are no information loss of the map
    laid_run(project, "mask", WORDS, {"mask.json": {**masked, "figures": []}})
    tiles = client.get(path(project)).text.partition('<dl class="facts">')[2].partition("</dl>")[0]
    assert '<dt>Information loss (SSE/SST)</dt><dd class="value">110 %</dd>' in tiles and "Probabilistic" not in tiles


def test_the_page_does_not_promise_that_nobody_is_recognised(client: TestClient, project: Project) -> None:
    page = client.get(path(project)).text
    assert "nobody can be recognised" not in page and "how much risk is left" in page


RULE = {
    "id": "not-negative-KIDS", "context": "s:Person", "test": "s:KIDS >= 0", "message": "KIDS {s:KIDS} is negative.",
    "namespaces": {"s": "urn:s"},
}  # fmt: skip
CONCERNS = [
    {"kind": "below-zero", "field": "KIDS", "records": 8, "of": 11, "says": "x", "hint": "y", "rule": RULE},
    {"kind": "identifying-field", "field": "ID", "records": 11, "of": 11, "says": "ID tells every record from all "
     "others", "hint": "y", "rule": None},
    {"kind": "unchanged-records", "field": "", "records": 2, "of": 11, "says": "2 records came out", "hint": "y",
     "rule": None},
]  # fmt: skip
EMPTY = b'<schema xmlns="http://purl.oclc.org/dsdl/schematron"><title>t</title></schema>'


def test_what_must_be_looked_at_is_not_green(client: TestClient, project: Project) -> None:
    run = laid_run(project, "mask", WORDS, {"mask.json": {**MASKED, "concerns": CONCERNS}})
    page = client.get(path(project)).text
    assert "Look at this before you publish" in page
    assert "KIDS in 8 of 11 records" in page and "remove ID on the page Roles" in page
    assert "2 records came out." in page and f'name="run" value="{run.name}"' in page
    state = state_of(project, "mask")
    assert state.done and state.problem and "look at the result" in state.says
    assert '<li class="problem" aria-current="page">' in page
    laid_run(project, "mask", WORDS, {"mask.json": {**MASKED, "concerns": []}})
    page = client.get(path(project)).text
    assert "Look at this" not in page and not state_of(project, "mask").problem


def test_values_below_0_are_forbidden_by_a_click(client: TestClient, project: Project) -> None:
    project.write({"rules.sch": EMPTY}, said="Rules")
    run = laid_run(project, "mask", WORDS, {"mask.json": {**MASKED, "concerns": CONCERNS}})
    assert posted(client, project, "forbid", {"run": run.name}).status_code == 422
    assert posted(client, project, "forbid", {"run": "0009-mask", "forbid": "KIDS"}).status_code == 422
    answer = posted(client, project, "forbid", {"run": run.name, "forbid": "KIDS"})
    assert (answer.status_code, answer.headers["location"]) == (303, path(project))
    book = (project.folder / "rules.sch").read_text()
    assert 'context="s:Person"' in book and "s:KIDS &gt;= 0" in book and 'uri="urn:s"' in book
    page = client.get(path(project)).text
    assert "Mask once more" in page and 'name="forbid"' not in page
    assert posted(client, project, "mask", {}).status_code == 303  # what the button sends


def test_labels_of_limits_follow_from_their_figures() -> None:
    assert [label for label, _ in LIMITS.values()] == [
        "Records that an intruder finds again, at most (per cent)",
        "Records that the strongest intruder finds, at most (per cent)",
        "Unique records by what others know, at most (records)",
        "Records alike in what others know, at least (records)",
        "Disclosure risk, at most (per cent)",
        "Probabilistic information loss, at most (per cent)",
    ]
    assert limit_label("block_k", "Records that share their values") == (
        f"Records that share their values, at least ({figure_of('block_k').unit})"
    )
    with pytest.raises(KeyError, match="no_figure"):
        limit_label("no_figure", "x")


def test_settings_that_no_page_asks_for_are_under_more_settings(client: TestClient, project: Project) -> None:
    wanted = {"max_observed_share": 2.5, "allow": ["R1", "R2"], "keep_missing": True}
    posted(client, project, "save", {"max_observed_share": "2.5", "allow": "R1, R2", "keep_missing": "true"})
    assert wanted.items() <= project.settings.table.items()
    posted(client, project, "save", {"max_observed_share": "", "allow": "", "keep_missing": ""})
    assert not wanted.keys() & project.settings.table.keys()


def test_what_more_settings_show_comes_back_as_it_was(client: TestClient, project: Project) -> None:
    project.settings.update({"protect": "Person", "keep_missing": True, "allow": ["R1"]}, said="t")
    shown = {one["name"]: one["value"] for one in further_controls(project.settings.config, mask_step._FIELDS)}
    before = project.settings.text
    posted(client, project, "save", shown)
    assert project.settings.text == before
    assert posted(client, project, "save", {**shown, "keep_missing": "yes"}).status_code == 422
