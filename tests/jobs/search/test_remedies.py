"""What mask says where it refuses: facts, remedies in the order of their cost, and trials that keep what they say."""

from __future__ import annotations

import ast
import json
import re
import shlex
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

import masktron
from cli_runner import Outcome, Runner, numbers, write_data, write_rules
from examples import FULL, as_full
from masktron.commands import COMMANDS
from masktron.commands.offered import offered
from masktron.config import Config, Role
from masktron.errors import InfeasibleError, MasktronError, RefusalFacts, RefusalKind
from masktron.jobs.mask import run_mask
from masktron.jobs.outside_limits import weight_classes
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.search.bench import Bench
from masktron.jobs.search.refusal import remedies_tried, run_mask_or_suggest
from masktron.jobs.search.remedies import RefusedRun, cost_of, remedies_for
from masktron.jobs.search.schedule import BudgetOver, Deadline
from masktron.problems.wording import sentence
from masktron.progress import no_progress
from masktron.roles import FieldFacts
from masktron.sources.opening import open_source
from package_trees import PACKAGE, tree_of
from refusals import plain, problem_of, refused
from schema_files import conforms

type Rows = list[dict[str, object]]


@dataclass(frozen=True)
class Case:
    """A file, its rules and options with which `mask` refuses it."""

    rows: Rows
    tests: tuple[str, ...]
    options: str
    kind: RefusalKind
    code: int = 5
    context: str = "Record"
    binding: str = ""


def _gap() -> Rows:
    rows = numbers(30)
    rows[0] |= {"B": None, "T": rows[0]["A"]}
    return rows


def _broken() -> Rows:
    rows = numbers(30)
    rows[3]["T"] = -1
    return rows


def _multiples(n: int) -> Rows:
    generator = np.random.default_rng(9)
    pairs = zip(generator.integers(100, 9000, n).tolist(), generator.integers(0, 99_999, n).tolist(), strict=True)
    return [{"A": 9973 * a, "B": b, "T": 9973 * a + b} for a, b in pairs]


def _products() -> Rows:
    return [{"KEY": at, "A": 2 * at, "B": at * at % 17 + 100} for at in range(20)]


def _halves() -> Rows:
    return [{"K": "xy"[at % 2], "A": at + 20 * (at % 2), "B": at, "C": 7 * at} for at in range(18)]


def _known() -> Rows:
    return [row | {"AGE": 16 + 5 * (at % 9) + (30 if at in (3, 4, 5) else 0)} for at, row in enumerate(numbers(18))]


def _uneven() -> Rows:
    return [{"A": 7 * at + (at == 0), "B": at * at} for at in range(10)]


def _total() -> str:
    return f"sum(Record/A) = {sum(int(str(row['A'])) for row in _uneven())}"


def _greatest() -> str:
    return f"max(Record/A) = {max(int(str(row['A'])) for row in numbers(20))}"


