"""`keys`, `check` and `assess` are told tables of nested records that lie elsewhere; nothing is written over one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import Runner
from nested_survey import ROLES, made
from nested_tables import TWO, levels, tables_of
from refusals import refused

SETTINGS = """k = 3
rare_units = "stop"
max_observed_share = 100
[levels.Household]
key = "@id"
[levels.Person]
data = "persons.csv"
parent_key = "HID"
[roles]
"@id" = "record-id"
"""


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a survey and its release, the tables of persons of both in a folder of their own."""
    folder = tmp_path_factory.mktemp("survey")
    data, _ = made(folder, 1, 24, gaps=0.1)
    tables_of(data, folder)
    masktron.mask(
        folder / "households.csv", folder / "rules.sch", folder / "b.csv", k=3, roles={**ROLES, "@id": "record-id"},
        rare_units="exclude", max_observed_share=100, levels=levels(TWO, folder),
    )  # fmt: skip
    (folder / "elsewhere").mkdir()
    for name in ("persons.csv", "b.Person.csv"):
        (folder / name).rename(folder / "elsewhere" / name)
    (folder / "masktron.toml").write_text(SETTINGS, encoding="utf-8")
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], survey: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.chdir(survey)
    return Runner(capsys)


TABLES = ("--table", "Person=elsewhere/b.Person.csv", "--original-table", "Person=elsewhere/persons.csv")
PAIR = ("b.csv", "--original", "households.csv", "--manifest", "b.manifest.json")


@pytest.mark.few(1)
@pytest.mark.parametrize("command", [("check", *PAIR, "-r", "rules.sch"), ("assess", *PAIR, "--measures", "linkage")])
def test_tables_of_a_pair_may_lie_elsewhere(run: Runner, command: Sequence[str]) -> None:
    lacking = run(*command)
    assert lacking.code == 4
    assert "b.Person.csv" in lacking.err
    lacking = run(*command, *TABLES[:2])
    assert lacking.code == 4
    assert "persons.csv" in lacking.err
    found = run(*command, *TABLES)
    assert found.code == 0, found.err
    wrong = run(*command, *TABLES[:2], "--original-table", "Persons=elsewhere/persons.csv")
    wrong.refuses(2, "unknown-name", name="Persons")


def test_python_names_them_too(survey: Path) -> None:
    said: dict[str, Any] = {
        "tables": {"Person": survey / "elsewhere" / "b.Person.csv"},
        "original_tables": {"Person": survey / "elsewhere" / "persons.csv"},
        "manifest": survey / "b.manifest.json",
    }
    found = masktron.check(survey / "b.csv", survey / "rules.sch", original=survey / "households.csv", **said)
    assert found.complies
    assert "5 unmasked fields cell by cell" in found.checked  # of both levels, whatever their position
    linked = masktron.assess(survey / "b.csv", survey / "households.csv", measures=["linkage"], **said)
    assert linked["linkage"] > 0
    with refused(masktron.UsageError, "bad-value", expected="a mapping from levels", name="tables"):
        masktron.check(survey / "b.csv", survey / "rules.sch", **{**said, "tables": "persons.csv"})


@pytest.mark.full
def test_keys_are_told_the_table_and_leave_out_rare_households(run: Runner) -> None:
    """Of which `mask` would leave out as many, and needs to be told so."""
    roles = [part for name, role in ROLES.items() if name != "@id" for part in ("--role", f"{name}={role}")]
    assert run("keys", "households.csv", "-r", "rules.sch", *roles).code == 4
    table = ("--table", "Person=elsewhere/persons.csv")
    found = run("keys", "households.csv", "-r", "rules.sch", *roles, *table)
    assert found.code == 0, found.err
    assert "left out" not in found.out
    settings = Path("six.toml")
    settings.write_text(SETTINGS.replace("k = 3", "k = 7"), encoding="utf-8")
    rare = run("keys", "households.csv", "-r", "rules.sch", *roles, *table, "--config", settings)
    assert rare.code == 0, rare.err
    assert (
        "records are left out that break a rule or are rare here: mask needs --invalid exclude and --rare-units"
        in (" ".join(rare.out.split()))
    )


def test_a_removed_key_may_have_numbers_between_points(tmp_path: Path) -> None:
    rows = "".join(f"{100 + at // 2},N,{40 + at % 2},{7 * at}\n" for at in range(12))
    data, rules, out = (tmp_path / name for name in ("persons.csv", "rules.sch", "released.csv"))
    data.write_text(f"H.1.ID,Region,P.2.Age,Income\n{rows}", encoding="utf-8")
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Person">'
        '<assert id="not-negative" test="Income &gt;= 0"/></rule></pattern></schema>',
        encoding="utf-8",
    )
    found = {"Household": {"key": "H.1.ID", "fields": ["Region"]}, "Person": {"same_table": True, "key": "P.2.Age"}}
    roles = {"H.1.ID": "identifier", "Region": "untouched", "P.2.Age": "identifier"}
    masktron.mask(data, rules, out, k=3, roles=roles, numeric=["Income"], levels=found)
    manifest = tmp_path / "released.manifest.json"
    assert masktron.check(out, rules, original=data, manifest=manifest, levels=found).problems == ()


@pytest.mark.parametrize(
    "command",
    [
        ("keys", "households.csv", "-r", "rules.sch", "--table", "Person=elsewhere/persons.csv"),
        ("validate", "households.csv", "-r", "rules.sch", "--table", "Person=elsewhere/persons.csv"),
        ("explain", "rules.sch", "--data", "households.csv", "--table", "Person=elsewhere/persons.csv"),
        ("describe", "households.csv", "--table", "Person=elsewhere/persons.csv"),
        ("check", "b.csv", "-r", "rules.sch", "--original-table", "Person=elsewhere/persons.csv"),
        ("assess", "b.csv", "--original", "households.csv", "--original-table", "Person=elsewhere/persons.csv"),
    ],
)
def test_no_result_is_written_over_a_table(run: Runner, command: Sequence[str]) -> None:
    before = Path("elsewhere/persons.csv").read_bytes()
    found = run(*command, "--json", "elsewhere/persons.csv")
    found.refuses(2, "would-overwrite", output="--json")
    assert "table of Person" in found.err
    assert Path("elsewhere/persons.csv").read_bytes() == before


def test_a_release_without_the_key_of_members_is_read_by_the_settings_of_its_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Runner
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "h.csv").write_text("HID,Total\n1,5\n2,3\n")
    (tmp_path / "p.csv").write_text("HID,Wage\n1,2\n1,3\n2,3\n")
    (tmp_path / "r.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Household">'
        '<assert id="a" test="Total = sum(Person/Wage)">x</assert></rule></pattern></schema>'
    )

    def validated(role: str, key: str = "HID") -> int:
        (tmp_path / "masktron.toml").write_text(
            f'[roles]\n"{role}\n[levels.Household]\nkey = "{key}"\n'
            f'[levels.Person]\ndata = "p.csv"\nkey = "PID"\nparent_key = "{key}"\n'
        )
        return run("validate", "h.csv", "--rules", "r.sch").code

    assert validated('PID" = "identifier"') == validated('Person/PID" = "identifier"') == 0
    assert validated('PID" = "untouched"') == 2
    assert validated('ID" = "identifier"', "ID") == 2, "what joins tables is in all of them"
