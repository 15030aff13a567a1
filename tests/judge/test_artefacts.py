"""Rounding artefacts: what fails in doubles and holds in exact decimals, and nothing else."""

from __future__ import annotations

import csv
import operator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import masktron
from cli_runner import write_data, write_rules
from masktron.judge.artefacts import Artefacts
from masktron.judge.findings import Finding
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Field, Layout

FIELDS = ("A", "B", "C", "T", "N", "@W")
LAYOUT = Layout(("Data", "Record"), tuple(Field(name, name.lstrip("@"), name.startswith("@")) for name in FIELDS))


def judge(
    folder: Path, test: str, values: dict[str, str | None], binding: str = "", kind: str = "failed-assert"
) -> bool:
    rulebook = read_rules(write_rules(folder / "rules.sch", test, binding=binding))
    finding = Finding(0, kind, 0, 1, "/Data/Record[1]", "", values=tuple(values.items()))  # type: ignore[arg-type]
    return Artefacts(rulebook, LAYOUT).is_artefact(finding)


ROUNDED = {"A": "0.1", "B": "0.2", "T": "0.3"}


@pytest.mark.parametrize(
    ("test", "values", "expected"),
    [
        ("A + B = T", ROUNDED, True),
        ("A + B = T", {**ROUNDED, "T": "0.31"}, False),
        ("A + B = T", {"A": "1", "B": "2", "T": "4"}, False),
        ("A + B <= T", ROUNDED, True),
        ("not(A + B != T)", ROUNDED, True),
        ("not(A + B > T)", ROUNDED, True),
        ("N = 'x' or A + B = T", {**ROUNDED, "N": "y"}, True),
        ("string-length(N) > 9 or A + B = T", {**ROUNDED, "N": "y"}, True),
        ("string-length(N) > 9 and A + B = T", {**ROUNDED, "N": "y"}, False),
        ("N = 'x' and A + B = T", {**ROUNDED, "N": "y"}, False),
        ("sum(A | B) = T", ROUNDED, True),
        ("number(A) + number(B) = number(T)", ROUNDED, True),
        ("-A - B = -T", ROUNDED, True),
        ("A * B = T", {"A": "1.1", "B": "1.1", "T": "1.21"}, True),
        ("T div A = 3", {"A": "0.1", "T": "0.3"}, True),
        ("floor(T div A) = 3", {"A": "0.1", "T": "0.3"}, True),
        ("round(A * 100) = T", {"A": "1.005", "T": "101"}, True),  # 100.49999999999999 in doubles
        ("T mod A = 0", {"A": "0.1", "T": "0.3"}, False),  # no form: what is not known to hold is not vouched for
        ("T mod 0.1 = 0", {"T": "0.3"}, True),
        ("0 = number(T) mod 0.05", {"T": "-0.35"}, True),
        ("(T * 100) mod 5 = 0", {"T": "1.15"}, True),
        ("T mod 0.1 = 0", {"T": "0.35"}, False),
        ("T mod 0 = 0", {"T": "0.3"}, False),
        ("A * 1.1 <= 1.21", {"A": "1.1"}, True),
        ("T div A = 3", {"A": "0", "T": "0.3"}, False),
        ("A = T", {"A": "0.10", "T": "0.1"}, False),  # two fields are compared as texts
        ("A + B = T", {**ROUNDED, "A": None}, False),
        ("A + B = T", {**ROUNDED, "A": "1e-1"}, False),  # not what XPath 1.0 calls a number
        ("A + B = T", {**ROUNDED, "A": "one"}, False),
        ("A + B = T", {"A": "0.1", "B": "0.2"}, False),  # a field that the finding does not show
        ("@W + B = T", {"@W": "0.1", "B": "0.2", "T": "0.3"}, True),
        ("A <= 1.14", {"A": "1.14"}, False),
    ],
)
def test_xpath_1(tmp_path: Path, test: str, values: dict[str, str | None], expected: bool) -> None:
    assert judge(tmp_path, test, values) is expected


@pytest.mark.parametrize(
    ("test", "values", "expected"),
    [
        ("number(A) + number(B) eq number(T)", ROUNDED, True),
        ("abs(number(T) - number(A) - number(B)) le 0", ROUNDED, True),
        ("if (N) then A + B = T else true()", {**ROUNDED, "N": "x"}, True),
        ("if (N) then A + B = T else false()", {**ROUNDED, "N": None}, False),
        ("every $x in (A + B) satisfies $x <= number(T)", ROUNDED, True),
        ("some $x in (A, B) satisfies number($x) + 0.2 = number(T)", ROUNDED, True),
        ("sum((A, B)) = number(T)", ROUNDED, True),
        ("max((A, B)) + min((A, B)) = number(T)", ROUNDED, True),
        ("avg((A, B)) * 2 = number(T)", ROUNDED, True),
        ("xs:decimal(A) + xs:decimal(B) = 9", ROUNDED, False),
        ("A + B = T", {**ROUNDED, "A": None}, False),
        ("A < B", {"A": "0.3", "B": "0.1"}, False),
        ("xs:double(A) mod 0.1 = 0", {"A": "0.3"}, True),
        ("number(A) idiv number(B) = 3", {"A": "0.3", "B": "0.1"}, False),  # no form
    ],
)
def test_xpath_2(tmp_path: Path, test: str, values: dict[str, str | None], expected: bool) -> None:
    assert judge(tmp_path, test, values, binding="xslt2") is expected


