"""What groups reveal: by hand, against a count with loops, and in what mask, check and assess say."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import masktron
from attacks import KEY
from cli_runner import Runner, write_data, write_rules
from made_columns import column_of_cells
from masktron.constraints import Linear
from masktron.kernels.distinct import alike, codes_of
from masktron.measures.revealed import Revealed, revealed
from masktron.measures.unchanged import same_cells
from masktron.report.rendering import render, tables_of
from masktron.sources.column import Column


def linear(relation: Literal["=", "<="], **terms: int) -> Linear:
    return Linear(tuple((name, Fraction(one)) for name, one in sorted(terms.items())), relation, Fraction(0))


type Cells = tuple[str | None, ...]


def column(texts: Cells) -> Column:
    return column_of_cells(texts)


def groups_of(fields: list[Cells]) -> np.ndarray:
    """Records alike in what is published."""
    return alike((codes_of(np.array(field, dtype=object)) for field in fields), len(fields[0]))[0]


def found_in(before: list[Cells], after: list[Cells], groups: np.ndarray, *relations: Linear) -> Revealed:
    """What groups reveal of fields A, B, C and so on."""
    names = "ABCDEF"[: len(before)]
    original, masked = (dict(zip(names, map(column, own), strict=True)) for own in (before, after))
    return revealed(names, original, masked, groups, relations)


def counted(before: list[Cells], after: list[Cells]) -> tuple[int, int]:
    """Values, and those that a group reveals, record by record and field by field."""

    def value(text: str | None) -> float | str | None:
        try:
            return float(text or "")
        except ValueError:
            return text

    cells = found = 0
    rows = list(zip(*after, strict=True))
    for own, published in zip(before, after, strict=True):
        constant = len({value(text) for text in own if text is not None}) < 2
        for i, text in enumerate(own):
            if text is None:
                continue
            cells += 1
            members = [j for j, row in enumerate(rows) if row == rows[i]]
            same = all(own[j] is not None and value(own[j]) == value(published[i]) for j in members)
            found += len(members) > 1 and same and not constant
    return cells, found


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        # nobody in the first group had a loss; in the second the mean hides who had what
        ([("0", "0", "4", "6")], [("0", "0", "5", "5")], 50.0),
        # the same number in another spelling, and the two zeros
        ([("0", "-0", "4", "6")], [("0.0", "0.0", "5", "5")], 50.0),
        # all members had 4, and 5 is published
        ([("4", "4", "7", "9")], [("5", "5", "8", "8")], 0.0),
        # one record shares its values with nobody: that is `unchanged`
        ([("1", "2", "3", "4")], [("1", "2", "3.5", "3.5")], 0.0),
        # a field that is the same for everybody tells nothing of a group
        ([("7", "7", "7.0", None)], [("7", "7", "7", None)], 0.0),
        # what is missing is no value, and a group of which one member had none reveals nothing of the others
        ([("1", "1", None, "2", None)], [("1", "1", "1", "2", None)], 0.0),
        ([(None, None, "1", "1")], [(None, None, "1", "1")], 0.0),
        ([(None, None, "1", "1", "2")], [(None, None, "1", "1", "2")], 100 * 2 / 3),
        # categories
        ([("a", "a", "b", "c")], [("a", "a", "b", "b")], 50.0),
        ([("x", "x", "5", "5")], [("x", "x", "5", "5")], 100.0),
        # groups are of all fields of the block: one of 1 and a, and three of 1 and b, of which all had b
        ([("1", "1", "1", "2"), ("a", "b", "b", "b")], [("1", "1", "1", "1"), ("a", "b", "b", "b")], 37.5),
    ],
)
def test_by_hand(before: list[Cells], after: list[Cells], share: float) -> None:
    assert found_in(before, after, groups_of(after)).share == pytest.approx(share, rel=1e-15)


def test_without_a_value_there_is_no_share() -> None:
    assert math.isnan(found_in([(None,)], [(None,)], np.zeros(1, dtype=np.intp)).share)
    assert math.isnan(found_in([], [], np.zeros(0, dtype=np.intp)).share)


CELLS = st.sampled_from([None, "0", "-0", "0.0", "1", "1.0", "2", "a", "b"])


@given(st.data(), st.integers(1, 3), st.integers(1, 14))
def test_a_count_with_loops_finds_the_same(data: st.DataObject, p: int, n: int) -> None:
    cells = st.tuples(*[CELLS] * n)
    before = data.draw(st.lists(cells, min_size=p, max_size=p))
    # most of what is published is as it was, so that there is something to find
    kept = data.draw(st.lists(st.booleans(), min_size=n * p, max_size=n * p))
    other = data.draw(st.lists(cells, min_size=p, max_size=p))
    after = [
        tuple(own[i] if kept[i * p + j] else new[i] for i in range(n))
        for j, (own, new) in enumerate(zip(before, other, strict=True))
    ]
    found = found_in(before, after, groups_of(after))
    assert (found.cells, found.revealed) == counted(before, after)
    pairs = [(column(own), column(now)) for own, now in zip(before, after, strict=True)]
    unchanged = sum(int(same_cells(own, now)[own.present].sum()) for own, now in pairs)
    assert found.revealed <= unchanged


def test_fields_that_a_group_does_not_share_have_to_be_alike_all_the_same() -> None:
    """A field that follows from others in each record is published record by record: 3 and 4 reveal nothing."""
    solved: list[Cells] = [("3", "4", "5", "5")]
    assert found_in(solved, solved, np.array([0, 0, 1, 1])).revealed == 2


# inequalities that the published values meet with equality

UP_TO = linear("<=", A=1, B=-1)
TOTAL = linear("=", A=1, B=1, C=-1)


@pytest.mark.parametrize(
    ("before", "after", "relations", "count"),
    [
        # means 3 and 3: both members have A = B; means 4 and 5 in the other group say nothing
        ([("2", "4", "3", "5"), ("2", "4", "4", "6")], [("3", "3", "4", "4"), ("3", "3", "5", "5")], [UP_TO], 2),
        # without the rule nobody knows
        ([("2", "4", "3", "5"), ("2", "4", "4", "6")], [("3", "3", "4", "4"), ("3", "3", "5", "5")], [], 0),
        # what is published as equal was not: values that were rounded or chosen
        ([("2", "4", "3", "5"), ("2", "5", "4", "6")], [("3", "3", "4", "4"), ("3", "3", "5", "5")], [UP_TO], 0),
        # every record of the file has A = B: nothing of a group
        ([("2", "4", "3", "5"), ("2", "4", "3", "5")], [("3", "3", "4", "4"), ("3", "3", "4", "4")], [UP_TO], 0),
        # a lone record is no group
        ([("2", "1", "3"), ("2", "4", "5")], [("2", "2", "2"), ("2", "4.5", "4.5")], [UP_TO], 0),
        # both have 2 and 2: each value is revealed by itself, and nothing follows besides
        ([("2", "2", "3", "5"), ("2", "2", "4", "6")], [("2", "2", "4", "4"), ("2", "2", "5", "5")], [UP_TO], 4),
        # A <= C says no more than B = 0, where A + B = C
        (
            [("2", "4", "3", "5"), ("0", "0", "1", "2"), ("2", "4", "4", "7")],
            [("3", "3", "4", "4"), ("0", "0", "1.5", "1.5"), ("3", "3", "5.5", "5.5")],
            [TOTAL, linear("<=", A=1, C=-1)],
            2,
        ),
        # A <= B, B <= C and A <= C: of three equal values two follow from one
        (
            [("2", "4", "3", "5"), ("2", "4", "4", "6"), ("2", "4", "5", "6")],
            [("3", "3", "4", "4"), ("3", "3", "5", "5"), ("3", "3", "5.5", "5.5")],
            [UP_TO, linear("<=", B=1, C=-1), linear("<=", A=1, C=-1)],
            4,
        ),
    ],
)
def test_means_that_meet_an_inequality_by_hand(
    before: list[Cells], after: list[Cells], relations: list[Linear], count: int
) -> None:
    assert found_in(before, after, groups_of(after), *relations).revealed == count


@given(st.integers(0, 10**6))
def test_a_count_with_loops_finds_the_same_equalities(seed: int) -> None:
    """Means of groups, A <= B <= C: values that follow, where no value is the same for a whole group."""
    generator = np.random.default_rng(seed)
    n = int(generator.integers(4, 40))
    first = 1.0 + np.arange(n)
    second = first + generator.integers(0, 2, n) * generator.integers(0, 2, n)
    values = np.column_stack([first, second, second + generator.integers(0, 2, n)])
    groups = np.arange(n) // 2
    means = np.array([values[groups == one].mean(axis=0) for one in groups])
    texts = [[tuple(f"{cell:g}" for cell in own) for own in part.T] for part in (values, means)]
    found = found_in(*texts, groups, UP_TO, linear("<=", B=1, C=-1))
    expected = 0
    for one in np.unique(groups):
        members = values[groups == one]
        if len(members) < 2:
            continue
        # a revealed value of B makes A or C revealed as well, where these are equal to it
        same = [(members[:, at] == members[0, at]).all() for at in range(3)]
        pairs = [(members[:, at] == members[:, at + 1]).all() for at in range(2)]
        varies = [(values[:, at] < values[:, at + 1]).any() for at in range(2)]
        expected += len(members) * (
            sum(same)
            + sum(
                pair and some and not (same[at] and same[at + 1])
                for at, (pair, some) in enumerate(zip(pairs, varies, strict=True))
            )
        )
    assert found.revealed == expected


# in what users see


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path, Path]:
    """Losses of 40 firms, most of which had none, and a size of three kinds; k = 4."""
    folder = tmp_path_factory.mktemp("revealed")
    generator = np.random.default_rng(5)
    losses = np.where(generator.random(40) < 0.6, 0, generator.integers(1, 900, 40))
    rows = [
        {"LOSS": int(loss), "SIZE": "abc"[int(size)]}
        for loss, size in zip(losses, generator.integers(0, 3, 40), strict=True)
    ]
    del rows[7]["LOSS"], rows[8]["LOSS"], rows[9]["LOSS"], rows[10]["LOSS"]
    data = write_data(folder / "d.xml", rows)
    rules = write_rules(folder / "r.sch", "not(LOSS) or LOSS >= 0")
    return data, rules, folder / "m.xml", folder / "m.manifest.json"


def cells(path: Path, name: str) -> Cells:
    return tuple(record.findtext(name) for record in etree.parse(path).getroot().findall("Record"))


def test_mask_assess_and_check_say_what_a_loop_finds(masked: tuple[Path, Path, Path, Path], run: Runner) -> None:
    data, rules, out, manifest = masked
    result = masktron.mask(data, rules, out, k=4, nominal=["SIZE"], order="keep")
    counts = {
        block.variables: counted(
            [cells(data, name) for name in block.variables], [cells(out, name) for name in block.variables]
        )
        for block in result.blocks
    }
    assert {block.variables: block.revealed for block in result.blocks} == {
        variables: found for variables, (_, found) in counts.items()
    }
    by_field = {variables[0]: found for variables, (_, found) in counts.items()}
    assert by_field["LOSS"] >= 12, "groups of firms without a loss"
    share = 100 * sum(found for _, found in counts.values()) / sum(values for values, _ in counts.values())
    own = {figure.name: figure.value for figure in result.figures}
    both = {"original": data, "manifest": manifest}
    assert own["revealed"] == pytest.approx(share, rel=1e-12)
    assert masktron.assess(out, **both)["revealed"] == pytest.approx(share, rel=1e-12)
    assert result.as_dict()["blocks"][0]["revealed"] == result.blocks[0].revealed
    checked = masktron.check(out, rules, limits={"revealed": share + 1}, **both)
    assert checked.complies, checked.problems
    over = run("check", out, "--rules", rules, "--original", data, "--manifest", manifest, "--limit", "revealed=5")
    assert (over.code, f"revealed is {share:g}, the limit 5" in over.out) == (1, True)


def test_a_limit_stops_mask(masked: tuple[Path, Path, Path, Path], run: Runner) -> None:
    data, rules, out, _ = masked
    other = out.with_name("other.xml")
    arguments = ["mask", data, "--rules", rules, "--out", other, "--manifest", out.with_name("other.json")]
    arguments += ["--nominal", "SIZE", "-k", 4]
    stopped = run(*arguments, "--limit", "revealed=5")
    assert (stopped.code, "revealed is" in stopped.err, other.exists()) == (1, True, False)
    shown = run(*arguments)
    assert (shown.code, "coincident  revealed" in shown.out) == (0, True)


def test_a_narrow_terminal_has_all_figures_of_a_block(masked: tuple[Path, Path, Path, Path]) -> None:
    data, rules, out, _ = masked
    result = masktron.mask(data, rules, out, k=4, nominal=["SIZE"], order="keep")
    for width in (60, 80, 100, 118):
        head = " ".join(line for line in render(tables_of(result), width=width).splitlines() if "together" in line)
        assert all(word in head for word in ("groups", "settled by", "coincident", "revealed", "loss %")), width


def test_records_drawn_one_by_one_reveal_what_records_alike_share(tmp_path: Path) -> None:
    """Unmarked values stay as they are: those that two records share are revealed, lone ones are unchanged only."""
    generator = np.random.default_rng(7)
    data = write_data(tmp_path / "d.xml", [{"A": int(a)} for a in generator.geometric(0.2, 120)])
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    out = tmp_path / "m.xml"
    result = masktron.mask(data, rules, out, k=3, method="hierarchical", order="keep", secret=KEY, numeric=["A"])
    values, found = counted([cells(data, "A")], [cells(out, "A")])
    assert (values, result.blocks[0].revealed) == (120, found)
    assert 0 < found < result.unchanged["A"] * 1.2


def test_mask_assess_and_check_count_equalities_of_the_rules(tmp_path: Path, run: Runner) -> None:
    """Wages are at most earnings; most people have no other earnings, so that means are equal in many groups."""
    generator = np.random.default_rng(8)
    wages = generator.integers(100, 9_000, 120)
    others = np.where(generator.random(120) < 0.9, 0, generator.integers(1, 900, 120))
    rows = [{"A": int(a), "B": int(a + b)} for a, b in zip(wages, others, strict=True)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "not(A) or not(B) or A <= B")
    out, manifest = tmp_path / "m.xml", tmp_path / "m.manifest.json"
    result = masktron.mask(data, rules, out, k=3, order="keep")
    published = list(zip(cells(out, "A"), cells(out, "B"), strict=True))
    expected = 0
    for one in set(published):
        members = [row for row, own in zip(rows, published, strict=True) if own == one]
        expected += len(members) * (
            float(one[0] or 0) == float(one[1] or 0) and all(m["A"] == m["B"] for m in members)
        )
    assert expected > 40
    assert result.blocks[0].revealed == expected
    share = pytest.approx(100 * expected / 240, rel=1e-12)
    assert {one.name: one.value for one in result.figures}["revealed"] == share
    assert masktron.assess(out, data, manifest=manifest)["revealed"] == share
    # check counts by the rulebook: a manifest that names no relation hides nothing
    told = json.loads(manifest.read_text(encoding="utf-8"))
    assert told["plan"].pop("relations") == [{"terms": [["A", "1"], ["B", "-1"]], "relation": "<=", "bound": "0"}]
    manifest.write_text(json.dumps(told), encoding="utf-8")
    over = run("check", out, "--rules", rules, "--original", data, "--manifest", manifest, "--limit", "revealed=5")
    assert (over.code, "revealed is" in over.out) == (1, True)


def test_a_manifest_whose_relations_are_none_is_refused(masked: tuple[Path, Path, Path, Path], run: Runner) -> None:
    data, rules, out, manifest = masked
    masktron.mask(data, rules, out, k=4, nominal=["SIZE"], order="keep", manifest=manifest)
    told = json.loads(manifest.read_text(encoding="utf-8"))
    one = {"terms": [["A", "1"], ["B", "-1"]], "relation": "<=", "bound": "0"}
    for wrong in (
        {"relation": "<"},
        {"bound": "1/0"},
        {"bound": 0},
        {"terms": []},
        {"terms": [["A"]]},
        {"terms": "A"},
    ):
        told["plan"]["relations"] = [one | wrong]
        manifest.with_name("wrong.json").write_text(json.dumps(told), encoding="utf-8")
        said = run("assess", out, "--original", data, "--manifest", manifest.with_name("wrong.json"))
        said.refuses(2, "not-a-manifest")