EXCLUDING = ("K = 'x' or A >= 20", "K = 'y' or A <= 18", "B <= 20")
CASES = {
    "few records": Case(numbers(6), ("A + B = T",), "-k 10", "few-records"),
    "a rare pattern": Case(_gap(), ("A + B = T or not(B)",), "-k 3 --keep-missing", "missing-pattern"),
    "aggregator": Case(numbers(30), ("A + B = T",), "-k 3 --aggregator median", "aggregator"),
    "limit": Case(numbers(30), ("A + B = T",), "-k 3 --limit linkage=25", "limits", 1),
    "total": Case(_uneven(), (_total(),), "-k 5", "total", context="Data"),
    "original": Case(_broken(), ("A + B = T", "A >= 0"), "-k 3", "original", 1),
    "unique": Case(
        [row | {"ID": 3 * at + 1} for at, row in enumerate(numbers(30))],
        ("not(preceding-sibling::Record/ID = ID)", "A + B = T"),
        "-k 3",
        "across-records",
    ),
    "written": Case(numbers(20), (_greatest(),), "-k 5", "written", context="Data", binding="xslt2"),
    "tied": Case(_products(), ("A = 2 * KEY",), "-k 5 --role KEY=record-id", "no-prototype"),
    "excluding": Case(_halves(), EXCLUDING, "-k 18 --role K=untouched", "no-prototype"),
    "treated": Case(_known(), ("A + B = T",), "-k 20 --recode AGE=width:10 --key-k 2", "few-records"),
    "suppressed": Case(
        _known(), ("A + B = T", "AGE >= 16"), "-k 3 --role AGE=quasi-identifier --key-k 4", "suppression"
    ),
    "lost": Case(_known(), ("A + B = T", "string-length(AGE) = 2"), "-k 3 --recode AGE=width:10", "keys"),
    "tail": Case(_known(), ("A + B = T",), "-k 4 --recode AGE=top:60", "keys"),
    "risk of keys": Case(
        _known(), ("A + B = T",), "-k 3 --role AGE=quasi-identifier --limit key_k=2 --limit linkage=100", "limits", 1
    ),
    "copied": Case(_multiples(24), ("A + B = T", "A mod 9973 = 0"), "-k 4", "copied"),
    "method": Case(
        [row | {"C": at * at % 7, "D": at**3 % 11} for at, row in enumerate(numbers(6))],
        ("A + B = T",),
        "-k 3 --method ipso",
        "method",
    ),
}
QUICK = ("few records", "a rare pattern", "aggregator", "limit", "original", "treated", "suppressed", "risk of keys")


def _files(tmp_path: Path, case: Case) -> tuple[Path, Path]:
    data = write_data(tmp_path / "d.xml", case.rows)
    return data, write_rules(tmp_path / "r.sch", *case.tests, context=case.context, binding=case.binding)


SINGLE = {
    spelling
    for one in offered(COMMANDS["mask"].kind)
    if not (one.several or one.switch)
    for spelling in one.spellings
}


def _pasted(options: str, remedy: dict[str, Any]) -> list[str]:
    """Return options without those that a remedy leaves out or replaces, and with those that it adds."""
    for gone in remedy["without"]:
        assert gone in options
        options = options.replace(gone, "")
    for added in remedy["options"]:
        if (name := added.split()[0]) in SINGLE:
            options = re.sub(rf"(?<!\S){name} \S+", "", options)
    return shlex.split(" ".join([options, *remedy["options"]]))


def _mask(run: Runner, data: Path, rules: Path, out: Path, *options: str) -> Outcome:
    return run("mask", data, "--rules", rules, "--out", out, *options)


@pytest.mark.usefixtures("at_terminal")
@pytest.mark.parametrize("name", CASES)
def test_a_refusal_has_facts_and_says_what_helps(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case, raised = CASES[name], list[MasktronError]()
    monkeypatch.setattr("masktron.commands.help_pages.page_of_error", lambda error, _: raised.append(error))
    data, rules = _files(tmp_path, case)
    before = {path.name for path in tmp_path.iterdir()}
    outcome = run("mask", data, "--rules", rules, "--out", tmp_path / "m.xml", *shlex.split(case.options))
    assert (outcome.code, raised[0].facts[0].kind if raised[0].facts else "method") == (case.code, case.kind)
    assert raised[0].hint and raised[0].hint.splitlines()[0] in outcome.err
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [name if name in QUICK else as_full(name) for name in CASES])
def test_what_is_said_to_work_does(tmp_path: Path, run: Runner, name: str) -> None:
    case = CASES[name]
    data, rules = _files(tmp_path, case)
    out, told = tmp_path / "m.xml", tmp_path / "refusal.json"
    options = shlex.split(case.options)
    before = _mask(run, data, rules, out, *options, "--on-refusal", "suggest", "--json", str(told))
    assert before.code == case.code
    assert {path.name for path in tmp_path.iterdir()} == {"d.xml", "r.sch", "refusal.json"}
    refusal = json.loads(told.read_text())
    conforms(refusal, "refusal")
    assert [fact["kind"] for fact in refusal["facts"]][:1] == [case.kind]
    working = [one for one in refusal["remedies"] if one["state"] == "works"]
    assert working, refusal["remedies"]
    assert working[0]["options"] == [] or working[0]["options"][0] in before.err
    for at, remedy in enumerate(working if FULL else working[:1]):
        after = _mask(run, data, rules, tmp_path / f"m{at}.xml", *_pasted(case.options, remedy))
        assert after.code == 0, (remedy, after.err)
        assert (tmp_path / f"m{at}.xml").exists()


