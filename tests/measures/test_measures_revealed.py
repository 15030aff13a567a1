"""What groups reveal: by hand, against a count with loops, and in what mask, check and assess say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import masktron
from attacks import KEY
from cli_runner import Runner, write_data, write_rules
from masktron.kernels.distinct import alike, codes_of
from masktron.measures.revealed import revealed
from masktron.measures.unchanged import same_cells
from masktron.report.rendering import render, tables_of
from masktron.sources.records import Column, Field, Status

type Cells = tuple[str | None, ...]


def column(texts: Cells) -> Column:
    values = np.array([float(t) if t and t.lstrip("-").replace(".", "").isdigit() else math.nan for t in texts])
    status = np.array([Status.ABSENT if t is None else Status.PRESENT for t in texts], dtype=np.uint8)
    return Column.of_cells(Field("A", "A"), np.array(texts, dtype=object), status, values, 0)


def groups_of(fields: list[Cells]) -> np.ndarray:
    """Records alike in what is published."""
    return alike((codes_of(np.array(field, dtype=object)) for field in fields), len(fields[0]))[0]


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
    pairs = [(column(own), column(now)) for own, now in zip(before, after, strict=True)]
    assert revealed(pairs, groups_of(after)).share == pytest.approx(share, rel=1e-15)


def test_without_a_value_there_is_no_share() -> None:
    assert math.isnan(revealed([(column((None,)), column((None,)))], np.zeros(1, dtype=np.intp)).share)
    assert math.isnan(revealed([], np.zeros(0, dtype=np.intp)).share)


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
    pairs = [(column(own), column(now)) for own, now in zip(before, after, strict=True)]
    found = revealed(pairs, groups_of(after))
    assert (found.cells, found.revealed) == counted(before, after)
    unchanged = sum(int(same_cells(own, now)[own.present].sum()) for own, now in pairs)
    assert found.revealed <= unchanged


def test_fields_that_a_group_does_not_share_have_to_be_alike_all_the_same() -> None:
    """A field that follows from others in each record is published record by record: 3 and 4 reveal nothing."""
    solved = (column(("3", "4", "5", "5")), column(("3", "4", "5", "5")))
    assert revealed([solved], np.array([0, 0, 1, 1])).revealed == 2


# in what users see


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(capsys)


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
    generator = np.random.default_rng(6)
    data = write_data(tmp_path / "d.xml", [{"A": int(a)} for a in generator.geometric(0.2, 120)])
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    out = tmp_path / "m.xml"
    result = masktron.mask(data, rules, out, k=3, method="hierarchical", order="keep", key=KEY, numeric=["A"])
    values, found = counted([cells(data, "A")], [cells(out, "A")])
    assert (values, result.blocks[0].revealed) == (120, found)
    assert 0 < found < result.unchanged["A"] * 1.2
