"""Local suppression in whole runs: what is written, which rules hold, what check finds, and every refusal."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from lxml import html

import masktron
from cli_runner import write_data, write_rules
from masktron.config import Config, config_from
from masktron.errors import InfeasibleError, OutsideLimitsError, UsageError
from masktron.jobs.cell_rules import CellRules
from masktron.jobs.key_treatments import run_keys
from masktron.jobs.opening import open_original
from masktron.jobs.suppressed import suppress_keys
from masktron.problems.wording import sentence
from masktron.progress import no_progress
from masktron.settings_file import load_config
from masktron.shell_words import shell_word
from plain_rows import read_rows as read
from refusals import code_of, plain, problem_of, refused
from schema_files import conforms

AGES = (16, 20, 20, 25, 25, 25, 30, 70, 70)
ROWS: list[dict[str, object]] = [
    {
        "AGE": AGES[at % 9],
        "REGION": "nnnns"[at % 5] if at % 7 else "w",
        "STATUS": "retired" if AGES[at % 9] >= 65 else "works",
        "A": 100 + 13 * at % 70,
        "B": 10 + 4 * at % 11,
    }
    for at in range(45)
]
RULES = ("B <= A", "not(STATUS = 'retired') or AGE >= 65")
KEYS = ["AGE", "REGION"]
K = 3


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rules(tmp_path / "r.sch", *RULES)


def data_of(folder: Path, suffix: str, rows: list[dict[str, object]] = ROWS) -> Path:
    """Write rows; a CSV file reads back what was missing as nothing at all."""
    path = folder / f"d{suffix}"
    if suffix == ".xml":
        return write_data(path, rows)
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def settings(**more: Any) -> dict[str, Any]:
    roles = {**dict.fromkeys(KEYS, "quasi-identifier"), "STATUS": "untouched"}
    return {"k": K, "order": "keep", "key_k": K, "roles": roles, **more}


def test_a_recoded_weight_is_a_key_that_is_never_suppressed(tmp_path: Path, rules: Path) -> None:
    rows = [{**row, "W": ("1.5", "2.5", "8", "9")[at * 7 % 4]} for at, row in enumerate(ROWS)]
    data, out = data_of(tmp_path, ".csv", rows), tmp_path / "m.csv"
    roles = {**settings()["roles"], "W": "weight"}
    cheapest = {"importance": {"AGE": 5, "REGION": 5}}
    recode = {"W": "breaks:0,5:mean"}
    result = masktron.mask(data, rules, out, **settings(roles=roles, recode=recode, keys=cheapest))
    assert result.valid
    written = read(out)
    assert {row["W"] for row in written} == {"2.0", "8.5"}
    assert min(Counter((row["AGE"], row["REGION"], row["W"]) for row in written).values()) >= K
    assert result.keys is not None
    assert result.keys.k >= K
    masktron.write_report(tmp_path / "m.manifest.json", html_public=tmp_path / "page.html")
    said = " ".join(html.fromstring((tmp_path / "page.html").read_text(encoding="utf-8")).text_content().split())
    assert "W is the survey weight, recoded (breaks:0,5:mean)" in said
    assert "survey weight, unchanged" not in said
    for before in ("A missing value of ", "Left out in records where the keys were rare, else written: "):
        fields = said.partition(before)[2].partition("." if before.startswith("L") else " was ")[0].split(", ")
        assert {"AGE", "REGION"} <= {*fields} <= {"AGE", "REGION", "STATUS"}
    masktron.mask(data, rules, out, **settings(roles=roles))
    assert min(Counter((row["AGE"], row["REGION"], row["W"]) for row in read(out)).values()) < K


def put_back(path: Path, out: Path, row: int, name: str, text: str) -> None:
    """Write a released file with another text in one cell."""
    rows: list[dict[str, object]] = [dict(one) for one in read(path)]
    rows[row][name] = text
    if path.suffix == ".csv":
        pd.DataFrame(rows).to_csv(out, index=False)
    else:
        write_data(out, [{one: value for one, value in each.items() if value != ""} for each in rows])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("suffix", "recode"), [(".xml", {}), (".csv", {"AGE": "breaks:15,25,65"})], ids=["xml", "csv, recoded"]
)
def test_k_records_share_every_combination_rules_hold_and_check_counts_them(
    tmp_path: Path, rules: Path, suffix: str, recode: dict[str, str]
) -> None:
    data, out, manifest = data_of(tmp_path, suffix), tmp_path / f"m{suffix}", tmp_path / "m.manifest.json"
    result = masktron.mask(data, rules, out, **settings(recode=recode))
    assert result.valid
    conforms(result.as_dict(), "mask")
    written = read(out)
    shared = Counter((row["AGE"], row["REGION"]) for row in written)
    assert min(shared.values()) >= K
    gone = {name: sum(row[name] == "" for row in written) for name in (*KEYS, "STATUS")}
    assert gone["AGE"] + gone["REGION"] > 0
    assert not [row for row in written if row["STATUS"] == "retired" and row["AGE"] == ""]
    told = {one.field: one.how for one in result.treatments if one.kind == "suppression"}
    assert {name: int(how.split(": ")[1].split()[0]) for name, how in told.items()} == gone
    before = {one.name: one.value for one in result.before}
    now = {one.name: one.value for one in result.figures}
    assert before["key_k"] == 1
    assert now["key_k"] >= K
    assert masktron.check(out, rules, manifest=manifest, original=data).complies
    assert masktron.assess(out, data, manifest=manifest).records == len(ROWS)
    masktron.write_report(manifest, html_public=tmp_path / "page.html")
    told_publicly = "Left out in records where the keys were rare, else written: "
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert told_publicly in page and f"At least {K} records share each combination of all keys as written" in page
    # what is missing is counted in the released file, and not told apart by why
    share = f"{gone['REGION']} ({100 * gone['REGION'] / len(written):.2g} %)"
    assert share in page and told["REGION"] not in page
    masktron.write_report(manifest, html=tmp_path / "internal.html")
    inside = (tmp_path / "internal.html").read_text(encoding="utf-8")
    assert told["REGION"] in inside and "What the treatments of keys have changed" in inside
    assert f"{before['global_risk']:.1f} %" in inside and f"{now['global_risk']:.1f} %" in inside
    # a cell that was suppressed is put back; then k records do not share its combination any more
    row, name = next((at, name) for at, one in enumerate(written) for name in KEYS if one[name] == "")
    forged = tmp_path / f"forged{suffix}"
    put_back(out, forged, row, name, "16-24" if recode and name == "AGE" else str(ROWS[row][name]))
    found = masktron.check(forged, rules, manifest=manifest)
    assert any("fewer than 3" in one for one in found.problems)
    # another value, which the original does not have there
    row = next(at for at, one in enumerate(written) if one["REGION"] == "n")
    put_back(out, forged, row, "REGION", "s")
    found = masktron.check(forged, rules, manifest=manifest, original=data)
    assert any("REGION differs from the original in 1 record" in one for one in found.problems)


def test_suppressing_without_need_is_found_by_the_group_that_it_makes_smaller(tmp_path: Path, rules: Path) -> None:
    data, out = data_of(tmp_path, ".csv"), tmp_path / "m.csv"
    masktron.mask(data, rules, out, **settings())
    written = read(out)
    shared = Counter((row["AGE"], row["REGION"]) for row in written)
    least = min(shared, key=lambda one: shared[one])
    row = next(at for at, one in enumerate(written) if (one["AGE"], one["REGION"]) == least)
    forged = tmp_path / "forged.csv"
    put_back(out, forged, row, "REGION", "" if least[1] else "w")
    found = masktron.check(forged, rules, manifest=tmp_path / "m.manifest.json")
    assert not found.complies
    assert any("share their combination with fewer" in one for one in found.problems)


def test_the_key_of_the_release_repeats_what_is_suppressed_and_settings_change_it(
    tmp_path: Path, rules: Path
) -> None:
    data, first, second = data_of(tmp_path, ".csv"), tmp_path / "m.csv", tmp_path / "n.csv"
    masktron.mask(data, rules, first, **settings())
    manifest = json.loads((tmp_path / "m.manifest.json").read_text())
    assert manifest["secret"]
    assert manifest["treatments"][-1]["contract"] == {
        "kind": "shared-keys", "k": K, "subsets": None, "missing_matches": False
    }  # fmt: skip
    masktron.mask(data, rules, second, **settings(secret=tmp_path / "m.manifest.json"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.full
def test_importance_and_subsets_are_heeded(tmp_path: Path, rules: Path) -> None:
    data = data_of(tmp_path, ".csv")
    gone = {}
    for name in KEYS:
        out = tmp_path / f"{name}.csv"
        masktron.mask(data, rules, out, **settings(keys={"importance": {name: 50}}))
        gone[name] = {one: sum(row[one] == "" for row in read(out)) for one in KEYS}
    assert gone["AGE"]["AGE"] < gone["REGION"]["AGE"]
    assert gone["REGION"]["REGION"] < gone["AGE"]["REGION"]
    out = tmp_path / "s.csv"
    masktron.mask(data, rules, out, **settings(keys={"subsets": 1}))
    assert all(min(Counter(row[name] for row in read(out)).values()) >= K for name in KEYS)


def test_what_rules_demand_is_not_suppressed(tmp_path: Path) -> None:
    data, out = data_of(tmp_path, ".csv"), tmp_path / "m.csv"
    masktron.mask(data, write_rules(tmp_path / "r.sch", "B <= A", "AGE > 0"), out, **settings())
    assert all(row["AGE"] for row in read(out))
    demanding = write_rules(tmp_path / "s.sch", "B <= A", "AGE > 0", "string-length(REGION) = 1")
    with refused(InfeasibleError, "keys-stay-rare", where=data) as caught:
        masktron.mask(data, demanding, tmp_path / "n.csv", **settings())
    assert plain(kept_by_rules(caught.value)["fields"]) == ("AGE", "REGION")
    assert not (tmp_path / "n.csv").exists()


def kept_by_rules(error: InfeasibleError) -> Mapping[str, Any]:
    """Return what an error says of the rules that keep keys from being left out."""
    (one,) = (one for one in problem_of(error).further if one.code == "rules-need-keys")
    return one.references


def test_a_key_that_would_go_everywhere_is_refused(tmp_path: Path, rules: Path) -> None:
    rows = [{**row, "AGE": at} for at, row in enumerate(ROWS, start=100)]
    data = data_of(tmp_path, ".csv", [{**row, "AGE": 100 + at // 2} for at, row in enumerate(rows)])
    with refused(InfeasibleError, "keys-stay-rare", keys=("AGE",)):
        masktron.mask(data, write_rules(tmp_path / "b.sch", "B <= A"), tmp_path / "m.csv", **settings())


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"key_k": 1}, ""),
        ({"key_k": 2.5}, ""),
        ({"key_k": None, "keys": {"subsets": 2}}, "needs-setting"),
        ({"keys": {"subset": 2}}, ""),
        ({"keys": {"subsets": 0}}, ""),
        ({"keys": {"subsets": 3}}, "bad-value"),
        ({"keys": {"importance": {"AGE": 0}}}, ""),
        ({"keys": {"importance": {"AGE": 1e307}}}, ""),
        ({"keys": {"importance": {"A": 2}}}, "field-not-usable"),
        ({"keys": {"missing_matches": 1}}, ""),
        ({"keys": {"k": 4}}, ""),
        ({"resume": True}, "needs-setting"),
        ({"seed": 7}, "weak-seed"),
        ({"roles": dict.fromkeys((*KEYS, "STATUS"), "confidential"), "numeric": ["AGE"]}, "needs-setting"),
        ({"quasi_identifiers": ["A"]}, "role-does-not-fit"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(tmp_path: Path, rules: Path, given: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        masktron.mask(data_of(tmp_path, ".csv"), rules, tmp_path / "m.csv", **settings(**given))
    assert not code or code_of(caught.value) == code
    assert not (tmp_path / "m.csv").exists()


def test_settings_say_how_keys_are_suppressed_and_an_option_says_k(tmp_path: Path, rules: Path) -> None:
    (tmp_path / "own.toml").write_text("[keys]\nsubsets = 1\n")
    config = masktron.load_config(tmp_path / "own.toml")
    data, out = data_of(tmp_path, ".csv"), tmp_path / "m.csv"
    with refused(UsageError, "needs-setting"):
        masktron.mask(data, rules, out, **settings(config=config, key_k=None))
    masktron.mask(data, rules, out, **settings(config=config))
    manifest = json.loads((tmp_path / "m.manifest.json").read_text(encoding="utf-8"))
    assert [one["contract"]["subsets"] for one in manifest["treatments"]] == [1]


def test_rules_across_records_that_read_keys_are_named(tmp_path: Path) -> None:
    rows = [{**row, "HH": at // 3} for at, row in enumerate(ROWS)]
    across = "count(../Record[HH = current()/HH][REGION = 'w']) <= 3"
    rules = write_rules(
        tmp_path / "r.sch", "B <= A", across, "sum(../Record[HH = current()/HH]/A) > 0", "REGION != 'x'"
    )
    how = settings(roles={**settings()["roles"], "HH": "record-id"})
    notes = masktron.mask(data_of(tmp_path, ".csv", rows), rules, tmp_path / "m.csv", **how).notes
    told = [note for note in notes if "not looked at when cells are chosen" in note]
    assert [note.partition(" across")[0] for note in told] == ["the rule R2 reads suppressed fields"]
    how = {**how, "allow": ["R2"]}
    notes = masktron.mask(data_of(tmp_path, ".csv", rows), rules, tmp_path / "n.csv", **how).notes
    assert not [note for note in notes if "not looked at when cells are chosen" in note]


def test_what_a_rule_across_records_needs_is_left_as_it_is(tmp_path: Path) -> None:
    """It is not looked at when cells are chosen: where it breaks without some, others are left out."""
    west = sum(row["REGION"] == "w" for row in ROWS)
    rules = write_rules(tmp_path / "r.sch", "B <= A", f"count(../Record[REGION = 'w']) = {west}")
    how = settings(keys={"importance": {"AGE": 5, "REGION": 0.1}})
    released = []
    for allow in (["R2"], []):
        masktron.mask(data_of(tmp_path, ".csv"), rules, tmp_path / "m.csv", **how, allow=allow)
        released.append(read(tmp_path / "m.csv"))
    assert sum(row["REGION"] == "w" for row in released[0]) < west
    assert sum(row["REGION"] == "w" for row in released[1]) == west
    assert min(Counter((row["AGE"], row["REGION"]) for row in released[1]).values()) >= K


def children() -> list[dict[str, object]]:
    """Three records of the west and three of the south are rare; some of them are no children, which z100 tells."""
    rows: list[dict[str, object]] = [
        {
            "AGE": (12.5, 14.25, 30.5, 44.25)[at % 4],
            "STATUS": "kid" if at % 4 < 2 and at % 3 else "adult",
            "REG": "n",
            "Z": "z1" if at % 3 else "z100",
            "X": 1000 + 37 * at,
        }
        for at in range(48)
    ]
    young = [row for row in rows if row["STATUS"] == "kid"][:4] + [row for row in rows if row["Z"] == "z100"][:2]
    for at, row in enumerate(young):
        row.update(REG="ws"[at % 2], AGE=12.5)
    return rows


FEW_STATUS = {"importance": {"STATUS": 0.1, "REG": 10, "AGE": 10}}


def of_children(tmp_path: Path, test: str, **more: Any) -> list[dict[str, str]]:
    roles = {"REG": "quasi-identifier", "STATUS": "quasi-identifier", "Z": "untouched"}
    rules = write_rules(tmp_path / "r.sch", "X > 0", test)
    how = {**settings(keys=FEW_STATUS), "roles": roles, "allow_unfired": ["*"], "recode": {"AGE": "width:5"}, **more}
    masktron.mask(data_of(tmp_path, ".csv", children()), rules, tmp_path / "m.csv", **how)
    return read(tmp_path / "m.csv")


def test_gaps_of_consequences_are_the_same_in_records_written_alike(tmp_path: Path) -> None:
    written = of_children(tmp_path, "not(STATUS = 'kid') or (Z = 'z1' and AGE * AGE + AGE < 232)")
    gone = [row for row in written if row["STATUS"] == ""]
    assert len(gone) >= K
    gaps: dict[tuple[str, ...], set[bool]] = {}
    for row in gone:
        gaps.setdefault((row["AGE"], row["REG"]), set()).add(row["Z"] == "")
    assert {len(one) for one in gaps.values()} == {1}, "a gap in Z beside others without one tells z100"
    assert {True} in gaps.values()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("test", "more"),
    [
        ("not(STATUS = 'kid') or (Z = 'z1' and AGE * AGE + AGE * X > 0)", {"allow_lost": ["*"]}),
        ("not(STATUS = 'kid') or (Z = 'z1' and AGE < 15)", {"allow": ["R2"]}),
        ("not(STATUS = 'kid') or Z = 'z1'", {"allow": ["R2"]}),
    ],
    ids=["lost", "let go", "let go, reads no recoded field"],
)
def test_rules_that_are_lost_or_let_go_give_no_cell_away(tmp_path: Path, test: str, more: dict[str, Any]) -> None:
    written = of_children(tmp_path, test, **more)
    gone = [row for row in written if row["STATUS"] == ""]
    assert gone
    assert not [row for row in gone if row["Z"] == "z100"], "who has the old rule knows that these are adults"


def test_settings_of_keys_stand_in_one_table(tmp_path: Path) -> None:
    path = tmp_path / "masktron.toml"
    path.write_text("[keys]\nk = 4\nsubsets = 2\nimportance = {AGE = 2}\n")
    config = load_config(path)
    assert (config.key_k, config.keys) == (4, {"subsets": 2, "importance": {"AGE": 2.0}})
    assert config.updated(key_k=5).key_k == 5
    assert config_from({"keys": {"k": 6}}, base=config) == Config(key_k=6)


def test_suppression_promises_nothing_of_values_beside_the_keys(tmp_path: Path, rules: Path) -> None:
    """Records are alike in their keys, and A is the same in all of a combination: the limit refuses the file."""
    rows = [
        {**row, "A": 100} for row in ROWS
    ]  # as a function of the age, it would give away the ages that are missing
    data, out = write_data(tmp_path / "d.xml", rows), tmp_path / "m.xml"
    how: dict[str, Any] = {"k": K, "roles": dict.fromkeys(KEYS, "quasi-identifier") | {"STATUS": "untouched"}}
    limits = {"key_k": K, "l_diversity": 2}

    def told(code: str = "outside-limits", **more: Any) -> tuple[list[str], tuple[str, ...]]:
        with refused(OutsideLimitsError, code) as caught:
            masktron.mask(data, rules, out, **how, **more)
        hint = caught.value.hint
        return ["suppress cells" in hint, "suppression makes" in hint], caught.value.facts[0].figures

    assert told(key_k=K, limits=limits) == ([False, True], ("l_diversity",))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["d.xml", "r.sch"]
    # without suppression it is not offered for this figure alone, as it promises nothing of it
    assert told(limits={"l_diversity": 2}) == ([False, True], ("l_diversity",))
    assert told(limits=limits) == ([True, True], ("key_k", "l_diversity"))


def test_rules_that_keep_a_key_from_being_left_out_are_named_with_what_changes_that(tmp_path: Path) -> None:
    """Of two rules on the age one lets it be missing; a report asks the other way round."""
    rules = write_rules(tmp_path / "r.sch", "AGE >= 16 and AGE <= 99", "not(AGE > 99)", "B <= A")
    asked = "not(REGION) or not(contains('nsw', REGION))"
    report = f'<report id="R4" test="{asked}">R4</report></rule></pattern></schema>'
    rules.write_text(rules.read_text().replace("</rule></pattern></schema>", report))
    data = data_of(tmp_path, ".csv")
    with refused(InfeasibleError, "keys-stay-rare") as caught:
        masktron.mask(data, rules, tmp_path / "m.csv", **settings())
    told = kept_by_rules(caught.value)
    assert (plain(told["fields"]), plain(told["rules"])) == (("AGE", "REGION"), ("R1", "R4"))
    lines = caught.value.hint.split("\n     ")
    for line in told["changes"]:  # what is copied is a command, and nothing stands behind it
        assert shlex.split(line.partition(": ")[2])[-2] == "--test"
        assert line in lines, "a line each"
    for name, changed in (("R1", "not(AGE) or (AGE >= 16 and AGE <= 99)"), ("R4", f"REGION and ({asked})")):
        assert f"masktron rules r.sch --change {name} --test {shell_word(changed)}" in caught.value.hint
        was = {"R1": "AGE >= 16 and AGE &lt;= 99", "R4": asked}[name]
        written = rules.read_text().replace(f'test="{was}"', f'test="{escape(changed)}"')
        assert written != rules.read_text()
        rules.write_text(written)
    assert masktron.mask(data, rules, tmp_path / "m.csv", **settings()).valid


def test_rules_that_share_no_field_are_asked_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    judged = CellRules.judged

    def listened(own: CellRules, records: Any, codes: Any, names: Any, file: Any) -> Any:
        asked.append(tuple(names))
        return judged(own, records, codes, names, file)

    monkeypatch.setattr(CellRules, "judged", listened)
    rules = write_rules(
        tmp_path / "r.sch", "B <= A", "not(STATUS = 'retired') or AGE >= 65", "REGION != 'x' or A > 0"
    )
    masktron.mask(data_of(tmp_path, ".csv"), rules, out=tmp_path / "o.csv", **settings())
    assert {*asked} == {("AGE", "STATUS"), ("REGION", "A")}


def test_what_suppression_has_done_is_told_as_a_share(tmp_path: Path, rules: Path) -> None:
    done: list[tuple[int, int]] = []
    opened = open_original(data_of(tmp_path, ".csv"), rules, config_from(settings()), no_progress)
    suppress_keys(opened, told=lambda at, size: done.append((at, size)))
    assert {size for _, size in done} == {6}  # each of the three sets of two keys, in the search and for the bound
    numbers = [at for at, _ in done]
    assert numbers == sorted(numbers)
    assert {0, 3, 4, 5}.issubset(numbers)  # the search ends when nobody is at risk


def test_of_recoded_keys_the_rules_of_the_user_are_the_ones_to_change(tmp_path: Path) -> None:
    """Not those that were translated; and a rule on two keys is changed once."""
    both = "AGE >= 16 and REGION != 'x'"
    rules, data = write_rules(tmp_path / "r.sch", both, "B <= A"), data_of(tmp_path, ".csv")
    given = settings(recode={"AGE": "breaks:0,17,25,65"}, key_k=12)
    with refused(InfeasibleError, "keys-stay-rare") as caught:
        masktron.mask(data, rules, tmp_path / "m.csv", **given)
    changed = f"not(AGE) or not(REGION) or ({both})"
    assert kept_by_rules(caught.value)["changes"] == (
        f"where AGE or REGION may be missing: `masktron rules r.sch --change R1 --test {shell_word(changed)}`",
    )


@pytest.mark.full
def test_a_key_of_which_more_than_a_fifth_goes_is_to_be_looked_at(tmp_path: Path, rules: Path) -> None:
    data, out = data_of(tmp_path, ".csv"), tmp_path / "m.csv"
    result = masktron.mask(data, rules, out, **settings(keys={"importance": {"AGE": 9}}))
    conforms(result.as_dict(), "mask")
    told = {one.field: one for one in result.concerns if one.kind == "emptied-key"}
    gone = {name: sum(row[name] == "" for row in read(out)) for name in KEYS}
    assert {*told} == {name for name, count in gone.items() if count > len(ROWS) / 5} == {"REGION"}
    assert (told["REGION"].records, told["REGION"].of) == (gone["REGION"], len(ROWS))
    assert f"{100 * gone['REGION'] / len(ROWS):.0f} % of the values of REGION" in told["REGION"].says
    assert "coarser classes" in told["REGION"].hint and "importance of REGION" in told["REGION"].hint
    config = config_from(settings(keys={"importance": {"AGE": 9}}))
    assert "% of the values of REGION" in " ".join(map(sentence, run_keys(data, rules, config=config).notes))
    few = masktron.mask(data, rules, out, **settings(recode={"AGE": "breaks:15,40,65"}))
    assert not [one for one in few.concerns if one.kind == "emptied-key"]