def test_a_remedy_in_python_is_its_settings(tmp_path: Path) -> None:
    data, rules = _files(tmp_path, CASES["few records"])
    with refused(InfeasibleError, "too-few-records") as caught:
        masktron.mask(data, rules, tmp_path / "m.xml", on_refusal="suggest", k=10)
    refusal = caught.value.refusal
    remedy = refusal.working[0]
    # one group of all records loses everything, and stands last
    assert (remedy.kind, remedy.settings) == ("smaller-k", {"k": 3})
    result = masktron.mask(data, rules, tmp_path / "m.xml", **remedy.settings)
    assert result.valid
    assert remedy.figures["information_loss"] == pytest.approx(result.information_loss)
    assert "2: k=6 (groups of at least 6 records; gives up: values are shared by 6" in " ".join(repr(refusal).split())


def test_settings_of_a_remedy_are_whole() -> None:
    """Tables of settings replace those of the run: what stood in them stays."""
    config = Config(k=5, roles={"U": Role.RECORD_ID, "B": Role.UNTOUCHED}, nominal=["C", "A"])
    fields = {
        "A": FieldFacts("A", Role.CONFIDENTIAL, numeric=False, lowest=0.0),
        "C": FieldFacts("C", Role.CONFIDENTIAL, numeric=False, lowest=0.0),
        "U": FieldFacts("U", Role.RECORD_ID, numeric=False, lowest=0.0),
    }
    found = remedies_for([RefusalFacts("no-prototype", ("A",), ("U",))], RefusedRun(config, fields))
    by_kind = {one.kind: one for one in found}
    assert by_kind["mask-more"].settings == {"roles": {"U": "confidential", "B": "untouched"}}
    assert by_kind["role"].settings == {"roles": {"U": "record-id", "B": "untouched", "A": "quasi-identifier"}}
    assert by_kind["role"].options == ("--role A=quasi-identifier",)


def test_a_stopped_run_names_remedies_and_how_to_try_them(tmp_path: Path) -> None:
    data, rules = _files(tmp_path, CASES["few records"])
    with pytest.raises(InfeasibleError) as caught:
        masktron.mask(data, rules, tmp_path / "m.xml", k=10)
    assert caught.value.refusal is None
    assert 'on_refusal="suggest" tries what may help and shows what it costs, such as k=6 or k=3' in caught.value.hint
    assert "unchanged" not in caught.value.hint


def test_a_refused_run_says_that_a_file_of_its_name_is_unchanged(tmp_path: Path) -> None:
    data, rules = _files(tmp_path, CASES["few records"])
    out = tmp_path / "m.xml"
    out.write_text("of another run")
    with refused(InfeasibleError, "too-few-records") as caught:
        masktron.mask(data, rules, out, k=10)
    assert caught.value.problem.further[-1].references == {"out": out.as_posix()}
    assert caught.value.hint.endswith("is unchanged")
    assert out.read_text() == "of another run"


def test_no_value_of_a_record_is_told(tmp_path: Path) -> None:
    """Values that occur nowhere else in the result: neither ids nor counts are above 99,999."""
    rows = [row | {"A": 1_000_003 + 2 * at, "T": 1_000_003 + 2 * at} for at, row in enumerate(numbers(6))]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A = T")
    with pytest.raises(InfeasibleError) as caught:
        masktron.mask(data, rules, tmp_path / "m.xml", k=10, on_refusal="suggest")
    text = json.dumps(caught.value.refusal.as_dict()) + str(caught.value) + repr(caught.value.refusal)
    assert caught.value.refusal.working
    assert not any(str(row["A"]) in text for row in rows)


