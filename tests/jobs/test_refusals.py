"""What mask says where it refuses: an exit code, what helps, and facts for programs; and nothing is written."""

from __future__ import annotations

import ast
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from cli_runner import Runner, numbers, write_data, write_rules
from masktron.errors import InfeasibleError, MasktronError, RefusalFacts, RefusalKind
from masktron.jobs.outside_limits import weight_classes
from masktron.sources.opening import open_source
from package_trees import PACKAGE, tree_of

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


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_has_facts_and_says_what_helps(
    tmp_path: Path, run: Runner, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    case, raised = CASES[name], list[MasktronError]()
    monkeypatch.setattr("masktron.cli.page_of_error", lambda error, _: raised.append(error))
    data, rules = _files(tmp_path, case)
    before = {path.name for path in tmp_path.iterdir()}
    outcome = run("mask", data, "--rules", rules, "--out", tmp_path / "m.xml", *shlex.split(case.options))
    assert (outcome.code, raised[0].facts[0].kind if raised[0].facts else "method") == (case.code, case.kind)
    assert raised[0].hint and raised[0].hint.splitlines()[0] in outcome.err
    assert {path.name for path in tmp_path.iterdir()} == before


def _files(tmp_path: Path, case: Case) -> tuple[Path, Path]:
    data = write_data(tmp_path / "d.xml", case.rows)
    return data, write_rules(tmp_path / "r.sch", *case.tests, context=case.context, binding=case.binding)


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


STAGES = ("plan", "settle", "masking", "jobs")


def test_refusals_of_planning_settling_and_requiring_have_facts() -> None:
    """Programs look at facts; no text of an error is read."""
    raised = [
        (path.name, call.lineno, {one.arg for one in call.keywords})
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in STAGES
        and path.name != "explain.py"
        and "InfeasibleError(" in path.read_text(encoding="utf-8")
        for call in ast.walk(tree_of(path))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "InfeasibleError"
    ]
    assert len(raised) > 10
    assert [one for one in raised if "facts" not in one[2]] == []


def test_facts_travel_between_processes() -> None:
    import pickle

    error = InfeasibleError("what", facts=[RefusalFacts("copied", ("A",), groups=2, records=9)])
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 -- it is ours
    assert again.facts == error.facts
    assert replace(again.facts[0], groups=3) != error.facts[0]
