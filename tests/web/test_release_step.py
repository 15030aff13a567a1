"""The page Release: only what a check of these very bytes has passed can be downloaded."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from masktron.sources.known_formats import known_formats
from masktron.web.handlers.run_files import OpenedFile
from masktron.web.pages.mask_step import needs_a_look
from masktron.web.pages.release_step import FORMATS
from masktron.web.runs import checked_files
from masktron.web.runs.one_run import CommandRun, InRun, InRunOf, latest_run
from masktron.web.store.projects import Project
from web_client import codes_of, csrf_of, forms_of
from web_runs import MASKED as MADE
from web_runs import VERDICT, laid_run, state_of

MASKED = b"A,B\n1,2\n"


@pytest.fixture
def project(project: Project) -> Project:
    project.settings.update({"k": 3}, said="k")
    return project


path, posted = forms_of("release")


def masked(project: Project) -> CommandRun:
    files = {
        "mask.json": {"job": "mask"}, "masked.csv": MASKED, "masked.manifest.json": "{}", "about.html": "public",
        "internal.html": "inside",
    }  # fmt: skip
    return laid_run(project, "mask", ["mask", "files/a.csv", "--rules", InRun("rules.sch")], files)


def checked(
    project: Project, made: CommandRun, name: str, content: bytes, *, code: int = 0, original: str = "files/a.csv"
) -> CommandRun:
    verdict = {
        "job": "check", "sha256": hashlib.sha256(content).hexdigest(), "complies": code == 0, "checked": ["2 rules"],
        "not_checked": [], "problems": ["a group is too small"] if code else [], "rules": [],
    }  # fmt: skip
    words = ["check", InRunOf(made, name), "--original", original]
    return laid_run(project, "check", words, {"check.json": verdict}, code=code)


def test_every_format_can_be_written() -> None:
    for one in known_formats():
        if one.name != "xml":
            assert (one.name in FORMATS) == (not one.instead), one.name


def test_nothing_is_released_before_it_is_masked(client: TestClient, project: Project) -> None:
    assert "Nothing has been masked" in client.get(path(project)).text
    for action, field in (("check", {"run": "0001-mask"}), ("convert", {"format": "csv"})):
        answer = client.post(path(project), data={"csrf": csrf_of(client), "action": action, **field})
        assert (answer.status_code, codes_of(answer)) == (422, {"earlier-step-missing"})


def test_the_download_comes_after_the_check(client: TestClient, project: Project) -> None:
    made = masked(project)
    page = client.get(path(project)).text
    assert "Download masked.csv" not in page and "CONFIDENTIAL" in page
    assert hashlib.sha256(b"inside").hexdigest() in page and hashlib.sha256(b"{}").hexdigest() in page
    assert posted(client, project, "check", run=made.name).status_code == 303
    run = latest_run(project, "check")
    assert run is not None
    assert run.shown_command == (
        "masktron check runs/0001-mask/masked.csv --rules runs/0001-mask/rules.sch --config "
        "runs/0001-mask/masktron.toml --original files/a.csv --manifest runs/0001-mask/masked.manifest.json --json "
        "runs/0002-check/check.json --html runs/0002-check/check.html"
    )
    assert "It is being checked" in client.get(path(project)).text
    assert posted(client, project, "cancel", which="check").status_code == 303
    checked(project, made, "masked.csv", MASKED)
    page = client.get(path(project)).text
    assert "Checked: it complies" in page and hashlib.sha256(MASKED).hexdigest() in page
    where = page.partition('class="download" href="')[2].partition('"')[0]
    assert hashlib.sha256(client.get(where).content).hexdigest() in page
    assert state_of(project, "release").done


def test_bytes_that_were_not_checked_are_not_offered(client: TestClient, project: Project) -> None:
    made = masked(project)
    checked(project, made, "masked.csv", MASKED)
    (made.folder / "masked.csv").write_bytes(b"A,B\n9,9\n")
    page = client.get(path(project)).text
    assert 'class="download"' not in page and "once more" in page
    other = masked(project)
    page = client.get(path(project)).text
    assert 'class="download"' not in page and other.name in page


def test_a_file_that_fails_is_not_offered(client: TestClient, project: Project) -> None:
    checked(project, masked(project), "masked.csv", MASKED, code=1)
    page = client.get(path(project)).text
    assert 'class="download"' not in page and "a group is too small" in page
    assert state_of(project, "release").problem


def test_translated_rules_leave_with_the_file_and_judge_other_formats(client: TestClient, project: Project) -> None:
    files = {"mask.json": {"job": "mask"}, "masked.rules.sch": "<schema/>", "masked.xml": MASKED,
             "masked.manifest.json": "{}"}  # fmt: skip
    made = laid_run(project, "mask", ["mask", "files/a.csv", "--rules", InRun("rules.sch")], files)
    own = f"/projects/{project.identity}/runs/{made.name}/files"
    # masked.rules.sch comes before masked.xml, and is no masked file
    assert "masked.xml <span" in client.get(path(project)).text
    assert client.get(f"{own}/masked.rules.sch").status_code == 303
    checked(project, made, "masked.xml", MASKED)
    assert client.get(f"{own}/masked.rules.sch").content == b"<schema/>"
    (made.folder / "masked.rules.sch").write_text("<other/>")
    assert client.get(f"{own}/masked.rules.sch").status_code == 303
    convert = laid_run(project, "convert", ["convert", InRunOf(made, "masked.xml")], {"masked.csv": MASKED})
    for run, rules in ((made, "rules.sch"), (convert, "masked.rules.sch")):
        assert posted(client, project, "check", run=run.name).status_code == 303
        check = latest_run(project, "check")
        assert check is not None and f"runs/{made.name}/{rules}" in check.command["arguments"]
        assert ("--manifest" in check.command["arguments"]) == (run is made)


def test_nothing_leaves_by_its_address_that_no_check_has_passed(client: TestClient, project: Project) -> None:
    made = masked(project)
    own = f"/projects/{project.identity}/runs/{made.name}"

    def leaves(*names: str) -> bool:
        answers = [client.get(f"{own}/files/{name}") for name in names or ("masked.csv", "about.html")]
        linked = [f'href="{own}/files/{name}"' in client.get(own).text for name in names or ("masked.csv",)]
        assert all(one.status_code == 200 or one.headers["location"] == path(project) for one in answers)
        found = {one.status_code == 200 for one in answers} | {*linked}
        assert len(found) == 1
        return found.pop()

    assert not leaves()
    assert "CONFIDENTIAL" in client.get(path(project)).text and leaves("internal.html", "masked.manifest.json")
    assert client.get(f"{own}/report/about.html").text == "public"
    checked(project, made, "masked.csv", MASKED, code=1)
    assert not leaves()
    checked(project, made, "masked.csv", MASKED, original="files/b.csv")
    assert not leaves() and "was not compared with the data" in client.get(path(project)).text
    checked(project, made, "masked.csv", b"other bytes")
    assert not leaves()
    checked(project, made, "masked.csv", MASKED)
    assert leaves() and client.get(f"{own}/files/masked.csv").content == MASKED
    (made.folder / "about.html").write_text("another")
    assert not leaves("about.html") and leaves("masked.csv")
    assert "can be downloaded when masked.csv has passed" in client.get(path(project)).text
    (made.folder / "masked.csv").write_bytes(MASKED[::-1])
    assert not leaves()


def test_a_file_too_large_to_be_read_for_a_page_is_the_one_that_was_checked(
    client: TestClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_files, "_LARGEST_HASHED", 4)
    made = masked(project)
    checked(project, made, "masked.csv", MASKED)
    where, digest = f"/projects/{project.identity}/runs/{made.name}/files/masked.csv", hashlib.sha256(MASKED)
    assert digest.hexdigest() in client.get(path(project)).text and client.get(where).content == MASKED
    found = (made.folder / "masked.csv").stat()
    (made.folder / "masked.csv").write_bytes(MASKED[::-1])
    os.utime(made.folder / "masked.csv", ns=(found.st_mtime_ns, found.st_mtime_ns))
    page = client.get(path(project)).text
    assert 'class="download"' not in page and digest.hexdigest() not in page
    assert client.get(where).headers["location"] == path(project)
    assert not state_of(project, "release").done


def test_a_download_breaks_off_where_the_file_changes(tmp_path: Path) -> None:
    async def received(file: OpenedFile) -> bytes:
        return b"".join([bytes(piece) async for piece in file.body_iterator])

    sent = tmp_path / "masked.csv"
    sent.write_bytes(MASKED)
    with sent.open("rb") as stream:
        assert asyncio.run(received(OpenedFile(stream, sent.name))) == MASKED
        file = OpenedFile(stream, sent.name)
        sent.write_bytes(MASKED[::-1])
        with pytest.raises(ConnectionAbortedError):
            asyncio.run(received(file))


def test_nothing_is_checked_against_other_data(client: TestClient, project: Project) -> None:
    made = masked(project)
    project.remove_upload("a.csv")
    (project.files / "a.csv").write_text("A,B\n1,2\n")
    answer = posted(client, project, "check", run=made.name)
    assert (answer.status_code, codes_of(answer)) == (422, {"earlier-step-missing"})
    page = client.get(path(project)).text
    assert "have changed since it was masked" in page and latest_run(project, "check") is None


def test_another_format_leaves_after_the_file_from_which_it_was_written(client: TestClient, project: Project) -> None:
    made = masked(project)
    words = ["convert", InRunOf(made, "masked.csv"), "--out", InRun("masked.sav")]
    saved = laid_run(project, "convert", words, {"masked.sav": b"sav", "convert.json": {"losses": []}})
    where = f"/projects/{project.identity}/runs/{saved.name}/files/masked.sav"
    checked(project, saved, "masked.sav", b"sav")
    page = client.get(path(project)).text
    assert 'class="download"' not in page and "when masked.csv, from which it was written, has passed" in page
    assert client.get(where).status_code == 303 and not state_of(project, "release").done
    checked(project, made, "masked.csv", MASKED)
    assert client.get(where).content == b"sav" and client.get(path(project)).text.count('class="download"') == 2
    (made.folder / "masked.csv").write_bytes(MASKED)  # anew: nobody knows from which it was written
    assert client.get(where).status_code == 303


def test_another_format_is_converted_and_checked_on_its_own(client: TestClient, project: Project) -> None:
    made = masked(project)
    project.settings.update({"format_options": {"delimiter": ";"}}, said="x")
    assert posted(client, project, "convert", format="spss").status_code == 303
    run = latest_run(project, "convert")
    assert run is not None and run.shown_command == (
        "masktron convert runs/0001-mask/masked.csv --out runs/0002-convert/masked.sav '--format-option=delimiter=;' "
        "--json runs/0002-convert/convert.json"
    )
    assert posted(client, project, "cancel", which="convert").status_code == 303
    losses = {"job": "convert", "losses": ["that 3 values are empty texts"]}
    words = ["convert", InRunOf(made, "masked.csv"), "--out", InRun("masked.sav")]
    saved = laid_run(project, "convert", words, {"masked.sav": b"sav", "convert.json": losses})
    page = client.get(path(project)).text
    assert "that 3 values are empty texts" in page and 'class="download"' not in page
    assert posted(client, project, "check", run=saved.name).status_code == 303
    check = latest_run(project, "check")
    assert check is not None and "--manifest" not in check.command["arguments"]
    assert posted(client, project, "check", run="0002-convert").status_code == 422
    assert codes_of(posted(client, project, "convert", format="docx")) == {"bad-value"}


def test_the_register_is_shown(client: TestClient, project: Project) -> None:
    masked(project)
    project.settings.update({"register": "releases.jsonl"}, said="x")
    assert "has no entry" in client.get(path(project)).text
    entry = {
        "kind": "release", "at": "2026-11-01T08:00:00+00:00", "output": {"name": "masked.csv", "sha256": "ab" * 32},
        "method": "mdav", "k": 3, "again": "a new weight",
    }  # fmt: skip
    (project.folder / "releases.jsonl").write_text(json.dumps({"kind": "head"}) + "\n" + json.dumps(entry) + "\n")
    page = client.get(path(project)).text
    assert "ab" * 32 in page and "a new weight" in page and "2026-11-01 08:00 UTC" in page


def test_what_must_be_looked_at_stands_before_the_download(client: TestClient, project: Project) -> None:
    concern = {
        "kind": "below-zero", "field": "KIDS", "records": 8, "of": 11, "says": "x", "hint": "y", "rule": None,
    }  # fmt: skip
    made = masked(project)
    (made.folder / "mask.json").write_text(json.dumps({"schema_version": 1, **MADE, "concerns": [concern]}))
    checked(project, made, "masked.csv", MASKED)
    page = client.get(path(project)).text
    assert page.index("KIDS in 8 of 11 records") < page.index('class="download"')
    assert "Protection: amber. No limit is set." in page and 'name="forbid"' not in page
    assert state_of(project, "release").done and state_of(project, "release").problem
    (made.folder / "mask.json").write_text(json.dumps({"schema_version": 1, **MADE, "concerns": []}))
    needs_a_look.cache_clear()
    assert not state_of(project, "release").problem
    red = {**VERDICT, "protection": {**VERDICT["protection"], "level": "red"}}
    (made.folder / "mask.json").write_text(json.dumps({"schema_version": 1, **MADE, "verdict": red}))
    needs_a_look.cache_clear()
    assert state_of(project, "release").problem
    page = client.get(path(project)).text
    assert 'class="verdict good"><span>Rules: green.' in page and 'class="verdict bad"><span>Protection: red.' in page
