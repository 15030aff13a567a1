"""What is asked of `tune`, which candidates come of it and in which order, and the settings of a candidate."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.search.asked import (
    TuneSettings,
    seconds_of,
    tune_settings_from,
    tune_settings_in,
    wider_limits,
)
from masktron.jobs.search.grid import candidates, settings_of
from masktron.jobs.search.settings_text import changed, settings_text, write_settings
from masktron.methods import ALL
from masktron.results import TuneCandidate
from masktron.setting_values import Register
from masktron.settings_file import load_config
from refusals import refused


def made(
    config: Config | None = None, *, numbers: bool = True, categories: bool = False, **asked: object
) -> list[str]:
    found = candidates(config or Config(), tune_settings_from(asked), numbers=numbers, categories=categories)
    return [f"{one.method} {one.k} {one.grouping}" for one in found]


def test_few_and_different_candidates_come_first() -> None:
    found = candidates(Config(), TuneSettings(), numbers=True, categories=False)
    assert found[0] == TuneCandidate("mdav", {}, 5, "rules")
    assert {one.method for one in found[:6]} >= {"mdav", "noise", "microhybrid", "ipso"}
    assert {(one.k, one.grouping) for one in found if one.method == "mdav"} == {
        (k, grouping) for k in (3, 5, 10, 20) for grouping in ("rules", "all")
    }
    assert 18 <= len(found) <= 24
    assert len({str(one.settings) for one in found}) == len(found)


def test_what_the_settings_say_stands_first() -> None:
    config = Config(k=7, method="noise", params={"c": 0.4}, grouping="all")
    first, second, *_ = candidates(config, TuneSettings(), numbers=True, categories=False)
    assert first == TuneCandidate("noise", {"c": 0.4}, 7, "all")
    assert second == TuneCandidate("mdav", {}, 7, "all")


def test_methods_sizes_and_parameters_are_crossed() -> None:
    asked = {"methods": ["mdav", "noise"], "k": [3, 9], "params": {"noise": {"c": [0.1, 0.2]}}}
    found = candidates(Config(), tune_settings_from(asked), numbers=True, categories=False)
    assert [(one.method, one.k, one.grouping, dict(one.params)) for one in found if one.method == "noise"] == [
        ("noise", 3, "rules", {"c": 0.1}),
        ("noise", 3, "rules", {"c": 0.2}),
    ]
    assert {(one.k, one.grouping) for one in found if one.method == "mdav"} == {
        (3, "rules"),
        (3, "all"),
        (9, "rules"),
        (9, "all"),
    }
    assert [one.method for one in found[:2]] == ["mdav", "noise"]


def test_aggregators_are_tried_beside_the_least_loss() -> None:
    found = candidates(
        Config(), tune_settings_from({"methods": "mdav", "k": 3, "aggregators": "median", "groupings": "all"}),
        numbers=True, categories=False,
    )  # fmt: skip
    assert [one.aggregator for one in found] == [None, "median"]


def test_files_of_categories_get_methods_for_them() -> None:
    assert not any(one.startswith(("noise", "ipso")) for one in made(numbers=False, categories=True))
    assert any(one.startswith("cart") for one in made(numbers=False, categories=True))
    assert not any(one.startswith(("cart", "crest")) for one in made())


def test_a_class_lets_methods_that_need_one_be_tried() -> None:
    asked = tune_settings_from({"class": ["REGION"]})
    found = [one for one in candidates(Config(), asked, numbers=True, categories=False) if one.method == "crest"]
    assert [dict(one.params) for one in found] == [{"class": ("REGION",)}]


def test_every_method_can_be_asked_for() -> None:
    found = made(methods=[one.name for one in ALL], k=5, groupings="rules")
    assert [one.split()[0] for one in found] == [one.name for one in ALL]


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ({"metods": ["noise"]}, "unknown-name"),
        ({"k": [1]}, "bad-value"),
        ({"k": "3,x"}, "bad-value"),
        ({"k": True}, "bad-value"),
        ({"groupings": ["rule"]}, "unknown-name"),
        ({"aggregators": ["meen"]}, "unknown-name"),
        ({"risk": "linkag"}, "unknown-name"),
        ({"risk": "pil"}, "unknown-name"),
        ({"utility": "linkage"}, "unknown-name"),
        ({"risk": "homogeneous_groups"}, "setting-not-usable"),
        ({"budget": "ten"}, "bad-value"),
        ({"budget": 0}, "bad-value"),
        ({"seeds": 0}, "bad-value"),
        ({"sample": -1}, "bad-value"),
        ({"workers": 1.5}, "bad-value"),
        ({"params": {"noise": 3}}, "bad-value"),
        ({"methods": [3]}, "bad-value"),
        ({"swap_rate": "0.1,much"}, "bad-value"),
        ({"swap_rate": [math.nan]}, "bad-value"),
        ({"key_k": 1}, "bad-value"),
        ({"recode": {"AGE": 5}}, "bad-value"),
        ({"recode": "AGE"}, "bad-value"),
        ({"recode": ["AGE"]}, "bad-value"),
        ({"recode": [5]}, "bad-value"),
        ({"recode": {"AGE": [["width:5"]]}}, "bad-value"),
        ({"methods": [["mdav"]]}, "bad-value"),
        ({"methods": [{"mdav": 1}]}, "bad-value"),
        ({"k": [[3]]}, "bad-value"),
        ({"class": [{}]}, "bad-value"),
        ({"pram": {"AGE": [{}]}}, "bad-value"),
        ({"swap_rate": [10**401]}, "bad-value"),
        ({"seeds": "9" * 5000}, "bad-value"),
    ],
)
def test_wrong_wishes_are_refused(table: dict[str, object], code: str) -> None:
    with refused(UsageError, code, where="masktron.toml: [tune]"):
        tune_settings_from(table, "masktron.toml: [tune]")


@pytest.mark.parametrize(
    "table",
    [
        {"methods": ["nois"]},
        {"params": {"nois": {}}},
        {"pram": {"JOB": ["change:much"]}},
        {"recode": {"AGE": ["widht:5"]}},
    ],
)
def test_wrong_ways_and_methods_are_refused(table: dict[str, object]) -> None:
    with pytest.raises(UsageError) as caught:
        tune_settings_from(table, "masktron.toml: [tune]")
    assert caught.value.where == "masktron.toml: [tune]"


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200), (30, 30)])
def test_times_are_read(text: str | int, seconds: float) -> None:
    assert seconds_of(text) == seconds


def test_the_table_of_a_file_is_read_by_tune_alone(tmp_path: Path) -> None:
    path = tmp_path / "masktron.toml"
    path.write_text('k = 4\n[tune]\nmethods = ["mdav"]\nk = [3, 4]\nbudget = "2m"\nclass = "REGION"\n')
    assert load_config(path).k == 4
    asked = tune_settings_in(path)
    assert asked == TuneSettings(methods=("mdav",), k=(3, 4), least=4, budget=120.0, class_fields=("REGION",))
    assert asked.read({"k": "5", "methods": None, "seeds": 2}) == replace(asked, k=(5,), seeds=2)


# settings of a candidate

FULL = Config(
    k=4,
    roles={"ID": Role.RECORD_ID, "annual income": Role.CONFIDENTIAL},
    missing={"*": frozenset({"-9", '"'})},
    nominal=("G",),
    ordinal={"SIZE": ("small", "large"), "RANK": ()},
    limits={"linkage": 12.5},
    invalid="exclude",
    allow=("r-1",),
    max_failures={"*": "0.5%"},
    documents={"nace.xml": Path("codes/nace.xml")},
    keep_missing=True,
    rule_timeout=10.0,
)
NOISE = TuneCandidate(method="noise", params={"c": 0.25, "exact": True}, k=9, grouping="all")


def test_settings_say_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = settings_of(NOISE, FULL)
    write_settings(Path("masktron.toml"), wanted)
    found = load_config("masktron.toml")
    assert replace(found, spare_documents=frozenset()) == wanted
    assert (found.method, found.k, found.grouping, dict(found.params)) == (
        "noise",
        9,
        "all",
        {"c": 0.25, "exact": True},
    )
    write_settings(Path("masktron.toml"), wanted)  # once more changes nothing
    assert replace(load_config("masktron.toml"), spare_documents=frozenset()) == wanted


def test_the_register_is_written(tmp_path: Path) -> None:
    wanted = settings_of(NOISE, Config(register=Register(tmp_path / "r.jsonl", tmp_path / "else" / "salt")))
    write_settings(tmp_path / "m.toml", wanted)
    assert load_config(tmp_path / "m.toml").register == wanted.register


def test_settings_that_no_file_can_say_are_refused(tmp_path: Path) -> None:
    wrong = settings_of(NOISE, Config())
    object.__setattr__(wrong, "phase", object())
    with refused(UsageError, "cannot-write-settings"):
        write_settings(tmp_path / "m.toml", wrong)
    assert not (tmp_path / "m.toml").exists()


def test_paths_start_at_the_folder_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    write_settings(Path("sub/m.toml"), settings_of(NOISE, FULL))
    assert 'nace.xml" = "../codes/nace.xml"' in Path("sub/m.toml").read_text()


THERE = """# ours
k = 3 # was 5
method = "mdav"

