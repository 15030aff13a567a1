"""What names options on the command line names keyword arguments in Python."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import masktron
from cli_runner import Runner, write_data, write_file, write_rules
from masktron.errors import MasktronError, UsageError
from masktron.problems.wording import keyword_argument, keywords, options_in, sentence, texts
from refusals import refused

NOT_IN_PYTHON = {"json", "max-upload", "port", "projects"}
"""Options of commands without a function, or that a function has no need of."""
FUNCTIONS = (
    masktron.validate,
    masktron.explain,
    masktron.describe,
    masktron.suggest,
    masktron.mask,
    masktron.recode,
    masktron.tune,
    masktron.rerun,
    masktron.check,
    masktron.assess,
    masktron.combine,
    masktron.convert,
    masktron.write_report,
)


@pytest.mark.parametrize(
    "name", ["a\\", "x\\", "b\nc", 'q"r', "A=B", "008", "'", ", __import__('os').system('no')]#"]
)
def test_whatever_a_name_is_it_stays_a_text_of_python(name: str) -> None:
    assert ast.literal_eval(keyword_argument("--allow", [name, name]).partition("=")[2]) == [name, name]
    assert ast.literal_eval(keyword_argument("--role", [f"{name}=weight"]).partition("=")[2]) == {name: "weight"}
    assert ast.literal_eval(keyword_argument("--record", [name]).partition("=")[2]) == name


@pytest.mark.parametrize(
    ("option", "values", "expected"),
    [
        ("--record", [], "record="),
        ("--record", ["a b"], 'record="a b"'),
        ("--original", ["FILE"], 'original="FILE"'),
        ("--format-option", ["header=no"], 'format_options={"header": "no"}'),
        ("--format-option", ["query=SELECT a = 'b'"], """format_options={"query": "SELECT a = 'b'"}"""),
        ("--nominal", ["A", "B c"], 'nominal=["A", "B c"]'),
        ("--ordinal", ["FIELD"], 'ordinal=["FIELD"]'),
        ("--ordinal", ["S=LOW,MID,HIGH"], 'ordinal={"S": ["LOW", "MID", "HIGH"]}'),
        ("--missing", ["S=9", "T=8"], 'missing={"S": ["9"], "T": ["8"]}'),
        ("--rename", ["annual income=INCOME", "x=y"], 'rename={"annual income": "INCOME", "x": "y"}'),
        ("--param", ["c=0.1", "smooth=true"], 'params={"c": 0.1, "smooth": True}'),
        ("--limit", ["linkage=20"], 'limits={"linkage": 20}'),
        ("--invalid", ["exclude"], 'invalid="exclude"'),
        ("--shuffle", [], 'order="random"'),
        ("--keep-order", [], 'order="keep"'),
        ("--rule-timeout", ["SECONDS"], "rule_timeout=SECONDS"),
        ("--phase", ["#ALL"], 'phase="#ALL"'),
        ("--again", ['a "REASON"'], "again='a \"REASON\"'"),
        ("-k", ["2"], "k=2"),
        ("--key-k", ["3"], "key_k=3"),
        ("--swap-rate", ["5"], 'ask["swap_rate"]=5'),
        ("--warm", [], "--warm"),
    ],
)
def test_options_become_keyword_arguments(option: str, values: list[str], expected: str) -> None:
    assert keyword_argument(option, values) == expected


def test_every_option_that_a_message_names_has_its_argument() -> None:
    named = {option.lstrip("-") for text in texts().values() for one in text for option in options_in(one)}
    assert len(named) > 30
    assert named - keywords().keys() == {*NOT_IN_PYTHON, "candidate"}


def test_every_argument_is_one_of_a_function() -> None:
    known = {name for function in FUNCTIONS for name in inspect.signature(function).parameters}
    said = {re.split(r"[\[=]", keyword)[0] for keyword, _ in keywords().values()}
    assert said - known == set()


def test_each_caller_reads_his_own_language(tmp_path: Path, run: Runner) -> None:
    rules = write_rules(tmp_path / "rules.sch", "A >= 0")
    data = write_file(tmp_path / "data.csv", "A,B\n" + "".join(f"{at}.5,{at % 3}\n" for at in range(30)))
    with pytest.raises(MasktronError) as caught:
        masktron.mask(data, rules, tmp_path / "out.csv", k=2)
    assert 'numeric=["B"]' in caught.value.hint
    assert "--" not in str(caught.value)
    assert caught.value.args == (caught.value.problem,)
    assert "--numeric B" in run("mask", data, "-r", rules, "--out", tmp_path / "out.csv", "-k", "2").err
    text = write_file(tmp_path / "text.csv", "A,B\n1,5\n2,NA\n3,7\n")
    notes = [sentence(note) for note in masktron.validate(text, rules).notes]
    assert any('format_options={"null": "NA"}' in note for note in notes)
    assert not any("--" in note for note in notes)
    assert "--format-option null=NA" in run("validate", text, "-r", rules).out


def test_what_python_prints_names_keyword_arguments(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", [{"A": 100 + 3 * at, "B": 7 * at % 40, "N": f"n{at}"} for at in range(40)])
    rules = write_rules(tmp_path / "r.sch", "A > B")
    with refused(UsageError, "no-role", fields=("N",)) as caught:
        masktron.mask(data, rules, tmp_path / "m.xml", k=3)
    assert 'roles={"N": "identifier"}' in caught.value.hint
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles={"N": "identifier"}, order="keep")
    printed = " ".join(str(result).split())
    assert 'order="random"' in printed
    assert "--" not in printed
    with pytest.raises(MasktronError) as caught:
        masktron.check(result, rules)  # type: ignore[arg-type]
    print(caught.value)
    assert "result.output" in caught.value.hint


def test_rules_that_are_not_tested_name_keyword_arguments(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", [{"A": at} for at in range(9)])
    rules = write_rules(tmp_path / "r.sch", "Ax > 0", "A >= 0")
    untested = masktron.validate(data, rules).rules[0].untested
    assert untested is not None
    assert 'allow_unfired=["R1"]' in untested.hint
    assert "--" not in str(untested.as_dict())
