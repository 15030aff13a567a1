"""What is said of findings, and under `--release-safe` of errors: the file, and no reason or place of a record."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.errors import DocumentError
from refusals import refused


@pytest.mark.parametrize(
    ("name", "text"),
    [("bad.csv", "A,B\n1,2\n1,2,3\n"), ("bad.xml", "<Data>\n<Record><A>1</B></Record>\n</Data>")],
)
def test_an_error_names_the_file_and_no_place_in_it(name: str, text: str, tmp_path: Path, run: Runner) -> None:
    data, rules = tmp_path / name, write_rules(tmp_path / "r.sch", "A >= 0")
    data.write_text(text)
    with pytest.raises(DocumentError) as told:
        masktron.validate(data, rules)
    assert told.value.where.startswith(f"{data}:"), "without the option there is a line"
    with refused(DocumentError, "reason-hidden", where=data):
        masktron.validate(data, rules, release_safe=True)
    done = run("validate", data, "-r", rules, "--release-safe")
    assert done.code == 4
    assert f"{name}:" not in done.err.replace(f"{name}: the file cannot be used", "")


def test_findings_for_missing_values_and_for_rounding_say_what_to_write(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"A": "1", "B": "1", "T": "2"},
        {"A": "0.1", "B": "0.2", "T": "0.3"},
        {"A": None, "B": "1", "T": "2"},
        {"A": "", "B": "1", "T": "2"},
        {"A": "1", "B": "5", "T": "2"},
    ]
    data = write_data(tmp_path / "d.xml", rows)
    notes = masktron.validate(data, write_rules(tmp_path / "r.sch", "A + B = T", "B > 0")).notes
    lacking, rounded = (note for note in notes if "listed findings" in note)
    assert lacking.startswith("R1: in 2 of 4 listed findings a field is missing")
    assert rounded.startswith("R1: 1 of 4 listed findings are rounding artefacts")
    assert "A - B <= 0.005 and B - A <= 0.005" in rounded
