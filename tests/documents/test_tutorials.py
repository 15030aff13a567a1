"""Tutorials, and guides that go on from them: every command that they show is run, and says what they show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from cli_runner import Runner
from console_pages import WIDTH, Command, cells, commands, matches, run_page, saved, say
from paths import DOCS
from refusals import code_of

TUTORIALS = DOCS / "tutorials"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(capsys, whole=False, width=WIDTH)


def test_commands_are_found_with_what_is_shown() -> None:
    text = "```console\n$ one \\\n    two\na\n...\n$ three\n```\n\n```bash\n$ no\n```\n"
    assert commands(text) == [Command("one two", ("a", "...")), Command("three", ())]


@pytest.mark.parametrize(
    ("shown", "said", "right"),
    [
        (("a", "b"), "a\nb\n", True),
        (("a", "..."), "a\n", True),
        (("...", "b 1 ... c"), "a\nb 1 2 c\n", True),
        (("a",), "a\nb\n", False),
        (("a", "...", "b"), "a\nc\n", False),
        ((), "a\n", False),
    ],
)
def test_what_is_shown_is_compared_with_what_is_said(shown: tuple[str, ...], said: str, right: bool) -> None:
    assert matches(shown, said) is right


@pytest.mark.parametrize(
    "page", ["tutorials/csv.md", "formats/text-files.md", "reference/released-file.md", "how-to/giving-away.md"]
)
def test_the_settings_shown_for_files_of_excel_read_one(page: str, tmp_path: Path, run: Runner) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    (block,) = re.findall(r"^```toml\n(\[format_options\]\n.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "own.csv").write_text("NACE;Town;Wages\n10.11;Zürich;100,50\n62.01;Bern;98,25\n", encoding="cp1252")
    describe = "masktron describe own.csv --rows 1"
    assert say(describe, tmp_path, run)[0] != 0
    (tmp_path / "masktron.toml").write_text(block, encoding="utf-8")
    code, said = say(describe, tmp_path, run)
    assert code == 0
    assert "98.25 to 100.5" in said
    assert "Zürich" in said


@pytest.mark.full
def test_a_csv_in_ten_minutes(tmp_path: Path, run: Runner) -> None:
    run_page(TUTORIALS / "csv.md", tmp_path, run)


@pytest.mark.full
def test_enterprises(tmp_path: Path, run: Runner) -> None:
    page = TUTORIALS / "enterprises.md"
    saved(page, tmp_path)
    run_page(page, tmp_path, run)
    mended = (tmp_path / "edits.sch").read_text(encoding="utf-8")
    given = tmp_path / "give-away"
    code, said = say("masktron validate released.csv --rules released.rules.sch", given, run)
    assert (code, "360 records, valid" in said) == (0, True)
    (given / "masktron.toml").unlink()
    assert say("masktron validate released.csv --rules released.rules.sch", given, run)[0] == 4
    (tmp_path / "edits.sch").write_text(mended.replace("not(NACE) or ", ""), encoding="utf-8")
    (refused,) = [one.text for one in commands(page.read_text(encoding="utf-8")) if "--html-public" in one.text]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        told = run(*shlex.split(refused.replace("released.csv", "again.csv"))[1:]).err
    assert code_of(told) == "keys-stay-rare"
    assert "2 records stay rare" in told
    assert "masktron rules edits.sch --change nace" in told
    assert not (tmp_path / "again.csv").exists()


@pytest.mark.full
def test_households_in_one_csv(tmp_path: Path, run: Runner) -> None:
    run_page(TUTORIALS / "people.md", tmp_path, run)


@pytest.mark.full
def test_households_with_their_persons(tmp_path: Path, run: Runner) -> None:
    run_page(TUTORIALS / "households.md", tmp_path, run)


def test_giving_a_file_away(tmp_path: Path, run: Runner) -> None:
    saved(TUTORIALS / "csv.md", tmp_path)
    run_page(DOCS / "how-to" / "giving-away.md", tmp_path, run)
    given = tmp_path / "give-away"
    code, said = say("masktron validate released.csv --rules released.rules.sch", given, run)
    assert code == 0
    assert "400 records, valid" in said
    assert {path.name for path in given.iterdir()} == {"released.csv", "about.html", "released.rules.sch"}
    assert say(f"masktron validate released.csv --rules {tmp_path / 'edits.sch'}", given, run)[0] == 1


@pytest.mark.full
def test_choosing_with_the_map(tmp_path: Path, run: Runner) -> None:
    saved(TUTORIALS / "csv.md", tmp_path)
    run_page(TUTORIALS / "choosing.md", tmp_path, run)


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = TUTORIALS / "notebook.md"
    monkeypatch.chdir(TUTORIALS)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    space: dict[str, Any] = {}
    code = cells(page.read_text(encoding="utf-8"))
    assert len(code) > 4
    for cell in code:
        exec(compile(cell, str(page), "exec"), space)  # noqa: S102 -- our own page
    assert space["result"].min_group == 5


@pytest.mark.full
def test_the_workflow_checks_the_release_and_fails_for_another_one(tmp_path: Path, run: Runner) -> None:
    run_page(TUTORIALS / "csv.md", tmp_path, run)
    run_page(TUTORIALS / "continuous-integration.md", tmp_path, run)
    text = (TUTORIALS / "continuous-integration.md").read_text(encoding="utf-8")
    lines = [line.split("run: ")[-1].strip() for line in text.splitlines() if "run: masktron" in line]
    assert len(lines) == 2
    assert [say(line, tmp_path, run)[0] for line in lines] == [0, 0]
    released = tmp_path / "released.csv"
    head, first, *others = released.read_text(encoding="utf-8").splitlines()
    spoiled = first.rpartition(",")[0] + ",1"
    released.write_text("\n".join([head, spoiled, *others, ""]), encoding="utf-8")
    assert [say(line, tmp_path, run)[0] for line in lines][-1] == 1
