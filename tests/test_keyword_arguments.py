"""What names options on the command line names keyword arguments in Python."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import masktron
from cli_runner import Runner, write_data, write_file, write_rules
from masktron.errors import MasktronError
from masktron.keyword_arguments import in_python
from masktron.problems.spelling import keywords

PACKAGE = Path(masktron.__file__).parent
NOT_IN_PYTHON = {"all", "config", "help", "json", "records", "warm", "write"}
NOT_IN_PYTHON |= {"allow-lost", "change", "test", "digits", "diversity", "hierarchy", "levels", "suppressed"}
NOT_IN_PYTHON |= {"verbose", "width", "force-reinstall", "salt"}
"""Options of commands without a function, or whose function takes them by place, or of pip; a mark in a document."""
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
    ("said", "expected"),
    [
        ("name another element with --record; there is A", "name another element with record=; there is A"),
        ("--record 'a b' names more than one", 'record="a b" names more than one'),
        ("give it: --original FILE", 'give it: original="FILE"'),
        ("say --format-option header=no; if", 'say format_options={"header": "no"}; if'),
        ("--format-option query='SELECT ...'", 'format_options={"query": "SELECT ..."}'),
        ("for codes: --nominal A --nominal 'B c' (or --ordinal FIELD, in", 'for codes: nominal=["A", "B c"] '
         '(or ordinal=["FIELD"], in'),
        ("--out would overwrite the data", "out= would overwrite the data"),
        ("--ordinal S=LOW,MID,HIGH; or", 'ordinal={"S": ["LOW", "MID", "HIGH"]}; or'),
        ("--missing S=9 --missing T=8", 'missing={"S": ["9"], "T": ["8"]}'),
        ("(--role FIELD=record-id), or", '(roles={"FIELD": "record-id"}), or'),
        ("--rename 'annual income=INCOME' --rename x=y", 'rename={"annual income": "INCOME", "x": "y"}'),
        ("--param c=0.1 or --param smooth=true", 'params={"c": 0.1} or params={"smooth": True}'),
        ("--limit linkage=20 makes it", 'limits={"linkage": 20} makes it'),
        ("--invalid exclude or --allow RULE-ID for that", 'invalid="exclude" or allow=["RULE-ID"] for that'),
        ("without --secret it is", "without secret= it is"),
        ("--shuffle writes a random order; --keep-order", 'order="random" writes a random order; order="keep"'),
        ("--rule-timeout SECONDS", "rule_timeout=SECONDS"),
        ("`masktron doctor --warm` compiles it", "`masktron doctor --warm` compiles it"),
        ("--phase '#ALL' takes all", 'phase="#ALL" takes all'),
        ('say why with --again "REASON", and', 'say why with again="REASON", and'),
        ("--accept field-gone --accept other-rule", 'accept=["field-gone", "other-rule"]'),
        ("a -- b, and 1--2", "a -- b, and 1--2"),
        ("or lower k: each is like 1 others (-k 2); or", "or lower k: each is like 1 others (k=2); or"),
        ("(-k 20,50), --grouping all or", '(ask["k"]=[20, 50]), grouping="all" or'),
        ("--key-k 3, not set-k 3; the option -k", "key_k=3, not set-k 3; the option -k"),
        ("--table Person=p.csv --original-table Person=q.csv",
         'tables={"Person": "p.csv"} original_tables={"Person": "q.csv"}'),
    ],
)  # fmt: skip
def test_options_become_keyword_arguments(said: str, expected: str) -> None:
    assert in_python(said) == expected


def test_every_option_that_a_message_names_has_its_argument() -> None:
    named: dict[str, Path] = {}
    for path in PACKAGE.rglob("*.py"):
        if (
            path.relative_to(PACKAGE).parts[0] in ("commands", "keyword_arguments.py", "problems", "web")
            or path.stem == "palette"
        ):
            continue  # who reads these has no keyword arguments; names of colours in CSS begin with -- too
        text = path.read_text(encoding="utf-8")
        named |= dict.fromkeys(re.findall(r"--([a-z][a-z-]*[a-z])", text), path)
    assert len(named) > 30
    assert {name: path for name, path in named.items() if name not in {*keywords(), *NOT_IN_PYTHON}} == {}


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
    assert caught.value.args == (caught.value.what,)
    assert "--numeric B" in run("mask", data, "-r", rules, "--out", tmp_path / "out.csv", "-k", "2").err
    text = write_file(tmp_path / "text.csv", "A,B\n1,5\n2,NA\n3,7\n")
    notes = masktron.validate(text, rules).notes
    assert any('format_options={"null": "NA"}' in note for note in notes)
    assert not any("--" in note for note in notes)
    assert "--format-option null=NA" in run("validate", text, "-r", rules).out


def test_what_python_prints_names_keyword_arguments(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", [{"A": 100 + 3 * at, "B": 7 * at % 40, "N": f"n{at}"} for at in range(40)])
    rules = write_rules(tmp_path / "r.sch", "A > B")
    with pytest.raises(MasktronError) as caught:
        masktron.mask(data, rules, tmp_path / "m.xml", k=3)
    assert 'or for each roles={"FIELD": "untouched"}' in caught.value.hint
    assert " =" not in caught.value.hint
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles={"N": "identifier"}, order="keep")
    printed = " ".join(str(result).split())
    assert 'order="random" writes a random order' in printed
    assert "--" not in printed
    with pytest.raises(MasktronError, match="not the result of a run") as caught:
        masktron.check(result, rules)  # type: ignore[arg-type]
    assert "result.output" in caught.value.hint