def test_the_time_for_trials_ends(tmp_path: Path) -> None:
    data, rules = _files(tmp_path, CASES["few records"])
    with refused(InfeasibleError, "too-few-records") as caught:
        run_mask_or_suggest(
            MaskRequest(data, rules, tmp_path / "m.xml", config=Config(k=10, on_refusal="suggest")), seconds=1e-6
        )
    assert caught.value.refusal is None
    assert "nothing could be tried within the time" in plain(problem_of(caught.value).further[-1].references["how"])


def test_what_the_time_does_not_reach_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, rules = _files(tmp_path, CASES["few records"])
    request = MaskRequest(data, rules, tmp_path / "m.xml", config=Config(k=10))
    with pytest.raises(InfeasibleError) as caught:
        run_mask(request)
    monkeypatch.setattr(Bench, "outcome", _over)
    deadline = Deadline(600, time.monotonic())
    found = remedies_tried(caught.value, request, deadline, no_progress).remedies
    assert [one.state for one in found] == ["untried", "untried"]
    assert all("time for suggestions" in sentence(one.reason) for one in found)


def _over(*_: object) -> None:
    raise BudgetOver


def test_what_helps_where_keys_are_refused() -> None:
    config = Config(recode={"AGE": "width:5"}, key_k=5, keys={"subsets": 2}, allow_lost=("R0",))
    suppressed = remedies_for([RefusalFacts("suppression", conditions=("AGE", "SEX"))], RefusedRun(config))
    assert [(one.kind, one.pasted) for one in suppressed] == [
        ("recode", "--recode AGE=width:10 instead of --recode AGE=width:5"),
        ("smaller-key-k", "--key-k 3"),
        ("smaller-key-k", "--key-k 2"),
        ("smaller-key-k", "leaving out --key-k 5"),
        ("role", "--role AGE=identifier instead of --recode AGE=width:5"),
        ("role", "--role SEX=identifier"),
    ]
    assert suppressed[3].settings == {"key_k": None, "keys": {}}
    lost = remedies_for([RefusalFacts("keys", conditions=("AGE",), rules=("R1",))], RefusedRun(config))
    assert [(one.pasted, one.settings) for one in lost] == [
        (
            "--role AGE=quasi-identifier instead of --recode AGE=width:5",
            {"roles": {"AGE": "quasi-identifier"}, "recode": {}},
        ),
        ("--allow-lost R0 --allow-lost R1", {"allow_lost": ["R0", "R1"]}),
    ]
    reads = remedies_for([RefusalFacts("keys", rules=("R1",))], RefusedRun(config))
    assert [one.settings for one in reads] == [{"allow": ["R1"]}]
    tail = remedies_for([RefusalFacts("keys", records=3)], RefusedRun(replace(config, key_k=None, keys={})))
    assert [one.pasted for one in tail] == ["-k 3"]
    limits = remedies_for([RefusalFacts("limits", figures=("key_k",))], RefusedRun(Config(limits={"key_k": 4})))
    assert [one.pasted for one in limits] == ["--key-k 4"], "nothing that masking changes"


def test_keys_that_cannot_be_suppressed_are_made_coarser_or_fewer_or_rules_let_them() -> None:
    config = Config(
        recode={"REGION": "h/region.csv:1", "TOWN": "town.csv:2", "OCC": "occ.csv"} | {"AGE": "breaks:0,15,30,45,60"},
        key_k=3,
    )
    rules = {"age": frozenset({"AGE"}), "wage": frozenset({"OCC", "WAGE"}), "sum": frozenset({"WAGE", "TAX"})}
    now = RefusedRun(config, rules=rules, heights={"REGION": 2, "TOWN": 2, "OCC": 1})
    fact = RefusalFacts("suppression", conditions=("OCC", "REGION", "TOWN", "AGE"))
    found = remedies_for([fact], now)
    assert [one.pasted for one in found if one.kind == "recode"] == [
        "--recode REGION=h/region.csv:2 instead of --recode REGION=h/region.csv:1",
        "--recode AGE=breaks:0,30,60 instead of --recode AGE=breaks:0,15,30,45,60",
    ]
    assert [one.pasted for one in found if one.kind == "allow"] == ["--allow wage", "--allow age"]
    assert next(one.options for one in found if one.kind == "role") == ("--role OCC=identifier",)
    assert not any(one.pasted.startswith("leaving out --recode") for one in found), "finer keys"


