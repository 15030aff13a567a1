"""Help of every command: its width, its panels, their order; completion in shells; the page that an error names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli_runner import Runner
from masktron.commands import COMMANDS
from masktron.commands.help_pages import ELSE, named_page, of_options, page_of_error, page_of_usage
from masktron.commands.offered import Offered, offered
from masktron.declared import PANELS
from masktron.errors import UsageError
from masktron.problems.problem import Known, Note, SettingName
from paths import DOCS


def options_of(name: str) -> list[Offered]:
    """Return the options of a command."""
    return [one for one in offered(COMMANDS[name].kind) if one.spellings]


@pytest.mark.few(5)
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_80_columns_and_names_no_types(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = Runner(capsys, whole=False)(*[name] * bool(name), "--help").out
    assert max(map(len, told.splitlines())) <= 80
    assert not re.search(r"<[A-Za-z]+>|\{[A-Z]+\}", told)
    for one in options_of(name) if name else ():
        assert all(spelling in told for spelling in one.spellings)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", COMMANDS)
def test_options_stand_in_panels_from_common_to_rare(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = Runner(capsys, whole=False)(name, "--help").out
    titles = [title for title in re.findall(r"^(\w[\w ]+):$", told, re.MULTILINE) if title != "Arguments"]
    assert titles == [panel for panel in PANELS if panel in titles]
    assert titles[-1] == "Output"
    for title in titles:
        body = told.split(f"\n{title}:\n")[1].split("\n\n")[0]
        shown = re.findall(r"^  (--?[a-z-]+)", body, re.MULTILINE)
        own = [one for one in options_of(name) if one.panel == title]
        needed = [one.spellings[0] for one in own if one.required]
        assert shown[: len(needed)] == needed
        assert {*shown} - {"--help"} == {one.spellings[0] for one in own}


def test_every_option_has_a_panel() -> None:
    for name in COMMANDS:
        assert [one for one in options_of(name) if one.panel not in PANELS] == []


def test_words_in_brackets_are_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    told = Runner(capsys, whole=False)("mask", "--help").out
    assert "[dask]" in told
    assert "[levels]" in told
    assert "[default: 5]" in told


def test_every_page_that_an_error_can_name_is_there() -> None:
    for page in pages():
        assert (DOCS / f"{page}.md").is_file(), page


def pages() -> set[str]:
    """Return the pages that errors name."""
    return {ELSE, "installing", *(listed.page for listed in COMMANDS.values()), *of_options().values()}


@pytest.mark.parametrize(
    ("arguments", "page"),
    [
        (["mask"], "methods"),
        (["mask", "d.csv", "--pram"], "pram"),
        (["mask", "--nowhere"], "methods"),
        (["nowhere"], "command-line"),
        (["web", "--port", "x"], "web"),
        (["completion", "sh"], "command-line"),
        (["mask", "d.csv", "-r", "r.sch", "-o", "m.csv", "--recode", "AGE"], "recoding"),
    ],
)
def test_errors_of_usage_name_one_page(
    arguments: list[str],
    page: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = Runner(capsys, whole=False)(*arguments)
    assert done.code == 2
    assert re.findall(r"see (docs/[a-z/-]+\.md)", done.err) == [f"docs/{page}.md"]
    assert "Traceback" not in done.err


def said(page: str) -> str:
    """Name a page by its path, and by the title that it has on the site."""
    title = (DOCS / f"{page}.md").read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return f"see docs/{page}.md ({title})"


def test_pages_are_named_by_the_titles_that_they_have() -> None:
    for page in pages():
        assert named_page(page) == said(page)


def test_the_option_that_an_error_is_about_decides() -> None:
    assert page_of_usage(["--key-k"], ["mask"]) == said("suppression")
    assert page_of_usage([], ["tune"]) == said("tuning")
    for command, page in (("rerun", "repeating"), ("suggest", "suggesting")):
        assert page_of_usage(["--accept"], [command]) == said(page)
    missing = UsageError.of("package-missing", what="a page", package="matplotlib", extra="report")
    assert page_of_error(missing, ["mask"]) == said("installing")
    level = UsageError.of(
        "bad-value", name=SettingName("levels", ("Household", "fields")), expected="a list", given="5"
    )
    assert page_of_error(level, ["validate"]) == said("nested-files")


def test_the_place_of_an_error_decides_where_it_is_an_option_and_not_where_it_is_a_file() -> None:
    unknown = UsageError.of(
        "unknown-name", "levels.csv", kind="setting", name=SettingName("foo"), known=Known("foo", ())
    )
    assert page_of_error(unknown, ["describe"]) == said("formats")
    no_level = UsageError.of("setting-not-usable", "--table P", name=SettingName("P"), reason="mask")
    assert page_of_error(no_level, ["mask"]) == said("nested-files")


def test_an_error_that_names_a_page_gets_no_other_one() -> None:
    for page in ("keys", "formats/databases"):
        assert page_of_error(UsageError(Note(f"no such table: see [[docs/{page}.md]]")), ["mask"]) is None
    assert page_of_error(UsageError(Note("no such table")), ["mask"]) == said("methods")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = Runner(capsys, whole=False)("completion", shell)
    assert done.code == 0
    assert "_masktron_completion" in done.out


def test_an_example_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    told = Runner(capsys, whole=False)("rerun", "--help").out
    assert COMMANDS["rerun"].example in " ".join(told.split())
