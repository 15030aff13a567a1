"""The page of validation: started, counted by rule and field, filtered, sorted, paged, downloaded."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from masktron.problems.problem import Setting
from masktron.web.runs.one_run import CommandRun, latest_run
from masktron.web.store.projects import Project
from told_results import failed, told, validated
from web_client import Office, codes_at, codes_of, sample_of, sent

RULES = [
    {"id": "income-sum", "failed": 130, "passes": False, "text": "Income [Income] <b>is</b> wrong"},
    {"id": "tax-limit", "failed": 2, "errors": 1, "passes": False, "text": "Tax"},
    {"id": "high-income", "failed": 1, "soft": True},
    {"id": "free-rent", "fired": 0, "failed": None, "passes": False,
     "untested": {"what": "it fires on nothing", "hint": "allow it", "misnamed": False, "allowed": False}},
]  # fmt: skip
FINDINGS = [
    {
        "rule": "income-sum", "record": 200 - number, "line": 7 * number + 1, "message": f"<i>{number}",
        "values": {"Income": f"9{number}", "Wages": None, "Part": ["1", "2"]}, "artefact": number == 3,
    }
    for number in range(120)
] + [{"rule": "tax-limit", "record": 5, "line": 1, "values": {"Tax": "3", "Income": "1"}}]  # fmt: skip


@pytest.fixture
def sample(office: Office, client: TestClient) -> tuple[Project, str]:
    return sample_of(office, client)


def begun(client: TestClient, project: Project, where: str, **fields: Any) -> CommandRun:
    assert sent(client, f"{where}/validate", "begin", **fields).status_code == 303
    run = latest_run(project, "validate")
    assert run is not None
    return run


def rows_of(text: str) -> list[list[str]]:
    """Return the rows of the table of records."""
    table = text.split("Records that break a rule</caption>")[1].partition("</table>")[0]
    return [
        [html.unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.findall(r"<t[dh][^>]*>.*?</t[dh]>", row)]
        for row in table.split("<tr>")[2:]
    ]


def test_the_command_is_the_one_that_was_asked_for(client: TestClient, sample: tuple[Project, str]) -> None:
    project, where = sample
    text = client.get(f"{where}/validate").text
    assert '<option value="data" selected>' in text  # the rules of the sample read the original
    run = begun(client, project, where, original="data", format=["csv", "svrl", "junit", "sarif"])
    own = f"runs/{run.name}"
    assert run.command["arguments"] == [
        "validate", "files/household.xml", "--rules", f"{own}/rules.sch",
        "--original", "files/household.xml", "--json", f"{own}/validate.json", "--html", f"{own}/validate.html",
        "--csv", f"{own}/findings.csv", "--svrl", f"{own}/findings.svrl", "--junit", f"{own}/findings.junit.xml",
        "--sarif", f"{own}/findings.sarif", "--max-findings=222", "--config", f"{own}/masktron.toml",
    ]  # fmt: skip
    assert "are being judged" in client.get(f"{where}/validate").text
    (project.files / "former.xml").write_text("<a/>")
    assert begun(client, project, where, original="former.xml").command["arguments"][5] == "files/former.xml"
    assert "--original" not in begun(client, project, where).command["arguments"]
    answer = sent(client, f"{where}/validate", "begin", original="../x")
    assert answer.status_code == 422 and codes_at(answer) == {"original": "bad-value"}


def test_a_project_without_data_or_rules_says_what_it_needs(office: Office, client: TestClient) -> None:
    where = sent(client, "/", "new", name="empty").headers["location"]
    project = office.store.get(where.rpartition("/")[2])
    assert project is not None
    answer = sent(client, f"{where}/validate", "begin")
    assert codes_of(answer) == {"earlier-step-missing"} and "no data" in answer.text
    (project.files / "a.csv").write_text("A\n1\n")
    project.choose_data("a.csv")
    answer = sent(client, f"{where}/validate", "begin")
    assert codes_of(answer) == {"earlier-step-missing"} and "no rules" in answer.text


def test_failures_are_counted_by_rule_and_by_field(client: TestClient, sample: tuple[Project, str]) -> None:
    project, where = sample
    told(begun(client, project, where), validated(RULES, FINDINGS), "validate.json", code=1)
    text = client.get(f"{where}/validate").text
    assert "132 failures among 2,000 records" in text and "1 warnings" in text
    assert "&lt;b&gt;is&lt;/b&gt; wrong" in text and "<b>is" not in text
    by_rule = text.split("Rules that fail")[1].split("</table>")[0]
    order = [by_rule.index(name) for name in ("income-sum", "tax-limit", "high-income")]
    assert order == sorted(order) and "1 errors" in by_rule
    fields = re.findall(r"<li><a [^>]*>(\w+)</a> ([\d,]+)</li>", text)
    assert fields == [("Income", "133"), ("Wages", "130"), ("Part", "130"), ("Tax", "3")]
    assert "13 more are in the CSV" in text
    assert "it fires on nothing" in text
    assert f'{where}/rules/edit/12">Change' in text
    assert "some records break a rule" in client.get(where).text


def test_records_are_filtered_sorted_and_paged(client: TestClient, sample: tuple[Project, str]) -> None:
    project, where = sample
    told(begun(client, project, where), validated(RULES, FINDINGS), "validate.json", code=1)

    def shown(query: str) -> list[list[str]]:
        return rows_of(client.get(f"{where}/validate?{query}").text)

    first = shown("")
    assert len(first) == 50
    assert first[0] == ["5", "1", "tax-limit", "", "Tax = 3; Income = 1"]
    assert first[1] == ["81", "834", "income-sum", "<i>119", "Income = 9119; Wages = missing; Part = 1, 2"]
    assert [int(row[0]) for row in first] == sorted(int(row[0]) for row in first)
    assert [len(shown(f"page={page}")) for page in (2, 3, 4)] == [50, 21, 21]
    assert shown("page=3")[-1][0] == "200"
    assert [row[2] for row in shown("rule=tax-limit")] == ["tax-limit"] == [row[2] for row in shown("field=Tax")]
    assert len(shown("field=Wages&page=3")) == 20
    assert shown("rule=none") == [["None."]] == shown("field=none")
    assert [row[1] for row in shown("sort=line&rule=income-sum")[:3]] == ["1", "8", "15"]
    assert "rounding only" in client.get(f"{where}/validate?sort=line").text
    assert shown("sort=rule&page=3")[-1][2] == "tax-limit"
    # each link keeps what the others have chosen
    text = html.unescape(client.get(f"{where}/validate?rule=income-sum&sort=line").text)
    assert '"?rule=income-sum&sort=line&page=2"' in text and '"?sort=line#records"' in text
    text = html.unescape(client.get(f"{where}/validate?page=3").text)
    assert '"?sort=rule#records"' in text and '"?page=2"' in text


def test_every_report_can_be_downloaded(client: TestClient, sample: tuple[Project, str]) -> None:
    project, where = sample
    run = begun(client, project, where, format=["csv", "svrl"])
    for name in ("findings.csv", "findings.svrl", "validate.html"):
        (run.folder / name).write_text(f"this is {name}")
    content = validated(RULES, FINDINGS)
    told(run, content, "validate.json", code=1)
    text = client.get(f"{where}/validate").text
    own = f"{where}/runs/{run.name}"
    for name in ("findings.csv", "findings.svrl", "validate.html"):
        assert f'href="{own}/files/{name}"' in text
        assert client.get(f"{own}/files/{name}").text == f"this is {name}"
    assert json.loads(client.get(f"{own}/files/validate.json").text) == content
    assert f'href="{own}/report/validate.html"' in text


def test_records_that_break_a_rule_can_be_left_out(client: TestClient, sample: tuple[Project, str]) -> None:
    project, where = sample
    told(begun(client, project, where), validated(RULES, FINDINGS), "validate.json", code=1)
    page = client.get(f"{where}/validate").text
    assert "Leave them out when masking" in page and "It is a code for “missing”" in page
    assert "Masking stops at these records" in page and "Next: " not in page
    sent(client, f"{where}/validate", "exclude")
    assert project.settings.config.invalid == "exclude"
    assert "are left out when masking" in client.get(where).text
    page = client.get(f"{where}/validate").text
    assert f'Next: <a href="{where}/roles"' in page and "Masking stops" not in page
    sent(client, f"{where}/validate", "include")
    assert project.settings.config.invalid == "stop"


def test_what_was_judged_before_a_change_is_no_result(client: TestClient, sample: tuple[Project, str]) -> None:
    project, where = sample
    told(begun(client, project, where), validated([{"id": "a"}], []), "validate.json")
    assert "Every rule holds" in client.get(f"{where}/validate").text and "every rule holds" in client.get(where).text
    project.write({"rules.sch": project.rulebook.replace("Savings", "Income").encode()}, said="x")
    assert "have changed since" in client.get(f"{where}/validate").text
    assert "every rule holds" not in client.get(where).text


def test_an_error_is_told_with_its_hint(client: TestClient, sample: tuple[Project, str]) -> None:
    project, where = sample
    failed(begun(client, project, where), "rules.sch:9", name=Setting("--original"))
    answer = client.get(f"{where}/validate")
    assert codes_at(answer) == {"original": "bad-value"} and "<code>rules.sch:9</code>" in answer.text
    assert "it ended without a result" in client.get(where).text


def test_a_result_that_is_too_large_for_a_page_is_still_told(client: TestClient, sample: tuple[Project, str]) -> None:
    project, where = sample
    run = begun(client, project, where)
    (run.folder / "validate.json").write_text(" " * 9_000_000)
    told(run, code=1)
    answer = client.get(f"{where}/validate")
    assert codes_of(answer) == {"result-unreadable"} and run.name in answer.text