def test_a_limit_above_the_k_of_suppression_raises_it() -> None:
    now = RefusedRun(Config(key_k=2, limits={"key_k": 3}))
    found = remedies_for([RefusalFacts("limits", figures=("key_k",))], now)
    assert [(one.pasted, one.settings) for one in found] == [("--key-k 3", {"key_k": 3})]


@pytest.mark.parametrize(
    ("figures", "marked", "first", "masking"),
    [
        (("key_k", "global_risk"), (), "--key-k 3", False),
        (("key_k", "linkage"), (), "--key-k 3", True),
        (("l_diversity",), (), "--key-k 3", True),
        (("key_k",), ("A",), "--key-k 3", True),
        (("linkage",), (), "--grouping all", True),
    ],
)
def test_what_masking_cannot_change_is_not_left_to_it(
    figures: tuple[str, ...], marked: tuple[str, ...], first: str, masking: bool
) -> None:
    config = Config(quasi_identifiers=marked)
    found = remedies_for([RefusalFacts("limits", figures=figures)], RefusedRun(config))
    assert found[0].pasted == first
    assert ({"--grouping all", "-k 10", "--method cart"} <= {one.pasted for one in found}) is masking
    assert ({"grouping", "larger-k", "method"}.isdisjoint({one.kind for one in found})) is not masking


@pytest.mark.full
def test_the_weight_and_keys_are_treated_at_once(tmp_path: Path, run: Runner) -> None:
    """No remedy helps by itself where a weight differs in every record, and what helps is found and works."""
    rows = [{**row, "AGE": 16 + 7 * at % 30, "W": 50 + 13 * at % 97 + at / 8} for at, row in enumerate(numbers(60))]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A + B = T", "not(AGE < 16)")
    out, told = tmp_path / "m.xml", tmp_path / "refusal.json"
    options = "-k 5 --role AGE=quasi-identifier --role W=weight --limit key_k=3"
    refused = _mask(run, data, rules, out, *shlex.split(options), "--on-refusal", "suggest", "--json", str(told))
    assert refused.code == 1
    assert "--recode FIELD=width:10" in refused.err
    assert "--recode W=breaks:0,100:mean" in refused.err
    assert "--grouping" not in refused.err
    found = json.loads(told.read_text())["remedies"]
    works = [one for one in found if one["state"] == "works"]
    assert len(works[0]["options"]) == 3
    assert all({option.split("=")[0] for option in one["options"]} >= {"--recode AGE", "--recode W"} for one in works)
    masked = _mask(run, data, rules, out, *_pasted(options, works[0]))
    assert masked.code == 0, masked.err
    written = pd.read_xml(out).fillna("missing")
    assert written.groupby(["AGE", "W"]).size().min() >= 3


@pytest.mark.parametrize(
    ("values", "how"),
    [
        ([50 + at for at in range(120)], "breaks:0,100:mean"),
        ([0.001 * at for at in range(1, 101)], "breaks:0,0.05:mean"),
        ([3_000_000, 7_000_000] * 30, "breaks:0,5000000:mean"),
        ([1000 + at / 100 for at in range(50)], "breaks:0:mean"),
        ([1] * 50 + [7] * 3, "breaks:0:mean"),
    ],
)
def test_a_weight_is_cut_at_a_round_number_near_its_middle(tmp_path: Path, values: list[float], how: str) -> None:
    source = open_source(write_data(tmp_path / "d.xml", [{"W": value} for value in values]))
    assert weight_classes(source.records().columns["W"], 5) == how


def test_classes_that_do_not_do_are_made_wider() -> None:
    config = Config(recode={"AGE": "width:10", "SEX": "sex.csv"}, key_k=3)
    fields = {name: FieldFacts(name, Role.QUASI_IDENTIFIER, numeric=True, lowest=0.0) for name in ("AGE", "SEX")}
    found = remedies_for([RefusalFacts("limits", figures=("key_k",))], RefusedRun(config, fields))
    assert [(one.pasted, one.settings["recode"]["AGE"]) for one in found] == [
        ("--recode AGE=width:20 instead of --recode AGE=width:10", "width:20")
    ]


