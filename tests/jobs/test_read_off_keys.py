"""Whole runs in which the survey weight gives away suppressed keys: what is told, and which key figures count."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import masktron
from cli_runner import write_rules
from made_columns import column_of_cells
from masktron.config import config_from
from masktron.errors import OutsideLimitsError
from masktron.jobs.given_away import _filled, read_off_concerns, read_off_notes, with_read_off
from masktron.jobs.key_treatments import run_keys
from masktron.measures.keys.key_file import KeyFile
from masktron.perturbation_settings import PramSettings
from masktron.problems.wording import sentence
from masktron.sources.column import Column
from masktron.step_kinds import Postrandomised, SharedKeys, Suppressed
from schema_files import conforms

pytestmark = pytest.mark.usefixtures("at_terminal")

KEYS = ("REGION", "SEX", "AGE")


def made(folder: Path, *, telling: bool) -> tuple[Path, Path]:
    """A survey whose weight is a function of region and sex, or of nothing."""
    generator = np.random.default_rng(11)
    n = 400
    region, sex, age = generator.integers(0, 12, n), generator.integers(0, 2, n), generator.integers(0, 5, n)
    weight = (5 * sex + region) % 13 if telling else generator.integers(0, 13, n)
    with (folder / "d.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*KEYS, "W", "A", "B"])
        for at in range(n):
            names = f"r{region[at]}", "mf"[sex[at]], f"a{age[at]}"
            rows.writerow([*names, 10 + weight[at], generator.integers(100, 900), generator.integers(1, 99)])
    return folder / "d.csv", write_rules(folder / "r.sch", "B <= A")


def settings(**more: Any) -> dict[str, Any]:
    roles = {**dict.fromkeys(KEYS, "quasi-identifier"), "W": "weight"}
    return {"k": 3, "key_k": 4, "roles": roles, "keys": {"importance": {"SEX": 9, "AGE": 9}}, **more}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, masktron.MaskResult]:
    folder = tmp_path_factory.mktemp("told")
    data, rules = made(folder, telling=True)
    return folder, masktron.mask(data, rules, folder / "m.csv", **settings(order="keep"))


def test_cells_that_the_weight_gives_away_are_counted_and_key_figures_are_those_after(
    told: tuple[Path, masktron.MaskResult],
) -> None:
    folder, result = told
    conforms(result.as_dict(), "mask")
    original, released = (
        list(csv.DictReader((folder / name).read_text().splitlines())) for name in ("d.csv", "m.csv")
    )
    gone = [at for at, row in enumerate(released) if not row["REGION"]]
    by = {(row["W"], row["SEX"]): row["REGION"] for row in released if row["REGION"] and row["SEX"]}
    back = {at: by[key] for at in gone if (key := (released[at]["W"], released[at]["SEX"])) in by}
    assert len(back) > 0.8 * len(gone) > 20
    assert all(original[at]["REGION"] == value for at, value in back.items())
    [concern] = [one for one in result.concerns if one.kind == "read-off-key"]
    assert (concern.field, concern.records, concern.of) == ("REGION", len(back), len(gone))
    assert "W with SEX" in concern.says
    assert 'recode={"W": "..."}' in concern.hint
    manifest = json.loads((folder / "m.manifest.json").read_text())
    [kept] = [one for one in manifest["result"]["concerns"] if one["kind"] == "read-off-key"]
    assert concern.as_dict() == kept | {"hint": concern.hint}
    assert "--recode W=" in kept["hint"]
    for at, value in back.items():
        released[at]["REGION"] = value
    assert result.keys is not None
    assert result.keys.below["2"] == figure(result, "key_uniques") == uniques(released)
    figures = [
        figure.split() for note in result.notes if "read off as known: " in note for figure in note.split(", ")
    ]
    assert all(words[-1] != words[-4] for words in figures), "a figure that stays is no news"


def figure(result: masktron.MaskResult, name: str) -> float:
    return {one.name: one.value for one in result.figures}[name]


def uniques(rows: list[dict[str, str]]) -> int:
    """Records that no other one matches by region, sex, age and weight; a missing value matches all."""
    keys = [[row[name] for name in (*KEYS, "W")] for row in rows]
    matches = [sum(all(not a or not b or a == b for a, b in zip(x, y, strict=True)) for y in keys) for x in keys]
    return matches.count(1)


def test_assess_and_keys_tell_the_same(told: tuple[Path, masktron.MaskResult]) -> None:
    folder, result = told
    [concern] = [one for one in result.concerns if one.kind == "read-off-key"]
    assessed = masktron.assess(
        folder / "m.csv", folder / "d.csv", manifest=folder / "m.manifest.json", measures=["key_uniques", "key_loss"]
    )
    assert assessed["key_uniques"] == figure(result, "key_uniques")
    assert assessed["key_loss"] == figure(result, "key_loss") > 0, "users lack the cells that an intruder reads off"
    assert any(note.startswith(concern.says) for note in assessed.notes)
    tried = run_keys(folder / "d.csv", folder / "r.sch", config=config_from(settings()))
    assert any("suppressed cells of REGION can be read off" in note for note in map(sentence, tried.notes))


@pytest.mark.full
def test_a_limit_on_key_figures_is_about_the_keys_as_an_intruder_knows_them(tmp_path: Path) -> None:
    data, rules = made(tmp_path, telling=True)
    roles = {**dict.fromkeys(KEYS, "quasi-identifier"), "W": "untouched"}
    with pytest.raises(OutsideLimitsError, match="key_k"):
        masktron.mask(data, rules, tmp_path / "m.csv", **settings(roles=roles, limits={"key_k": 4}))
    data, rules = made(tmp_path, telling=False)
    result = masktron.mask(data, rules, tmp_path / "m.csv", **settings(roles=roles, limits={"key_k": 4}))
    assert not [one for one in result.concerns if one.kind == "read-off-key"]
    assert not [note for note in result.notes if "can be read off" in note]


def surveyed(**more: Any) -> pd.DataFrame:
    """A survey with a rare region and a rare age."""
    generator = np.random.default_rng(5)
    region = generator.choice(list("ABCD"), 600, p=[0.5, 0.3, 0.18, 0.02])
    sex, age = generator.choice(["m", "f"], 600), generator.choice(["y", "m", "o"], 600, p=[0.6, 0.37, 0.03])
    income = np.rint(generator.lognormal(9, 1, 600))
    return pd.DataFrame({"REGION": region, "SEX": sex, "AGE": age, "INCOME": income, **more})


def masked(folder: Path, frame: pd.DataFrame, **more: Any) -> masktron.MaskResult:
    roles = {**dict.fromkeys(KEYS, "quasi-identifier"), **more.pop("roles", {})}
    rules = write_rules(folder / "r.sch", "INCOME >= 0")
    return masktron.mask(frame, rules, k=5, secret=bytes(range(32)), roles=roles, order="random", **more)


CODES = {region: at for at, region in enumerate("ABCD")}


def test_drawn_values_that_two_fields_give_away_count_as_known(tmp_path: Path) -> None:
    frame = surveyed(X=np.random.default_rng(6).integers(0, 4, 600))
    frame["Y"] = (frame["REGION"].map(CODES) + frame["X"]) % 4
    roles = {"X": "untouched", "Y": "untouched"}
    result = masked(tmp_path, frame, roles=roles, nominal=["X", "Y"], pram={"REGION": "change:0.3"})
    [concern] = [one for one in result.concerns if one.kind == "read-off-key"]
    changed = int((result.data["REGION"] != frame["REGION"].loc[result.data.index]).sum())
    assert concern.of == changed > 100
    assert concern.records > 0.9 * changed
    assert f"of {changed} changed cells of REGION" in concern.says
    assert "X with Y" in concern.says


@pytest.mark.full
def test_a_masked_field_that_tells_a_key_has_advice_that_mask_accepts(tmp_path: Path) -> None:
    frame = surveyed()
    frame["REGION"] = pd.cut(frame["INCOME"], [-1, 5_000, 15_000, 60_000, 1e9], labels=list("ABCD")).astype(str)
    more: dict[str, Any] = {"method": "mdav", "key_k": 3}
    frame["OTHER"] = np.rint(np.random.default_rng(8).lognormal(9, 1, 600))
    result = masked(tmp_path, frame, **more)
    [concern] = [one for one in result.concerns if one.kind == "read-off-key"]
    assert "INCOME (" in concern.says
    assert "--recode REGION=" in concern.hint
    assert "--role INCOME=identifier" in concern.hint
    hierarchy = tmp_path / "region.csv"
    hierarchy.write_text("A,low\nB,low\nC,high\nD,high\n")
    assert masked(tmp_path, frame, recode={"REGION": str(hierarchy)}, **more).valid
    assert masked(tmp_path, frame, roles={"INCOME": "identifier"}, **more).valid


def column(values: list[Any]) -> Column:
    return column_of_cells(values)


def keys_of(key: Column) -> KeyFile:
    return KeyFile(("KEY",), {"KEY": key.numbered(held=True)}, stated=True)


DRAWN = Postrandomised(("KEY",), PramSettings(0.1, 0.9, None, (), False, None), (), (), None, ())
LEFT_OUT = Suppressed(("KEY",), (), SharedKeys(2, None, False))


def test_cells_are_not_filled_in_where_that_lowers_the_risk() -> None:
    """Ten records were drawn to be alone; whoever knows what they were finds nobody alone."""
    was = [at % 3 for at in range(300)]
    now = [1_000 + at if at < 10 else value for at, value in enumerate(was)]
    before = {"KEY": column(was), "OTHER": column(was)}
    written = keys_of(column(now))
    keys = with_read_off(written, [DRAWN], before, {**before, "KEY": column(now)}, in_order=False)
    assert keys is not None
    assert keys.told["KEY"].right == 10
    assert keys.as_written is None
    assert keys.frequencies.below(2) == written.frequencies.below(2) == 10


def test_a_value_that_no_record_shows_is_filled_in() -> None:
    part = np.random.default_rng(9).integers(1_000, 9_000, 300).tolist()
    was = [90 + at if at < 4 else at % 7 for at in range(300)]
    shown = [None if at < 4 else value for at, value in enumerate(was)]
    fields = {"PART": column(part), "TOTAL": column([one + two for one, two in zip(was, part, strict=True)])}
    before = {"KEY": column(was), **fields}
    keys = with_read_off(keys_of(column(shown)), [LEFT_OUT], before, {**fields, "KEY": column(shown)}, in_order=False)
    assert keys is not None
    assert keys.as_written is not None
    assert (keys.as_written.frequencies.below(2), keys.frequencies.below(2)) == (0, 4)
    [note] = read_off_notes(keys)
    assert "key_uniques is 4 and not 0" in note


def test_the_order_of_the_file_is_looked_at_where_it_is_kept() -> None:
    was = [at // 75 for at in range(300)]
    now = [(value + 1) % 4 if at % 10 == 0 else value for at, value in enumerate(was)]
    for in_order in (True, False):
        keys = with_read_off(
            keys_of(column(now)), [DRAWN], {"KEY": column(was)}, {"KEY": column(now)}, in_order=in_order
        )
        concerns = list(read_off_concerns(keys))
        hint = "write the records in random order (--shuffle)"
        assert [sentence(one.hint) for one in concerns] == [hint] * in_order
        assert [one.field for one in concerns] == ["KEY"] * in_order


def test_digits_of_other_scripts_are_letters(tmp_path: Path) -> None:
    """They are digits to Python, which takes none of them for a number."""
    data, rules = made(tmp_path, telling=False)
    table = pd.read_csv(data)
    table["REGION"] = table.REGION.str.slice(1).astype(int).map(lambda region: "①②③④⑤⑥⑦⑧⑨⑩²³"[region])
    table.to_csv(data, index=False)
    found = masktron.mask(data, rules, tmp_path / "m.csv", **settings())
    assert any(one.kind == "suppression" for one in found.treatments)


def test_cells_of_which_nothing_is_shown_are_filled_with_nothing() -> None:
    hidden = np.full(3, -1, dtype=np.int32)
    assert _filled(np.arange(3, dtype=np.int32), hidden, hidden).tolist() == [0, 1, 2]
