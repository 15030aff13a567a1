"""What `check` and `assess` say of the treatments of a manifest: those that its own settings ask for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import Runner, write_rules
from masktron.config import Role, config_from
from masktron.errors import RefusalFacts, UsageError, ViolationError
from masktron.jobs.mask import run_mask
from masktron.jobs.opening import open_original
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.search.asked import tune_settings_from
from masktron.jobs.search.bench import secret_of_run
from masktron.jobs.search.grid import settings_of
from masktron.jobs.search.remedies import RefusedRun, remedies_for
from masktron.jobs.search.tuning import run_tune
from masktron.problems.wording import sentence
from masktron.progress import no_progress
from nested_survey import ROLES as SURVEY_ROLES
from nested_survey import made
from plain_rows import write_csv
from refusals import problem_of, refused
from schema_files import conforms

ROWS: list[dict[str, object]] = [
    {
        "AGE": 16 + 3 * (at % 9),
        "REGION": "nnsw"[at % 4],
        "STATUS": "abc"[at * 5 % 3],
        "A": 100 + 13 * at % 70,
        "B": 10 + at % 9,
    }
    for at in range(60)
]
ROLES = dict.fromkeys(("AGE", "REGION", "STATUS"), "quasi-identifier")
ASKED: dict[str, Any] = {
    "k": 3,
    "order": "keep",
    "roles": ROLES,
    "recode": {"AGE": "breaks:16,25,35"},
    "pram": {"STATUS": "change:0.1"},
    "swap": {"regions": ["REGION"]},
    "key_k": 2,
}


def without(kind: str) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["treatments"] = [one for one in content["treatments"] if one["kind"] != kind]

    return change


def with_part(kind: str, part: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        next(one for one in content["treatments"] if one["kind"] == kind)[part] = value

    return change


def with_contract(part: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["treatments"][-1]["contract"][part] = value

    return change


def with_setting(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["config"][name] = value

    return change


CHANGES = {
    "no recoding": (without("recoding"), "recode"),
    "another recoding": (with_part("recoding", "how", "breaks:16,25,40"), "recode"),
    "recoding nobody asked for": (with_setting("recode", {}), "recode"),
    "no draws": (without("pram"), "pram"),
    "other draws": (with_part("pram", "change", 0.01), "pram"),
    "draws of households": (with_part("pram", "household", "REGION"), "pram"),
    "no swaps": (without("swapping"), "swap"),
    "other swaps": (with_part("swapping", "k", 2), "swap"),
    "swaps at another rate": (with_setting("swap", {"regions": ["REGION"], "rate": 0.5}), "swap"),
    "other keys of swaps": (with_setting("swap", {"regions": ["REGION"], "keys": ["AGE"]}), "swap"),
    "no suppression": (without("suppression"), "keys"),
    "a smaller k": (with_contract("k", 1), "keys"),
    "smaller subsets": (with_contract("subsets", 1), "keys"),
    "missing that matches": (with_contract("missing_matches", True), "keys"),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    data = write_csv(folder / "d.csv", ROWS)
    masktron.mask(data, write_rules(folder / "r.sch", "B <= A", "AGE < 40 or B > 3"), folder / "m.csv", **ASKED)
    return folder


def test_what_mask_writes_agrees(run: Path) -> None:
    content = json.loads((run / "m.manifest.json").read_text())
    assert [one["kind"] for one in content["treatments"]] == ["recoding", "pram", "swapping", "suppression"]
    assert masktron.check(
        run / "m.csv", run / "r.sch", manifest=run / "m.manifest.json", original=run / "d.csv"
    ).complies


def test_check_says_what_was_done_and_what_rules_became(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, page = run / "m.manifest.json", tmp_path / "page.html"
    found = masktron.check(run / "m.csv", run / "r.sch", manifest=manifest)
    told = {one.kind: (one.field, one.how) for one in found.treatments}
    pairs = json.loads(manifest.read_text())["treatments"][2]["pairs"]
    assert told == {
        "recoding": ("AGE", "breaks:16,25,35"),
        "pram": ("STATUS", "change 0.1"),
        "swapping": ("REGION", f"{pairs} pairs of records, rare among fewer than 3 by AGE, STATUS"),
        "suppression": ("AGE, REGION, STATUS", "k = 2"),
    }
    (fate,) = found.fates
    assert (fate.fate, fate.reason) == ("vacuous", "it asks nothing any more of any class of AGE")
    assert (fate.rule, fate.before, fate.fields) == ("R2", "AGE < 40 or B > 3", ("AGE",))
    conforms(found.as_dict(), "check")
    options = ["--manifest", manifest, "--html", page]
    text = Runner(capsys)("check", run / "m.csv", "-r", run / "r.sch", *options).out
    for line in (
        "treatment 1, recoding of AGE: breaks:16,25,35",
        "treatment 4, suppression of AGE",
        "rule R2 is vacuous (it asks nothing any more of any class of AGE); it was: AGE < 40 or B > 3",
        "1 rule asks nothing any more of any class, so that it finds no error there: R2",
    ):
        assert line in text
    written = page.read_text()
    for words in (
        "What was done before",
        "Treatments, in their order",
        "Rules that read recoded or removed fields",
        "1 rule asks nothing any more of any class, so that it finds no error there: R2.",
    ):
        assert words in written


@pytest.mark.full
def test_assess_says_the_same(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest, page = run / "m.manifest.json", tmp_path / "page.html"
    found = masktron.assess(run / "m.csv", run / "d.csv", manifest=manifest)
    checked = masktron.check(run / "m.csv", run / "r.sch", manifest=manifest)
    assert (found.treatments, found.fates) == (checked.treatments, checked.fates)
    assert found.fates
    conforms(found.as_dict(), "assess")
    options = ["--manifest", manifest, "--html", page]
    text = Runner(capsys)("assess", run / "m.csv", "--original", run / "d.csv", *options).out
    assert "treatment 1, recoding of AGE: breaks:16,25,35" in text and f"rule R2 is {found.fates[0].fate}" in text
    assert "Treatments, in their order" in page.read_text()


def test_assess_says_nothing_of_treatments_without_a_manifest(run: Path) -> None:
    found = masktron.assess(run / "m.csv", run / "d.csv", same_order=True, roles=dict.fromkeys(ROLES, "confidential"))
    assert (found.treatments, found.fates) == ((), ())
    conforms(found.as_dict(), "assess")


WRONG_FATES: dict[str, tuple[dict[str, Any], str]] = {
    "no such fate": (
        {"fate": "lucky"},
        "result.fates[0].fate is none of kept, exact, implied, weakened, vacuous, removed, lost",
    ),
    "a rule as it was": ({"fate": "kept"}, "'kept' is nothing that a rule becomes"),
    "no text": ({"after": 3}, "result.fates[0].after is not a text"),
    "no fields": ({"fields": "AGE"}, "result.fates[0].fields is not a list"),
}


@pytest.mark.parametrize(("change", "message"), WRONG_FATES.values(), ids=WRONG_FATES)
def test_a_manifest_that_says_nonsense_of_rules_is_refused(
    run: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    content = json.loads((run / "m.manifest.json").read_text())
    content["result"]["fates"][0] |= change
    edited = tmp_path / "edited.manifest.json"
    edited.write_text(json.dumps(content))
    with refused(UsageError, "not-a-manifest", where=edited, reason=message):
        masktron.assess(run / "m.csv", run / "d.csv", manifest=edited)


@pytest.mark.parametrize(("change", "setting"), CHANGES.values(), ids=CHANGES)
def test_treatments_that_settings_do_not_ask_for_are_refused(
    run: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], setting: str
) -> None:
    content = json.loads((run / "m.manifest.json").read_text())
    change(content)
    edited = tmp_path / "edited.manifest.json"
    edited.write_text(json.dumps(content))
    with refused(UsageError, "not-a-manifest", where=edited) as caught:
        masktron.check(run / "m.csv", run / "r.sch", manifest=edited)
    assert f"'{setting}'" in problem_of(caught.value).references["reason"]


def test_keys_that_are_missing_from_a_suppression_are_found(run: Path, tmp_path: Path) -> None:
    content = json.loads((run / "m.manifest.json").read_text())
    content["treatments"][-1].update(fields=["AGE"], also=["REGION", "STATUS"])
    edited = tmp_path / "edited.manifest.json"
    edited.write_text(json.dumps(content))
    with refused(UsageError, "not-a-manifest") as caught:
        masktron.check(run / "m.csv", run / "r.sch", manifest=edited)
    assert "REGION" in problem_of(caught.value).references["reason"]
    # settings that name none: then the roles of the plan do
    content["config"]["roles"] = {}
    edited.write_text(json.dumps(content))
    found = masktron.check(run / "m.csv", run / "r.sch", manifest=edited)
    # in the order in which the release has them, where a key of the first record may have been suppressed
    assert any("AGE, without" in one and "REGION" in one and "STATUS" in one for one in found.problems)


def test_recodings_and_translated_rules_are_made_anew(run: Path, tmp_path: Path) -> None:
    edited, files = tmp_path / "edited.manifest.json", (run / "m.csv", run / "r.sch")

    def problems(change: Callable[[dict[str, Any]], None]) -> str:
        content = json.loads((run / "m.manifest.json").read_text())
        change(content)
        edited.write_text(json.dumps(content))
        found = masktron.check(*files, manifest=edited, original=run / "d.csv")
        return "; ".join((*found.problems, *(one for one in found.not_checked if "translates otherwise" in one)))

    def labels(content: dict[str, Any]) -> None:
        content["treatments"][0]["labels"][0] = "16-23"

    assert "AGE is recoded to other values than breaks:16,25,35 makes of the original" in problems(labels)
    another = "the translated rulebook is not the one that the manifest describes"

    def other_hash(content: dict[str, Any]) -> None:
        content["translated"]["sha256"] = "0" * 64

    assert problems(other_hash).startswith(another)

    def other_version(content: dict[str, Any]) -> None:
        other_hash(content)
        content["versions"]["masktron"] = "0.0.1"

    assert problems(other_version) == (
        "translated rulebook of the manifest: this version of masktron translates otherwise (another SHA-256)"
    )


@pytest.fixture
def nested(tmp_path: Path) -> tuple[Path, Path]:
    """Twelve households of one person."""
    homes = "".join(
        f"<H><REGION>{'ns'[at % 2]}</REGION><SIZE>1</SIZE><P><AGE>{20 + at}</AGE><A>{at * at}</A></P></H>"
        for at in range(12)
    )
    (tmp_path / "n.xml").write_text(f"<S>{homes}</S>")
    return tmp_path / "n.xml", write_rules(tmp_path / "n.sch", "count(P) = SIZE", context="H")


NESTED_ROLES = {"REGION": "quasi-identifier", "SIZE": "untouched", "AGE": "quasi-identifier"}


@pytest.mark.parametrize(
    ("axes", "kinds"),
    [
        ({"recode": {"AGE": ["width:5"]}, "key_k": [2]}, {"recoding", "suppression"}),
        ({"pram": {"REGION": ["change:0.1"]}}, {"pram"}),
    ],
)
def test_tune_treats_keys_of_a_nested_file_as_mask_does(
    nested: tuple[Path, Path], tmp_path: Path, axes: dict[str, Any], kinds: set[str]
) -> None:
    asked = tune_settings_from({"methods": ["mdav"], "k": [3], "seeds": 1, "workers": 0, **axes})
    config = config_from({"roles": NESTED_ROLES, "numeric": ["A"]})
    tried = run_tune(*nested, config=config, asked=asked).candidates[-1]
    assert tried.state == "measured", tried.reasons
    same = replace(settings_of(tried, config), secret=secret_of_run(0))
    masked = run_mask(MaskRequest(*nested, tmp_path / "m.xml", config=same))
    assert {one.kind for one in masked.treatments} == kinds
    figures = {one.name: one.value for one in masked.figures}
    assert figures.items() >= {"key_k": tried.figures["key_k"], "linkage": tried.figures["linkage"]}.items()
    assert {level.level for level in masked.levels} == {*tried.levels}
    for level in masked.levels:
        assert tried.levels[level.level] == pytest.approx({one.name: one.value for one in level.figures})


def test_tune_says_why_keys_of_members_alone_are_not_treated(tmp_path: Path) -> None:
    asked = tune_settings_from({"methods": ["mdav"], "k": [3], "workers": 0, "key_k": [2]})
    config = config_from({"roles": SURVEY_ROLES, "protect": "Person", "max_observed_share": 100})
    found = run_tune(*made(tmp_path, 2, 30), config=config, asked=asked).candidates
    assert [one.state for one in found] == ["measured", "same", "refused", "refused"]
    assert "--protect protects their members alone" in sentence(found[-1].reasons[0])


def test_no_recoding_of_a_nested_file_is_searched(nested: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("n;*\ns;*\n")
    with refused(UsageError, "setting-not-usable"):
        masktron.recode(*nested, {"REGION": tmp_path / "h.csv"}, key_k=3, roles=NESTED_ROLES, numeric=["A"])


def test_remedies_treat_keys_of_a_nested_file_by_the_names_of_its_fields(
    nested: tuple[Path, Path], tmp_path: Path
) -> None:
    told: dict[str, Any] = {"k": 3, "roles": NESTED_ROLES, "numeric": ["A"], "limits": {"key_k": 2}}
    with pytest.raises(ViolationError) as caught:
        masktron.mask(*nested, tmp_path / "m.xml", on_refusal="suggest", **told)
    (best,) = caught.value.refusal.working
    assert best.settings == {"recode": {"AGE": "width:5"}, "key_k": 2}
    assert best.options == ("--recode AGE=width:5", "--key-k 2")
    assert not {one.kind for one in caught.value.refusal.remedies} - {"recode", "suppress"}, "nothing else helps"
    masked = masktron.mask(*nested, tmp_path / "m.xml", **told, **best.settings)
    assert masked.valid and {one.kind for one in masked.treatments} == {"recoding", "suppression"}


def test_remedies_of_a_nested_file_name_its_own_rules_and_fields(tmp_path: Path) -> None:
    data, rules = made(tmp_path, 1, 30)
    config = config_from({"roles": SURVEY_ROLES, "rare_units": "exclude"})
    now = RefusedRun.of(open_original(data, rules, config, no_progress), config)
    ids = {"size", "total", "head", "income", "wage", "benefit", "child-wage", "older"}
    assert {*now.rules} <= ids and "total" in now.rules
    assert {name for read in now.rules.values() for name in read} <= {*now.columns}
    facts = RefusalFacts("no-prototype", tuple(now.named(Role.CONFIDENTIAL)))
    allowed = [one.settings["allow"] for one in remedies_for([facts], now) if one.kind == "allow"]
    assert allowed and all({*one} <= {*now.rules} for one in allowed)
    assert not any(one.kind == "grouping" for one in remedies_for([facts], now)), "households are grouped whole"


def test_a_limit_between_two_numbers_asks_a_recoding_for_the_larger(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"AGE": 20 + at // 2, "A": 7 * at} for at in range(12)]  # two of each age
    (tmp_path / "h.csv").write_text("".join(f"{20 + at};{'ab'[at // 3]};*\n" for at in range(6)))
    rules, data = write_rules(tmp_path / "r.sch", "A >= 0"), write_csv(tmp_path / "d.csv", rows)
    found = masktron.recode(data, rules, {"AGE": tmp_path / "h.csv"}, key_k=2, numeric=["A"], limits={"key_k": 2.5})
    assert list(found.recode.values()) == [f"{(tmp_path / 'h.csv').as_posix()}:1"]
    assert found.after.key_k == 6
