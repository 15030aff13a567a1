"""What commands print by default fits a screen for every sample, and says what warns."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import Runner
from examples import parts
from masktron.report.rendering import render
from masktron.report.tables.screenful import Screenful, SummaryLine, brief
from paths import RULES, SAMPLES

CASES = [
    ("csv", []),
    ("establishments", []),
    ("household", ["--key-k", "3"]),
    ("household", []),
    ("business", []),
    ("persons", []),
]


def lines_of(text: str) -> list[str]:
    return text.splitlines()


@pytest.mark.parametrize(("sample", "options"), parts(CASES, 1))
def test_defaults_fit_a_screen(
    sample: str,
    options: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    run, out = Runner(capsys, whole=False), Path("m.xml")
    data, rules = SAMPLES / f"{sample}.xml", RULES / f"{sample}.sch"
    given = ["--config", SAMPLES / f"{sample}.toml", *options]
    if sample == "csv":
        data, rules, out, given = _table(tmp_path), tmp_path / "r.sch", Path("m.csv"), ["--role", "Id=record-id"]
    done = run("mask", data, "-r", rules, *given, "-o", out)
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    for words in ["masked", "promised", "alike", "loss", "files", "details"]:
        assert f"{words} " in said
    for words in ("Rules: green. ", "Protection: ", "--verbose", "look at", "rules tested", "from all others"):
        assert words in said
    fits(done.out)
    manifest = out.with_name("m.manifest.json")
    for command in (
        ["check", out, "-r", rules, "--original", data, "--manifest", manifest],
        ["assess", out, "--original", data, "--manifest", manifest],
        ["validate", data, "-r", rules, "--original", data],
    ):
        done = run(*command)
        assert done.code == 0, done.err
        fits(done.out)


def fits(text: str) -> None:
    assert len(lines_of(text)) <= 30, text
    assert max(map(len, lines_of(text))) <= 100, text


def _table(folder: Path) -> Path:
    from cli_runner import numbers, write_rules

    write_rules(folder / "r.sch", "A + B = T", "A >= 0")
    rows = [f"K{at},{row['A']},{row['B']},{row['T']}" for at, row in enumerate(numbers())]
    path = folder / "d.csv"
    path.write_text("\n".join(["Id,A,B,T", *rows, ""]))
    return path


def test_what_does_not_fit_is_counted_and_the_first_stays() -> None:
    lines = [SummaryLine("masked", "all"), *brief("look at", (f"matter {at} " + "word " * 30 for at in range(40)))]
    told = render([Screenful(lines)], width=200).splitlines()
    assert len(told) == 30
    assert max(map(len, told)) <= 100
    assert "matter 0" in told[1]
    shown = sum("matter " in line for line in told[1:-1])
    assert told[-1].split("more", 1)[1].strip().startswith(f"{40 - shown} more matters to know")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "the order is that of the original, that of Id, which differs in every record of the file and is kept",
            ", that of Id",
        ),
        ("a, " + "word " * 40, "word"),
        ("x" * 200, "x"),
    ],
)
def test_what_is_cut_ends_with_a_clause_where_one_is_not_too_early(text: str, left: str) -> None:
    (line,) = SummaryLine("note", text).wrapped(80, cut=True)
    assert line.endswith(f"{left} ...")
    assert len(line) <= 70
    assert text.startswith(line.removesuffix(" ..."))


def test_where_there_is_room_nothing_is_cut() -> None:
    told = render([Screenful(brief("note", ["word " * 60]))], width=200)
    assert "..." not in told
    assert told.count("word") == 60


@pytest.mark.parametrize("others", [0, 25, 40])
def test_the_remedy_of_what_is_cut_stays(others: int) -> None:
    what, remedy = "id names records " + "word " * 60, "leave it out with --role id=identifier"
    line = SummaryLine("look at", f"{what}; {remedy}", whole=False, style="yellow", cut_to=f"{remedy}: {what}")
    told = render([Screenful([*(SummaryLine("told", "once") for _ in range(others)), line])], width=80)
    assert "--role id=identifier" in " ".join(told.split())
