"""The choice among aggregators that keep the rules of a block, and where derive looks for its prototypes."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import masktron
from cli_runner import write_data, write_rules
from masktron.constraints import Monomial
from masktron.errors import InfeasibleError
from masktron.grouping.record_groups import RecordGroups
from masktron.masking import run
from masktron.masking.choice import COPIED_MARGIN, _filled, _means
from masktron.masking.inputs import MaskingInputs
from masktron.measures.information_loss import information_loss
from masktron.plan import Block
from masktron.problems.wording import sentence
from masktron.results import BlockResult
from masktron.settle.aim import aim
from masktron.settle.prototypes import EXITS, Settled
from masktron.settle.system import MAX_RECIPES, Equality, recipes
from masktron.sources.xml.microdata import read_records
from masktron.sources.xml.plain import detect_layout
from refusals import refused

type Rows = list[dict[str, object]]
PRODUCT = "A * B = P"


def factors(n: int = 60, seed: int = 3) -> Rows:
    """Records with A * B = P and P + C = S; sizes spread widely, so that aggregators differ."""
    generator = np.random.default_rng(seed)
    rows: Rows = []
    for a, b in np.ceil(np.exp(generator.normal(3, 1, (n, 2)))).astype(int).tolist():
        c = int(generator.integers(1, 500))
        rows.append({"A": a, "B": b, "P": a * b, "C": c, "S": a * b + c, "E": 2 * b})
    return rows


def masked(folder: Path, rows: Rows, *tests: str, **settings: Any) -> masktron.MaskResult:
    data, rules = write_data(folder / "d.xml", rows), write_rules(folder / "r.sch", *tests)
    return masktron.mask(data, rules, folder / "m.xml", **{"k": 4, "order": "keep", **settings})


def values(path: Path, names: tuple[str, ...]) -> NDArray[np.float64]:
    records = read_records(path, detect_layout(path))
    return np.column_stack([records.columns[name].values for name in names])


def candidates(block: BlockResult) -> dict[str, str]:
    return {candidate.aggregator: candidate.verdict for candidate in block.candidates}


type Settle = Callable[[MaskingInputs, Block, RecordGroups], Settled]


@pytest.fixture
def settled_by(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[Callable[[Settle, Block], Settle]], Counter[str]]]:
    """Put something between the choice and settle; counts what is settled by which aggregator."""
    calls: Counter[str] = Counter()
    settle = run.settle_block

    def between(change: Callable[[Settle, Block], Settle]) -> Counter[str]:
        def changed(inputs: MaskingInputs, block: Block, grouping: RecordGroups, **how: Any) -> Settled:
            calls[block.aggregator] += 1
            return change(settle, block)(inputs, block, grouping, **how)

        monkeypatch.setattr(run, "settle_block", changed)
        return calls

    yield between


# the choice


@pytest.mark.few(1)
@pytest.mark.parametrize("tests", [(PRODUCT,), (PRODUCT, "P + C = S"), ("E mod 2 = 0",)])
def test_the_least_loss_as_written_is_taken(tmp_path: Path, tests: tuple[str, ...]) -> None:
    result = masked(tmp_path, factors(), *tests)
    block = result.blocks[0]
    losses = {
        one.aggregator: one.information_loss for one in block.candidates if not math.isnan(one.information_loss)
    }
    assert block.aggregator in losses
    assert candidates(block)[block.aggregator] == "taken"
    assert [*candidates(block).values()].count("taken") == 1
    assert losses[block.aggregator] == min(losses.values())
    original, written = (values(tmp_path / name, block.variables) for name in ("d.xml", "m.xml"))
    assert losses[block.aggregator] == pytest.approx(information_loss(original, written), rel=1e-12)
    assert sentence(block.reason).startswith(f"{block.aggregator} keeps ")


def test_a_single_candidate_is_not_measured(tmp_path: Path) -> None:
    assert masked(tmp_path, factors(), "A + B >= 0").blocks[0].candidates == ()


def test_a_candidate_without_prototypes_falls_out(tmp_path: Path, settled_by: Any) -> None:
    def stop(settle: Settle, block: Block) -> Settle:
        if block.aggregator == "derive":
            raise InfeasibleError("there is none")
        return settle

    settled_by(stop)
    block = masked(tmp_path, factors(), PRODUCT).blocks[0]
    assert block.aggregator == "geometric_mean"
    assert candidates(block) == {"geometric_mean": "taken", "derive": "impossible: there is none"}


def test_the_run_stops_where_no_candidate_has_prototypes(tmp_path: Path, settled_by: Any) -> None:
    def stop(settle: Settle, block: Block) -> Settle:
        raise InfeasibleError.of("bad-arrays", "here", detail=block.aggregator)

    settled_by(stop)
    with refused(InfeasibleError, "bad-arrays", detail="geometric_mean", where="here"):
        masked(tmp_path, factors(), PRODUCT)
    assert not (tmp_path / "m.xml").exists()


def test_less_loss_is_not_bought_with_medoids(tmp_path: Path, settled_by: Any) -> None:
    plain = masked(tmp_path, factors(), PRODUCT).blocks[0]
    assert plain.aggregator == "derive", "the case is one where derive loses less"

    def medoid(settle: Settle, block: Block) -> Settle:
        def changed(inputs: MaskingInputs, block: Block, grouping: RecordGroups, **how: Any) -> Settled:
            settled = settle(inputs, block, grouping, **how)
            stages = settled.stages.copy()
            stages[: 1 if block.aggregator == "derive" else 0] = EXITS.index("medoid")
            return replace(settled, stages=stages)

        return changed

    settled_by(medoid)
    block = masked(tmp_path, factors(), PRODUCT).blocks[0]
    assert block.aggregator == "geometric_mean"
    assert candidates(block)["derive"] == "publishes more records whole"
    assert block.candidates[1].copied_share > COPIED_MARGIN
    assert block.candidates[1].information_loss < block.candidates[0].information_loss


def test_what_cannot_win_is_not_settled(tmp_path: Path, settled_by: Any) -> None:
    calls = settled_by(lambda settle, block: settle)
    rows: Rows = [{"A": 10 * (at % 7), "B": at % 5} for at in range(28)]
    block = masked(tmp_path, rows, "A mod 10 = 0 and A <= 60", numeric=["A", "B"]).blocks[0]
    assert [*candidates(block)] == ["derive", "median"]
    # Groups of equal records lose nothing, so nothing is left to save.
    assert block.information_loss == 0
    assert candidates(block)["median"].startswith("not settled: its groups lose at least 0")
    assert "median" not in calls
    assert block.candidates[1].as_dict()["information_loss"] is None


def test_equal_losses_go_to_the_preferred(tmp_path: Path, settled_by: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.masking.choice._least_loss", lambda *_: 0.0)
    monkeypatch.setattr("masktron.masking.choice._loss", lambda *_: 1.0)
    settled_by(lambda settle, block: settle)
    block = masked(tmp_path, factors(), PRODUCT).blocks[0]
    assert candidates(block) == {"geometric_mean": "taken", "derive": "loses as much"}


@pytest.mark.parametrize(
    ("tests", "settings", "partitions"),
    [
        ((PRODUCT,), {}, 2),  # the geometric mean parts signs, derive need not
        ((PRODUCT, "P + C = S"), {}, 1),
        ((PRODUCT, "C >= 0"), {"grouping": "all"}, 1),
    ],
)
def test_candidates_that_ask_the_same_share_groups(
    tmp_path: Path, tests: tuple[str, ...], settings: dict[str, Any], partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[RecordGroups] = []
    grouped: list[tuple[str, ...]] = []
    group = run.group

    def counted(inputs: MaskingInputs, partition: Any) -> RecordGroups:
        made.append(group(inputs, partition))
        grouped.append(partition.variables)
        return made[-1]

    monkeypatch.setattr(run, "group", counted)
    result = masked(tmp_path, factors(), *tests, **settings)
    names = [block.variables for block in result.blocks]
    assert len(made) == partitions + (0 if settings else len(names) - 1)
    if settings:
        assert grouped == [tuple(name for block in names for name in block)]
        written = [values(tmp_path / "m.xml", block) for block in names]
        labels = [np.unique(columns, axis=0, return_inverse=True)[1].ravel() for columns in written]
        groups = np.unique(np.stack(labels), axis=1)
        assert groups.shape[1] == made[0].groups


def test_the_manifest_says_what_was_done(tmp_path: Path) -> None:
    result = masked(tmp_path, factors(), PRODUCT)
    manifest = json.loads((tmp_path / "m.manifest.json").read_text())
    (planned, *_), (done, *_) = manifest["plan"]["partitions"][0]["blocks"], manifest["result"]["blocks"]
    assert planned["aggregator"] == done["aggregator"] == result.blocks[0].aggregator == "derive"
    assert planned["candidates"][planned["chosen"]]["aggregator"] == "derive"
    assert [entry["aggregator"] for entry in done["candidates"]] == ["geometric_mean", "derive"]
    assert done["candidates"][1]["information_loss"] == pytest.approx(done["information_loss"])
    assert "tried: A, B, P: geometric_mean loses " in repr(result)
    assert "(taken)" in repr(result)


def test_explain_names_the_candidates(tmp_path: Path) -> None:
    data, rules = write_data(tmp_path / "d.xml", factors()), write_rules(tmp_path / "r.sch", PRODUCT, "C >= 0")
    explained = masktron.explain(rules, data)
    product, single = explained.rules
    assert (product.aggregator, product.candidates) == (None, ("geometric_mean", "derive"))
    assert (single.aggregator, single.candidates) == ("mean", ("mean",))
    assert product.why is not None
    assert product.why.startswith("the least measured loss decides; geometric_mean keeps R1; derive keeps R1, proved")
    assert "mean would break R1" in product.why
    assert "geometric_mean,\n" in repr(explained).replace(" ", "")


# what is measured


@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_no_prototypes_lose_less_than_means(seed: int, groups: int, gaps: bool) -> None:
    generator = np.random.default_rng(seed)
    original = generator.normal(5, 3, (12, 2)).round(1)
    if gaps:
        original[generator.random(original.shape) < 0.2] = np.nan
    assume((~np.isnan(original)).sum(axis=0).min() > 1)
    labels = np.arange(12, dtype=np.intp) % groups
    means = np.stack([_means(column, labels)[labels] for column in original.T], axis=1)
    least = information_loss(original, means)
    prototypes = generator.normal(5, 2, (groups, 2))
    if gaps:
        prototypes[generator.random(prototypes.shape) < 0.2] = np.nan
    filled = [_filled(*pair) for pair in zip(prototypes[labels].T, original.T, strict=True)]
    loss = information_loss(original, np.stack(filled, axis=1))
    assert least <= loss * (1 + 1e-12) + 1e-12


def test_means_of_huge_values_do_not_overflow() -> None:
    huge = np.array([1e308, 1.5e308, -1e308, np.nan])
    assert _means(huge, np.array([0, 0, 1, 1])).tolist() == [1.25e308, -1e308]


def test_values_that_are_lost_cost_as_much_as_under_the_mean_of_all() -> None:
    original = np.array([[1.0], [2.0], [3.0], [94.0]])
    lost = np.array([[1.0], [2.5], [2.5], [np.nan]])
    filled = _filled(lost.ravel(), original.ravel())
    assert information_loss(original, lost) < information_loss(original, filled[:, None])
    assert filled.tolist() == [1.0, 2.5, 2.5, 25.0]


# derive


def monomial(coefficient: int, **powers: int) -> Monomial:
    return Monomial(Fraction(coefficient), tuple(powers.items()))


TAX = Equality((monomial(1, V5=1, V15=1), monomial(-1, V16=1)))
CHAIN = Equality((monomial(1, V16=1), monomial(1, V11=1), monomial(-1, V17=1)))


def triangular(system: tuple[Equality, ...]) -> set[frozenset[str]]:
    """Return all sets of pivots, one for each equality, that can be solved one after the other: by brute force."""
    found = set()
    for order in itertools.permutations(system):
        for pivots in itertools.product(*(equality.pivots for equality in order)):
            later = [frozenset(pivots[at + 1 :]) for at in range(len(order))]
            if all(
                pivot not in rest and rest.isdisjoint(equality.variables)
                for equality, pivot, rest in zip(order, pivots, later, strict=True)
            ):
                found.add(frozenset(pivots))
    return found


def reached(system: tuple[Equality, ...]) -> set[frozenset[str]]:
    names = sorted({name for equality in system for name in equality.variables})
    return {frozenset(pivot for pivot, _ in recipe.steps) for recipe in recipes(names, system)}


@st.composite
def systems(draw: st.DrawFn) -> tuple[Equality, ...]:
    names = st.sampled_from("ABCDEF")
    equations = []
    for _ in range(draw(st.integers(1, 3))):
        total, *left = draw(st.lists(names, min_size=3, max_size=4, unique=True))
        if draw(st.booleans()):
            parts = [monomial(1, **dict.fromkeys(left, 1))]
        else:
            parts = [monomial(draw(st.sampled_from([1, -1, 2])), **{name: 1}) for name in left]
        equations.append(Equality((*parts, monomial(-1, **{total: 1}))))
    return tuple(dict.fromkeys(equations))


@given(systems())
def test_every_pivot_of_every_equality_is_reached(system: tuple[Equality, ...]) -> None:
    everything = triangular(system)
    assume(everything)
    found = {pivots for pivots in reached(system) if len(pivots) == len(system)}
    assert found <= everything
    assert len(found) == min(len(everything), MAX_RECIPES)


POSITIVE = st.floats(0.125, 1000)


@given(st.fixed_dictionaries(dict.fromkeys(("V5", "V15", "V16", "V11", "V17"), POSITIVE)))
def test_derive_aims_at_the_nearest_solution(centre: dict[str, float]) -> None:
    ways, scale = recipes([*centre], (TAX, CHAIN)), dict.fromkeys(centre, 2.0)
    found = aim(centre, centre, ways, scale, lambda _: True)
    assert found["V5"] * found["V15"] == pytest.approx(found["V16"], rel=1e-12, abs=1e-9)
    assert found["V16"] + found["V11"] == pytest.approx(found["V17"], rel=1e-9, abs=1e-9)

    def distance(values: dict[str, Any]) -> float:
        return math.dist([float(values[name]) for name in centre], [*centre.values()])

    for recipe in ways:
        values = recipe.complete({name: Fraction(centre[name]) for name in recipe.free})
        assert values is not None
        assert distance(dict(found)) <= distance(values) * (1 + 1e-9)
    if (value := aim(centre, centre, ways, scale, lambda values: values["V5"] > 10)["V5"]) != centre["V5"]:
        assert value > 10


def test_derive_keeps_the_means_where_no_solution_is_admitted() -> None:
    centre = {"V5": 2.0, "V15": 3.0, "V16": 7.0}
    ways, scale = recipes([*centre], (TAX,)), dict.fromkeys(centre, 1.0)
    assert aim(centre, centre, ways, scale, lambda _: False) == centre
    nearest = aim(centre, centre, ways, scale, lambda _: True)
    assert nearest == {"V5": pytest.approx(7 / 3), "V15": 3.0, "V16": 7.0}
    second = aim(centre, centre, ways, scale, lambda values: values["V5"] == 2)
    assert second == {"V5": 2.0, "V15": 3.5, "V16": 7.0}
    zero = centre | {"V5": 0.0, "V15": 0.0}
    assert aim(zero, zero, ways, scale, lambda _: True) == zero | {"V16": 0.0}, "nothing is divided by zero"


def test_derive_loses_hardly_more_than_means_on_a_product(tmp_path: Path) -> None:
    block = masked(tmp_path, factors(200), PRODUCT, k=5).blocks[0]
    assert block.aggregator == "derive"
    original, written = (values(tmp_path / name, block.variables) for name in ("d.xml", "m.xml"))
    labels = np.unique(written, axis=0, return_inverse=True)[1].ravel().astype(np.intp)
    assert block.information_loss <= 1.05 * information_loss(
        original, np.stack([_means(one, labels)[labels] for one in original.T], axis=1)
    )


def test_geometric_factors_are_taken_where_they_exist(tmp_path: Path, settled_by: Any) -> None:
    seen: dict[str, NDArray[np.float64]] = {}

    def look(settle: Settle, block: Block) -> Settle:
        def changed(inputs: MaskingInputs, block: Block, grouping: RecordGroups, **how: Any) -> Settled:
            from masktron.aggregators.mean import Mean
            from masktron.masking.block.patterns import targets

            if block.aggregator == "derive_geometric":
                data = inputs.file.coded(block.variables)
                means = Mean().aggregate(data, grouping.labels, inputs.file.weights)
                seen["targets"] = targets(inputs, block, data, grouping, means)
                seen["values"], seen["labels"] = data, grouping.labels
            return settle(inputs, block, grouping, **how)

        return changed

    settled_by(look)
    rows = factors(40)
    for at in range(0, 40, 5):
        rows[at] |= {"A": 0, "P": 0, "S": rows[at]["C"]}
    masked(tmp_path, rows, PRODUCT, "P + C = S", k=3)
    for group, target in enumerate(seen["targets"]):
        own = seen["values"][seen["labels"] == group]
        for column, name in enumerate("ABPCS"):
            cells = own[:, column]
            expected = math.exp(np.log(cells).mean()) if name in "ABP" and cells.min() > 0 else cells.mean()
            assert target[column] == pytest.approx(expected, rel=1e-12)
    some = [(seen["values"][seen["labels"] == group, 0] == 0).any() for group in range(len(seen["targets"]))]
    assert {*some} == {True, False}, "both cases occur"