# who is who
[roles]
ID = "record-id" # never masked

[params]
old = 1

[tune]
k = [3, 9]
"""


def test_settings_that_are_there_keep_all_else(tmp_path: Path) -> None:
    path = tmp_path / "masktron.toml"
    base = tomllib.loads(THERE)
    config = Config(k=3, roles={"ID": Role.RECORD_ID})
    text = changed(THERE, settings_of(NOISE, config), path)
    now = tomllib.loads(text)
    assert now == base | {"k": 9, "method": "noise", "grouping": "all", "params": {"c": 0.25, "exact": True}}
    assert [line for line in text.splitlines() if "#" in line] == [
        "# ours",
        "k = 9 # was 5",
        "# who is who",
        'ID = "record-id" # never masked',
    ]
    back = changed(text, settings_of(TuneCandidate(method="mdav", params={}, k=3, grouping="rules"), config), path)
    assert "params" not in tomllib.loads(back)
    assert tomllib.loads(back)["grouping"] == "rules"


@pytest.mark.parametrize(
    ("there", "config", "code"),
    [
        # --nominal G beside the file
        (THERE, Config(k=3, roles={"ID": Role.RECORD_ID}, nominal=("G",)), "cannot-write-settings"),
        ("k = 3\n[roles]\nID = 'record-id'\n[roles.more]\n", Config(k=3), "bad-value"),
        ("not toml", Config(k=3), "cannot-write-settings"),
    ],
)
def test_settings_that_would_say_something_else_are_not_touched(
    tmp_path: Path, there: str, config: Config, code: str
) -> None:
    path = tmp_path / "masktron.toml"
    path.write_text(there)
    with refused(UsageError, code, where=path):
        write_settings(path, settings_of(NOISE, config))
    assert path.read_text() == there


def test_texts_with_quotes_and_control_characters_come_back(tmp_path: Path) -> None:
    config = Config(missing={'q"\\\x7f\n': frozenset({"a\tb", "é"})}, nominal=("a b",))
    path = tmp_path / "m.toml"
    path.write_text(settings_text(config, path), encoding="utf-8")
    found = load_config(path)
    assert found.nominal == config.nominal
    assert found.missing == config.missing


@pytest.mark.parametrize("k", [10, 30])
def test_no_size_below_that_of_the_settings_is_tried_unless_it_is_asked_for(k: int, tmp_path: Path) -> None:
    path = tmp_path / "masktron.toml"
    path.write_text(f"k = {k}\n[limits]\npil = 30\nlinkage = 5\n")
    config, asked = load_config(path), tune_settings_in(path)
    found = candidates(config, asked, numbers=True, categories=True)
    assert min(one.k for one in found) == k
    wished = candidates(config, asked.read({"k": "3"}), numbers=True, categories=True)
    assert 3 in {one.k for one in wished}
    with refused(UsageError, "unknown-name", kind="setting of tune", name="least"):
        tune_settings_from({"least": 3})


def test_limits_wider_than_those_of_the_settings_are_named() -> None:
    assert wider_limits({"pil": 30.0, "linkage": 5.0}, {"pil": 20.0, "linkage": 5.0, "moment_shift": 3.0}) == ()
    assert wider_limits({"linkage": 5.0}, {"linkage": 50.0}) == (
        "the limit linkage of this run is 50, wider than that of the settings, 5",
    )
    assert wider_limits({"block_k": 5.0}, {"block_k": 3.0}) == (
        "the limit block_k of this run is 3, wider than that of the settings, 5",
    ), "of a figure that is better higher"
