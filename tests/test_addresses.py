"""Addresses of tables: what they say, and that nobody sees a password."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import masktron
from cli_runner import Runner, numbers, write_data, write_file, write_rules
from masktron.addresses import AddressPath, address_in, hidden, is_address, parse_address, path_of, without_passwords
from masktron.commands.base import typed_place as place
from masktron.errors import UsageError
from masktron.files import refuse_outputs, same_file
from masktron.sources.known_formats import format_of_name
from masktron.sources.output_names import manifest_beside
from refusals import refused


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sqlite:data/a.sqlite?table=t", "sqlite:data/a.sqlite?table=t"),
        ("sqlite:///data/a.sqlite?table=t", "sqlite:/data/a.sqlite?table=t"),
        ("duckdb:a.duckdb?query=SELECT%201", "duckdb:a.duckdb?query=SELECT 1"),
        ("postgres://me:s%40cret@db:5433/census?table=a.b", "postgresql://me@db:5433/census?table=a.b"),
        ("postgresql:///census?password=s@cret&table=t", "postgresql:///census?table=t"),
        ("postgresql://h/census?table=t&sslmode=require", "postgresql://h/census?sslmode=require&table=t"),
        ("postgresql://me:#cret@[::1]:5432,h/census?table=t", "postgresql://me@[::1]:5432,h/census?table=t"),
    ],
)
def test_addresses_are_shown_without_passwords(text: str, shown: str) -> None:
    address = parse_address(text)
    assert is_address(text)
    assert address.shown == shown
    assert "cret" not in repr(address)
    assert ("cret" in address.connection) is ("cret" in text)
    assert any("cret" in secret for secret in address.secrets) is ("cret" in text)
    assert "cret" not in hidden(text)
    assert parse_address(hidden(text)).shown == shown
    path = path_of(text)
    assert isinstance(path, AddressPath)
    assert {str(path), path.as_posix(), str(copy.copy(path))} == {shown}
    assert "cret" not in repr(path)


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "mysql", "https"])
def test_an_address_of_another_kind_shows_no_password(scheme: str, run: Runner, tmp_path: Path) -> None:
    text = f"{scheme}://ann:S3cret@127.0.0.1/db?table=t"
    with refused(UsageError, "bad-address") as caught:
        path_of(text)
    assert "S3cret" not in str(caught.value)
    with refused(UsageError, "bad-address"):
        masktron.validate(text, tmp_path / "r.sch")
    done = run("validate", text, "--rules", tmp_path / "r.sch")
    assert done.code == 2
    assert "S3cret" not in done.err


@pytest.mark.few(1)
@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_frame_becomes_a_table_and_leaves_no_file_of_another_name(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    frame = pd.DataFrame(numbers(12))
    out = f"{scheme}:o.{scheme}?table=t"
    result = masktron.mask(frame, rules, out, k=3)
    assert masktron.validate(out, rules).valid
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {"r.sch", f"o.{scheme}", Path(result.manifest).name}
    with refused(UsageError, "table-exists", table="t"):
        masktron.mask(frame, rules, out, k=3)
    assert masktron.mask(frame, rules, out, k=3, replace=True).valid
    masktron.convert(frame, f"{scheme}:o.{scheme}?table=u", rename={"A": "amount"})
    assert masktron.validate(f"{scheme}:o.{scheme}?table=u", write_rules(tmp_path / "u.sch", "amount + B = T")).valid


def test_a_column_that_is_called_as_the_place_of_a_row_orders_nothing(tmp_path: Path) -> None:
    for table, text in (("t", "rowid,A\n5,1\n3,2\n9,3\n1,4\n"), ("u", "rowid,oid,_ROWID_\n5,1,1\n3,2,2\n")):
        data = write_file(tmp_path / "d.csv", text)
        masktron.convert(data, f"sqlite:{tmp_path}/o.sqlite?table={table}")
        masktron.convert(f"sqlite:{tmp_path}/o.sqlite?table={table}", tmp_path / "back.csv")
        assert (tmp_path / "back.csv").read_text() == data.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://ann:S3cret@Pw@127.0.0.1/db?table=t",
        "sqlite:a.sqlite",
        "sqlite:a.sqlite?table=",
        "sqlite:a?table=t&query=x",
        "sqlite://host/a?table=t",
        "postgresql://h/db",
        "postgresql:db?table=t",
        "mysql://h/db?table=t",
        "postgresql://me:se/cret@h/db?table=t",
        "postgresql://me:12/cret@h/db?table=t",
        "postgresql://me:12?cret@h/db&password=cret",
        "postgresql://me:se?cret@h/db?table=t",
    ],
)
def test_what_is_no_address_of_a_table_is_refused_and_not_quoted(text: str) -> None:
    with refused(UsageError, "bad-address") as caught:
        parse_address(text)
    assert "cret" not in str(caught.value)
    assert "cret" not in hidden(text)


def test_an_address_stands_where_a_name_may() -> None:
    one, other = path_of("postgresql://a:1@h/db?table=s.t.csv"), path_of("postgresql://a:2@h/db?table=s.t.csv")
    assert one == other
    assert hash(one) == hash(other)
    assert same_file(one, other)
    assert not same_file(one, Path("s.t.csv"))
    assert (one.name, one.suffix, format_of_name(one)) == ("csv", "", "postgresql")
    assert manifest_beside(path_of("sqlite:d/a.sqlite?table=out")) == Path("out.manifest.json")
    assert path_of("postgresql.csv") == Path("postgresql.csv")
    assert type(one.parent) is type(Path())


def test_no_output_takes_the_place_of_a_database(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    file.touch()
    address = path_of(f"sqlite:{file}?table=t")
    with refused(UsageError, "would-overwrite"):
        refuse_outputs({"--out": file}, {"the data": address})
    with refused(UsageError, "would-overwrite"):
        refuse_outputs({"--out": path_of(f"sqlite:{file}?table=t")}, {"the data": address})
    with refused(UsageError, "would-overwrite"):
        refuse_outputs({"--out": path_of(f"sqlite:{file}?table=u"), "--json": file}, {"the data": address})
    refuse_outputs({"--out": path_of(f"sqlite:{file}?table=u")}, {"the data": address, "another": file})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("keys", "x.xml", "ADDRESS", "-r", "r"), "postgresql://me:***@"),
        (
            ("validate", "x.xml", "-r", "r", "--original", "postgresql://me:opensesame@h/db"),
            "?table=NAME",
        ),
        (("mask", "x.xml", "-r", "r", "--out=postgresql://me:open/sesame@h/db?table=t"), "?table=NAME"),
        (("methods", "ADDRESS"), "postgresql://me:***@"),
        (("validate", "x.xml", "-r", "r", "--json", "ADDRESS"), "***"),
    ],
)
def test_no_message_of_the_command_line_shows_a_password(run: Runner, arguments: tuple[str, ...], said: str) -> None:
    address = "postgresql://me:opensesame@localhost:1/db?table=t&sslpassword=sesame2"
    outcome = run(*(address if one == "ADDRESS" else one for one in arguments))
    assert outcome.code == 2
    assert said in " ".join(outcome.err.split())
    assert "sesame" not in outcome.out + outcome.err


@pytest.mark.parametrize("option", ["--html", "--json", "--rules-out", "--config", "--secret", "--register"])
@pytest.mark.parametrize("scheme", ["sqlite", "mysql", "postgresql"])
def test_no_option_for_a_file_shows_a_password(run: Runner, option: str, scheme: str) -> None:
    address = f"{scheme}://me:opensesame@h/d"
    outcome = run("mask", "x.xml", "-r", "r", "--out", "o.xml", option, address)
    assert outcome.code == 2
    assert f"{scheme}:***" in outcome.err
    assert "sesame" not in outcome.out + outcome.err


def test_a_server_that_is_not_there(run: Runner, tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    outcome = run("validate", "postgresql://me:opensesame@localhost:1/db?table=t", "-r", rules)
    assert outcome.code == 4
    assert "localhost" in outcome.err
    assert "refused" in outcome.err
    assert "PGPASSWORD" in outcome.err
    assert "sesame" not in outcome.err


def test_a_format_and_an_address_are_not_given_together(run: Runner, tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    for more in (("--format", "csv"), ("--format-option", "table=t")):
        outcome = run("validate", "sqlite:a.sqlite?table=t", "-r", rules, *more)
        outcome.refuses(2, "setting-not-usable")


def test_other_formats_do_not_become_tables(run: Runner, tmp_path: Path) -> None:
    data, rules = write_data(tmp_path / "d.xml", [{"A": 1}]), write_rules(tmp_path / "r.sch", "A = 1")
    outcome = run("mask", data, "-r", rules, "--out", "postgresql://h/db?table=t")
    outcome.refuses(2, "output-name")


def test_python_takes_addresses_as_texts_alone(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "A = 1")
    with refused(UsageError, "bad-value") as caught:
        masktron.validate(Path("postgresql://me:opensesame@h/db?table=t"), rules)
    assert "sesame" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="the system shows arguments otherwise")
def test_the_system_shows_no_password_of_the_command() -> None:
    code = (
        "import sys; from pathlib import Path; from masktron.addresses import hide_passwords; "
        "hide_passwords(sys.argv[1:]); print(Path('/proc/self/cmdline').read_bytes().decode().replace(chr(0), ' ')); "
        "print(len(sys.argv[1]))"
    )
    address = "postgresql://sesame:opensesame@h/db?table=t"
    done = subprocess.run(
        [sys.executable, "-c", code, address, "--out=postgresql://me:open/sesame@h/db", "last"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    shown, length = done.stdout.splitlines()
    assert f"postgresql://sesame:{'*' * 10}@h/db?table=t --out=***" in shown
    assert shown.endswith("* last ")
    assert "opensesame" not in shown
    assert int(length) == len(address)


def test_an_address_is_found_in_an_argument() -> None:
    assert address_in("--out=postgresql://h/d?table=t") == "postgresql://h/d?table=t"
    assert address_in("survey.csv") == address_in("--role=postgres:x=record-id") == ""
    with without_passwords(["--out=postgres://a:b@h/d?table=t", "x", "postgres:x=record-id"]) as shown:
        assert shown == ["--out=postgres://a:***@h/d?table=t", "x", "postgres:x=record-id"]
        path = place("postgres://a:***@h/d?table=t")
    assert isinstance(path, AddressPath)
    assert path.address.secrets == ("b",)
