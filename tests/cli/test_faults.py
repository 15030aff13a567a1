"""An exception that nobody expected: told as a fault of masktron, with a place and an exit code of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli_runner import Outcome, Runner, numbers, write_data, write_rules
from masktron.commands.line import main
from masktron.errors import Exit

OF_A_RECORD = "48151623"


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Outcome:
    """Run `mask` where masking fails with the value of a record in its words."""

    def fail(*arguments: object, **options: object) -> None:
        raise ValueError(OF_A_RECORD)

    monkeypatch.setattr("masktron.jobs.revalidate.Asking.revalidation", fail)
    monkeypatch.setenv("MASKTRON_ERROR", str(tmp_path / "error.json"))
    data, rules = write_data(tmp_path / "data.xml", numbers()), write_rules(tmp_path / "rules.sch", "A >= 0")
    return Runner(capsys)("mask", data, "--rules", rules, "--out", tmp_path / "out.xml", "-k", "3")


def test_a_fault_names_itself_and_its_place_and_quotes_nothing(faulty: Outcome, tmp_path: Path) -> None:
    assert faulty.code == Exit.FAULT == 7
    assert "error: this is a fault of masktron: ValueError in masktron/jobs/written.py:" in faulty.err
    assert "please report it" in faulty.err
    assert "MASKTRON_DEBUG=1" in faulty.err
    assert OF_A_RECORD not in faulty.err
    assert not list(tmp_path.glob("out*"))
    told = json.loads((tmp_path / "error.json").read_text())
    assert (told["kind"], told["exit_code"]) == ("Fault", 7)
    assert OF_A_RECORD not in str(told)


def test_the_traceback_is_shown_where_somebody_asks_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ValueError(OF_A_RECORD)

    monkeypatch.setattr("masktron.jobs.doctor.run_doctor", fail)
    monkeypatch.setattr(sys, "argv", ["masktron", "doctor"])
    for debug, shown in (("1", True), ("", False)):
        monkeypatch.setenv("MASKTRON_DEBUG", debug)
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == Exit.FAULT
        told = capsys.readouterr().err
        assert "this is a fault of masktron: ValueError in masktron/commands/doctor.py:" in told
        assert ("Traceback (most recent call last)" in told) is shown
        assert (OF_A_RECORD in told) is shown
