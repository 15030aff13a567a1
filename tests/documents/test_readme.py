"""The README: all that it shows is run, and says what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cli_runner import Runner
from console_pages import WIDTH, run_page
from paths import ROOT

README = ROOT / "README.md"
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    """What stands in fences of a language."""
    return [text for found, text in _FENCED.findall(README.read_text(encoding="utf-8")) if found == language]


def test_its_commands_and_its_python_say_what_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("rules", "sample_xml"):
        (tmp_path / name).symlink_to(ROOT / name)
    run_page(README, tmp_path, Runner(capsys, whole=False, width=WIDTH))
    (code,) = blocks("python")
    space: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        exec(compile(code, "README.md", "exec"), space)  # noqa: S102 -- our own page
    assert capsys.readouterr().out == "green red 5\n"
    original, released = (
        (tmp_path / name).read_text(encoding="utf-8").splitlines() for name in ("survey.csv", "out.csv")
    )
    assert len(released) == len(original)
    assert not released[0].startswith("id")


def test_it_is_short() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 130
    assert max(map(len, lines)) <= 600


def test_the_two_commands_are_there() -> None:
    targets = re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = re.findall(r"^make ([\w-]+)", "".join(blocks("bash")), flags=re.MULTILINE)
    assert named == ["demo", "test"]
    assert {*named, "docs"} <= {*targets}


def test_the_picture_is_there() -> None:
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
    assert pictures
    assert all((ROOT / name).is_file() for name in pictures)
