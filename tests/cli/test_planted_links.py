"""A link that lies in a folder under the name of an output leads no output out of that folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli_runner import Runner, numbers, write_data, write_rules

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")

COMMANDS = {
    "named": ("validate", "survey.xml", "--rules", "rules.sch", "--json", "planted"),
    "page": ("validate", "survey.xml", "--rules", "rules.sch", "--html", "planted"),
    "masked": ("mask", "survey.xml", "--rules", "rules.sch", "-k", "3", "--out", "planted"),
    "of its own": ("mask", "survey.xml", "--rules", "rules.sch", "-k", "3", "--out", "out.xml"),
    "converted": ("convert", "survey.xml", "--out", "planted.csv"),
    "database": ("convert", "survey.xml", "--out", "sqlite:planted?table=t"),
    "described": ("describe", "survey.xml", "--json", "planted"),
    "rules": ("suggest", "survey.xml", "--out", "planted"),
}


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_output_follows_a_link_out_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, *, there: bool
) -> None:
    folder, victim = tmp_path / "sent", tmp_path / ".profile"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_data(folder / "survey.xml", numbers())
    write_rules(folder / "rules.sch", "A + B = T")
    if there:
        victim.write_text("mine")
    for name in ("planted", "planted.csv", "out.manifest.json"):
        (folder / name).symlink_to(victim)
    before = {path.name for path in folder.iterdir()}
    refused = Runner(capsys)(*COMMANDS[command])
    assert refused.code == 2, refused.err
    assert "is a link to" in refused.err or "belongs to something else" in refused.err
    assert (victim.read_text() if victim.exists() else None) == ("mine" if there else None)
    assert {path.name for path in folder.iterdir()} == before


def test_a_link_within_the_folder_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "survey.xml", numbers())
    (tmp_path / "today").mkdir()
    (tmp_path / "latest.csv").symlink_to("today/survey.csv")
    assert Runner(capsys)("convert", "survey.xml", "--out", "latest.csv").code == 0
    assert (tmp_path / "today" / "survey.csv").is_file() and (tmp_path / "latest.csv").is_symlink()
