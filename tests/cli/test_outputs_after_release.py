"""A report that cannot be written after the release is in its place: that is said, and nobody masks it again."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from cli_runner import Runner, numbers, write_data, write_rules

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="a folder in which nobody may make files, not even root"
)
UNWRITABLE = Path("/proc/self/about.html")


@pytest.mark.few(1)
@pytest.mark.parametrize("option", ["--html", "--html-public"])
def test_a_page_that_cannot_be_written_leaves_a_release_that_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    run, out, manifest = Runner(capsys), own / "m.xml", own / "m.manifest.json"
    data, rules = write_data(own / "d.xml", numbers()), write_rules(tmp_path / "r.sch", "A + B = T")
    done = run("mask", data, "-r", rules, "-o", out, "-k", 3, option, UNWRITABLE)
    assert done.code == 4 and out.exists() and manifest.exists()
    assert "promises" in done.out
    said = " ".join(done.err.split())
    assert "the file is masked and in its place, but its pages are not written" in said
    assert f"do not mask again: `masktron report {manifest}" in said and "nothing was written" not in said
    again = run("rerun", manifest, data, "-r", rules, "-o", own / "n.xml", option, UNWRITABLE)
    assert again.code == 4 and (own / "n.xml").exists()
    said = " ".join(again.err.split())
    assert "the file is masked and in its place" in said and "nothing was written" not in said
    [suggested] = re.findall(rf"masktron (report {re.escape(str(own))}/n[^`]*)` makes them", said)
    assert run(*suggested.split(), option, tmp_path / "about.html").code == 0


def test_a_result_in_json_that_cannot_be_written_is_all_that_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = Runner(capsys), tmp_path / "m.xml"
    data, rules = write_data(tmp_path / "d.xml", numbers()), write_rules(tmp_path / "r.sch", "A + B = T")
    done = run("mask", data, "-r", rules, "-o", out, "-k", 3, "--json", UNWRITABLE)
    assert done.code == 4 and out.exists()
    said = " ".join(done.err.split())
    assert "[report-missing]" in said and "nothing was written" not in said