def test_reports_and_errors(tmp_path: Path) -> None:
    (tmp_path / "r.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
        '<report id="off" test="A + B != T">m</report></rule></pattern></schema>'
    )
    rulebook = read_rules(tmp_path / "r.sch")
    values = tuple(ROUNDED.items())
    reported = Finding(0, "successful-report", 0, 1, "/Data/Record[1]", "", values=values)
    assert Artefacts(rulebook, LAYOUT).is_artefact(reported)
    assert Artefacts(rulebook, LAYOUT).marked(reported).artefact
    assert not judge(tmp_path, "A + B = T", dict(values), kind="error")


def test_repeated_fields_are_not_vouched_for(tmp_path: Path) -> None:
    """A form has one value of each field."""
    values = (("A", "0.1"), ("A", "0.2"), ("B", "0.1"), ("N", "0.2"), ("T", "0.3"))
    finding = Finding(0, "failed-assert", 0, 1, "/Data/Record[1]", "", values=values)
    for test, expected in (("sum(A) = T", False), ("A * 3 = T", False), ("A = 'x' or B + N = T", True)):
        rulebook = read_rules(write_rules(tmp_path / "r.sch", test))
        assert Artefacts(rulebook, LAYOUT).is_artefact(finding) is expected


def test_variables_and_fields_as_contexts(tmp_path: Path) -> None:
    let = '<let name="s" value="A + B"/>'
    (tmp_path / "r.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>'
        f'<rule context="Record">{let}<assert id="let" test="$s = T">m</assert></rule>'
        '<rule context="T"><assert id="field" test="../A + ../B = .">m</assert></rule></pattern></schema>'
    )
    artefacts = Artefacts(read_rules(tmp_path / "r.sch"), LAYOUT)
    values = tuple(ROUNDED.items())
    for check, place in enumerate(("/Data/Record[1]", "/Data/Record[1]/T")):
        assert artefacts.is_artefact(Finding(check, "failed-assert", 0, 1, place, "", values=values))
        wrong = (*values[:2], ("T", "0.4"))
        assert not artefacts.is_artefact(Finding(check, "failed-assert", 0, 1, place, "", values=wrong))


def lexemes() -> st.SearchStrategy[str]:
    return st.decimals(min_value=-50, max_value=50, places=2, allow_nan=False).map(str)


@pytest.mark.full
@given(lexemes(), lexemes(), lexemes(), st.sampled_from(["=", "<=", ">="]))
def test_it_is_what_fractions_say_of_findings_of_the_engine(
    tmp_path_factory: pytest.TempPathFactory, a: str, b: str, c: str, relation: str
) -> None:
    """The engine decides what fails; among these exactly those that hold in fractions are artefacts."""
    folder = tmp_path_factory.mktemp("rounded")
    true_total, near = str(Decimal(a) + Decimal(b)), c
    data = write_data(folder / "d.xml", [{"A": a, "B": b, "T": true_total}, {"A": a, "B": b, "T": near}])
    result = masktron.validate(data, write_rules(folder / "r.sch", f"A + B {relation} T"))
    compare = {"=": operator.eq, "<=": operator.le, ">=": operator.ge}[relation]
    for finding in result.findings:
        total = (true_total, near)[(finding.record or 0) - 1]
        assert finding.artefact is compare(Fraction(a) + Fraction(b), Fraction(total))


def test_the_products_of_the_census(shared_data: Path, tmp_path: Path) -> None:
    """V5 * V15 = V16 with the census's amounts and rates: what any engine refuses of exact products is rounding."""
    with (shared_data / "census.csv").open() as stream:
        amounts = [(row["PTOTVAL"], int(row["FEDTAX"])) for row in csv.DictReader(stream)][:300]
    cells = [(total, f"{Decimal(tax) / Decimal(max(int(total), 1)):.6f}") for total, tax in amounts]
    rules = write_rules(tmp_path / "r.sch", "V5 * V15 = V16")
    for suffix, rounding in (("", True), ("1", False)):
        rows = [{"V5": a, "V15": b, "V16": f"{Decimal(a) * Decimal(b)}{suffix}"} for a, b in cells]
        found = masktron.validate(write_data(tmp_path / "d.xml", rows), rules, max_findings=None).findings
        assert len(found) > 20
        assert {finding.artefact for finding in found} == {rounding}
