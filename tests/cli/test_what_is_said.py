"""What commands say is true, once, and of use: missing files, closed pipes, rules on fields that are not there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import Runner, write_rules
from examples import parts
from masktron.sources.known_formats import format_names, suffixes_of
from paths import ROOT


@pytest.mark.parametrize("name", format_names())
def test_a_file_that_is_not_there_is_called_so_in_every_format(name: str, tmp_path: Path, run: Runner) -> None:
    for file, why in ((tmp_path / f"none{suffixes_of(name)[0]}", "exist"), (tmp_path, "a directory|a folder")):
        done = run("metadata", file, "--format", name, "--out", tmp_path / "m.xml")
        assert done.code == 4
        assert re.search(why, done.err)
        assert str(file) in done.err


ENDED = [["methods"], ["explain", "rules/household.sch"], ["methods", "--json", "-"]]


@pytest.mark.parametrize("arguments", parts(ENDED, 1))
def test_a_reader_that_ends_ends_the_command_without_a_word(arguments: list[str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "masktron", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read().decode()
    assert process.returncode == 141
    assert "Traceback" not in said
    assert "error" not in said.lower()


def test_of_a_rule_on_a_field_that_is_not_there_no_failures_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "d.csv"
    data.write_text("A,B\n" + "".join(f"{number},{number % 3}\n" for number in range(30)))
    run, rules = Runner(capsys), write_rules(tmp_path / "r.sch", "A >= 0", "C > 5")
    done = run("validate", data, "-r", rules)
    assert done.code == 3
    assert "30 records, not tested: R2" in done.out
    assert "violation" not in done.out
    (row,) = (cells for line in done.out.splitlines() if (cells := line.split())[:2] == ["R2", "values"])
    assert row[2:4] == ["30", "-"]
    # where the user says that the field may be missing, the rule counts like another
    done = run("validate", data, "-r", rules, "--allow-unfired", "R2")
    assert done.code == 1
    assert "30 violations" in done.out
    # what is wrong beside it, is told beside it
    done = run("validate", data, "-r", write_rules(rules, "A > 5", "C > 5"))
    assert "6 violations; not tested: R2" in done.out


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("A;B\n7.595,40;1\n1.000,25;2\n", ["decimal=comma"], "column 'A' has numbers with groups of digits"),
        ("A;B\n7 595,40;1\n1;2\n", ["decimal=comma"], "grouping=space"),
        ('A;B\n"7,595.40";1\n1;2\n', [], "grouping=comma"),
        ("A;B\n7.595,40;1\n1.000,25;2\n", ["decimal=comma", "grouping=point"], ""),
        ("A;B\n192.168.1.10;1\n1.25;2\n", [], ""),
    ],
)
def test_numbers_with_groups_of_digits_that_are_texts_are_told(
    text: str, options: list[str], said: str, tmp_path: Path, run: Runner
) -> None:
    data = tmp_path / "d.csv"
    data.write_text(text)
    given = [part for option in options for part in ("--format-option", option)]
    done = run("validate", data, "-r", write_rules(tmp_path / "r.sch", "B > 0"), *given)
    assert done.code == 0
    assert done.out.count("groups of digits") == bool(said)
    assert said in done.out
    assert "595" not in done.out