@pytest.mark.parametrize("kind", sorted(get_args(RefusalKind.__value__)))
def test_each_kind_of_refusal_has_remedies_in_the_order_of_their_cost(kind: RefusalKind) -> None:
    fact = RefusalFacts(kind, ("A",), ("U",), ("R1", "R2"), groups=3, records=40)
    now = RefusedRun(Config(k=5, aggregator="mean", method="sequential"))
    found = remedies_for([fact, fact], now)
    assert found
    assert [cost_of(one) for one in found] == sorted(cost_of(one) for one in found)
    assert len({one.pasted for one in found}) == len(found)
    assert all(one.state == "untried" and one.settings for one in found)


def test_a_copied_share_is_raised_as_far_as_it_has_to_be() -> None:
    fact = RefusalFacts("copied", ("A",), groups=3, records=41)
    share = next(one for one in remedies_for([fact], RefusedRun(Config())) if one.kind == "observed-share")
    assert share.settings == {"max_observed_share": 7.32}  # 3 / 41 is 7.317 %
    assert "3 respondents in A" in share.reveals


def test_rules_that_are_let_go_already_stay_let_go() -> None:
    """On the command line the option takes the place of a list in the settings."""
    fact = RefusalFacts("across-records", ("A",), rules=("R1", "R2"))
    allowed = [one for one in remedies_for([fact], RefusedRun(Config(allow=("R1",)))) if one.kind == "allow"]
    assert [one.settings for one in allowed] == [{"allow": ["R1", "R2"]}]
    assert [one.options for one in allowed] == [("--allow R1", "--allow R2")]


@pytest.mark.parametrize(
    ("fact", "config", "change"),
    [
        (
            RefusalFacts("suppression", conditions=("AGE",)),
            Config(recode={"AGE": "width:5"}),
            'recode={"AGE": "width:10"} instead of recode={"AGE": "width:5"}',
        ),
        (
            RefusalFacts("written"),
            Config(order="random"),
            'order="keep" instead of order="random"',
        ),
        (RefusalFacts("across-records", rules=("R2",)), Config(allow=("R1",)), 'allow=["R1", "R2"]'),
    ],
)
def test_remedies_name_keywords_in_python(fact: RefusalFacts, config: Config, change: str) -> None:
    assert change in [sentence(one.change) for one in remedies_for([fact], RefusedRun(config))]


def test_a_refusal_names_keywords_in_python(tmp_path: Path) -> None:
    data, rules = _files(tmp_path, CASES["few records"])
    with refused(InfeasibleError, "too-few-records") as caught:
        masktron.mask(data, rules, tmp_path / "m.xml", k=10, on_refusal="suggest")
    found = caught.value.refusal
    assert "k=6" in repr(found)
    assert not re.search(r"(?<!\w)--?[a-z]", f"{caught.value} {found!r} {found.what} {found.hint}")
    assert {one.options for one in found.remedies} == {("-k 6",), ("-k 3",)}


STAGES = ("plan", "settle", "masking", "jobs")


def test_refusals_of_planning_settling_and_requiring_have_facts() -> None:
    """Remedies are made of facts; no text of an error is read for them."""
    raised = [
        (path.name, call.lineno, {one.arg for one in call.keywords})
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in STAGES
        and path.name != "explain.py"
        and "InfeasibleError" in path.read_text(encoding="utf-8")
        for call in ast.walk(tree_of(path))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("InfeasibleError", "InfeasibleError.of")
    ]
    assert len(raised) > 10
    assert [one for one in raised if "facts" not in one[2]] == []


def test_facts_travel_between_processes() -> None:
    import pickle

    error = InfeasibleError("what", facts=[RefusalFacts("copied", ("A",), groups=2, records=9)])
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 -- it is ours
    assert again.facts == error.facts
    assert replace(again.facts[0], groups=3) != error.facts[0]
