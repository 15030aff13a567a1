"""What errors say under `--release-safe`: the file, and neither the reason nor the place of a record."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from cli_runner import Runner, write_rules
from masktron.errors import DocumentError


@pytest.mark.parametrize(
    ("name", "text"),
    [("bad.csv", "A,B\n1,2\n1,2,3\n"), ("bad.xml", "<Data>\n<Record><A>1</B></Record>\n</Data>")],
)
def test_an_error_names_the_file_and_no_place_in_it(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, rules = tmp_path / name, write_rules(tmp_path / "r.sch", "A >= 0")
    data.write_text(text)
    with pytest.raises(DocumentError) as told:
        masktron.validate(data, rules)
    assert told.value.where.startswith(f"{data}:"), "without the option there is a line"
    with pytest.raises(DocumentError) as safe:
        masktron.validate(data, rules, release_safe=True)
    assert (safe.value.where, safe.value.what) == (str(data), "the file cannot be used")
    done = Runner(capsys)("validate", data, "-r", rules, "--release-safe")
    assert done.code == 4
    assert f"{name}:" not in done.err.replace(f"{name}: the file cannot be used", "")
