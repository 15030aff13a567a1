"""Settings are checked when they are read; nothing is guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_runner import Runner
from examples import FULL
from masktron.config import Config, Role, config_from
from masktron.declared import declared_in
from masktron.errors import UsageError
from masktron.settings_file import load_config


def test_a_file_sets_everything(tmp_path: Path) -> None:
    path = tmp_path / "masktron.toml"
    path.write_text(
        'k = 4\norder = "keep"\ngrouping = "all"\nallow = ["R1"]\n'
        'nominal = ["REGION"]\nquasi_identifiers = ["AGE", "W", "AGE"]\n'
        "max_observed_share = 2.5\nmax_block_records = 50000\n"
        '[ordinal]\nSIZE = ["small", "medium"]\nCLASS = [1, 2, 3]\nAGE = []\n'
        '[roles]\nNAME = "identifier"\nSEX = "quasi-identifier"\n[missing]\nINCOME = ["-9", -8]\n"*" = "NA"\n'
    )
    config = load_config(path)
    assert (config.k, config.order, config.grouping, config.allow) == (4, "keep", "all", ("R1",))
    assert config.roles == {"NAME": Role.IDENTIFIER, "SEX": Role.QUASI_IDENTIFIER}
    assert config.quasi_identifiers == ("AGE", "W")
    assert (config.nominal, config.max_observed_share) == (("REGION",), 2.5)
    assert (config.max_block_records, Config().max_block_records) == (50_000, None)
    assert config.ordinal == {"SIZE": ("small", "medium"), "CLASS": ("1", "2", "3"), "AGE": ()}
    assert [config.kind_of(name) for name in ("REGION", "SIZE", "AGE", "X")] == [
        "nominal",
        "ordinal",
        "ordinal",
        None,
    ]
    assert config.missing == {"INCOME": frozenset({"-9", "-8"}), "*": frozenset({"NA"})}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"k": 1}, "k must be at least 2, not 1"),
        ({"k": 2.5}, "k must be an integer"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"grouping": "vars"}, "grouping must be one of rules, all"),
        ({"invalid": "drop"}, "invalid must be one of stop, exclude"),
        ({"group_size_vars": 0}, "group_size_vars must be at least 1"),
        ({"quasi_identifiers": "AGE"}, "quasi_identifiers must be a list of fields"),
        ({"rols": {}}, "did you mean roles?"),
        ({"roles": {"A": "secret"}}, "unknown role 'secret'"),
        ({"roles": ["A"]}, "roles must be a table"),
        ({"missing": {"A": [True]}}, "missing.A must be a list of codes"),
        ({"allow": "R1"}, "allow must be a list of rule ids"),
        ({"keep_missing": "no"}, "keep_missing must be true or false, not 'no'"),
        ({"order": "any"}, "order must be one of auto, random, keep"),
        ({"record": 5}, "record must be a name"),
        ({"phase": 3}, "phase must be a name"),
        ({"roles": {"A": ["record-id"]}}, "roles.A: unknown role"),
        ({"roles": {3: "record-id"}}, "not the name of a field"),
        ({"missing": "x"}, "missing must be a list of codes, or a table"),
        ({"missing": [-9.5]}, "put the code into quotes"),
        ({"nominal": "A"}, "nominal must be a list of fields"),
        ({"nominal": [3]}, "nominal: 3 is not the name of a field"),
        ({"ordinal": "A"}, "ordinal must be a list of fields, or a table"),
        ({"ordinal": [["A"]]}, "not the name of a field"),
        ({"ordinal": {"A": "low,high"}}, "ordinal.A must be a list of values"),
        ({"ordinal": {"A": ["low"]}}, "ordinal.A must hold at least two values"),
        ({"ordinal": {"A": ["low", ""]}}, "and no empty one"),
        ({"ordinal": {"A": ["low", "high", "low"]}}, "ordinal.A holds 'low' more than once"),
        ({"ordinal": {"A": [True, False]}}, "ordinal.A must be a list of codes"),
        ({"nominal": ["B", "A"], "ordinal": ["A"]}, "A: declared as nominal and as ordinal"),
        ({"workers": 0}, "workers must be at least 1, not 0"),
        ({"max_observed_share": 101}, "max_observed_share must be a number from 0 to 100"),
        ({"max_observed_share": float("nan")}, "max_observed_share must be a number from 0 to 100"),
        ({"max_block_records": 14}, "max_block_records must be at least 3k = 15, not 14"),
        ({"max_observed_share": 10**400}, "max_observed_share must be a number from 0 to 100"),
    ],
)
def test_wrong_settings_are_refused(table: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        config_from(table, where="masktron.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("masktron.toml")


def test_a_missing_and_a_malformed_file_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the configuration"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("k = = 5")
    with pytest.raises(UsageError, match="not valid TOML"):
        load_config(tmp_path / "bad.toml")
    (tmp_path / "deep.toml").write_text("k = " + "[" * 100_000)
    with pytest.raises(UsageError, match="nested too deeply"):
        load_config(tmp_path / "deep.toml")
    (tmp_path / "mark.toml").write_bytes(b"\xef\xbb\xbfk = 5")
    assert load_config(tmp_path / "mark.toml").k == 5
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\nk = 5")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_config(tmp_path / "latin.toml")


def given(setting: str, *texts: str) -> Any:
    """Return what options give for a setting."""
    return getattr(Config().with_options({setting: declared_in(Config)[setting].collected(setting, texts)}), setting)


def test_options_name_fields_with_equals_signs_and_give_each_one_role() -> None:
    roles = given("roles", "A=untouched", "B=C=weight", "A=untouched")
    assert roles == {"A": Role.UNTOUCHED, "B=C": Role.WEIGHT}
    with pytest.raises(UsageError, match="gives 'A' twice"):
        given("roles", "A=record-id", "A=untouched")
    assert given("missing", "-9", "A=-1", "A=x") == {"*": frozenset({"-9"}), "A": frozenset({"-1", "x"})}
    with pytest.raises(UsageError, match="not of the form FIELD=ROLE"):
        given("roles", "NAME")


def test_orders_are_read_from_options() -> None:
    assert given("ordinal", "A", "B=low, high", "A=1,2") == {"A": ("1", "2"), "B": ("low", "high")}
    for option, message in (("=low,high", "names no field"), ("A=", "at least two"), ("A=x,x", "'x' more than once")):
        with pytest.raises(UsageError, match=message):
            given("ordinal", option)


def test_a_config_made_by_hand_is_checked_too() -> None:
    with pytest.raises(UsageError, match="nominal and as ordinal"):
        Config(nominal=("A",), ordinal={"A": ()})
    assert Config(ordinal={"A": [1, 2]}, nominal=["B", "B"]) == Config(ordinal={"A": ("1", "2")}, nominal=("B",))  # type: ignore[arg-type, dict-item]
    assert Config(ordinal=["A"]).ordinal == {"A": ()}  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="nominal must be a list"):
        Config(nominal="AB")  # type: ignore[arg-type]


def test_limits_are_checked_however_they_come() -> None:
    with pytest.raises(UsageError, match="unknown limit"):
        Config(limits={"risk": 1.0})


@pytest.mark.parametrize("name", ["k", "group_size_vars", "workers", "max_block_records"])
def test_what_is_no_integer_is_quoted_with_what_to_write(name: str, tmp_path: Path) -> None:
    for value, hint in (('"50"', f"write {name} = 50"), ("50.0", f"write {name} = 50"), ("50.5", ""), ('"x"', "")):
        (tmp_path / "s.toml").write_text(f"{name} = {value}")
        with pytest.raises(UsageError) as caught:
            load_config(tmp_path / "s.toml")
        shown = value.replace('"', "'")
        assert (caught.value.what, caught.value.hint) == (f"{name} must be an integer, not {shown}", hint)
    made = Config(**{name: np.int64(50)})
    assert type(getattr(made, name)) is int
    for wrong in (np.float64(50), np.bool_(True), float("nan"), [50]):
        with pytest.raises(UsageError, match="must be an integer, not "):
            Config(**{name: wrong})  # type: ignore[arg-type]


OPTIONS = [
    (
        "mask d.xml -r r.sch -o o.xml",
        ("-k", "--seed", "--group-size-vars", "--max-block-records", "--workers"),
        "an integer",
    ),
    ("mask d.xml -r r.sch -o o.xml", ("--max-observed-share",), "a number"),
    ("explain r.sch", ("-k", "--group-size-vars"), "an integer"),
    ("assess m.xml --original d.xml", ("--workers",), "an integer"),
    ("check m.xml -r r.sch", ("--workers",), "an integer"),
    ("combine e.csv", ("--level", "--ratio"), "a number"),
]


@pytest.mark.parametrize(("command", "options", "kind"), OPTIONS)
def test_an_option_that_is_no_number_is_quoted(
    command: str, options: tuple[str, ...], kind: str, run: Runner
) -> None:
    wrong = ("five", "") if kind == "a number" else ("five", "2.5", "", "1e5")
    for number, option in enumerate(options):
        for value in wrong if FULL or not number else wrong[:1]:
            outcome = run(*command.split(), option, value)
            said = " ".join(outcome.err.replace("│", " ").split())
            assert outcome.code == 2
            assert f"'{option}': it must be {kind}, not {value!r}" in said


def test_updated_ignores_what_was_not_given() -> None:
    assert Config(k=7).updated(k=None, seed=3) == Config(k=7, seed=3)
