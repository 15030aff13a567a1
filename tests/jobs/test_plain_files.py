"""Plain rules on whole files: what counts where, over levels, with kinds of fields, codes and removed fields."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import masktron
from masktron.errors import RulebookError
from masktron.jobs.rulebooks import plain_rules
from refusals import code_of

NESTED = """\
<D>
<H><id>1</id><R>a</R><T>3</T><N>2</N><P><id>7</id><Inc>1</Inc></P><P><id>8</id><Inc>2</Inc></P></H>
<H><id>2</id><R>a</R><T>5</T><N>1</N><P><id>9</id><Inc>5</Inc></P></H>
<H><id>3</id><R>b</R><T>9</T><N>2</N><P><id>0</id><Inc>9</Inc></P><P><id>4</id><Inc>-9</Inc></P></H>
</D>
"""


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    path = tmp_path / "nested.xml"
    path.write_text(NESTED, encoding="utf-8")
    return path


def counted(data: Path, rule: str, **settings: object) -> tuple[int, int, int]:
    """Return how often a rule fires, fails and is undecided."""
    (found,) = masktron.validate(data, masktron.rules(rule), **settings).rules  # type: ignore[arg-type]
    return found.fired, found.failed, found.undecided or 0


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("count(P) <= 1", (3, 2, 0)),
        ("count(P) >= 1", (3, 0, 0)),
        ("count(P) == N", (3, 0, 0)),
        ("sum(P.Inc) == T", (3, 1, 0)),
        ("sum(P.Inc) == 1", (3, 3, 0)),
        ("P.id >= 4", (5, 1, 0)),
        ("id <= 3", (3, 0, 0)),
        ("P.Inc <= T", (5, 0, 0)),
        ("count() == 3", (1, 0, 0)),
    ],
)
def test_rules_over_members_are_of_each_record(nested: Path, rule: str, outcome: tuple[int, int, int]) -> None:
    assert counted(nested, rule) == outcome


@pytest.mark.parametrize("name", ["Inc", "P.Inc"])
def test_codes_hold_under_all_names_of_a_field(nested: Path, name: str) -> None:
    codes = {name: ["-9"]}
    assert counted(nested, "sum(P.Inc) == T", missing=codes) == (3, 0, 1)
    assert counted(nested, "sum(P.Inc, na.rm=TRUE) == T", missing=codes) == (3, 0, 0)
    assert counted(nested, "Inc > 0", missing=codes) == (5, 0, 1)
    assert counted(nested, "P.Inc > 0", missing=codes) == (5, 0, 1)


def test_members_have_no_groups(nested: Path) -> None:
    with pytest.raises(RulebookError) as caught:
        counted(nested, "sum(P.Inc) by R == T")
    assert code_of(caught.value) == "plain-slip"


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("paid == billed", (4, 1, 0)),
        ("paid != billed", (4, 3, 0)),
        ("town == place", (4, 1, 0)),
        ("paid == town", (4, 4, 0)),
    ],
)
def test_fields_of_numbers_are_compared_as_numbers(tmp_path: Path, rule: str, outcome: tuple[int, int, int]) -> None:
    data = tmp_path / "d.csv"
    lines = ["100,100.00,a,a", "250,250.00,b,b", "80.5,80.50,c,d", "70,71,01,01"]
    data.write_text("\n".join(["paid,billed,town,place", *lines, ""]), encoding="utf-8")
    assert counted(data, rule) == outcome


def test_a_removed_field_is_one_that_rules_may_name(tmp_path: Path) -> None:
    data, out = tmp_path / "d.csv", tmp_path / "out.csv"
    rows = "".join(f"{at},{at % 7 + 3},{at % 5 + 2},{at % 7 + at % 5 + 5}\n" for at in range(60))
    data.write_text(f"id,wage,other,income\n{rows}", encoding="utf-8")
    edits = tmp_path / "edits.rules"
    edits.write_text("sum: wage + other == income\nkey: is_unique(id)\n", encoding="utf-8")
    roles = {"id": "identifier"}
    masked = masktron.mask(data, edits, out, k=3, roles=roles, numeric=["wage", "other", "income"])
    found = masktron.check(out, edits, manifest=masked.manifest, original=data)
    assert found.complies
    assert any("key" in note and "removed by masking" in note for note in found.not_checked)


def test_options_of_settings_are_those_of_a_file_of_rules(tmp_path: Path) -> None:
    data, edits, settings = (tmp_path / name for name in ("d.csv", "edits.rules", "own.toml"))
    data.write_text("a,b\n1,2\n,2\n", encoding="utf-8")
    edits.write_text("r: a <= b\n", encoding="utf-8")
    settings.write_text('[rules.options]\nmissing = "fails"\n', encoding="utf-8")
    config = masktron.load_config(settings)
    assert [one.failed for one in masktron.validate(data, edits, config=config).rules] == [1]
    assert [one.failed for one in masktron.validate(data, edits).rules] == [0]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x: var_group(a, b) > 0\nx.3: c > 0", ["x.1", "x.2", "x.3"]),
        ("rule-2: a > 0\nb > 0", ["rule-2", "rule-3"]),
        ("a > 0\nrule-1: b > 0", ["rule-2", "rule-1"]),
        ("error <= 2\nwarn w: warn > 1\ninfo > 3", ["rule-1", "w", "rule-3"]),
    ],
)
def test_names_of_rules_are_unique(text: str, names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "edits.rules"
    path.write_text(text, encoding="utf-8")
    assert [rule.name for rule in plain_rules(path).rules] == names


def test_a_name_that_a_group_takes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edits.rules"
    path.write_text("x: var_group(a, b) > 0\nx.1: c > 0", encoding="utf-8")
    with pytest.raises(RulebookError) as caught:
        plain_rules(path)
    assert code_of(caught.value) == "name-taken"


def test_a_rule_of_a_thousand_fields_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    names = [f"v{at}" for at in range(1000)]
    path.write_text(f"{','.join(names)}\n{','.join('1' for _ in names)}\n", encoding="utf-8")
    with pytest.raises(RulebookError) as caught:
        masktron.validate(path, masktron.rules(f"{' + '.join(names)} == 1000"))
    assert code_of(caught.value) == "plain-too-deep"


def test_given_rules_are_the_same_by_what_they_say() -> None:
    assert masktron.rules("a > 0") == masktron.rules("a > 0")
    assert masktron.rules("a > 0") != masktron.rules("b > 0")
    assert masktron.rules("a > 0") != masktron.rules("a > 0", missing="fails")


def test_an_element_comes_before_an_attribute_of_its_name(tmp_path: Path) -> None:
    data = tmp_path / "d.xml"
    data.write_text('<D><R v="5" w="1"><v>-1</v></R><R v="5" w="0"><v>1</v></R></D>', encoding="utf-8")
    assert counted(data, "v >= 0") == (2, 1, 0)
    assert counted(data, "w > 0") == (2, 1, 0)


def test_the_record_before_is_a_record(tmp_path: Path) -> None:
    data = tmp_path / "d.xml"
    data.write_text("<D><R><k>5</k></R><X><k>1</k></X><R><k>3</k></R></D>", encoding="utf-8")
    found = masktron.validate(data, masktron.rules("k >= lag(k)"), record="R").rules[0]
    assert (found.fired, found.failed, found.undecided) == (2, 1, 1)


GROUPS = " + ".join(f"var_group({', '.join(f'v{at}{n}' for n in range(7))})" for at in range(7)) + " > 0"
DOUBLED = "\n".join(["a0 := a + a", *(f"a{at} := a{at - 1} + a{at - 1}" for at in range(1, 40)), "r: a39 > 0"])
COMPARED = "a > 0"
for _ in range(16):
    COMPARED = f"xor({COMPARED}, b > 0)"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (DOUBLED, "plain-too-long"),
        (COMPARED, "plain-too-long"),
        ("((((((a)^6)^6)^6)^6)^6)^6 > 1", "plain-too-long"),
        (GROUPS, "plain-too-long"),
        ("a <= 1e99999999", "plain-slip"),
        (f"a <= {'9' * 400}", "plain-slip"),
        ("a <= 1e-400", "plain-slip"),
        ("a := b + 100\nr: a > 10", "name-taken"),
        ('x: a == "\x01"', "plain-sign"),
        ("x: a > 1  # fine \x01", "plain-sign"),
        ("is_complete()", "plain-arguments"),
        ("a in {TRUE}", "plain-slip"),
    ],
)  # fmt: skip
def test_rules_that_somebody_sent_end(text: str, code: str, tmp_path: Path) -> None:
    data, edits = tmp_path / "d.csv", tmp_path / "edits.rules"
    data.write_text("a,b\n1,2\n", encoding="utf-8")
    edits.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(RulebookError) as caught:
        masktron.validate(data, edits)
    assert code in (code_of(caught.value), *[one.code for one in caught.value.problem.references.get("problems", ())])


@pytest.mark.parametrize("name", ["a\\0b.yaml", "loop.yaml", "pipe.yaml"])
def test_included_files_that_are_none_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    path = tmp_path / "rules.yaml"
    path.write_text(f'---\ninclude: ["{name}"]\n---\na > 0\n', encoding="utf-8")
    with pytest.raises(RulebookError):
        plain_rules(path)
    with pytest.raises(RulebookError):
        plain_rules(tmp_path / name.replace("\\0", ""))
