"""What rules that keep keys from being left out are told to be, laid out for the eye and the shell."""

from __future__ import annotations

from pathlib import Path

from cli_runner import write_rules
from masktron.jobs.rulebooks import open_rulebook
from masktron.jobs.suppressed import may_be_missing
from masktron.sources.opening import open_source


def test_many_changes_are_counted_and_quoted_simply(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("R\na\nb\n")
    rules = write_rules(tmp_path / "r.sch", *[f"R = 'a' or R != '{at}'" for at in range(11)])
    book = open_rulebook(rules, None)
    layout = open_source(tmp_path / "d.csv").layout
    lines = may_be_missing(book, layout, {"R": [one.id for one in book.checks]}).references["changes"]
    commands = [line for line in lines if "masktron rules " in line]
    assert len(commands) == 8
    assert commands[0].endswith("--test \"not(R) or (R = 'a' or R != '0')\"`")
    assert lines[-1] == "and 3 further rules in the same way"
