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
from refusals import plain, problem_of, refused


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
    ("table", "code", "about"),
    [
        ({"k": 1}, "bad-value", "k"),
        ({"k": 2.5}, "bad-value", "k"),
        ({"seed": -1}, "bad-value", "seed"),
        ({"grouping": "vars"}, "bad-value", "grouping"),
        ({"invalid": "drop"}, "bad-value", "invalid"),
        ({"group_size_vars": 0}, "bad-value", "group_size_vars"),
        ({"quasi_identifiers": "AGE"}, "bad-value", "quasi_identifiers"),
        ({"rols": {}}, "unknown-name", "rols"),
        ({"roles": {"A": "secret"}}, "bad-value", "roles.A"),
        ({"roles": ["A"]}, "bad-value", "roles"),
        ({"missing": {"A": [True]}}, "bad-value", "missing.A"),
        ({"allow": "R1"}, "bad-value", "allow"),
        ({"keep_missing": "no"}, "bad-value", "keep_missing"),
        ({"order": "any"}, "bad-value", "order"),
        ({"record": 5}, "bad-value", "record"),
        ({"phase": 3}, "bad-value", "phase"),
        ({"roles": {"A": ["record-id"]}}, "bad-value", "roles.A"),
        ({"roles": {3: "record-id"}}, "bad-value", "roles"),
        ({"missing": "x"}, "bad-value", "missing"),
        ({"missing": [-9.5]}, "bad-value", "missing.*"),
        ({"nominal": "A"}, "bad-value", "nominal"),
        ({"nominal": [3]}, "bad-value", "nominal"),
        ({"ordinal": "A"}, "bad-value", "ordinal"),
        ({"ordinal": [["A"]]}, "bad-value", "ordinal"),
        ({"ordinal": {"A": "low,high"}}, "bad-value", "ordinal.A"),
        ({"ordinal": {"A": ["low"]}}, "bad-value", "ordinal.A"),
        ({"ordinal": {"A": ["low", ""]}}, "bad-value", "ordinal.A"),
        ({"ordinal": {"A": ["low", "high", "low"]}}, "bad-value", "ordinal.A"),
        ({"ordinal": {"A": [True, False]}}, "bad-value", "ordinal.A"),
        ({"nominal": ["B", "A"], "ordinal": ["A"]}, "given-twice", "ordinal"),
        ({"workers": 0}, "bad-value", "workers"),
        ({"max_observed_share": 101}, "bad-value", "max_observed_share"),
        ({"max_observed_share": float("nan")}, "bad-value", "max_observed_share"),
        ({"max_block_records": 14}, "bad-value", "max_block_records"),
        ({"max_observed_share": 10**400}, "bad-value", "max_observed_share"),
    ],
)
def test_wrong_settings_are_refused(table: dict[str, object], code: str, about: str) -> None:
    with refused(UsageError, code, where="masktron.toml") as caught:
        config_from(table, where="masktron.toml")
    named = problem_of(caught.value).references
    assert plain(named.get("name", named.get("other"))) in (about, (about,))


def test_a_missing_and_a_malformed_file_are_usage_errors(tmp_path: Path) -> None:
    with refused(UsageError, "cannot-read", file="configuration"):
        load_config(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("k = = 5")
    with refused(UsageError, "not-toml"):
        load_config(tmp_path / "bad.toml")
    (tmp_path / "deep.toml").write_text("k = " + "[" * 100_000)
    with refused(UsageError, "not-toml", reason="nested too deeply"):
        load_config(tmp_path / "deep.toml")
    malformed = tmp_path / "malformed.toml"
    for text, code, line, named in (
        ("k = 3\n\nk = 5\n", "key-twice", 3, {"key": "k"}),
        ("[roles]\nid = 'identifier'\n[roles]\n", "key-twice", 3, {"key": "[roles]"}),
        ("k = 3\nmethod = mdav # the usual\n", "text-without-quotes", 2, {"whole": 'method = "mdav" # the usual'}),
        ("allow = [income-sum, 'b']", "text-without-quotes", 1, {"whole": "allow = [\"income-sum\", 'b']"}),
        ("[recode]\nage = my ages.csv:2\r\n", "text-without-quotes", 2, {"said": "my ages.csv:2"}),
        ("keep_missing = True\n", "text-without-quotes", 1, {"whole": "keep_missing = true"}),
        ("k = = 5", "not-toml", 1, {"reason": "Invalid value"}),
    ):
        malformed.write_text(text, newline="")
        with refused(UsageError, code, **named) as caught:
            load_config(malformed)
        assert caught.value.where.startswith(f"{malformed}:{line}:")
    (tmp_path / "mark.toml").write_bytes(b"\xef\xbb\xbfk = 5")
    assert load_config(tmp_path / "mark.toml").k == 5
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\nk = 5")
    with refused(UsageError, "not-utf-8"):
        load_config(tmp_path / "latin.toml")


def given(setting: str, *texts: str) -> Any:
    """Return what options give for a setting."""
    return getattr(Config().with_options({setting: declared_in(Config)[setting].collected(setting, texts)}), setting)


def test_options_name_fields_with_equals_signs_and_give_each_one_role() -> None:
    roles = given("roles", "A=untouched", "B=C=weight", "A=untouched")
    assert roles == {"A": Role.UNTOUCHED, "B=C": Role.WEIGHT}
    with refused(UsageError, "given-twice"):
        given("roles", "A=record-id", "A=untouched")
    assert given("missing", "-9", "A=-1", "A=x") == {"*": frozenset({"-9"}), "A": frozenset({"-1", "x"})}
    with refused(UsageError, "bad-value", expected="of the form FIELD=ROLE"):
        given("roles", "NAME")


def test_orders_are_read_from_options() -> None:
    assert given("ordinal", "A", "B=low, high", "A=1,2") == {"A": ("1", "2"), "B": ("low", "high")}
    for option in ("=low,high", "A=", "A=x,x"):
        with refused(UsageError, "bad-value"):
            given("ordinal", option)


def test_a_config_made_by_hand_is_checked_too() -> None:
    with refused(UsageError, "given-twice"):
        Config(nominal=("A",), ordinal={"A": ()})
    assert Config(ordinal={"A": [1, 2]}, nominal=["B", "B"]) == Config(ordinal={"A": ("1", "2")}, nominal=("B",))  # type: ignore[arg-type, dict-item]
    assert Config(ordinal=["A"]).ordinal == {"A": ()}  # type: ignore[arg-type]
    with refused(UsageError, "bad-value", name="nominal"):
        Config(nominal="AB")  # type: ignore[arg-type]


def test_limits_are_checked_however_they_come() -> None:
    with refused(UsageError, "bad-value", name="limits.pil"):
        Config(limits={"pil": 10**401})
    with refused(UsageError, "unknown-name", name="limits.risk"):
        Config(limits={"risk": 1.0})


@pytest.mark.parametrize("name", ["k", "group_size_vars", "workers", "max_block_records"])
def test_what_is_no_integer_is_quoted_with_what_to_write(name: str, tmp_path: Path) -> None:
    for value in ('"50"', "50.0", "50.5", '"x"'):
        (tmp_path / "s.toml").write_text(f"{name} = {value}")
        with refused(UsageError, "bad-value", name=name):
            load_config(tmp_path / "s.toml")
    made = Config(**{name: np.int64(50)})
    assert type(getattr(made, name)) is int
    for wrong in (np.float64(50), np.bool_(True), float("nan"), [50]):
        with refused(UsageError, "bad-value", name=name):
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
