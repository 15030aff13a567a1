"""Record swapping in whole runs: what is written, which rules hold, what check finds, and every refusal."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from lxml import etree

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.config import Config, config_from
from masktron.errors import DocumentError, InfeasibleError, UsageError
from masktron.jobs.key_treatments import run_keys
from masktron.problems.wording import sentence
from masktron.settings_file import load_config
from plain_rows import read_rows, write_csv
from refusals import code_of, problem_of, refused
from schema_files import conforms

N = 240
TOWNS = ("a1", "a2", "a3", "b1", "b2", "b3")
RARE = {7: "smith", 50: "pilot", 101: "fisher", 160: "smith", 200: "diver"}


def _row(at: int) -> dict[str, object]:
    town = TOWNS[at // 2 % 6]  # two records share a household
    return {
        "HH": at // 2,
        "COUNTY": town[0],
        "TOWN": town,
        "OCC": RARE.get(at, ("clerk", "nurse", "cook")[at % 3]),
        "SEX": "fm"[at % 2],
        "A": 100 + 13 * at % 70,
        "B": 10 + at % 9,
    }


ROWS = [_row(at) for at in range(N)]
NARROW = "not(OCC = 'fisher' or OCC = 'pilot' or OCC = 'diver') or TOWN = 'a2' or TOWN = 'a3' or TOWN = 'b2'"
RULES = ("B <= A", NARROW, "starts-with(TOWN, COUNTY)")
SWAP = {"regions": ["COUNTY", "TOWN"], "household": "HH", "keys": ["OCC"], "k": 2, "similar": ["SEX"]}
ROLES = {"HH": "untouched", "OCC": "quasi-identifier", "SEX": "untouched"}
TOWN_SWAP = {**SWAP, "regions": ["TOWN"]}
TOWN_ROLES = {**ROLES, "COUNTY": "untouched"}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rules(tmp_path / "r.sch", *RULES)


def settings(**more: Any) -> dict[str, Any]:
    return {"k": 3, "order": "keep", "roles": ROLES, "swap": SWAP, **more}


def moved(written: list[dict[str, str]]) -> list[int]:
    return [at for at, (was, now) in enumerate(zip(ROWS, written, strict=True)) if was["TOWN"] != now["TOWN"]]


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", [".xml", ".csv"])
def test_rare_households_change_places_where_the_rules_admit_both(tmp_path: Path, rules: Path, suffix: str) -> None:
    data = write_data(tmp_path / "d.xml", ROWS) if suffix == ".xml" else write_csv(tmp_path / "d.csv", ROWS)
    out, manifest = tmp_path / f"m{suffix}", tmp_path / "m.manifest.json"
    swap = {**SWAP, "least_regions": 1}  # there are two counties
    result = masktron.mask(data, rules, out, **settings(swap=swap))
    assert result.valid
    conforms(result.as_dict(), "mask")
    conforms(json.loads(manifest.read_text()), "manifest")
    written = read_rows(out)
    if suffix == ".xml":  # an engine that asked nothing of the swaps
        tree = etree.parse(out)
        assert tree.xpath(f"count(//Record[not({NARROW})])") == 0
        assert tree.xpath("count(//Record[not(starts-with(TOWN, COUNTY))])") == 0
    assert {*RARE} <= {*moved(written)}
    assert len(moved(written)) <= 4 * len(RARE)
    households = defaultdict(set)
    for row in written:
        households[row["HH"]].add((row["COUNTY"], row["TOWN"]))
    assert {len(places) for places in households.values()} == {1}
    for names in (("COUNTY", "TOWN"), ("TOWN", "SEX")):
        counts = [Counter(tuple(str(row[name]) for name in names) for row in rows) for rows in (ROWS, written)]
        assert counts[0] == counts[1]
    assert [row["OCC"] for row in written] == [row["OCC"] for row in ROWS]
    (told,) = result.treatments
    assert (told.kind, told.field) == ("swapping", "COUNTY, TOWN")
    assert f"{len(moved(written)) // 4} pairs" in told.how
    found = masktron.check(out, rules, manifest=manifest, original=data)
    assert found.complies, found.problems
    assert any(one.startswith("regions COUNTY, TOWN, swapped in ") for one in found.checked)
    alone = masktron.check(out, rules, manifest=manifest)
    assert "values of COUNTY, TOWN, swapped: need the original" in alone.not_checked
    assert masktron.assess(out, data, manifest=manifest).records == N
    masktron.write_report(manifest, html_public=tmp_path / "page.html")
    assert "TOWN (exchanged in pairs by records that are rare" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.full
def test_fields_that_tell_what_was_changed_are_named(tmp_path: Path) -> None:
    rules, data = write_rules(tmp_path / "r.sch", "B <= A"), write_csv(tmp_path / "d.csv", ROWS)

    def told(**more: Any) -> list[str]:
        # by some keys every town that is drawn lies in the county of the former one, and nothing is given away
        notes = masktron.mask(data, rules, tmp_path / "m.csv", secret=bytes(range(32)), **settings(**more)).notes
        return [note.partition(": in the original")[0] for note in notes if " can show which records " in note]

    # who is written in county a and town b1 has been moved
    assert told(swap=TOWN_SWAP, roles=TOWN_ROLES) == ["COUNTY can show which records changed TOWN"]
    assert told(swap={**SWAP, "least_regions": 1}) == []  # the household moves as a whole, with both regions
    # the towns of a household differ only where one was drawn anew
    pram = {"swap": {}, "pram": {"TOWN": "change:0.1"}, "roles": TOWN_ROLES}
    assert told(**pram) == ["COUNTY can show which records changed TOWN"]


def read_off_by(result: Any) -> list[str]:
    """Return the fields by which results say that changed towns can be read off."""
    said = (*result.notes, *(one.says for one in getattr(result, "concerns", ())))
    found = [
        re.search(r"changed cells of TOWN can be read off .* released file: (.*?) \(", sentence(one)) for one in said
    ]
    return [name for one in found if one for name in one.group(1).split("; ")]


@pytest.mark.full
def test_fields_whose_neighbours_tell_what_was_changed_are_named(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "B <= A")
    scrambled = [(97 * at) % N for at in range(N)]
    serial = [
        {**row, "TOWN": "abcd"[at // 60], "ID": f"H{at + 1}", "NR": scrambled[at]} for at, row in enumerate(ROWS)
    ]
    # the records stand in an order that says nothing; their numbers, and those of households, run through the towns
    data = write_csv(tmp_path / "d.csv", [serial[at] for at in scrambled])
    roles = {**ROLES, "ID": "record-id", "NR": "record-id", "COUNTY": "identifier", "HH": "identifier"}
    swap = {"regions": ["TOWN"], "keys": ["OCC"], "rate": 0.1}
    swapped = masktron.mask(data, rules, tmp_path / "m.csv", **settings(roles=roles, order="random", swap=swap))
    assert read_off_by(swapped) == ["ID"]
    households = {**roles, "ID": "identifier", "HH": "untouched"}
    tried = settings(roles=households, order="random", swap={**swap, "household": "HH"})
    assert read_off_by(run_keys(data, rules, config=config_from(tried))) == ["HH"]
    roles["ID"] = "identifier"
    drawn = {"roles": roles, "swap": {}, "pram": {"TOWN": "change:0.3"}}
    assert read_off_by(run_keys(data, rules, config=config_from(settings(**drawn, order="keep")))) == []
    # the order of the original tells by itself where it is kept
    data = write_csv(tmp_path / "o.csv", serial)
    assert read_off_by(run_keys(data, rules, config=config_from(settings(**drawn, order="random")))) == []
    result = masktron.mask(data, rules, tmp_path / "m.csv", **settings(**drawn, order="keep"))
    assert read_off_by(result) == ["the order of the file"]


def test_check_finds_what_is_no_exchange(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "B <= A")
    data, out, manifest = write_csv(tmp_path / "d.csv", ROWS), tmp_path / "m.csv", tmp_path / "m.manifest.json"
    masktron.mask(data, rules, out, **settings(swap=TOWN_SWAP, roles=TOWN_ROLES))
    written = read_rows(out)

    def problems(rows: dict[int, dict[str, str]]) -> str:
        pd.DataFrame([{**row, **rows.get(at, {})} for at, row in enumerate(written)]).to_csv(
            tmp_path / "forged.csv", index=False
        )
        return "; ".join(masktron.check(tmp_path / "forged.csv", rules, manifest=manifest, original=data).problems)

    other = next(town for town in TOWNS if town != written[0]["TOWN"])
    assert "those of 1 household differ within it" in problems({0: {"TOWN": other}})
    assert "of which the original has not so many with the same SEX" in problems(
        {0: {"TOWN": other}, 1: {"TOWN": other}}
    )
    assert "those of 1 record went missing" in problems({0: {"TOWN": ""}})
    still = [at for at in range(0, N, 2) if at not in moved(written)]
    first, second = still[0], next(at for at in still if written[at]["TOWN"] != written[still[0]]["TOWN"])
    pair = {first: second, first + 1: second, second: first, second + 1: first}
    assert "2 more are in another place than pairs were swapped" in problems(
        {at: {"TOWN": written[to]["TOWN"]} for at, to in pair.items()}
    )
    undone = {at: {"TOWN": str(ROWS[at]["TOWN"])} for at in range(N)}
    assert f"{len(moved(written)) // 2} fewer are in another place than pairs were swapped" in problems(undone)


@pytest.mark.full
def test_the_key_of_the_release_repeats_the_swaps_whatever_the_workers(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "B <= A")
    data, first, key = write_csv(tmp_path / "d.csv", ROWS), tmp_path / "m.csv", tmp_path / "m.manifest.json"
    own = {"swap": {**TOWN_SWAP, "rate": 0.3}, "roles": TOWN_ROLES}
    masktron.mask(data, rules, first, **settings(**own))
    masktron.mask(data, rules, tmp_path / "s.csv", **settings(**own, secret=key, workers=2))
    assert first.read_bytes() == (tmp_path / "s.csv").read_bytes()
    masktron.mask(data, rules, tmp_path / "t.csv", **settings(**own))
    assert [row["TOWN"] for row in read_rows(tmp_path / "t.csv")] != [row["TOWN"] for row in read_rows(first)]
    assert len(moved(read_rows(first))) == pytest.approx(0.3 * N, abs=4)
    assert masktron.rerun(key, data, tmp_path / "r.csv").same_bytes


@pytest.mark.full
def test_recoded_drawn_swapped_and_suppressed_together(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "B <= A")
    rows = [{**row, "TOWN": "c1"} if at in (0, 1) else row for at, row in enumerate(ROWS)]
    data, out, manifest = write_csv(tmp_path / "d.csv", rows), tmp_path / "m.csv", tmp_path / "m.manifest.json"
    (tmp_path / "occ.csv").write_text(
        "".join(f"{occ};{occ[0]}\n" for occ in sorted({str(row["OCC"]) for row in rows}))
    )
    result = masktron.mask(
        data, rules, out,
        **settings(
            recode={"OCC": str(tmp_path / "occ.csv")}, pram={"SEX": "change:0.1"}, swap=TOWN_SWAP, key_k=3,
            roles={**TOWN_ROLES, "COUNTY": "quasi-identifier"},
        ),
    )  # fmt: skip
    assert [*dict.fromkeys(one.kind for one in result.treatments)] == ["recoding", "pram", "swapping", "suppression"]
    written = read_rows(out)
    assert any(row["TOWN"] == "" for row in written)
    found = masktron.check(out, rules, manifest=manifest, original=data)
    assert found.complies, found.problems
    assert any(one.startswith("regions TOWN, swapped in ") for one in found.checked)
    # had nobody been rare, nothing would be suppressed that is not looked at: a town that nobody had is still found
    at = next(at for at, row in enumerate(written) if row["TOWN"])
    pd.DataFrame([{**row, "TOWN": "z9"} if place == at else row for place, row in enumerate(written)]).to_csv(
        tmp_path / "f.csv", index=False
    )
    found = masktron.check(tmp_path / "f.csv", rules, manifest=manifest, original=data)
    assert any("of which the original has not so many" in one for one in found.problems)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"swap": {"regions": ["NO"]}}, ""),
        ({"swap": {"k": 3}}, ""),
        ({"swap": {**SWAP, "regions": ["TOWN", "TOWN"]}}, ""),
        ({"swap": {**SWAP, "kk": 3}}, ""),
        ({"swap": {**SWAP, "k": 1}}, ""),
        ({"swap": {**SWAP, "rate": 2}}, ""),
        ({"swap": {**SWAP, "required": 2}}, "bad-value"),
        ({"swap": {**SWAP, "household": "NO"}}, "unknown-name"),
        ({"swap": {**SWAP, "similar": ["A"]}}, "role-does-not-fit"),
        ({"swap": {**SWAP, "similar": ["TOWN"]}}, "field-not-usable"),
        ({"swap": SWAP, "roles": {**ROLES, "TOWN": "weight"}}, ""),
        ({"pram": {"TOWN": "change:0.1"}}, ""),
        ({"resume": True, "secret": None}, "needs-setting"),
        ({"seed": 7}, "weak-seed"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(tmp_path: Path, rules: Path, given: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        masktron.mask(write_csv(tmp_path / "d.csv", ROWS), rules, tmp_path / "m.csv", **settings(**given))
    assert not code or code_of(caught.value) == code
    assert not (tmp_path / "m.csv").exists()


def test_torn_households_and_nobody_to_swap_with_are_refused(tmp_path: Path, rules: Path) -> None:
    torn = [{**row, "TOWN": "a2", "COUNTY": "a"} if at == 0 else row for at, row in enumerate(ROWS)]
    with refused(DocumentError, "household-differs"):
        masktron.mask(write_csv(tmp_path / "d.csv", torn), rules, tmp_path / "m.csv", **settings())
    # with a rule that ties the two, a town alone goes nowhere but within its county
    strict = write_rules(
        tmp_path / "s.sch",
        "B <= A",
        *(f"not(OCC = '{occ}') or TOWN = '{ROWS[at]['TOWN']}'" for at, occ in RARE.items() if occ != "smith"),
    )
    few = [row for row in ROWS if row["OCC"] != "smith"]
    with refused(InfeasibleError, "no-swaps"):
        masktron.mask(
            write_csv(tmp_path / "e.csv", few),
            strict,
            tmp_path / "m.csv",
            **settings(swap=TOWN_SWAP, roles=TOWN_ROLES),
        )
    assert not (tmp_path / "m.csv").exists()


@pytest.mark.full
def test_that_many_change_places_is_said(tmp_path: Path, rules: Path) -> None:
    def told(**more: Any) -> list[str]:
        notes = masktron.mask(
            write_csv(tmp_path / "d.csv", ROWS), rules, tmp_path / "m.csv",
            **settings(swap={**SWAP, "least_regions": 1, **more}),
        ).notes  # fmt: skip
        return [note for note in notes if note.startswith("swapping: ")]

    assert told() == []
    (note,) = told(k=20)
    share = float(note.split()[1])
    assert 10 < share <= 100
    assert "% of the households have another COUNTY, TOWN" in note
    assert "fewer than 20 by OCC in its region. Fewer keys" in note


def test_a_rate_that_is_not_reached_is_said(tmp_path: Path, rules: Path) -> None:
    def told(rate: float) -> list[str]:
        config = config_from(settings(swap={**SWAP, "least_regions": 5, "rate": rate}))
        notes = run_keys(write_csv(tmp_path / "d.csv", ROWS), rules, config=config).notes
        return [note for note in map(sentence, notes) if "of the rate" in note]

    assert told(0.2) == []
    (note,) = told(1.0)  # the last who are left are of too few towns
    assert re.match(r"swapping: [0-9.]+ % of the households have changed places, not the 100 % of the rate", note)


def test_too_few_regions_are_the_reason_why_nobody_moves(tmp_path: Path, rules: Path) -> None:
    with refused(InfeasibleError, "no-swaps", where=f"{tmp_path / 'd.csv'}, field COUNTY") as caught:
        masktron.mask(
            write_csv(tmp_path / "d.csv", ROWS), rules, tmp_path / "m.csv",
            **settings(swap={"regions": ["COUNTY"], "keys": ["OCC"], "k": 2}, roles={**ROLES, "TOWN": "identifier"}),
        )  # fmt: skip
    assert "least_regions = 2" in str(problem_of(caught.value).references["reason"])


@pytest.mark.full
def test_options_and_settings_say_the_same(tmp_path: Path, run: Runner) -> None:
    rules, data = write_rules(tmp_path / "r.sch", "B <= A"), write_csv(tmp_path / "d.csv", ROWS)
    settings_file = tmp_path / "masktron.toml"
    settings_file.write_text('[swap]\nregions = ["X"]\nhousehold = "HH"\nkeys = ["OCC"]\nk = 2\nsimilar = ["SEX"]\n')
    assert load_config(settings_file).roles == {"X": "quasi-identifier"}
    assert Config(swap=SWAP).roles == {"COUNTY": "quasi-identifier", "TOWN": "quasi-identifier"}
    settings_file.write_text(
        '[swap]\nregions = ["TOWN"]\nhousehold = "HH"\nkeys = ["OCC"]\nk = 2\nsimilar = ["SEX"]\n'
    )
    roles = [part for name, role in TOWN_ROLES.items() for part in ("--role", f"{name}={role}")]
    asked = (data, "--rules", rules, "--out", tmp_path / "m.csv", "-k", 3, *roles)
    outcome = run("mask", *asked, "--config", settings_file, "--swap", "TOWN")
    assert outcome.code == 0, outcome.err
    assert "treatment 1, swapping of TOWN: households rare among fewer than 2 by OCC" in outcome.out
    outcome = run("mask", *asked, "--swap", "TOWN,NO")
    assert (outcome.code, "NO" in outcome.err) == (2, True)
    outcome = run("mask", *asked, "--swap", "TOWN,TOWN")
    assert (outcome.code, "" in outcome.err) == (2, True)
    settings_file.write_text("[swap]\n")
    outcome = run("mask", *asked, "--config", settings_file)
    assert (outcome.code, code_of(outcome.err)) == (2, "needs-setting")
