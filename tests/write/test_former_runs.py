"""What `rerun` reads in a manifest of the run that wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import masktron
from cli_runner import write_rules
from masktron.write.former_run import read_former_run
from plain_rows import write_csv


def test_files_and_categories_of_a_flat_file(tmp_path: Path) -> None:
    data = write_csv(
        tmp_path / "d.csv", [{"JOB": "abc"[at % 3], "SEX": "fm"[at % 2], "A": at * at} for at in range(24)]
    )
    rules, classes = write_rules(tmp_path / "r.sch", "A >= 0"), tmp_path / "jobs.csv"
    classes.write_text("a;x\nb;x\nc;y\n")
    how: dict[str, Any] = {
        "recode": {"JOB": f"{classes}:1"},
        "roles": {"JOB": "quasi-identifier"},
        "nominal": ["SEX"],
    }
    masktron.mask(data, rules, tmp_path / "m.csv", k=3, **how)
    run = read_former_run(tmp_path / "m.manifest.json")
    assert (run.levels, run.rules, run.elsewhere) == (("Record",), rules, ())
    assert run.fields["SEX"].categories == frozenset("fm")
    assert run.fields["A"].categories is None
    classes.rename(tmp_path.parent / "elsewhere.csv")
    assert [one.path for one in read_former_run(tmp_path / "m.manifest.json").elsewhere] == [classes]


def test_levels_of_a_nested_file(tmp_path: Path) -> None:
    persons = [f"<P><AGE>{20 + at}</AGE><A>{at * at}</A></P>" for at in range(12)]
    data, rules = tmp_path / "n.xml", write_rules(tmp_path / "r.sch", "count(P) = SIZE", context="H")
    data.write_text(f"<S>{''.join(f'<H><SIZE>1</SIZE>{one}</H>' for one in persons)}</S>")
    masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles={"SIZE": "untouched"}, numeric=["A"])
    assert read_former_run(tmp_path / "m.manifest.json").levels == ("H", "H/P")
