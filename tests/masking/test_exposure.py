"""Records that prototypes copy: what is counted as such, what as chance, and the cap, rounded up to whole groups."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import masktron
from cli_runner import write_data, write_rules
from masktron.constraints import Atom, Linear, Member, Monomial, Product
from masktron.errors import InfeasibleError
from masktron.grouping.record_groups import RecordGroups
from masktron.masking import MaskedBlock
from masktron.masking.disclosure.cap import refuse_observed
from masktron.masking.disclosure.exposure import Exposure, settled_by
from masktron.plan import Block, Candidate
from masktron.settle.prototypes import Settled
from refusals import plain, problem_of, refused

# --- the cap ----------------------------------------------------------------------------------------------------


def block_of(aggregator: str, *copied: bool, pooled: int = 0, dominated: int = 0) -> MaskedBlock:
    """Groups of five records."""
    groups = len(copied)
    flags, none = np.arange(groups) < pooled, np.zeros(groups, dtype=np.bool_)
    grouping = RecordGroups(np.repeat(np.arange(groups), 5), flags, flags)
    which: NDArray[np.bool_] = np.array(copied)
    exposure = Exposure(which, which, none, np.arange(groups) < dominated, {})
    settled = Settled.of(np.full((groups, 2), "1", dtype=object), np.full(groups, "rounded"))
    return MaskedBlock(Block(("A", "B"), (), (), (0,), (Candidate(aggregator, ""),)), grouping, settled, exposure)


@pytest.mark.parametrize(
    ("copied", "groups", "most", "stops"),
    [
        (1, 4, 1.0, False),
        (2, 4, 1.0, True),
        (0, 4, 0.0, False),
        (3, 60, 1.0, False),
        (4, 60, 1.0, True),
        (12, 200, 1.1, True),
        (4, 4, 100.0, False),
    ],
)
def test_the_cap_is_a_share_rounded_up_to_a_group(copied: int, groups: int, most: float, *, stops: bool) -> None:
    masked = block_of("mean", *(at < copied for at in range(groups)))
    if not stops:
        refuse_observed([masked], most)
        return
    with refused(InfeasibleError, "values-published", where="d.xml") as caught:
        refuse_observed([masked], most, where="d.xml")
    assert over(caught.value) == [("A, B", copied, pytest.approx(20 * copied / groups))]


@pytest.mark.parametrize("aggregator", ["mean", "geometric_mean", "derive", "derive_geometric"])
def test_what_was_to_be_a_mean_is_capped(aggregator: str) -> None:
    with refused(InfeasibleError, "values-published") as caught:
        refuse_observed([block_of(aggregator, True, True, True, pooled=2, dominated=1)], 1.0)
    (group,) = problem_of(caught.value).references["groups"]
    assert "2 of them since a pattern" in group.references["reason"]
    assert "1 of them ruled by the weight of one record" in group.references["reason"]


@pytest.mark.parametrize("aggregator", ["median", "mode", "medoid"])
def test_what_is_observed_by_plan_is_counted_only(aggregator: str) -> None:
    refuse_observed([block_of(aggregator, True, True, True)], 0.0)
    with refused(InfeasibleError, "values-published"):
        refuse_observed([block_of(aggregator, True, True, True), block_of("mean", True, True, True)], 0.0)


def test_each_block_has_its_own_cap_and_all_that_are_over_are_named() -> None:
    rest = [False] * 17
    one, two = block_of("mean", True, False, False, *rest), block_of("derive", True, True, True, *rest)
    refuse_observed([one, one, one], 1.0)
    for most, wanted in ((1.0, [("A, B", 3, 3.0)]), (0.0, [("A, B", 1, 1.0), ("A, B", 3, 3.0)])):
        with refused(InfeasibleError, "values-published") as caught:
            refuse_observed([one, two], most)
        assert over(caught.value) == wanted


def over(error: InfeasibleError) -> list[tuple[str, int, float]]:
    """Return the fields, the groups and the share of the blocks that are over the cap."""
    told = [one.references for one in problem_of(error).references["groups"]]
    return [(", ".join(plain(one["fields"])), one["groups"], one["share"]) for one in told]


def test_the_rules_that_no_theorem_covers_are_named(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"A": 7919 * at**2 % 991, "B": 6007 * at**3 % 991} for at in range(1, 41)]
    pairs = "".join(f"|{row['A']}-{row['B']}|" for row in rows)
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", f"contains('{pairs}', concat('|', A, '-', B, '|'))", "A >= 0")
    with refused(InfeasibleError, "values-published") as caught:
        masktron.mask(data, rules, tmp_path / "o.xml", k=5)
    (group,) = problem_of(caught.value).references["groups"]
    assert plain(group.references["rules"]) == ("R1",)
    assert "not understand" in group.references["said"]


# --- what is counted --------------------------------------------------------------------------------------------

type Row = dict[str, object]


def mask(folder: Path, rows: list[Row], *tests: str, **settings: Any) -> masktron.MaskResult:
    data, rules = write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", *tests)
    return masktron.mask(data, rules, folder / "m.xml", **{"max_observed_share": 100, "order": "keep", **settings})


def pairs(copies: int) -> list[Row]:
    return [{"S": i, "A": 100 * i} for i in range(10) for _ in range(copies)]


ALLOWED = " or ".join(f"(S = {i} and A = {100 * i})" for i in range(10))


def test_allowed_pairs_are_copied_however_they_were_found(tmp_path: Path) -> None:
    (block,) = mask(tmp_path, pairs(1), ALLOWED, k=3).blocks
    assert block.exits["medoid"] == 0
    assert (block.copied, block.coincident, block.observed_share) == (block.groups, 0, 10.0 * block.groups)
    with refused(InfeasibleError, "values-published") as caught:
        mask(tmp_path, pairs(1), ALLOWED, k=3, max_observed_share=20, manifest=tmp_path / "n.json")
    assert over(caught.value) == [("S, A", 3, 30.0)]


@pytest.mark.parametrize("aggregator", ["median", "medoid"])
def test_values_that_are_observed_by_plan_are_told(aggregator: str, tmp_path: Path) -> None:
    (block,) = mask(tmp_path, pairs(1), "A >= S", k=3, aggregator=aggregator, max_observed_share=0).blocks
    assert block.observed_share > 0


def test_what_k_records_hold_is_nobodys(tmp_path: Path) -> None:
    (block,) = mask(tmp_path, pairs(3), ALLOWED, k=3, max_observed_share=0).blocks
    assert (block.copied, block.coincident) == (0, block.groups)


def test_an_ordinary_file_of_small_integers_is_not_refused(tmp_path: Path) -> None:
    rng = random.Random(3)
    rows: list[Row] = [{"A": rng.randint(1, 4), "C": rng.randint(0, 5)} for _ in range(60)]
    rows = [{**row, "S": int(str(row["A"])) + int(str(row["C"]))} for row in rows]
    (block,) = mask(tmp_path, rows, "A + C = S", k=3, max_observed_share=0).blocks
    assert block.copied == 0
    assert block.coincident > 0


def test_one_free_number_is_enough_not_to_be_forced(tmp_path: Path) -> None:
    rows: list[Row] = [{"S": i, "A": 100 * i, "F": 10 * i + i % 2} for i in range(9)]
    (block,) = mask(tmp_path, rows, ALLOWED, "F >= S", k=3, max_observed_share=0).blocks
    assert block.copied == 0


@pytest.mark.parametrize(
    ("numbers", "copied"), [((3, 3, 3, 3, 3), 1), ((1, 5, 3, 2, 4), 0)], ids=("constant", "free")
)
def test_a_combination_beside_a_constant_number_is_copied(
    numbers: tuple[int, ...], copied: int, tmp_path: Path
) -> None:
    # The modes are a and A; with 3, a mean in the second case, they are the third record.
    rows: list[Row] = [{"S": s, "R": s.upper(), "A": a} for s, a in zip("cbaad", numbers, strict=True)]
    combinations = " or ".join(f"(S = '{s}' and R = '{s.upper()}' and A < 10)" for s in "abcd")
    (block,) = mask(tmp_path, rows, combinations, k=5, nominal=["S", "R"]).blocks
    assert (block.copied, block.coincident) == (copied, 1 - copied)


def test_lists_that_another_alternative_lifts_force_nothing(tmp_path: Path) -> None:
    rows: list[Row] = [{**row, "F": 5} for row in pairs(1)]
    (block,) = mask(tmp_path, rows, f"{ALLOWED} or F > 0", "F = 5 or S > 99", k=3, max_observed_share=0).blocks
    assert (block.copied, block.coincident > 0) == (0, True)


def weighted(heavy: int) -> list[Row]:
    return [{"A": 7 * i, "B": i * i, "T": 7 * i + i * i, "W": heavy if i == 3 else 1} for i in range(9)]


@pytest.mark.parametrize(("heavy", "rules"), [(10**9, True), (10**20, True), (19, True), (18, False), (1, False)])
def test_a_weight_that_rules_its_group(heavy: int, tmp_path: Path, *, rules: bool) -> None:
    result = mask(tmp_path, weighted(heavy), "A + B = T", k=3, roles={"W": "weight"})
    (block,) = result.blocks
    assert block.dominated == rules
    assert any("more than 90 % of the weight in 1 of 3 groups" in note for note in result.notes) == rules
    assert (block.copied == 1) == (heavy >= 10**9)


def test_a_value_that_one_record_of_a_pool_has_is_not_published(tmp_path: Path) -> None:
    # The pattern with both is the heaviest, but nothing else has a B.
    rows: list[Row] = [{"A": 5 + i, "B": 77 if i == 0 else None, "W": 4 if i == 0 else 1} for i in range(4)]
    result = mask(tmp_path, rows, "not(A > B)", k=4, roles={"W": "weight"}, max_observed_share=0)
    assert "<B>" not in (tmp_path / "m.xml").read_text()
    assert any(note.startswith("B has lost all its values") for note in result.notes)
    assert not any("77" in note for note in result.notes)
    assert result.unchanged["B"] == 0


def test_a_value_that_no_other_pattern_can_replace_is_copied(tmp_path: Path) -> None:
    rows: list[Row] = [{"A": 10 * i if i % 3 == 0 else None, "B": i if i % 3 == 1 else None} for i in range(3)]
    rows = [{**row, "C": 55 if i == 2 else None} for i, row in enumerate(rows)]
    (block,) = mask(tmp_path, rows, "not(A + B + C > 99)", k=3).blocks
    assert block.aggregator in ("mean", "derive")
    assert block.exits["medoid"] == 0
    assert block.copied == 1


@pytest.mark.parametrize(
    ("row", "test", "settings"),
    [("{:02d}", "string-length(A) = 2", {"numeric": ("A",)}), ("c{:02d}", "A != 'z'", {"nominal": ("A",)})],
    ids=("median", "mode"),
)
def test_observed_aggregators_are_counted_and_not_capped(
    row: str, test: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    rows: list[Row] = [{"A": row.format(i)} for i in range(12)]
    (block,) = mask(tmp_path, rows, test, k=3, max_observed_share=0, **settings).blocks
    assert block.observed_share == pytest.approx(100 * block.groups / 12)
    assert (block.copied, block.coincident) == (0, 0)


@pytest.mark.parametrize(("last", "share"), [((21, 23, 22), 0.0), ((21, 22, 23), 100 / 3)])
def test_medians_of_several_records_are_no_record(last: tuple[int, ...], share: float, tmp_path: Path) -> None:
    rows: list[Row] = [{"A": a, "B": b} for a, b in zip((11, 12, 13), last, strict=True)]
    (block,) = mask(tmp_path, rows, "A != 99 or B != 99", k=3, ordinal=["A", "B"]).blocks
    assert block.aggregator == "median"
    assert block.observed_share == pytest.approx(share, abs=1e-4)


# --- what unmasked fields fix -----------------------------------------------------------------------------------


def test_what_an_unmasked_field_fixes_is_said(tmp_path: Path) -> None:
    rows: list[Row] = [{"U": i // 6, "T": i // 6 + 5, "X": i} for i in range(24)]
    result = mask(tmp_path, rows, "T = U + 5", k=3, roles={"U": "untouched"})
    assert "T is fixed by the unmasked U: it is published as it was" in result.notes
    assert result.unchanged["T"] == 100
    assert result.unchanged["X"] < 50
    checked = masktron.check(
        tmp_path / "m.xml", tmp_path / "r.sch", original=tmp_path / "d.xml", manifest=tmp_path / "m.manifest.json"
    )
    assert checked.complies
    assert checked.notes == ("the masked field T is published as it was, in every record",)
    explained = masktron.explain(tmp_path / "r.sch", tmp_path / "d.xml", roles={"U": "untouched"})
    assert "fixes T" in explained.ties[0].meaning


def test_what_is_fixed_in_some_groups_is_counted(tmp_path: Path) -> None:
    rows: list[Row] = [{"U": i // 6, "T": i // 6 + 5 if i < 6 else 20 + i} for i in range(24)]
    result = mask(tmp_path, rows, "U > 0 or T = U + 5", k=3, roles={"U": "untouched"})
    (note,) = [note for note in result.notes if note.startswith("T is fixed")]
    assert (
        note
        == f"T is fixed by the unmasked U in 2 of {result.blocks[0].groups} groups: it is published there as it was"
    )


def test_inequalities_that_leave_one_value_are_seen_in_the_result(tmp_path: Path) -> None:
    rows: list[Row] = [{"U": 7 * (i // 6), "T": 7 * (i // 6)} for i in range(24)]
    result = mask(tmp_path, rows, "T >= U", "T < U + 1", k=3, roles={"U": "untouched"})
    assert any(note.startswith("T is published as it was: ") for note in result.notes)


# --- what equalities settle -------------------------------------------------------------------------------------


def linear(relation: Any, bound: int, **terms: int) -> Linear:
    return Linear(tuple((name, Fraction(c)) for name, c in sorted(terms.items())), relation, Fraction(bound))


TIMES = Product((Monomial(Fraction(1), (("a", 1), ("b", 1))),), "=", Monomial(Fraction(1), (("c", 1),)))


@pytest.mark.parametrize(
    ("given", "atoms", "settled"),
    [
        ("a", [linear("=", 0, a=1, b=1, c=-1)], "a"),
        ("ab", [linear("=", 0, a=1, b=1, c=-1)], "abc"),
        ("", [linear("=", 10, a=1, b=1), linear("=", 2, a=1, b=-1)], "ab"),
        ("", [linear("=", 10, a=1, b=1), linear("=", 20, a=2, b=2)], ""),
        ("a", [linear("<=", 3, a=1, b=1), linear("<=", -3, a=-1, b=-1)], "ab"),
        ("a", [linear("<", 3, a=1, b=1), linear("<", -3, a=-1, b=-1)], "a"),
        ("ab", [TIMES, linear("=", 0, c=1, d=1)], "abcd"),
        ("a", [TIMES, Member("b", frozenset({Fraction(1)}))], "a"),
    ],
)
def test_what_equalities_settle(given: str, atoms: list[Atom], settled: str) -> None:
    assert settled_by(given, atoms) == frozenset(settled)


@pytest.mark.parametrize("seed", range(40))
def test_what_linear_equalities_settle_is_a_matter_of_rank(seed: int) -> None:
    rng = random.Random(seed)
    rows = [[rng.choice((-2, -1, 0, 0, 1, 2)) for _ in range(5)] for _ in range(rng.randint(1, 5))]
    rows = [row for row in rows if any(row)]
    given = rng.sample(range(5), rng.randint(0, 2))
    atoms = [linear("=", 1, **{"abcde"[at]: c for at, c in enumerate(row) if c}) for row in rows]
    units = np.eye(5)
    system = np.array([*rows, *units[given]]).reshape(-1, 5)
    rank = np.linalg.matrix_rank(system) if len(system) else 0
    expected = {
        name for at, name in enumerate("abcde") if np.linalg.matrix_rank(np.vstack([system, units[at]])) == rank
    }
    assert settled_by(["abcde"[at] for at in given], atoms) == expected
    assert all(
        settled_by(["abcde"[at] for at in order], atoms) == expected for order in itertools.permutations(given)
    )
