"""Every function of XPath and of XSLT, under every binding: evaluated, or refused by its name with what to do.

Which version has a function is taken from elementpath's parsers, and for XSLT from its recommendations.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from elementpath import XPath1Parser
from elementpath.xpath2 import XPath2Parser
from elementpath.xpath30 import XPath30Parser
from elementpath.xpath31 import XPath31Parser

from cli_runner import write_rules
from masktron.errors import RulebookError
from masktron.judge.exact import evaluate
from masktron.judge.request import EvaluationRequest
from masktron.rulebook.expressions.forbidden import FORBIDDEN
from masktron.rulebook.functions import FUNCTIONS, since
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.xml.plain import detect_layout
from refusals import problem_of, refused
from xpath_functions import ARRAY, FN, MAP, MATH, XPATH1, calls

PARSERS = {"1.0": XPath1Parser, "2.0": XPath2Parser, "3.0": XPath30Parser, "3.1": XPath31Parser}
BINDINGS = {"xslt": "1.0", "xslt2": "2.0", "xslt3": "3.1"}
XSLT_1 = "current document format-number generate-id key system-property unparsed-entity-uri element-available"
XSLT_2 = (
    f"{XSLT_1} current-group current-grouping-key format-date format-dateTime format-time regex-group "
    "unparsed-entity-public-id unparsed-text unparsed-text-available type-available function-available"
)
XSLT_3 = (
    f"{XSLT_2} accumulator-after accumulator-before available-system-properties copy-of current-merge-group "
    "current-merge-key current-output-uri snapshot stream-available"
)
XSLT = {"1.0": f"{XSLT_1} function-available", "2.0": XSLT_2, "3.1": XSLT_3}
MORE = {name: (f"{name}(V)",) for name in XSLT_3.split()}
FEEDS = {**{name: MORE[name] for name in MORE if name not in FN}, **FN}
SPACES = {"": FEEDS, "math:": MATH, "map:": MAP, "array:": ARRAY}
OWN = {
    "tokenize": ("tokenize(V, 'e') = V",),
    "current": ("current()/V = V",),
    "error": ("V = 7 or error()",),
    "copy-of": ("copy-of(V) = V",),
}
IDS = OWN | {"generate-id": ("generate-id(V) = generate-id(N)",)}
READ = {"doc": ("doc('o.xml')//V = V",), "document": ("document('o.xml')//V = V",)}


def known(version: str) -> set[str]:
    """Return the functions that a version has, by the name without a prefix; those of namespaces with theirs."""
    found = set(XSLT[version].split())
    for symbol, token in PARSERS[version].symbol_table.items():
        if "function" in str(token.label).split("__") and getattr(token, "nargs", None) is not None:
            uri, local = re.fullmatch(r"(?:\{(.*)\})?(.*)", symbol).groups()  # type: ignore[union-attr]
            space = (uri or "").rpartition("/")[2]
            found.add(f"{space}:{local}" if space in ("math", "map", "array") else local)
    return found


def table(version: str) -> dict[str, str]:
    """Return one call of each function of all versions."""
    if version == "1.0":
        own = {**{name: made[0] for name, made in FEEDS.items()}, **{name: made[0] for name, made in XPATH1.items()}}
    else:
        own = {f"{prefix}{name}": made[0] for prefix, of in SPACES.items() for name, made in of.items()}
    return {**own, **{name: made[0] for name, made in (READ | IDS).items()}}


@pytest.mark.few(1)
@pytest.mark.parametrize("binding", BINDINGS)
def test_every_function_is_evaluated_or_refused_by_name(tmp_path: Path, binding: str) -> None:
    version = BINDINGS[binding]
    own = known(version)
    taken: dict[str, str] = {}
    for name, call in table(version).items():
        local = name.rpartition(":")[2]
        refused = name not in own or (":" not in name and name in FORBIDDEN)
        rules = write_rules(tmp_path / "r.sch", call, binding=binding)
        if not refused:
            taken[name] = call
            continue
        with pytest.raises(RulebookError) as caught:
            read_rules(rules)
        problem = problem_of(caught.value)
        assert local in str(list(problem.parts())), (name, problem)
        assert f"{rules}:" in caught.value.where
        if name not in own and name not in FORBIDDEN and FUNCTIONS.get(name) != "1.0":
            reason = problem.references["reason"]
            assert "not-in-version" in (reason.code, *(one.code for one in reason.further)), (name, problem)
    assert len(taken) > {"1.0": 25, "2.0": 95, "3.1": 160}[version], "most functions are evaluated"
    rulebook = read_rules(write_rules(tmp_path / "r.sch", *taken.values(), binding=binding))
    data = tmp_path / "d.xml"
    record = "<R><V>7</V><N>1</N><D>1987-03-29</D><T>1987-03-29T11:47:53</T></R>"
    data.write_text(f"<Data>{record.replace('R>', 'Record>') * 2}</Data>")
    layout = detect_layout(data, record="Record")
    found = evaluate(EvaluationRequest(data, rulebook, layout, original=data))
    assert found.fired.tolist() == [2] * len(taken)
    if version == "1.0":
        other = evaluate(EvaluationRequest(data, rulebook, layout, original=data, engine="saxon"))
        assert found.verdicts.tolist() == other.verdicts.tolist()
    else:
        unknown = [finding.message for finding in found.findings if "Cannot find" in finding.message]
        assert unknown == []


def test_the_table_of_versions_is_that_of_the_parsers() -> None:
    before: set[str] = set()
    for version in ("2.0", "3.0", "3.1"):
        new = known(version if version != "3.0" else "3.1") if version == "3.1" else None
        names = {
            symbol
            for symbol, token in PARSERS[version].symbol_table.items()
            if "function" in str(token.label).split("__") and getattr(token, "nargs", None) is not None
            if "{" not in symbol and ":" not in symbol
        }
        assert new is None or names <= new
        for name in names - before - set(XSLT_2.split()):
            first = since("http://www.w3.org/2005/xpath-functions", name)
            assert first is not None, name
            assert first <= version, name
            if before:
                assert first == version, name
        before |= names


@pytest.mark.parametrize(
    ("binding", "test", "first"),
    [
        ("xslt2", "round(V, 1) = 1", "3.0"),
        ("xslt2", "string-join(V) = '1'", "3.0"),
        ("xslt2", "count(tokenize(V)) = 1", "3.1"),
        ("xslt2", "V/nilled() = true()", "3.0"),
        ("xslt2", "exists(round#2)", "3.0"),
        ("xslt2", "math:pi() = 3", "3.0"),
        ("xslt2", "map:size(V) = 3", "3.1"),
        ("xslt", "ends-with(V, 'x')", "2.0"),
        ("xslt", "sort(V) = 'x'", "3.1"),
    ],
)
def test_a_later_version_is_named_with_its_binding(tmp_path: Path, binding: str, test: str, first: str) -> None:
    rules = write_rules(tmp_path / "r.sch", test, binding=binding)
    with refused(RulebookError, "xpath-error", reason="not-in-version", where=f"{rules}:1, rule R1") as caught:
        read_rules(rules)
    reason = problem_of(caught.value).references["reason"].references
    assert (reason["first"], reason["binding"]) == (first, "xslt2" if first == "2.0" else "xslt3")
    read_rules(write_rules(tmp_path / "r.sch", "round(V) = 1", "string-join(V, '') = '1'", binding="xslt2"))


@pytest.mark.parametrize(
    "test",
    [
        "generate-id() != 'x'",
        "string-length(generate-id(V)) = 0",
        "generate-id#1 = V",
        "fn:generate-id(V) = 'x'",
        "Q{http://www.w3.org/2005/xpath-functions}generate-id(V) = 'x'",
    ],
)
def test_an_identifier_of_a_run_is_no_value(tmp_path: Path, test: str) -> None:
    with refused(RulebookError, "forbidden-function", function="generate-id"):
        read_rules(write_rules(tmp_path / "r.sch", test, binding="xslt3"))


def test_long_expressions_are_shown_around_the_place(tmp_path: Path) -> None:
    before, after = "V = 1 or " * 50, " or V = 2" * 50
    with refused(RulebookError, "xpath-error", reason="unknown-name") as caught:
        read_rules(write_rules(tmp_path / "r.sch", f"{before}foo(V){after}"))
    shown = problem_of(caught.value).references["expression"]
    assert "or V = 1 or foo(V) or V = 2" in shown
    assert len(shown) < 200


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("V[A = 'b')", r"'[' is not closed before ')' (character 2)"),
        ("(V = 1] or V", r"'(' is not closed before ']' (character 1)"),
        ("V = 1)", r"')' closes nothing (character 6)"),
        (f"{'V = 1 or ' * 50}({'(' * 500}V{')' * 500}", r"'(' is not closed (character 451)"),
    ],
)
def test_the_bracket_that_is_open_is_named(tmp_path: Path, test: str, said: str) -> None:
    with refused(RulebookError, "xpath-error", reason=said) as caught:
        read_rules(write_rules(tmp_path / "r.sch", test))
    assert len(problem_of(caught.value).references["expression"]) < 200


def test_calls_are_all_tried() -> None:
    assert set(calls(["round"], FN)) == {"round-1", "round-2"}
    assert set(FUNCTIONS) == set(FEEDS) | set(XPATH1), "each function of the table has a call"


@pytest.mark.parametrize("test", ["V < 1e3", "V[1E0] = 2", "V = 1.5e-2 or V"])
def test_numbers_with_an_exponent_are_not_of_xpath_1(tmp_path: Path, test: str) -> None:
    """libxml2 reads them all the same."""
    with refused(RulebookError, "xpath-error", reason="not-in-version"):
        read_rules(write_rules(tmp_path / "r.sch", test))
    read_rules(write_rules(tmp_path / "r.sch", test, binding="xslt2"))
    read_rules(write_rules(tmp_path / "r.sch", "V = '1e3'"))
