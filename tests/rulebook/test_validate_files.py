"""Rules of R's package validate are read as validate reads them, and what it says of them comes out."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import pytest

import masktron
from masktron.errors import RulebookError
from masktron.jobs.rulebooks import open_rulebook, plain_rules
from masktron.results.rules import RuleResult
from masktron.rulebook.plain.tree import PlainRule
from paths import ROOT
from refusals import refused

DATA = ROOT.parent / "shared" / "data" / "validate"
published = pytest.mark.skipif(not DATA.exists(), reason="data of the package validate lie beside the repository")
NA = {"*": ["NA"]}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Yield a folder with files that include each other."""
    (tmp_path / "survey").mkdir()
    files = {
        "top.yaml": "---\ninclude:\n- child1.yaml\n- survey/child2.R\n---\nrules:\n- expr: a > 0\n  name: top\n",
        "child1.yaml": "rules:\n- expr: b > 0\n- expr: c > 0\n  name: V4\n",
        "survey/child2.R": "---\ninclude: child3.R\n---\nd > 0\n",
        "survey/child3.R": "---\ninclude: ../child1.yaml\n---\ne > 0 # the innermost\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    yield tmp_path


def read(folder: Path, text: str, name: str = "rules.yaml") -> tuple[PlainRule, ...]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return plain_rules(path).rules


def conditions_of(folder: Path, text: str, name: str = "rules.R") -> list[str]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return [check.test for pattern in open_rulebook(path).patterns for rule in pattern.rules for check in rule.checks]


def counts(rules: Iterable[RuleResult]) -> list[tuple[int, int, int, int]]:
    """Return items, passes, fails and NA, as validate sums rules up."""
    return [
        (one.fired, one.fired - one.failed - (one.undecided or 0), one.failed, one.undecided or 0) for one in rules
    ]


@published
@pytest.mark.parametrize("form", ["R", "yaml"])
def test_counts_are_those_of_validate(tmp_path: Path, form: str) -> None:
    """Passes, fails and NA of thirteen rules as validate 1.1.6 counts them on its own data."""
    with (DATA / "expected.csv").open(encoding="utf-8") as stream:
        expected = list(csv.DictReader(stream))
    rules = tmp_path / f"rules.{form}"
    if form == "R":
        rules.write_text("\n".join(one["rule"] for one in expected))
    else:
        rules.write_text(
            "rules:\n" + "".join(f"- name: {one['name']}\n  expr: >\n    {one['rule']}\n" for one in expected)
        )
    found = masktron.validate(DATA / "SBS2000.csv", rules=rules, missing=NA).rules
    counted = [
        (one.fired, one.fired - one.failed - (one.undecided or 0), one.failed, one.undecided or 0) for one in found
    ]
    assert counted == [tuple(int(one[name]) for name in ("items", "passes", "fails", "nNA")) for one in expected]
    names = [one["name"] for one in expected] if form == "yaml" else [f"V{at:02d}" for at in range(1, 14)]
    assert [one.id for one in found] == names


@published
def test_rules_for_error_localisation_are_read() -> None:
    rules = plain_rules(DATA / "localise.rules").rules
    assert [one.name for one in rules] == [f"r{at}" for at in range(1, 10)]
    found = masktron.validate(DATA / "SBS2000.csv", rules=DATA / "localise.rules", missing=NA).rules
    assert all(one.fired == 60 and not one.errors for one in found)


def test_files_are_included_once_and_before_what_includes_them(written: Path) -> None:
    rules = plain_rules(written / "top.yaml").rules
    assert [(Path(one.file).name, one.name, one.line) for one in rules] == [
        ("child1.yaml", "V1", 2),
        ("child1.yaml", "V4", 3),
        ("child3.R", "V3", 4),
        ("child2.R", "V4.1", 4),
        ("top.yaml", "top", 7),
    ]
    assert rules[2].label == "the innermost"


def test_a_rule_knows_what_is_said_of_it(tmp_path: Path) -> None:
    text = """rules:
- expr: |
    speed >=
      0
  name: 1 speed
  label: speed positivity
  description: |
    speed can not be negative
  created: 2020-11-02 11:15:11
  origin: a.R
  meta:
    language: validate 0.9
    severity: warning
"""
    (rule,) = read(tmp_path, text)
    assert (rule.name, rule.label, rule.severity) == ("X1.speed", "speed positivity", "warning")
    assert (rule.description, rule.written, rule.line) == ("speed can not be negative", "speed >= 0", 2)


def test_tolerances_are_those_of_linear_comparisons_alone(tmp_path: Path) -> None:
    within = "x + 2 * y == z\nx <= y\nx < y\nx != 1\nx / y >= 2\nx * y == 0\nx %in% c(1, 2)"
    small = "0.00000001"
    expected = [
        f"number(x) + 2 * number(y) - number(z) <= {small} and -(number(x) + 2 * number(y) - number(z)) <= {small}",
        f"number(x) - number(y) <= {small}",
        "number(x) < number(y)",
        "not(number(x) = 1)",
        "number(x) div number(y) >= 2",
        "number(x) * number(y) = 0",
        "number(x) = 1 or number(x) = 2",
    ]
    for test, part in zip(conditions_of(tmp_path, within), expected, strict=True):
        assert part in test
    assert small not in "".join(conditions_of(tmp_path, within, "plain.rules"))
    exact = "---\noptions:\n  raise: errors\n  lin.eq.eps: 0\n  lin.ineq.eps: 0.5\n---\n"
    other = conditions_of(tmp_path, exact + "x + 1 == y\nx - 1 >= y")
    assert "number(x) + 1 = number(y)" in other[0]
    assert "number(y) - (number(x) - 1) <= 0.5" in other[1]


def test_missing_values_are_those_of_r(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("id,x,y\n1,a,1\n2,NA,NA\n3,b,NA\n3,c,3\n")
    rules = tmp_path / "rules.R"
    rules.write_text("x %in% c('a', 'b')\nx %vin% c('a', 'b')\nis_unique(id)\nis_unique(y)\ny >= 2\n")
    found = masktron.validate(data, rules=rules, missing=NA).rules
    assert [(one.failed, one.undecided) for one in found] == [(2, 0), (1, 1), (2, 0), (2, 0), (1, 2)]
    rules.write_text("---\noptions:\n  na.value: FALSE\n---\ny >= 2\n")
    (strict,) = masktron.validate(data, rules=rules, missing=NA).rules
    assert (strict.failed, strict.undecided) == (3, None)


def test_definitions_and_groups(tmp_path: Path) -> None:
    text = "G := var_group(a, b)\nm := a + b\nG >= 0\nm <= 10\nvar_group(a, b) > c\n"
    assert [(one.name, one.line) for one in read(tmp_path, text, "rules.txt")] == [
        ("V3.1", 3),
        ("V3.2", 3),
        ("V4", 4),
        ("V5.1", 5),
        ("V5.2", 5),
    ]
    yaml = "rules:\n- expr: m := a + b\n- expr: m <= 10\n  name: most\n"
    (rule,) = read(tmp_path, yaml)
    assert (rule.name, rule.line) == ("most", 3)


@pytest.mark.parametrize(
    ("text", "line", "column", "code"),
    [
        ("rules:\n- expr: x =< 1\n", 2, 11, "plain-slip"),
        ("rules:\n- name: a\n  expr: |\n    x +\n      y =< 1\n", 5, 9, "plain-slip"),
        ("rules:\n- expr: >-\n    if (x > 1)\n    y =< 1\n", 4, 7, "plain-slip"),
        ("rules:\n- expr: 'name == ''A'' size'\n", 2, 24, "plain-slip"),
        ("# rules\n---\noptions:\n  raise: none\n---\nx > median(y)\n", 6, 5, "unknown-name"),
        ("rules:\n- expr: x > 1\n  nam: a\n", 3, 3, "unknown-name"),
        ("rules:\n- expr: x > 1\n  meta: {severity: urgent}\n", 3, 20, "unknown-name"),
        ("options:\n  lin.eq.ep: 0\nrules:\n- expr: x > 1\n", 2, 3, "unknown-name"),
        ("options:\n  lin.eq.eps: small\nrules:\n- expr: x > 1\n", 2, 15, "bad-value"),
        ("options:\n  na.value: TRUE\nrules:\n- expr: x > 1\n", 2, 13, "bad-value"),
        ("rules:\n- name: x\n", 2, 3, "plain-yaml"),
        ("rules:\n  expr: x\n", 2, 3, "plain-yaml"),
        ("rules: - expr: x\n", 1, 8, "plain-yaml"),
        ("rules:\n- expr: !expr system('ls')\n", 2, 9, "plain-yaml"),
        ("rules:\n- &a\n  expr: x > 1\n- *a\n", 4, 3, "plain-yaml"),
        ("rules: " + "[" * 5000, 1, 17, "plain-yaml"),
        ("include: ../other.yaml\n", 1, 10, "plain-include"),
        ("include: rules.yaml\n", 1, 10, "plain-include"),
        ("include: none.yaml\n", 0, 0, "cannot-read"),
        ("rules:\n", 0, 0, "plain-empty"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, line: int, column: int, code: str) -> None:
    with refused(RulebookError, code) as caught:
        read(tmp_path, text)
    assert caught.value.problem is not None
    place = caught.value.problem.place
    assert (place.line, place.column) == (line, column)


@published
def test_counts_of_the_cookbook(tmp_path: Path) -> None:
    """What the second chapter of validate's cookbook prints for SBS2000: items, passes, fails, NA."""
    printed = {
        "!is.na(turnover)": (60, 56, 4, 0),
        "!is.na(other.rev)": (60, 24, 36, 0),
        "!is.na(profit)": (60, 55, 5, 0),
        "!any(is.na(incl.prob))": (1, 1, 0, 0),
        "all(is.na(vat))": (1, 0, 1, 0),
        "nchar(as.character(size)) >= 2": (60, 60, 0, 0),
        "field_length(id, n=5)": (60, 60, 0, 0),
        "field_length(size, min=2, max=3)": (60, 60, 0, 0),
        'field_format(id, "RET*")': (60, 60, 0, 0),
        'field_format(size, "sc?" )': (60, 60, 0, 0),
        'grepl("^sc[0-9]$", size)': (60, 60, 0, 0),
        r'field_format(id, "^RET\\d{2}$" , type="regex")': (60, 60, 0, 0),
        "turnover >= 0": (60, 56, 0, 4),
        "total.costs >= 0": (60, 55, 0, 5),
        "in_range(incl.prob, min=0, max=1)": (60, 60, 0, 0),
        'size %in% c("sc0","sc1","sc2","sc3")': (60, 60, 0, 0),
    }
    rules = tmp_path / "rules.R"
    rules.write_text("\n".join(printed))
    found = masktron.validate(DATA / "SBS2000.csv", rules=rules, missing=NA).rules
    assert dict(zip(printed, counts(found), strict=True)) == printed


PUBLISHED: list[tuple[str, str, tuple[int, int, int, int]]] = [
    # what the help pages of validate say of these functions
    ("X,Y,Z\na,banana,1\nb,apple,2\nc,banana,3\nb,apple,4\n", "is_unique(X, Y)", (4, 2, 2, 0)),
    ("x,y\na,1\na,1\na,2\nb,1\nb,2\nb,3\n", "is_unique(y, by=x)", (6, 4, 2, 0)),
    ("X,Y,Z\na,NA,1\nb,apple,2\nNA,banana,3\nb,apple,4\n", "is_complete(X, Y)", (4, 2, 2, 0)),
    ("X,Y,Z\na,NA,1\nb,apple,2\nNA,banana,3\nb,apple,4\n", "all_complete(Z)", (1, 1, 0, 0)),
    ("number\n3\n-2\n6\n", "in_range(number, min=-2, max=7, strict=TRUE)", (3, 2, 1, 0)),
    ("x\n2.54\n2.66\n8.142\n23.53\n", 'number_format(x, format="d.dd")', (4, 2, 2, 0)),
    ("x\n1\n3\nNA\n", "x %vin% c(1, 2)", (3, 1, 1, 1)),
    ("x\n1\n3\nNA\n", "x %in% c(1, 2)", (3, 1, 2, 0)),
    # its own tests of slack, and of conditions
    ("x\n-0.00000000000001\n", "x >= 0", (1, 1, 0, 0)),
    ("x\n9\n", "---\noptions:\n  lin.eq.eps: 2\n---\nx == 10", (1, 1, 0, 0)),
    ("x\n9\n", "---\noptions:\n  lin.eq.eps: 2\n---\nx > 10", (1, 0, 1, 0)),
    ("x,y\n9,-1\n", "if (x == 10) y > 0", (1, 1, 0, 0)),
    ("x,y\n9,-1\n", "---\noptions:\n  lin.eq.eps: 2\n---\nif (x == 10) y > 0", (1, 0, 1, 0)),
    ("A,B\nX,Y\nY,Y\n", "A == B", (2, 1, 1, 0)),
    # the record of errorlocate's first page, which no cost can repair
    ("profit,cost,turnover\n750,125,200\n", "profit == turnover - cost", (1, 0, 1, 0)),
    ("profit,cost,turnover\n750,125,200\n", "cost >= 0.6 * turnover", (1, 1, 0, 0)),
    # rules of validatetools' first page, on records that they tell apart
    ("x,y\n0,0\n2,2\n2,4\nNA,4\nNA,1\n", "if (x > 1) y > 3", (5, 3, 1, 1)),
    ("gender,w\nmale,1\nmale,3\nfemale,1\nNA,1\nNA,3\n", 'if (gender == "male") w > 2', (5, 3, 1, 1)),
]


@pytest.mark.parametrize(("cells", "rule", "expected"), PUBLISHED)
def test_published_examples(tmp_path: Path, cells: str, rule: str, expected: tuple[int, int, int, int]) -> None:
    (tmp_path / "data.csv").write_text(cells)
    (tmp_path / "rules.R").write_text(rule)
    found = masktron.validate(tmp_path / "data.csv", rules=tmp_path / "rules.R", missing=NA).rules
    assert counts(found) == [expected]


@pytest.mark.parametrize(
    ("rule", "column", "code"),
    [
        ("all_unique(id)", 1, "unknown-name"),
        ("x > 1 & is.numeric(y)", 9, "unknown-name"),
        ("x > 0 & field_length(y)", 9, "plain-arguments"),
        ("in_range(x, low=1, high=2)", 1, "plain-arguments"),
        ("startsWith(x, 3)", 1, "plain-arguments"),
        ("all(x > 1)", 1, "plain-arguments"),
        ("nrow(x) > 1", 1, "plain-arguments"),
        ("x %in% codes", 8, "plain-slip"),
    ],
)
def test_what_of_r_is_not_known_is_named(tmp_path: Path, rule: str, column: int, code: str) -> None:
    with refused(RulebookError, code) as caught:
        read(tmp_path, f"# rules\n{rule}\n", "rules.R")
    assert caught.value.problem is not None
    assert (caught.value.problem.place.line, caught.value.problem.place.column) == (2, column)


def test_operators_bind_as_those_of_r(tmp_path: Path) -> None:
    (rule,) = read(tmp_path, "a * b %% c == -d %% 2 && !x == 1 || y > 30%\n", "rules.R")
    (other,) = read(tmp_path, "((a * (b %% c) == (-d) %% 2) & !(x == 1)) | (y > 0.30)\n", "rules.R")
    assert rule.node == other.node


def test_a_consequence_may_stand_on_the_next_line(tmp_path: Path) -> None:
    text = "if (x > 0 &\n   z > 1)\n  y > 0\nif (x > 0) y > 0 else\n  y < -1\n"
    rules = read(tmp_path, text, "rules.R")
    assert [(one.line, one.written) for one in rules] == [
        (1, "if (x > 0 & z > 1) y > 0"),
        (4, "if (x > 0) y > 0 else y < -1"),
    ]


def test_an_assignment_of_r_is_no_comparison(tmp_path: Path) -> None:
    with refused(RulebookError, "plain-slip") as caught:
        read(tmp_path, "x > 1\nx <- 3\n", "rules.R")
    assert caught.value.where.endswith("rules.R:2:3, rule V2")


@pytest.mark.parametrize(
    ("rule", "failed"),
    [("is_unique(y)", 2), ("is_unique(z)", 0), ("sum(is.na(y)) <= 1", 1), ("sum(!is.na(y)) == 3", 0)],
)
def test_missing_values_are_counted_as_r_does(rule: str, failed: int, tmp_path: Path) -> None:
    """Two missing values are the same for is_unique(), and one is like no other."""
    data = tmp_path / "d.csv"
    data.write_text("y,z\n1,\n,2\n3,3\n,4\n5,5\n".replace("5,5\n", ""), encoding="utf-8")
    path = tmp_path / "rules.R"
    path.write_text(rule.replace("== 3", "== 2"), encoding="utf-8")
    assert [one.failed for one in masktron.validate(data, path).rules] == [failed]
